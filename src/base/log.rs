//! One line out, with the node in front. Everything that the library prints goes through here, to stderr, in one write.
//!
//! Async-signal-safe where it says so: no allocation, no lock, one write(2).

#![allow(unsafe_code)] // a function behind an atomic address

use crate::sync::fixed::{AtomicBool, AtomicU64, Ordering};
use std::fmt::{self, Write as _};

// node in the high half, nodes in the low half; 0 = not known yet.
static WHO: AtomicU64 = AtomicU64::new(0);
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets the node that prefixes the lines from now on.
pub fn set_identity(node: u32, nodes: u32) {
    // Relaxed: the value stands alone.
    WHO.store(u64::from(node) << 32 | u64::from(nodes), Ordering::Relaxed);
}

/// GASNET_QUIET: no advisory lines.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed); // Relaxed: as above
}

/// (node, nodes) of this process, nodes = 0 before init.
pub fn identity() -> (u32, u32) {
    let who = WHO.load(Ordering::Relaxed); // Relaxed: as above
    ((who >> 32) as u32, who as u32)
}

/// Bytes of a line, its newline included: what a pipe takes in one piece (PIPE_BUF).
const ROOM: usize = 4096;

/// A line built without allocation; what does not fit is cut.
pub struct Line {
    bytes: [u8; ROOM],
    len: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let room = self.bytes.len() - 1 - self.len; // one byte is kept for the newline
        let n = s.len().min(room);
        self.bytes[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

impl Line {
    /// `prefix`, then the node when it is known.
    pub fn new(prefix: &str) -> Line {
        let mut line = Line { bytes: [0; ROOM], len: 0 };
        let _ = line.write_str(prefix);
        let (node, nodes) = identity();
        if nodes > 0 {
            let _ = write!(line, "node {node}/{nodes}: ");
        }
        line
    }

    /// One more byte, of whatever encoding.
    pub fn push(&mut self, byte: u8) {
        if self.len < self.bytes.len() - 1 {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }

    /// Writes it to stderr in one write(2). Async-signal-safe.
    pub fn send(self) {
        self.send_to(2);
    }

    /// Writes it to descriptor `fd` in one write(2). Async-signal-safe.
    pub fn send_to(mut self, fd: i32) {
        self.bytes[self.len] = b'\n';
        // SAFETY: `bytes` holds `len + 1` initialised bytes; write(2) only reads them. A failure has nowhere to be told.
        unsafe { libc::write(fd, self.bytes.as_ptr().cast(), self.len + 1) };
    }
}

/// One line about an error: `gasnet-sci: node 1/4: …`. Async-signal-safe.
pub fn error(text: fmt::Arguments<'_>) {
    let mut line = Line::new("gasnet-sci: ");
    let _ = line.write_fmt(text);
    line.send();
}

/// One line without the prefix, for reports whose form is fixed elsewhere.
pub fn raw(text: fmt::Arguments<'_>) {
    let mut line = Line { bytes: [0; ROOM], len: 0 };
    let _ = line.write_fmt(text);
    line.send();
}

/// One line of advice, unless GASNET_QUIET.
pub fn advise(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        error(format_args!("{text}"));
    }
}
