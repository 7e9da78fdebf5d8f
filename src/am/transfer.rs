//! The means of moving Long payloads: the DMA queue and its limits, the bounce buffer, counters. Which of them a payload takes
//! is `bulk`'s.
//!
//! Must not know: segments, messages.

#![allow(unsafe_code)] // a lock that is none where there is one thread

use crate::base::config::Config;
use crate::sci::{Adapter, Properties};
use crate::sync::ModeLock;
use std::cell::Cell;

/// Bytes of the aligned bounce buffer.
pub(super) const BOUNCE: usize = 64 << 10;
/// Largest DMA alignment whose head and tail fit the slot.
pub(super) const SLOT_ALIGN: usize = 8;

/// What the transfers of Long payloads did; read at exit.
#[derive(Default)]
pub struct TransferCounters {
    /// Bytes written by PIO.
    pub pio: Cell<u64>,
    /// Bytes moved by DMA.
    pub dma: Cell<u64>,
    /// Bytes that took a detour: heads and tails in the slot, and what went through the bounce buffer.
    pub bounced: Cell<u64>,
    /// Bytes written with process_vm_writev.
    pub cma: Cell<u64>,
}

/// The means of moving Long payloads.
pub struct Transfer<A: Adapter> {
    pub(super) properties: Properties,
    pub(super) dma_min: usize,
    pub(super) bounce_min: usize,
    pub(super) queue: A::Queue,
    /// The bounce buffer, and the counters beside it.
    pub(crate) shared: ModeLock<(Bounce, TransferCounters)>,
}

/// Eight-byte words, so that any DMA alignment up to a page is met by the offset that `start` adds.
pub(crate) struct Bounce(pub(super) Box<[Cell<u64>]>);

impl<A: Adapter> Transfer<A> {
    /// # Safety
    /// As [`ModeLock::new`].
    pub(crate) unsafe fn new(threaded: bool, config: &Config, properties: Properties, queue: A::Queue) -> Self {
        let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        // Receivers compute heads and tails by the word. Multiples of a word also suit an engine with a smaller unit.
        let properties = Properties { dma_alignment: properties.dma_alignment.max(SLOT_ALIGN), ..properties };
        let buffer = Bounce(vec![Cell::new(0); (BOUNCE + properties.dma_alignment) / 8].into());
        Transfer {
            properties,
            dma_min: bytes(config.dma_min).max(properties.dma_min + 2 * properties.dma_alignment),
            bounce_min: bytes(config.bounce_min),
            queue,
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            shared: unsafe { ModeLock::new(threaded, (buffer, TransferCounters::default())) },
        }
    }

    /// Adds `bytes` to one of the counters.
    pub(super) fn count(&self, counter: impl Fn(&TransferCounters) -> &Cell<u64>, bytes: usize) {
        self.shared.with(|(_, counters)| counter(counters).set(counter(counters).get() + bytes as u64));
    }
}
