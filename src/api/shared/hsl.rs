//! Handler-safe locks (contract: core.md §11.2). The header takes a free lock inline, and releases a lock that no
//! thread waits for. This module has the other cases.
//!
//! State: 0 free, 1 locked, 2 locked and a thread may sleep. A lock excludes threads of one process only.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::os::sys;
use crate::sync::{AtomicU32, Ordering};
use crate::trace::{self, NO_NODE, TracedOp};
use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

/// `gasnet_hsl_t`. Release clients use `gasneti_state` only; debug clients use all fields.
#[repr(C)]
pub struct gasnet_hsl_t {
    /// 0 free, 1 locked, 2 locked with sleepers.
    pub gasneti_state: u32,
    /// How the lock was initialised: `GASNETI_SCI_HSL_STATIC`, `GASNETI_SCI_HSL_INIT`; another value: not at all.
    pub gasneti_magic: u32,
    /// The lock's own address, if `gasnet_hsl_init` initialised it. It differs in a copy of the lock.
    pub gasneti_self: *mut c_void,
    /// The thread that holds the lock.
    pub gasneti_holder: usize,
    /// The lock that the holder took before this one and still holds.
    pub gasneti_below: *mut c_void,
    /// The time at which it was taken, in milliseconds of the monotonic clock.
    pub gasneti_since: u64,
    /// The client's file whose code took it.
    pub gasneti_file: *const c_char,
    /// The line in `gasneti_file`.
    pub gasneti_line: c_int,
}

/// `gasneti_magic` of `GASNET_HSL_INITIALIZER`.
pub const GASNETI_SCI_HSL_STATIC: u32 = 0x48534c53;
/// `gasneti_magic` after `gasnet_hsl_init`.
pub const GASNETI_SCI_HSL_INIT: u32 = 0x48534c49;

const _: () = assert!(std::mem::offset_of!(gasnet_hsl_t, gasneti_state) == 0, "the state is reached by a cast");
const FREE: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;
/// Looks at a taken lock before sleeping: about 5 µs, longer than a short critical section.
const SPINS: u32 = 100;
/// Longest sleep. It is a safeguard in case the kernel loses a wake-up; progress does not depend on it.
const NAP: Duration = Duration::from_secs(1);

/// # Safety
/// `hsl` points to an initialised lock that stays in place for `'a`.
pub(in crate::api) unsafe fn state<'a>(hsl: *mut gasnet_hsl_t) -> &'a AtomicU32 {
    // SAFETY: the caller promises an initialised lock; the state is its first word, and only ever changed atomically.
    unsafe { AtomicU32::from_ptr(hsl.cast()) }
}

/// Waits until the lock is free, and takes it. It runs no handlers, because its caller may be a handler.
///
/// # Safety
/// `hsl` points to an initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_lock(hsl: *mut gasnet_hsl_t) {
    // SAFETY: the caller promises that `hsl` points to an initialised lock.
    let state = unsafe { state(hsl) };
    // ORDERING: Acquire ↔ the Release in unlock: the next holder sees what the last one wrote.
    if state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        return;
    }
    let _recorded = trace::span(TracedOp::LockWait, NO_NODE, 0);
    for _ in 0..SPINS {
        // ORDERING: Acquire ↔ the Release in unlock.
        if state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        std::hint::spin_loop();
    }
    // ORDERING: Acquire ↔ the Release in unlock. This thread cannot know whether others sleep, so it stores CONTENDED.
    while state.swap(CONTENDED, Ordering::Acquire) != FREE {
        sys::futex_wait(state, CONTENDED, NAP);
    }
}

/// Takes the lock if it is free and returns 1; otherwise returns 0. Never waits.
///
/// # Safety
/// As [`gasneti_sci_hsl_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_trylock(hsl: *mut gasnet_hsl_t) -> i32 {
    // SAFETY: the caller promises that `hsl` points to an initialised lock.
    let state = unsafe { state(hsl) };
    // ORDERING: Acquire, as in lock.
    i32::from(state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok())
}

/// Releases the lock, and wakes the threads that sleep for it.
///
/// # Safety
/// As [`gasneti_sci_hsl_lock`]; this thread holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_unlock(hsl: *mut gasnet_hsl_t) {
    // SAFETY: the caller promises that `hsl` points to an initialised lock.
    let state = unsafe { state(hsl) };
    // ORDERING: Release ↔ Acquire in lock.
    if state.swap(FREE, Ordering::Release) == CONTENDED {
        sys::futex_wake_all(state);
    }
}
