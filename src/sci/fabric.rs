//! The fabric: what all nodes of a host share besides segments. It lies at the start of the job's memory file.
//!
//! Per node a bell and a table of segments; for all, the cursor that hands out file space. The bells lie side by side,
//! because a barrier looks at all of them: those of 32 nodes on one page. Zero-filled memory is the fabric's valid
//! initial state, so no node has to create it. File space is never handed out twice: there are 2^63 bytes of it,
//! and a peer may still have mapped what was removed.
//! Must not know what segments are for.

#![allow(unsafe_code)] // mapped memory, system calls

use super::interrupt::Bell;
use super::segment::Life;
use super::{NodeId, SciError};
use crate::os::machine;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, fallocate, fstat};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, getrlimit};
use std::os::fd::{AsRawFd, OwnedFd};

/// Most segments of a node.
pub(crate) const SEGMENTS: usize = 32;

/// Raised whenever the layout below changes.
const LAYOUT: u64 = 3;

/// Extents of this size start on a multiple of it, so that the kernel can use huge pages for them.
const HUGE: u64 = 2 << 20;

/// `Record::fences`: has joined. (The other values mean that too.)
const JOINED: u32 = 1;
/// `Record::fences`: joined, and sleeps with membarrier.
const MEMBARRIER: u32 = 3;

/// One segment: its life, and the extent of the file that it owns while it lives.
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) life: Life,
    /// Bytes into the file. Written by the owner while building.
    offset: AtomicU64,
    /// Bytes. Written by the owner while building.
    len: AtomicU64,
}

impl Entry {
    /// (file offset, length). For users of the segment only.
    pub(crate) fn extent(&self) -> (u64, u64) {
        // Relaxed: `Life` orders them: written while building, read by users.
        (self.offset.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed))
    }

    /// Writes the extent down, while building.
    pub(crate) fn set_extent(&self, offset: u64, len: u64) {
        self.offset.store(offset, Ordering::Relaxed); // Relaxed: as above
        self.len.store(len, Ordering::Relaxed); // Relaxed: as above
    }
}

/// What belongs to one node.
#[repr(C, align(128))]
pub(crate) struct Record {
    /// `JOINED` or `MEMBARRIER`; written by the node.
    fences: AtomicU32,
    pub(crate) entries: [Entry; SEGMENTS],
}

#[repr(C, align(128))]
struct Head {
    /// Version and number of nodes, written by whoever joins first.
    layout: AtomicU64,
    /// Bytes handed out behind the fabric.
    cursor: AtomicU64,
    /// Where the extents of one segment of each node lie side by side; 0: nowhere.
    common: AtomicU64,
}

const _: () = assert!(size_of::<Head>() == 128, "bells follow the head at their own alignment");
const _: () = assert!(size_of::<Bell>() == 128, "a bell's pair of lines is shared with nothing, and records follow");

/// The mapped fabric.
pub(crate) struct Fabric {
    map: MmapRaw,
    nodes: u32,
    /// First byte of the file behind it.
    space: u64,
}

impl Fabric {
    /// Bytes that the fabric of a job of `nodes` needs in the file: a multiple of 64 KiB, every page size in use.
    pub(crate) fn bytes(nodes: u32) -> u64 {
        let used = size_of::<Head>() + nodes as usize * (size_of::<Bell>() + size_of::<Record>());
        // One byte more: the file is grown by writing the last one, which therefore must mean nothing.
        (used as u64 + 1).next_multiple_of(64 << 10)
    }

    /// Maps the fabric at `base` of the file; extends the file over it.
    pub(crate) fn open(fd: &OwnedFd, base: u64, nodes: u32) -> Result<Self, SciError> {
        let bytes = Self::bytes(nodes);
        let space = base.checked_add(bytes).ok_or(SciError::System { call: "pwrite", errno: libc::EFBIG })?;
        grow(fd, space)?;
        let map = MmapOptions::new().offset(base).len(bytes as usize).map_raw(fd.as_raw_fd());
        let map = map.map_err(|e| SciError::System { call: "mmap", errno: e.raw_os_error().unwrap_or(0) })?;
        let fabric = Self { map, nodes, space };
        fabric.check_layout()?;
        Ok(fabric)
    }

    fn check_layout(&self) -> Result<(), SciError> {
        let mine = LAYOUT << 32 | u64::from(self.nodes);
        // Relaxed: the word stands alone; the node that joins first writes what all expect.
        let found = self.head().layout.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed);
        match found {
            Err(found) if found != mine => Err(SciError::LayoutMismatch { mine, found }),
            _ => Ok(()),
        }
    }

    /// Nodes of the job.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes
    }

    /// What belongs to `node`.
    pub(crate) fn record(&self, node: NodeId) -> Result<&Record, SciError> {
        let index = self.index(node)?;
        let at = size_of::<Head>() + self.nodes as usize * size_of::<Bell>() + index * size_of::<Record>();
        // SAFETY: `bytes(nodes)` made room for the bells and records of all nodes.
        let record = unsafe { self.map.as_mut_ptr().add(at) };
        // SAFETY: page-aligned base, sizes multiples of 128; all fields are atomics, valid when zero; mapped while
        // self lives.
        Ok(unsafe { &*record.cast::<Record>() })
    }

    /// `node`'s bell.
    pub(crate) fn bell(&self, node: NodeId) -> Result<&Bell, SciError> {
        let at = size_of::<Head>() + self.index(node)? * size_of::<Bell>();
        // SAFETY: `bytes(nodes)` made room for the bells of all nodes.
        let bell = unsafe { self.map.as_mut_ptr().add(at) };
        // SAFETY: inside the map and aligned; a bell consists of atomics, and the map lives as long as `self`.
        Ok(unsafe { &*bell.cast::<Bell>() })
    }

    fn index(&self, node: NodeId) -> Result<usize, SciError> {
        match u32::from(node.0) < self.nodes {
            true => Ok(usize::from(node.0)),
            false => Err(SciError::NoSuchNode { node, nodes: self.nodes }),
        }
    }

    fn head(&self) -> &Head {
        // SAFETY: the map begins with the head, which consists of atomics and lives as long as `self`.
        unsafe { &*self.map.as_mut_ptr().cast::<Head>() }
    }

    /// Says how this node sleeps.
    pub(crate) fn announce(&self, node: NodeId, membarrier: bool) -> Result<(), SciError> {
        let word = if membarrier { MEMBARRIER } else { JOINED };
        // ORDERING: Release ↔ Acquire in `all_membarrier`; the job-wide fence between orders them already.
        self.record(node)?.fences.store(word, Ordering::Release);
        Ok(())
    }

    /// Every node that `is_near` has joined and sleeps with membarrier.
    pub(crate) fn all_membarrier(&self, is_near: impl Fn(u32) -> bool) -> bool {
        let has = |node| {
            // ORDERING: Acquire ↔ Release in `announce`: a node that is seen here has registered.
            self.record(NodeId(node)).is_ok_and(|r| r.fences.load(Ordering::Acquire) == MEMBARRIER)
        };
        (0..self.nodes).filter(|node| is_near(*node)).all(|node| has(node as u16))
    }

    /// Takes `len` bytes of file space (a multiple of the page size) and extends the file over them.
    pub(crate) fn allocate(&self, fd: &OwnedFd, len: u64) -> Result<u64, SciError> {
        let align = if len >= HUGE { HUGE } else { 1 };
        let end_of = |used: u64| {
            let start = self.space.checked_add(used)?.checked_next_multiple_of(align)?;
            let end = start.checked_add(len)?;
            (end <= i64::MAX as u64).then_some((start, end))
        };
        let cursor = &self.head().cursor;
        // Relaxed: only the numbers of file space must differ; `Life` orders access to the bytes.
        let taken =
            cursor.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(end_of(used)?.1 - self.space));
        let too_big = SciError::System { call: "pwrite", errno: libc::EFBIG };
        let (start, end) = taken.ok().and_then(end_of).ok_or(too_big)?;
        if let Err(e) = grow(fd, end) {
            self.give_back(taken.unwrap_or(0), end);
            return Err(e);
        }
        Ok(start)
    }

    /// Takes file space of `len` bytes in which nodes have parts of their own. One node calls it, before the others ask.
    pub(crate) fn choose_common(&self, fd: &OwnedFd, len: u64) -> Result<(), SciError> {
        let at = self.allocate(fd, len)?;
        self.head().common.store(at, Ordering::Relaxed); // Relaxed: a fence of the job is between this and who asks
        Ok(())
    }

    /// Where that space is, the same for all who ask. `None`: there is none.
    pub(crate) fn common(&self, fd: &OwnedFd, len: u64) -> Option<u64> {
        let at = self.head().common.load(Ordering::Relaxed); // Relaxed: as above
        (at != 0 && self.check_extent(fd, at, len).is_ok()).then_some(at)
    }

    /// Is that an extent which [`Self::allocate`] may have given? `OutOfRange`.
    pub(crate) fn check_extent(&self, fd: &OwnedFd, offset: u64, len: u64) -> Result<(), SciError> {
        let segment = file_len(fd)?;
        let inside = offset.checked_add(len).is_some_and(|end| end <= segment);
        let page = machine::page_size() as u64;
        if len == 0 || (inside && offset >= self.space && offset.is_multiple_of(page) && len.is_multiple_of(page)) {
            return Ok(());
        }
        Err(SciError::OutOfRange { offset, len, segment })
    }

    /// Returns space that nobody has seen yet, if nobody took more since.
    fn give_back(&self, used: u64, end: u64) {
        // Relaxed: as in `allocate`.
        let _ = self.head().cursor.compare_exchange(end - self.space, used, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Extends the file to `end` bytes at least. Writing a byte can only extend it, where ftruncate by two nodes could cut
/// off what the other added. The last byte of what is added belongs to nobody yet.
fn grow(fd: &OwnedFd, end: u64) -> Result<(), SciError> {
    if end == 0 || file_len(fd)? >= end {
        return Ok(());
    }
    let limit = file_size_limit();
    if end > limit || end > i64::MAX as u64 {
        // Asked beforehand, because going over RLIMIT_FSIZE raises SIGXFSZ, which ends the process.
        return Err(SciError::System { call: "pwrite", errno: libc::EFBIG });
    }
    rustix::io::pwrite(fd, &[0], end - 1).map(drop).map_err(refused("pwrite"))
}

fn refused(call: &'static str) -> impl Fn(Errno) -> SciError {
    move |error| SciError::System { call, errno: error.raw_os_error() }
}

fn file_len(fd: &OwnedFd) -> Result<u64, SciError> {
    Ok(fstat(fd).map_err(refused("fstat"))?.st_size as u64)
}

fn file_size_limit() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}

/// Gives the memory of an extent back to the system; the file keeps its length.
pub(crate) fn punch_hole(fd: &OwnedFd, offset: u64, len: u64) {
    if len == 0 {
        return;
    }
    // If the system cannot, the memory returns when the job's file goes.
    let _ = fallocate(fd, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len);
}

/// Takes memory for the whole extent from the system now.
pub(crate) fn commit(fd: &OwnedFd, offset: u64, len: u64) -> Result<(), SciError> {
    if len == 0 {
        return Ok(());
    }
    // After a signal the kernel has given back what was taken so far, so it begins again.
    retry_on_intr(|| fallocate(fd, FallocateFlags::empty(), offset, len)).map_err(refused("fallocate"))
}
