//! Transfers that the DMA engine makes while the client computes (GASNET_SCI_DMA): long ones, of mapped memory, of which
//! the client must not touch its side before the sync (contract: extended.md §3, §5). The others are made at once.
//!
//! The queue is short of room, or the thread cannot be started: then the transfer is made at once as well, so that no client
//! waits for the engine but in a sync.

#![allow(unsafe_code)] // client memory and mapped segments

use super::op::Op;
use super::table::Table;
use super::{Counted, Landing};
use crate::am::Am;
use crate::am::source::Source;
use crate::base::error::Error;
use crate::base::log;
use crate::sci::engine::{Engine, Work};
use crate::sci::{Adapter, RemoteRead, SciError};
use crate::sync::{AtomicU32, Ordering};

/// Transfers that are queued at most: with the smallest ones a few milliseconds of work; clients that queue more get them
/// made at once, which is work that they would have to help with anyway.
const DEPTH: usize = 1024;

/// The node's DMA engine and what it is for.
pub struct Overlap {
    engine: Engine,
    /// Bytes; shorter transfers are made at once.
    min: usize,
    /// The thread could not be started, and the client was told.
    told: AtomicU32,
}

impl Overlap {
    /// For transfers of `min` bytes and more. No thread starts before there is one.
    pub fn new(min: usize) -> Overlap {
        Overlap { engine: Engine::new(DEPTH), min, told: AtomicU32::new(0) }
    }

    /// Bytes from which transfers are the engine's.
    pub fn min(&self) -> usize {
        self.min
    }

    /// Queues a put whose source stays as it is until the operation is done. False: nothing has been done.
    pub(super) fn put<A>(
        &self,
        am: &Am<A>,
        node: u32,
        address: usize,
        source: Source,
        c: Counted<'_>,
    ) -> Result<bool, Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        let Some(to) = self.place(am, node, address, source.len())? else { return Ok(false) };
        // SAFETY: the caller of a bulk put promises the source (contract: extended.md §3); the target was checked.
        Ok(unsafe { self.queue(source.ptr(), to, source.len(), c) })
    }

    /// Queues a get. False: nothing has been done.
    pub(super) fn get<A>(
        &self,
        am: &Am<A>,
        node: u32,
        address: usize,
        to: Landing,
        c: Counted<'_>,
    ) -> Result<bool, Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        let Some(from) = self.place(am, node, address, to.len())? else { return Ok(false) };
        // SAFETY: the source was checked; `Landing` promises the target until the operation is done.
        Ok(unsafe { self.queue(from, to.ptr(), to.len(), c) })
    }

    /// Where the peer's side of a transfer for the engine is in this process: `len` bytes at `address` of `node`, if they
    /// are long enough, and mapped.
    fn place<A>(&self, am: &Am<A>, node: u32, address: usize, len: usize) -> Result<Option<*mut u8>, Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        if len < self.min {
            return Ok(None);
        }
        if node == am.me() {
            return Ok(Some(address as *mut u8)); // valid by the client's promise (contract: extended.md §1)
        }
        am.payloads().check(node, address, len)?;
        let mapped = am.payloads().map(node);
        Ok(mapped.and_then(|(map, base)| Some(map.memory()?.wrapping_add(address - base))))
    }

    /// # Safety
    /// As [`Engine::enqueue`], until the operation is done.
    unsafe fn queue(&self, from: *const u8, to: *mut u8, len: usize, c: Counted<'_>) -> bool {
        let op: Option<&'static Op> = Table::get().op(c.id); // the same op; its place in the table lives for ever
        // SAFETY: this function's own contract.
        let enqueue = |count| unsafe { self.engine.enqueue(from, to, len, count) };
        match op.map(|op| op.queue(enqueue)) {
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
        self.engine.help()
    }

    /// Bytes made so far.
    pub fn work(&self) -> Work {
        self.engine.work()
    }
}
