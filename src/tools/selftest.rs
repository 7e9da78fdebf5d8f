//! The self test behind `gasnett_run_diagnostics` (contract: tools.md §15). It checks what may go wrong first when a
//! runtime is ported.

#![forbid(unsafe_code)]

use super::{bytes, number};
use crate::base::log;
use crate::sync::fixed::{AtomicU64, Ordering};
use parking_lot::Mutex;
use std::sync::Barrier;

/// The check that a section makes in one round, which has the given number. An error says what is wrong.
type Check = fn(u64) -> Result<(), String>;
const SECTIONS: [(char, Check); 3] = [('N', numbers), ('Z', zeros), ('S', checksums)];

/// Runs the sections whose letters are in `sections` (empty: all), `rounds` times on each of `threads` threads.
/// Returns the number of errors; each one prints a line on stderr. Sections: N numbers, Z zero counts, S checksums, T
/// atomics and locks between the threads.
pub fn run(rounds: u64, threads: u32, sections: &str) -> u32 {
    let wanted = |letter: char| sections.is_empty() || sections.chars().any(|c| c.eq_ignore_ascii_case(&letter));
    let errors = AtomicU64::new(0);
    let wrong = |what: String| {
        errors.fetch_add(1, Ordering::Relaxed); // Relaxed: read after the threads have ended
        log::error(format_args!("self test: {what}"));
    };
    let shared = Shared::new(threads.max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                for (_, check) in SECTIONS.iter().filter(|(letter, _)| wanted(*letter)) {
                    (0..rounds).filter_map(|round| check(round).err()).take(10).for_each(wrong);
                }
                if wanted('T') {
                    shared.work(rounds);
                }
            });
        }
    });
    if wanted('T') {
        shared.verdict(rounds * u64::from(threads.max(1))).err().into_iter().for_each(wrong);
    }
    errors.into_inner() as u32
}

fn numbers(round: u64) -> Result<(), String> {
    let value = (round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (round % 62)) as i64;
    match number::parse_forgiving(&number::format(value, false), 0) {
        Ok(back) if back == value => Ok(()),
        other => Err(format!("{value} becomes {other:?} in text and back")),
    }
}

fn pattern(round: u64) -> Vec<u8> {
    (0..round % 97).map(|i| ((round * 7 + i * i) % 3) as u8).collect()
}

fn zeros(round: u64) -> Result<(), String> {
    let text = pattern(round);
    let (fast, slow) = (bytes::zeros(&text), text.iter().filter(|byte| **byte == 0).count());
    if fast == slow { Ok(()) } else { Err(format!("{fast} zero bytes found, {slow} are there")) }
}

fn checksums(round: u64) -> Result<(), String> {
    let text = pattern(round);
    // The same sum, computed differently: byte i from the end is shifted up by 8 * i bits, modulo 64.
    let sum = text.iter().rev().enumerate().fold(0, |sum, (i, byte)| sum ^ u64::from(*byte) << (i % 8 * 8));
    let found = bytes::checksum(&text);
    if found == sum { Ok(()) } else { Err(format!("checksum {found:#x}, not {sum:#x}")) }
}

/// The data that the threads of section T share.
struct Shared {
    start: Barrier,
    counter: AtomicU64,
    guarded: Mutex<u64>,
}

impl Shared {
    fn new(threads: u32) -> Shared {
        let start = Barrier::new(threads as usize);
        Shared { start, counter: AtomicU64::new(0), guarded: Mutex::new(0) }
    }

    fn work(&self, rounds: u64) {
        self.start.wait();
        for _ in 0..rounds {
            self.counter.fetch_add(1, Ordering::Relaxed); // Relaxed: read after the threads have ended
            *self.guarded.lock() += 1;
        }
    }

    fn verdict(&self, expected: u64) -> Result<(), String> {
        let counts = (self.counter.load(Ordering::Relaxed), *self.guarded.lock()); // Relaxed: the threads have ended
        if counts == (expected, expected) {
            return Ok(());
        }
        Err(format!("{} atomic and {} locked increments arrived of {expected}", counts.0, counts.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_healthy_library_has_no_errors() {
        assert_eq!(run(500, 3, ""), 0);
        assert_eq!(run(0, 0, "nz"), 0);
    }

    #[test]
    fn a_lost_increment_is_found() {
        let shared = Shared::new(1);
        shared.work(10);
        assert!(shared.verdict(10).is_ok());
        *shared.guarded.lock() -= 1;
        assert!(shared.verdict(10).is_err());
    }
}
