//! One of the supervisor's own streams, as the place where lines go. Nothing here waits for a reader: a full sink keeps its bytes.
//! Must not know: nodes, what a line says, when a line waits.

#![allow(unsafe_code)] // the standard descriptors

use crate::os::sys;
use libc::pollfd;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::time::Instant;

/// A sink that holds so many bytes takes no more for now. A guess.
const LIMIT: usize = 1 << 20;
/// The number of bytes that a pipe takes without blocking if poll(2) calls it writable (pipe(7): PIPE_BUF).
const SMALL_WRITE: usize = 4096;

enum SinkFile {
    // Writes never block: it is a plain file, or an open description of our own in non-blocking mode.
    Direct(File),
    // Other processes share the open description, so its mode must not be changed. poll(2) tells when a write fits.
    Polled(File),
    Socket(File),
}

/// An unfinished line that has begun to go out. Until it ends the sink takes nothing from other sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Open {
    /// The source that writes it.
    pub source: i32,
    /// It may be a prompt: a person sees that it is unfinished.
    pub is_prompt: bool,
}

pub struct Sink {
    way: SinkFile,
    held: Vec<u8>,
    pub closed: bool,
    /// The reader has taken bytes since this was asked for.
    pub has_moved: bool,
    pub open: Option<Open>,
    /// Since when other sources wait for the end of the open line.
    pub awaited_since: Option<Instant>,
}

impl Sink {
    /// Standard output (1) or error (2).
    pub fn open(number: i32) -> io::Result<Sink> {
        // SAFETY: descriptors 0–2 are open: `spawn_all` filled them.
        let own = unsafe { BorrowedFd::borrow_raw(number) };
        let shared = File::from(own.try_clone_to_owned().map_err(sys::refused("fcntl"))?);
        let kind = shared.metadata().map_err(sys::refused("fstat"))?.file_type();
        let way = if kind.is_socket() {
            SinkFile::Socket(shared)
        } else if kind.is_fifo() || kind.is_char_device() {
            let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
            let again = OpenOptions::new().write(true).custom_flags(flags).open(format!("/proc/self/fd/{number}"));
            again.map_or(SinkFile::Polled(shared), SinkFile::Direct)
        } else {
            SinkFile::Direct(shared)
        };
        Ok(Sink { way, held: Vec::new(), closed: false, has_moved: false, open: None, awaited_since: None })
    }

    /// A sink for tests, which keeps what it gets.
    #[cfg(test)]
    pub fn keeping() -> Sink {
        let file = File::open("/dev/null").expect("the null device");
        Sink {
            way: SinkFile::Direct(file),
            held: Vec::new(),
            closed: false,
            has_moved: false,
            open: None,
            awaited_since: None,
        }
    }

    /// A sink for tests whose reader has the other end.
    #[cfg(test)]
    pub fn to_pipe(writer: io::PipeWriter) -> Sink {
        sys::set_nonblocking(writer.as_fd()).expect("a pipe");
        Sink { way: SinkFile::Direct(File::from(std::os::fd::OwnedFd::from(writer))), ..Sink::keeping() }
    }

    /// What it has got, for tests.
    #[cfg(test)]
    pub fn take_held(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.held)).expect("text")
    }

    fn file(&self) -> &File {
        match &self.way {
            SinkFile::Direct(file) | SinkFile::Polled(file) | SinkFile::Socket(file) => file,
        }
    }

    /// What tells whether two sinks are one file.
    pub fn identity(&self) -> io::Result<(u64, u64, u64)> {
        self.file().metadata().map(|m| (m.dev(), m.ino(), m.rdev()))
    }

    /// Whether the reader is slow.
    pub fn is_full(&self) -> bool {
        self.held.len() >= LIMIT
    }

    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether the open line, if there is one, is not that of `source`.
    pub fn is_busy_for(&self, source: i32) -> bool {
        self.open.is_some_and(|open| open.source != source)
    }

    /// Whether `source` may write now.
    pub fn takes_from(&self, source: i32) -> bool {
        !self.is_full() && !self.is_busy_for(source)
    }

    /// Takes what `source` wrote, with `tag` in front of each line. The last line stays open if it is unfinished.
    pub fn take(&mut self, source: i32, tag: &str, bytes: &[u8]) {
        if bytes.is_empty() || self.closed {
            return; // what a closed sink held would never go out, and the supervisor would wait for that
        }
        let mut begins = self.open.is_none();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if begins {
                self.held.extend_from_slice(tag.as_bytes());
            }
            self.held.extend_from_slice(line);
            begins = true;
        }
        let is_prompt = self.open.is_some_and(|open| open.is_prompt);
        self.open = (!bytes.ends_with(b"\n")).then_some(Open { source, is_prompt });
        if self.open.is_none() {
            self.awaited_since = None;
        }
    }

    /// Ends the open line, where wanted with a newline.
    pub fn end_line(&mut self, newline: bool) {
        self.awaited_since = None;
        if self.open.take().is_some() && newline && !self.closed {
            self.held.push(b'\n');
        }
    }

    /// Adds what to poll for now.
    pub fn interests(&self, set: &mut Vec<pollfd>) {
        if self.is_holding() {
            set.push(pollfd { fd: self.file().as_raw_fd(), events: libc::POLLOUT, revents: 0 });
        }
    }

    fn write_some(&self) -> io::Result<usize> {
        let file = self.file();
        match self.way {
            SinkFile::Direct(_) => (&mut &*file).write(&self.held),
            SinkFile::Socket(_) => sys::send(file.as_fd(), &self.held),
            SinkFile::Polled(_) if sys::poll_one(file.as_fd(), libc::POLLOUT) == 0 => Err(ErrorKind::WouldBlock.into()),
            SinkFile::Polled(_) => (&mut &*file).write(&self.held[..self.held.len().min(SMALL_WRITE)]),
        }
    }

    /// Writes what can be written without waiting. An error other than a closed pipe is returned once.
    pub fn flush(&mut self) -> Option<io::Error> {
        while !self.held.is_empty() && !self.closed {
            match self.write_some() {
                Ok(n) => {
                    self.has_moved |= n > 0;
                    self.held.drain(..n);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    self.closed = true;
                    self.held.clear();
                    self.end_line(false);
                    return (e.kind() != ErrorKind::BrokenPipe).then_some(e);
                }
            }
        }
        None
    }
}
