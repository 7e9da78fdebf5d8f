//! Memory maps of extents of the job's file: where the system likes, or inside a reserved window.
//!
//! Must not know whose segment it is.

#![allow(unsafe_code)] // mapped memory, system calls

use super::window::Hold;
use super::{Placement, SciError};
use memmap2::{MmapOptions, MmapRaw};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// A shared map, readable and writable. Dropping it unmaps; inside a window the reservation is put back.
pub(crate) struct Mapping {
    base: *mut u8,
    len: usize,
    // Dropped last, each undoes the map.
    _place: Backing,
}

enum Backing {
    /// Nothing is mapped.
    Empty,
    /// The system chose.
    Anywhere(#[allow(dead_code)] MmapRaw), // kept for its drop
    /// In a window.
    Window(#[allow(dead_code)] Hold), // kept for its drop
    /// A part of another map.
    Part(#[allow(dead_code)] Arc<Mapping>), // kept for its drop
}

// SAFETY: `base` is a plain address; access to the memory is the business of who gets it.
unsafe impl Send for Mapping {}
// SAFETY: `base` is a plain address; access to the memory is the business of who gets it.
unsafe impl Sync for Mapping {}

/// Keeps the map out of core dumps. A dump would touch, and so commit, every page of every node's segments: 809 MB for three
/// untouched segments of 256 MiB, and all memory for segments of the default size. Failure only means a larger core.
fn leave_out_of_cores(base: *mut u8, len: usize) {
    // SAFETY: a map of ours; the advice changes nothing that a program can see.
    unsafe { libc::madvise(base.cast(), len, libc::MADV_DONTDUMP) };
}

impl Mapping {
    /// Maps `len` bytes of the file from `offset` (page-aligned). `BadPlacement`; `System` when the system refuses.
    pub(crate) fn new(fd: &OwnedFd, offset: u64, len: usize, place: Placement) -> Result<Self, SciError> {
        if len == 0 {
            // Aligned like a map, and never accessed: every bounds check fails.
            return Ok(Self { base: std::ptr::without_provenance_mut(1 << 16), len, _place: Backing::Empty });
        }
        match place {
            Placement::Anywhere => Self::anywhere(fd, offset, len),
            Placement::At(address) => Self::in_window(fd, offset, len, address),
        }
    }

    /// `len` bytes of `whole`, which has them.
    pub(crate) fn part(whole: &Arc<Mapping>, offset: usize, len: usize) -> Self {
        assert!(offset <= whole.len && len <= whole.len - offset);
        Self { base: whole.base.wrapping_add(offset), len, _place: Backing::Part(whole.clone()) }
    }

    fn anywhere(fd: &OwnedFd, offset: u64, len: usize) -> Result<Self, SciError> {
        let map = MmapOptions::new().offset(offset).len(len).map_raw(fd.as_raw_fd());
        let map =
            map.map_err(|e| SciError::System { call: "mmap", errno: e.raw_os_error().unwrap_or(libc::ENOMEM) })?;
        leave_out_of_cores(map.as_mut_ptr(), len);
        Ok(Self { base: map.as_mut_ptr(), len, _place: Backing::Anywhere(map) })
    }

    fn in_window(fd: &OwnedFd, offset: u64, len: usize, address: usize) -> Result<Self, SciError> {
        let hold = Hold::take(address, len)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: `hold` is reserved space that nothing else uses, so MAP_FIXED replaces only the reservation.
        let got = unsafe { libc::mmap(address as *mut _, len, protection, flags, fd.as_raw_fd(), offset as i64) };
        if got == libc::MAP_FAILED {
            return Err(SciError::last_os_error("mmap"));
        }
        leave_out_of_cores(got.cast(), len);
        Ok(Self { base: got.cast(), len, _place: Backing::Window(hold) })
    }

    /// First byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}
