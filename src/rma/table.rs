//! Where ops live: the table of a process, and the homes of its threads.
//!
//! Ops are made in blocks that are never freed, so an op's number always leads to an op. There is no cap on operations in
//! flight but the 32 bits of the number.
//!
//! Rules:
//! 1. A block belongs to one home for ever. A home belongs to one thread at a time; when that thread ends, the home waits for
//!    the next thread that needs one, with all its ops. So threads that come and go leave nothing behind.
//! 2. A live op stays as it is when its thread ends: its event may be synced by another thread, later. Where events are bound
//!    to their thread (GASNet-1) nobody can sync it any more: then it is free when it is complete.
//! 3. A free op is on its home's own list, which only the home's thread touches, or on the list of those returned. Any thread
//!    may put an op on that one; the home's thread takes all of them off at once, when its own list is empty. Nobody takes a
//!    single op off, so the list needs no protection against a number that comes back (ABA).
//! 4. Implicit sets and the open region of a thread that has ended have no event. Their ops are free when they are complete.

use super::op::{Op, OpId};
use crate::sync::{AtomicU32, Ordering, fixed};
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
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
    /// Homes of threads that have ended.
    empty: Mutex<Vec<&'static Home>>,
    /// Events outlive the threads that started them (rule 2).
    outlive: fixed::AtomicBool,
    /// The key of [`Table::seal`].
    key: [u64; 2],
}

/// The table; process-wide because events are.
static TABLE: OnceLock<Table> = OnceLock::new();

impl Table {
    /// The table.
    #[inline(always)]
    pub fn get() -> &'static Table {
        TABLE.get_or_init(Table::new)
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

    /// Goes out with a get of `len` bytes to `to`, and comes back with them: no other memory is written for an answer
    /// than what was asked for, though the address makes the round trip. An op can't hold it, since an implicit one has
    /// any number of gets in flight.
    pub fn seal(&self, id: OpId, to: usize, len: usize) -> u32 {
        // A folded product with a secret: what a peer damages does not fit by chance. Against one that reckons, nothing is
        // of use: it may write any word of ours that it likes.
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
    fn block(&self) -> Option<u32> {
        let mut made = self.made.lock();
        let block = *made;
        let shelf = place(block).0;
        self.shelves.get(shelf)?.get_or_init(|| (0..1 << shelf).map(|_| Block::default()).collect());
        *made += 1;
        Some(block)
    }

    /// From now on events outlive the threads that started them. By a face whose events any thread may sync, at its
    /// initialisation.
    pub fn let_events_outlive_threads(&self) {
        self.outlive.store(true, Ordering::Relaxed); // Relaxed: before there are threads that end
    }

    /// A home for a thread: one whose thread has ended, else a new one.
    fn home(&self) -> &'static Home {
        let empty = self.empty.lock().pop();
        empty.unwrap_or_else(|| Box::leak(Box::default()))
    }
}

/// An op that was taken, and its number.
pub type Taken = (OpId, &'static Op);

/// Which implicit operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Puts, value puts and memsets.
    Puts = 0,
    /// Gets.
    Gets = 1,
}

/// Sets of a thread.
const SETS: usize = 2;

/// What only the thread of a home touches.
#[derive(Default)]
struct Own {
    /// Numbers of its blocks.
    blocks: RefCell<Vec<u32>>,
    free: RefCell<Vec<Taken>>,
    /// Implicit operations outside regions, by [`Set`].
    implicit: [Cell<Option<Taken>>; SETS],
    /// The open access region.
    region: Cell<Option<Taken>>,
    /// What threads that have ended left behind, and nobody will sync: free when it is complete.
    left: RefCell<Vec<Taken>>,
}

/// The newest op that other threads gave back: its number + 1, or 0. Each names the next one. Lines of its own: other threads
/// write here while the home's takes and gives.
#[derive(Default)]
#[repr(align(128))]
struct Returned(AtomicU32);

/// The ops of one thread.
#[derive(Default)]
pub struct Home {
    returned: Returned,
    own: Own,
}

// SAFETY: `own` is touched by methods that say "by the home's thread"; there is one at a time (rule 1), and the lock of
// `Table::empty` orders one after the other. `returned` is atomic.
unsafe impl Sync for Home {}
// SAFETY: as above; nothing in it is bound to a thread.
unsafe impl Send for Home {}

impl Home {
    /// Takes an op. `None`: as many are live as 32 bits name. By the home's thread.
    #[inline(always)]
    pub(super) fn take(&'static self, table: &'static Table) -> Option<Taken> {
        let taken = self.own.free.borrow_mut().pop();
        let taken = match taken {
            Some(taken) => taken,
            None => self.refill(table)?,
        };
        taken.1.begin_use(self);
        Some(taken)
    }

    /// Fills the own list; one of what it found.
    #[cold]
    #[inline(never)]
    fn refill(&'static self, table: &'static Table) -> Option<Taken> {
        let mut free = self.own.free.borrow_mut();
        // ORDERING: Acquire ↔ Release in `give_back`: what the others have read of these ops, and written into `next`, came
        // before we use them again (`op`, rule 4). One Acquire is enough for all: each push is part of the release sequence of
        // those before it.
        let mut next = self.returned.0.swap(0, Ordering::Acquire);
        while next != 0 {
            let id = OpId(next - 1);
            let op = table.op(id)?;
            next = op.next.load(Ordering::Relaxed); // Relaxed: ordered by the swap
            free.push((id, op));
        }
        self.own.left.borrow_mut().retain(|left| {
            let done = left.1.is_done();
            if done {
                left.1.end_use();
                free.push(*left);
            }
            !done
        });
        if free.is_empty() {
            let block = table.block()?;
            self.own.blocks.borrow_mut().push(block);
            for i in (0..BLOCK).rev() {
                let id = OpId(block * BLOCK + i);
                free.push((id, table.op(id)?));
            }
        }
        free.pop()
    }

    /// Gives an op back that was taken here. By the home's thread.
    #[inline(always)]
    pub(super) fn give(&self, taken: Taken) {
        taken.1.end_use();
        self.own.free.borrow_mut().push(taken);
    }

    /// Gives back an op that was taken here and is no longer live. By any thread, once.
    pub(super) fn give_back(&self, (id, op): Taken) {
        let mut newest = self.returned.0.load(Ordering::Relaxed); // Relaxed: a number, whose op is not looked at
        loop {
            op.next.store(newest, Ordering::Relaxed); // Relaxed: published by the exchange
            // ORDERING: Release ↔ Acquire in `refill`. Relaxed on failure: as the load.
            match self.returned.0.compare_exchange_weak(newest, id.0 + 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// Its thread ends: what nobody will sync is free when it is complete (rules 2 and 4). By the home's thread.
    fn leave(&self, table: &'static Table) {
        let sets = self.own.implicit.iter().chain([&self.own.region]).filter_map(Cell::take);
        let mut left = self.own.left.borrow_mut();
        left.extend(sets);
        // Relaxed: set before there are threads that end.
        if !table.outlive.load(Ordering::Relaxed) {
            *left = self.live(table).collect(); // the sets, and what was left before, are among them
        }
    }

    /// Its ops that are taken.
    fn live(&self, table: &'static Table) -> impl Iterator<Item = Taken> {
        let blocks = self.own.blocks.borrow().clone();
        let ids = blocks.into_iter().flat_map(|block| block * BLOCK..(block + 1) * BLOCK).map(OpId);
        ids.filter_map(move |id| Some((id, table.op(id)?))).filter(|(_, op)| !op.owner().is_null())
    }
}

thread_local! {
    /// This thread's home; found at its first use. A pointer, not the value: a thread may still transfer in exit handlers, when
    /// its values with destructors are gone, and then gets another.
    static HOME: Cell<Option<&'static Home>> = const { Cell::new(None) };
    static END: End = const { End };
}

/// Leaves a thread's home when the thread ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        if let Some(home) = HOME.take() {
            home.leave(Table::get());
            Table::get().empty.lock().push(home);
        }
    }
}

/// The calling thread's home.
#[inline(always)]
pub(super) fn home() -> &'static Home {
    HOME.get().unwrap_or_else(find_home)
}

#[cold]
#[inline(never)]
fn find_home() -> &'static Home {
    // After the thread's end has been noticed there is no second notice: the home then stays its own for ever.
    let _ = END.try_with(|_| ());
    let home = Table::get().home();
    HOME.set(Some(home));
    home
}

/// Takes an op on this thread. `None`: as many are live as 32 bits name.
#[inline(always)]
pub fn take() -> Option<Taken> {
    home().take(Table::get())
}

/// Gives back a complete op that this thread took.
#[inline(always)]
pub fn give(id: OpId, op: &'static Op) {
    home().give((id, op));
}

/// The op that counts this thread's implicit operations of `set` now: the open region's, else the set's.
#[inline(always)]
pub fn implicit(set: Set) -> Option<Taken> {
    let own = &home().own;
    match own.region.get().or(own.implicit[set as usize].get()) {
        None => first_of(set),
        open => open,
    }
}

#[cold]
#[inline(never)]
fn first_of(set: Set) -> Option<Taken> {
    let taken = take()?;
    home().own.implicit[set as usize].set(Some(taken));
    Some(taken)
}

/// The op of this thread's implicit operations of `set` outside regions, if there were any.
#[inline(always)]
pub(super) fn set(set: Set) -> Option<&'static Op> {
    home().own.implicit[set as usize].get().map(|(_, op)| op)
}

/// Is a region open on this thread?
#[inline(always)]
pub(super) fn in_region() -> bool {
    home().own.region.get().is_some()
}

/// Opens a region on this thread; none is open. `None`: no op.
pub(super) fn begin_region() -> Option<()> {
    home().own.region.set(Some(take()?));
    Some(())
}

/// Closes this thread's region; its op, or `None` when none is open.
pub(super) fn end_region() -> Option<Taken> {
    home().own.region.take()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;

    /// A table of the test's own, so that what other tests take is not in the way.
    fn table() -> (&'static Table, &'static Home) {
        let table: &'static Table = Box::leak(Box::new(Table::new()));
        (table, table.home())
    }

    fn made(table: &Table) -> u32 {
        *table.made.lock()
    }

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
    fn a_seal_is_of_one_place_length_and_operation() {
        let table = Table::get();
        let seal = table.seal(OpId(3), 0x1000, 64);
        assert_eq!(table.seal(OpId(3), 0x1000, 64), seal);
        for (id, to, len) in [(4, 0x1000, 64), (3, 0x1001, 64), (3, 0x1000, 65), (3, 0x1000 | 1 << 40, 64)] {
            assert_ne!(table.seal(OpId(id), to, len), seal, "{id} {to:#x} {len}");
        }
    }

    #[test]
    fn the_last_given_is_taken_next() {
        let (table, home) = table();
        let (id, op) = home.take(table).unwrap();
        let handle = op.handle(id);
        home.give((id, op));
        let (again, op) = home.take(table).unwrap();
        assert!(again == id && op.handle(id) != handle);
    }

    #[test]
    fn ops_that_other_threads_give_back_are_taken_again() {
        let (table, home) = table();
        for _ in 0..100 {
            let taken: Vec<Taken> = (0..BLOCK).map(|_| home.take(table).unwrap()).collect();
            let distinct: std::collections::HashSet<u32> = taken.iter().map(|(id, _)| id.0).collect();
            assert_eq!(distinct.len(), BLOCK as usize);
            thread::scope(|scope| {
                for part in taken.chunks(16) {
                    scope.spawn(|| part.iter().for_each(|taken| home.give_back(*taken)));
                }
            });
        }
        assert_eq!(made(table), 1);
    }

    #[test]
    fn a_thread_that_gives_back_does_not_disturb_one_that_takes() {
        let (table, home) = table();
        let (send, receive) = std::sync::mpsc::sync_channel::<Taken>(BLOCK as usize);
        thread::scope(|scope| {
            scope.spawn(|| receive.into_iter().for_each(|taken| home.give_back(taken)));
            let mut handles = std::collections::HashSet::new();
            for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
                let (id, op) = home.take(table).unwrap();
                assert!(handles.insert(op.handle(id)), "each use is another event");
                send.send((id, op)).unwrap();
            }
            drop(send);
        });
        assert!(made(table) <= 4, "{} blocks for a few ops in flight", made(table));
    }

    #[test]
    fn homes_of_ended_threads_are_used_again_but_for_what_is_in_flight() {
        let busy = thread::spawn(|| {
            let (id, op) = take().unwrap();
            op.start();
            (id, op)
        });
        let (id, op) = busy.join().unwrap();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            // It never gives back, as a client that ends without a sync.
            let another = thread::spawn(|| take().unwrap().0).join().unwrap();
            assert_ne!(another, id);
            seen.insert(another.0 / BLOCK);
        }
        assert!(seen.len() < 50, "{} blocks for 200 threads, one at a time", seen.len());
        assert!(op.finish());
    }

    #[test]
    fn an_event_that_outlives_its_thread_is_synced_by_another() {
        let (table, home) = table();
        table.let_events_outlive_threads();
        let (id, op) = home.take(table).unwrap();
        let handle = op.handle(id);
        op.start();
        home.leave(table);
        for _ in 0..3 * BLOCK {
            assert_ne!(home.take(table).unwrap().0, id);
        }
        assert!(op.finish() && op.is_done() && op.handle(id) == handle, "as its thread left it");
        op.end_use_elsewhere().unwrap().give_back((id, op));
        assert!(op.end_use_elsewhere().is_none(), "once");
        assert!((0..BLOCK).any(|_| home.take(table).unwrap().0 == id));
    }

    #[test]
    fn implicit_operations_of_an_ended_thread_are_free_when_they_are_complete() {
        let (table, home) = table();
        table.let_events_outlive_threads();
        let sets: Vec<Taken> = (0..2).map(|_| home.take(table).unwrap()).collect();
        sets[0].1.start();
        home.own.implicit[0].set(Some(sets[0]));
        home.own.region.set(Some(sets[1]));
        home.leave(table);
        // The next thread of this home.
        assert!(home.own.implicit[0].get().is_none() && home.own.region.get().is_none());
        let all: Vec<u32> = (0..2 * BLOCK).map(|_| home.take(table).unwrap().0.0).collect();
        assert!(all.contains(&sets[1].0.0) && !all.contains(&sets[0].0.0));
        assert!(sets[0].1.finish());
        let more: Vec<u32> = (0..BLOCK).map(|_| home.take(table).unwrap().0.0).collect();
        assert!(more.contains(&sets[0].0.0));
    }
}
