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
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
}

use parking_lot::lock_api::RawMutex as _;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ptr;

#[cfg(not(loom))]
use parking_lot::RawMutex;

/// Loom's threads share one real thread, which must not sleep: a thread that finds the lock taken lets the others run.
#[cfg(loom)]
struct RawMutex(AtomicBool);

#[cfg(loom)]
// SAFETY: one thread at a time succeeds in `try_lock` until it calls `unlock`.
unsafe impl parking_lot::lock_api::RawMutex for RawMutex {
    type GuardMarker = parking_lot::lock_api::GuardNoSend;
    #[allow(clippy::declare_interior_mutable_const)] // the trait has it so; loom's can't be made at compile time
    const INIT: Self = panic!("made by `ModeLock::new`");

    fn lock(&self) {
        while !self.try_lock() {
            yield_now();
        }
    }

    fn try_lock(&self) -> bool {
        // ORDERING: Acquire ↔ the Release in `unlock`: the holder of the lock sees what was done under it before.
        self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    unsafe fn unlock(&self) {
        self.0.store(false, Ordering::Release); // ORDERING: as above
    }
}

/// A value that one thread at a time may look at: guarded by a lock when client threads run concurrently, by the
/// client's own promise when they do not (SEQ: one thread; PARSYNC: threads ordered by the client).
///
/// The value is handed out by shared reference only, and its mutable parts are `Cell`s. So a thread may enter again in SEQ
/// (a reply handler run inside a reply). In threaded mode that would deadlock: a caller that may be inside already uses the
/// reference that it has.
pub struct ModeLock<T> {
    raw: RawMutex,
    threaded: bool,
    value: UnsafeCell<T>,
}

// SAFETY: `with`/`try_with` give out `&T` to one thread at a time: by `raw` in threaded mode; else by the promise
// made to `ModeLock::new`. `T: Send` because different threads get it one after the other.
unsafe impl<T: Send> Sync for ModeLock<T> {}

impl<T> ModeLock<T> {
    /// # Safety
    /// With `threaded == false` the caller promises that no two threads ever use this lock at the same time, and that
    /// uses on different threads are ordered by happens-before (GASNET_SEQ and GASNET_PARSYNC; contract: core.md §5).
    pub unsafe fn new(threaded: bool, value: T) -> Self {
        #[cfg(not(loom))]
        let raw = RawMutex::INIT;
        #[cfg(loom)]
        let raw = RawMutex(AtomicBool::new(false));
        Self { raw, threaded, value: UnsafeCell::new(value) }
    }

    /// The value, after waiting for the lock in threaded mode; locked until the result is dropped. In SEQ it costs one predicted
    /// branch.
    #[inline(always)]
    pub fn lock(&self) -> Locked<'_, T> {
        if self.threaded {
            self.raw.lock();
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

    /// As [`Self::with`], but gives up at once when another thread is inside.
    #[inline(always)]
    pub fn try_with<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        if self.threaded && !self.raw.try_lock() {
            return None;
        }
        Some(f(&Locked(self, PhantomData)))
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
            // SAFETY: locked by the call that made this value, on this thread, since the value is not `Send`.
            unsafe { self.0.raw.unlock() }
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
