//! Segments of peers in timing mode: what leaves a shadow is kept until the card says that it arrives.
#![allow(unsafe_code)] // Memory that the program and peers write to meanwhile.

use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;

use super::piece::{WORD, Word, piece, store};
use crate::card::Card;
use crate::memory::Mapping;
use crate::model::Packet;

/// Bytes of a line.
const LINE: usize = 64;

/// A peer's memory, and what is on its way there.
pub struct Timed {
    /// The segment itself.
    pub peer: Arc<Mapping>,
    /// What is on its way, oldest first.
    kept: VecDeque<Kept>,
}

/// Bytes that arrive at `due`.
struct Kept {
    due: f64,
    stores: Stores,
}

enum Stores {
    /// Words that the program has stored to.
    Words(Vec<Word>),
    /// A copy.
    Bytes(usize, Vec<u8>),
}

impl Timed {
    /// Nothing is on its way.
    pub fn new(peer: Mapping) -> Timed {
        Timed { peer: Arc::new(peer), kept: VecDeque::new() }
    }

    /// Whether all that has left has arrived.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// When the last of what is on its way arrives.
    pub fn last(&self) -> f64 {
        self.kept.back().map_or(0.0, |kept| kept.due)
    }

    /// Words leave that the processor stores from `ready` on.
    pub fn words(&mut self, card: &Card, words: Vec<Word>, ready: f64) {
        let line_of = |word: &Word| word.0 / (LINE / WORD);
        let packets = words.chunk_by(|one, two| line_of(one) == line_of(two)).filter_map(line_packets);
        let left = card.send(packets.collect::<Vec<_>>().into_iter(), words.len() * WORD, ready);
        self.kept.push_back(Kept { due: left.arrive, stores: Stores::Words(words) });
    }

    /// A copy has left that arrives at `due`.
    pub fn bytes(&mut self, at: usize, bytes: Vec<u8>, due: f64) {
        self.kept.push_back(Kept { due, stores: Stores::Bytes(at, bytes) });
    }

    /// Stores what has arrived at `now`.
    pub fn deliver(&mut self, now: f64) {
        while self.kept.front().is_some_and(|kept| kept.due <= now) {
            let Some(kept) = self.kept.pop_front() else { break };
            match kept.stores {
                Stores::Words(words) => {
                    for (at, value, new) in words {
                        let (first, size) = piece(new);
                        let place = self.peer.base.wrapping_add(at * WORD + first);
                        // SAFETY: a piece of a word of the shadow, which is as large as the segment.
                        unsafe { store(place, &value.to_ne_bytes()[first..first + size]) };
                    }
                }
                Stores::Bytes(at, bytes) => {
                    // SAFETY: the range was checked when the copy was made.
                    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.peer.base.wrapping_add(at), bytes.len()) }
                }
            }
        }
    }

    /// A copy by the processor out of the segment, line by line, that begins at `time`.
    ///
    /// # Safety
    /// `to` has `size` bytes; the segment has them at `at`.
    pub unsafe fn read(peer: &Mapping, card: &Card, mut time: f64, at: usize, to: *mut u8, size: usize) {
        let mut done = 0;
        while done < size {
            let part = if card.hardware.staged { size } else { (size - done).min(LINE - (at + done) % LINE) };
            time += card.read(part);
            crate::card::wait_until(time);
            let from = peer.base.wrapping_add(at + done);
            // SAFETY: the caller's.
            unsafe { ptr::copy_nonoverlapping(from, to.wrapping_add(done), part) };
            done += part;
        }
    }
}

/// The packets of a line whose words these are: the whole line if both ends of it were stored to, else pieces of 16 bytes.
fn line_packets(words: &[Word]) -> Option<(Packet, usize)> {
    let at = |word: &Word| word.0 % (LINE / WORD);
    let (first, last) = (at(words.first()?), at(words.last()?));
    Some(if first < 2 && last >= 6 { (Packet::Line, 1) } else { (Packet::Piece, last / 2 - first / 2 + 1) })
}
