//! What comes from one peer: the records of its ring here, each checked before it is believed.
//!
//! Must not know: how this node sends.

#![allow(unsafe_code)] // shared memory, memory of clients

use super::super::wire::{Lost, Sink};
use super::ground::Ground;
use super::layout::{FRAME, HEAD_BYTES, Head, Kind, LINE, Line, STAMPED, Word, begins, may_begin};
use super::outlet::Outlet;
use crate::os::lock::{Guard, Lock};
use crate::sync::{Ordering, fence};

/// See the head of this file.
#[derive(Default)]
pub struct Inlet {
    /// Bytes that were taken out of the ring, and of these how many the peer knows of: it may fill a ring from there on.
    taken: u64,
    told: u64,
    /// The peer must know soon.
    must_tell: bool,
    /// It has shown its token.
    is_known: bool,
    /// It was told to the sink that the peer is lost or has left.
    pub is_over: bool,
}

/// What a look at a peer's ring has brought.
#[derive(Default)]
pub struct Received {
    /// Records were taken.
    pub came: bool,
    /// The outlet was used, so it may have something to do. Frames and writes alone do not use it: then its lock is not asked for.
    pub has_used_outlet: bool,
}

impl Inlet {
    /// The first line of the next record. `None`: it has not come.
    fn line(&self, ground: &Ground, peer: u32) -> Option<Line> {
        let (place, _) = ground.layout.place(peer, self.taken);
        // Relaxed: whatever the order of the words, the check shows whether all are there.
        let word = |i: usize| ground.own.word(place + 8 * i).load(Ordering::Relaxed);
        if !may_begin(u64::from_le(word(STAMPED)), self.taken) {
            return None;
        }
        let mut line = Line([0; LINE]);
        for (i, bytes) in line.0.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&word(i).to_ne_bytes());
        }
        if !begins(&line, self.taken) {
            return None;
        }
        // ORDERING: ↔ the fence of the peer's library between the record's other lines and this one (`Remote::attempt`): they are there.
        fence(Ordering::Acquire);
        Some(line)
    }

    fn is_cut(ground: &Ground, peer: u32) -> bool {
        ground.own.word(ground.layout.word(peer, Word::Cut)).load(Ordering::Relaxed) != 0 // Relaxed: a word alone
    }

    /// Something has come that was not taken.
    pub fn has_some(&self, ground: &Ground, peer: u32) -> bool {
        !self.is_over && (self.line(ground, peer).is_some() || Inlet::is_cut(ground, peer))
    }

    /// Takes what has come, half a ring at most, and tells the peer where that is due. The error says why the link must end. `token` is the peer's.
    pub fn receive(
        &mut self,
        ground: &Ground,
        peer: u32,
        token: u64,
        outlet: &Lock<Outlet>,
        frame: &mut Vec<u8>,
        sink: &dyn Sink,
    ) -> Result<Received, Lost> {
        let (first, ring) = (self.taken, ground.layout.ring as u64);
        let mut received = Received::default();
        let wrong = |what: String| Lost(format!("node {peer} sent {what}"));
        while self.taken - first < ring / 2
            && let Some(line) = self.line(ground, peer)
        {
            let (place, left) = ground.layout.place(peer, self.taken);
            let head = Head::read(&line).ok_or_else(|| wrong("a record of no kind".into()))?;
            let (size, skips) = (head.size(), head.kind == Kind::Skip);
            let room = left.min((self.told + ring - self.taken) as usize);
            if size > room || (skips && (size != left || head.len > 0)) {
                return Err(wrong(format!("a record of {size} bytes where {room} are left")));
            }
            let is_shown = head.kind == Kind::Hello && head.number == token;
            if !self.is_known && !is_shown {
                return Err(wrong("no token of this job".into()));
            }
            let bytes = ground.own.bytes(place + HEAD_BYTES, head.len).cast_const();
            let outlet = || {
                received.has_used_outlet = true;
                outlet.lock()
            };
            self.take(ground, peer, head, bytes, outlet, frame, sink).ok_or_else(|| wrong(format!("{head:?}")))?;
            self.taken += size as u64;
            received.came = true;
        }
        if !received.came && Inlet::is_cut(ground, peer) {
            return Err(Lost("the peer has ended the link".into()));
        }
        self.must_tell |= self.taken - self.told >= ring / 4;
        if self.must_tell {
            let mut outlet = outlet.lock();
            if outlet.is_up(ground)? {
                outlet.tell(ground, Word::Credit, self.taken);
                self.told = self.taken;
                self.must_tell = false;
            }
            received.has_used_outlet = true;
        }
        Ok(received)
    }

    /// Does what a record says. `None`: no node of ours sends it.
    #[allow(clippy::too_many_arguments)] // all that it needs, once
    fn take<'a>(
        &mut self,
        ground: &Ground,
        peer: u32,
        head: Head,
        bytes: *const u8,
        outlet: impl FnOnce() -> Guard<'a, Outlet>,
        frame: &mut Vec<u8>,
        sink: &dyn Sink,
    ) -> Option<()> {
        match head.kind {
            Kind::Hello => {
                if std::mem::replace(&mut self.is_known, true) {
                    return None;
                }
                outlet().was_heard();
            }
            Kind::Frame => {
                if !(1..=FRAME).contains(&head.len) {
                    return None;
                }
                frame.resize(head.len, 0);
                // A copy: what lies in the ring may change while it is looked at.
                // SAFETY: the ring has these bytes, and the vector has room.
                unsafe { bytes.copy_to_nonoverlapping(frame.as_mut_ptr(), head.len) };
                sink.frame(peer, frame);
            }
            Kind::Write | Kind::WriteAndTell => {
                let to = sink.place(peer, head.number, head.len, true)?;
                // SAFETY: the sink allows the target, and the ring has these bytes.
                unsafe { bytes.copy_to_nonoverlapping(to, head.len) };
                sink.written(head.number);
                self.must_tell |= head.kind == Kind::WriteAndTell;
            }
            Kind::Read => {
                if head.len != 8 {
                    return None;
                }
                let mut len = [0; 8];
                // SAFETY: the ring has these bytes.
                unsafe { bytes.copy_to_nonoverlapping(len.as_mut_ptr(), len.len()) };
                let len = usize::try_from(u64::from_le_bytes(len)).ok()?;
                let from = sink.place(peer, head.number, len, false)?;
                if !outlet().answer(ground, from, len) {
                    return None;
                }
            }
            Kind::Answer => {
                // SAFETY: the ring has these bytes.
                if !unsafe { outlet().take_answer(bytes, head.len) } {
                    return None;
                }
            }
            Kind::Bye => {
                outlet().has_left();
                self.is_over = true;
                sink.left(peer);
            }
            Kind::Skip => {}
        }
        Some(())
    }
}
