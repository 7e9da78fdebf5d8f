//! Stack traces and freezing, for the tools (contract: tools.md §11).

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::text;
use crate::api::g1::init;
use crate::base::config::Config;
use crate::base::log;
use crate::job::{debug, fatal};
use crate::tools::backtrace;
use std::ffi::{CStr, c_char, c_int};

/// A client's own mechanism for stack traces.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasnett_backtrace_type_t {
    /// Its name in GASNET_BACKTRACE_TYPE.
    pub name: *const c_char,
    /// Prints the calling thread's trace to `fd`; 0 on success. Called from signal handlers too.
    pub fnp: Option<extern "C" fn(fd: c_int) -> c_int>,
    /// Non-zero: it shows all threads.
    pub threadsupport: c_int,
}

/// A client that has a mechanism of its own defines this variable; it is all zero otherwise.
#[unsafe(no_mangle)]
pub static mut gasnett_backtrace_user: gasnett_backtrace_type_t =
    gasnett_backtrace_type_t { name: std::ptr::null(), fnp: None, threadsupport: 0 };

/// Tells the engine of it. Before its settings are read.
pub(in crate::api) fn take_own_mechanism() {
    let place = &raw const gasnett_backtrace_user;
    // SAFETY: the client's variable, or ours; volatile since another's definition may have taken the place of ours.
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

/// Reads the settings of this section, at every call: a client may set variables, bring a mechanism of its own and call again
/// after `gasnet_init`. Programs without a job must call it before the others here; `gasnet_init` does it
/// itself. `exename`: the program, which the system knows better.
///
/// # Safety
/// `exename` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_backtrace_init(exename: *const c_char) {
    let _ = exename;
    init::show_frozen();
    take_own_mechanism();
    match Config::from_env() {
        Ok((config, _)) => {
            let (node, nodes) = log::identity();
            log::set_quiet(config.quiet);
            debug::configure(&config, (nodes > 0).then_some(node));
        }
        Err(error) => fatal(format_args!("{error}")),
    }
}

/// Prints the calling thread's stack to `fd`; 0 on success. From signal handlers too.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_print_backtrace(fd: c_int) -> c_int {
    (!backtrace::print(fd)).into()
}

extern "C" fn print_backtrace_if_enabled(fd: c_int) -> c_int {
    (!backtrace::print_if_enabled(fd)).into()
}

/// As [`gasnett_print_backtrace`] if GASNET_BACKTRACE is set; else non-zero, and a hint once. May be assigned to.
#[unsafe(no_mangle)]
pub static mut gasnett_print_backtrace_ifenabled: Option<extern "C" fn(fd: c_int) -> c_int> =
    Some(print_backtrace_if_enabled);

/// Prints host, pid and how to go on, sets `*flag` to 1, and waits until it is 0 or SIGCONT arrives.
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

/// The same with `gasnet_frozen`, if GASNET_FREEZE_ON_ERROR is set.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_freezeForDebuggerErr() {
    init::show_frozen();
    let wanted = debug::freezes_on_error() || (!backtrace::is_configured() && wants_freeze());
    if wanted {
        debug::freeze();
    }
}

/// Before anybody has read the settings.
fn wants_freeze() -> bool {
    Config::from_env().is_ok_and(|(config, _)| config.freeze_on_error)
}
