//! Maps of peers' segments, whichever host the peer is on.
//!
//! Must not know: which hosts there are.

#![allow(unsafe_code)] // mapped memory

use crate::sci::adapter::{Counter, Readable, Writable};
use crate::sci::far::remote::FarMap;
use crate::sci::pio::{self, Span};
use crate::sci::shm::ShmRemote;
use crate::sci::{RemoteMap, RemoteRead, SciError};

/// A mapped segment of a peer.
///
/// The span is the peer's memory if it is on this host, and else of no bytes. So the bounds check of a near store, which is made anyway,
/// also tells a far store from it: no message between nodes of one host pays for the possibility. With a `match` in each store a
/// Medium there and back took 1,460 instructions, 5 % more than in a library without far peers (2026-11).
#[derive(Clone)]
pub struct HostsMap {
    span: Span,
    place: Place,
}

/// What a map is of.
#[derive(Clone)]
enum Place {
    Near(ShmRemote),
    Far(FarMap),
}

impl From<ShmRemote> for HostsMap {
    fn from(map: ShmRemote) -> HostsMap {
        HostsMap { span: map.view(), place: Place::Near(map) }
    }
}

impl From<FarMap> for HostsMap {
    fn from(map: FarMap) -> HostsMap {
        HostsMap { span: Span::empty(), place: Place::Far(map) }
    }
}

/// Calls the same function of whichever map it is.
macro_rules! both {
    ($self:ident, $map:ident => $call:expr) => {
        match &$self.place {
            Place::Near($map) => $call,
            Place::Far($map) => $call,
        }
    };
}

/// Stores outside the span: into a far map. Of a near map they are bugs, which it reports.
impl HostsMap {
    #[cold]
    #[inline(never)]
    fn store_outside(&self, offset: usize, words: &[u64]) {
        both!(self, map => map.store(offset, words));
    }

    #[cold]
    #[inline(never)]
    fn packet_outside(&self, offset: usize, head: u64, body: &[u64]) {
        both!(self, map => map.packet(offset, head, body));
    }

    #[cold]
    #[inline(never)]
    fn publish_outside(&self, offset: usize, value: u64) {
        both!(self, map => map.publish(offset, value));
    }

    #[cold]
    #[inline(never)]
    fn publish32_outside(&self, offset: usize, value: u32) {
        both!(self, map => map.publish32(offset, value));
    }

    /// # Safety
    /// `src` is readable for `len` bytes.
    #[cold]
    #[inline(never)]
    unsafe fn write_outside(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        both!(self, map => unsafe { map.write(offset, src, len) })
    }
}

impl RemoteMap for HostsMap {
    fn len(&self) -> usize {
        both!(self, map => map.len())
    }

    #[inline(always)]
    fn store(&self, offset: usize, words: &[u64]) {
        match pio::holds_words(offset, words.len(), self.span.len()) {
            true => self.span.store(offset, words),
            false => self.store_outside(offset, words),
        }
    }

    #[inline(always)]
    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        match pio::holds_packet(offset, self.span.len()) {
            true => self.span.packet(offset, head, body),
            false => {
                // Only far maps come here. The function that is called gets a copy (at most 7 words, the body of a packet). So the compiler
                // may keep the caller's own words in registers where the map is near: a short message to a mail box takes 11 instructions less.
                let mut words = [0; 7];
                words[..body.len()].copy_from_slice(body);
                self.packet_outside(offset, head, &words[..body.len()]);
            }
        }
    }

    #[inline(always)]
    fn publish(&self, offset: usize, value: u64) {
        match pio::holds_word(offset, self.span.len()) {
            true => self.span.publish(offset, value),
            false => self.publish_outside(offset, value),
        }
    }

    #[inline(always)]
    fn publish32(&self, offset: usize, value: u32) {
        match pio::holds_half(offset, self.span.len()) {
            true => self.span.publish32(offset, value),
            false => self.publish32_outside(offset, value),
        }
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        matches!(self.place, Place::Far(_))
    }

    fn place(&self) -> Option<*mut u8> {
        match &self.place {
            Place::Near(map) => map.place(),
            Place::Far(_) => None,
        }
    }

    /// A hint, of any address.
    #[inline(always)]
    fn hand_over(&self, offset: usize) {
        self.span.hand_over(offset);
    }

    /// What is asked is the same for each line of a loop, so that the compiler asks once.
    #[inline(always)]
    fn claim_by_prefetch(&self, offset: usize) {
        if self.span.len() != 0 {
            self.span.claim_by_prefetch(offset);
        }
    }

    #[inline(always)]
    fn claim_by_store(&self, offset: usize) {
        if self.span.len() != 0 {
            self.span.claim_by_store(offset);
        }
    }

    #[inline(always)]
    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        match pio::holds_range(offset, len, self.span.len()) {
            // SAFETY: the caller promises that `src` is readable for `len` bytes.
            true => unsafe { self.span.write(offset, src, len) },
            // SAFETY: the caller promises that `src` is readable for `len` bytes.
            false => unsafe { self.write_outside(offset, src, len) },
        }
    }

    #[inline(always)]
    unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        match pio::holds_range(offset, len, self.span.len()) {
            // SAFETY: the caller promises that `src` is readable for `len` bytes.
            true => unsafe { self.span.write_apart(offset, src, len) },
            // SAFETY: the caller promises that `src` is readable for `len` bytes.
            false => unsafe { self.write_outside(offset, src, len) },
        }
    }

    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        both!(self, map => map.fill(offset, byte, len))
    }

    /// To a far peer all stores arrive in their order.
    #[inline(always)]
    fn barrier(&self) {
        Span::barrier();
    }
}

impl RemoteRead for HostsMap {
    unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) -> Result<(), SciError> {
        match &self.place {
            // SAFETY: the caller promises that `to` is writable for `len` bytes.
            Place::Near(map) => unsafe { map.read(offset, to, len) },
            Place::Far(_) => Err(SciError::NotMapped),
        }
    }

    #[inline(always)]
    fn memory(&self) -> Option<*mut u8> {
        match &self.place {
            Place::Near(map) => map.memory(),
            Place::Far(_) => None,
        }
    }

    unsafe fn start_put(&self, offset: usize, src: Readable, lasting: bool, done: Counter) -> Result<(), SciError> {
        match &self.place {
            Place::Near(_) => Err(SciError::NotMapped),
            // SAFETY: the caller promises the source, as long as `lasting` says.
            Place::Far(map) => unsafe { map.put(offset, src, lasting, done) },
        }
    }

    unsafe fn start_get(&self, offset: usize, to: Writable, done: Counter) -> Result<(), SciError> {
        match &self.place {
            Place::Near(_) => Err(SciError::NotMapped),
            // SAFETY: the caller promises the target until `done` is raised.
            Place::Far(map) => unsafe { map.get(offset, to, done) },
        }
    }
}
