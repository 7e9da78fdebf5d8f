//! The debug heap, for clients compiled with GASNET_DEBUGMALLOC (contract: tools.md §15). Misuse ends the program.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::job::{Job, fatal};
use crate::tools::heap::{self, Stats};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// Like malloc. Lack of memory is fatal.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_heap_malloc(size: usize) -> *mut c_void {
    heap::allocate("gasnett_debug_malloc", size, false)
}

/// Like calloc. Lack of memory is fatal.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_heap_calloc(n: usize, size: usize) -> *mut c_void {
    match n.checked_mul(size) {
        Some(size) => heap::allocate("gasnett_debug_calloc", size, true),
        None => fatal(format_args!("gasnett_debug_calloc: {n} times {size} bytes are too many")),
    }
}

/// Like realloc, but it always moves the block. Size 0 frees it.
///
/// # Safety
/// No other thread uses the old block meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_heap_realloc(old: *mut c_void, size: usize) -> *mut c_void {
    let call = "gasnett_debug_realloc";
    let had = heap::size(call, old);
    if size == 0 && !old.is_null() {
        heap::free(call, old);
        return ptr::null_mut();
    }
    let new = heap::allocate(call, size, false);
    // SAFETY: the old block has `had` bytes, the new one `size`, and they are different blocks.
    unsafe { new.cast::<u8>().copy_from_nonoverlapping(old.cast(), had.min(size)) };
    heap::free(call, old);
    new
}

/// Like free. A block that is not in use, or whose guards were overwritten, is fatal.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_heap_free(block: *mut c_void) {
    heap::free("gasnett_debug_free", block);
}

fn copy(call: &str, text: &[u8]) -> *mut c_char {
    let new = heap::allocate(call, text.len() + 1, true).cast::<u8>();
    // SAFETY: the new block has a byte more than the text, which is 0.
    unsafe { new.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    new.cast()
}

/// Like strdup.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_heap_strdup(text: *const c_char) -> *mut c_char {
    // SAFETY: the caller promises that `text` is a C string.
    copy("gasnett_debug_strdup", unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Like strndup: copies at most `n` characters.
///
/// # Safety
/// `text` is a C string, or readable for `n` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_heap_strndup(text: *const c_char, n: usize) -> *mut c_char {
    // SAFETY: the caller promises a C string, or `n` readable bytes.
    let len = unsafe { libc::strnlen(text, n) };
    // SAFETY: strnlen has read them.
    copy("gasnett_debug_strndup", unsafe { std::slice::from_raw_parts(text.cast(), len) })
}

/// Checks the guards of one block and returns its size in bytes; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_heap_memcheck(block: *mut c_void) -> usize {
    heap::size("gasnett_debug_memcheck", block)
}

/// Checks the guards of one block, a different one in each call.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_heap_memcheck_one() {
    heap::check_one("gasnett_debug_memcheck_one");
}

/// Checks the guards of all blocks.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_heap_memcheck_all() {
    heap::check_all("gasnett_debug_memcheck_all");
}

/// Stores the heap's numbers to `*stats`.
///
/// # Safety
/// `stats` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_heap_stats(stats: *mut Stats) {
    // SAFETY: the caller promises that `stats` is writable.
    unsafe { stats.write(heap::stats()) };
}

/// Writes the heap's numbers to `file`, in which % stands for the node; if `show_live` is not 0, also the live blocks.
///
/// # Safety
/// `file` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_heap_dump(file: *const c_char, show_live: c_int) {
    // SAFETY: the caller promises a C string.
    let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
    let node = Job::get().map_or(0, Job::rank);
    heap::dump(&file, node, show_live != 0);
}
