//! A node's DMA engine: its transfers, which it makes in their order.
//!
//! Must not know: how long a transfer takes, clocks, memory.

use std::collections::VecDeque;

/// Names a transfer of a node's engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransferId(u64);

/// A transfer that is not done.
pub(super) struct Transfer {
    id: TransferId,
    pub(super) peer: usize,
    pub(super) len: usize,
    /// Bytes that have left.
    pub(super) left: usize,
    /// When it was asked for.
    asked: f64,
    /// When its next burst leaves; when all have, when it is done. Infinite before it begins.
    pub(super) time: f64,
}

/// The engine.
#[derive(Default)]
pub(super) struct Engine {
    /// In their order. Only the first one has begun.
    transfers: VecDeque<Transfer>,
    /// When the last one was done.
    free: f64,
    count: u64,
}

impl Engine {
    pub(super) fn add(&mut self, peer: usize, len: usize, asked: f64) -> TransferId {
        self.count += 1;
        let id = TransferId(self.count);
        self.transfers.push_back(Transfer { id, peer, len, left: 0, asked, time: f64::INFINITY });
        id
    }

    pub(super) fn forget(&mut self, ids: &[TransferId]) {
        self.transfers.retain(|transfer| !ids.contains(&transfer.id));
    }

    /// When something happens to a transfer next, at the earliest; `None`: it is done.
    pub(super) fn ends(&self, id: TransferId) -> Option<f64> {
        self.transfers.iter().find(|transfer| transfer.id == id)?;
        self.next()
    }

    /// The transfer under way; one that begins does so `setup` after it was asked for and the engine was free.
    pub(super) fn first(&mut self, setup: f64) -> Option<&mut Transfer> {
        let transfer = self.transfers.front_mut()?;
        if transfer.time.is_infinite() {
            transfer.time = transfer.asked.max(self.free) + setup;
        }
        Some(transfer)
    }

    /// The transfer under way is done.
    pub(super) fn finish(&mut self) {
        if let Some(transfer) = self.transfers.pop_front() {
            self.free = transfer.time;
        }
    }

    /// When something is to be done next.
    pub(super) fn next(&self) -> Option<f64> {
        self.transfers.front().map(|transfer| if transfer.time.is_finite() { transfer.time } else { 0.0 })
    }
}
