//! The C ABI: what `include/gasnet.h` calls. Each function validates, converts, and calls one verb of an engine.
//!
//! The exported functions are here, but for one: the copy in assembler of `sci::copy`. Only this module sees clients' pointers
//! before they are checked, and only this one knows `GASNET_*` codes. cbindgen makes `include/gasnet_sci_abi.h` of it (checked in, never edited).

pub mod constants;
pub mod debug;
pub mod g1;
pub mod hsl;
mod threads;
pub mod tools;

use crate::base::error::{Error, Kind};
use crate::base::log;
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
    let call = debug::NamedCall::named(name);
    log::error(format_args!("{} returning {}: {error}{}", call.name(), g1::query::name(code), call.place()));
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
    let call = debug::NamedCall::named(name);
    crate::job::fatal(format_args!("{}: {error}{}", call.name(), call.place()))
}
