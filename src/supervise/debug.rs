//! Help for a person who looks for an error: stack trace and freeze. Contract: environment.md §2.2.

#![allow(unsafe_code)] // processes and signals

use crate::base::config::Config;
use crate::base::log;
use crate::os::{host, stay, sys};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use crate::tools::backtrace;
use libc::{c_int, c_void};
use std::fmt::{self, Write as _};
use std::time::Duration;

static FREEZE: AtomicBool = AtomicBool::new(false);
static OWN_FROZEN: FrozenCell = FrozenCell(std::cell::UnsafeCell::new(0));
static FROZEN: AtomicPtr<c_int> = AtomicPtr::new(OWN_FROZEN.0.get());
// How often a SIGCONT has found a frozen thread, and the number of threads that are frozen.
static RESUMED: AtomicU32 = AtomicU32::new(0);
static FROZEN_THREADS: AtomicU32 = AtomicU32::new(0);

struct FrozenCell(std::cell::UnsafeCell<c_int>);
// SAFETY: reached only by volatile accesses to one aligned int, as a debugger makes them.
unsafe impl Sync for FrozenCell {}

/// Reads the settings that apply on an error. `node` is this node's rank, if there is a job. Called by init, and by
/// programs that use the tools without a job.
pub fn configure(config: &Config, node: Option<u32>) {
    stay::loaded(); // signal handlers follow
    FREEZE.store(config.freeze_on_error, Ordering::Relaxed); // Relaxed: set at init, before any error that would freeze
    backtrace::configure(config, node);
    let take = |signal: Option<c_int>, handler: sys::Handler| {
        signal.into_iter().for_each(|signal| sys::set_handler(signal, handler));
    };
    take(config.observe.backtrace_signal, on_backtrace_signal);
    take(config.observe.freeze_signal, on_freeze_signal);
}

extern "C" fn on_backtrace_signal(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    backtrace::print(2);
}

extern "C" fn on_freeze_signal(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    freeze();
}

/// True if errors freeze the process.
pub fn freezes_on_error() -> bool {
    FREEZE.load(Ordering::Relaxed) // Relaxed: a setting
}

/// Sets the word that a debugger sets to 0 to resume the process (`gasnet_frozen`).
///
/// # Safety
/// `cell` is a valid aligned int for the life of the process.
pub unsafe fn set_frozen_cell(cell: *mut c_int) {
    FROZEN.store(cell, Ordering::Relaxed); // Relaxed: set at init, by the thread that continues
}

/// Prints a trace and freezes, if either is switched on. It is as async-signal-safe as [`backtrace::print`]. The
/// signal handlers that call it are installed after [`configure`] has run. Without a job no signal handler calls it.
pub fn on_error() {
    if !backtrace::is_configured() {
        // A malformed variable must not hide this error, so its default is used.
        let config = Config::from_env().map_or_else(|_| Config::default(), |(config, _)| config);
        configure(&config, None);
    }
    crate::trace::flush();
    if backtrace::is_enabled() {
        backtrace::print(2);
    }
    if freezes_on_error() {
        freeze();
    }
}

extern "C" fn resume(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    RESUMED.fetch_add(1, Ordering::Relaxed); // Relaxed: a count, which hands nothing over
}

/// Whether [`freeze`] holds a thread of this process.
pub fn is_frozen() -> bool {
    FROZEN_THREADS.load(Ordering::Relaxed) != 0 // Relaxed: a hint
}

/// Prints host, pid and how to resume, then waits until a debugger clears `gasnet_frozen` or SIGCONT arrives.
pub fn freeze() {
    let cell = FROZEN.load(Ordering::Relaxed); // Relaxed: see `set_frozen_cell`
    // SAFETY: valid by the contract of `set_frozen_cell`.
    unsafe { freeze_at(cell, "gasnet_frozen") }
}

/// Like [`freeze`], with a word of the caller's and its name. The word is 1 while the thread is frozen.
///
/// # Safety
/// `cell` is a valid aligned int until this returns.
pub unsafe fn freeze_at(cell: *mut c_int, name: &str) {
    // SAFETY: the caller promises a valid aligned int; volatile because a debugger writes it too.
    let set = |value: c_int| unsafe { cell.write_volatile(value) };
    // SAFETY: the caller promises a valid aligned int; volatile because a debugger writes it too.
    let get = || unsafe { cell.read_volatile() };
    let pid = sys::pid();
    let before = sys::disposition(libc::SIGCONT);
    let resumed = RESUMED.load(Ordering::Relaxed); // Relaxed: see `resume`
    set(1);
    FROZEN_THREADS.fetch_add(1, Ordering::Relaxed); // Relaxed: see `is_frozen`
    sys::set_handler(libc::SIGCONT, resume);
    sys::SignalSet::new(&[libc::SIGCONT]).apply(libc::SIG_UNBLOCK);
    log::error(format_args!(
        "frozen on host {}, pid {pid}: attach a debugger and set {name} to 0, or run kill -CONT {pid}",
        host::name().to_string_lossy()
    ));
    while get() != 0 && RESUMED.load(Ordering::Relaxed) == resumed {
        sys::nap(Duration::from_millis(100));
    }
    set(0);
    let left = FROZEN_THREADS.fetch_sub(1, Ordering::Relaxed); // Relaxed: see `is_frozen`
    if let Some(before) = before.filter(|_| left == 1) {
        sys::restore_disposition(libc::SIGCONT, &before);
    }
}

struct Plain {
    bytes: [u8; 256],
    len: usize,
}

impl fmt::Write for Plain {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let n = s.len().min(self.bytes.len() - 1 - self.len); // keeps one byte for the newline
        self.bytes[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Prints a line whose form the contract fixes, so it has no prefix of [`log::Line`]. Cut at 255 bytes.
/// Async-signal-safe.
pub fn plain_line(text: fmt::Arguments<'_>) {
    let mut line = Plain { bytes: [0; 256], len: 0 };
    let _ = line.write_fmt(text);
    line.bytes[line.len] = b'\n';
    sys::write_stderr(&line.bytes[..=line.len]);
}
