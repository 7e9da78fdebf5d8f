//! Which queue to look at: polls, prediction and scans of the receiving half (contract: core.md §10).
//!
//! Prediction (ParaStation2): the peers that were active last are looked at first, at their slots themselves. Only when
//! nothing is there, or every `SCAN_EVERY` polls, the ready counts of all peers are compared with what was consumed; where
//! every peer is predicted, only before a sleep: their slots and credits say it all. So a failed poll costs a few lines that
//! stay in the cache, whatever the number of nodes.
//!
//! Here is only looked; what is found `inbox` runs, after looks of its own: so nothing here is ordered but in `scan`.
//!
//! Must not know: what a message says.

use super::Am;
use super::inbox::{Counters, From, Inbox};
use super::slot::Slot;
use crate::region::GROUP;
use crate::sci::{Adapter, LocalMap};
use crate::sync::{Ordering, fence};

/// Peers that are looked at directly.
pub(super) const PREDICTED: usize = 4;
/// Polls between looks at all peers, so that a busy peer does not starve the others.
const SCAN_EVERY: u64 = 16;
/// Polls between looks at all predicted peers. Divides [`SCAN_EVERY`].
const SERVE_ALL_EVERY: u64 = 4;

const _: () = assert!(SCAN_EVERY.is_multiple_of(SERVE_ALL_EVERY), "a look at all peers is one at the predicted ones");

/// What a look at the predicted peers found, and of which.
enum Found {
    /// Replies, or requests that were given back.
    Replies(usize),
    /// Requests.
    Requests(usize),
}

impl<A: Adapter> Inbox<A> {
    /// Looks at the predicted peers, then, now and then or if there was nothing, at all. `last`: before a sleep, at all.
    #[inline(always)]
    pub(crate) fn poll(&self, am: &Am<A>, last: bool) -> bool {
        if last {
            return self.look_everywhere(am);
        }
        match self.look_for(am) {
            Some(Found::Replies(peer)) => self.replies_now(am, peer),
            Some(Found::Requests(peer)) => self.requests_now(am, peer),
            // With every peer predicted, nothing is left for a scan: the line of ready counts then stays with the senders,
            // whose stores to it wait for nobody.
            None => !self.covered && self.nothing_predicted(am),
        }
    }

    /// A poll that misses nothing: not even behind a reply of which not all has arrived.
    #[cold]
    #[inline(never)]
    fn look_everywhere(&self, am: &Am<A>) -> bool {
        Counters::add(&self.counters.polls, 1);
        let mut found = 0;
        for predicted in &self.predicted[..self.predictions] {
            found += self.serve(am, predicted.get() as usize);
        }
        if found == 0 {
            found = self.scan(am);
        }
        Counters::add(&self.counters.polls_hit, u64::from(found > 0));
        found > 0
    }

    /// [`Self::poll`] for a client's own loop, which the waiter is told of. Up to the calls, which come last, nothing but looks,
    /// and hence no register to save: that is what a poll in vain costs, and what a message waits for half of.
    #[inline(always)]
    pub(crate) fn poll_in_loop(&self, am: &Am<A>) {
        match self.look_for(am) {
            Some(Found::Replies(peer)) => self.replies_in_loop(am, peer),
            Some(Found::Requests(peer)) => self.requests_in_loop(am, peer),
            None if self.covered => am.waiter.polled(false),
            None => self.nothing_in_loop(am),
        }
    }

    #[inline(never)]
    fn replies_now(&self, am: &Am<A>, peer: usize) -> bool {
        self.replies_found(am, peer)
    }

    #[inline(never)]
    fn requests_now(&self, am: &Am<A>, peer: usize) -> bool {
        self.requests_found(am, peer)
    }

    #[inline(never)]
    fn replies_in_loop(&self, am: &Am<A>, peer: usize) {
        let found = self.replies_found(am, peer);
        am.waiter.polled(found);
    }

    #[inline(never)]
    fn requests_in_loop(&self, am: &Am<A>, peer: usize) {
        let found = self.requests_found(am, peer);
        am.waiter.polled(found);
    }

    #[inline(never)]
    fn nothing_in_loop(&self, am: &Am<A>) {
        let found = self.nothing_predicted(am);
        am.waiter.polled(found);
    }

    /// What waits at the first predicted peer where anything does. Counts the poll.
    #[inline(always)]
    fn look_for(&self, am: &Am<A>) -> Option<Found> {
        Counters::add(&self.counters.polls, 1);
        for predicted in &self.predicted[..self.predictions] {
            let peer = predicted.get() as usize;
            let (way, from) = (&am.peers[peer], &self.from[peer]);
            if way.outstanding() > 0 && (self.reply_waits(peer, from) || self.has_credit(way, peer, from)) {
                return Some(Found::Replies(peer));
            }
            if self.request_waits(peer, from) {
                return Some(Found::Requests(peer));
            }
        }
        None
    }

    #[inline(always)]
    fn request_waits(&self, peer: usize, from: &From) -> bool {
        let index = from.next_request.get();
        let slot = Slot::at(&self.command, self.layout.queue(peer) + self.layout.request(index));
        slot.fetch_rest();
        slot.look(self.layout.sequence(index)).is_some()
    }

    #[inline(always)]
    fn reply_waits(&self, peer: usize, from: &From) -> bool {
        let index = from.next_reply.get();
        let slot = Slot::at(&self.command, self.layout.queue(peer) + self.layout.reply(index));
        slot.fetch_rest();
        slot.look(self.layout.sequence(index)).is_some()
    }

    // What is found is served at once, and nothing else in three polls of four: a client's next request waits for the reply's
    // poll to return. The fourth looks everywhere, so that a busy peer does not starve the others, nor replies requests.

    #[inline(always)]
    fn replies_found(&self, am: &Am<A>, peer: usize) -> bool {
        let found = self.serve_replies(am, peer) + self.serve_credit(am, peer);
        self.found(am, found)
    }

    #[inline(always)]
    fn requests_found(&self, am: &Am<A>, peer: usize) -> bool {
        let found = self.serve_requests(am, peer, 0);
        self.found(am, found)
    }

    #[inline(always)]
    fn found(&self, am: &Am<A>, found: u32) -> bool {
        let polls = self.counters.polls.get();
        if polls.is_multiple_of(SERVE_ALL_EVERY) {
            return self.serve_all(am, found, polls);
        }
        Counters::add(&self.counters.polls_hit, u64::from(found > 0));
        found > 0
    }

    #[cold]
    #[inline(never)]
    fn serve_all(&self, am: &Am<A>, before: u32, polls: u64) -> bool {
        let mut found = before;
        for predicted in &self.predicted[..self.predictions] {
            found += self.serve(am, predicted.get() as usize);
        }
        if !self.covered && polls.is_multiple_of(SCAN_EVERY) {
            found += self.scan(am);
        }
        Counters::add(&self.counters.polls_hit, u64::from(found > 0));
        found > 0
    }

    #[inline(never)]
    fn nothing_predicted(&self, am: &Am<A>) -> bool {
        let found = self.scan(am);
        Counters::add(&self.counters.polls_hit, u64::from(found > 0));
        found > 0
    }

    /// Runs what `peer` sent, replies first: they free what senders wait for.
    #[inline(never)]
    fn serve(&self, am: &Am<A>, peer: usize) -> u32 {
        let mut found = 0;
        if am.peers[peer].outstanding() > 0 {
            found = self.serve_replies(am, peer) + self.serve_credit(am, peer);
        }
        found + self.serve_requests(am, peer, found)
    }

    /// Compares the ready counts of all peers with what was consumed, and serves those that differ.
    #[cold]
    #[inline(never)]
    fn scan(&self, am: &Am<A>) -> u32 {
        Counters::add(&self.counters.scans, 1);
        if !self.layout.grouped() {
            return self.scan_peers(am, 0..self.layout.nodes());
        }
        let mut found = 0;
        for (group, unfinished) in self.unfinished.iter().enumerate() {
            let first = group * GROUP;
            let word = self.control.word(self.layout.exist(first));
            // Relaxed: what it announces is looked at with Acquire, slot by slot.
            let exist = word.load(Ordering::Relaxed) != 0;
            if !exist && !unfinished.replace(false) {
                continue;
            }
            word.store(0, Ordering::Relaxed); // Relaxed: ordered by the fence that follows
            // ORDERING: full fence ↔ the store barrier between ready and exist in `Peer::mark_exist`: our clearing must
            // be done before we read ready counts, else a sender's exist could be wiped out by a clearing that is still
            // on its way, after we read the ready count from before it: the message would wait for the next one.
            fence(Ordering::SeqCst);
            let served = self.scan_peers(am, first..(first + GROUP).min(self.layout.nodes()));
            unfinished.set(served > 0); // look again: the budget may have left something
            found += served;
        }
        found
    }

    fn scan_peers(&self, am: &Am<A>, peers: std::ops::Range<usize>) -> u32 {
        let mut found = 0;
        for peer in peers {
            if peer == self.me {
                continue;
            }
            // Relaxed: a hint; the slot itself is looked at with Acquire.
            let ready = self.control.word(self.layout.ready(peer)).load(Ordering::Relaxed);
            let from = &self.from[peer];
            if ready as u32 == from.next_request.get() && (ready >> 32) as u32 == from.replies_seen.get() {
                continue;
            }
            let served = self.retire(am, peer) + self.serve(am, peer);
            if served > 0 {
                self.predict(peer as u32);
            }
            found += served;
        }
        found
    }

    /// Moves `peer` to the front of the predicted ones.
    fn predict(&self, peer: u32) {
        let mut carried = peer;
        for place in &self.predicted[..self.predictions] {
            carried = place.replace(carried);
            if carried == peer {
                return;
            }
        }
    }

    /// Runs replies of all peers, and nothing else: what a reply that waits for space may do (contract: core.md §9.5).
    #[cold]
    pub(crate) fn poll_replies(&self, am: &Am<A>) -> bool {
        let mut found = 0;
        for peer in 0..self.layout.nodes() {
            if am.peers[peer].outstanding() > 0 {
                found += self.retire(am, peer);
            }
        }
        found > 0
    }
}
