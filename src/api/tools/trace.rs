//! The client's own lines in traces and statistics (contract: tools.md §13). The header calls these functions only if
//! the letters below say that a trace or statistics are on.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::text;
use crate::job::state;
use crate::sync::{AtomicUsize, Ordering};
use crate::trace::{self, source};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::ptr;

/// Kinds that the trace shows now, one bit per letter, A lowest; 0: there is no trace.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_trace_letters: u32 = 0;
/// Kinds that the statistics show now, one bit per letter, A lowest; 0: there are no statistics.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_stats_letters: u32 = 0;

/// Stores the masks where the header reads them. Called in init, and when a mask changes.
pub(in crate::api) fn tell_header() {
    let (of_trace, of_stats) = trace::letters();
    let places = [(&raw mut gasneti_sci_trace_letters, of_trace), (&raw mut gasneti_sci_stats_letters, of_stats)];
    for (place, letters) in places {
        // SAFETY: an aligned word of the library that the header reads. Other threads may see the new value late.
        unsafe { place.write_volatile(letters) };
    }
}

/// Writes a message to the trace, in category H; in category U, which is always on, if `force` is not 0.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_trace_text(text: *const c_char, force: c_int) {
    // SAFETY: the caller promises that `text` is NULL or a C string.
    trace::client(&unsafe { self::text(text) }.unwrap_or_default(), force != 0);
}

/// Writes a line to the statistics if category H is on, or in any case if `force` is not 0.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_stats_text(text: *const c_char, force: c_int) {
    // SAFETY: the caller promises that `text` is NULL or a C string.
    let text = unsafe { self::text(text) }.unwrap_or_default();
    trace::into_stats(b'H', format_args!("{}", text.trim_end_matches('\n')), force != 0);
}

/// Letters of the mask of the trace, or of the statistics if `of_stats` is not 0; "" if it is empty. Stays valid.
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

/// Sets the mask of the trace, or of the statistics, to the letters in `mask`. Unknown letters are ignored.
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

/// Switches on (not 0) or off (0) the recording of a node's transfers with itself.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_trace_setlocal(record: c_int) {
    trace::record_local(record != 0);
}

/// Sets the calling thread's place in the client's source. If `file` is NULL, the file stays the same.
///
/// # Safety
/// `file` is NULL or a C string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_trace_setsourceline(file: *const c_char, line: c_uint) {
    // SAFETY: not NULL, so the caller promises that `file` is a C string.
    let file = (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) });
    source::set(file, line);
}

/// Stores the place that the calling thread set last; NULL and 0 if it set none.
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

/// Not 0: the thread's place stays as it is until a call with 0. Calls nest.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_trace_freezesourceline(freeze: c_int) {
    if freeze != 0 { source::freeze() } else { source::thaw() }
}

type Printf = unsafe extern "C" fn(format: *const c_char, ...);

/// The library calls it when it writes statistics, with a function that prints into them. `GASNETT_STATS_INIT` sets it.
#[unsafe(no_mangle)]
pub static mut gasnett_stats_callback: Option<unsafe extern "C" fn(print: Printf)> = None;
// The function that the callback prints with; 0: none. It is variadic, so the client's object has to define it, in C.
static PRINTF: AtomicUsize = AtomicUsize::new(0);

/// Registers the function that the client's callback prints with. Not 0 if statistics of category H are on.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_stats_init(print: Option<extern "C" fn()>) -> c_int {
    // ORDERING: Release ↔ Acquire in `call_client`, which then sees the callback that was set before.
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

/// Writes the statistics so far. If `reset` is not 0, counting starts again at 0.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_stats_dump(reset: c_int) {
    trace::dump(call_client, &[], reset != 0);
}

/// Writes the last lines, the statistics and the traffic matrix. The node's exit calls it.
pub(in crate::api) fn at_exit() {
    state::report_at_exit(|counters| {
        trace::note(b'I', format_args!("exit"));
        trace::dump(call_client, counters, false);
    });
    state::with_hardware_traffic(trace::write_matrix);
    trace::flush();
    crate::tools::heap::report_at_exit(crate::base::log::identity().0);
}
