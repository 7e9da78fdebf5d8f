//! Memory of heap segments: plain zeroed memory, or loom's atomics where loom checks the protocols above.
//!
//! Must not know the life cycle of segments.

#[cfg(not(loom))]
pub(crate) use plain::{PAGE, Storage, View};

#[cfg(loom)]
pub(crate) use modelled::{PAGE, Storage, View};

#[cfg(not(loom))]
mod plain {
    use crate::sci::SciError;
    pub(crate) use crate::sci::pio::Span as View;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    /// Bytes; segments are whole pages, and maps begin on one.
    pub(crate) const PAGE: usize = 4096;

    /// Zeroed, page-aligned memory; untouched pages cost nothing.
    pub(crate) struct Storage {
        base: *mut u8,
        len: usize,
        block: *mut u8,
    }

    /// Memory that is asked for on page boundaries is zeroed by hand, 64 MB of it for a collective region; else by the
    /// system, when it is touched. Fuzzers want to know of accesses behind the last byte.
    const ALIGN: usize = if cfg!(fuzzing) { PAGE } else { 16 };
    const SLACK: usize = if cfg!(fuzzing) { 0 } else { PAGE };

    fn layout(len: usize) -> Option<Layout> {
        Layout::from_size_align(len.checked_add(SLACK)?, ALIGN).ok()
    }

    // SAFETY: a plain address; access to the memory is the business of who gets a view.
    unsafe impl Send for Storage {}
    // SAFETY: as above.
    unsafe impl Sync for Storage {}

    impl Storage {
        /// `len` bytes, whole pages.
        pub(crate) fn new(len: usize) -> Result<Self, SciError> {
            let no_room = SciError::System { call: "malloc", errno: libc::ENOMEM };
            if len == 0 {
                return Ok(Self { base: std::ptr::without_provenance_mut(PAGE), len, block: std::ptr::null_mut() });
            }
            let Some(layout) = layout(len) else {
                return Err(no_room);
            };
            // SAFETY: `len` is not zero.
            let block = unsafe { alloc_zeroed(layout) };
            let base = block.wrapping_add(block.addr().wrapping_neg() % PAGE);
            if block.is_null() { Err(no_room) } else { Ok(Self { base, len, block }) }
        }

        /// Bytes.
        pub(crate) fn len(&self) -> usize {
            self.len
        }

        /// A view of `len` bytes from `offset`, which were checked to be inside. The caller keeps `self` next to it.
        pub(crate) fn view(&self, offset: usize, len: usize) -> View {
            let base = self.base.wrapping_add(offset);
            // SAFETY: aligned because `offset` is a multiple of the page; inside, as checked; alive as long as `self`.
            unsafe { View::new(base, len) }
        }
    }

    impl Drop for Storage {
        fn drop(&mut self) {
            if let (1.., Some(layout)) = (self.len, layout(self.len)) {
                // SAFETY: allocated in `new` with this layout.
                unsafe { dealloc(self.block, layout) };
            }
        }
    }
}

/// Under loom a word is a loom atomic and a byte is plain memory beside it. Whatever a peer stores is stored in both;
/// what the owner stores by `word` or through `ptr` stays there.
#[cfg(loom)]
mod modelled {
    use crate::sci::{SciError, Words, pio};
    use crate::sync::{AtomicU64, Ordering, fence};

    /// Bytes; small, because every word is an object of the model.
    pub(crate) const PAGE: usize = 64;

    pub(crate) struct Storage {
        words: Vec<AtomicU64>,
        bytes: *mut u64,
    }

    // SAFETY: loom runs one thread at a time, and protocols under test own the bytes that they touch.
    unsafe impl Send for Storage {}
    // SAFETY: as above.
    unsafe impl Sync for Storage {}

    impl Storage {
        pub(crate) fn new(len: usize) -> Result<Self, SciError> {
            let words = (0..len / 8).map(|_| AtomicU64::new(0)).collect();
            let bytes = Box::into_raw(vec![0u64; len / 8].into_boxed_slice());
            Ok(Self { words, bytes: bytes.cast() })
        }

        pub(crate) fn len(&self) -> usize {
            self.words.len() * 8
        }

        pub(crate) fn view(&self, offset: usize, len: usize) -> View {
            let words = self.words.as_ptr().wrapping_add(offset / 8);
            View { words, bytes: self.bytes.cast::<u8>().wrapping_add(offset), len }
        }
    }

    impl Drop for Storage {
        fn drop(&mut self) {
            let bytes = std::ptr::slice_from_raw_parts_mut(self.bytes, self.words.len());
            // SAFETY: made by `Box::into_raw` in `new`, of this length.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }

    /// As `pio::Span`, but over both kinds of memory.
    #[derive(Clone, Copy)]
    pub(crate) struct View {
        words: *const AtomicU64,
        bytes: *mut u8,
        len: usize,
    }

    // SAFETY: as for `Storage`.
    unsafe impl Send for View {}
    // SAFETY: as for `Storage`.
    unsafe impl Sync for View {}

    impl View {
        pub(crate) fn len(&self) -> usize {
            self.len
        }

        pub(crate) fn ptr(&self, offset: usize) -> *mut u8 {
            assert!(offset < self.len, "sci: byte {offset} is outside a map of {} bytes", self.len);
            self.bytes.wrapping_add(offset)
        }

        pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
            self.at(pio::word_index(offset, self.len))
        }

        pub(crate) fn words<const N: usize>(&self, offset: usize) -> Words<'_, N> {
            let block = pio::block_index(offset, 8 * N, self.len);
            // SAFETY: inside, as checked; the storage is kept next to the view.
            Words(unsafe { &*self.words.wrapping_add(block * N).cast() })
        }

        fn at(&self, index: usize) -> &AtomicU64 {
            // SAFETY: callers checked `index`; the storage is kept next to the view.
            unsafe { &*self.words.wrapping_add(index) }
        }

        fn set(&self, index: usize, value: u64, ordering: Ordering) {
            let bytes = self.bytes.wrapping_add(index * 8).cast::<u64>();
            // SAFETY: inside, as checked by the callers; aligned.
            unsafe { bytes.write(value) };
            self.at(index).store(value, ordering);
        }

        pub(crate) fn store(&self, offset: usize, words: &[u64]) {
            let first = pio::words_index(offset, words.len(), self.len);
            for (i, word) in words.iter().enumerate() {
                self.set(first + i, *word, Ordering::Relaxed); // Relaxed: a later barrier or publish orders it
            }
        }

        pub(crate) fn packet(&self, offset: usize, head: u64, body: &[u64]) {
            let first = pio::packet_index(offset, body.len(), self.len);
            for (i, word) in body.iter().enumerate() {
                self.set(first + 1 + i, *word, Ordering::Relaxed); // Relaxed: the head orders it
            }
            // ORDERING: Release ↔ the reader's Acquire load of the head.
            self.set(first, head, Ordering::Release);
        }

        pub(crate) fn publish(&self, offset: usize, value: u64) {
            // ORDERING: Release ↔ the reader's Acquire load of this word.
            self.set(pio::word_index(offset, self.len), value, Ordering::Release);
        }

        pub(crate) fn publish32(&self, offset: usize, value: u32) {
            let index = pio::half_index(offset, self.len);
            // ORDERING: Release ↔ the reader's Acquire load of this word.
            self.change(index / 2, Ordering::Release, |old| pio::replace_half(old, index, value));
        }

        fn change(&self, index: usize, ordering: Ordering, f: impl Fn(u64) -> u64) {
            // Relaxed: the exchange decides.
            let old = self.at(index).fetch_update(ordering, Ordering::Relaxed, |old| Some(f(old)));
            let bytes = self.bytes.wrapping_add(index * 8).cast::<u64>();
            // SAFETY: inside, as checked by the callers; aligned.
            unsafe { bytes.write(f(old.unwrap_or(0))) };
        }

        fn set_byte(&self, offset: usize, byte: u8) {
            // Relaxed: a later barrier or publish orders it.
            self.change(offset / 8, Ordering::Relaxed, |old| {
                let mut bytes = old.to_ne_bytes();
                bytes[offset % 8] = byte;
                u64::from_ne_bytes(bytes)
            });
        }

        /// # Safety
        /// `src` is readable for `len` bytes.
        pub(crate) unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
            pio::check_range(offset, len, self.len)?;
            let mut i = 0;
            while i < len {
                let at = offset + i;
                if at % 8 == 0 && len - i >= 8 {
                    // SAFETY: readable by this function's contract.
                    let word = unsafe { src.wrapping_add(i).cast::<u64>().read_unaligned() };
                    self.set(at / 8, word, Ordering::Relaxed); // Relaxed: a later barrier or publish orders it
                    i += 8;
                } else {
                    // SAFETY: readable by this function's contract.
                    self.set_byte(at, unsafe { src.wrapping_add(i).read() });
                    i += 1;
                }
            }
            Ok(())
        }

        pub(crate) fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
            pio::check_range(offset, len, self.len)?;
            (offset..offset + len).for_each(|at| self.set_byte(at, byte));
            Ok(())
        }

        pub(crate) fn barrier() {
            // ORDERING: Release fence ↔ Acquire load of any word stored after it.
            fence(Ordering::Release);
        }
    }
}
