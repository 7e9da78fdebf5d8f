//! Stage buffers: memory of the collective region for bytes that peers cannot reach where they lie.
//!
//! One sender at a time takes a buffer. It takes the lowest free one, so that the few buffers in use stay in the
//! cache. If none is free, the sender uses Active Messages. No sender waits for a buffer, hence no deadlock.
//!
//! A team that has sent bytes ahead (`moves.rs`, `AHEAD`) keeps a buffer as long as it lives. It takes it from the
//! upper half, so that enough are left for other senders. If all of those are kept, the team sends no bytes ahead.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Which buffers are taken.
pub struct Stage {
    free: Box<[AtomicU64]>,
    buffers: usize,
}

/// The buffer that a team keeps: its number plus 1, or 0 for none.
#[derive(Default)]
pub struct Kept(AtomicU32);

impl Stage {
    /// `buffers` free buffers.
    pub fn new(buffers: usize) -> Stage {
        let bits = |word: usize| match buffers - word * 64 {
            n if n >= 64 => u64::MAX,
            n => (1 << n) - 1,
        };
        Stage { free: (0..buffers.div_ceil(64)).map(|word| AtomicU64::new(bits(word))).collect(), buffers }
    }

    /// Takes a buffer and returns its number; `None` if none is free.
    pub fn take(&self) -> Option<usize> {
        for (i, word) in self.free.iter().enumerate() {
            let lowest = |bits: u64| (bits != 0).then_some(bits & bits.wrapping_sub(1));
            // ORDERING: Acquire ↔ Release in `give`: the last user's accesses to the buffer are over.
            if let Ok(bits) = word.fetch_update(Ordering::Acquire, Ordering::Relaxed, lowest) {
                return Some(i * 64 + bits.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Takes a buffer to be kept, and returns its number.
    fn take_upper(&self) -> Option<usize> {
        let is_free = |buffer: &usize| {
            let (word, bit) = (&self.free[buffer / 64], 1 << (buffer % 64));
            // Relaxed: a hint. Without it a team that finds none free would pay a read-modify-write for each buffer
            // at each send.
            // ORDERING: Acquire ↔ Release in `give`: the last user's accesses to the buffer are over.
            word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Acquire) & bit != 0
        };
        (self.buffers.div_ceil(2)..self.buffers).rev().find(is_free)
    }

    /// Gives a buffer back. No peer may read it any more.
    pub fn give(&self, buffer: usize) {
        // ORDERING: Release ↔ Acquire in `take`: our accesses to the buffer are over before the next user's begin.
        self.free[buffer / 64].fetch_or(1 << (buffer % 64), Ordering::Release);
    }
}

impl Kept {
    /// The team's buffer. The first call takes one, if one is free.
    #[inline]
    pub fn get(&self, stage: &Stage) -> Option<usize> {
        // Relaxed: the buffer is the team's own; what is in it is ordered by the team's messages.
        match self.0.load(Ordering::Relaxed) {
            0 => self.take(stage),
            number => Some(number as usize - 1),
        }
    }

    #[cold]
    fn take(&self, stage: &Stage) -> Option<usize> {
        let buffer = stage.take_upper()?;
        // Relaxed: see above. Another thread may have been faster.
        let before = self.0.compare_exchange(0, buffer as u32 + 1, Ordering::Relaxed, Ordering::Relaxed);
        if let Err(number) = before {
            stage.give(buffer);
            return Some(number as usize - 1);
        }
        Some(buffer)
    }

    /// Gives the buffer back when the team ends.
    pub fn give(&self, stage: &Stage) {
        // Relaxed: the last use of the buffer; the team's messages order it.
        if let Some(buffer) = self.0.swap(0, Ordering::Relaxed).checked_sub(1) {
            stage.give(buffer as usize);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn teams_keep_buffers_of_the_upper_half_only() {
        let stage = Stage::new(5);
        let teams: [Kept; 3] = Default::default();
        assert_eq!([teams[0].get(&stage), teams[1].get(&stage), teams[2].get(&stage)], [Some(4), Some(3), None]);
        assert_eq!(teams[0].get(&stage), Some(4), "it is kept");
        assert!((0..3).all(|i| stage.take() == Some(i)) && stage.take().is_none());
        stage.give(2);
        assert_eq!(teams[2].get(&stage), None, "the lower half is for the others");
        teams[0].give(&stage);
        assert_eq!(teams[2].get(&stage), Some(4));
        assert_eq!(Kept::default().get(&Stage::new(1)), None);
    }

    #[test]
    fn each_buffer_is_taken_once_and_the_lowest_first() {
        let stage = Stage::new(66);
        assert!((0..66).all(|i| stage.take() == Some(i)));
        assert_eq!(stage.take(), None);
        stage.give(65);
        stage.give(3);
        assert_eq!([stage.take(), stage.take(), stage.take()], [Some(3), Some(65), None]);
    }
}
