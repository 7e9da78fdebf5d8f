//! The links that transfers share: per link the time from which on it is free, a word that all nodes of the host move.
//!
//! Must not know: what goes over a link.

#![allow(unsafe_code)] // words in mapped memory

use crate::sci::model::{LINK_BYTES, Load, Parameters, Topology};
use crate::sync::{AtomicU64, Ordering};
use std::any::Any;
use std::sync::Arc;

/// The words of all links.
#[derive(Clone)]
pub struct Links {
    words: *const AtomicU64,
    count: usize,
    /// Keeps the words.
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the words are atomics, which `_owner` keeps.
unsafe impl Send for Links {}
// SAFETY: as above.
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

impl Links {
    /// For nodes of this process.
    pub fn own(count: usize) -> Links {
        let words: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
        let first = words.as_ptr();
        Links { words: first, count, _owner: Arc::new(words) }
    }

    /// Of mapped memory.
    ///
    /// # Safety
    /// `words` is aligned, and `count` words from it stay readable and writable as long as `owner` lives. All accesses are atomic.
    pub unsafe fn mapped(words: *mut u8, count: usize, owner: Arc<dyn Any + Send + Sync>) -> Links {
        Links { words: words.cast(), count, _owner: owner }
    }

    fn word(&self, link: u32) -> Option<&AtomicU64> {
        if link as usize >= self.count {
            return None;
        }
        // SAFETY: inside, as just checked.
        let word = unsafe { self.words.add(link as usize) };
        // SAFETY: `own` and `mapped` have such words, for as long as `self` lives.
        Some(unsafe { &*word })
    }

    /// Takes `bytes` of time of a link from `at` on; when they begin to pass.
    fn take(&self, link: u32, hardware: &Parameters, bytes: u64, at: f64) -> f64 {
        let Some(word) = self.word(link) else { return at };
        let time = (bytes as f64 * 1000.0 / hardware.link).round() as u64;
        let begin = |free: u64| free.max(at as u64);
        // Relaxed: the word stands alone, and every node moves it by exchange only.
        let before = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| Some(begin(free) + time));
        at.max(before.unwrap_or_default() as f64)
    }

    /// A burst passes from position `a` to `b`, from `at` on. How long it waits for links that are busy.
    pub fn pass(&self, topology: Topology, hardware: &Parameters, ends: (u32, u32), burst: Burst, at: f64) -> f64 {
        if self.count == 0 || hardware.link.is_infinite() || burst.on_way == 0 {
            return 0.0;
        }
        let (mut waited, mut hops) = (0.0, 0.0);
        topology.loads(ends.0, ends.1, |Load { link, is_on_way }| {
            let here = at + waited + hops;
            if !is_on_way {
                self.take(link, hardware, burst.beside, here);
                return;
            }
            waited += self.take(link, hardware, burst.on_way, here) - here;
            hops += hardware.hop;
        });
        waited
    }
}
