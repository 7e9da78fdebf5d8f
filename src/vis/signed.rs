//! Strided transfers of GASNet-EX: strides are signed and in any order on each side (contract: ex-rma.md §8.3).
//!
//! | case | what happens |
//! |---|---|
//! | a level of count 1 | its strides are not looked at |
//! | a level whose strides are negative on both sides | runs from its other end |
//! | strides that are negative on one side, or 0 at the source | copied as they are: addresses are sums modulo 2⁶⁴ |
//! | levels in any order | sorted by distance at the destination, so that levels that continue each other are joined |

#![forbid(unsafe_code)]

use super::Verb;
use super::check::{SIDES, inside, remote};
use super::shape::{Dim, Levels, Section};
use crate::am::Am;
use crate::base::error::{Error, bad_arg};
use crate::sci::Adapter;
use smallvec::SmallVec;

/// Levels that need no allocation.
const LEVELS: usize = 6;

/// A strided transfer as the client describes it. In each pair the destination comes first.
#[derive(Clone, Copy)]
pub struct Signed<'a> {
    /// Addresses of the elements of index 0.
    pub start: [usize; 2],
    /// Distances in bytes, which are signed, by level.
    pub strides: [&'a [usize]; 2],
    /// Number of bytes of an element.
    pub element: usize,
    /// Numbers of repetitions, by level.
    pub count: &'a [usize],
}

impl Signed<'_> {
    /// True if nothing moves.
    pub fn is_empty(&self) -> bool {
        self.element == 0 || self.count.contains(&0)
    }

    /// Number of bytes that move, or the largest number if they are more.
    pub fn total(&self) -> usize {
        self.count.iter().fold(self.element, |n, count| n.saturating_mul(*count))
    }

    /// The levels that repeat.
    fn repeating(&self) -> impl Iterator<Item = Dim> {
        let [to, from] = self.strides;
        let levels = self.count.iter().zip(to).zip(from);
        levels.filter(|((count, _), _)| **count != 1).map(|((&count, &to), &from)| Dim { count, to, from })
    }

    /// The runs, in few levels. `None`: nothing moves.
    pub fn fold(&self) -> Option<Section> {
        if self.is_empty() {
            return None;
        }
        let [mut to, mut from] = self.start;
        let mut dims: SmallVec<[Dim; LEVELS]> = self.repeating().collect();
        for dim in &mut dims {
            if (dim.to as isize) < 0 && (dim.from as isize) < 0 {
                to = to.wrapping_add(dim.to.wrapping_mul(dim.count - 1));
                from = from.wrapping_add(dim.from.wrapping_mul(dim.count - 1));
                *dim = Dim { count: dim.count, to: dim.to.wrapping_neg(), from: dim.from.wrapping_neg() };
            }
        }
        let distance = |stride: usize| (stride as isize).unsigned_abs();
        dims.sort_by_key(|dim| (distance(dim.to), distance(dim.from)));
        let mut section = Section { to, from, run: self.element, dims: SmallVec::new() };
        dims.into_iter().for_each(|dim| section.push(dim));
        Some(section)
    }

    /// Calls `run` with this transfer in the form of [`Levels`], if it has few levels and moves something.
    pub fn with_levels(&self, run: impl FnOnce(&Levels<'_>) -> bool) -> bool {
        let mut count = [self.element; 4];
        match count.get_mut(1..=self.count.len()) {
            Some(repeats) if !self.is_empty() => repeats.copy_from_slice(self.count),
            _ => return false,
        }
        run(&Levels { start: self.start, strides: self.strides, count: &count[..=self.count.len()] })
    }

    /// Checks that no destination is certain to overlap, and that the remote side lies in `node`'s segment.
    pub fn check<A: Adapter>(&self, am: &Am<A>, call: Verb, node: u32) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let side = remote(call);
        let boxes = [0, 1].map(|side| self.bounds(side));
        if self.repeating().any(|dim| dim.to == 0) {
            return bad_arg(format_args!("a stride of 0 in dststrides: elements would overlap"));
        }
        if (boxes[0].1 - boxes[0].0) < self.total() as i128 {
            return bad_arg(format_args!(
                "{} bytes are put into {} at dstaddr: elements would overlap",
                self.total(),
                boxes[0].1 - boxes[0].0
            ));
        }
        let (low, high) = boxes[side];
        let first = self.start[side].wrapping_add(low as usize);
        inside(am, node, first, usize::try_from(high - low).unwrap_or(usize::MAX), || {
            format!("the section at {}addr", SIDES[side])
        })
    }

    /// First byte of a side, and the one behind its last, as distances from its start.
    fn bounds(&self, side: usize) -> (i128, i128) {
        self.repeating().fold((0, self.element as i128), |(low, high), dim| {
            let stride = if side == 0 { dim.to } else { dim.from } as isize as i128;
            let reach = stride.saturating_mul(dim.count as i128 - 1);
            (low.saturating_add(reach.min(0)), high.saturating_add(reach.max(0)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Pairs of bytes: where each goes to, where it comes from.
    fn bytes(section: Option<Section>) -> Vec<(usize, usize)> {
        let runs = section.iter().flat_map(|section| section.runs().collect::<Vec<_>>());
        runs.flat_map(|run| (0..run.len).map(move |i| (run.to.wrapping_add(i), run.from.wrapping_add(i)))).collect()
    }

    fn expected(t: &Signed<'_>) -> Vec<(usize, usize)> {
        let mut all = vec![(t.start[0], t.start[1])];
        for (level, &count) in t.count.iter().enumerate() {
            let at = |base: usize, side: usize, i: usize| base.wrapping_add(t.strides[side][level].wrapping_mul(i));
            all = all.iter().flat_map(|b| (0..count).map(move |i| (at(b.0, 0, i), at(b.1, 1, i)))).collect();
        }
        all.iter().flat_map(|b| (0..t.element).map(|i| (b.0.wrapping_add(i), b.1.wrapping_add(i)))).collect()
    }

    proptest! {
        #[test]
        fn each_byte_goes_where_the_contract_says(
            levels in prop::collection::vec((0usize..4, -40isize..40, -40isize..40), 0..6),
            element in 0usize..5,
        ) {
            let count: Vec<usize> = levels.iter().map(|l| l.0).collect();
            let to: Vec<usize> = levels.iter().map(|l| if l.0 == 1 { usize::MAX / 3 } else { l.1 as usize }).collect();
            let from: Vec<usize> = levels.iter().map(|l| l.2 as usize).collect();
            let t = Signed { start: [10_000, 20_000], strides: [&to, &from], element, count: &count };
            let (mut found, mut wanted) = (bytes(t.fold()), expected(&t));
            prop_assert_eq!(t.is_empty(), wanted.is_empty());
            prop_assert_eq!(t.total(), wanted.len());
            found.sort_unstable();
            wanted.sort_unstable();
            if !wanted.is_empty() {
                let (low, high) = t.bounds(0);
                let (first, last) = (wanted[0].0 as i128, wanted[wanted.len() - 1].0 as i128);
                prop_assert_eq!((first, last), (10_000 + low, 10_000 + high - 1));
            }
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn reflected_permuted_and_continued_levels_fold() {
        let dense = |to: &[isize], from: &[isize], count: &[usize]| {
            let [to, from] = [to, from].map(|s| s.iter().map(|s| *s as usize).collect::<Vec<_>>());
            Signed { start: [1000, 5000], strides: [&to, &from], element: 4, count }.fold().unwrap()
        };
        let section = dense(&[40, 4], &[40, 4], &[3, 10]);
        assert_eq!((section.run, section.dims.len()), (120, 0), "permuted");
        let section = dense(&[-4, 40], &[-4, 40], &[10, 3]);
        assert_eq!((section.run, section.dims.len(), section.to, section.from), (120, 0, 964, 4964), "reversed");
        let section = dense(&[4], &[-4], &[10]);
        assert_eq!((section.run, section.dims.len()), (4, 1), "a reflection");
        let all: BTreeSet<_> = bytes(Some(section)).into_iter().collect();
        assert!(all.contains(&(1036, 4964)) && all.len() == 40);
    }
}
