//! `--measure`: what it costs to cross the tiers of this host, measured between a pair of CPUs for each tier.
//!
//! Alpha is half a round trip of a cache line between two threads. Beta is what a byte costs to a thread that copies what the other one
//! has just written. Both are medians. Other work on the host spoils them.
//!
//! Must not know: traffic, topologies.

use super::model::Line;
use crate::results::Spread;
use gasnet_sci::os::sys;
use gasnet_sci::sync::{AtomicU64, Ordering};
use std::hint::{black_box, spin_loop};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Round trips of a sample.
const TRIPS: u64 = 20_000;
/// Bytes of a copy: more than the first level of caches has, less than the last one has.
const BYTES: usize = 256 << 10;
/// Copies of a sample.
const COPIES: u64 = 64;
/// Looks in vain until a thread yields.
const PATIENCE: u32 = 10_000;
/// Samples, of which the median counts.
const SAMPLES: usize = 9;

/// A word that shares its cache line, and the line beside it, with nothing.
#[repr(align(128))]
struct Lap(AtomicU64);

impl Lap {
    fn wait_for(&self, lap: u64) {
        let mut looks = 0;
        // ORDERING: Acquire ↔ the Release of `tell`: what the other thread wrote before is seen.
        while self.0.load(Ordering::Acquire) != lap {
            looks += 1;
            // A look takes some nanoseconds, a lap less than a microsecond. The other thread may not have the CPU that it waits for.
            if looks % PATIENCE == 0 { thread::yield_now() } else { spin_loop() }
        }
    }

    fn tell(&self, lap: u64) {
        // ORDERING: Release ↔ the Acquire of `wait_for`.
        self.0.store(lap, Ordering::Release);
    }
}

/// Measures between the CPUs `a` and `b`, which are not the same.
///
/// # Errors
/// This process may not use one of them.
pub fn between(a: usize, b: usize) -> io::Result<Line> {
    // Two measurements at the same time would spoil each other.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut alphas = Vec::new();
    let mut betas = Vec::new();
    for _ in 0..SAMPLES {
        alphas.push(trips(a, b)? / 2.0);
        betas.push(copies(a, b)?);
    }
    Ok(Line { alpha: Spread::of(&alphas).median, beta: Spread::of(&betas).median })
}

/// Runs `mine` on CPU `a`, by this thread, and `theirs` on CPU `b` at the same time. This thread may use all its CPUs again afterwards.
fn together<T>(a: usize, b: usize, mine: impl FnOnce() -> T, theirs: impl FnOnce() + Send) -> io::Result<T> {
    // What the other thread has come to, or what it is told. Before that: 0.
    const IS_BOUND: u64 = 1;
    const IS_NOT_BOUND: u64 = 2;
    const GO: u64 = 3;
    let before = sys::usable_cpus();
    sys::bind_to_cpus(&[a])?;
    let state = Lap(AtomicU64::new(0));
    let result = thread::scope(|scope| {
        let other = || {
            let bound = sys::bind_to_cpus(&[b]);
            state.tell(if bound.is_ok() { IS_BOUND } else { IS_NOT_BOUND });
            if bound.is_ok() {
                state.wait_for(GO);
                theirs();
            }
            bound
        };
        let other = thread::Builder::new().spawn_scoped(scope, other)?;
        // ORDERING: Acquire ↔ the Release of `tell`.
        while state.0.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let is_bound = state.0.load(Ordering::Acquire) == IS_BOUND; // ORDERING: as above
        let taken = is_bound.then(|| {
            state.tell(GO);
            mine()
        });
        let bound = other.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the measurement ended")));
        bound.and_then(|()| taken.ok_or_else(|| io::Error::other("a CPU may not be used")))
    });
    sys::bind_to_cpus(&before)?;
    result
}

/// Nanoseconds of a round trip of a line.
fn trips(a: usize, b: usize) -> io::Result<f64> {
    let (there, back) = (Lap(AtomicU64::new(0)), Lap(AtomicU64::new(0)));
    let mine = || {
        let start = sys::clock_ns();
        for lap in 1..=TRIPS {
            there.tell(lap);
            back.wait_for(lap);
        }
        (sys::clock_ns() - start) as f64 / TRIPS as f64
    };
    let theirs = || {
        for lap in 1..=TRIPS {
            there.wait_for(lap);
            back.tell(lap);
        }
    };
    together(a, b, mine, theirs)
}

/// Nanoseconds a byte of a copy of what the other thread has just written.
fn copies(a: usize, b: usize) -> io::Result<f64> {
    let (there, back) = (Lap(AtomicU64::new(0)), Lap(AtomicU64::new(0)));
    let shared: Vec<AtomicU64> = (0..BYTES / 8).map(|_| AtomicU64::new(0)).collect();
    let shared = &shared;
    let mine = || {
        let mut own = vec![0u64; BYTES / 8];
        let mut took = 0;
        for lap in 1..=COPIES {
            there.tell(lap);
            back.wait_for(lap);
            let start = sys::clock_ns();
            for (to, from) in own.iter_mut().zip(shared) {
                *to = from.load(Ordering::Relaxed); // Relaxed: `wait_for` orders them
            }
            took += sys::clock_ns() - start;
            black_box(&own);
        }
        took as f64 / (COPIES * BYTES as u64) as f64
    };
    let theirs = || {
        for lap in 1..=COPIES {
            there.wait_for(lap);
            shared.iter().for_each(|word| word.store(lap, Ordering::Relaxed)); // Relaxed: `tell` orders them
            back.tell(lap);
        }
    };
    together(a, b, mine, theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cpus_have_a_line_and_a_cpu_that_is_not_there_has_none() {
        if let [a, b, ..] = sys::usable_cpus()[..] {
            let line = between(a, b).unwrap();
            assert!(line.alpha > 1.0 && line.beta > 0.001, "{line:?}");
        }
        assert!(between(0, 1 << 15).is_err());
    }
}
