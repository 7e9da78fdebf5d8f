//! The checks for debug clients. Every member describes its calls to all others, and compares theirs with its own.
//!
//! A description takes two lines per sequence number and member. It stays there until the number's slot is used
//! again. That is not before all members have compared it, because a member's credit reaches only as far as its
//! comparisons. Calls that differ end the job with a line that names both nodes, both calls and their places in the
//! client. Descriptions: `description.rs`. What a member prints that waits for long: `patience.rs`.
//!
//! Must not know: algorithms.

#![allow(unsafe_code)] // client memory and mapped regions

use super::cells::Cells;
use super::description::{Description, WORDS};
use crate::sci::Adapter;
use crate::sync::{AtomicU32, ModeLock, Ordering};
use std::cell::RefCell;
use std::collections::VecDeque;

/// The comparisons of a team.
pub struct Audit {
    /// All numbers up to this one are compared.
    done: AtomicU32,
    /// Calls of this member that are not yet compared with those of all others. A call that takes several numbers is
    /// compared under the first one only; the later ones are `None`.
    calls: ModeLock<RefCell<VecDeque<Option<Description>>>>,
}

impl Audit {
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`].
    pub unsafe fn new(threaded: bool) -> Audit {
        // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
        Audit { done: AtomicU32::new(0), calls: unsafe { ModeLock::new(threaded, RefCell::default()) } }
    }

    /// Keeps the call made under the next `count` numbers, which `reserve` hands out.
    pub fn note(&self, call: Description, count: u32, reserve: impl FnOnce() -> u32) -> u32 {
        self.calls.with(|calls| {
            let mut calls = calls.borrow_mut();
            calls.push_back(Some(call));
            calls.extend((1..count).map(|_| None));
            reserve()
        })
    }

    /// All numbers up to this one are compared.
    pub fn done(&self) -> u32 {
        self.done.load(Ordering::Relaxed) // Relaxed: the store that sends the credit orders our looks at the slots before it
    }

    /// Compares the descriptions that have come. Calls that differ are fatal.
    pub(super) fn compare<A: Adapter>(&self, cells: &Cells<A>) {
        self.calls.with(|calls| {
            let mut calls = calls.borrow_mut();
            while let Some(mine) = calls.front() {
                let seq = self.done().wrapping_add(1);
                for other in (0..cells.members()).filter(|m| *m != cells.me()) {
                    match (mine, described(cells, seq, other)) {
                        (None, _) => {}
                        (Some(_), None) => return,
                        (Some(mine), Some(call)) if call.agreed() != mine.agreed() => {
                            differ(cells, seq, mine, other, &call)
                        }
                        _ => {}
                    }
                }
                calls.pop_front();
                self.done.store(seq, Ordering::Relaxed); // Relaxed: see `done`
            }
        });
    }

    /// The oldest call of this member that is not compared yet, and the members that have not made theirs.
    pub(super) fn missing<A: Adapter>(&self, cells: &Cells<A>) -> Option<(Description, Vec<u32>)> {
        self.calls.with(|calls| {
            let mine = calls.borrow().front().copied()??;
            let seq = self.done().wrapping_add(1);
            let absent = |m: &usize| *m != cells.me() && described(cells, seq, *m).is_none();
            Some((mine, (0..cells.members()).filter(absent).map(|m| cells.rank(m)).collect()))
        })
    }
}

/// The call that `member` has made under `seq`; `None` if it has not called yet.
fn described<A: Adapter>(cells: &Cells<A>, seq: u32, member: usize) -> Option<Description> {
    let words: [u64; WORDS] = std::array::from_fn(|i| cells.description(seq, member, i));
    ((words[0] >> 32) as u32 == seq).then_some(Description(words))
}

#[cold]
fn differ<A: Adapter>(cells: &Cells<A>, seq: u32, mine: &Description, member: usize, theirs: &Description) -> ! {
    let (me, other) = (cells.rank(cells.me()), cells.rank(member));
    let team = cells.members();
    crate::base::fatal(format_args!(
        "collective {seq} of a team of {team}: node {me} called {mine}, node {other} called {theirs}"
    ))
}

/// Ends the job: what has come of node `rank` fits no call of this one. Without debug clients, calls that differ look like this.
#[cold]
pub(super) fn misfit(rank: u32, what: &str) -> ! {
    crate::am::corrupt::corrupt(
        rank,
        &format!(
            "{what}: the nodes called different collectives, or the same with other lengths, roots or flags, unless memory was overwritten; \
             clients built with GASNET_DEBUG name the calls"
        ),
    )
}
