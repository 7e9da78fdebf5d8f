//! What is the same for all peers of a node.
//!
//! Must not know: what is sent.

use super::adapter::Segment;
use super::layout::Layout;
use super::library::Library;
use crate::sync::AtomicU64;
use std::time::Duration;

/// See the head of this file.
pub struct Ground {
    pub library: &'static Library,
    pub me: u32,
    /// This node's number as the library has it.
    pub node: u32,
    pub layout: Layout,
    pub own: Segment,
    /// What peers must know of this node: 1 if it polls.
    pub awake: AtomicU64,
    /// Peers are told this too: the library's number of the client's segment, or 0.
    pub client_number: AtomicU64,
    /// Bytes of a write from which on it goes straight. `None`: none does.
    pub straight_from: Option<usize>,
    /// How many pieces of writes went straight to a segment.
    pub straight_writes: AtomicU64,
    /// For how long links are tried.
    pub contact: Duration,
    /// Bytes of a record from which on it goes by DMA.
    pub dma_from: Option<usize>,
}
