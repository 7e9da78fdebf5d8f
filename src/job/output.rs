//! What the nodes print: whole lines, in each stream's order, to the supervisor's own stdout and stderr.
//!
//! Nothing here waits for a reader: a full sink keeps its bytes, and while it has too many its nodes are not read from,
//! so that they wait as they would for any full pipe. Must not know: ranks, endings.

use super::sys;
use libc::pollfd;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

/// A line longer than this is passed on in pieces, and a sink that holds more stops its nodes. A guess.
const LIMIT: usize = 1 << 20;
/// What a pipe that poll(2) calls writable takes without blocking (pipe(7): PIPE_BUF).
const SMALL_WRITE: usize = 4096;

enum Way {
    // Writes never block: a plain file, or an own open description in non-blocking mode.
    Direct(File),
    // The description is shared with other processes, whose mode is not ours to change.
    Polled(File),
    Socket(File),
}

struct Sink {
    way: Way,
    held: Vec<u8>,
    closed: bool,
}

impl Sink {
    fn open(number: i32) -> io::Result<Sink> {
        // SAFETY: descriptors 0–2 are open: `spawn_all` filled them.
        let own = unsafe { BorrowedFd::borrow_raw(number) };
        let shared = File::from(own.try_clone_to_owned()?);
        let kind = shared.metadata()?.file_type();
        let way = if kind.is_socket() {
            Way::Socket(shared)
        } else if kind.is_fifo() || kind.is_char_device() {
            let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
            let again = OpenOptions::new().write(true).custom_flags(flags).open(format!("/proc/self/fd/{number}"));
            again.map_or(Way::Polled(shared), Way::Direct)
        } else {
            Way::Direct(shared)
        };
        Ok(Sink { way, held: Vec::new(), closed: false })
    }

    fn file(&self) -> &File {
        match &self.way {
            Way::Direct(file) | Way::Polled(file) | Way::Socket(file) => file,
        }
    }

    fn write_some(&self) -> io::Result<usize> {
        let file = self.file();
        match self.way {
            Way::Direct(_) => (&mut &*file).write(&self.held),
            Way::Socket(_) => sys::send(file.as_fd(), &self.held),
            Way::Polled(_) if sys::poll_one(file.as_fd(), libc::POLLOUT) == 0 => Err(ErrorKind::WouldBlock.into()),
            Way::Polled(_) => (&mut &*file).write(&self.held[..self.held.len().min(SMALL_WRITE)]),
        }
    }

    // Writes what goes without waiting. An error other than a closed pipe is returned once.
    fn flush(&mut self) -> Option<io::Error> {
        while !self.held.is_empty() && !self.closed {
            match self.write_some() {
                Ok(n) => drop(self.held.drain(..n)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    self.closed = true;
                    self.held.clear();
                    return (e.kind() != ErrorKind::BrokenPipe).then_some(e);
                }
            }
        }
        None
    }
}

struct Source {
    pipe: File,
    sink: usize,
    partial: Vec<u8>,
}

impl Source {
    // False at the end of the stream.
    fn read_into(&mut self, sink: &mut Sink, scratch: &mut [u8]) -> bool {
        let got = match self.pipe.read(scratch) {
            Ok(0) => return false,
            Ok(n) => &scratch[..n],
            Err(e) => return matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        let whole = got.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            sink.held.append(&mut self.partial);
            sink.held.extend_from_slice(&got[..whole]);
        }
        self.partial.extend_from_slice(&got[whole..]);
        if self.partial.len() > LIMIT {
            sink.held.append(&mut self.partial);
        }
        true
    }
}

/// All streams of the job.
pub struct Output {
    // One sink when stdout and stderr are the same file: two could tear each other's lines.
    sinks: Vec<Sink>,
    sources: Vec<Source>,
    scratch: Vec<u8>,
}

impl Output {
    /// Takes the read ends of nodes' stdout and stderr. Without any, reports still go to stderr.
    pub fn new(streams: impl Iterator<Item = [Option<PipeReader>; 2]>) -> io::Result<Output> {
        let (out, err) = (Sink::open(1)?, Sink::open(2)?);
        let identity = |sink: &Sink| sink.file().metadata().map(|m| (m.dev(), m.ino(), m.rdev()));
        let same = identity(&out)? == identity(&err)?;
        let sinks = if same { vec![out] } else { vec![out, err] };
        let mut sources = Vec::new();
        for (stream, pipe) in streams.flat_map(|pair| pair.into_iter().enumerate()) {
            let Some(pipe) = pipe else { continue };
            sys::set_nonblocking(pipe.as_fd())?;
            let sink = stream.min(sinks.len() - 1);
            sources.push(Source { pipe: File::from(std::os::fd::OwnedFd::from(pipe)), sink, partial: Vec::new() });
        }
        Ok(Output { sinks, sources, scratch: vec![0; 64 << 10] })
    }

    /// A line of the supervisor's own, to stderr.
    pub fn report(&mut self, line: &str) {
        if let Some(sink) = self.sinks.last_mut() {
            sink.held.extend_from_slice(line.as_bytes());
            sink.held.push(b'\n');
        }
        self.flush();
    }

    /// A reader keeps the nodes waiting.
    pub fn is_clogged(&self) -> bool {
        self.sinks.iter().any(|sink| sink.held.len() >= LIMIT)
    }

    /// Bytes wait for a reader.
    pub fn is_holding(&self) -> bool {
        self.sinks.iter().any(|sink| !sink.held.is_empty())
    }

    /// Some stream may bring more.
    pub fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// What to poll for now.
    pub fn interests(&self, set: &mut Vec<pollfd>) {
        let readable = self.sources.iter().filter(|source| self.sinks[source.sink].held.len() < LIMIT);
        set.extend(readable.map(|source| pollfd { fd: source.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 }));
        let full = self.sinks.iter().filter(|sink| !sink.held.is_empty());
        set.extend(full.map(|sink| pollfd { fd: sink.file().as_raw_fd(), events: libc::POLLOUT, revents: 0 }));
    }

    /// Reads what poll(2) found, writes what goes without waiting. True if anything was read.
    pub fn transfer(&mut self, polled: &[pollfd]) -> bool {
        let Output { sinks, sources, scratch } = self;
        let ready: Vec<i32> = polled.iter().filter(|entry| entry.revents != 0).map(|entry| entry.fd).collect();
        let mut any = false;
        sources.retain_mut(|source| {
            let ready = ready.contains(&source.pipe.as_raw_fd());
            let sink = &mut sinks[source.sink];
            any |= ready;
            if ready && !source.read_into(sink, scratch) {
                sink.held.append(&mut source.partial);
                return false;
            }
            true
        });
        self.flush();
        any
    }

    /// Gives up streams that never end, because a process outside the job holds them.
    pub fn close_sources(&mut self) {
        for mut source in self.sources.drain(..) {
            self.sinks[source.sink].held.append(&mut source.partial);
        }
        self.flush();
    }

    fn flush(&mut self) {
        for at in 0..self.sinks.len() {
            if let Some(error) = self.sinks[at].flush() {
                self.tell_failure(at, &error);
            }
        }
        // Nodes that write to a closed stream get SIGPIPE from their own pipe.
        let sinks = &self.sinks;
        self.sources.retain(|source| !sinks[source.sink].closed);
    }

    fn tell_failure(&mut self, failed: usize, error: &io::Error) {
        let last = self.sinks.len() - 1;
        if failed != last {
            self.sinks[last].held.extend_from_slice(format!("gasnet-sci: writing stdout failed: {error}\n").as_bytes());
        }
    }
}
