//! Mapped segments: what the engines' hot paths go through.
//!
//! Invariant: a map keeps its memory mapped and its segment's user counted, in this order of dropping.
//! Must not know where the extent came from.

#![allow(unsafe_code)] // mapped memory, system calls

use super::Lease;
use crate::sci::mapping::Mapping;
use crate::sci::pio::Span;
use crate::sci::{LocalMap, Placement, RemoteMap, RemoteRead, SciError, Words};
use crate::sync::AtomicU64;
use std::sync::Arc;

/// Mapped memory and its user, which leaves after the memory is unmapped: fields drop in this order.
pub(super) struct Held {
    mapping: Mapping,
    _lease: Arc<Lease>,
}

impl Held {
    pub(super) fn new(lease: &Arc<Lease>, offset: usize, len: usize, place: Placement) -> Result<Arc<Self>, SciError> {
        let mapping = lease.map(offset, len, place)?;
        Ok(Arc::new(Self { mapping, _lease: lease.clone() }))
    }

    fn span(&self) -> Span {
        // SAFETY: page-aligned and mapped as long as `self` lives; the maps below keep it next to the span.
        unsafe { Span::new(self.mapping.base(), self.mapping.len()) }
    }
}

/// A mapped segment of this node.
#[derive(Clone)]
pub struct ShmLocal {
    span: Span,
    _held: Arc<Held>,
}

impl ShmLocal {
    pub(super) fn new(held: Arc<Held>) -> Self {
        Self { span: held.span(), _held: held }
    }
}

impl LocalMap for ShmLocal {
    #[inline(always)]
    fn len(&self) -> usize {
        self.span.len()
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        self.span.word(offset)
    }

    #[inline(always)]
    fn words<const N: usize>(&self, offset: usize) -> Words<'_, N> {
        self.span.words(offset)
    }

    #[inline(always)]
    fn ptr(&self, offset: usize) -> *mut u8 {
        self.span.ptr(offset)
    }

    #[inline(always)]
    fn bytes(&self, offset: usize, _len: usize) -> *mut u8 {
        self.span.ptr(offset)
    }

    #[inline(always)]
    fn will_read(&self, offset: usize) {
        self.span.will_read(offset);
    }
}

/// A mapped segment of a peer.
#[derive(Clone)]
pub struct ShmRemote {
    span: Span,
    _held: Arc<Held>,
}

impl ShmRemote {
    pub(super) fn new(held: Arc<Held>) -> Self {
        Self { span: held.span(), _held: held }
    }

    /// The memory, for a holder that keeps the map next to it.
    pub(in crate::sci) fn span(&self) -> Span {
        self.span
    }

    /// First byte, as an address that the client may be given (supernode peers dereference it). The engines store
    /// through [`RemoteMap`].
    pub fn address(&self) -> *mut u8 {
        self.span.base()
    }
}

impl RemoteRead for ShmRemote {
    unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `to` is writable for `len` bytes.
        unsafe { self.span.read(offset, to, len) }
    }

    #[inline(always)]
    fn memory(&self) -> Option<*mut u8> {
        Some(self.span.base())
    }

    crate::sci::adapter::near_alone!();
}

impl RemoteMap for ShmRemote {
    #[inline(always)]
    fn len(&self) -> usize {
        self.span.len()
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        false
    }

    fn place(&self) -> Option<*mut u8> {
        Some(self.span.base())
    }

    #[inline(always)]
    fn store(&self, offset: usize, words: &[u64]) {
        self.span.store(offset, words);
    }

    #[inline(always)]
    fn hand_over(&self, offset: usize) {
        self.span.hand_over(offset);
    }

    #[inline(always)]
    fn claim_by_prefetch(&self, offset: usize) {
        self.span.claim_by_prefetch(offset);
    }

    #[inline(always)]
    fn claim_by_store(&self, offset: usize) {
        self.span.claim_by_store(offset);
    }

    #[inline(always)]
    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        self.span.packet(offset, head, body);
    }

    #[inline(always)]
    fn publish(&self, offset: usize, value: u64) {
        self.span.publish(offset, value);
    }

    #[inline(always)]
    fn publish32(&self, offset: usize, value: u32) {
        self.span.publish32(offset, value);
    }

    #[inline(always)]
    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.span.write(offset, src, len) }
    }

    #[inline(always)]
    unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.span.write_apart(offset, src, len) }
    }

    #[inline(always)]
    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        self.span.fill(offset, byte, len)
    }

    #[inline(always)]
    fn barrier(&self) {
        Span::barrier();
    }
}
