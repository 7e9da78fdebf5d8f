//! The links that transfers share: for each link a calendar that says how much of each span of time is taken, in words that all nodes of the
//! host move.
//!
//! The system lets nodes run by turns, so their clocks are not in step: one may book a time that others passed milliseconds ago, and makes
//! up for it. A calendar gives it what was left of that time. A single word, "free from", would give it nothing before the latest booking of
//! the others: each turn of the system would be lost.
//!
//! Must not know: what goes over a link.

#![allow(unsafe_code)] // words in mapped memory

use crate::sci::model::{LINK_BYTES, Load, Parameters, Topology};
use crate::sync::{AtomicU64, Ordering};
use std::any::Any;
use std::sync::Arc;

/// Spans of time that a calendar remembers.
const SPANS: usize = 256;
/// A span is the time that so many bytes need on a link.
const SPAN_BYTES: f64 = 16_384.0;
/// A word is the number of a span, and above this how many parts of it are taken. A zeroed word is a span of long ago.
const TAKEN_BITS: u32 = 17;
/// Parts of a span.
const PARTS: u64 = 1 << (TAKEN_BITS - 1);
const _: () = assert!(PARTS < 1 << TAKEN_BITS, "a full span is a number too");

/// The calendars of all links.
#[derive(Clone)]
pub struct Links {
    words: *const AtomicU64,
    /// Links.
    count: usize,
    /// Keeps the words.
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the words are atomics, which `_owner` keeps.
unsafe impl Send for Links {}
// SAFETY: the words are atomics, which `_owner` keeps.
unsafe impl Sync for Links {}

/// What passes links together: a burst of packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Burst {
    /// Bytes on each link of the way.
    pub on_way: u64,
    /// Bytes on each other link of the rings that are used.
    pub beside: u64,
}

impl Burst {
    /// A write of so many lines and pieces of 16 bytes.
    pub fn of_write(lines: usize, pieces: usize) -> Burst {
        let [on_way, beside] =
            LINK_BYTES.map(|(line, piece)| lines as u64 * u64::from(line) + pieces as u64 * u64::from(piece));
        Burst { on_way, beside }
    }

    /// What reads of so many lines bring back. The rest of the rings is the way of the requests, which count for themselves.
    pub fn of_data(lines: usize) -> Burst {
        Burst { on_way: lines as u64 * u64::from(LINK_BYTES[0].0), beside: 0 }
    }

    /// The requests of reads of so many lines.
    pub fn of_requests(lines: usize) -> Burst {
        Burst { on_way: lines as u64 * u64::from(LINK_BYTES[1].0), beside: 0 }
    }
}

/// Parts of a span that were taken before, and those that are now; the next span that may have room.
struct Taken {
    before: u64,
    now: u64,
    next: u64,
}

impl Links {
    /// Bytes of the words of so many links.
    pub fn bytes(count: usize) -> usize {
        count * SPANS * size_of::<AtomicU64>()
    }

    /// For nodes of this process.
    pub fn own(count: usize) -> Links {
        let words: Arc<[AtomicU64]> = (0..count * SPANS).map(|_| AtomicU64::new(0)).collect();
        let first = words.as_ptr();
        Links { words: first, count, _owner: Arc::new(words) }
    }

    /// Of mapped memory, zeroed when the job begins.
    ///
    /// # Safety
    /// `words` is aligned, and [`Links::bytes`] of `count` from it stay readable and writable as long as `owner` lives. All accesses are atomic.
    pub unsafe fn mapped(words: *mut u8, count: usize, owner: Arc<dyn Any + Send + Sync>) -> Links {
        Links { words: words.cast(), count, _owner: owner }
    }

    /// The word of a link for span `span`, and for others as many before and after.
    fn word(&self, link: u32, span: u64) -> Option<&AtomicU64> {
        if link as usize >= self.count {
            return None;
        }
        // SAFETY: inside, as just checked.
        let word = unsafe { self.words.add(link as usize * SPANS + span as usize % SPANS) };
        // SAFETY: `own` and `mapped` have such words, for as long as `self` lives.
        Some(unsafe { &*word })
    }

    /// The last span of which anything is taken.
    #[cfg(test)]
    pub fn last_span(&self, link: u32) -> u64 {
        // Relaxed: as in `take_of`.
        let spans = (0..SPANS as u64).filter_map(|span| self.word(link, span));
        spans.map(|word| word.load(Ordering::Relaxed) >> TAKEN_BITS).max().unwrap_or_default()
    }

    /// Takes up to `wanted` parts of a span of a link.
    fn take_of(&self, link: u32, span: u64, wanted: u64) -> Option<Taken> {
        let taken = |word: u64| match word >> TAKEN_BITS {
            of if of == span => word & ((1 << TAKEN_BITS) - 1),
            of if of > span => PARTS, // this one is forgotten
            _ => 0,
        };
        let room = |word: u64| wanted.min(PARTS.saturating_sub(taken(word)));
        let add = |word: u64| (room(word) > 0).then(|| span << TAKEN_BITS | (taken(word) + room(word)));
        // Relaxed: the word stands alone, and every node moves it by exchange only.
        let word = self.word(link, span)?.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let word = word.unwrap_or_else(|full| full);
        let next = (span + 1).max((word >> TAKEN_BITS).saturating_sub(SPANS as u64 - 1));
        Some(Taken { before: taken(word), now: room(word), next })
    }

    /// Takes the time that `bytes` need on a link, from `at` on. How long they wait until they begin to pass.
    fn take(&self, link: u32, hardware: &Parameters, bytes: u64, at: f64) -> f64 {
        let length = span_of(hardware);
        let (mut span, mut begin) = ((at / length) as u64, None);
        let mut left = (bytes as f64 * 1000.0 / hardware.link / length * PARTS as f64).round() as u64;
        while left > 0 {
            let Some(taken) = self.take_of(link, span, left) else { break };
            if taken.now > 0 {
                begin.get_or_insert((span as f64 + taken.before as f64 / PARTS as f64) * length);
            }
            (left, span) = (left - taken.now, taken.next);
        }
        (begin.unwrap_or(at) - at).max(0.0)
    }

    /// A burst leaves position `a` for `b` at `at`. How long it waits for links that are busy.
    ///
    /// It takes time of all its links from `at` on, and waits for the one that is busy longest. It does not take the time when that one
    /// lets it through of the links behind it: others would find those taken later than needed, and a wait for one link would spread over
    /// all rings.
    pub fn pass(&self, topology: Topology, hardware: &Parameters, ends: (u32, u32), burst: Burst, at: f64) -> f64 {
        if self.count == 0 || hardware.link.is_infinite() || burst.on_way == 0 {
            return 0.0;
        }
        let mut waited = 0.0f64;
        topology.loads(ends.0, ends.1, |Load { link, is_on_way }| {
            let bytes = if is_on_way { burst.on_way } else { burst.beside };
            let busy = self.take(link, hardware, bytes, at);
            // Nobody waits for responses and echoes.
            waited = if is_on_way { waited.max(busy) } else { waited };
        });
        waited
    }
}

/// Nanoseconds of a span.
pub(super) fn span_of(hardware: &Parameters) -> f64 {
    (SPAN_BYTES * 1000.0 / hardware.link).max(1000.0)
}
