//! The owner's side of messages that nodes of other hosts give: places in this node's heap, into which their bytes are written.
//!
//! 1. A giver asks with `PLACE`, and has credits for the message; without them the job ends. It gets a block of this node's heap, if no more
//!    than half of the heap is in use with it: the rest is for the program's own messages. Else the message comes in pieces.
//! 2. While the block is a place, the giver's node may write into it by the network ([`Writable`](super::gift::Writable)), and nobody else may.
//! 3. The giver says that the message is whole, or that it gives nothing: `CAME`. Until then the block stays in use, also if the box goes.
//!    Only a whole message takes its credits and goes into the box.
//!
//! Must not know: how bytes travel.

use super::engine::Deck;
use super::gift::{Place, Where};
use super::item::{Content, Item};
use super::state::{Due, Slot, State};
use crate::am::corrupt::corrupt;
use crate::sci::Adapter;

impl<A: Adapter> Deck<A> {
    /// A place begins at `offset`: nobody has the block yet.
    pub(super) fn is_place(&self, state: &State, offset: usize) -> bool {
        !state.places.is_empty() && self.writable.as_ref().is_some_and(|writable| writable.has(offset))
    }

    /// `node` wants to give `len` bytes to the box of this index, and calls that `number`.
    pub(super) fn place_for(&self, node: u32, index: u16, number: u32, len: usize) -> Where {
        self.with(|state| {
            let State { boxes, places, heap, .. } = state;
            let own = match boxes.get_mut(usize::from(index)) {
                Some(Slot::Open(own)) => own,
                Some(Slot::Closing(..)) => return Where::Gone,
                _ => corrupt(node, "gift for a box that does not exist"),
            };
            if places.contains_key(&(node, number)) || !own.begin(node, len) {
                corrupt(node, "gift that has begun before, or without its credit");
            }
            let block = match &self.writable {
                Some(_) if heap.is_half_free_with(len) => self.block_of(heap, len),
                _ => None,
            };
            let (Some(block), Some(writable)) = (block, &self.writable) else {
                own.end(node, len);
                return Where::Pieces;
            };
            let at = block.offset;
            writable.open(node, at, len);
            places.insert((node, number), Place { id: own.id, block, len });
            Where::At(at)
        })
    }

    /// `node` is done with the place that it calls `number`. `whole`: all bytes are there. Else there is no message.
    pub(super) fn came_in_place(&self, node: u32, number: u32, whole: bool) {
        let found = self.with(|state| {
            let place = state.places.remove(&(node, number))?;
            if !self.writable.as_ref().is_some_and(|writable| writable.close(node, place.block.offset)) {
                corrupt(node, "gift whose bytes are still on their way");
            }
            let is_open = state.own(place.id).map(|own| own.end(node, place.len)).is_ok();
            Some((place, is_open))
        });
        let Some((Place { id, block, len }, is_open)) = found else { corrupt(node, "gift that has not begun") };
        match whole && is_open {
            true => self.arrived(node, id.index, Item { content: Content::Loan(block), len }),
            false => self.owe(node, Due::Back(block.owner, block.offset)),
        }
    }
}
