//! The adapter of timing mode: it wraps another one and makes stores, reads and DMA take as long as on SCI hardware.
//!
//! The delays are real waiting: clients load memory and read clocks by themselves. What they are is `model`'s.
//!
//! Its rules, which other files here name by number:
//!
//! 1. Nothing goes round it: maps give no address, and clients' inline code may do nothing by itself.
//! 2. Words, packets and published words, and the last line of each write and fill, are kept until they arrive, in the order of their
//!    peer. Earlier lines may be stored at once, if nothing is kept for the peer.
//! 3. What is due is stored by any call of this node that looks, and else by a helper thread, which touches the kept stores and their
//!    maps only, and ends when idle.
//! 4. A published word or packet rings its peer's bell when it arrives: the sender's own look came before.
//! 5. A barrier delivers, and waits for the last acknowledgement. A read does that first. Unmapping delivers.
//! 6. The DMA engine copies at once, and says `Done` at its time. Links have calendars that all nodes share: a transfer by DMA looks
//!    at them once per 4 KiB, a write once per as many lines as may be under way.
//! 7. What goes to each peer is counted.
//! 8. Kept stores are lost with the node that keeps them. So in a job that goes on without nodes that die, who publishes a word or a packet
//!    waits until it has arrived: what a node said before it died is there, as on the hardware. Other stores come before one of these.
//!
//! Must not know: messages, and which kind of adapter it wraps.

mod core;
#[cfg(test)]
mod crowd;
mod dma;
mod engine;
mod helper;
mod interrupt;
mod leave;
pub mod links;
mod maps;
mod node;
#[cfg(test)]
mod tests;

pub use self::core::Setup;
pub use dma::TimedQueue;
pub use interrupt::{TimedInterrupt, TimedRemoteInterrupt};
pub use maps::{TimedMap, TimedSegment};
pub use node::Traffic;

use self::core::Core;
use super::far::Far;
use super::model::{Parameters, Topology};
use super::shm::Shm;
use super::{Adapter, Effort, JobAdapter, NodeId, Properties, SciError, SegmentId};
use std::sync::Arc;
use std::time::Duration;

/// An adapter whose hardware is slow. Cheap to clone.
#[derive(Clone)]
pub struct Timed<A: Adapter> {
    inner: A,
    core: Arc<Core<A>>,
}

impl<A: Adapter> Timed<A> {
    /// Makes `inner` as slow as `setup` says.
    pub fn new(inner: A, setup: Setup) -> Timed<A> {
        let core = Arc::new(Core::new(inner.clone(), setup));
        Timed { inner, core }
    }

    /// What went to node `peer` so far (rule 7).
    pub fn traffic(&self, peer: NodeId) -> Traffic {
        self.core.traffic(peer)
    }

    /// Waits until everything that was stored has arrived.
    pub fn deliver(&self) {
        self.core.barrier();
    }

    /// The same before this node leaves its job, unless this thread is a signal handler that has interrupted itself in the middle of a store:
    /// here, or below where `may_store` says so.
    fn deliver_last(&self, may_store: impl FnOnce() -> bool) {
        if self.core.begins_to_leave() && may_store() {
            self.deliver();
        }
    }
}

impl<A: Adapter> Adapter for Timed<A> {
    type Local = A::Local;
    type Remote = TimedMap<A>;
    type LocalSegment = A::LocalSegment;
    type RemoteSegment = TimedSegment<A>;
    type Queue = TimedQueue<A>;
    type Interrupt = TimedInterrupt<A>;
    type RemoteInterrupt = TimedRemoteInterrupt<A>;

    fn node(&self) -> NodeId {
        self.inner.node()
    }

    fn properties(&self) -> Properties {
        Properties { orders_stores: false, allows_shortcuts: false, ..self.inner.properties() }
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<A::LocalSegment, SciError> {
        self.inner.create(id, len)
    }

    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<TimedSegment<A>, SciError> {
        let inner = self.inner.connect(node, id, timeout)?;
        Ok(TimedSegment::new(inner, node, &self.core))
    }

    fn dma_queue(&self, depth: usize) -> Result<TimedQueue<A>, SciError> {
        Ok(TimedQueue::new(self.inner.dma_queue(depth)?, depth, &self.core))
    }

    fn interrupt(&self) -> Result<TimedInterrupt<A>, SciError> {
        Ok(TimedInterrupt::new(self.inner.interrupt()?, &self.core))
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<TimedRemoteInterrupt<A>, SciError> {
        Ok(TimedRemoteInterrupt::new(self.inner.connect_interrupt(node)?, node, &self.core))
    }

    fn wants_polls(&self) -> bool {
        true
    }

    fn progress(&self, effort: Effort) -> bool {
        self.core.deliver_due();
        self.inner.progress(effort)
    }

    fn is_expecting(&self) -> bool {
        self.core.has_kept() || self.inner.is_expecting()
    }

    fn hold(&self) -> bool {
        self.inner.hold()
    }

    fn release(&self) {
        self.inner.release();
    }

    fn settle(&self) {
        self.inner.settle();
    }
}

impl<A: JobAdapter> JobAdapter for Timed<A> {
    /// Nothing takes time.
    fn one(near: Shm) -> Timed<A> {
        let hardware = Parameters::of("count").expect("it is in the table");
        let (topology, links) = (Topology::Apart, links::Links::own(0));
        Timed::new(A::one(near), Setup { hardware, topology, positions: [].into(), links, survives: false })
    }

    fn near(&self) -> &Shm {
        self.inner.near()
    }

    fn far(&self) -> Option<&'static Far> {
        self.inner.far()
    }

    fn is_far(&self, node: NodeId) -> bool {
        self.inner.is_far(node)
    }

    fn far_segment(&self, node: NodeId, id: SegmentId, len: usize) -> Result<TimedSegment<A>, SciError> {
        Ok(TimedSegment::new(self.inner.far_segment(node, id, len)?, node, &self.core))
    }

    fn start_thread(&self, always: bool) -> Result<(), SciError> {
        self.inner.start_thread(always)
    }

    fn leave(&self, time: Duration) {
        self.deliver_last(|| self.inner.far().is_none_or(Far::begins_to_leave));
        self.inner.leave(time);
    }
}
