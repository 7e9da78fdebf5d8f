//! Stack traces and freezing, for the tools (contract: tools.md §11).

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::text;
use crate::api::shared::start;
use crate::base::config::Config;
use crate::base::log;
use crate::job::{debug, fatal};
use crate::tools::backtrace;
use std::ffi::{CStr, c_char, c_int};

/// A client's own way to print stack traces.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasnett_backtrace_type_t {
    /// Its name in GASNET_BACKTRACE_TYPE.
    pub name: *const c_char,
    /// Prints the calling thread's trace to `fd` and returns 0 on success. Signal handlers call it, too.
    pub fnp: Option<extern "C" fn(fd: c_int) -> c_int>,
    /// Not 0 if it shows all threads.
    pub threadsupport: c_int,
}

/// A client that has a way of its own to print stack traces defines this variable; otherwise it is all zero.
#[unsafe(no_mangle)]
pub static mut gasnett_backtrace_user: gasnett_backtrace_type_t =
    gasnett_backtrace_type_t { name: std::ptr::null(), fnp: None, threadsupport: 0 };

/// Passes the client's own mechanism to the engine. It must come before the settings are read.
pub(in crate::api) fn take_own_mechanism() {
    let place = &raw const gasnett_backtrace_user;
    // SAFETY: the library's variable or the client's. Volatile, because the linker may have chosen the client's.
    let own = unsafe { place.read_volatile() };
    let Some(print) = own.fnp else { return };
    let name = if own.name.is_null() {
        "USER"
    } else {
        // SAFETY: the client's C string, which stays (contract: tools.md §11.2).
        unsafe { CStr::from_ptr(own.name) }.to_str().unwrap_or("USER")
    };
    backtrace::set_own(Some(backtrace::Own { name, print, threads: own.threadsupport != 0 }));
}

/// Reads the settings of stack traces and freezing (GASNET_BACKTRACE*, GASNET_FREEZE*).
///
/// Programs without a job must call it before the other functions of this section; `gasnet_init` calls it itself. A
/// client may set variables, or its own mechanism, and call again. `exename` is ignored, because the system knows the
/// program's name.
///
/// # Safety
/// `exename` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_backtrace_init(exename: *const c_char) {
    let _ = exename;
    start::show_frozen();
    take_own_mechanism();
    match Config::from_env() {
        Ok((config, _)) => {
            let (node, nodes) = log::identity();
            log::set_quiet(config.quiet);
            debug::configure(&config, (nodes > 0).then_some(node));
            // In a job, node 0 reports it at init.
            if let Some(problem) = backtrace::problem(&config).filter(|_| nodes == 0) {
                log::advise(&problem);
            }
        }
        Err(error) => fatal(format_args!("{error}")),
    }
}

/// Prints the calling thread's stack to `fd` and returns 0 on success. Allowed in signal handlers.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_print_backtrace(fd: c_int) -> c_int {
    (!backtrace::print(fd)).into()
}

extern "C" fn print_backtrace_if_enabled(fd: c_int) -> c_int {
    (!backtrace::print_if_enabled(fd)).into()
}

/// Like `gasnett_print_backtrace` if GASNET_BACKTRACE is set; else prints a hint once and returns a value that is not
/// 0.
///
/// It is a variable, so that a client may store a function of its own.
#[unsafe(no_mangle)]
pub static mut gasnett_print_backtrace_ifenabled: Option<extern "C" fn(fd: c_int) -> c_int> =
    Some(print_backtrace_if_enabled);

/// Prints host, pid and how to continue, sets `*flag` to 1, and waits until it is 0 or SIGCONT arrives.
///
/// # Safety
/// `flag` is a valid int, `flagname` NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_freezeForDebuggerNow(flag: *mut c_int, flagname: *const c_char) {
    // SAFETY: the caller promises that `flagname` is NULL or a C string.
    let name = unsafe { text(flagname) }.unwrap_or_else(|| "its flag".into());
    // SAFETY: the caller promises that `flag` is a valid aligned int until this returns.
    unsafe { debug::freeze_at(flag, &name) };
}

/// If GASNET_FREEZE_ON_ERROR is set, waits like `gasnett_freezeForDebuggerNow`, with `gasnet_frozen` as the flag.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_freezeForDebuggerErr() {
    start::show_frozen();
    let wanted = debug::freezes_on_error() || (!backtrace::is_configured() && wants_freeze());
    if wanted {
        debug::freeze();
    }
}

/// Whether to freeze, while the settings have not been read: asks the environment.
fn wants_freeze() -> bool {
    Config::from_env().is_ok_and(|(config, _)| config.freeze_on_error)
}
