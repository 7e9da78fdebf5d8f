//! The one way to give up. Every folder may call [`fatal`]. Higher folders know what a user wants to see before the
//! process ends (stack trace, freeze, the last lines of a trace). They install a hook here that shows it.
//!
//! Must not know: jobs, exit codes, signals.

#![allow(unsafe_code)] // a function behind an atomic address

use super::log;
use crate::sync::fixed::{AtomicBool, AtomicPtr, Ordering};
use std::ffi::c_void;
use std::fmt::{self, Write as _};
use std::ptr;

#[cfg(any(test, fuzzing))]
pub mod caught;

/// The status of a process that [`give_up`] ends.
const FAILED: u8 = 1;

static HOOK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static LEAVE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Sets the hook. It runs between the line of a fatal error and the end of the process. Any thread may call it, and
/// so may signal handlers.
pub fn set_fatal_hook(hook: fn()) {
    // ORDERING: Release ↔ Acquire in `abort`: the hook sees what was set up before.
    HOOK.store(hook as *mut c_void, Ordering::Release);
}

/// Sets how [`give_up`] leaves the job.
pub fn set_leave_hook(leave: fn(u8) -> !) {
    // ORDERING: Release ↔ Acquire in `give_up`: the function sees what was set up before.
    LEAVE.store(leave as *mut c_void, Ordering::Release);
}

/// Ends the job for a reason that cannot be handled. It prints `*** FATAL ERROR: node i/N: …` on stderr, runs the
/// hook and raises SIGABRT, from which the supervisor knows that the job has failed. Legal anywhere. Under loom it
/// fails the model.
#[cold]
pub fn fatal(text: fmt::Arguments<'_>) -> ! {
    #[cfg(any(test, fuzzing))]
    caught::throw(text);
    if cfg!(loom) {
        panic!("{text}");
    }
    report(text);
    abort()
}

/// Ends the job as [`fatal`] does, for what is no fault of this process, such as the loss of a peer: it leaves with status 1, and is no
/// crash.
#[cold]
pub fn give_up(text: fmt::Arguments<'_>) -> ! {
    #[cfg(any(test, fuzzing))]
    caught::throw(text);
    if cfg!(loom) {
        panic!("{text}");
    }
    report(text);
    run_hook();
    // ORDERING: Acquire ↔ Release in `set_leave_hook`: the function sees what was set up before.
    let leave = LEAVE.load(Ordering::Acquire);
    if !leave.is_null() {
        // SAFETY: only `set_leave_hook` stores here, and it stores a `fn(u8) -> !`.
        let leave = unsafe { std::mem::transmute::<*mut c_void, fn(u8) -> !>(leave) };
        leave(FAILED);
    }
    // SAFETY: _exit may be called anywhere and runs no user code.
    unsafe { libc::_exit(FAILED.into()) }
}

/// Prints the line of a fatal error. Does nothing else.
pub fn report(text: fmt::Arguments<'_>) {
    let mut line = log::Line::new("*** FATAL ERROR: ");
    let _ = line.write_fmt(text);
    line.send();
}

/// Ends the process after [`report`].
pub fn abort() -> ! {
    REPORTED.store(true, Ordering::Relaxed); // Relaxed: read on this thread, in the handler of SIGABRT
    run_hook();
    // SAFETY: abort(3) has no preconditions.
    unsafe { libc::abort() }
}

fn run_hook() {
    // ORDERING: Acquire ↔ Release in `set_fatal_hook`: the hook sees what was set up before.
    let hook = HOOK.load(Ordering::Acquire);
    if !hook.is_null() {
        // SAFETY: only `set_fatal_hook` stores here, and it stores a `fn()`.
        let hook = unsafe { std::mem::transmute::<*mut c_void, fn()>(hook) };
        hook();
    }
}

/// Whether [`report`] has printed the reason for a SIGABRT.
pub fn is_reported() -> bool {
    REPORTED.load(Ordering::Relaxed) // Relaxed: see `abort`
}
