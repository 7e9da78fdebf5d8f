//! Polls that a client makes by itself: which of them are a wait, and give the core away (rules 1 to 5 of `wait`).
//!
//! Must not know: what is waited for, messages.

use super::turns::MISSES_TURN;
use super::{Mode, SLEEP_MIN_US, SPIN_TURN, Waiter, yield_core};
use crate::os::signal_stack;
use crate::sci::Interrupt;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The client's own polls that found nothing, in a row, and how many it takes until a yield. They have a line of their own:
/// every poll writes it, while all waiters read the rest.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Missed {
    pub(super) count: AtomicU32,
    /// Polls of this node, the client's or the library's, that found something.
    pub(super) hits: AtomicU64,
    /// Empty polls until the clock is read. `NEVER` in a job of one node.
    pub(super) patience: AtomicU32,
    /// When it was last read, in nanoseconds.
    pub(super) read: AtomicU64,
}

/// More empty polls than are ever counted.
pub(super) const NEVER: u32 = u32::MAX;

/// Time per poll from which on a client is taken to compute between its polls. A loop that waits takes 4 to 60 ns per poll, and
/// 0.3 µs if it also looks at queues of its own.
pub(super) const COMPUTES: Duration = Duration::from_micros(1);

/// Empty polls after which a client's own loop yields when nodes share cores. Without the yield a spinning node keeps its peers
/// off the core for a whole time slice (4 nodes on 2 cores: milliseconds per round trip).
pub(super) const MISSES_SHARED: u32 = 32;
/// A yield that comes back at once let no other thread run. Each such yield doubles the number of polls between yields, up to
/// this one. So an empty poll costs 5 ns and not 15 (a yield in 32) where the other nodes sleep.
pub(super) const MISSES_ALONE: u32 = 1024;

/// Empty polls with a gap, after a poll that found something: an answer is probably on its way. After these a poll costs a
/// tenth, because a client that polls beside computing should not wait. There are none where nodes share cores and a peer waits
/// for this one.
pub(super) const PAUSES: u32 = 24;

impl Waiter {
    /// Counts a poll that the client made by itself and that found something.
    #[inline]
    pub fn found(&self) {
        self.missed.count.store(0, Ordering::Relaxed); // Relaxed: as in `missed`
    }

    /// Counts a poll that found something, whoever made it.
    #[inline(always)]
    pub fn hit(&self) {
        // Relaxed, and not read-modify-write: who has the inbox counts.
        self.missed.hits.store(self.hits().wrapping_add(1), Ordering::Relaxed);
    }

    /// How many polls have found something.
    #[inline(always)]
    pub fn hits(&self) -> u64 {
        self.missed.hits.load(Ordering::Relaxed) // Relaxed: a hint
    }

    /// Counts `polls` of the client's own polls, the last of them just now, that found nothing. `nap` sleeps for a moment by [`Self::nap`].
    #[inline]
    pub fn missed(&self, polls: u32, nap: impl FnOnce()) {
        let Missed { count, patience, .. } = &self.missed;
        // Relaxed, and not read-modify-write: threads may lose counts, which only delays a yield.
        let missed = count.load(Ordering::Relaxed).wrapping_add(polls);
        count.store(missed, Ordering::Relaxed); // Relaxed: as above
        if missed <= self.pauses {
            self.pause();
        }
        // Relaxed: as above.
        if missed >= patience.load(Ordering::Relaxed) {
            self.give_way(nap);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_way(&self, nap: impl FnOnce()) {
        let polls = self.missed.count.load(Ordering::Relaxed); // Relaxed: as in `missed`
        self.missed.count.store(0, Ordering::Relaxed); // Relaxed: as above
        // Relaxed: as in `set_mode`. A job of one comes here once in 2^32 polls.
        if self.mode.load(Ordering::Relaxed) == Mode::Spin as u32 || polls == NEVER {
            return;
        }
        if cfg!(loom) {
            return yield_core(); // it has no clock
        }
        let now = self.now();
        if !self.is_waiting(now, polls) {
            return;
        }
        let back = match self.rather_sleeps() {
            true => {
                nap();
                self.lengthen();
                self.now()
            }
            false if self.is_short() && self.turns.is_trial_due() => return self.lengthen(),
            false => self.yield_and_learn(now).0,
        };
        self.missed.read.store(back, Ordering::Relaxed); // Relaxed: as in `is_waiting`
    }

    /// Sleeps for a moment in a client's own loop. `ready`: a message has come.
    #[cold]
    pub fn nap<I: Interrupt>(&self, interrupt: &I, ready: impl Fn() -> bool) {
        signal_stack::provide();
        let settling = interrupt.settling();
        let time = Duration::from_micros(SLEEP_MIN_US);
        if time <= settling {
            interrupt.arm_briefly()
        } else {
            interrupt.arm()
        }
        if !ready() {
            interrupt.wait(time);
        }
        interrupt.disarm();
    }

    /// True if the client's last `polls` polls, all of them empty, were a wait (rules 2 and 3). `now` becomes the last reading
    /// of the clock.
    fn is_waiting(&self, now: u64, polls: u32) -> bool {
        if self.shared {
            return true;
        }
        // Relaxed, both: a hint, alone. Of threads that poll at once, each sees part of the polls and part of the time.
        let took = now.saturating_sub(self.missed.read.load(Ordering::Relaxed));
        self.missed.read.store(now, Ordering::Relaxed); // Relaxed: as above
        Duration::from_nanos(took) < COMPUTES * polls
    }

    /// From now on a spin lasts for a turn, if it is shorter.
    pub(super) fn lengthen(&self) {
        let longer = |value: &AtomicU32, turn| {
            // Relaxed, both: hints. `NEVER` stays.
            if value.load(Ordering::Relaxed) < turn {
                value.store(turn, Ordering::Relaxed);
            }
        };
        longer(&self.spin, SPIN_TURN);
        longer(&self.missed.patience, MISSES_TURN);
    }
}
