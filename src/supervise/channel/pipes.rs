//! A channel's two pipes, and the bytes that wait on both sides. Nothing here waits. A channel that goes through another one has no
//! pipes of its own. Must not know: what frames mean.

use super::{Frame, MAGIC};
use crate::os::sys;
use libc::pollfd;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// What may stand in front of [`MAGIC`]: what a login shell prints. A guess.
const NOISE: usize = 64 << 10;
/// Each side says at least once in this time that it is there.
const BEAT: Duration = Duration::from_secs(1);

struct Pipes {
    input: File,
    output: File,
}

/// One end of a channel.
pub struct Channel {
    // `None`: it goes through another channel, and its owner moves the bytes.
    pipes: Option<Pipes>,
    // Bytes, or the end, were brought that nobody has looked at.
    fed: bool,
    ended: bool,
    received: Vec<u8>,
    // Frames that were put back.
    early: Vec<Frame>,
    held: Vec<u8>,
    // The frames begin only behind `MAGIC`.
    begun: bool,
    over: bool,
    // Nobody reads what this side writes. What the other side wrote before may still be read.
    deaf: bool,
    heard_at: Instant,
    // When this process has last had its turn.
    turn_at: Instant,
    beat_at: Instant,
}

impl Channel {
    /// The agent's end. It begins with [`MAGIC`].
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn of_agent(input: OwnedFd, output: OwnedFd) -> io::Result<Channel> {
        let mut channel = Channel::of_pipes(input, output)?;
        channel.begun = true;
        channel.held.extend_from_slice(&MAGIC);
        Ok(channel)
    }

    /// The launcher's end.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn of_launcher(input: OwnedFd, output: OwnedFd) -> io::Result<Channel> {
        Channel::of_pipes(input, output)
    }

    /// The launcher's end of a channel that goes through another one: the owner brings what has come ([`Channel::feed`]) and fetches
    /// what is to go ([`Channel::take_held`]).
    pub fn through() -> Channel {
        Channel::new(None)
    }

    fn of_pipes(input: OwnedFd, output: OwnedFd) -> io::Result<Channel> {
        sys::set_nonblocking(input.as_fd())?;
        sys::set_nonblocking(output.as_fd())?;
        Ok(Channel::new(Some(Pipes { input: input.into(), output: output.into() })))
    }

    fn new(pipes: Option<Pipes>) -> Channel {
        let now = Instant::now();
        Channel {
            pipes,
            fed: false,
            ended: false,
            received: Vec::new(),
            early: Vec::new(),
            held: Vec::new(),
            begun: false,
            over: false,
            deaf: false,
            heard_at: now,
            turn_at: now,
            beat_at: now,
        }
    }

    /// Brings bytes that came for this channel through another one.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
        self.heard_at = Instant::now();
        self.fed = true;
    }

    /// Nothing more will be brought.
    pub fn end(&mut self) {
        (self.fed, self.ended) = (true, true);
    }

    /// The bytes that are to go through another channel.
    pub fn take_held(&mut self) -> Vec<u8> {
        if self.pipes.is_none() { std::mem::take(&mut self.held) } else { Vec::new() }
    }

    /// Sends `frame`, now or when there is room.
    pub fn send(&mut self, frame: &Frame) {
        if !self.over && !self.deaf {
            frame.encode(&mut self.held);
            self.flush();
        }
    }

    /// Writes what can be written without waiting.
    pub fn flush(&mut self) {
        let Some(pipes) = &mut self.pipes else { return };
        while !self.held.is_empty() {
            match pipes.output.write(&self.held) {
                Ok(n) => drop(self.held.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.deaf = true;
                    self.held.clear();
                }
            }
        }
    }

    /// Reads what there is. Frames that came before the end are returned before it counts as over.
    ///
    /// # Errors
    /// What came is no frame. The channel is over then.
    pub fn receive(&mut self) -> Result<Vec<Frame>, String> {
        self.fed = false;
        self.over |= self.ended;
        let mut piece = vec![0; 64 << 10]; // not on the stack, which may be small (ulimit -s)
        // A bounded number of reads, so that one channel does not keep its owner from the others.
        for _ in 0..16 {
            let Some(pipes) = &mut self.pipes else { break };
            match pipes.input.read(&mut piece) {
                Ok(0) => {
                    self.over = true;
                    break;
                }
                Ok(n) => {
                    self.received.extend_from_slice(&piece[..n]);
                    self.heard_at = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.over = true;
                    break;
                }
            }
        }
        let frames = self.frames();
        self.over |= frames.is_err();
        let mut all = std::mem::take(&mut self.early);
        all.extend(frames?);
        Ok(all)
    }

    /// Keeps frames for the next [`Channel::receive`], which is due at once.
    pub fn put_back(&mut self, frames: impl Iterator<Item = Frame>) {
        self.early.extend(frames);
        if !self.early.is_empty() {
            self.beat_at = Instant::now();
        }
    }

    fn frames(&mut self) -> Result<Vec<Frame>, String> {
        if !self.begun {
            match self.received.windows(MAGIC.len()).position(|bytes| bytes == MAGIC) {
                Some(at) => drop(self.received.drain(..at + MAGIC.len())),
                None if self.received.len() > NOISE => return Err("it prints text instead of being an agent".into()),
                None => return Ok(Vec::new()),
            }
            self.begun = true;
        }
        let (mut frames, mut at) = (Vec::new(), 0);
        while let Some((frame, len)) = Frame::decode(&self.received[at..])? {
            at += len;
            frames.push(frame);
        }
        self.received.drain(..at);
        Ok(frames)
    }

    /// What the other side printed before it was an agent, if it never became one.
    pub fn noise(&self) -> String {
        let text = if self.begun { "".into() } else { String::from_utf8_lossy(&self.received) };
        text.trim().lines().next_back().unwrap_or_default().chars().take(200).collect()
    }

    /// Says that this side is there, if it is time.
    pub fn beat(&mut self, now: Instant) {
        if now.saturating_duration_since(self.turn_at) > 2 * BEAT {
            self.heard_at = now; // this process was stopped itself, and what was said meanwhile may still come
        }
        self.turn_at = now;
        if now >= self.beat_at {
            self.beat_at = now + BEAT;
            self.send(&Frame::Beat);
        }
    }

    /// When [`Channel::beat`] has something to do.
    pub fn next_beat(&self) -> Instant {
        self.beat_at
    }

    /// How long nothing has been heard.
    pub fn silence(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.heard_at)
    }

    /// Begins to count the silence anew, for example because this process was stopped.
    pub fn forgive(&mut self) {
        self.heard_at = Instant::now();
    }

    /// Whether the other side has closed the channel, or has sent what is no frame.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Ends the channel: nothing is sent or received any more.
    pub fn give_up(&mut self) {
        self.over = true;
    }

    /// Whether frames wait for room.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty() && !self.over
    }

    /// Adds what to poll for now.
    pub fn interests(&self, set: &mut Vec<pollfd>) {
        let Some(pipes) = self.pipes.as_ref().filter(|_| !self.over) else { return };
        set.push(pollfd { fd: pipes.input.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        if self.is_holding() {
            set.push(pollfd { fd: pipes.output.as_raw_fd(), events: libc::POLLOUT, revents: 0 });
        }
    }

    /// Whether something, or the end, can be read now.
    pub fn is_readable_now(&self) -> bool {
        let can_read = |pipes: &Pipes| sys::poll_one(pipes.input.as_fd(), libc::POLLIN) != 0;
        !self.over && (self.fed || self.pipes.as_ref().is_some_and(can_read))
    }

    /// Whether poll(2) found that something can be read.
    pub fn is_readable(&self, polled: &[pollfd]) -> bool {
        let own = self.pipes.as_ref().map_or(-1, |pipes| pipes.input.as_raw_fd());
        let is_ready = |entry: &pollfd| entry.fd == own && entry.revents != 0;
        !self.over && (self.fed || !self.early.is_empty() || polled.iter().any(is_ready))
    }
}
