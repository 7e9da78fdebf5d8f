//! A short reduction to all: each member sends its vector to all others, in one message, and combines all of them. All do so in
//! the same order, so all have the same bits.
//!
//! The messages are those of the full collective (`reduce::reduce_all`), of which this is a version without allocations.
//!
//! Must not know: teams' tasks.

use super::moves::send_inline;
use super::operator::Operator;
use super::phase::Context;
use super::recv::receive_inline;
use super::select::{DIRECT_MEMBERS, INLINE};
use super::span::{Carried, Span};
use super::team::TeamRef;
use crate::sci::Mapped;
use std::pin::Pin;
use std::task::{Context as Wake, Poll};

/// A reduction under way.
pub struct Exchange<A: Mapped> {
    cx: Context<A>,
    how: Operator,
    dst: Span,
    /// This member's own vector.
    own: Carried,
    sent: bool,
    /// All members behind this one, counted from the next on, up to this number have sent.
    heard: usize,
}

/// True if a reduction to all of `len` bytes among `members` is one.
pub fn is_short(members: usize, len: usize) -> bool {
    len <= INLINE && members <= DIRECT_MEMBERS
}

impl<A: Mapped> Exchange<A> {
    /// Begins one, which [`is_short`]. `cx` has one number. The source is free when this returns.
    pub fn new(cx: Context<A>, how: Operator, dst: Span, src: &Span) -> Exchange<A> {
        let own = Carried::default();
        own.span(src.len()).copy_from(src);
        Exchange { cx, how, dst, own, sent: false, heard: 0 }
    }

    /// The team that it is in.
    pub fn team(&self) -> TeamRef<A> {
        self.cx.team.clone()
    }

    /// Goes as far as possible. True when the result is there.
    pub fn step(&mut self) -> bool {
        let Some(ph) = self.cx.usable_phase() else { return false };
        let (me, members, len) = (self.cx.me(), self.cx.members(), self.dst.len());
        if !self.sent {
            self.sent = true;
            send_inline(&ph, self.cx.others(), &self.own.span(len));
        }
        while self.heard + 1 < members {
            if ph.head((me + 1 + self.heard) % members).is_none() {
                return false;
            }
            self.heard += 1;
        }
        // The result stands in the place of the last vector; the others take turns in one place.
        let places = [Carried::default(), Carried::default()];
        let vector = |m: usize, place: &Carried| {
            if m == me {
                return self.own.span(len);
            }
            receive_inline(&ph, m, &place.span(len));
            place.span(len)
        };
        let sum = vector(members - 1, &places[0]);
        for m in (0..members - 1).rev() {
            self.how.combine(&vector(m, &places[1]), &sum);
        }
        self.dst.copy_from(&sum);
        true
    }
}

impl<A: Mapped> Future for Exchange<A> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Wake<'_>) -> Poll<()> {
        if self.step() { Poll::Ready(()) } else { Poll::Pending }
    }
}
