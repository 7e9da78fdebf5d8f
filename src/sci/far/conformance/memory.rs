//! The memory of a test's node.
//!
//! Must not know: wires.

#![allow(unsafe_code)] // memory of the test
#![allow(missing_docs)] // tests

use super::SEGMENT;
use crate::os::sys;
use memmap2::MmapOptions;
use std::fs::File;
use std::mem::ManuallyDrop;

/// A segment. Its bytes are touched by volatile accesses, since a wire may write them at any time.
pub struct Memory(*mut u64);

// SAFETY: memory that lives as long as the process.
unsafe impl Send for Memory {}
// SAFETY: memory that lives as long as the process; accesses are volatile.
unsafe impl Sync for Memory {}

impl Memory {
    /// Shared memory, as segments of a job are: the wire over SISCI registers it with its library.
    pub(super) fn new() -> Memory {
        let file = File::from(sys::memfd().expect("a file in memory"));
        file.set_len(SEGMENT as u64).expect("room");
        // SAFETY: nobody else has the file.
        let map = ManuallyDrop::new(unsafe { MmapOptions::new().map_mut(&file) }.expect("a map"));
        std::mem::forget(file); // stays open, as that of a job does
        Memory(map.as_ptr().cast_mut().cast())
    }

    pub fn base(&self) -> *mut u8 {
        self.0.cast()
    }

    pub(super) fn word(&self, i: usize) -> u64 {
        assert!(i < SEGMENT / 8);
        // SAFETY: inside the memory.
        unsafe { self.0.wrapping_add(i).read_volatile() }
    }

    pub fn byte(&self, i: usize) -> u8 {
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
