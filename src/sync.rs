//! The only door to atomics, fences and shared mutable cells: std's, or loom's under `--cfg loom`.
//!
//! Must not know what is protected: no protocol, no region layout.

#![allow(unsafe_code)] // a lock that is a branch where one thread calls

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Keeps the compiler from reordering. Std's always: loom has none, and what pairs with it (membarrier) it can't model.
pub use std::sync::atomic::compiler_fence;

#[cfg(loom)]
pub use loom::thread::yield_now;
#[cfg(not(loom))]
pub use std::{hint::spin_loop, thread::yield_now};

/// A pause in a spin loop that is bounded. Loom's own would hand the thread over, and hide what a spinning thread sees.
#[cfg(loom)]
pub fn spin_loop() {}

/// Atomics that belong to no protocol: std's always, since loom's can't be made at compile time nor pointed to.
pub mod fixed {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}

/// Threads that sleep, and the lock of a list of them: std's and parking_lot's, or loom's.
#[cfg(not(loom))]
pub mod park {
    pub use parking_lot::Mutex;
    pub use std::thread::{Thread, current};
    use std::time::Duration;

    /// A store of a thread that goes without a fence has left its core's store buffer by then, long since.
    const SETTLE: Duration = Duration::from_micros(50);

    /// Keeps a store before a look at what a thread stores before it settles ([`settle`]). That thread waits, so this one needs no fence
    /// (sci/interrupt.rs, the race). A model has no time, and has fences instead.
    #[inline(always)]
    pub fn before_settled() {
        super::compiler_fence(super::Ordering::SeqCst);
    }

    /// The first part of a sleep of at most `time`, by `sleep`. Who looks afterwards sees what others stored before
    /// [`before_settled`], or they see what this thread stored.
    pub fn settle(time: Duration, sleep: impl FnOnce(Duration)) {
        sleep(time.min(SETTLE));
    }

    /// This thread, `me`, sleeps until somebody unparks it, or the time is over.
    pub fn sleep(_me: &Thread, time: Duration) {
        std::thread::park_timeout(time);
    }

    /// Where threads sleep as long as something holds.
    #[derive(Default)]
    pub struct Beds(());

    impl Beds {
        /// Sleeps for a short time.
        pub fn sleep(&self, _holds: impl Fn() -> bool) {
            std::thread::sleep(SETTLE);
        }

        /// What holds may have changed.
        pub fn wake(&self) {}
    }
}

/// The same for models. A sleep has no end of its own, so that a wake-up that is missing is seen.
#[cfg(loom)]
pub mod park {
    use super::{Ordering, fence};
    use loom::sync::{Condvar, MutexGuard};
    use std::sync::Arc;
    use std::time::Duration;

    /// As parking_lot's: loom's threads share one real thread, which must not block.
    #[derive(Default)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Locks it.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no holder panics")
        }
    }

    /// What wakes a thread. Loom's own forgets a wake-up that finds the thread yielding.
    #[derive(Clone)]
    pub struct Thread(Arc<(Mutex<bool>, Condvar)>);

    /// This thread, for one sleep.
    pub fn current() -> Thread {
        Thread(Arc::new((Mutex::default(), Condvar::new())))
    }

    impl Thread {
        /// Ends its sleep, or its next one.
        pub fn unpark(&self) {
            *self.0.0.lock() = true;
            self.0.1.notify_one();
        }
    }

    /// See the other one.
    pub fn before_settled() {
        fence(Ordering::SeqCst); // ORDERING: ↔ the one in `settle`
    }

    /// See the other one.
    pub fn settle(_time: Duration, _sleep: impl FnOnce(Duration)) {
        fence(Ordering::SeqCst); // ORDERING: ↔ the one in `before_settled`
    }

    /// See the other one.
    pub fn sleep(me: &Thread, _time: Duration) {
        let mut woken = me.0.0.lock();
        while !*woken {
            woken = me.0.1.wait(woken).expect("no holder panics");
        }
        *woken = false;
    }

    /// See the other ones. A sleep has no end of its own.
    #[derive(Default)]
    pub struct Beds(Mutex<()>, Condvar);

    impl Beds {
        /// Sleeps as long as it holds.
        pub fn sleep(&self, holds: impl Fn() -> bool) {
            let mut lock = self.0.lock();
            while holds() {
                lock = self.1.wait(lock).expect("no holder panics");
            }
        }

        /// What holds may have changed.
        pub fn wake(&self) {
            drop(self.0.lock());
            self.1.notify_all();
        }
    }
}

/// Plain memory of a model: two accesses that nothing orders fail the model.
#[cfg(all(loom, test))]
pub use loom::cell::UnsafeCell as ModelCell;

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ptr;

/// A lock of one word, which the C header takes as well (`gasneti_sci_lock`). 0: free; 1: taken.
///
/// To unlock is a plain store, so that a holder pays for one read-modify-write. The price: a thread that waits for long cannot
/// be woken, and sleeps for bounded times. Where holders keep a lock for long (the inbox runs handlers, a bounced Long waits for
/// its copy), others try it and go on, or have nothing better to do.
struct Word(AtomicU32);

/// Looks at a taken lock, with a pause after each, before the waiting thread gives its core to others.
#[cfg(not(loom))]
const LOCK_SPINS: u32 = 64;
/// Yields before the waiting thread sleeps for 50 µs. Then it begins again with looks. Without sleeps a thread of a higher
/// priority than the holder's would wait for ever, because it yields to its equals only. A yield may last for a time slice.
#[cfg(not(loom))]
const LOCK_YIELDS: u32 = 20;

impl Word {
    #[inline(always)]
    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        // ORDERING: Acquire ↔ the Release in `unlock`: the holder sees what was done under the lock before.
        self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn unlock(&self) {
        self.0.store(0, Ordering::Release); // ORDERING: as above
    }

    /// Loom's threads share one real thread, which must not sleep: a thread that finds the lock taken lets the others run.
    #[cfg(loom)]
    fn wait(&self) {
        while !self.try_lock() {
            yield_now();
        }
    }

    #[cfg(not(loom))]
    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut looks = 0u32;
        loop {
            // Relaxed: a hint, which spares the holder's line the read-modify-writes in vain.
            if self.0.load(Ordering::Relaxed) == 0 && self.try_lock() {
                return;
            }
            match looks {
                0..LOCK_SPINS => spin_loop(),
                _ if looks < LOCK_SPINS + LOCK_YIELDS => yield_now(),
                _ => {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    looks = 0;
                    continue;
                }
            }
            looks += 1;
        }
    }
}

/// A value that one thread at a time may look at: guarded by a lock when client threads run concurrently, by the
/// client's own promise when they do not (SEQ: one thread; PARSYNC: threads ordered by the client).
///
/// The value is handed out by shared reference only, and its mutable parts are `Cell`s. So a thread may enter again in SEQ
/// (a reply handler run inside a reply). In threaded mode that would deadlock: a caller that may be inside already uses the
/// reference that it has.
#[repr(C)] // the header finds the word of the lock at the beginning
pub struct ModeLock<T> {
    word: Word,
    threaded: bool,
    value: UnsafeCell<T>,
}

// SAFETY: `with`/`try_with` give out `&T` to one thread at a time: by `word` in threaded mode; else by the promise
// made to `ModeLock::new`. `T: Send` because different threads get it one after the other.
unsafe impl<T: Send> Sync for ModeLock<T> {}

impl<T> ModeLock<T> {
    /// Where the word of the lock lies: 1 while a thread has it, else 0.
    pub const WORD: usize = std::mem::offset_of!(ModeLock<T>, word);

    /// # Safety
    /// With `threaded == false` the caller promises that no two threads ever use this lock at the same time, and that
    /// uses on different threads are ordered by happens-before (GASNET_SEQ and GASNET_PARSYNC; contract: core.md §5).
    pub unsafe fn new(threaded: bool, value: T) -> Self {
        Self { word: Word(AtomicU32::new(0)), threaded, value: UnsafeCell::new(value) }
    }

    /// The value, after waiting for the lock in threaded mode; locked until the result is dropped. In SEQ it costs one predicted
    /// branch.
    #[inline(always)]
    pub fn lock(&self) -> Locked<'_, T> {
        if self.threaded {
            self.word.lock();
        }
        Locked(self, PhantomData)
    }

    /// Runs `f` with the value, locked as by [`Self::lock`].
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        f(&self.lock())
    }

    /// The value where no lock is needed (SEQ and PARSYNC); `None` in threaded mode.
    #[inline(always)]
    pub fn unguarded(&self) -> Option<&T> {
        // SAFETY: promised exclusive at `new`; only shared references ever exist.
        (!self.threaded).then(|| unsafe { &*self.value.get() })
    }

    /// As [`Self::lock`], but gives up at once when another thread is inside.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<Locked<'_, T>> {
        (!self.threaded || self.word.try_lock()).then(|| Locked(self, PhantomData))
    }

    /// As [`Self::with`], but gives up at once when another thread is inside.
    #[inline(always)]
    pub fn try_with<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        self.try_lock().map(|value| f(&value))
    }
}

impl<T> ModeLock<T> {
    /// The value, for a caller further down the stack of a running `with`.
    ///
    /// # Safety
    /// This thread is inside `with` or `try_with` of this lock, and stays there while the reference lives.
    #[inline(always)]
    pub unsafe fn reenter(&self) -> &T {
        // SAFETY: the caller promises that this thread holds the lock; only shared references ever exist.
        unsafe { &*self.value.get() }
    }
}

/// The value of a [`ModeLock`], for the one thread that may use it. It stays on that thread, which must unlock.
pub struct Locked<'a, T>(&'a ModeLock<T>, PhantomData<*const ()>);

impl<T> std::ops::Deref for Locked<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: locked, or promised exclusive at `ModeLock::new`; only shared references ever exist.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Drop for Locked<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.threaded {
            self.0.word.unlock(); // locked by the call that made this value, on this thread, since the value is not `Send`
        }
    }
}

/// A value that the first thread to need it makes, and that then stays. If several threads make one at once, one is kept.
pub struct OnceBox<T> {
    value: AtomicPtr<T>,
    /// Shared between threads under the same conditions.
    _like: PhantomData<std::sync::OnceLock<T>>,
}

impl<T> OnceBox<T> {
    /// The value, if it was made.
    #[inline(always)]
    pub fn get(&self) -> Option<&T> {
        // ORDERING: Acquire ↔ the Release in `get_or_keep`: the value is seen as it was made.
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: null, or from the box that `get_or_keep` gave up to `self`, which lives as long.
        unsafe { value.as_ref() }
    }

    /// The value; what `make` makes, if there was none. Threads may make it at the same time: that of the first is kept.
    #[inline]
    pub fn get_or_make(&self, make: impl FnOnce() -> Box<T>) -> &T {
        self.get().unwrap_or_else(|| self.get_or_keep(make()))
    }

    /// The value; `made`, if there was none.
    pub fn get_or_keep(&self, made: Box<T>) -> &T {
        let made = Box::into_raw(made);
        // ORDERING: Release and Acquire as in `get`.
        let kept = match self.value.compare_exchange(ptr::null_mut(), made, Ordering::Release, Ordering::Acquire) {
            Ok(_) => made,
            Err(first) => {
                // SAFETY: from the line above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                first
            }
        };
        // SAFETY: from a box that `get_or_keep` gave up to `self`, which lives as long.
        unsafe { &*kept }
    }
}

impl<T> Default for OnceBox<T> {
    fn default() -> Self {
        Self { value: AtomicPtr::new(ptr::null_mut()), _like: PhantomData }
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        let value = self.value.load(Ordering::Relaxed); // Relaxed: whoever drops it has it alone
        if !value.is_null() {
            // SAFETY: `get_or_keep` took it from a box, and no reference outlives `self`.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}
