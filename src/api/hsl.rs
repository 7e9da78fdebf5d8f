//! Handler-safe locks (contract: core.md §11.2). The header takes and releases free locks inline; here is what is left.
//!
//! State: 0 free, 1 locked, 2 locked and somebody may sleep. Exclusion is among threads of one process only.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::os::sys;
use crate::sync::{AtomicU32, Ordering};
use crate::trace::{self, NO_NODE, TracedOp};
use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

/// `gasnet_hsl_t`. Release clients use `state` only; debug clients the rest as well.
#[repr(C)]
pub struct gasnet_hsl_t {
    /// 0 free, 1 locked, 2 locked with sleepers.
    pub gasneti_state: u32,
    /// Says whether and how it was initialised.
    pub gasneti_magic: u32,
    /// Own address, when initialised by call: tells a copy, or a leftover on the stack, from the lock.
    pub gasneti_self: *mut c_void,
    /// Thread that holds it.
    pub gasneti_holder: usize,
    /// The lock that this thread took before.
    pub gasneti_below: *mut c_void,
    /// Milliseconds, monotonic: since when it is held.
    pub gasneti_since: u64,
    /// Where it was taken.
    pub gasneti_file: *const c_char,
    /// See `gasneti_file`.
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
/// A bound for lost wake-ups of the kernel's, not for progress.
const NAP: Duration = Duration::from_secs(1);

/// # Safety
/// `hsl` points to an initialised lock that stays in place for `'a`.
pub(super) unsafe fn state<'a>(hsl: *mut gasnet_hsl_t) -> &'a AtomicU32 {
    // SAFETY: the caller promises an initialised lock; the state is its first word, and only ever changed atomically.
    unsafe { AtomicU32::from_ptr(hsl.cast()) }
}

/// Waits until the lock is free, and takes it. Runs no handlers: the caller may be one.
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
        // ORDERING: Acquire, as above.
        if state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        std::hint::spin_loop();
    }
    // ORDERING: Acquire, as above. We can't know whether others sleep, so we leave it contended.
    while state.swap(CONTENDED, Ordering::Acquire) != FREE {
        sys::futex_wait(state, CONTENDED, NAP);
    }
}

/// Takes the lock if it is free: 1, else 0. Never waits.
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

/// Releases the lock and wakes sleepers.
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
