//! A segment of each node, all in one map: their extents lie in the file as the nodes' parts lie in the window.
//!
//! A map for each of `n` peers is `n²` maps in a job: each is a region of the kernel's, in one tree with one lock. A
//! job of 256 nodes that attaches 1 MiB each and meets twice takes 1.7 s with one map, and 2.2 s without, from start to end (medians of 5 runs
//! in turns, EPYC VM of 2 cores, 2026-11).
//!
//! The price: behind a segment, up to the next node's part, there is memory instead of nothing, and so it is in the parts of nodes of other
//! hosts. So small jobs have a map for each peer, where an access behind a segment's end is caught.
//!
//! Must not know: what the segments are for.

use super::Core;
use crate::sci::mapping::Mapping;
use crate::sci::window::Window;
use crate::sci::{NodeId, Placement, SciError, SegmentId};
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// Where the nodes' segments of one id lie.
pub(super) struct SideBySide {
    id: SegmentId,
    /// Address of the first node's part.
    base: usize,
    /// Bytes for each.
    stride: usize,
    nodes: u32,
    /// Where the first node's part is in the file.
    offset: u64,
    /// The map, while somebody has it.
    map: Mutex<Weak<Mapping>>,
}

impl SideBySide {
    /// One node chooses the place in the file.
    pub(super) fn choose(core: &Core, window: &Window) {
        // Without the file there is no place, and each segment has its own.
        let _ = core.file.with(|fd| core.fabric.choose_common(fd, window.bytes()));
    }

    /// `None`: the file has no place for them.
    pub(super) fn new(core: &Core, id: SegmentId, window: &Window) -> Option<SideBySide> {
        let (base, stride, nodes) = (window.address(0)?, window.stride(), window.nodes());
        let len = window.bytes();
        let offset = core.file.with(|fd| Ok(core.fabric.common(fd, len))).ok()??;
        Some(SideBySide { id, base, stride, nodes, offset, map: Mutex::default() })
    }

    /// Where the extent of `node`'s segment `id` is in the file, if it has its place here.
    pub(super) fn extent(&self, node: NodeId, id: SegmentId, len: usize) -> Option<u64> {
        let has_place = id == self.id && len <= self.stride && u32::from(node.0) < self.nodes;
        has_place.then(|| self.offset + self.stride as u64 * u64::from(node.0))
    }

    /// The map of `len` bytes from `offset` on of `node`'s segment, which [has its place here](Self::extent), if they are to lie where the
    /// node's part of the window begins.
    pub(super) fn map(
        &self,
        core: &Core,
        node: NodeId,
        offset: usize,
        len: usize,
        place: Placement,
    ) -> Option<Result<Mapping, SciError>> {
        let part = self.stride * usize::from(node.0);
        if offset != 0 || place != Placement::At(self.base + part) {
            return None;
        }
        let mut map = self.map.lock();
        let whole = map.upgrade().map_or_else(
            || {
                let len = self.stride * self.nodes as usize;
                let new = core.file.with(|fd| Mapping::new(fd, self.offset, len, Placement::At(self.base)))?;
                let new = Arc::new(new);
                *map = Arc::downgrade(&new);
                Ok(new)
            },
            Ok,
        );
        Some(whole.map(|whole| Mapping::part(&whole, part, len)))
    }
}
