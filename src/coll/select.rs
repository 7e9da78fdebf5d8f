//! The one table that selects the algorithm of a collective: by its kind, the number of bytes, the number of members,
//! whether their memory is mapped, and whether they are on several hosts of which one at least has several members.
//!
//! Sizes without a source are guesses that `testcollperf` confirms on two cores. Every member must make the same
//! choice, so the table may not depend on anything that differs among members.

use super::Kind;
use super::cells::WORDS;

/// Bytes that a message carries itself.
pub const INLINE: usize = 8 * WORDS;
/// Up to this many bytes a sender copies to its stage, even if receivers could read the source. Receivers find the
/// bytes when they come. The sender is done at once, and no receiver answers.
pub const AHEAD_MAPPED: usize = 1024;
/// The most members that send everything directly to each other. More members go in rounds (dissemination).
pub const DIRECT_MEMBERS: usize = 8;
/// From this many bytes on, the members of a gather write to the root if they can, instead of the root reading. Then
/// all members copy at the same time.
pub const PUSH: usize = 8 << 10;
/// From this many bytes of a vector on, the members share the work of a reduction.
pub const SHARED_REDUCE: usize = if cfg!(loom) { 1 << 20 } else { 16 << 10 };

/// The radix of a tree inside a host. With mapped memory, members read from the leader's at the same time.
pub const fn near_radix(mapped: bool) -> usize {
    if mapped { 16 } else { 2 }
}

/// The radix of a tree inside a host by which vectors of `bytes` are combined. Long ones are combined by several members at a time.
pub const fn near_sum_radix(mapped: bool, bytes: usize) -> usize {
    if mapped && bytes <= SHARED_REDUCE { DIRECT_MEMBERS } else { 2 }
}

/// The pattern in which bytes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Directly between the root and each member, or between all pairs.
    Flat,
    /// Over a tree of this radix. On several hosts that is the radix between hosts; inside a host it is [`near_radix`].
    Tree(usize),
    /// In rounds of doubling distance.
    Rounds,
    /// Each member combines a part, and the root collects the parts.
    Shared,
    /// Inside each host, between the hosts' leaders, inside each host.
    Levels,
}

/// One row. The first row that fits a call is used.
struct Row {
    kind: Kind,
    mapped: Option<bool>,
    /// Only for members on several hosts of which one at least has several members.
    levels: bool,
    members: usize,
    bytes: usize,
    algorithm: Algorithm,
}

const ANY: usize = usize::MAX;

const fn row(kind: Kind, mapped: Option<bool>, members: usize, bytes: usize, algorithm: Algorithm) -> Row {
    Row { kind, mapped, levels: false, members, bytes, algorithm }
}

/// A row for members of several hosts.
const fn levels(kind: Kind, bytes: usize, algorithm: Algorithm) -> Row {
    Row { kind, mapped: None, levels: true, members: ANY, bytes, algorithm }
}

/// A row fits up to that number of members and bytes of a block. `mapped`: only with mapped memory, or only without;
/// `None`: both.
const TABLE: &[Row] = &[
    // Few messages cross hosts, and bytes that all get cross once. Long blocks that one member gets cross once anyway, and then
    // need no copy on their way.
    levels(Kind::Broadcast, ANY, Algorithm::Tree(2)),
    levels(Kind::Scatter, 4096, Algorithm::Tree(2)),
    levels(Kind::Gather, 4096, Algorithm::Tree(2)),
    levels(Kind::GatherAll, ANY, Algorithm::Levels),
    levels(Kind::Reduce, ANY, Algorithm::Levels),
    levels(Kind::ReduceAll, ANY, Algorithm::Levels),
    // With mapped memory all readers pull from the root at the same time. The root's stores take longer than the
    // three levels of a tree only if there are many members.
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
    row(Kind::ReduceAll, None, DIRECT_MEMBERS, 4096, Algorithm::Flat),
    row(Kind::ReduceAll, None, ANY, SHARED_REDUCE, Algorithm::Tree(2)),
    row(Kind::ReduceAll, None, ANY, ANY, Algorithm::Shared),
    row(Kind::Scan, None, ANY, ANY, Algorithm::Flat),
];

/// What the table asks of a team.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Members' memory is mapped.
    pub mapped: bool,
    /// The members are on several hosts, of which some have several members. Reductions: and each host's members follow one
    /// another, because vectors are combined in the order of members.
    pub levels: bool,
    /// Number of members.
    pub members: usize,
}

/// The algorithm for a collective with blocks (reductions: vectors) of `bytes`.
pub fn algorithm(kind: Kind, form: Form, bytes: usize) -> Algorithm {
    let fits = |r: &&Row| {
        r.kind == kind
            && r.mapped.is_none_or(|m| m == form.mapped)
            && (form.levels || !r.levels)
            && form.members <= r.members
            && bytes <= r.bytes
    };
    TABLE.iter().find(fits).map_or(Algorithm::Flat, |r| r.algorithm)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_collective_has_a_row_for_every_case() {
        use Kind::*;
        for kind in [Broadcast, Scatter, Gather, GatherAll, Exchange, Reduce, Scan, ReduceAll] {
            for mapped in [false, true] {
                let fits = |r: &Row| r.kind == kind && !r.levels && r.mapped.is_none_or(|m| m == mapped);
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
                    && (row.levels || !r.levels)
                    && r.members >= row.members
                    && r.bytes >= row.bytes
            };
            assert!(!TABLE[..i].iter().any(hides), "row {i}");
        }
    }
}
