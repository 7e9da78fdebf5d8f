//! How long a wait pauses when it has caught up with a flood of requests.
//!
//! Each look at a line takes it away from a sender that has claimed it, and the sender has to wait until it is back. A receiver that is as fast as
//! the sender would do that to each line. So it gives the sender time: it looks again after some pauses, and finds several requests at once. The
//! pauses double until as many come as are worth it. If the sender has sent all that it can until it is answered, longer pauses bring no more,
//! and both sides would lose the time: then there are none for a while.
//!
//! All here are hints: any thread may read an old value, and then a wait pauses too long or not at all.
//!
//! Must not know: where requests come from, how long a pause is.

use crate::sync::{AtomicU32, Ordering};

/// A look that finds so many requests was worth its pauses: these do not grow any more.
const WORTH: u32 = 16;
/// The most pauses before a look. A message that comes alone behind a flood waits for them.
const MOST: u32 = 32;
/// From so many pauses on each doubling must bring a quarter more requests.
const PROVEN: u32 = 8;
/// So many batches later it is tried again whether pauses, or fewer of them, are better.
const AGAIN: u32 = 64;

/// After so many looks of one wait in vain a flood is over.
pub const LOOKS_IN_VAIN: u32 = 16;

/// See the head of this file.
pub struct Flood {
    /// 1: the last batch ended where the sender has not written yet, and no look has followed.
    caught_up: AtomicU32,
    /// How many pauses a wait makes then.
    pauses: AtomicU32,
    /// Requests of the batch before.
    batch: AtomicU32,
    /// Batches until no pauses, or the most, are tried anew.
    rest: AtomicU32,
    /// Whether senders have cores of their own. Otherwise a sender may wait for the core on which this node would pause.
    apart: bool,
}

// Relaxed, in all of this file: hints, see its head.
impl Flood {
    /// `apart`: every node of this host has a core of its own.
    pub fn new(apart: bool) -> Flood {
        let none = || AtomicU32::new(0);
        Flood { caught_up: none(), pauses: none(), batch: none(), rest: none(), apart }
    }

    /// This node has run `requests` one behind the other, and has caught up with the sender. True if a wait is to pause before it looks on.
    #[inline(never)]
    pub fn caught_up(&self, requests: u32) -> bool {
        if !self.apart {
            return false;
        }
        let pauses = self.pauses_after(requests);
        self.pauses.store(pauses, Ordering::Relaxed); // Relaxed, both: hints
        self.caught_up.store(u32::from(pauses > 0), Ordering::Relaxed);
        pauses > 0
    }

    fn pauses_after(&self, requests: u32) -> u32 {
        // Relaxed, all: hints.
        let (pauses, rest) = (self.pauses.load(Ordering::Relaxed), self.rest.load(Ordering::Relaxed));
        if requests >= WORTH {
            return pauses;
        }
        if rest > 0 && (pauses == 0 || pauses == MOST) {
            self.rest.store(rest - 1, Ordering::Relaxed); // Relaxed: a hint
            return pauses;
        }
        let before = self.batch.load(Ordering::Relaxed); // Relaxed, both: hints
        self.batch.store(requests, Ordering::Relaxed);
        if pauses == MOST {
            return 0;
        }
        let is_in_vain = pauses >= PROVEN && 4 * requests < 5 * before;
        let next = if is_in_vain { 0 } else { (2 * pauses).max(1) };
        if is_in_vain || next == MOST {
            self.rest.store(AGAIN, Ordering::Relaxed); // Relaxed: a hint
        }
        next
    }

    /// True if a wait is to pause before it looks on.
    #[inline(always)]
    pub fn is_ahead(&self) -> bool {
        self.caught_up.load(Ordering::Relaxed) > 0 // Relaxed: a hint
    }

    /// How many pauses a wait makes before it looks on, once for each batch.
    #[inline(always)]
    pub fn take_pauses(&self) -> u32 {
        if !self.is_ahead() {
            return 0;
        }
        self.forget();
        self.pauses.load(Ordering::Relaxed) // Relaxed: a hint
    }

    /// A client that polls may compute between its polls, which gives the sender time enough: there is no pause for this batch.
    #[inline(always)]
    pub fn forget(&self) {
        self.caught_up.store(0, Ordering::Relaxed); // Relaxed: a hint
    }

    /// Nothing has come for a while: the next flood begins with short pauses.
    #[inline(always)]
    pub fn end(&self) {
        self.pauses.store(0, Ordering::Relaxed); // Relaxed, both: hints
        self.rest.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pauses_after(flood: &Flood, requests: u32) -> u32 {
        assert_eq!(flood.caught_up(requests), flood.is_ahead());
        flood.take_pauses()
    }

    #[test]
    fn pauses_grow_until_they_are_worth_it_and_end_with_the_flood() {
        let flood = Flood::new(true);
        assert_eq!([2, 3, 2].map(|n| pauses_after(&flood, n)), [1, 2, 4]);
        assert_eq!([WORTH, 31].map(|n| pauses_after(&flood, n)), [4, 4]);
        assert_eq!([6, 8, 11, 14, 14].map(|n| pauses_after(&flood, n)), [8, 16, MOST, MOST, MOST]);
        assert_eq!(flood.take_pauses(), 0, "once for each batch");
        assert!(flood.caught_up(12));
        flood.forget();
        assert_eq!((flood.is_ahead(), flood.take_pauses()), (false, 0));
        flood.end();
        assert_eq!(pauses_after(&flood, 2), 1);
    }

    /// A peer that sends so many requests, and waits for answers, has no more for a node that waits longer.
    #[test]
    fn pauses_that_bring_no_more_end_soon() {
        for window in 2..WORTH {
            let flood = Flood::new(true);
            let pauses: u32 = (0..1000).map(|_| pauses_after(&flood, window)).sum();
            assert!(pauses < 500, "window {window}: {pauses} pauses in 1000 batches");
        }
        // The same behind a flood that wanted the most.
        let flood = Flood::new(true);
        [2, 4, 6, 8, 10, 13, 15].iter().for_each(|batch| _ = flood.caught_up(*batch));
        let pauses: u32 = (0..2000).map(|_| pauses_after(&flood, 4)).sum();
        assert!(pauses < 4000, "{pauses} pauses in 2000 batches");
    }

    /// A sender whose requests come one in each second pause has many more for a node that waits longer.
    #[test]
    fn a_flood_keeps_its_pauses() {
        let (flood, mut pauses, mut paused) = (Flood::new(true), 0, 0);
        for _ in 0..1000 {
            pauses = pauses_after(&flood, 2 + pauses / 2);
            paused += u32::from(pauses >= PROVEN);
        }
        assert!(paused > 900, "{paused} of 1000 batches");
    }

    #[test]
    fn nodes_that_share_a_core_make_no_pauses() {
        let flood = Flood::new(false);
        assert!([2, 3, 5, 9].iter().all(|batch| !flood.caught_up(*batch)));
        assert_eq!((flood.is_ahead(), flood.take_pauses()), (false, 0));
    }
}
