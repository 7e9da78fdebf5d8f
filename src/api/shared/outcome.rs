//! What becomes of the errors of calls: a code, a line on stderr, or the end of the job (contract: core.md §4).

#![allow(unsafe_code)] // exported names

use super::constants::*;
use super::{debug, threads};
use crate::base::error::{Error, Kind};
use crate::base::log;
use crate::sync::fixed::{AtomicBool, Ordering};
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Display;

/// The `GASNET_ERR_*` code of an error.
fn code(error: &Error) -> c_int {
    match error.kind() {
        Kind::NotInit(_) => GASNETI_SCI_ERR_NOT_INIT,
        // A program that uses GASNet gets no such error: the loss of a node ends its job.
        Kind::Resource(_) | Kind::Lost(_) => GASNETI_SCI_ERR_RESOURCE,
        Kind::BadArg(_) => GASNETI_SCI_ERR_BAD_ARG,
    }
}

/// Runs the body of the call `name`. Success becomes `GASNET_OK`; an error becomes its code, with one line on stderr
/// (contract: core.md §4).
#[inline(always)]
pub(in crate::api) fn status(name: &'static str, body: impl FnOnce() -> Result<(), Error>) -> c_int {
    threads::note();
    match body() {
        Ok(()) => GASNETI_SCI_OK,
        Err(error) => failed(name, error),
    }
}

#[cold]
#[inline(never)]
pub(in crate::api) fn failed(name: &'static str, error: Error) -> c_int {
    let code = code(&error);
    let call = debug::NamedCall::named(name);
    if !is_verbose() {
        return code; // gex_System_SetVerboseErrors
    }
    log::error(format_args!("{} returning {}: {error}{}", call.name(), name_of(code), call.place()));
    code
}

/// Runs the body of a call that cannot return an error. An error ends the job (contract: core.md §4).
#[inline(always)]
pub(in crate::api) fn must<T>(name: &'static str, body: impl FnOnce() -> Result<T, Error>) -> T {
    threads::note();
    match body() {
        Ok(value) => value,
        Err(error) => die(name, error),
    }
}

/// Ends the job for an error in the call `name`.
#[cold]
#[inline(never)]
pub(in crate::api) fn die(name: &str, error: impl Display) -> ! {
    let call = debug::NamedCall::named(name);
    crate::job::fatal(format_args!("{}: {error}{}", call.name(), call.place()))
}

/// Whether calls that return an error code also report it on stderr (`gex_System_SetVerboseErrors`; contract: ex-core.md §6).
static VERBOSE: AtomicBool = AtomicBool::new(true);

/// True if they do: at first, and in GASNet-1 always.
pub(in crate::api) fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed) // Relaxed: orders nothing
}

/// Chooses it, for the whole process.
pub(in crate::api) fn set_verbose(on: bool) {
    VERBOSE.store(on, Ordering::Relaxed); // Relaxed: orders nothing
}

/// Name of an error code; `"*unknown*"` for other numbers. Allowed at any time, in any thread.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_ErrorName(code: c_int) -> *const c_char {
    text(code).0.as_ptr()
}

/// Description of an error code. Allowed at any time, in any thread.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_ErrorDesc(code: c_int) -> *const c_char {
    text(code).1.as_ptr()
}

fn text(code: c_int) -> (&'static CStr, &'static CStr) {
    match code {
        GASNETI_SCI_OK => (c"GASNET_OK", c"no error"),
        GASNETI_SCI_ERR_NOT_INIT => (c"GASNET_ERR_NOT_INIT", c"GASNet is not initialised, or was initialised before"),
        GASNETI_SCI_ERR_RESOURCE => (c"GASNET_ERR_RESOURCE", c"a resource ran out or could not be had"),
        GASNETI_SCI_ERR_BAD_ARG => (c"GASNET_ERR_BAD_ARG", c"an argument is not valid"),
        GASNETI_SCI_ERR_NOT_READY => (c"GASNET_ERR_NOT_READY", c"the operation is not complete"),
        GASNETI_SCI_ERR_BARRIER_MISMATCH => {
            (c"GASNET_ERR_BARRIER_MISMATCH", c"nodes gave different names to one barrier")
        }
        _ => (c"*unknown*", c"not an error code of GASNet"),
    }
}

/// Name of an error code, for the library's own messages.
pub(in crate::api) fn name_of(code: c_int) -> &'static str {
    text(code).0.to_str().unwrap_or("*unknown*")
}
