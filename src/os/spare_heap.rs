//! The Rust code's heap: the C library's, or in a process that asked for it ([`switch`]) a spare one.
//!
//! A process that is made while another dies (`tools/symbols.rs`) has a copy of the dying one's memory. The C library's heap in it may be
//! damaged, or locked by a thread that the copy does not have. The spare heap takes whole pages from the system, and gives
//! nothing back before the process ends.

#![allow(unsafe_code)] // an allocator

use super::host;
use crate::sync::fixed::{AtomicBool, AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

/// What Rust allocates from, unless the program has an allocator of its own. Then [`switch`] changes nothing but what [`has_switched`] says.
#[cfg_attr(not(feature = "spare-heap"), allow(dead_code))]
struct Heap;

#[cfg(feature = "spare-heap")]
#[global_allocator]
static HEAP: Heap = Heap;

// Only the one thread of a process that has switched uses what follows, so nothing is ordered by it: all accesses are relaxed.
static SWITCHED: AtomicBool = AtomicBool::new(false);
// The free bytes of the last piece of memory.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// What is taken from the system at a time, unless more is wanted.
const PIECE: usize = 4 << 20;

/// From now on this process uses the spare heap. It has one thread, and will have no other.
pub fn switch() {
    SWITCHED.store(true, Ordering::Relaxed);
}

/// Whether this process has done so.
pub fn has_switched() -> bool {
    SWITCHED.load(Ordering::Relaxed)
}

#[cfg_attr(not(feature = "spare-heap"), allow(dead_code))]
fn take(layout: Layout) -> *mut u8 {
    let place = |begin: usize| begin.checked_next_multiple_of(layout.align());
    let fits =
        |begin: usize, end: usize| Some((begin, begin.checked_add(layout.size()).filter(|after| *after <= end)?));
    let here = place(BEGIN.load(Ordering::Relaxed)).and_then(|begin| fits(begin, END.load(Ordering::Relaxed)));
    let (begin, after) = here.unwrap_or_else(|| {
        let Some(len) = layout.size().checked_add(layout.align()).map(|len| len.max(PIECE)) else { return (0, 0) };
        let Ok(piece) = host::map(len) else { return (0, 0) };
        END.store(piece as usize + len, Ordering::Relaxed);
        place(piece as usize).and_then(|begin| fits(begin, piece as usize + len)).unwrap_or((0, 0))
    });
    if begin == 0 {
        return ptr::null_mut();
    }
    BEGIN.store(after, Ordering::Relaxed);
    ptr::with_exposed_provenance_mut(begin)
}

// SAFETY: the C library's heap keeps the rules. The spare one gives each caller bytes that nobody else has or will have.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if has_switched() {
            return take(layout);
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if has_switched() {
            return take(layout); // the system's pages are zero, and each byte is given out once
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !has_switched() {
            // SAFETY: the caller's promise is the same. No process goes back to this heap.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, len: usize) -> *mut u8 {
        if !has_switched() {
            // SAFETY: the caller's promise is the same.
            return unsafe { System.realloc(memory, layout, len) };
        }
        if len <= layout.size() {
            return memory;
        }
        // Vectors grow again and again; the last one does so in place.
        let after = memory.addr() + len;
        let is_last = memory.addr() + layout.size() == BEGIN.load(Ordering::Relaxed);
        if is_last && after <= END.load(Ordering::Relaxed) {
            BEGIN.store(after, Ordering::Relaxed);
            return memory;
        }
        // SAFETY: the caller promises that `len`, rounded up to the alignment, does not overflow.
        let new = take(unsafe { Layout::from_size_align_unchecked(len, layout.align()) });
        if !new.is_null() {
            // SAFETY: the old block holds that many bytes, the new one is larger, and they are different memory.
            unsafe { ptr::copy_nonoverlapping(memory, new, layout.size()) };
        }
        new
    }
}

#[cfg(all(test, feature = "spare-heap", not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::os::sys;

    // In a process of its own: the switch is for good.
    #[test]
    fn the_spare_heap_gives_memory_of_any_size_and_keeps_what_is_in_it() {
        let child = sys::fork().unwrap();
        if child == 0 {
            let before = vec![7u8; 1000];
            switch();
            let mut all: Vec<Vec<u64>> = Vec::new();
            for size in 0..2000u64 {
                all.push((0..size).map(|i| size * i).collect());
            }
            let kept = |(size, list): (usize, &Vec<u64>)| list.iter().enumerate().all(|(i, v)| *v == (size * i) as u64);
            let large = vec![0u8; 3 * PIECE];
            let right = all.iter().enumerate().all(kept) && large.iter().all(|byte| *byte == 0) && before == [7; 1000];
            let aligned = Box::new(Aligned([1; 4096]));
            let right = right && ptr::from_ref(&*aligned).addr().is_multiple_of(4096);
            drop((all, large, before, aligned));
            sys::exit_now(if right { 0 } else { 1 });
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }

    #[repr(align(4096))]
    struct Aligned(#[allow(dead_code)] [u8; 4096]);
}
