//! Waits that no call of the client's encloses: in GASNET_BLOCKUNTIL, and of a request for room. The library sees their steps only,
//! so a wait is kept per thread, and recorded when the thread records something else.
//!
//! Points are where a step of waiting has found nothing, so whatever gets on with its work does not meet them.

use super::points::{Happened, put};
use super::{NO_NODE, TracedOp, is_on, state};
use crate::os::sys;
use std::cell::Cell;

/// A step after a longer time than this begins another wait. The longest sleep of a step is 50 ms; the rest is a guess.
const LONGEST_STEP: u64 = 60_000_000;

/// A wait of this thread that is not recorded yet.
#[derive(Clone, Copy)]
struct Pending {
    op: TracedOp,
    node: u32,
    begin: u64,
    last: u64,
}

thread_local! {
    static PENDING: Cell<Option<Pending>> = const { Cell::new(None) };
    /// How many recorded operations this thread is in whose duration counts. A wait in one of them is the operation's.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// An operation begins whose duration counts. What was waited for before is recorded first.
pub(super) fn enter() {
    finish(None);
    INSIDE.set(INSIDE.get() + 1);
}

/// It ends. `try_with`, here and below: a thread that ends may have given up its variables.
pub(super) fn leave() {
    let _ = INSIDE.try_with(|inside| inside.set(inside.get().saturating_sub(1)));
}

/// This thread waits for messages, and a step of its wait has found nothing. `first`: it is the wait's first step.
#[inline(always)]
pub(crate) fn waits(first: bool) {
    if is_on() {
        step(first);
    }
}

#[cold]
#[inline(never)]
fn step(first: bool) {
    if INSIDE.get() > 0 {
        return;
    }
    let now = sys::clock_ns();
    match PENDING.get() {
        Some(wait) if !first && now.saturating_sub(wait.last) < LONGEST_STEP => {
            PENDING.set(Some(Pending { last: now, ..wait }));
        }
        _ => {
            finish(None);
            PENDING.set(Some(Pending { op: TracedOp::MessageWait, node: NO_NODE, begin: now, last: now }));
        }
    }
}

/// The wait that this thread is in is for room at `node`.
#[inline(always)]
pub(crate) fn waits_for_room(node: u32) {
    if is_on() {
        is_for_room(node);
    }
}

#[cold]
#[inline(never)]
fn is_for_room(node: u32) {
    if let Some(wait) = PENDING.get() {
        PENDING.set(Some(Pending { op: TracedOp::RoomWait, node, ..wait }));
    }
}

/// Whether this thread was in a wait that is not recorded yet.
pub(super) fn is_pending() -> bool {
    PENDING.try_with(|pending| pending.get().is_some()).unwrap_or(false)
}

/// Records the wait that this thread was in, if any. `end`: when it ended, if that is known better than by its last step.
pub(super) fn finish(end: Option<u64>) {
    let Ok(Some(wait)) = PENDING.try_with(Cell::take) else { return };
    let end = end.filter(|_| wait.op == TracedOp::MessageWait).unwrap_or(wait.last);
    if let Some(state) = state().filter(|_| end > wait.begin) {
        let ns = Some(end - wait.begin);
        put(state, &Happened { op: wait.op, node: wait.node, bytes: 0, handler: None, team: None, ns, end: Some(end) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_in_vain_are_one_wait_and_room_has_its_node() {
        let pending = || PENDING.get().map(|wait| (wait.op, wait.node));
        step(true);
        assert_eq!(pending(), Some((TracedOp::MessageWait, NO_NODE)));
        let begin = PENDING.get().unwrap().begin;
        is_for_room(3);
        step(false);
        assert_eq!(pending(), Some((TracedOp::RoomWait, 3)));
        assert!(PENDING.get().is_some_and(|wait| wait.begin == begin && wait.last >= begin));
        // The next wait is another one: it is for messages until something else is said.
        step(true);
        assert_eq!(pending(), Some((TracedOp::MessageWait, NO_NODE)));
        finish(None);
        assert!(!is_pending());
    }

    #[test]
    fn a_wait_within_an_operation_is_the_operations() {
        enter();
        step(true);
        assert!(!is_pending());
        enter();
        leave();
        step(true);
        assert!(!is_pending());
        leave();
        step(false);
        assert!(is_pending());
        enter();
        assert!(!is_pending());
        leave();
    }

    #[test]
    fn after_a_long_time_another_wait_begins() {
        step(true);
        let old = PENDING.get().unwrap();
        PENDING.set(Some(Pending { begin: 1, last: old.last.saturating_sub(2 * LONGEST_STEP), ..old }));
        step(false);
        assert!(PENDING.get().is_some_and(|wait| wait.begin > 1));
    }
}
