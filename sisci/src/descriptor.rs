//! Descriptors, and what one may own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::handle::{self, Handle, Kind, Named};
use crate::state::config;

/// `sci_desc_t`: it owns resources.
pub struct Descriptor {
    /// How many of each kind it owns.
    counts: [AtomicUsize; handle::KINDS],
}

impl Named for Descriptor {
    const KIND: Kind = Kind::Descriptor;
}

/// SCIOpen.
pub fn open() -> Result<Handle> {
    config()?;
    let place = handle::reserve(Kind::Descriptor)?;
    Ok(place.fill(Arc::new(Descriptor { counts: [const { AtomicUsize::new(0) }; handle::KINDS] })))
}

/// SCIClose.
pub fn close(descriptor: Handle) -> Result {
    let owner = handle::get::<Descriptor>(descriptor)?;
    if owner.counts.iter().any(|count| count.load(Ordering::Acquire) > 0) {
        return Err(Error::Busy);
    }
    handle::remove(descriptor);
    Ok(())
}

/// One resource that a descriptor owns. Counted from its making to `release`, or to its end.
pub struct Owned {
    /// The descriptor's handle.
    pub descriptor: Handle,
    owner: Arc<Descriptor>,
    kind: Kind,
    released: AtomicBool,
}

impl Owned {
    /// A resource of `kind` of the descriptor; API_NOSPC if it has too many.
    pub fn new(descriptor: Handle, kind: Kind) -> Result<Owned> {
        let limit = config()?.limit;
        let owner = handle::get::<Descriptor>(descriptor)?;
        // Ordering: a count, which nothing else hangs on; Acquire and Release so that SCIClose sees what was done before.
        if owner.counts[kind as usize].fetch_add(1, Ordering::AcqRel) >= limit {
            owner.counts[kind as usize].fetch_sub(1, Ordering::AcqRel);
            return Err(Error::ApiNoSpc);
        }
        Ok(Owned { descriptor, owner, kind, released: AtomicBool::new(false) })
    }

    /// The resource is gone for the program, though a thread of the library may still hold it.
    pub fn release(&self) {
        if !self.released.swap(true, Ordering::AcqRel) {
            self.owner.counts[self.kind as usize].fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
impl Owned {
    /// A resource of a descriptor that the program does not know.
    pub fn alone(kind: Kind) -> Owned {
        let owner = Arc::new(Descriptor { counts: [const { AtomicUsize::new(1) }; handle::KINDS] });
        Owned { descriptor: 0, owner, kind, released: AtomicBool::new(false) }
    }
}
