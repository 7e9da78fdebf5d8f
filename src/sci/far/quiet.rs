//! When polls look at a network that has been quiet.
//!
//! A look is a system call, and what a near peer has sent meanwhile waits for its end: looks of both nodes each 50 µs made round trips
//! of a Short within a host 9 % longer (2026-11, EPYC 9004 VM). So polls in a loop look each [`QUIET`] at first. The longer
//! the network has been quiet, the rarer they look: after an eighth of that time, but at least each 8 × [`QUIET`]. So what comes waits
//! at most an eighth longer than it was already waited for. But a client that computes between its polls makes few of them, and the header makes 16 without a call of the
//! library. After a pause that is longer than [`QUIET`] the next [`NEXT`] polls look, and each of them is a call.
//!
//! Time is counted in the processor's ticks, which take 8 ns to read, the system's clock 22 ns. Where the ticks of two processors
//! differ, there are looks too many.
//!
//! Must not know: what a look does.

use crate::os::sys;
use crate::sync::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The shortest time between two looks by polls in a loop. A wait that is about to give up the core looks at once.
const QUIET: Duration = Duration::from_micros(50);
/// Polls that look after a pause.
const NEXT: u32 = 32;
/// The time between looks is the quiet time divided by this. It is never below [`QUIET`], nor above this many times [`QUIET`].
const PART: u64 = 8;
/// The rate of the ticks is known well enough after this time.
const MEASURED: Duration = Duration::from_micros(100);

/// When polls looked.
pub struct Quiet {
    /// The last poll and the last look, in ticks.
    polled: AtomicU64,
    looked: AtomicU64,
    /// When the network became quiet, in ticks.
    began: AtomicU64,
    /// [`QUIET`] in ticks; 0 as long as their rate is not known.
    limit: AtomicU64,
    start: (u64, Instant),
}

impl Default for Quiet {
    fn default() -> Quiet {
        Quiet {
            polled: AtomicU64::new(0),
            looked: AtomicU64::new(0),
            began: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            start: (sys::counter(), Instant::now()),
        }
    }
}

impl Quiet {
    /// The network is quiet from now on.
    pub fn begin(&self) {
        self.began.store(sys::counter(), Ordering::Relaxed); // Relaxed: a hint
    }

    /// Counts a poll. `None`: it need not look. `Some(0)`: this one looks. `Some(n)`: `n` polls look, this one included.
    #[inline]
    pub fn turn(&self) -> Option<u32> {
        let now = sys::counter();
        let turn = self.turn_at(now);
        if turn.is_some() {
            self.measure(now);
        }
        turn
    }

    #[inline]
    fn turn_at(&self, now: u64) -> Option<u32> {
        // Relaxed, all: hints; threads may undo each other's stores, which only moves a look.
        let (limit, before) = (self.limit.load(Ordering::Relaxed), self.polled.load(Ordering::Relaxed));
        self.polled.store(now, Ordering::Relaxed); // Relaxed: as above
        let is_pause = now.wrapping_sub(before) >= limit;
        let quiet = now.wrapping_sub(self.began.load(Ordering::Relaxed)) / PART; // Relaxed: as above
        if !is_pause && now.wrapping_sub(self.looked.load(Ordering::Relaxed)) < quiet.clamp(limit, PART * limit) {
            return None; // Relaxed, above: as before
        }
        self.looked.store(now, Ordering::Relaxed); // Relaxed: as above
        Some(if is_pause { NEXT } else { 0 })
    }

    #[cold]
    fn measure(&self, now: u64) {
        let passed = self.start.1.elapsed();
        if passed >= MEASURED {
            let ticks = u128::from(now.wrapping_sub(self.start.0)) * QUIET.as_nanos() / passed.as_nanos();
            self.limit.store(ticks as u64, Ordering::Relaxed); // Relaxed: a hint
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
        assert_eq!(quiet.turn_at(5000), Some(NEXT), "the first");
        let looks = |polls: std::ops::Range<u64>| -> Vec<u64> {
            polls.step_by(100).filter(|now| quiet.turn_at(*now) == Some(0)).collect()
        };
        assert_eq!(looks(5100..9000), [6000, 7000, 8000]);
        let later = looks(9000..200_000);
        let gap = |at: usize| later[at + 1] - later[at];
        assert!((0..later.len() - 1).all(|at| gap(at) <= (later[at + 1] - 5000) / PART + 1000), "{later:?}");
        assert!(gap(0) < 2 * 1000 && gap(later.len() - 2) == 8000, "{later:?}");
        assert_eq!(quiet.turn_at(201_500), Some(NEXT), "a pause");
        assert_eq!(quiet.turn_at(202_000), None);
        assert!(quiet.turn_at(100).is_some(), "another processor's ticks");
    }

    #[test]
    fn the_rate_of_the_ticks_is_measured() {
        let quiet = Quiet::default();
        std::thread::sleep(2 * MEASURED);
        assert!(quiet.turn().is_some());
        let limit = quiet.limit.load(Ordering::Relaxed);
        let start = (sys::counter(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let ticks = (sys::counter() - start.0) as f64 * QUIET.as_secs_f64() / start.1.elapsed().as_secs_f64();
        assert!((0.5..2.0).contains(&(limit as f64 / ticks)), "{limit} and {ticks}");
    }
}
