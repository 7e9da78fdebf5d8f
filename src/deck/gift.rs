//! What is known of messages that are given between hosts: at the giver (`giving`), at the owner (`places`).
//!
//! Must not know: the engine, messages about them.

#![allow(unsafe_code)] // a promise about memory, in the trait

use super::BoxId;
use super::message::{Block, Storage};
use super::owner::Credit;
use crate::base::error::Error;
use crate::os::lock::{Leaver, Lock};
use crate::sci::adapter::{Counter, Readable};
use crate::sync::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Where the bytes of a message go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// To this place in the owner's heap.
    At(usize),
    /// There is no room in the heap. They go in pieces.
    Pieces,
    /// Nowhere: the box is gone.
    Gone,
}

/// Who leaves the job waits so long for the list of places, which is never locked for longer, but by a thread that leaves itself. A guess.
const PATIENCE: Duration = Duration::from_millis(1);

/// How bytes get into heaps of nodes of other hosts.
pub trait Network: Send + Sync {
    /// True if this network writes the heap of `node`.
    fn reaches(&self, node: u32) -> bool;

    /// Writes to `offset` of the heap of `node`, and raises `done` when all bytes are there. What is sent there later comes after them.
    /// Runs no handlers.
    ///
    /// # Safety
    /// `from` is readable, and stays as it is, until then.
    unsafe fn write(&self, node: u32, offset: usize, from: Readable, done: Counter) -> Result<(), Error>;
}

/// The network, and what nodes of other hosts may write of this node's heap; `None`: nothing, since the network cannot.
pub type ToHeaps = (Box<dyn Network>, Option<Arc<Writable>>);

/// A message that is being given.
pub(super) struct Gift {
    pub(super) id: BoxId,
    pub(super) sender: u32,
    pub(super) spent: Credit,
    pub(super) len: usize,
    /// The owner's answer.
    pub(super) place: Option<Where>,
    /// The call has ended before the answer came.
    pub(super) is_given_up: bool,
}

/// The gifts of this node that have no end yet.
#[derive(Default)]
pub(super) struct Gifts {
    pub(super) all: HashMap<u32, Gift>,
    pub(super) last: u32,
    /// See rule 3 of `giving`.
    pub(super) leaving: Vec<Leaving>,
    /// Words that the network raises, free to be used again. They live for ever.
    pub(super) counters: Vec<Counter>,
}

/// Memory that the network has until a word is raised.
pub(super) struct Leaving {
    pub(super) done: Counter,
    pub(super) before: u64,
    pub(super) storage: Storage,
}

impl Leaving {
    pub(super) fn is_over(&self) -> bool {
        // ORDERING: Acquire ↔ Release of who raises it: the bytes are in place, and the memory is free.
        self.done.load(Ordering::Acquire) != self.before
    }
}

impl Gifts {
    pub(super) fn begin(&mut self, gift: Gift) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if let std::collections::hash_map::Entry::Vacant(place) = self.all.entry(self.last) {
                place.insert(gift);
                return self.last;
            }
        }
    }

    pub(super) fn place(&self, number: u32) -> Option<Where> {
        self.all.get(&number)?.place
    }

    /// How many there are.
    #[cfg(any(test, fuzzing))]
    pub(super) fn count(&self) -> usize {
        self.all.len() + self.leaving.len()
    }
}

/// A block that will be a message.
pub(super) struct Place {
    pub(super) id: BoxId,
    pub(super) block: Block,
    pub(super) len: usize,
}

/// The bytes of this node's heap that nodes of other hosts may write. The network asks at any time, also in calls that have the lock of the
/// state, so this is apart from it.
///
/// Bytes of a write may come long after its head, and another thread may run handlers between both. So the writes under way are counted: a
/// place has none when it becomes a message.
#[derive(Default)]
pub struct Writable {
    places: Lock<BTreeMap<usize, Room>>,
    /// It may have interrupted itself here. Then no more is written.
    pub(super) leaver: Leaver,
}

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
        let Some(mut places) = self.leaver.enter(&self.places, PATIENCE) else { return false };
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
        let Some(mut places) = self.leaver.enter(&self.places, PATIENCE) else { return };
        if let Some((_, room)) = places.range_mut(..=offset).next_back() {
            room.writes = room.writes.saturating_sub(1);
        }
    }

    pub(super) fn open(&self, node: u32, offset: usize, len: usize) {
        self.places.lock().insert(offset, Room { node, len, writes: 0 });
    }

    /// A place begins at `offset`.
    pub(super) fn has(&self, offset: usize) -> bool {
        self.places.lock().contains_key(&offset)
    }

    /// `node` may not write there any more. False: it had no place there, or a write is under way.
    pub(super) fn close(&self, node: u32, offset: usize) -> bool {
        let mut places = self.places.lock();
        let may = places.get(&offset).is_some_and(|room| room.node == node && room.writes == 0);
        may && places.remove(&offset).is_some()
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

    /// As a signal handler finds it that has interrupted its thread here.
    #[test]
    fn who_leaves_waits_for_no_lock_of_its_own() {
        let writable = Writable::default();
        writable.open(3, 512, 100);
        writable.leaver.leaves();
        let held = writable.places.lock();
        assert!(!writable.begin(3, 512, 100));
        writable.end(512);
        drop(held);
        assert!(writable.begin(3, 512, 100));
    }
}
