//! What a job asks of its adapter beyond [`Adapter`]: which nodes are on other hosts, and what ties this node to them.
//!
//! Must not know: how a node reaches another.

use super::far::Far;
use super::shm::Shm;
use super::{Adapter, NodeId, SciError, SegmentId};
use std::time::Duration;

/// An adapter that jobs can be built on: shared memory for nodes of this host, perhaps a network for others.
pub trait JobAdapter: Adapter {
    /// For a job whose nodes all share memory.
    fn one(near: Shm) -> Self;
    /// The half for nodes of this host.
    fn near(&self) -> &Shm;
    /// The half for nodes of other hosts, if there are any.
    fn far(&self) -> Option<&'static Far>;
    /// True if `node` is on another host. False of a node that the job does not have.
    fn is_far(&self, node: NodeId) -> bool;
    /// The segment `id` of a node on another host, `len` bytes long. What its owner admits can be written. Its length must be known, and that
    /// it is there: nobody asks the owner.
    fn far_segment(&self, node: NodeId, id: SegmentId, len: usize) -> Result<Self::RemoteSegment, SciError>;
    /// Starts the thread that serves the network while the client computes or blocks: `always`, or only as long as something of this
    /// node waits. Call it once. A job on one host has none.
    fn start_thread(&self, always: bool) -> Result<(), SciError>;
    /// This node leaves in good order: what it has sent to other hosts arrives there, if they take it within `time`.
    fn leave(&self, time: Duration);
}
