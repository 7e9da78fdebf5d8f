//! Environment and numbers of the tools (contract: tools.md §9). All functions are allowed at any time, in any thread,
//! with or without a job.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::{required, text, to_c};
use crate::api::shared::start;
use crate::job::{environment, fatal};
use crate::tools::{number, settings};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// Names that [`gasnett_setenv`] and [`gasnett_unsetenv`] changed in this process, so that the job's value does not
/// count. The lock also keeps readers and writers of the environment apart among these functions, which the C library
/// does not do.
static CHANGED: RwLock<BTreeSet<CString>> = RwLock::new(BTreeSet::new());
/// Decoded values that clients got. They stay valid.
static DECODED: Mutex<BTreeMap<CString, &'static CStr>> = Mutex::new(BTreeMap::new());

/// If set, the getenv functions call it for each value, to decode what a launcher encoded.
///
/// `gasnet_init` sets it to the decoder for `%0HH`, unless it is set already or GASNET_DISABLE_ENVDECODE is set.
#[unsafe(no_mangle)]
pub static mut gasnett_decode_envval_fn: Option<unsafe extern "C" fn(value: *const c_char) -> *const c_char> = None;

/// Sets [`gasnett_decode_envval_fn`]. Init calls it.
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

/// Value of a variable, NULL if it is unset. The string stays valid and must not be modified.
///
/// It is the value that [`gasnett_setenv`] set in this process; else the one that node 0 had when it called init; else
/// the one of this process.
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

/// Name and value of a variable, as the engine takes them.
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

/// Decides whether settings are reported. Without a job the environment says it; in a client of gasnet.h init decides
/// later.
fn settle() {
    if settings::is_verbose().is_none() && !start::is_gasnet_client() {
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

/// 1 for `1`, `Y`, `YES`; 0 for `0`, `N`, `NO`, in any case; `dflt` if unset or empty. Other values are fatal.
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

/// Value of a variable as an integer; `dflt`, unchanged, if it is unset or empty. Other texts are fatal.
///
/// If `mem_size_multiplier` is not 0, the value is a memory size; a number without a unit counts in this many bytes.
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

/// Value of a variable as a floating-point number or fraction; `dflt` if unset or empty. Other texts are fatal.
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

/// 1 if this process reports settings, 0 if it does not, -1 if that is not known before `gasnet_init`.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_verboseenv() -> c_int {
    settle();
    settings::is_verbose().map_or(-1, c_int::from)
}

/// Reports the integer setting `key`, if this process reports settings.
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

/// Reports the text setting `key`, if this process reports settings; NULL is shown as `*not set*`.
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

/// Reports the floating-point setting `key`, if this process reports settings.
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

/// The number that `str` begins with; 0 if `str` is NULL or begins with no number.
///
/// If `mem_size_multiplier` is not 0, it is a memory size, in units of that many bytes. A hexadecimal fraction is
/// fatal, and so is a number that does not fit into 64 bits.
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

/// Writes `val` as text into `buf` of `bufsz` bytes, cut to fit, and returns `buf`.
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
