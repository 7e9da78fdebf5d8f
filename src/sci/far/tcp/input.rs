//! The receiving half of a link: takes what comes apart, and puts bytes where they belong without another copy if it can.
//!
//! Nothing that comes is trusted: lengths and places are checked before a byte is stored, and what no sender of ours says ends
//! the link.
//!
//! Must not know: how a connection is made, what frames say.

#![allow(unsafe_code)] // this node's segment, and memory that a client waits for

use super::head::{HEAD, Head, Kind, WANTS_ACK};
use super::link::Link;
use super::sealed::Incoming;
use crate::os::lock::Lock;
use crate::sci::far::wire::Sink;
use std::io::{self, ErrorKind, IoSliceMut, Read};
use std::net::TcpStream;

/// The most bytes of a frame.
pub const FRAME_MAX: usize = 64 << 10;
/// Bytes that are read ahead.
const BUFFER: usize = 2 * FRAME_MAX;
/// Bytes that are read ahead of the next head where long bodies come: what is read ahead of a body is copied once more.
const BRIEF: usize = 4 << 10;
/// Bytes of a body that is long.
const LONG: usize = 4 * BRIEF;
/// Reads of one socket before others have their turn.
const TURNS: usize = 16;

/// Bytes on their way to a place.
#[derive(Clone, Copy)]
enum Body {
    /// None: a head is next.
    Head,
    /// Of a write: where the next byte goes, how many are missing, whether the peer wants to know, and the offset that the peer named.
    Write(*mut u8, usize, bool, u64),
    /// Of a read of ours.
    Data(usize),
}

/// Why a link ended.
#[derive(Debug)]
pub enum End {
    /// The peer closed it after it had said that it leaves.
    Left,
    /// For this reason.
    Lost(String),
}

/// The receiving half.
pub struct Input {
    /// Of a connection that is protected.
    sealed: Option<Box<Incoming>>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    body: Body,
    /// How many bytes to read ahead.
    ahead: usize,
    done: u64,
    has_left: bool,
    /// Something has come that the peer wants an answer to, or that moves what waits here.
    owes: bool,
}

// SAFETY: the pointer is one into this node's segment, where the peer may write; one thread at a time has the input.
unsafe impl Send for Input {}

/// What is said of a connection that a peer closed.
pub const CLOSED: &str = "it closed the connection without leaving the job; its own line says why";

/// What is said of a connection that failed.
pub fn broken(error: &io::Error) -> String {
    format!(
        "the connection broke: {error}; has its node ended, or does a firewall between the hosts forget connections?"
    )
}

/// Who has sent, and what takes it.
pub struct From<'a> {
    /// The peer.
    pub peer: u32,
    /// The sending half to it.
    pub link: &'a Lock<Link>,
    /// What takes it.
    pub sink: &'a dyn Sink,
}

impl Input {
    /// Nothing has come.
    pub fn new(protected: Option<Incoming>) -> Input {
        Input {
            sealed: protected.map(Box::new),
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            body: Body::Head,
            ahead: BUFFER,
            done: 0,
            has_left: false,
            owes: false,
        }
    }

    /// True if the sending half has something to do since the last call.
    pub fn owes(&mut self) -> bool {
        std::mem::take(&mut self.owes)
    }

    /// Takes what has come. Returns whether anything had.
    pub fn receive(&mut self, mut socket: &TcpStream, from: &From<'_>) -> Result<bool, End> {
        let mut any = false;
        // What is here already shows at no socket, so it is taken whole; the socket then waits for its next turn.
        for turn in 0.. {
            let may_look = turn < TURNS;
            if !may_look && !self.sealed.as_ref().is_some_and(|sealed| sealed.has_more()) {
                break;
            }
            let (got, wanted) = match self.read(&mut socket, from, may_look) {
                Ok((0, _)) if self.has_left => return Err(End::Left),
                Ok((0, _)) => {
                    return Err(End::Lost(CLOSED.into()));
                }
                Ok(got) => got,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::InvalidData => return Err(End::Lost(error.to_string())),
                Err(_) if self.has_left => return Err(End::Left),
                Err(error) => return Err(End::Lost(broken(&error))),
            };
            any = true;
            self.take_apart(from)
                .map_err(|problem| End::Lost(format!("it sent what this library never sends: {problem}")))?;
            if got < wanted {
                break; // there is no more: a look in vain costs 150 ns
            }
            if matches!(self.body, Body::Head) {
                self.ahead = BUFFER;
            }
        }
        Ok(any)
    }

    /// Reads the rest of a body into its place, and what follows into the buffer. Of a connection that is protected, without `may_look`,
    /// only what has been read of the socket before.
    fn read(&mut self, socket: &mut &TcpStream, from: &From<'_>, may_look: bool) -> io::Result<(usize, usize)> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.buffer.len() - self.end < FRAME_MAX / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let direct = match self.body {
            _ if self.start < self.end => None,
            Body::Head => None,
            Body::Write(at, left, ..) => Some((at, left)),
            Body::Data(left) => from.link.lock().reads.front().map(|landing| (landing.rest().0, left)),
        };
        let most = self.buffer.len().min(self.end + self.ahead);
        let rest = &mut self.buffer[self.end..most];
        let Some((at, left)) = direct else {
            let wanted = rest.len();
            let got = match &mut self.sealed {
                None => socket.read(rest)?,
                Some(sealed) => sealed.read(socket, &mut [IoSliceMut::new(rest)], may_look)?,
            };
            self.end += got;
            return Ok((got, wanted));
        };
        // SAFETY: `left` bytes at `at` are writable: the sink has allowed a write, or the reader of a read waits for them. The
        // system alone stores there, or `sealed` what it has opened.
        let place = unsafe { std::slice::from_raw_parts_mut(at, left) };
        let wanted = left + rest.len();
        let mut places = [IoSliceMut::new(place), IoSliceMut::new(rest)];
        let got = match &mut self.sealed {
            None => socket.read_vectored(&mut places)?,
            Some(sealed) => sealed.read(socket, &mut places, may_look)?,
        };
        let placed = got.min(left);
        self.end += got - placed;
        self.advance(placed, from);
        Ok((got, wanted))
    }

    /// `len` bytes of the body are in place.
    fn advance(&mut self, len: usize, from: &From<'_>) {
        let link = from.link;
        match &mut self.body {
            Body::Head => {}
            Body::Write(at, left, wants_ack, offset) => {
                (*at, *left) = (at.wrapping_add(len), *left - len);
                if *left == 0 {
                    from.sink.written(*offset);
                    if *wants_ack {
                        link.lock().note_in_place();
                    }
                    self.owes = true;
                    self.body = Body::Head;
                }
            }
            Body::Data(left) => {
                *left -= len;
                let is_over = *left == 0;
                let mut link = link.lock();
                let missing = link.reads.front_mut().map(|landing| {
                    landing.advance(len);
                    landing.rest().1
                });
                if missing == Some(0) {
                    link.read_complete();
                }
                if is_over {
                    self.owes = true;
                    self.body = Body::Head;
                }
            }
        }
    }

    fn take_apart(&mut self, from: &From<'_>) -> Result<(), String> {
        loop {
            match self.body {
                Body::Head => {
                    if !self.next(from)? {
                        return Ok(());
                    }
                }
                Body::Write(at, left, ..) => {
                    let here = self.copy_to(at, left);
                    if here == 0 {
                        return Ok(());
                    }
                    self.advance(here, from);
                }
                Body::Data(left) => {
                    let Some((at, _)) = from.link.lock().reads.front().map(|landing| landing.rest()) else {
                        return Err("data that nobody asked for".into());
                    };
                    let here = self.copy_to(at, left);
                    if here == 0 {
                        return Ok(());
                    }
                    self.advance(here, from);
                }
            }
        }
    }

    /// Copies up to `left` bytes of the buffer to `at`, where they may go. Returns how many there were.
    fn copy_to(&mut self, at: *mut u8, left: usize) -> usize {
        let here = left.min(self.end - self.start);
        // SAFETY: `left` bytes at `at` are writable, as in `read`; the buffer lies elsewhere.
        unsafe { at.copy_from_nonoverlapping(self.buffer[self.start..].as_ptr(), here) };
        self.start += here;
        here
    }

    /// A body of `len` bytes is next; others like it may follow.
    fn expect(&mut self, len: usize) {
        if len >= LONG {
            self.ahead = BRIEF;
        }
    }

    /// Handles the next head, if it and what must come with it are here. False: more must come.
    fn next(&mut self, from: &From<'_>) -> Result<bool, String> {
        let here = &self.buffer[self.start..self.end];
        let Some((bytes, body)) = here.split_first_chunk::<HEAD>() else { return Ok(false) };
        let head = Head::read(bytes).ok_or("no head")?;
        let needed = match head.kind {
            Kind::Frame => head.len,
            Kind::Write => 8,
            Kind::Read => 16,
            Kind::Data | Kind::Ack | Kind::Bye => 0,
        };
        if head.kind == Kind::Frame && head.len > FRAME_MAX {
            return Err(format!("a frame of {} bytes", head.len));
        }
        let Some(body) = body.get(..needed) else { return Ok(false) };
        let word = |at: usize| body[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        if head.done != self.done {
            self.done = head.done;
            self.owes = true;
            if !from.link.lock().acknowledged(head.done) {
                return Err("it acknowledges what was not sent".into());
            }
        }
        self.owes |= !matches!(head.kind, Kind::Frame);
        match head.kind {
            Kind::Frame => from.sink.frame(from.peer, body),
            Kind::Ack => {}
            Kind::Bye => self.has_left = true,
            Kind::Write => {
                let (offset, len) = (word(0), head.len - 8);
                let place = from.sink.place(from.peer, offset, len, true);
                let place =
                    place.ok_or_else(|| format!("a write of {len} bytes at {offset:#x}, where it may not write"))?;
                self.body = Body::Write(place, len, head.flags & WANTS_ACK != 0, offset);
                self.expect(len);
            }
            Kind::Read => {
                let (offset, len) = (word(0), usize::try_from(word(8)).unwrap_or(usize::MAX));
                let place = from.sink.place(from.peer, offset, len, false).filter(|_| len > 0);
                let place = place.ok_or_else(|| format!("a read of {len} bytes at {offset}, outside the segment"))?;
                if !from.link.lock().answer(place, len) {
                    return Err("too many reads at once".into());
                }
            }
            Kind::Data => {
                let expected = from.link.lock().reads.front().map_or(0, |landing| landing.rest().1);
                if head.len > expected {
                    return Err("data that nobody asked for".into());
                }
                self.body = Body::Data(head.len);
                self.expect(head.len);
            }
        }
        self.start += HEAD + needed;
        Ok(true)
    }
}
