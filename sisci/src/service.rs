//! The thread `sisci-svc`: it answers peers that connect, and notices peers that end. It runs no code of the program. It is started by the first
//! resource that a peer can reach, and by the first connection.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use crate::worker;

/// Something whose descriptor the service looks at.
pub trait Watch: Send + Sync {
    /// The descriptor can be read, or its other side has ended. Called again for as long as that is so.
    fn ready(self: Arc<Self>);
}

/// The thread's state.
struct Service {
    epoll: OwnedFd,
    watches: Mutex<Watches>,
}

/// What is looked at, by its ticket.
#[derive(Default)]
struct Watches {
    last: u64,
    of: HashMap<u64, Arc<dyn Watch>>,
}

/// The service, once it runs.
static SERVICE: Mutex<Option<Arc<Service>>> = Mutex::new(None);

/// What names a watch.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

/// The service; starts it.
fn service() -> rustix::io::Result<Arc<Service>> {
    let mut place = SERVICE.lock();
    if let Some(service) = &*place {
        return Ok(service.clone());
    }
    let service = Arc::new(Service { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, watches: Mutex::default() });
    let own = service.clone();
    worker::spawn("sisci-svc", move || own.run())?;
    *place = Some(service.clone());
    Ok(service)
}

/// Looks at `fd` from now on. `place` gets the ticket before the thread can call `watch`.
pub fn watch(fd: impl AsFd, watch: Arc<dyn Watch>, place: &OnceLock<Ticket>) -> rustix::io::Result<()> {
    let service = service()?;
    let ticket = {
        let mut watches = service.watches.lock();
        watches.last += 1;
        let ticket = watches.last;
        watches.of.insert(ticket, watch);
        ticket
    };
    let _ = place.set(Ticket(ticket));
    let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
    match epoll::add(&service.epoll, fd, epoll::EventData::new_u64(ticket), flags) {
        Ok(()) => Ok(()),
        Err(errno) => {
            service.watches.lock().of.remove(&ticket);
            Err(errno)
        }
    }
}

/// Looks no longer at it. The thread may still be in `ready`.
pub fn forget(fd: impl AsFd, Ticket(ticket): Ticket) {
    let Some(service) = SERVICE.lock().clone() else { return };
    let _ = epoll::delete(&service.epoll, fd);
    let watch = service.watches.lock().of.remove(&ticket);
    drop(watch);
}

impl Service {
    fn run(&self) {
        loop {
            let mut events = Vec::with_capacity(64);
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => {
                    eprintln!("sisci: the service thread cannot wait: {errno}");
                    return;
                }
            }
            for event in events {
                let watch = self.watches.lock().of.get(&event.data.u64()).cloned();
                if let Some(watch) = watch {
                    watch.ready();
                }
            }
        }
    }
}
