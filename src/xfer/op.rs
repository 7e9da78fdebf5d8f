//! One operation in flight: what it counts, and how it becomes complete.
//!
//! An op counts the messages started for it and those answered. Copies that the DMA engine makes for it have two counts of
//! their own, because other threads than those that run replies finish them. The op is *complete* when both pairs are equal.
//! It is *locally complete*, the sources of its puts are free, when the copies are made: what goes by messages has been taken
//! from its source before the verb returned. So local completion never comes after completion.
//!
//! Counts only grow, also from one use of the op to the next, so an op that is given back needs no reset.
//!
//! Rules:
//! 1. Only the thread that takes the op starts and queues, and it does so before it lets another thread have the event.
//! 2. Only the thread that runs replies, one at a time, counts messages done; only whoever copies counts copies made.
//! 3. Any thread that was given the event may ask whether the op is complete. The client orders the hand-over (contract:
//!    ex-rma.md §6.1), so that thread sees all that was started.
//! 4. The op is given back, by whichever thread found it complete, once. Nobody counts it any more then (rule 2), and its
//!    taker touches it again only after it has got it back (`home`, rule 3).

#![allow(unsafe_code)] // client memory and mapped segments

use super::home::Home;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fixed};
use std::ptr;

/// Number of an op in the table. It travels with each message, as one argument, and comes back with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpId(pub(super) u32);

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

/// The use of an op that was never taken: one bit more than the parts of an event take, so that no event is small.
pub(super) const NO_USE: u32 = 4;
/// Between one use and the next.
const USE: u32 = 8;

/// One operation, or one set of implicit ones.
pub struct Op {
    started: AtomicU64,
    done: AtomicU64,
    /// Copies that the DMA engine was given.
    queued: AtomicU64,
    /// Those that it has made.
    copied: AtomicU64,
    /// The home that it was taken from; null while it is free.
    owner: AtomicPtr<Home>,
    /// How often it was taken, in steps of [`USE`]: tells its events apart, so that one synced twice is found though the op is
    /// used again.
    uses: AtomicU32,
    /// While it is on a list of returned ops: number + 1 of the next one.
    pub(super) next: AtomicU32,
    /// What a value get fetched. Written through a pointer, which loom's could not give.
    value: fixed::AtomicU64,
}

impl Default for Op {
    fn default() -> Op {
        Op {
            started: AtomicU64::default(),
            done: AtomicU64::default(),
            queued: AtomicU64::default(),
            copied: AtomicU64::default(),
            owner: AtomicPtr::new(ptr::null_mut()),
            uses: AtomicU32::new(NO_USE),
            next: AtomicU32::default(),
            value: fixed::AtomicU64::default(),
        }
    }
}

impl Op {
    /// One more message goes out for it (rule 1).
    pub fn start(&self) {
        // Relaxed: only the taker writes it, and whoever reads it has been given what was written (rule 3).
        self.started.store(self.started.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// One message is answered (rule 2). False: all were answered before, and nothing is changed.
    #[must_use]
    pub fn finish(&self) -> bool {
        // Relaxed: one writer at a time, ordered by the inbox's lock; of `started` the value that matters came before the
        // request, hence before its answer.
        let done = self.done.load(Ordering::Relaxed);
        let expected = done != self.started.load(Ordering::Relaxed);
        if expected {
            // ORDERING: Release ↔ Acquire in `is_done`: the data of a get is there before its completion is seen, whichever
            // thread sees it. Answers that earlier threads ran come before through the inbox's lock.
            self.done.store(done + 1, Ordering::Release);
        }
        expected
    }

    /// Is an answer expected? By the thread that runs replies only.
    pub fn expects(&self) -> bool {
        self.done.load(Ordering::Relaxed) != self.started.load(Ordering::Relaxed) // Relaxed: as in `finish`
    }

    /// One more copy is queued for it, or, if the engine refuses it, none (rule 1). `enqueue` is given the count to increase,
    /// with Release, when the copy is made.
    pub fn queue<E>(&'static self, enqueue: impl FnOnce(&'static AtomicU64) -> Result<(), E>) -> Result<(), E> {
        let queued = self.queued.load(Ordering::Relaxed); // Relaxed: as `started`
        self.queued.store(queued + 1, Ordering::Relaxed); // Relaxed: as above
        enqueue(&self.copied).inspect_err(|_| self.queued.store(queued, Ordering::Relaxed)) // Relaxed: as above
    }

    /// Is it complete?
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        // ORDERING: Acquire ↔ Release in `finish`: see there. Relaxed: `started` is the taker's, handed over with the event.
        self.done.load(Ordering::Acquire) == self.started.load(Ordering::Relaxed) && self.is_locally_done()
    }

    /// Is it locally complete?
    #[inline(always)]
    pub fn is_locally_done(&self) -> bool {
        // ORDERING: Acquire ↔ the engine's Release: who sees the count sees every byte, and may write the source. Relaxed: as
        // in `is_done`.
        self.copied.load(Ordering::Acquire) == self.queued.load(Ordering::Relaxed)
    }

    /// The root event that stands for this use: number in the low half, use in the high half. Never below 2³².
    #[inline(always)]
    pub fn handle(&self, id: OpId) -> usize {
        // Relaxed: changed by `begin_use` only, before the event is given to anybody.
        (self.uses.load(Ordering::Relaxed) as usize) << 32 | (id.0 as usize + 1)
    }

    /// The home that it was taken from; null while it is free.
    #[inline(always)]
    pub(super) fn owner(&self) -> *mut Home {
        // Relaxed: whoever was given the event sees who took it; others ask only to say what is wrong.
        self.owner.load(Ordering::Relaxed)
    }

    /// It is taken from `home`, whose thread calls.
    #[inline(always)]
    pub(super) fn begin_use(&self, home: &'static Home) {
        // Relaxed, all: free ops are one thread's, and what it writes is handed over with the event (rule 3).
        self.owner.store(ptr::from_ref(home).cast_mut(), Ordering::Relaxed);
        self.uses.store(self.uses.load(Ordering::Relaxed).wrapping_add(USE), Ordering::Relaxed);
    }

    /// It is free. By the thread that took it.
    #[inline(always)]
    pub(super) fn end_use(&self) {
        self.owner.store(ptr::null_mut(), Ordering::Relaxed); // Relaxed: as in `begin_use`
    }

    /// It is no longer live. By any thread; the home that it was taken from, or `None` when another thread was first.
    pub(super) fn end_use_elsewhere(&self) -> Option<&'static Home> {
        // Relaxed: `Home::give_back` publishes what this thread has done with the op; here is only decided who does so.
        let home = self.owner.swap(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: null, or a home that `begin_use` got, and homes are never freed.
        unsafe { home.as_ref() }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
        assert!(!op.is_locally_done(), "the copy reads the source");
        count.unwrap().fetch_add(1, Ordering::Release);
        assert!(op.is_done() && op.is_locally_done());
        assert!(!op.finish(), "a copy is not a message");
    }

    #[test]
    fn what_goes_by_messages_is_locally_complete_at_once() {
        let op = Op::default();
        op.start();
        assert!(op.is_locally_done() && !op.is_done());
        assert!(op.finish());
    }
}
