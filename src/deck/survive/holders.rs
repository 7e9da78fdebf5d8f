//! Who has each block of a DECK heap, in jobs that survive the death of nodes: a table behind the heap, which all nodes write. By it the
//! owner of a heap knows which blocks a dead node had, also those that others have passed on to it.
//!
//! Rules:
//! 1. Who passes a block on says so before it sends the message, and takes it back if it could not send.
//! 2. Who gets it says so when the message comes.
//! 3. So a block that was passed on by a dead node and that its receiver does not say to have, once all messages of the dead node were
//!    run, is nobody's. The owner looks once all who live have run them, and pass nothing more on to the dead.
//!
//! Must not know: messages, who is dead.

#![allow(unsafe_code)] // memory that all nodes write

use super::super::heap::UNIT;
use crate::sync::fixed::{AtomicU32, Ordering};

/// Who has a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The node that has it, or will get it.
    pub to: u32,
    /// The node that passes it on; else the same.
    pub from: u32,
}

impl Holder {
    /// `node` has it.
    pub fn has(node: u32) -> Holder {
        Holder { to: node, from: node }
    }

    fn word(self) -> u32 {
        self.to << 16 | self.from
    }

    fn of(word: u32) -> Holder {
        Holder { to: word >> 16, from: word & 0xffff }
    }
}

/// The table of one heap, as this process reaches it.
#[derive(Clone, Copy)]
pub struct Holders {
    at: usize,
    count: usize,
}

impl Holders {
    /// Where the table of a heap of `len` bytes begins, behind the heap's first byte.
    pub fn offset(len: usize) -> usize {
        len.next_multiple_of(UNIT)
    }

    /// Bytes of a heap of `len` bytes with its table.
    pub fn end(len: usize) -> usize {
        Self::offset(len) + len / UNIT * size_of::<AtomicU32>()
    }

    /// The table of the heap of `len` bytes at `heap`.
    ///
    /// # Safety
    /// [`Self::end`] bytes are mapped there as long as the result is used. They begin as zeros, and nobody writes the table but by these
    /// functions.
    pub unsafe fn new(heap: usize, len: usize) -> Holders {
        Holders { at: heap + Self::offset(len), count: len / UNIT }
    }

    fn word(&self, offset: usize) -> Option<&AtomicU32> {
        let index = offset / UNIT;
        let place = (self.at + index * size_of::<AtomicU32>()) as *const AtomicU32;
        // SAFETY: inside the table, which is mapped, aligned, and written as atomics.
        (index < self.count).then(|| unsafe { &*place })
    }

    /// Who has the block at `offset`; `None`: the heap has no such block.
    pub fn get(&self, offset: usize) -> Option<Holder> {
        // ORDERING: Acquire ↔ Release in `set`: the owner sees what holders have said, before it asks whether they have settled a loss.
        self.word(offset).map(|word| Holder::of(word.load(Ordering::Acquire)))
    }

    /// Says that `node`, the owner of the heap, has its own block.
    pub fn keep(&self, offset: usize, node: u32) {
        let _ = self.set(offset, Holder::has(node));
    }

    /// Says who has the block at `offset`. False: the heap has no such block.
    #[must_use]
    pub fn set(&self, offset: usize, holder: Holder) -> bool {
        let Some(word) = self.word(offset) else { return false };
        word.store(holder.word(), Ordering::Release); // ORDERING: as above
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_its_holder_and_no_other_block_has_one() {
        for len in [0, UNIT - 1, UNIT, 10 * UNIT + 3] {
            let memory = vec![0u64; Holders::end(len).div_ceil(8) + 1];
            // SAFETY: as many bytes, which live longer.
            let holders = unsafe { Holders::new(memory.as_ptr() as usize, len) };
            let blocks = len / UNIT;
            for block in 0..blocks {
                assert!(holders.set(block * UNIT, Holder { to: block as u32, from: 65_534 }));
            }
            for block in 0..blocks {
                assert_eq!(holders.get(block * UNIT), Some(Holder { to: block as u32, from: 65_534 }), "{len}");
            }
            assert!(holders.get(blocks * UNIT).is_none() && !holders.set(usize::MAX, Holder::has(0)), "{len}");
            assert!(memory[..Holders::offset(len) / 8].iter().all(|word| *word == 0), "the heap is left alone");
        }
    }
}
