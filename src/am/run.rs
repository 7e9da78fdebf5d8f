//! Runs one message: finds its payload and its handler, and checks whether a peer may say so.
//!
//! A peer's memory is not trusted. The meta word is read once, and everything that it and the words behind it say is checked
//! before use.
//!
//! Must not know: queues, credits, which peer is looked at next.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::corrupt::{corrupt, unregistered};
use super::engine::Am;
use super::inbox::Inbox;
use super::library::Form;
use super::slot::{Carry, FIRST_CLIENT, Meta, Slot};
use super::source::Source;
use super::token::{Kind, Token};
use super::{dispatch, slot};
use crate::am::region::{LINE, RING};
use crate::sci::{Adapter, LocalMap};

impl<A: Adapter> Inbox<A> {
    /// Calls the client's handler of a Short. `outer`: what `Running::leave` wants to know.
    #[inline(always)]
    pub(super) fn run_short(am: &Am<A>, slot: Slot<'_, A::Local>, meta: Meta, token: &'static Token, outer: usize) {
        let function = am.handlers().function(meta.handler());
        if function == 0 {
            return Self::run_short_apart(am, slot, meta, token, outer);
        }
        am.running.enter();
        // SAFETY: the client registered this function for messages of this category and argument count (contract: core.md §9.2).
        unsafe { dispatch::short(function, token.raw(), |k| slot.arg(1, k), meta.args()) };
        am.running.leave(outer);
    }

    /// [`Self::run_short`] where more is to be done than to call the handler ([`Handlers::set_apart`](super::handlers::Handlers::set_apart)).
    #[cold]
    #[inline(never)]
    fn run_short_apart(am: &Am<A>, slot: Slot<'_, A::Local>, meta: Meta, token: &'static Token, outer: usize) {
        let function = apart(am, token, meta);
        record_handler(token, 0);
        am.running.enter();
        // SAFETY: as in `run_short`.
        unsafe { dispatch::short(function, token.raw(), |k| slot.arg(1, k), meta.args()) };
        am.check_handler();
        am.running.leave(outer);
    }

    /// Calls the handler of a message that is no Short to a client. Returns the ring bytes that the message held. It is a function of its own,
    /// shared by requests and replies, so that the path of that Short fits few lines of instructions.
    #[inline(never)]
    pub(super) fn run(
        &self,
        am: &Am<A>,
        slot: &Slot<'_, A::Local>,
        meta: Meta,
        token: &'static Token,
        ring: usize,
    ) -> usize {
        let source = token.source();
        let Some(carry) = meta.carry() else { corrupt(source, "unknown kind of message") };
        let first = if matches!(carry, Carry::Short | Carry::Inline) { 1 } else { 2 };
        let (buf, bytes) = match carry {
            Carry::Short => (std::ptr::null_mut(), 0),
            Carry::Inline if meta.len() <= slot::inline_max(meta.args()) => {
                (slot.ptr(slot::inline_offset(meta.args())), 0)
            }
            Carry::Ring => {
                let offset = ring_offset(slot.word(1), meta.len(), source);
                (self.command.ptr(ring + offset), meta.len().next_multiple_of(LINE))
            }
            Carry::Long => {
                let address = slot.word(1) as usize;
                if meta.len() > 0 && !am.table().holds(am.me, address, meta.len()) {
                    corrupt(source, "Long target outside the segment");
                }
                (address as *mut u8, 0)
            }
            Carry::Stream if token.kind() == Kind::Reply => (self.streams[source as usize].address.get() as *mut u8, 0),
            Carry::Stream => return am.piece_in(self, slot, meta, source),
            Carry::Bounced => (am.finish_bounced(slot, meta, source), 0),
            Carry::Inline => corrupt(source, "inline payload longer than its slot"),
        };
        if meta.handler() < FIRST_CLIENT {
            let form = Form::of(token.kind(), carry, meta.args());
            let len = if carry == Carry::Short { 0 } else { meta.len() }; // a peer may write a length where there is no payload
            let serve = am.handlers().library().find(meta.handler(), form, source);
            record_handler(token, len);
            #[cfg(all(any(test, fuzzing), not(loom)))]
            crate::testkit::fuzzing::watch::look(buf, len);
            // SAFETY: a Medium's bytes were checked to lie in our command region, a Long's in our segment; in EVERYTHING the
            // sender's client promises that they are valid (contract: core.md §8).
            serve(am, token, slot.args(first), unsafe { Source::new(buf, len) });
            return bytes;
        }
        let function = function(am, token, meta);
        record_handler(token, meta.len());
        let outer = am.running.enter_inside();
        // SAFETY: the client registered this function for messages with payload and this argument count; a client's Short takes
        // the path in `run`. `buf` was checked to have the message's length.
        unsafe { dispatch::payload(function, token.raw(), buf, meta.len(), |k| slot.arg(first, k), meta.args()) };
        am.check_handler();
        am.running.leave(outer);
        bytes
    }
}

/// The client's function that `meta` names.
#[inline(always)]
pub(super) fn function<A: Adapter>(am: &Am<A>, token: &Token, meta: Meta) -> usize {
    match am.handlers().function(meta.handler()) {
        0 => apart(am, token, meta),
        function => function,
    }
}

/// The function of a handler that is set apart; its messages are inspected, if somebody wants that. Ends the job if there is none.
#[cold]
#[inline(never)]
fn apart<A: Adapter>(am: &Am<A>, token: &Token, meta: Meta) -> usize {
    match am.handlers().apart(token) {
        0 => unregistered(token.source(), meta.handler(), &am.handlers().list()),
        function => function,
    }
}

/// The ring offset that a peer claims for `len` bytes, checked.
#[inline(always)]
pub(crate) fn ring_offset(word: u64, len: usize, source: u32) -> usize {
    let offset = word as usize;
    if !offset.is_multiple_of(LINE) || offset >= RING || len > RING - offset {
        corrupt(source, "payload outside its ring");
    }
    offset
}

/// Tells traces and statistics that a handler is about to run on a payload of `bytes`.
#[inline(always)]
pub(crate) fn record_handler(token: &Token, bytes: usize) {
    if crate::trace::is_on() {
        use crate::trace::TracedOp;
        let reply = matches!(token.kind(), Kind::Reply | Kind::LoopReply);
        let op = if reply { TracedOp::ReplyHandler } else { TracedOp::RequestHandler };
        crate::trace::handler(op, token.source(), bytes, token.meta().handler());
    }
}
