//! Transfers from start to end: what counts them, and waits that serve messages until they are complete.
//!
//! Must not know: C types, error codes, the names of clients' calls, how bytes move.

#![forbid(unsafe_code)]

use super::event::{self, Events, Live, PARTS, Sets, Whose, find, full, give, is_leaf_done, refused};
use super::home::{self, Set};
use super::{Completion, Counted, Engines};
use crate::base::error::{Error, bad_arg};
use crate::sci::Adapter;
use crate::verbs::{Begun, Local};

/// How a caller learns of its transfer's completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By the return of the call.
    Blocking,
    /// By a root event, if it is not complete.
    Event(Local),
    /// By a root event in any case, which holds the fetched value ([`super::Rma::get_value`]).
    Value,
    /// By a set of its thread, or by the region that is open on it.
    Implicit(Set, Local),
}

/// The result of starting a transfer: the root event of [`How::Event`] and [`How::Value`]; 0 if it is complete or has none.
pub type Root = usize;

impl<A: Adapter> Engines<'_, A> {
    /// Runs `begin`, which starts transfers that the completion counts. Then waits or makes the event, as `how` says. `None`:
    /// the transfer was refused ([`Begun::Refused`]), and nothing was started.
    #[inline(always)]
    pub fn transfer(
        self,
        how: How,
        begin: impl FnOnce(Completion<'static>) -> Result<Begun, Error>,
    ) -> Result<Option<Root>, Error> {
        let here = home::here();
        let (taken, local) = match how {
            How::Blocking | How::Value => (here.take(), Local::AtReturn),
            How::Event(local) => (here.take(), local),
            How::Implicit(set, local) => (here.implicit(set), local),
        };
        let Some((id, op)) = taken else { return Err(full()) };
        let begun = begin(Completion { counts: Counted { id, op }, local })?;
        match how {
            How::Implicit(..) => {}
            How::Event(local) if begun == Begun::InFlight => {
                if local == Local::WhenAsked {
                    op.note_asked();
                }
                return Ok(Some(op.handle(id)));
            }
            How::Value => return Ok(Some(op.handle(id))),
            How::Event(_) => here.give((id, op)),
            How::Blocking => {
                match begun {
                    Begun::Complete => self.am.poll_in_loop(), // as in `wait_until`
                    Begun::InFlight => self.wait_until(|| op.is_done())?,
                    Begun::Refused => {}
                }
                here.give((id, op));
            }
        }
        Ok(if begun == Begun::Refused { None } else { Some(0) })
    }

    /// Syncs an event when it is complete, serving messages until then. `BadArg`: it is not live, or the caller is in a
    /// handler and the event is not complete.
    #[inline(always)]
    pub fn wait(self, event: usize, whose: Whose) -> Result<(), Error> {
        if event == 0 {
            self.am.poll_in_loop(); // as in `wait_until`
            return Ok(());
        }
        if whose == Whose::Any && event & PARTS != 0 {
            return self.wait_leaf(event);
        }
        self.wait_live(event, whose)
    }

    /// Not inline, so that the wait for a complete event, a poll, saves no registers for this one.
    #[inline(never)]
    fn wait_live(self, root: usize, whose: Whose) -> Result<(), Error> {
        let live = self.wait_root(root, whose)?;
        give(root, live, whose)
    }

    #[cold]
    fn wait_leaf(self, leaf: usize) -> Result<(), Error> {
        if !event::test(leaf, Whose::Any)? {
            // A root that dies meanwhile ends the wait: its parts are complete.
            self.wait_until(|| !matches!(is_leaf_done(leaf), Ok(Some(false))))?;
        }
        Ok(())
    }

    /// Waits for a root. Returns its op, which is not given back yet.
    #[inline(always)]
    fn wait_root(self, root: usize, whose: Whose) -> Result<Live, Error> {
        let live = find(root, whose).or_else(|why| refused(root, why))?;
        self.wait_until(|| live.op.is_done())?;
        Ok(live)
    }

    /// As [`Self::wait`], for a value get: its value.
    #[inline(always)]
    pub fn wait_value(self, event: usize, whose: Whose) -> Result<u64, Error> {
        let live = self.wait_root(event, whose)?;
        let value = live.op.value();
        give(event, live, whose).map(|()| value)
    }

    /// Waits until all events, or, without `all`, one at least, are complete. Errors as [`Self::wait`].
    #[inline(always)]
    pub fn wait_events(self, events: Events, all: bool, whose: Whose) -> Result<(), Error> {
        let mut steps = None;
        while !events.test(whose)?.is_enough(all) {
            self.check_may_wait()?;
            steps = Some(self.wait_step(steps.unwrap_or(0)));
        }
        if steps.is_none() {
            self.am.poll_in_loop(); // as in `wait_until`
        }
        Ok(())
    }

    /// Waits until the sets are complete. Errors as [`Sets::test`] and [`Self::wait`].
    #[inline(always)]
    pub fn wait_sets(self, sets: Sets) -> Result<(), Error> {
        sets.test()?;
        self.wait_until(|| sets.are_done())
    }

    /// Serves messages until `done`, and at least once. So a node that makes nothing but blocking calls answers requests, even
    /// if each call is complete at once (contract: extended.md §10).
    #[inline(always)]
    fn wait_until(self, done: impl Fn() -> bool) -> Result<(), Error> {
        if done() {
            self.am.poll_in_loop(); // a client that gets a flag again and again is such a loop
            return Ok(());
        }
        self.check_may_wait()?;
        let mut failed = 0;
        while !done() {
            failed = self.wait_step(failed);
        }
        Ok(())
    }

    /// Refuses to wait inside a handler. Handlers do not run in handlers, and without one no answer is counted, so the wait
    /// would never end.
    #[inline(always)]
    fn check_may_wait(self) -> Result<(), Error> {
        if self.am.in_handler() {
            return bad_arg(format_args!("an AM handler can't wait for what a peer must answer"));
        }
        Ok(())
    }

    /// One step of waiting: polls. If the DMA engine has transfers that no thread works on, makes a part of one first.
    #[inline(always)]
    fn wait_step(self, failed: u32) -> u32 {
        if self.rma.help() {
            self.am.poll();
            return 0;
        }
        self.am.wait_step(failed)
    }
}
