//! Berths: places in a node's [bell](super::interrupt::Bell) where threads sleep that wait for one thing each.
//!
//! A node of many threads serves messages by one of them. If that thread sleeps and a message comes for another one, two threads must wake
//! one after the other: on an idle machine the second one costs 40 µs (Xeon VM, 2026-11). A thread in a berth is woken by the sender
//! itself, and serves the message.
//!
//! Rules:
//! 1. The node's own threads take berths and leave them. Others only call: they exchange what a thread waits for with `CALLED`.
//! 2. A peer calls only while the node sleeps, and then wakes nobody else. So a thread that leaves a berth and finds `CALLED` polls.
//! 3. The caller counts an event after the call. A thread in a berth reads that count before it looks whether it was called. So it sees the
//!    call, or the system sees that the count has changed, and does not let the thread sleep.
//! 4. A call that finds nobody wakes the node, so that nothing depends on when peers see that a berth was taken.
//!
//! Must not know: what is waited for, how a thread sleeps.

#![forbid(unsafe_code)]

use crate::sync::{AtomicU32, Ordering};

/// How many berths a node has: as many words as fill a bell's block of 128 bytes, beside the sleep word and the event word.
pub(crate) const BERTHS: usize = if cfg!(loom) { 2 } else { 30 };

/// A peer has called.
const CALLED: u32 = u32::MAX;
/// A thread of the same node has called.
const CALLED_AT_HOME: u32 = u32::MAX - 1;

/// A berth that a thread has taken.
#[derive(Debug)]
pub struct Berth {
    place: usize,
    what: u32,
}

impl Berth {
    /// Its number, below [`BERTHS`].
    pub(crate) fn place(&self) -> usize {
        self.place
    }
}

/// All berths of a node. A word is what the thread waits for, or one of the constants above; 0: nobody is there.
#[repr(transparent)]
pub(super) struct Berths([AtomicU32; BERTHS]);

impl Berths {
    pub(super) fn new() -> Berths {
        Berths(std::array::from_fn(|_| AtomicU32::new(0)))
    }

    /// Takes a berth for `what`; `None`: all are taken. The last ones go first, because they do not lie in the line that senders look at.
    pub(super) fn take(&self, what: u32) -> Option<Berth> {
        assert!(what != 0 && what < CALLED_AT_HOME, "what the words say for other things");
        // Relaxed, both: a peer that does not see it wakes the node (rule 4).
        let take = |word: &AtomicU32| word.compare_exchange(0, what, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        let place = self.0.iter().rposition(take)?;
        Some(Berth { place, what })
    }

    /// Nobody has called yet.
    pub(super) fn is_waiting(&self, berth: &Berth) -> bool {
        self.0[berth.place].load(Ordering::Relaxed) == berth.what // Relaxed: rule 3 orders it
    }

    /// Gives it back. True: a peer has called.
    pub(super) fn leave(&self, berth: &Berth) -> bool {
        // ORDERING: Acquire ↔ Release in `call`: who was called sees what the peer published before.
        let word = self.0[berth.place].swap(0, Ordering::Acquire);
        word != berth.what && word != CALLED_AT_HOME
    }

    /// Calls a thread that waits for `what`. Returns its place, where it must be woken.
    pub(super) fn call(&self, what: u32) -> Option<usize> {
        debug_assert!(what != 0, "that is a berth that nobody has");
        // ORDERING: Release ↔ Acquire in `leave`. Relaxed: a berth that was left meanwhile is as one that nobody was in.
        let call = |word: &AtomicU32| word.compare_exchange(what, CALLED, Ordering::Release, Ordering::Relaxed).is_ok();
        // Relaxed: a hint.
        let is_meant = |word: &AtomicU32| word.load(Ordering::Relaxed) == what && call(word);
        self.0.iter().rposition(is_meant)
    }

    /// As [`Self::call`], the thread of the same node that has this one.
    pub(super) fn call_at_home(&self, berth: &Berth) {
        // Relaxed, both: what it is called for lies behind a lock. If a peer was first, it stays so (rule 2).
        let _ = self.0[berth.place].compare_exchange(berth.what, CALLED_AT_HOME, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn berths_are_taken_called_and_left() {
        let berths = Berths::new();
        assert_eq!(berths.call(5), None);
        let all: Vec<Berth> = (0..BERTHS).filter_map(|_| berths.take(5)).collect();
        assert_eq!(all.len(), BERTHS);
        assert!(berths.take(5).is_none());
        assert_eq!(berths.call(6), None);
        assert_eq!(berths.call(5), Some(BERTHS - 1), "the one that was taken first");
        assert_eq!(berths.call(5), Some(BERTHS - 2), "not the same again");
        assert!(!berths.is_waiting(&all[0]) && berths.is_waiting(&all[2]));
        berths.call_at_home(&all[0]);
        berths.call_at_home(&all[2]);
        assert!(!berths.is_waiting(&all[2]));
        assert!(berths.leave(&all[0]), "the peer was first");
        assert!(berths.leave(&all[1]));
        assert!(!berths.leave(&all[2]) && !berths.leave(&all[3]));
        assert_eq!(berths.take(7).map(|one| one.place), Some(BERTHS - 1));
    }
}
