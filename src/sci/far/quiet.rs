//! When polls look at a network that has been quiet.
//!
//! A look takes 0.1 to 0.3 µs, and what a near peer has sent meanwhile waits for its end: one in 16 round trips of a Short within a
//! host made them 12 % longer (2026-11, EPYC 9004 VM). So polls in a loop look once in [`QUIET`]. But a client that computes between its
//! polls makes few of them, and the header makes 16 without a call of the library. After a pause that is longer than [`QUIET`] the next
//! [`NEXT`] polls look, and each of them is a call.
//!
//! Time is counted in the processor's ticks, which take 8 ns to read, the system's clock 22 ns. Where the ticks of two processors
//! differ, there are looks too many.
//!
//! Must not know: what a look does.

use crate::os::sys;
use crate::sync::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between two looks by polls in a loop. A message after a quiet time, which is longer than 0.2 ms, waits for so long at most; a
/// wait that is about to give up the core looks at once.
const QUIET: Duration = Duration::from_micros(50);
/// Polls that look after a pause.
const NEXT: u32 = 32;
/// The rate of the ticks is known well enough after this time.
const MEASURED: Duration = Duration::from_micros(100);

/// When polls looked.
pub struct Quiet {
    /// The last poll and the last look, in ticks.
    polled: AtomicU64,
    looked: AtomicU64,
    /// [`QUIET`] in ticks; 0 as long as their rate is not known.
    limit: AtomicU64,
    start: (u64, Instant),
}

impl Default for Quiet {
    fn default() -> Quiet {
        Quiet {
            polled: AtomicU64::new(0),
            looked: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            start: (sys::counter(), Instant::now()),
        }
    }
}

impl Quiet {
    /// Counts a poll. `None`: it need not look. Else it looks, and so do that many polls behind it.
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
        if now.wrapping_sub(self.looked.load(Ordering::Relaxed)) < limit {
            return None;
        }
        self.looked.store(now, Ordering::Relaxed); // Relaxed: as above
        Some(if now.wrapping_sub(before) < limit { 0 } else { NEXT })
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
        assert_eq!(quiet.turn_at(5000), Some(NEXT), "the first");
        let turns: Vec<_> = (1..=40).map(|poll| quiet.turn_at(5000 + 50 * poll)).collect();
        assert_eq!(turns.iter().filter(|turn| turn.is_some()).count(), 2);
        assert_eq!((turns[19], turns[39]), (Some(0), Some(0)));
        assert_eq!(quiet.turn_at(9000), Some(NEXT));
        assert_eq!(quiet.turn_at(9500), None);
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
