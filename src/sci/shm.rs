//! The shared-memory adapter: segments are extents of one memory file that all nodes of the job inherit.
//!
//! Invariants: nothing touches a segment's pages until a node reads or writes them, so segments may be far larger than
//! memory; a removed segment's memory returns when its last user leaves, whichever node that is. One process may hold
//! several nodes. Must not know how the nodes got the file, nor what segments are for.

#![allow(unsafe_code)] // mapped memory, system calls

use super::dma::{DmaTarget, Queue};
use super::fabric::{self, Entry, Fabric, SEGMENTS};
use super::interrupt::{Bell, BellPlace, OwnInterrupt, PeerInterrupt, linux};
use super::mapping::Mapping;
use super::segment::Found;
use super::window::Window;
use super::{Adapter, LocalSegment, NodeId, Placement, Properties, RemoteSegment, SciError, SegmentId, pio, room};
use crate::os::machine::page_size;
use crate::sync::{AtomicBool, Ordering, fence};
use parking_lot::{Mutex, RwLock};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::Duration;

mod file;
mod maps;
mod side_by_side;
#[cfg(test)]
pub(crate) mod tests;

use file::JobFile;
use maps::Held;
pub use maps::{ShmLocal, ShmRemote};
use side_by_side::SideBySide;

/// A node's door to the segments of its host. Cheap to clone.
#[derive(Clone)]
pub struct Shm {
    core: Arc<Core>,
}

struct Core {
    file: JobFile,
    fabric: Fabric,
    node: NodeId,
    page: usize,
    /// One thread at a time looks for a free entry.
    creating: Mutex<()>,
    /// Segments that all nodes map in one.
    side_by_side: RwLock<Option<SideBySide>>,
    /// There were such segments, or each had a map of its own.
    has_laid_out: AtomicBool,
    /// The system can, and this process is registered.
    can_membarrier: bool,
    /// This node sleeps with membarrier.
    membarrier: AtomicBool,
    /// Not the whole job does: senders fence.
    senders_fence: AtomicBool,
}

impl Core {
    /// Where the extent of that segment has to lie, if it lies beside those of the other nodes.
    fn laid_out(&self, node: NodeId, id: SegmentId, len: usize) -> Option<u64> {
        self.side_by_side.read().as_ref().and_then(|all| all.extent(node, id, len))
    }
}

impl Shm {
    /// Joins the job as `node` of `nodes`. The fabric lies at `base` (bytes, a multiple of the page size) of the memory
    /// file `fd`, [`Self::fabric_bytes`] long; segments follow it. The file is extended as needed. `NoSuchNode`,
    /// `LayoutMismatch`, `System`.
    pub fn join(fd: BorrowedFd<'_>, base: u64, nodes: u32, node: NodeId) -> Result<Shm, SciError> {
        let own = fd.try_clone_to_owned();
        let fd = own.map_err(|e| SciError::System { call: "fcntl", errno: e.raw_os_error().unwrap_or(0) })?;
        let fabric = Fabric::open(&fd, base, nodes)?;
        let can_membarrier = linux::register_membarrier();
        fabric.announce(node, can_membarrier)?;
        let core = Core {
            file: JobFile::new(fd)?,
            fabric,
            node,
            page: page_size(),
            creating: Mutex::new(()),
            side_by_side: RwLock::new(None),
            has_laid_out: AtomicBool::new(false),
            can_membarrier,
            membarrier: AtomicBool::new(can_membarrier),
            senders_fence: AtomicBool::new(true),
        };
        Ok(Shm { core: Arc::new(core) })
    }

    /// Bytes of the memory file that the fabric of a job of `nodes` occupies; a multiple of the page size.
    pub fn fabric_bytes(nodes: u32) -> u64 {
        Fabric::bytes(nodes)
    }

    /// Whether this node sleeps with membarrier(2), where the system has it (the default). Call before the job-wide
    /// fence that precedes [`Self::agree_on_fences`].
    pub fn set_membarrier(&self, on: bool) {
        let on = on && self.core.can_membarrier;
        self.core.membarrier.store(on, Ordering::Relaxed); // Relaxed: before anybody sleeps
        // The node was found when it joined.
        let _ = self.core.fabric.announce(self.core.node, on);
    }

    /// Decides whether senders go without fences, and returns true if they do: only if every node of this host (`is_near`) sleeps with
    /// membarrier.
    /// Call it once on each node, after a job-wide fence that follows the joining of all. Until then senders fence, which
    /// is right with every kind of sleeper.
    pub fn agree_on_fences(&self, is_near: impl Fn(u32) -> bool) -> bool {
        let light = self.core.fabric.all_membarrier(is_near);
        self.core.senders_fence.store(!light, Ordering::Relaxed); // Relaxed: either value is right from now on
        if !light {
            // All senders fence, so this node need not interrupt them.
            self.core.membarrier.store(false, Ordering::Relaxed); // Relaxed: senders fence from the beginning
        }
        light
    }

    /// False when the client closed the descriptor that [`Self::join`] was given a copy of.
    pub fn has_file(&self) -> bool {
        self.core.file.is_open()
    }

    /// Uses `fd` from now on, another descriptor of the same file. `FileLost` if it refers to another file; a job of one node
    /// may use any new file, because it shares new segments with no other node.
    pub fn take_file(&self, fd: OwnedFd) -> Result<(), SciError> {
        self.core.file.replace(fd, self.core.fabric.nodes() == 1)
    }

    /// Chooses where segments of this host will lie side by side ([`Self::lay_out`]). One node calls it, and a job-wide fence follows.
    pub fn choose_layout(&self, window: &Window) {
        SideBySide::choose(&self.core, window);
    }

    /// If a place was chosen, the segment `id` that a node makes next lies there, where the node's part of `window` begins, and is mapped with
    /// those of the other nodes in one. All nodes of the host call it before they make the segment. Of segments that are made once more
    /// each has its own place and map, because a node may still use the memory of those before.
    pub fn lay_out(&self, id: SegmentId, window: Option<&Window>) {
        let is_first = !self.core.has_laid_out.swap(true, Ordering::Relaxed); // Relaxed: one thread at a time
        let window = window.filter(|_| is_first);
        *self.core.side_by_side.write() = window.and_then(|window| SideBySide::new(&self.core, id, window));
    }

    pub(super) fn bell(&self, node: NodeId) -> Result<ShmBell, SciError> {
        let bell = std::ptr::from_ref(self.core.fabric.bell(node)?);
        Ok(ShmBell { bell, core: self.core.clone() })
    }

    fn find_free(&self, id: SegmentId) -> Result<usize, SciError> {
        let entries = &self.core.fabric.record(self.core.node)?.entries;
        if entries.iter().any(|entry| entry.life.holds(id)) {
            return Err(SciError::SegmentExists { id });
        }
        let free = entries.iter().position(|entry| entry.life.claim(id));
        free.ok_or(SciError::TooManySegments { limit: SEGMENTS })
    }
}

impl Adapter for Shm {
    type Local = ShmLocal;
    type Remote = ShmRemote;
    type LocalSegment = ShmLocalSegment;
    type RemoteSegment = ShmRemoteSegment;
    type Queue = Queue<ShmRemoteSegment>;
    type Interrupt = OwnInterrupt<ShmBell>;
    type RemoteInterrupt = PeerInterrupt<ShmBell>;

    fn node(&self) -> NodeId {
        self.core.node
    }

    fn properties(&self) -> Properties {
        Properties::OF_MEMORY
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<ShmLocalSegment, SciError> {
        let too_big = SciError::System { call: "pwrite", errno: libc::EFBIG };
        let len = len.checked_next_multiple_of(self.core.page).ok_or(too_big)?;
        let _one_at_a_time = self.core.creating.lock();
        let index = self.find_free(id)?;
        // From here on a failure gives the entry back: `lease` does.
        let mut lease = Lease::new(&self.core, self.core.node, index, id);
        lease.entry().set_extent(0, 0);
        let extent = match self.core.laid_out(self.core.node, id, len) {
            Some(offset) => Ok(offset),
            None => self.core.file.with(|fd| self.core.fabric.allocate(fd, len as u64)),
        };
        match extent {
            Ok(offset) => lease.settle(offset, len),
            Err(e) => {
                lease.entry().life.remove();
                return Err(e);
            }
        }
        // Nobody else can remove it.
        let _ = lease.entry().life.make_private();
        Ok(ShmLocalSegment { lease: Arc::new(lease) })
    }

    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<ShmRemoteSegment, SciError> {
        let entries = &self.core.fabric.record(node)?.entries;
        let index = super::segment::await_available(timeout, || find_available(entries, node, id))?;
        let mut lease = Lease::new(&self.core, node, index, id);
        let (offset, len) = lease.entry().extent();
        if node != self.core.node && self.core.laid_out(node, id, len as usize) != Some(offset) {
            // The owner may have written anything there, and memory behind the file's end can be mapped, but not used.
            self.core.file.with(|fd| self.core.fabric.check_extent(fd, offset, len))?;
        }
        lease.extent = (offset, len as usize);
        Ok(ShmRemoteSegment { lease: Arc::new(lease), engine: Mutex::new(EngineMap::default()) })
    }

    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError> {
        Ok(Queue::new(self.properties(), depth))
    }

    fn interrupt(&self) -> Result<Self::Interrupt, SciError> {
        Ok(OwnInterrupt::new(self.bell(self.core.node)?))
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<Self::RemoteInterrupt, SciError> {
        Ok(PeerInterrupt::new(self.bell(node)?))
    }

    super::adapter::memory_alone!();
}

/// Becomes a user of the available segment `id`; its index.
fn find_available(entries: &[Entry], node: NodeId, id: SegmentId) -> Result<usize, SciError> {
    let mut error = SciError::NoSuchSegment { node, id };
    for (index, entry) in entries.iter().enumerate() {
        match entry.life.connect(id) {
            Found::Connected => return Ok(index),
            Found::Private => error = SciError::NotAvailable { node, id },
            Found::Nothing => {}
        }
    }
    Err(error)
}

/// One user of a segment. Dropping it leaves; the last user of a removed segment gives its memory back.
struct Lease {
    core: Arc<Core>,
    node: NodeId,
    id: SegmentId,
    index: usize,
    /// File offset and length, bytes.
    extent: (u64, usize),
}

impl Lease {
    /// The caller was counted as a user of entry `index` of `node`, which exists.
    fn new(core: &Arc<Core>, node: NodeId, index: usize, id: SegmentId) -> Self {
        Self { core: core.clone(), node, id, index, extent: (0, 0) }
    }

    fn entry(&self) -> &Entry {
        match self.core.fabric.record(self.node) {
            Ok(record) => &record.entries[self.index],
            Err(e) => unreachable!("a lease is made for nodes that exist: {e}"),
        }
    }

    fn settle(&mut self, offset: u64, len: usize) {
        self.extent = (offset, len);
        self.entry().set_extent(offset, len as u64);
    }

    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<Mapping, SciError> {
        pio::check_range(offset, len, self.extent.1)?;
        if !offset.is_multiple_of(self.core.page) {
            return Err(SciError::Misaligned { offset, need: self.core.page });
        }
        let side_by_side = self.core.side_by_side.read();
        let all =
            side_by_side.as_ref().filter(|all| all.extent(self.node, self.id, self.extent.1) == Some(self.extent.0));
        if let Some(map) = all.and_then(|all| all.map(&self.core, self.node, offset, len, place)) {
            return map;
        }
        self.core.file.with(|fd| Mapping::new(fd, self.extent.0 + offset as u64, len, place))
    }

    fn gone(&self) -> SciError {
        SciError::NoSuchSegment { node: self.node, id: self.id }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let entry = self.entry();
        if entry.life.leave() {
            // Without the file the memory returns when the job ends.
            let _ = self.core.file.with(|fd| {
                fabric::punch_hole(fd, self.extent.0, self.extent.1 as u64);
                Ok(())
            });
            entry.life.free();
        }
    }
}

/// A segment of this node.
pub struct ShmLocalSegment {
    lease: Arc<Lease>,
}

impl ShmLocalSegment {
    fn check_there(&self) -> Result<(), SciError> {
        if self.lease.entry().life.is_removed() {
            return Err(self.lease.gone());
        }
        Ok(())
    }
}

impl LocalSegment for ShmLocalSegment {
    type Map = ShmLocal;

    fn len(&self) -> usize {
        self.lease.extent.1
    }

    fn map(&self, place: Placement) -> Result<ShmLocal, SciError> {
        self.check_there()?;
        Ok(ShmLocal::of(Held::new(&self.lease, 0, self.len(), place)?))
    }

    fn set_available(&self) -> Result<(), SciError> {
        self.lease.entry().life.make_available().map_err(|_| self.lease.gone())
    }

    fn set_unavailable(&self) -> Result<(), SciError> {
        self.lease.entry().life.make_private().map_err(|_| self.lease.gone())
    }

    fn reserve(&self) -> Result<(), SciError> {
        self.check_there()?;
        let (offset, len) = self.lease.extent;
        room::check(len as u64)?;
        self.lease.core.file.with(|fd| fabric::commit(fd, offset, len as u64))
    }

    fn remove(&self) -> Result<(), SciError> {
        self.check_there()?;
        let id = self.lease.id;
        // The segment itself holds one; each map of this node another.
        let maps = Arc::strong_count(&self.lease) as u32 - 1;
        if maps > 0 {
            return Err(SciError::Busy { id, users: maps });
        }
        self.lease.entry().life.remove_unused().map_err(|users| SciError::Busy { id, users })
    }
}

impl Drop for ShmLocalSegment {
    fn drop(&mut self) {
        self.lease.entry().life.remove();
    }
}

/// A segment that this node connected to.
pub struct ShmRemoteSegment {
    lease: Arc<Lease>,
    engine: Mutex<EngineMap>,
}

/// The map that the DMA engine writes through. It is the user's map of the whole segment while there is one, because its
/// pages are present already; else a map of its own.
#[derive(Default)]
struct EngineMap {
    users: Weak<Held>,
    own: Option<Arc<Held>>,
}

impl RemoteSegment for ShmRemoteSegment {
    type Map = ShmRemote;

    fn len(&self) -> usize {
        self.lease.extent.1
    }

    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<ShmRemote, SciError> {
        let held = Held::new(&self.lease, offset, len, place)?;
        if offset == 0 && len == self.len() {
            self.engine.lock().users = Arc::downgrade(&held);
        }
        Ok(ShmRemote::of(held))
    }
}

impl DmaTarget for ShmRemoteSegment {
    fn engine_map(&self) -> Result<ShmRemote, SciError> {
        let mut engine = self.engine.lock();
        if let Some(held) = engine.users.upgrade().or_else(|| engine.own.clone()) {
            return Ok(ShmRemote::of(held));
        }
        let held = Held::new(&self.lease, 0, self.len(), Placement::Anywhere)?;
        engine.own = Some(held.clone());
        Ok(ShmRemote::of(held))
    }
}

/// A node's bell in the fabric.
#[derive(Clone)]
pub struct ShmBell {
    bell: *const Bell,
    core: Arc<Core>,
}

// SAFETY: `bell` points into the fabric, which `core` keeps mapped; a bell consists of atomics.
unsafe impl Send for ShmBell {}
// SAFETY: `bell` points into the fabric, which `core` keeps mapped; a bell consists of atomics.
unsafe impl Sync for ShmBell {}

impl BellPlace for ShmBell {
    #[inline(always)]
    fn bell(&self) -> &Bell {
        // SAFETY: points into the fabric that `core` keeps mapped.
        unsafe { &*self.bell }
    }

    #[inline(always)]
    fn senders_fence(&self) -> bool {
        // Relaxed: either value is right once the job agreed.
        self.core.senders_fence.load(Ordering::Relaxed)
    }

    fn sleeper_fence(&self) {
        // Relaxed: set before anybody sleeps.
        let heavy = self.core.membarrier.load(Ordering::Relaxed) && linux::membarrier();
        if !heavy {
            // ORDERING: full fence ↔ the sender's in `stored`: else both sides look too early. Where senders
            // have none because membarrier worked when the job began, rule 4 of `interrupt` makes up for it.
            fence(Ordering::SeqCst);
        }
    }

    fn sleep(&self, berth: Option<usize>, seen: u32, timeout: Duration) -> bool {
        linux::futex_wait(self.bell().events(), berth, seen, timeout);
        false
    }

    fn wake(&self, berth: Option<usize>) {
        linux::futex_wake_all(self.bell().events(), berth);
    }
}
