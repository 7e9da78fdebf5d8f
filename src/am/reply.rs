//! Replies: each goes into the slot that is paired with its request; payloads of Mediums go through the reply ring.
//!
//! A reply needs no credit, because its slot is its own (slot rule 3). Only ring space can be short. Then the replier runs
//! replies, and nothing else, until the requester has given some back.
//!
//! Must not know: how replies are run, what handlers do.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::corrupt::corrupt;
use super::engine::Am;
use super::inbox::{Counters, Inbox};
use super::outbox::{self, Span};
use super::slot;
use super::slot::{COUNT_WORD, Carry, MediumPlace, Meta};
use super::source::{Args, Source};
use super::token::{Deferred, Kind, Token};
use crate::am::region::{LINE, MAX_MEDIUM, RING};
use crate::am::wait::{Look, Rest};
use crate::base::error::{Error, bad_arg};
use crate::sci::{Adapter, LocalMap, RemoteInterrupt, RemoteMap};
use crate::sync::Ordering;

impl<A: Adapter> Am<A> {
    /// Short reply to the request of `token`.
    #[inline(always)]
    pub fn reply_short(&self, token: &Token, handler: u8, args: Args<'_>) -> Result<(), Error> {
        args.check()?;
        if answer(token)? == Kind::LoopRequest {
            self.loop_short(Kind::LoopReply, handler, args);
            return Ok(());
        }
        let inbox = self.inbox_of(token);
        let meta = self.reply_meta(token, handler, args, Carry::Short, 0);
        if args.words().len() < LINE / 8 && !token.holds_buffer() {
            self.commit_reply(inbox, token, meta, args.words());
        } else {
            self.store_short(inbox, token, meta, args);
        }
        Ok(())
    }

    /// A Short reply that needs more than one packet: it has two lines, or its meta word waits for the handler's return.
    #[inline(never)]
    fn store_short(&self, inbox: &Inbox<A>, token: &Token, meta: Meta, args: Args<'_>) {
        let (queue, slot) = (&self.peers[token.source() as usize].queue, self.layout.reply(token.index()));
        slot::store_args(queue, slot, None, args.words());
        if args.words().len() >= LINE / 8 {
            queue.hand_over(slot + LINE);
        }
        self.send_stored_reply(inbox, token, meta);
    }

    /// Medium reply.
    pub fn reply_medium(&self, token: &Token, handler: u8, source: Source, args: Args<'_>) -> Result<(), Error> {
        args.check()?;
        if source.len() > MAX_MEDIUM {
            return bad_arg(format_args!("Medium payload of {} bytes; the limit is {MAX_MEDIUM}", source.len()));
        }
        if answer(token)? == Kind::LoopRequest {
            self.loop_medium(Kind::LoopReply, handler, source, args);
            return Ok(());
        }
        let inbox = self.inbox_of(token);
        let peer = token.source() as usize;
        let inline = source.len() <= slot::inline_max(args.count());
        let span = if inline { Span { offset: 0, end: 0 } } else { self.reply_space(inbox, peer, source.len()) };
        let place = MediumPlace { inline, ring: self.layout.reply_ring(), at: span.offset };
        let (queue, len) = (&self.peers[peer].queue, source.len());
        place.store(queue, self.layout.reply(token.index()), source, args, true);
        let meta = self.reply_meta(token, handler, args, place.carry(), len);
        Counters::add(&inbox.counters.reply_bytes, len as u64);
        self.send_stored_reply(inbox, token, meta);
        // By prefetches. The next slot may hold a reply that the requester still reads. The bytes of the ring are free, but claims of these by
        // stores cost more than they bought: Mediums of 256 bytes there and back took 890 instead of 671 ns where cores share no cache, floods of
        // them 1,210 instead of 1,440 MB/s (2026-11, EPYC VM).
        let place = MediumPlace { at: outbox::next_offset(span.end, len), ..place };
        place.claim_lines(self.layout.reply(token.index().wrapping_add(1)), meta, |line| queue.claim_by_prefetch(line));
        Ok(())
    }

    /// Long reply, into the requester's segment.
    pub fn reply_long(
        &self,
        token: &Token,
        handler: u8,
        source: Source,
        address: usize,
        args: Args<'_>,
    ) -> Result<(), Error> {
        args.check()?;
        let target = self.check_long(token.source(), source.len(), address)?;
        self.claim_target(target, address, source.len());
        if answer(token)? == Kind::LoopRequest {
            self.loop_long(Kind::LoopReply, handler, source, address, args);
            return Ok(());
        }
        let inbox = self.inbox_of(token);
        // A failed reply counts as none: the credit count gives the request's slot back.
        let placed = self.place(token.source(), target, source, address).inspect_err(|_| token.take_back());
        let Some(placed) = placed? else {
            self.stream_reply(inbox, token, handler, source, address, args);
            return Ok(());
        };
        let meta = self.reply_meta(token, handler, args, placed.carry, source.len());
        placed.store(&self.peers[token.source() as usize].queue, self.layout.reply(token.index()), address, args);
        self.send_stored_reply(inbox, token, meta);
        Ok(())
    }

    /// The inbox, while a peer's request handler runs on this thread.
    #[inline(always)]
    fn inbox_of(&self, token: &Token) -> &Inbox<A> {
        debug_assert!(token.kind() == Kind::Request);
        // SAFETY: a token of this kind is open only while its handler runs, inside `inbox.with` on this thread. Clients use a
        // token in that handler and on that thread only (contract: core.md §3).
        unsafe { self.inbox.reenter() }
    }

    #[inline(always)]
    pub(crate) fn reply_meta(&self, token: &Token, handler: u8, args: Args<'_>, carry: Carry, len: usize) -> Meta {
        Meta::new(self.layout.sequence(token.index()), handler, args.count(), carry, len)
    }

    /// Takes `len` bytes of the reply ring at `peer`. Runs replies while there is no room. What they and this poll have stored goes out
    /// then: others may wait for it before they give room.
    #[inline(always)]
    pub(crate) fn reply_space(&self, inbox: &Inbox<A>, peer: usize, len: usize) -> Span {
        let from = &inbox.from[peer];
        let room = || {
            // ORDERING: Acquire ↔ the Release in `Inbox::reply_ring_done`: the requester's looks at the bytes are done.
            let tail = inbox.control.word(self.layout.reply_credit(peer)).load(Ordering::Acquire);
            let head = from.reply_head.get();
            if tail > head || head - tail > RING as u64 {
                corrupt(peer as u32, "position in a ring beyond what was written");
            }
            outbox::take(head, tail, len)
        };
        let mut failed = 0;
        loop {
            if let Some(span) = room() {
                from.reply_head.set(span.end);
                return span;
            }
            failed = self.waiter.step(failed, &self.interrupt, true, Rest::Short, |look| {
                let came = self.adapter.progress(look.effort()) | inbox.poll_replies(self);
                self.adapter.settle();
                came || (look == Look::Last && room().is_some())
            });
        }
    }

    /// Publishes the reply to the request of `token`. First it gives back the requests that the reply overtakes. Then it stores
    /// the words of the first line that are not stored yet and, last, the meta word. Then it stores the ready count and wakes
    /// the requester if it sleeps. This is the one place in Rust where a reply becomes visible; `gasneti_sci_answer` in the
    /// header does the same in the same order. Both leave the counting to [`Inbox::request_done`].
    ///
    /// The caller puts a barrier before this call if it has stored something in the slot or in the ring.
    #[inline(always)]
    pub(crate) fn commit_reply(&self, inbox: &Inbox<A>, token: &Token, meta: Meta, words: &[u64]) {
        let (peer, slot) = (token.source() as usize, self.layout.reply(token.index()));
        let (way, from) = (&self.peers[peer], &inbox.from[peer]);
        inbox.give_back_before(self, peer, from, token.index());
        way.queue.packet(slot, meta.bits(), words);
        way.queue.hand_over(slot);
        if from.crosses_lines.get() != meta.payload_crosses_lines() {
            from.crosses_lines.set(meta.payload_crosses_lines());
        }
        way.control.publish32(self.layout.ready(self.me as usize) + 4, from.replies_sent.get().wrapping_add(1));
        way.mark_exist(&self.layout, self.me as usize);
        way.bell.stored();
    }

    /// [`Self::commit_reply`] of a reply of which all but the meta word is stored. If the handler still holds a buffer that the
    /// reply would give back, the store waits for the handler's return.
    #[inline(always)]
    fn send_stored_reply(&self, inbox: &Inbox<A>, token: &Token, meta: Meta) {
        let head = Deferred::Head(meta);
        if token.holds_buffer() { token.defer(head) } else { self.publish_reply(inbox, token, &head) }
    }

    /// Makes a store that waited for the handler's return.
    #[inline(always)]
    pub(crate) fn publish_reply(&self, inbox: &Inbox<A>, token: &Token, deferred: &Deferred) {
        let peer = token.source() as usize;
        let queue = &self.peers[peer].queue;
        match deferred {
            Deferred::Head(meta) => {
                queue.barrier(); // the rest must be there before the meta word
                self.commit_reply(inbox, token, *meta, &[]);
            }
            Deferred::Count(value) => {
                queue.publish(self.layout.reply(token.index()) + 8 * COUNT_WORD, *value);
                self.announce_count(peer);
            }
        }
    }

    /// Tells the peer that a streamed reply has grown. Its ready count was sent when the stream began.
    pub(crate) fn announce_count(&self, peer: usize) {
        let way = &self.peers[peer];
        way.mark_exist(&self.layout, self.me as usize);
        way.bell.stored();
    }
}

/// Counts `token` as answered. `BadArg`: it must not be answered.
#[inline(always)]
fn answer(token: &Token) -> Result<Kind, Error> {
    let kind = token.kind();
    if matches!(kind, Kind::Request | Kind::LoopRequest) && token.answer() {
        return Ok(kind);
    }
    refuse(kind)
}

#[cold]
fn refuse(kind: Kind) -> Result<Kind, Error> {
    match kind {
        Kind::Stale => bad_arg(format_args!("an AM reply outside the request handler that the token belongs to")),
        Kind::Reply | Kind::LoopReply => bad_arg(format_args!("an AM reply from a reply handler")),
        Kind::Request | Kind::LoopRequest => bad_arg(format_args!("a second AM reply to one request")),
    }
}
