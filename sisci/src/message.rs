//! Interrupts with data. Each trigger is one packet on a connection of its own: the kernel keeps order and borders, bounds what waits, and delivers
//! it even when the sender has ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, epoll, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use rustix::process::Pid;

use crate::calm;
use crate::card;
use crate::descriptor::Owned;
use crate::door::{Door, For, Guest, Host};
use crate::error::{Error, Result};
use crate::far::{self, Until};
use crate::handle::{self, Handle, Kind, Named};
use crate::interrupt::{reach, reach_far};
use crate::name::{Deadline, Name, What, deadline, rest};
use crate::net::say::Say;
use crate::net::{self, Line};
use crate::packet::{IS_FAR, Packet, Verb};
use crate::report::Report;
use crate::state;
use crate::worker::Waiter;

/// Bytes that a trigger may bring.
pub const MOST: usize = 4096;
/// Bytes before them: their number. Without it a trigger without data would look like the end of the connection.
const HEAD: usize = 4;
/// The number of the descriptor that ends waits; connections count from 1.
const END: u64 = 0;
/// The number of the descriptor that wakes waiters when a message was too long for one of them.
const LEFT: u64 = u64::MAX;
/// How long a trigger waits for room.
const PATIENCE: Duration = Duration::from_secs(1);

/// `sci_local_data_interrupt_t`
pub struct LocalDataInterrupt {
    owned: Owned,
    node: u32,
    doors: Mutex<Vec<Arc<Door>>>,
    /// The connections, and `end`.
    epoll: OwnedFd,
    end: OwnedFd,
    /// Readable while a message waits that was too long for one of the waiters.
    again: OwnedFd,
    senders: Mutex<Senders>,
    is_gone: AtomicBool,
    has_callback: bool,
    since: SystemTime,
    is_calling: AtomicBool,
    waiter: Waiter,
}

/// A process that sends: of this host; or one of another host, by its number, for which a process of this host stands in.
type Sender = (Pid, u64);

/// Who is connected, and a message that nobody took.
#[derive(Default)]
struct Senders {
    guests: HashMap<u64, (Sender, Arc<Guest>)>,
    /// The connections of each process, oldest first. A process that connects, triggers and disconnects again and again relies on the order.
    of: HashMap<Sender, Vec<u64>>,
    last: u64,
    /// A message that was received and that no call has taken yet.
    left: Option<Vec<u8>>,
    /// Whether `again` says that there is one: it was longer than the room that a call had for it.
    is_told: bool,
    /// With so many connections it is looked which of them have ended.
    look_at: usize,
}

impl Senders {
    /// Forgets connections that have ended and of which all is taken. Looks at all of them only when there are twice as many as it kept last time.
    fn reap(&mut self, epoll: &OwnedFd) {
        if self.guests.len() < self.look_at.max(16) {
            return;
        }
        let is_over = |guest: &Guest| {
            let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
            matches!(retry_on_intr(|| recv(guest.socket(), &mut [0; HEAD], flags)), Ok((0, _)))
        };
        let over: Vec<u64> =
            self.guests.iter().filter(|(_, (_, guest))| is_over(guest)).map(|(&number, _)| number).collect();
        over.into_iter().for_each(|number| self.forget(epoll, number));
        self.look_at = 2 * self.guests.len();
    }

    /// The other side of this connection has ended, and all that it sent is taken.
    fn forget(&mut self, epoll: &OwnedFd, number: u64) {
        let Some((process, guest)) = self.guests.remove(&number) else { return };
        let _ = epoll::delete(epoll, guest.socket());
        if let Entry::Occupied(mut list) = self.of.entry(process) {
            list.get_mut().retain(|&other| other != number);
            if list.get().is_empty() {
                list.remove();
            }
        }
    }
}

impl Named for LocalDataInterrupt {
    const KIND: Kind = Kind::LocalDataInterrupt;
}

/// A function of the program: it gets the bytes; false ends it.
pub type Callback = Box<dyn Fn(&mut [u8]) -> bool + Send>;

impl Host for LocalDataInterrupt {
    fn greet(&self, guest: &Arc<Guest>, packet: Packet) -> Result {
        if packet.verb != Verb::Connect {
            return Err(Error::InconsistentVersions);
        }
        // From here on who waits for the interrupt looks at the connection.
        guest.forget();
        let For::Peers(adapter) = guest.whom else { return Err(Error::InconsistentVersions) };
        let far = if packet.flags & IS_FAR != 0 { packet.size } else { 0 };
        let process = (sockopt::socket_peercred(guest.socket())?.pid, far);
        let mut senders = self.senders.lock();
        if self.is_gone.load(Ordering::Acquire) {
            return Err(Error::NoSuchSegment);
        }
        senders.reap(&self.epoll);
        senders.last += 1;
        let number = senders.last;
        epoll::add(&self.epoll, guest.socket(), epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
        guest.admit(packet.node, adapter);
        senders.of.entry(process).or_default().push(number);
        senders.guests.insert(number, (process, guest.clone()));
        let _ = Packet::new(Verb::Answer).send(guest.socket(), &[]);
        Ok(())
    }

    fn left(&self, _guest: &Arc<Guest>) {}

    fn report(&self, _whom: For) -> Report {
        let senders = self.senders.lock();
        let mut peers: Vec<_> = senders.guests.iter().map(|(&number, (_, guest))| (number, guest.report())).collect();
        peers.sort_unstable_by_key(|&(number, _)| number);
        Report {
            has_callback: self.has_callback,
            waiting: senders.left.is_some().into(),
            peers: peers.into_iter().map(|(_, peer)| peer).collect(),
            ..Report::own(self.since)
        }
    }
}

impl LocalDataInterrupt {
    /// Takes the oldest message: into `room`, or all of it into the vector that `room` is without.
    fn wait(&self, room: Option<&mut [u8]>, until: Deadline) -> Result<Vec<u8>> {
        let most = room.as_ref().map_or(MOST, |room| room.len());
        let began = card::get().map(|card| (card, card::now()));
        loop {
            if self.is_gone.load(Ordering::Acquire) {
                return Err(Error::Cancelled);
            }
            if self.senders.lock().left.is_none() {
                let mut events = [MaybeUninit::<epoll::Event>::uninit(); 1];
                match calm::open(|| epoll::wait(&self.epoll, &mut events, rest(until).as_ref())) {
                    Ok(([], _)) => return Err(Error::Timeout),
                    Ok((ready, _)) if ![END, LEFT].contains(&{ ready[0].data }.u64()) => self.take(ready[0].data.u64()),
                    Ok(_) | Err(Errno::INTR) => continue,
                    Err(errno) => return Err(errno.into()),
                }
            }
            let mut senders = self.senders.lock();
            match senders.left.take() {
                Some(message) if message.len() > most => {
                    senders.left = Some(message);
                    if !senders.is_told {
                        senders.is_told = true;
                        let _ = rustix::io::write(&self.again, &1_u64.to_ne_bytes());
                    }
                    return Err(Error::OutOfRange);
                }
                Some(message) => {
                    if std::mem::take(&mut senders.is_told) {
                        let _ = rustix::io::read(&self.again, &mut [0_u8; 8]);
                    }
                    if let Some(room) = room {
                        room[..message.len()].copy_from_slice(&message);
                    }
                    drop(senders);
                    // One that was there already had its time.
                    if let Some((card, began)) = began {
                        card::wait_until(card::now() + card.wake(message.len()).min(card::now() - began));
                    }
                    return Ok(message);
                }
                // Another thread was faster, or a sender has ended.
                None => {}
            }
        }
    }

    /// Receives into `left`, unless something is there: from the connection of this number, or an older one of the same process.
    fn take(&self, number: u64) {
        let mut senders = self.senders.lock();
        if senders.left.is_some() {
            return;
        }
        let Some(&(process, _)) = senders.guests.get(&number) else { return };
        let older = senders.of.get(&process).cloned().unwrap_or_default();
        for at in older {
            let Some((_, guest)) = senders.guests.get(&at) else { continue };
            let mut bytes = [0; HEAD + MOST];
            match retry_on_intr(|| recv(guest.socket(), &mut bytes, RecvFlags::DONTWAIT)) {
                Err(Errno::AGAIN) => {}
                Ok((length, _)) if length >= HEAD => {
                    senders.left = Some(bytes[HEAD..length].to_vec());
                    return;
                }
                Ok(_) | Err(_) => senders.forget(&self.epoll, at),
            }
        }
    }

    /// It is gone: ends all waits.
    fn end_waits(&self) {
        self.is_gone.store(true, Ordering::Release);
        // It stays readable, so that all who wait see it.
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
    }

    /// Nobody will take a message any more: sends away who has connected, and who comes.
    fn retire(&self) {
        for door in self.doors.lock().drain(..) {
            door.close();
        }
        let mut senders = self.senders.lock();
        senders.guests.clear();
        senders.of.clear();
    }
}

/// SCICreateDataInterrupt. Returns the handle and the number.
pub fn create(
    descriptor: Handle,
    adapter: u32,
    number: Option<u32>,
    callback: Option<Callback>,
) -> Result<(Handle, u32)> {
    let node = state::node_of(adapter)?;
    let owned = Owned::new(descriptor, Kind::LocalDataInterrupt)?;
    let place = handle::reserve(Kind::LocalDataInterrupt)?;
    let (number, socket) =
        state::numbered(number, |number| match Name::new(node, What::DataInterrupt, number).listen() {
            Err(Errno::ADDRINUSE) => Err(Error::SegmentIdUsed),
            result => Ok(result?),
        })?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    epoll::add(&epoll, &end, epoll::EventData::new_u64(END), epoll::EventFlags::IN)?;
    let again = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    epoll::add(&epoll, &again, epoll::EventData::new_u64(LEFT), epoll::EventFlags::IN)?;
    let interrupt = Arc::new(LocalDataInterrupt {
        owned,
        node,
        doors: Mutex::default(),
        epoll,
        end,
        again,
        senders: Mutex::default(),
        is_gone: AtomicBool::new(false),
        has_callback: callback.is_some(),
        since: SystemTime::now(),
        is_calling: AtomicBool::new(false),
        waiter: Waiter::default(),
    });
    let own: std::sync::Weak<LocalDataInterrupt> = Arc::downgrade(&interrupt);
    let door = Door::new(own, socket, Name::new(node, What::DataInterrupt, number), For::Peers(adapter));
    interrupt.doors.lock().push(door.clone());
    door.open()?;
    let waits = interrupt.clone();
    let handle = place.fill(interrupt);
    state::say(|| format!("data interrupt {number} of node {}", waits.node));
    if let Some(callback) = callback {
        let own = waits.clone();
        let started = waits.waiter.start(move || {
            while let Ok(mut message) = own.wait(None, None) {
                own.is_calling.store(true, Ordering::Release);
                let goes_on = callback(&mut message);
                own.is_calling.store(false, Ordering::Release);
                if !goes_on {
                    own.retire();
                    return;
                }
            }
        });
        if let Err(errno) = started {
            forget(handle)?;
            return Err(errno.into());
        }
    }
    Ok((handle, number))
}

/// SCIWaitForDataInterrupt. Returns the number of bytes.
pub fn wait(handle: Handle, room: &mut [u8], timeout: u32) -> Result<usize> {
    let interrupt = handle::get::<LocalDataInterrupt>(handle)?;
    if interrupt.has_callback {
        return Err(Error::IllegalOperation);
    }
    interrupt.wait(Some(room), deadline(timeout)).map(|message| message.len())
}

/// Ends the waits of an interrupt that will be removed.
pub fn cancel(handle: Handle) -> Result {
    handle::get::<LocalDataInterrupt>(handle)?.end_waits();
    Ok(())
}

/// SCIRemoveDataInterrupt: BUSY while the callback runs, unless it is the callback that removes it.
pub fn remove(handle: Handle) -> Result {
    let interrupt = handle::get::<LocalDataInterrupt>(handle)?;
    if interrupt.is_calling.load(Ordering::Acquire) && !interrupt.waiter.is_current() {
        return Err(Error::Busy);
    }
    forget(handle)
}

/// Removes it, whatever its callback does.
pub fn forget(handle: Handle) -> Result {
    let interrupt = handle::get::<LocalDataInterrupt>(handle)?;
    interrupt.end_waits();
    interrupt.retire();
    interrupt.owned.release();
    handle::remove(handle);
    interrupt.waiter.finish();
    Ok(())
}

/// `sci_remote_data_interrupt_t`
pub struct RemoteDataInterrupt {
    owned: Owned,
    way: Way,
}

/// Where it is.
enum Way {
    /// On this host.
    Near(OwnedFd),
    /// On another.
    Far(Arc<Line>),
}

impl Named for RemoteDataInterrupt {
    const KIND: Kind = Kind::RemoteDataInterrupt;
}

/// SCIConnectDataInterrupt.
pub fn connect(descriptor: Handle, node: u32, adapter: u32, number: u32, timeout: u32) -> Result<Handle> {
    let owned = Owned::new(descriptor, Kind::RemoteDataInterrupt)?;
    let place = handle::reserve(Kind::RemoteDataInterrupt)?;
    let way = match net::far(node) {
        Some(far) => Way::Far(reach_far(far, What::DataInterrupt, node, adapter, number, timeout)?),
        None => Way::Near(reach(What::DataInterrupt, node, adapter, number, timeout)?.0),
    };
    Ok(place.fill(Arc::new(RemoteDataInterrupt { owned, way })))
}

/// SCIDisconnectDataInterrupt. What was triggered before is still delivered.
pub fn disconnect(handle: Handle) -> Result {
    let interrupt = handle::get::<RemoteDataInterrupt>(handle)?;
    if let Way::Far(line) = &interrupt.way {
        line.close();
    }
    interrupt.owned.release();
    handle::remove(handle);
    Ok(())
}

/// SCITriggerDataInterrupt.
pub fn trigger(handle: Handle, data: &[u8]) -> Result {
    let interrupt = handle::get::<RemoteDataInterrupt>(handle)?;
    if data.len() > MOST {
        return Err(Error::OutOfRange);
    }
    far::flush(Until::Left);
    match &interrupt.way {
        Way::Near(socket) => put(socket, data),
        Way::Far(line) => line.trigger(&Say::Data, data, Some(Instant::now() + PATIENCE)),
    }
}

/// Puts data of at most `MOST` bytes into a connection. EWOULD_BLOCK if there is no room for them for a second.
pub fn put(socket: &OwnedFd, data: &[u8]) -> Result {
    let mut bytes = [0; HEAD + MOST];
    bytes[..HEAD].copy_from_slice(&(data.len() as u32).to_ne_bytes());
    bytes[HEAD..HEAD + data.len()].copy_from_slice(data);
    let begin = Instant::now();
    loop {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match retry_on_intr(|| send(socket.as_fd(), &bytes[..HEAD + data.len()], flags)) {
            Ok(_) => return Ok(()),
            Err(Errno::AGAIN) if begin.elapsed() < PATIENCE => {
                let rest = rest(Some(begin + PATIENCE));
                let _ = calm::open(|| poll(&mut [PollFd::new(socket, PollFlags::OUT)], rest.as_ref()));
            }
            Err(Errno::AGAIN) => return Err(Error::EwouldBlock),
            Err(_) => return Err(Error::TransferFailed),
        }
    }
}
