//! How one side sleeps until the other has done something, without a lost wake-up and without a system call while nobody sleeps.
//!
//! 1. Who wants to sleep arms, looks at what it waits for, and sleeps only if it is not there.
//! 2. Who has published something asks `must_ring`, and writes to the bell's eventfd if it says so.
//! 3. Who is woken drains the eventfd, says `heard`, and only then looks.
//! 4. Who drained a bell and leaves while there still is something, and others sleep, rings again: they may have missed it.
//!
//! A process that is killed while it is armed stays counted: then the bell is rung once, and not again before somebody has heard it.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Of one side and one thing that it waits for: bytes, or room. Lies in shared memory; zero is its first state.
#[repr(C, align(64))]
pub struct Bell {
    sleepers: AtomicU32,
    rung: AtomicU32,
}

impl Bell {
    #[cfg(loom)]
    fn new() -> Bell {
        Bell { sleepers: AtomicU32::new(0), rung: AtomicU32::new(0) }
    }

    /// Rule 1. What is looked at afterwards is at least as new as what the others had published before they looked at `sleepers`.
    pub fn arm(&self) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // ORDERING: full fence ↔ the one in `must_ring`. One of the two sides sees what the other did before its fence.
        fence(Ordering::SeqCst);
    }

    /// The end of `arm`.
    pub fn disarm(&self) {
        // ORDERING: it is a count; nothing is published by it.
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether somebody sleeps.
    pub fn has_sleepers(&self) -> bool {
        // ORDERING: who needs the newest value has a fence before.
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    /// Rule 2: whether the caller must write to the eventfd.
    pub fn must_ring(&self) -> bool {
        // ORDERING: full fence ↔ those in `arm` and `heard`.
        fence(Ordering::SeqCst);
        self.has_sleepers() && self.rung.swap(1, Ordering::Relaxed) == 0
    }

    /// Rule 3.
    pub fn heard(&self) {
        self.rung.store(0, Ordering::Relaxed);
        // ORDERING: full fence ↔ the one in `must_ring`: who did not ring because it was rung already has published before this look.
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    // The look and the sleep, step by step: the sleeper looks once after arming, then only the bell can wake it.
    #[test]
    fn loom_a_sleeper_that_looked_in_vain_is_rung_for() {
        loom::model(|| {
            let shared = Arc::new((Bell::new(), AtomicU32::new(0), AtomicU32::new(0)));
            let sender = Arc::clone(&shared);
            let sending = thread::spawn(move || {
                for _ in 0..2 {
                    sender.1.fetch_add(1, Ordering::Release);
                    if sender.0.must_ring() {
                        sender.2.fetch_add(1, Ordering::Release);
                    }
                }
            });
            let (bell, published, eventfd) = &*shared;
            let mut seen = 0;
            while seen < 2 {
                bell.arm();
                let now = published.load(Ordering::Acquire);
                if now > seen {
                    seen = now;
                    bell.disarm();
                    continue;
                }
                // Asleep: nothing but the eventfd wakes.
                while eventfd.swap(0, Ordering::AcqRel) == 0 {
                    thread::yield_now();
                }
                bell.heard();
                bell.disarm();
                seen = seen.max(published.load(Ordering::Acquire));
            }
            sending.join().unwrap();
        });
    }
}
