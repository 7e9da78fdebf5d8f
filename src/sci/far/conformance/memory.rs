//! The memory of a test's node.
//!
//! Must not know: wires.

#![allow(unsafe_code)] // memory of the test
#![allow(missing_docs)] // tests

use super::SEGMENT;

/// A segment. Its bytes are touched by volatile accesses, since a wire may write them at any time.
pub struct Memory(*mut u64);

// SAFETY: memory that lives as long as the process.
unsafe impl Send for Memory {}
// SAFETY: memory that lives as long as the process; accesses are volatile.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory(Box::leak(vec![0u64; SEGMENT / 8].into_boxed_slice()).as_mut_ptr())
    }

    pub fn base(&self) -> *mut u8 {
        self.0.cast()
    }

    pub(super) fn word(&self, i: usize) -> u64 {
        assert!(i < SEGMENT / 8);
        // SAFETY: inside the memory.
        unsafe { self.0.wrapping_add(i).read_volatile() }
    }

    pub(super) fn byte(&self, i: usize) -> u8 {
        assert!(i < SEGMENT);
        // SAFETY: inside the memory.
        unsafe { self.base().wrapping_add(i).read_volatile() }
    }

    pub(super) fn fill(&self, byte: impl Fn(usize) -> u8) {
        for i in 0..SEGMENT {
            // SAFETY: inside the memory.
            unsafe { self.base().wrapping_add(i).write_volatile(byte(i)) };
        }
    }
}
