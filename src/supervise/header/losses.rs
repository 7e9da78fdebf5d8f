//! Nodes that die while the job goes on without them (`gasnetrun_sci --survive`).
//!
//! Rules:
//! 1. Whether a job survives is said before there are nodes.
//! 2. Only a node itself writes what it has of mail boxes and how many losses it has settled. Neither goes back.
//! 3. Only the supervisor says that a node is lost, after it has seen the end of its process. So all stores of that process are visible
//!    to who sees the loss.
//!
//! Must not know: what a node does when another one is lost.

use super::{JobHeader, NodeRecord};
use crate::os::sys;
use crate::sync::Ordering;
use std::time::Duration;

/// What a node has of mail boxes. Only while it has them can the others do without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Boxes {
    /// Nothing yet, or it uses GASNet too.
    None = 0,
    /// It uses them, and nothing else.
    Open = 1,
    /// It ends, and waits until the others do.
    Ending = 2,
    /// Its boxes are gone, and nobody needs it any more.
    Done = 3,
}

impl Boxes {
    fn from_word(word: u32) -> Boxes {
        [Boxes::None, Boxes::Open, Boxes::Ending].get(word as usize).copied().unwrap_or(Boxes::Done)
    }
}

impl NodeRecord {
    /// What the node has of mail boxes.
    pub fn boxes(&self) -> Boxes {
        // ORDERING: Acquire ↔ Release in `set_boxes`: who sees that a node is done sees what it stored before.
        Boxes::from_word(self.boxes.load(Ordering::Acquire))
    }

    /// Says what this node has of mail boxes, never back (rule 2).
    pub fn set_boxes(&self, boxes: Boxes) {
        self.boxes.fetch_max(boxes as u32, Ordering::Release); // ORDERING: as above
    }

    /// Whether the node is lost.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire) != 0 // ORDERING: Acquire ↔ Release in `lose` (rule 3)
    }

    /// How many losses the node has settled: what they change is done here, and others may build on it.
    pub fn settled(&self) -> u32 {
        self.settled.load(Ordering::Acquire) // ORDERING: Acquire ↔ Release in `settle`
    }

    /// This node has settled the first `losses` losses.
    pub fn settle(&self, losses: u32) {
        self.settled.fetch_max(losses, Ordering::Release); // ORDERING: as above
    }
}

impl JobHeader {
    /// Makes this a job that goes on without nodes that die. Call it before there are nodes (rule 1).
    pub fn set_survives(&self) {
        self.fixed.survives.store(1, Ordering::Relaxed); // Relaxed: rule 1
    }

    /// Whether the job goes on without nodes that die.
    pub fn survives(&self) -> bool {
        self.fixed.survives.load(Ordering::Relaxed) != 0 // Relaxed: rule 1
    }

    /// Node `rank` is lost. Wakes the nodes that wait for losses. False: that was known.
    pub fn lose(&self, rank: u32) -> bool {
        // ORDERING: Release ↔ Acquire in `is_lost`.
        if self.record(rank).lost.swap(1, Ordering::Release) != 0 {
            return false;
        }
        // ORDERING: Release ↔ Acquire in `losses`: who sees the number sees which nodes are lost.
        self.fixed.losses.fetch_add(1, Ordering::Release);
        sys::futex_wake_all(&self.fixed.losses);
        true
    }

    /// How many nodes are lost.
    pub fn losses(&self) -> u32 {
        self.fixed.losses.load(Ordering::Acquire) // ORDERING: as above
    }

    /// Waits until there are other than `seen` losses, at most for `time`; may return early.
    pub fn await_losses(&self, seen: u32, time: Duration) {
        sys::futex_wait(&self.fixed.losses, seen, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_lost_once_and_what_it_has_never_goes_back() {
        let (_fd, header) = JobHeader::create(3).unwrap();
        assert!(!header.survives());
        header.set_survives();
        assert!(header.survives() && header.losses() == 0);
        let record = header.record(1);
        record.set_boxes(Boxes::Done);
        record.set_boxes(Boxes::Open);
        assert_eq!((record.boxes(), header.record(0).boxes()), (Boxes::Done, Boxes::None));
        assert!(header.lose(1) && !header.lose(1) && header.lose(2));
        assert!(record.is_lost() && !header.record(0).is_lost() && header.losses() == 2);
        record.settle(2);
        record.settle(1);
        assert_eq!(record.settled(), 2);
        header.await_losses(0, Duration::from_secs(60)); // there are other ones
    }
}
