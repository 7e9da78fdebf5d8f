//! A message between its arrival and its retrieval.
//!
//! Must not know: boxes, senders, how messages travel.

use super::LINE_WORDS;
use super::message::{Block, Bytes};

/// How its bytes are kept.
#[derive(Debug)]
pub enum Content {
    /// Few bytes: the words of the message `LINE`.
    Line([u64; LINE_WORDS]),
    /// None: its place in the queue is about to be filled.
    Nothing,
    /// Bytes in a block of this process.
    Bytes(Bytes),
    /// Bytes in a block of a DECK heap. Its address is null: the retrieval finds it (`Deck::reach`).
    Loan(Block),
}

/// A message that waits in a box, or in the receive slot of a thread.
#[derive(Debug)]
pub struct Item {
    /// Its bytes.
    pub content: Content,
    /// How many count.
    pub len: usize,
}

/// A message and its sender, for the thread that retrieves it. `None`: there is none, or it is in the program's message already. It is a place
/// of its own, so that short messages do not move through it.
pub(super) type Retrieved = Option<(u32, Item)>;

impl Default for Item {
    fn default() -> Item {
        Item { content: Content::Nothing, len: 0 }
    }
}
