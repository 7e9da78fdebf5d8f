//! What one sender has of a box: its credits, and its messages that wait.
//!
//! Must not know: the box's name, waiting threads.

use super::{Content, Partial};
use crate::deck::queue::Queue;
use crate::deck::turns::Turns;
use std::collections::HashMap;

/// A sender that asks gets one part in so many of what is free. Once what it has used is one part in so many of the box's capacity, it gets
/// that back unasked; bytes later, as long as it has enough of them ([`Account::count_retrieved`]).
pub(super) const PART: u64 = 4;

/// Credits: how many messages, and how many bytes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Credit {
    /// Adds `credit`.
    #[inline(always)]
    pub(in crate::deck) fn add(&mut self, credit: Credit) {
        self.messages += credit.messages;
        self.bytes += credit.bytes;
    }

    /// Subtracts `credit`, which must be no more than this.
    #[inline(always)]
    pub(in crate::deck) fn subtract(&mut self, credit: Credit) {
        self.messages -= credit.messages;
        self.bytes -= credit.bytes;
    }

    /// Of each the smaller number.
    pub(super) fn least(self, other: Credit) -> Credit {
        Credit { messages: self.messages.min(other.messages), bytes: self.bytes.min(other.bytes) }
    }

    /// What a message of `len` bytes counts for in a box of this capacity. A longer one than the box may hold takes all of it: were it only the
    /// bytes, one of 0 bytes would come beside it.
    #[inline(always)]
    pub(in crate::deck) fn cost(&self, len: u64) -> Credit {
        if len > self.bytes { *self } else { Credit { messages: 1, bytes: len } }
    }

    /// True if this is at least `other`, of both.
    #[inline(always)]
    pub(in crate::deck) fn covers(self, other: Credit) -> bool {
        self.messages >= other.messages && self.bytes >= other.bytes
    }
}

/// A node that posts to the box.
#[derive(Default)]
pub(super) struct Account {
    /// Its number.
    pub(super) node: u32,
    /// What it may send.
    pub(super) granted: Credit,
    /// What was retrieved of its messages since it last got credits.
    pub(super) used: Credit,
    /// As soon as it has used so many bytes, it gets them back unasked, although it has enough of them.
    pub(super) due_bytes: u64,
    /// It gets no credits any more.
    pub(super) is_dead: bool,
    /// It was asked to return credits, and has not answered.
    pub(super) recalled: bool,
    /// What it has sent.
    pub(super) items: Queue,
    /// Its messages of which pieces have come, by the number that its thread gave the message.
    pub(super) partial: HashMap<u32, Partial>,
    /// The credits that messages will take once they are whole: those in `partial`, and those that have a place (`places`).
    pub(super) begun: Credit,
}

impl Account {
    /// Takes these credits. False: it has too few.
    #[must_use]
    #[inline(always)]
    pub(super) fn spend(&mut self, credit: Credit) -> bool {
        let has = self.granted.covers(credit);
        if has {
            self.granted.subtract(credit);
        }
        has
    }

    /// Puts a message behind the others. True: the box was empty.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        turns: &mut Turns,
        place: usize,
        len: usize,
        content: impl FnOnce() -> Content,
    ) -> bool {
        let was_empty = turns.is_empty();
        if self.items.len() == 0 {
            turns.add(place);
        }
        let item = self.items.push();
        item.len = len;
        item.content = Content::Nothing; // drops the old content here, not between the loads and stores of the next line
        item.content = content();
        was_empty
    }

    /// Removes its first message, which has `len` bytes, from the queue, and gives the next sender its turn. `turns`, `committed`, `capacity`
    /// and `part` are fields of the box.
    #[inline(always)]
    pub(super) fn drop_first(
        &mut self,
        turns: &mut Turns,
        place: usize,
        len: usize,
        committed: &mut Credit,
        capacity: &Credit,
        part: &Credit,
    ) -> Payer {
        self.items.pop();
        turns.turn(self.items.len() > 0);
        self.count_retrieved(place, capacity.cost(len as u64), committed, part)
    }

    /// Notes that a message was retrieved that counted for `spent`. What was used of the bytes is due, too, if there are no credits for another
    /// message of that length.
    #[inline(always)]
    pub(super) fn count_retrieved(
        &mut self,
        place: usize,
        spent: Credit,
        committed: &mut Credit,
        part: &Credit,
    ) -> Payer {
        committed.subtract(spent);
        self.used.add(spent);
        let needs_bytes = || self.used.bytes >= part.bytes && self.granted.bytes < spent.bytes;
        let is_due = self.used.messages >= part.messages || self.used.bytes >= self.due_bytes || needs_bytes();
        Payer { place, is_due }
    }
}

/// The sender whose message was retrieved.
#[derive(Clone, Copy, Debug)]
pub(in crate::deck) struct Payer {
    /// The place of its account.
    pub(in crate::deck) place: usize,
    /// It has used up one part in [`PART`] of the box since it last got credits. So it gets that back now.
    pub(in crate::deck) is_due: bool,
}
