//! Which threads run handlers of the client.
//!
//! A poll in a handler would run handlers inside handlers, so each poll asks whether its thread runs one.
//!
//! Rules:
//! 1. A handler for a peer's message runs in the thread that has the inbox, so in one at a time. `by` says which.
//! 2. Handlers for messages to the own node run in any thread. In PAR several may do so at the same time, and each thread counts its own
//!    (`pool`). Without PAR `by` says which.
//! 3. A thread-local variable would do for both. But in a shared library each access to one is a call into the loader, and a message that a
//!    poll finds would take three. A flood of Shorts in PAR takes 25.1 instead of 29.4 ns a message without them (2026-11, EPYC 9004 VM).
//!
//! A handler that waits for long is reported: it may wait for another one, and none for a peer's message runs meanwhile.
//!
//! Must not know: polls, slots.

use crate::base::log;
#[cfg(not(loom))]
pub(super) use crate::os::sys::thread_number;
use crate::sync::{AtomicUsize, Ordering};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

#[cfg(loom)]
loom::thread_local! {
    /// Loom's threads are one thread of the process, so its number would not tell them apart.
    static HERE: Box<u8> = Box::new(0);
}

#[cfg(loom)]
pub(super) fn thread_number() -> usize {
    HERE.with(|here| std::ptr::from_ref::<u8>(here).addr())
}

/// No handler runs around this one. A poll says so without a look: three instructions less.
pub(super) const OUTERMOST: usize = 0;

#[derive(Default)]
pub(super) struct Running {
    /// The thread that runs a handler (rules 1 and 2); 0: none does.
    by: AtomicUsize,
    /// The wait that a handler is in; of several in PAR (rule 2) the last one that began.
    waits: Mutex<Waits>,
}

#[derive(Default)]
enum Waits {
    #[default]
    No,
    Since {
        began: Instant,
        last_step: Instant,
    },
    /// For the node's first handler that waited for too long. Others are not.
    Reported,
}

/// A handler that has waited for so long is reported, once.
const REPORT_AFTER: Duration = if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(5) };
/// Steps that are so far apart are of two waits. Sleeps between steps of one wait are shorter; that of a process that was stopped counts anew.
const OTHER_WAIT: Duration = Duration::from_secs(2);

impl Running {
    /// What [`Self::leave`] gets of a handler that starts now, in the thread that has the inbox. [`OUTERMOST`] is the same in a poll: a reply
    /// handler alone may run inside another handler, which waits for room.
    #[inline(always)]
    pub(super) fn outer(&self) -> usize {
        self.by.load(Ordering::Relaxed) // Relaxed: who has the inbox came behind the one before
    }

    /// A handler for a peer's message starts in this thread, which has the inbox.
    #[inline(always)]
    pub(super) fn enter(&self) {
        self.by.store(thread_number(), Ordering::Relaxed); // Relaxed: as in `outer`; for others see `is_here`
    }

    /// As [`Self::enter`]. Returns what [`Self::outer`] was.
    #[inline(always)]
    pub(super) fn enter_inside(&self) -> usize {
        let outer = self.outer();
        self.enter();
        outer
    }

    /// That handler has returned, inside the one that `outer` names.
    #[inline(always)]
    pub(super) fn leave(&self, outer: usize) {
        self.by.store(outer, Ordering::Relaxed); // Relaxed: as in `outer`
    }

    /// This thread runs a handler, but for those of rule 2 in PAR.
    #[inline(always)]
    pub(super) fn is_here(&self) -> bool {
        // Relaxed: a thread sees its own stores. No other stores its number, unless it ended before this one began.
        self.by.load(Ordering::Relaxed) == thread_number()
    }

    /// A handler makes a step of a wait, which debug builds refuse. `first`: no step of this wait came before. A wait may have no such step,
    /// because the header's looks come before it and are not reported here.
    #[cold]
    pub(super) fn waits(&self, first: bool) {
        let mut waits = self.waits.lock();
        let now = Instant::now();
        *waits = match *waits {
            Waits::Reported => Waits::Reported,
            Waits::Since { began, last_step } if !first && now - last_step < OTHER_WAIT => {
                if now - began > REPORT_AFTER {
                    log::advise(&format!(
                        "an AM handler has waited for {REPORT_AFTER:?} in GASNET_BLOCKUNTIL or another call. No message of another node is handled meanwhile, so it waits for ever \
                         if another one has to do something for that. Handlers must not wait (a build with GASNET_DEBUG says where)"
                    ));
                    Waits::Reported
                } else {
                    Waits::Since { began, last_step: now }
                }
            }
            _ => Waits::Since { began: now, last_step: now },
        };
    }

    /// No thread runs a handler; without PAR, where nobody else calls meanwhile.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.by.load(Ordering::Relaxed) == 0 // Relaxed: one thread at a time
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_waits_is_reported_once() {
        let running = Running::default();
        let is_reported = || matches!(*running.waits.lock(), Waits::Reported);
        running.waits(false); // as if the header had made the first looks
        assert!(!is_reported());
        std::thread::sleep(2 * REPORT_AFTER);
        running.waits(true);
        assert!(!is_reported(), "another wait");
        std::thread::sleep(2 * REPORT_AFTER);
        running.waits(false);
        assert!(is_reported());
        running.waits(true);
        running.waits(false);
        assert!(is_reported());
    }

    #[test]
    fn a_handler_runs_in_its_own_thread_alone() {
        let running = Running::default();
        let elsewhere = || std::thread::scope(|scope| scope.spawn(|| running.is_here()).join().unwrap());
        assert!(!running.is_here() && running.is_idle());
        running.enter();
        let outer = running.enter_inside();
        assert!(running.is_here() && !running.is_idle() && !elsewhere());
        running.leave(outer);
        assert!(running.is_here());
        running.leave(OUTERMOST);
        assert!(!running.is_here() && running.is_idle());
    }
}
