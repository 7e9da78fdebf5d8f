//! The header's polls: what they may look at, and how the library serves the message that one has seen.
//!
//! In a round trip each load here that needs the result of the one before costs time. So the slot is found by what
//! [`Watch`](super::direct::Watch) says, not by the peer's number, and the code is for the common case alone, a Short to a
//! client's handler. `poll` serves everything else.
//!
//! Must not know: waiting, and whether peers that are not watched have anything.

#![allow(unsafe_code)] // slots that were checked before

use super::corrupt::corrupt;
use super::direct::{Seen, WAIT_PART};
use super::engine::Am;
use super::inbox::{AROUND, Counters, From, Inbox};
use super::outbox::Peer;
use super::receive::is_spent;
use super::region::SLOT;
use super::running::OUTERMOST;
use super::slot::Slot;
use crate::sci::{Adapter, Effort};
use crate::sync::{AtomicPtr, Ordering};
use std::cell::Cell;

/// After this many polls that served what the header had seen, the adapter may look at its network. Else two near nodes that answer each other at once would leave it alone for
/// as long as they do. One in eight takes 1 to 2 % of a Short there and back (EPYC 7003 VM).
const LOOK_OUT_EVERY: u64 = 16;

const _: () = assert!(LOOK_OUT_EVERY.is_multiple_of(AROUND), "who looks out looks around");

/// What came of a message that was seen.
#[derive(PartialEq, Eq)]
enum Ran {
    /// Other code has run it, or not all of it has arrived.
    Nothing,
    /// It was run, and no other message waits behind it.
    Last,
    /// It was run, and another waits.
    More,
}

/// Sets message `next` as the one to look for, behind one of its lap. Its slot is the one behind, too: 18 instructions less than to find that by its
/// number.
#[inline(always)]
fn step_on(index: &Cell<u32>, at: &Cell<usize>, slot: &AtomicPtr<u64>, next: u32) {
    index.set(next);
    at.set(at.get() + SLOT);
    // Relaxed, both: see `Watch`; only this thread writes it now.
    slot.store(slot.load(Ordering::Relaxed).wrapping_byte_add(SLOT), Ordering::Relaxed);
}

impl<A: Adapter> Inbox<A> {
    /// A look by a wait after `failed` failed steps. `None`: it is time to look further.
    #[inline(always)]
    pub(super) fn look_watched(&self, am: &Am<A>, failed: u32) -> Option<Seen> {
        let watch = &am.watch;
        watch.look(failed, |is_reply| {
            let (at, sequence) = match is_reply {
                true => (&watch.reply_at, &watch.reply_sequence),
                false => (&watch.request_at, &watch.request_sequence),
            };
            // Relaxed: one thread at a time, as rule 1 of `direct` has it.
            Slot::at(&self.command, at.get()).look(sequence.load(Ordering::Relaxed)).is_some()
        })
    }

    /// Serves the watched peer, of which the header has seen a message. True if something was run.
    #[inline(always)]
    pub(crate) fn serve_watched(&self, am: &Am<A>, is_reply: bool) -> bool {
        Counters::add(&self.counters.polls, 1);
        // Each has an end of its own, so that which it was need not be kept while the handler runs.
        match (self.watched(), is_reply) {
            (None, _) => self.serve_seen(am, is_reply, Ran::Nothing),
            (Some(peer), true) => self.has_run(am, true, self.run_watched_reply(am, peer)),
            (Some(peer), false) => self.has_run(am, false, self.run_watched_request(am, peer)),
        }
    }

    /// The end of [`Self::serve_watched`].
    #[inline(always)]
    fn has_run(&self, am: &Am<A>, is_reply: bool, ran: Ran) -> bool {
        if ran != Ran::Last || self.counters.polls.get() & self.around == 0 {
            return self.serve_seen(am, is_reply, ran);
        }
        Counters::add(&self.counters.polls_hit, 1);
        match am.watch.again() {
            0 if self.likely.get() == 1 && !am.is_busy() => am.watch.grant(self.grant),
            polls => am.watch.grant(polls),
        }
        true
    }

    /// Serves what comes behind the `ran` messages that were run. In a flood, and now and then anyway, it serves all predicted peers, too. A wait that sees a reply of which
    /// not all has arrived comes here each time. That does not count as progress, or the wait would never give the core away.
    #[inline(never)]
    fn serve_seen(&self, am: &Am<A>, is_reply: bool, ran: Ran) -> bool {
        let (peer, polls, ran) = (am.watch.peer.get(), self.counters.polls.get(), u32::from(ran != Ran::Nothing));
        let (requester, served) = match is_reply {
            true => (None, self.serve_replies(am, peer)),
            false => (Some(peer), self.serve_requests(am, peer)),
        };
        let before = ran + served;
        let found = match polls & self.around == 0 || is_spent(before) {
            true => self.serve_all(am, requester, before, polls),
            false => before > 0,
        };
        if !is_reply && !is_spent(served) {
            am.watch.caught_up(before);
        }
        let polled = Effort::Found(LOOK_OUT_EVERY as u32);
        if polls.is_multiple_of(LOOK_OUT_EVERY) && am.adapter_wants_polls() && am.adapter.progress(polled) {
            am.watch.grant(0);
        } else {
            _ = self.let_header_poll(am);
        }
        found
    }

    /// The slot of the next request, or reply, of the watched peer. There is one ([`Self::watched`]).
    #[inline(always)]
    fn watched_slot(&self, at: &Cell<usize>) -> Slot<'_, A::Local> {
        // SAFETY: `watch_request` and `watch_reply` have found this slot with a check, or it follows such a one in its lap.
        unsafe { Slot::known(&self.command, at.get()) }
    }

    /// Runs the request that the header has seen.
    #[inline(always)]
    fn run_watched_request(&self, am: &Am<A>, (from, way): (&From, &Peer<A>)) -> Ran {
        let watch = &am.watch;
        let slot = self.watched_slot(&watch.request_at);
        let Some(meta) = slot.look(watch.request_sequence.load(Ordering::Relaxed)) else { return Ran::Nothing };
        let index = watch.request_index.get();
        if index != from.next_request.get() {
            return Ran::Nothing;
        }
        let (_, may_be_more) = self.run_requests(am, watch.peer.get(), (from, Some(way)), index, slot, meta, 1);
        let next = index.wrapping_add(1);
        if !may_be_more || from.next_request.get() != next {
            self.watch_request(am, watch.peer.get(), from.next_request.get());
            return if may_be_more { Ran::More } else { Ran::Last };
        }
        match self.layout.begins_lap(next) {
            true => self.watch_request(am, watch.peer.get(), next),
            false => step_on(&watch.request_index, &watch.request_at, &watch.request, next),
        }
        let more = self.watched_slot(&watch.request_at).look(watch.request_sequence.load(Ordering::Relaxed));
        if more.is_some() { Ran::More } else { Ran::Last }
    }

    /// As [`Self::run_watched_request`], the reply.
    #[inline(always)]
    fn run_watched_reply(&self, am: &Am<A>, (from, way): (&From, &Peer<A>)) -> Ran {
        let watch = &am.watch;
        let slot = self.watched_slot(&watch.reply_at);
        let Some(meta) = slot.look(watch.reply_sequence.load(Ordering::Relaxed)) else { return Ran::Nothing };
        let index = watch.reply_index.get();
        if index != from.next_reply.get() {
            return Ran::Nothing;
        }
        let sent = way.direct.sent.load(Ordering::Relaxed); // Relaxed: as in `Peers::sent`
        if index == sent {
            corrupt(watch.peer.get() as u32, "answer to a request that was not sent");
        }
        if !self.run_reply(am, watch.peer.get(), (from, way), index, slot, meta, OUTERMOST) {
            return Ran::Nothing;
        }
        let next = index.wrapping_add(1);
        match self.layout.begins_lap(next) {
            true => self.watch_reply(am, watch.peer.get(), next),
            false => step_on(&watch.reply_index, &watch.reply_at, &watch.reply, next),
        }
        let more = sent != next
            && self.watched_slot(&watch.reply_at).look(watch.reply_sequence.load(Ordering::Relaxed)).is_some();
        if more { Ran::More } else { Ran::Last }
    }

    /// Grants polls to the header, if what the header looks at is all that [`Self::look_for`] would look at. Returns how many
    /// it has made since.
    #[inline(always)]
    pub(crate) fn let_header_poll(&self, am: &Am<A>) -> u32 {
        let made = am.watch.made();
        let may = self.may_header_poll(am) && !am.watch.flood.is_ahead();
        am.watch.grant(if may { self.grant } else { 0 });
        made
    }

    /// As [`Self::let_header_poll`], for a wait that goes on.
    #[inline(always)]
    pub(crate) fn let_wait_look(&self, am: &Am<A>) {
        let polls = if self.may_header_poll(am) { self.grant / WAIT_PART } else { 0 };
        am.watch.grant_to_wait(polls);
    }

    /// Whether what the header looks at is all that there is to look at. If so, it gets to know what that is.
    #[inline(always)]
    fn may_header_poll(&self, am: &Am<A>) -> bool {
        let may = self.likely.get() == 1 && !am.is_busy();
        // Relaxed: a hint. With work around, or a network, each message asks anew.
        am.watch.set_again(if may && am.background.load(Ordering::Relaxed) == 0 { self.grant } else { 0 });
        if may {
            let peer = self.predicted[0].get() as usize;
            let from = &self.from[peer];
            self.set_watched(peer, am.peers.known(peer));
            am.watch.peer.set(peer);
            self.watch_request(am, peer, from.next_request.get());
            self.watch_reply(am, peer, from.next_reply.get());
        }
        may
    }

    /// Sets request `index` of `peer` as the one to look for.
    #[inline(always)]
    fn watch_request(&self, am: &Am<A>, peer: usize, index: u32) {
        let (watch, at) = (&am.watch, self.layout.queue(peer) + self.layout.request(index));
        let slot = Slot::at(&self.command, at);
        watch.request_sequence.store(self.layout.sequence(index), Ordering::Relaxed); // Relaxed: see `Watch`
        watch.request_at.set(at);
        watch.request_index.set(index);
        watch.request.store(slot.ptr(0).cast(), Ordering::Relaxed); // Relaxed: see `Watch`
    }

    /// Sets the reply to request `index` of ours to `peer` as the one to look for.
    #[inline(always)]
    fn watch_reply(&self, am: &Am<A>, peer: usize, index: u32) {
        let (watch, at) = (&am.watch, self.layout.queue(peer) + self.layout.reply(index));
        let slot = Slot::at(&self.command, at);
        watch.reply_sequence.store(self.layout.sequence(index), Ordering::Relaxed); // Relaxed: see `Watch`
        watch.reply_at.set(at);
        watch.reply_index.set(index);
        watch.reply.store(slot.ptr(0).cast(), Ordering::Relaxed); // Relaxed: see `Watch`
    }
}
