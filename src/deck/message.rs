//! A message as a program has it: a block of memory, a size, and what was packed into it.
//!
//! What is packed: a word with the type in the low byte and the count above it, the elements, and zeroes up to a multiple of 8.
//!
//! Must not know: how messages travel.

#![allow(unsafe_code)] // blocks of DECK heaps, clients' memory

use super::{Failure, LINE_WORDS, Outcome};
use crate::am::source::Source;
use std::alloc::{self, Layout};

/// The least bytes of a block, so that the words of a short message ([`LINE_WORDS`]) can always be loaded and stored whole.
pub const LEAST: usize = 64;
const _: () = assert!(LEAST >= 8 * LINE_WORDS);

/// A block of a DECK heap, as this process reaches it. The message that holds it has the only right to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The node of whose heap it is.
    pub owner: u32,
    /// Its place there.
    pub offset: usize,
    /// Its bytes, [`LEAST`] or more.
    pub len: usize,
    /// Its first byte here.
    pub at: *mut u8,
}

// SAFETY: an address of mapped memory; the holder alone uses it.
unsafe impl Send for Block {}

/// Bytes of this process, aligned to 16.
#[derive(Debug, Default)]
pub struct Bytes(Vec<u128>);

impl Bytes {
    /// Room for `len` bytes, and for [`LEAST`] at least, zeroed.
    pub fn new(len: usize) -> Option<Bytes> {
        let words = len.max(LEAST).div_ceil(16);
        let layout = Layout::array::<u128>(words).ok()?;
        // Pages that nobody writes take no memory: a peer may announce more bytes than it sends.
        // SAFETY: not 0 bytes.
        let at = unsafe { alloc::alloc_zeroed(layout) }.cast::<u128>();
        // SAFETY: allocated with this layout by the global allocator; zeroes are numbers.
        (!at.is_null()).then(|| Bytes(unsafe { Vec::from_raw_parts(at, words, words) }))
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        16 * self.0.len()
    }

    /// The first.
    pub fn at(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }
}

impl Default for Storage {
    /// No bytes.
    fn default() -> Storage {
        Storage::Local(Bytes::default())
    }
}

/// Where the bytes of a message lie.
#[derive(Debug)]
pub enum Storage {
    /// In this process.
    Local(Bytes),
    /// In a DECK heap.
    Shared(Block),
}

impl Storage {
    /// The first byte, and how many there are.
    pub fn place(&self) -> (*mut u8, usize) {
        match self {
            Storage::Local(bytes) => (bytes.at(), bytes.size()),
            Storage::Shared(block) => (block.at, block.len),
        }
    }
}

/// A message.
#[derive(Debug)]
pub struct Message {
    /// Its memory.
    pub storage: Storage,
    /// The bytes that the program asked for; as many as there are in one that was retrieved.
    pub capacity: usize,
    /// The bytes that the program asked for, which memory of a retrieved message need not have.
    pub asked: usize,
    /// It asked for memory of the node's DECK heap.
    pub asked_shared: bool,
    /// The bytes that count.
    pub size: usize,
    /// Who posted it.
    pub source: Option<u32>,
    /// The address stays.
    pub fixed: bool,
    /// Where the next unpack begins.
    next: usize,
}

/// Bytes in front of what is packed.
const HEAD: usize = 8;

impl Message {
    /// An empty message.
    pub fn new(storage: Storage, capacity: usize, fixed: bool) -> Message {
        Message { storage, capacity, asked: capacity, asked_shared: false, size: 0, source: None, fixed, next: 0 }
    }

    /// The first byte.
    pub fn at(&self) -> *mut u8 {
        self.storage.place().0
    }

    /// The bytes that count.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `size` bytes of this message's memory, which nobody else uses.
        unsafe { std::slice::from_raw_parts(self.at(), self.size) }
    }

    /// The same, to be sent.
    #[inline(always)]
    pub fn payload(&self) -> Source {
        // SAFETY: `size` bytes of this message's memory, which nobody else uses.
        unsafe { Source::new(self.at(), self.size) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `size` bytes of this message's memory, which nobody else uses.
        unsafe { std::slice::from_raw_parts_mut(self.at(), self.size) }
    }

    /// The words of a short message, its first bytes. There must be memory.
    #[inline(always)]
    pub fn line(&self) -> [u64; LINE_WORDS] {
        let at = self.at().cast::<u64>();
        // Volatile, so that each word is a load of its own: a larger one would wait until what the program has just stored there in smaller
        // pieces is in the cache.
        // SAFETY: blocks have `LEAST` bytes or more, and begin at multiples of 16: `Bytes` are words of 16, blocks of this node's heap begin
        // at multiples of `UNIT`, and `loan_came` refuses others of peers.
        let word = |i: usize| unsafe { at.wrapping_add(i).read_volatile() };
        [word(0), word(1), word(2), word(3), word(4), word(5), word(6)]
    }

    /// A message of `len` bytes can be stored here, a short one as whole words.
    #[inline(always)]
    pub fn takes(&self, len: usize) -> bool {
        self.storage.place().1 >= len.max(LEAST) && (!self.fixed || len <= self.capacity)
    }

    /// Takes a message as its content, which [`Self::takes`] has allowed.
    #[inline(always)]
    pub fn fill(&mut self, bytes: Source, source: u32) {
        // SAFETY: the block has room for as many.
        unsafe { bytes.move_to(self.at()) };
        self.capacity = self.capacity.max(bytes.len());
        self.filled(bytes.len(), source);
    }

    /// Takes a short message of `len` bytes as its content, of which `word` gives the words. [`Self::takes`] has allowed it. All words are
    /// stored, also those behind the content: that takes 14 instructions, a loop over `len` bytes 60. What lies behind the content of a
    /// message whose address is fixed stays, since the program may use that itself.
    #[inline(always)]
    pub fn fill_line(&mut self, len: usize, source: u32, word: impl Fn(usize) -> u64) {
        let at = self.at().cast::<u64>();
        let words = if self.fixed { len.div_ceil(8).min(LINE_WORDS) } else { LINE_WORDS };
        for i in 0..words {
            // SAFETY: the block has `LEAST` bytes or more.
            unsafe { at.wrapping_add(i).write_unaligned(word(i)) };
        }
        self.capacity = self.capacity.max(len);
        self.filled(len, source);
    }

    /// Sets the size.
    pub fn set_size(&mut self, size: usize) -> Outcome<()> {
        if size > self.capacity {
            return Err(Failure::Truncated);
        }
        self.size = size;
        Ok(())
    }

    /// Takes what was retrieved as its content; unpacking begins at the front.
    pub fn filled(&mut self, size: usize, source: u32) {
        (self.size, self.source, self.next) = (size, Some(source), 0);
    }

    /// Empties it.
    pub fn clear(&mut self) {
        (self.size, self.next) = (0, 0);
    }

    /// The next unpack begins at the front.
    pub fn rewind(&mut self) {
        self.next = 0;
    }

    /// Adds `count` elements of type `kind` that have these bytes.
    pub fn pack(&mut self, kind: u8, count: usize, bytes: &[u8]) -> Outcome<()> {
        let at = self.size.checked_next_multiple_of(8).ok_or(Failure::Truncated)?;
        let end = at + HEAD + bytes.len().next_multiple_of(8);
        if end > self.capacity || count >= 1 << 56 {
            return Err(Failure::Truncated);
        }
        let before = self.size;
        self.size = end;
        let packed = self.bytes_mut();
        packed[before..at].fill(0);
        packed[at..at + HEAD].copy_from_slice(&(u64::from(kind) | (count as u64) << 8).to_ne_bytes());
        let body = at + HEAD;
        packed[body..body + bytes.len()].copy_from_slice(bytes);
        packed[body + bytes.len()..].fill(0);
        Ok(())
    }

    /// What was packed next: its type and count, and the bytes of `count` elements of `size(type)` bytes each.
    pub fn packed_next(&self, size: impl Fn(u8) -> Option<usize>) -> Outcome<(u8, usize, &[u8])> {
        let bytes = self.bytes();
        let at = self.next.next_multiple_of(8);
        let rest = bytes.get(at..).ok_or(Failure::Type)?;
        let (head, rest) = rest.split_first_chunk::<HEAD>().ok_or(Failure::Type)?;
        let head = u64::from_ne_bytes(*head);
        let (kind, count) = (head as u8, (head >> 8) as usize);
        let len = size(kind).and_then(|size| size.checked_mul(count)).ok_or(Failure::Type)?;
        Ok((kind, count, rest.get(..len).ok_or(Failure::Type)?))
    }

    /// What [`Self::packed_next`] returned, `len` bytes, is taken.
    pub fn take_packed(&mut self, len: usize) {
        self.next = self.next.next_multiple_of(8) + HEAD + len.next_multiple_of(8);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn message(capacity: usize) -> Message {
        Message::new(Storage::Local(Bytes::new(capacity).unwrap()), capacity, false)
    }

    #[test]
    fn what_was_packed_comes_out_in_its_order() {
        let mut m = message(64);
        m.pack(3, 5, &[1, 2, 3, 4, 5]).unwrap();
        m.pack(7, 1, &[9; 8]).unwrap();
        assert_eq!(m.size, 32);
        assert_eq!(m.pack(1, 40, &[0; 40]), Err(Failure::Truncated));
        let size = |kind: u8| (kind == 3).then_some(1).or((kind == 7).then_some(8));
        assert_eq!(m.packed_next(size).unwrap(), (3, 5, &[1, 2, 3, 4, 5][..]));
        m.take_packed(5);
        assert_eq!(m.packed_next(size).unwrap(), (7, 1, &[9; 8][..]));
        m.take_packed(8);
        assert!(m.packed_next(size).is_err());
        m.rewind();
        assert_eq!(m.packed_next(size).unwrap().0, 3);
        assert!(m.packed_next(|_| None).is_err());
    }

    #[test]
    fn heads_that_promise_more_than_there_is_are_refused() {
        let mut m = message(64);
        m.pack(1, 8, &[0; 8]).unwrap();
        for head in [1 | 9 << 8, 1 | (u64::MAX << 8)] {
            m.bytes_mut()[..8].copy_from_slice(&head.to_ne_bytes());
            assert_eq!(m.packed_next(|_| Some(usize::MAX / 2)), Err(Failure::Type));
            assert_eq!(m.packed_next(|_| Some(1)), Err(Failure::Type));
        }
        m.set_size(7).unwrap();
        assert_eq!(m.packed_next(|_| Some(1)), Err(Failure::Type));
        assert_eq!(m.set_size(65), Err(Failure::Truncated));
    }
}
