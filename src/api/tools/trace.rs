//! The client's part in traces and statistics (contract: tools.md §13). The header looks at the letters first.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::text;
use crate::job::state;
use crate::sync::{AtomicUsize, Ordering};
use crate::trace::{self, source};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::ptr;

/// Kinds that the trace shows at the moment, one bit per letter, A lowest; 0 = there is no trace.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_trace_letters: u32 = 0;
/// The same of the statistics.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_stats_letters: u32 = 0;

/// Tells the header. In init, and when a mask changes.
pub(in crate::api) fn tell_header() {
    let (of_trace, of_stats) = trace::letters();
    let places = [(&raw mut gasneti_sci_trace_letters, of_trace), (&raw mut gasneti_sci_stats_letters, of_stats)];
    for (place, letters) in places {
        // SAFETY: an aligned word of ours that the header reads; other threads may see the new value late.
        unsafe { place.write_volatile(letters) };
    }
}

/// A message for the trace; `force`: whatever the mask.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_trace_text(text: *const c_char, force: c_int) {
    // SAFETY: the caller promises that `text` is NULL or a C string.
    trace::client(&unsafe { self::text(text) }.unwrap_or_default(), force != 0);
}

/// A line for the statistics; `force`: whatever the mask.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_stats_text(text: *const c_char, force: c_int) {
    // SAFETY: the caller promises that `text` is NULL or a C string.
    let text = unsafe { self::text(text) }.unwrap_or_default();
    trace::into_stats(b'H', format_args!("{}", text.trim_end_matches('\n')), force != 0);
}

/// Letters of the trace's mask, or of the statistics'; "" if there is none. Stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_trace_getmask(of_stats: c_int) -> *const c_char {
    static GIVEN: Mutex<BTreeMap<u32, &CStr>> = Mutex::new(BTreeMap::new());
    let (of_trace, stats) = trace::letters();
    let letters = if of_stats != 0 { stats } else { of_trace };
    let text = || {
        let letters =
            if letters == 0 { String::new() } else { crate::base::config::Mask::from_bits(letters).letters() };
        Box::leak(CString::new(letters).unwrap_or_default().into_boxed_c_str()) as &'static CStr
    };
    GIVEN.lock().entry(letters).or_insert_with(text).as_ptr()
}

/// Sets the mask to the letters of `mask` that there are.
///
/// # Safety
/// `mask` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_trace_setmask(of_stats: c_int, mask: *const c_char) {
    // SAFETY: the caller promises that `mask` is NULL or a C string.
    trace::set_letters(of_stats == 0, &unsafe { text(mask) }.unwrap_or_default());
    tell_header();
}

/// 0 if a node's transfers with itself are not recorded.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_trace_getlocal() -> c_int {
    trace::records_local().into()
}

/// See [`gasneti_sci_trace_getlocal`].
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_trace_setlocal(record: c_int) {
    trace::record_local(record != 0);
}

/// The calling thread stands at `file` (NULL: as before), `line`.
///
/// # Safety
/// `file` is NULL or a C string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_trace_setsourceline(file: *const c_char, line: c_uint) {
    // SAFETY: not NULL, so the caller promises that `file` is a C string.
    let file = (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) });
    source::set(file, line);
}

/// What it set last: NULL and 0 if nothing.
///
/// # Safety
/// `file` and `line` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_trace_getsourceline(file: *mut *const c_char, line: *mut c_uint) {
    let (name, number) = source::get().map_or((ptr::null(), 0), |(file, line)| (file.as_ptr(), line));
    if !file.is_null() {
        // SAFETY: not NULL, so the caller promises that `file` is writable.
        unsafe { file.write(name) };
    }
    if !line.is_null() {
        // SAFETY: not NULL, so the caller promises that `line` is writable.
        unsafe { line.write(number) };
    }
}

/// The thread's place stays as it is, until as many calls with 0.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_trace_freezesourceline(freeze: c_int) {
    if freeze != 0 { source::freeze() } else { source::thaw() }
}

type Printf = unsafe extern "C" fn(format: *const c_char, ...);

/// Called when statistics are written, with a function that prints into them. `GASNETT_STATS_INIT` sets it.
#[unsafe(no_mangle)]
pub static mut gasnett_stats_callback: Option<unsafe extern "C" fn(print: Printf)> = None;
// What the callback prints with, from the client's own object: only C can define such a function. 0 = none.
static PRINTF: AtomicUsize = AtomicUsize::new(0);

/// The client's object brings the function that its callback prints with. Non-zero if statistics of category H are on.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_stats_init(print: Option<extern "C" fn()>) -> c_int {
    // ORDERING: Release ↔ Acquire in `call_client`: the callback was set before.
    PRINTF.store(print.map_or(0, |print| print as usize), Ordering::Release);
    let (_, letters) = trace::letters();
    crate::base::config::Mask::from_bits(letters).has(b'H').into()
}

fn call_client() {
    let print = PRINTF.load(Ordering::Acquire); // ORDERING: see `gasneti_sci_stats_init`
    let place = &raw const gasnett_stats_callback;
    // SAFETY: the client's own variable.
    let callback = unsafe { place.read_volatile() };
    if let Some(callback) = callback.filter(|_| print != 0) {
        // SAFETY: the header stores there a function of this type.
        let print = unsafe { std::mem::transmute::<usize, Printf>(print) };
        // SAFETY: the client's own function, with the argument that the contract names.
        unsafe { callback(print) };
    }
}

/// Writes the statistics so far; `reset`: the next ones count from here.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_stats_dump(reset: c_int) {
    trace::dump(call_client, &[], reset != 0);
}

/// In the node's exit.
pub(in crate::api) fn at_exit() {
    state::report_at_exit(|counters| {
        trace::note(b'I', format_args!("exit"));
        trace::dump(call_client, counters, false);
    });
    trace::flush();
    crate::tools::heap::report_at_exit(crate::base::log::identity().0);
}
