//! Where the stores to a far segment go when it is on other hosts: to its owner; of a group to one member of each host, and to this host's memory.
#![allow(unsafe_code)] // Memory that the program and peers write to meanwhile.

use std::collections::VecDeque;
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::piece::{WORD, Word, piece, store};
use crate::error::{Error, Result};
use crate::hosts::Place;
use crate::memory::{Mapping, room, zeros};
use crate::net::say::{MOST, PIECES, Say};
use crate::net::{Changed, Line, give_way, news, order};

/// How long a check or barrier waits for a peer that may be stopped, before it says that it does not know.
const PATIENCE: Duration = Duration::from_secs(3);

/// The targets.
#[derive(Default)]
pub struct Targets {
    /// The memory of this host, of a group that has members here.
    near: OnceLock<Mapping>,
    lines: RwLock<Vec<Arc<Line>>>,
    /// Of a group: which bytes this process has stored, a bit each, for members that come later.
    mine: Option<Mutex<Vec<u8>>>,
}

/// The bits of the bytes of a word that are not 0.
fn marks(new: u64) -> u8 {
    (0..WORD).filter(|byte| new >> (8 * byte) & 0xff != 0).fold(0, |marks, byte| marks | 1 << byte)
}

/// A word all of whose marked bytes are new.
fn marked(marks: u8) -> u64 {
    (0..WORD).filter(|byte| marks >> byte & 1 != 0).fold(0, |new, byte| new | 0xff << (8 * byte))
}

/// Gives `words` to `leave` in frames: their pieces, and the pieces' bytes.
fn in_frames(words: impl Iterator<Item = Word>, mut leave: impl FnMut(Say, &[u8])) {
    let (mut pieces, mut body): (Vec<(u64, u32)>, Vec<u8>) = (Vec::new(), Vec::new());
    for (word, value, new) in words {
        let (first, size) = piece(new);
        let (at, bytes) = (word * WORD + first, &value.to_ne_bytes()[first..first + size]);
        if body.len() + size > MOST || pieces.len() == PIECES {
            leave(Say::Stores(std::mem::take(&mut pieces)), &body);
            body.clear();
        }
        match pieces.last_mut() {
            Some((begin, length)) if *begin + u64::from(*length) == at as u64 => *length += size as u32,
            _ => pieces.push((at as u64, size as u32)),
        }
        body.extend_from_slice(bytes);
    }
    if !pieces.is_empty() {
        leave(Say::Stores(pieces), &body);
    }
}

/// A frame of stores, and its body.
pub type Frame = (Say, Vec<u8>);

/// These words in frames.
pub fn frames(words: &[Word]) -> Vec<Frame> {
    let mut frames = Vec::new();
    in_frames(words.iter().copied(), |say, body| frames.push((say, body.to_vec())));
    frames
}

impl Targets {
    /// One owner.
    pub fn owner(line: Arc<Line>) -> Targets {
        Targets { lines: RwLock::new(vec![line]), ..Targets::default() }
    }

    /// A group of `size` bytes without known members. A peer told the size: NOSPC if this host has not so much memory.
    pub fn group(size: usize) -> Result<Targets> {
        let marks = zeros(room(size)? / WORD)?;
        Ok(Targets { mine: Some(Mutex::new(marks)), ..Targets::default() })
    }

    /// Whether stores go to that host.
    pub fn reaches(&self, place: &Place) -> bool {
        self.lines.read().iter().any(|line| line.place() == place && line.end().is_none())
    }

    /// The words that this process has stored until now; `twin` has their values.
    pub fn all_mine(&self, twin: &[u64]) -> Vec<Word> {
        let Some(mine) = &self.mine else { return Vec::new() };
        let mine = mine.lock();
        let marks = mine.iter().zip(twin).enumerate().filter(|(_, (marks, _))| **marks != 0);
        marks.map(|(at, (&marks, &value))| (at, value, marked(marks))).collect()
    }

    /// A connection more, to a host that is not reached: it is brought what was stored until now, which is `words`.
    pub fn add_line(&self, line: &Arc<Line>, words: Vec<Word>) {
        order(std::slice::from_ref(line));
        in_frames(words.into_iter(), |say, body| {
            let _ = line.send(&say, body, None);
        });
        let mut lines = self.lines.write();
        lines.retain(|line| line.end().is_none());
        lines.push(line.clone());
    }

    /// The memory of this host, unless it is known: it is brought what was stored until now.
    pub fn add_near(&self, mapping: Mapping, twin: &[u64]) {
        if self.near.set(mapping).is_ok() {
            self.all_mine(twin).into_iter().for_each(|word| self.store_near(word));
        }
    }

    fn store_near(&self, (word, value, new): Word) {
        let (first, size) = piece(new);
        if let Some(near) = self.near.get() {
            let place = near.base.wrapping_add(word * WORD + first);
            // SAFETY: words of the shadow, which is as large as the memory.
            unsafe { store(place, &value.to_ne_bytes()[first..first + size]) };
        }
    }

    /// The connections.
    fn lines(&self) -> Vec<Arc<Line>> {
        self.lines.read().clone()
    }

    /// Whether something more could go to all of them at once.
    pub fn has_room(&self) -> bool {
        self.lines.read().iter().all(|line| line.has_room())
    }

    /// Sends words that the program has stored, in these frames. `numbered` gets the number of each frame. Targets that have ended are passed over: the
    /// service tells of them.
    pub fn words(&self, words: &[Word], frames: &[Frame], numbered: impl Fn(u64)) {
        if let Some(mine) = &self.mine {
            let mut mine = mine.lock();
            words.iter().for_each(|&(word, _, new)| mine[word] |= marks(new));
        }
        words.iter().for_each(|&word| self.store_near(word));
        // Once, not before each frame: all that is watched is compared.
        news::tell();
        frames.iter().for_each(|(say, body)| self.send(say, body, &numbered));
    }

    /// Sends a copy.
    ///
    /// # Safety
    /// `from` has `size` bytes; the segment has them at `at`.
    pub unsafe fn copy(&self, at: usize, from: *const u8, size: usize) {
        news::tell();
        for done in (0..size).step_by(MOST) {
            let part = MOST.min(size - done);
            // SAFETY: the caller's. Other threads of the program may write there meanwhile, as with any copy.
            self.bytes(at + done, unsafe { std::slice::from_raw_parts(from.wrapping_add(done), part) }, |_| ());
        }
    }

    /// Sends a copy of at most `MOST` bytes. `numbered` gets its number. The thread has told the news of this process before.
    pub fn bytes(&self, at: usize, bytes: &[u8], numbered: impl Fn(u64)) {
        if let Some(mine) = &self.mine {
            let mut mine = mine.lock();
            (at..at + bytes.len()).for_each(|byte| mine[byte / WORD] |= 1 << (byte % WORD));
        }
        if let Some(near) = self.near.get() {
            // SAFETY: the range was checked when the copy was made.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), near.base.wrapping_add(at), bytes.len()) };
        }
        self.send(&Say::Copy(at as u64), bytes, &numbered);
    }

    fn send(&self, say: &Say, body: &[u8], numbered: &impl Fn(u64)) {
        let lines = self.lines();
        give_way(&lines);
        for line in lines {
            let _ = line.send_numbered(say, body, None, numbered);
        }
    }

    /// Whether news may come: not for a group, nor after the end.
    pub fn has_news(&self) -> bool {
        self.mine.is_none() && self.lines.read().first().is_some_and(|line| line.end().is_none())
    }

    /// `shows` is called from now on when news have come, if any do. False if another function is called already.
    pub fn on_news(&self, shows: Box<dyn Fn() + Send + Sync>) -> bool {
        let lines = self.lines.read();
        self.mine.is_some() || lines.first().is_none_or(|line| line.on_news(shows))
    }

    /// Takes the owner's news that nobody has taken yet.
    pub fn news(&self) -> VecDeque<Changed> {
        self.lines.read().first().map(|line| line.news()).unwrap_or_default()
    }

    /// The owner has said what no owner says.
    pub fn has_erred(&self) {
        self.lines.read().iter().for_each(|line| line.has_erred());
    }

    /// Reads what is there, not to be shown by maps.
    ///
    /// # Safety
    /// As `fetch`.
    pub unsafe fn read(&self, at: usize, to: *mut u8, size: usize) -> Result {
        // SAFETY: the caller's.
        unsafe { self.read_at(at, to, size, None) }
    }

    /// Reads what is there. `before` gets how many news were heard before each `MOST` bytes.
    ///
    /// # Safety
    /// `to` has `size` bytes; the segment has them at `at`.
    pub unsafe fn fetch(&self, at: usize, to: *mut u8, size: usize, before: &mut Vec<u64>) -> Result {
        // SAFETY: the caller's.
        unsafe { self.read_at(at, to, size, Some(before)) }
    }

    /// # Safety
    /// As `fetch`.
    unsafe fn read_at(&self, at: usize, to: *mut u8, size: usize, mut before: Option<&mut Vec<u64>>) -> Result {
        if let Some(near) = self.near.get() {
            // SAFETY: the caller's.
            unsafe { ptr::copy_nonoverlapping(near.base.wrapping_add(at), to, size) };
            return Ok(());
        }
        // Of a group any host has it: members that have ended, or end meanwhile, are passed over.
        let mut living = self.lines().into_iter().filter(|line| line.end().is_none());
        // SAFETY: the caller's.
        let is_read = living.any(|line| unsafe { line.read(at, to, size, before.as_deref_mut()) }.is_ok());
        if is_read { Ok(()) } else { Err(Error::TransferFailed) }
    }

    /// Whether all that was sent is known to have arrived.
    pub fn is_settled(&self) -> bool {
        let is_group = self.mine.is_some();
        self.lines.read().iter().all(|line| line.is_settled() || is_group && line.end().is_some())
    }

    /// Waits until all that was sent has arrived; false if that is not known in time.
    pub fn settle(&self) -> bool {
        let until = Some(Instant::now() + PATIENCE);
        // All of them, also behind one that does not answer. Of a group a member that has ended is not waited for.
        let is_group = self.mine.is_some();
        let settle = |line: &Arc<Line>| line.settle(until) || is_group && line.end().is_some();
        self.lines().into_iter().filter(|line| !settle(line)).count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_larger_than_memory_is_refused() {
        assert_eq!(Targets::group(1 << 62).err(), Some(Error::NoSpc));
    }

    #[test]
    fn bytes_of_words_are_marked() {
        assert_eq!((marks(0xff00), marks(1 << 63), marks(u64::MAX), marks(0)), (2, 128, 255, 0));
        for bits in 0..=u8::MAX {
            assert_eq!(marks(marked(bits)), bits);
        }
    }

    #[test]
    fn words_go_in_pieces_side_by_side_and_frames_of_the_most() {
        let mut frames = Vec::new();
        let words = [(0, 0x0102_0304_0506_0708, u64::MAX), (1, 0x11, 0xff), (2, 0x22, 0xff)];
        in_frames(words.into_iter(), |say, body| frames.push((say, body.to_vec())));
        assert_eq!(frames, [(Say::Stores(vec![(0, 9), (16, 1)]), vec![8, 7, 6, 5, 4, 3, 2, 1, 0x11, 0x22])]);
        let count = 3 * PIECES + 1;
        let mut seen = (0, 0);
        in_frames((0..count).map(|at| (2 * at, 1, 1)), |say, body| {
            let Say::Stores(pieces) = say else { panic!("{say:?}") };
            assert!(pieces.len() <= PIECES && pieces.len() == body.len());
            seen = (seen.0 + 1, seen.1 + pieces.len());
        });
        assert_eq!(seen, (4, count));
        let mut seen = (0, 0);
        in_frames((0..MOST).map(|at| (at, 7, u64::MAX)), |_, body| seen = (seen.0 + 1, seen.1 + body.len()));
        assert_eq!(seen, (8, 8 * MOST));
    }

    #[test]
    fn a_group_is_read_at_a_member_that_has_not_ended() {
        use crate::net::say::{Inbox, Said, frame};
        use crate::net::with_owner;
        use rustix::net::{RecvFlags, SendFlags, recv, send};
        let [(gone, _), (left, owner)] = [(); 2].map(|()| with_owner());
        let group = Targets { lines: RwLock::new(vec![gone.clone(), left]), ..Targets::group(WORD).unwrap() };
        gone.close();
        let owner = std::thread::spawn(move || {
            let (mut inbox, mut answer) = (Inbox::default(), Vec::new());
            let count = recv(&owner, inbox.room(), RecvFlags::empty()).unwrap().0;
            inbox.came(count);
            assert_eq!(
                inbox.next::<Say>().unwrap().map(|(say, _)| say),
                Some(Say::Read { at: 0, size: 1, is_shown: false })
            );
            frame(&Said::Bytes, &[7], &mut answer).unwrap();
            assert_eq!(send(&owner, &answer, SendFlags::NOSIGNAL), Ok(answer.len()));
        });
        let mut byte = 0;
        // SAFETY: there is room.
        unsafe { group.read(0, &raw mut byte, 1) }.unwrap();
        owner.join().unwrap();
        assert_eq!(byte, 7);
    }
}
