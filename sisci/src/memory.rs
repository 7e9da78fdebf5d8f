//! Memory of segments: files without a name that nobody can make smaller. Those made here keep their size, and their pages exist from the beginning; those of
//! programs may grow, and may have no pages yet.
#![allow(unsafe_code)] // Mappings, and copies between them.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::CStr;
use std::ops::Range;
use std::ptr;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::{Error, Result};
use crate::name::enough;

mod shared;

/// Bytes of a page.
pub fn page() -> usize {
    rustix::param::page_size()
}

/// `size` in whole pages, or nothing if no memory can be so large.
pub fn in_pages(size: usize) -> Option<usize> {
    Some(size.checked_add(page() - 1)? & !(page() - 1)).filter(|&size| size <= isize::MAX as usize)
}

/// The memory of a segment.
pub struct Memory {
    /// The file.
    pub fd: OwnedFd,
    /// Where the segment's memory begins in the file.
    pub offset: u64,
    /// Its size: whole pages.
    pub length: usize,
}

/// Above so many bytes the system's free memory is asked for first: taking pages that are not there would wake the kernel's killer.
const LARGE: usize = 16 << 20;

/// Bytes that the system says are available, if it says so.
fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok()?.checked_mul(1024)
}

/// `size` in whole pages. NOSPC if the system has not so much memory left.
pub fn room(size: usize) -> Result<usize> {
    let length = in_pages(size).ok_or(Error::NoSpc)?;
    if length > LARGE && available().is_some_and(|free| length > free) { Err(Error::NoSpc) } else { Ok(length) }
}

/// What is a value if all of its bytes are 0.
///
/// # Safety
/// It is.
pub unsafe trait Zero: Copy {}
// SAFETY: all bytes are numbers.
unsafe impl Zero for u8 {}
// SAFETY: the same.
unsafe impl Zero for u64 {}

/// So many zeros, whose pages the system makes when they are used. NOSPC if there is no room, where `vec!` would end the program.
pub fn zeros<T: Zero>(count: usize) -> Result<Vec<T>> {
    let layout = Layout::array::<T>(count).map_err(|_| Error::NoSpc)?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: not empty.
    let base = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if base.is_null() {
        return Err(Error::NoSpc);
    }
    // SAFETY: from the allocator, with room for so many, all of them values.
    Ok(unsafe { Vec::from_raw_parts(base, count, count) })
}

impl Memory {
    /// Memory of zeros for `size` bytes.
    pub fn new(size: usize) -> Result<Memory> {
        Memory::named(c"sisci", size)
    }

    /// The same; the system's tables show it under this name.
    fn named(name: &CStr, size: usize) -> Result<Memory> {
        let length = room(size)?;
        let fd = enough(|| memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING))?;
        ftruncate(&fd, length as u64).map_err(|_| Error::NoSpc)?;
        if length > 0 {
            rustix::io::retry_on_intr(|| fallocate(&fd, FallocateFlags::empty(), 0, length as u64))
                .map_err(|_| Error::NoSpc)?;
        }
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Memory { fd, offset: 0, length })
    }

    /// Memory of `size` bytes that a peer has sent, in a file from `offset` on. Refused if the peer could still make it smaller: a load would end this process.
    pub fn from_peer(fd: OwnedFd, size: u64, offset: u64) -> Result<Memory> {
        let length = usize::try_from(size).ok().and_then(in_pages).ok_or(Error::ConnectionRefused)?;
        let end = offset.checked_add(length as u64).ok_or(Error::ConnectionRefused)?;
        let is_in_it = end <= u64::try_from(fstat(&fd)?.st_size).unwrap_or(0) && offset.is_multiple_of(page() as u64);
        if is_sealed(&fd) && is_in_it { Ok(Memory { fd, offset, length }) } else { Err(Error::ConnectionRefused) }
    }

    /// The memory of these pages, which are a part of a file that the program shares and keeps open, and that nobody can make smaller.
    pub fn of_program(address: usize, size: usize) -> Option<Memory> {
        let place = shared::place(address, size)?;
        let fd = shared::open(&place).filter(is_sealed)?;
        Memory::from_peer(fd, size as u64, place.offset).ok()
    }

    /// Maps `length` bytes from `offset` on, which is a multiple of a page; at `at` if that is not null, and nowhere else then.
    pub fn map(&self, offset: usize, length: usize, at: *mut u8, is_readonly: bool) -> Result<Mapping> {
        let protection = if is_readonly { ProtFlags::READ } else { ProtFlags::READ | ProtFlags::WRITE };
        let flags = if at.is_null() { MapFlags::SHARED } else { MapFlags::SHARED | MapFlags::FIXED_NOREPLACE };
        // SAFETY: a new mapping, which replaces none.
        let base = unsafe { mmap(at.cast(), length, protection, flags, self.fd.as_fd(), self.offset + offset as u64) };
        let base: *mut u8 = base
            .map_err(|errno| if errno == rustix::io::Errno::EXIST { Error::IllegalAddress } else { Error::NoSpc })?
            .cast();
        let mapping = Mapping { base, length };
        // Before Linux 4.17 the address is a wish only.
        if at.is_null() || base == at { Ok(mapping) } else { Err(Error::IllegalAddress) }
    }

    /// Makes these pages of the program the memory of a segment: what they hold stays, and where.
    ///
    /// # Safety
    /// They are memory of the program alone ([`is_own`]), and no other thread writes to them meanwhile.
    pub unsafe fn replace(address: *mut u8, size: usize) -> Result<Memory> {
        let memory = Memory::named(REPLACED, size)?;
        let copy = memory.map(0, memory.length, ptr::null_mut(), false)?;
        // SAFETY: both have `size` bytes; the copy is new.
        unsafe { ptr::copy_nonoverlapping(address, copy.base, size) };
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: these pages are the program's, which asks for this; they have the same bytes afterwards.
        unsafe { mmap(address.cast(), size, protection, flags, memory.fd.as_fd(), 0) }.map_err(|_| Error::NoSpc)?;
        Ok(memory)
    }
}

/// Whether nobody can make this file smaller.
fn is_sealed(fd: &OwnedFd) -> bool {
    fcntl_get_seals(fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK))
}

/// The name of memory that has taken the place of a program's pages.
const REPLACED: &CStr = c"sisci-registered";
/// How the system's tables show it.
const REPLACED_PATH: &str = "/memfd:sisci-registered";

/// Whether all of these bytes are the program's alone, and can be read and written: private anonymous memory, or such that was it until a segment
/// took its place. `is_left` says whether that segment has gone.
pub fn is_own(address: usize, size: usize, is_left: impl Fn(Range<usize>) -> bool) -> bool {
    let Ok(table) = std::fs::read_to_string("/proc/self/maps") else { return false };
    let Some(end) = address.checked_add(size) else { return false };
    let mut at = address;
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let Some((low, high)) = words.next().and_then(|range| range.split_once('-')) else { continue };
        let (Ok(low), Ok(high)) = (usize::from_str_radix(low, 16), usize::from_str_radix(high, 16)) else { continue };
        if high <= at || low > at {
            continue;
        }
        let rights = words.next().unwrap_or("");
        // An inode other than 0 is a file; a stack grows, so it cannot be replaced.
        let (inode, name) = (words.nth(2), words.next().unwrap_or(""));
        let is_private = rights.ends_with('p') && inode == Some("0") && name != "[stack]";
        let is_free = || name == REPLACED_PATH && is_left(low.max(address)..high.min(end));
        if !rights.starts_with("rw") || !is_private && !is_free() {
            return false;
        }
        at = high;
        if at >= end {
            return true;
        }
    }
    false
}

/// Whether all of these bytes are mapped.
pub fn is_mapped(address: *const u8, size: usize) -> bool {
    let start = address as usize & !(page() - 1);
    let Some(end) = (address as usize).checked_add(size) else { return false };
    // SAFETY: msync without work to do only looks whether the pages exist; the address is not used otherwise.
    size == 0
        || unsafe { rustix::mm::msync(start as *mut core::ffi::c_void, end - start, rustix::mm::MsyncFlags::ASYNC) }
            .is_ok()
}

/// Memory that is mapped here; unmapped at its end.
pub struct Mapping {
    /// Where.
    pub base: *mut u8,
    /// How many bytes.
    pub length: usize,
}

// SAFETY: a mapping is an address and a length. What stands there is shared with other processes anyway.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own; who has an address in it must not use it any longer, as SCIUnmapSegment says.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_maps_of_one_memory_show_the_same_bytes() {
        let memory = Memory::new(5000).unwrap();
        assert_eq!(memory.length, in_pages(5000).unwrap());
        for size in [1 << 50, 1 << 62, usize::MAX] {
            assert_eq!(room(size).err(), Some(Error::NoSpc));
        }
        assert_eq!(zeros::<u64>(usize::MAX / 16).err(), Some(Error::NoSpc));
        assert_eq!(zeros::<u8>(3), Ok(vec![0; 3]));
        let (one, two) = (
            memory.map(0, memory.length, ptr::null_mut(), false).unwrap(),
            memory.map(0, memory.length, ptr::null_mut(), true).unwrap(),
        );
        let (one_byte, two_byte) = (one.base.wrapping_add(4999), two.base.wrapping_add(4999));
        // SAFETY: within the map.
        unsafe { one_byte.write_volatile(7) };
        // SAFETY: as above.
        assert_eq!(unsafe { two_byte.read_volatile() }, 7);
        assert_eq!(memory.map(0, page(), one.base, false).err(), Some(Error::IllegalAddress));
    }

    #[test]
    fn a_peers_memory_that_it_could_shrink_is_refused() {
        let fd = memfd_create(c"test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 4096).unwrap();
        assert_eq!(Memory::from_peer(fd, 4096, 0).err(), Some(Error::ConnectionRefused));
        let memory = Memory::new(4096).unwrap();
        assert_eq!(Memory::from_peer(memory.fd, 8192, 0).err(), Some(Error::ConnectionRefused));
    }

    #[test]
    fn the_programs_pages_keep_their_bytes_and_place() {
        let size = 2 * page();
        // SAFETY: a new mapping.
        let base = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
        .unwrap();
        let base: *mut u8 = base.cast();
        let byte = base.wrapping_add(page());
        // SAFETY: within it.
        unsafe { byte.write(9) };
        assert!(is_own(base as usize, size, |_| false) && is_mapped(base, size));
        // SAFETY: private anonymous memory of this test.
        let memory = unsafe { Memory::replace(base, size) }.unwrap();
        assert!(!is_own(base as usize, size, |_| false));
        assert!(
            is_own(base as usize, size, |left| left == (base as usize..base as usize + size)),
            "its segment has gone"
        );
        let other = memory.map(0, size, ptr::null_mut(), false).unwrap();
        let byte = other.base.wrapping_add(page());
        // SAFETY: within the map.
        assert_eq!(unsafe { byte.read() }, 9);
        assert!(!is_mapped(ptr::without_provenance(8), 1));
        assert!(!is_own(16, 16, |_| true));
    }

    #[test]
    fn more_than_the_machine_has_is_refused_at_once() {
        assert_eq!(Memory::new(1 << 50).err(), Some(Error::NoSpc));
        assert_eq!(Memory::new(usize::MAX).err(), Some(Error::NoSpc));
    }
}
