//! The owner of an op: each thread takes ops from its home and gives them back to it; other threads send them home.
//!
//! Rules:
//! 1. A block of ops belongs to one home for ever. A home belongs to one thread at a time. When that thread ends, the home
//!    waits for the next thread that needs one. So threads that come and go leave nothing behind. The end is as late as
//!    `os::thread_end` can tell it, because destructors of the client's thread keys may still sync.
//! 2. A live op stays as it is when its thread ends: another thread may sync its event later. Where events are bound to their
//!    thread (GASNet-1), nobody can sync it any more, and it becomes free when it is complete.
//! 3. A free op is on its home's own list, which only the home's thread touches, or on the list of returned ops. Any thread may
//!    put an op on that second list. The home's thread takes all of them off at once, when its own list is empty. Nobody takes
//!    a single op off, so the list needs no protection against a number that comes back (ABA).
//! 4. Implicit sets and the open region of a thread that has ended have no event. Their ops become free when they are complete.

#![allow(unsafe_code)] // client memory and mapped segments

use super::op::{Op, OpId};
use super::table::{BLOCK, Table};
use crate::os::signal_stack;
#[cfg(not(loom))]
use crate::os::thread_end::ThreadEnd;
use crate::sync::{AtomicU32, Ordering};
use std::cell::{Cell, RefCell};

/// An op that was taken, and its number.
pub type Taken = (OpId, &'static Op);

/// A kind of implicit operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Puts, value puts and memsets.
    Puts = 0,
    /// Gets.
    Gets = 1,
    /// Atomic operations that read and modify.
    Rmw = 2,
}

/// Sets of a thread.
const SETS: usize = 3;

/// State that only the home's thread touches.
#[derive(Default)]
struct Own {
    /// Numbers of its blocks.
    blocks: RefCell<Vec<u32>>,
    free: RefCell<Vec<Taken>>,
    /// Implicit operations outside regions, by [`Set`].
    implicit: [Cell<Option<Taken>>; SETS],
    /// The open access region.
    region: Cell<Option<Taken>>,
    /// Copies that its op was given in earlier uses.
    copies_before: Cell<u64>,
    /// Ops of threads that have ended which nobody will sync, with the handles that they had: free when they are complete.
    left: RefCell<Vec<(Taken, usize)>>,
}

/// The newest op that another thread gave back: its number + 1, or 0. Each op names the next one. The word has lines of its
/// own, because other threads write it while the home's thread takes and gives.
#[derive(Default)]
#[repr(align(128))]
struct Returned(AtomicU32);

/// The ops of one thread.
pub struct Home {
    table: &'static Table,
    returned: Returned,
    own: Own,
}

// SAFETY: `own` is touched by methods that say "by the home's thread"; there is one at a time (rule 1), and the lock of
// `Table::keep` and `Table::home` orders one after the other. `returned` is atomic.
unsafe impl Sync for Home {}
// SAFETY: nothing in a home is tied to a thread; the lock of `Table` passes it on.
unsafe impl Send for Home {}

impl Home {
    /// A home without blocks.
    pub(super) fn new(table: &'static Table) -> Home {
        Home { table, returned: Returned::default(), own: Own::default() }
    }

    /// Takes an op. `None`: as many are live as 32 bits name. By the home's thread.
    #[inline(always)]
    pub(super) fn take(&'static self) -> Option<Taken> {
        let taken = self.own.free.borrow_mut().pop();
        let taken = match taken {
            Some(taken) => taken,
            None => self.refill()?,
        };
        taken.1.begin_use(self);
        Some(taken)
    }

    /// Fills the own list, and returns one of the ops found.
    #[cold]
    #[inline(never)]
    fn refill(&'static self) -> Option<Taken> {
        let table = self.table;
        let mut free = self.own.free.borrow_mut();
        // ORDERING: Acquire ↔ Release in `give_back`. What other threads have read of these ops, and written into `next`, came
        // before we use them again (`op`, rule 4). One Acquire is enough for all: each push is part of the release sequence of
        // those before it.
        let mut next = self.returned.0.swap(0, Ordering::Acquire);
        while next != 0 {
            let id = OpId(next - 1);
            let op = table.op(id)?;
            next = op.next.load(Ordering::Relaxed); // Relaxed: ordered by the swap
            free.push((id, op));
        }
        self.own.left.borrow_mut().retain(|&((id, op), handle)| {
            // A thread that came back, or the next one of this home, may have synced it, and may even have taken it again.
            let is_left = !op.owner().is_null() && op.handle(id) == handle;
            let done = op.is_done();
            if is_left && done {
                op.end_use();
                free.push((id, op));
            }
            is_left && !done
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

    /// The op that counts implicit operations of `set` now: the open region's, else the set's. By the home's thread.
    #[inline(always)]
    pub(super) fn implicit(&'static self, set: Set) -> Option<Taken> {
        if let Some(region) = self.own.region.get() {
            region.1.note_set(set as usize);
            return Some(region);
        }
        match self.own.implicit[set as usize].get() {
            None => self.first_of(set),
            open => open,
        }
    }

    #[cold]
    #[inline(never)]
    fn first_of(&'static self, set: Set) -> Option<Taken> {
        let taken = self.take()?;
        self.own.implicit[set as usize].set(Some(taken));
        Some(taken)
    }

    /// The home's thread ends: ops that nobody will sync become free when they are complete (rules 2 and 4). By the home's
    /// thread.
    fn leave(&self) {
        let sets = self.own.implicit.iter().chain([&self.own.region]).filter_map(Cell::take);
        let with_handle = |(id, op): Taken| ((id, op), op.handle(id));
        let mut left = self.own.left.borrow_mut();
        left.extend(sets.map(with_handle));
        if !self.table.do_events_outlive_threads() {
            *left = self.live().map(with_handle).collect(); // the sets, and what was left before, are among them
        }
    }

    /// The home's ops that are taken.
    fn live(&self) -> impl Iterator<Item = Taken> {
        let table = self.table;
        let blocks = self.own.blocks.borrow().clone();
        let ids = blocks.into_iter().flat_map(|block| block * BLOCK..(block + 1) * BLOCK).map(OpId);
        ids.filter_map(move |id| Some((id, table.op(id)?))).filter(|(_, op)| !op.owner().is_null())
    }
}

#[cfg(not(loom))]
thread_local! {
    /// This thread's home; found at its first use. It is a pointer without a destructor, so that it lasts as long as the thread.
    static HOME: Cell<Option<&'static Home>> = const { Cell::new(None) };
}

#[cfg(loom)]
loom::thread_local! {
    static HOME: Cell<Option<&'static Home>> = Cell::new(None);
}

/// Leaves a thread's home when the thread ends: after the client's own values of the thread have had their destructors, which
/// may sync what the thread has started.
#[cfg(not(loom))] // whose statics have ended before its threads
static END: ThreadEnd = ThreadEnd::new(|| {
    if let Some(home) = HOME.with(Cell::take) {
        home.leave();
        home.table.keep(home);
    }
});

/// The calling thread's home.
#[inline(always)]
pub(super) fn here() -> &'static Home {
    HOME.with(Cell::get).unwrap_or_else(find_home)
}

#[cold]
#[inline(never)]
fn find_home() -> &'static Home {
    // A home whose thread's end is not noticed stays with the thread for ever. So does one taken after the end.
    #[cfg(not(loom))]
    END.watch();
    signal_stack::provide();
    let home = Table::get().home();
    HOME.with(|place| place.set(Some(home)));
    home
}

/// Gives the calling thread, which has no home yet, a home without ops. Homes left by other tests have thousands.
#[cfg(all(test, not(loom)))]
pub(super) fn move_in() {
    END.watch();
    HOME.with(|place| place.set(Some(Box::leak(Box::new(Home::new(Table::get()))))));
}

/// Takes an op on this thread. `None`: as many are live as 32 bits name.
#[inline(always)]
pub fn take() -> Option<Taken> {
    here().take()
}

/// Gives back a complete op that this thread took.
#[inline(always)]
pub fn give(id: OpId, op: &'static Op) {
    here().give((id, op));
}

/// The op of this thread's implicit operations of `set` outside regions, if there were any.
#[inline(always)]
pub(super) fn set(set: Set) -> Option<&'static Op> {
    here().own.implicit[set as usize].get().map(|(_, op)| op)
}

/// Is a region open on this thread?
#[inline(always)]
pub(super) fn in_region() -> bool {
    here().own.region.get().is_some()
}

/// Opens a region on this thread; none is open. `None`: no op.
pub(super) fn begin_region() -> Option<()> {
    let (own, taken) = (&here().own, take()?);
    own.copies_before.set(taken.1.copies());
    taken.1.note_region();
    own.region.set(Some(taken));
    Some(())
}

/// Closes this thread's region: its op, and whether the DMA engine was given a copy inside. `None`: no region is open.
pub(super) fn end_region() -> Option<(Taken, bool)> {
    let own = &here().own;
    let taken = own.region.take()?;
    Some((taken, taken.1.copies() != own.copies_before.get()))
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

    #[test]
    fn the_last_given_is_taken_next() {
        let (_, home) = table();
        let (id, op) = home.take().unwrap();
        let handle = op.handle(id);
        home.give((id, op));
        let (again, op) = home.take().unwrap();
        assert!(again == id && op.handle(id) != handle);
    }

    #[test]
    fn ops_that_other_threads_give_back_are_taken_again() {
        let (table, home) = table();
        for _ in 0..100 {
            let taken: Vec<Taken> = (0..BLOCK).map(|_| home.take().unwrap()).collect();
            let distinct: std::collections::HashSet<u32> = taken.iter().map(|(id, _)| id.0).collect();
            assert_eq!(distinct.len(), BLOCK as usize);
            thread::scope(|scope| {
                for part in taken.chunks(16) {
                    scope.spawn(|| part.iter().for_each(|taken| home.give_back(*taken)));
                }
            });
        }
        assert_eq!(table.made(), 1);
    }

    #[test]
    fn a_thread_that_gives_back_does_not_disturb_one_that_takes() {
        let (table, home) = table();
        let (send, receive) = std::sync::mpsc::sync_channel::<Taken>(BLOCK as usize);
        thread::scope(|scope| {
            scope.spawn(|| receive.into_iter().for_each(|taken| home.give_back(taken)));
            let mut handles = std::collections::HashSet::new();
            for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
                let (id, op) = home.take().unwrap();
                assert!(handles.insert(op.handle(id)), "each use is another event");
                send.send((id, op)).unwrap();
            }
            drop(send);
        });
        assert!(table.made() <= 4, "{} blocks for a few ops in flight", table.made());
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
        let (id, op) = home.take().unwrap();
        let handle = op.handle(id);
        op.start();
        home.leave();
        for _ in 0..3 * BLOCK {
            assert_ne!(home.take().unwrap().0, id);
        }
        assert!(op.finish() && op.is_done() && op.handle(id) == handle, "as its thread left it");
        op.end_use_elsewhere().unwrap().give_back((id, op));
        assert!(op.end_use_elsewhere().is_none(), "once");
        assert!((0..BLOCK).any(|_| home.take().unwrap().0 == id));
    }

    #[test]
    fn implicit_operations_of_an_ended_thread_are_free_when_they_are_complete() {
        let (table, home) = table();
        table.let_events_outlive_threads();
        let sets: Vec<Taken> = (0..2).map(|_| home.take().unwrap()).collect();
        sets[0].1.start();
        home.own.implicit[0].set(Some(sets[0]));
        home.own.region.set(Some(sets[1]));
        home.leave();
        // The next thread of this home.
        assert!(home.own.implicit[0].get().is_none() && home.own.region.get().is_none());
        let all: Vec<u32> = (0..2 * BLOCK).map(|_| home.take().unwrap().0.0).collect();
        assert!(all.contains(&sets[1].0.0) && !all.contains(&sets[0].0.0));
        assert!(sets[0].1.finish());
        let more: Vec<u32> = (0..BLOCK).map(|_| home.take().unwrap().0.0).collect();
        assert!(more.contains(&sets[0].0.0));
    }
}
