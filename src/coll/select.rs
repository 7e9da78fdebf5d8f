//! The one table that selects the algorithm of a collective: by its kind, the number of bytes and of members, and whether their
//! memory is mapped.
//!
//! Sizes without a source are guesses that `testcollperf` bears out on two cores. Every member must choose alike, so nothing
//! that differs among members may enter.

use super::Kind;
use super::cells::WORDS;

/// Bytes that a message carries itself.
pub const INLINE: usize = 8 * WORDS;
/// Bytes up to which a sender copies to its stage, where receivers find them when they come, even if they could read the
/// source. Then the sender is done at once, and nobody answers.
pub const AHEAD_MAPPED: usize = 1024;
/// Most members that tell each other everything directly. More go round by round (dissemination).
pub const DIRECT_MEMBERS: usize = 8;
/// Bytes from which a member writes to the root of a gather, if it can, instead of the root reading: then all members copy at
/// the same time.
pub const PUSH: usize = 8 << 10;
/// Bytes of a vector from which a reduction is divided among the members.
pub const SHARED_REDUCE: usize = if cfg!(loom) { 1 << 20 } else { 16 << 10 };

/// The pattern in which bytes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// From and to the root directly, or between all pairs.
    Flat,
    /// Over a tree of this radix.
    Tree(usize),
    /// In rounds of doubling distance.
    Rounds,
    /// Shared out: each member combines a part, the root collects the parts.
    Shared,
}

/// One row: the first that fits is taken.
struct Row {
    kind: Kind,
    mapped: Option<bool>,
    members: usize,
    bytes: usize,
    algorithm: Algorithm,
}

const ANY: usize = usize::MAX;

const fn row(kind: Kind, mapped: Option<bool>, members: usize, bytes: usize, algorithm: Algorithm) -> Row {
    Row { kind, mapped, members, bytes, algorithm }
}

/// A row holds up to that number of members and of bytes of a block. `mapped`: only if the memory is mapped, or only if not.
const TABLE: &[Row] = &[
    // Mapped: each reader pulls from the root, all at the same time. A root's stores to many members take longer than a
    // tree's three levels only where there are many.
    row(Kind::Broadcast, Some(true), 16, ANY, Algorithm::Flat),
    row(Kind::Broadcast, Some(true), ANY, 4096, Algorithm::Tree(4)),
    row(Kind::Broadcast, Some(true), ANY, ANY, Algorithm::Flat),
    row(Kind::Broadcast, Some(false), 2, ANY, Algorithm::Flat),
    row(Kind::Broadcast, Some(false), ANY, ANY, Algorithm::Tree(2)),
    row(Kind::Scatter, Some(true), ANY, ANY, Algorithm::Flat),
    row(Kind::Scatter, Some(false), 3, ANY, Algorithm::Flat),
    row(Kind::Scatter, Some(false), ANY, 4096, Algorithm::Tree(2)),
    row(Kind::Scatter, None, ANY, ANY, Algorithm::Flat),
    row(Kind::Gather, Some(true), ANY, ANY, Algorithm::Flat),
    row(Kind::Gather, Some(false), 3, ANY, Algorithm::Flat),
    row(Kind::Gather, Some(false), ANY, 4096, Algorithm::Tree(2)),
    row(Kind::Gather, None, ANY, ANY, Algorithm::Flat),
    row(Kind::GatherAll, Some(true), 16, ANY, Algorithm::Flat),
    row(Kind::GatherAll, Some(false), 3, ANY, Algorithm::Flat),
    row(Kind::GatherAll, None, ANY, 1024, Algorithm::Rounds),
    row(Kind::GatherAll, None, ANY, ANY, Algorithm::Flat),
    row(Kind::Exchange, None, ANY, ANY, Algorithm::Flat),
    row(Kind::Reduce, None, DIRECT_MEMBERS, SHARED_REDUCE, Algorithm::Flat),
    row(Kind::Reduce, None, ANY, SHARED_REDUCE, Algorithm::Tree(2)),
    row(Kind::Reduce, None, ANY, ANY, Algorithm::Shared),
    row(Kind::Scan, None, ANY, ANY, Algorithm::Flat),
];

/// The algorithm for a collective with blocks (reductions: vectors) of `bytes` among `members`.
pub fn algorithm(kind: Kind, mapped: bool, members: usize, bytes: usize) -> Algorithm {
    let fits =
        |r: &&Row| r.kind == kind && r.mapped.is_none_or(|m| m == mapped) && members <= r.members && bytes <= r.bytes;
    TABLE.iter().find(fits).map_or(Algorithm::Flat, |r| r.algorithm)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_collective_has_a_row_for_every_case() {
        use Kind::*;
        for kind in [Broadcast, Scatter, Gather, GatherAll, Exchange, Reduce, Scan] {
            for mapped in [false, true] {
                let fits = |r: &Row| r.kind == kind && r.mapped.is_none_or(|m| m == mapped);
                assert!(TABLE.iter().any(|r| fits(r) && r.members == ANY && r.bytes == ANY), "{kind:?} {mapped}");
            }
        }
    }

    #[test]
    fn no_row_is_hidden_by_those_before() {
        for (i, row) in TABLE.iter().enumerate() {
            let hides = |r: &Row| {
                r.kind == row.kind
                    && (r.mapped.is_none() || r.mapped == row.mapped)
                    && r.members >= row.members
                    && r.bytes >= row.bytes
            };
            assert!(!TABLE[..i].iter().any(hides), "row {i}");
        }
    }
}
