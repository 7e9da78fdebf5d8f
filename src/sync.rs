//! The only door to atomics, fences and shared mutable cells: std's, or loom's under `--cfg loom`.
//!
//! Must not know what is protected: no protocol, no region layout.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

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
    pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
}

use parking_lot::lock_api::RawMutex as _;
use std::cell::UnsafeCell;

/// A value that one thread at a time may look at: guarded by a lock when client threads run concurrently, by the
/// client's own promise when they do not (SEQ: one thread; PARSYNC: threads ordered by the client).
///
/// The value is handed out by shared reference only. What changes inside it is a `Cell`, so entering again on the same
/// thread (a reply handler run inside a reply, in SEQ) is harmless; in threaded mode it would deadlock, and callers
/// that may be inside already keep the reference they have.
pub struct ModeLock<T> {
    raw: parking_lot::RawMutex,
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
    pub const unsafe fn new(threaded: bool, value: T) -> Self {
        Self { raw: parking_lot::RawMutex::INIT, threaded, value: UnsafeCell::new(value) }
    }

    /// Runs `f` with the value, after waiting for the lock in threaded mode. In SEQ it costs one predicted branch.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        if self.threaded {
            self.raw.lock();
        }
        let _unlock = Unlock(self);
        // SAFETY: locked, or promised exclusive at `new`; only shared references ever exist.
        f(unsafe { &*self.value.get() })
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
        let _unlock = Unlock(self);
        // SAFETY: as in `with`.
        Some(f(unsafe { &*self.value.get() }))
    }
}

impl<T> ModeLock<T> {
    /// The value, for a caller further down the stack of a running `with`.
    ///
    /// # Safety
    /// This thread is inside `with` or `try_with` of this lock, and stays there while the reference lives.
    #[inline(always)]
    pub unsafe fn reenter(&self) -> &T {
        // SAFETY: the caller's promise: this thread holds the lock; only shared references ever exist.
        unsafe { &*self.value.get() }
    }
}

struct Unlock<'a, T>(&'a ModeLock<T>);

impl<T> Drop for Unlock<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.threaded {
            // SAFETY: locked by the `with`/`try_with` that made this guard, on this thread.
            unsafe { self.0.raw.unlock() }
        }
    }
}
