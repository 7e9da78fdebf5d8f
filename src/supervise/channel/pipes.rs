//! A channel's two pipes, and the bytes that wait on both sides. Nothing here waits. Must not know: what frames mean.

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

/// One end of a channel.
pub struct Channel {
    input: File,
    output: File,
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
        let mut channel = Channel::new(input, output, true)?;
        channel.held.extend_from_slice(&MAGIC);
        Ok(channel)
    }

    /// The launcher's end.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn of_launcher(input: OwnedFd, output: OwnedFd) -> io::Result<Channel> {
        Channel::new(input, output, false)
    }

    fn new(input: OwnedFd, output: OwnedFd, begun: bool) -> io::Result<Channel> {
        sys::set_nonblocking(input.as_fd())?;
        sys::set_nonblocking(output.as_fd())?;
        let now = Instant::now();
        Ok(Channel {
            input: input.into(),
            output: output.into(),
            received: Vec::new(),
            early: Vec::new(),
            held: Vec::new(),
            begun,
            over: false,
            deaf: false,
            heard_at: now,
            turn_at: now,
            beat_at: now,
        })
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
        while !self.held.is_empty() {
            match self.output.write(&self.held) {
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
        let mut piece = [0; 64 << 10];
        // A bounded number of reads, so that one channel does not keep its owner from the others.
        for _ in 0..16 {
            match self.input.read(&mut piece) {
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
        if self.over {
            return;
        }
        set.push(pollfd { fd: self.input.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        if self.is_holding() {
            set.push(pollfd { fd: self.output.as_raw_fd(), events: libc::POLLOUT, revents: 0 });
        }
    }

    /// Whether something, or the end, can be read now.
    pub fn is_readable_now(&self) -> bool {
        !self.over && sys::poll_one(self.input.as_fd(), libc::POLLIN) != 0
    }

    /// Whether poll(2) found that something can be read.
    pub fn is_readable(&self, polled: &[pollfd]) -> bool {
        let is_ready = |entry: &pollfd| entry.fd == self.input.as_raw_fd() && entry.revents != 0;
        !self.over && (!self.early.is_empty() || polled.iter().any(is_ready))
    }
}
