//! How often calls that find all they need at once look after others.
//!
//! A call that waits polls. One that need not wait, a retrieval whose message is there or a post with room, would never poll: a node that
//! does nothing else would answer no peer. So some of these calls poll, and each sends what is due. Posts of a quick program do not: when their
//! credits are used they ask for more, which polls. If the owner is quick, too, new credits are there by then, and the sender goes on without a
//! wait. So it offers its core to others that share it. Without that, of four senders on one core the first had sent all when the last had sent
//! a tenth of its share.
//!
//! Must not know: what the calls do, the engine (`due.rs` looks after others at this pace).

use crate::sync::{AtomicU64, Ordering};

/// One in so many retrievals polls. With one in 16, a receiver's polls brought messages faster than it retrieved them: the box filled up, and
/// its messages left the first-level cache.
const CALLS_PER_POLL: u64 = 64;
/// Every so many such calls a quick program looks at the clock, and a slow one at each call.
const CALLS_PER_LOOK: u64 = 16;

/// After so many posts without a wait a node offers its core to others: as often as a sender gets credits of a box of the usual capacity.
const POSTS_PER_TURN: u64 = 256;

/// After a wait, which polls, the first look comes at this call. Where each second call waits, as in a ping-pong, none comes.
const CALLS_AFTER_WAIT: u64 = 4;

/// Ticks of the processor's counter, a few microseconds. A program is slow if each of its calls takes more. Then each of them polls: on one
/// host that costs less than a fiftieth of the program's time, and its peers need not wait until it has made 64 calls.
const SLOW: u64 = 10_000;

/// A call that has found all it needs at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It has posted, or given.
    Post,
    /// It has retrieved, or taken.
    Retrieval,
}

/// What a node knows of its own pace. Counts are approximate: threads race. If a count jumps back, every pending check is made at
/// the next call.
#[derive(Default)]
pub(super) struct Pace {
    /// Calls that found all they needed at once.
    calls: AtomicU64,
    /// The next look at the clock is due at this call.
    next_look: AtomicU64,
    /// The next poll is due at this call, if it is a retrieval.
    next_poll: AtomicU64,
    /// The core is offered at the first post from this call on.
    next_turn: AtomicU64,
    /// Ticks of the processor's counter at the last look, or after the poll that followed it; and its call.
    last_time: AtomicU64,
    last_call: AtomicU64,
}

/// Whether something is due at this call that is due at call `at`, which was less than `most` calls away, or as many, when that was noted.
#[inline(always)]
fn is_due(at: &AtomicU64, call: u64, most: u64) -> bool {
    // Relaxed: a hint. A thread that was interrupted while it counted may have set the count back.
    at.load(Ordering::Relaxed).wrapping_sub(call).wrapping_sub(1) >= most
}

impl Pace {
    /// Counts a call. Returns its number, and whether a look is due. Under loom none is: it has no clock, and calls that do not poll leave more
    /// to be found.
    #[inline(always)]
    pub(super) fn count(&self) -> (u64, bool) {
        if cfg!(loom) {
            return (0, false);
        }
        // Relaxed, all in this file: hints. No read-modify-write: it would take longer than all else here.
        let call = self.calls.load(Ordering::Relaxed).wrapping_add(1);
        self.calls.store(call, Ordering::Relaxed); // Relaxed: as above
        (call, is_due(&self.next_look, call, CALLS_PER_LOOK))
    }

    /// A look is due at this call, at `time` by the processor's counter. Is a poll?
    pub(super) fn look(&self, call: u64, kind: Kind, time: u64) -> bool {
        let is_slow = self.is_slow(call, time);
        let wait = if is_slow { 1 } else { CALLS_PER_LOOK };
        self.next_look.store(call.wrapping_add(wait), Ordering::Relaxed); // Relaxed: a hint
        is_slow || (kind == Kind::Retrieval && is_due(&self.next_poll, call, CALLS_PER_POLL))
    }

    /// A look is due at this post. Is it another node's turn?
    pub(super) fn is_turn_over(&self, call: u64) -> bool {
        let is_over = is_due(&self.next_turn, call, POSTS_PER_TURN);
        if is_over {
            self.next_turn.store(call.wrapping_add(POSTS_PER_TURN), Ordering::Relaxed); // Relaxed: a hint
        }
        is_over
    }

    /// Calls since the last look took long.
    fn is_slow(&self, call: u64, time: u64) -> bool {
        let last = self.last_time.load(Ordering::Relaxed); // Relaxed: a hint
        let calls = call.wrapping_sub(self.last_call.load(Ordering::Relaxed)); // Relaxed: a hint
        self.note(call, time);
        time.wrapping_sub(last) > calls.saturating_mul(SLOW)
    }

    /// A call is about to wait, which polls. Looks, polls and turns count from here on.
    #[inline(always)]
    pub(super) fn begins_to_wait(&self) {
        if cfg!(loom) {
            return;
        }
        let call = self.calls.load(Ordering::Relaxed); // Relaxed, all: hints
        self.next_look.store(call.wrapping_add(CALLS_AFTER_WAIT), Ordering::Relaxed);
        self.next_poll.store(call.wrapping_add(CALLS_PER_POLL), Ordering::Relaxed);
        self.next_turn.store(call.wrapping_add(POSTS_PER_TURN), Ordering::Relaxed);
    }

    fn note(&self, call: u64, time: u64) {
        self.last_call.store(call, Ordering::Relaxed); // Relaxed, both: hints
        self.last_time.store(time, Ordering::Relaxed);
    }

    /// This call has polled, until `time`. What the poll took is not the program's.
    pub(super) fn polled(&self, call: u64, time: u64) {
        self.next_poll.store(call.wrapping_add(CALLS_PER_POLL), Ordering::Relaxed); // Relaxed: a hint
        self.note(call, time);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What a poll takes, in ticks.
    const POLL: u64 = 50 * SLOW;

    /// The calls among the next `calls` that poll, if each takes `ticks` beside that.
    fn polls(pace: &Pace, kind: Kind, calls: u64, ticks: u64) -> Vec<u64> {
        let mut time = pace.last_time.load(Ordering::Relaxed).wrapping_add(1 << 20);
        pace.last_time.store(time, Ordering::Relaxed);
        pace.last_call.store(pace.calls.load(Ordering::Relaxed), Ordering::Relaxed);
        let polls = |_| {
            time = time.wrapping_add(ticks);
            let (call, is_look_due) = pace.count();
            let polls = is_look_due && pace.look(call, kind, time);
            if polls {
                time = time.wrapping_add(POLL);
                pace.polled(call, time);
            }
            polls.then_some(call)
        };
        (0..calls).filter_map(polls).collect()
    }

    #[test]
    fn a_count_that_falls_back_delays_nothing() {
        let pace = Pace::default();
        polls(&pace, Kind::Retrieval, 100_000, 0);
        pace.calls.store(5, Ordering::Relaxed);
        assert_eq!(polls(&pace, Kind::Retrieval, 1, 0), [6]);
        assert!(pace.is_turn_over(7) && !pace.is_turn_over(8) && !pace.is_turn_over(6 + POSTS_PER_TURN));
        assert!(pace.is_turn_over(7 + POSTS_PER_TURN));
        pace.begins_to_wait();
        assert!(!pace.is_turn_over(6 + POSTS_PER_TURN - 1) && pace.is_turn_over(6 + POSTS_PER_TURN));
    }

    #[test]
    fn quick_programs_poll_once_in_64_retrievals_and_slow_ones_in_each_call() {
        let pace = Pace::default();
        assert!(pace.count() == (1, true) && pace.look(1, Kind::Post, 1 << 40), "the first call polls");
        pace.polled(1, 1 << 40);
        for ticks in [0, SLOW / 2, SLOW] {
            let before = pace.calls.load(Ordering::Relaxed);
            let few = polls(&pace, Kind::Retrieval, 64_000, ticks);
            // The first call was slow and polled. So the second one looks, and each 16th after it: the poll that is due at call 65 is made
            // by the look at call 66. Later the posts in between have let a poll become due, and the first call looks.
            let first = if before == 1 { 2 + CALLS_PER_POLL } else { before + 1 };
            let expected: Vec<u64> = (first..=before + 64_000).step_by(CALLS_PER_POLL as usize).collect();
            assert_eq!(few, expected);
            assert!(polls(&pace, Kind::Post, 64_000, ticks).is_empty(), "quick posts");
        }
        for kind in [Kind::Post, Kind::Retrieval] {
            let start = pace.calls.load(Ordering::Relaxed);
            let noticed = start + 2 * CALLS_PER_LOOK;
            let slow: Vec<u64> =
                polls(&pace, kind, 100, 2 * SLOW).into_iter().filter(|call| *call >= noticed).collect();
            assert_eq!(
                slow,
                (noticed..=start + 100).collect::<Vec<_>>(),
                "each call, at the latest from the second look on"
            );
        }
    }
}
