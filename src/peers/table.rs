//! The one table of peers: where each node's segment lies, and how this node reaches it.
//!
//! Attach and publish fill it, once for each node; the way to a node is decided then. A transfer asks once, by [`PeerTable::at`], which
//! checks the range and names the way in one look-up. Transfers `match` on [`Way`], so the compiler names the places that a new way needs.
//!
//! Must not know: messages, how bytes are moved.

use crate::base::error::{Error, bad_arg};
use crate::sci::{Adapter, RemoteMap, RemoteRead, process};
use std::sync::OnceLock;

/// How this node reaches the segment of one node.
pub enum Way<A: Adapter> {
    /// It is this node's own.
    Own,
    /// This process reads and writes its map; where [`RemoteRead::memory`] says so, with its own loads and stores.
    Mapped(A::Remote),
    /// It is on another host. The network moves bytes through the map and tells later that they have arrived.
    Network(A::Remote),
    /// The kernel copies, as long as it agrees. When it refuses, messages go.
    Kernel(process::Access),
    /// Messages alone.
    Messages,
}

impl<A: Adapter> Way<A> {
    /// The way through a map, whichever host it is of.
    pub fn through(map: A::Remote) -> Way<A> {
        if map.is_far() { Way::Network(map) } else { Way::Mapped(map) }
    }

    /// Where this process loads and stores what is `offset` into the segment, if it can.
    #[inline]
    pub fn memory(&self, offset: usize) -> Option<*mut u8>
    where
        A::Remote: RemoteRead,
    {
        match self {
            Way::Own => Some(offset as *mut u8),
            Way::Mapped(map) => map.memory().map(|memory| memory.wrapping_add(offset)),
            Way::Network(_) | Way::Kernel(_) | Way::Messages => None,
        }
    }

    /// The map of the segment, if there is one.
    pub fn map(&self) -> Option<&A::Remote> {
        match self {
            Way::Mapped(map) | Way::Network(map) => Some(map),
            Way::Own | Way::Kernel(_) | Way::Messages => None,
        }
    }
}

/// The segment of one node.
pub struct PeerSegment<A: Adapter> {
    /// Address of the segment at its owner; 0 when it has none.
    pub base: usize,
    /// Bytes.
    pub len: usize,
    /// Made by attach. False: the owner's own memory, which peers do not map (GASNet-EX: `gex_Segment_Create`).
    pub attached: bool,
    /// The way there.
    pub way: Way<A>,
    /// The segment, connected, for the DMA queue; `None` where it is not mapped.
    pub segment: Option<A::RemoteSegment>,
}

impl<A: Adapter> PeerSegment<A> {
    /// Without a map: this node's own segment, or one that is reached by `way`.
    pub fn unmapped(base: usize, len: usize, attached: bool, way: Way<A>) -> PeerSegment<A> {
        PeerSegment { base, len, attached, way, segment: None }
    }

    fn holds(&self, address: usize, len: usize) -> bool {
        address >= self.base && len <= self.len && address - self.base <= self.len - len
    }
}

/// A place in the memory of a node: the way there, and how far into the segment it is. In this node's own memory, and where all memory is
/// the segment, the offset is the address.
pub type Spot<'a, A> = (&'a Way<A>, usize);

/// All nodes' segments, of the endpoint that messages are for, by rank. A node's segment is known from attach on, or from the time when its
/// owner has published it.
pub struct PeerTable<A: Adapter> {
    me: u32,
    segments: Box<[OnceLock<PeerSegment<A>>]>,
    everything: OnceLock<bool>,
    own: Way<A>,
}

impl<A: Adapter> PeerTable<A> {
    /// The table of node `me` in a job of `nodes` nodes. No segment is known.
    pub fn new(me: u32, nodes: usize) -> Self {
        let segments = (0..nodes).map(|_| OnceLock::new()).collect();
        PeerTable { me, segments, everything: OnceLock::new(), own: Way::Own }
    }

    /// Sets all, once. `everything`: all memory of every node is its segment. A segment without bytes stays unknown, so that its owner may
    /// publish another one (GASNet-EX).
    pub fn set(&self, segments: Box<[PeerSegment<A>]>, everything: bool) {
        assert_eq!(segments.len(), self.segments.len());
        assert!(self.everything.set(everything).is_ok(), "attached once");
        for (node, segment) in (0..).zip(segments).filter(|(_, segment)| segment.len > 0 || everything) {
            assert!(self.publish(node, segment), "attached once");
        }
    }

    /// Sets the segment of `node`; false if it was known before.
    pub fn publish(&self, node: u32, segment: PeerSegment<A>) -> bool {
        self.segments[node as usize].set(segment).is_ok()
    }

    /// The segment of `node` (below the number of nodes), once it is known.
    pub fn of(&self, node: u32) -> Option<&PeerSegment<A>> {
        self.segments[node as usize].get()
    }

    fn is_everything(&self) -> bool {
        self.everything.get().copied().unwrap_or(false)
    }

    /// The segment of `node` if `[address, address + len)` is inside.
    #[inline]
    pub fn find(&self, node: u32, address: usize, len: usize) -> Option<&PeerSegment<A>> {
        self.of(node).filter(|segment| segment.holds(address, len) || self.is_everything())
    }

    /// The way to `[address, address + len)` of `node`. An error names the bounds that the range is not in. This node's own memory is not
    /// checked: there the client may name any address (contract: extended.md §1).
    #[inline]
    pub fn at(&self, node: u32, address: usize, len: usize) -> Result<Spot<'_, A>, Error> {
        if node == self.me {
            return Ok((&self.own, address));
        }
        match self.find(node, address, len) {
            Some(segment) => Ok((&segment.way, address.wrapping_sub(segment.base))),
            None => self.outside(node, address, len),
        }
    }

    /// The map of `node`'s segment, and how far into it `[address, address + len)` is, if it is mapped and the range is inside.
    #[inline]
    pub fn mapped(&self, node: u32, address: usize, len: usize) -> Option<(&A::Remote, usize)> {
        let segment = self.find(node, address, len)?;
        Some((segment.way.map()?, address.wrapping_sub(segment.base)))
    }

    /// Is `[address, address + len)` inside `node`'s segment?
    #[inline]
    pub fn holds(&self, node: u32, address: usize, len: usize) -> bool {
        self.find(node, address, len).is_some()
    }

    /// [`Self::holds`] as an error that names the bounds. Zero bytes are always inside.
    pub fn check(&self, node: u32, address: usize, len: usize) -> Result<(), Error> {
        if len == 0 || self.holds(node, address, len) {
            return Ok(());
        }
        self.outside(node, address, len)
    }

    #[cold]
    #[inline(never)]
    fn outside<T>(&self, node: u32, address: usize, len: usize) -> Result<T, Error> {
        let (base, size) = self.bounds(node);
        bad_arg(format_args!("[{address:#x}, +{len}) is outside the segment of node {node}: [{base:#x}, +{size})"))
    }

    /// True if the range is inside the segment that attach has made for `node`, in EVERYTHING too.
    pub fn is_segment(&self, node: u32, address: usize, len: usize) -> bool {
        self.of(node).is_some_and(|segment| segment.attached && segment.holds(address, len))
    }

    /// Address and bytes of `node`'s segment.
    pub fn bounds(&self, node: u32) -> (usize, usize) {
        self.of(node).map_or((0, 0), |segment| (segment.base, segment.len))
    }

    /// The way to the memory of `node` through the kernel, if it is reached so and the kernel has not refused.
    pub fn kernel(&self, node: u32) -> Option<&process::Access> {
        match &self.of(node)?.way {
            Way::Kernel(way) => way.pid().map(|_| way),
            Way::Own | Way::Mapped(_) | Way::Network(_) | Way::Messages => None,
        }
    }

    /// The number to add to an address in the segment of `node`, so that this process can load and store there. `None`: no address of this
    /// process reaches it.
    #[inline]
    pub fn offset(&self, node: u32) -> Option<usize>
    where
        A::Remote: RemoteRead,
    {
        if node == self.me {
            return Some(0);
        }
        let segment = self.of(node)?;
        match &segment.way {
            Way::Own => Some(0),
            Way::Mapped(map) => map.memory().map(|at| at.addr().wrapping_sub(segment.base)),
            Way::Network(_) | Way::Kernel(_) | Way::Messages => None,
        }
    }
}
