//! The owner's side: create, prepare, make available, withdraw, remove.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use parking_lot::Mutex;
use rustix::io::Errno;

use super::peer::Peers;
use super::{Body, group, share};
use crate::descriptor::Owned;
use crate::door::{Door, For, Host};
use crate::error::{Error, Result};
use crate::event::{Callback, Events};
use crate::handle::{self, Handle, Kind, Named};
use crate::memory::{self, Memory};
use crate::name::{Name, What};
use crate::state;
use crate::{constants as flag, packet};

/// `sci_local_segment_t`
pub struct LocalSegment {
    own: Back,
    owned: Owned,
    place: usize,
    /// Its number on this node.
    pub id: u32,
    /// The flags of its creation.
    pub flags: u32,
    /// Its memory.
    pub body: Body,
    /// The node ids of the adapters.
    pub nodes: Vec<u32>,
    /// The adapters for which it is prepared, a bit each.
    pub prepared: AtomicU32,
    /// The adapters for which peers may connect, a bit each.
    pub available: AtomicU32,
    /// Who connects, and who has connected.
    pub peers: Mutex<Peers>,
    /// What happened.
    pub events: Events,
    /// When this process made it, or began to own it as well.
    pub since: SystemTime,
}

impl Named for LocalSegment {
    const KIND: Kind = Kind::LocalSegment;
}

/// What SCICreateSegment is asked for.
pub struct Wanted {
    /// The number, unless the library chooses it.
    pub id: u32,
    /// Bytes.
    pub size: usize,
    /// The flags.
    pub flags: u32,
    /// The program's function.
    pub callback: Option<Callback>,
}

/// A number of a random number generator.
fn random() -> u32 {
    getrandom::u32().unwrap_or_else(|_| std::process::id().wrapping_mul(2_654_435_761))
}

impl LocalSegment {
    /// A segment without memory or names.
    pub fn new(
        descriptor: Handle,
        id: u32,
        flags: u32,
        callback: Option<Callback>,
    ) -> Result<(Arc<LocalSegment>, handle::Reserved)> {
        let owned = Owned::new(descriptor, Kind::LocalSegment)?;
        let place = handle::reserve(Kind::LocalSegment)?;
        let nodes = state::config()?.nodes.clone();
        let segment = Arc::new_cyclic(|own| LocalSegment {
            own: own.clone(),
            owned,
            place: place.place(),
            id,
            flags,
            body: Body::default(),
            nodes,
            prepared: AtomicU32::new(0),
            available: AtomicU32::new(0),
            peers: Mutex::default(),
            events: Events::new(callback),
            since: SystemTime::now(),
        });
        Ok((segment, place))
    }

    /// The descriptor that owns it.
    pub fn descriptor(&self) -> Handle {
        self.owned.descriptor
    }

    /// A reference that does not keep it.
    pub fn back(&self) -> Back {
        self.own.clone()
    }

    /// The place of its handle.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Opens a door at the name of each adapter's node; none if one of them is taken.
    fn open_doors(&self, what: What) -> Result<Vec<Arc<Door>>> {
        let open = |(adapter, &node): (usize, &u32)| {
            let name = Name::new(node, what, self.id);
            let socket = name
                .listen()
                .map_err(|errno| if errno == Errno::ADDRINUSE { Error::SegmentIdUsed } else { errno.into() })?;
            Ok(Door::new(self.back(), socket, name, For::Peers(adapter as u32)))
        };
        self.nodes.iter().enumerate().map(open).collect()
    }

    /// The number of an adapter as a bit; NO_SUCH_ADAPTERNO.
    fn bit(&self, adapter: u32) -> Result<u32> {
        if (adapter as usize) < self.nodes.len() { Ok(1 << adapter) } else { Err(Error::NoSuchAdapterNo) }
    }
}

/// SCICreateSegment.
pub fn create(descriptor: Handle, mut wanted: Wanted) -> Result<Handle> {
    let (is_private, is_empty) = (wanted.flags & flag::PRIVATE != 0, wanted.flags & flag::EMPTY != 0);
    let is_group = wanted.flags & flag::BROADCAST != 0;
    if wanted.flags & (flag::PHYSICAL | flag::CUDA_BUFFER) != 0 || is_group && (is_private || is_empty) {
        return Err(Error::NotSupported);
    }
    if wanted.size == 0 && !is_empty {
        return Err(Error::SizeAlignment);
    }
    // A number that the library chooses may be taken: then it chooses another.
    let tries = if wanted.flags & flag::AUTO_ID != 0 && !is_private { 1000 } else { 1 };
    let callback = wanted.callback.take();
    for turn in 0..tries {
        if tries > 1 {
            wanted.id = random();
        }
        let (segment, place) = LocalSegment::new(descriptor, wanted.id, wanted.flags, callback.clone())?;
        let mut doors = Vec::new();
        let named = match () {
            () if is_private => Ok(Vec::new()),
            () if is_group => segment.open_doors(What::Member),
            () => segment.open_doors(What::Segment),
        };
        match named {
            Ok(more) => doors.extend(more),
            Err(Error::SegmentIdUsed) if turn + 1 < tries => continue,
            Err(error) => return Err(error),
        }
        if is_group {
            if wanted.flags & flag::ALLOW_UNICAST != 0 {
                doors.extend(segment.open_doors(What::Segment)?);
            }
            let host: Weak<dyn Host> = segment.back();
            doors.push(group::join(&host, segment.id, &segment.body, wanted.size)?);
        } else if is_empty {
            segment.body.set_size(wanted.size);
        } else {
            segment.body.set(Memory::new(wanted.size)?, wanted.size)?;
        }
        for door in doors {
            if let Err(error) = Peers::open(&segment, door) {
                segment.peers.lock().close(true);
                return Err(error);
            }
        }
        state::say(|| format!("segment {} of {} bytes", wanted.id, wanted.size));
        return Ok(place.fill(segment));
    }
    Err(Error::SegmentIdUsed)
}

/// SCIPrepareSegment.
pub fn prepare(segment: Handle, adapter: u32) -> Result {
    let segment = handle::get::<LocalSegment>(segment)?;
    let bit = segment.bit(adapter)?;
    if segment.body.memory().is_none() {
        return Err(Error::IllegalOperation);
    }
    segment.prepared.fetch_or(bit, Ordering::AcqRel);
    segment.tell_state();
    Ok(())
}

/// SCISetSegmentAvailable.
pub fn set_available(segment: Handle, adapter: u32) -> Result {
    let segment = handle::get::<LocalSegment>(segment)?;
    let bit = segment.bit(adapter)?;
    if segment.flags & flag::PRIVATE != 0 {
        return Err(Error::IllegalOperation);
    }
    if segment.prepared.load(Ordering::Acquire) & bit == 0 {
        return Err(Error::SegmentNotPrepared);
    }
    segment.available.fetch_or(bit, Ordering::AcqRel);
    segment.tell_state();
    Ok(())
}

/// SCISetSegmentUnavailable.
pub fn set_unavailable(segment: Handle, adapter: u32, flags: u32) -> Result {
    let segment = handle::get::<LocalSegment>(segment)?;
    let bit = segment.bit(adapter)?;
    if segment.flags & flag::PRIVATE != 0 {
        return Err(Error::IllegalOperation);
    }
    if segment.prepared.load(Ordering::Acquire) & bit == 0 {
        return Err(Error::SegmentNotPrepared);
    }
    segment.available.fetch_and(!bit, Ordering::AcqRel);
    segment.tell_state();
    if flags & flag::FORCE_DISCONNECT != 0 {
        segment.dismiss(adapter, packet::Verb::Withdrawn);
    } else if flags & flag::NOTIFY != 0 {
        segment.dismiss(adapter, packet::Verb::Leave);
    }
    Ok(())
}

/// SCIRemoveSegment; `is_forced` removes it although peers are connected.
pub fn remove(handle: Handle, is_forced: bool) -> Result {
    let segment = handle::get::<LocalSegment>(handle)?;
    segment.notice_ends();
    if segment.body.is_in_use() {
        return Err(Error::Busy);
    }
    {
        let mut peers = segment.peers.lock();
        // While another process owns it as well, this one only leaves.
        let is_last = peers.is_alone();
        if is_last && !is_forced && peers.is_connected() {
            return Err(Error::Busy);
        }
        if !is_last {
            share::introduce(&peers);
        }
        peers.close(is_last);
    }
    segment.available.store(0, Ordering::Release);
    segment.owned.release();
    handle::remove(handle);
    segment.events.close();
    Ok(())
}

/// Ends the waits of a segment that will be freed.
pub fn cancel(handle: Handle) -> Result {
    handle::get::<LocalSegment>(handle)?.events.cancel();
    Ok(())
}

/// SCIRegisterSegmentMemory.
///
/// # Safety
/// The memory is the program's. If it is private, no other thread writes to it meanwhile.
#[expect(unsafe_code, reason = "its caller vouches for the memory")]
pub unsafe fn register(address: *mut u8, size: usize, handle: Handle) -> Result {
    /// The places of memory that segments have, with their handles.
    static TAKEN: Mutex<Vec<(Range<usize>, Handle)>> = Mutex::new(Vec::new());
    let segment = handle::get::<LocalSegment>(handle)?;
    // One at a time: two registrations of one place would each see the program's memory.
    let mut taken = TAKEN.lock();
    taken.retain(|(_, owner)| handle::get::<LocalSegment>(*owner).is_ok());
    if segment.flags & flag::EMPTY == 0 || segment.body.memory().is_some() {
        return Err(Error::IllegalOperation);
    }
    if size == 0 || !size.is_multiple_of(memory::page()) {
        return Err(Error::SizeAlignment);
    }
    if segment.body.size() != 0 && size > memory::in_pages(segment.body.size()).unwrap_or(0) {
        return Err(Error::OutOfRange);
    }
    let place = address as usize..(address as usize).saturating_add(size);
    let is_left =
        |part: Range<usize>| taken.iter().all(|(other, _)| other.end <= part.start || part.end <= other.start);
    if !place.start.is_multiple_of(memory::page()) {
        return Err(Error::IllegalAddress);
    }
    let memory = if memory::is_own(place.start, size, is_left) {
        // SAFETY: looked at above; the caller vouches for the rest.
        unsafe { Memory::replace(address, size) }?
    } else {
        Memory::of_program(place.start, size).filter(|_| is_left(place.clone())).ok_or(Error::IllegalAddress)?
    };
    taken.push((place, handle));
    segment.body.set(memory, size)
}

/// A reference that does not keep the segment.
pub type Back = Weak<LocalSegment>;
