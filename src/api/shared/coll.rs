//! The engine of collectives for the calls of both APIs, and where debug clients make them.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::debug;
use crate::base::error::Error;
use crate::coll::Coll;
use crate::coll::call::Origin;
use crate::job::Job;
use crate::sci::Host;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

pub(in crate::api) fn coll() -> Result<&'static Coll<Host>, Error> {
    Job::attached()?.coll()
}

thread_local! {
    /// Call, file and line of the collective that this thread makes. Debug clients set it.
    static PLACE: Cell<(*const c_char, *const c_char, c_int)> =
        const { Cell::new((std::ptr::null(), std::ptr::null(), 0)) };
}

/// Call, file and line that the client set last; `None` in release clients.
pub(in crate::api) fn place() -> Option<(*const c_char, *const c_char, c_int)> {
    Some(PLACE.get()).filter(|(name, ..)| !name.is_null())
}

/// Debug clients call it before the call `name`: like `gasneti_sci_check`, and it remembers the place.
///
/// # Safety
/// `name` and `file` are C strings that stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_coll_at(name: *const c_char, file: *const c_char, line: c_int, rules: u32) {
    // SAFETY: the caller promises that `name` and `file` are C strings that stay.
    unsafe { debug::gasneti_sci_check(name, file, line, rules) };
    PLACE.set((name, file, line));
}

/// The place that a debug client set, for messages about calls that differ between nodes.
#[cold]
pub(in crate::api) fn origin(function: u32, is_ex: bool) -> Option<Arc<Origin>> {
    let (_, file, line) = place()?;
    // SAFETY: set by `gasneti_sci_coll_at` from a C string that stays.
    let file = unsafe { CStr::from_ptr(file) }.to_string_lossy().into_owned();
    Some(Arc::new(Origin { file, line: line as u32, function, is_ex }))
}
