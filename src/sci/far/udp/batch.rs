//! Datagrams that leave in one call.
//!
//! Must not know: what a datagram says, sockets.

use super::burst::TOGETHER;
use super::datagram::{Datagram, bytes_of};
use crate::sci::far::tcp::chunk::Memory;
use smallvec::SmallVec;
use std::io::IoSlice;

/// Datagrams in one call, of [`TOGETHER`] bytes at most. Cut by the system (GSO) and put together again (GRO), Longs of 64 KiB go at
/// 575 MB/s over datagrams of 1,472 bytes; one by one at 97, put together no more at 175; over those of 16 KiB at 540 and one by one at 418
/// (a loaded EPYC VM, 2026-11, best of three).
const BATCH: usize = 64;

/// Datagrams that go in one call: all have as many bytes as the first, but the last, which may have fewer.
#[derive(Default)]
pub(super) struct Batch {
    /// Heads, and what was copied behind them.
    pub(super) bytes: Vec<u8>,
    /// Behind so many of these bytes go others, from where they lie.
    pub(super) rests: SmallVec<[(usize, Memory); 4]>,
    pub(super) each: usize,
    pub(super) count: usize,
    /// Bytes of all.
    pub(super) len: usize,
}

impl Batch {
    /// Another datagram of `len` bytes fits.
    pub(super) fn takes(&self, len: usize) -> bool {
        let is_whole = self.len == self.each * self.count;
        self.count == 0 || is_whole && len <= self.each && self.count < BATCH && self.len + len <= TOGETHER
    }

    /// Adds another datagram.
    pub(super) fn put(&mut self, datagram: Datagram<'_>) {
        let size = datagram.size();
        self.each = if self.count == 0 { size } else { self.each };
        (self.count, self.len) = (self.count + 1, self.len + size);
        if let Some(rest) = datagram.put_front(&mut self.bytes) {
            self.rests.push((self.bytes.len(), rest));
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.rests.clear();
        (self.count, self.len) = (0, 0);
    }

    /// All bytes, in their order.
    pub(super) fn parts(&self) -> SmallVec<[IoSlice<'_>; 12]> {
        let mut parts = SmallVec::new();
        let mut at = 0;
        for (end, rest) in &self.rests {
            parts.push(IoSlice::new(&self.bytes[at..*end]));
            parts.push(IoSlice::new(bytes_of(rest)));
            at = *end;
        }
        if at < self.bytes.len() {
            parts.push(IoSlice::new(&self.bytes[at..]));
        }
        parts
    }

    /// A copy of all bytes, in their order.
    pub(super) fn copy(&self) -> Vec<u8> {
        self.parts().iter().flat_map(|part| part.iter().copied()).collect()
    }
}
