//! Segments on the side that connects.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fd::OwnedFd;
use rustix::fs::fstat;
use rustix::io::Errno;

use super::{Body, outside};
use crate::config::GROUP;
use crate::constants as flag;
use crate::descriptor::Owned;
use crate::error::{Error, Result};
use crate::event::{Callback, Event, Events, Reason};
use crate::far::{self, Shadow, Targets, Until};
use crate::handle::{self, Handle, Kind, Named};
use crate::hosts::Place;
use crate::memory::Memory;
use crate::name::{Deadline, Name, PAUSE, What, deadline, nodes_with};
use crate::net::{self, Line, Notice};
use crate::packet::{self, Packet, Verb, refused};
use crate::service::{self, Ticket, Watch};
use crate::state;
use crate::{card, fault, worker};

/// `sci_remote_segment_t`
pub struct RemoteSegment {
    owned: Owned,
    place: usize,
    /// The segment's number.
    pub id: u32,
    /// The owner's node; 252 for a group.
    pub node: u32,
    adapter: u32,
    /// Its memory.
    pub body: Body,
    /// What the program maps instead of it in timing mode, or if it is on another host.
    shadow: OnceLock<Arc<Shadow>>,
    /// The thread that makes the shadow holds it: a second shadow would take the owner's news, and be dropped.
    making: Mutex<()>,
    /// Where it is, if that is another host.
    targets: OnceLock<Arc<Targets>>,
    ends: Mutex<Ends>,
    /// What happened.
    pub events: Events,
}

/// The connections to the owner, or to all members of a group.
#[derive(Default)]
struct Ends {
    connected: Vec<Arc<End>>,
    /// The program has disconnected: the handle's place may belong to something else.
    is_closed: bool,
}

impl Named for RemoteSegment {
    const KIND: Kind = Kind::RemoteSegment;
}

/// The other side of a connection.
pub enum Way {
    /// A process of this host.
    Near(OwnedFd),
    /// One of another host.
    Far(Arc<Line>),
}

/// This side's end of a connection.
struct End {
    segment: Weak<RemoteSegment>,
    way: Way,
    node: u32,
    ticket: OnceLock<Ticket>,
    is_over: AtomicBool,
}

impl End {
    /// The end of a connection of `segment` to `node`.
    fn new(segment: &Arc<RemoteSegment>, way: Way, node: u32) -> Arc<End> {
        let segment = Arc::downgrade(segment);
        Arc::new(End { segment, way, node, ticket: OnceLock::new(), is_over: AtomicBool::new(false) })
    }

    fn socket(&self) -> &OwnedFd {
        match &self.way {
            Way::Near(socket) => socket,
            Way::Far(line) => line.socket(),
        }
    }

    /// Looks at it from now on.
    fn watch(self: &Arc<Self>) -> rustix::io::Result<()> {
        if let Way::Far(line) = &self.way {
            let own = Arc::downgrade(self);
            line.on_notice(Box::new(move |notice| {
                let Some(end) = own.upgrade() else { return };
                let Some(segment) = end.segment.upgrade() else { return };
                match notice {
                    Notice::Leave => segment.happened(Reason::Disconnect, end.node, Error::Ok),
                    Notice::Over(net::End::Gone) => segment.lost(&end, Reason::Disconnect),
                    Notice::Over(net::End::Lost) => segment.lost(&end, Reason::Lost),
                }
            }));
        }
        service::watch(self.socket(), self.clone(), &self.ticket)
    }

    /// Looks no longer, and ends the connection.
    fn close(&self) {
        if let Some(&ticket) = self.ticket.get() {
            service::forget(self.socket(), ticket);
        }
        if let Way::Far(line) = &self.way {
            line.close();
        }
    }
}

impl Watch for End {
    fn ready(self: Arc<Self>) {
        let Some(segment) = self.segment.upgrade() else { return };
        let socket = match &self.way {
            Way::Near(socket) => socket,
            Way::Far(line) => return line.look(),
        };
        match Packet::receive(socket) {
            Err(Errno::AGAIN) => {}
            Ok(Some((Packet { verb: Verb::Leave, .. }, _))) => {
                segment.happened(Reason::Disconnect, self.node, Error::Ok)
            }
            _ => segment.lost(&self, Reason::Disconnect),
        }
    }
}

impl RemoteSegment {
    /// The descriptor that owns it.
    pub fn descriptor(&self) -> Handle {
        self.owned.descriptor
    }

    /// The place of its handle.
    pub fn place(&self) -> usize {
        self.place
    }

    fn happened(&self, reason: Reason, node: u32, status: Error) {
        self.events.push(Event { reason, node, adapter: self.adapter, status });
    }

    /// An owner has withdrawn the segment, or ended. The program learns of it when no other is left.
    fn lost(self: &Arc<Self>, end: &Arc<End>, reason: Reason) {
        // Ordering: one alone goes on; nothing else hangs on it.
        if end.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(&ticket) = end.ticket.get() {
            service::forget(end.socket(), ticket);
        }
        let mut ends = self.ends.lock();
        ends.connected.retain(|other| !Arc::ptr_eq(other, end));
        let is_last = ends.connected.is_empty();
        if ends.is_closed || !is_last && matches!(end.way, Way::Near(_)) {
            return;
        }
        // A group may have members that came later, or another one on that host. Asking them takes time, which this thread has not.
        let (own, node) = (self.clone(), end.node);
        let look = move || {
            if !is_last {
                let _ = outside::look(&own, deadline(LATER));
            } else if own.establish(deadline(LATER)).is_err() {
                own.broken(node, reason);
            }
        };
        if self.node == GROUP && worker::spawn("sisci-connect", look).is_ok() {
            return;
        }
        drop(ends);
        self.broken(end.node, reason);
    }

    /// Nobody is left who has the segment.
    fn broken(&self, node: u32, reason: Reason) {
        let ends = self.ends.lock();
        if ends.is_closed || !ends.connected.is_empty() {
            return;
        }
        if let Some(slot) = handle::at(self.place) {
            // Ordering: Release; a thread that sees it has the peer's last stores before it, as its end came after them.
            slot.broken.store(true, Ordering::Release);
        }
        drop(ends);
        self.happened(reason, node, Error::Ok);
    }

    /// Whether the segment's memory can be reached.
    pub fn is_connected(&self) -> bool {
        self.is_reached() && !handle::at(self.place).is_none_or(|slot| slot.broken.load(Ordering::Acquire))
    }

    /// Whether it was connected.
    pub fn is_reached(&self) -> bool {
        self.body.memory().is_some() || self.targets.get().is_some()
    }

    /// Where it is, if that is another host.
    pub fn targets(&self) -> Option<&Arc<Targets>> {
        self.targets.get()
    }

    /// What the program maps instead of the memory in timing mode, and of another host; made at the first map.
    pub fn shadow(&self) -> Result<Option<&Arc<Shadow>>> {
        if let Some(shadow) = self.shadow.get() {
            return Ok(Some(shadow));
        }
        let _making = self.making.lock();
        if let Some(shadow) = self.shadow.get() {
            return Ok(Some(shadow));
        }
        let shadow = match (self.targets.get(), card::get(), self.body.memory()) {
            (Some(targets), ..) => Shadow::of_hosts(self.body.size(), targets.clone())?,
            (None, Some(_), Some(memory)) => Shadow::timed(memory)?,
            _ => return Ok(None),
        };
        Ok(Some(self.shadow.get_or_init(|| shadow)))
    }

    /// Copies into the segment, which is on another host.
    ///
    /// # Safety
    /// `from` has `size` bytes; the segment has them at `at`.
    #[expect(unsafe_code, reason = "memory of the caller's")]
    pub unsafe fn put(&self, at: usize, from: *const u8, size: usize) -> Result {
        let targets = self.targets.get().ok_or(Error::SegmentNotConnected)?;
        match self.shadow.get() {
            // Maps show it, too.
            // SAFETY: the caller's.
            Some(shadow) => unsafe { shadow.write(0.0, (at, size), from) },
            // SAFETY: the caller's.
            None => unsafe { targets.copy(at, from, size) },
        }
        Ok(())
    }

    /// Copies out of the segment, which is on another host.
    ///
    /// # Safety
    /// `to` has `size` bytes; the segment has them at `at`.
    #[expect(unsafe_code, reason = "memory of the caller's")]
    pub unsafe fn get(&self, at: usize, to: *mut u8, size: usize) -> Result {
        // SAFETY: the caller's.
        unsafe { self.targets.get().ok_or(Error::SegmentNotConnected)?.read(at, to, size) }
    }

    /// It is on other hosts: `make` says where.
    pub fn reach(&self, make: impl FnOnce() -> Targets) {
        self.targets.get_or_init(|| {
            far::set_on();
            state::care_for(state::FAR);
            Arc::new(make())
        });
    }

    /// The node of this side.
    pub fn own_node(&self) -> Result<u32> {
        state::node_of(self.adapter)
    }

    /// A connection to a member on that host that has not ended.
    pub fn line_to(&self, place: &Place) -> Option<Arc<Line>> {
        let ends = self.ends.lock();
        let lines = ends.connected.iter().filter_map(|end| match &end.way {
            Way::Far(line) => Some(line),
            Way::Near(_) => None,
        });
        lines.into_iter().find(|line| line.place() == place && line.end().is_none()).cloned()
    }

    /// Whether the program has disconnected, or nobody is left.
    pub fn is_over(&self) -> bool {
        self.ends.lock().is_closed || self.is_reached() && !self.is_connected()
    }

    /// Connects to the owner on another host.
    fn connect_far(self: &Arc<Self>, place: net::Far, node: u32, what: What, until: Deadline) -> Result {
        let own = state::node_of(self.adapter)?;
        let (line, answer) = net::connect(place, (node, what, self.id), own, until)?;
        self.body.set_size(usize::try_from(answer.size).map_err(|_| Error::NoSpc)?);
        self.reach(|| Targets::owner(line.clone()));
        self.add(Way::Far(line), node)
    }

    /// There is a connection more.
    pub fn add(self: &Arc<Self>, way: Way, node: u32) -> Result {
        let end = End::new(self, way, node);
        let mut ends = self.ends.lock();
        if ends.is_closed {
            return Err(Error::Cancelled);
        }
        end.watch()?;
        ends.connected.push(end);
        Ok(())
    }

    /// Connects to the owner at `name`.
    fn connect_to(self: &Arc<Self>, node: u32, what: What, until: Deadline) -> Result {
        if let Some(place) = net::far(node) {
            return self.connect_far(place, node, what, until);
        }
        let socket = Name::new(node, what, self.id).connect(until)?;
        let own = state::node_of(self.adapter)?;
        let (answer, mut fds) = packet::ask(&socket, Packet { node: own, ..Packet::new(Verb::Connect) }, until)?;
        if answer.status != 0 {
            return Err(refused(answer.status));
        }
        let memory = Memory::from_peer(fds.pop().ok_or(Error::ConnectionRefused)?, answer.size, answer.offset)?;
        // Members of another host told another size.
        if self.is_reached() && self.body.size() as u64 != answer.size {
            return Err(Error::SizeAlignment);
        }
        match self.body.memory() {
            None => self.body.set(memory, answer.size as usize)?,
            // A group that ended, and was made anew under its number, is another one.
            Some(known) if fstat(&known.fd)?.st_ino != fstat(&memory.fd)?.st_ino => return Err(Error::NoSuchSegment),
            Some(_) => {}
        }
        outside::reach_near(self, self.body.memory().ok_or(Error::NoSuchSegment)?)?;
        self.add(Way::Near(socket), node)
    }

    /// Connects: to the owner, or to every member of a group that is available, one at least.
    fn establish(self: &Arc<Self>, until: Deadline) -> Result {
        if self.node != GROUP {
            return self.connect_to(self.node, What::Segment, until);
        }
        let mut result = Err(Error::NoSuchSegment);
        for (node, _) in nodes_with(What::Member).into_iter().filter(|&(_, id)| id == self.id) {
            // One that is stopped does not hold up the others.
            let until = Some(until.map_or(Instant::now() + MEMBER, |until| until.min(Instant::now() + MEMBER)));
            match self.connect_to(node, What::Member, until) {
                Ok(()) => result = Ok(()),
                Err(error) if result.is_err() => result = Err(error),
                Err(_) => {}
            }
        }
        outside::look(self, until).or(result)
    }
}

impl Drop for RemoteSegment {
    /// A segment that could not be connected wholly may have connections: the service has them as well, so they would stay, and the owner would
    /// be busy.
    fn drop(&mut self) {
        std::mem::take(&mut self.ends.get_mut().connected).iter().for_each(|end| end.close());
    }
}

/// Milliseconds in which members that came later have to answer when those are gone that were connected.
const LATER: u32 = 1_000;
/// How long a member of a group may take to answer.
const MEMBER: Duration = Duration::from_secs(1);

/// What SCIConnectSegment is asked for.
pub struct Wanted {
    /// The owner's node.
    pub node: u32,
    /// The segment's number.
    pub id: u32,
    /// This side's adapter.
    pub adapter: u32,
    /// Milliseconds that the owner may take to answer.
    pub timeout: u32,
    /// The flags.
    pub flags: u32,
    /// The program's function.
    pub callback: Option<Callback>,
}

/// SCIConnectSegment.
pub fn connect(descriptor: Handle, wanted: Wanted) -> Result<Handle> {
    state::node_of(wanted.adapter)?;
    let is_group = wanted.flags & flag::BROADCAST != 0;
    if is_group && wanted.node != GROUP {
        return Err(Error::IllegalNodeId);
    }
    if !is_group {
        state::check_node(wanted.node)?;
    }
    let owned = Owned::new(descriptor, Kind::RemoteSegment)?;
    let place = handle::reserve(Kind::RemoteSegment)?;
    let segment = Arc::new(RemoteSegment {
        owned,
        place: place.place(),
        id: wanted.id,
        node: wanted.node,
        adapter: wanted.adapter,
        body: Body::default(),
        shadow: OnceLock::new(),
        making: Mutex::default(),
        targets: OnceLock::new(),
        ends: Mutex::default(),
        events: Events::new(wanted.callback),
    });
    let until = deadline(wanted.timeout);
    if wanted.flags & flag::ASYNCHRONOUS_CONNECT != 0 {
        let own = segment.clone();
        worker::spawn("sisci-connect", move || {
            let status = fault::connect().and_then(|()| own.establish(until)).err().unwrap_or(Error::Ok);
            if status != Error::Ok {
                std::thread::sleep(PAUSE);
            }
            own.happened(Reason::Connect, own.node, status);
        })?;
        outside::keep_looking(&segment)?;
        return Ok(place.fill(segment));
    }
    match fault::connect().and_then(|()| segment.establish(until)) {
        Ok(()) => {
            outside::keep_looking(&segment)?;
            Ok(place.fill(segment))
        }
        Err(error) => {
            std::thread::sleep(PAUSE);
            Err(error)
        }
    }
}

/// Ends the waits of a segment that will be freed.
pub fn cancel(handle: Handle) -> Result {
    handle::get::<RemoteSegment>(handle)?.events.cancel();
    Ok(())
}

/// SCIDisconnectSegment.
pub fn disconnect(handle: Handle) -> Result {
    let segment = handle::get::<RemoteSegment>(handle)?;
    if segment.body.is_in_use() {
        return Err(Error::Busy);
    }
    let ends = {
        let mut ends = segment.ends.lock();
        ends.is_closed = true;
        std::mem::take(&mut ends.connected)
    };
    if segment.targets.get().is_some() {
        far::flush(Until::Left);
    }
    ends.iter().for_each(|end| end.close());
    segment.owned.release();
    handle::remove(handle);
    segment.events.close();
    Ok(())
}

#[cfg(test)]
mod tests;
