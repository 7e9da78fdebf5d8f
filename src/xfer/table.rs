//! Where ops live: blocks that are never freed, so that an op's number always leads to an op.
//!
//! There is no cap on operations in flight but the 32 bits of the number. Which thread has which ops: `home`.

use super::home::Home;
use super::op::{Op, OpId};
use crate::sync::{Ordering, fixed};
use parking_lot::Mutex;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Ops of a block.
pub(super) const BLOCK: u32 = if cfg!(loom) { 2 } else { 64 };
/// Shelves of blocks, each twice as long as the one before: 4 billion ops, as many as 32 bits name. Memory ends first.
const SHELVES: u32 = 26;

struct Block([Op; BLOCK as usize]);

impl Default for Block {
    fn default() -> Block {
        Block(std::array::from_fn(|_| Op::default()))
    }
}

/// Where block number `block` stands: its shelf, and its place there.
fn place(block: u32) -> (usize, usize) {
    let shelf = (block + 1).ilog2();
    (shelf as usize, (block + 1 - (1 << shelf)) as usize)
}

/// All ops of the process.
pub struct Table {
    shelves: [OnceLock<Box<[Block]>>; SHELVES as usize],
    made: Mutex<u32>,
    /// Homes of threads that have ended (`home`, rule 1).
    empty: Mutex<Vec<&'static Home>>,
    /// Events outlive the threads that started them (`home`, rule 2).
    outlive: fixed::AtomicBool,
    /// The key of [`Table::stamp`].
    key: [u64; 2],
}

/// The table; process-wide because events are.
#[cfg(not(loom))]
static TABLE: OnceLock<Table> = OnceLock::new();

#[cfg(loom)]
loom::lazy_static! {
    static ref TABLE: Table = Table::new();
}

impl Table {
    /// The table.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn get() -> &'static Table {
        TABLE.get_or_init(Table::new)
    }

    /// That of the model's execution.
    #[cfg(loom)]
    pub fn get() -> &'static Table {
        &TABLE
    }

    #[cold]
    pub(super) fn new() -> Table {
        Table {
            shelves: std::array::from_fn(|_| OnceLock::new()),
            made: Mutex::new(0),
            empty: Mutex::new(Vec::new()),
            outlive: fixed::AtomicBool::new(false),
            key: std::array::from_fn(|_| RandomState::new().hash_one(0)),
        }
    }

    /// A number that goes out with a get of `len` bytes to `to` and comes back with them. An answer can write only memory that
    /// was asked for, although the address makes the round trip. The op can't hold it, since an implicit one has any number of
    /// gets in flight.
    pub fn stamp(&self, id: OpId, to: usize, len: usize) -> u32 {
        // A folded product with a secret, so that damaged bits do not fit by chance. It is no protection against a peer that
        // computes it on purpose: such a peer may write any word of ours anyway.
        let what = u64::from(id.0) << 32 ^ len as u64;
        let product = u128::from(to as u64 ^ self.key[0]) * u128::from(what ^ self.key[1]);
        ((product >> 64) as u64 ^ product as u64) as u32
    }

    /// The op of that number, if there is one.
    #[inline(always)]
    pub fn op(&self, id: OpId) -> Option<&Op> {
        let (shelf, place) = place(id.0 / BLOCK);
        let block = self.shelves.get(shelf)?.get()?.get(place)?;
        Some(&block.0[(id.0 % BLOCK) as usize])
    }

    /// A new block. `None`: the table is full.
    pub(super) fn block(&self) -> Option<u32> {
        let mut made = self.made.lock();
        let block = *made;
        let shelf = place(block).0;
        self.shelves.get(shelf)?.get_or_init(|| (0..1 << shelf).map(|_| Block::default()).collect());
        *made += 1;
        Some(block)
    }

    /// From now on events outlive the threads that started them. An API layer whose events any thread may sync calls this at
    /// its initialisation.
    pub fn let_events_outlive_threads(&self) {
        self.outlive.store(true, Ordering::Relaxed); // Relaxed: before there are threads that end
    }

    /// See [`Self::let_events_outlive_threads`].
    pub(super) fn do_events_outlive_threads(&self) -> bool {
        self.outlive.load(Ordering::Relaxed) // Relaxed: as there
    }

    /// A home for a thread: one left by an ended thread, else a new one.
    pub(super) fn home(&'static self) -> &'static Home {
        let empty = self.empty.lock().pop();
        empty.unwrap_or_else(|| Box::leak(Box::new(Home::new(self))))
    }

    /// The thread of `home` has ended.
    pub(super) fn keep(&self, home: &'static Home) {
        self.empty.lock().push(home);
    }

    /// Blocks so far.
    #[cfg(all(test, not(loom)))]
    pub(super) fn made(&self) -> u32 {
        *self.made.lock()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_one_after_the_other() {
        let mut expected = (0, 0);
        for block in 0..5000 {
            assert_eq!(place(block), expected, "block {block}");
            expected.1 += 1;
            if expected.1 == 1 << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(place((1 << SHELVES) - 2).0, SHELVES as usize - 1, "the last block of the last shelf");
        assert!(u64::from((1u32 << SHELVES) - 1) * u64::from(BLOCK) <= u64::from(u32::MAX), "numbers fit 32 bits");
    }

    #[test]
    fn a_stamp_is_of_one_place_length_and_operation() {
        let table = Table::get();
        let stamp = table.stamp(OpId(3), 0x1000, 64);
        assert_eq!(table.stamp(OpId(3), 0x1000, 64), stamp);
        for (id, to, len) in [(4, 0x1000, 64), (3, 0x1001, 64), (3, 0x1000, 65), (3, 0x1000 | 1 << 40, 64)] {
            assert_ne!(table.stamp(OpId(id), to, len), stamp, "{id} {to:#x} {len}");
        }
    }
}
