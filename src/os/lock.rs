//! A lock that a signal handler may ask for, which has interrupted its thread anywhere.
//!
//! Its sleepers wait in the system (futex), and in no list of the process: `parking_lot`'s, which is for all locks, has a lock of its own, and the
//! interrupted thread may have just that. A handler would wait for it forever, when it asks as well as when it gives a lock back.
//!
//! Who asks in a handler does not sleep there, and looks again and again ([`Lock::within`]). Others would hardly ever leave a gap: a thread
//! that works holds the lock nearly always. So they see that somebody is looking, and wait until that is over.
//!
//! | who asks | by | waits |
//! |---|---|---|
//! | a thread that works | [`Lock::lock`] | in the system, behind those who look |
//! | who leaves, perhaps in a handler | [`Lock::within`] | for a time, ahead of all others |
//! | a thread that works while another one leaves | [`Lock::behind`] | for a time, behind those who look: the lock may be that of the thread that leaves, which never gives it back |
//!
//! [`Leaver`] knows who is who.
//!
//! Must not know: what is locked.

use super::sys;
use crate::sync::fixed::{AtomicU32, AtomicUsize, Ordering};
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
        let _others_wait = self.looks();
        Lock::<T>::again(time, || self.look())
    }

    /// The same behind those who look, for a thread that does not leave.
    pub fn behind(&self, time: Duration) -> Option<Guard<'_, T>> {
        let found = self.try_lock();
        if found.is_some() || time.is_zero() {
            return found;
        }
        Lock::<T>::again(time, || self.try_lock())
    }

    fn again<'a>(time: Duration, look: impl Fn() -> Option<Guard<'a, T>>) -> Option<Guard<'a, T>>
    where
        T: 'a,
    {
        let begin = Instant::now();
        loop {
            let found = look();
            if found.is_some() || begin.elapsed() >= time {
                return found;
            }
            sys::nap(BETWEEN_LOOKS);
        }
    }

    /// Somebody looks, until the result is dropped.
    pub(crate) fn looks(&self) -> Looking<'_> {
        self.looking.fetch_add(1, Ordering::Relaxed); // Relaxed: a hint; the lock has its own order
        Looking(&self.looking)
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

/// Somebody looks.
pub(crate) struct Looking<'a>(&'a AtomicU32);

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed); // Relaxed: as where it was counted
    }
}

/// The thread that leaves, if one does. It may be in a signal handler that has interrupted its own work.
#[derive(Default)]
pub struct Leaver(AtomicUsize);

impl Leaver {
    /// Nobody leaves.
    pub const fn nobody() -> Leaver {
        Leaver(AtomicUsize::new(0))
    }

    /// This thread leaves.
    pub fn leaves(&self) {
        self.0.store(sys::thread_number(), Ordering::Relaxed); // Relaxed: this thread knows it, and others need not yet
    }

    /// Some thread leaves.
    pub fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0 // Relaxed: a hint
    }

    /// The lock. `None`: a thread leaves, and it did not become free in this time. Without anybody who leaves this waits as long as it takes.
    #[inline]
    pub fn enter<'a, T>(&self, lock: &'a Lock<T>, time: Duration) -> Option<Guard<'a, T>> {
        match self.0.load(Ordering::Relaxed) {
            0 => Some(lock.lock()), // Relaxed, above: as in `leaves`
            leaver if leaver == sys::thread_number() => lock.within(time),
            _ => lock.behind(time),
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

    /// Who leaves is ahead of a thread that works meanwhile. That thread waits for a time only, since the lock may never be given back.
    #[test]
    fn who_leaves_is_ahead_of_others_and_neither_waits_for_ever() {
        const MOMENT: Duration = Duration::from_millis(1);
        let (lock, leaver) = (Lock::new(()), Leaver::default());
        assert!(!leaver.is_there() && leaver.enter(&lock, Duration::ZERO).is_some());
        leaver.leaves();
        let from_another =
            || thread::scope(|scope| scope.spawn(|| leaver.enter(&lock, MOMENT).is_some()).join().unwrap());
        assert!(leaver.is_there() && from_another());
        let looking = lock.looks();
        assert!(leaver.enter(&lock, MOMENT).is_some() && !from_another(), "one of them leaves");
        drop(looking);
        let held = lock.lock();
        assert!(leaver.enter(&lock, MOMENT).is_none() && !from_another(), "it is this thread's own");
        drop(held);
        assert!(from_another());
    }
}
