//! The launcher's stdin, on its way to node 0.

use gasnet_sci::os::sys;
use gasnet_sci::supervise::channel::{PIECE, WINDOW};
use gasnet_sci::supervise::conductor::readable;
use libc::pollfd;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

/// How often a launcher in the background looks whether the terminal is its own again.
const LOOK: Duration = Duration::from_millis(500);

pub struct Input {
    // `None`: it has ended.
    file: Option<File>,
    is_terminal: bool,
    under_way: usize,
}

impl Input {
    pub fn new() -> io::Result<Input> {
        let stdin = io::stdin();
        let file = File::from(stdin.as_fd().try_clone_to_owned()?);
        Ok(Input { file: Some(file), is_terminal: stdin.is_terminal(), under_way: 0 })
    }

    // A process in the background that reads from its terminal is stopped.
    fn may_read(&self) -> bool {
        !self.is_terminal || self.file.as_ref().is_some_and(|file| sys::is_in_foreground(file.as_fd()))
    }

    pub fn interests(&self, set: &mut Vec<pollfd>) {
        if let Some(file) = self.file.as_ref().filter(|_| self.under_way < WINDOW && self.may_read()) {
            set.push(readable(file));
        }
    }

    pub fn due(&self, now: Instant) -> Option<Instant> {
        (self.is_terminal && self.file.is_some() && !self.may_read()).then(|| now + LOOK)
    }

    /// What poll(2) found there; empty at the end.
    pub fn read(&mut self, polled: &[pollfd]) -> Option<Vec<u8>> {
        let file = self.file.as_mut()?;
        if !polled.iter().any(|entry| entry.fd == file.as_raw_fd() && entry.revents != 0) {
            return None;
        }
        let mut piece = vec![0; PIECE];
        match file.read(&mut piece) {
            Ok(n @ 1..) => {
                piece.truncate(n);
                self.under_way += n;
                return Some(piece);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return None;
            }
            Ok(_) | Err(_) => self.file = None,
        }
        Some(Vec::new())
    }

    /// The node has taken so many bytes.
    pub fn taken(&mut self, count: usize) {
        self.under_way = self.under_way.saturating_sub(count);
    }
}
