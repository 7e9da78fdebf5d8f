//! All nodes' segments: where they lie, how this node reaches them, and whether a range is inside.
//!
//! Must not know: messages, how bytes are moved.

use crate::base::error::{Error, bad_arg};
use crate::sci::Adapter;
use crate::sci::process::Access;
use std::sync::OnceLock;

/// One node's segment.
pub struct PeerSegment<A: Adapter> {
    /// Address of the segment at its owner; 0 when it has none.
    pub base: usize,
    /// Bytes.
    pub len: usize,
    /// The segment, connected; `None` for this node's own segment and for empty ones.
    pub segment: Option<A::RemoteSegment>,
    /// The segment, mapped.
    pub map: Option<A::Remote>,
    /// Made by attach. False: the owner's own memory, which peers do not map (GASNet-EX: `gex_Segment_Create`).
    pub attached: bool,
    /// The way to the owner's memory through the kernel. `None`: memory that is not mapped is reached by messages.
    pub kernel: Option<Access>,
}

/// All nodes' segments, of the endpoint that messages are for. A node's segment is known from attach on, or from the time when
/// its owner has published it.
pub struct Segments<A: Adapter> {
    table: Box<[OnceLock<PeerSegment<A>>]>,
    everything: OnceLock<bool>,
}

impl<A: Adapter> Segments<A> {
    pub(crate) fn new(nodes: usize) -> Self {
        Segments { table: (0..nodes).map(|_| OnceLock::new()).collect(), everything: OnceLock::new() }
    }

    /// Sets all, once. `everything`: all memory of every node is its segment.
    pub fn set(&self, table: Box<[PeerSegment<A>]>, everything: bool) {
        assert_eq!(table.len(), self.table.len());
        assert!(self.everything.set(everything).is_ok(), "attached once");
        for (node, segment) in (0..).zip(table) {
            assert!(self.publish(node, segment), "attached once");
        }
    }

    /// Sets the segment of `node`; false if it was known before.
    pub fn publish(&self, node: u32, segment: PeerSegment<A>) -> bool {
        self.table[node as usize].set(segment).is_ok()
    }

    /// The segment of `node`, and whether all memory is its segment; `None` until it is known.
    pub(super) fn get(&self, node: u32) -> Option<(&PeerSegment<A>, bool)> {
        Some((self.table[node as usize].get()?, self.everything.get().copied().unwrap_or(false)))
    }

    /// The segment of `node` (below the number of nodes), once it is known.
    pub fn of(&self, node: u32) -> Option<&PeerSegment<A>> {
        self.table[node as usize].get()
    }

    /// Is `[address, address + len)` inside `node`'s segment?
    #[inline]
    pub fn holds(&self, node: u32, address: usize, len: usize) -> bool {
        self.get(node).is_some_and(|(p, everything)| {
            everything || (address >= p.base && len <= p.len && address - p.base <= p.len - len)
        })
    }

    /// [`Self::holds`] as an error that names the bounds. Zero bytes are always inside.
    pub fn check(&self, node: u32, address: usize, len: usize) -> Result<(), Error> {
        if len == 0 || self.holds(node, address, len) {
            return Ok(());
        }
        let (base, size) = self.bounds(node);
        bad_arg(format_args!("[{address:#x}, +{len}) is outside the segment of node {node}: [{base:#x}, +{size})"))
    }

    /// True if the range is inside the segment that attach has made for `node`, in EVERYTHING too.
    pub fn is_segment(&self, node: u32, address: usize, len: usize) -> bool {
        let (base, size) = self.of(node).filter(|s| s.attached).map_or((0, 0), |s| (s.base, s.len));
        address >= base && len <= size && address - base <= size - len
    }

    /// The map of `node`'s segment, and the segment's address at its owner.
    pub fn map(&self, node: u32) -> Option<(&A::Remote, usize)> {
        let (payload, _) = self.get(node)?;
        payload.map.as_ref().map(|map| (map, payload.base))
    }

    /// Address and bytes of `node`'s segment.
    pub fn bounds(&self, node: u32) -> (usize, usize) {
        self.get(node).map_or((0, 0), |(p, _)| (p.base, p.len))
    }
}
