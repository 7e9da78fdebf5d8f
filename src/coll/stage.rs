//! Stage buffers: memory of the collective region through which bytes go that peers can't reach where they lie.
//!
//! A buffer is taken by one sender at a time, the lowest free one first, so that few stay in the cache. There may be none
//! free, and then bytes go by Active Messages: nobody waits for a buffer, hence no deadlock.

use crate::sync::{AtomicU64, Ordering};

/// Which buffers are taken.
pub struct Stage {
    free: Box<[AtomicU64]>,
}

impl Stage {
    /// `buffers` free buffers.
    pub fn new(buffers: usize) -> Stage {
        let bits = |word: usize| match buffers - word * 64 {
            n if n >= 64 => u64::MAX,
            n => (1 << n) - 1,
        };
        Stage { free: (0..buffers.div_ceil(64)).map(|word| AtomicU64::new(bits(word))).collect() }
    }

    /// Takes a buffer; its number.
    pub fn take(&self) -> Option<usize> {
        for (i, word) in self.free.iter().enumerate() {
            let lowest = |bits: u64| (bits != 0).then_some(bits & bits.wrapping_sub(1));
            // ORDERING: Acquire ↔ Release in `give`: what the last user did with the buffer is over.
            if let Ok(bits) = word.fetch_update(Ordering::Acquire, Ordering::Relaxed, lowest) {
                return Some(i * 64 + bits.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Gives it back: no peer reads it any more.
    pub fn give(&self, buffer: usize) {
        // ORDERING: Release ↔ Acquire in `take`.
        self.free[buffer / 64].fetch_or(1 << (buffer % 64), Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
