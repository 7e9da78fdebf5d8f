//! One slot: how a message lies in it, and the protocol of its two owners.
//!
//! Rules:
//! 1. The sender owns slot *i* until it publishes the meta word with the lap's sequence; everything else of the message
//!    is stored before, behind a store barrier unless it is in the meta word's own line (one SCI packet).
//! 2. The receiver then owns it, and the ring bytes it names, until it gives them back: by the paired reply, published
//!    after the last look at a Medium payload, or by the credit count.
//! 3. Reply slot *i* belongs to the replier while request *i* is unanswered, and to the requester from the reply's
//!    publication until it has retired request *i*; only then is request slot *i* used again.
//! 4. The sequence changes every lap and is never 0, so zeroed memory is no message, and slots are not cleared. But a
//!    reply slot whose requests nobody answers keeps its last reply: the requester, when it retires them, clears it in
//!    one lap of 2¹⁴, before the sequence comes round.
//!
//! 5. Before it stores the message, the owner of a slot or of ring bytes may overwrite the last word of each line
//!    ([`RemoteMap::claim_by_store`]). So nobody looks at a word that the message has not stored. The count of a streamed reply, the
//!    slot's last word, is stored before its meta word.
//!
//! Lines: word 0 is meta; arguments follow, two per word, so a Short of up to 14 arguments is one line. A Long carries
//! its target address, a Medium in the ring its offset, in word 1. A small Medium lies behind its arguments, 16-aligned.
//!
//! Must not know: who sends, credits, what handlers do.

#![allow(unsafe_code)] // payloads

use super::source::{Args, Source};
use crate::am::region::{ARG_WORDS, LINE, MAX_ARGS, SLOT};
use crate::sci::{LocalMap, RemoteMap, Words};
use crate::sync::Ordering;

/// How a message's payload travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Carry {
    /// No payload.
    Short = 0,
    /// Medium, behind the arguments.
    Inline = 1,
    /// Medium, in the byte ring.
    Ring = 2,
    /// Long, already at its place.
    Long = 3,
    /// Long, its unaligned head and tail in the last two words of the slot.
    Bounced = 4,
    /// Long to memory that the sender cannot reach: the bytes come through the ring, in pieces.
    Stream = 5,
}

/// First index that clients may use.
pub const FIRST_CLIENT: u8 = 128;

/// The meta word: sequence 16, handler 8, argument count 5, carry 3, payload length 32 bits, from the lowest.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Meta(u64);

impl Meta {
    /// Lowest bit of each field behind the sequence; the header packs a Short by the first two.
    pub const HANDLER_AT: u32 = 16;
    /// See [`Self::HANDLER_AT`].
    pub const ARGS_AT: u32 = 24;
    const CARRY_AT: u32 = 29;
    const LEN_AT: u32 = 32;

    /// Packs the fields. `args` ≤ 16.
    #[inline(always)]
    pub const fn new(sequence: u16, handler: u8, args: usize, carry: Carry, len: usize) -> Meta {
        debug_assert!(args <= MAX_ARGS && len <= u32::MAX as usize);
        Meta(
            sequence as u64
                | (handler as u64) << Meta::HANDLER_AT
                | (args as u64) << Meta::ARGS_AT
                | (carry as u64) << Meta::CARRY_AT
                | (len as u64) << Meta::LEN_AT,
        )
    }

    /// The lap's sequence.
    #[inline(always)]
    pub fn sequence(self) -> u16 {
        self.0 as u16
    }

    /// Handler index.
    #[inline(always)]
    pub fn handler(self) -> u8 {
        (self.0 >> Meta::HANDLER_AT) as u8
    }

    /// Number of arguments. A peer's bits are not trusted: at most 16.
    #[inline(always)]
    pub fn args(self) -> usize {
        ((self.0 >> Meta::ARGS_AT) as usize & 31).min(MAX_ARGS)
    }

    /// How the payload travels; `None` for bits that no sender of ours writes.
    #[inline(always)]
    pub fn carry(self) -> Option<Carry> {
        Some(match (self.0 >> Meta::CARRY_AT) & 7 {
            0 => Carry::Short,
            1 => Carry::Inline,
            2 => Carry::Ring,
            3 => Carry::Long,
            4 => Carry::Bounced,
            5 => Carry::Stream,
            _ => return None,
        })
    }

    /// True for a Short to a client's handler. One test covers both: most messages are of this sort, and need no further
    /// questions.
    #[inline(always)]
    pub fn is_clients_short(self) -> bool {
        const CARRY: u64 = 7 << Meta::CARRY_AT;
        const CLIENT: u64 = (FIRST_CLIENT as u64) << Meta::HANDLER_AT;
        self.0 & (CARRY | CLIENT) == CLIENT | (Carry::Short as u64) << Meta::CARRY_AT
    }

    /// True for a Short of the library's own.
    #[inline(always)]
    pub fn is_librarys_short(self) -> bool {
        const CARRY: u64 = 7 << Meta::CARRY_AT;
        const CLIENT: u64 = (FIRST_CLIENT as u64) << Meta::HANDLER_AT;
        const _: () = assert!(Carry::Short as u64 == 0);
        self.0 & (CARRY | CLIENT) == 0
    }

    /// Handler, number of arguments and carry in one word, so that one comparison checks all three.
    #[inline(always)]
    pub fn form(self) -> u16 {
        (self.0 >> Meta::HANDLER_AT) as u16
    }

    /// True for a Medium: its handler reads the slot or the ring.
    #[inline(always)]
    pub fn holds_buffer(self) -> bool {
        const _: () = assert!(Carry::Inline as u64 == 1 && Carry::Ring as u64 == 2);
        ((self.0 >> Meta::CARRY_AT) & 7).wrapping_sub(1) < 2
    }

    /// True for a Medium whose payload lies in the slot and goes on in its second line.
    #[inline(always)]
    pub fn payload_crosses_lines(self) -> bool {
        self.carry() == Some(Carry::Inline) && inline_offset(self.args()) + self.len() > LINE
    }

    /// True for a Long.
    pub fn is_long(self) -> bool {
        matches!(self.carry(), Some(Carry::Long | Carry::Bounced | Carry::Stream))
    }

    /// Payload bytes.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)] // a length field of a word, not a container
    pub fn len(self) -> usize {
        (self.0 >> Meta::LEN_AT) as usize
    }

    /// The word as stored.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// Words that `args` arguments take.
#[inline(always)]
pub fn words(args: usize) -> usize {
    args.div_ceil(2)
}

/// Offset in the slot of a payload carried inline behind `args` arguments: 16-aligned, as handlers may expect of it.
#[inline(always)]
pub fn inline_offset(args: usize) -> usize {
    (8 + 4 * args + 15) & !15 // five instructions less than `next_multiple_of`, which asks for a remainder
}

/// Longest payload carried inline behind `args` arguments.
#[inline(always)]
pub fn inline_max(args: usize) -> usize {
    SLOT - inline_offset(args)
}

/// First of the two words that carry a bounced head and tail.
pub const BOUNCE_WORD: usize = 14;

/// The word in which the sender of a streamed reply counts the bytes written.
pub const COUNT_WORD: usize = 15;

/// Stores the arguments of a message in the slot at `offset`, behind `place`, a ring offset or target address. The caller puts
/// a barrier between this and the meta word.
#[inline(always)]
pub fn store_args<R: RemoteMap>(map: &R, offset: usize, place: Option<u64>, args: &[u64]) {
    let first = match place {
        Some(place) => {
            map.store(offset + 8, &[place]);
            offset + 16
        }
        None => offset + 8,
    };
    map.store(first, args);
}

/// PIO write of a payload into a queue, at an offset that the caller took.
#[inline(always)]
pub(crate) fn write<R: RemoteMap>(queue: &R, at: usize, source: Source) {
    // SAFETY: `Source` promises that its bytes are readable for its length.
    let result = unsafe { queue.write_apart(at, source.ptr(), source.len()) };
    debug_assert!(result.is_ok(), "taken space lies in the queue");
}

/// Where a Medium's payload lies: in its slot, or in the ring.
#[derive(Clone, Copy)]
pub struct MediumPlace {
    /// True if it lies in the slot.
    pub inline: bool,
    /// Offset of the ring in the queue.
    pub ring: usize,
    /// Offset of the payload in the ring.
    pub at: usize,
}

impl MediumPlace {
    /// The meta word's name for it.
    #[inline(always)]
    pub fn carry(self) -> Carry {
        if self.inline { Carry::Inline } else { Carry::Ring }
    }

    /// Stores a Medium in the slot at `offset`, all but its meta word. `awaited`: the peer waits for it. The words are stored
    /// straight into the queue; composing the body first, word by word, took 250 instructions more.
    #[inline(always)]
    pub fn store<R: RemoteMap>(self, map: &R, offset: usize, source: Source, args: Args<'_>, awaited: bool) {
        if !self.inline {
            write(map, self.ring + self.at, source);
            return store_args(map, offset, Some(self.at as u64), args.words());
        }
        let at = inline_offset(args.count());
        write(map, offset + at, source);
        store_args(map, offset, None, args.words());
        if awaited && at + source.len() > LINE {
            map.hand_over(offset + LINE);
        }
    }

    /// Calls `claim` with each line that a Medium like the one of `meta` would be stored in at this place, its slot being at `slot`. That happens
    /// while the node waits for the answer to the one of `meta`. The slot's first line is left out, because the peer looks at it.
    ///
    /// A sender that copies into lines held by the other core waits for each of them; lines claimed before are here already.
    /// Two bare processes that echo 64 bytes, 1, 4, 16 KiB through a ring: 0.91, 0.90, 0.81, 0.73 of the time without (Xeon VM,
    /// 2026-11). Claims by stores instead of prefetches: 1 and 4 KiB, answered by requests, take 221 and 298 instead of 268 and 360 ns (EPYC VM,
    /// cores share a cache).
    #[inline(always)]
    pub fn claim_lines(self, slot: usize, meta: Meta, claim: impl Fn(usize)) {
        if self.inline {
            if meta.payload_crosses_lines() {
                claim(slot + LINE);
            }
            return;
        }
        if meta.len() <= MOST_CLAIMED {
            let first = self.ring + self.at;
            (0..meta.len().div_ceil(LINE)).for_each(|line| claim(first + line * LINE));
        }
    }
}

/// Most bytes that are claimed ahead: issuing a claim takes a core 2 ns per line (by prefetches).
const MOST_CLAIMED: usize = 16 << 10;

/// A slot of the receiver's own command region.
#[derive(Clone, Copy)]
pub struct Slot<'a, L: LocalMap> {
    map: &'a L,
    offset: usize,
    /// All words of the slot. One bounds check serves a whole message: 15 compares fewer for a Short.
    words: Words<'a, { SLOT / 8 }>,
}

impl<'a, L: LocalMap> Slot<'a, L> {
    /// The slot at `offset`.
    #[inline(always)]
    pub fn at(map: &'a L, offset: usize) -> Self {
        Slot { map, offset, words: map.words(offset) }
    }

    /// The slot at `offset`, which [`Self::at`] has found to be one.
    ///
    /// # Safety
    /// It has.
    #[inline(always)]
    pub unsafe fn known(map: &'a L, offset: usize) -> Self {
        // SAFETY: as the caller promises.
        Slot { map, offset, words: unsafe { map.words_inside(offset) } }
    }

    /// The message that waits here, if its sequence is this lap's.
    #[inline(always)]
    pub fn look(&self, sequence: u16) -> Option<Meta> {
        // ORDERING: Acquire ↔ the Release in `RemoteMap::packet`: who sees this sequence sees the words stored before (rule 1).
        let meta = Meta(self.words.word(0).load(Ordering::Acquire));
        (meta.sequence() == sequence).then_some(meta)
    }

    /// Word `i` of the slot.
    #[inline(always)]
    pub fn word(&self, i: usize) -> u64 {
        // Relaxed: ordered by the Acquire in `look`, and the sender leaves it alone until it gets the slot back (rule 2).
        self.words.word(i).load(Ordering::Relaxed)
    }

    /// Argument `k` of those packed from word `first` on.
    #[inline(always)]
    pub fn arg(&self, first: usize, k: usize) -> i32 {
        (self.word(first + k / 2) >> (32 * (k % 2))) as i32
    }

    /// The words of arguments packed from word `first`, 1 or 2, on.
    #[inline(always)]
    pub fn args(&self, first: usize) -> Words<'a, ARG_WORDS> {
        self.words.part(first)
    }

    /// Word `i`, which the sender counts up while the message is under way.
    pub fn count(&self, i: usize) -> u64 {
        // ORDERING: Acquire ↔ the Release in `RemoteMap::publish`: who sees the count sees the bytes that it covers.
        self.words.word(i).load(Ordering::Acquire)
    }

    /// Asks for the slot's other line, if the payload of the message that waits here goes on there. It comes while the engine finds the
    /// handler: there and back with 100 bytes each way takes 192 to 251 instead of 279 to 326 ns where the cores share a cache, 508 to 635
    /// instead of 834 to 992 where they share none. Payloads in the ring gain nothing: their reader asks for many lines
    /// at once (2026-11, EPYC VM).
    #[inline(always)]
    pub fn will_read(&self, meta: Meta) {
        if meta.payload_crosses_lines() {
            self.map.will_read(self.offset + LINE);
        }
    }

    /// Makes the slot no message of any lap.
    pub fn clear(&self) {
        // Relaxed: the slot is ours; the Release in `Inbox::retired` comes before the peer's next store (rule 3).
        self.words.word(0).store(0, Ordering::Relaxed);
    }

    /// Address of the slot's byte `at`.
    #[inline(always)]
    pub fn ptr(&self, at: usize) -> *mut u8 {
        self.map.ptr(self.offset + at)
    }
}

const _: () = assert!(FIRST_CLIENT == 128, "one bit tells a client's handler");
const _: () = assert!(8 + 4 * 14 == LINE, "a Short of 14 arguments must touch one line only");
const _: () = assert!(SLOT == 2 * LINE, "hints and replies of two lines name the second one");
const _: () = assert!((BOUNCE_WORD + 2) * 8 == SLOT && (COUNT_WORD + 1) * 8 == SLOT, "the last two words of a slot");
const _: () = assert!(2 + MAX_ARGS / 2 <= BOUNCE_WORD, "address and arguments leave the last two words free");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_keeps_every_field() {
        for carry in [Carry::Short, Carry::Inline, Carry::Ring, Carry::Long, Carry::Bounced, Carry::Stream] {
            let m = Meta::new(0xffff, 255, 16, carry, i32::MAX as usize);
            assert_eq!((m.sequence(), m.handler(), m.args(), m.len()), (0xffff, 255, 16, i32::MAX as usize));
            assert_eq!(m.carry(), Some(carry));
        }
    }

    #[test]
    fn a_clients_short_is_told_by_one_test() {
        for handler in [0, 1, 64, 127, 128, 200, 255] {
            for carry in [Carry::Short, Carry::Inline, Carry::Ring, Carry::Long, Carry::Bounced, Carry::Stream] {
                let m = Meta::new(0xffff, handler, 16, carry, i32::MAX as usize);
                assert_eq!(
                    m.is_clients_short(),
                    handler >= FIRST_CLIENT && carry == Carry::Short,
                    "{handler} {carry:?}"
                );
            }
            let unknown = Meta(u64::from(handler) << 16 | 7 << 29);
            assert!(!unknown.is_clients_short());
        }
    }

    #[test]
    fn inline_payload_is_aligned_and_behind_the_arguments() {
        for args in 0..=MAX_ARGS {
            assert!(inline_offset(args) >= 8 + 4 * args && inline_offset(args).is_multiple_of(16));
            assert!(inline_max(args) >= 48, "{args}");
        }
    }
}
