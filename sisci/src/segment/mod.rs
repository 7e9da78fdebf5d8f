//! Segments: the memory that nodes show each other. `local` is the owner's side, `remote` the side of who connects; `peer` is what an owner has to
//! do with those who connect, `share` with other owners of the same segment, `group` with the members of a
//! broadcast segment, `outside` with those on other hosts.

pub mod group;
pub mod local;
pub mod outside;
pub mod peer;
pub mod remote;
pub mod share;

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::memory::{Mapping, Memory};

/// The memory of a segment on either side, and what uses it here.
#[derive(Default)]
pub struct Body {
    /// The size that was asked for at creation; ranges are checked against it.
    size: AtomicUsize,
    memory: OnceLock<Memory>,
    /// All of it, mapped for DMA at the first transfer.
    whole: OnceLock<Mapping>,
    making: Mutex<()>,
    /// Maps of this process.
    pub maps: AtomicUsize,
    /// Transfers in queues of this process.
    pub transfers: AtomicUsize,
}

impl Body {
    /// The size in bytes.
    pub fn size(&self) -> usize {
        // Ordering: Acquire meets the Release of `set`, though who asks has the memory already.
        self.size.load(Ordering::Acquire)
    }

    /// The memory, once there is some.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.get()
    }

    /// The segment has this memory, of which it uses `size` bytes. ILLEGAL_OPERATION if it has some.
    pub fn set(&self, memory: Memory, size: usize) -> Result {
        self.memory.set(memory).map_err(|_| Error::IllegalOperation)?;
        self.size.store(size, Ordering::Release);
        Ok(())
    }

    /// The size of a segment that has no memory yet.
    pub fn set_size(&self, size: usize) {
        self.size.store(size, Ordering::Release);
    }

    /// `size` bytes from `offset` on are within the segment.
    pub fn check(&self, offset: usize, size: usize) -> Result {
        if offset.checked_add(size).is_some_and(|end| end <= self.size()) { Ok(()) } else { Err(Error::OutOfRange) }
    }

    /// All of the memory, mapped for the library itself.
    pub fn whole(&self) -> Result<*mut u8> {
        let _one = self.making.lock();
        if let Some(whole) = self.whole.get() {
            return Ok(whole.base);
        }
        let memory = self.memory.get().ok_or(Error::IllegalOperation)?;
        let mapping = memory.map(0, memory.length, ptr::null_mut(), false)?;
        Ok(self.whole.get_or_init(|| mapping).base)
    }

    /// Whether maps or transfers of this process use it.
    pub fn is_in_use(&self) -> bool {
        self.maps.load(Ordering::Acquire) > 0 || self.transfers.load(Ordering::Acquire) > 0
    }
}
