//! Life cycle of segments: the one word that says which nodes may connect to a segment and which still use it.
//!
//! Life cycle: free → building → private (created, unavailable) ⇄ available → removed → free. A removed segment stays
//! in its place until its last user leaves; that user, whichever node it is, gives the memory back.
//! Must not know where a segment's bytes lie.

use super::address::SegmentId;
use super::error::SciError;
use super::interrupt::{Deadline, pause_for};
use crate::sync::{AtomicU64, Ordering};
use std::time::Duration;

/// What [`Life::connect`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Counted as a user now.
    Connected,
    /// It is there, but private.
    Private,
    /// Nothing of that id.
    Nothing,
}

/// The segment was removed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removed;

/// Id, state and number of users of a segment in one word, so that each step looks at all three at once. Zero is free.
///
/// Rules: 1. Only the owner leaves free, building, private and available. 2. The owner counts as one user until it
/// leaves. 3. Anyone may become a user of an available segment. 4. A node that makes the count of a removed segment zero owns
/// it until it calls `free`.
#[repr(transparent)]
pub(crate) struct Life(AtomicU64);

const ID_SHIFT: u32 = 32;
const STATE_SHIFT: u32 = 28;
const STATE_MASK: u64 = 0xf << STATE_SHIFT;
const USERS_MASK: u64 = (1 << STATE_SHIFT) - 1;

const FREE: u64 = 0;
const BUILDING: u64 = 1 << STATE_SHIFT;
const PRIVATE: u64 = 2 << STATE_SHIFT;
const AVAILABLE: u64 = 3 << STATE_SHIFT;
const REMOVED: u64 = 4 << STATE_SHIFT;

impl Life {
    /// Free. (Zero-filled shared memory is the same.)
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(FREE))
    }

    /// Free → building, with the owner as the one user (rule 1). False when it is not free.
    pub(crate) fn claim(&self, id: SegmentId) -> bool {
        let word = u64::from(id.0) << ID_SHIFT | BUILDING | 1;
        // ORDERING: Acquire ↔ Release in `free`: what the last user did with the old extent is over before it is
        // reused.
        self.0.compare_exchange(FREE, word, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// A segment of that id is being built, private or available here.
    pub(crate) fn holds(&self, id: SegmentId) -> bool {
        let word = self.0.load(Ordering::Relaxed); // Relaxed: nothing else is read on account of it
        let state = word & STATE_MASK;
        word >> ID_SHIFT == u64::from(id.0) && state != FREE && state != REMOVED
    }

    /// Building or available → private. An error when it was removed.
    pub(crate) fn make_private(&self) -> Result<(), Removed> {
        self.set_state(PRIVATE)
    }

    /// Building or private → available. An error when it was removed.
    pub(crate) fn make_available(&self) -> Result<(), Removed> {
        self.set_state(AVAILABLE)
    }

    /// → removed, if it is not yet: nobody connects any more (rule 3).
    pub(crate) fn remove(&self) {
        let _ = self.set_state(REMOVED);
    }

    /// → removed when the owner is the only user; else the number of the others.
    pub(crate) fn remove_unused(&self) -> Result<(), u32> {
        let mut word = self.0.load(Ordering::Relaxed); // Relaxed: the exchange below decides
        loop {
            let users = word & USERS_MASK;
            if users > 1 {
                return Err(users as u32 - 1);
            }
            // ORDERING: Acquire ↔ Release in `leave`: peers' last stores are in before the memory is given back.
            let step =
                self.0.compare_exchange_weak(word, word & !STATE_MASK | REMOVED, Ordering::Acquire, Ordering::Relaxed);
            match step {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Removed by its owner.
    pub(crate) fn is_removed(&self) -> bool {
        // Relaxed: nothing else is read on account of it.
        self.0.load(Ordering::Relaxed) & STATE_MASK == REMOVED
    }

    /// Becomes a user of segment `id` if it is here and available (rule 3).
    pub(crate) fn connect(&self, id: SegmentId) -> Found {
        let mut word = self.0.load(Ordering::Relaxed); // Relaxed: the exchange below decides
        loop {
            if word >> ID_SHIFT != u64::from(id.0) {
                return Found::Nothing;
            }
            match word & STATE_MASK {
                AVAILABLE => {}
                PRIVATE | BUILDING => return Found::Private,
                _ => return Found::Nothing,
            }
            // ORDERING: Acquire ↔ Release in `set_state`: a node that connects sees the extent that the owner wrote down.
            let step = self.0.compare_exchange_weak(word, word + 1, Ordering::Acquire, Ordering::Relaxed);
            match step {
                Ok(_) => return Found::Connected,
                Err(now) => word = now,
            }
        }
    }

    /// One user less. True: it was the last of a removed segment, which the caller now owns (rule 4).
    pub(crate) fn leave(&self) -> bool {
        // ORDERING: Release: this user's accesses are over before the count falls; Acquire ↔ the others' Release here:
        // theirs are over before the last one gives the memory back.
        let word = self.0.fetch_sub(1, Ordering::AcqRel);
        word & USERS_MASK == 1 && word & STATE_MASK == REMOVED
    }

    /// → free (rule 4).
    pub(crate) fn free(&self) {
        // ORDERING: Release ↔ Acquire in `claim`.
        self.0.store(FREE, Ordering::Release);
    }

    fn set_state(&self, state: u64) -> Result<(), Removed> {
        let mut word = self.0.load(Ordering::Relaxed); // Relaxed: the exchange below decides
        loop {
            if word & STATE_MASK == REMOVED {
                return Err(Removed);
            }
            let next = word & !STATE_MASK | state;
            // ORDERING: Release ↔ Acquire in `connect`: the extent is written down before anybody can find it.
            match self.0.compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }
}

/// Calls `find` until it finds, at most for `timeout`; the last error when that has passed. Owners are not in a hurry
/// to export, so it sleeps between looks, from 20 µs up to 1 ms.
pub(crate) fn await_available<T>(
    timeout: Duration,
    mut find: impl FnMut() -> Result<T, SciError>,
) -> Result<T, SciError> {
    let end = Deadline::after(timeout);
    let mut pause = Duration::from_micros(20);
    loop {
        let error = match find() {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        let Some(left) = end.left() else {
            return Err(error);
        };
        pause_for(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_removed_segment_is_owned_by_its_last_user() {
        let (life, id) = (Life::new(), SegmentId(7));
        assert!(life.claim(id));
        assert!(!life.claim(id));
        assert_eq!(life.connect(id), Found::Private);
        life.make_available().unwrap();
        assert_eq!(life.connect(id), Found::Connected);
        assert_eq!(life.connect(SegmentId(8)), Found::Nothing);
        assert_eq!(life.remove_unused(), Err(1));
        life.remove();
        assert_eq!(life.connect(id), Found::Nothing);
        assert_eq!(life.make_available(), Err(Removed));
        assert!(!life.holds(id));
        assert!(!life.leave());
        assert!(!life.claim(id));
        assert!(life.leave());
        life.free();
        assert!(life.claim(SegmentId(0)));
    }
}
