//! Shorts of one peer that wait one behind the other and are never answered, as their handler takes them: one after the other, without a
//! return to the receiving half in between. So the handler does once for all what need not be done for each: four senders of mail boxes took
//! 54 ns for each message with a call for each, and 48 with this (2026-11, EPYC VM).
//!
//! Must not know: what they say, how slots are given back.

use super::region::{ARG_WORDS, Layout};
use super::slot::Slot;
use crate::sci::{LocalMap, Words};
use crate::trace::{self, TracedOp};

/// In a flood: distance in slots from the request that is run to the one whose line is fetched meanwhile. It takes no line
/// away from the sender that the sender has claimed, as long as the sender is so far ahead. With it, and with other claims of the sender than now,
/// a flood of Shorts took 15.7 instead of 18.4 ns each, of messages to a mail box 57 instead of 66 (2026-11, Xeon VM).
pub(super) const READ_AHEAD: u32 = 4;
/// A poll fetches lines ahead once it has run so many requests of a peer. Before, the peer may be about to write these lines, and would
/// have to wait until it has them back: without this a flood of Shorts in PAR takes 62 instead of 41 ns each (2026-11, Xeon VM).
pub(super) const FLOOD: u32 = 6;

/// The argument words of one message after the other. They end at the first slot that is empty or has another form, or when as many were taken
/// as may be.
pub struct Shorts<'a, L: LocalMap> {
    requests: Requests<'a, L>,
    /// How many were taken.
    pub(super) ran: u32,
    /// Valid once `next` has returned `None`. False: the next slot was seen empty.
    pub(super) may_be_more: bool,
}

/// The requests of a peer from one on that waits, and how many of them may be run.
pub(super) struct Requests<'a, L: LocalMap> {
    /// The command region, and how it is laid out.
    pub(super) command: &'a L,
    pub(super) layout: &'a Layout,
    pub(super) peer: usize,
    /// Number of the first one, which has this form ([`Meta::form`](super::slot::Meta::form)).
    pub(super) start: u32,
    pub(super) form: u16,
    /// No more than so many.
    pub(super) most: u32,
}

/// Tells traces and statistics that a handler is about to run.
#[inline(always)]
fn record(peer: usize, form: u16) {
    if trace::is_on() {
        trace::handler(TracedOp::RequestHandler, peer as u32, 0, form as u8);
    }
}

impl<'a, L: LocalMap> Requests<'a, L> {
    #[inline(always)]
    fn at(&self, index: u32) -> usize {
        self.layout.queue(self.peer) + self.layout.request(index)
    }
}

impl<'a, L: LocalMap> Shorts<'a, L> {
    /// All that have the form of the first.
    #[inline(always)]
    pub(super) fn new(requests: Requests<'a, L>) -> Shorts<'a, L> {
        Shorts { requests, ran: 0, may_be_more: false }
    }
}

impl<'a, L: LocalMap> Iterator for Shorts<'a, L> {
    type Item = Words<'a, ARG_WORDS>;

    #[inline(always)]
    fn next(&mut self) -> Option<Words<'a, ARG_WORDS>> {
        let requests = &self.requests;
        let index = requests.start.wrapping_add(self.ran);
        let slot = Slot::at(requests.command, requests.at(index));
        if self.ran > 0 {
            let meta = slot.look(requests.layout.sequence(index))?;
            if self.ran >= requests.most || meta.form() != requests.form {
                self.may_be_more = true;
                return None;
            }
            if self.ran >= FLOOD {
                requests.command.will_read(requests.at(index.wrapping_add(READ_AHEAD)));
            }
        }
        self.ran += 1;
        record(requests.peer, requests.form);
        Some(slot.args(1))
    }
}
