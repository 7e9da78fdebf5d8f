//! One peer: frames, writes and reads as items of packets, and back.
//!
//! ```text
//! item: kind u8 | asks u8 | length u16 | ...       (little-endian; items follow each other without gaps)
//! FRAME  | bytes                                   WRITE | offset u64 | bytes
//! READ   | number u32 | offset u64 | length u64    DATA  | number u32 | place u64 | bytes
//! BYE                                              PAD   | bytes that say nothing
//! ```
//! The length is that of the bytes. `asks` is 1 of a write if somebody waits for its acknowledgement, which then is not held back. A packet
//! whose first item is LOOSE (a write) or DATA has only that one, and may be processed before others. Rules:
//! 1. A write of less than `SMALL` bytes goes among frames, in their order. A longer one is loose, unless it overlaps one that is
//!    under way: then the older bytes could come last. A write of which nobody awaits the end (a Long's) is told of by a frame that follows,
//!    and nobody looks at its bytes before. So if it goes in several pieces, the last one is in order, too, and the frame can go with it.
//!    Not in seed mode.
//! 2. A write is done when every packet up to its last one is acknowledged.
//! 3. A read is served after what was sent before it. Its data come in any order, each byte once.
//!
//! Must not know: sockets, what frames say.

#![allow(unsafe_code)] // memory of clients and of this node's segment, as wire::Wire and wire::Sink promise it

#[cfg(all(test, not(loom)))]
mod tests;

use super::head::HEAD;
use super::inbox::Take;
use super::mode::ahead;
use super::pieces::{FOLLOWER, cut, cut_for_follower};
use super::pipe::{Pipe, Terms};
use crate::sci::far::tcp::chunk::Memory;
use crate::sci::far::wire::{Done, Sink};
use crate::sync::{AtomicU64, Ordering};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Writes below this go among frames.
const SMALL: usize = 1 << 10;
/// Packets that wait, at most, before a caller has to.
const PACKETS: usize = 4096;
/// Bytes that wait, at most: what a connection over TCP leaves with the system. Longs of 64 KiB go at 513 MB/s; with a quarter of it at 320,
/// with four times as much, for each peer, at 620 (a loaded EPYC VM, 2026-11).
const BYTES: usize = 1 << 20;
/// Packets under way to which large transfers add more.
const BULK_PACKETS: usize = 1024;
/// Large transfers, reads, and answers under way, at most.
const UNDER_WAY: usize = 1024;
/// Writes under way of which it is known where they go. With more, no write is loose.
const SPANS: usize = 64;

const FRAME: u8 = 1;
const WRITE: u8 = 2;
const LOOSE: u8 = 3;
const READ: u8 = 4;
const DATA: u8 = 5;
const BYE: u8 = 6;
const PAD: u8 = 7;

/// Bytes in front of a frame's.
const FRAME_HEAD: usize = 4;
/// Bytes in front of a write's.
const WRITE_HEAD: usize = 12;
/// Bytes in front of data.
const DATA_HEAD: usize = 16;

/// A read of this node whose bytes come.
struct Landing {
    to: Memory,
    left: usize,
    done: &'static AtomicU64,
}

/// A transfer that does not go at once, and how many bytes of it have gone.
struct Bulk {
    memory: Memory,
    gone: usize,
    to: Target,
}

/// Where it goes.
#[derive(Clone, Copy)]
enum Target {
    Segment(u64, Done),
    Reader(u32),
}

/// Bytes that a write puts somewhere: the number of its last packet, where they begin and end.
struct Span {
    last: u32,
    from: u64,
    to: u64,
}

/// What a link has beside its pipe.
#[derive(Default)]
struct Rest {
    bulk: VecDeque<Bulk>,
    /// Writes that somebody wants to know of, by the number of their last packet.
    dones: VecDeque<(u32, &'static AtomicU64)>,
    spans: VecDeque<Span>,
    reads: HashMap<u32, Landing>,
    answers: usize,
    has_left: bool,
    /// The peer waits for the acknowledgement of what has just come.
    must_answer: bool,
}

/// A link.
pub struct Link {
    pipe: Pipe,
    rest: Rest,
    next_read: u32,
    /// A write of which a part is copied: its arguments, and how much.
    begun: Option<((u64, usize, usize), usize)>,
    /// The packet with the last piece of the last write behind which a frame goes.
    end: Option<u32>,
    is_seed: bool,
}

impl Link {
    /// A link without anything under way.
    pub fn new(terms: Terms, now: u64) -> Link {
        let most = terms.most.min(usize::from(u16::MAX));
        let pipe = Pipe::new(Terms { most, ..terms }, now);
        Link { pipe, rest: Rest::default(), next_read: 0, begun: None, end: None, is_seed: terms.mode.is_seed }
    }

    /// The way to the peer.
    pub fn pipe(&mut self) -> &mut Pipe {
        &mut self.pipe
    }

    /// The most bytes of a datagram.
    pub fn most(&self) -> usize {
        HEAD + self.pipe.capacity()
    }

    /// The peer has said that it leaves.
    pub fn has_left(&self) -> bool {
        self.rest.has_left
    }

    /// Something waits that only work on the link can move.
    pub fn is_busy(&self) -> bool {
        self.pipe.is_busy() || !self.rest.bulk.is_empty() || !self.rest.reads.is_empty()
    }

    /// True if nothing was said for long. Then memory that is not used is given back.
    pub fn rests(&mut self) -> bool {
        let rests = std::mem::take(&mut self.pipe.is_silent) && !self.is_busy();
        if rests {
            self.pipe.rest();
            let Rest { bulk, dones, spans, reads, .. } = &mut self.rest;
            bulk.shrink_to_fit();
            dones.shrink_to_fit();
            spans.shrink_to_fit();
            reads.shrink_to_fit();
        }
        rests
    }

    /// Everything that was posted is processed at the peer.
    pub fn is_clear(&self) -> bool {
        !self.pipe.is_busy() && self.rest.bulk.is_empty()
    }

    fn has_room(&mut self) -> bool {
        self.pipe.waiting() < PACKETS && self.pipe.out().bytes() < BYTES
    }

    /// Adds an item among others, in their order.
    fn add(&mut self, item: &[&[u8]]) -> u32 {
        let (most, is_end) = (self.pipe.capacity(), self.is_end());
        self.pipe.out().add(item, most, |packet| !is_alone(packet) && (is_end || !is_large_write(packet)))
    }

    /// The packet at the end has room for a frame (rule 1).
    fn is_end(&mut self) -> bool {
        self.end == Some(self.pipe.out().last_number())
    }

    /// A packet of `size` bytes follows. If the one in front of it is the end of a Long and hardly shorter, it gets its size, so that both can
    /// go in one call. Longs of 64 KiB take 1.5 calls instead of 2.6, and 22 µs of processor time on both sides together instead of 30 (loopback
    /// of a loaded EPYC VM, medians of seven pairs of runs in turns, 2026-11).
    fn even_out(&mut self, size: usize) {
        if !self.is_end() {
            return;
        }
        let short = self.pipe.out().unsent().map_or(0, |packet| size.saturating_sub(packet.len()));
        if (FRAME_HEAD..=FOLLOWER).contains(&short) {
            let none = [0; FOLLOWER];
            self.add(&[&head(PAD, short - FRAME_HEAD), &none[..short - FRAME_HEAD]]);
        }
    }

    /// Posts a frame. False: there is no room.
    pub fn post(&mut self, frame: &[u8]) -> bool {
        let has_room = self.has_room();
        if has_room {
            self.add(&[&head(FRAME, frame.len()), frame]);
        }
        has_room
    }

    /// Says that this node leaves.
    pub fn say_goodbye(&mut self) {
        self.add(&[&head(BYE, 0)]);
    }

    /// Makes packets of a write as far as there is room. True: of all of it. `lasting`: its memory stays as it is until `done`; else it is
    /// copied.
    pub fn write_in_order(&mut self, offset: u64, from: *const u8, len: usize, lasting: bool, done: Done) -> bool {
        let call = (offset, from.addr(), len);
        let mut at = self.begun.filter(|(begun, _)| *begun == call).map_or(0, |(_, at)| at);
        while at < len && self.has_room() {
            let most = self.pipe.capacity() - WRITE_HEAD;
            let is_followed = !lasting && done.is_none() && len > most && !self.is_seed;
            let Range { start, end } = if is_followed { cut_for_follower(len, at, most) } else { cut(len, at, most) };
            let (piece, memory) = (end - start, Memory { at: from.wrapping_add(start), len: end - start });
            // SAFETY: the caller promises `len` readable bytes until this returns true.
            let bytes = unsafe { std::slice::from_raw_parts(memory.at, piece) };
            let target = offset + start as u64;
            let is_last = end == len;
            let kind = self.kind_of_write(offset + at as u64, end - at);
            let kind = if is_last && is_followed { WRITE } else { kind };
            let done = done.filter(|_| is_last);
            let head = head_of_write(kind, piece, done);
            if is_followed {
                self.even_out(WRITE_HEAD + piece);
            }
            let number = match kind {
                _ if lasting && piece >= SMALL => {
                    let own = [&head[..], &target.to_le_bytes()].concat();
                    self.pipe.push(own, Some(memory))
                }
                WRITE if piece < SMALL => self.add(&[&head, &target.to_le_bytes(), bytes]),
                _ => self.pipe.out().push_parts(&[&head, &target.to_le_bytes(), bytes]),
            };
            self.note(number, offset + at as u64, end - at, done);
            at = end;
            if is_last && is_followed {
                self.end = Some(number);
                self.pipe.out().grows();
            }
        }
        self.begun = (at < len).then_some((call, at));
        at == len
    }

    /// Rule 1.
    fn kind_of_write(&mut self, offset: u64, len: usize) -> u8 {
        if len < SMALL || self.rest.spans.len() >= SPANS {
            return WRITE;
        }
        let end = offset + len as u64;
        let overlaps = self.rest.spans.iter().any(|span| span.from < end && offset < span.to);
        if overlaps { WRITE } else { LOOSE }
    }

    fn note(&mut self, number: u32, offset: u64, len: usize, done: Done) {
        let end = offset + len as u64;
        let known = self.rest.spans.len();
        match self.rest.spans.back_mut() {
            // Pieces of one write follow each other.
            Some(span) if span.to == offset => (span.last, span.to) = (number, end),
            _ if known < SPANS => self.rest.spans.push_back(Span { last: number, from: offset, to: end }),
            Some(span) => (span.last, span.from, span.to) = (number, span.from.min(offset), span.to.max(end)),
            None => {}
        }
        self.rest.dones.extend(done.map(|done| (number, done)));
    }

    /// Writes memory that stays as it is until `done`. False: too many are under way.
    pub fn write_later(&mut self, offset: u64, from: *const u8, len: usize, done: Done) -> bool {
        if len < SMALL && self.rest.bulk.is_empty() && self.has_room() {
            return self.write_in_order(offset, from, len, false, done);
        }
        let is_taken = self.rest.bulk.len() < UNDER_WAY;
        if is_taken {
            let (memory, to) = (Memory { at: from, len }, Target::Segment(offset, done));
            self.rest.bulk.push_back(Bulk { memory, gone: 0, to });
            self.feed();
        }
        is_taken
    }

    /// Asks for bytes. False: too many are under way.
    pub fn read(&mut self, offset: u64, to: *mut u8, len: usize, done: &'static AtomicU64) -> bool {
        if self.rest.reads.len() >= UNDER_WAY || !self.has_room() {
            return false;
        }
        let number = self.next_read;
        self.next_read = number.wrapping_add(1);
        self.rest.reads.insert(number, Landing { to: Memory { at: to, len }, left: len, done });
        let numbers = [&number.to_le_bytes()[..], &offset.to_le_bytes(), &(len as u64).to_le_bytes()];
        self.add(&[&head(READ, 0), numbers[0], numbers[1], numbers[2]]);
        true
    }

    /// Makes packets of large transfers, as far as there is room.
    fn feed(&mut self) {
        while self.pipe.waiting() < BULK_PACKETS
            && let Some(Bulk { memory: Memory { at, len }, gone, to }) = self.rest.bulk.pop_front()
        {
            let most = self.pipe.capacity();
            let Range { start, end } = match to {
                Target::Segment(..) => cut(len, gone, most - WRITE_HEAD),
                Target::Reader(_) => gone..len.min(gone + most - DATA_HEAD),
            };
            let piece = Memory { at: at.wrapping_add(start), len: end - start };
            match to {
                Target::Segment(offset, done) => {
                    let last = done.filter(|_| end == len);
                    let new = offset + gone as u64;
                    let head = head_of_write(self.kind_of_write(new, end - gone), piece.len, last);
                    let own = [&head[..], &(offset + start as u64).to_le_bytes()].concat();
                    let number = self.pipe.push(own, Some(piece));
                    self.note(number, new, end - gone, last);
                }
                Target::Reader(number) => {
                    let head = head(DATA, piece.len);
                    let own = [&head[..], &number.to_le_bytes(), &(start as u64).to_le_bytes()].concat();
                    self.pipe.push(own, Some(piece));
                    self.rest.answers -= usize::from(end == len);
                }
            }
            if end < len {
                self.rest.bulk.push_front(Bulk { memory: Memory { at, len }, gone: end, to });
            }
        }
    }

    /// A datagram of the peer's has come. The error says what is wrong with it.
    pub fn on_datagram(&mut self, now: u64, datagram: &mut [u8], peer: u32, sink: &dyn Sink) -> Result<(), String> {
        let mut taker = Taker { rest: &mut self.rest, peer, sink, wrong: None };
        self.pipe.on_datagram(now, datagram, &mut taker);
        if let Some(wrong) = taker.wrong {
            return Err(wrong);
        }
        if std::mem::take(&mut self.rest.must_answer) {
            self.pipe.acknowledge_now();
        }
        self.settle();
        Ok(())
    }

    /// After acknowledgements: tells who waits for writes, and makes room.
    fn settle(&mut self) {
        let first = self.pipe.done();
        let is_done = |last: u32| ahead(last, first) < 0;
        while let Some((last, done)) = self.rest.dones.front()
            && is_done(*last)
        {
            // ORDERING: Release ↔ Acquire of a reader of the count: the peer has the bytes in place.
            done.fetch_add(1, Ordering::Release);
            self.rest.dones.pop_front();
        }
        while self.rest.spans.front().is_some_and(|span| is_done(span.last)) {
            self.rest.spans.pop_front();
        }
        self.feed();
    }
}

/// A packet with one item, which may be processed before others.
fn is_alone(packet: &[u8]) -> bool {
    packet.first().is_some_and(|kind| [LOOSE, DATA].contains(kind))
}

/// A packet that begins with a piece of a long write.
fn is_large_write(packet: &[u8]) -> bool {
    matches!(packet, [WRITE, _, low, high, ..] if usize::from(u16::from_le_bytes([*low, *high])) >= SMALL)
}

/// The head of a write. Who is told of its end (`done`) may wait for it: a put of 8 bytes took 1,019 µs on the loopback, while its
/// acknowledgement was held back, and takes 12, as long as a message there and back, with one that is not (EPYC VM, 2026-11).
fn head_of_write(kind: u8, len: usize, done: Done) -> [u8; FRAME_HEAD] {
    let [kind, _, low, high] = head(kind, len);
    [kind, done.is_some().into(), low, high]
}

fn head(kind: u8, len: usize) -> [u8; FRAME_HEAD] {
    let [low, high] = (len as u16).to_le_bytes();
    [kind, 0, low, high]
}

fn long(bytes: &[u8]) -> Option<(u64, &[u8])> {
    bytes.split_first_chunk().map(|(eight, rest)| (u64::from_le_bytes(*eight), rest))
}

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(four, rest)| (u32::from_le_bytes(*four), rest))
}

/// Takes packets for a link.
struct Taker<'a> {
    rest: &'a mut Rest,
    peer: u32,
    sink: &'a dyn Sink,
    wrong: Option<String>,
}

impl Taker<'_> {
    /// Processes one item. Returns what follows it; `None`: no sender of ours sends this.
    fn item<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let ([kind, asks, low, high], rest) = bytes.split_first_chunk::<FRAME_HEAD>()?;
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        match *kind {
            FRAME => {
                let (frame, rest) = rest.split_at_checked(len)?;
                if frame.is_empty() {
                    return None;
                }
                self.sink.frame(self.peer, frame);
                Some(rest)
            }
            WRITE | LOOSE => {
                self.rest.must_answer |= *asks == 1;
                let (offset, rest) = long(rest)?;
                let (bytes, rest) = rest.split_at_checked(len)?;
                let place = self.sink.place(self.peer, offset, len, true)?;
                // SAFETY: the sink says that the peer may write there; the datagram lies elsewhere.
                unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), len) };
                self.sink.written(offset);
                Some(rest)
            }
            READ => {
                let (number, rest) = word(rest)?;
                let (offset, rest) = long(rest)?;
                let (len, rest) = long(rest)?;
                let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
                let place = self.sink.place(self.peer, offset, len, false)?;
                if self.rest.answers >= UNDER_WAY {
                    return None;
                }
                self.rest.answers += 1;
                let (memory, to) = (Memory { at: place, len }, Target::Reader(number));
                self.rest.bulk.push_back(Bulk { memory, gone: 0, to });
                Some(rest)
            }
            DATA => {
                let (number, rest) = word(rest)?;
                let (place, rest) = long(rest)?;
                let (bytes, rest) = rest.split_at_checked(len)?;
                let landing = self.rest.reads.get_mut(&number)?;
                let place = usize::try_from(place).ok()?;
                let is_inside = place.checked_add(len)? <= landing.to.len && len <= landing.left && len > 0;
                if !is_inside {
                    return None;
                }
                let to = landing.to.at.cast_mut().wrapping_add(place);
                // SAFETY: inside the memory that the reader keeps writable until the read is complete.
                unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), len) };
                landing.left -= len;
                if landing.left == 0 {
                    // ORDERING: Release ↔ Acquire of a reader of the count: it sees the bytes.
                    landing.done.fetch_add(1, Ordering::Release);
                    self.rest.reads.remove(&number);
                }
                Some(rest)
            }
            PAD => rest.split_at_checked(len).map(|(_, rest)| rest),
            BYE => {
                if !std::mem::replace(&mut self.rest.has_left, true) {
                    self.rest.must_answer = true; // the peer waits for that, and this node may end
                    self.sink.left(self.peer);
                }
                Some(rest)
            }
            _ => None,
        }
    }
}

impl Take for Taker<'_> {
    fn is_loose(&self, packet: &[u8]) -> bool {
        is_alone(packet)
    }

    fn take(&mut self, packet: &[u8]) {
        let mut left = packet;
        while !left.is_empty() && self.wrong.is_none() {
            match self.item(left) {
                Some(rest) => left = rest,
                None => {
                    self.wrong = Some(format!("it sent an item of {} bytes that this library never sends", left.len()))
                }
            }
        }
    }

    fn has_room(&self) -> bool {
        true
    }
}
