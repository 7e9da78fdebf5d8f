//! Client memory that a collective reads or fills: one piece, or equal blocks at several addresses that count as one.
//!
//! Addresses are kept as numbers, because a collective under way belongs to no thread. The code that makes a [`Span`]
//! promises that the memory stays accessible until the collective is done. With that promise, copying from and to it
//! is safe.

#![allow(unsafe_code)] // client memory and mapped regions

use super::cells::WORDS;
use std::sync::Arc;

/// Equal blocks, treated as if each followed the one before.
#[derive(Clone, Debug)]
pub struct Span {
    each: usize,
    blocks: Blocks,
}

#[derive(Clone, Debug)]
enum Blocks {
    One(usize),
    Many(Arc<[usize]>),
}

impl Span {
    /// `len` bytes at `address`.
    ///
    /// # Safety
    /// While the span or a part of it is used, the bytes stay readable, and writable if bytes are copied to the span.
    /// Or `len` is 0.
    pub unsafe fn one(address: usize, len: usize) -> Span {
        Span { each: len, blocks: Blocks::One(address) }
    }

    /// Blocks of `each` bytes at `addresses`. It is one piece if each block follows the one before.
    ///
    /// # Safety
    /// The contract of [`Span::one`] holds for each block.
    pub unsafe fn many(addresses: &[usize], each: usize) -> Span {
        match addresses {
            _ if each == 0 => Span { each: 0, blocks: Blocks::One(0) },
            [] => Span { each: 0, blocks: Blocks::One(0) },
            [first, ..] if addresses.iter().enumerate().all(|(i, a)| *a == first.wrapping_add(i * each)) => {
                Span { each: each * addresses.len(), blocks: Blocks::One(*first) }
            }
            _ => Span { each, blocks: Blocks::Many(addresses.into()) },
        }
    }

    /// The library's own memory. The caller keeps `buffer` longer than the span.
    pub fn of(buffer: &Buffer) -> Span {
        Span { each: buffer.len, blocks: Blocks::One(buffer.words.as_ptr() as usize) }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        match &self.blocks {
            Blocks::One(_) => self.each,
            Blocks::Many(list) => self.each * list.len(),
        }
    }

    /// True if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Address of the first byte, if the span is one piece.
    pub fn address(&self) -> Option<usize> {
        match &self.blocks {
            Blocks::One(address) => Some(*address),
            Blocks::Many(_) => None,
        }
    }

    /// True if the two, each in one piece, have a byte in common.
    pub fn overlaps(&self, other: &Span) -> bool {
        match (self.address(), other.address()) {
            (Some(a), Some(b)) => a < b.wrapping_add(other.len()) && b < a.wrapping_add(self.len()),
            _ => true,
        }
    }

    /// `len` bytes from `at` on. Of several blocks, only whole ones.
    pub fn part(&self, at: usize, len: usize) -> Span {
        assert!(at <= self.len() && len <= self.len() - at);
        match &self.blocks {
            Blocks::One(address) => Span { each: len, blocks: Blocks::One(address.wrapping_add(at)) },
            Blocks::Many(list) => {
                assert!(at.is_multiple_of(self.each) && len.is_multiple_of(self.each));
                let list = &list[at / self.each..(at + len) / self.each];
                match list {
                    [one] => Span { each: len, blocks: Blocks::One(*one) },
                    _ => Span { each: self.each, blocks: Blocks::Many(list.into()) },
                }
            }
        }
    }

    /// Calls `f` with (address, offset from `at`, bytes) of each piece of `[at, at + len)`.
    fn pieces(&self, at: usize, len: usize, mut f: impl FnMut(usize, usize, usize)) {
        assert!(at <= self.len() && len <= self.len() - at);
        match &self.blocks {
            Blocks::One(address) => f(address.wrapping_add(at), 0, len),
            Blocks::Many(list) => {
                let mut done = 0;
                while done < len {
                    let (block, within) = ((at + done) / self.each, (at + done) % self.each);
                    let n = (self.each - within).min(len - done);
                    f(list[block].wrapping_add(within), done, n);
                    done += n;
                }
            }
        }
    }

    /// Copies bytes `[at, at + len)` to `to`.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    #[inline]
    pub unsafe fn read(&self, at: usize, to: *mut u8, len: usize) {
        self.pieces(at, len, |address, offset, n| {
            // SAFETY: the span's maker promised a readable source, the caller a writable target. They may be the same memory.
            unsafe { std::ptr::copy(address as *const u8, to.wrapping_add(offset), n) }
        });
    }

    /// Copies `len` bytes from `from` to `[at, at + len)`.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes.
    #[inline]
    pub unsafe fn write(&self, at: usize, from: *const u8, len: usize) {
        self.pieces(at, len, |address, offset, n| {
            // SAFETY: the caller promises a readable source, the span's maker promised a writable target. They may be the same
            // memory.
            unsafe { std::ptr::copy(from.wrapping_add(offset), address as *mut u8, n) }
        });
    }

    /// Calls `f` with (address, offset from `at`, bytes) of each piece of `[at, at + len)`. `f` fills the pieces.
    pub fn fill(&self, at: usize, len: usize, f: impl FnMut(usize, usize, usize)) {
        self.pieces(at, len, f);
    }

    /// Copies as many bytes as `from` has to this span's start. Does nothing if both are the same memory.
    pub fn copy_from(&self, from: &Span) {
        from.pieces(0, from.len(), |address, offset, n| {
            if self.address() == Some(address.wrapping_sub(offset)) {
                return;
            }
            // SAFETY: `n` bytes are readable at `address`, as the maker of `from` promised.
            unsafe { self.write(offset, address as *const u8, n) }
        });
    }

    /// Copies the bytes to `words`, at most [`WORDS`] words. Returns the number of words.
    #[inline]
    pub fn words(&self, words: &mut [u64; WORDS]) -> usize {
        let len = self.len();
        assert!(len <= size_of_val(words));
        let whole = match self.blocks {
            // Copied word by word: after a copy as bytes, reading words would wait until the stores had reached the
            // cache.
            Blocks::One(address) => {
                for (i, word) in words.iter_mut().take(len / 8).enumerate() {
                    // SAFETY: the span's maker promised `len` readable bytes.
                    *word = unsafe { (address as *const u64).wrapping_add(i).read_unaligned() };
                }
                len / 8
            }
            Blocks::Many(_) => 0,
        };
        if whole * 8 < len {
            // SAFETY: `words` has room for `len` bytes.
            unsafe { self.read(whole * 8, words[whole..].as_mut_ptr().cast(), len - whole * 8) };
        }
        len.div_ceil(8)
    }

    /// Fills the span from words. It has at most as many bytes as a message carries.
    #[inline]
    pub fn set_words(&self, words: &[u64; WORDS]) {
        let len = self.len();
        assert!(len <= size_of_val(words));
        let whole = match self.blocks {
            Blocks::One(address) => {
                for (i, word) in words.iter().take(len / 8).enumerate() {
                    // SAFETY: the span's maker promised `len` writable bytes.
                    unsafe { (address as *mut u64).wrapping_add(i).write_unaligned(*word) };
                }
                len / 8
            }
            Blocks::Many(_) => 0,
        };
        if whole * 8 < len {
            // SAFETY: `words` has at least `len` bytes.
            unsafe { self.write(whole * 8, words[whole..].as_ptr().cast(), len - whole * 8) };
        }
    }
}

/// Room for the bytes of one message, aligned for any type. The array must not move while a span over it is used.
#[derive(Default)]
pub struct Carried(std::cell::UnsafeCell<[u128; WORDS.div_ceil(2)]>);

impl Carried {
    /// The first `len` bytes as a span.
    pub fn span(&self, len: usize) -> Span {
        assert!(len <= size_of_val(self));
        Span { each: len, blocks: Blocks::One(self.0.get() as usize) }
    }
}

/// Memory of the library's own, aligned for any type.
pub struct Buffer {
    words: Box<[std::cell::UnsafeCell<u128>]>,
    len: usize,
}

// SAFETY: plain memory; spans over it are used by one thread at a time, by the collective that made it.
unsafe impl Send for Buffer {}
// SAFETY: plain memory without interior references; one thread at a time uses the spans over it.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `len` bytes, all zero.
    pub fn new(len: usize) -> Buffer {
        let words = (0..len.div_ceil(16)).map(|_| std::cell::UnsafeCell::new(0)).collect();
        Buffer { words, len }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn span(bytes: &mut [u8]) -> Span {
        // SAFETY: the callers keep `bytes` longer.
        unsafe { Span::one(bytes.as_mut_ptr() as usize, bytes.len()) }
    }

    #[test]
    fn blocks_in_a_row_are_one_piece() {
        let mut bytes = [1u8, 2, 3, 4, 5, 6];
        let base = bytes.as_mut_ptr() as usize;
        // SAFETY: inside `bytes`.
        let row = unsafe { Span::many(&[base, base + 2, base + 4], 2) };
        assert_eq!((row.address(), row.len()), (Some(base), 6));
        // SAFETY: inside `bytes`.
        let swapped = unsafe { Span::many(&[base + 4, base], 2) };
        assert_eq!((swapped.address(), swapped.len()), (None, 4));
        let mut out = [0u8; 4];
        span(&mut out).copy_from(&swapped);
        assert_eq!(out, [5, 6, 1, 2]);
        // SAFETY: three readable bytes.
        unsafe { swapped.write(1, [9u8, 8, 7].as_ptr(), 3) };
        assert_eq!(bytes, [8, 7, 3, 4, 5, 9]);
        assert_eq!(swapped.part(2, 2).address(), Some(base));
    }

    #[test]
    fn words_carry_short_spans_whole() {
        let mut from: [u8; 80] = std::array::from_fn(|i| i as u8 + 1);
        for len in 0..=80 {
            let (mut to, mut words) = ([0u8; 81], [0; WORDS]);
            assert_eq!(span(&mut from[..len]).words(&mut words), len.div_ceil(8));
            span(&mut to[..len]).set_words(&words);
            assert_eq!((&to[..len], to[len]), (&from[..len], 0));
        }
        let base = from.as_mut_ptr() as usize;
        // SAFETY: inside `from`.
        let pieces = unsafe { Span::many(&[base + 40, base + 3], 20) };
        let (mut words, mut to) = ([0; WORDS], [0u8; 40]);
        assert_eq!(pieces.words(&mut words), 5);
        span(&mut to).set_words(&words);
        assert_eq!((&to[..20], &to[20..]), (&from[40..60], &from[3..23]));
    }
}
