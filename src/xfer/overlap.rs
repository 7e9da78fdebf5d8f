//! Transfers that the DMA copier makes while the client computes (GASNET_SCI_DMA). It takes long transfers of mapped memory
//! whose local side the client must not touch before the sync (contract: extended.md §3, §5). The others are made at once.
//!
//! A transfer is made at once, too, if the queue has no room or the thread cannot be started. So clients wait for the copier in
//! syncs only.

#![allow(unsafe_code)] // client memory and mapped segments

use super::op::Op;
use super::table::Table;
use super::{Completion, Counted, Landing};
use crate::am::source::Source;
use crate::base::log;
use crate::sci::SciError;
use crate::sci::copier::{Copier, Work};
use crate::sync::{AtomicU32, Ordering};
use crate::verbs::Local;

/// Most transfers that are queued; with the smallest ones a few milliseconds of work. Further transfers are made at once: their
/// client would have to help with the queue anyway.
const DEPTH: usize = 1024;

/// The node's DMA copier and what it is for.
pub struct Overlap {
    copier: Copier,
    /// Bytes; shorter transfers are made at once.
    min: usize,
    /// 1 once the client was told that the thread could not be started.
    told: AtomicU32,
}

impl Overlap {
    /// For transfers of `min` bytes and more. No thread starts before there is one.
    pub fn new(min: usize) -> Overlap {
        Overlap { copier: Copier::new(DEPTH), min, told: AtomicU32::new(0) }
    }

    /// Length in bytes from which the copier takes transfers.
    pub fn min(&self) -> usize {
        self.min
    }

    /// True if a transfer of `len` bytes is for the copier.
    pub(super) fn takes(&self, len: usize) -> bool {
        len >= self.min
    }

    /// Queues a put to the peer's memory at `to`, whose source stays as it is until the copy is made. False: nothing was queued.
    pub(super) fn put(&self, to: *mut u8, source: Source, c: Completion<'_>) -> bool {
        // SAFETY: the caller of a bulk put promises that the source stays readable (contract: extended.md §3); the target was
        // checked.
        unsafe { self.queue(source.ptr(), to, source.len(), c) }
    }

    /// Queues a get from the peer's memory at `from`. False: nothing was queued.
    pub(super) fn get(&self, from: *const u8, to: Landing, c: Counted<'_>) -> bool {
        // SAFETY: the source was checked; `Landing` promises that the target is writable until the operation is done.
        unsafe { self.queue(from, to.ptr(), to.len(), Completion { counts: c, local: Local::Later }) }
    }

    /// # Safety
    /// As [`Copier::enqueue`], until the operation is done.
    unsafe fn queue(&self, from: *const u8, to: *mut u8, len: usize, c: Completion<'_>) -> bool {
        let op: Option<&'static Op> = Table::get().op(c.counts.id); // the same op; its place in the table lives for ever
        // SAFETY: the caller promises that both sides stay valid for `len` bytes until the operation is done.
        let enqueue = |count| unsafe { self.copier.enqueue(from, to, len, count) };
        match op.map(|op| op.queue(c.local, enqueue)) {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                self.tell(&error);
                false
            }
            None => false,
        }
    }

    #[cold]
    fn tell(&self, error: &SciError) {
        let is_full = matches!(error, SciError::QueueFull { .. });
        // Relaxed: only whether it was the first matters.
        if !is_full && self.told.swap(1, Ordering::Relaxed) == 0 {
            log::advise(&format!("no DMA thread, transfers are made at once: {error}"));
        }
    }

    /// Makes a part of what is queued, on the calling thread. False: there is nothing to take.
    pub fn help(&self) -> bool {
        self.copier.help()
    }

    /// Bytes made so far.
    pub fn work(&self) -> Work {
        self.copier.work()
    }
}
