//! Blocks of this process for messages, kept for the next ones.
//!
//! Must not know: messages.

use super::message::Bytes;

/// Blocks of this process that were used and can be used again, by their size: 64 bytes, 128, and so on.
#[derive(Default)]
pub(super) struct Pool([Vec<Bytes>; POOLED_SIZES]);

/// Sizes up to 64 KiB.
const POOLED_SIZES: usize = 11;
/// Blocks of one size that are kept, if they are larger than [`SMALL`].
const POOLED: usize = 32;
/// Blocks of one size that are kept, of the others: as many as the messages of two senders that one poll runs.
const POOLED_SMALL: usize = 64;
/// The most bytes of a small block.
const SMALL: usize = 1024;
/// Bytes of the smallest block.
const SMALLEST: usize = 64;

impl Pool {
    /// Which list has blocks of `len` bytes or more; `None`: they are not kept.
    fn class(len: usize) -> Option<usize> {
        let class = len.max(SMALLEST).next_power_of_two().ilog2() - SMALLEST.ilog2();
        Some(class as usize).filter(|class| *class < POOLED_SIZES)
    }

    /// A block for `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Option<Bytes> {
        match Pool::class(len) {
            Some(class) => self.0[class].pop().or_else(|| Bytes::new(SMALLEST << class)),
            None => Bytes::new(len),
        }
    }

    /// A block that is not used any more.
    pub(super) fn keep(&mut self, bytes: Bytes) {
        // A block of another size than a list's, as a program may create it, is not kept.
        if let Some(class) = Pool::class(bytes.size())
            && bytes.size() == SMALLEST << class
            && self.0[class].len() < if bytes.size() <= SMALL { POOLED_SMALL } else { POOLED }
        {
            self.0[class].push(bytes);
        }
    }
}
