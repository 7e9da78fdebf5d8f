//! A lock inside one process that a fork can take, so that the child finds what it guards whole. It is held for moments.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that one thread at a time has.
pub struct Own<T> {
    busy: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `lock` lets one thread at the value.
unsafe impl<T: Send> Sync for Own<T> {}

/// The right to it.
pub struct Guard<'a, T>(&'a Own<T>);

impl<T> Own<T> {
    pub const fn new(value: T) -> Self {
        Own { busy: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub fn lock(&self) -> Guard<'_, T> {
        // ORDERING: Acquire ↔ Release in `unlock`.
        while self.busy.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // SAFETY: no conditions.
            unsafe { libc::sched_yield() };
        }
        Guard(self)
    }

    /// What this thread has locked already: after a fork.
    pub fn lock_again(&self) -> Guard<'_, T> {
        Guard(self)
    }

    /// Gives back what `lock` gave; on both sides of a fork, too.
    pub fn unlock(&self) {
        self.busy.store(false, Ordering::Release);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}
