//! What waits in a box.
//!
//! Must not know: boxes, senders, how messages travel.

use super::LINE_WORDS;
use super::message::{Block, Bytes};

/// What a box holds.
#[derive(Debug)]
pub enum Content {
    /// Few bytes: the words of the message `LINE`.
    Line([u64; LINE_WORDS]),
    /// None: its place in the queue is about to be filled.
    Nothing,
    /// Bytes in a block of this process.
    Bytes(Bytes),
    /// Bytes in a block of a DECK heap. Its address is not known yet if it is another node's.
    Loan(Block),
}

/// A message that waits in a box.
#[derive(Debug)]
pub struct Item {
    /// Its bytes.
    pub content: Content,
    /// How many count.
    pub len: usize,
}

/// A message that was taken out of a box, and its sender. It is a place of its own, so that short messages do not move through it.
pub(super) type Retrieved = Option<(u32, Item)>;

impl Default for Item {
    fn default() -> Item {
        Item { content: Content::Nothing, len: 0 }
    }
}
