//! Writes and reads of a peer's memory. Large writes go straight to their places (`straight`); all others go in pieces, as records of the peer's ring. Who began
//! them keeps their memory.
//!
//! Must not know: how a record gets there.

#![allow(unsafe_code)] // memory of clients

use super::super::wire::{Done, Kept, Lost, Readable, SEGMENT, Writable, area_of};
use super::ground::Ground;
use super::layout::{Head, Kind, LINE};
use super::outlet::{Link, Outlet, raise};
use super::straight::Brought;
use crate::sync::{AtomicU64, Ordering};
use std::ops::Range;

/// The most bytes of a piece of a write or of an answer.
pub const PIECE: usize = 32 << 10;
/// Writes and answers that may wait for room.
const TASKS: usize = 64;
/// Reads of one peer that are not complete; a node that asks for more breaks the rules.
pub const READS: usize = 64;
/// A write whose source stays, or the answer to a read.
pub struct Task {
    /// None: an answer. Else where the bytes go.
    pub offset: Option<u64>,
    pub from: *const u8,
    pub len: usize,
    pub sent: usize,
    /// Some of it lies in the ring, or did.
    pub by_ring: bool,
    /// It goes straight to its place, as far as that can be.
    pub is_straight: bool,
    pub done: Done,
}

impl Task {
    fn new(offset: Option<u64>, (from, len): Readable, done: Done) -> Task {
        Task { offset, from, len, sent: 0, by_ring: false, is_straight: false, done }
    }

    /// The bytes of the client's segment from `sent` on, if that is where they go.
    fn rest(&self) -> Option<Range<usize>> {
        let (SEGMENT, at) = area_of(self.offset?)? else { return None };
        Some(at + self.sent..at + self.len)
    }
}

/// A read of this node that is not complete.
pub struct Reading {
    pub to: *mut u8,
    pub len: usize,
    pub come: usize,
    pub done: &'static AtomicU64,
}

/// A write as its caller repeats it: offset, source, length.
pub type Call = (u64, usize, usize);

impl Outlet {
    /// As [`super::super::wire::Wire::write`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn write(
        &mut self,
        ground: &Ground,
        offset: u64,
        (from, len): Readable,
        kept: Kept,
        done: Done,
    ) -> Result<bool, Lost> {
        if len == 0 || matches!(self.link, Link::Left) {
            done.into_iter().for_each(raise);
            return Ok(true);
        }
        if !self.is_up(ground)? {
            return Ok(false);
        }
        self.straight.begins_call();
        if kept == Kept::UntilDone {
            if self.tasks.len() >= TASKS {
                return Ok(false);
            }
            self.tasks.push_back(Task::new(Some(offset), (from, len), done));
            self.pump(ground)?;
            return Ok(true);
        }
        let call = (offset, from.addr(), len);
        let known = self.kept.iter().position(|(of, _)| *of == call);
        let known = known.map(|i| self.kept.swap_remove(i).1);
        let mut task = known.unwrap_or_else(|| Task::new(Some(offset), (from, len), done));
        // SAFETY: the caller's promise.
        let is_over = unsafe { self.send(ground, &mut task) }?;
        if !is_over {
            self.kept.push((call, task));
        }
        Ok(is_over)
    }

    /// Sends pieces of a task as long as there is room. True: all are sent.
    ///
    /// # Safety
    /// The bytes of the task are readable.
    pub unsafe fn send(&mut self, ground: &Ground, task: &mut Task) -> Result<bool, Lost> {
        let piece = PIECE.min(ground.layout.ring / 4 - LINE);
        if task.sent == 0 {
            task.is_straight = self.goes_straight(ground, task);
        }
        while task.sent < task.len {
            // SAFETY: the caller's promise.
            let edge = match unsafe { self.bring_straight(ground, task) } {
                Brought::Whole => break,
                Brought::Enough => return Ok(false),
                Brought::Ring(edge) => Some(edge),
                Brought::No => None,
            };
            let len = edge.unwrap_or(piece).min(task.len - task.sent);
            // An edge asks for its credit at once: perhaps no record of this write follows, and later writes to its place wait for it.
            let is_told = task.sent + len == task.len && task.done.is_some() || edge.is_some();
            let (kind, number) = match task.offset {
                None => (Kind::Answer, 0),
                Some(offset) if is_told => (Kind::WriteAndTell, offset + task.sent as u64),
                Some(offset) => (Kind::Write, offset + task.sent as u64),
            };
            let from = task.from.wrapping_add(task.sent);
            // SAFETY: the caller's promise.
            if !unsafe { self.put(ground, Head { kind, len, number }, from) }? {
                return Ok(false);
            }
            if let Some(bytes) = task.rest() {
                self.straight.note_by_ring(bytes.start..bytes.start + len, self.end(), self.taken());
            }
            task.sent += len;
            task.by_ring = true;
        }
        if let Some(done) = task.done.take() {
            if task.by_ring { self.await_end(done) } else { raise(done) }
        }
        Ok(true)
    }

    /// Whether a write that begins now shall go straight: not while earlier ones for the same places wait in the ring, whose bytes would come later.
    fn goes_straight(&mut self, ground: &Ground, task: &Task) -> bool {
        let Some(bytes) = task.rest() else { return false };
        ground.straight_from.is_some_and(|least| task.len >= least)
            && self.has_way(ground)
            && self.straight.waits_for(&bytes).is_none_or(|position| self.has_taken(ground, position))
    }

    /// Brings what it can of a write straight to its place.
    ///
    /// # Safety
    /// The bytes of the task are readable.
    unsafe fn bring_straight(&mut self, ground: &Ground, task: &mut Task) -> Brought {
        let Some(bytes) = task.rest().filter(|_| task.is_straight) else { return Brought::No };
        // SAFETY: the caller's promise.
        let (lines, next) = unsafe { self.straight.bring(task.from.wrapping_add(task.sent), bytes) };
        if lines > 0 {
            task.sent += lines;
            ground.straight_writes.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
        }
        next
    }

    /// Raises `done` when the peer has taken what it was sent so far.
    fn await_end(&mut self, done: &'static AtomicU64) {
        let end = self.end();
        if self.taken() >= end { raise(done) } else { self.awaited.push_back((end, done)) }
    }

    /// Sends what of tasks there is room for, once the link is there and the peer knows who sends.
    pub fn pump(&mut self, ground: &Ground) -> Result<(), Lost> {
        if !self.is_up(ground)? {
            return Ok(());
        }
        while let Some(mut task) = self.tasks.pop_front() {
            // SAFETY: who began the write keeps its bytes until it is done; the memory of an answer stays.
            let is_over = unsafe { self.send(ground, &mut task) };
            if !matches!(is_over, Ok(true)) {
                if is_over.is_ok() && matches!(self.link, Link::Up(_)) {
                    self.tasks.push_front(task);
                }
                return is_over.map(|_| ());
            }
        }
        Ok(())
    }

    /// As [`super::super::wire::Wire::read`].
    pub fn read(
        &mut self,
        ground: &Ground,
        offset: u64,
        (to, len): Writable,
        done: &'static AtomicU64,
    ) -> Result<bool, Lost> {
        if len == 0 || matches!(self.link, Link::Left) {
            raise(done);
            return Ok(true);
        }
        if !self.is_up(ground)? || self.reads.len() >= READS {
            return Ok(false);
        }
        let bytes = (len as u64).to_le_bytes();
        let head = Head { kind: Kind::Read, len: bytes.len(), number: offset };
        // SAFETY: an array.
        let is_asked = unsafe { self.put(ground, head, bytes.as_ptr()) }?;
        if is_asked {
            self.reads.push_back(Reading { to, len, come: 0, done });
        }
        Ok(is_asked)
    }

    /// The peer has asked for bytes of this node, which stay. False: it has asked for too much at a time.
    pub fn answer(&mut self, ground: &Ground, from: *const u8, len: usize) -> bool {
        let answers = self.tasks.iter().filter(|task| task.offset.is_none()).count();
        if answers >= READS {
            return false;
        }
        self.tasks.push_back(Task::new(None, (from, len), None));
        let _ = self.pump(ground); // a loss is told by the next progress
        true
    }

    /// Bytes of an answer have come. False: nobody waits for so many.
    ///
    /// # Safety
    /// `len` bytes at `from` are readable.
    pub unsafe fn take_answer(&mut self, from: *const u8, len: usize) -> bool {
        let Some(reading) = self.reads.front_mut().filter(|reading| len <= reading.len - reading.come) else {
            return false;
        };
        // SAFETY: who began the read keeps its memory; both ends were checked.
        unsafe { from.copy_to_nonoverlapping(reading.to.wrapping_add(reading.come), len) };
        reading.come += len;
        if reading.come == reading.len {
            raise(reading.done);
            self.reads.pop_front();
        }
        true
    }
}
