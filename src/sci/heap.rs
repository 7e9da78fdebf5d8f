//! The in-process adapter: several nodes of one process over plain memory, so that loom and Miri can run the protocols
//! above.
//!
//! Invariants: no system call, no lock held over an access to a loom atomic (loom's threads share one real thread).
//! DMA runs in place; an interrupt's sleep is a short pause; maps cannot be placed.
//! Must not know what the protocols are.

#![allow(unsafe_code)] // mapped memory, system calls

use super::dma::{DmaTarget, Queue};
use super::interrupt::{Bell, OwnInterrupt, PeerInterrupt};
use super::kept::{Keeper, KeptLocal, KeptRemote};
use super::segment::{Found, Life, await_available};
use super::storage::{PAGE, Storage, View};
use super::{Adapter, LocalSegment, NodeId, Placement, Properties, RemoteSegment, SciError, SegmentId, pio};
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
        Properties::OF_MEMORY
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

    super::adapter::memory_alone!();
}

/// One user of a segment.
pub struct HeapUser {
    segment: Arc<HeapSegment>,
}

impl HeapUser {
    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<View, SciError> {
        let storage = &self.segment.storage;
        pio::check_range(offset, len, storage.len())?;
        if !offset.is_multiple_of(PAGE) {
            return Err(SciError::Misaligned { offset, need: PAGE });
        }
        match place {
            Placement::Anywhere => Ok(storage.view(offset, len)),
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
        Ok(HeapLocal::new(self.user.map(0, self.len(), place)?, self.user.clone()))
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
        Ok(HeapRemote::new(self.user.map(offset, len, place)?, self.user.clone()))
    }
}

impl DmaTarget for HeapRemoteSegment {
    fn engine_map(&self) -> Result<HeapRemote, SciError> {
        self.map(0, self.len(), Placement::Anywhere)
    }
}

impl Keeper for HeapUser {
    const HAS_ADDRESSES: bool = false;
}

/// A mapped segment of this node.
pub type HeapLocal = KeptLocal<HeapUser>;
/// A mapped segment of a peer. In models its address is that of the bytes that readers look at. What goes there by address is not seen,
/// so models store by offset what their clients fill.
pub type HeapRemote = KeptRemote<HeapUser>;
