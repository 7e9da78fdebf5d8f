//! Moves Long payloads to their place: by PIO, by DMA for the aligned middle, by a bounce buffer for the rest. Thresholds come
//! from the configuration only (`transfer`).
//!
//! DMA demands that source, target and size are multiples of the adapter's alignment (SISCI). The unaligned head and tail are
//! at most 7 bytes each with the usual alignment of 8. They ride in the slot that is sent anyway, and the receiver puts them in
//! place before the handler runs. If source and target are unequally aligned, the payload goes by PIO or, from `bounce_min` on,
//! through an aligned buffer.
//!
//! Must not know: messages but for the two words that ride in a slot, handlers.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::corrupt::corrupt;
use super::engine::Am;
use super::slot::{self, BOUNCE_WORD, Carry, Meta, Slot};
use super::source::{Args, Source};
use super::transfer::{BOUNCE, SLOT_ALIGN};
use crate::am::region::LINE;
use crate::base::error::Error;
use crate::peers::kernel;
use crate::peers::table::{PeerSegment, Way};
use crate::sci::{Adapter, DmaQueue, RemoteMap, SciError};
use crate::sync::yield_now;
use std::time::Duration;

/// Longest wait for a DMA transfer; after it the adapter is taken for broken. The largest payload needs far less.
const DMA_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest Long whose target lines are asked for before the copy. For longer ones the copy itself comes too late: bare
/// processes that echo 4 KiB through a fixed buffer 1.09 -> 1.03, 16 KiB the same with and without (Xeon VM, 2026-11).
const MOST_CLAIMED: usize = 8 << 10;

/// How much of a payload is at its place, and what of it still rides in the slot.
pub(crate) struct Placed {
    pub(crate) carry: Carry,
    head: u64,
    tail: u64,
}

impl Placed {
    /// All of it is there.
    pub(crate) fn whole() -> Placed {
        Placed { carry: Carry::Long, head: 0, tail: 0 }
    }

    /// Stores the message in the slot at `offset`, all but its meta word.
    #[inline(always)]
    pub(crate) fn store<R: RemoteMap>(&self, queue: &R, offset: usize, address: usize, args: Args<'_>) {
        slot::store_args(queue, offset, Some(address as u64), args.words());
        if self.carry == Carry::Bounced {
            queue.store(offset + 8 * BOUNCE_WORD, &[self.head, self.tail]);
        }
    }
}

impl<A: Adapter> Am<A> {
    /// Asks for the lines that a Long payload of `len` bytes will be copied to, before the copy begins.
    #[inline(always)]
    pub(crate) fn claim_target(&self, target: Option<&PeerSegment<A>>, address: usize, len: usize) {
        if len <= MOST_CLAIMED
            && let Some(segment) = target
            && let Some(map) = segment.way.map()
        {
            let offset = address.wrapping_sub(segment.base);
            (0..len).step_by(LINE).for_each(|at| map.claim_by_prefetch(offset.wrapping_add(at)));
        }
    }

    /// Writes a Long payload to `address` of `dest`, all but what [`Placed`] says. `None`: this node cannot write that memory.
    /// `target` is what [`Am::check_long`] has found.
    pub(crate) fn place(
        &self,
        dest: u32,
        target: Option<&PeerSegment<A>>,
        source: Source,
        address: usize,
    ) -> Result<Option<Placed>, Error> {
        let Some(target) = target else { return Ok(Some(Placed::whole())) }; // no bytes
        let (map, segment) = match (&target.way, &target.segment) {
            (Way::Mapped(map) | Way::Network(map), Some(segment)) => (map, segment),
            (Way::Kernel(way), _) => {
                // SAFETY: `Source` promises that its bytes are readable.
                let written = unsafe { kernel::write(way, dest, address, source.ptr(), source.len()) }?;
                return Ok(written.then(|| {
                    self.count_kernel(source.len());
                    Placed::whole()
                }));
            }
            (Way::Own | Way::Mapped(_) | Way::Network(_) | Way::Messages, _) => return Ok(None),
        };
        let offset = address - target.base;
        let placed = if source.len() < self.transfer.dma_min {
            self.pio(map, offset, source)?
        } else {
            self.dma(map, segment, offset, source)?
        };
        map.barrier(); // the payload must be there before the slot that announces it
        Ok(Some(placed))
    }

    /// Counts bytes that the kernel has copied.
    pub(crate) fn count_kernel(&self, bytes: usize) {
        self.transfer.count(|c| &c.cma, bytes);
    }

    fn pio(&self, map: &A::Remote, offset: usize, source: Source) -> Result<Placed, Error> {
        // SAFETY: `Source` promises that its bytes are readable.
        unsafe { map.write_apart(offset, source.ptr(), source.len()) }?;
        self.transfer.count(|c| &c.pio, source.len());
        Ok(Placed::whole())
    }

    fn dma(&self, map: &A::Remote, segment: &A::RemoteSegment, offset: usize, source: Source) -> Result<Placed, Error> {
        let align = self.transfer.properties.dma_alignment;
        let head = offset.wrapping_neg() % align;
        let tail = (offset + source.len()) % align;
        let middle = source.part(head, source.len() - head - tail);
        if (middle.ptr() as usize).is_multiple_of(align) {
            self.dma_write(segment, offset + head, middle)?;
        } else if source.len() >= self.transfer.bounce_min {
            self.dma_bounced(segment, offset + head, middle)?;
        } else {
            return self.pio(map, offset, source);
        }
        self.transfer.count(|c| &c.dma, middle.len());
        let (head, tail) = (source.part(0, head), source.part(source.len() - tail, tail));
        if align > SLOT_ALIGN {
            self.pio(map, offset, head)?;
            return self.pio(map, offset + source.len() - tail.len(), tail);
        }
        if head.len() + tail.len() == 0 {
            return Ok(Placed::whole());
        }
        self.transfer.count(|c| &c.bounced, head.len() + tail.len());
        Ok(Placed { carry: Carry::Bounced, head: head.word(), tail: tail.word() })
    }

    fn dma_write(&self, segment: &A::RemoteSegment, offset: usize, source: Source) -> Result<(), Error> {
        let queue = &self.transfer.queue;
        // SAFETY: `Source` promises that its bytes are readable, and the transfer is waited for before we return.
        let ticket = loop {
            // SAFETY: the source stays readable until the transfer is waited for, below.
            match unsafe { queue.enqueue(source.ptr(), segment, offset, source.len()) } {
                Err(SciError::QueueFull { .. }) => yield_now(), // other threads' transfers; they end by themselves
                other => break other?,
            }
        };
        queue.wait(ticket, DMA_TIMEOUT)?;
        Ok(())
    }

    /// Copies piece by piece into the aligned buffer, and from there by DMA.
    fn dma_bounced(&self, segment: &A::RemoteSegment, offset: usize, source: Source) -> Result<(), Error> {
        let align = self.transfer.properties.dma_alignment;
        self.transfer.shared.with(|(buffer, _)| {
            let start = buffer.0.as_ptr().cast::<u8>().cast_mut();
            let start = start.wrapping_add((start as usize).wrapping_neg() % align);
            let mut at = 0;
            while at < source.len() {
                let piece = source.part(at, self.bounced_piece(source.len() - at));
                // SAFETY: the buffer has BOUNCE bytes behind its first aligned one, and we hold its lock.
                unsafe { piece.move_to(start) };
                // SAFETY: the `piece` bytes at `start` lie in our buffer and were just written.
                let aligned = unsafe { Source::new(start, piece.len()) };
                self.dma_write(segment, offset + at, aligned)?;
                at += piece.len();
            }
            Ok::<(), Error>(())
        })?;
        self.transfer.count(|c| &c.bounced, source.len());
        Ok(())
    }

    /// Bytes of the next piece when `left` are left. It leaves either nothing or at least what DMA takes.
    fn bounced_piece(&self, left: usize) -> usize {
        let properties = &self.transfer.properties;
        if left > BOUNCE && left < BOUNCE + properties.dma_min {
            return (left / 2).next_multiple_of(properties.dma_alignment);
        }
        left.min(BOUNCE)
    }

    /// Puts the head and tail that rode in the slot to their places in our segment, and returns where the payload begins. The
    /// address is read once, because the peer may write to the slot meanwhile.
    #[cold]
    pub(crate) fn finish_bounced(&self, slot: &Slot<'_, A::Local>, meta: Meta, source: u32) -> *mut u8 {
        let (address, len) = (slot.word(1) as usize, meta.len());
        if !self.table().holds(self.me, address, len) {
            corrupt(source, "Long target outside the segment");
        }
        let head = address.wrapping_neg() % SLOT_ALIGN;
        let tail = address.wrapping_add(len) % SLOT_ALIGN;
        if head + tail > len {
            corrupt(source, "bounced payload shorter than its head and tail");
        }
        for (word, at, n) in [(BOUNCE_WORD, 0, head), (BOUNCE_WORD + 1, len - tail, tail)] {
            let value = slot.word(word);
            // SAFETY: the word lives to the end of the block, and n is less than 8.
            let bytes = unsafe { Source::new((&raw const value).cast(), n) };
            // SAFETY: inside this node's segment, checked above.
            unsafe { bytes.move_to(address.wrapping_add(at) as *mut u8) };
        }
        address as *mut u8
    }
}
