//! The sending half of a link to one peer: what goes next into the connection, and what is waited for.
//!
//! Rules:
//! 1. The *stream* goes first and in order: frames, writes whose caller waits or that keep their order, acknowledgements. What a caller may change is
//!    copied before the call returns, or sent. In a flood, the end of a write is copied and stays for the next call, or for the
//!    next progress (`stream`).
//! 2. *Bulk* goes while the stream is empty, piece by piece: writes whose memory stays, and data that the peer has asked for. A
//!    piece is taken only while little waits in the socket, so that a frame posted later waits little.
//! 3. Writes that want it are acknowledged in their order, and data comes in the order of the reads.
//!
//! Must not know: how a connection is made, what frames say.

#![allow(unsafe_code)] // clients' memory, until it is sent

use super::chunk::{Memory, send};
use super::head::{HEAD, Head, Kind, PIECE, WANTS_ACK};
use super::sealed::Outgoing;
use super::stream::{SMALL, Stream};
use crate::os::net;
use crate::sci::far::wire::Done;
use crate::sync::{AtomicU64, Ordering};
use socket2::SockRef;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Bytes that wait in the stream before a frame is refused.
const STREAM_MOST: usize = 256 << 10;
/// Bytes that the socket has not sent, from which on no bulk is added.
const UNSENT_MOST: usize = 256 << 10;
/// Bytes of bulk that go in one call if the socket has sent all. Gets of 1 MiB 3.7 -> 5.3 GB/s, with one piece a call (2026-11, EPYC
/// 9004 VM).
const AT_ONCE: usize = 4 * PIECE;
/// Long writes and data that wait, at most.
const BULK_MOST: usize = 1024;
/// Transfers under way, at most, so that what is kept of them is bounded: 100 KiB for a peer. A peer that asks for more reads at once
/// is none of ours.
pub const UNDER_WAY: usize = 4096;
/// Transfers under way from which on small ones, and the ends of long ones, go out together: with later ones, or with the next
/// progress. A flood of puts of 8 bytes 2.1 -> 0.3 µs each (2026-11, EPYC 9004 VM).
const MANY: usize = 8;
/// Writes of a flood after which the connection is asked again how long its segments are: 0.2 µs.
const SEGMENT_LASTS: u32 = 64;
/// Small transfers that go out together.
const BATCH: u32 = 16;

/// Bytes that go when there is room.
struct Bulk {
    memory: Memory,
    /// Of a write: where at the peer, and whom to tell. `None`: data that the peer has asked for.
    write: Option<(u64, Done)>,
}

/// A write of which not all has gone into the stream; its caller calls again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Begun {
    from: usize,
    offset: u64,
    len: usize,
}

/// Where data lands that was asked for.
pub struct Landing {
    at: *mut u8,
    left: usize,
    done: &'static AtomicU64,
}

// SAFETY: who asked promised that the memory is writable until `done` is raised.
unsafe impl Send for Landing {}

impl Landing {
    /// Where the next bytes go, and how many are missing.
    pub fn rest(&self) -> (*mut u8, usize) {
        (self.at, self.left)
    }

    /// `len` bytes more have come.
    pub fn advance(&mut self, len: usize) {
        self.at = self.at.wrapping_add(len);
        self.left -= len;
    }
}

/// What the wire has noted of a link.
#[derive(Clone, Copy, Default)]
pub struct Noted {
    /// The socket is watched for room.
    pub watched: bool,
    /// The link counts as busy.
    pub busy: bool,
    /// The socket is not in the epoll set.
    pub absent: bool,
}

/// The sending half.
#[derive(Default)]
pub struct Link {
    /// What the wire has noted of it.
    pub noted: Noted,
    /// The connection, once both sides are sure of each other.
    socket: Option<Arc<TcpStream>>,
    /// The socket can be written again when the system says so.
    clogged: bool,
    /// Bytes of a segment of the connection, if it is known, and writes until it is asked for again.
    segment: Option<usize>,
    segment_lasts: u32,
    stream: Stream,
    bulk: VecDeque<Bulk>,
    begun: Option<Begun>,
    /// The stream has a frame, and nothing else, that goes with the next write.
    ahead_of_write: bool,
    /// Small transfers in the stream that were not sent yet.
    kept: u32,
    /// Writes that want an acknowledgement: sent so far, and those that wait, by number.
    wanted: u64,
    unacknowledged: VecDeque<(u64, &'static AtomicU64)>,
    /// Reads that are not complete, the oldest first.
    pub reads: VecDeque<Landing>,
    /// What the peer has asked for and what has not gone into the stream whole.
    answers: usize,
    /// The peer's writes that are in place, and what it was told of them.
    in_place: u64,
    told: u64,
}

/// What came of an attempt to send.
pub type Sent = io::Result<()>;

impl Link {
    /// The connection.
    pub fn socket(&self) -> Option<&Arc<TcpStream>> {
        self.socket.as_ref()
    }

    /// Both sides are sure of each other: what waits may go; sealed, if the connection is protected.
    pub fn open(&mut self, socket: Arc<TcpStream>, protected: Option<Outgoing>) -> Sent {
        self.socket = Some(socket);
        protected.into_iter().for_each(|outgoing| self.stream.protect(outgoing));
        self.pump()
    }

    /// Forgets all but what the wire has noted. Who waits for a transfer waits for ever, until the job ends.
    pub fn close(&mut self) {
        *self = Link { noted: self.noted, ..Link::default() };
    }

    /// True if only progress can move something on.
    pub fn is_busy(&self) -> bool {
        self.has_unsent() || !self.unacknowledged.is_empty() || !self.reads.is_empty()
    }

    /// True if the socket must be watched for room.
    pub fn is_clogged(&self) -> bool {
        self.clogged
    }

    /// True if small transfers wait for more, or for progress.
    pub fn keeps_back(&self) -> bool {
        self.kept > 0
    }

    /// True if bytes wait: for room in the socket, or for more.
    pub fn has_unsent(&self) -> bool {
        !self.stream.is_empty() || self.stream.has_tail() || !self.bulk.is_empty()
    }

    fn head(&mut self, kind: Kind, flags: u8, len: usize) -> [u8; HEAD] {
        self.told = self.in_place;
        Head { len, kind, flags, done: self.in_place }.bytes()
    }

    /// Sends a frame, in front of which there is room for a head. False: no room.
    pub fn post(&mut self, frame: &mut [u8]) -> io::Result<bool> {
        if self.stream.bytes() + frame.len() > STREAM_MOST {
            self.pump()?;
            if self.stream.bytes() + frame.len() > STREAM_MOST {
                return Ok(false);
            }
        }
        let head = self.head(Kind::Frame, 0, frame.len() - HEAD);
        frame[..HEAD].copy_from_slice(&head);
        self.put_out(frame)?;
        Ok(true)
    }

    /// As [`Link::post`], of a frame that goes with the write that follows: one system call less.
    pub fn post_before_write(&mut self, frame: &mut [u8]) -> io::Result<bool> {
        let is_free = self.begun.is_none()
            && self.stream.is_empty()
            && self.bulk.is_empty()
            && !self.clogged
            && self.socket.is_some();
        if !is_free {
            return self.post(frame);
        }
        let head = self.head(Kind::Frame, 0, frame.len() - HEAD);
        frame[..HEAD].copy_from_slice(&head);
        self.stream.append(&[frame]);
        self.ahead_of_write = true;
        Ok(true)
    }

    /// What waits, in figures that change when any of it is sent.
    pub fn waiting(&self) -> (usize, usize, usize) {
        (self.stream.bytes(), self.bulk.len(), self.bulk.front().map_or(0, |bulk| bulk.memory.len))
    }

    /// A small transfer is in the stream. It goes out now if it is alone, or if there are enough of them.
    fn put_out_some(&mut self) -> Sent {
        self.kept += 1;
        if self.unacknowledged.len() + self.reads.len() > MANY && !self.kept.is_multiple_of(BATCH) {
            return Ok(());
        }
        self.pump()
    }

    /// Sends these at once, if nothing waits; keeps what does not fit. What was kept back for more goes ahead of them.
    fn put_out(&mut self, bytes: &[u8]) -> Sent {
        if self.kept > 0 && bytes.len() <= SMALL {
            self.stream.append(&[bytes]);
            return self.flush();
        }
        if self.kept > 0 {
            self.flush()?;
        }
        let mut sent = 0;
        if self.stream.is_empty()
            && !self.clogged
            && let Some(socket) = &self.socket
        {
            if let Some(is_sent) = self.stream.send_at_once(socket, bytes)? {
                self.clogged = !is_sent;
                return Ok(());
            }
            sent = send(socket, &[IoSlice::new(bytes)])?;
            self.clogged = sent < bytes.len();
        }
        if sent < bytes.len() {
            self.stream.append(&[&bytes[sent..]]);
        }
        Ok(())
    }

    /// Writes memory that the caller keeps as it is while it calls again and again with the same arguments, until this returns
    /// true: then all of it is with the system.
    pub fn write_now(&mut self, offset: u64, from: *const u8, len: usize, done: Done) -> io::Result<bool> {
        let call = Begun { from: from.addr(), offset, len };
        if self.begun != Some(call) {
            let is_flood = self.ahead_of_write || self.unacknowledged.len() + self.reads.len() > MANY;
            if !self.ahead_of_write {
                if !self.stream.is_empty() || !self.bulk.is_empty() {
                    self.pump()?;
                }
                if self.begun.is_some() || !self.stream.is_empty() || self.socket.is_none() {
                    return Ok(false);
                }
            }
            self.queue_pieces(offset, from, len, done);
            self.begun = Some(call);
            // Records have other bytes than whole segments.
            if is_flood
                && !self.stream.is_protected()
                && let Some(segment) = self.segment()
            {
                self.stream.keep_tail(segment);
            }
        }
        self.send_stream()?;
        let is_over = self.stream.is_empty();
        if is_over {
            self.begun = None;
            self.kept = u32::from(self.stream.has_tail());
            if !self.bulk.is_empty() {
                self.pump()?;
            }
        }
        Ok(is_over)
    }

    /// Bytes of a segment of the connection, as the system knew lately. They change while it learns how much the peer can take.
    fn segment(&mut self) -> Option<usize> {
        if self.segment_lasts == 0 {
            let segment = self.socket.as_ref().and_then(|socket| SockRef::from(&**socket).tcp_mss().ok());
            self.segment = segment.map(|bytes| bytes as usize).filter(|bytes| *bytes > 0);
            self.segment_lasts = SEGMENT_LASTS;
        }
        self.segment_lasts -= 1;
        self.segment
    }

    /// Puts a write into the stream.
    fn queue_pieces(&mut self, offset: u64, from: *const u8, len: usize, done: Done) {
        let mut at = 0;
        while at < len {
            let piece = (len - at).min(PIECE);
            let is_last = at + piece == len;
            self.queue_write(offset + at as u64, from.wrapping_add(at), piece, done.filter(|_| is_last));
            at += piece;
        }
    }

    /// Puts one piece of a write into the stream.
    fn queue_write(&mut self, offset: u64, from: *const u8, len: usize, done: Done) {
        let flags = if done.is_some() { WANTS_ACK } else { 0 };
        let head = self.head(Kind::Write, flags, len + 8);
        if let Some(done) = done {
            self.wanted += 1;
            self.unacknowledged.push_back((self.wanted, done));
        }
        self.stream.append(&[&head, &offset.to_le_bytes()]);
        self.stream.append_memory(Memory { at: from, len });
    }

    /// Writes memory that stays as it is until `done`, ahead of what is posted later. False: too many are under way.
    pub fn write_in_order(&mut self, offset: u64, from: *const u8, len: usize, done: Done) -> io::Result<bool> {
        if self.begun.is_some() || self.unacknowledged.len() >= UNDER_WAY || self.stream.bytes() > STREAM_MOST {
            self.pump()?;
            return Ok(false);
        }
        self.queue_pieces(offset, from, len, done);
        self.pump().map(|()| true)
    }

    /// Writes memory that stays as it is until `done`. False: too many are under way.
    pub fn write_later(&mut self, offset: u64, from: *const u8, len: usize, done: Done) -> io::Result<bool> {
        if self.bulk.len() >= BULK_MOST || self.unacknowledged.len() >= UNDER_WAY || self.stream.bytes() > STREAM_MOST {
            self.pump()?;
            return Ok(false);
        }
        if len <= SMALL && self.bulk.is_empty() && self.begun.is_none() {
            self.queue_write(offset, from, len, done);
            return self.put_out_some().map(|()| true);
        }
        self.bulk.push_back(Bulk { memory: Memory { at: from, len }, write: Some((offset, done)) });
        self.pump().map(|()| true)
    }

    /// Asks for `len` bytes at `offset`. False: too many are under way.
    pub fn read(&mut self, offset: u64, to: *mut u8, len: usize, done: &'static AtomicU64) -> io::Result<bool> {
        if self.reads.len() >= UNDER_WAY || self.stream.bytes() > STREAM_MOST {
            self.pump()?;
            return Ok(false);
        }
        self.reads.push_back(Landing { at: to, left: len, done });
        let head = self.head(Kind::Read, 0, 16);
        let mut body = [0; 16];
        body[..8].copy_from_slice(&offset.to_le_bytes());
        body[8..].copy_from_slice(&(len as u64).to_le_bytes());
        self.stream.append(&[&head, &body]);
        self.put_out_some().map(|()| true)
    }

    /// The peer has asked for these bytes of this node's segment. They go with the next [`Link::acknowledge`]. False: it has asked
    /// for more at once than this library does.
    pub fn answer(&mut self, from: *const u8, len: usize) -> bool {
        if self.answers >= UNDER_WAY {
            return false;
        }
        self.answers += 1;
        self.bulk.push_back(Bulk { memory: Memory { at: from, len }, write: None });
        true
    }

    /// A write of the peer is in place, of which it wants to know.
    pub fn note_in_place(&mut self) {
        self.in_place += 1;
    }

    /// Answers what the peer has sent: data that it asked for; and what is known of its writes, unless another head tells it.
    pub fn acknowledge(&mut self) -> Sent {
        self.pump()?;
        if self.told == self.in_place {
            return Ok(());
        }
        let head = self.head(Kind::Ack, 0, 0);
        self.put_out(&head)
    }

    /// Tells the peer that this node leaves in good order.
    pub fn say_goodbye(&mut self) -> Sent {
        let head = self.head(Kind::Bye, 0, 0);
        self.put_out(&head)
    }

    /// The peer says that `done` of this node's writes are in place. False: so many were not sent.
    pub fn acknowledged(&mut self, done: u64) -> bool {
        while let Some((number, count)) = self.unacknowledged.front()
            && *number <= done
        {
            raise(count);
            self.unacknowledged.pop_front();
        }
        done <= self.wanted
    }

    /// The oldest read is complete.
    pub fn read_complete(&mut self) {
        if let Some(read) = self.reads.pop_front() {
            raise(read.done);
        }
    }

    /// The socket has room again, as the system says.
    pub fn unclog(&mut self) -> Sent {
        self.clogged = false;
        self.pump()
    }

    /// Sends what waits, as far as there is room (rules 1 and 2).
    pub fn pump(&mut self) -> Sent {
        loop {
            self.flush()?;
            if !self.stream.is_empty() {
                return Ok(());
            }
            let most = self.leave_for_bulk();
            while self.stream.bytes() < most && self.take_bulk() {}
            if self.stream.is_empty() {
                return Ok(());
            }
        }
    }

    /// So many bytes of bulk may go into the stream, which is empty.
    fn leave_for_bulk(&mut self) -> usize {
        // The caller of a write that has begun waits, and asks whether the stream is empty.
        let (None, Some(socket), Some(first)) = (self.begun, &self.socket, self.bulk.front()) else { return 0 };
        // To ask is a system call, 0.3 µs. One small piece needs no leave.
        if first.memory.len <= SMALL && self.bulk.len() == 1 && !self.clogged {
            return PIECE;
        }
        match net::unsent(socket.as_fd()) {
            0 => AT_ONCE,
            1..=UNSENT_MOST => PIECE,
            _ => {
                self.clogged = true; // it is asked for room, so that progress looks again
                0
            }
        }
    }

    /// Moves one piece of bulk into the stream. False: there is none.
    fn take_bulk(&mut self) -> bool {
        let Some(Bulk { memory: Memory { at, len }, write }) = self.bulk.pop_front() else { return false };
        let piece = len.min(PIECE);
        match write {
            Some((offset, done)) => {
                self.queue_write(offset, at, piece, done.filter(|_| piece == len));
            }
            None => {
                let head = self.head(Kind::Data, 0, piece);
                self.stream.append(&[&head]);
                self.stream.append_memory(Memory { at, len: piece });
            }
        }
        if piece < len {
            let memory = Memory { at: at.wrapping_add(piece), len: len - piece };
            let write = write.map(|(offset, done)| (offset + piece as u64, done));
            self.bulk.push_front(Bulk { memory, write });
        } else if write.is_none() {
            self.answers -= 1;
        }
        true
    }

    /// Sends the stream, as far as there is room.
    fn flush(&mut self) -> Sent {
        self.stream.let_tail_go();
        self.send_stream()
    }

    /// The same without a tail.
    fn send_stream(&mut self) -> Sent {
        let Some(socket) = &self.socket else { return Ok(()) };
        self.kept = 0;
        self.ahead_of_write = false;
        if !self.stream.is_empty() {
            self.clogged = !self.stream.send(socket)?;
        }
        Ok(())
    }
}

/// Counts a transfer as complete.
fn raise(count: &AtomicU64) {
    // ORDERING: Release ↔ Acquire of a reader of the count: it sees the bytes of a read. Of a write, the peer has stored them.
    count.fetch_add(1, Ordering::Release);
}
