//! Environment and numbers of the tools (contract: tools.md §9). Any time, any thread, with or without a job.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::{required, text, to_c};
use crate::api::g1::init;
use crate::job::{environment, fatal};
use crate::tools::{number, settings};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// Names that [`gasnett_setenv`] and [`gasnett_unsetenv`] changed in this process, which therefore do not have the job's value.
/// Also orders readers and writers of the environment among the functions here; the C library does not.
static CHANGED: RwLock<BTreeSet<CString>> = RwLock::new(BTreeSet::new());
/// Decoded values that were given out, which stay.
static DECODED: Mutex<BTreeMap<CString, &'static CStr>> = Mutex::new(BTreeMap::new());

/// Decodes what a launcher encoded: called by the getenv functions for each value, if set. `gasnet_init` sets it to the decoder
/// for `%0HH`, unless it is set already or GASNET_DISABLE_ENVDECODE is.
#[unsafe(no_mangle)]
pub static mut gasnett_decode_envval_fn: Option<unsafe extern "C" fn(value: *const c_char) -> *const c_char> = None;

/// Sets the hook. In init.
pub(in crate::api) fn use_decoder() {
    let hook = &raw mut gasnett_decode_envval_fn;
    // SAFETY: a launcher that sets it does so before init (contract: tools.md §9.2).
    if unsafe { hook.read() }.is_none() {
        // SAFETY: one thread is in init, and a launcher sets the hook before (contract: tools.md §9.2).
        unsafe { hook.write(Some(decode)) };
    }
}

unsafe extern "C" fn decode(value: *const c_char) -> *const c_char {
    // SAFETY: called with what getenv gave.
    let original = unsafe { CStr::from_ptr(value) };
    let Some(decoded) = settings::decoded(original.to_bytes()) else { return value };
    let mut known = DECODED.lock();
    if let Some(decoded) = known.get(original) {
        return decoded.as_ptr();
    }
    let decoded: &CStr = Box::leak(CString::new(decoded).unwrap_or_default().into_boxed_c_str());
    known.insert(original.to_owned(), decoded);
    decoded.as_ptr()
}

/// # Safety
/// `key` is NULL or a C string.
unsafe fn lookup(key: *const c_char) -> *mut c_char {
    if key.is_null() {
        return ptr::null_mut();
    }
    let changed = CHANGED.read();
    // SAFETY: the caller promises that `key` is a C string.
    let name = unsafe { CStr::from_ptr(key) };
    let of_job = if changed.contains(name) { None } else { environment::get(name) };
    let value = match of_job {
        Some(value) => value.as_ptr().cast_mut(),
        // SAFETY: the caller promises that `key` is a C string.
        None => unsafe { libc::getenv(key) },
    };
    let hook = &raw const gasnett_decode_envval_fn;
    // SAFETY: set before init or by it.
    match unsafe { hook.read() } {
        // SAFETY: the hook takes a C string and gives one that stays.
        Some(decode) if !value.is_null() => unsafe { decode(value) }.cast_mut(),
        _ => value,
    }
}

/// Value of a variable: what [`gasnett_setenv`] set in this process, else what node 0 had when it called init, else what this
/// process has; NULL if unset. Stays valid; not to be modified.
///
/// # Safety
/// `key` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv(key: *const c_char) -> *mut c_char {
    // SAFETY: the caller promises that `key` is a C string.
    unsafe { lookup(key) }
}

/// Sets a variable of this process. Failure is fatal.
///
/// # Safety
/// `key` and `val` are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_setenv(key: *const c_char, val: *const c_char) {
    // SAFETY: the caller promises that `key` is a C string.
    let name = unsafe { required("gasnett_setenv", key) };
    if val.is_null() {
        fatal(format_args!("gasnett_setenv of {name} to NULL"));
    }
    let mut changed = CHANGED.write();
    // SAFETY: the caller promises that `key` is a C string.
    changed.insert(unsafe { CStr::from_ptr(key) }.to_owned());
    // SAFETY: the caller promises C strings; our own readers wait.
    if unsafe { libc::setenv(key, val, 1) } != 0 {
        fatal(format_args!("gasnett_setenv of '{name}': {}", std::io::Error::last_os_error()));
    }
}

/// Removes a variable of this process. NULL, the empty string and a key with `=` are fatal.
///
/// # Safety
/// `key` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_unsetenv(key: *const c_char) {
    // SAFETY: the caller promises that `key` is a C string.
    let name = unsafe { required("gasnett_unsetenv", key) };
    let mut changed = CHANGED.write();
    // SAFETY: the caller promises that `key` is a C string.
    changed.insert(unsafe { CStr::from_ptr(key) }.to_owned());
    // SAFETY: the caller promises C strings; our own readers wait.
    if unsafe { libc::unsetenv(key) } != 0 {
        fatal(format_args!("gasnett_unsetenv of '{name}': {}", std::io::Error::last_os_error()));
    }
}

/// The variable's name and value for the engine.
///
/// # Safety
/// As [`lookup`].
unsafe fn found(call: &str, key: *const c_char) -> (String, Option<String>) {
    // SAFETY: the caller promises that `key` is a C string.
    let name = unsafe { required(call, key) };
    // SAFETY: the caller promises that `key` is a C string.
    let value = unsafe { lookup(key) };
    // SAFETY: NULL or a C string.
    (name, unsafe { text(value) })
}

fn report(name: &str, value: &str, is_default: bool) {
    settle();
    settings::report(name, value, is_default);
}

/// Without a job the environment says whether settings are reported; a client of gasnet.h waits for init.
fn settle() {
    if settings::is_verbose().is_none() && !init::is_gasnet_client() {
        let value = crate::base::config::variable("GASNET_VERBOSEENV").filter(|value| !value.trim().is_empty());
        settings::set_verbose(value.is_some_and(|value| crate::base::config::yes_no(&value).unwrap_or(true)));
    }
}

/// Value of a variable, or `dflt`, which may be NULL.
///
/// # Safety
/// `key` is a C string, `dflt` NULL or one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_withdefault(key: *const c_char, dflt: *const c_char) -> *mut c_char {
    // SAFETY: the caller promises that `key` is a C string.
    let name = unsafe { required("gasnett_getenv_withdefault", key) };
    // SAFETY: the caller promises that `key` is a C string.
    let value = unsafe { lookup(key) };
    let result = if value.is_null() { dflt.cast_mut() } else { value };
    // SAFETY: `dflt`, which the caller promises to be NULL or a C string, or what getenv gave.
    report(&name, settings::shown(unsafe { text(result) }.as_deref()), value.is_null());
    result
}

fn must<T>(result: Result<T, settings::Malformed>) -> T {
    result.unwrap_or_else(|error| fatal(format_args!("{error}")))
}

/// 1 for `1`, `Y`, `YES`, 0 for `0`, `N`, `NO`, any case; `dflt` if unset or empty; else fatal.
///
/// # Safety
/// `key` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_yesno_withdefault(key: *const c_char, dflt: c_int) -> c_int {
    // SAFETY: the caller promises that `key` is a C string.
    let (name, value) = unsafe { found("gasnett_getenv_yesno_withdefault", key) };
    let value = value.filter(|value| !value.trim().is_empty());
    let result = value.as_ref().map(|value| c_int::from(must(settings::yes_no(&name, value))));
    report(&name, if result.unwrap_or(dflt) != 0 { "YES" } else { "NO" }, result.is_none());
    result.unwrap_or(dflt)
}

/// An integer, or with `mem_size_multiplier` not 0 a memory size in units of it; `dflt` exactly if unset or empty. What is
/// neither is fatal.
///
/// # Safety
/// `key` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_int_withdefault(
    key: *const c_char,
    dflt: i64,
    mem_size_multiplier: u64,
) -> i64 {
    // SAFETY: the caller promises that `key` is a C string.
    let (name, value) = unsafe { found("gasnett_getenv_int_withdefault", key) };
    let value = value.filter(|value| !value.trim().is_empty());
    let result = value.as_ref().map(|value| must(settings::integer(&name, value, mem_size_multiplier)));
    let number = result.unwrap_or(dflt);
    report(&name, &settings::shown_integer(value.as_deref(), number, mem_size_multiplier != 0), result.is_none());
    number
}

/// A floating number or a fraction; `dflt` if unset or empty. What is neither is fatal.
///
/// # Safety
/// `key` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_dbl_withdefault(key: *const c_char, dflt: f64) -> f64 {
    // SAFETY: the caller promises that `key` is a C string.
    let (name, value) = unsafe { found("gasnett_getenv_dbl_withdefault", key) };
    let value = value.filter(|value| !value.trim().is_empty());
    let result = value.as_ref().map(|value| must(settings::float(&name, value)));
    report(&name, &settings::shown_float(value.as_deref(), result.unwrap_or(dflt)), result.is_none());
    result.unwrap_or(dflt)
}

/// 1: this process reports settings; 0: it does not; -1: not known before `gasnet_init`.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_verboseenv() -> c_int {
    settle();
    settings::is_verbose().map_or(-1, c_int::from)
}

/// Reports an integer setting.
///
/// # Safety
/// `key` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_envint_display(key: *const c_char, val: i64, is_dflt: c_int, is_mem_size: c_int) {
    // SAFETY: the caller promises that `key` is a C string.
    let (name, value) = unsafe { found("gasnett_envint_display", key) };
    let value = value.filter(|_| is_dflt == 0);
    report(&name, &settings::shown_integer(value.as_deref(), val, is_mem_size != 0), is_dflt != 0);
}

/// Reports a text; NULL is shown as `*not set*`.
///
/// # Safety
/// `key` is a C string, `val` NULL or one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_envstr_display(key: *const c_char, val: *const c_char, is_dflt: c_int) {
    // SAFETY: the caller promises that `key` is a C string.
    let name = unsafe { required("gasnett_envstr_display", key) };
    // SAFETY: the caller promises that `val` is NULL or a C string.
    report(&name, settings::shown(unsafe { text(val) }.as_deref()), is_dflt != 0);
}

/// Reports a floating number.
///
/// # Safety
/// `key` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_envdbl_display(key: *const c_char, val: f64, is_dflt: c_int) {
    // SAFETY: the caller promises that `key` is a C string.
    let (name, value) = unsafe { found("gasnett_envdbl_display", key) };
    let value = value.filter(|_| is_dflt == 0);
    report(&name, &settings::shown_float(value.as_deref(), val), is_dflt != 0);
}

/// The number that `str` begins with; 0 for NULL and for what is none. With `mem_size_multiplier` not 0 a memory size. A
/// fraction in hexadecimal and what does not fit into 64 bits are fatal.
///
/// # Safety
/// `str` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_parse_int(str: *const c_char, mem_size_multiplier: u64) -> i64 {
    // SAFETY: the caller promises that `str` is NULL or a C string.
    let text = unsafe { text(str) }.unwrap_or_default();
    match number::parse_forgiving(&text, mem_size_multiplier) {
        Ok(value) => value,
        Err(error) => fatal(format_args!("gasnett_parse_int of '{text}': {error}")),
    }
}

/// Writes `val` into `buf` of `bufsz` bytes, cut if need be, and returns it.
///
/// # Safety
/// `buf` is writable for `bufsz` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_format_number(
    val: i64,
    buf: *mut c_char,
    bufsz: usize,
    is_mem_size: c_int,
) -> *mut c_char {
    // SAFETY: the caller promises that `buf` is writable for `bufsz` bytes.
    unsafe { to_c(&number::format(val, is_mem_size != 0), buf, bufsz) };
    buf
}
