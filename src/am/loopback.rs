//! Messages of a node to itself: the handler runs inside the call, on a copy of the payload where the contract demands one.
//!
//! There is no queue, so any number of messages needs no poll. There is no recursion, because handlers do not request. Client
//! threads may send to themselves at the same time: each run has a token and a buffer of its own (`pool`).
//!
//! Must not know: queues, peers.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::dispatch;
use super::engine::Am;
use super::run::{self, record_handler};
use super::slot::{Carry, Meta};
use super::source::{Args, Source};
use super::token::Kind;
use crate::sci::Adapter;

/// A request in so many also polls.
const MESSAGES_PER_POLL: u64 = 256;

/// What a message carries. Of a Medium the handler gets a copy.
#[derive(Clone, Copy)]
enum Load {
    Short,
    Medium(Source),
    Long(*mut u8, usize),
}

impl<A: Adapter> Am<A> {
    pub(crate) fn loop_short(&self, kind: Kind, handler: u8, args: Args<'_>) {
        self.loop_run(kind, handler, Load::Short, args);
    }

    pub(crate) fn loop_medium(&self, kind: Kind, handler: u8, source: Source, args: Args<'_>) {
        self.loop_run(kind, handler, Load::Medium(source), args);
    }

    pub(crate) fn loop_long(&self, kind: Kind, handler: u8, source: Source, address: usize, args: Args<'_>) {
        let target = address as *mut u8;
        // SAFETY: the target lies in this node's segment (checked by the verb), or is valid by the client's promise in
        // EVERYTHING; coinciding source and target are left alone (contract: core.md §9.4, loopback).
        unsafe { source.move_to(target) };
        self.loop_run(kind, handler, Load::Long(target, source.len()), args);
    }

    /// Runs the client's handler `handler` as one of a Medium reply of `source` without arguments, on a copy of `payload`. It is
    /// the end of an operation that `source` started, so there is no message of the client's behind it.
    pub fn run_as_reply(&self, source: u32, handler: u8, payload: Source) {
        // SAFETY: no words for no arguments.
        let none = unsafe { Args::from_raw(std::ptr::null(), 0) };
        self.loop_run_from(source, Kind::LoopReply, handler, Load::Medium(payload), none);
    }

    #[inline(always)]
    fn loop_run(&self, kind: Kind, handler: u8, load: Load, args: Args<'_>) {
        self.loop_run_from(self.me, kind, handler, load, args);
    }

    #[inline(always)]
    fn loop_run_from(&self, source: u32, kind: Kind, handler: u8, load: Load, args: Args<'_>) {
        let run = self.loopback.enter();
        let token = run.stand.token;
        let (carry, len) = match load {
            Load::Short => (Carry::Short, 0),
            Load::Medium(source) => (Carry::Inline, source.len()),
            Load::Long(_, len) => (Carry::Long, len),
        };
        let meta = Meta::new(0, handler, args.count(), carry, len);
        token.open(kind, source, 0, meta);
        let function = run::function(self, token, meta);
        let words = args.words();
        let arg = |k: usize| (words[k / 2] >> (32 * (k % 2))) as i32;
        record_handler(token, len);
        let is_request = matches!(kind, Kind::LoopRequest);
        let outer = self.loopback.is_counted_by_running().then(|| self.running.enter_inside());
        match load {
            // SAFETY: the client registered this function for messages of this category and argument count.
            Load::Short => unsafe { dispatch::short(function, token.raw(), arg, args.count()) },
            // SAFETY: the client registered this function for payloads and this argument count; the copy has `len` bytes.
            Load::Medium(source) => unsafe {
                dispatch::payload(function, token.raw(), run.stand.copy(source), len, arg, args.count())
            },
            // SAFETY: as above; `buf` has `len` bytes.
            Load::Long(buf, len) => unsafe { dispatch::payload(function, token.raw(), buf, len, arg, args.count()) },
        }
        self.check_handler();
        if let Some(outer) = outer {
            self.running.leave(outer);
        }
        token.close();
        self.loopback.leave(&run);
        // A client that sends to itself until a peer says stop must hear the peer. Requests only: no handler sends these.
        if is_request && run.before.is_multiple_of(MESSAGES_PER_POLL) {
            self.poll();
        }
    }
}
