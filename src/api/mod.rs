//! The C ABI: the functions that `include/gasnet.h` calls. Each function checks its arguments, converts them, and calls
//! one verb of an engine.
//!
//! All exported functions are in this module, except the assembler copy in `sci::copy`. Only this module sees clients'
//! pointers before they are checked, and only this module knows the `GASNET_*` codes. cbindgen generates
//! `include/gasnet_sci_abi.h` from it, which is checked in and never edited. The header takes only the first line of
//! each doc comment, so that line must be a whole sentence.

pub mod constants;
pub mod debug;
pub mod deck;
pub mod ex;
pub mod g1;
pub mod hsl;
mod threads;
pub mod tools;
mod verbose;
pub mod vis;

use crate::base::error::{Error, Kind};
use crate::base::log;
use constants::*;
use std::ffi::c_int;
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
fn status(name: &'static str, body: impl FnOnce() -> Result<(), Error>) -> c_int {
    threads::note();
    match body() {
        Ok(()) => GASNETI_SCI_OK,
        Err(error) => failed(name, error),
    }
}

/// As [`status`], of a message. Those of GASNet-EX go by the same calls. They bring their own name when one has failed: the headers then
/// call `gasneti_sci_am_failed`.
#[inline(always)]
fn message_status(name: &'static str, body: impl FnOnce() -> Result<(), Error>) -> c_int {
    threads::note();
    match body() {
        Ok(()) => GASNETI_SCI_OK,
        Err(error) => message_failed(name, error),
    }
}

#[cold]
#[inline(never)]
fn message_failed(name: &'static str, error: Error) -> c_int {
    verbose::keep(&error);
    // A client that has not asked for GASNet-1 calls by names of GASNet-EX only.
    if debug::without_gasnet1() { code(&error) } else { failed(name, error) }
}

#[cold]
#[inline(never)]
pub(in crate::api) fn failed(name: &'static str, error: Error) -> c_int {
    let code = code(&error);
    let call = debug::NamedCall::named(name);
    if call.cannot_fail() {
        die(name, error)
    }
    if !verbose::is_on() {
        return code; // gex_System_SetVerboseErrors
    }
    log::error(format_args!("{} returning {}: {error}{}", call.name(), g1::query::name(code), call.place()));
    code
}

/// Runs the body of a call that cannot return an error. An error ends the job (contract: core.md §4).
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
