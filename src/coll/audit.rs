//! The checks for debug clients. Every member describes its calls to all others, and compares theirs with its own.
//!
//! A description takes two lines per sequence number and member. It stays there until the number's slot is used
//! again. That is not before all members have compared it, because a member's credit reaches only as far as its
//! comparisons. Calls that differ end the job with a line that names both nodes, both calls and their places in the
//! client. A member that waits for long prints which members it waits for.
//!
//! Must not know: algorithms.

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::DESCRIPTION;
use super::call::{Call, Kind, flags};
use super::cells::Cells;
use super::team::Team;
use super::{Coll, Mapped};
use crate::am::Am;
use crate::base::log;
use crate::sci::Adapter;
use crate::sync::{AtomicU32, ModeLock, Ordering};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// Words of a description: tag and kind, root and flags, bytes, function and line, file.
const WORDS: usize = DESCRIPTION / 8;
/// First word of the file's name.
const FILE: usize = 4;
/// How long a member waits before it names the members that it waits for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The place in the client's source from which it called.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The source file.
    pub file: String,
    /// The line in the file.
    pub line: u32,
    /// Index of the function of a reduction.
    pub function: u32,
}

/// The kind of calls that move no data: initialisation, a split, the end of a team.
pub const MEETING: u32 = 7;

/// Names of the calls, by kind.
pub const NAMES: [&str; 8] = [
    "gasnet_coll_broadcast",
    "gasnet_coll_scatter",
    "gasnet_coll_gather",
    "gasnet_coll_gather_all",
    "gasnet_coll_exchange",
    "gasnet_coll_reduce",
    "gasnet_coll_scan",
    "gasnet_coll_init, gasnet_coll_team_split or gasnet_coll_team_free",
];

/// A description of a call, without its tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Description([u64; WORDS]);

impl Description {
    /// The description of `call`.
    pub fn new(call: &Call) -> Description {
        let mut words = [0; WORDS];
        let root = if call.kind.is_rooted() { call.root as u64 } else { 0 };
        words[0] = call.kind as u64;
        words[1] = root << 32 | u64::from(call.flags & !(flags::DST_IN_SEGMENT | flags::SRC_IN_SEGMENT));
        words[2] = call.each as u64;
        if let Some(origin) = &call.origin {
            words[3] = u64::from(origin.function) << 32 | u64::from(origin.line);
            let name = origin.file.as_bytes();
            let name = &name[name.len().saturating_sub(8 * (WORDS - FILE))..];
            for (word, bytes) in words[FILE..].iter_mut().zip(name.chunks(8)) {
                let mut eight = [0; 8];
                eight[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(eight);
            }
        }
        Description(words)
    }

    /// The description of a call that moves no data.
    pub fn meeting() -> Description {
        let mut words = [0; WORDS];
        words[0] = u64::from(MEETING);
        Description(words)
    }

    /// The parts that must be equal on all members.
    fn agreed(&self) -> [u64; 4] {
        let w = &self.0;
        [w[0] & u64::from(u32::MAX), w[1], w[2], w[3] >> 32]
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = &self.0;
        let kind = w[0] as u32;
        write!(f, "{}", NAMES.get(kind as usize).unwrap_or(&"?"))?;
        if kind != MEETING {
            write!(f, "(")?;
            if Kind::from_number(kind).is_some_and(Kind::is_rooted) {
                write!(f, "root {}, ", w[1] >> 32)?;
            }
            write!(f, "{} bytes, flags {:#x})", w[2], w[1] as u32)?;
        }
        let name: Vec<u8> = w[FILE..].iter().flat_map(|word| word.to_le_bytes()).take_while(|b| *b != 0).collect();
        if !name.is_empty() {
            write!(f, " at {}:{}", String::from_utf8_lossy(&name), w[3] as u32)?;
        }
        Ok(())
    }
}

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
    fn compare<A: Adapter>(&self, cells: &Cells<A>) {
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
    fn missing<A: Adapter>(&self, cells: &Cells<A>) -> Option<(Description, Vec<u32>)> {
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

impl<A: Adapter> Team<A> {
    /// Sends the others what this member calls under `seq`. That number must be usable.
    pub fn describe(&self, am: &Am<A>, seq: u32, call: &Description) {
        let mut words = call.0;
        words[0] |= u64::from(seq) << 32;
        for to in (0..self.members()).filter(|m| *m != self.me()) {
            self.cells.describe(am, to, seq, &words);
        }
    }

    /// Compares the descriptions that have come since the last time.
    pub fn compare(&self, am: &Am<A>) {
        if let Some(audit) = &self.audit {
            audit.compare(&self.cells);
            self.send_credit(am);
        }
    }
}

fn list<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Prints, once, which members a call waits for, if it has waited for long.
pub struct Patience {
    since: Instant,
    printed: Cell<bool>,
}

impl Patience {
    /// Starts measuring the wait.
    pub fn start() -> Patience {
        Patience { since: Instant::now(), printed: Cell::new(false) }
    }

    /// Reads the clock, and prints if the wait is long.
    pub fn check<A: Mapped>(&self, coll: &Coll<A>) {
        if self.printed.get() || self.since.elapsed() < PATIENCE {
            return;
        }
        self.printed.set(true);
        let seconds = PATIENCE.as_secs();
        if let Some((call, images)) = coll.images_missing() {
            let call = Description::new(&call);
            log::advise(&format!(
                "after {seconds} s in {call}: not called yet by image {} of this node",
                list(&images)
            ));
        }
        coll.each_team(|team| {
            let Some((call, nodes)) = team.audit.as_ref().and_then(|audit| audit.missing(&team.cells)) else { return };
            if !nodes.is_empty() {
                let members = team.members();
                let nodes = list(&nodes);
                log::advise(&format!(
                    "after {seconds} s in {call}, on a team of {members}: not called yet by node {nodes}"
                ));
            }
        });
    }
}
