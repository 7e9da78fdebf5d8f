//! A lock that a signal handler may ask for, which has interrupted its thread anywhere.
//!
//! Its sleepers wait in the system (futex), and in no list of the process: `parking_lot`'s, which is for all locks, has a lock of its own, and the
//! interrupted thread may have just that. A handler would wait for it forever, when it asks as well as when it gives a lock back.
//!
//! Who asks in a handler does not sleep there, and looks again and again ([`Lock::within`]). Others would hardly ever leave a gap: a thread
//! that works holds the lock nearly always. So they see that somebody is looking, and wait until that is over.
//!
//! Must not know: what is locked.

use super::sys;
use crate::sync::fixed::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_micros(20);
/// So often others wait for so long, at most, while somebody is looking: who looked may have been interrupted by a handler that never returns.
const TURNS: usize = 2_500;

/// The lock. A panic of who has it does not close it: the library aborts then.
#[derive(Default)]
pub struct Lock<T> {
    inner: Mutex<T>,
    /// Threads that look.
    looking: AtomicU32,
}

/// Having it.
pub type Guard<'a, T> = MutexGuard<'a, T>;

impl<T> Lock<T> {
    /// A lock that nobody has.
    pub const fn new(value: T) -> Lock<T> {
        Lock { inner: Mutex::new(value), looking: AtomicU32::new(0) }
    }

    /// Waits until it is free. Not for handlers, which may have interrupted who has it.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        if self.is_looked_at() {
            self.let_first();
        }
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, if it is free and nobody is looking.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        if self.is_looked_at() { None } else { self.look() }
    }

    /// The lock, if it becomes free in this time. For handlers, too: one that has interrupted who has it gets nothing.
    pub fn within(&self, time: Duration) -> Option<Guard<'_, T>> {
        let found = self.look();
        if found.is_some() || time.is_zero() {
            return found;
        }
        self.looking.fetch_add(1, Ordering::Relaxed); // Relaxed: a hint; the lock has its own order
        let begin = Instant::now();
        let found = loop {
            let found = self.look();
            if found.is_some() || begin.elapsed() >= time {
                break found;
            }
            sys::nap(BETWEEN_LOOKS);
        };
        self.looking.fetch_sub(1, Ordering::Relaxed); // Relaxed: as above
        found
    }

    #[inline]
    fn is_looked_at(&self) -> bool {
        self.looking.load(Ordering::Relaxed) != 0 // Relaxed: as above
    }

    #[inline]
    fn look(&self) -> Option<Guard<'_, T>> {
        match self.inner.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cold]
    fn let_first(&self) {
        for _ in 0..TURNS {
            if !self.is_looked_at() {
                return;
            }
            sys::nap(BETWEEN_LOOKS);
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(unsafe_code)] // parking_lot's own lock, which a test takes
mod tests {
    use super::*;
    use crate::sync::AtomicBool;
    use std::thread;

    /// A thread that is about to sleep has the lock of all who sleep there. A signal handler runs now: it asks in vain for a lock that another
    /// thread has, gets one that is free, for which somebody may wait, and gives it back.
    #[test]
    fn a_handler_takes_no_lock_of_those_who_sleep() {
        let (taken, free) = (Lock::new(()), Lock::new(()));
        let (others, mut found) = (taken.lock(), None);
        let handler = || {
            let free = free.within(Duration::from_millis(1));
            found = Some((taken.within(Duration::from_millis(1)).is_some(), free.is_some()));
            drop(free);
            false
        };
        let at = (&raw const taken).addr();
        // SAFETY: nobody else sleeps at this address, and no closure panics or calls parking_lot.
        unsafe { parking_lot_core::park(at, handler, || {}, |_, _| {}, parking_lot_core::DEFAULT_PARK_TOKEN, None) };
        drop(others);
        assert_eq!(found, Some((false, true)));
        assert!(taken.within(Duration::ZERO).is_some());
    }

    /// One thread holds it nearly always, and takes it again at once. While somebody looks, it takes it once more at most, if it has not seen
    /// that yet.
    #[test]
    fn who_looks_gets_it_when_those_who_had_it_give_it_back() {
        const ROUNDS: u32 = 20;
        let (lock, is_over, late) = (Lock::new(()), AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // Relaxed, here and below: the test's counts
                    let held = lock.lock();
                    late.fetch_add(u32::from(lock.is_looked_at()), Ordering::Relaxed);
                    sys::nap(Duration::from_millis(1));
                    drop(held);
                }
            });
            for _ in 0..ROUNDS {
                while lock.look().is_some() {} // until the other one has it
                assert!(lock.within(Duration::from_secs(60)).is_some());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(late.load(Ordering::Relaxed) <= ROUNDS, "{late:?}");
    }

    #[test]
    fn others_see_that_somebody_looks() {
        let lock = Lock::new(());
        let held = lock.lock();
        thread::scope(|scope| {
            let looks = scope.spawn(|| lock.within(Duration::from_secs(60)).is_some());
            while !lock.is_looked_at() {}
            drop(held);
            assert!(looks.join().unwrap());
        });
        assert!(!lock.is_looked_at() && lock.try_lock().is_some());
    }
}
