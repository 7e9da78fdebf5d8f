//! The in-process adapter: several nodes of one process over plain memory, so that loom and Miri can run the protocols
//! above.
//!
//! Invariants: no system call, no lock held over an access to a loom atomic (loom's threads share one real thread).
//! DMA runs in place; an interrupt's sleep is a short pause; maps cannot be placed.
//! Must not know what the protocols are.

#![allow(unsafe_code)] // mapped memory, system calls

use super::dma::{DmaTarget, Queue};
use super::interrupt::{Bell, OwnInterrupt, PeerInterrupt};
use super::segment::{Found, Life, await_available};
use super::storage::{PAGE, Storage, View};
use super::{
    Adapter, Effort, LocalMap, LocalSegment, NodeId, Placement, Properties, RemoteMap, RemoteSegment, SciError,
    SegmentId, Words, pio,
};
use crate::sync::AtomicU64;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

mod bell;
#[cfg(all(test, loom))]
mod loom_tests;
use bell::Beds;
pub use bell::HeapBell;

/// What the nodes of one process share.
pub struct HeapFabric {
    nodes: Vec<HeapNode>,
    senders_fence: bool,
}

struct HeapNode {
    bell: Bell,
    beds: Beds,
    /// Created and not removed.
    segments: Mutex<Vec<Arc<HeapSegment>>>,
}

struct HeapSegment {
    node: NodeId,
    id: SegmentId,
    life: Life,
    storage: Storage,
}

impl HeapFabric {
    /// For a job of `nodes`.
    pub fn new(nodes: u32) -> Arc<HeapFabric> {
        HeapFabric::fencing(nodes, true)
    }

    /// As [`HeapFabric::new`]. `senders_fence`: whether senders fence before they look for sleepers. Some models do without:
    /// shared memory with membarrier has no such fence, and it must not hide that a barrier is missing.
    pub(crate) fn fencing(nodes: u32, senders_fence: bool) -> Arc<HeapFabric> {
        HeapFabric::with_beds(nodes, senders_fence, |_| Beds::default())
    }

    fn with_beds(nodes: u32, senders_fence: bool, beds: impl Fn(u32) -> Beds) -> Arc<HeapFabric> {
        let node = |n| HeapNode { bell: Bell::new(), beds: beds(n), segments: Mutex::new(Vec::new()) };
        Arc::new(HeapFabric { nodes: (0..nodes).map(node).collect(), senders_fence })
    }

    fn node(&self, node: NodeId) -> Result<&HeapNode, SciError> {
        let nodes = self.nodes.len() as u32;
        self.nodes.get(usize::from(node.0)).ok_or(SciError::NoSuchNode { node, nodes })
    }

    fn find(&self, node: NodeId, id: SegmentId) -> Result<Arc<HeapSegment>, SciError> {
        let segments = self.node(node)?.segments.lock();
        segments.iter().find(|s| s.id == id).cloned().ok_or(SciError::NoSuchSegment { node, id })
    }

    /// Nobody finds it any more; its id is free.
    fn forget(&self, segment: &Arc<HeapSegment>) {
        if let Ok(node) = self.node(segment.node) {
            node.segments.lock().retain(|s| !Arc::ptr_eq(s, segment));
        }
    }
}

/// A node's door to the segments of its process. Cheap to clone.
#[derive(Clone)]
pub struct Heap {
    fabric: Arc<HeapFabric>,
    node: NodeId,
}

impl Heap {
    /// Joins as `node`. `NoSuchNode`.
    pub fn join(fabric: &Arc<HeapFabric>, node: NodeId) -> Result<Heap, SciError> {
        fabric.node(node)?;
        Ok(Heap { fabric: fabric.clone(), node })
    }

    fn bell(&self, node: NodeId) -> Result<HeapBell, SciError> {
        self.fabric.node(node)?;
        Ok(HeapBell::new(&self.fabric, node))
    }
}

impl Adapter for Heap {
    type Local = HeapLocal;
    type Remote = HeapRemote;
    type LocalSegment = HeapLocalSegment;
    type RemoteSegment = HeapRemoteSegment;
    type Queue = Queue<HeapRemoteSegment>;
    type Interrupt = OwnInterrupt<HeapBell>;
    type RemoteInterrupt = PeerInterrupt<HeapBell>;

    fn node(&self) -> NodeId {
        self.node
    }

    fn properties(&self) -> Properties {
        Properties {
            dma_alignment: 8,
            dma_min: 8,
            maps_remote: true,
            orders_stores: true,
            needs_progress: false,
            allows_shortcuts: true,
        }
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<HeapLocalSegment, SciError> {
        let no_room = SciError::System { call: "malloc", errno: libc::ENOMEM };
        let len = len.checked_next_multiple_of(PAGE).ok_or(no_room)?;
        let life = Life::new();
        life.claim(id);
        // A segment that is not in the table yet cannot have been removed.
        let _ = life.make_private();
        let segment = Arc::new(HeapSegment { node: self.node, id, life, storage: Storage::new(len)? });
        let user = HeapUser { segment: segment.clone() };
        let mut segments = self.fabric.node(self.node)?.segments.lock();
        if segments.iter().any(|s| s.id == id) {
            return Err(SciError::SegmentExists { id });
        }
        segments.push(segment);
        drop(segments);
        Ok(HeapLocalSegment { user: Arc::new(user), fabric: self.fabric.clone() })
    }

    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<HeapRemoteSegment, SciError> {
        self.fabric.node(node)?;
        let user = await_available(timeout, || {
            let segment = self.fabric.find(node, id)?;
            match segment.life.connect(id) {
                Found::Connected => Ok(HeapUser { segment }),
                Found::Private => Err(SciError::NotAvailable { node, id }),
                Found::Nothing => Err(SciError::NoSuchSegment { node, id }),
            }
        })?;
        Ok(HeapRemoteSegment { user: Arc::new(user) })
    }

    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError> {
        Ok(Queue::new(self.properties(), depth))
    }

    fn interrupt(&self) -> Result<Self::Interrupt, SciError> {
        Ok(OwnInterrupt::new(self.bell(self.node)?))
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<Self::RemoteInterrupt, SciError> {
        Ok(PeerInterrupt::new(self.bell(node)?))
    }

    fn wants_polls(&self) -> bool {
        false
    }

    fn progress(&self, _effort: Effort) -> bool {
        false
    }

    fn hold(&self) -> bool {
        false
    }

    fn release(&self) {}

    fn settle(&self) {}

    fn is_expecting(&self) -> bool {
        false
    }
}

/// One user of a segment.
struct HeapUser {
    segment: Arc<HeapSegment>,
}

impl HeapUser {
    fn map(self: &Arc<Self>, offset: usize, len: usize, place: Placement) -> Result<HeapView, SciError> {
        let storage = &self.segment.storage;
        pio::check_range(offset, len, storage.len())?;
        if !offset.is_multiple_of(PAGE) {
            return Err(SciError::Misaligned { offset, need: PAGE });
        }
        match place {
            Placement::Anywhere => Ok(HeapView { view: storage.view(offset, len), _user: self.clone() }),
            Placement::At(address) => Err(SciError::BadPlacement { address, len }),
        }
    }
}

impl Drop for HeapUser {
    fn drop(&mut self) {
        // The memory goes with the last reference, so there is nothing to give back here.
        self.segment.life.leave();
    }
}

/// A segment of this node.
pub struct HeapLocalSegment {
    user: Arc<HeapUser>,
    fabric: Arc<HeapFabric>,
}

impl HeapLocalSegment {
    fn check_there(&self) -> Result<(), SciError> {
        let segment = &self.user.segment;
        if segment.life.is_removed() {
            return Err(SciError::NoSuchSegment { node: segment.node, id: segment.id });
        }
        Ok(())
    }
}

impl LocalSegment for HeapLocalSegment {
    type Map = HeapLocal;

    fn len(&self) -> usize {
        self.user.segment.storage.len()
    }

    fn map(&self, place: Placement) -> Result<HeapLocal, SciError> {
        self.check_there()?;
        Ok(HeapLocal(self.user.map(0, self.len(), place)?))
    }

    fn set_available(&self) -> Result<(), SciError> {
        self.user.segment.life.make_available().or_else(|_| self.check_there())
    }

    fn set_unavailable(&self) -> Result<(), SciError> {
        self.user.segment.life.make_private().or_else(|_| self.check_there())
    }

    fn reserve(&self) -> Result<(), SciError> {
        self.check_there()
    }

    fn remove(&self) -> Result<(), SciError> {
        self.check_there()?;
        let id = self.user.segment.id;
        let maps = Arc::strong_count(&self.user) as u32 - 1;
        if maps > 0 {
            return Err(SciError::Busy { id, users: maps });
        }
        self.user.segment.life.remove_unused().map_err(|users| SciError::Busy { id, users })?;
        self.fabric.forget(&self.user.segment);
        Ok(())
    }
}

impl Drop for HeapLocalSegment {
    fn drop(&mut self) {
        self.user.segment.life.remove();
        self.fabric.forget(&self.user.segment);
    }
}

/// A peer's segment that this node connected to.
pub struct HeapRemoteSegment {
    user: Arc<HeapUser>,
}

impl RemoteSegment for HeapRemoteSegment {
    type Map = HeapRemote;

    fn len(&self) -> usize {
        self.user.segment.storage.len()
    }

    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<HeapRemote, SciError> {
        Ok(HeapRemote(self.user.map(offset, len, place)?))
    }
}

impl DmaTarget for HeapRemoteSegment {
    fn engine_map(&self) -> Result<HeapRemote, SciError> {
        self.map(0, self.len(), Placement::Anywhere)
    }
}

#[derive(Clone)]
struct HeapView {
    view: View,
    _user: Arc<HeapUser>,
}

/// A mapped segment of this node.
#[derive(Clone)]
pub struct HeapLocal(HeapView);

impl LocalMap for HeapLocal {
    fn len(&self) -> usize {
        self.0.view.len()
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        let word = self.0.view.word(offset);
        #[cfg(all(any(test, fuzzing), not(loom)))]
        super::fickle::touch(word);
        word
    }

    fn words<const N: usize>(&self, offset: usize) -> Words<'_, N> {
        self.0.view.words(offset)
    }

    fn ptr(&self, offset: usize) -> *mut u8 {
        self.0.view.ptr(offset)
    }

    fn bytes(&self, offset: usize, _len: usize) -> *mut u8 {
        #[cfg(loom)]
        self.0.view.look(offset, _len);
        self.0.view.ptr(offset)
    }

    fn will_read(&self, _offset: usize) {}
}

/// A mapped segment of a peer.
#[derive(Clone)]
pub struct HeapRemote(HeapView);

impl RemoteMap for HeapRemote {
    fn len(&self) -> usize {
        self.0.view.len()
    }

    fn is_far(&self) -> bool {
        false
    }

    /// In models this is the address of the bytes that readers look at. What goes there by address is not seen, so models store
    /// by offset what their clients fill.
    fn place(&self) -> Option<*mut u8> {
        Some(self.0.view.ptr(0))
    }

    fn store(&self, offset: usize, words: &[u64]) {
        self.0.view.store(offset, words);
    }

    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        self.0.view.packet(offset, head, body);
    }

    fn hand_over(&self, _offset: usize) {}

    fn claim_by_prefetch(&self, _offset: usize) {}

    fn claim_by_store(&self, offset: usize) {
        self.0.view.claim_by_store(offset);
    }

    fn publish(&self, offset: usize, value: u64) {
        self.0.view.publish(offset, value);
    }

    fn publish32(&self, offset: usize, value: u32) {
        self.0.view.publish32(offset, value);
    }

    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.0.view.write(offset, src, len) }
    }

    unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.write(offset, src, len) }
    }

    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        self.0.view.fill(offset, byte, len)
    }

    fn barrier(&self) {
        View::barrier();
    }
}

#[cfg(not(loom))]
impl super::RemoteRead for HeapRemote {
    unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `to` is writable for `len` bytes.
        unsafe { self.0.view.read(offset, to, len) }
    }

    fn memory(&self) -> Option<*mut u8> {
        None
    }

    super::adapter::near_alone!();
}
