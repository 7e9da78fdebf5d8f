//! Maps of far peers' memory: they record what is stored through them.
//!
//! Must not know: what is stored, when it goes out.

#![allow(unsafe_code)] // clients' memory

use super::Far;
use super::record::Kind;
use super::wire::{Counter, Done, Kept, Readable, Writable};
use crate::sci::{SciError, SegmentId, pio};

/// Bytes of a write that go as a record, behind what was stored before. Longer ones go straight from their place.
const RECORDED: usize = 4 << 10;

/// A part of a region of a far peer.
#[derive(Clone, Copy)]
pub struct FarMap {
    far: &'static Far,
    peer: u32,
    region: SegmentId,
    base: usize,
    len: usize,
}

impl FarMap {
    /// `len` bytes at `base` of region `region` of `peer`.
    pub fn new(far: &'static Far, peer: u32, region: SegmentId, base: usize, len: usize) -> FarMap {
        FarMap { far, peer, region, base, len }
    }

    /// Bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)] // `RemoteMap` has both
    pub fn len(&self) -> usize {
        self.len
    }

    fn check(&self, offset: usize, len: usize) -> Result<(), SciError> {
        pio::check_range(offset, len, self.len)
    }

    /// What the wire calls a byte of the map.
    fn wire_offset(&self, offset: usize) -> Result<u64, SciError> {
        self.far.offset(self.region, self.base + offset).ok_or(SciError::NotMapped)
    }

    /// What is stored lies in the map: the caller has looked.
    fn record(&self, offset: usize, kind: Kind, parts: &[&[u8]]) {
        self.far.record(self.peer, self.region, self.base + offset, kind, parts);
    }

    /// As [`RemoteMap::store`](crate::sci::RemoteMap::store).
    pub fn store(&self, offset: usize, words: &[u64]) {
        pio::words_index(offset, words.len(), self.len);
        let mut bytes = [0; 256];
        for (i, words) in words.chunks(bytes.len() / 8).enumerate() {
            let len = 8 * words.len();
            bytes.chunks_exact_mut(8).zip(words).for_each(|(eight, word)| eight.copy_from_slice(&word.to_le_bytes()));
            self.record(offset + 256 * i, Kind::Words, &[&bytes[..len]]);
        }
    }

    /// As [`RemoteMap::packet`](crate::sci::RemoteMap::packet).
    pub fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        pio::packet_index(offset, body.len(), self.len);
        let mut bytes = [0; 64];
        let words = std::iter::once(&head).chain(body);
        bytes.chunks_exact_mut(8).zip(words).for_each(|(eight, word)| eight.copy_from_slice(&word.to_le_bytes()));
        let len = 8 + 8 * body.len();
        self.record(offset, Kind::Packet, &[&bytes[..len]]);
    }

    /// As [`RemoteMap::publish`](crate::sci::RemoteMap::publish).
    pub fn publish(&self, offset: usize, value: u64) {
        pio::word_index(offset, self.len);
        self.record(offset, Kind::Publish, &[&value.to_le_bytes()]);
    }

    /// As [`RemoteMap::publish32`](crate::sci::RemoteMap::publish32).
    pub fn publish32(&self, offset: usize, value: u32) {
        pio::half_index(offset, self.len);
        self.record(offset, Kind::Publish32, &[&value.to_le_bytes()]);
    }

    /// As [`RemoteMap::fill`](crate::sci::RemoteMap::fill).
    pub fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        self.check(offset, len)?;
        if len > 0 {
            self.record(offset, Kind::Fill, &[&[byte], &(len as u64).to_le_bytes()]);
        }
        Ok(())
    }

    /// As [`RemoteMap::write`](crate::sci::RemoteMap::write). When it returns, the caller may change the source.
    ///
    /// # Safety
    /// `src` is readable for `len` bytes.
    pub unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        self.check(offset, len)?;
        if len > RECORDED
            && let Ok(at) = self.wire_offset(offset)
        {
            // SAFETY: the caller promises the source until this returns.
            unsafe { self.write_in_order(at, (src, len), Kept::Now, None) };
            if self.far.wire.is_busy() {
                self.far.call.call(); // the wire may keep the end back
            }
            return Ok(());
        }
        let mut at = 0;
        while at < len {
            let piece = (len - at).min(self.far.record_max());
            // SAFETY: the caller promises `len` readable bytes; nobody writes them while they are copied.
            let bytes = unsafe { std::slice::from_raw_parts(src.wrapping_add(at), piece) };
            self.record(offset + at, Kind::Bytes, &[bytes]);
            at += piece;
        }
        Ok(())
    }

    /// Writes behind what was stored before, and ahead of what is stored later.
    ///
    /// # Safety
    /// `src` is readable, as long as `kept` says.
    unsafe fn write_in_order(&self, at: u64, src: Readable, kept: Kept, done: Done) {
        let far = self.far;
        let mut stage = far.stage(self.peer); // held, so that no other thread posts meanwhile
        far.send_before_write(self.peer, &mut stage);
        // SAFETY: the caller promises the source.
        far.until(|| unsafe { far.wire.write(self.peer, at, src, kept, done) }.unwrap_or(true));
    }

    /// Starts a put. `done` is raised when every byte is in place at the peer. `lasting`: the source stays as it is until then;
    /// else the call returns when the source is free.
    ///
    /// # Safety
    /// `src` is readable, as long as `lasting` says.
    pub unsafe fn put(&self, offset: usize, src: Readable, lasting: bool, done: Counter) -> Result<(), SciError> {
        self.check(offset, src.1)?;
        let (far, at) = (self.far, self.wire_offset(offset)?);
        if lasting {
            far.until(|| {
                // SAFETY: the caller promises the source until `done` is raised.
                unsafe { far.wire.write(self.peer, at, src, Kept::UntilDone, Some(done)) }.unwrap_or(true)
            });
        } else {
            // SAFETY: the caller promises the source until this returns.
            unsafe { self.write_in_order(at, src, Kept::Now, Some(done)) };
        }
        far.expect();
        Ok(())
    }

    /// Starts a put of a source that stays as it is until `done` is raised. What is stored later comes after its bytes.
    ///
    /// # Safety
    /// `src` is readable until then.
    pub unsafe fn put_in_order(&self, offset: usize, src: Readable, done: Counter) -> Result<(), SciError> {
        self.check(offset, src.1)?;
        let at = self.wire_offset(offset)?;
        // SAFETY: the caller promises the source until `done` is raised.
        unsafe { self.write_in_order(at, src, Kept::InOrder, Some(done)) };
        self.far.expect();
        Ok(())
    }

    /// Starts a get. `done` is raised when every byte is here.
    ///
    /// # Safety
    /// `to` is writable until then.
    pub unsafe fn get(&self, offset: usize, to: Writable, done: Counter) -> Result<(), SciError> {
        self.check(offset, to.1)?;
        let (far, at) = (self.far, self.wire_offset(offset)?);
        // SAFETY: the caller promises the target until `done` is raised.
        far.until(|| unsafe { far.wire.read(self.peer, at, to, done) }.unwrap_or(true));
        far.expect();
        Ok(())
    }
}
