//! Moves bytes between two members, or from one to several. A [`Send`] and its [`Recv`]s take steps.
//!
//! The sender chooses one of the ways (`ways.rs`), with two exceptions. To members to whom words travel as messages,
//! everything that is too long for one message goes `BY_AM`, without a word before. A `Send` that is made to push waits for the address that its `Recv`, made
//! to be pushed, gives.
//!
//! Must not know: which collective moves, and why.

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::{CHUNK, CHUNKS, part};
use super::cells::{WORDS, Word};
use super::phase::Phase;
use super::recv::Recv;
use super::select::{AHEAD_MAPPED, INLINE};
use super::span::{Buffer, Span};
use super::ways::{HOW_AHEAD, HOW_BITS, HOW_BY_AM, HOW_INLINE, HOW_PULL, HOW_PUSHED, HOW_STAGED, STEP};
use crate::am::library::COLL_DATA;
use crate::am::region::{LINE, MAX_MEDIUM};
use crate::am::source::{Args, Source};
use crate::sci::Mapped;
use crate::sci::{LocalMap, RemoteMap, RemoteRead};
use crate::trace::{self, TracedOp};
use std::future::poll_fn;
use std::task::Poll;

/// Sends at most [`INLINE`] bytes in one message to each of `to`.
#[inline]
pub fn send_inline<A: Mapped>(phase: &Phase<'_, A>, to: impl Iterator<Item = usize>, from: &Span) {
    let mut words = [0; WORDS];
    let count = from.words(&mut words);
    to.for_each(|to| phase.send(to, HOW_INLINE, &words[..count]));
}

/// The receivers.
#[derive(Clone)]
pub enum To {
    /// One member. The same phase sends to others too.
    One(usize),
    /// One member. The phase sends to no other.
    Only(usize),
    /// All other members.
    Others,
    /// These members.
    List(Vec<usize>),
}

enum State {
    Begin,
    /// Waits for the answers of receivers number `.0` and above.
    Answers(usize),
    /// The number of filled chunks, and the buffer.
    Stage {
        buffer: usize,
        filled: usize,
    },
    /// Waits for the landing of receivers number `.0` and above. Also the bytes that were sent to that one.
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

    /// Sends to one member. Its [`Recv::landed`] gives the address.
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

    /// True if all receivers' memory is mapped. If it is for some only, these have been told that messages come.
    fn maps_all(&self) -> bool {
        let cx = self.phase.cx;
        if cx.team.direct {
            return true;
        }
        let near = || (0..self.receivers()).map(|i| self.receiver(i)).filter(|to| cx.team.cells.maps(*to));
        let all = near().count() == self.receivers();
        if !all {
            near().for_each(|to| self.phase.send(to, HOW_BY_AM, &[]));
        }
        all
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

    /// Takes as many steps as possible. True when every receiver has the bytes, or when they are no longer needed in
    /// the memory of `from`.
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
            self.state = State::Done; // without receivers nothing is copied
            return true;
        }
        if len <= INLINE {
            send_inline(&self.phase, (0..self.receivers()).map(|i| self.receiver(i)), &self.from);
            self.state = State::Done;
            return true;
        }
        if !self.maps_all() {
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
            // SAFETY: the part belongs to this number, which is usable, so no member reads the part's old bytes.
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

    /// The place in our region where the bytes may stay until all members have retired the number; `None` if they do
    /// not fit or the part is not free.
    fn ahead(&self) -> Option<usize> {
        let (coll, team) = (self.phase.cx.coll, &self.phase.cx.team);
        let (begin, len) = part(team.cells.window(), self.phase.seq);
        let (index, room) = match self.to {
            // If a phase sends to several members, they share the part.
            To::One(to) => (to, len / self.phase.cx.members() / LINE * LINE),
            _ => (0, len),
        };
        if self.from.len() > room || !team.is_part_free(self.phase.seq) {
            return None;
        }
        Some(coll.area.buffer(team.kept.get(&coll.stage)?) + begin + index * room)
    }

    fn answers(&mut self, mut next: usize) -> bool {
        while next < self.receivers() && self.phase.answered(self.receiver(next), Word::Taken).is_some() {
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
            let taken = self.phase.answered(receiver, Word::Taken).unwrap_or(0) as usize;
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
            // SAFETY: the chunk belongs to us: the buffer is taken, and all receivers have read its last
            // content, as the counts above show.
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
        let mapped = cx.coll.am.table().mapped(rank, address, self.from.len());
        let Some((map, offset)) = mapped else { self.phase.corrupt(to, "a collective's landing outside the segment") };
        trace::event(TracedOp::CollMove, rank, n);
        self.from.fill(written, n, |piece, at, n| {
            // SAFETY: the span's maker promised that the piece is readable.
            let result = unsafe { map.write(offset + written + at, piece as *const u8, n) };
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

    /// Sends Mediums to one receiver after the other.
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
                // A message too: it arrives behind the Mediums, which a store could overtake.
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
        // SAFETY: one readable word, which holds two arguments.
        let args = unsafe { Args::from_raw(place.as_ptr(), 2) };
        // SAFETY: the span's maker promised that it is readable; it is in one piece.
        let source = unsafe { Source::new(from.address().unwrap_or(0) as *const u8, from.len()) };
        let rank = self.phase.cx.team.cells.rank(to);
        trace::event(TracedOp::CollMove, rank, from.len());
        if let Err(error) = self.phase.cx.coll.am.request_medium(rank, COLL_DATA, source, args) {
            crate::base::fatal(format_args!("collective: {error}"));
        }
    }
}

/// A copy of the span in one piece.
fn gathered(span: &Span) -> Buffer {
    let buffer = Buffer::new(span.len());
    Span::of(&buffer).copy_from(span);
    buffer
}

/// Lets all of them take steps until all receivers have their bytes. Senders may still be waiting for answers then.
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

/// The memory, as mapped here, where `to` wants `len` bytes, which the caller writes; `to` has a [`Recv::landed`] for them. `None`: send them
/// instead.
pub async fn landing<A: Mapped>(phase: Phase<'_, A>, to: usize, len: usize) -> Option<Span> {
    let cx = phase.cx;
    if !phase.maps(to) {
        return None;
    }
    super::phase::until(|| cx.team.cells.landing(phase.seq, to).is_some()).await;
    let address = cx.team.cells.landing(phase.seq, to).filter(|address| *address != 0)?;
    let rank = cx.team.cells.rank(to);
    let Some((map, offset)) = cx.coll.am.table().mapped(rank, address, len) else {
        phase.corrupt(to, "a collective's landing outside the segment")
    };
    // SAFETY: inside the map, which lives as long as the job; the receiver has asked for bytes there.
    let there = map.memory().map(|memory| unsafe { Span::one(memory as usize + offset, len) })?;
    trace::event(TracedOp::CollMove, rank, len);
    Some(there)
}

/// Tells `to` that its bytes are at the address that it gave.
pub fn pushed<A: Mapped>(phase: Phase<'_, A>, to: usize) {
    phase.send(to, HOW_PUSHED, &[]);
}

/// Lets all of them take steps until all are done. Calls `work` as soon as each has taken its first step.
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

/// Lets the sender take steps until it is done.
pub async fn send<A: Mapped>(send: Send<'_, A>) {
    send_beside(send, || ()).await
}

/// Sends, and calls `work` while the receivers read.
pub async fn send_beside<A: Mapped>(mut send: Send<'_, A>, work: impl FnOnce()) {
    let done = send.step();
    work();
    if !done {
        super::phase::until(|| send.step()).await
    }
}

/// Lets the receiver take steps until it is done.
pub async fn recv<A: Mapped>(mut recv: Recv<'_, A>) {
    super::phase::until(|| recv.step()).await
}
