//! Where the stores to a far segment go when it is on other hosts: to its owner; of a group to one member of each host, and to this host's memory.
#![allow(unsafe_code)] // Memory that the program and peers write to meanwhile.

use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use super::piece::{WORD, Word, piece, store};
use crate::error::{Error, Result};
use crate::memory::Mapping;
use crate::net::{Line, order};
use crate::net::say::{MOST, PIECES, Say};

/// How long a check or barrier waits for a peer that may be stopped, before it says that it does not know.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The targets.
#[derive(Default)]
pub struct Targets {
    /// The memory of this host, of a group that has members here.
    near: Option<Mapping>,
    lines: RwLock<Vec<Arc<Line>>>,
}

impl Targets {
    /// One owner.
    pub fn owner(line: Arc<Line>) -> Targets {
        Targets { near: None, lines: RwLock::new(vec![line]) }
    }

    /// The connections.
    pub fn lines(&self) -> Vec<Arc<Line>> {
        self.lines.read().clone()
    }

    /// Whether something more could go to all of them at once.
    pub fn has_room(&self) -> bool {
        self.lines.read().iter().all(|line| line.has_room())
    }

    /// Sends words that the program has stored. A target that has ended is noticed by who looks at it.
    pub fn words(&self, words: &[Word]) {
        let (mut pieces, mut body): (Vec<(u64, u32)>, Vec<u8>) = (Vec::new(), Vec::new());
        let leave = |pieces: &mut Vec<(u64, u32)>, body: &mut Vec<u8>| {
            let say = Say::Stores(std::mem::take(pieces));
            self.send(&say, body);
            body.clear();
        };
        for &(word, value, new) in words {
            let (first, size) = piece(new);
            let (at, bytes) = (word * WORD + first, &value.to_ne_bytes()[first..first + size]);
            if let Some(near) = &self.near {
                // SAFETY: words of the shadow, which is as large as the memory.
                unsafe { store(near.base.wrapping_add(at), bytes) };
            }
            if body.len() + size > MOST || pieces.len() == PIECES {
                leave(&mut pieces, &mut body);
            }
            match pieces.last_mut() {
                Some((begin, length)) if *begin + u64::from(*length) == at as u64 => *length += size as u32,
                _ => pieces.push((at as u64, size as u32)),
            }
            body.extend_from_slice(bytes);
        }
        if !pieces.is_empty() {
            leave(&mut pieces, &mut body);
        }
    }

    /// Sends a copy.
    ///
    /// # Safety
    /// `from` has `size` bytes; the segment has them at `at`.
    pub unsafe fn copy(&self, at: usize, from: *const u8, size: usize) {
        for done in (0..size).step_by(MOST) {
            let part = MOST.min(size - done);
            // SAFETY: the caller's. Other threads of the program may write there meanwhile, as with any copy.
            self.bytes(at + done, unsafe { std::slice::from_raw_parts(from.wrapping_add(done), part) });
        }
    }

    /// Sends a copy of at most `MOST` bytes.
    pub fn bytes(&self, at: usize, bytes: &[u8]) {
        if let Some(near) = &self.near {
            // SAFETY: the range was checked when the copy was made.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), near.base.wrapping_add(at), bytes.len()) };
        }
        self.send(&Say::Copy(at as u64), bytes);
    }

    fn send(&self, say: &Say, body: &[u8]) {
        let lines = self.lines();
        order(&lines);
        for line in lines {
            let _ = line.send(say, body, None);
        }
    }

    /// Reads what is there.
    ///
    /// # Safety
    /// `to` has `size` bytes; the segment has them at `at`.
    pub unsafe fn read(&self, at: usize, to: *mut u8, size: usize) -> Result {
        if let Some(near) = &self.near {
            // SAFETY: the caller's.
            unsafe { ptr::copy_nonoverlapping(near.base.wrapping_add(at), to, size) };
            return Ok(());
        }
        let line = self.lines.read().first().cloned().ok_or(Error::TransferFailed)?;
        // SAFETY: the caller's.
        unsafe { line.read(at, to, size) }
    }

    /// Whether all that was sent is known to have arrived.
    pub fn is_settled(&self) -> bool {
        self.lines.read().iter().all(|line| line.is_settled())
    }

    /// Waits until all that was sent has arrived; false if that is not known in time.
    pub fn settle(&self) -> bool {
        let until = Some(Instant::now() + PATIENCE);
        let lines = self.lines();
        // All of them, also behind one that does not answer.
        lines.into_iter().fold(true, |are_settled, line| line.settle(until) && are_settled)
    }
}
