//! Help for the person who looks for an error: stack trace and freeze. Contract: environment.md §2.2.

use super::sys;
use crate::config::Config;
use crate::log;
use crate::sync::{AtomicBool, AtomicPtr, Ordering};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::fmt::{self, Write as _};
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

unsafe extern "C" {
    fn backtrace(frames: *mut *mut c_void, room: c_int) -> c_int;
}

const FRAMES: usize = 64;

static BACKTRACE: AtomicBool = AtomicBool::new(false);
static FREEZE: AtomicBool = AtomicBool::new(false);
static OWN_FROZEN: FrozenCell = FrozenCell(std::cell::UnsafeCell::new(0));
static FROZEN: AtomicPtr<c_int> = AtomicPtr::new(OWN_FROZEN.0.get());

struct FrozenCell(std::cell::UnsafeCell<c_int>);
// SAFETY: only reached through volatile accesses of one aligned int, as a debugger does.
unsafe impl Sync for FrozenCell {}

/// Reads the settings that matter on an error. `node` is the own rank.
pub fn configure(config: &Config, node: u32) {
    let trace = config.backtrace && config.backtrace_nodes.contains(node);
    // Relaxed: set at init, before any error of interest.
    BACKTRACE.store(trace, Ordering::Relaxed);
    FREEZE.store(config.freeze_on_error, Ordering::Relaxed);
    if trace {
        // The first call may allocate and load a library, which a signal handler must not.
        let mut frames = [ptr::null_mut(); 1];
        // SAFETY: room for one frame.
        unsafe { backtrace(frames.as_mut_ptr(), 1) };
    }
}

/// Where a debugger finds the word that it sets to 0 to resume (`gasnet_frozen`).
///
/// # Safety
/// `cell` is a valid aligned int for the life of the process.
pub unsafe fn set_frozen_cell(cell: *mut c_int) {
    FROZEN.store(cell, Ordering::Relaxed); // Relaxed: set at init by the thread that goes on
}

/// Trace and freeze, as far as they are switched on. Async-signal-safe but for the dynamic linker's lock, which the
/// trace takes to find names.
pub fn on_error() {
    // Relaxed: settings, see `configure`.
    if BACKTRACE.load(Ordering::Relaxed) {
        print_backtrace();
    }
    if FREEZE.load(Ordering::Relaxed) {
        freeze();
    }
}

/// One line per frame to stderr, each with the node in front.
pub fn print_backtrace() {
    let mut frames = [ptr::null_mut(); FRAMES];
    // SAFETY: room for FRAMES frames.
    let count = unsafe { backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    for (number, frame) in frames.iter().take(count.max(0) as usize).enumerate() {
        let mut line = log::Line::new("");
        let _ = write!(line, "#{number:<2} {frame:p}");
        describe(&mut line, *frame);
        line.send();
    }
}

fn describe(line: &mut log::Line, frame: *mut c_void) {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is writable; any address may be asked for.
    let found = unsafe { libc::dladdr(frame, info.as_mut_ptr()) } != 0;
    // SAFETY: zeroed is a valid value of every field.
    let info = unsafe { info.assume_init() };
    if found {
        if let Some(name) = text(info.dli_sname) {
            let _ = write!(line, " {name}+{:#x}", (frame as usize).wrapping_sub(info.dli_saddr as usize));
        }
        let offset = (frame as usize).wrapping_sub(info.dli_fbase as usize);
        let _ = write!(line, " ({}+{offset:#x})", text(info.dli_fname).unwrap_or("?"));
    }
}

fn text(name: *const c_char) -> Option<&'static str> {
    // SAFETY: dladdr gives NULL or a C string of the loaded object, which stays loaded.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })?;
    name.to_str().ok()
}

extern "C" fn resume(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    set_frozen(0);
}

fn set_frozen(value: c_int) {
    let cell = FROZEN.load(Ordering::Relaxed); // Relaxed: see `set_frozen_cell`
    // SAFETY: valid by the contract of `set_frozen_cell`; volatile because a debugger writes it too.
    unsafe { cell.write_volatile(value) };
}

/// True while [`freeze`] holds a thread of this process.
pub fn is_frozen() -> bool {
    let cell = FROZEN.load(Ordering::Relaxed); // Relaxed: see `set_frozen_cell`
    // SAFETY: as in `set_frozen`.
    unsafe { cell.read_volatile() != 0 }
}

/// Prints host, pid and how to go on, then waits until a debugger clears the frozen word or SIGCONT arrives.
pub fn freeze() {
    let mut host = [0u8; 256];
    // SAFETY: one byte less than there is, so that a terminator stays.
    unsafe { libc::gethostname(host.as_mut_ptr().cast(), host.len() - 1) };
    let host = CStr::from_bytes_until_nul(&host).ok().and_then(|h| h.to_str().ok()).unwrap_or("?");
    let pid = sys::pid();
    let before = sys::disposition(libc::SIGCONT);
    set_frozen(1);
    sys::set_handler(libc::SIGCONT, resume);
    sys::SignalSet::new(&[libc::SIGCONT]).apply(libc::SIG_UNBLOCK);
    log::error(format_args!(
        "frozen on host {host}, pid {pid}: attach a debugger and set gasnet_frozen to 0, or run kill -CONT {pid}"
    ));
    while is_frozen() {
        sys::nap(Duration::from_millis(100));
    }
    if let Some(before) = before {
        sys::restore_disposition(libc::SIGCONT, &before);
    }
}

struct Plain {
    bytes: [u8; 256],
    len: usize,
}

impl fmt::Write for Plain {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let n = s.len().min(self.bytes.len() - 1 - self.len); // one byte is kept for the newline
        self.bytes[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// One line whose form the contract fixes, so without [`log::Line`]'s prefix; cut at 255 bytes. Async-signal-safe.
pub fn plain_line(text: fmt::Arguments<'_>) {
    let mut line = Plain { bytes: [0; 256], len: 0 };
    let _ = line.write_fmt(text);
    line.bytes[line.len] = b'\n';
    sys::write_stderr(&line.bytes[..=line.len]);
}
