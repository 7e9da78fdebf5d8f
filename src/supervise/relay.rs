//! What the nodes of a host print, on its way to the launcher. The agent of a job of several hosts passes on bytes; the launcher makes
//! whole lines of them.
//!
//! Only so many bytes are under way as the launcher has room for, and none of a stream that it holds back. The nodes then wait as
//! they would for any full pipe.

use super::channel::{Channel, Frame, PIECE, WINDOW};
use crate::os::sys;
use libc::pollfd;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;

struct Source {
    rank: u32,
    stream: u8,
    pipe: File,
    // The launcher has no room for more of it.
    held: bool,
}

/// All streams of a host's nodes.
pub struct Relay {
    channel: Rc<RefCell<Channel>>,
    sources: Vec<Source>,
    under_way: usize,
}

impl Relay {
    /// Takes the read ends of the nodes' stdout and stderr.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn new(
        channel: Rc<RefCell<Channel>>,
        streams: impl Iterator<Item = (u32, [Option<PipeReader>; 2])>,
    ) -> io::Result<Relay> {
        let mut relay = Relay { channel, sources: Vec::new(), under_way: 0 };
        for (rank, pair) in streams {
            for (stream, pipe) in (0..).zip(pair) {
                pipe.map_or(Ok(()), |pipe| relay.add(rank, stream, pipe))?;
            }
        }
        Ok(relay)
    }

    /// Adds a stream of a process that came later, under a number behind those of the nodes.
    pub(super) fn add(&mut self, rank: u32, stream: u8, pipe: PipeReader) -> io::Result<()> {
        sys::set_nonblocking(pipe.as_fd())?;
        self.sources.push(Source { rank, stream, pipe: File::from(OwnedFd::from(pipe)), held: false });
        Ok(())
    }

    /// The launcher has taken so many bytes.
    pub fn taken(&mut self, count: usize) {
        self.under_way = self.under_way.saturating_sub(count);
    }

    /// The launcher has no room for more of this stream (true), or has room again.
    pub fn hold(&mut self, rank: u32, stream: u8, hold: bool) {
        let found = self.sources.iter_mut().find(|source| (source.rank, source.stream) == (rank, stream));
        found.into_iter().for_each(|source| source.held = hold);
    }

    /// The launcher's own stream has been closed: nodes that write to theirs get SIGPIPE.
    pub fn shut(&mut self, stream: u8) {
        self.sources.retain(|source| source.stream != stream);
    }

    pub(super) fn report(&mut self, line: &str) {
        self.channel.borrow_mut().send(&Frame::Line(line.into()));
    }

    // The launcher has no room: its reader is slow.
    fn is_full(&self) -> bool {
        self.under_way >= WINDOW && !self.channel.borrow().is_over()
    }

    pub(super) fn is_clogged(&self) -> bool {
        self.is_full() || !self.channel.borrow().is_over() && self.sources.iter().any(|source| source.held)
    }

    pub(super) fn is_holding(&self) -> bool {
        self.channel.borrow().is_holding()
    }

    pub(super) fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    pub(super) fn interests(&self, set: &mut Vec<pollfd>) {
        if !self.is_full() {
            let entry = |source: &Source| pollfd { fd: source.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            set.extend(self.sources.iter().filter(|source| !source.held).map(entry));
        }
    }

    pub(super) fn transfer(&mut self, polled: &[pollfd]) -> bool {
        let ready: Vec<i32> = polled.iter().filter(|entry| entry.revents != 0).map(|entry| entry.fd).collect();
        let mut channel = self.channel.borrow_mut();
        let (mut any, mut piece) = (false, vec![0; PIECE]);
        let under_way = &mut self.under_way;
        self.sources.retain_mut(|source| {
            if !ready.contains(&source.pipe.as_raw_fd()) {
                return true;
            }
            any = true;
            let got = match source.pipe.read(&mut piece) {
                Ok(n) => n,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return true,
                Err(_) => 0,
            };
            *under_way += got;
            channel.send(&Frame::Output(source.rank, source.stream, piece[..got].into()));
            got > 0
        });
        any
    }

    pub(super) fn close_sources(&mut self) {
        let mut channel = self.channel.borrow_mut();
        for source in self.sources.drain(..) {
            channel.send(&Frame::Output(source.rank, source.stream, Vec::new()));
        }
    }
}
