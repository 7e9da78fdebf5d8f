//! One stream of a node: what has come of it and has not gone out.
//!
//! Rules:
//! 1. A stream is a sequence of lines. The last one may be unfinished: its rest has not come yet.
//! 2. Each line is looked at once, when its end comes. If another node has said the same, it is dropped then, and is only counted.
//!    If it is the first of its kind, it waits for other nodes to say the same. All other lines are plain.
//! 3. Lines go out in the order in which they came. So what comes behind a line that waits goes out after it. Each line counts its
//!    own wait from when it came, so lines that came together wait together, and none waits twice.
//! 4. At most [`MOST`] lines of a stream wait at once. A node that says more than that is not saying what others say: the
//!    further lines are plain.

use super::fold::{self, Folds, Said, Ticket};
use super::sink::{Open, Sink};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

/// If a line stays unfinished for this long, it is taken for a prompt. This is longer than one print takes, and
/// shorter than a person notices.
const QUIET: Duration = Duration::from_millis(100);

/// How many lines of one stream may wait for other nodes to say the same. A guess: a node that fails says two or three.
const MOST: usize = 16;

/// What a node calls itself in its lines. Lines of a stream without it stand for themselves.
pub type Name = Option<String>;

// A line that waits for other nodes to say the same: its place in `held`, and its length with the newline.
struct Waiting {
    at: usize,
    len: usize,
    ticket: Ticket,
}

pub struct Source {
    /// What tells sources apart.
    pub number: i32,
    /// `None`: the bytes come from another host, or it has ended.
    pub pipe: Option<File>,
    pub is_fed: bool,
    /// It is a stream of a node.
    pub is_nodes: bool,
    /// The place of its sink.
    pub sink: usize,
    /// Nothing more comes.
    pub ended: bool,
    /// Whoever feeds it has been told to stop.
    pub stopped: bool,
    /// When it last brought something, or got its turn.
    pub active_at: Instant,
    /// How many bytes were moved to the front, for tests.
    #[cfg(test)]
    pub moved: usize,
    // The text in front of each line.
    tag: String,
    // Whether the stream's node has stdin. Then an unfinished line may be a prompt.
    prompts: bool,
    name: Name,
    held: Vec<u8>,
    // Bytes of `held` that belong to finished lines. Behind them is the unfinished one.
    whole: usize,
    // The beginning of the unfinished line has gone out, so the line cannot be looked at.
    is_torn: bool,
    // In the order in which they came.
    waiting: VecDeque<Waiting>,
}

impl Source {
    pub fn new(number: i32, pipe: Option<File>, sink: usize, tag: String, prompts: bool, name: Name) -> Source {
        Source {
            number,
            is_fed: pipe.is_none(),
            is_nodes: false,
            pipe,
            sink,
            ended: false,
            stopped: false,
            active_at: Instant::now(),
            #[cfg(test)]
            moved: 0,
            tag,
            prompts,
            name,
            held: Vec::new(),
            whole: 0,
            is_torn: false,
            waiting: VecDeque::new(),
        }
    }

    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether it is done with: it has ended, and all has gone out.
    pub fn is_over(&self, sink: &Sink) -> bool {
        self.ended && self.held.is_empty() && sink.open.is_none_or(|open| open.source != self.number)
    }

    /// How many bytes it may still bring.
    pub fn room(&self, share: usize) -> usize {
        share.saturating_sub(self.held.len())
    }

    /// Reads its pipe once, within its room. Returns how many bytes came.
    pub fn read(&mut self, scratch: &mut [u8], share: usize, folds: &mut Folds) -> usize {
        let room = self.room(share).min(scratch.len());
        let Some(pipe) = self.pipe.as_mut().filter(|_| room > 0) else { return 0 };
        match pipe.read(&mut scratch[..room]) {
            Ok(n @ 1..) => {
                self.bring(&scratch[..n], folds);
                return n;
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Ok(_) | Err(_) => self.end(),
        }
        0
    }

    /// Takes bytes that have come.
    pub fn bring(&mut self, bytes: &[u8], folds: &mut Folds) {
        self.active_at = Instant::now();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line(folds);
            }
        }
    }

    // The end of the unfinished line has come (rule 2).
    fn end_line(&mut self, folds: &mut Folds) {
        let at = std::mem::replace(&mut self.whole, self.held.len());
        if std::mem::take(&mut self.is_torn) {
            return;
        }
        let Some(name) = &self.name else { return };
        match folds.look(name, self.number, &self.held[at..], self.waiting.len() < MOST, self.active_at) {
            Said::Plain => {}
            Said::Waits(ticket) => self.waiting.push_back(Waiting { at, len: self.whole - at, ticket }),
            Said::Known => {
                self.held.truncate(at);
                self.whole = at;
            }
        }
    }

    /// Nothing more comes.
    pub fn end(&mut self) {
        self.pipe = None;
        self.ended = true;
    }

    // Whether an unfinished line must go out: it has used up its share, or its rest will not come.
    fn is_urgent(&self, share: usize) -> bool {
        !self.held.is_empty() && (self.room(share) == 0 || self.ended)
    }

    /// Whether it has something that goes out as soon as the sink is free.
    pub fn is_waiting(&self, share: usize) -> bool {
        self.whole > 0 || self.is_urgent(share)
    }

    /// When an unfinished line may be taken for a prompt.
    pub fn prompts_at(&self) -> Option<Instant> {
        (self.prompts && self.whole == 0 && !self.held.is_empty()).then(|| self.active_at + QUIET)
    }

    /// When the next line that waits for other nodes to say the same has waited long enough.
    pub fn folds_at(&self, folds: &Folds) -> Option<Instant> {
        self.waiting.front().and_then(|line| folds.until(line.ticket))
    }

    /// Gives the sink what it may have now. While other sources wait for the sink, this one has it only until an unfinished line
    /// has ended: then it is their turn.
    pub fn move_on(&mut self, sink: &mut Sink, folds: &mut Folds, share: usize, now: Instant) {
        if self.room(share) == 0 {
            self.waiting.iter().for_each(|line| folds.hurry(line.ticket, now)); // its node cannot print any more
        }
        while sink.takes_from(self.number) {
            let others_wait = sink.awaited_since.is_some();
            if sink.open.is_some() {
                let line = self.held.iter().position(|byte| *byte == b'\n').map_or(self.held.len(), |at| at + 1);
                self.pass(sink, line);
                if sink.open.is_some() {
                    if self.ended {
                        sink.end_line(!self.tag.is_empty()); // with tags it becomes a whole line
                    }
                    return;
                }
                if others_wait {
                    return;
                }
            } else if self.whole > 0 {
                if !self.pass_lines(sink, folds, now) {
                    return;
                }
            } else if self.is_urgent(share) {
                self.active_at = now; // from now on its silence counts
                self.pass(sink, self.held.len());
            } else {
                if self.prompts_at().is_some_and(|at| at <= now) {
                    self.pass(sink, self.held.len());
                    sink.open = Some(Open { source: self.number, is_prompt: true });
                }
                return;
            }
        }
    }

    fn pass(&mut self, sink: &mut Sink, len: usize) {
        sink.take(self.number, &self.tag, &self.held[..len]);
        self.drop_front(len);
    }

    // Moves what stays to the front. Callers do so once for all that they passed on.
    fn drop_front(&mut self, len: usize) {
        if len == 0 {
            return;
        }
        self.held.drain(..len);
        #[cfg(test)]
        {
            self.moved += self.held.len();
        }
        self.is_torn |= len > self.whole;
        self.whole = self.whole.saturating_sub(len);
        self.waiting.iter_mut().for_each(|line| line.at -= len);
    }

    // Passes on finished lines, up to one that has to wait longer. False: there is one.
    fn pass_lines(&mut self, sink: &mut Sink, folds: &mut Folds, now: Instant) -> bool {
        let mut done = 0;
        while let Some(line) = self.waiting.front() {
            sink.take(self.number, &self.tag, &self.held[done..line.at]);
            done = line.at;
            if folds.until(line.ticket).is_some_and(|until| until > now) {
                self.drop_front(done);
                return false;
            }
            let end = line.at + line.len;
            let count = fold::count(folds.finish(line.ticket));
            // The first part leaves the line open, the second ends it.
            sink.take(self.number, &self.tag, &self.held[done..end - 1]);
            sink.take(self.number, &self.tag, format!("{count}\n").as_bytes());
            done = end;
            self.waiting.pop_front();
        }
        sink.take(self.number, &self.tag, &self.held[done..self.whole]);
        self.drop_front(self.whole);
        true
    }
}
