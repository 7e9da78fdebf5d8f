//! Lines of output, with the node in front. All that the library prints goes through here, to stderr, one write per
//! line.
//!
//! What is called async-signal-safe here makes no allocation, takes no lock, and makes one write(2).

#![allow(unsafe_code)] // a function behind an atomic address

use crate::sync::fixed::{AtomicBool, AtomicU64, Ordering};
use std::fmt::{self, Write as _};

// The rank in the high half, the number of nodes in the low half; 0: not known yet.
static WHO: AtomicU64 = AtomicU64::new(0);
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets the rank that is in front of lines from now on.
pub fn set_identity(node: u32, nodes: u32) {
    // Relaxed: nothing else is ordered by this value.
    WHO.store(u64::from(node) << 32 | u64::from(nodes), Ordering::Relaxed);
}

/// Sets whether advisory lines are left out (GASNET_QUIET).
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed); // Relaxed: nothing else is ordered by this value
}

/// Rank and number of nodes of this process. The latter is 0 before init.
pub fn identity() -> (u32, u32) {
    let who = WHO.load(Ordering::Relaxed); // Relaxed: nothing else is ordered by this value
    ((who >> 32) as u32, who as u32)
}

/// What a node calls itself in lines.
pub fn name(node: u32, nodes: u32) -> String {
    format!("node {node}/{nodes}")
}

/// Bytes of a line with its newline: what a pipe takes in one piece (PIPE_BUF).
const ROOM: usize = 4096;

/// A line that is built without allocation. Text that does not fit is cut off.
pub struct Line {
    bytes: [u8; ROOM],
    len: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let room = self.bytes.len() - 1 - self.len; // keeps one byte for the newline
        let n = s.len().min(room);
        self.bytes[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

impl Line {
    /// A line that starts with `prefix`, and with the node if that is known.
    pub fn new(prefix: &str) -> Line {
        let mut line = Line { bytes: [0; ROOM], len: 0 };
        let _ = line.write_str(prefix);
        let (node, nodes) = identity();
        if nodes > 0 {
            let _ = write!(line, "node {node}/{nodes}: ");
        }
        line
    }

    /// Adds one byte, in whatever encoding.
    pub fn push(&mut self, byte: u8) {
        if self.len < self.bytes.len() - 1 {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }

    /// Writes the line to stderr in one write(2). Async-signal-safe.
    pub fn send(self) {
        self.send_to(2);
    }

    /// Writes the line to descriptor `fd` in one write(2). Async-signal-safe.
    pub fn send_to(mut self, fd: i32) {
        self.bytes[self.len] = b'\n';
        // SAFETY: `bytes` holds `len + 1` initialised bytes, and write(2) only reads them. A failure cannot be
        // reported anywhere.
        unsafe { libc::write(fd, self.bytes.as_ptr().cast(), self.len + 1) };
    }
}

/// Prints one line about an error: `gasnet-sci: node 1/4: …`. Async-signal-safe.
pub fn error(text: fmt::Arguments<'_>) {
    report(text);
}

/// Prints one line of a report that the user has asked for, such as counters, in the form of [`error`].
pub fn report(text: fmt::Arguments<'_>) {
    let mut line = Line::new("gasnet-sci: ");
    let _ = line.write_fmt(text);
    line.send();
}

/// Prints one line without the prefix, for reports whose form is fixed elsewhere.
pub fn raw(text: fmt::Arguments<'_>) {
    let mut line = Line { bytes: [0; ROOM], len: 0 };
    let _ = line.write_fmt(text);
    line.send();
}

/// Prints one line of advice, unless GASNET_QUIET is set.
pub fn advise(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        error(format_args!("{text}"));
    }
}
