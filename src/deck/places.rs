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

/// The bytes of this node's heap that nodes of other hosts may write. The network asks at any time, also in calls that have the lock of the
/// state, so this is apart from it.
///
/// Bytes of a write may come long after its head, and another thread may run handlers between both. So the writes under way are counted: a
/// place has none when it becomes a message.
#[derive(Default)]
pub struct Writable(Mutex<BTreeMap<usize, Room>>);

/// Of a place, by where it begins.
#[derive(Default)]
struct Room {
    /// Who may write there.
    node: u32,
    len: usize,
    /// Writes that have begun and are not over.
    writes: u32,
}

impl Writable {
    /// True if `node` may write `len` bytes at `offset` of the heap. Then it does, until [`Self::end`].
    pub fn begin(&self, node: u32, offset: usize, len: usize) -> bool {
        let mut places = self.0.lock();
        let Some((at, room)) = places.range_mut(..=offset).next_back() else { return false };
        let skipped = offset - at;
        // Not at the end of a place, where another may begin meanwhile: it would end a write that it does not know.
        let is_inside = (skipped == 0 || skipped < room.len) && len <= room.len - skipped;
        let may = room.node == node && is_inside;
        room.writes += u32::from(may);
        may
    }

    /// A write at `offset` is over.
    pub fn end(&self, offset: usize) {
        if let Some((_, room)) = self.0.lock().range_mut(..=offset).next_back() {
            room.writes = room.writes.saturating_sub(1);
        }
    }

    fn open(&self, node: u32, offset: usize, len: usize) {
        self.0.lock().insert(offset, Room { node, len, writes: 0 });
    }

    /// A place begins at `offset`.
    fn has(&self, offset: usize) -> bool {
        self.0.lock().contains_key(&offset)
    }

    /// `node` may not write there any more. False: it had no place there, or a write is under way.
    fn close(&self, node: u32, offset: usize) -> bool {
        let mut places = self.0.lock();
        let may = places.get(&offset).is_some_and(|room| room.node == node && room.writes == 0);
        may && places.remove(&offset).is_some()
    }
}

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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_write_its_places_and_nothing_beside_them() {
        let writable = Writable::default();
        writable.open(3, 512, 100);
        writable.open(4, 1024, 50);
        for (node, offset, len, may) in [
            (3, 512, 100, true),
            (3, 512, 101, false),
            (3, 511, 1, false),
            (3, 600, 12, true),
            (3, 600, 13, false),
            (3, 612, 0, false),
            (3, 613, 0, false),
            (4, 512, 1, false),
            (3, 1024, 1, false),
            (4, 1024, 50, true),
            (4, 1030, usize::MAX, false),
            (4, usize::MAX, 1, false),
        ] {
            assert_eq!(writable.begin(node, offset, len), may, "{len} bytes at {offset} for {node}");
        }
    }

    #[test]
    fn a_place_stays_open_for_its_node_until_its_writes_are_over() {
        let writable = Writable::default();
        writable.open(3, 512, 100);
        assert!(writable.begin(3, 512, 50) && writable.begin(3, 611, 1));
        writable.end(512);
        assert!(!writable.close(3, 512), "a write is under way");
        writable.end(611);
        assert!(!writable.close(4, 512), "another node's");
        assert!(writable.has(512) && writable.close(3, 512));
        assert!(!writable.has(512) && !writable.close(3, 512) && !writable.begin(3, 512, 1));
    }
}
