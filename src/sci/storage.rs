//! Memory of heap segments: plain zeroed memory, or loom's atomics where loom checks the protocols above.
//!
//! Must not know the life cycle of segments.

#![allow(unsafe_code)] // mapped memory, system calls

#[cfg(not(loom))]
pub(crate) use plain::{PAGE, Storage, View};

#[cfg(loom)]
pub(crate) use modelled::{PAGE, Storage, View};

#[cfg(not(loom))]
mod plain {
    use crate::sci::SciError;
    pub(crate) use crate::sci::pio::Span as View;

    /// Bytes; segments are whole pages, and maps begin on one.
    pub(crate) const PAGE: usize = 4096;

    /// Zeroed, page-aligned memory; untouched pages cost nothing.
    pub(crate) struct Storage {
        base: *mut u8,
        len: usize,
        block: Block,
    }

    // SAFETY: a plain address; access to the memory is the business of who gets a view.
    unsafe impl Send for Storage {}
    // SAFETY: a plain address; access to the memory is the business of who gets a view.
    unsafe impl Sync for Storage {}

    impl Storage {
        /// `len` bytes, whole pages.
        pub(crate) fn new(len: usize) -> Result<Self, SciError> {
            if len == 0 {
                return Ok(Self { base: std::ptr::without_provenance_mut(PAGE), len, block: Block::none() });
            }
            let block = len.checked_add(Block::MORE).and_then(Block::new);
            let block = block.ok_or(SciError::System { call: "malloc", errno: libc::ENOMEM })?;
            Ok(Self { base: block.first_page(), len, block })
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
            if self.len > 0 {
                // SAFETY: made in `new` with this length; no view is left.
                unsafe { self.block.free(self.len + Block::MORE) };
            }
        }
    }

    #[cfg(not(fuzzing))]
    pub(crate) use heap::Block;

    #[cfg(fuzzing)]
    pub(crate) use guarded::Block;

    /// From the allocator, with one page more than asked for. Asked for page alignment, the allocator would zero all of it
    /// itself (64 MB for a collective region); without, the system zeroes each page when it is touched.
    #[cfg(not(fuzzing))]
    mod heap {
        use super::PAGE;
        use std::alloc::{Layout, alloc_zeroed, dealloc};

        pub(crate) struct Block(*mut u8);

        impl Block {
            /// Bytes beside those that are asked for.
            pub(super) const MORE: usize = PAGE;

            pub(super) fn none() -> Block {
                Block(std::ptr::null_mut())
            }

            fn layout(len: usize) -> Option<Layout> {
                Layout::from_size_align(len, 16).ok()
            }

            /// `len` bytes, `MORE` included.
            pub(super) fn new(len: usize) -> Option<Block> {
                // SAFETY: `len` is not zero: it includes `MORE`.
                let block = unsafe { alloc_zeroed(Self::layout(len)?) };
                (!block.is_null()).then_some(Block(block))
            }

            pub(super) fn first_page(&self) -> *mut u8 {
                self.0.wrapping_add(self.0.addr().wrapping_neg() % PAGE)
            }

            /// # Safety
            /// Made by `new` with this `len`; nobody uses the memory any more.
            pub(super) unsafe fn free(&self, len: usize) {
                if let Some(layout) = Self::layout(len) {
                    // SAFETY: allocated in `new` with this layout.
                    unsafe { dealloc(self.0, layout) };
                }
            }
        }
    }

    /// From the system, between two inaccessible pages, so that fuzzers notice accesses outside. AddressSanitizer's
    /// allocator finds those too, but it writes to every page, and most runs touch few of these megabytes.
    #[cfg(fuzzing)]
    mod guarded {
        use super::PAGE;

        pub(crate) struct Block(*mut u8);

        impl Block {
            /// Bytes beside those that are asked for.
            pub(super) const MORE: usize = 2 * PAGE;

            pub(super) fn none() -> Block {
                Block(std::ptr::null_mut())
            }

            /// `len` bytes, `MORE` included.
            pub(super) fn new(len: usize) -> Option<Block> {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
                // SAFETY: memory of its own, wherever there is room.
                let block = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
                if block == libc::MAP_FAILED {
                    return None;
                }
                let block = Block(block.cast());
                let inside = block.first_page();
                // SAFETY: part of what was just mapped.
                let open =
                    unsafe { libc::mprotect(inside.cast(), len - Self::MORE, libc::PROT_READ | libc::PROT_WRITE) };
                (open == 0).then_some(block)
            }

            pub(super) fn first_page(&self) -> *mut u8 {
                self.0.wrapping_add(PAGE)
            }

            /// # Safety
            /// Made by `new` with this `len`; nobody uses the memory any more.
            pub(super) unsafe fn free(&self, len: usize) {
                // SAFETY: mapped in `new` with this length.
                unsafe { libc::munmap(self.0.cast(), len) };
            }
        }
    }
}

/// Under loom a word is a loom atomic and a byte is plain memory beside it. Whatever a peer stores is stored in both;
/// what the owner stores by `word` or through `ptr` stays there.
///
/// The models are to notice a barrier that is missing. So stores that nothing orders arrive as late as [`RemoteMap`] lets
/// them: behind the thread's next packet or published word. A barrier makes them arrive, and only a barrier orders a
/// published word behind what was stored before. But a packet comes behind all packets and published words before it: loom
/// has no order that holds for one line only.
///
/// [`RemoteMap`]: crate::sci::RemoteMap
#[cfg(loom)]
mod modelled {
    use crate::sci::{SciError, Words, pio};
    use crate::sync::{AtomicU64, Ordering, fence};
    use std::cell::RefCell;

    /// Bytes; small, because every word is an object of the model.
    pub(crate) const PAGE: usize = 64;

    /// A store that has not arrived. Each is followed by a packet, a published word or a barrier, while its map is there.
    enum Late {
        Word { to: View, index: usize, value: u64 },
        Byte { to: View, offset: usize, byte: u8 },
    }

    loom::thread_local! {
        static LATE: RefCell<Vec<Late>> = RefCell::new(Vec::new());
    }

    fn put_off(store: Late) {
        LATE.with(|late| late.borrow_mut().push(store));
    }

    /// Lets this thread's late stores arrive.
    fn settle() {
        for store in LATE.with(RefCell::take) {
            match store {
                // Relaxed: unordered by contract, or a barrier follows.
                Late::Word { to, index, value } => to.set(index, value, Ordering::Relaxed),
                Late::Byte { to, offset, byte } => to.set_byte(offset, byte),
            }
        }
    }

    pub(crate) struct Storage {
        words: Vec<AtomicU64>,
        bytes: *mut u64,
    }

    // SAFETY: loom runs one thread at a time, and protocols under test own the bytes that they touch.
    unsafe impl Send for Storage {}
    // SAFETY: loom runs one thread at a time, and protocols under test own the bytes that they touch.
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

        /// First byte.
        pub(crate) fn base(&self) -> *mut u8 {
            self.bytes
        }

        /// Copies `len` bytes of words as this thread sees them, which may be old, to the bytes.
        pub(crate) fn look(&self, offset: usize, len: usize) {
            for index in offset / 8..(offset + len).div_ceil(8) {
                let word = self.at(index).load(Ordering::Relaxed); // Relaxed: what the bytes announces orders them
                // SAFETY: inside, or `at` had failed; aligned.
                unsafe { self.bytes.wrapping_add(index * 8).cast::<u64>().write(word) };
            }
        }

        pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
            self.at(pio::word_index(offset, self.len))
        }

        pub(crate) fn words<const N: usize>(&self, offset: usize) -> Words<'_, N> {
            let block = pio::block_index(offset, 8 * N, self.len);
            // SAFETY: inside, as checked; the storage is kept next to the view.
            Words(unsafe { &*self.words.wrapping_add(block * N).cast() })
        }

        /// As [`Self::words`]: a model checks it all the same.
        ///
        /// # Safety
        /// As that of `Span`.
        pub(crate) unsafe fn words_inside<const N: usize>(&self, offset: usize) -> Words<'_, N> {
            self.words(offset)
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
                put_off(Late::Word { to: *self, index: first + i, value: *word });
            }
        }

        pub(crate) fn packet(&self, offset: usize, head: u64, body: &[u64]) {
            let first = pio::packet_index(offset, body.len(), self.len);
            for (i, word) in body.iter().enumerate() {
                self.set(first + 1 + i, *word, Ordering::Relaxed); // Relaxed: the head orders it
            }
            // ORDERING: Release ↔ the reader's Acquire load of the head.
            self.set(first, head, Ordering::Release);
            settle();
        }

        /// As that of `Span`. It is not put off: it could arrive after the message's own store to that word.
        pub(crate) fn claim_by_store(&self, offset: usize) {
            let first = pio::packet_index(offset, 0, self.len);
            self.set(first + pio::LAST_WORD, u64::MAX, Ordering::Relaxed); // Relaxed: nobody reads it
        }

        pub(crate) fn publish(&self, offset: usize, value: u64) {
            // Relaxed: the barrier before it, a Release fence, orders it; without one nothing does.
            self.set(pio::word_index(offset, self.len), value, Ordering::Relaxed);
            settle();
        }

        pub(crate) fn publish32(&self, offset: usize, value: u32) {
            let index = pio::half_index(offset, self.len);
            // Relaxed: as in `publish`.
            self.change(index / 2, |old| pio::replace_half(old, index, value));
            settle();
        }

        fn change(&self, index: usize, f: impl Fn(u64) -> u64) {
            // Relaxed, both: as in `publish`; the exchange decides.
            let old = self.at(index).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(f(old)));
            let bytes = self.bytes.wrapping_add(index * 8).cast::<u64>();
            // SAFETY: inside, as checked by the callers; aligned.
            unsafe { bytes.write(f(old.unwrap_or(0))) };
        }

        fn set_byte(&self, offset: usize, byte: u8) {
            self.change(offset / 8, |old| {
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
                    put_off(Late::Word { to: *self, index: at / 8, value: word });
                    i += 8;
                } else {
                    // SAFETY: readable by this function's contract.
                    let byte = unsafe { src.wrapping_add(i).read() };
                    put_off(Late::Byte { to: *self, offset: at, byte });
                    i += 1;
                }
            }
            Ok(())
        }

        /// # Safety
        /// As [`Self::write`].
        pub(crate) unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
            // SAFETY: as the caller promises.
            unsafe { self.write(offset, src, len) }
        }

        // Hints.
        pub(crate) fn will_read(&self, _offset: usize) {}
        pub(crate) fn hand_over(&self, _offset: usize) {}
        pub(crate) fn claim_by_prefetch(&self, _offset: usize) {}

        pub(crate) fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
            pio::check_range(offset, len, self.len)?;
            (offset..offset + len).for_each(|offset| put_off(Late::Byte { to: *self, offset, byte }));
            Ok(())
        }

        pub(crate) fn barrier() {
            settle();
            // ORDERING: Release fence ↔ Acquire load of any word stored after it.
            fence(Ordering::Release);
        }
    }
}
