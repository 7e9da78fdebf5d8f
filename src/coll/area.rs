//! Layout of a node's collective region: blocks of cells, one per team, then the stage.
//!
//! ```text
//! block of all nodes | block of all images | heap of blocks for split teams | stage buffers
//! stage buffer: either the chunks of one transfer, used in turn; or, if a team keeps it, parts: per sequence number
//!     modulo their number
//! block: retired counts (u64 per member) | barrier cells (u64 per member, twice) | meeting cells (u64 per member, twice)
//!        | cells: per sequence number modulo the window, per member: message line, answer line
//!        | with a debug client: per sequence number modulo the window, per member: two lines of description
//! ```
//! Memory is committed when it is touched, so a node that takes part in no collective uses none.
//!
//! Must not know: what the words mean (`cells.rs`).

use crate::am::region::LINE;
use parking_lot::Mutex;

/// Bytes of a stage buffer.
pub const BUFFER: usize = if cfg!(loom) { 128 } else { 64 << 10 };
/// Chunks of a stage buffer, filled and emptied in turn.
pub const CHUNKS: usize = 4;
/// Bytes of a chunk.
pub const CHUNK: usize = BUFFER / CHUNKS;
/// Bytes for the blocks of split teams. This is enough for 2,000 teams of 8 members at a time, or 1,000 with debug
/// clients. More would count against RLIMIT_FSIZE and RLIMIT_AS of every job.
const HEAP: usize = if cfg!(any(loom, fuzzing)) { 1 << 12 } else { 64 << 20 };
/// Bytes of a description.
pub const DESCRIPTION: usize = 2 * LINE;

/// The most collectives of a team that are under way at a time; a power of two. Larger teams may have fewer, because
/// their cells grow with the number of members.
pub const fn window(members: usize) -> u32 {
    match members {
        _ if cfg!(loom) => 2,
        0..=64 => 32,
        _ => 8,
    }
}

/// The number of parts of a buffer of bytes sent ahead. So many sequence numbers have a part at a time. A power of
/// two, at most the window.
pub const fn parts(window: u32) -> u32 {
    match window {
        _ if cfg!(loom) => 1,
        0..=16 => window,
        _ => 16,
    }
}

/// The part of this sequence number: its offset and its bytes.
pub const fn part(window: u32, seq: u32) -> (usize, usize) {
    let parts = parts(window);
    let len = BUFFER / parts as usize;
    ((seq & (parts - 1)) as usize * len, len)
}

/// One team's block; offsets count from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    members: usize,
    window: usize,
    debug: bool,
}

impl Block {
    /// The block of a team with that many members. `debug`: with descriptions.
    pub fn new(members: usize, debug: bool) -> Block {
        Block { members, window: window(members) as usize, debug }
    }

    /// The most collectives under way at a time.
    pub fn window(&self) -> u32 {
        self.window as u32
    }

    /// Offset of the word with which member `from` says how far it has retired.
    pub fn credit(&self, from: usize) -> usize {
        8 * from
    }

    /// Offset of member `from`'s barrier cell, in phases of this parity.
    pub fn barrier(&self, parity: usize, from: usize) -> usize {
        self.lines() + 8 * (parity * self.members + from)
    }

    /// Offset of the word with which member `from` says that it has arrived in meetings of this parity. The two parities have lines
    /// of their own: a member that still reads one does not hold up a store to the other (a barrier of two nodes takes 3/4 of
    /// the time; 2026-11, EPYC 9004 VM).
    pub fn meeting(&self, parity: usize, from: usize) -> usize {
        self.meetings() + parity * self.lines() + 8 * from
    }

    fn meetings(&self) -> usize {
        self.lines() + (16 * self.members).next_multiple_of(LINE)
    }

    /// Offset of member `from`'s message line for this sequence number.
    pub fn message(&self, seq: u32, from: usize) -> usize {
        let slot = seq as usize & (self.window - 1);
        self.meeting(2, 0) + (slot * self.members + from) * 2 * LINE
    }

    /// Offset of member `from`'s answer line for this sequence number.
    pub fn answer(&self, seq: u32, from: usize) -> usize {
        self.message(seq, from) + LINE
    }

    /// Offset of member `from`'s description for this sequence number.
    pub fn description(&self, seq: u32, from: usize) -> usize {
        let slot = seq as usize & (self.window - 1);
        self.descriptions() + (slot * self.members + from) * DESCRIPTION
    }

    fn descriptions(&self) -> usize {
        self.message(self.window as u32 - 1, self.members - 1) + 2 * LINE
    }

    fn lines(&self) -> usize {
        (8 * self.members).next_multiple_of(LINE)
    }

    /// Bytes of the block.
    pub fn bytes(&self) -> usize {
        let described = if self.debug { self.window * self.members * DESCRIPTION } else { 0 };
        self.descriptions() + described
    }
}

/// The region of a job.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    all: Block,
    buffers: usize,
}

impl Area {
    /// The region for `nodes` nodes with `scratch` bytes of stage. `debug`: the clients are debug clients.
    pub fn new(nodes: u32, scratch: u64, debug: bool) -> Area {
        Area { all: Block::new(nodes as usize, debug), buffers: (scratch as usize / BUFFER).max(1) }
    }

    /// The block of a team of all nodes.
    pub fn all(&self) -> Block {
        self.all
    }

    /// Offset of the block of all nodes (0) or of all images (1).
    pub fn base(&self, which: usize) -> usize {
        which * self.all.bytes()
    }

    fn heap(&self) -> usize {
        self.base(2)
    }

    /// True if `block` fits at `base`, where its owner claims that it is. The owner's memory is not trusted.
    pub fn may_hold(&self, block: &Block, base: u64) -> bool {
        let end = usize::try_from(base).ok().and_then(|base| base.checked_add(block.bytes()));
        end.is_some_and(|end| end <= self.bytes()) && base.is_multiple_of(LINE as u64)
    }

    /// Number of stage buffers.
    pub fn buffers(&self) -> usize {
        self.buffers
    }

    /// Offset of stage buffer `index`.
    pub fn buffer(&self, index: usize) -> usize {
        self.heap() + HEAP + index * BUFFER
    }

    /// Bytes of the region.
    pub fn bytes(&self) -> usize {
        self.buffer(self.buffers).next_multiple_of(4096)
    }

    /// The heap of blocks, with all of it free.
    pub fn free_space(&self) -> Heap {
        Heap(Mutex::new(Space { free: vec![(self.heap(), HEAP)], fresh: self.heap() }))
    }
}

/// The heap of blocks.
pub struct Heap(Mutex<Space>);

struct Space {
    /// Free ranges: (offset, bytes), first fit.
    free: Vec<(usize, usize)>,
    /// Nothing above this offset was ever taken: it is all zero and not committed.
    fresh: usize,
}

impl Heap {
    /// Takes `len` bytes. Returns their offset, and how many of them may be non-zero.
    pub fn take(&self, len: usize) -> Option<(usize, usize)> {
        let len = len.next_multiple_of(LINE);
        let mut space = self.0.lock();
        let at = space.free.iter().position(|(_, size)| *size >= len)?;
        let (offset, size) = space.free[at];
        match size - len {
            0 => drop(space.free.remove(at)),
            rest => space.free[at] = (offset + len, rest),
        }
        let used = space.fresh.saturating_sub(offset).min(len);
        space.fresh = space.fresh.max(offset + len);
        Some((offset, used))
    }

    /// Gives the bytes back.
    pub fn give(&self, offset: usize, len: usize) {
        let len = len.next_multiple_of(LINE);
        let free = &mut self.0.lock().free;
        free.push((offset, len));
        free.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(free.len());
        for (at, size) in free.drain(..) {
            match merged.last_mut() {
                Some((start, before)) if *start + *before == at => *before += size,
                _ => merged.push((at, size)),
            }
        }
        *free = merged;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_block_do_not_overlap() {
        for (members, debug) in [(1, false), (2, true), (3, true), (8, false), (65, true)] {
            let b = Block::new(members, debug);
            let mut fields = Vec::new();
            for from in 0..members {
                fields.push((b.credit(from), 8));
                fields.extend([(b.barrier(0, from), 8), (b.barrier(1, from), 8)]);
                fields.extend([(b.meeting(0, from), 8), (b.meeting(1, from), 8)]);
                for seq in 0..b.window() {
                    fields.extend([(b.message(seq, from), LINE), (b.answer(seq, from), LINE)]);
                    if debug {
                        fields.push((b.description(seq, from), DESCRIPTION));
                    }
                    assert_eq!(b.message(seq, from), b.message(seq + b.window(), from));
                    assert!(b.message(seq, from).is_multiple_of(LINE));
                }
            }
            fields.sort_unstable();
            assert!(fields.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0), "{members} members");
            let (last, len) = fields[fields.len() - 1];
            assert!(last + len <= b.bytes());
        }
    }

    #[test]
    fn a_block_that_a_peer_says_lies_outside_its_region_is_none() {
        let (area, block) = (Area::new(3, 2 << 20, false), Block::new(2, false));
        let last = (area.bytes() - block.bytes()) / LINE * LINE;
        assert!([0, LINE, last].iter().all(|base| area.may_hold(&block, *base as u64)));
        let wrong = [last as u64 + LINE as u64, area.bytes() as u64, 1, 8, 1 << 40, u64::MAX, u64::MAX - 63, 1 << 63];
        assert!(!wrong.iter().any(|base| area.may_hold(&block, *base)));
    }

    #[test]
    fn blocks_given_back_are_whole_again() {
        let area = Area::new(3, 2 << 20, false);
        let heap = area.free_space();
        let taken: Vec<_> = (1..100).map(|i| (heap.take(i * 100).unwrap(), i * 100)).collect();
        assert!(taken.iter().all(|((_, used), _)| *used == 0), "nothing was there before");
        let taken: Vec<_> = taken.iter().map(|((at, _), len)| (*at, *len)).collect();
        let end = taken.last().map_or(0, |(at, len)| at + len.next_multiple_of(LINE));
        assert!(taken.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
        assert!(taken.iter().all(|(at, len)| at + len <= area.buffer(0)));
        for (at, len) in taken.iter().rev().step_by(2).chain(taken.iter().rev().skip(1).step_by(2)) {
            heap.give(*at, *len);
        }
        assert_eq!(heap.take(HEAP), Some((area.base(2), end - area.base(2))), "of which the front was used");
        assert_eq!(heap.take(1), None);
    }

    #[test]
    fn two_thousand_teams_of_eight_have_room() {
        let heap = Area::new(8, 2 << 20, false).free_space();
        let len = Block::new(8, false).bytes();
        assert!((0..2000).all(|_| heap.take(len).is_some()));
    }
}
