//! One collective as its caller wants it.
//!
//! Must not know: teams, members, how it is done.

#![allow(unsafe_code)] // client memory and mapped regions

use super::combine::Combine;
use super::span::Span;
use std::ops::Deref;
use std::sync::Arc;

/// The kinds of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// One block of the root goes to all.
    Broadcast = 0,
    /// Each image gets its own block from the root.
    Scatter = 1,
    /// The root gets a block from each image.
    Gather = 2,
    /// All images get a block from each image.
    GatherAll = 3,
    /// Block j of image i becomes block i of image j.
    Exchange = 4,
    /// The root gets the combination of all vectors.
    Reduce = 5,
    /// Image i gets the combination of the vectors of the images up to i.
    Scan = 6,
    /// All members get the combination of all vectors (GASNet-EX).
    ReduceAll = 7,
}

impl Kind {
    /// The kind of that number.
    pub fn from_number(number: u32) -> Option<Kind> {
        use Kind::*;
        [Broadcast, Scatter, Gather, GatherAll, Exchange, Reduce, Scan, ReduceAll].get(number as usize).copied()
    }

    /// True if there is a root.
    pub fn is_rooted(self) -> bool {
        matches!(self, Kind::Broadcast | Kind::Scatter | Kind::Gather | Kind::Reduce)
    }

    /// True if only the root has the source.
    pub(super) fn has_root_source(self) -> bool {
        matches!(self, Kind::Broadcast | Kind::Scatter)
    }

    /// True if only the root has the destination.
    pub(super) fn has_root_destination(self) -> bool {
        matches!(self, Kind::Gather | Kind::Reduce)
    }
}

/// Flags (contract: coll.md §2.1).
pub mod flags {
    /// Inputs may be read before all members are ready.
    pub const IN_NOSYNC: u32 = 1;
    /// Inputs of a member are ready when it calls.
    pub const IN_MYSYNC: u32 = 1 << 1;
    /// No data may move before all members have called.
    pub const IN_ALLSYNC: u32 = 1 << 2;
    /// A member may finish at once.
    pub const OUT_NOSYNC: u32 = 1 << 3;
    /// A member finishes when its own data is in place.
    pub const OUT_MYSYNC: u32 = 1 << 4;
    /// A member finishes when all members' data is in place.
    pub const OUT_ALLSYNC: u32 = 1 << 5;
    /// Addresses are the same on all members.
    pub const SINGLE: u32 = 1 << 6;
    /// Each member gives its own addresses.
    pub const LOCAL: u32 = 1 << 7;
    /// The call shares its handle with the next one.
    pub const AGGREGATE: u32 = 1 << 8;
    /// All destinations lie in segments.
    pub const DST_IN_SEGMENT: u32 = 1 << 10;
    /// All sources lie in segments.
    pub const SRC_IN_SEGMENT: u32 = 1 << 11;
    /// A scan includes the image's own vector.
    pub const INCLUSIVE_SCAN: u32 = 1 << 16;
    /// A scan leaves out the image's own vector.
    pub const EXCLUSIVE_SCAN: u32 = 1 << 17;
    /// Participants are nodes.
    pub const NO_IMAGES: u32 = 1 << 19;
}

/// One address or several.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// One.
    One([usize; 1]),
    /// Several, or none.
    Many(Box<[usize]>),
}

impl Addresses {
    /// One.
    pub fn one(address: usize) -> Addresses {
        Addresses::One([address])
    }
}

impl FromIterator<usize> for Addresses {
    fn from_iter<I: IntoIterator<Item = usize>>(addresses: I) -> Addresses {
        let mut addresses = addresses.into_iter();
        match (addresses.next(), addresses.next()) {
            (Some(one), None) => Addresses::one(one),
            (first, second) => Addresses::Many(first.into_iter().chain(second).chain(addresses).collect()),
        }
    }
}

impl Deref for Addresses {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        match self {
            Addresses::One(one) => one,
            Addresses::Many(many) => many,
        }
    }
}

/// The place in the client's source from which it called.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The source file.
    pub file: String,
    /// The line in the file.
    pub line: u32,
    /// Number of the function of a reduction, or of its type and operation.
    pub function: u32,
    /// The call is one of GASNet-EX.
    pub is_ex: bool,
}

/// A call, of one image or of a node's images together.
#[derive(Clone, Debug)]
pub struct Call {
    /// The kind of collective.
    pub kind: Kind,
    /// Root image.
    pub root: usize,
    /// Bytes of a block; of reductions and scans: of a vector.
    pub each: usize,
    /// Flags of [`flags`].
    pub flags: u32,
    /// Destinations: the root's, or one per image of this node.
    pub dst: Addresses,
    /// Sources: the root's, or one per image of this node.
    pub src: Addresses,
    /// The lists have an entry for each image of the node, even if only one has called (M forms).
    pub lists: bool,
    /// How reductions and scans combine.
    pub reduction: Option<Combine>,
    /// The place from which the client called; with debug clients only.
    pub origin: Option<Arc<Origin>>,
}

impl Call {
    /// Whether the call has this flag.
    #[inline(always)]
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// `len` bytes of destination `i`.
    pub fn dst(&self, i: usize, len: usize) -> Span {
        // SAFETY: the caller of the collective promises that its memory stays accessible until the collective is done.
        unsafe { Span::one(self.dst[i], len) }
    }

    /// `len` bytes of source `i`.
    pub fn src(&self, i: usize, len: usize) -> Span {
        // SAFETY: the caller of the collective promises a readable source until the collective is done.
        unsafe { Span::one(self.src[i], len) }
    }

    /// The sources of this node, one block each, as one span.
    pub fn sources(&self) -> Span {
        // SAFETY: the caller of the collective promises readable sources of `each` bytes until it is done.
        unsafe { Span::many(&self.src, self.each) }
    }

    /// The destinations of this node, one block each, as one span.
    pub fn destinations(&self) -> Span {
        // SAFETY: the caller of the collective promises writable destinations of `each` bytes until it is done.
        unsafe { Span::many(&self.dst, self.each) }
    }
}
