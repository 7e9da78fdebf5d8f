//! One stream of a node: what has come of it and has not gone out.

use super::fold::{Folds, Said};
use super::sink::{Open, Sink};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

/// If a line stays unfinished for this long, it is taken for a prompt. This is longer than one print takes, and
/// shorter than a person notices.
const QUIET: Duration = Duration::from_millis(100);

/// What may become one line of many: what a node calls itself in its lines.
pub type Name = Option<String>;

pub struct Source {
    /// What tells sources apart.
    pub number: i32,
    /// `None`: the bytes come from another host, or it has ended.
    pub pipe: Option<File>,
    pub is_fed: bool,
    /// The place of its sink.
    pub sink: usize,
    /// Nothing more comes.
    pub ended: bool,
    /// Whoever feeds it has been told to stop.
    pub stopped: bool,
    /// When it last brought something, or got its turn.
    pub active_at: Instant,
    // The text in front of each line.
    tag: String,
    // Whether the stream's node has stdin. Then an unfinished line may be a prompt.
    prompts: bool,
    name: Name,
    held: Vec<u8>,
    // Bytes of `held` that are whole lines.
    whole: usize,
}

impl Source {
    pub fn new(number: i32, pipe: Option<File>, sink: usize, tag: String, prompts: bool, name: Name) -> Source {
        Source {
            number,
            is_fed: pipe.is_none(),
            pipe,
            sink,
            ended: false,
            stopped: false,
            active_at: Instant::now(),
            tag,
            prompts,
            name,
            held: Vec::new(),
            whole: 0,
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

    /// Reads its pipe once, within its room.
    pub fn read(&mut self, scratch: &mut [u8], share: usize) {
        let room = self.room(share).min(scratch.len());
        let Some(pipe) = self.pipe.as_mut().filter(|_| room > 0) else { return };
        match pipe.read(&mut scratch[..room]) {
            Ok(n @ 1..) => self.bring(&scratch[..n]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Ok(_) | Err(_) => self.end(),
        }
    }

    pub fn bring(&mut self, bytes: &[u8]) {
        self.active_at = Instant::now();
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            self.whole = self.held.len() + at + 1;
        }
        self.held.extend_from_slice(bytes);
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

    /// Gives the sink what it may have now. If other sources wait, it does so until an unfinished line has ended: then it is their
    /// turn.
    pub fn move_on(&mut self, sink: &mut Sink, folds: &mut Folds, share: usize, now: Instant) {
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
                if !self.pass_lines(sink, folds, share, now) {
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

    fn drop_front(&mut self, len: usize) {
        self.held.drain(..len);
        self.whole = self.whole.saturating_sub(len);
    }

    // Passes on whole lines. False: the next one waits for other nodes to say the same.
    fn pass_lines(&mut self, sink: &mut Sink, folds: &mut Folds, share: usize, now: Instant) -> bool {
        let Some(name) = &self.name else {
            self.pass(sink, self.whole);
            return true;
        };
        if self.room(share) == 0 {
            folds.hurry(Some(self.number), now); // its node would wait
        }
        let mut at = 0;
        while at < self.whole {
            let len = self.held[at..].iter().position(|byte| *byte == b'\n').map_or(self.whole - at, |end| end + 1);
            let line = &self.held[at..at + len];
            let said = folds.look(name, self.number, line, now);
            if said == Said::Plain {
                at += len;
                continue;
            }
            let text = match said {
                Said::Waits => {
                    self.pass(sink, at);
                    return false;
                }
                Said::Printed(text) => text,
                _ => Vec::new(),
            };
            self.pass(sink, at);
            sink.take(self.number, &self.tag, &text);
            self.drop_front(len);
            return true;
        }
        self.pass(sink, at);
        true
    }
}
