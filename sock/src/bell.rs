//! How one side sleeps until the other has done something, without a lost wake-up and without a system call while nobody sleeps.
//!
//! 1. Who wants to sleep arms, looks at what it waits for, and sleeps only if it is not there.
//! 2. Who has published something asks `must_ring`, and writes to the bell's eventfd if it says so.
//! 3. Who is woken drains the eventfd, says `heard`, and only then looks.
//! 4. Who drained a bell and leaves while there still is something, and others sleep, rings again: they may have missed it.
//!
//! A process that is killed while it is armed stays counted: then the bell is rung once, and not again before somebody has heard it. One that is killed
//! between rule 2's answer and its write has not said `has_rung`, so the next one rings.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// `Bell::rung`: the eventfd was written to, and nobody has heard it. Else the number of who is about to write, or 0.
const RUNG: u32 = u32::MAX;

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

    /// Rule 2: whether the caller, `me`, must write to the eventfd, and say `has_rung` then.
    pub fn must_ring(&self, me: u32) -> bool {
        // ORDERING: full fence ↔ those in `arm` and `heard`.
        fence(Ordering::SeqCst);
        // ORDERING: who finds `RUNG` here, though it was heard, has its fence before the one of `heard`: what it published is seen.
        if !self.has_sleepers() || self.rung.load(Ordering::Relaxed) == RUNG {
            return false;
        }
        // ORDERING: all changes of `rung` are read-modify-writes, so they have one order: `has_rung` finds what came between.
        self.rung.swap(me, Ordering::Relaxed);
        true
    }

    /// The end of rule 2. If somebody heard it meanwhile, or another one rings, nothing is said.
    pub fn has_rung(&self, me: u32) {
        // ORDERING: it stands behind the write, which is a system call; nothing is published by it.
        let _ = self.rung.compare_exchange(me, RUNG, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Rule 3.
    pub fn heard(&self) {
        self.rung.swap(0, Ordering::Relaxed);
        // ORDERING: full fence ↔ the one in `must_ring`: who did not ring because it was rung already has published before this look.
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, loom))]
pub mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use std::sync::atomic::AtomicU64 as Count; // loom's would be part of the model

    /// Runs a model with all orders, and prints how many: `ci/loom` makes a table of it.
    pub fn explore(model: impl Fn() + Sync + Send + 'static) {
        let executions = std::sync::Arc::new(Count::new(0));
        let count = executions.clone();
        let mut builder = loom::model::Builder::new();
        builder.max_branches = 20_000;
        builder.preemption_bound = builder.preemption_bound.or(Some(2));
        builder.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            model();
        });
        let name = std::thread::current().name().unwrap_or("a model").to_string();
        println!("model {name}: {} executions", executions.load(Ordering::Relaxed));
    }

    /// A bell, what is published, and the eventfd.
    struct World {
        bell: Bell,
        published: AtomicU32,
        eventfd: AtomicU32,
    }

    fn world() -> Arc<World> {
        Arc::new(World { bell: Bell::new(), published: AtomicU32::new(0), eventfd: AtomicU32::new(0) })
    }

    impl World {
        /// Publishes and rings, as thread `me`; if `dies`, it is killed before it writes to the eventfd.
        fn send(&self, me: u32, dies: bool) {
            self.published.fetch_add(1, Ordering::Release);
            if self.bell.must_ring(me) && !dies {
                self.eventfd.fetch_add(1, Ordering::Release);
                self.bell.has_rung(me);
            }
        }

        /// Rules 1 and 3 step by step, until `all` was seen: the sleeper looks once after arming, then only the eventfd can wake it.
        fn sleep(&self, all: u32) {
            loop {
                self.bell.arm();
                if self.published.load(Ordering::Acquire) >= all {
                    return self.bell.disarm();
                }
                while self.eventfd.swap(0, Ordering::AcqRel) == 0 {
                    thread::yield_now();
                }
                self.bell.heard();
                self.bell.disarm();
                if self.published.load(Ordering::Acquire) >= all {
                    return;
                }
            }
        }
    }

    #[test]
    fn loom_a_sleeper_that_looked_in_vain_is_rung_for() {
        explore(|| {
            let world = world();
            let sender = Arc::clone(&world);
            let sending = thread::spawn(move || (0..2).for_each(|_| sender.send(1, false)));
            world.sleep(2);
            sending.join().unwrap();
        });
    }

    #[test]
    fn loom_two_that_send_ring_once_at_least() {
        explore(|| {
            let world = world();
            let sending = [1, 2].map(|me| {
                let sender = Arc::clone(&world);
                thread::spawn(move || sender.send(me, false))
            });
            world.sleep(2);
            sending.into_iter().for_each(|it| it.join().unwrap());
        });
    }

    #[test]
    fn loom_one_that_is_killed_before_it_rang_does_not_silence_the_next() {
        explore(|| {
            let world = world();
            let sender = Arc::clone(&world);
            let sending = thread::spawn(move || {
                sender.send(1, true);
                sender.send(2, false);
            });
            world.sleep(2);
            sending.join().unwrap();
        });
    }
}
