//! The receiving half: runs the messages of a peer's queue in order and gives its slots back (contract: core.md §10).
//!
//! `poll` and `announced` choose the queue; `run` reads the single message.
//!
//! Credits: a reply gives the slot of its request back. Requests that are not answered are counted, and the count is sent in
//! batches:
//! - at a quarter of the slots (the library's own at half of them), or an eighth of the ring;
//! - before a reply that overtakes them;
//! - every 65,536 requests, so that an old count can't be taken for a new one after the numbers wrap.
//!
//! Must not know: which queue is looked at next, what a message says.

use super::corrupt::corrupt;
use super::engine::Am;
use super::inbox::{Counters, From, Inbox};
use super::outbox::Peer;
use super::running::OUTERMOST;
use super::shorts::{FLOOD, READ_AHEAD, Requests, Shorts};
use super::slot::{Carry, FIRST_CLIENT, Meta, Slot};
use super::token::{Kind, Token};
use crate::am::region::{LINE, RING};
use crate::sci::{Adapter, LocalMap, RemoteInterrupt, RemoteMap};
use crate::sync::Ordering;

/// Requests that one look at a peer runs at most, and as many replies, so that a flood does not keep a poll from returning. A poll may
/// look at a peer more than once: in its own turn, in `serve_all`, and in a scan.
const BUDGET: u32 = 32;

/// `ran` messages of one look at a peer are as many as it runs at most: there may be a flood.
#[inline(always)]
pub(super) fn is_spent(ran: u32) -> bool {
    ran >= BUDGET
}

/// Credits of unanswered client requests are returned after slots / `PART` of them. Floods of Shorts would be slower by
/// 5 % with [`PART_OF_OWN`] (2026-11, Xeon VM).
const PART: usize = 4;
/// Credits of the library's own unanswered requests are returned after slots / `PART_OF_OWN` of them. With a quarter, as for
/// clients' requests, messages of mail boxes take 175 instead of 169 ns one way (2026-11, Xeon VM).
const PART_OF_OWN: usize = 2;

impl<A: Adapter> Inbox<A> {
    /// Runs waiting requests of `peer`, as many as the budget allows. Replies have a budget of their own, or many of them would keep
    /// requests waiting.
    #[inline(always)]
    pub(super) fn serve_requests(&self, am: &Am<A>, peer: usize) -> u32 {
        let from = &self.from[peer];
        let queue = self.layout.queue(peer);
        let mut found = 0;
        while found < BUDGET {
            let index = from.next_request.get();
            let slot = Slot::at(&self.command, queue + self.layout.request(index));
            let Some(meta) = slot.look(self.layout.sequence(index)) else { break };
            if found >= FLOOD {
                self.command.will_read(queue + self.layout.request(index.wrapping_add(READ_AHEAD)));
            }
            let way = am.peers.known(peer); // anew each time: a reply may have made it
            let (ran, may_be_more) = self.run_requests(am, peer, (from, way), index, slot, meta, BUDGET - found);
            found += ran;
            if !may_be_more {
                break;
            }
        }
        found
    }

    /// True if `peer` has given back requests that it did not answer. Then only [`Self::retire`] finds replies to later ones.
    /// The peer stores its count once for many messages, so the word stays in our cache. False if no request is outstanding.
    #[inline(always)]
    pub(super) fn has_credit(&self, way: &Peer<A>, peer: usize, from: &From) -> bool {
        // Relaxed: a hint; `retire` looks with Acquire.
        let consumed = self.control.word(self.layout.credit(peer)).load(Ordering::Relaxed) as u32;
        let next = from.next_reply.get();
        let sent = way.direct.sent.load(Ordering::Relaxed); // Relaxed: as in `retire`
        consumed.wrapping_sub(next).wrapping_sub(1) < sent.wrapping_sub(next)
    }

    /// Retires what `peer` gave back without an answer.
    #[inline(always)]
    pub(super) fn serve_credit(&self, am: &Am<A>, peer: usize) -> u32 {
        if self.has_credit(&am.peers[peer], peer, &self.from[peer]) { self.retire(am, peer) } else { 0 }
    }

    /// Runs the waiting replies of `peer` in order. The look behind the last one also detects a reply too many.
    #[inline(always)]
    pub(super) fn serve_replies(&self, am: &Am<A>, peer: usize) -> u32 {
        let from = &self.from[peer];
        let queue = self.layout.queue(peer);
        let mut found = 0;
        while found < BUDGET {
            let index = from.next_reply.get();
            let slot = Slot::at(&self.command, queue + self.layout.reply(index));
            let Some(meta) = slot.look(self.layout.sequence(index)) else { break };
            let way = match am.peers.known(peer) {
                // Relaxed: as in `Peers::sent`.
                Some(way) if index != way.direct.sent.load(Ordering::Relaxed) => way,
                _ => corrupt(peer as u32, "answer to a request that was not sent"),
            };
            if !self.run_reply(am, peer, (from, way), index, slot, meta, am.running.outer()) {
                break; // a stream of which not all has arrived
            }
            found += 1;
        }
        found
    }

    /// Runs waiting replies of `peer` and retires requests that it consumed without an answer.
    #[inline(always)]
    pub(crate) fn retire(&self, am: &Am<A>, peer: usize) -> u32 {
        self.take_back(am, peer, true)
    }

    /// As [`Self::retire`]; without `replies` it stops at the first reply, and so runs no handler.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_back(&self, am: &Am<A>, peer: usize, replies: bool) -> u32 {
        let from = &self.from[peer];
        let mut found = 0;
        loop {
            // ORDERING: Acquire ↔ the Release in `give_back`. A reply to any request that the count covers is visible in its
            // slot, so an empty slot means that there was no reply.
            let credit = self.control.word(self.layout.credit(peer)).load(Ordering::Acquire);
            if replies {
                found += self.serve_replies(am, peer);
            }
            let next = from.next_reply.get();
            let sent = am.peers.sent(peer); // bounds what the peer may claim
            let (consumed, replied_to) = (credit as u32, (credit >> 32) as u32);
            let silent = consumed.wrapping_sub(next);
            if silent == 0 || silent > sent.wrapping_sub(next) {
                return found; // nothing new: the count is older than the last reply
            }
            let queue = self.layout.queue(peer);
            let slot = Slot::at(&self.command, queue + self.layout.reply(next));
            if slot.look(self.layout.sequence(next)).is_some() {
                return found; // the caller, the budget, or a stream left it
            }
            // There is no further reply up to the count, so all of them are retired at once.
            let rest = replied_to.wrapping_sub(next);
            let step = if rest == 0 || rest > silent { silent } else { 1 };
            if self.layout.clears(next, step) {
                self.clear_replies(peer, next, step);
            }
            Self::retired(from, &am.peers[peer], next.wrapping_add(step));
            found += 1;
        }
    }

    /// Clears the reply slots of `count` requests that nobody answered (slot rule 4).
    #[cold]
    fn clear_replies(&self, peer: usize, first: u32, count: u32) {
        for i in 0..count {
            let reply = self.layout.reply(first.wrapping_add(i));
            Slot::at(&self.command, self.layout.queue(peer) + reply).clear();
        }
    }

    #[inline(always)]
    fn retired(from: &From, way: &Peer<A>, next: u32) {
        from.next_reply.set(next);
        // ORDERING: Release ↔ Acquire in `Peer::take`. The reply handler's reads of the slot and of its ring bytes are done
        // before a sender uses the request slot, and with it the paired reply slot, again (rule 3).
        way.direct.retired.store(next, Ordering::Release);
        way.direct.heard.store(1, Ordering::Relaxed); // Relaxed: a hint
    }

    /// Runs request `index`, which lies in `slot`, and gives the slot back unless the handler's reply did. A Short to a client's handler, the
    /// common case, branches off first, so that it takes no step that only other requests need. If the request is one that is never
    /// answered, those of its form behind it are run as well, up to `most` in all. Returns how many were run, and whether more may wait:
    /// false if the next slot was seen empty. `way` leads to the peer, if it was made.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // what its callers have in registers
    pub(super) fn run_requests(
        &self,
        am: &Am<A>,
        peer: usize,
        (from, way): (&From, Option<&Peer<A>>),
        index: u32,
        slot: Slot<'_, A::Local>,
        meta: Meta,
        most: u32,
    ) -> (u32, bool) {
        if meta.is_clients_short() {
            let token = self.request_token;
            token.open(Kind::Request, peer as u32, index, meta);
            self.offer_answer((from, way), index, token, false);
            Self::run_short(am, slot, meta, token, OUTERMOST);
            self.request_done(am, peer, from, index, token, 0, PART);
        } else if meta.is_librarys_short() {
            return self.run_librarys_shorts(am, peer, from, meta, most);
        } else {
            self.run_other_request(am, peer, from, meta);
        }
        (1, true)
    }

    /// Shorts that are never answered are run without the steps for answers and payloads, and as many of one form as there are, up to
    /// `most`, without a look at anything else: about 75 instead of 194 instructions each.
    #[inline(never)]
    fn run_librarys_shorts(&self, am: &Am<A>, peer: usize, from: &From, first: Meta, most: u32) -> (u32, bool) {
        let start = from.next_request.get(); // the caller's `index`
        let Some(run) = am.handlers().library().unanswered(first) else {
            self.run_other_request(am, peer, from, first);
            return (1, true);
        };
        if let Some(way) = am.peers.known(peer) {
            way.direct.heard.store(1, Ordering::Relaxed); // Relaxed: a hint
        }
        // A run ends with a request after which `note_unanswered` may give slots back: once `PART_OF_OWN` of them wait for that, and at each
        // multiple of 65,536. Fewer than that part wait now, since the last call of it.
        let until_part = (self.layout.slots() / PART_OF_OWN) as u32 - from.unacked.get();
        let most = most.min(until_part).min(0x1_0000 - (start & 0xffff));
        let (command, layout, form) = (&self.command, &self.layout, first.form());
        let mut shorts = Shorts::new(Requests { command, layout, peer, start, form, most });
        run(am, peer as u32, &mut shorts);
        debug_assert!(shorts.ran > 0, "as `Library::on_unanswered` says");
        let (ran, may_be_more) = (shorts.ran, shorts.may_be_more);
        self.served(from, start.wrapping_add(ran - 1), ran);
        self.note_unanswered(am, peer, from, start.wrapping_add(ran - 1), (ran, 0), PART_OF_OWN);
        (ran, may_be_more)
    }

    /// Runs the next request of `peer`, which is no Short of a client. It finds the slot again: if that were passed, the path of a Short would
    /// have to keep it in memory.
    #[inline(never)]
    fn run_other_request(&self, am: &Am<A>, peer: usize, from: &From, meta: Meta) {
        let (queue, index) = (self.layout.queue(peer), from.next_request.get());
        let slot = Slot::at(&self.command, queue + self.layout.request(index));
        slot.will_read(meta);
        let (token, holds_buffer) = (self.request_token, meta.holds_buffer());
        token.open(Kind::Request, peer as u32, index, meta);
        self.offer_answer((from, am.peers.known(peer)), index, token, holds_buffer);
        let bytes = self.run(am, &slot, meta, token, queue + self.layout.request_ring());
        if holds_buffer && let Some(deferred) = token.take_deferred() {
            am.publish_reply(self, token, &deferred);
        }
        let part = if meta.handler() < FIRST_CLIENT { PART_OF_OWN } else { PART };
        self.request_done(am, peer, from, index, token, bytes, part);
    }

    /// The end of request `index` after its handler; the request held `bytes` of the ring.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // as above
    pub(super) fn request_done(
        &self,
        am: &Am<A>,
        peer: usize,
        from: &From,
        index: u32,
        token: &Token,
        bytes: usize,
        part: usize,
    ) {
        token.close();
        self.served(from, index, 1);
        if token.replied() {
            from.replied_to.set(index.wrapping_add(1));
            from.replies_sent.set(from.replies_sent.get().wrapping_add(1));
            Counters::add(&self.counters.replied, 1);
            if index & 0xffff == 0xffff {
                self.give_back(am, peer, index.wrapping_add(1));
            }
            return;
        }
        self.note_unanswered(am, peer, from, index, (1, bytes), part);
    }

    /// The `count` requests up to `index` were run.
    #[inline(always)]
    fn served(&self, from: &From, index: u32, count: u32) {
        from.next_request.set(index.wrapping_add(1));
        Counters::add(&self.counters.requests, count.into());
    }

    /// The `count` requests up to `index`, which held `bytes` of the ring, were not answered. Once one `part` of the slots is to be given
    /// back, it is.
    #[inline(always)]
    fn note_unanswered(
        &self,
        am: &Am<A>,
        peer: usize,
        from: &From,
        index: u32,
        (count, bytes): (u32, usize),
        part: usize,
    ) {
        let unacked = from.unacked.get() + count;
        from.unacked.set(unacked);
        from.unacked_bytes.set(from.unacked_bytes.get() + bytes as u32);
        let many = unacked as usize >= self.layout.slots() / part || from.unacked_bytes.get() as usize >= RING / 8;
        if many || index & 0xffff == 0xffff {
            self.give_back(am, peer, index.wrapping_add(1));
        }
    }

    /// Lets the header send the reply to request `index`. It does not if the reply has more to do: to give back requests that
    /// it overtakes, or to wait for the handler's return.
    #[inline(always)]
    pub(super) fn offer_answer(
        &self,
        (from, way): (&From, Option<&Peer<A>>),
        index: u32,
        token: &Token,
        holds_buffer: bool,
    ) {
        let Some(way) = way else { return };
        way.direct.heard.store(1, Ordering::Relaxed); // Relaxed: a hint
        if from.unacked.get() != 0 {
            return;
        }
        // As the request before, this one will probably be answered. What its reply slot needs of lines comes meanwhile (figures:
        // `Am::will_send`). The slot is ours as long as the request is not answered (rule 3 of `slot`).
        let slot = way.direct.reply_slot(index);
        way.claim_slot(slot, || self.layout.reply(index), from.crosses_lines.get());
        if !holds_buffer {
            // The request's own sequence is the reply's, too.
            let (sequence, count) = (token.meta().sequence(), from.replies_sent.get().wrapping_add(1));
            token.answer_at(slot, &way.direct, sequence, count);
        }
    }

    /// Called before a reply overtakes them: gives back the requests before `index` that were not answered, if there are any.
    #[inline(always)]
    pub(crate) fn give_back_before(&self, am: &Am<A>, peer: usize, from: &From, index: u32) {
        if from.unacked.get() > 0 {
            // No barrier before the reply: a requester that does not see the count yet does not find the reply either, and
            // looks again.
            self.give_back(am, peer, index);
        }
    }

    /// Tells `peer` that the requests before `consumed` are done.
    #[cold]
    #[inline(never)]
    fn give_back(&self, am: &Am<A>, peer: usize, consumed: u32) {
        let from = &self.from[peer];
        from.unacked.set(0);
        from.unacked_bytes.set(0);
        let way = &am.peers[peer];
        way.control.barrier(); // replies to requests that the count covers must be there first
        // ORDERING: Release (publish) ↔ Acquire in `retire`.
        let credit = u64::from(consumed) | u64::from(from.replied_to.get()) << 32;
        way.control.publish(self.layout.credit(self.me), credit);
        way.bell.stored();
        Counters::add(&self.counters.credits, 1);
    }

    /// Runs the handler of one reply and retires its request. False: a stream of which not all has arrived. The common case
    /// branches off early, as in [`Self::run_requests`].
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // as `run_requests`
    pub(super) fn run_reply(
        &self,
        am: &Am<A>,
        peer: usize,
        (from, way): (&From, &Peer<A>),
        index: u32,
        slot: Slot<'_, A::Local>,
        meta: Meta,
        outer: usize,
    ) -> bool {
        if !meta.is_clients_short() {
            return self.run_other_reply(am, peer, (from, way), meta);
        }
        Self::run_short(am, slot, meta, self.begin_reply(am, peer, way, index, meta), outer);
        self.reply_done(from, way, index);
        true
    }

    /// Runs the next reply of `peer`, which is no Short for a client. It finds the slot again, as [`Self::run_other_request`] does.
    #[inline(never)]
    fn run_other_reply(&self, am: &Am<A>, peer: usize, (from, way): (&From, &Peer<A>), meta: Meta) -> bool {
        let (queue, index) = (self.layout.queue(peer), from.next_reply.get());
        let slot = Slot::at(&self.command, queue + self.layout.reply(index));
        slot.will_read(meta);
        let whole = match meta.carry() {
            Some(Carry::Stream) => am.stream_in(self, peer, index, &slot, meta),
            _ => Some(meta),
        };
        let Some(meta) = whole else { return false };
        let token = self.begin_reply(am, peer, way, index, meta);
        let bytes = self.run(am, &slot, meta, token, queue + self.layout.reply_ring());
        if bytes > 0 {
            self.reply_ring_done(am, peer, slot.word(1) as usize, bytes); // while the slot is ours (slot rule 3)
        }
        self.reply_done(from, way, index);
        true
    }

    /// What comes before the handler of the reply to request `index`. Returns the handler's token.
    #[inline(always)]
    fn begin_reply(&self, am: &Am<A>, peer: usize, way: &Peer<A>, index: u32, meta: Meta) -> &'static Token {
        way.claim_next_slot(&am.layout); // a client that got its answer probably asks the next question (`Am::will_send`)
        let token = self.reply_token;
        token.open(Kind::Reply, peer as u32, index, meta);
        token
    }

    /// The end of the reply to request `index`, after its handler.
    #[inline(always)]
    fn reply_done(&self, from: &From, way: &Peer<A>, index: u32) {
        self.reply_token.close();
        from.replies_seen.set(from.replies_seen.get().wrapping_add(1));
        Counters::add(&self.counters.replies, 1);
        Self::retired(from, way, index.wrapping_add(1));
    }

    /// Counts `bytes` at ring offset `offset` as consumed, and tells the replier in batches.
    pub(crate) fn reply_ring_done(&self, am: &Am<A>, peer: usize, offset: usize, bytes: usize) {
        let from = &self.from[peer];
        let done = from.ring_done.get();
        let skipped = offset.wrapping_sub(done as usize) & (RING - 1);
        let done = done + (skipped + bytes.next_multiple_of(LINE)) as u64;
        from.ring_done.set(done);
        if done - from.ring_told.get() >= (RING / 8) as u64 {
            from.ring_told.set(done);
            let way = &am.peers[peer];
            // ORDERING: Release (publish) ↔ Acquire in `Am::reply_space`: our looks at the bytes come before they are reused.
            way.control.publish(self.layout.reply_credit(self.me), done);
            way.bell.stored();
        }
    }
}
