//! Checks the payloads that handlers get: they must lie in memory that peers may write, and that memory must exist.

#![allow(unsafe_code)] // handlers and memory as clients have them

use std::cell::RefCell;
use std::hint::black_box;

thread_local!(static AREAS: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) });

/// Sets the areas (address, bytes) in which payloads of this thread's handlers must lie. With none, payloads are not
/// checked.
pub fn set(areas: Vec<(usize, usize)>) {
    AREAS.set(areas);
}

/// Checks a payload that a handler is about to get.
pub fn look(buf: *const u8, len: usize) {
    AREAS.with_borrow(|areas| {
        if areas.is_empty() || len == 0 {
            return;
        }
        let inside =
            |(base, size): &(usize, usize)| buf.addr() >= *base && len <= *size && buf.addr() - base <= size - len;
        assert!(areas.iter().any(inside), "a payload of {len} bytes at {buf:?} outside {areas:x?}");
        for at in [0, len / 2, len - 1] {
            // SAFETY: inside an area; areas are live memory.
            black_box(unsafe { buf.wrapping_add(at).read_volatile() });
        }
    });
}
