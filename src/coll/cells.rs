//! Cells: words that members of a team write for each other. Each cell is written by one member into the block of
//! another, and carries the sequence number of the collective that it belongs to.
//!
//! Rules:
//! 1. Member `f` alone writes the lines (sequence, `f`) of a block; the block's owner alone reads them.
//! 2. A word is tag and value. The tag is the sequence number; a word with another tag counts as not written. So
//!    lines are never cleared. The message line's head covers the seven words behind it, and three more at the end of
//!    the answer line, which the same member writes. A reader that sees the head sees them.
//! 3. Bytes that a word announces elsewhere (in a segment or in the stage) are stored before it, behind a store
//!    barrier.
//! 4. Lines of sequence number `s` are written only when every member has said that it retired `s` − window, or a leader for it. So no
//!    member reads what is overwritten, and no member that still writes for the older number is overtaken.
//! 5. A member retires numbers in order. It writes its progress to its credit word at least every quarter of the
//!    window (`book.rs`).
//!
//! With mapped memory a word is one remote store. To other hosts, and in the reference implementation, the word travels as
//! an Active Message, whose handler stores it. All other rules are the same.
//!
//! Stores are recorded (`trace`). While something is recorded no map is kept in its path, so each store takes the way of a first
//! contact, where the point is. Otherwise points cost nothing.
//!
//! Must not know: collectives.

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::Block;
use super::reach::MemberReach;
use crate::am::Am;
use crate::am::library::COLL_STORE;
use crate::am::region::LINE;
use crate::am::source::{Args, Source};
use crate::barrier::grouping::Grouping;
use crate::barrier::read;
use crate::base::error::Error;
use crate::sci::{Adapter, LocalMap, RemoteInterrupt, RemoteMap, Words};
use crate::sync::Ordering;
use crate::trace::{self, TracedOp};
use std::sync::{Arc, OnceLock};

/// Words of the answer line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The number of bytes or chunks that the member has taken.
    Taken = 0,
    /// The member has entered the collective.
    Enter = 1,
    /// The member is done.
    Leave = 2,
    /// The word behind holds the address where bytes may be put.
    Landing = 3,
}

/// What a word is recorded as. It is known when the code is compiled, so that callers need not pass it.
const BARRIER: bool = true;
const COLLECTIVE: bool = false;
/// Bytes of a word.
const WORD: usize = size_of::<u64>();
/// Offset of the landing's address in the answer line.
const ADDRESS: usize = 32;
/// Offset in the answer line of those words of a message that do not fit into its own line. The processor fetches the
/// two lines as a pair.
const REST: usize = 40;
/// Words of a message behind its head that are in its own line.
const LINE_WORDS: usize = 7;
/// All words of a message behind its head.
pub const WORDS: usize = LINE_WORDS + (LINE - REST) / 8;

/// How one member of a team reaches another's cells.
pub struct CellPath<A: Adapter> {
    /// The member's node.
    pub rank: u32,
    /// Offset of the team's block in the member's region.
    pub base: usize,
    // The member's region, connected at the first contact.
    map: OnceLock<A::Remote>,
}

impl<A: Adapter> CellPath<A> {
    /// A member on node `rank`, whose block begins at `base`.
    pub fn new(rank: u32, base: usize) -> CellPath<A> {
        CellPath { rank, base, map: OnceLock::new() }
    }
}

/// The cells of one team at one of its members.
pub struct Cells<A: Adapter> {
    me: usize,
    block: Block,
    base: usize,
    local: A::Local,
    paths: Box<[CellPath<A>]>,
    reach: Arc<MemberReach<A>>,
}

fn word(seq: u32, value: u32) -> u64 {
    u64::from(seq) << 32 | u64::from(value)
}

fn value(word: u64, seq: u32) -> Option<u32> {
    ((word >> 32) as u32 == seq).then_some(word as u32)
}

impl<A: Adapter> Cells<A> {
    /// The cells of member `me`. Its block begins at `paths[me].base` of its own region `local`.
    pub fn new(
        me: usize,
        block: Block,
        local: A::Local,
        paths: Box<[CellPath<A>]>,
        reach: Arc<MemberReach<A>>,
    ) -> Cells<A> {
        Cells { me, block, base: paths[me].base, local, paths, reach }
    }

    /// Number of members.
    #[inline(always)]
    pub fn members(&self) -> usize {
        self.paths.len()
    }

    /// This member's place among them.
    #[inline(always)]
    pub fn me(&self) -> usize {
        self.me
    }

    /// The node of a member.
    #[inline(always)]
    pub fn rank(&self, member: usize) -> u32 {
        self.paths[member].rank
    }

    /// The members, host by host. `None`: all are on one host.
    pub fn hosts(&self) -> Option<Grouping> {
        self.reach.hosts(self.members(), |member| self.rank(member))
    }

    /// True if words to and from a member go by stores. Both members have the same answer.
    #[inline]
    pub fn maps(&self, member: usize) -> bool {
        self.reach.maps(self.rank(member))
    }

    /// A member's region. `None`: words travel as messages.
    #[inline(always)]
    pub fn map(&self, member: usize) -> Option<&A::Remote> {
        let path = &self.paths[member];
        match path.map.get() {
            Some(map) => Some(map),
            None => self.connect(path),
        }
    }

    #[cold]
    #[inline(never)]
    fn connect<'a>(&'a self, path: &'a CellPath<A>) -> Option<&'a A::Remote> {
        let map = self.reach.map(path.rank)?;
        if trace::is_on() { Some(map) } else { Some(path.map.get_or_init(|| map.clone())) }
    }

    /// A member's region, for an access to `bytes` bytes of it. `None`: words travel as messages.
    #[inline(always)]
    pub fn map_for(&self, op: TracedOp, member: usize, bytes: usize) -> Option<&A::Remote> {
        let path = &self.paths[member];
        match path.map.get() {
            Some(map) => Some(map),
            None => self.record_and_connect(op, path, bytes),
        }
    }

    #[cold]
    #[inline(never)]
    fn record_and_connect<'a>(&'a self, op: TracedOp, path: &'a CellPath<A>, bytes: usize) -> Option<&'a A::Remote> {
        trace::event(op, path.rank, bytes);
        self.connect(path)
    }

    /// The most collectives under way at a time.
    #[inline(always)]
    pub fn window(&self) -> u32 {
        self.block.window()
    }

    /// Layout of the block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Offset of this member's own block in its region.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Sends the message of `seq` to a member: `head` and up to [`WORDS`] words.
    #[inline]
    pub fn send(&self, am: &Am<A>, to: usize, seq: u32, head: u32, body: &[u64]) {
        let path = &self.paths[to];
        let at = path.base + self.block.message(seq, self.me);
        let map = self.map_for(TracedOp::CollCell, to, WORD + size_of_val(body));
        let (body, rest) = body.split_at(body.len().min(LINE_WORDS));
        match map {
            Some(map) => {
                if !rest.is_empty() {
                    map.store(at + LINE + REST, rest);
                }
                map.barrier(); // rules 2 and 3
                map.packet(at, word(seq, head), body);
                am.peers.post(path.rank as usize).bell.stored();
            }
            None => {
                let mut words = [0; 8];
                words[0] = word(seq, head);
                words[1..=body.len()].copy_from_slice(body);
                if !rest.is_empty() {
                    self.post(am, path.rank, at + LINE + REST, rest);
                }
                self.post(am, path.rank, at, &words[..=body.len()]);
            }
        }
    }

    /// Sends a message that has only a head. It arrives after all Active Messages that were sent before.
    pub fn send_behind(&self, am: &Am<A>, to: usize, seq: u32, head: u32) {
        let path = &self.paths[to];
        trace::event(TracedOp::CollCell, path.rank, WORD);
        self.post(am, path.rank, path.base + self.block.message(seq, self.me), &[word(seq, head)]);
    }

    /// Changes the head of a message that was sent before.
    #[inline]
    pub fn update(&self, am: &Am<A>, to: usize, seq: u32, head: u32) {
        self.put::<COLLECTIVE>(am, to, self.block.message(seq, self.me), word(seq, head));
    }

    /// The head of `from`'s message; `None` until it has come.
    #[inline]
    pub fn head(&self, seq: u32, from: usize) -> Option<u32> {
        let at = self.base + self.block.message(seq, from);
        // ORDERING: Acquire ↔ Release in `packet`, `publish` and `on_store`: body and announced bytes are there
        // (rules 2, 3).
        value(self.local.word(at).load(Ordering::Acquire), seq)
    }

    /// The first `count` of the message's words; the others are 0. Call it after `head` has returned the head.
    #[inline]
    pub fn body(&self, seq: u32, from: usize, count: usize) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let at = self.base + self.block.message(seq, from);
        let line: Words<'_, 8> = self.local.words(at);
        for (i, word) in words[..count.min(LINE_WORDS)].iter_mut().enumerate() {
            *word = line.word(1 + i).load(Ordering::Relaxed); // Relaxed: ordered by the Acquire in `head`
        }
        if count > LINE_WORDS {
            let answers: Words<'_, 8> = self.local.words(at + LINE);
            for (i, word) in words[LINE_WORDS..count].iter_mut().enumerate() {
                *word = answers.word(REST / 8 + i).load(Ordering::Relaxed); // Relaxed: ordered by the Acquire in `head`
            }
        }
        words
    }

    /// Writes a word of the answer line at member `to`.
    #[inline]
    pub fn answer(&self, am: &Am<A>, to: usize, seq: u32, what: Word, value: u32) {
        self.put::<COLLECTIVE>(am, to, self.block.answer(seq, self.me) + 8 * what as usize, word(seq, value));
    }

    /// The answer word `what` of `from`; `None` until it has come.
    #[inline]
    pub fn answered(&self, seq: u32, from: usize, what: Word) -> Option<u32> {
        let at = self.base + self.block.answer(seq, from) + 8 * what as usize;
        // ORDERING: Acquire ↔ Release in `publish` and `on_store` (rule 3).
        value(self.local.word(at).load(Ordering::Acquire), seq)
    }

    /// Gives a member the address where it may put bytes; 0: nowhere.
    pub fn land(&self, am: &Am<A>, to: usize, seq: u32, address: usize) {
        self.put::<COLLECTIVE>(am, to, self.block.answer(seq, self.me) + ADDRESS, address as u64);
        self.answer(am, to, seq, Word::Landing, 1);
    }

    /// The address that `from` has given for bytes; `None` until it has come.
    pub fn landing(&self, seq: u32, from: usize) -> Option<usize> {
        self.answered(seq, from, Word::Landing)?;
        let at = self.base + self.block.answer(seq, from) + ADDRESS;
        Some(self.local.word(at).load(Ordering::Relaxed) as usize) // Relaxed: behind the Acquire in `answered`
    }

    /// Tells a member that this one has retired all numbers up to `retired`.
    pub fn credit(&self, am: &Am<A>, to: usize, retired: u32) {
        self.put::<COLLECTIVE>(am, to, self.block.credit(self.me), u64::from(retired));
    }

    /// The number up to which `from` has said that it retired all.
    pub fn retired(&self, from: usize) -> u32 {
        // ORDERING: Acquire ↔ Release in `credit`: the member's reads of the lines are over before we write them
        // again (rule 4).
        self.local.word(self.base + self.block.credit(from)).load(Ordering::Acquire) as u32
    }

    /// Writes our barrier cell at a member.
    pub fn arrive(&self, am: &Am<A>, to: usize, parity: usize, arrival: u64) {
        self.put::<BARRIER>(am, to, self.block.barrier(parity, self.me), arrival);
    }

    /// The barrier cell that `from` has written here.
    pub fn arrival(&self, from: usize, parity: usize) -> u64 {
        // ORDERING: Acquire ↔ Release in `arrive`: after the wait, this node sees what the member stored before.
        self.local.word(self.base + self.block.barrier(parity, from)).load(Ordering::Acquire)
    }

    /// Writes our barrier cell at the first member, which all read, and wakes nobody.
    pub fn post_arrival(&self, parity: usize, arrival: u64) {
        let at = self.block.barrier(parity, self.me);
        let map = if self.me == 0 { None } else { self.map_for(TracedOp::BarrierTell, 0, WORD) };
        let Some(map) = map else {
            return self.local.word(self.base + at).store(arrival, Ordering::Release); // ORDERING: as in `arrive`
        };
        map.barrier(); // rule 3
        map.publish(self.paths[0].base + at, arrival);
    }

    /// The barrier cell that `from` has written at the first member.
    pub fn posted_arrival(&self, from: usize, parity: usize) -> u64 {
        let map = if self.me == 0 { None } else { self.connect(&self.paths[0]) };
        match map {
            None => self.arrival(from, parity),
            Some(map) => read(map, self.paths[0].base + self.block.barrier(parity, from)),
        }
    }

    /// Tells a member, in the word of this parity, in how many meetings this one has arrived.
    #[inline]
    pub fn meet(&self, am: &Am<A>, to: usize, parity: usize, count: u64) {
        self.put::<BARRIER>(am, to, self.block.meeting(parity, self.me), count);
    }

    /// What `from` has said in the word of this parity.
    #[inline]
    pub fn met(&self, from: usize, parity: usize) -> u64 {
        // ORDERING: Acquire ↔ Release in `meet`: behind a meeting, this node sees what the member stored before it.
        self.local.word(self.base + self.block.meeting(parity, from)).load(Ordering::Acquire)
    }

    /// Stores words of this member's description of `seq` at a member, the last of them first.
    pub fn describe(&self, am: &Am<A>, to: usize, seq: u32, words: &[u64]) {
        let path = &self.paths[to];
        let at = path.base + self.block.description(seq, self.me);
        match self.map_for(TracedOp::CollCell, to, size_of_val(words)) {
            Some(map) => {
                map.store(at + 8, &words[1..]);
                map.barrier(); // rule 3
                map.publish(at, words[0]);
                am.peers.post(path.rank as usize).bell.stored();
            }
            None => {
                for (i, line) in words.chunks(8).enumerate().rev() {
                    self.post(am, path.rank, at + 64 * i, line);
                }
            }
        }
    }

    /// Word `index` of `from`'s description of `seq`.
    pub fn description(&self, seq: u32, from: usize, index: usize) -> u64 {
        let at = self.base + self.block.description(seq, from) + 8 * index;
        // ORDERING: Acquire ↔ Release in `describe`: a reader that sees the first word sees the others.
        self.local.word(at).load(Ordering::Acquire)
    }

    #[inline]
    fn put<const KIND: bool>(&self, am: &Am<A>, to: usize, offset: usize, word: u64) {
        let path = &self.paths[to];
        let op = if KIND == BARRIER { TracedOp::BarrierTell } else { TracedOp::CollCell };
        match self.map_for(op, to, WORD) {
            Some(map) => {
                map.barrier(); // rule 3
                map.publish(path.base + offset, word);
                am.peers.post(path.rank as usize).bell.stored();
            }
            None => self.post(am, path.rank, path.base + offset, &[word]),
        }
    }

    #[cold]
    fn post(&self, am: &Am<A>, rank: u32, at: usize, words: &[u64]) {
        let place = [at as u64];
        // SAFETY: one readable word, which holds two arguments.
        let args = unsafe { Args::from_raw(place.as_ptr(), 2) };
        // SAFETY: `words` live during the call.
        let source = unsafe { Source::new(words.as_ptr().cast(), size_of_val(words)) };
        if let Err(error) = am.request_medium(rank, COLL_STORE, source, args) {
            crate::base::fatal(format_args!("collective: {error}"));
        }
        am.settle(); // a member waits for it, and this one may compute for long
    }

    /// Clears the first `used` bytes of this member's block, before the block is given to a team.
    pub fn clear(&self, used: usize) {
        for at in (0..used.min(self.block.bytes())).step_by(8) {
            // Relaxed: members learn of the block by a collective, which orders it.
            self.local.word(self.base + at).store(0, Ordering::Relaxed);
        }
    }
}

/// Runs at the receiver of words that travel as a message. It stores them, the head last.
pub fn on_store<L: LocalMap>(region: &L, at: usize, words: Source) -> Result<(), Error> {
    let count = words.len() / 8;
    let whole = at.is_multiple_of(8) && words.len().is_multiple_of(8);
    if !whole || count > 8 || at.checked_add(words.len()).is_none_or(|end| end > region.len()) {
        return crate::base::error::bad_arg(format_args!("{} bytes at {at:#x} of the collective region", words.len()));
    }
    let mut copy = [0; 8];
    words.copy_to(&mut copy);
    for i in (0..count).rev() {
        // ORDERING: Release ↔ Acquire in `head` and `answered`, as the remote store would have it.
        region.word(at + 8 * i).store(copy[i], Ordering::Release);
    }
    Ok(())
}
