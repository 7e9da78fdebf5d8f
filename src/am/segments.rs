//! All nodes' segments: where they lie, how this node reaches them, and whether a range is inside.
//!
//! Must not know: messages, how bytes are moved.

use crate::base::error::{Error, bad_arg};
use crate::sci::Adapter;
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
    /// Process id of the owner, if the kernel may copy to and from its memory. `None`: memory that is not mapped is reached by
    /// messages.
    pub pid: Option<i32>,
}

/// All nodes' segments, known from attach on.
pub struct Segments<A: Adapter> {
    table: OnceLock<(Box<[PeerSegment<A>]>, bool)>,
    nodes: usize,
}

impl<A: Adapter> Segments<A> {
    pub(crate) fn new(nodes: usize) -> Self {
        Segments { table: OnceLock::new(), nodes }
    }

    /// Sets the table, once. `everything`: all memory of every node is its segment.
    pub fn set(&self, table: Box<[PeerSegment<A>]>, everything: bool) {
        assert_eq!(table.len(), self.nodes);
        assert!(self.table.set((table, everything)).is_ok(), "attached once");
    }

    /// The segment of `node`, and whether all memory is its segment; `None` before attach.
    pub(super) fn get(&self, node: u32) -> Option<(&PeerSegment<A>, bool)> {
        let (table, everything) = self.table.get()?;
        Some((&table[node as usize], *everything))
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

    /// True if the range is inside `node`'s segment proper, in EVERYTHING too.
    pub fn is_segment(&self, node: u32, address: usize, len: usize) -> bool {
        let (base, size) = self.bounds(node);
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
