//! Which threads run handlers of the client.
//!
//! A poll in a handler would run handlers inside handlers, so each poll asks whether its thread runs one.
//!
//! Rules:
//! 1. A handler for a peer's message runs in the thread that has the inbox, so in one at a time. `by` says which.
//! 2. Handlers for messages to the own node run in any thread. In PAR several may do so at the same time, and each counts in a thread-local
//!    variable. Without PAR they count in `by`.
//! 3. A thread looks for that variable only if some thread has ever sent to the own node. In a shared library each access to a
//!    thread-local variable is a call into the loader, and a message that a poll finds would take three. A flood of Shorts in PAR
//!    takes 25.1 instead of 29.4 ns a message without them (2026-11, EPYC 9004 VM).
//!
//! Must not know: polls, slots.

#[cfg(not(loom))]
use crate::os::sys::thread_number;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use std::cell::Cell;

#[cfg(not(loom))]
thread_local! {
    /// Handlers for messages to the own node that run on this thread, in PAR.
    static LOOPING: Cell<u32> = const { Cell::new(0) };
}

#[cfg(loom)]
loom::thread_local! {
    static LOOPING: Cell<u32> = Cell::new(0);
    /// Loom's threads are one thread of the process, so its number would not tell them apart.
    static HERE: Box<u8> = Box::new(0);
}

#[cfg(loom)]
fn thread_number() -> usize {
    HERE.with(|here| std::ptr::from_ref::<u8>(here).addr())
}

// Never inlined: the compiler takes the look-up of a thread-local variable for free, and would do it before the branch that decides
// whether it is needed.
#[inline(never)]
fn looping() -> u32 {
    LOOPING.with(Cell::get)
}

#[inline(never)]
fn set_looping(depth: u32) {
    LOOPING.with(|looping| looping.set(depth));
}

pub(super) struct Running {
    threaded: bool,
    /// The thread that runs a handler (rules 1 and 2); 0: none does.
    by: AtomicUsize,
    /// PAR: a thread has sent to the own node.
    looped: AtomicBool,
}

impl Running {
    pub(super) fn new(threaded: bool) -> Running {
        Running { threaded, by: AtomicUsize::new(0), looped: AtomicBool::new(false) }
    }

    /// A handler for a peer's message starts in this thread, which has the inbox. Returns the value for [`Self::leave`].
    #[inline(always)]
    pub(super) fn enter(&self) -> usize {
        // Relaxed, both: who has the inbox came behind the one before. For others see `is_here`.
        let before = self.by.load(Ordering::Relaxed);
        self.by.store(thread_number(), Ordering::Relaxed);
        before
    }

    /// That handler has returned.
    #[inline(always)]
    pub(super) fn leave(&self, before: usize) {
        self.by.store(before, Ordering::Relaxed); // Relaxed: as in `enter`
    }

    /// As [`Self::enter`], a handler for a message of this node to itself. Returns the value for [`Self::leave_loop`].
    pub(super) fn enter_loop(&self) -> usize {
        if !self.threaded {
            return self.enter();
        }
        // Relaxed, both: only this thread need see it before it asks.
        if !self.looped.load(Ordering::Relaxed) {
            self.looped.store(true, Ordering::Relaxed);
        }
        let before = looping();
        set_looping(before + 1);
        before as usize
    }

    /// As [`Self::leave`] behind [`Self::enter_loop`].
    pub(super) fn leave_loop(&self, before: usize) {
        match self.threaded {
            true => set_looping(before as u32),
            false => self.leave(before),
        }
    }

    /// This thread runs a handler.
    #[inline(always)]
    pub(super) fn is_here(&self) -> bool {
        // Relaxed, both: a thread sees its own stores. No other stores its number, unless it ended before this one began.
        self.by.load(Ordering::Relaxed) == thread_number() || self.looped.load(Ordering::Relaxed) && looping() > 0
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

    fn elsewhere(running: &Running) -> bool {
        std::thread::scope(|scope| scope.spawn(|| running.is_here()).join().unwrap())
    }

    #[test]
    fn a_handler_runs_in_its_own_thread_alone() {
        for threaded in [false, true] {
            let running = Running::new(threaded);
            assert!(!running.is_here() && running.is_idle());
            let before = running.enter();
            assert!(running.is_here() && !running.is_idle() && !elsewhere(&running));
            running.leave(before);
            assert!(!running.is_here() && running.is_idle());
        }
    }

    #[test]
    fn handlers_for_own_messages_are_counted_in_and_beside_others() {
        for threaded in [false, true] {
            let running = Running::new(threaded);
            let request = running.enter_loop();
            let reply = running.enter_loop();
            assert!(running.is_here() && !elsewhere(&running));
            running.leave_loop(reply);
            assert!(running.is_here());
            running.leave_loop(request);
            assert!(!running.is_here() && running.is_idle());
            // The other way of asking stays right afterwards.
            let before = running.enter();
            assert!(running.is_here() && !elsewhere(&running));
            running.leave(before);
            assert!(!running.is_here());
        }
    }

    #[test]
    fn threads_run_handlers_for_own_messages_at_the_same_time() {
        let running = Running::new(true);
        let before = running.enter();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let own = running.enter_loop();
                assert!(running.is_here());
                running.leave_loop(own);
                assert!(!running.is_here());
            });
        });
        assert!(running.is_here());
        running.leave(before);
        assert!(!running.is_here());
    }
}
