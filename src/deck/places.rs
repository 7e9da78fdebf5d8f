//! The owner's side of messages that nodes of other hosts give: places in this node's heap, into which their bytes are written.
//!
//! 1. A giver asks with `PLACE`. It gets a block of this node's heap, if its credits are there, and if less than half of the heap is in use:
//!    the rest is for the program's own messages. Else the message comes in pieces.
//! 2. While the block is a place, the giver's node may write into it by the network ([`Writable`]), and nobody else may.
//! 3. The giver says that the message is whole, or that it gives nothing: `CAME`. Until then the block stays in use, also if the box goes.
//!    Only a whole message takes its credits and goes into the box.
//!
//! Must not know: how bytes travel.

use super::BoxId;
use super::engine::Deck;
use super::item::{Content, Item};
use super::message::Block;
use super::messages::Where;
use super::state::{Due, Slot, State};
use crate::am::corrupt::corrupt;
use crate::sci::Adapter;
use crate::sync::park::Mutex;
use std::collections::BTreeMap;

/// A block that will be a message.
pub(super) struct Place {
    id: BoxId,
    block: Block,
    len: usize,
}

/// The bytes of this node's heap that nodes of other hosts may write: where a place begins, whose it is, how long it is. The network asks
/// at any time, also in calls that have the lock of the state, so this is apart from it.
#[derive(Default)]
pub struct Writable(Mutex<BTreeMap<usize, (u32, usize)>>);

impl Writable {
    /// `node` may write `len` bytes at `offset` of the heap.
    pub fn is_for(&self, node: u32, offset: usize, len: usize) -> bool {
        let places = self.0.lock();
        let place = places.range(..=offset).next_back();
        place.is_some_and(|(at, (whose, room))| *whose == node && offset - at <= *room && len <= room - (offset - at))
    }
}

impl<A: Adapter> Deck<A> {
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
            writable.0.lock().insert(at, (node, len));
            places.insert((node, number), Place { id: own.id, block, len });
            Where::At(at)
        })
    }

    /// `node` is done with the place that it calls `number`. `whole`: all bytes are there. Else there is no message.
    pub(super) fn came_in_place(&self, node: u32, number: u32, whole: bool) {
        let found = self.with(|state| {
            let place = state.places.remove(&(node, number))?;
            let is_open = state.own(place.id).map(|own| own.end(node, place.len)).is_ok();
            Some((place, is_open))
        });
        let Some((Place { id, block, len }, is_open)) = found else { corrupt(node, "gift that has not begun") };
        if let Some(writable) = &self.writable {
            writable.0.lock().remove(&block.offset);
        }
        match whole && is_open {
            true => self.arrived(node, id.index, Item { content: Content::Loan(block), len }),
            false => self.owe(node, Due::Back(block.owner, block.offset)),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_write_its_places_and_nothing_beside_them() {
        let writable = Writable::default();
        writable.0.lock().extend([(512, (3, 100)), (1024, (4, 50))]);
        for (node, offset, len, may) in [
            (3, 512, 100, true),
            (3, 512, 101, false),
            (3, 511, 1, false),
            (3, 600, 12, true),
            (3, 600, 13, false),
            (3, 612, 0, true),
            (3, 613, 0, false),
            (4, 512, 1, false),
            (3, 1024, 1, false),
            (4, 1024, 50, true),
            (4, 1030, usize::MAX, false),
            (4, usize::MAX, 1, false),
        ] {
            assert_eq!(writable.is_for(node, offset, len), may, "{len} bytes at {offset} for {node}");
        }
    }
}
