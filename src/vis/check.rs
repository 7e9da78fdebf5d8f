//! Checks descriptions for what the contract forbids (vis.md §3, §4). Debug builds make them before anything moves.

#![forbid(unsafe_code)]

use super::Verb;
use super::shape::{Indexed, Levels, Piece};
use crate::am::Am;
use crate::base::error::{Error, bad_arg};
use crate::sci::Adapter;

/// The two sides, named as the parameters of the calls.
pub(super) const SIDES: [&str; 2] = ["dst", "src"];

/// Index of the remote side.
pub(super) fn remote(call: Verb) -> usize {
    usize::from(!call.is_put())
}

/// Checks two vector lists: totals must be equal, and every piece of the remote side must lie in `node`'s segment.
pub fn vector<A: Adapter>(am: &Am<A>, call: Verb, node: u32, lists: [&[Piece]; 2]) -> Result<(), Error> {
    let mut totals = [0usize; 2];
    for ((total, list), side) in totals.iter_mut().zip(lists).zip(SIDES) {
        for (i, piece) in list.iter().enumerate() {
            match total.checked_add(piece.len) {
                Some(sum) => *total = sum,
                None => return bad_arg(format_args!("{side}list[{i}].len is {}: too many bytes in all", piece.len)),
            }
        }
    }
    equal(totals)?;
    let side = remote(call);
    for (i, piece) in lists[side].iter().enumerate() {
        inside(am, node, piece.addr, piece.len, || format!("{}list[{i}]", SIDES[side]))?;
    }
    Ok(())
}

/// Checks two indexed lists: no piece is empty, totals are equal, and every piece of the remote side lies in `node`'s
/// segment.
pub fn indexed<A: Adapter>(am: &Am<A>, call: Verb, node: u32, lists: [Indexed<'_>; 2]) -> Result<(), Error> {
    let mut totals = [0usize; 2];
    for ((total, list), side) in totals.iter_mut().zip(lists).zip(SIDES) {
        let count = list.list.len();
        if count > 0 && list.len == 0 {
            return bad_arg(format_args!("{side}len is 0 and {side}count {count}"));
        }
        match count.checked_mul(list.len) {
            Some(product) => *total = product,
            None => return bad_arg(format_args!("{side}count {count} times {side}len {}: too many bytes", list.len)),
        }
    }
    equal(totals)?;
    let side = remote(call);
    for (i, addr) in lists[side].list.iter().enumerate() {
        inside(am, node, *addr, lists[side].len, || format!("{}list[{i}]", SIDES[side]))?;
    }
    Ok(())
}

/// Checks that the destination's pieces do not certainly overlap: that they span as many bytes as they have.
pub fn apart(pieces: impl Iterator<Item = Piece>) -> Result<(), Error> {
    let (mut first, mut end, mut total) = (usize::MAX, 0usize, 0usize);
    for piece in pieces.filter(|p| p.len > 0) {
        first = first.min(piece.addr);
        end = end.max(piece.addr.saturating_add(piece.len));
        total = total.saturating_add(piece.len);
    }
    if total > end.saturating_sub(first) {
        return bad_arg(format_args!(
            "the pieces of dstlist have {total} bytes, but span {}: they overlap",
            end.saturating_sub(first)
        ));
    }
    Ok(())
}

/// Checks a section whose counts are not 0: its strides let no runs overlap, and its remote side lies in `node`'s
/// segment.
pub fn strided<A: Adapter>(am: &Am<A>, call: Verb, node: u32, levels: &Levels<'_>) -> Result<(), Error> {
    let Levels { start, strides, count } = *levels;
    if count.contains(&0) {
        return Ok(());
    }
    let mut extents = [0usize; 2];
    for ((extent, strides), side) in extents.iter_mut().zip(strides).zip(SIDES) {
        *extent = sides_extent(side, strides, count)?;
    }
    let side = remote(call);
    inside(am, node, start[side], extents[side], || format!("the section at {}addr", SIDES[side]))
}

/// Number of bytes from the first byte of one side to its last.
fn sides_extent(side: &str, strides: &[usize], count: &[usize]) -> Result<usize, Error> {
    let mut extent = count[0];
    for (i, &stride) in strides.iter().enumerate() {
        let below = if i == 0 { Some(count[0]) } else { strides[i - 1].checked_mul(count[i]) };
        if below.is_none_or(|below| stride < below) {
            return match i {
                0 => bad_arg(format_args!("{side}strides[0] is {stride}, less than count[0], {}", count[0])),
                _ => bad_arg(format_args!(
                    "{side}strides[{i}] is {stride}, less than count[{i}] times {side}strides[{}], {} times {}",
                    i - 1,
                    count[i],
                    strides[i - 1]
                )),
            };
        }
        let more = (count[i + 1] - 1).checked_mul(stride).and_then(|n| n.checked_add(extent));
        match more {
            Some(sum) => extent = sum,
            None => {
                return bad_arg(format_args!(
                    "count[{}] is {} and {side}strides[{i}] {stride}: too many bytes",
                    i + 1,
                    count[i + 1]
                ));
            }
        }
    }
    Ok(extent)
}

fn equal([dst, src]: [usize; 2]) -> Result<(), Error> {
    if dst != src {
        return bad_arg(format_args!("the destination has {dst} bytes, the source {src}"));
    }
    Ok(())
}

/// Checks that a piece, whose name is only asked for if it is not, lies in `node`'s segment.
pub(super) fn inside<A: Adapter>(
    am: &Am<A>,
    node: u32,
    addr: usize,
    len: usize,
    name: impl Fn() -> String,
) -> Result<(), Error> {
    if len == 0 || am.table().holds(node, addr, len) {
        return Ok(());
    }
    let (base, size) = am.table().bounds(node);
    bad_arg(format_args!(
        "{}, [{addr:#x}, +{len}), is outside the segment of node {node}: [{base:#x}, +{size})",
        name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::is_bad_arg;

    #[test]
    fn strides_must_cover_what_is_below() {
        assert_eq!(sides_extent("dst", &[8, 24], &[8, 3, 2]).ok(), Some(48));
        assert_eq!(
            sides_extent("dst", &[10, 40], &[8, 3, 2]).ok(),
            Some(40 + 20 + 8),
            "not the last stride's multiple"
        );
        assert!(is_bad_arg(sides_extent("dst", &[7], &[8, 3])));
        assert!(is_bad_arg(sides_extent("dst", &[8, 23], &[8, 3, 2])));
        assert!(is_bad_arg(sides_extent("dst", &[8, 23], &[8, 3, 1])), "also of a level of one");
        assert!(is_bad_arg(sides_extent("dst", &[1 << 60, usize::MAX], &[8, 1 << 10, 1])), "a product above 2⁶⁴");
        assert!(is_bad_arg(sides_extent("dst", &[1 << 40], &[8, 1 << 40])), "an extent above 2⁶⁴");
        assert!(is_bad_arg(sides_extent("dst", &[usize::MAX - 7], &[usize::MAX, 2])), "a size that looks negative");
    }

    #[test]
    fn pieces_that_must_overlap_are_found() {
        let list = |l: &[(usize, usize)]| l.iter().map(|p| Piece { addr: p.0, len: p.1 }).collect::<Vec<_>>();
        for fine in [&[][..], &[(8, 4), (0, 8)], &[(0, 0), (5, 1)], &[(0, 4), (100, 4)]] {
            assert!(apart(list(fine).into_iter()).is_ok(), "{fine:?}");
        }
        for bad in [&[(8, 4), (8, 4)][..], &[(0, 4), (3, 4)]] {
            assert!(is_bad_arg(apart(list(bad).into_iter())), "{bad:?}");
        }
    }

    #[test]
    fn totals_must_be_equal() {
        assert!(equal([7, 7]).is_ok() && is_bad_arg(equal([7, 8])));
    }
}
