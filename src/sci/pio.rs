//! PIO: word and byte stores into mapped memory, each bounds-checked by one compare.
//!
//! Invariant: no reference to mapped bytes is ever made, only to atomic words, because peers write them.
//! Must not know how the memory was mapped. The checks are shared with adapters that have no raw memory (loom).

#![allow(unsafe_code)] // mapped memory, system calls

use super::SciError;

/// True if there is an 8-byte word at `offset` in `len` bytes. The rotation moves the bits of a misaligned offset to the top,
/// so that one compare finds both faults.
#[inline(always)]
pub(crate) fn holds_word(offset: usize, len: usize) -> bool {
    offset.rotate_right(3) < len >> 3
}

/// As [`holds_word`], of the 4-byte half word at `offset`.
#[inline(always)]
pub(crate) fn holds_half(offset: usize, len: usize) -> bool {
    offset.rotate_right(2) < len >> 2
}

/// As [`holds_word`], of `count` words.
#[inline(always)]
pub(crate) fn holds_words(offset: usize, count: usize, len: usize) -> bool {
    count <= (len >> 3).saturating_sub(offset.rotate_right(3))
}

/// As [`holds_word`], of the line of a packet.
#[inline(always)]
pub(crate) fn holds_packet(offset: usize, len: usize) -> bool {
    offset.rotate_right(6) < len >> 6
}

/// The last word of a line.
pub(crate) const LAST_WORD: usize = 7;

/// True if `len` bytes at `offset` lie in `segment` bytes. An overflowing `offset + len` does not.
#[inline(always)]
pub(crate) fn holds_range(offset: usize, len: usize, segment: usize) -> bool {
    offset <= segment && len <= segment - offset
}

/// Index of the 8-byte word at `offset` in `len` bytes.
#[inline(always)]
pub(crate) fn word_index(offset: usize, len: usize) -> usize {
    if !holds_word(offset, len) {
        outside(offset, 8, len);
    }
    offset.rotate_right(3)
}

/// Index of the 4-byte half word at `offset`.
#[inline(always)]
pub(crate) fn half_index(offset: usize, len: usize) -> usize {
    if !holds_half(offset, len) {
        outside(offset, 4, len);
    }
    offset.rotate_right(2)
}

/// Index of the block of `bytes` (a power of two) at `offset`; as [`word_index`].
#[inline(always)]
pub(crate) fn block_index(offset: usize, bytes: usize, len: usize) -> usize {
    let index = offset.rotate_right(bytes.trailing_zeros());
    if index >= len / bytes {
        outside(offset, bytes, len);
    }
    index
}

/// Checks that `count` words at `offset` are inside; the index of the first.
#[inline(always)]
pub(crate) fn words_index(offset: usize, count: usize, len: usize) -> usize {
    if !holds_words(offset, count, len) {
        outside(offset, count * 8, len);
    }
    offset.rotate_right(3)
}

/// Checks a packet: line-aligned, inside, at most 7 words of body.
#[inline(always)]
pub(crate) fn packet_index(offset: usize, body: usize, len: usize) -> usize {
    // Folded away where the body's length is a constant, as it is on the hot path.
    if body > 7 {
        outside(offset, body * 8 + 8, 64);
    }
    if !holds_packet(offset, len) {
        outside(offset, 64, len);
    }
    offset.rotate_right(6) * 8
}

/// Checks a byte range.
#[inline(always)]
pub(crate) fn check_range(offset: usize, len: usize, segment: usize) -> Result<(), SciError> {
    if !holds_range(offset, len, segment) {
        return out_of_range(offset, len, segment);
    }
    Ok(())
}

#[cold]
fn out_of_range(offset: usize, len: usize, segment: usize) -> Result<(), SciError> {
    Err(SciError::OutOfRange { offset: offset as u64, len: len as u64, segment: segment as u64 })
}

/// A word access outside its map or misaligned is a bug of the engine, not an error of its user.
#[cold]
#[inline(never)]
fn outside(offset: usize, bytes: usize, len: usize) -> ! {
    panic!("sci: access of {bytes} bytes at offset {offset} is misaligned or outside a map of {len} bytes")
}

#[cfg(not(loom))]
pub(crate) use span::Span;

#[cfg(not(loom))]
mod span {
    use super::*;
    use crate::sci::{Words, hint};
    use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

    /// Mapped memory, without its owner: the holder of a `Span` keeps the mapping next to it.
    #[derive(Clone, Copy)]
    pub(crate) struct Span {
        base: *mut u8,
        len: usize,
    }

    // SAFETY: a plain address; all accesses through it are atomic, or raw and checked by the caller's protocol.
    unsafe impl Send for Span {}
    // SAFETY: a plain address; all accesses through it are atomic, or raw and checked by the caller's protocol.
    unsafe impl Sync for Span {}

    impl Span {
        /// # Safety
        /// `base` is 64-byte aligned, and `len` bytes from it stay readable and writable as long as any method of this
        /// value or of a copy is called, or a pointer or reference that it gave is used.
        pub(crate) unsafe fn new(base: *mut u8, len: usize) -> Self {
            Self { base, len }
        }

        /// Of no bytes: every access is outside.
        pub(crate) fn empty() -> Self {
            Self { base: std::ptr::without_provenance_mut(64), len: 0 }
        }

        /// Bytes.
        #[inline(always)]
        pub(crate) fn len(&self) -> usize {
            self.len
        }

        /// First byte.
        #[inline(always)]
        pub(crate) fn base(&self) -> *mut u8 {
            self.base
        }

        #[inline(always)]
        pub(crate) fn ptr(&self, offset: usize) -> *mut u8 {
            if offset >= self.len {
                outside(offset, 1, self.len);
            }
            // SAFETY: inside the memory that `new` was promised.
            unsafe { self.base.add(offset) }
        }

        #[inline(always)]
        pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
            self.at(word_index(offset, self.len))
        }

        // Callers checked `index` with the functions above.
        #[inline(always)]
        fn at(&self, index: usize) -> &AtomicU64 {
            debug_assert!(index < self.len / 8);
            // SAFETY: inside the memory that `new` was promised.
            let word = unsafe { self.base.add(index * 8) };
            // SAFETY: aligned because `base` is; alive for `&self` by the contract of `new`; peers' word accesses are
            // atomic, and byte accesses to the same place are ordered by the engine's protocol.
            unsafe { AtomicU64::from_ptr(word.cast()) }
        }

        #[inline(always)]
        pub(crate) fn store(&self, offset: usize, words: &[u64]) {
            let first = words_index(offset, words.len(), self.len);
            let store = |i: usize, word: u64| self.at(first + i).store(word, Ordering::Relaxed); // Relaxed: a later barrier or publish orders it
            // Most messages have one or two. The loop, which the compiler makes for many, takes 25 instructions for one.
            match words {
                [] => {}
                [word] => store(0, *word),
                [one, two] => {
                    store(0, *one);
                    store(1, *two);
                }
                _ => words.iter().enumerate().for_each(|(i, word)| store(i, *word)),
            }
        }

        #[inline(always)]
        pub(crate) fn words<const N: usize>(&self, offset: usize) -> Words<'_, N> {
            let block = block_index(offset, 8 * N, self.len);
            // SAFETY: inside, as just checked, and a multiple of the block's bytes.
            unsafe { self.words_inside(block * 8 * N) }
        }

        /// # Safety
        /// `offset` is a multiple of the block's bytes, and the block is inside.
        #[inline(always)]
        pub(crate) unsafe fn words_inside<const N: usize>(&self, offset: usize) -> Words<'_, N> {
            debug_assert!(offset.is_multiple_of(8 * N) && holds_range(offset, 8 * N, self.len));
            // SAFETY: inside the memory that `new` was promised, as the caller promises.
            let words: *const [AtomicU64; N] = unsafe { self.base.add(offset) }.cast();
            // SAFETY: inside the memory that `new` was promised, aligned because `base` is; peers' accesses are atomic.
            Words(unsafe { &*words })
        }

        #[inline(always)]
        pub(crate) fn packet(&self, offset: usize, head: u64, body: &[u64]) {
            let first = packet_index(offset, body.len(), self.len);
            for (i, word) in body.iter().enumerate() {
                self.at(first + 1 + i).store(*word, Ordering::Relaxed); // Relaxed: the head's Release below orders it
            }
            // ORDERING: Release ↔ the reader's Acquire load of the head: a reader that sees the head sees the body.
            self.at(first).store(head, Ordering::Release);
        }

        #[inline(always)]
        pub(crate) fn publish(&self, offset: usize, value: u64) {
            // ORDERING: Release ↔ the reader's Acquire load of this word: a reader that sees it sees what was stored before.
            self.at(word_index(offset, self.len)).store(value, Ordering::Release);
        }

        #[inline(always)]
        pub(crate) fn publish32(&self, offset: usize, value: u32) {
            let index = half_index(offset, self.len);
            if cfg!(miri) {
                return self.publish_half(index, value);
            }
            // SAFETY: inside the memory that `new` was promised.
            let half = unsafe { self.base.add(index * 4) };
            // SAFETY: aligned, in memory that lives for `&self`; readers look at the whole word, which the hardware gives
            // them without tearing.
            let half = unsafe { AtomicU32::from_ptr(half.cast()) };
            // ORDERING: as in `publish`.
            half.store(value, Ordering::Release);
        }

        /// Miri does not model atomic accesses of different sizes to one place: replaces half of the word instead.
        fn publish_half(&self, index: usize, value: u32) {
            let word = self.at(index / 2);
            let _ =
                word.fetch_update(Ordering::Release, Ordering::Relaxed, |old| Some(replace_half(old, index, value)));
        }

        /// # Safety
        /// `src` is readable for `len` bytes.
        #[inline(always)]
        pub(crate) unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
            check_range(offset, len, self.len)?;
            // SAFETY: `offset` is inside, as checked.
            let target = unsafe { self.base.add(offset) };
            // SAFETY: source by this function's contract, target as checked. `copy`, not `copy_nonoverlapping`: a
            // client may put a part of its own segment onto another; for memory that does not overlap it costs one
            // compare.
            unsafe { std::ptr::copy(src, target, len) };
            Ok(())
        }

        /// As [`Self::write`], where the two do not overlap.
        ///
        /// # Safety
        /// `src` is readable for `len` bytes.
        #[inline(always)]
        pub(crate) unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
            check_range(offset, len, self.len)?;
            // SAFETY: `offset` is inside, as checked.
            let target = unsafe { self.base.add(offset) };
            // SAFETY: source by this function's contract, target as checked.
            unsafe { crate::sci::copy::gasneti_sci_memcpy(target.cast(), src.cast(), len) };
            Ok(())
        }

        /// # Safety
        /// `to` is writable for `len` bytes.
        #[inline(always)]
        pub(crate) unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) -> Result<(), SciError> {
            check_range(offset, len, self.len)?;
            // SAFETY: `offset` is inside, as checked.
            let source = unsafe { self.base.add(offset) };
            // SAFETY: source as checked, target by this function's contract. `copy`: as in `write`.
            unsafe { std::ptr::copy(source, to, len) };
            Ok(())
        }

        #[inline(always)]
        pub(crate) fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
            check_range(offset, len, self.len)?;
            // SAFETY: `offset` is inside, as checked.
            let target = unsafe { self.base.add(offset) };
            // SAFETY: inside, as checked.
            unsafe { std::ptr::write_bytes(target, byte, len) };
            Ok(())
        }

        /// [`hint::will_read`], of the line at `offset`.
        #[inline(always)]
        pub(crate) fn will_read(&self, offset: usize) {
            hint::will_read(self.base.wrapping_add(offset));
        }

        /// [`hint::claim`], of the line at `offset`.
        #[inline(always)]
        pub(crate) fn claim_by_prefetch(&self, offset: usize) {
            hint::claim(self.base.wrapping_add(offset));
        }

        /// What [`RemoteMap::claim_by_store`](crate::sci::RemoteMap::claim_by_store) says. Why a store: `CLAIM_BATCH` in `am::outbox`.
        #[inline(always)]
        pub(crate) fn claim_by_store(&self, offset: usize) {
            let first = packet_index(offset, 0, self.len);
            // Relaxed: nobody reads it. It is no zero, so that tests see a claim of a line that is not free.
            self.at(first + LAST_WORD).store(u64::MAX, Ordering::Relaxed);
        }

        /// [`hint::hand_over`], of the line at `offset`.
        #[inline(always)]
        pub(crate) fn hand_over(&self, offset: usize) {
            hint::hand_over(self.base.wrapping_add(offset));
        }

        /// Orders this thread's stores: those before, of every kind, are visible before those after, of every kind.
        ///
        /// Heads and published words are Release stores, which order everything before them by themselves. The fence is
        /// for what they do not cover: relaxed and byte stores *after* the barrier. On Arm it is one `dmb ish`: stores
        /// on both sides of it stay apart, and because Armv8 is multi-copy atomic no third node sees them swapped. On
        /// x86-64 it emits nothing: stores stay in order, and memcpy ends its non-temporal stores with an `sfence`.
        #[inline(always)]
        pub(crate) fn barrier() {
            // ORDERING: Release fence ↔ Acquire load of any word stored after it.
            fence(Ordering::Release);
        }
    }
}

/// `old` with its half word `index` (counted from the segment's start, in memory order) replaced.
#[cfg_attr(not(any(miri, loom)), allow(dead_code))] // there, half words are stored as such
pub(crate) fn replace_half(old: u64, index: usize, value: u32) -> u64 {
    let mut bytes = old.to_ne_bytes();
    let at = index % 2 * 4;
    bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}
