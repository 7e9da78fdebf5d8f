//! Maps of segments whose memory this process has: the memory, and a keeper by which it stays, and its segment's user is counted.
//!
//! Must not know what the keeper does.

#![allow(unsafe_code)] // mapped memory

#[cfg(not(loom))]
use super::pio::Span as View;
#[cfg(loom)]
use super::storage::View;
use super::{LocalMap, RemoteMap, SciError, Words};
use crate::sync::AtomicU64;
use std::sync::Arc;

/// What keeps the memory of a map. The last clone of the map drops it.
pub trait Keeper: Send + Sync + 'static {
    /// Payload may be loaded and stored by address.
    const HAS_ADDRESSES: bool;
}

/// A mapped segment of this node.
pub struct KeptLocal<K> {
    view: View,
    keeper: Arc<K>,
}

/// A mapped segment of a peer.
pub struct KeptRemote<K> {
    view: View,
    keeper: Arc<K>,
}

impl<K> KeptLocal<K> {
    /// `keeper` keeps the memory of `view`.
    pub(super) fn new(view: View, keeper: Arc<K>) -> Self {
        Self { view, keeper }
    }
}

impl<K> KeptRemote<K> {
    /// `keeper` keeps the memory of `view`.
    pub(super) fn new(view: View, keeper: Arc<K>) -> Self {
        Self { view, keeper }
    }

    /// The memory, for a holder that keeps the map next to it.
    pub(super) fn view(&self) -> View {
        self.view
    }
}

// By hand: the keeper is shared, whatever it is.
impl<K> Clone for KeptLocal<K> {
    fn clone(&self) -> Self {
        Self { view: self.view, keeper: self.keeper.clone() }
    }
}

impl<K> Clone for KeptRemote<K> {
    fn clone(&self) -> Self {
        Self { view: self.view, keeper: self.keeper.clone() }
    }
}

impl<K: Keeper> LocalMap for KeptLocal<K> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.view.len()
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        let word = self.view.word(offset);
        #[cfg(all(any(test, fuzzing), not(loom)))]
        super::fickle::touch(word);
        word
    }

    #[inline(always)]
    fn words<const N: usize>(&self, offset: usize) -> Words<'_, N> {
        self.view.words(offset)
    }

    #[inline(always)]
    unsafe fn words_inside<const N: usize>(&self, offset: usize) -> Words<'_, N> {
        // SAFETY: the caller promises that the block is inside.
        unsafe { self.view.words_inside(offset) }
    }

    #[inline(always)]
    fn ptr(&self, offset: usize) -> *mut u8 {
        self.view.ptr(offset)
    }

    #[inline(always)]
    fn bytes(&self, offset: usize, _len: usize) -> *mut u8 {
        #[cfg(loom)]
        self.view.look(offset, _len);
        self.view.ptr(offset)
    }

    #[inline(always)]
    fn will_read(&self, offset: usize) {
        self.view.will_read(offset);
    }
}

impl<K: Keeper> RemoteMap for KeptRemote<K> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.view.len()
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        false
    }

    fn place(&self) -> Option<*mut u8> {
        Some(self.view.base())
    }

    #[inline(always)]
    fn store(&self, offset: usize, words: &[u64]) {
        self.view.store(offset, words);
    }

    #[inline(always)]
    fn hand_over(&self, offset: usize) {
        self.view.hand_over(offset);
    }

    #[inline(always)]
    fn claim_by_prefetch(&self, offset: usize) {
        self.view.claim_by_prefetch(offset);
    }

    #[inline(always)]
    fn claim_by_store(&self, offset: usize) {
        self.view.claim_by_store(offset);
    }

    #[inline(always)]
    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        self.view.packet(offset, head, body);
    }

    #[inline(always)]
    fn publish(&self, offset: usize, value: u64) {
        self.view.publish(offset, value);
    }

    #[inline(always)]
    fn publish32(&self, offset: usize, value: u32) {
        self.view.publish32(offset, value);
    }

    #[inline(always)]
    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.view.write(offset, src, len) }
    }

    #[inline(always)]
    unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.view.write_apart(offset, src, len) }
    }

    #[inline(always)]
    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        self.view.fill(offset, byte, len)
    }

    #[inline(always)]
    fn barrier(&self) {
        View::barrier();
    }
}

#[cfg(not(loom))]
impl<K: Keeper> super::RemoteRead for KeptRemote<K> {
    unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `to` is writable for `len` bytes.
        unsafe { self.view.read(offset, to, len) }
    }

    #[inline(always)]
    fn memory(&self) -> Option<*mut u8> {
        K::HAS_ADDRESSES.then(|| self.view.base())
    }

    super::adapter::near_alone!();
}
