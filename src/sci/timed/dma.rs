//! Queues of DMA transfers in timing mode: they copy at once, and say `Done` when the node's engine is done (rule 6).
//!
//! Must not know: which hardware it is.

#![allow(unsafe_code)] // sources that the caller answers for

use super::core::{Core, now};
use super::engine::TransferId;
use super::maps::TimedSegment;
use crate::sci::{Adapter, DmaQueue, DmaState, DmaTicket, SciError};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A queue of a node's engine.
pub struct TimedQueue<A: Adapter> {
    inner: A::Queue,
    depth: usize,
    core: Arc<Core<A>>,
    /// Those that may not be done.
    open: Mutex<VecDeque<(DmaTicket, TransferId)>>,
}

impl<A: Adapter> TimedQueue<A> {
    pub(super) fn new(inner: A::Queue, depth: usize, core: &Arc<Core<A>>) -> Self {
        TimedQueue { inner, depth, core: core.clone(), open: Mutex::default() }
    }

    /// The engine's name of a transfer that is not done.
    fn open(&self, ticket: DmaTicket) -> Option<TransferId> {
        let mut state = self.core.under_way.lock();
        self.core.drive_engine(&mut state, now());
        let mut open = self.open.lock();
        open.retain(|(_, id)| state.engine.ends(*id).is_some());
        open.iter().find(|(open, _)| *open == ticket).map(|(_, id)| *id)
    }
}

impl<A: Adapter> DmaQueue for TimedQueue<A> {
    type Remote = TimedSegment<A>;

    unsafe fn enqueue(
        &self,
        src: *const u8,
        remote: &TimedSegment<A>,
        offset: usize,
        len: usize,
    ) -> Result<DmaTicket, SciError> {
        self.open(DmaTicket(0));
        if self.depth > 0 && self.open.lock().len() >= self.depth {
            return Err(SciError::QueueFull { depth: self.depth });
        }
        let asked = now(); // the copy is not the hardware's
        // SAFETY: the caller promises the source; the inner queue refuses what is outside the segment.
        let ticket = unsafe { self.inner.enqueue(src, remote.inner(), offset, len) }?;
        let peer = remote.peer();
        self.core.count(peer, |traffic| traffic.dma = [traffic.dma[0] + 1, traffic.dma[1] + len as u64]);
        if !self.core.is_instant {
            let mut state = self.core.under_way.lock();
            let id = state.engine.add(peer, len, asked);
            self.open.lock().push_back((ticket, id));
            self.core.drive_engine(&mut state, now());
            self.core.note_next(&state);
            drop(state);
            self.core.call_helper();
        }
        Ok(ticket)
    }

    fn poll(&self, ticket: DmaTicket) -> DmaState {
        match self.open(ticket) {
            Some(_) => DmaState::Pending,
            None => self.inner.poll(ticket),
        }
    }

    fn wait(&self, ticket: DmaTicket, timeout: Duration) -> Result<DmaState, SciError> {
        let Some(id) = self.open(ticket) else { return self.inner.wait(ticket, timeout) };
        match self.core.wait_for(id, now() + timeout.as_nanos() as f64) {
            true => self.inner.wait(ticket, timeout),
            false => Err(SciError::TimedOut),
        }
    }

    /// The bytes of what is stopped are in place already.
    fn abort(&self) {
        let open: Vec<TransferId> = self.open.lock().drain(..).map(|(_, id)| id).collect();
        self.core.under_way.lock().engine.forget(&open);
        self.inner.abort();
    }
}
