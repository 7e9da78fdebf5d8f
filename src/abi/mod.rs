//! The C ABI: what `include/gasnet.h` calls. Each function validates, converts, and calls one verb of an engine.
//!
//! This is the only place with `extern "C"`, the only one that sees clients' pointers before they are checked, and the
//! only one that knows `GASNET_*` codes. cbindgen makes `include/gasnet_sci_abi.h` of it (checked in, never edited).

pub mod am;
pub mod barrier;
pub mod coll;
pub mod coll_team;
pub mod constants;
pub mod debug;
pub mod direct;
pub mod hsl;
pub mod init;
pub mod query;
pub mod reach;
mod reference;
pub mod rma;
mod threads;
pub mod tools_check;
pub mod tools_debug;
pub mod tools_env;
pub mod tools_heap;
pub mod tools_lock;
pub mod tools_sys;
mod tools_text;
pub mod tools_timer;
pub mod tools_trace;
pub mod vis;

use crate::error::{Error, Kind};
use crate::log;
use constants::*;
use std::ffi::c_int;
use std::fmt::Display;

/// `GASNET_ERR_*` of an error.
fn code(error: &Error) -> c_int {
    match error.kind() {
        Kind::NotInit(_) => GASNETI_SCI_ERR_NOT_INIT,
        Kind::Resource(_) => GASNETI_SCI_ERR_RESOURCE,
        Kind::BadArg(_) => GASNETI_SCI_ERR_BAD_ARG,
    }
}

/// Runs the body of the call `name`: success is `GASNET_OK`, an error its code and one line on stderr
/// (contract: core.md §4).
#[inline(always)]
fn status(name: &'static str, body: impl FnOnce() -> Result<(), Error>) -> c_int {
    threads::note();
    match body() {
        Ok(()) => GASNETI_SCI_OK,
        Err(error) => failed(name, error),
    }
}

#[cold]
#[inline(never)]
fn failed(name: &'static str, error: Error) -> c_int {
    let code = code(&error);
    let call = debug::Call::named(name);
    log::error(format_args!("{} returning {}: {error}{}", call.name(), query::name(code), call.place()));
    code
}

/// Runs the body of a call that has no way to return an error: it ends the job (contract: core.md §4).
#[inline(always)]
fn must<T>(name: &'static str, body: impl FnOnce() -> Result<T, Error>) -> T {
    threads::note();
    match body() {
        Ok(value) => value,
        Err(error) => die(name, error),
    }
}

/// Ends the job for an error in the call `name`.
#[cold]
#[inline(never)]
fn die(name: &str, error: impl Display) -> ! {
    let call = debug::Call::named(name);
    crate::job::fatal(format_args!("{}: {error}{}", call.name(), call.place()))
}
