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
use super::segments::PeerSegment;
use super::slot::{self, BOUNCE_WORD, Carry, Meta, Slot};
use super::source::{Args, Landing, Source};
use super::transfer::{BOUNCE, SLOT_ALIGN};
use crate::am::region::LINE;
use crate::base::error::{Error, bad_arg};
use crate::peers::Reach;
use crate::sci::process::Access;
use crate::sci::{Adapter, DmaQueue, RemoteMap, RemoteRead, SciError, cma};
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
    /// Asks for the lines that a Long payload of `len` bytes will be copied to, while the sender still has checks to make.
    #[inline(always)]
    pub(crate) fn claim_target(&self, dest: u32, address: usize, len: usize) {
        if len <= MOST_CLAIMED
            && let Some((payload, _)) = self.segments().get(dest)
            && let Some(map) = &payload.map
        {
            let offset = address.wrapping_sub(payload.base);
            (0..len).step_by(LINE).for_each(|at| map.claim_by_prefetch(offset.wrapping_add(at)));
        }
    }

    /// Writes a Long payload to `address` of `dest`, all but what [`Placed`] says. `None`: this node cannot write that memory.
    /// The caller has checked the range.
    pub(crate) fn place(&self, dest: u32, source: Source, address: usize) -> Result<Option<Placed>, Error> {
        if source.is_empty() {
            return Ok(Some(Placed::whole()));
        }
        let Some((payload, _)) = self.segments().get(dest) else { return Ok(None) };
        let (Some(map), Some(segment)) = (&payload.map, &payload.segment) else {
            return self.place_unmapped(dest, source, address);
        };
        let offset = address - payload.base;
        let placed = if source.len() < self.transfer.dma_min {
            self.pio(map, offset, source)?
        } else {
            self.dma(map, segment, offset, source)?
        };
        map.barrier(); // the payload must be there before the slot that announces it
        Ok(Some(placed))
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

    fn place_unmapped(&self, dest: u32, source: Source, address: usize) -> Result<Option<Placed>, Error> {
        Ok(self.write_unmapped(dest, address, source)?.then(Placed::whole))
    }

    /// Writes memory of a peer that is not mapped here (EVERYTHING), if the kernel allows it.
    pub(crate) fn write_unmapped(&self, node: u32, address: usize, source: Source) -> Result<bool, Error> {
        // SAFETY: `Source` promises that its bytes are readable.
        self.unmapped(node, address, source.ptr(), source.len(), |pid| unsafe {
            cma::write(pid, address, source.ptr(), source.len())
        })
    }

    /// Reads memory of a peer that is not mapped here (EVERYTHING), if the kernel allows it.
    pub(crate) fn read_unmapped(&self, node: u32, address: usize, to: Landing) -> Result<bool, Error> {
        // SAFETY: `Landing` promises that its bytes are writable.
        self.unmapped(node, address, to.ptr(), to.len(), |pid| unsafe { cma::read(pid, address, to.ptr(), to.len()) })
    }

    /// How this node reaches the segment of `node`. An empty segment counts as mapped, because there is nothing to transfer.
    pub fn reach(&self, node: u32) -> Reach
    where
        A::Remote: RemoteRead,
    {
        if node == self.me {
            return Reach::Own;
        }
        let Some((payload, everything)) = self.segments().get(node) else { return Reach::Messages };
        match (&payload.map, payload.kernel.as_ref().and_then(Access::pid)) {
            (Some(map), _) => {
                map.memory().map_or(Reach::Network, |at| Reach::Mapped(at.addr().wrapping_sub(payload.base)))
            }
            (None, _) if payload.len == 0 && !everything => Reach::Mapped(0),
            (None, Some(pid)) => Reach::Kernel(pid),
            (None, None) => Reach::Messages,
        }
    }

    /// Can memory of `node` that is not mapped be reached through the kernel? True until the kernel refuses.
    pub(crate) fn reaches_unmapped(&self, node: u32) -> bool {
        let way = |(p, _): (&PeerSegment<A>, bool)| p.kernel.as_ref().filter(|_| p.map.is_none())?.pid();
        self.segments().get(node).and_then(way).is_some()
    }

    /// Writes (`write`) or reads many ranges of `node` at once, if the kernel lets us.
    ///
    /// # Safety
    /// The batch's local ranges are readable, for reading writable.
    pub(crate) unsafe fn move_unmapped(&self, node: u32, write: bool, batch: &mut cma::Batch) -> Result<bool, Error> {
        let ((address, len), local, bytes) = (batch.remote(), batch.local(), batch.bytes());
        if bytes == 0 {
            return Ok(true);
        }
        // SAFETY: the caller promises that the batch's local ranges are readable, and writable if we read from the peer.
        let moved = self.unmapped(node, address, local, len, |pid| unsafe { batch.transfer(pid, write) })?;
        if moved {
            self.transfer.count(|c| &c.cma, bytes - len); // `unmapped` counts the first range
        }
        Ok(moved)
    }

    fn unmapped(
        &self,
        node: u32,
        address: usize,
        local: *const u8,
        len: usize,
        call: impl FnOnce(i32) -> Result<(), SciError>,
    ) -> Result<bool, Error> {
        let way = self.segments().get(node).and_then(|(payload, _)| payload.kernel.as_ref());
        let Some((way, pid)) = way.and_then(|way| Some((way, way.pid()?))) else { return Ok(false) };
        match call(pid) {
            Ok(()) => {
                self.transfer.count(|c| &c.cma, len);
                Ok(true)
            }
            Err(SciError::System { errno: libc::EFAULT, .. }) => {
                let local = local as usize;
                bad_arg(format_args!(
                    "[{address:#x}, +{len}) is not memory of node {node}, or [{local:#x}, +{len}) not of this node, \
                     that can be accessed so"
                ))
            }
            Err(_) => {
                way.close();
                Ok(false)
            }
        }
    }

    /// Puts the head and tail that rode in the slot to their places in our segment, and returns where the payload begins. The
    /// address is read once, because the peer may write to the slot meanwhile.
    #[cold]
    pub(crate) fn finish_bounced(&self, slot: &Slot<'_, A::Local>, meta: Meta, source: u32) -> *mut u8 {
        let (address, len) = (slot.word(1) as usize, meta.len());
        if !self.segments().holds(self.me, address, len) {
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
