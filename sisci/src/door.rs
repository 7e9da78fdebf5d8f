//! Where peers come in. A *door* is a socket that listens at a name, and belongs to a *host*: a segment, or an interrupt. Who comes through is a
//! *guest*, and stays one for as long as its connection lives. A *tie* is the other side of that connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown, sockopt};

use crate::error::{Error, Result};
use crate::handle;
use crate::name::{Bound, Name, enough};
use crate::packet::{IS_FAR, Packet, Verb, answer_text, refusal};
use crate::report::{Peer, Report, seconds};
use crate::service::{self, Ticket, Watch};

/// For whom a door is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Peers that connect by way of this adapter's node.
    Peers(u32),
    /// Processes of this node that want to own the segment as well.
    Owners,
    /// Nodes that want to be members of the group.
    Members,
}

/// What stands behind a door.
pub trait Host: Send + Sync {
    /// A guest's first words. The host answers; an error is the answer that this function leaves to its caller.
    fn greet(&self, guest: &Arc<Guest>, packet: Packet) -> Result;
    /// A guest has gone, greeted or not.
    fn left(&self, guest: &Arc<Guest>);
    /// What there is to tell to somebody who only asks, at a door for `whom`.
    fn report(&self, whom: For) -> Report;
}

/// A socket that listens.
pub struct Door {
    host: Weak<dyn Host>,
    /// The socket, which other processes may have as well, and its name, given back after it; nothing once the door is closed for good.
    socket: RwLock<Option<(OwnedFd, Bound)>>,
    /// For whom it is.
    pub whom: For,
    ticket: OnceLock<Ticket>,
}

impl Door {
    /// A door that is not open yet: who comes waits before it.
    pub fn new(host: Weak<dyn Host>, socket: OwnedFd, name: Name, whom: For) -> Arc<Door> {
        Arc::new(Door { host, socket: RwLock::new(Some((socket, Bound(name)))), whom, ticket: OnceLock::new() })
    }

    /// From now on who comes is let in.
    pub fn open(self: &Arc<Self>) -> Result {
        keep_spare();
        let place = self.socket.read();
        let (socket, _) = place.as_ref().ok_or(Error::NoSuchSegment)?;
        Ok(service::watch(socket, self.clone(), &self.ticket)?)
    }

    /// The socket, for another process that shall listen at it as well.
    pub fn copy(&self) -> Result<OwnedFd> {
        let place = self.socket.read();
        let (socket, _) = place.as_ref().ok_or(Error::NoSuchSegment)?;
        socket.try_clone().map_err(|_| Error::NoSpc)
    }

    /// Closes the door. When this returns, the name is free, although the service may still hold the door.
    pub fn close(&self) {
        let Some((socket, name)) = self.socket.write().take() else { return };
        if let Some(&ticket) = self.ticket.get() {
            service::forget(&socket, ticket);
        }
        drop(socket);
        drop(name);
    }
}

impl Watch for Door {
    fn ready(self: Arc<Self>) {
        let place = self.socket.read();
        let Some(socket) = place.as_ref().and_then(|(socket, _)| accept(socket, SocketFlags::NONBLOCK)) else { return };
        drop(place);
        let is_own = sockopt::socket_peercred(&socket).is_ok_and(|peer| peer.uid == rustix::process::geteuid());
        if !is_own {
            let _ = refusal(Error::ConnectionRefused).send(&socket, &[]);
            return;
        }
        Guest::new(self.host.clone(), socket, self.whom, OnceLock::new()).watch();
    }
}

/// A descriptor to give up when there is no other: without one, who comes could not even be sent away, and would wait for ever.
static SPARE: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Makes the spare descriptor, unless it is there.
fn keep_spare() {
    let mut spare = SPARE.lock();
    if spare.is_none() {
        *spare = std::fs::File::open("/dev/null").ok().map(OwnedFd::from);
    }
}

/// Lets the next one in. If there is no descriptor for it, its connection is closed, which it takes for NO_SUCH_SEGMENT.
pub fn accept(socket: &OwnedFd, flags: SocketFlags) -> Option<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    match enough(|| accept_with(socket, flags)) {
        Ok(guest) => return Some(guest),
        Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {}
        Err(_) => return None,
    }
    *SPARE.lock() = None;
    if accept_with(socket, flags).is_err() {
        // The listener stays readable: no core for that.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    keep_spare();
    None
}

/// Who has come through a door.
pub struct Guest {
    host: Weak<dyn Host>,
    socket: OwnedFd,
    /// For whom its door is.
    pub whom: For,
    ticket: OnceLock<Ticket>,
    /// Its node and this side's adapter, once the host has let it in.
    peer: OnceLock<(u32, u32)>,
    /// This process stands in for somebody on another host.
    is_far: AtomicBool,
    /// When it came.
    pub since: SystemTime,
}

impl Guest {
    fn new(host: Weak<dyn Host>, socket: OwnedFd, whom: For, peer: OnceLock<(u32, u32)>) -> Arc<Guest> {
        let (ticket, is_far) = (OnceLock::new(), AtomicBool::new(false));
        Arc::new(Guest { host, socket, whom, ticket, peer, is_far, since: SystemTime::now() })
    }

    /// A guest that another owner of the segment has let in.
    pub fn of_sibling(host: Weak<dyn Host>, socket: OwnedFd, node: u32, adapter: u32) -> Arc<Guest> {
        Guest::new(host, socket, For::Peers(adapter), OnceLock::from((node, adapter)))
    }

    /// What there is to tell of it.
    pub fn report(&self) -> Peer {
        let process = sockopt::socket_peercred(&self.socket).map_or(0, |peer| peer.pid.as_raw_nonzero().get() as u32);
        let is_far = self.is_far.load(Ordering::Relaxed);
        Peer { node: self.peer().0, process: if is_far { 0 } else { process }, since: seconds(self.since), is_far }
    }

    /// Looks at it from now on. One that cannot be looked at is not let in: its socket closes.
    pub fn watch(self: &Arc<Self>) {
        let _ = service::watch(&self.socket, self.clone(), &self.ticket);
    }

    /// The socket.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The host lets it in, as this node, by this adapter.
    pub fn admit(&self, node: u32, adapter: u32) {
        let _ = self.peer.set((node, adapter));
    }

    /// Its node and this side's adapter.
    pub fn peer(&self) -> (u32, u32) {
        self.peer.get().copied().unwrap_or_default()
    }

    /// Tells it to leave, or that it has been thrown out.
    pub fn dismiss(&self, verb: Verb) {
        let _ = Packet::new(verb).send(&self.socket, &[]);
        if verb == Verb::Withdrawn {
            let _ = shutdown(&self.socket, Shutdown::Both);
        }
    }

    /// Looks at it no longer.
    pub fn forget(&self) {
        if let Some(&ticket) = self.ticket.get() {
            service::forget(&self.socket, ticket);
        }
    }

    fn end(self: &Arc<Self>) {
        self.forget();
        if let Some(host) = self.host.upgrade() {
            host.left(self);
        }
    }
}

/// Takes a connection from another host.
pub type Take = fn(OwnedFd, Packet);

/// Who takes connections from other hosts that come through doors of this process.
pub static TAKE: OnceLock<Take> = OnceLock::new();

impl Watch for Guest {
    fn ready(self: Arc<Self>) {
        match Packet::receive(&self.socket) {
            Err(Errno::AGAIN) => {}
            Ok(Some((packet, mut fds))) if packet.verb == Verb::Far && self.peer.get().is_none() => {
                // It is another process of this host, which has let the caller in, and goes at once.
                if let (Some(take), Some(socket)) = (TAKE.get(), fds.pop()) {
                    take(socket, packet);
                }
                self.forget();
            }
            Ok(Some((Packet { verb: Verb::Status, .. }, _))) if self.peer.get().is_none() => {
                // It is no guest, and goes at once.
                if let Some(host) = self.host.upgrade() {
                    let _ = answer_text(&self.socket, &host.report(self.whom).text());
                }
                self.forget();
            }
            Ok(Some((packet, _))) if self.peer.get().is_none() => {
                // Ordering: only what is told of it hangs on it.
                self.is_far.store(packet.flags & IS_FAR != 0 && packet.verb == Verb::Connect, Ordering::Relaxed);
                let greeted =
                    self.host.upgrade().ok_or(Error::NoSuchSegment).and_then(|host| host.greet(&self, packet));
                if let Err(error) = greeted {
                    let _ = refusal(error).send(&self.socket, &[]);
                    self.end();
                }
            }
            // A guest that was let in says nothing more; one that does, or has ended, is no longer one.
            _ => self.end(),
        }
    }
}

/// The connection to an interrupt, on the side of who connected. When it ends, the slot of the handle says `broken`.
pub struct Tie {
    socket: OwnedFd,
    place: usize,
    ticket: OnceLock<Ticket>,
    /// The handle is gone: its slot may belong to something else.
    is_closed: Mutex<bool>,
}

impl Tie {
    /// Looks at the connection from now on.
    pub fn new(socket: OwnedFd, place: usize) -> rustix::io::Result<Arc<Tie>> {
        let tie = Arc::new(Tie { socket, place, ticket: OnceLock::new(), is_closed: Mutex::new(false) });
        service::watch(&tie.socket, tie.clone(), &tie.ticket)?;
        Ok(tie)
    }

    /// Ends it.
    pub fn close(&self) {
        *self.is_closed.lock() = true;
        self.forget();
    }

    fn forget(&self) {
        if let Some(&ticket) = self.ticket.get() {
            service::forget(&self.socket, ticket);
        }
    }
}

impl Watch for Tie {
    fn ready(self: Arc<Self>) {
        if matches!(Packet::receive(&self.socket), Err(Errno::AGAIN)) {
            return;
        }
        self.forget();
        let is_closed = self.is_closed.lock();
        if let Some(slot) = handle::at(self.place).filter(|_| !*is_closed) {
            // Ordering: Release, as for segments.
            slot.broken.store(true, Ordering::Release);
        }
    }
}
