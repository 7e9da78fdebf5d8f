//! The emulated DMA queue: aligned transfers, done in order, by the thread that enqueues.
//!
//! Rules: 1. What an adapter's hardware would refuse is refused (alignment, minimum, range, a full queue), and then
//! nothing is written. 2. A transfer is `Done` only after all its stores passed a barrier, so that
//! its observer, and each reader of what the observer publishes later, sees every byte. 3. The source is not read after `Done`.
//! What overlaps with computing is another engine's ([`super::copier`]).
//! Must not know how a segment is reached: it writes through the adapter's own maps.

#![allow(unsafe_code)] // mapped memory, system calls

use super::interrupt::Deadline;
use super::{DmaQueue, DmaState, DmaTicket, Properties, RemoteMap, RemoteSegment, SciError, pio};
use crate::sync::{AtomicU64, Ordering};
use std::marker::PhantomData;
use std::time::Duration;

/// A remote segment that the engine can write to without a map of the user's.
pub trait DmaTarget: RemoteSegment {
    /// A map of the whole segment for the engine.
    fn engine_map(&self) -> Result<Self::Map, SciError>;
}

/// A queue of emulated DMA transfers to segments of type `R`.
pub struct Queue<R: DmaTarget> {
    limits: Properties,
    depth: usize,
    /// The highest ticket that is over.
    finished: AtomicU64,
    target: PhantomData<fn(&R)>,
}

impl<R: DmaTarget> Queue<R> {
    /// A queue with room for `depth` transfers that keeps to `limits`.
    pub(crate) fn new(limits: Properties, depth: usize) -> Self {
        Self { limits, depth, finished: AtomicU64::new(0), target: PhantomData }
    }

    fn check(&self, source: usize, offset: usize, len: usize, segment: usize) -> Result<(), SciError> {
        let need = self.limits.dma_alignment;
        if (source | offset | len) & (need - 1) != 0 {
            return Err(SciError::DmaMisaligned { source, offset, len, need });
        }
        if len < self.limits.dma_min {
            return Err(SciError::DmaTooShort { len, need: self.limits.dma_min });
        }
        pio::check_range(offset, len, segment)?;
        if self.depth == 0 {
            return Err(SciError::QueueFull { depth: 0 });
        }
        Ok(())
    }
}

impl<R: DmaTarget> DmaQueue for Queue<R> {
    type Remote = R;

    /// Copies here and now. No lock is held, so threads do not wait for each other's copies.
    unsafe fn enqueue(&self, src: *const u8, remote: &R, offset: usize, len: usize) -> Result<DmaTicket, SciError> {
        self.check(src.addr(), offset, len, remote.len())?;
        let map = remote.engine_map()?;
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { map.write(offset, src, len) }?;
        map.barrier();
        // ORDERING: Release ↔ Acquire in `poll`: a caller that sees the ticket finished sees the bytes (rule 2).
        let before = self.finished.fetch_add(1, Ordering::Release);
        Ok(DmaTicket(before + 1))
    }

    fn poll(&self, ticket: DmaTicket) -> DmaState {
        // ORDERING: Acquire ↔ Release where it is raised (rule 2).
        if ticket.0 > self.finished.load(Ordering::Acquire) { DmaState::Pending } else { DmaState::Done }
    }

    fn wait(&self, ticket: DmaTicket, timeout: Duration) -> Result<DmaState, SciError> {
        let end = Deadline::after(timeout);
        // A ticket that was given out is over; one that was not may be another thread's in a moment.
        while self.poll(ticket) == DmaState::Pending {
            let Some(left) = end.left() else {
                return Err(SciError::TimedOut);
            };
            std::thread::sleep(left.min(Duration::from_millis(1)));
        }
        Ok(DmaState::Done)
    }

    fn abort(&self) {} // nothing is ever queued
}
