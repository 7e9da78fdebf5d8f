//! The tools of an algorithm: its team, its sequence numbers, and the ways to wait.
//!
//! Algorithms are futures without a waker. The thread that waits for one polls it, or any poll does. A future is pending only
//! while a cell that it looks at does not hold the awaited value. So a poll runs it as far as it can.

use super::area::CHUNK;
use super::audit::Description;
use super::call::Call;
use super::cells::{WORDS, Word};
use super::select::DIRECT_MEMBERS;
use super::team::TeamRef;
use super::{Coll, Mapped};
use crate::am::corrupt::corrupt;
use std::future::poll_fn;
use std::task::Poll;

/// Waits until `ready` says so.
pub async fn until(mut ready: impl FnMut() -> bool) {
    poll_fn(|_| if ready() { Poll::Ready(()) } else { Poll::Pending }).await
}

/// A collective under way at this node. Its numbers are retired when it is dropped.
pub struct Context<A: Mapped> {
    /// The engine.
    pub coll: &'static Coll<A>,
    /// The members.
    pub team: TeamRef<A>,
    first: u32,
    count: u32,
    /// What is called, with debug clients.
    call: Option<Box<Description>>,
}

impl<A: Mapped> Drop for Context<A> {
    fn drop(&mut self) {
        self.team.retire(self.coll.am, self.first, self.count);
    }
}

impl<A: Mapped> Context<A> {
    /// Takes `count` sequence numbers of the team. `None`: a call that moves no data.
    pub fn new(coll: &'static Coll<A>, team: TeamRef<A>, count: u32, call: Option<&Call>) -> Context<A> {
        let Some(audit) = &team.audit else {
            let first = team.reserve(count);
            return Context { coll, team, first, count, call: None };
        };
        let call = call.map_or_else(Description::meeting, Description::new);
        let first = audit.note(call, count, || team.reserve(count));
        Context { coll, team, first, count, call: Some(Box::new(call)) }
    }

    /// Own place.
    #[inline(always)]
    pub fn me(&self) -> usize {
        self.team.me()
    }

    /// Members.
    #[inline(always)]
    pub fn members(&self) -> usize {
        self.team.members()
    }

    /// The other members, from the next one on, so that not all begin with the same one.
    pub fn others(&self) -> impl Iterator<Item = usize> + Clone + use<A> {
        let (me, members) = (self.me(), self.members());
        (1..members).map(move |d| (me + d) % members)
    }

    /// Phase number `index`, once its sequence number may be used.
    #[inline]
    pub async fn phase(&self, index: u32) -> Phase<'_, A> {
        debug_assert!(index < self.count);
        let seq = self.first.wrapping_add(index);
        until(|| self.team.is_usable(seq)).await;
        if let (0, Some(call)) = (index, &self.call) {
            self.team.describe(self.coll.am, seq, call);
        }
        Phase { cx: self, seq }
    }
}

impl<A: Mapped> Context<A> {
    /// Phase 0, without a future and without a description for debug clients; waits until it may be used.
    #[inline]
    pub fn phase_at_once(&self) -> Phase<'_, A> {
        self.coll.wait_until(|| self.team.is_usable(self.first));
        Phase { cx: self, seq: self.first }
    }
}

/// One sequence number of a collective: each pair of members may send each other one message, and answers to it.
pub struct Phase<'a, A: Mapped> {
    /// The collective.
    pub cx: &'a Context<A>,
    /// The number.
    pub seq: u32,
}

impl<A: Mapped> Clone for Phase<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Mapped> Copy for Phase<'_, A> {}

impl<A: Mapped> Phase<'_, A> {
    /// Sends a member its message: `head`, and up to [`WORDS`] words.
    #[inline]
    pub fn send(&self, to: usize, head: u32, body: &[u64]) {
        self.cx.team.cells.send(self.cx.coll.am, to, self.seq, head, body);
    }

    /// Changes the head of the message sent.
    #[inline]
    pub fn update(&self, to: usize, head: u32) {
        self.cx.team.cells.update(self.cx.coll.am, to, self.seq, head);
    }

    /// The head of a member's message.
    #[inline]
    pub fn head(&self, from: usize) -> Option<u32> {
        self.cx.team.cells.head(self.seq, from)
    }

    /// The first `count` words of a member's message.
    #[inline]
    pub fn body(&self, from: usize, count: usize) -> [u64; WORDS] {
        self.cx.team.cells.body(self.seq, from, count)
    }

    /// Answers a member.
    #[inline]
    pub fn tell(&self, to: usize, what: Word, value: u32) {
        self.cx.team.cells.tell(self.cx.coll.am, to, self.seq, what, value);
    }

    /// A member's answer.
    #[inline]
    pub fn told(&self, from: usize, what: Word) -> Option<u32> {
        self.cx.team.cells.told(self.seq, from, what)
    }

    /// Ends the job: a member's memory holds something that none of our senders writes. With debug clients, calls that differ
    /// may be noticed here first.
    #[cold]
    pub fn corrupt(&self, from: usize, what: &str) -> ! {
        self.cx.team.compare(self.cx.coll.am);
        corrupt(self.cx.team.cells.rank(from), what)
    }

    /// Waits until `from` has told `what`.
    pub async fn hear(&self, from: usize, what: Word) {
        until(|| self.told(from, what).is_some()).await
    }

    /// Waits until all members have sent `what`. In small teams each tells all; in large ones those at doubling distances, one
    /// after the other.
    pub async fn everybody(&self, what: Word) {
        let (me, members) = (self.cx.me(), self.cx.members());
        if members <= DIRECT_MEMBERS {
            return self.each_other(what).await;
        }
        let mut distance = 1;
        while distance < members {
            self.tell((me + distance) % members, what, 1);
            self.hear((me + members - distance) % members, what).await;
            distance *= 2;
        }
    }

    /// As [`Self::everybody`], but each member hears from each. Then everything that a member sent this one before has come.
    /// That holds for words sent as messages too, which are in order only between two members.
    pub async fn each_other(&self, what: Word) {
        self.cx.others().for_each(|to| self.tell(to, what, 1));
        for from in self.cx.others() {
            self.hear(from, what).await;
        }
    }

    /// Offset in our region of a chunk of a stage buffer.
    pub fn chunk(&self, buffer: usize, chunk: usize) -> usize {
        self.cx.coll.area.buffer(buffer) + chunk * CHUNK
    }
}
