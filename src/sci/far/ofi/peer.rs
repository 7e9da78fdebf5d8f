//! What the wire knows of one peer.

use super::super::wire::{AREAS, Lost};
use super::bindings::fi_addr_t;
use super::message::{NUMBERS, Segment};
use super::receive::Arrived;
use std::collections::VecDeque;

/// How far ahead of its turn a message may come.
const EARLY: u32 = 4096;
/// Frames of a peer that may wait for writes before them.
const HELD: usize = 64;

/// What the wire knows of one area of a peer.
#[derive(Default)]
pub struct PeerArea {
    /// Where it is, once the peer has told.
    pub segment: Option<Segment>,
    /// The peer was asked for it.
    pub asked: bool,
    /// The peer wants to know this node's, which is not set yet.
    pub waits: bool,
    /// The peer must be sent KEYS.
    pub keys_due: bool,
}

#[derive(Default)]
pub struct Peer {
    /// How libfabric names it. None: this wire is not for it.
    pub address: Option<fi_addr_t>,
    pub lost: Option<Lost>,
    /// In the heads of what goes to it, and of what comes from it.
    pub tokens: Option<(u64, u64)>,
    /// The number of the next message to it.
    pub sent: u32,
    pub areas: [PeerArea; AREAS],
    /// A transfer to or from it that has begun and of which pieces are not posted yet. Nothing else goes before them.
    pub partial: Option<usize>,
    pub turns: Turns,
    pub order: Order,
}

impl Peer {
    /// True while something waits to be sent.
    pub fn is_due(&self) -> bool {
        self.lost.is_none()
            && (self.areas.iter().any(|area| area.keys_due) || self.partial.is_some() || !self.order.held.is_empty())
    }
}

/// Whose turn it is of the messages that come from a peer. Most providers keep their order (FI_ORDER_SAS), but complete long and
/// short messages at different times.
#[derive(Default)]
pub struct Turns {
    next: u32,
    early: Vec<(u32, Arrived)>,
}

impl Turns {
    /// True: it is the turn of message `number`. False: it was kept. None: no message of ours has this number now.
    pub fn take(&mut self, number: u32, message: Arrived) -> Option<bool> {
        let ahead = number.wrapping_sub(self.next) % NUMBERS;
        if ahead == 0 {
            self.next = (self.next + 1) % NUMBERS;
            return Some(true);
        }
        if ahead > EARLY || self.early.iter().any(|(known, _)| *known == number) {
            return None;
        }
        self.early.push((number, message));
        Some(false)
    }

    /// A message that was kept and whose turn it is.
    #[inline]
    pub fn follows(&mut self) -> Option<Arrived> {
        if self.early.is_empty() {
            return None;
        }
        let i = self.early.iter().position(|(number, _)| *number == self.next)?;
        self.next = (self.next + 1) % NUMBERS;
        Some(self.early.swap_remove(i).1)
    }
}

/// Frames behind writes, where the provider does not keep them there: a frame waits until every write before it is delivered.
///
/// Writes between two frames are a generation. A later write may overtake a frame.
#[derive(Default)]
pub struct Order {
    generation: u64,
    /// Generations with writes that are not delivered, and how many.
    open: VecDeque<(u64, u32)>,
    /// Frames that wait, and the last generation that they wait for.
    held: VecDeque<(u64, Vec<u8>)>,
}

impl Order {
    /// A write begins. Its generation.
    pub fn begin(&mut self) -> u64 {
        match self.open.back_mut() {
            Some((generation, count)) if *generation == self.generation => *count += 1,
            _ => self.open.push_back((self.generation, 1)),
        }
        self.generation
    }

    /// A write of this generation is delivered, or did not begin.
    pub fn end(&mut self, generation: u64) {
        if let Some((_, count)) = self.open.iter_mut().find(|(open, _)| *open == generation) {
            *count -= 1;
        }
        while self.open.front().is_some_and(|(_, count)| *count == 0) {
            self.open.pop_front();
        }
    }

    /// True if a frame may be sent at once.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.open.is_empty() && self.held.is_empty()
    }

    /// Keeps a frame. False: there is no room.
    pub fn hold(&mut self, frame: &[u8]) -> bool {
        if self.held.len() >= HELD {
            return false;
        }
        self.held.push_back((self.generation, frame.to_vec()));
        self.generation += 1;
        true
    }

    /// The first frame that waits, if it need not wait any more.
    pub fn first(&mut self) -> Option<Vec<u8>> {
        let (after, _) = self.held.front()?;
        if self.open.iter().any(|(open, count)| open <= after && *count > 0) {
            return None;
        }
        self.held.pop_front().map(|(_, frame)| frame)
    }

    /// The first frame could not be sent.
    pub fn put_back(&mut self, frame: Vec<u8>) {
        // Nothing open is as old as 0 or older than what the frame waited for, since nothing was.
        let after = self.open.front().map_or(0, |(open, _)| open.saturating_sub(1));
        self.held.push_front((after, frame));
    }

    pub fn forget(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_waits_for_the_writes_before_it_only() {
        let mut order = Order::default();
        assert!(order.is_clear());
        let (a, b) = (order.begin(), order.begin());
        assert!(!order.is_clear());
        assert!(order.hold(b"one"));
        let c = order.begin();
        assert!(order.hold(b"two"));
        order.end(a);
        assert_eq!(order.first(), None, "b is under way");
        order.end(c);
        assert_eq!(order.first(), None, "c was delivered, b was not");
        order.end(b);
        let first = order.first().unwrap();
        assert_eq!(first, b"one");
        order.put_back(first);
        assert_eq!(order.first().unwrap(), b"one");
        let d = order.begin();
        assert_eq!(order.first().unwrap(), b"two", "d came after it");
        assert!(!order.is_clear());
        order.end(d);
        assert!(order.is_clear());
    }

    #[test]
    fn a_frame_put_back_stays_in_front_of_later_writes() {
        let mut order = Order::default();
        let a = order.begin();
        order.hold(b"one");
        order.end(a);
        let frame = order.first().unwrap();
        let b = order.begin();
        order.put_back(frame);
        assert_eq!(order.first().unwrap(), b"one", "it does not wait for b");
        order.end(b);
    }

    #[test]
    fn so_many_frames_wait_and_no_more() {
        let mut order = Order::default();
        order.begin();
        for _ in 0..HELD {
            assert!(order.hold(b"x"));
        }
        assert!(!order.hold(b"x"));
    }
}
