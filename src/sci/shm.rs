//! The shared-memory adapter: segments are extents of one memory file that all nodes of the job inherit.
//!
//! Invariants: nothing touches a segment's pages until a node reads or writes them, so segments may be far larger than
//! memory; a removed segment's memory returns when its last user leaves, whichever node that is. One process may hold
//! several nodes. Must not know how the nodes got the file, nor what segments are for.

use super::dma::{DmaEngine, DmaTarget, Queue};
use super::fabric::{self, Entry, Fabric, SEGMENTS};
use super::interrupt::{Bell, BellPlace, OwnInterrupt, PeerInterrupt, linux};
use super::mapping::Mapping;
use super::pio::{self, Span};
use super::room;
use super::segment::Found;
use super::window::page_size;
use super::{
    Adapter, LocalMap, LocalSegment, NodeId, Placement, Properties, RemoteMap, RemoteSegment,
    SciError, SegmentId,
};
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence};
use parking_lot::Mutex;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A node's door to the segments of its host. Cheap to clone.
#[derive(Clone)]
pub struct Shm {
    core: Arc<Core>,
}

struct Core {
    fd: OwnedFd,
    fabric: Fabric,
    node: NodeId,
    page: usize,
    /// One thread at a time looks for a free entry.
    creating: Mutex<()>,
    /// The system can, and this process is registered.
    can_membarrier: bool,
    /// This node sleeps with membarrier.
    membarrier: AtomicBool,
    /// Not the whole job does: senders fence.
    senders_fence: AtomicBool,
    /// Queues made from now on have an engine thread.
    dma_thread: AtomicBool,
}

impl Shm {
    /// Joins the job as `node` of `nodes`. The fabric lies at `base` (bytes, a multiple of the page size) of the memory
    /// file `fd`, [`Fabric::bytes`] long; segments follow it. The file is extended as needed. `NoSuchNode`,
    /// `LayoutMismatch`, `System`.
    pub fn join(fd: BorrowedFd<'_>, base: u64, nodes: u32, node: NodeId) -> Result<Shm, SciError> {
        let own = fd.try_clone_to_owned();
        let fd = own.map_err(|e| SciError::System {
            call: "fcntl",
            errno: e.raw_os_error().unwrap_or(0),
        })?;
        let fabric = Fabric::open(&fd, base, nodes)?;
        let can_membarrier = linux::register_membarrier();
        fabric.announce(node, can_membarrier)?;
        let core = Core {
            fd,
            fabric,
            node,
            page: page_size(),
            creating: Mutex::new(()),
            can_membarrier,
            membarrier: AtomicBool::new(can_membarrier),
            senders_fence: AtomicBool::new(true),
            dma_thread: AtomicBool::new(false),
        };
        Ok(Shm {
            core: Arc::new(core),
        })
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

    /// Decides whether senders go without fences: only if every node sleeps with membarrier. Call once on each node,
    /// after a job-wide fence after all joined. Until then senders fence, which is right with every kind of sleeper.
    /// True: without.
    pub fn agree_on_fences(&self) -> bool {
        let light = self.core.fabric.all_membarrier();
        self.core.senders_fence.store(!light, Ordering::Relaxed); // Relaxed: either value is right from now on
        light
    }

    /// Who copies for DMA queues that are made from now on.
    pub fn set_dma_engine(&self, engine: DmaEngine) {
        self.core
            .dma_thread
            .store(engine == DmaEngine::Thread, Ordering::Relaxed); // Relaxed: stands alone
    }

    fn bell(&self, node: NodeId) -> Result<ShmBell, SciError> {
        let bell = std::ptr::from_ref(&self.core.fabric.record(node)?.bell);
        Ok(ShmBell {
            bell,
            core: self.core.clone(),
        })
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
        Properties {
            dma_alignment: 8,
            dma_min: 8,
            maps_remote: true,
            orders_stores: true,
        }
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<ShmLocalSegment, SciError> {
        let too_big = SciError::System {
            call: "pwrite",
            errno: libc::EFBIG,
        };
        let len = len
            .checked_next_multiple_of(self.core.page)
            .ok_or(too_big)?;
        let _one_at_a_time = self.core.creating.lock();
        let index = self.find_free(id)?;
        // From here on a failure gives the entry back: `lease` does.
        let mut lease = Lease::new(&self.core, self.core.node, index, id);
        lease.entry().set_extent(0, 0);
        match self.core.fabric.allocate(&self.core.fd, len as u64) {
            Ok(offset) => lease.settle(offset, len),
            Err(e) => {
                lease.entry().life.remove();
                return Err(e);
            }
        }
        // Nobody else can remove it.
        let _ = lease.entry().life.make_private();
        Ok(ShmLocalSegment {
            lease: Arc::new(lease),
        })
    }

    fn connect(
        &self,
        node: NodeId,
        id: SegmentId,
        timeout: Duration,
    ) -> Result<ShmRemoteSegment, SciError> {
        let entries = &self.core.fabric.record(node)?.entries;
        let index = super::segment::await_available(timeout, || find_available(entries, node, id))?;
        let mut lease = Lease::new(&self.core, node, index, id);
        let (offset, len) = lease.entry().extent();
        lease.extent = (offset, len as usize);
        Ok(ShmRemoteSegment {
            lease: Arc::new(lease),
            engine: Mutex::new(EngineMap::default()),
        })
    }

    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError> {
        // Relaxed: stands alone.
        let threaded = self.core.dma_thread.load(Ordering::Relaxed);
        let engine = if threaded {
            DmaEngine::Thread
        } else {
            DmaEngine::Inline
        };
        Ok(Queue::new(self.properties(), depth, engine))
    }

    fn interrupt(&self) -> Result<Self::Interrupt, SciError> {
        Ok(OwnInterrupt::new(self.bell(self.core.node)?))
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<Self::RemoteInterrupt, SciError> {
        Ok(PeerInterrupt::new(self.bell(node)?))
    }
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
        Self {
            core: core.clone(),
            node,
            id,
            index,
            extent: (0, 0),
        }
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
        if offset % self.core.page != 0 {
            return Err(SciError::Misaligned {
                offset,
                need: self.core.page,
            });
        }
        Mapping::new(&self.core.fd, self.extent.0 + offset as u64, len, place)
    }

    fn gone(&self) -> SciError {
        SciError::NoSuchSegment {
            node: self.node,
            id: self.id,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let entry = self.entry();
        if entry.life.leave() {
            fabric::punch_hole(&self.core.fd, self.extent.0, self.extent.1 as u64);
            entry.life.free();
        }
    }
}

/// Mapped memory and its user, which leaves after the memory is unmapped: fields drop in this order.
struct Held {
    mapping: Mapping,
    _lease: Arc<Lease>,
}

impl Held {
    fn new(
        lease: &Arc<Lease>,
        offset: usize,
        len: usize,
        place: Placement,
    ) -> Result<Arc<Self>, SciError> {
        let mapping = lease.map(offset, len, place)?;
        Ok(Arc::new(Self {
            mapping,
            _lease: lease.clone(),
        }))
    }

    fn span(&self) -> Span {
        // SAFETY: page-aligned and mapped as long as `self` lives; the maps below keep it next to the span.
        unsafe { Span::new(self.mapping.base(), self.mapping.len()) }
    }
}

/// A segment of this node.
pub struct ShmLocalSegment {
    lease: Arc<Lease>,
}

impl LocalSegment for ShmLocalSegment {
    type Map = ShmLocal;

    fn len(&self) -> usize {
        self.lease.extent.1
    }

    fn map(&self, place: Placement) -> Result<ShmLocal, SciError> {
        if self.lease.entry().life.is_removed() {
            return Err(self.lease.gone());
        }
        let held = Held::new(&self.lease, 0, self.len(), place)?;
        Ok(ShmLocal {
            span: held.span(),
            _held: held,
        })
    }

    fn set_available(&self) -> Result<(), SciError> {
        self.lease
            .entry()
            .life
            .make_available()
            .map_err(|_| self.lease.gone())
    }

    fn set_unavailable(&self) -> Result<(), SciError> {
        self.lease
            .entry()
            .life
            .make_private()
            .map_err(|_| self.lease.gone())
    }

    fn reserve(&self) -> Result<(), SciError> {
        if self.lease.entry().life.is_removed() {
            return Err(self.lease.gone());
        }
        let (offset, len) = self.lease.extent;
        room::check(len as u64)?;
        fabric::commit(&self.lease.core.fd, offset, len as u64)
    }

    fn remove(&self) -> Result<(), SciError> {
        let id = self.lease.id;
        // The segment itself holds one; each map of this node another.
        let maps = Arc::strong_count(&self.lease) as u32 - 1;
        if maps > 0 {
            return Err(SciError::Busy { id, users: maps });
        }
        self.lease
            .entry()
            .life
            .remove_unused()
            .map_err(|users| SciError::Busy { id, users })
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

/// What the DMA engine writes through: the user's map of the whole segment while there is one, because its pages are
/// there already; else one of its own.
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
        Ok(ShmRemote::new(held))
    }
}

impl DmaTarget for ShmRemoteSegment {
    fn engine_map(&self) -> Result<ShmRemote, SciError> {
        let mut engine = self.engine.lock();
        if let Some(held) = engine.users.upgrade().or_else(|| engine.own.clone()) {
            return Ok(ShmRemote::new(held));
        }
        let held = Held::new(&self.lease, 0, self.len(), Placement::Anywhere)?;
        engine.own = Some(held.clone());
        Ok(ShmRemote::new(held))
    }
}

/// A mapped segment of this node.
#[derive(Clone)]
pub struct ShmLocal {
    span: Span,
    _held: Arc<Held>,
}

impl LocalMap for ShmLocal {
    #[inline(always)]
    fn len(&self) -> usize {
        self.span.len()
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        self.span.word(offset)
    }

    #[inline(always)]
    fn load(&self, offset: usize, out: &mut [u64]) {
        self.span.load(offset, out)
    }

    #[inline(always)]
    fn ptr(&self, offset: usize) -> *mut u8 {
        self.span.ptr(offset)
    }
}

/// A mapped segment of a peer.
#[derive(Clone)]
pub struct ShmRemote {
    span: Span,
    _held: Arc<Held>,
}

impl ShmRemote {
    fn new(held: Arc<Held>) -> Self {
        Self {
            span: held.span(),
            _held: held,
        }
    }

    /// First byte, as an address that the client may be given (supernode peers dereference it). The engines store
    /// through [`RemoteMap`].
    pub fn address(&self) -> *mut u8 {
        self.span.base()
    }
}

impl RemoteMap for ShmRemote {
    #[inline(always)]
    fn len(&self) -> usize {
        self.span.len()
    }

    #[inline(always)]
    fn store(&self, offset: usize, words: &[u64]) {
        self.span.store(offset, words);
    }

    #[inline(always)]
    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        self.span.packet(offset, head, body);
    }

    #[inline(always)]
    fn publish(&self, offset: usize, value: u64) {
        self.span.publish(offset, value);
    }

    #[inline(always)]
    fn publish32(&self, offset: usize, value: u32) {
        self.span.publish32(offset, value);
    }

    #[inline(always)]
    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: this function's own contract.
        unsafe { self.span.write(offset, src, len) }
    }

    #[inline(always)]
    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        self.span.fill(offset, byte, len)
    }

    #[inline(always)]
    fn barrier(&self) {
        Span::barrier();
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
// SAFETY: as above.
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
            // ORDERING: full fence ↔ the sender's in `trigger_if_armed`: else both sides look too early.
            fence(Ordering::SeqCst);
        }
    }

    fn sleep(&self, seen: u32, timeout: Duration) {
        linux::futex_wait(self.bell().events(), seen, timeout);
    }

    fn wake_all(&self) {
        linux::futex_wake_all(self.bell().events());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sci::window::Window;
    use crate::sci::{DmaQueue, DmaState};
    use std::os::fd::{AsFd, FromRawFd};

    const SOON: Duration = Duration::from_secs(10);

    /// A new job's memory file.
    pub(crate) fn memory_file() -> OwnedFd {
        // SAFETY: a C string.
        let fd = unsafe { libc::memfd_create(c"sci-test".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
        // SAFETY: just opened, owned by nobody else.
        unsafe { OwnedFd::from_raw_fd(fd) }
    }

    /// A job of `nodes` in this process.
    pub(crate) fn job(nodes: u32) -> Vec<Shm> {
        let file = memory_file();
        let join = |node| Shm::join(file.as_fd(), 0, nodes, NodeId(node)).expect("join");
        (0..nodes as u16).map(join).collect()
    }

    fn blocks(file: &OwnedFd) -> i64 {
        // SAFETY: all-zero is a valid `stat`.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` is writable.
        assert_eq!(
            unsafe { libc::fstat(std::os::fd::AsRawFd::as_raw_fd(file), &mut stat) },
            0
        );
        stat.st_blocks
    }

    #[test]
    fn what_a_peer_stores_the_owner_reads() {
        let nodes = job(2);
        let own = nodes[0].create(SegmentId(1), 100).unwrap();
        own.set_available().unwrap();
        let local = own.map(Placement::Anywhere).unwrap();
        let remote = nodes[1]
            .connect(NodeId(0), SegmentId(1), Duration::ZERO)
            .unwrap();
        let map = remote.map(0, remote.len(), Placement::Anywhere).unwrap();
        map.packet(64, 7, &[1, 2, 3]);
        assert_eq!(local.word(64).load(Ordering::Acquire), 7);
        assert_eq!(local.word(88).load(Ordering::Relaxed), 3);
    }

    #[test]
    fn memory_returns_when_the_last_user_leaves() {
        let file = memory_file();
        let join = |node| Shm::join(file.as_fd(), 65536, 2, NodeId(node)).unwrap();
        let (a, b) = (join(0), join(1));
        let before = blocks(&file);
        let own = a.create(SegmentId(1), 8 << 20).unwrap();
        own.set_available().unwrap();
        own.reserve().unwrap();
        let full = blocks(&file);
        assert!(full - before >= (8 << 20) / 512);
        let remote = b.connect(NodeId(0), SegmentId(1), Duration::ZERO).unwrap();
        let map = remote.map(0, 4096, Placement::Anywhere).unwrap();
        drop(own);
        drop(remote);
        map.publish(0, 5);
        assert_eq!(blocks(&file), full, "a map is left");
        drop(map);
        assert!(blocks(&file) <= before);
        let again = a.create(SegmentId(1), 4096).unwrap();
        assert_eq!(
            again
                .map(Placement::Anywhere)
                .unwrap()
                .word(0)
                .load(Ordering::Relaxed),
            0
        );
    }

    #[test]
    fn segments_may_be_terabytes_and_absurd_ones_are_errors() {
        let nodes = job(1);
        let own = nodes[0].create(SegmentId(1), 4 << 40).unwrap();
        let local = own.map(Placement::Anywhere).unwrap();
        local.word((4 << 40) - 8).store(9, Ordering::Relaxed);
        assert_eq!(local.word((4 << 40) - 8).load(Ordering::Relaxed), 9);
        for len in [usize::MAX, i64::MAX as usize, 1 << 63] {
            let error = nodes[0]
                .create(SegmentId(2), len)
                .err()
                .expect("more than a file holds");
            assert_eq!(
                error,
                SciError::System {
                    call: "pwrite",
                    errno: libc::EFBIG
                }
            );
        }
        assert!(
            nodes[0].create(SegmentId(2), 4096).is_ok(),
            "failures leave nothing behind"
        );
    }

    #[test]
    fn all_entries_can_be_used_again() {
        let nodes = job(1);
        for _ in 0..3 {
            let all: Vec<_> = (0..SEGMENTS as u32)
                .map(|id| nodes[0].create(SegmentId(id), 64).unwrap())
                .collect();
            let error = nodes[0].create(SegmentId(99), 64).err().unwrap();
            assert_eq!(error, SciError::TooManySegments { limit: SEGMENTS });
            drop(all);
        }
    }

    #[test]
    fn every_node_sees_the_window_at_the_same_address() {
        let nodes = job(2);
        let stride = 2 << 20;
        let window = (0..Window::CANDIDATES - 1)
            .find_map(|i| Window::reserve(i, stride, 4))
            .expect("free");
        let own = nodes[0].create(SegmentId(1), stride).unwrap();
        own.set_available().unwrap();
        let here = window.address(2).unwrap();
        let local = own.map(Placement::At(here)).unwrap();
        assert_eq!(local.ptr(0).addr(), here);
        let remote = nodes[1].connect(NodeId(0), SegmentId(1), SOON).unwrap();
        let taken = remote.map(0, stride, Placement::At(here)).err().unwrap();
        assert_eq!(
            taken,
            SciError::BadPlacement {
                address: here,
                len: stride
            }
        );
        assert!(matches!(
            remote.map(0, stride, Placement::At(4096)),
            Err(SciError::BadPlacement { .. })
        ));
        let there = window.address(3).unwrap();
        let map = remote.map(0, stride, Placement::At(there)).unwrap();
        map.publish(8, 3);
        assert_eq!(local.word(8).load(Ordering::Acquire), 3);
        drop(map);
        assert!(
            maps_line_at(there).contains("---p"),
            "the reservation is back"
        );
        assert!(remote.map(0, stride, Placement::At(there)).is_ok());
    }

    /// The line of /proc/self/maps that covers `address`.
    fn maps_line_at(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let covers = |line: &&str| {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let number = |hex| usize::from_str_radix(hex, 16).unwrap();
            (number(from)..number(to)).contains(&address)
        };
        maps.lines()
            .find(covers)
            .expect("no hole is left")
            .to_string()
    }

    #[test]
    fn membarrier_is_used_only_if_all_agree() {
        let nodes = job(2);
        let can = nodes[0].core.can_membarrier;
        assert_eq!(nodes[0].agree_on_fences(), can);
        nodes[1].set_membarrier(false);
        assert!(!nodes[0].agree_on_fences());
        assert!(nodes[0].core.senders_fence.load(Ordering::Relaxed));
        nodes[1].set_membarrier(true);
        assert_eq!(nodes[1].agree_on_fences(), can);
    }

    #[test]
    fn a_node_that_is_missing_forbids_fence_free_sending() {
        let file = memory_file();
        let a = Shm::join(file.as_fd(), 0, 2, NodeId(0)).unwrap();
        assert!(!a.agree_on_fences());
        assert!(matches!(
            Shm::join(file.as_fd(), 0, 3, NodeId(0)),
            Err(SciError::LayoutMismatch { .. })
        ));
        assert!(matches!(
            Shm::join(file.as_fd(), 0, 2, NodeId(2)),
            Err(SciError::NoSuchNode { .. })
        ));
    }

    #[test]
    fn an_engine_thread_copies_in_order_and_stops_when_told() {
        let nodes = job(1);
        nodes[0].set_dma_engine(DmaEngine::Thread);
        let len = 64 << 20;
        let own = nodes[0].create(SegmentId(1), len).unwrap();
        own.set_available().unwrap();
        let local = own.map(Placement::Anywhere).unwrap();
        let remote = nodes[0].connect(NodeId(0), SegmentId(1), SOON).unwrap();
        let queue = nodes[0].dma_queue(2).unwrap();
        let source = vec![0x0101_0101_0101_0101u64; len / 8];
        // SAFETY: `source` outlives the queue's use of it: each transfer is waited for or aborted below.
        let enqueue = || unsafe { queue.enqueue(source.as_ptr().cast(), &remote, 0, len) };
        let first = enqueue().unwrap();
        assert_eq!(queue.wait(first, SOON), Ok(DmaState::Done));
        assert_eq!(local.word(len - 8).load(Ordering::Relaxed), source[0]);
        let tickets = [enqueue().unwrap(), enqueue().unwrap()];
        let third = enqueue(); // full, unless the engine has finished one already
        assert!(third.is_ok() || third == Err(SciError::QueueFull { depth: 2 }));
        queue.abort();
        for ticket in tickets {
            assert_ne!(queue.poll(ticket), DmaState::Pending);
        }
        assert_eq!(queue.poll(first), DmaState::Done);
        let after = enqueue().unwrap();
        assert_eq!(queue.wait(after, SOON), Ok(DmaState::Done));
        assert_eq!(
            queue.wait(crate::sci::DmaTicket(after.0 + 1), Duration::ZERO),
            Err(SciError::TimedOut)
        );
        let _ = enqueue().unwrap();
        drop(queue);
    }
}
