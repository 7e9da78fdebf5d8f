//! The memory of a test's node, and what tests write there.
//!
//! Bytes are filled and compared in one piece. Tests are not optimised: with a loop over the bytes the tests of all wires took 98 instead of
//! 38 s of processor time (`cargo test --lib sci::far`, 2-core Xeon VM, 2026-12).
//!
//! Must not know: wires.

#![allow(unsafe_code)] // memory of the test
#![allow(missing_docs)] // tests

use super::SEGMENT;
use crate::os::sys;
use memmap2::MmapOptions;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::sync::LazyLock;

/// `len` bytes, others for each seed; byte `i` of `seed` is the first one of `seed + i`.
pub(super) fn pattern(seed: usize, len: usize) -> &'static [u8] {
    static ALL: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..SEGMENT + 4096).map(|i: usize| (i.wrapping_mul(0x9E37_79B9) >> 11) as u8).collect());
    &ALL[seed..seed + len]
}

/// Panics with the place of the first byte that is another one.
#[track_caller]
pub(super) fn same(found: &[u8], wanted: &[u8], what: &str) {
    if found != wanted {
        let i = found.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        panic!(
            "{what}: byte {i} is {:?}, not {:?}; of {} and {}",
            found.get(i),
            wanted.get(i),
            found.len(),
            wanted.len()
        );
    }
}

/// A segment. A wire may write its bytes at any time, so no reference to them is made.
pub struct Memory(*mut u64);

// SAFETY: memory that lives as long as the process.
unsafe impl Send for Memory {}
// SAFETY: memory that lives as long as the process. Words are read by volatile accesses, bytes are copied by memcpy. A wire that writes at
// the same time may tear what is read; tests compare once it has counted the write, or until what they read is right.
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

    /// A copy of the bytes from `at` on.
    pub fn bytes(&self, at: usize, len: usize) -> Vec<u8> {
        assert!(at + len <= SEGMENT);
        let mut copy = vec![0u8; len];
        // SAFETY: inside the memory, and into room of that length.
        unsafe { libc::memcpy(copy.as_mut_ptr().cast(), self.base().wrapping_add(at).cast(), len) };
        copy
    }

    /// Fills all of it.
    pub(super) fn fill(&self, byte: u8) {
        // SAFETY: all of the memory.
        unsafe { libc::memset(self.base().cast(), byte.into(), SEGMENT) };
    }

    /// Fills all of it with the pattern of `seed`.
    pub(super) fn fill_with_pattern(&self, seed: usize) {
        // SAFETY: all of the memory.
        unsafe { libc::memcpy(self.base().cast(), pattern(seed, SEGMENT).as_ptr().cast(), SEGMENT) };
    }
}
