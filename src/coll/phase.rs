//! The tools of an algorithm: its team, its sequence numbers, and the ways to wait.
//!
//! Algorithms are futures without a waker. The thread that waits for one polls it, and so may any other poll. A
//! future is pending only while a cell that it looks at does not hold the awaited value. So one poll runs it as far
//! as it can get.

use super::Coll;
use super::area::CHUNK;
use super::audit::misfit;
use super::call::Call;
use super::cells::{WORDS, Word};
use super::description::{Description, MEETING};
use super::tasks::{Task, Work};
use super::team::TeamRef;
use crate::sci::Mapped;
use std::future::poll_fn;
use std::task::Poll;

/// Waits until `ready` returns true.
pub async fn until(mut ready: impl FnMut() -> bool) {
    poll_fn(|_| if ready() { Poll::Ready(()) } else { Poll::Pending }).await
}

/// A collective under way at this node. Its numbers are retired when it is dropped.
pub struct Context<A: Mapped> {
    /// The engine.
    pub coll: &'static Coll<A>,
    /// The team.
    pub team: TeamRef<A>,
    first: u32,
    count: u32,
    /// The description of the call, with debug clients.
    call: Option<Box<Description>>,
}

impl<A: Mapped> Drop for Context<A> {
    fn drop(&mut self) {
        if self.team.retire(self.coll.am, self.first, self.count) {
            self.coll.start_task(self.team.clone(), Task::new(Work::Follow));
        }
    }
}

impl<A: Mapped> Context<A> {
    /// Takes `count` sequence numbers of the team. `call` is `None` for a call that moves no data.
    pub fn new(coll: &'static Coll<A>, team: TeamRef<A>, count: u32, call: Option<&Call>) -> Context<A> {
        Self::described(coll, team, count, || call.map_or(Description::without_data(MEETING), Description::new))
    }

    /// Takes a sequence number for a call without data: [`MEETING`] or a number of its kind.
    pub fn meeting(coll: &'static Coll<A>, team: TeamRef<A>, what: u32) -> Context<A> {
        Self::described(coll, team, 1, || Description::without_data(what))
    }

    /// Takes `count` sequence numbers of the team, for a call that is described as `call` says.
    pub fn described(
        coll: &'static Coll<A>,
        team: TeamRef<A>,
        count: u32,
        call: impl FnOnce() -> Description,
    ) -> Context<A> {
        let Some(audit) = &team.audit else {
            let first = team.reserve(count);
            return Context { coll, team, first, count, call: None };
        };
        let call = call();
        let first = audit.note(call, count, || team.reserve(count));
        Context { coll, team, first, count, call: Some(Box::new(call)) }
    }

    /// This member's place.
    #[inline(always)]
    pub fn me(&self) -> usize {
        self.team.me()
    }

    /// Number of members.
    #[inline(always)]
    pub fn members(&self) -> usize {
        self.team.members()
    }

    /// The other members, beginning with the next one, so that members do not all begin with the same one.
    pub fn others(&self) -> impl Iterator<Item = usize> + Clone + use<A> {
        let (me, members) = (self.me(), self.members());
        (1..members).map(move |d| (me + d) % members)
    }

    /// Phase number `index`. Waits until its sequence number may be used.
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
    /// Phase 0, for callers without a future and without descriptions. `None`: its number may not be used yet.
    #[inline]
    pub fn usable_phase(&self) -> Option<Phase<'_, A>> {
        self.team.is_usable(self.first).then_some(Phase { cx: self, seq: self.first })
    }

    /// Phase 0, for callers without a future and without descriptions. Blocks until its number may be used.
    #[inline]
    pub fn phase_at_once(&self) -> Phase<'_, A> {
        self.coll.wait_until(|| self.team.is_usable(self.first));
        Phase { cx: self, seq: self.first }
    }
}

/// One sequence number of a collective: each pair of members may send each other one message, and answers to it.
pub struct Phase<'a, A: Mapped> {
    /// The collective that the number belongs to.
    pub cx: &'a Context<A>,
    /// The sequence number.
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

    /// Changes the head of the message that was sent to `to`.
    #[inline]
    pub fn update(&self, to: usize, head: u32) {
        self.cx.team.cells.update(self.cx.coll.am, to, self.seq, head);
    }

    /// The head of a member's message; `None` until it has come.
    #[inline]
    pub fn head(&self, from: usize) -> Option<u32> {
        self.cx.team.cells.head(self.seq, from)
    }

    /// The first `count` words of a member's message.
    #[inline]
    pub fn body(&self, from: usize, count: usize) -> [u64; WORDS] {
        self.cx.team.cells.body(self.seq, from, count)
    }

    /// True if words and bytes to and from a member go by loads and stores.
    #[inline]
    pub fn maps(&self, member: usize) -> bool {
        self.cx.team.direct || self.cx.team.cells.maps(member)
    }

    /// Answers a member.
    #[inline]
    pub fn answer(&self, to: usize, what: Word, value: u32) {
        self.cx.team.cells.answer(self.cx.coll.am, to, self.seq, what, value);
    }

    /// A member's answer word; `None` until it has come.
    #[inline]
    pub fn answered(&self, from: usize, what: Word) -> Option<u32> {
        self.cx.team.cells.answered(self.seq, from, what)
    }

    /// Ends the job: a member's memory holds a value that none of our senders writes in this call. This may be the first
    /// sign of calls that differ. Debug clients have said which.
    #[cold]
    pub fn corrupt(&self, from: usize, what: &str) -> ! {
        self.cx.team.compare(self.cx.coll.am);
        misfit(self.cx.team.cells.rank(from), what)
    }

    /// Waits for the answer word `what` of `from`.
    pub async fn wait_for(&self, from: usize, what: Word) {
        until(|| self.answered(from, what).is_some()).await
    }

    /// Waits until all members have sent `what`. In small teams on one host each member sends it to all; others have a plan.
    pub async fn wait_for_all(&self, what: Word) {
        let Some(plan) = self.cx.team.meetings.plan() else {
            return self.wait_for_each(what).await;
        };
        for stage in plan.stages() {
            stage.tell.iter().for_each(|to| self.answer(*to as usize, what, 1));
            for from in &stage.hear {
                self.wait_for(*from as usize, what).await;
            }
        }
    }

    /// Like [`Self::wait_for_all`], but each member hears from each directly. After that, all that a member sent to this
    /// one before has arrived. That holds for words sent as messages too, because these keep their order only between
    /// two members.
    pub async fn wait_for_each(&self, what: Word) {
        self.cx.others().for_each(|to| self.answer(to, what, 1));
        for from in self.cx.others() {
            self.wait_for(from, what).await;
        }
    }

    /// Offset in our region of a chunk of a stage buffer.
    pub fn chunk(&self, buffer: usize, chunk: usize) -> usize {
        self.cx.coll.area.buffer(buffer) + chunk * CHUNK
    }
}
