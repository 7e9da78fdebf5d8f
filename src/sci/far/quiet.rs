//! When polls look at a network that has been quiet.
//!
//! A look is a system call, and what a near peer has sent meanwhile waits for its end: looks of both nodes each 50 µs made round trips
//! of a Short within a host 9 % longer (2026-11, EPYC 9004 VM). So polls in a loop look each [`QUIET`] at first. The longer
//! the network has been quiet, the rarer they look: after an eighth of that time, but at least each 8 × [`QUIET`]. So what comes waits
//! at most an eighth longer than it was already waited for. But a client that computes between its polls makes few of them, and the header makes up to 64 without a call of
//! the library. After a pause that is longer than [`QUIET`] the next [`NEXT`] polls look, and each of them is a call; so do the
//! next ones, as long as there are pauses.
//!
//! The polls of a wait behind its first follow each other soon. Only one in [`READ_ONE_IN`] of them reads the ticks. When each of them
//! read, a Short there and back within a host took 1.04 to 1.09 of what it took in a job on one host, instead of 1.01 to 1.03 (2026-11,
//! EPYC 7003 VM, blocks of 4 ms in turns).
//!
//! Time is counted in the processor's ticks, which take 8 ns to read, the system's clock 22 ns. Where the ticks of two processors
//! differ, there are some looks too many or too few.
//!
//! Must not know: what a look does.

use crate::os::sys;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The shortest time between two looks by polls in a loop. A wait that is about to give up the core looks at once.
const QUIET: Duration = Duration::from_micros(50);
/// Polls that look after a pause.
const NEXT: u32 = 32;
/// The time between looks is the quiet time divided by this. It is never below [`QUIET`], nor above this many times [`QUIET`].
const PART: u64 = 8;
/// Of so many polls of waits, one reads the ticks.
const READ_ONE_IN: u32 = 4;
/// There are pauses between [`NEXT`] polls if all together take so many times [`QUIET`]. In a loop they take 10 µs.
const PAUSES: u64 = 4;
/// The rate of the ticks is known well enough after this time.
const MEASURED: Duration = Duration::from_micros(100);
/// The most ticks in [`QUIET`]: of a clock of 20 GHz. Two processors' ticks may differ by anything.
const LIMIT_MOST: u128 = 1 << 20;

/// When polls looked.
pub struct Quiet {
    /// The last poll and the last look, in ticks.
    polled: AtomicU64,
    looked: AtomicU64,
    /// When the network became quiet, in ticks.
    began: AtomicU64,
    /// [`QUIET`] in ticks; 0 as long as their rate is not known.
    limit: AtomicU64,
    /// Polls of waits.
    spins: AtomicU32,
    start: (u64, Instant),
}

impl Default for Quiet {
    fn default() -> Quiet {
        Quiet {
            polled: AtomicU64::new(0),
            looked: AtomicU64::new(0),
            began: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            spins: AtomicU32::new(0),
            start: (sys::counter(), Instant::now()),
        }
    }
}

impl Quiet {
    /// The last poll of those that look anyway is over. 0: the network is quiet from now on. Else so many more polls look, because there
    /// are pauses between them: headers must not poll by themselves then, for up to 64 of their polls are no call of the library.
    #[cold]
    pub fn begin(&self) -> u32 {
        let now = sys::counter();
        self.measure(now);
        self.begin_at(now)
    }

    fn begin_at(&self, now: u64) -> u32 {
        // Relaxed, all: hints.
        let (limit, before) = (self.limit.load(Ordering::Relaxed), self.polled.load(Ordering::Relaxed));
        self.polled.store(now, Ordering::Relaxed); // Relaxed: as above
        self.looked.store(now, Ordering::Relaxed); // Relaxed: as above
        self.began.store(now, Ordering::Relaxed); // Relaxed: as above
        if now.wrapping_sub(before) >= PAUSES * limit { NEXT } else { 0 }
    }

    /// Counts `polls` polls that came one after the other, the last of them now. `None`: it need not look. `Some(0)`: this one looks.
    /// `Some(n)`: `n` polls look, this one included.
    #[inline]
    pub fn turn(&self, polls: u32) -> Option<u32> {
        let now = sys::counter();
        let turn = self.turn_at(now, polls);
        if turn.is_some() {
            self.measure(now);
        }
        turn
    }

    /// As [`Self::turn`], for each poll of a wait but its first.
    #[inline]
    pub fn turn_in_wait(&self) -> Option<u32> {
        if self.reads() { self.turn(READ_ONE_IN) } else { None }
    }

    /// Counts a poll of a wait. True: it reads the ticks.
    #[inline]
    fn reads(&self) -> bool {
        // Relaxed, both: a hint; threads may lose counts.
        let spins = self.spins.load(Ordering::Relaxed).wrapping_add(1);
        self.spins.store(spins, Ordering::Relaxed); // Relaxed: as above
        spins.is_multiple_of(READ_ONE_IN)
    }

    #[inline]
    fn turn_at(&self, now: u64, polls: u32) -> Option<u32> {
        // Relaxed, all: hints; threads may undo each other's stores, which only moves a look.
        let (limit, before) = (self.limit.load(Ordering::Relaxed), self.polled.load(Ordering::Relaxed));
        self.polled.store(now, Ordering::Relaxed); // Relaxed: as above
        let is_pause = now.wrapping_sub(before) >= limit * u64::from(polls);
        let quiet = now.wrapping_sub(self.began.load(Ordering::Relaxed)) / PART; // Relaxed: as above
        if !is_pause && now.wrapping_sub(self.looked.load(Ordering::Relaxed)) < quiet.clamp(limit, PART * limit) {
            return None; // Relaxed, above: as before
        }
        self.looked.store(now, Ordering::Relaxed); // Relaxed: as above
        Some(if is_pause { NEXT } else { 0 })
    }

    #[cold]
    fn measure(&self, now: u64) {
        self.set_rate(now.saturating_sub(self.start.0), self.start.1.elapsed());
    }

    /// `ticks` took the time `passed`.
    fn set_rate(&self, ticks: u64, passed: Duration) {
        if passed >= MEASURED {
            let limit = u128::from(ticks) * QUIET.as_nanos() / passed.as_nanos();
            self.limit.store(limit.min(LIMIT_MOST) as u64, Ordering::Relaxed); // Relaxed: a hint
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn polls_in_a_loop_look_now_and_then_and_those_after_a_pause_at_once() {
        let quiet = Quiet::default();
        quiet.limit.store(1000, Ordering::Relaxed);
        quiet.began.store(5000, Ordering::Relaxed);
        assert_eq!(quiet.turn_at(5000, 1), Some(NEXT), "the first");
        let looks = |polls: std::ops::Range<u64>| -> Vec<u64> {
            polls.step_by(100).filter(|now| quiet.turn_at(*now, 1) == Some(0)).collect()
        };
        assert_eq!(looks(5100..9000), [6000, 7000, 8000]);
        let later = looks(9000..200_000);
        let gap = |at: usize| later[at + 1] - later[at];
        assert!((0..later.len() - 1).all(|at| gap(at) <= (later[at + 1] - 5000) / PART + 1000), "{later:?}");
        assert!(gap(0) < 2 * 1000 && gap(later.len() - 2) == 8000, "{later:?}");
        assert_eq!(quiet.turn_at(201_500, 1), Some(NEXT), "a pause");
        assert_eq!(quiet.turn_at(202_000, 1), None);
        assert!(quiet.turn_at(100, 1).is_some(), "another processor's ticks");
    }

    #[test]
    fn polls_with_pauses_between_them_go_on_looking() {
        let quiet = Quiet::default();
        quiet.limit.store(1000, Ordering::Relaxed);
        assert_eq!(quiet.turn_at(50_000, 1), Some(NEXT));
        assert_eq!(quiet.begin_at(50_000 + 32 * 3000), NEXT, "a pause of 3000 before each of them");
        assert_eq!(quiet.begin_at(150_000), NEXT);
        assert_eq!(quiet.begin_at(150_200), 0, "in a loop");
        assert_eq!(quiet.turn_at(150_300, 1), None);
    }

    #[test]
    fn of_the_polls_of_a_wait_one_in_four_reads_the_ticks() {
        let quiet = Quiet::default();
        let reads: Vec<bool> = (0..8).map(|_| quiet.reads()).collect();
        assert_eq!(reads, [false, false, false, true, false, false, false, true]);
    }

    #[test]
    fn a_pause_is_longer_for_a_poll_that_counts_for_several() {
        let quiet = Quiet::default();
        quiet.limit.store(1000, Ordering::Relaxed);
        quiet.looked.store(5000, Ordering::Relaxed);
        quiet.polled.store(5000, Ordering::Relaxed);
        assert_eq!(
            quiet.turn_at(8999, READ_ONE_IN),
            Some(0),
            "a look is due, and four polls took less than four times the limit"
        );
        assert_eq!(quiet.turn_at(8999 + 4000, READ_ONE_IN), Some(NEXT));
        assert_eq!(quiet.turn_at(8999 + 4000 + 999, 1), None);
    }

    #[test]
    fn the_rate_of_the_ticks_is_measured() {
        let quiet = Quiet::default();
        let measured = |ticks, passed| {
            quiet.set_rate(ticks, passed);
            quiet.limit.load(Ordering::Relaxed)
        };
        assert_eq!(measured(1 << 40, MEASURED - Duration::from_nanos(1)), 0, "too short to say");
        assert_eq!(measured(300_000, MEASURED), 150_000, "3 GHz");
        assert_eq!(measured(24_000_000, Duration::from_secs(1)), 1200, "24 MHz");
        assert_eq!(measured(u64::MAX, MEASURED), LIMIT_MOST as u64, "another processor's ticks");
        // A look takes the rate of the real ones, which is above 0.
        std::thread::sleep(2 * MEASURED);
        assert!(quiet.turn(1).is_some());
        assert!((1..=LIMIT_MOST as u64).contains(&quiet.limit.load(Ordering::Relaxed)));
    }
}
