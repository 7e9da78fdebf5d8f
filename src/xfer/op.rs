//! One operation in flight: what it counts, and how it becomes complete.
//!
//! An op counts the messages started for it and those answered. Copies by the DMA engine or the network have counts of their own,
//! because they are finished by other threads than those that run replies. There are two kinds of copies: those whose local
//! completion somebody will ask for, and the others. The op is *complete* when everything that it counts is. It is *locally
//! complete* when the copies of the first kind are made: a verb takes what goes by messages from its source before it returns. So
//! local completion never comes after completion, and never waits for gets or for puts whose caller did not ask for it.
//!
//! Counts only grow, also from one use of the op to the next, so an op that is given back needs no reset.
//!
//! Rules:
//! 1. Only the thread that takes the op starts and queues, and it does so before it lets another thread have the event.
//! 2. Only the thread that runs replies, one at a time, counts messages done. Only the thread that copies counts copies made.
//!    An op of collectives has no messages and no copies. Several threads may end its collectives at once, so they count by
//!    read-modify-write.
//! 3. Any thread that was given the event may ask whether the op is complete. The client orders the hand-over, so that
//!    thread sees all that was started.
//! 4. The op is given back once, by the thread that found it complete. Nobody counts it any more then (rule 2). Its taker
//!    touches it again only after it has got it back (`home`, rule 3).

#![allow(unsafe_code)] // client memory and mapped segments

use super::home::Home;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fixed};
use crate::verbs::Local;
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

/// The use of an op that was never taken. It is one bit above the parts of an event, so that no event is a small number.
pub(super) const NO_USE: u32 = 4;
/// Between one use and the next.
const USE: u32 = 8;

/// In the word of a region's op: its event has a leaf for each category.
const REGION: u64 = 1 << 8;
/// In the word of a put's op: its event has a leaf, which stands for local completion.
const ASKED: u64 = 1 << 9;

/// Copies by the DMA engine or the network.
#[derive(Default)]
struct Copies {
    /// How many were given to it.
    queued: AtomicU64,
    /// How many of those are made.
    made: AtomicU64,
}

impl Copies {
    #[inline(always)]
    fn are_made(&self) -> bool {
        // ORDERING: Acquire ↔ the engine's Release: a thread that sees the count sees every byte, and may write the source.
        // Relaxed: `queued` is the taker's, handed over with the event.
        self.made.load(Ordering::Acquire) == self.queued.load(Ordering::Relaxed)
    }
}

/// One operation, or one set of implicit ones.
pub struct Op {
    started: AtomicU64,
    done: AtomicU64,
    /// Puts whose local completion is asked for.
    asked: Copies,
    /// All other copies.
    others: Copies,
    /// The home that it was taken from; null while it is free.
    owner: AtomicPtr<Home>,
    /// How often it was taken, in steps of [`USE`]. It tells the op's events apart, so that syncing one twice is detected
    /// although the op is used again.
    uses: AtomicU32,
    /// While it is on a list of returned ops: number + 1 of the next one.
    pub(super) next: AtomicU32,
    /// The word that a value get fetched. It is written through a pointer, which loom's atomics could not give. All other operations
    /// fetch none. There it says which leaves the event has: [`REGION`] and a bit for each set of which an operation was begun, or
    /// [`ASKED`], or nothing.
    value: fixed::AtomicU64,
}

impl Default for Op {
    fn default() -> Op {
        Op {
            started: AtomicU64::default(),
            done: AtomicU64::default(),
            asked: Copies::default(),
            others: Copies::default(),
            owner: AtomicPtr::new(ptr::null_mut()),
            uses: AtomicU32::new(NO_USE),
            next: AtomicU32::default(),
            value: fixed::AtomicU64::default(),
        }
    }
}

impl Op {
    /// Counts one more message started (rule 1).
    pub fn start(&self) {
        // Relaxed: only the taker writes it; a thread that reads it has been given what was written (rule 3).
        self.started.store(self.started.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts one message answered (rule 2). False: all were answered before, and nothing is changed.
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

    /// Counts one more collective done, by any thread (rule 2). Each that was started ends once.
    pub fn finish_any(&self) {
        // ORDERING: Release ↔ Acquire in `is_done`, as in `finish`. What other threads counted before is in the same release
        // sequence.
        self.done.fetch_add(1, Ordering::Release);
    }

    /// True if an answer is expected. By the thread that runs replies only.
    pub fn expects(&self) -> bool {
        self.done.load(Ordering::Relaxed) != self.started.load(Ordering::Relaxed) // Relaxed: as in `finish`
    }

    /// Counts one more copy queued, unless the engine refuses it (rule 1). `local` says which kind of copy it is. `enqueue` gets the
    /// count that is to be increased, with Release, when the copy is made.
    pub fn queue<E>(
        &'static self,
        local: Local,
        enqueue: impl FnOnce(&'static AtomicU64) -> Result<(), E>,
    ) -> Result<(), E> {
        let copies = if local == Local::WhenAsked { &self.asked } else { &self.others };
        let queued = copies.queued.load(Ordering::Relaxed); // Relaxed: as `started`
        copies.queued.store(queued + 1, Ordering::Relaxed); // Relaxed: as above
        enqueue(&copies.made).inspect_err(|_| copies.queued.store(queued, Ordering::Relaxed)) // Relaxed: as above
    }

    /// Copies that were queued in all uses. By the taker.
    pub(super) fn copies(&self) -> u64 {
        [&self.asked, &self.others].map(|copies| copies.queued.load(Ordering::Relaxed)).iter().sum() // Relaxed: as in `queue`
    }

    /// True if it is complete.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        // ORDERING: Acquire ↔ Release in `finish`: see there. Relaxed: `started` is the taker's, handed over with the event.
        let answered = self.done.load(Ordering::Acquire) == self.started.load(Ordering::Relaxed);
        answered && self.asked.are_made() && self.others.are_made()
    }

    /// True if it is locally complete.
    #[inline(always)]
    pub fn is_locally_done(&self) -> bool {
        self.asked.are_made()
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
        // Relaxed: a thread that was given the event sees which home it is; others ask only for the text of an error.
        self.owner.load(Ordering::Relaxed)
    }

    /// It is taken from `home`, whose thread calls.
    #[inline(always)]
    pub(super) fn begin_use(&self, home: &'static Home) {
        // Relaxed, all: free ops are one thread's, and what it writes is handed over with the event (rule 3).
        self.owner.store(ptr::from_ref(home).cast_mut(), Ordering::Relaxed);
        self.uses.store(self.uses.load(Ordering::Relaxed).wrapping_add(USE), Ordering::Relaxed);
        self.value.store(0, Ordering::Relaxed);
    }

    /// It is free. By the thread that took it.
    #[inline(always)]
    pub(super) fn end_use(&self) {
        self.owner.store(ptr::null_mut(), Ordering::Relaxed); // Relaxed: as in `begin_use`
    }

    /// Ends this use, by any thread. Returns the home that the op was taken from, or `None` if another thread was first.
    pub(super) fn end_use_elsewhere(&self) -> Option<&'static Home> {
        // Relaxed: `Home::give_back` publishes what this thread has done with the op. This only decides which thread does so.
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

    /// It is the op of a region. By the region's thread, before it has the event.
    pub(super) fn note_region(&self) {
        self.value.store(REGION, Ordering::Relaxed); // Relaxed: the event is handed over later
    }

    /// It is the op of a put whose local completion is asked for. As [`Self::note_region`].
    pub(super) fn note_asked(&self) {
        self.value.store(ASKED, Ordering::Relaxed); // Relaxed: as above
    }

    /// True if its event has leaves for all categories.
    pub(super) fn is_region(&self) -> bool {
        self.value() & REGION != 0
    }

    /// True if its event has a leaf for local completion.
    pub(super) fn has_local(&self) -> bool {
        self.value() & (REGION | ASKED) != 0
    }

    /// Notes that an operation of `set` begins in the region of this op. By the region's thread, before it has the event.
    pub(super) fn note_set(&self, set: usize) {
        self.value.store(self.value() | 1 << set, Ordering::Relaxed); // Relaxed: the event is handed over later
    }

    /// True if an operation of `set` was begun in the region of this op.
    pub(super) fn has_set(&self, set: usize) -> bool {
        self.value() & 1 << set != 0
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
        op.queue(Local::WhenAsked, keep).unwrap();
        op.start();
        assert_eq!(op.queue(Local::WhenAsked, |_| Err("full")), Err("full"));
        assert!(op.finish() && !op.is_done());
        assert!(!op.is_locally_done(), "the copy reads the source");
        count.unwrap().fetch_add(1, Ordering::Release);
        assert!(op.is_done() && op.is_locally_done());
        assert!(!op.finish(), "a copy is not a message");
    }

    #[test]
    fn copies_that_nobody_asks_for_are_no_part_of_local_completion() {
        let op: &'static Op = Box::leak(Box::default());
        let mut counts = Vec::new();
        for local in [Local::Later, Local::WhenAsked] {
            let keep = |count| {
                counts.push(count);
                Ok::<(), ()>(())
            };
            op.queue(local, keep).unwrap();
        }
        assert_eq!(op.copies(), 2);
        assert!(!op.is_locally_done());
        counts[1].fetch_add(1, Ordering::Release);
        assert!(op.is_locally_done() && !op.is_done());
        counts[0].fetch_add(1, Ordering::Release);
        assert!(op.is_done());
    }

    #[test]
    fn what_goes_by_messages_is_locally_complete_at_once() {
        let op = Op::default();
        op.start();
        assert!(op.is_locally_done() && !op.is_done());
        assert!(op.finish());
    }
}
