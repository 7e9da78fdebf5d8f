//! Operations in flight: what a handle stands for, and whose it is.
//!
//! An op counts the messages started for it and those done; it is complete when they are equal. Its number, one 32-bit
//! argument, travels with each message and comes back with the answer. Copies that the DMA engine makes for it have two
//! more counts, since they are finished by other threads than messages. Ops are made in blocks that are never freed; a
//! thread owns blocks, and when it ends they go to whoever needs one next, as soon as nothing of them is in flight. So
//! there is no cap on operations in flight, and no leak by threads that come and go.
//!
//! Rules: only the owning thread starts and queues; only the thread that runs replies (one at a time) counts done; whoever
//! copies counts what it has copied.

use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fixed};
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Ops of a block.
const BLOCK: u32 = 64;
/// Shelves of blocks, each twice as long as the one before: 4 billion ops, as many as 32 bits name. Memory ends first.
const SHELVES: u32 = 26;

/// Number of an op in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpId(u32);

impl OpId {
    /// As a message argument.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// What a message argument names.
    pub fn from_bits(bits: u32) -> OpId {
        OpId(bits)
    }
}

/// Why a handle is not one to sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotLive {
    /// No operation ever had it.
    Unknown,
    /// Its operation was synced before.
    Synced,
    /// Its operation is another thread's.
    Foreign,
}

impl fmt::Display for NotLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotLive::Unknown => "is not a handle",
            NotLive::Synced => "is a handle that has been synced before",
            NotLive::Foreign => "is a handle of another thread",
        })
    }
}

/// One operation, or one set of implicit ones.
#[derive(Default)]
pub struct Op {
    started: AtomicU64,
    done: AtomicU64,
    /// Copies that the DMA engine was given.
    queued: AtomicU64,
    /// Those that it has made.
    copied: AtomicU64,
    /// Thread that it belongs to while it is live; 0 = free.
    owner: AtomicUsize,
    /// How often it was taken: tells its handles apart, so that one synced twice is found though the op is used again.
    uses: AtomicU32,
    /// The use of it in which the DMA engine was last given a copy.
    queued_in: AtomicU32,
    /// What a value get fetched. Written through a pointer, which loom's could not give.
    value: fixed::AtomicU64,
}

impl Op {
    /// One more message goes out for it. By its owner only.
    pub fn start(&self) {
        // Relaxed: only the owner reads and writes it.
        self.started.store(self.started.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// One message is answered. By the thread that runs replies only. False: all were answered before, and nothing is
    /// changed.
    #[must_use]
    pub fn finish(&self) -> bool {
        // Relaxed: one writer at a time, ordered by the inbox's lock; of `started` the value that matters came before the
        // request, hence before its answer.
        let done = self.done.load(Ordering::Relaxed);
        let expected = done != self.started.load(Ordering::Relaxed);
        if expected {
            // ORDERING: Release ↔ Acquire in `is_done`: the data of a get is there before its completion is seen.
            self.done.store(done + 1, Ordering::Release);
        }
        expected
    }

    /// Is an answer expected? By the thread that runs replies only.
    pub fn expects(&self) -> bool {
        self.done.load(Ordering::Relaxed) != self.started.load(Ordering::Relaxed) // Relaxed: as in `finish`
    }

    /// One more copy is queued for it, or, if the engine refuses it, none. By its owner only. `enqueue` is given the count to
    /// increase, with Release, when the copy is made.
    pub fn queue<E>(&'static self, enqueue: impl FnOnce(&'static AtomicU64) -> Result<(), E>) -> Result<(), E> {
        let queued = self.queued.load(Ordering::Relaxed); // Relaxed: only the owner reads and writes it
        self.queued.store(queued + 1, Ordering::Relaxed); // Relaxed: as above
        match enqueue(&self.copied) {
            Ok(()) => self.queued_in.store(self.uses.load(Ordering::Relaxed), Ordering::Relaxed), // Relaxed: as above
            Err(error) => {
                self.queued.store(queued, Ordering::Relaxed); // Relaxed: as above
                return Err(error);
            }
        }
        Ok(())
    }

    /// Must the client get a handle for it? Not if nothing is in flight, unless the DMA engine was given a copy: equal transfers
    /// have a handle on every node, however soon the engine is done with them.
    pub fn needs_handle(&self) -> bool {
        // Relaxed, both: the owner's own.
        !self.is_done() || self.queued_in.load(Ordering::Relaxed) == self.uses.load(Ordering::Relaxed)
    }

    /// Nothing is in flight.
    pub fn is_done(&self) -> bool {
        // ORDERING: Acquire ↔ Release in `finish` and in the engine. Relaxed: the other two are the owner's own.
        self.done.load(Ordering::Acquire) == self.started.load(Ordering::Relaxed)
            && self.copied.load(Ordering::Acquire) == self.queued.load(Ordering::Relaxed)
    }

    /// The client's handle, never 0: number in the low half, use in the high half.
    pub fn handle(&self, id: OpId) -> usize {
        (self.uses.load(Ordering::Relaxed) as usize) << 32 | (id.0 as usize + 1) // Relaxed: changed by `take` only
    }

    /// Where a value get lands.
    pub fn landing(&self) -> *mut u8 {
        self.value.as_ptr().cast()
    }

    /// What has landed.
    pub fn value(&self) -> u64 {
        self.value.load(Ordering::Relaxed) // Relaxed: after `is_done`
    }

    /// Clears the landing place.
    pub fn clear_value(&self) {
        self.value.store(0, Ordering::Relaxed); // Relaxed: before `start`
    }
}

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
    /// Blocks of threads that have ended.
    orphans: Mutex<Vec<u32>>,
    /// The key of [`Table::seal`].
    key: [u64; 2],
}

/// The table; process-wide because handles are.
static TABLE: OnceLock<Table> = OnceLock::new();

impl Table {
    /// The table.
    pub fn get() -> &'static Table {
        TABLE.get_or_init(|| Table {
            shelves: std::array::from_fn(|_| OnceLock::new()),
            made: Mutex::new(0),
            orphans: Mutex::new(Vec::new()),
            key: std::array::from_fn(|_| RandomState::new().hash_one(0)),
        })
    }

    /// Goes out with a get of `len` bytes to `to`, and comes back with them: no other memory is written for an answer
    /// than what was asked for, though the address makes the round trip. An op can't hold it, since an implicit one has
    /// any number of gets in flight.
    pub fn seal(&self, id: OpId, to: usize, len: usize) -> u32 {
        // A folded product with a secret: what a peer damages does not fit by chance. Against one that reckons, nothing is
        // gained by more: it may write its own messages. SipHash took a fifth of a get's round trip.
        let what = u64::from(id.0) << 32 ^ len as u64;
        let product = u128::from(to as u64 ^ self.key[0]) * u128::from(what ^ self.key[1]);
        ((product >> 64) as u64 ^ product as u64) as u32
    }

    /// The op of that number, if there is one.
    pub fn op(&self, id: OpId) -> Option<&Op> {
        let (shelf, place) = place(id.0 / BLOCK);
        let block = self.shelves.get(shelf)?.get()?.get(place)?;
        Some(&block.0[(id.0 % BLOCK) as usize])
    }

    /// The live op of a client's handle, if it belongs to the calling thread.
    pub fn live(&self, handle: usize) -> Result<(OpId, &Op), NotLive> {
        let id = OpId((handle as u32).wrapping_sub(1));
        let op = self.op(id).ok_or(NotLive::Unknown)?;
        // Relaxed: only the owner changes these, and its own changes it sees.
        let (owner, handle_now) = (op.owner.load(Ordering::Relaxed), op.handle(id));
        if handle_now == handle && owner == mark() {
            return Ok((id, op));
        }
        Err(match () {
            _ if handle == 0 || handle >> 32 == 0 || handle > handle_now => NotLive::Unknown,
            _ if handle < handle_now || owner == 0 => NotLive::Synced,
            _ => NotLive::Foreign,
        })
    }

    /// A block for a thread: an orphan with nothing in flight, else a new one. `None`: the table is full.
    fn block(&self) -> Option<u32> {
        let mut orphans = self.orphans.lock();
        if let Some(at) = orphans.iter().position(|b| self.is_idle(*b)) {
            let block = orphans.swap_remove(at);
            self.ops(block).for_each(|(_, op)| op.owner.store(0, Ordering::Relaxed)); // Relaxed: nobody else has it
            return Some(block);
        }
        drop(orphans);
        let mut made = self.made.lock();
        let block = *made;
        let shelf = place(block).0;
        self.shelves.get(shelf)?.get_or_init(|| (0..1 << shelf).map(|_| Block::default()).collect());
        *made += 1;
        Some(block)
    }

    fn ops(&self, block: u32) -> impl Iterator<Item = (OpId, &Op)> {
        (0..BLOCK).filter_map(move |i| {
            let id = OpId(block * BLOCK + i);
            Some((id, self.op(id)?))
        })
    }

    fn is_idle(&self, block: u32) -> bool {
        self.ops(block).all(|(_, op)| op.is_done())
    }
}

/// What a thread has in flight.
#[derive(Default)]
struct Mine {
    blocks: RefCell<Vec<u32>>,
    free: RefCell<Vec<OpId>>,
    /// Implicit puts, implicit gets.
    implicit: [Cell<Option<OpId>>; 2],
    /// The open access region.
    region: Cell<Option<OpId>>,
}

thread_local! {
    /// What this thread has in flight; made at its first use. A pointer, not the value: a thread may still transfer in
    /// exit handlers, when its values with destructors are gone, and then gets a new one.
    static MINE: Cell<*mut Mine> = const { Cell::new(std::ptr::null_mut()) };
    static END: End = const { End };
}

/// Hands a thread's blocks over when it ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let mine = MINE.with(|mine| mine.replace(std::ptr::null_mut()));
        if !mine.is_null() {
            // SAFETY: made by `make_mine` from a box, taken out of its only place, and no call of ours is on this stack.
            let mut mine = unsafe { Box::from_raw(mine) };
            Table::get().orphans.lock().append(mine.blocks.get_mut());
        }
    }
}

/// This thread's. Callers let go of it before they return.
fn mine<'a>() -> &'a Mine {
    let place = MINE.with(Cell::get);
    let mine = if place.is_null() { make_mine() } else { place };
    // SAFETY: made by `make_mine` on this thread, and freed at the thread's end, when no call of ours is on its stack.
    unsafe { &*mine }
}

#[cold]
fn make_mine() -> *mut Mine {
    // After the thread's end has been noticed there is no second notice: its few blocks then stay its own for ever.
    let _ = END.try_with(|_| ());
    let mine = Box::into_raw(Box::<Mine>::default());
    MINE.with(|place| place.set(mine));
    mine
}

/// Tells live threads apart; never 0.
fn mark() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// Which implicit operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Puts, value puts and memsets.
    Puts = 0,
    /// Gets.
    Gets = 1,
}

/// Takes an op for an explicit handle. `None`: as many are in flight as 32 bits name.
pub fn take() -> Option<(OpId, &'static Op)> {
    let (table, mine) = (Table::get(), mine());
    let mut free = mine.free.borrow_mut();
    if free.is_empty() {
        let block = table.block()?;
        mine.blocks.borrow_mut().push(block);
        free.extend((0..BLOCK).rev().map(|i| OpId(block * BLOCK + i)));
    }
    let id = free.pop()?;
    let op = table.op(id)?;
    // Relaxed: the thread's own.
    op.owner.store(mark(), Ordering::Relaxed);
    op.uses.store(op.uses.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    Some((id, op))
}

/// Gives a complete op back.
pub fn give(id: OpId, op: &Op) {
    op.owner.store(0, Ordering::Relaxed); // Relaxed: the thread's own
    mine().free.borrow_mut().push(id);
}

/// The op that counts this thread's implicit operations of `set` now: the open region's, else the set's.
pub fn implicit(set: Set) -> Option<(OpId, &'static Op)> {
    let open = mine().region.get().or(mine().implicit[set as usize].get());
    if let Some(id) = open {
        return Some((id, Table::get().op(id)?));
    }
    let taken = take()?;
    mine().implicit[set as usize].set(Some(taken.0));
    Some(taken)
}

/// Are all implicit operations of `set` outside regions done?
pub fn is_implicit_done(set: Set) -> bool {
    let id = mine().implicit[set as usize].get();
    id.and_then(|id| Table::get().op(id)).is_none_or(Op::is_done)
}

/// Is a region open on this thread?
pub fn in_region() -> bool {
    mine().region.get().is_some()
}

/// Opens a region. False: one is open. `None`: no op.
pub fn begin_region() -> Option<bool> {
    if in_region() {
        return Some(false);
    }
    let (id, _) = take()?;
    mine().region.set(Some(id));
    Some(true)
}

/// Closes the region; its op, or `None` when none is open.
pub fn end_region() -> Option<(OpId, &'static Op)> {
    let id = mine().region.take()?;
    Some((id, Table::get().op(id)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_never_zero_and_lead_back() {
        let table = Table::get();
        let (id, op) = take().unwrap();
        let handle = op.handle(id);
        assert_ne!(handle, 0);
        assert_eq!(table.live(handle).map(|(id, _)| id), Ok(id));
        for wrong in [0, 1, handle & 0xffff_ffff, handle + (1 << 32), handle | 0x8000_0000, usize::MAX] {
            assert_eq!(table.live(wrong).err(), Some(NotLive::Unknown), "{wrong:#x}");
        }
        give(id, op);
        assert_eq!(table.live(handle).err(), Some(NotLive::Synced));
        let (again, op) = take().unwrap();
        assert_eq!(again, id, "the last given is taken next");
        assert_eq!(table.live(handle).err(), Some(NotLive::Synced), "its new use is another handle");
        give(again, op);
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
    fn an_op_is_done_when_all_that_started_is_answered() {
        let op = Op::default();
        assert!(op.is_done());
        op.start();
        op.start();
        assert!(op.finish() && !op.is_done());
        assert!(op.finish() && op.is_done());
        assert!(!op.finish() && op.is_done(), "an answer that nobody waits for changes nothing");
    }

    #[test]
    fn what_the_engine_was_given_has_a_handle_though_it_is_over() {
        let (id, op) = take().unwrap();
        assert!(!op.needs_handle(), "nothing is in flight");
        assert_eq!(op.queue(|_| Err(())), Err(()));
        assert!(!op.needs_handle(), "the engine refused it");
        let copied_at_once = |copied: &AtomicU64| {
            copied.fetch_add(1, Ordering::Release); // ORDERING: as the engine does
            Ok::<(), ()>(())
        };
        assert_eq!(op.queue(copied_at_once), Ok(()));
        assert!(op.is_done() && op.needs_handle());
        give(id, op);
        let (again, op) = take().unwrap();
        assert_eq!(again, id);
        assert!(!op.needs_handle(), "the next operation is another");
        give(id, op);
    }

    #[test]
    fn copies_are_counted_beside_messages_and_refused_ones_not_at_all() {
        let op: &'static Op = Box::leak(Box::default());
        let mut count = None;
        let keep = |copied| {
            count = Some(copied);
            Ok::<(), ()>(())
        };
        op.queue(keep).unwrap();
        op.start();
        assert_eq!(op.queue(|_| Err("full")), Err("full"));
        assert!(op.finish() && !op.is_done());
        count.unwrap().fetch_add(1, Ordering::Release);
        assert!(op.is_done());
        assert!(!op.finish(), "a copy is not a message");
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
    fn a_region_catches_what_starts_inside_and_leaves_the_sets_alone() {
        let (before, op) = implicit(Set::Puts).unwrap();
        op.start();
        assert_eq!(begin_region(), Some(true));
        assert_eq!(begin_region(), Some(false), "no nesting");
        let (inside, _) = implicit(Set::Puts).unwrap();
        assert_ne!(before, inside);
        assert_eq!(implicit(Set::Gets).unwrap().0, inside);
        assert_eq!(end_region().unwrap().0, inside);
        assert!(end_region().is_none());
        assert!(!is_implicit_done(Set::Puts) && is_implicit_done(Set::Gets));
        assert!(op.finish() && is_implicit_done(Set::Puts));
    }

    #[test]
    fn another_threads_handle_is_none_of_mine() {
        let (id, op) = take().unwrap();
        let handle = op.handle(id);
        let seen = std::thread::spawn(move || Table::get().live(handle).err()).join().unwrap();
        assert!(seen == Some(NotLive::Foreign) && Table::get().live(handle).is_ok());
        give(id, op);
    }

    #[test]
    fn blocks_of_ended_threads_are_used_again_unless_something_is_in_flight() {
        let busy = std::thread::spawn(|| {
            let (id, op) = take().unwrap();
            op.start();
            id.bits() / BLOCK
        });
        let busy = busy.join().unwrap();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let block = std::thread::spawn(|| take().unwrap().0.bits() / BLOCK).join().unwrap();
            assert_ne!(block, busy);
            seen.insert(block);
        }
        assert!(seen.len() < 50, "{} blocks for 200 threads, one at a time", seen.len());
    }
}
