//! The self test behind `gasnett_run_diagnostics` (contract: tools.md §15). It checks what may go wrong first when a
//! runtime is ported.

#![forbid(unsafe_code)]

use super::{bytes, number};
use crate::base::log;
use crate::sync::fixed::{AtomicU64, Ordering};
use parking_lot::Mutex;
use std::sync::{Arc, Barrier};

/// A check that the client brings: its own inline code. It is called with -1 before the threads begin, by each thread with its number,
/// and with the number of threads when they have ended; with the number of threads, and with that of the rounds.
type Check = Box<dyn Fn(i32, u32, u64) -> Result<(), String> + Sync>;

/// A section of the client's.
pub struct Client {
    /// By which it is selected.
    pub letter: char,
    /// What is printed of it.
    pub name: String,
    /// The check.
    pub check: Check,
}

/// A check of one round, which has the given number. An error says what is wrong.
fn by_rounds(check: fn(u64) -> Result<(), String>) -> Check {
    Box::new(
        move |thread, threads, rounds| {
            if (0..threads as i32).contains(&thread) { (0..rounds).try_for_each(check) } else { Ok(()) }
        },
    )
}

/// Runs the sections whose letters are in `sections` (empty: all), `rounds` times on each of `threads` threads, one section after the
/// other. Returns the number of errors; each one prints a line on stderr. The first node prints what it ran. Sections of
/// the library: N numbers, Z zero counts, S checksums, T atomics and locks between the threads.
pub fn run(rounds: u64, threads: u32, sections: &str, clients: &[Client]) -> u32 {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(()); // the client's checks have one area
    let _alone = ONE_AT_A_TIME.lock();
    let threads = threads.max(1);
    let shared = Shared::default();
    let own: [(char, &str, Check); 4] = [
        ('N', "numbers", by_rounds(numbers)),
        ('Z', "zero counts", by_rounds(zeros)),
        ('S', "checksums", by_rounds(checksums)),
        ('T', "the library's atomics and locks between threads", shared.check()),
    ];
    let clients = clients.iter().map(|client| (client.letter, client.name.as_str(), &client.check));
    let all: Vec<_> = clients.chain(own.iter().map(|(letter, name, check)| (*letter, *name, check))).collect();
    let is_first = log::identity().0 == 0;
    for unknown in sections.chars().filter(|c| !all.iter().any(|(letter, ..)| c.eq_ignore_ascii_case(letter))) {
        let known: std::collections::BTreeSet<char> = all.iter().map(|(letter, ..)| *letter).collect();
        let known: String = known.into_iter().collect();
        log::advise(&format!("self test: no section has the letter '{unknown}'; known: {known}"));
    }
    let mut errors = 0;
    for (letter, name, check) in all {
        if !sections.is_empty() && !sections.chars().any(|c| c.eq_ignore_ascii_case(&letter)) {
            continue;
        }
        let wrong = section(check, threads, rounds);
        for what in &wrong {
            log::error(format_args!("self test: {what}"));
        }
        errors += wrong.len() as u32;
        if is_first {
            let verdict = if wrong.is_empty() { "passed" } else { "FAILED" };
            log::advise(&format!("self test {letter}, {name}: {verdict} ({threads} threads, {rounds} rounds each)"));
        }
    }
    errors
}

/// What is wrong, at most one thing per thread.
fn section(check: &Check, threads: u32, rounds: u64) -> Vec<String> {
    let one = |thread: i32| check(thread, threads, rounds).err();
    let mut wrong: Vec<String> = one(-1).into_iter().collect();
    let start = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        let begin = |thread: u32| {
            let (start, one) = (&start, &one);
            scope.spawn(move || {
                start.wait();
                one(thread as i32)
            })
        };
        let all: Vec<_> = (0..threads).map(begin).collect();
        wrong.extend(
            all.into_iter().filter_map(|thread| thread.join().unwrap_or_else(|_| Some("a thread panicked".into()))),
        );
    });
    wrong.extend(one(threads as i32));
    wrong
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
#[derive(Default)]
struct Shared(Arc<(AtomicU64, Mutex<u64>)>);

impl Shared {
    fn check(&self) -> Check {
        let shared = self.0.clone();
        Box::new(move |thread, threads, rounds| {
            let (counter, guarded) = &*shared;
            if thread == threads as i32 {
                return verdict(counter.load(Ordering::Relaxed), *guarded.lock(), rounds * u64::from(threads)); // Relaxed: the threads have ended
            }
            for _ in 0..if thread < 0 { 0 } else { rounds } {
                counter.fetch_add(1, Ordering::Relaxed); // Relaxed: read after the threads have ended
                *guarded.lock() += 1;
            }
            Ok(())
        })
    }
}

fn verdict(counted: u64, guarded: u64, expected: u64) -> Result<(), String> {
    if (counted, guarded) == (expected, expected) {
        return Ok(());
    }
    Err(format!("{counted} atomic and {guarded} locked increments arrived of {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(check: fn(i32) -> Result<(), String>) -> Client {
        Client { letter: 'Q', name: "a client's".into(), check: Box::new(move |thread, _, _| check(thread)) }
    }

    #[test]
    fn a_healthy_library_has_no_errors() {
        assert_eq!(run(500, 3, "", &[client(|_| Ok(()))]), 0);
        assert_eq!(run(0, 0, "nz?", &[]), 0);
    }

    #[test]
    fn errors_of_the_client_are_counted_where_its_section_is_selected() {
        let wrong = [client(|thread| if thread == 1 { Err("thread 1".into()) } else { Ok(()) })];
        assert_eq!(run(1, 3, "q", &wrong), 1);
        assert_eq!(run(1, 3, "N", &wrong), 0);
        assert_eq!(run(1, 3, "", &[client(|thread| if thread == 3 { Err("the verdict".into()) } else { Ok(()) })]), 1);
    }

    #[test]
    fn a_lost_increment_is_found() {
        assert!(verdict(10, 10, 10).is_ok());
        assert!(verdict(10, 9, 10).is_err() && verdict(9, 10, 10).is_err());
    }
}
