//! Writes and reads of peers' areas, in pieces: no piece is longer than the provider allows, none spans two registrations.

#![allow(unsafe_code)] // memory that the provider reads and writes

use super::super::wire::{Area, Done, Kept, Lost, Readable, SEGMENT, Writable, area_of};
use super::context::What;
use super::engine::Engine;
use super::fabric::{Begun, Target};
use super::message::{KEYS, Segment};
use crate::sync::Ordering;

/// A source that must be free when the call returns is copied, if it is no longer than this. One that is longer keeps the caller
/// until the provider has sent it. A guess: the copy costs less than the round trip that it spares.
const COPY: usize = 256 << 10;
/// The most bytes of such copies at one time.
const COPIES: usize = 4 << 20;
/// Registrations are no shorter than this: it is tried down to here when a provider refuses longer ones.
const LEAST_PIECE: usize = 1 << 20;
/// The error of a registration whose key another one has.
const KEY_IS_TAKEN: i32 = super::bindings::FI_ENOKEY as i32;

/// One write or read.
pub struct Transfer {
    peer: u32,
    is_write: bool,
    at: *mut u8,
    len: usize,
    offset: u64,
    /// Bytes whose pieces are posted.
    begun: usize,
    /// Pieces that are posted and not complete.
    pieces: usize,
    done: Done,
    /// It is complete when its bytes are in place, not when its source is free.
    delivered: bool,
    generation: Option<u64>,
    copy: Option<Box<[u8]>>,
    /// A call waits for it and frees it.
    is_awaited: bool,
    pub is_complete: bool,
    pub has_failed: bool,
}

// SAFETY: the memory that it names belongs to no thread.
unsafe impl Send for Transfer {}

/// How a write went.
pub enum Written {
    NoRoom,
    Begun,
    /// The source is free when this transfer is complete.
    Wait(usize),
}

impl Engine {
    /// Registers an area of this node.
    ///
    /// # Safety
    /// As [`super::super::wire::Wire::set_area`].
    pub unsafe fn set_area(&mut self, area: Area, base: *mut u8, len: usize) -> Result<(), String> {
        // Only the client's segment is read.
        // SAFETY: the caller's promise.
        match unsafe { self.register(base, len, area == SEGMENT) } {
            Ok(segment) => self.own[area] = Some(segment),
            Err(why) => {
                for rank in 0..self.peers.len() as u32 {
                    if area == SEGMENT && self.peers[rank as usize].address.is_some() {
                        self.lose(rank, why.clone());
                    }
                }
                return Err(why);
            }
        }
        for rank in 0..self.peers.len() as u32 {
            let known = &mut self.peers[rank as usize].areas[area];
            if std::mem::take(&mut known.waits) {
                known.keys_due = true;
                self.is_due(rank);
            }
        }
        self.advance();
        Ok(())
    }

    /// # Safety
    /// As above.
    unsafe fn register(&mut self, base: *mut u8, len: usize, is_readable: bool) -> Result<Segment, String> {
        let address = if self.endpoint.traits.virtual_addresses { base as u64 } else { 0 };
        let mut piece = len.min(self.longest_region).next_multiple_of(4096);
        loop {
            let before = self.regions.len(); // of another area
            let mut failed = None;
            let mut at = 0;
            while at < len && failed.is_none() {
                // SAFETY: the caller's promise, for a part of the memory.
                let result = unsafe { self.register_piece(base.wrapping_add(at), piece.min(len - at), is_readable) };
                failed = result.err();
                at += piece;
            }
            let Some(error) = failed else {
                let keys = self.regions[before..].iter().map(|region| region.key).collect();
                return Ok(Segment { base: address, len: len as u64, piece: piece as u64, keys });
            };
            self.regions.truncate(before);
            let half = (piece / 2).next_multiple_of(4096);
            if half < LEAST_PIECE || len.div_ceil(half) > KEYS {
                let why = self.endpoint.error(error);
                return Err(format!(
                    "memory of {len} bytes can't be registered: fi_mr_reg: {why}; a larger limit of locked memory (ulimit -l), a \
                     smaller GASNET_MAX_SEGSIZE or GASNET_SCI_DECK_HEAP may help"
                ));
            }
            piece = half;
        }
    }

    /// # Safety
    /// As above.
    unsafe fn register_piece(&mut self, base: *mut u8, len: usize, is_readable: bool) -> Result<(), i32> {
        let mask = if self.endpoint.traits.key_bytes >= 8 {
            u64::MAX
        } else {
            (1 << (self.endpoint.traits.key_bytes * 8)) - 1
        };
        for _ in 0..8 {
            let key = getrandom::u64().map_err(|_| libc::EIO)? & mask;
            // SAFETY: the caller's promise.
            match unsafe { self.endpoint.register(base, len, is_readable, key) } {
                Ok(region) => {
                    self.regions.push(region);
                    return Ok(());
                }
                Err(KEY_IS_TAKEN) => {} // another
                Err(error) => return Err(error),
            }
        }
        Err(KEY_IS_TAKEN)
    }

    /// As [`super::super::wire::Wire::write`], but for the wait.
    ///
    /// # Safety
    /// As there; of [`Kept::Now`]: until the transfer is complete, if the result says [`Written::Wait`].
    pub unsafe fn write(
        &mut self,
        to: u32,
        offset: u64,
        from: Readable,
        kept: Kept,
        done: Done,
    ) -> Result<Written, Lost> {
        let (from, len) = from;
        if !self.may_begin(to, offset, len)? {
            return Ok(Written::NoRoom);
        }
        let mut transfer = Transfer::new(to, from.cast_mut(), len, offset, done);
        transfer.is_write = true;
        transfer.delivered = done.is_some() || !self.ordered;
        if kept == Kept::Now && len <= COPY && self.copied + len <= COPIES {
            // SAFETY: readable now, by the caller's promise; the client may not write it meanwhile.
            let copy: Box<[u8]> = unsafe { std::slice::from_raw_parts(from, len) }.into();
            transfer.at = copy.as_ptr().cast_mut();
            transfer.copy = Some(copy);
        } else {
            transfer.is_awaited = kept == Kept::Now;
        }
        let is_awaited = transfer.is_awaited;
        Ok(match self.begin(transfer)? {
            None => Written::NoRoom,
            Some(i) if is_awaited => Written::Wait(i),
            Some(_) => Written::Begun,
        })
    }

    /// As [`super::super::wire::Wire::read`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn read(&mut self, from: u32, offset: u64, (to, len): Writable, done: Done) -> Result<bool, Lost> {
        if !self.may_begin(from, offset, len)? {
            return Ok(false);
        }
        Ok(self.begin(Transfer::new(from, to, len, offset, done))?.is_some())
    }

    /// False: the peer's area is not known yet, or something goes before.
    fn may_begin(&mut self, rank: u32, offset: u64, len: usize) -> Result<bool, Lost> {
        let full = self.under_way >= self.most;
        let peer = self.peer(rank)?;
        let Some((area, at)) = area_of(offset) else {
            return Err(Lost(format!("{offset} is in no memory of node {rank}")));
        };
        let Some(segment) = &peer.areas[area].segment else {
            self.ask(rank, area);
            return Ok(false);
        };
        if (at as u64).checked_add(len as u64).is_none_or(|end| end > segment.len) {
            let all = segment.len;
            return Err(Lost(format!("{len} bytes at {at} are not in the memory of node {rank}, of {all} bytes")));
        }
        Ok(peer.partial.is_none() && !full)
    }

    /// Posts the first pieces. None: there is no room, and nothing was begun.
    fn begin(&mut self, mut transfer: Transfer) -> Result<Option<usize>, Lost> {
        let rank = transfer.peer;
        if transfer.is_write && !self.ordered && transfer.len > 0 {
            transfer.generation = Some(self.peers[rank as usize].order.begin());
        }
        self.copied += transfer.copy.as_ref().map_or(0, |copy| copy.len());
        let i = match self.free_transfers.pop() {
            Some(i) => {
                self.transfers[i] = transfer;
                i
            }
            None => {
                self.transfers.push(transfer);
                self.transfers.len() - 1
            }
        };
        match self.post_pieces(i) {
            Ok(true) => {
                if self.transfers[i].len == 0 {
                    self.finish(i);
                }
                Ok(Some(i))
            }
            Ok(false) if self.transfers[i].begun > 0 => {
                self.peers[rank as usize].partial = Some(i);
                self.is_due(rank);
                Ok(Some(i))
            }
            Ok(false) => {
                self.free(i);
                Ok(None)
            }
            Err(lost) => {
                self.transfers[i].is_awaited = false;
                if self.transfers[i].pieces == 0 {
                    self.free(i);
                }
                Err(lost)
            }
        }
    }

    /// Posts pieces that are not posted. True: all are.
    pub(super) fn post_pieces(&mut self, i: usize) -> Result<bool, Lost> {
        while self.transfers[i].begun < self.transfers[i].len {
            if self.under_way >= self.most {
                return Ok(false);
            }
            let transfer = &self.transfers[i];
            let (rank, is_write, delivered) = (transfer.peer, transfer.is_write, transfer.delivered);
            let peer = &self.peers[rank as usize];
            let Some((area, at)) = area_of(transfer.offset) else { return Ok(false) }; // `may_begin` has looked
            let (Some(segment), Some(address)) = (&peer.areas[area].segment, peer.address) else { return Ok(false) };
            let offset = (at + transfer.begun) as u64;
            let (number, inside) = (offset / segment.piece, offset % segment.piece);
            let left = usize::try_from(segment.piece - inside).unwrap_or(usize::MAX);
            let len = (transfer.len - transfer.begun).min(left).min(self.endpoint.traits.longest);
            let target = Target {
                peer: address,
                address: if self.endpoint.traits.virtual_addresses { segment.base + offset } else { inside },
                key: segment.keys[number as usize],
            };
            let at = transfer.at.wrapping_add(transfer.begun);
            let context = self.contexts.take(What::Piece(i));
            let begun = if is_write {
                // SAFETY: the source stays until the completion: by the caller's promise, or because it is the transfer's own.
                unsafe { self.endpoint.write((at, len), target, delivered, context) }
            } else {
                // SAFETY: the caller's promise.
                unsafe { self.endpoint.read(at, len, target, context) }
            };
            match begun {
                Begun::Yes => {
                    self.under_way += 1;
                    self.transfers[i].begun += len;
                    self.transfers[i].pieces += 1;
                }
                Begun::NoRoom => {
                    self.contexts.give_back(context);
                    return Ok(false);
                }
                Begun::Failed(error) => {
                    self.contexts.give_back(context);
                    let what = if is_write { "a write to" } else { "a read from" };
                    self.transfers[i].has_failed = true;
                    let why = format!("{what} node {rank} failed: {}", self.endpoint.error(error));
                    return Err(self.lose(rank, why));
                }
            }
        }
        Ok(true)
    }

    pub(super) fn piece_is_complete(&mut self, i: usize) {
        let transfer = &mut self.transfers[i];
        transfer.pieces -= 1;
        if transfer.pieces > 0 {
            return;
        }
        if transfer.has_failed {
            self.finish_failed(i);
        } else if transfer.begun == transfer.len {
            self.finish(i);
        }
    }

    pub(super) fn piece_has_failed(&mut self, i: usize, why: &str) {
        let transfer = &mut self.transfers[i];
        transfer.pieces -= 1;
        transfer.has_failed = true;
        let (rank, pieces) = (transfer.peer, transfer.pieces);
        let what = if transfer.is_write { "a write to" } else { "a read from" };
        let why = format!("{what} node {rank} failed: {why}");
        self.lose(rank, why);
        if pieces == 0 {
            self.finish_failed(i);
        }
    }

    /// Its bytes are in place, or its source is free.
    fn finish(&mut self, i: usize) {
        let transfer = &mut self.transfers[i];
        transfer.is_complete = true;
        if let Some(done) = transfer.done {
            // ORDERING: Release ↔ the Acquire of who waits for the count: it sees the bytes.
            done.fetch_add(1, Ordering::Release);
        }
        let (rank, generation) = (transfer.peer, transfer.generation.take());
        if let Some(generation) = generation {
            self.peers[rank as usize].order.end(generation);
        }
        if !self.transfers[i].is_awaited {
            self.free(i);
        }
    }

    /// Nobody touches its memory any more. Its count stays as it is.
    fn finish_failed(&mut self, i: usize) {
        self.transfers[i].is_complete = true;
        if !self.transfers[i].is_awaited {
            self.free(i);
        }
    }

    /// True when a transfer that is awaited is over; it is freed then. A peer that is lost ends it once the provider has let go of
    /// its memory.
    pub fn is_over(&mut self, i: usize) -> Result<bool, Lost> {
        let transfer = &self.transfers[i];
        let (rank, has_failed) = (transfer.peer, transfer.has_failed);
        let is_over = transfer.is_complete || (has_failed && transfer.pieces == 0);
        if !is_over {
            return Ok(false);
        }
        self.free(i);
        if has_failed { self.peer(rank).map(|_| true) } else { Ok(true) }
    }

    fn free(&mut self, i: usize) {
        let transfer = &mut self.transfers[i];
        let (rank, generation) = (transfer.peer, transfer.generation.take());
        self.copied -= transfer.copy.take().map_or(0, |copy| copy.len());
        if let Some(generation) = generation {
            self.peers[rank as usize].order.end(generation);
        }
        self.free_transfers.push(i);
    }
}

impl Transfer {
    fn new(peer: u32, at: *mut u8, len: usize, offset: u64, done: Done) -> Transfer {
        Transfer {
            peer,
            is_write: false,
            at,
            len,
            offset,
            begun: 0,
            pieces: 0,
            done,
            delivered: true,
            generation: None,
            copy: None,
            is_awaited: false,
            is_complete: false,
            has_failed: false,
        }
    }
}
