//! Progress: the verbs that serve messages — polls, steps of a wait, background work of other engines (contract: core.md §10).
//!
//! A thread that finds the inbox taken returns at once, because another thread is already polling.
//!
//! All who look for messages, from the least to the most thorough:
//!
//! | who | by | what it looks at | what it skips |
//! |---|---|---|---|
//! | the header, in polls and waits | `gasneti_sci_look` (C), from what `direct::Watch` says | the next request and the next reply of the watched peer | all else, for as many looks as were granted (`let_header_poll`, `let_wait_look`) |
//! | a step of a wait in the library | `look_watched`; of one of several threads `look_unguarded` | the same | the same |
//! | who has seen a message so | `poll_watched`, `wait_watched`, over `Inbox::serve_watched` | that message and what is behind it | the other predicted peers but every 8th time (in a job of two every 32nd), the network but every 16th (`serve_seen`) |
//! | a reply that waits for room | `Inbox::poll_replies` | replies of all peers | requests |
//! | a sender without room | `Am::wait_for_room`, `reserve_now` (`request`) | what its receiver has given back and answered; now and then as a poll | other peers |
//! | a client's poll | `poll_in_loop`; where other threads may poll, or there is other work, `poll_guarded` | predicted peers (`look_for`); if they have nothing, a line of what all announce (`is_quiet`, `nothing_predicted`) | other lines, which later polls look at |
//! | an engine's poll | `poll` | the same, then the adapter and other engines (`look_further`) | the same |
//! | a wait that goes on | `wait_step`, `wait_step_with`, over `wait_step_further` | the same (`Look::Spin`); before it gives the core away, all lines (`Look::Whole`) | other lines while it spins |
//! | a wait before its sleep | `Look::Last` (`look_everywhere`), also `poll_whole` | everything, then the adapter, then everything again | nothing |
//!
//! Must not know: which queue is looked at, what a message says.

use super::direct::Seen;
use super::engine::{ADAPTER, Am, PIECE};
use super::flood::LOOKS_IN_VAIN;
use super::inbox::Inbox;
use crate::am::wait::{Look, Rest};
use crate::sci::{Adapter, Effort};
use crate::sync::Ordering;
use crate::trace;

/// What came of a poll.
pub(crate) struct Looked {
    /// It did something.
    pub(crate) did: bool,
    /// It looked at the inbox itself. Else it has left that to another thread, which may have looked too early.
    is_whole: bool,
}

impl<A: Adapter> Am<A> {
    /// Serves what has arrived: runs handlers, takes credits. The work is bounded. True if there was anything.
    #[inline(always)]
    pub fn poll(&self) -> bool {
        self.look(Look::Glance).did
    }

    /// A poll that misses no message that is there. False: another thread is polling, and may have looked too early.
    pub fn poll_whole(&self) -> bool {
        self.look(Look::Last).is_whole
    }

    /// A poll that may be part of a client's own loop. After many empty ones it gives the core away, so that such a loop does
    /// not keep the core from the peer that it waits for. The call's own result does not tell progress: a client may read the
    /// same flag successfully for ever.
    #[inline(always)]
    pub fn poll_in_loop(&self) {
        // Relaxed: a hint, as in `serve`.
        let idle = self.running.is_idle() & (self.background.load(Ordering::Relaxed) == 0); // one test of both
        match self.inbox.unguarded() {
            Some(inbox) if idle => inbox.poll_in_loop(self),
            _ => self.poll_guarded(),
        }
    }

    /// True while there is background work ([`Self::background`]).
    #[inline(always)]
    pub(crate) fn has_work(&self) -> bool {
        self.background.load(Ordering::Relaxed) & !ADAPTER != 0 // Relaxed: a hint, as in `serve`
    }

    /// [`Adapter::wants_polls`].
    #[inline(always)]
    pub(crate) fn adapter_wants_polls(&self) -> bool {
        self.background.load(Ordering::Relaxed) & ADAPTER != 0 // Relaxed: the bit never changes
    }

    /// True if a poll has more to do than to look for messages.
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        // Relaxed: a hint, as in `serve`.
        self.background.load(Ordering::Relaxed) != 0 && (self.has_work() || self.adapter.is_expecting())
    }

    /// A client's poll after the header has seen a message of the watched peer.
    #[inline(always)]
    pub fn poll_watched(&self, is_reply: bool) {
        match self.inbox.unguarded() {
            Some(inbox) if self.running.is_idle() => match inbox.serve_watched(self, is_reply) {
                true => inbox.found_in_loop(self),
                false => self.waiter.missed(1),
            },
            _ => self.poll_guarded(),
        }
    }

    /// [`Self::poll_watched`] of one of several threads: a function of its own, so that neither asks for the other's conditions, nor saves
    /// registers twice. In PAR a Short there and back takes 50 instructions less (571 -> 520).
    #[inline(always)]
    pub fn poll_watched_in_par(&self, is_reply: bool) {
        if !self.serve_watched_guarded(is_reply) {
            self.poll_guarded();
        }
    }

    /// [`Self::wait_step`] after the header has seen a message of the watched peer.
    #[inline(always)]
    pub fn wait_watched(&self, failed: u32, is_reply: bool) -> u32 {
        match self.inbox.unguarded() {
            Some(inbox) if self.running.is_idle() && inbox.serve_watched(self, is_reply) => 0,
            _ => self.wait_step_further(failed, Rest::Short, || false),
        }
    }

    /// [`Self::wait_watched`] of one of several threads.
    #[inline(always)]
    pub fn wait_watched_in_par(&self, failed: u32, is_reply: bool) -> u32 {
        match self.serve_watched_guarded(is_reply) {
            true => 0,
            false => self.wait_step_further(failed, Rest::Short, || false),
        }
    }

    /// [`Self::poll_in_loop`] where client threads may poll at the same time, and inside handlers.
    #[inline(never)]
    fn poll_guarded(&self) {
        if self.in_handler() {
            return;
        }
        // While another thread is polling, this poll has nothing to do.
        let poll = |inbox: &Inbox<A>| {
            let found = inbox.poll(self, Look::Glance);
            self.watch.flood.forget();
            (found, inbox.let_header_poll(self))
        };
        let (found, inline) = self.inbox.try_with(poll).unwrap_or((false, 0));
        match (self.look_further(found, Look::Glance).did, self.inbox.unguarded()) {
            (true, Some(inbox)) => inbox.found_in_loop(self),
            (true, None) => self.waiter.found(),
            (false, _) => self.waiter.missed(1 + inline),
        }
    }

    /// Serves the message that the header has seen, unless this thread runs a handler or another thread is polling. True if
    /// something was run.
    #[inline(always)]
    fn serve_watched_guarded(&self, is_reply: bool) -> bool {
        if self.in_handler() {
            return false;
        }
        // No closure, which would be a call.
        let Some(inbox) = self.inbox.try_lock() else { return false };
        inbox.serve_watched(self, is_reply)
    }

    /// A poll as thorough as `look` asks.
    #[inline(always)]
    pub(crate) fn look(&self, look: Look) -> Looked {
        // A poll inside a handler would run a handler in a handler.
        if self.in_handler() {
            return Looked { did: false, is_whole: true };
        }
        match self.inbox.try_with(|inbox| inbox.poll(self, look)) {
            Some(found) => self.look_further(found, look),
            None => Looked { is_whole: false, ..self.look_further(false, look) },
        }
    }

    /// The end of a poll that has found something in the inbox, or not: what it does besides.
    #[inline(always)]
    fn look_further(&self, found: bool, look: Look) -> Looked {
        // Relaxed: a hint. The thread that adds work polls it itself, waits for it, or rings who serves.
        match self.background.load(Ordering::Relaxed) {
            0 => Looked { did: found, is_whole: true },
            _ => self.do_further_work(found, look),
        }
    }

    /// Lets the adapter work, and the other engines. If the adapter has brought something, this poll looks at the inbox once more: a client
    /// that computes may not poll again soon. The last poll before a sleep looks again in any case, since another thread may have let the
    /// adapter work meanwhile.
    #[inline(never)]
    fn do_further_work(&self, found: bool, look: Look) -> Looked {
        let mut looked = Looked { did: found, is_whole: true };
        let background = self.background.load(Ordering::Relaxed); // Relaxed: as above
        if background & ADAPTER != 0 {
            let effort = if found && look.is_light() { Effort::Found(1) } else { look.effort() };
            let came = self.adapter.progress(effort);
            if came || (look == Look::Last && !found) {
                let again = self.inbox.try_with(|inbox| inbox.poll(self, look));
                looked = Looked { did: found || came || again == Some(true), is_whole: again.is_some() };
            }
            // The inbox may have granted polls to the header before the adapter expected anything. The grant is taken back.
            if self.adapter.is_expecting() {
                self.watch.revoke();
            }
        }
        if background & !ADAPTER != 0 {
            looked.did |= self.do_background();
        }
        looked
    }

    /// Does the background work that is due, and looks for no messages. Handlers must not call it.
    #[cold]
    #[inline(never)]
    fn do_background(&self) -> bool {
        self.work.get().is_some_and(|work| work())
    }

    /// Stores that the adapter keeps together with later ones go out now.
    #[inline(always)]
    pub fn settle(&self) {
        if self.adapter_wants_polls() {
            self.adapter.settle();
        }
    }

    /// Sets the function for background work. Polls call it outside handlers while there is any work; it returns true if it did
    /// something.
    pub fn set_background(&self, work: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.work.set(Box::new(work)); // attach does, once
    }

    /// Adds `change` to the number of pieces of background work.
    pub fn background(&self, change: i32) {
        // Relaxed: as in `serve`.
        self.background.fetch_add((change * PIECE) as u32, Ordering::Relaxed);
        self.watch.revoke();
    }

    /// One step of waiting for a condition that polling may bring about: polls, then pauses, yields or sleeps. `failed` is the
    /// result of the last step, 0 at first.
    pub fn wait_step(&self, failed: u32) -> u32 {
        self.wait_step_with(failed, Rest::Short, || false)
    }

    /// As [`Self::wait_step`], for a condition that a peer's store brings about without a message. `ready` checks it once more
    /// before a sleep: a peer that stored before it could see us about to sleep wakes nobody. Sleeps are as long as `rest` allows.
    #[inline(always)]
    pub fn wait_step_with(&self, failed: u32, rest: Rest, ready: impl Fn() -> bool) -> u32 {
        // Behind a flood the sender gets time, so that its lines stay with it (`flood`).
        for _ in 0..self.watch.flood.take_pauses() {
            self.waiter.pause();
        }
        // What `gasneti_sci_wait` does in the header.
        let inbox = self.inbox.unguarded();
        let seen = match inbox {
            Some(inbox) => inbox.look_watched(self, failed),
            None => self.look_unguarded(failed),
        };
        let is_reply = match seen {
            None => return self.wait_step_further(failed, rest, ready),
            Some(Seen::Nothing) => {
                self.waiter.pause();
                return failed + 1;
            }
            Some(Seen::Reply) => true,
            Some(Seen::Request) => false,
        };
        let served = match inbox {
            Some(inbox) => self.running.is_idle() && inbox.serve_watched(self, is_reply),
            None => self.serve_watched_guarded(is_reply),
        };
        if served { 0 } else { self.wait_step_further(failed, rest, ready) }
    }

    /// A look of one of several threads, which takes no lock: 60 instead of 330 instructions for each, and a short message of a
    /// mail box takes 138 instead of 145 ns one way (2026-11, EPYC VM).
    #[inline(always)]
    fn look_unguarded(&self, failed: u32) -> Option<Seen> {
        match cfg!(loom) {
            true => None, // the models' regions have no plain words
            false => self.watch.look(failed, |is_reply| self.watch.waits(is_reply)),
        }
    }

    /// The slow part of [`Self::wait_step_with`]: looks further than the watched peer, and grants looks to the next steps.
    #[inline(never)]
    fn wait_step_further(&self, failed: u32, rest: Rest, ready: impl Fn() -> bool) -> u32 {
        // A look at the network is a system call: no pause is needed between two of them.
        // Relaxed: a hint.
        let gaps = self.background.load(Ordering::Relaxed) == 0 || !self.adapter.is_expecting();
        // The first poll of a wait may come after a computation: it is one like any other.
        let goes_on = self.watch.is_wait();
        let poll = |look| {
            let look = if look == Look::Spin && !goes_on { Look::Glance } else { look };
            self.look(look).did || (look == Look::Last && ready())
        };
        let next = self.waiter.step(failed, &self.interrupt, gaps, rest, poll);
        // A thread that finds the inbox taken leaves this to the one that has it.
        let _ = self.inbox.try_with(|inbox| match next {
            0 => _ = inbox.let_header_poll(self),
            _ => inbox.let_wait_look(self),
        });
        if next >= LOOKS_IN_VAIN {
            self.watch.flood.end();
            // Each step asks. The header's looks count in `failed` too, so a step that asked at certain values of it might never come.
            if self.in_handler() {
                self.running.waits(failed < LOOKS_IN_VAIN);
            }
        }
        if next != 0 {
            trace::waits(failed == 0);
        }
        self.watch.spins.store(self.waiter.spins(), Ordering::Relaxed); // Relaxed: a hint (see `Watch`)
        next
    }
}
