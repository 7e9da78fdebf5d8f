//! The functions that C calls. Each is exported under three names: the one of programs compiled with `_REENTRANT`, the one of those without, and the
//! plain one. All are safe to call from any thread.
//! Names of parameters matter to SISCI_TRACE (`trace::kind`): flags, _flags; error, status; number and length, which both sides write.
#![allow(unsafe_code)] // Names of exported functions, and pointers of the program's.
#![allow(non_snake_case)] // Their names are Dolphin's.

mod dma;
mod interrupts;
mod library;
mod refused;
mod segments;
mod transfers;

use crate::error::{Error, Result};

/// Where a callback finds the handle of its resource: the program has it only after the call that makes both.
type Later = std::sync::Arc<std::sync::OnceLock<usize>>;

/// Writes to a pointer of the program's, unless that is null.
///
/// # Safety
/// `place` is null, or a value can be written there.
unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's.
        unsafe { place.write(value) };
    }
}

/// ILLEGAL_FLAG if `flags` has a bit that none of `known` has.
fn only(flags: u32, known: u32) -> Result {
    if flags & !known == 0 { Ok(()) } else { Err(Error::IllegalFlag) }
}

/// The same, but with `more`, which cards would not know here: SISCI_STRICT refuses it.
fn only_or(flags: u32, known: u32, more: u32) -> Result {
    let is_strict = crate::state::config()?.strict;
    only(flags, if is_strict { known } else { known | more })
}

/// What a function returns beside its result.
fn settle<T>(result: Result<T>, otherwise: T, error: *mut u32) -> T {
    match result {
        Ok(value) => {
            // SAFETY: the program's place for the result, or null.
            unsafe { put(error, Error::Ok as u32) };
            value
        }
        Err(code) => {
            failed(code, error);
            otherwise
        }
    }
}

/// Errors have a way of their own, so that success has no instruction for them (4 of the 129 of SCIMemCpy of 64 bytes).
#[cold]
#[inline(never)]
fn failed(code: Error, error: *mut u32) {
    // SAFETY: the program's place for the result, or null.
    unsafe { put(error, code as u32) };
}

// With SISCI_TRACE a function is another one, `traced`, made of the same body: what a line needs of the arguments would cost the other one its
// registers, some 30 instructions of SCIMemCpy. As it is, SCIMemCpy of 64 bytes has 93 instructions instead of 91 (callgrind, 2026-11).

/// Functions that report by their last parameter, `error`, which the macro adds. A body is a `Result`; after `or` stands what the function returns
/// with an error. Pointers are the program's, valid as the contract says: that is what each body's unsafe code stands on. What a body looks at
/// first says NOT_INITIALIZED: these are the functions whose cost counts.
macro_rules! quick {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $value:ty, or $otherwise:expr)?; $body:expr)*) => {$(
        $(#[$doc])*
        /// # Safety
        /// Pointers are null, or valid for what the function does with them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type,)* error: *mut u32) $(-> $value)? {
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn traced($($arg: $type,)* error: *mut u32) $(-> $value)? {
                let mut body = || -> crate::error::Result<_> { $body };
                let call = crate::api::call!($name($($arg: $type),*) $(-> $value)?);
                crate::trace::reporting(&call, &mut body, |result| crate::api::settle(result, ($($otherwise)?), error))
            }
            if crate::trace::is_on() {
                // SAFETY: the same function.
                return unsafe { traced($($arg,)* error) };
            }
            // A closure, so that `?` ends the body and not the function.
            let body = || -> crate::error::Result<_> { $body };
            crate::api::settle(body(), ($($otherwise)?), error)
        }
        crate::api::other_names!($name($($arg: $type,)* error: *mut u32) $(-> $value)?);
    )*};
}

/// The same of all others: NOT_INITIALIZED before SCIInitialize. They may take locks, so no signal comes meanwhile.
macro_rules! reporting {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $value:ty, or $otherwise:expr)?; $body:expr)*) => {
        crate::api::quick! {$(
            $(#[$doc])*
            fn $name($($arg: $type),*) $(-> $value, or $otherwise)?; {
                let _calm = crate::calm::enter()?;
                crate::state::config()?;
                $body
            }
        )*}
    };
}

/// Functions that do not report.
macro_rules! silent {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $value:ty)? $body:block)*) => {$(
        $(#[$doc])*
        /// # Safety
        /// Pointers are null, or valid for what the function does with them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $value)? {
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn traced($($arg: $type),*) $(-> $value)? {
                let mut body = || $(-> $value)? { $body };
                crate::trace::silent(&crate::api::call!($name($($arg: $type),*) $(-> $value)?), &mut body)
            }
            if crate::trace::is_on() {
                // SAFETY: the same function.
                return unsafe { traced($($arg),*) };
            }
            $body
        }
        crate::api::other_names!($name($($arg: $type),*) $(-> $value)?);
    )*};
}

/// A call, for its line of SISCI_TRACE.
macro_rules! call {
    ($name:ident($($arg:ident: $type:ty),*) $(-> $value:ty)?) => {
        crate::trace::Call {
            function: stringify!($name),
            arguments: &[$((const { crate::trace::kind(stringify!($arg), stringify!($type)) }, &$arg as &dyn crate::trace::Show)),*],
            kind: concat!($(stringify!($value))?),
        }
    };
}

/// The two other names of a function.
macro_rules! other_names {
    ($name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $value:ty)?) => {
        const _: () = {
            #[unsafe(export_name = concat!("_SISCI_PUBLIC_FUNC_MT_", stringify!($name)))]
            unsafe extern "C" fn threaded($($arg: $type),*) $(-> $value)? {
                // SAFETY: the same function.
                unsafe { $name($($arg),*) }
            }
            #[unsafe(export_name = concat!("_SISCI_PUBLIC_FUNC_ST_", stringify!($name)))]
            unsafe extern "C" fn single($($arg: $type),*) $(-> $value)? {
                // SAFETY: the same function.
                unsafe { $name($($arg),*) }
            }
        };
    };
}

pub(crate) use {call, other_names, quick, reporting, silent};
