//! How a thread of the library is called when something waits for it. It has no lock: who leaves the job calls as well, and may have
//! interrupted itself here.
//!
//! Invariant: what waits when [`Call::call`] begins is seen by the thread's next look, or that thread does not sleep.
//! Must not know: what waits.

#[cfg(not(loom))]
use crate::os::sys;
use crate::sync::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

/// A sleep that ends with a call.
const LONG: Duration = Duration::from_secs(3600);

/// Wakes the thread when something waits.
#[derive(Default)]
pub(crate) struct Call {
    /// 1: the thread was called, and has not found since that nothing waits. It sleeps on this word while it is 0.
    is_called: AtomicU32,
}

impl Call {
    /// Something waits. Said after it can be seen.
    pub(crate) fn call(&self) {
        // ORDERING: full fence ↔ the one in `wait`: the thread sees what waits, or this one sees that it was not called.
        fence(Ordering::SeqCst);
        // Relaxed, both: the fence. A thread that is called already is not called again, so a flood has no line that goes to and fro.
        if self.is_called.load(Ordering::Relaxed) == 0 && self.is_called.swap(1, Ordering::Relaxed) == 0 {
            self.wake();
        }
    }

    /// Returns as soon as `waits` is true, or after `most`. It is asked when callers see that the thread was not called, so nothing that
    /// begins to wait is overlooked.
    pub(crate) fn wait(&self, waits: impl Fn() -> bool, most: Option<Duration>) {
        self.is_called.store(0, Ordering::Relaxed); // Relaxed: the fence
        // ORDERING: full fence ↔ the one in `call`.
        fence(Ordering::SeqCst);
        if waits() {
            self.is_called.store(1, Ordering::Relaxed); // Relaxed: a caller that has not seen it makes a call in vain
            return;
        }
        let end = most.map(|most| Instant::now() + most);
        while self.is_called.load(Ordering::Relaxed) == 0 {
            // Relaxed, above: what waits is looked at behind locks, or by a fence.
            let left = end.map_or(LONG, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            self.sleep(left);
        }
    }

    /// Sleeps while the word is 0, at most `time`.
    #[cfg(not(loom))]
    fn sleep(&self, time: Duration) {
        sys::futex_wait(&self.is_called, 0, time);
    }

    #[cfg(not(loom))]
    fn wake(&self) {
        sys::futex_wake_all(&self.is_called);
    }

    /// Of models: others go on. Who is never called looks for ever, which loom notices.
    #[cfg(loom)]
    fn sleep(&self, _time: Duration) {
        loom::thread::yield_now();
    }

    #[cfg(loom)]
    fn wake(&self) {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// As a signal handler finds it that has interrupted its thread here: it waits for nobody, and its call counts.
    #[test]
    fn a_call_in_the_middle_of_a_call_or_of_a_wait_ends_the_wait() {
        let call = Call::default();
        call.wait(
            || {
                call.call();
                call.call();
                false
            },
            None,
        );
        call.wait(|| false, Some(Duration::ZERO));
        call.wait(|| true, None);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::explore::explore;
    use crate::sync::AtomicBool;
    use std::sync::Arc;

    /// What waits, by who has stored it. The stores are relaxed: only the fences order them.
    #[derive(Default)]
    struct Desk {
        call: Call,
        waits: [AtomicBool; 2],
    }

    impl Desk {
        fn leaves(&self, caller: usize) {
            self.waits[caller].store(true, Ordering::Relaxed); // Relaxed: the fence in `call`
            self.call.call();
        }

        /// What the thread does until it has found `most` things. Each is there for good: what is taken away by a swap may be seen again in
        /// a model, because loom does not order a swap and another thread's store as processors do.
        fn serves(&self, most: usize) {
            let mut found = [false; 2];
            while found.iter().filter(|found| **found).count() < most {
                // Relaxed, here and below: the fence in `wait`.
                let is_new = |at: usize| !found[at] && self.waits[at].load(Ordering::Relaxed);
                self.call.wait(|| is_new(0) || is_new(1), None);
                found = [0, 1].map(|at| found[at] || self.waits[at].load(Ordering::Relaxed));
            }
        }
    }

    #[test]
    fn loom_a_call_is_never_missed() {
        explore(|| {
            let desk = Arc::new(Desk::default());
            let client = desk.clone();
            let client = loom::thread::spawn(move || client.leaves(0));
            desk.serves(1);
            client.join().unwrap();
        });
    }

    #[test]
    fn loom_of_two_callers_each_is_served() {
        explore(|| {
            let desk = Arc::new(Desk::default());
            let clients: [_; 2] = [0, 1].map(|caller| {
                let desk = desk.clone();
                loom::thread::spawn(move || desk.leaves(caller))
            });
            desk.serves(2);
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
    }
}
