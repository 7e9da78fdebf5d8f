//! A Rust program may link the library and have an allocator of its own, if it leaves out the library's: `--no-default-features`. With the
//! library's, the compiler refuses a second one.

#![cfg(not(feature = "spare-heap"))]
#![allow(unsafe_code)] // an allocator

use gasnet_sci as _;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static BLOCKS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator keeps the rules.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static OWN: Counting = Counting;

#[test]
fn the_programs_allocator_is_used() {
    let before = BLOCKS.load(Ordering::Relaxed);
    drop(std::hint::black_box(Box::new(1)));
    assert!(BLOCKS.load(Ordering::Relaxed) > before);
}
