//! Moving bytes between two members, or from one to several: a [`Send`] and its [`Recv`]s, which take steps.
//!
//! The sender's message says how the bytes come; its head holds that way and, above it, a count:
//! - `INLINE`: they are in the message.
//! - `AHEAD`: in a part of the sender's stage that is this sequence number's. The sender is done at once, and nobody answers:
//!   the part is used again when all members have retired the number, which their credit says (rule 5 of `cells.rs`). Where
//!   it does not say so yet, bytes go another way, whose answers the sender waits for.
//! - `PULL`: at an address in the sender's segment; each receiver reads them and answers.
//! - `STAGED`: chunk by chunk through a stage buffer of the sender; the head counts chunks filled, answers count chunks read.
//! - `BY_AM`: the receiver tells an address, the sender sends Mediums there; the head counts 1 when all are sent.
//! - `PUSHED`: the receiver had told an address in its segment, and there they are.
//!
//! Which one is the sender's choice, except that everything too long for a message goes `BY_AM` where words travel as
//! messages too, and that a `Send` made to push waits for the receiver's address, which a `Recv` made to be pushed tells.

#![allow(unsafe_code)] // client memory and mapped regions

use super::Mapped;
use super::area::{CHUNK, CHUNKS, part};
use super::cells::{WORDS, Word};
use super::landing::Landings;
use super::phase::Phase;
use super::recv::Recv;
use super::select::{AHEAD_MAPPED, INLINE};
use super::span::{Buffer, Span};
use crate::am::corrupt::corrupt;
use crate::am::library::COLL_DATA;
use crate::am::region::{LINE, MAX_MEDIUM};
use crate::am::source::{Args, Source};
use crate::sci::{LocalMap, RemoteMap, RemoteRead};
use std::future::poll_fn;
use std::task::Poll;

pub(super) const HOW_INLINE: u32 = 1;
pub(super) const HOW_PULL: u32 = 2;
pub(super) const HOW_STAGED: u32 = 3;
pub(super) const HOW_BY_AM: u32 = 4;
pub(super) const HOW_PUSHED: u32 = 5;
pub(super) const HOW_AHEAD: u32 = 6;
/// Bits of a head that say how the bytes come.
pub(super) const HOW_BITS: u32 = 3;

/// Sends bytes, [`INLINE`] at most, in a message to each of `to`.
#[inline]
pub fn send_inline<A: Mapped>(phase: &Phase<'_, A>, to: impl Iterator<Item = usize>, from: &Span) {
    let mut words = [0; WORDS];
    let count = from.words(&mut words);
    to.for_each(|to| phase.send(to, HOW_INLINE, &words[..count]));
}

/// Bytes that one step moves at most, so that a poll returns soon (about 50 µs).
pub(super) const STEP: usize = 512 << 10;

/// The receivers.
#[derive(Clone)]
pub enum To {
    /// One member; others are sent to in the same phase.
    One(usize),
    /// One member, and nobody else in this phase.
    Only(usize),
    /// All others.
    Others,
    /// These.
    List(Vec<usize>),
}

enum State {
    Begin,
    /// Waits for the answers of receivers number `.0` and above.
    Answers(usize),
    /// Filled chunks; the buffer.
    Stage {
        buffer: usize,
        filled: usize,
    },
    /// Waits for the landing of receivers number `.0` and above; bytes sent to that one.
    ByAm {
        receiver: usize,
        sent: usize,
        whole: Option<Buffer>,
    },
    Push {
        written: usize,
    },
    Done,
}

/// The sending side.
pub struct Send<'a, A: Mapped> {
    phase: Phase<'a, A>,
    to: To,
    from: Span,
    push: bool,
    state: State,
}

impl<A: Mapped> Drop for Send<'_, A> {
    fn drop(&mut self) {
        if let State::Stage { buffer, .. } = self.state {
            self.phase.cx.coll.stage.give(buffer);
        }
    }
}

impl<'a, A: Mapped> Send<'a, A> {
    /// Sends all bytes of `from` to each of `to`.
    pub fn new(phase: Phase<'a, A>, to: To, from: Span) -> Self {
        Send { phase, to, from, push: false, state: State::Begin }
    }

    /// Sends to one member, whose [`Recv::landed`] says where to.
    pub fn push(phase: Phase<'a, A>, to: usize, from: Span) -> Self {
        Send { phase, to: To::One(to), from, push: true, state: State::Begin }
    }

    fn receivers(&self) -> usize {
        match &self.to {
            To::One(_) | To::Only(_) => 1,
            To::Others => self.phase.cx.members() - 1,
            To::List(list) => list.len(),
        }
    }

    fn receiver(&self, index: usize) -> usize {
        match &self.to {
            To::One(to) | To::Only(to) => *to,
            To::Others => (self.phase.cx.me() + 1 + index) % self.phase.cx.members(),
            To::List(list) => list[index],
        }
    }

    fn send_all(&self, head: u32, body: &[u64]) {
        for i in 0..self.receivers() {
            self.phase.send(self.receiver(i), head, body);
        }
    }

    fn update_all(&self, head: u32) {
        for i in 0..self.receivers() {
            self.phase.update(self.receiver(i), head);
        }
    }

    /// Takes as many steps as it can. True when every receiver has the bytes, or when they are where the memory of `from` is
    /// not needed.
    pub fn step(&mut self) -> bool {
        loop {
            let went = match &self.state {
                State::Begin => self.begin(),
                State::Answers(next) => {
                    let next = *next;
                    self.answers(next)
                }
                State::Stage { .. } => self.fill(),
                State::ByAm { .. } => self.send_mediums(),
                State::Push { .. } => self.write(),
                State::Done => return true,
            };
            if !went {
                return false;
            }
        }
    }

    fn begin(&mut self) -> bool {
        let coll = self.phase.cx.coll;
        let len = self.from.len();
        if self.receivers() == 0 {
            self.state = State::Done; // nothing is copied for nobody
            return true;
        }
        if len <= INLINE {
            send_inline(&self.phase, (0..self.receivers()).map(|i| self.receiver(i)), &self.from);
            self.state = State::Done;
            return true;
        }
        if !coll.direct {
            self.state = State::ByAm { receiver: 0, sent: 0, whole: None };
            return true;
        }
        if self.push {
            let Some(address) = self.phase.cx.team.cells.landing(self.phase.seq, self.receiver(0)) else {
                return false;
            };
            if address != 0 {
                self.state = State::Push { written: 0 };
                return true;
            }
        }
        let mapped = self.from.address().filter(|a| coll.is_mapped(*a, len));
        let ahead = mapped.is_none() || len <= AHEAD_MAPPED;
        if let Some(part) = ahead.then(|| self.ahead()).flatten() {
            // SAFETY: the part belongs to this number, which is in use, so nobody reads the part's old bytes.
            unsafe { self.from.read(0, coll.region.ptr(part), len) };
            self.send_all(HOW_AHEAD, &[part as u64]);
            self.state = State::Done;
        } else if let Some(address) = mapped {
            self.send_all(HOW_PULL, &[address as u64]);
            self.state = State::Answers(0);
        } else if let Some(buffer) = coll.stage.take() {
            self.state = State::Stage { buffer, filled: 0 };
        } else {
            self.send_all(HOW_BY_AM, &[]);
            self.state = State::ByAm { receiver: 0, sent: 0, whole: None };
        }
        true
    }

    /// Where the bytes may lie in our region until the number is retired by all, if they fit.
    fn ahead(&self) -> Option<usize> {
        let (coll, team) = (self.phase.cx.coll, &self.phase.cx.team);
        let (begin, len) = part(team.cells.window(), self.phase.seq);
        let (index, room) = match self.to {
            // Several in one phase share the part.
            To::One(to) => (to, len / self.phase.cx.members() / LINE * LINE),
            _ => (0, len),
        };
        if self.from.len() > room || !team.is_part_free(self.phase.seq) {
            return None;
        }
        Some(coll.area.buffer(team.kept.get(&coll.stage)?) + begin + index * room)
    }

    fn answers(&mut self, mut next: usize) -> bool {
        while next < self.receivers() && self.phase.told(self.receiver(next), Word::Taken).is_some() {
            next += 1;
        }
        let done = next == self.receivers();
        self.state = if done { State::Done } else { State::Answers(next) };
        done
    }

    /// Fills free chunks; done when all receivers have read the last one.
    fn fill(&mut self) -> bool {
        let State::Stage { buffer, filled } = self.state else { return false };
        let chunks = self.from.len().div_ceil(CHUNK);
        let mut read = chunks;
        for receiver in (0..self.receivers()).map(|i| self.receiver(i)) {
            let taken = self.phase.told(receiver, Word::Taken).unwrap_or(0) as usize;
            if taken > filled {
                self.phase.corrupt(receiver, "more taken from a collective's stage than there was");
            }
            read = read.min(taken);
        }
        if read == chunks {
            self.state = State::Done;
            self.phase.cx.coll.stage.give(buffer);
            return true;
        }
        let mut now = filled;
        while now < chunks && now < read + CHUNKS {
            let at = now * CHUNK;
            let target = self.phase.cx.coll.region.ptr(self.phase.chunk(buffer, now % CHUNKS));
            // SAFETY: the chunk is ours: taken, and read by all (rule of `filled` and `read`).
            unsafe { self.from.read(at, target, CHUNK.min(self.from.len() - at)) };
            now += 1;
            let head = HOW_STAGED | (now as u32) << HOW_BITS;
            match now {
                1 => self.send_all(head, &[self.phase.chunk(buffer, 0) as u64]),
                _ => self.update_all(head),
            }
        }
        if now > filled {
            self.phase.cx.coll.moved();
        }
        self.state = State::Stage { buffer, filled: now };
        false
    }

    fn write(&mut self) -> bool {
        let State::Push { written } = self.state else { return false };
        let (cx, to) = (self.phase.cx, self.receiver(0));
        let address = cx.team.cells.landing(self.phase.seq, to).unwrap_or(0);
        let n = STEP.min(self.from.len() - written);
        let rank = cx.team.cells.rank(to);
        let map =
            cx.coll.am.payloads().map(rank).filter(|_| cx.coll.am.payloads().holds(rank, address, self.from.len()));
        let Some((map, base)) = map else { self.phase.corrupt(to, "a collective's landing outside the segment") };
        self.from.fill(written, n, |piece, at, n| {
            // SAFETY: the span's maker promised that the piece is readable.
            let result = unsafe { map.write(address - base + written + at, piece as *const u8, n) };
            debug_assert!(result.is_ok(), "the landing was checked");
        });
        cx.coll.moved();
        if written + n == self.from.len() {
            self.phase.send(to, HOW_PUSHED, &[]);
            self.state = State::Done;
            return true;
        }
        self.state = State::Push { written: written + n };
        false
    }

    /// To one receiver after the other.
    fn send_mediums(&mut self) -> bool {
        let state = std::mem::replace(&mut self.state, State::Done);
        let State::ByAm { mut receiver, mut sent, whole } = state else { return false };
        let whole = whole.or_else(|| self.from.address().is_none().then(|| gathered(&self.from)));
        let from = whole.as_ref().map_or_else(|| self.from.clone(), Span::of);
        let mut budget = STEP;
        while receiver < self.receivers() && budget > 0 {
            let to = self.receiver(receiver);
            let landing = self.phase.cx.team.cells.landing(self.phase.seq, to);
            let Some(address) = landing.filter(|a| *a != 0) else { break };
            let n = MAX_MEDIUM.min(from.len() - sent);
            self.medium(to, address + sent, &from.part(sent, n));
            self.phase.cx.coll.moved();
            sent += n;
            budget = budget.saturating_sub(n);
            if sent == from.len() {
                // As a message too: it follows the Mediums, and no store overtakes them.
                let head = HOW_BY_AM | 1 << HOW_BITS;
                self.phase.cx.team.cells.send_behind(self.phase.cx.coll.am, to, self.phase.seq, head);
                (receiver, sent) = (receiver + 1, 0);
            }
        }
        let done = receiver == self.receivers();
        if !done {
            self.state = State::ByAm { receiver, sent, whole };
        }
        done
    }

    fn medium(&self, to: usize, address: usize, from: &Span) {
        let place = [address as u64];
        // SAFETY: one readable word.
        let args = unsafe { Args::from_raw(place.as_ptr(), 2) };
        // SAFETY: the span's maker promised that it is readable; it is in one piece.
        let source = unsafe { Source::new(from.address().unwrap_or(0) as *const u8, from.len()) };
        let rank = self.phase.cx.team.cells.rank(to);
        if let Err(error) = self.phase.cx.coll.am.request_medium(rank, COLL_DATA, source, args) {
            crate::base::fatal(format_args!("collective: {error}"));
        }
    }
}

/// At the receiver of bytes that travel as messages.
pub fn on_data(landings: &Landings, source: u32, address: usize, bytes: Source) {
    // SAFETY: called only for memory that a receiver wants filled, and that it keeps until the landing is closed.
    let put = || unsafe { bytes.move_to(address as *mut u8) };
    if !landings.land(source, address, bytes.len(), put) {
        corrupt(source, "bytes of a collective that were not asked for");
    }
}

/// A copy of it in one piece.
fn gathered(span: &Span) -> Buffer {
    let buffer = Buffer::new(span.len());
    Span::of(&buffer).copy_from(span);
    buffer
}

/// Lets all of them take steps until all receivers have their bytes; senders may not be done.
pub async fn arrived<A: Mapped>(sends: &mut Vec<Send<'_, A>>, recvs: &mut [Recv<'_, A>]) {
    sends.retain_mut(|send| !send.step());
    recvs.iter_mut().for_each(Recv::announce);
    let mut missing: Vec<_> = recvs.iter_mut().collect();
    poll_fn(|_| {
        missing.retain_mut(|recv| !recv.step());
        sends.retain_mut(|send| !send.step());
        if missing.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await
}

/// The place, as memory here, where `to` wants `len` bytes; `to` has a [`Recv::landed`] for them. `None`: they must be sent.
pub async fn landing<A: Mapped>(phase: Phase<'_, A>, to: usize, len: usize) -> Option<Span> {
    let cx = phase.cx;
    if !cx.coll.direct {
        return None;
    }
    super::phase::until(|| cx.team.cells.landing(phase.seq, to).is_some()).await;
    let address = cx.team.cells.landing(phase.seq, to).filter(|address| *address != 0)?;
    let rank = cx.team.cells.rank(to);
    let payloads = cx.coll.am.payloads();
    let Some((map, base)) = payloads.map(rank).filter(|_| payloads.holds(rank, address, len)) else {
        phase.corrupt(to, "a collective's landing outside the segment")
    };
    // SAFETY: inside the map, which lives as long as the job; the receiver said that it is to be written.
    map.memory().map(|memory| unsafe { Span::one(memory as usize + (address - base), len) })
}

/// Tells `to` that its bytes are where it wanted them.
pub fn pushed<A: Mapped>(phase: Phase<'_, A>, to: usize) {
    phase.send(to, HOW_PUSHED, &[]);
}

/// Runs all of them until all are done. Does `work` as soon as each has taken its first step.
pub async fn all<A: Mapped>(mut sends: Vec<Send<'_, A>>, mut recvs: Vec<Recv<'_, A>>, work: impl FnOnce()) {
    sends.retain_mut(|send| !send.step());
    recvs.iter_mut().for_each(Recv::announce);
    work();
    poll_fn(|_| {
        recvs.retain_mut(|recv| !recv.step());
        sends.retain_mut(|send| !send.step());
        if sends.is_empty() && recvs.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await
}

/// Sends, until it is done.
pub async fn send<A: Mapped>(send: Send<'_, A>) {
    send_beside(send, || ()).await
}

/// Sends, and does `work` while the receivers read.
pub async fn send_beside<A: Mapped>(mut send: Send<'_, A>, work: impl FnOnce()) {
    let done = send.step();
    work();
    if !done {
        super::phase::until(|| send.step()).await
    }
}

/// Receives, until it is done.
pub async fn recv<A: Mapped>(mut recv: Recv<'_, A>) {
    super::phase::until(|| recv.step()).await
}
