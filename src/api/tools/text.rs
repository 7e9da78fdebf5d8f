//! C strings that clients of the tools pass in, and buffers that they pass for texts.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::job::fatal;
use std::ffi::{CStr, c_char};

/// Copies a C string; `None` for NULL. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `text` is NULL or a C string.
pub(in crate::api) unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: not NULL, so the caller promises a C string.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Copies the name of a variable. Fatal if it cannot be one.
///
/// # Safety
/// As [`text`].
pub(in crate::api) unsafe fn required(call: &str, key: *const c_char) -> String {
    // SAFETY: the caller promises that `key` is NULL or a C string.
    match unsafe { text(key) } {
        Some(name) if !name.is_empty() && !name.contains('=') => name,
        Some(name) => fatal(format_args!("{call}: '{name}' cannot be the name of a variable")),
        None => fatal(format_args!("{call}: NULL instead of the name of a variable")),
    }
}

/// Writes `text` into `room` bytes as a C string, cut to fit.
///
/// # Safety
/// `to` is writable for `room` bytes.
pub(in crate::api) unsafe fn to_c(text: &str, to: *mut c_char, room: usize) {
    let Some(most) = room.checked_sub(1) else { return };
    let n = text.len().min(most);
    let to: *mut u8 = to.cast();
    // SAFETY: n < room, which the caller promises writable; a string of ours and the caller's memory do not overlap.
    unsafe { to.copy_from_nonoverlapping(text.as_ptr(), n) };
    // SAFETY: n < room, which the caller promises writable.
    unsafe { to.wrapping_add(n).write(0) };
}
