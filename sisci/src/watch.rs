//! The owner's side of news: what changes in the lines of a segment to which a caller on another host stores. For each of them this side keeps what the
//! caller knows. News are what differs.
#![allow(unsafe_code)] // Memory of segments.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::error::{Error, Result};
use crate::far;
use crate::memory::Mapping;
use crate::net::say::{FRAMES, PIECES};

const WORD: usize = 8;
/// Bytes of a line: the lines to which a caller stores are watched.
const LINE: usize = 64;
/// Words of a block, whose lines are the bits of a word.
const WORDS: usize = LINE * 64 / WORD;
/// Bytes of it.
const BLOCK: usize = WORDS * WORD;
/// Blocks that are watched for one caller, at most, however few lines of each. One that was not stored to for long makes way. To compare so many takes as
/// long as a copy of a MiB.
const BLOCKS: usize = 256;
/// Bytes of news in one frame, at most. With its head it mostly fits where the kernel says that there is room; else a part of it waits in the agent.
const ROOM: usize = 4096;
/// Each word may be a piece of its own: their places fit into the head of a frame.
const _: () = assert!(ROOM / WORD <= PIECES);

/// A part of the segment.
struct Block {
    /// The lines that are watched.
    lines: u64,
    /// Those of which the next news tell every word: the caller stored to a part of each, and this side does not know what it knows of the other bytes.
    fresh: u64,
    /// When the caller stored to it last, by `Watch::turn`.
    last: u64,
    /// What the caller knows.
    twin: Box<[u64; WORDS]>,
}

/// News before they leave. When they have come, they are a `net::Changed`.
pub struct Changes {
    /// So many frames of stores and copies had come.
    pub after: u64,
    /// Places and sizes.
    pub pieces: Vec<(u64, u32)>,
    /// The pieces, one behind the other.
    pub bytes: Vec<u8>,
    /// From where on there may be more.
    pub next: Option<usize>,
}

/// What one caller does to a segment, and knows of it.
pub struct Watch {
    memory: Mapping,
    /// The number of its connection; 0 if it takes no news.
    pub connection: u64,
    /// How many news were made for the caller. Each of them is one frame (`Said::News`), which may have no pieces. The last one may still wait in the agent.
    pub news: u64,
    blocks: BTreeMap<usize, Block>,
    /// How often the caller has stored to a block.
    turn: u64,
    /// Each block once: a turn at which it was stored to, perhaps not the last one, and its number. Lowest turns first.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// Frames of stores and copies that have come, and how many of them the caller was told of.
    frames: u64,
    frames_told: u64,
}

/// The lines of a block that a part of it has bytes of, and those of which it has all.
fn lines(part: &Range<usize>) -> (u64, u64) {
    let bits = |lines: Range<usize>| lines.fold(0, |bits, line| bits | 1 << line);
    (bits(part.start / LINE..part.end.div_ceil(LINE)), bits(part.start.div_ceil(LINE)..part.end / LINE))
}

/// The blocks that a place has bytes in, with the part of each.
fn parts(at: usize, size: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let end = at + size;
    let part = move |block: usize| at.max(block * BLOCK) - block * BLOCK..end.min((block + 1) * BLOCK) - block * BLOCK;
    (at / BLOCK..end.div_ceil(BLOCK)).map(move |block| (block, part(block)))
}

impl Watch {
    /// Nothing is watched.
    pub fn new(memory: Mapping, connection: u64) -> Watch {
        Watch {
            memory,
            connection,
            news: 0,
            blocks: BTreeMap::new(),
            turn: 0,
            order: BinaryHeap::new(),
            frames: 0,
            frames_told: 0,
        }
    }

    /// Whether something is watched.
    pub fn is_on(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// The address of `size` bytes.
    fn place(&self, at: u64, size: usize) -> Result<(usize, *mut u8)> {
        let at = usize::try_from(at).map_err(|_| Error::OutOfRange)?;
        let is_within = at.checked_add(size).is_some_and(|end| end <= self.memory.length);
        if is_within { Ok((at, self.memory.base.wrapping_add(at))) } else { Err(Error::OutOfRange) }
    }

    /// One block is watched no longer: that to which the caller has not stored for longest. The heap is put in order only here: of a long run of stores a
    /// block took 0.6 µs so, and 1.3 where the oldest one was looked for among all (a bare loop of both ways, loaded EPYC VM, 2026-11).
    fn evict(&mut self) {
        while let Some(mut first) = self.order.peek_mut() {
            let Reverse((turn, number)) = *first;
            match self.blocks.get(&number) {
                Some(block) if block.last != turn => *first = Reverse((block.last, number)),
                _ => {
                    PeekMut::pop(first);
                    self.blocks.remove(&number);
                    return;
                }
            }
        }
    }

    /// The lines of this place are watched.
    fn begin(&mut self, at: usize, size: usize) {
        for (number, part) in parts(at, size) {
            let (some, all) = lines(&part);
            self.turn += 1;
            if !self.blocks.contains_key(&number) {
                if self.blocks.len() == BLOCKS {
                    self.evict();
                }
                self.order.push(Reverse((self.turn, number)));
            }
            let new = || Block { lines: 0, fresh: 0, last: 0, twin: Box::new([0; WORDS]) };
            let block = self.blocks.entry(number).or_insert_with(new);
            block.last = self.turn;
            block.fresh |= some & !all & !block.lines;
            block.lines |= some;
        }
    }

    /// The caller knows that these bytes are there.
    fn note_known(&mut self, at: usize, mut bytes: &[u8]) {
        for (number, part) in parts(at, bytes.len()) {
            let (here, behind) = bytes.split_at(part.len());
            if let Some(block) = self.blocks.get_mut(&number) {
                let twin = block.twin.as_mut_ptr().cast::<u8>().wrapping_add(part.start);
                // SAFETY: a part of the block.
                unsafe { ptr::copy_nonoverlapping(here.as_ptr(), twin, here.len()) };
            }
            bytes = behind;
        }
    }

    /// Plain stores of the caller.
    pub fn store(&mut self, pieces: &[(u64, u32)], body: &[u8]) -> Result {
        let mut rest = body;
        for &(at, size) in pieces {
            let (bytes, behind) = rest.split_at_checked(size as usize).ok_or(Error::OutOfRange)?;
            let (at, place) = self.place(at, bytes.len())?;
            if self.connection != 0 {
                self.begin(at, bytes.len());
            }
            // SAFETY: within the mapping.
            unsafe { far::store(place, bytes) };
            self.note_known(at, bytes);
            rest = behind;
        }
        self.frames += 1;
        if rest.is_empty() { Ok(()) } else { Err(Error::OutOfRange) }
    }

    /// A copy of the caller's.
    pub fn copy(&mut self, at: u64, bytes: &[u8]) -> Result {
        let (at, place) = self.place(at, bytes.len())?;
        // Ordering: Release; a thread that sees a flag that is copied sees what was copied before it. A processor may make plain stores seen in
        // any order, as those of AArch64 do.
        fence(Ordering::Release);
        // SAFETY: within the mapping.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        self.note_known(at, bytes);
        self.frames += 1;
        Ok(())
    }

    /// Bytes for the caller, whose maps show them or not.
    pub fn read(&mut self, at: u64, size: usize, is_shown: bool) -> Result<Vec<u8>> {
        let (at, place) = self.place(at, size)?;
        let mut bytes = vec![0; size];
        // SAFETY: within the mapping.
        unsafe { ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), bytes.len()) };
        // Ordering: Acquire; what the owner had stored before these bytes is found by a comparison after this. A processor may load in
        // any order, as those of AArch64 do.
        fence(Ordering::Acquire);
        if is_shown {
            self.note_known(at, &bytes);
        }
        Ok(bytes)
    }

    /// Finds what the caller does not know, from the place `from` on but for the bytes `but`: as much as fits into one frame. Nothing if it knows all.
    pub fn changes(&self, from: usize, but: &Range<usize>) -> Option<Changes> {
        let mut changes = Changes { after: self.frames, pieces: Vec::new(), bytes: Vec::new(), next: None };
        for (&number, block) in self.blocks.range(from / BLOCK..) {
            let told = |at: &usize| *at < from || *at + WORD > but.start && *at < but.end;
            changes.next =
                block.find(self.memory.base.wrapping_add(number * BLOCK), number * BLOCK, told, &mut changes);
            if changes.next.is_some() {
                break;
            }
        }
        let is_due = self.is_on() && self.frames - self.frames_told >= FRAMES;
        (is_due || !changes.pieces.is_empty()).then_some(changes)
    }

    /// Notes that the caller knows these from now on. Nothing is sent here.
    pub fn note_told(&mut self, changes: &Changes) {
        (self.frames_told, self.news) = (changes.after, self.news + 1);
        let mut rest = &changes.bytes[..];
        for &(at, size) in &changes.pieces {
            let (at, size) = (at as usize, size as usize);
            for (number, part) in parts(at, size) {
                if let Some(block) = self.blocks.get_mut(&number) {
                    // All of a fresh line is told, but for bytes that the caller gets at the same time.
                    block.fresh &= !lines(&part).0;
                }
            }
            self.note_known(at, &rest[..size]);
            rest = &rest[size..];
        }
    }
}

impl Block {
    /// Adds what the caller does not know of this block, which is at `base` and begins at the place `first`, but for words that are told in another way.
    /// Returns the place from which on there was no more room; nothing if there was room for all.
    fn find(
        &self,
        base: *mut u8,
        first: usize,
        is_told: impl Fn(&usize) -> bool,
        changes: &mut Changes,
    ) -> Option<usize> {
        let is_whole = self.lines == u64::MAX && self.fresh == 0;
        // SAFETY: with all of its lines in the segment so is the block. The owner may store meanwhile: what is missed now is found the next time.
        if is_whole && unsafe { libc::memcmp(base.cast(), self.twin.as_ptr().cast(), BLOCK) } == 0 {
            return None;
        }
        let mut left = self.lines;
        while left != 0 {
            let line = left.trailing_zeros() as usize;
            left &= left - 1;
            if changes.bytes.len() + LINE > ROOM {
                return Some(first + line * LINE);
            }
            for word in line * LINE / WORD..(line + 1) * LINE / WORD {
                // SAFETY: within the mapping, which ends at a page; aligned.
                let there = unsafe { AtomicU64::from_ptr(base.wrapping_add(word * WORD).cast()) };
                // Ordering: there was a fence before, in `news::tell` or in `Watch::read`, and what is said goes through the kernel.
                let there = there.load(Ordering::Relaxed);
                let at = first + word * WORD;
                if !is_told(&at) && (there != self.twin[word] || self.fresh >> line & 1 != 0) {
                    changes.add(at, there);
                }
            }
        }
        None
    }
}

impl Changes {
    /// A word more.
    fn add(&mut self, at: usize, value: u64) {
        match self.pieces.last_mut() {
            Some((begin, size)) if *begin + u64::from(*size) == at as u64 => *size += WORD as u32,
            _ => self.pieces.push((at as u64, WORD as u32)),
        }
        self.bytes.extend(value.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, page};

    /// A watch of so many pages, and what the owner sees.
    fn watch(pages: usize) -> (Watch, Mapping) {
        let memory = Memory::new(pages * page()).unwrap();
        let map = || memory.map(0, memory.length, ptr::null_mut(), false).unwrap();
        (Watch::new(map(), 1), map())
    }

    fn put(own: &Mapping, at: usize, value: u64) {
        // SAFETY: within the mapping, aligned.
        unsafe { own.base.wrapping_add(at).cast::<u64>().write_volatile(value) };
    }

    /// Frames that have come, pieces, and what is in them.
    type Told = (u64, Vec<(u64, u32)>, Vec<u8>);

    /// What is told.
    fn told(watch: &mut Watch) -> Option<Told> {
        let changes = watch.changes(0, &(0..0))?;
        watch.note_told(&changes);
        Some((changes.after, changes.pieces, changes.bytes))
    }

    #[test]
    fn the_owner_tells_what_it_has_changed_where_the_caller_stores() {
        let (mut watch, own) = watch(2);
        put(&own, 72, 3);
        put(&own, 200, 3);
        assert!(told(&mut watch).is_none());
        watch.store(&[(64, 4)], &[1, 0, 0, 0]).unwrap();
        let line = [1, 3, 0, 0, 0, 0, 0, 0_u64].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(told(&mut watch), Some((1, vec![(64, 64)], line)), "the rest of the line as well");
        assert!(told(&mut watch).is_none());
        put(&own, 64, 0);
        put(&own, 200, 4);
        assert_eq!(told(&mut watch), Some((1, vec![(64, 8)], vec![0; 8])), "not what the caller stores nothing to");
        watch.store(&[(64, 1)], &[1]).unwrap();
        watch.copy(72, &[3; 16]).unwrap();
        assert!(told(&mut watch).is_none(), "its own bytes");
        put(&own, 80, 5);
        watch.read(64, 64, false).unwrap();
        assert_eq!(
            told(&mut watch).map(|told| (told.0, told.1)),
            Some((3, vec![(80, 8)])),
            "it does not show what it has read"
        );
        put(&own, 80, 6);
        put(&own, 96, 6);
        watch.read(80, 8, true).unwrap();
        assert_eq!(watch.changes(0, &(96..104)).map(|changes| changes.pieces), None, "it gets them now");
        assert_eq!(told(&mut watch).map(|told| told.1), Some(vec![(96, 8)]), "it shows what it has read");
    }

    #[test]
    fn whole_lines_are_not_told_and_the_oldest_blocks_make_way() {
        let (mut watch, own) = watch(2 * BLOCKS * BLOCK / page());
        let bytes = vec![7; BLOCKS * BLOCK];
        watch.store(&[(0, bytes.len() as u32)], &bytes).unwrap();
        assert!(told(&mut watch).is_none());
        put(&own, BLOCK, 1);
        put(&own, 0, 1);
        watch.store(&[((BLOCKS * BLOCK) as u64, 64)], &[1; 64]).unwrap();
        assert_eq!(
            told(&mut watch).map(|told| told.1),
            Some(vec![(BLOCK as u64, 8)]),
            "the first is no longer watched"
        );
        assert_eq!(watch.blocks.len(), BLOCKS);
        // More than one frame.
        (BLOCK..BLOCKS * BLOCK).step_by(16).for_each(|at| put(&own, at, 2));
        let (mut frames, mut words, mut next) = (0, 0, Some(0));
        while let Some(changes) = next.and_then(|next| watch.changes(next, &(0..0))) {
            assert!(changes.pieces.len() <= ROOM / WORD && changes.bytes.len() <= ROOM);
            (frames, words, next) = (frames + 1, words + changes.bytes.len() / WORD, changes.next);
            watch.note_told(&changes);
            // What has been passed and changes again is told the next time.
            put(&own, BLOCK, frames + 2);
        }
        assert_eq!((words, frames > 60), ((BLOCKS - 1) * BLOCK / 16, true));
    }

    #[test]
    fn a_flag_stays_watched_beside_data() {
        let (mut watch, own) = watch(3 * BLOCKS * BLOCK / page());
        for block in 1..3 * BLOCKS {
            watch.store(&[(0, 8)], &[1; 8]).unwrap();
            watch.store(&[((block * BLOCK) as u64, BLOCK as u32)], &[1; BLOCK]).unwrap();
        }
        let told_before = told(&mut watch).map(|told| told.1);
        assert_eq!(told_before, Some(vec![(0, 64)]), "the rest of its line");
        put(&own, 0, 0);
        assert_eq!(told(&mut watch).map(|told| told.1), Some(vec![(0, 8)]));
        assert_eq!((watch.blocks.len(), watch.order.len()), (BLOCKS, BLOCKS));
    }

    #[test]
    fn the_block_that_was_stored_to_last_stays_watched() {
        let (mut watch, own) = watch(2 * BLOCKS * BLOCK / page());
        let mut store = |block: usize| watch.store(&[((block * BLOCK) as u64, LINE as u32)], &[1; LINE]).unwrap();
        // All but one were stored to more often, but long ago.
        (0..2).for_each(|_| (0..BLOCKS - 1).for_each(&mut store));
        store(BLOCKS - 1);
        store(BLOCKS);
        put(&own, (BLOCKS - 1) * BLOCK, 0);
        assert_eq!(told(&mut watch).map(|told| told.1), Some(vec![(((BLOCKS - 1) * BLOCK) as u64, 8)]));
    }

    #[test]
    fn the_caller_is_told_now_and_then_what_has_come() {
        let (mut watch, _own) = watch(1);
        for _ in 0..FRAMES {
            assert!(told(&mut watch).is_none());
            watch.copy(0, &[1]).unwrap();
        }
        assert!(told(&mut watch).is_none(), "nothing is watched");
        watch.store(&[(0, 64)], &[1; 64]).unwrap();
        assert_eq!(told(&mut watch), Some((FRAMES + 1, vec![], vec![])));
        assert!(told(&mut watch).is_none());
    }
}
