//! A client's payload and argument list, after the border: what the engine may read, and for how long.
//!
//! Must not know: where bytes go, messages.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use crate::am::region::MAX_ARGS;
use crate::base::error::{Error, bad_arg};

/// The arguments of a message, packed two per word by the header.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    words: &'a [u64],
    count: usize,
}

impl<'a> Args<'a> {
    /// More than [`MAX_ARGS`] arguments are kept as a number only, which the verbs refuse.
    ///
    /// # Safety
    /// `words` points to `count / 2`, rounded up, readable words that outlive `'a`, or `count` is 0 or above [`MAX_ARGS`].
    #[inline(always)]
    pub unsafe fn from_raw(words: *const u64, count: usize) -> Args<'a> {
        if count > MAX_ARGS {
            return Args { words: &[], count };
        }
        let words = if count == 0 { std::ptr::dangling() } else { words };
        // SAFETY: the caller promises `count / 2`, rounded up, readable words that outlive `'a`.
        let words = unsafe { std::slice::from_raw_parts(words, count.div_ceil(2)) };
        Args { words, count }
    }

    /// The first `count` arguments of `words`, at most [`MAX_ARGS`].
    #[inline(always)]
    pub fn of(words: &'a [u64], count: usize) -> Args<'a> {
        Args { words: &words[..count.div_ceil(2)], count }
    }

    /// `BadArg` for too many.
    #[inline(always)]
    pub fn check(&self) -> Result<(), Error> {
        if self.count > MAX_ARGS {
            return bad_arg(format_args!("{} handler arguments; the limit is {MAX_ARGS}", self.count));
        }
        Ok(())
    }

    /// Number of arguments.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The packed words.
    #[inline(always)]
    pub fn words(&self) -> &'a [u64] {
        self.words
    }
}

/// The payload of a Medium or Long: bytes that stay readable until the call returns.
#[derive(Clone, Copy)]
pub struct Source {
    ptr: *const u8,
    len: usize,
}

impl Source {
    /// # Safety
    /// `ptr` is readable for `len` bytes while the value is used, or `len` is 0.
    #[inline(always)]
    pub unsafe fn new(ptr: *const u8, len: usize) -> Source {
        Source { ptr, len }
    }

    /// First byte.
    #[inline(always)]
    pub fn ptr(&self) -> *const u8 {
        self.ptr
    }

    /// Bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for no bytes; the pointer then means nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `at` on.
    pub fn part(&self, at: usize, len: usize) -> Source {
        assert!(at <= self.len && len <= self.len - at);
        Source { ptr: self.ptr.wrapping_add(at), len }
    }

    /// Copies the bytes into `words`, which are long enough, from their first byte on.
    #[inline(always)]
    pub fn copy_to(&self, words: &mut [u64]) {
        assert!(self.len <= 8 * words.len());
        // SAFETY: the caller of `new` promised `len` readable bytes; the assertion says that our words are long enough.
        unsafe { std::ptr::copy_nonoverlapping(self.ptr, words.as_mut_ptr().cast(), self.len) };
    }

    /// The first (at most 8) bytes as the low bytes of a word.
    #[inline(always)]
    pub fn word(&self) -> u64 {
        if self.len == 8 {
            // SAFETY: the caller of `new` promised `len` readable bytes, here at least eight.
            return unsafe { self.ptr.cast::<u64>().read_unaligned() };
        }
        let mut word = [0u64];
        self.copy_to(&mut word);
        word[0]
    }

    /// Copies the bytes to `to`; source and target may overlap.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub unsafe fn move_to(&self, to: *mut u8) {
        if self.len == 8 {
            // SAFETY: source and target have eight bytes: the callers of `new` and of this function promise it.
            unsafe { to.cast::<u64>().write_unaligned(self.word()) };
        } else if self.len > 0 && self.ptr != to.cast_const() {
            // SAFETY: the caller of `new` promised `len` readable bytes, the caller of this function as many writable ones.
            unsafe { std::ptr::copy(self.ptr, to, self.len) };
        }
    }
}

/// Memory of this process that a get fills: writable until the operation is synced.
#[derive(Clone, Copy)]
pub struct Landing {
    ptr: *mut u8,
    len: usize,
}

impl Landing {
    /// # Safety
    /// `ptr` is writable for `len` bytes until the operation that gets it is done, or `len` is 0.
    pub unsafe fn new(ptr: *mut u8, len: usize) -> Landing {
        Landing { ptr, len }
    }

    /// First byte.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `at` on.
    pub fn part(&self, at: usize, len: usize) -> Landing {
        assert!(at <= self.len && len <= self.len - at);
        Landing { ptr: self.ptr.wrapping_add(at), len }
    }
}
