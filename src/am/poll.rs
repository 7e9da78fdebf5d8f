//! Polls and prediction of the receiving half: which queue is looked at (contract: core.md §10). `progress` has the table of all who look.
//!
//! Prediction (ParaStation2): a poll first looks at the slots of the peers that were active last.
//!
//! | state | what a poll looks at |
//! |---|---|
//! | a predicted peer has a message | that peer alone |
//! | the same, every `SERVE_ALL_EVERY` polls | all predicted peers; every `SCAN_EVERY` polls all that is announced as well |
//! | the same, and it has as many as one look runs | all predicted peers, and all that is announced |
//! | no predicted peer has one | one line of what all peers announce (`announced`) |
//! | every peer is predicted | no announcements but before a sleep: slots and credits say it all |
//! | it has been quiet | the newest of the predicted peers alone; the others announce themselves |
//!
//! So an empty poll costs a few lines that stay in the cache, whatever the number of nodes.
//!
//! What a poll runs stores its answers together (`Adapter::together`). A poll that finds nothing does not begin that: it would cost
//! as much as the poll itself.
//!
//! This file only looks. `receive` runs the messages, after looks of its own, so nothing here is ordered.
//!
//! Must not know: what a message says.

use super::engine::Am;
use super::inbox::{Counters, Inbox};
use super::receive::is_spent;
use super::region::Layout;
use super::slot::Slot;
use crate::am::wait::Look;
use crate::sci::Adapter;
use crate::sync::Ordering;

/// Polls between looks at all peers, so that a busy peer does not starve the others.
const SCAN_EVERY: u64 = 16;
/// Polls between looks at all predicted peers. Divides [`SCAN_EVERY`].
const SERVE_ALL_EVERY: u64 = 4;

/// Empty polls in a row after which only the newest predicted peer is looked at.
const FORGET_EVERY: u64 = 64;

/// Announcement lines checked by each empty library poll (2 ns per line). Inline header polls check none; every `direct::GRANT`
/// of them are followed by one library poll.
const LINES: usize = 2;

const _: () = assert!(SCAN_EVERY.is_multiple_of(SERVE_ALL_EVERY), "a look at all peers is one at the predicted ones");

/// What a look at the predicted peers found, and at which of them.
enum Found {
    /// Replies, or requests that were given back.
    Replies(usize),
    /// Requests.
    Requests(usize),
}

impl<A: Adapter> Inbox<A> {
    /// Looks at the predicted peers. Then, if there was nothing and now and then anyway, looks at what is announced.
    #[inline(always)]
    pub(crate) fn poll(&self, am: &Am<A>, look: Look) -> bool {
        if look == Look::Last {
            return self.look_everywhere(am);
        }
        match self.look_for(am) {
            Some(found) => self.serve_found(am, found),
            None if self.has_looked_at_all() || (look.is_light() && self.is_quiet()) => false,
            None => self.nothing_predicted(am, look),
        }
    }

    /// A poll that misses no message, not even one behind a reply of which not all has arrived.
    #[cold]
    #[inline(never)]
    fn look_everywhere(&self, am: &Am<A>) -> bool {
        Counters::add(&self.counters.polls, 1);
        let found = am.adapter.together(|| {
            let predicted = self.predicted[..self.predictions].iter();
            match predicted.map(|peer| self.serve(am, peer.get() as usize)).sum() {
                0 => self.scan_everything(am),
                found => found,
            }
        });
        Counters::add(&self.counters.polls_hit, u64::from(found > 0));
        found > 0
    }

    /// [`Self::poll`] for a client's own loop; the waiter learns the result. Before the calls, which come last, there are only
    /// looks, so that no register must be saved. That is the cost of an empty poll, and half of what a message waits for.
    #[inline(always)]
    pub(crate) fn poll_in_loop(&self, am: &Am<A>) {
        am.watch.flood.forget();
        match self.look_for(am) {
            None if self.has_looked_at_all() || self.is_quiet() => am.waiter.missed(1 + self.let_header_poll(am)),
            found => self.go_on_in_loop(am, found),
        }
    }

    #[inline(never)]
    fn go_on_in_loop(&self, am: &Am<A>, found: Option<Found>) {
        let found = match found {
            Some(found) => self.serve_found(am, found),
            None => self.nothing_predicted(am, Look::Glance),
        };
        let inline = self.let_header_poll(am);
        if found { self.found_in_loop(am) } else { am.waiter.missed(1 + inline) }
    }

    #[inline(always)]
    pub(crate) fn found_in_loop(&self, am: &Am<A>) {
        am.waiter.found();
        // Relaxed: one thread at a time, as rule 1 of `direct` has it.
        am.watch.pauses.store(am.waiter.pauses(), Ordering::Relaxed);
    }

    /// The first predicted peer with a message, and which kind. Counts the poll.
    #[inline(always)]
    fn look_for(&self, am: &Am<A>) -> Option<Found> {
        Counters::add(&self.counters.polls, 1);
        for predicted in &self.predicted[..self.likely.get()] {
            let peer = predicted.get() as usize;
            let from = &self.from[peer];
            let has = |index, at: fn(&Layout, u32) -> usize| {
                let slot = Slot::at(&self.command, self.layout.queue(peer) + at(&self.layout, index));
                slot.look(self.layout.sequence(index)).is_some()
            };
            if let Some(way) = am.peers.known(peer)
                && way.outstanding() > 0
                && (has(from.next_reply.get(), Layout::reply) || self.has_credit(way, peer, from))
            {
                return Some(Found::Replies(peer));
            }
            if has(from.next_request.get(), Layout::request) {
                return Some(Found::Requests(peer));
            }
        }
        None
    }

    // In three polls of four the message that is found is served at once, and nothing else: a client's next request waits for
    // the return of the poll that ran the reply. The fourth looks at all predicted peers, and now and then at all others, so
    // that a busy peer does not starve the others, nor replies requests. A poll that finds a flood looks at all peers: the owner of a mail
    // box polls seldom (`CALLS_PER_POLL` in src/deck/retrieve.rs), and each of its senders is to have its share of these polls.

    #[inline(never)]
    fn serve_found(&self, am: &Am<A>, found: Found) -> bool {
        am.adapter.together(|| {
            let (requester, served) = match found {
                Found::Replies(peer) => (None, self.serve_replies(am, peer) + self.serve_credit(am, peer)),
                Found::Requests(peer) => (Some(peer), self.serve_requests(am, peer)),
            };
            if requester.is_some() && !is_spent(served) {
                am.watch.caught_up(served);
            }
            let polls = self.counters.polls.get();
            if polls.is_multiple_of(SERVE_ALL_EVERY) || is_spent(served) {
                return self.serve_all(am, requester, served, polls);
            }
            Counters::add(&self.counters.polls_hit, u64::from(served > 0));
            served > 0
        })
    }

    /// Looks at all predicted peers, after `before` messages were run. If these are as many as one look runs, and now and then anyway, it
    /// also looks at what the other peers announce. `requester` is the peer whose requests they were, if they were requests: the loop passes
    /// it over once they are so many. The scan does not.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_all(&self, am: &Am<A>, requester: Option<usize>, before: u32, polls: u64) -> bool {
        let (mut found, is_spent) = (before, is_spent(before));
        for predicted in &self.predicted[..self.predictions] {
            let peer = predicted.get() as usize;
            if !(is_spent && requester == Some(peer)) {
                found += self.serve(am, peer);
            }
        }
        if !self.covered && (is_spent || polls.is_multiple_of(SCAN_EVERY)) {
            found += self.scan(am);
        }
        Counters::add(&self.counters.polls_hit, u64::from(found > 0));
        found > 0
    }

    /// Counts an empty poll. After many it is time to look at the newest peer alone.
    #[inline(always)]
    fn forget(&self) {
        if self.counters.polls.get().is_multiple_of(FORGET_EVERY) {
            self.likely.set(self.predictions.min(1));
        }
    }

    /// After an empty look at the predicted peers: true if there are no others. Not reading the line of ready counts lets it
    /// stay in the senders' caches.
    #[inline(always)]
    fn has_looked_at_all(&self) -> bool {
        let all = self.covered && self.likely.get() == self.predictions;
        if all {
            self.forget();
        }
        all
    }

    /// After an empty look at the predicted peers: true if this poll's line of announcements has nothing either.
    #[inline(always)]
    fn is_quiet(&self) -> bool {
        self.forget();
        (0..LINES).all(|_| {
            let is_quiet = self.is_line_quiet(self.lookout.line.get());
            if is_quiet {
                self.lookout.next_line();
            }
            is_quiet
        })
    }

    #[inline(never)]
    fn nothing_predicted(&self, am: &Am<A>, look: Look) -> bool {
        let scan = || match look.is_light() {
            true => {
                let line = self.lookout.line.get();
                self.lookout.next_line();
                self.scan_announced(am, line)
            }
            false => self.scan(am),
        };
        let found = am.adapter.together(scan);
        Counters::add(&self.counters.polls_hit, u64::from(found > 0));
        found > 0
    }

    /// Runs the messages of `peer`, replies first: they free what senders wait for.
    #[inline(never)]
    pub(super) fn serve(&self, am: &Am<A>, peer: usize) -> u32 {
        let mut found = 0;
        if am.peers.is_answer_due(peer) {
            found = self.serve_replies(am, peer) + self.serve_credit(am, peer);
        }
        found + self.serve_requests(am, peer)
    }

    /// Runs replies of all peers, and nothing else. A reply that waits for space may do no more (contract: core.md §9.5).
    #[cold]
    pub(crate) fn poll_replies(&self, am: &Am<A>) -> bool {
        let mut found = 0;
        for peer in 0..self.layout.nodes() {
            if am.peers.is_answer_due(peer) {
                found += self.retire(am, peer);
            }
        }
        found > 0
    }

    /// Moves `peer` to the front of the predicted peers. All of them are looked at for now.
    pub(super) fn predict(&self, am: &Am<A>, peer: u32) {
        self.likely.set(self.predictions);
        am.watch.revoke();
        let mut carried = peer;
        for place in &self.predicted[..self.predictions] {
            carried = place.replace(carried);
            if carried == peer {
                return;
            }
        }
    }
}
