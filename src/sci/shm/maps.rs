//! Mapped segments.
//!
//! Invariant: a map keeps its memory mapped and its segment's user counted, in this order of dropping.
//! Must not know where the extent came from.

#![allow(unsafe_code)] // mapped memory, system calls

use super::Lease;
use crate::sci::kept::{Keeper, KeptLocal, KeptRemote};
use crate::sci::mapping::Mapping;
use crate::sci::pio::Span;
use crate::sci::{Placement, SciError};
use std::sync::Arc;

/// Mapped memory and its user, which leaves after the memory is unmapped: fields drop in this order.
pub struct Held {
    mapping: Mapping,
    _lease: Arc<Lease>,
}

impl Held {
    pub(super) fn new(lease: &Arc<Lease>, offset: usize, len: usize, place: Placement) -> Result<Arc<Self>, SciError> {
        let mapping = lease.map(offset, len, place)?;
        Ok(Arc::new(Self { mapping, _lease: lease.clone() }))
    }

    fn span(&self) -> Span {
        // SAFETY: page-aligned and mapped as long as `self` lives; the maps keep it next to the span.
        unsafe { Span::new(self.mapping.base(), self.mapping.len()) }
    }
}

impl Keeper for Held {
    const HAS_ADDRESSES: bool = true;
}

/// A mapped segment of this node.
pub type ShmLocal = KeptLocal<Held>;
/// A mapped segment of a peer.
pub type ShmRemote = KeptRemote<Held>;

impl ShmLocal {
    pub(super) fn of(held: Arc<Held>) -> Self {
        Self::new(held.span(), held)
    }
}

impl ShmRemote {
    pub(super) fn of(held: Arc<Held>) -> Self {
        Self::new(held.span(), held)
    }

    /// First byte, as an address that the client may be given (supernode peers dereference it). The engines store by the map's calls.
    pub fn address(&self) -> *mut u8 {
        self.view().base()
    }
}
