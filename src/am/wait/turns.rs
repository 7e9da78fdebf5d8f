//! What a node learns of threads that share its core: how long a spin is worth while before the core is given away, and when it is better to
//! sleep than to yield.
//!
//! A yield that took longer than two switches let another thread run. Which kind of thread that was decides what is best:
//!
//! | who has the core meanwhile | what is best | how it is noticed |
//! |---|---|---|
//! | the peer that is waited for | to yield at once: no answer comes before | few polls find something between two yields, however long the spin |
//! | another thread of this node that sends and waits, too; the peer has a core of its own | to spin for about as long as two switches take: the answer comes sooner than that | many polls find something between two yields |
//! | a thread that computes, or another program | to spin as long, and then to sleep: the scheduler lets it have its time slice behind a yield, but serves a sleeper soon | a yield took much longer than the polls that found something meanwhile, and messages come faster while waits sleep |
//!
//! A Short there and back, nanoseconds, of each node's threads on one core (loaded Xeon VM, 2026-11, medians of 5 pairs):
//!
//! | threads of a node | 1 | 2 | 4 | 8 | 1, and one that computes | 2, and one that computes |
//! |---|---|---|---|---|---|---|
//! | by yields after the least spin | 665 | 1,550 | 1,485 | 1,621 | 3,500,000 | 1,030,000 |
//! | so | 663 | 669 | 665 | 723 | 31,000 | 6,200 |
//!
//! All here are hints: threads may overwrite each other's, and then a wait spins, yields or sleeps where it had better not.
//!
//! Must not know: what is waited for, messages.

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Failed polls before a yield where a spin of this length is worth while: 1.5 to 2 µs, which is what two switches cost.
pub(super) const SPIN_TURN: u32 = 32;
/// The same for a client's own polls, which have no gaps.
pub(super) const MISSES_TURN: u32 = 256;
/// A spin that ends in vain is worth while if so many polls have found something since the one before that did.
const WORTH: u64 = 4;
/// After so many yields with the least spin a longer one is tried again.
pub(super) const AGAIN: u32 = 32;
/// A yield that takes longer than this, and than [`PER_HIT`] for each poll that found something meanwhile, let a thread compute.
const LONG: Duration = Duration::from_micros(500);
/// More than a message takes.
const PER_HIT: Duration = Duration::from_micros(4);
/// More than another thread has the core between two yields of its own, while it waits in vain.
const PER_YIELD: Duration = Duration::from_micros(50);
/// Waits sleep instead of yielding for so many times as long as the yield that showed why: to try it, and where it has proven better.
const TRIED: u64 = 4;
/// See [`TRIED`]. So a thirtieth of the time is lost to such yields.
const PROVEN: u64 = 32;
/// After so many long yields it is tried again whether sleeps are better.
const YIELDS_AGAIN: u32 = 16;

/// See the head of this file.
#[derive(Default)]
pub(super) struct Turns {
    /// How many polls had found something at the last yield behind a long spin.
    hits: AtomicU64,
    /// Yields with the least spin until a longer one is tried.
    yields: AtomicU32,
    /// Yields that have begun.
    begun: AtomicU32,
    /// Until when waits sleep instead of yielding, in nanoseconds; 0: they yield.
    until: AtomicU64,
    /// When waits began to sleep, or to yield, and how many polls had found something then.
    since: AtomicU64,
    hits_then: AtomicU64,
    /// How many polls found something in a second of sleeps.
    rate: AtomicU64,
    /// Long yields until sleeps are tried.
    long: AtomicU32,
}

// Relaxed, in all of this file: hints, see its head.
impl Turns {
    /// A yield behind a long spin let another thread run. `hits`: polls of this node that have found something. True if such a spin is still
    /// worth while.
    pub fn is_worth(&self, hits: u64) -> bool {
        let since = hits.wrapping_sub(self.hits.load(Ordering::Relaxed)); // Relaxed, both: hints
        self.hits.store(hits, Ordering::Relaxed);
        self.yields.store(AGAIN, Ordering::Relaxed); // Relaxed: a hint
        since >= WORTH
    }

    /// A yield behind the least spin is about to come. True if a longer spin is to be tried before it.
    pub fn is_trial_due(&self) -> bool {
        is_due(&self.yields, AGAIN)
    }

    /// A yield begins. Returns its number.
    pub fn begins(&self) -> u32 {
        self.begun.fetch_add(1, Ordering::Relaxed) // Relaxed: a count, alone
    }

    /// Yield `number` has ended `now`. It took so long. `before` it and `after` it so many polls had found something.
    pub fn ends(&self, number: u32, now: u64, took: Duration, before: u64, after: u64) {
        let others = self.begun.load(Ordering::Relaxed).wrapping_sub(number).wrapping_sub(1); // Relaxed: as above
        let hits = after.wrapping_sub(before).min(u32::MAX.into()) as u32;
        if took <= LONG + PER_HIT * hits + PER_YIELD * others {
            return;
        }
        // Relaxed: a hint. Another thread may have begun to sleep meanwhile.
        if self.until.load(Ordering::Relaxed) != 0 {
            return;
        }
        let is_better = self.rate.load(Ordering::Relaxed) > self.rate_since(now, after); // Relaxed: a hint
        if is_better || is_due(&self.long, YIELDS_AGAIN) {
            let times = if is_better { PROVEN } else { TRIED };
            self.until.store(now + times * took.as_nanos() as u64, Ordering::Relaxed); // Relaxed: a hint
        }
        self.begin_period(now, after);
    }

    /// True if waits are to sleep instead of yielding.
    pub fn are_long(&self, now: impl FnOnce() -> u64, hits: u64) -> bool {
        let until = self.until.load(Ordering::Relaxed); // Relaxed: a hint
        if until == 0 {
            return false;
        }
        let now = now();
        if now < until {
            return true;
        }
        self.rate.store(self.rate_since(now, hits), Ordering::Relaxed); // Relaxed, both: hints
        self.until.store(0, Ordering::Relaxed);
        self.begin_period(now, hits);
        false
    }

    fn begin_period(&self, now: u64, hits: u64) {
        self.since.store(now, Ordering::Relaxed); // Relaxed, both: hints
        self.hits_then.store(hits, Ordering::Relaxed);
    }

    /// How many polls found something in a second since waits began to sleep, or to yield.
    fn rate_since(&self, now: u64, hits: u64) -> u64 {
        // Relaxed, both: hints.
        let (since, then) = (self.since.load(Ordering::Relaxed), self.hits_then.load(Ordering::Relaxed));
        let rate = u128::from(hits.saturating_sub(then)) * 1_000_000_000 / u128::from(now.saturating_sub(since).max(1));
        rate as u64
    }
}

/// Counts down. True when it has come to 0; then it begins again at `most`.
fn is_due(left: &AtomicU32, most: u32) -> bool {
    let now = left.load(Ordering::Relaxed); // Relaxed, both: hints
    left.store(now.checked_sub(1).unwrap_or(most), Ordering::Relaxed);
    now == 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_long_spin_is_worth_while_as_long_as_polls_find_something() {
        let turns = Turns::default();
        assert!(turns.is_worth(WORTH));
        assert!(!turns.is_worth(2 * WORTH - 1));
        assert!(turns.is_worth(3 * WORTH - 1));
        let trials = (0..3 * (AGAIN + 1)).filter(|_| turns.is_trial_due()).count();
        assert_eq!(trials, 3, "and is tried again later");
    }

    /// A yield of `took` nanoseconds that begins at `start`.
    fn yields(turns: &Turns, start: u64, took: u64, before: u64, after: u64) {
        let number = turns.begins();
        turns.ends(number, start + took, Duration::from_nanos(took), before, after);
    }

    #[test]
    fn a_yield_is_long_if_nobody_polled_meanwhile() {
        let sleeps = |took, hits: u64, others: u32| {
            let turns = Turns::default();
            let number = turns.begins();
            (0..others).for_each(|_| _ = turns.begins());
            turns.ends(number, 100 * MS, Duration::from_nanos(took), 7, 7 + hits);
            turns.are_long(|| 100 * MS, 7 + hits)
        };
        assert!(sleeps(4 * MS, 0, 0), "a thread computed");
        assert!(!sleeps(MS / 2, 0, 0));
        assert!(!sleeps(4 * MS, 1000, 0), "a thread of this node served messages");
        assert!(!sleeps(4 * MS, 0, 100), "threads of this node waited in vain");
    }

    #[test]
    fn waits_sleep_for_long_only_where_messages_come_faster_so() {
        let turns = Turns::default();
        yields(&turns, 0, 4 * MS, 0, 10);
        let end = (4 + 4 * TRIED) * MS;
        assert!(turns.are_long(|| end - 1, 500));
        assert!(!turns.are_long(|| end, 1000), "the trial is over");
        yields(&turns, end, 4 * MS, 1000, 1010);
        let (begin, end) = (end + 4 * MS, end + (4 + 4 * PROVEN) * MS);
        assert!(turns.are_long(|| begin, 1010) && turns.are_long(|| end - 1, 1010), "sleeps were better");
        assert!(!turns.are_long(|| end, 1011));
        let long_yields = |from: u32, to: u32| {
            (from..to).any(|i| {
                let (start, hits) = (end + u64::from(i) * 4 * MS, 1011 + 1000 * u64::from(i));
                yields(&turns, start, 4 * MS, hits + 1000, hits + 1000);
                turns.are_long(|| start + 4 * MS, hits + 1000)
            })
        };
        assert!(!long_yields(0, YIELDS_AGAIN), "yields were better");
        assert!(long_yields(YIELDS_AGAIN, YIELDS_AGAIN + 1), "a trial");
    }
}
