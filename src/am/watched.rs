//! The header's polls: what they may look at, and how the library serves the message that one has seen.
//!
//! In a round trip each load here that needs the result of the one before costs time. So the slot is found by what
//! [`Watch`](super::direct::Watch) says, not by the peer's number, and the code is for the common case alone, a Short to a
//! client's handler. `poll` serves everything else.
//!
//! Must not know: waiting, and whether peers that are not watched have anything.

use super::corrupt::corrupt;
use super::direct::{GRANT, GRANT_ALONE, Seen, WAIT_PART};
use super::engine::Am;
use super::inbox::{Counters, Inbox};
use super::receive::is_spent;
use super::slot::Slot;
use crate::sci::{Adapter, Effort, LocalMap};
use crate::sync::Ordering;

/// After this many polls that served what the header had seen, one poll looks at every predicted peer. So a busy peer does not
/// starve the others, nor its requests its replies.
const LOOK_AROUND_EVERY: u64 = 8;
/// After this many of them the adapter may look at its network. Else two near nodes that answer each other at once would leave it alone for
/// as long as they do. One in eight takes 1 to 2 % of a Short there and back (EPYC 7003 VM).
const LOOK_OUT_EVERY: u64 = 16;

const _: () = assert!(LOOK_OUT_EVERY.is_multiple_of(LOOK_AROUND_EVERY), "who looks out looks around");

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
        let polls = self.counters.polls.get() + 1;
        self.counters.polls.set(polls);
        let peer = am.watch.peer.get();
        let ran = match is_reply {
            true => self.run_watched_reply(am, peer),
            false => self.run_watched_request(am, peer),
        };
        if ran != Ran::Last || polls.is_multiple_of(LOOK_AROUND_EVERY) {
            return self.serve_seen(am, peer, is_reply, polls, u32::from(ran != Ran::Nothing));
        }
        Counters::add(&self.counters.polls_hit, 1);
        am.watch.grant(if self.likely.get() != 1 || am.is_busy() { 0 } else { self.granted() });
        true
    }

    /// Serves what comes behind the `ran` messages that were run. In a flood, and now and then anyway, it serves all predicted peers, too. A wait that sees a reply of which
    /// not all has arrived comes here each time. That does not count as progress, or the wait would never give the core away.
    #[inline(never)]
    fn serve_seen(&self, am: &Am<A>, peer: usize, is_reply: bool, polls: u64, ran: u32) -> bool {
        let (requester, served) = match is_reply {
            true => (None, self.serve_replies(am, peer)),
            false => (Some(peer), self.serve_requests(am, peer)),
        };
        let before = ran + served;
        let found = match polls.is_multiple_of(LOOK_AROUND_EVERY) || is_spent(before) {
            true => self.serve_all(am, requester, before, polls),
            false => before > 0,
        };
        let polled = Effort::Found(LOOK_OUT_EVERY as u32);
        if polls.is_multiple_of(LOOK_OUT_EVERY) && am.adapter_wants_polls() && am.adapter.progress(polled) {
            am.watch.grant(0);
        } else {
            self.let_header_poll(am);
        }
        found
    }

    /// Runs the request that the header has seen.
    #[inline(always)]
    fn run_watched_request(&self, am: &Am<A>, peer: usize) -> Ran {
        let slot = Slot::at(&self.command, am.watch.request_at.get());
        let Some(meta) = slot.look(am.watch.request_sequence.load(Ordering::Relaxed)) else { return Ran::Nothing };
        let from = &self.from[peer];
        let index = am.watch.request_index.get();
        if index != from.next_request.get() {
            return Ran::Nothing;
        }
        let (_, may_be_more) = self.run_requests(am, peer, from, index, &slot, meta, 1);
        self.watch_request(am, peer, index.wrapping_add(1));
        if !may_be_more {
            return Ran::Last;
        }
        let next =
            Slot::at(&self.command, am.watch.request_at.get()).look(am.watch.request_sequence.load(Ordering::Relaxed));
        if next.is_some() { Ran::More } else { Ran::Last }
    }

    /// As [`Self::run_watched_request`], the reply.
    #[inline(always)]
    fn run_watched_reply(&self, am: &Am<A>, peer: usize) -> Ran {
        let slot = Slot::at(&self.command, am.watch.reply_at.get());
        let Some(meta) = slot.look(am.watch.reply_sequence.load(Ordering::Relaxed)) else { return Ran::Nothing };
        let from = &self.from[peer];
        let index = am.watch.reply_index.get();
        if index != from.next_reply.get() {
            return Ran::Nothing;
        }
        let sent = am.peers.sent(peer);
        if index == sent {
            corrupt(peer as u32, "answer to a request that was not sent");
        }
        if !self.run_reply(am, peer, from, index, &slot, meta) {
            return Ran::Nothing;
        }
        self.watch_reply(am, peer, index.wrapping_add(1));
        let more = sent != index.wrapping_add(1)
            && Slot::at(&self.command, am.watch.reply_at.get())
                .look(am.watch.reply_sequence.load(Ordering::Relaxed))
                .is_some();
        if more { Ran::More } else { Ran::Last }
    }

    /// Grants polls to the header, if what the header looks at is all that [`Self::look_for`] would look at. Returns how many
    /// it has made since.
    #[inline(always)]
    pub(crate) fn let_header_poll(&self, am: &Am<A>) -> u32 {
        let polls = if self.may_header_poll(am) { self.granted() } else { 0 };
        am.watch.grant(polls)
    }

    /// As [`Self::let_header_poll`], for a wait that goes on.
    #[inline(always)]
    pub(crate) fn let_wait_look(&self, am: &Am<A>) {
        let polls = if self.may_header_poll(am) { self.granted() / WAIT_PART } else { 0 };
        am.watch.grant_to_wait(polls);
    }

    /// Whether what the header looks at is all that there is to look at. If so, it gets to know what that is.
    #[inline(always)]
    fn may_header_poll(&self, am: &Am<A>) -> bool {
        let may = self.likely.get() == 1 && !am.is_busy();
        if may {
            let peer = self.predicted[0].get() as usize;
            let from = &self.from[peer];
            am.watch.peer.set(peer);
            self.watch_request(am, peer, from.next_request.get());
            self.watch_reply(am, peer, from.next_reply.get());
        }
        may
    }

    #[inline(always)]
    fn granted(&self) -> u32 {
        if self.predictions == 1 && self.covered { GRANT_ALONE } else { GRANT }
    }

    /// Sets request `index` of `peer` as the one to look for.
    #[inline(always)]
    fn watch_request(&self, am: &Am<A>, peer: usize, index: u32) {
        let (watch, at) = (&am.watch, self.layout.queue(peer) + self.layout.request(index));
        watch.request_sequence.store(self.layout.sequence(index), Ordering::Relaxed); // Relaxed: see `Watch`
        watch.request_at.set(at);
        watch.request_index.set(index);
        watch.request.store(self.command.ptr(at).cast(), Ordering::Relaxed); // Relaxed: see `Watch`
    }

    /// Sets the reply to request `index` of ours to `peer` as the one to look for.
    #[inline(always)]
    fn watch_reply(&self, am: &Am<A>, peer: usize, index: u32) {
        let (watch, at) = (&am.watch, self.layout.queue(peer) + self.layout.reply(index));
        watch.reply_sequence.store(self.layout.sequence(index), Ordering::Relaxed); // Relaxed: see `Watch`
        watch.reply_at.set(at);
        watch.reply_index.set(index);
        watch.reply.store(self.command.ptr(at).cast(), Ordering::Relaxed); // Relaxed: see `Watch`
    }
}
