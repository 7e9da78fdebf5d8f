//! What the nodes print: whole lines, in the order of each stream, to the supervisor's own stdout and stderr.
//!
//! An unfinished line is kept back. The node that has stdin is the exception: if it leaves a line unfinished for
//! `QUIET`, that may be a prompt, so it is shown. Other nodes' lines then wait for its end, but not longer than
//! `COURTESY`.
//!
//! Nothing here waits for a reader. A full sink keeps its bytes. While a sink holds too many bytes, its nodes' output
//! is not read. They then wait as they would for any full pipe. Must not know: ranks, endings.

#![allow(unsafe_code)] // processes and signals

use crate::os::sys;
use libc::pollfd;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::time::{Duration, Instant};

/// A line longer than this is passed on in pieces. A sink that holds more stops its nodes. A guess.
const LIMIT: usize = 1 << 20;
/// If a line stays unfinished for this long, it is taken for a prompt. This is longer than one print takes, and
/// shorter than a person notices.
const QUIET: Duration = Duration::from_millis(100);
/// How long other nodes' lines wait for the end of a line that is shown unfinished. Not for ever, because that line
/// may end only after something that those nodes do. A guess.
const COURTESY: Duration = Duration::from_secs(1);
/// The number of bytes that a pipe takes without blocking if poll(2) calls it writable (pipe(7): PIPE_BUF).
const SMALL_WRITE: usize = 4096;

enum SinkFile {
    // Writes never block: it is a plain file, or an open description of our own in non-blocking mode.
    Direct(File),
    // Other processes share the open description, so its mode must not be changed. poll(2) tells when a write fits.
    Polled(File),
    Socket(File),
}

struct Sink {
    way: SinkFile,
    held: Vec<u8>,
    closed: bool,
    // The source whose unfinished line has been shown.
    open: Option<i32>,
    // Output of other sources since then, and the time since when the oldest of it waits.
    behind: VecDeque<Waiting>,
    behind_since: Instant,
}

// Output that a source wrote while the line of another one was open.
struct Waiting {
    source: i32,
    tag: String,
    bytes: Vec<u8>,
    // True if nothing more comes from it, so its last line stays unfinished. With tags, the sink ends that line.
    last: bool,
}

impl Sink {
    fn open(number: i32) -> io::Result<Sink> {
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
        Ok(Sink {
            way,
            held: Vec::new(),
            closed: false,
            open: None,
            behind: VecDeque::new(),
            behind_since: Instant::now(),
        })
    }

    fn file(&self) -> &File {
        match &self.way {
            SinkFile::Direct(file) | SinkFile::Polled(file) | SinkFile::Socket(file) => file,
        }
    }

    fn is_full(&self) -> bool {
        self.held.len() + self.behind.iter().map(|waiting| waiting.bytes.len()).sum::<usize>() >= LIMIT
    }

    // Takes what `source` wrote, with `tag` in front of each line. If another source's line is open, it is kept until
    // later.
    fn accept(&mut self, source: i32, tag: &str, bytes: &[u8]) {
        if bytes.is_empty() || self.closed {
            return; // what a closed sink held would never go out, and the supervisor would wait for that
        }
        if self.open.is_some_and(|open| open != source) {
            if self.behind.is_empty() {
                self.behind_since = Instant::now();
            }
            self.behind.push_back(Waiting { source, tag: tag.into(), bytes: bytes.into(), last: false });
            if self.is_full() {
                self.break_line();
            }
            return;
        }
        self.take(source, tag, bytes);
        self.catch_up();
    }

    // The same while no other source's line is open.
    fn take(&mut self, source: i32, tag: &str, bytes: &[u8]) {
        let mut begins = self.open.is_none();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if begins {
                self.held.extend_from_slice(tag.as_bytes());
            }
            self.held.extend_from_slice(line);
            begins = true;
        }
        self.open = if bytes.ends_with(b"\n") { None } else { Some(source) };
    }

    // Takes what was kept, in the order of each source, until one leaves its line open and others come after it.
    fn catch_up(&mut self) {
        let mut at = 0;
        while let Some(waiting) = self.behind.get(at) {
            if self.open.is_some_and(|open| open != waiting.source) {
                at += 1;
                continue;
            }
            let Some(Waiting { source, tag, bytes, last }) = self.behind.remove(at) else { return };
            self.take(source, &tag, &bytes);
            if last {
                self.end_line(!tag.is_empty());
            }
            if self.open.is_none() {
                at = 0; // sources that have waited for longer come first
            }
        }
    }

    fn end_line(&mut self, newline: bool) {
        if self.open.take().is_some() && newline {
            self.held.push(b'\n');
        }
    }

    // `source` has ended, so its unfinished line is shown as it is. With tags it becomes a whole line.
    fn close(&mut self, source: i32, tagged: bool) {
        if self.open == Some(source) {
            self.end_line(tagged);
            self.catch_up();
        } else if let Some(waiting) = self.behind.iter_mut().rev().find(|waiting| waiting.source == source) {
            waiting.last = true;
        }
    }

    // Ends the open line, for the sources that wait.
    fn break_line(&mut self) {
        self.end_line(true);
        self.catch_up();
    }

    // The time when the sources that wait have waited long enough.
    fn due(&self) -> Option<Instant> {
        (!self.behind.is_empty()).then(|| self.behind_since + COURTESY)
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

    // Writes what can be written without waiting. An error other than a closed pipe is returned once.
    fn flush(&mut self) -> Option<io::Error> {
        while !self.held.is_empty() && !self.closed {
            match self.write_some() {
                Ok(n) => drop(self.held.drain(..n)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    self.closed = true;
                    self.held.clear();
                    self.behind.clear();
                    self.open = None;
                    return (e.kind() != ErrorKind::BrokenPipe).then_some(e);
                }
            }
        }
        None
    }
}

struct Source {
    // What tells sources apart.
    number: i32,
    // `None`: the bytes come from another host, through `Output::feed`.
    pipe: Option<File>,
    sink: usize,
    // The text in front of each line.
    tag: String,
    // Whether the stream's node has stdin. Then an unfinished line may be a prompt.
    prompts: bool,
    partial: Vec<u8>,
    // When the unfinished line began or last grew.
    quiet_since: Instant,
}

impl Source {
    // Returns false at the end of the stream.
    fn read_into(&mut self, sink: &mut Sink, scratch: &mut [u8]) -> bool {
        match self.pipe.as_mut().map(|pipe| pipe.read(scratch)) {
            None => {}
            Some(Ok(0)) => return false,
            Some(Ok(n)) => self.take(&scratch[..n], sink),
            Some(Err(e)) => return matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
        true
    }

    fn take(&mut self, got: &[u8], sink: &mut Sink) {
        self.quiet_since = Instant::now();
        let whole = got.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            self.partial.extend_from_slice(&got[..whole]);
            self.pass_on(sink);
        }
        self.partial.extend_from_slice(&got[whole..]);
        if self.partial.len() > LIMIT {
            self.pass_on(sink);
        }
    }

    // Gives all bytes to the sink. An unfinished line becomes the sink's open line.
    fn pass_on(&mut self, sink: &mut Sink) {
        let bytes = std::mem::take(&mut self.partial);
        sink.accept(self.number, &self.tag, &bytes);
    }

    // Shows what is left of a stream that has ended.
    fn finish(&mut self, sink: &mut Sink) {
        self.pass_on(sink);
        sink.close(self.number, !self.tag.is_empty());
    }

    // The time when the unfinished line must be shown.
    fn due(&self) -> Option<Instant> {
        (self.prompts && !self.partial.is_empty()).then(|| self.quiet_since + QUIET)
    }
}

/// All streams of the job.
pub struct Output {
    // One sink if stdout and stderr are the same file; two sinks could tear each other's lines.
    sinks: Vec<Sink>,
    sources: Vec<Source>,
    scratch: Vec<u8>,
    lost: bool,
    holds_prompts: bool,
}

impl Output {
    /// Takes the read ends of the nodes' stdout and stderr, with their ranks. Without any, reports still go to stderr. `tag`:
    /// each line begins with `[rank] `. Node `prompts` has stdin.
    pub fn new(
        streams: impl Iterator<Item = (u32, [Option<PipeReader>; 2])>,
        tag: bool,
        prompts: u32,
    ) -> io::Result<Output> {
        let (out, err) = (Sink::open(1)?, Sink::open(2)?);
        let identity = |sink: &Sink| sink.file().metadata().map(|m| (m.dev(), m.ino(), m.rdev()));
        let same = identity(&out)? == identity(&err)?;
        let sinks = if same { vec![out] } else { vec![out, err] };
        let mut output =
            Output { sinks, sources: Vec::new(), scratch: vec![0; 64 << 10], lost: false, holds_prompts: false };
        for (rank, pair) in streams {
            for (stream, pipe) in pair.into_iter().enumerate() {
                let Some(pipe) = pipe else { continue };
                let tag = if tag { format!("[{rank}] ") } else { String::new() };
                output.add_pipe(pipe, stream, tag, rank == prompts)?;
            }
        }
        Ok(output)
    }

    /// Adds a stream that goes to stdout (0) or stderr (1), with `tag` in front of each line. Returns its number.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn add_pipe(&mut self, pipe: PipeReader, stream: usize, tag: String, prompts: bool) -> io::Result<i32> {
        sys::set_nonblocking(pipe.as_fd())?;
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        Ok(self.add(pipe.as_raw_fd(), Some(pipe), stream, tag, prompts))
    }

    /// Adds a stream whose bytes [`Output::feed`] brings. `number` is above that of any descriptor.
    pub fn add_fed(&mut self, number: i32, stream: usize, tag: String, prompts: bool) {
        self.add(number, None, stream, tag, prompts);
    }

    fn add(&mut self, number: i32, pipe: Option<File>, stream: usize, tag: String, prompts: bool) -> i32 {
        let sink = stream.min(self.sinks.len() - 1);
        self.sources.push(Source {
            number,
            pipe,
            sink,
            tag,
            prompts,
            partial: Vec::new(),
            quiet_since: Instant::now(),
        });
        number
    }

    /// While `hold` is true no unfinished line is taken for a prompt: its rest may be on its way. Nothing is quiet at the end of that.
    pub fn hold_prompts(&mut self, hold: bool) {
        if self.holds_prompts && !hold {
            self.sources.iter_mut().for_each(|source| source.quiet_since = Instant::now());
        }
        self.holds_prompts = hold;
    }

    /// Brings bytes of the stream with this number; none: it has ended.
    pub fn feed(&mut self, number: i32, bytes: &[u8]) {
        let Some(at) = self.sources.iter().position(|source| source.number == number) else { return };
        let sink = &mut self.sinks[self.sources[at].sink];
        if bytes.is_empty() {
            self.sources.swap_remove(at).finish(sink);
        } else {
            self.sources[at].take(bytes, sink);
        }
        self.flush();
    }

    /// Prints a line of the supervisor's own to stderr.
    pub fn report(&mut self, line: &str) {
        if let Some(sink) = self.sinks.last_mut() {
            sink.break_line();
            sink.accept(-1, "", format!("{line}\n").as_bytes());
        }
        self.flush();
    }

    /// Whether the nodes wait for a slow reader.
    pub fn is_clogged(&self) -> bool {
        self.sinks.iter().any(Sink::is_full)
    }

    /// Whether bytes wait for a reader, or for the end of another node's line.
    pub fn is_holding(&self) -> bool {
        self.sinks.iter().any(|sink| !sink.held.is_empty() || !sink.behind.is_empty())
    }

    /// Whether output of nodes was lost because of a write error. A reader that has gone does not count.
    pub fn has_lost(&self) -> bool {
        self.lost
    }

    /// Whether the reader of stdout (0) or stderr (1) has gone.
    pub fn is_closed(&self, stream: usize) -> bool {
        self.sinks[stream.min(self.sinks.len() - 1)].closed
    }

    /// Whether any stream may bring more.
    pub fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Adds what to poll for now.
    pub fn interests(&self, set: &mut Vec<pollfd>) {
        let piped = self.sources.iter().filter(|source| source.pipe.is_some());
        let readable = piped.filter(|source| !self.sinks[source.sink].is_full());
        set.extend(readable.map(|source| pollfd { fd: source.number, events: libc::POLLIN, revents: 0 }));
        let full = self.sinks.iter().filter(|sink| !sink.held.is_empty());
        set.extend(full.map(|sink| pollfd { fd: sink.file().as_raw_fd(), events: libc::POLLOUT, revents: 0 }));
    }

    /// The time when [`Output::transfer`] has something to do even if nothing is readable.
    pub fn next(&self) -> Option<Instant> {
        let prompts = self.sources.iter().filter(|_| !self.holds_prompts).filter_map(Source::due);
        prompts.chain(self.sinks.iter().filter_map(Sink::due)).min()
    }

    /// Reads what poll(2) found, shows lines that were kept back long enough, and writes what can be written without
    /// waiting. True if anything was read.
    pub fn transfer(&mut self, polled: &[pollfd]) -> bool {
        let Output { sinks, sources, scratch, holds_prompts, .. } = self;
        let ready: Vec<i32> = polled.iter().filter(|entry| entry.revents != 0).map(|entry| entry.fd).collect();
        let now = Instant::now();
        let mut any = false;
        sources.retain_mut(|source| {
            let ready = ready.contains(&source.number);
            let sink = &mut sinks[source.sink];
            any |= ready;
            if ready && !source.read_into(sink, scratch) {
                source.finish(sink);
                return false;
            }
            if !*holds_prompts && source.due().is_some_and(|at| at <= now) {
                source.pass_on(sink);
            }
            true
        });
        sinks.iter_mut().filter(|sink| sink.due().is_some_and(|at| at <= now)).for_each(Sink::break_line);
        self.flush();
        any
    }

    /// Gives up streams that do not end because a process outside the job holds them.
    pub fn close_sources(&mut self) {
        for mut source in self.sources.drain(..) {
            source.finish(&mut self.sinks[source.sink]);
        }
        self.flush();
    }

    fn flush(&mut self) {
        for at in 0..self.sinks.len() {
            if let Some(error) = self.sinks[at].flush() {
                self.lost = true;
                self.report_failure(at, &error);
            }
        }
        // Closing their streams lets nodes that write to a closed stream get SIGPIPE from their own pipe.
        let sinks = &self.sinks;
        self.sources.retain(|source| !sinks[source.sink].closed);
    }

    fn report_failure(&mut self, failed: usize, error: &io::Error) {
        let last = self.sinks.len() - 1;
        if failed != last && !self.sinks[last].closed {
            self.sinks[last].held.extend_from_slice(format!("gasnet-sci: writing stdout failed: {error}\n").as_bytes());
        }
    }
}
