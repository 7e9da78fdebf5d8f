//! Sleep until something changes, of threads that the program may cancel.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex;

use crate::calm;
use crate::name::{Deadline, rest};

/// A word that counts changes of what a lock guards. Who sleeps on it holds nothing and is in no list of the library: old programs cancel threads
/// that wait for events (`PTHREAD_CANCEL_ASYNCHRONOUS`), and what a condition variable knows of such a thread would outlive its stack.
#[derive(Debug, Default)]
pub struct Nap(AtomicU32);

impl Nap {
    /// How many changes there were. Asked under the lock, before the look that finds nothing.
    pub fn count(&self) -> u32 {
        // Ordering: Relaxed; the lock orders it with the changes.
        self.0.load(Ordering::Relaxed)
    }

    /// There was one, under the lock. Wakes all; returns how many slept.
    pub fn changed(&self) -> usize {
        // Ordering: Relaxed, as above; the kernel orders the sleep with it.
        self.0.fetch_add(1, Ordering::Relaxed);
        futex::wake(&self.0, futex::Flags::PRIVATE, i32::MAX as u32).unwrap_or(0)
    }

    /// Sleeps, without the lock, until there are more than `count` changes; perhaps shorter. False when the time is over.
    pub fn sleep(&self, count: u32, until: Deadline) -> bool {
        let left = rest(until);
        if left.is_some_and(|left| left.tv_sec == 0 && left.tv_nsec == 0) {
            return false;
        }
        let _ = calm::open(|| futex::wait(&self.0, futex::Flags::PRIVATE, count, left.as_ref()));
        true
    }
}
