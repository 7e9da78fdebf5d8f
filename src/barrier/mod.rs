//! The split-phase barrier: notify, wait, try, with names (contract: extended.md §8). It is for all nodes or for a
//! team.
//!
//! A member writes what it knows of arrivals (phase, kind, name) into its own cell in another member's region, and reads its
//! own region only. [`ArrivalCells`] says where the cells are, [`Plan`] who writes for whom. On one host each member
//! writes for every other one, and none forwards for another. So a node that has notified may compute without polling, and
//! the others' waits still complete. Many members of a host would need many maps for that. So they write on a board: each writes one cell,
//! in the first member's region, and reads the others' there. It wakes nobody, unless it sees that all have arrived: then it wakes all.
//! A full fence between its store and its look sees to it that the last one to arrive does. On several hosts leaders forward for their hosts. So the first node of each host must
//! poll, or the others' waits do not complete.
//!
//! There are two cells, by the phase's parity. A fast node may be one phase ahead of a slow one, but never two,
//! because its wait for phase k needs every member's notify for phase k. A cell is written again two phases later. Then its
//! reader has notified the phase between, so it has read the cell.
//!
//! A leader's part goes on in notify, wait and try, and in [`Barrier::advance`], which the job calls in polls while a leader
//! has somebody to tell ([`ArrivalCells::owe`]). Each stage is told by one thread, outside the lock. Two threads may tell two
//! stages at the same time, because these go to different members. The phase does not end before both are done.
//!
//! Must not know: messages. The caller decides how to wait, and what polls meanwhile.

#![allow(unsafe_code)] // mapped cells

pub mod grouping;
pub mod plan;

use crate::am::Am;
use crate::am::wait::Rest;
use crate::base::error::{Error, bad_arg};
use crate::sci::{Adapter, LocalMap, RemoteInterrupt, RemoteMap};
use crate::sync::{AtomicU64, ModeLock, Ordering, fence};
use crate::trace::{self, TracedOp};
use plan::Plan;
use std::cell::Cell;

/// C's `GASNET_BARRIERFLAG_ANONYMOUS`.
pub const ANONYMOUS: u32 = 1;
/// C's `GASNET_BARRIERFLAG_MISMATCH`.
pub const MISMATCH: u32 = 2;

/// The common result of the notifies of a phase, as far as they have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consensus {
    /// No member gave a name.
    Anonymous,
    /// All members that gave a name gave this one.
    Named(i32),
    /// Members gave different names, or one asked for a mismatch.
    Mismatch,
}

impl Consensus {
    fn of(id: i32, flags: u32) -> Consensus {
        match flags {
            f if f & MISMATCH != 0 => Consensus::Mismatch,
            f if f & ANONYMOUS != 0 => Consensus::Anonymous,
            _ => Consensus::Named(id),
        }
    }

    fn and(self, other: Consensus) -> Consensus {
        match (self, other) {
            (Consensus::Anonymous, x) | (x, Consensus::Anonymous) => x,
            (Consensus::Named(a), Consensus::Named(b)) if a == b => self,
            _ => Consensus::Mismatch,
        }
    }
}

/// The value of a cell: name in the low 32 bits, kind in the next 2, phase in the 30 above.
#[derive(Clone, Copy)]
struct CellWord(u64);

impl CellWord {
    fn new(phase: u32, arrival: Consensus) -> CellWord {
        let (kind, id) = match arrival {
            Consensus::Anonymous => (0, 0),
            Consensus::Named(id) => (1, id as u32),
            Consensus::Mismatch => (2, 0),
        };
        CellWord(u64::from(phase) << 34 | kind << 32 | u64::from(id))
    }

    fn arrival(self, phase: u32) -> Option<Consensus> {
        if (self.0 >> 34) as u32 != phase {
            return None;
        }
        Some(match self.0 >> 32 & 3 {
            0 => Consensus::Anonymous,
            1 => Consensus::Named(self.0 as u32 as i32),
            _ => Consensus::Mismatch,
        })
    }
}

struct State {
    /// Number of phases notified, 30 bits. notify counts up first, so a cell that was never written (0) belongs to no
    /// phase.
    phase: Cell<u32>,
    pending: Cell<bool>,
    /// True after the first notify. `phase` alone would not show that, because it wraps to 0.
    begun: Cell<bool>,
    consensus: Cell<Consensus>,
    /// The stage of the plan. It and `heard` have 32 bits, so that one store begins both: 683 -> 679 instructions of two nodes.
    stage: Cell<u32>,
    /// Number of members that the stage hears, from the first one on, whose words are part of `consensus`.
    heard: Cell<u32>,
    /// Threads that are telling a stage but the first.
    telling: Cell<u32>,
    /// The cells have been told that later stages are to come.
    owes: Cell<bool>,
}

impl State {
    fn stage(&self) -> usize {
        self.stage.get() as usize
    }
}

/// The members of a barrier, and the cells through which they see each other's arrivals.
pub trait ArrivalCells {
    /// Number of members.
    fn members(&self) -> usize;
    /// This member's place among them.
    fn me(&self) -> usize;
    /// Writes this member's cell of `parity` at another member. Everything stored before becomes visible first. Wakes
    /// that member if it sleeps.
    fn arrive(&self, member: usize, parity: usize, word: u64);
    /// Records that this member is about to tell another one in a stage but the first.
    fn record(&self, _member: usize) {}
    /// Another member's cell of `parity`, read with Acquire: the reader sees what that member stored before.
    fn arrival(&self, member: usize, parity: usize) -> u64;
    /// Writes this member's cell of `parity` on the board. Everything stored before becomes visible first. Wakes nobody.
    fn post(&self, parity: usize, word: u64);
    /// Another member's cell on the board, read as [`Self::arrival`] reads.
    fn posted(&self, member: usize, parity: usize) -> u64;
    /// Wakes a member of this host that sleeps.
    fn wake(&self, member: usize);
    /// While it is `true`, polls must call [`Barrier::advance`]. Called in turns, beginning with `true`.
    fn owe(&self, _more: bool) {}
}

/// All nodes meet by cells in their control regions.
impl<A: Adapter> ArrivalCells for Am<A> {
    fn members(&self) -> usize {
        self.peers.len()
    }

    fn me(&self) -> usize {
        self.me as usize
    }

    fn arrive(&self, member: usize, parity: usize, word: u64) {
        let peer = self.peers.post(member);
        // A node that sees the arrival must see what we stored before.
        // ORDERING: Release (publish) ↔ Acquire in `arrival`.
        peer.control.barrier();
        peer.control.publish(self.layout.barrier(parity, self.me as usize), word);
        peer.bell.stored();
        self.settle(); // this node may compute for long after a notify
    }

    // The first stage is not recorded here. While something is recorded, the job's plan has nobody in it (`job::state`).
    fn record(&self, member: usize) {
        trace::event(TracedOp::BarrierTell, member as u32, size_of::<CellWord>());
    }

    fn arrival(&self, member: usize, parity: usize) -> u64 {
        // ORDERING: Acquire ↔ Release in `arrive`: after the wait, this node sees what the peer stored before.
        self.control.word(self.layout.barrier(parity, member)).load(Ordering::Acquire)
    }

    fn post(&self, parity: usize, word: u64) {
        let at = self.layout.barrier(parity, self.me as usize);
        if self.me == 0 {
            // ORDERING: Release ↔ Acquire in `posted`, as in `arrive`.
            return self.control.word(at).store(word, Ordering::Release);
        }
        let board = &self.peers.post(0).control;
        board.barrier();
        board.publish(at, word); // ORDERING: Release ↔ Acquire in `posted`, as in `arrive`
    }

    fn posted(&self, member: usize, parity: usize) -> u64 {
        let at = self.layout.barrier(parity, member);
        if self.me == 0 {
            // ORDERING: Acquire ↔ Release in `post`: as in `arrival`.
            return self.control.word(at).load(Ordering::Acquire);
        }
        read(&self.peers.post(0).control, at)
    }

    fn wake(&self, member: usize) {
        Am::wake(self, member as u32);
    }

    fn owe(&self, more: bool) {
        self.background(if more { 1 } else { -1 });
    }
}

/// A word of a region of this host, with Acquire.
pub(crate) fn read<R: RemoteMap>(map: &R, at: usize) -> u64 {
    let Some(base) = map.place() else { unreachable!("a board is chosen where its memory has an address") };
    assert!(at.is_multiple_of(8) && at + 8 <= map.len());
    // SAFETY: inside the map, which is mapped as long as `map` lives.
    let word = unsafe { base.add(at) };
    // SAFETY: aligned, and a word of memory that all write as atomics. ORDERING: Acquire ↔ Release of who published it.
    unsafe { &*word.cast::<AtomicU64>() }.load(Ordering::Acquire)
}

/// A barrier's state at one member.
pub struct Barrier {
    plan: Plan,
    state: ModeLock<State>,
}

impl Barrier {
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`].
    pub unsafe fn new(threaded: bool, plan: Plan) -> Barrier {
        let state = State {
            phase: Cell::new(0),
            pending: Cell::new(false),
            begun: Cell::new(false),
            consensus: Cell::new(Consensus::Anonymous),
            stage: Cell::new(0),
            heard: Cell::new(0),
            telling: Cell::new(0),
            owes: Cell::new(false),
        };
        // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
        Barrier { plan, state: unsafe { ModeLock::new(threaded, state) } }
    }

    /// Sets the state to that after `n` phases. All nodes must start with the same number.
    #[cfg(test)]
    pub(crate) fn start_at(&self, n: u32) {
        self.state.with(|s| s.phase.set(n & 0x3fff_ffff));
    }

    /// Announces this node's arrival. Never blocks. `BadArg`: there was a notify without a wait.
    pub fn notify(&self, cells: &(impl ArrivalCells + ?Sized), id: i32, flags: u32) -> Result<(), Error> {
        let (phase, mine) = self.state.with(|s| {
            if s.pending.replace(true) {
                return bad_arg(format_args!("a second notify without a wait or successful try"));
            }
            let phase = s.phase.get().wrapping_add(1) & 0x3fff_ffff;
            s.phase.set(phase);
            s.begun.set(true);
            let mine = Consensus::of(id, flags);
            s.consensus.set(mine);
            s.stage.set(0);
            s.heard.set(0);
            Ok((phase, mine))
        })?;
        // This is outside the lock, because an arrival may be a message. That may have to wait, and run handlers
        // meanwhile.
        let stages = self.plan.stages();
        self.tell(cells, 0, phase as usize & 1, CellWord::new(phase, mine));
        if stages.len() > 1 {
            self.begin_levels(cells);
        }
        Ok(())
    }

    /// Goes on with the later stages, and has polls do so if others have not arrived.
    #[cold]
    fn begin_levels(&self, cells: &(impl ArrivalCells + ?Sized)) {
        self.advance(cells);
        self.state.with(|s| {
            // Another thread's poll may have told the last stage meanwhile.
            if s.stage() + 1 < self.plan.stages().len() {
                s.owes.set(true);
                cells.owe(true);
            }
        });
    }

    /// Does what others wait for, as far as it gets. True if it did anything. Any thread may call it outside handlers.
    #[cold]
    pub fn advance(&self, cells: &(impl ArrivalCells + ?Sized)) -> bool {
        let mut did = false;
        while let Some((stage, parity, word)) = self.state.with(|s| self.next(cells, s)) {
            self.tell_later(cells, stage, parity, word);
            did = true;
        }
        did
    }

    /// True while polls must call [`Self::advance`].
    pub fn owes(&self) -> bool {
        self.plan.stages().len() > 1 && self.state.with(|s| s.owes.get())
    }

    /// Ends the phase if all members have arrived. The result then says whether this node's wait matches (extended.md
    /// §8.3). `None`: some have not arrived. `BadArg`: there was no notify.
    // Inline: as a call of its own, which returns all this in memory, it took 18 instructions more (740 -> 704 for two nodes).
    #[inline(always)]
    pub fn finished(&self, cells: &(impl ArrivalCells + ?Sized), id: i32, flags: u32) -> Result<Option<bool>, Error> {
        let has_later_stages = self.plan.stages().len() > 1;
        if has_later_stages {
            self.advance(cells);
        }
        self.state.with(|s| {
            if !s.pending.get() {
                return bad_arg(format_args!("a wait or try without a notify"));
            }
            if !self.has_heard(cells, s) || (has_later_stages && !self.is_told(s)) {
                return Ok(None);
            }
            s.pending.set(false);
            Ok(Some(match s.consensus.get() {
                Consensus::Mismatch => false,
                _ if flags & MISMATCH != 0 => false,
                _ if flags & ANONYMOUS != 0 => true,
                Consensus::Named(name) => name == id,
                Consensus::Anonymous => true,
            }))
        })
    }

    /// The last stage has begun, and no thread is still telling one.
    fn is_told(&self, s: &State) -> bool {
        s.stage() + 1 == self.plan.stages().len() && s.telling.get() == 0
    }

    /// Takes the next step of a phase: the stage that the caller then tells, and what. `None`: there is none now.
    fn next(&self, cells: &(impl ArrivalCells + ?Sized), s: &State) -> Option<(usize, usize, CellWord)> {
        let (stages, stage) = (self.plan.stages(), s.stage() + 1);
        if !s.pending.get() || stage == stages.len() || !self.has_heard(cells, s) {
            return None;
        }
        s.stage.set(stage as u32);
        s.heard.set(0);
        s.telling.set(s.telling.get() + 1);
        if stage + 1 == stages.len() && s.owes.replace(false) {
            cells.owe(false);
        }
        let phase = s.phase.get();
        Some((stage, phase as usize & 1, CellWord::new(phase, s.consensus.get())))
    }

    #[cold]
    fn tell_later(&self, cells: &(impl ArrivalCells + ?Sized), stage: usize, parity: usize, word: CellWord) {
        self.plan.stages()[stage].tell.iter().for_each(|member| cells.record(*member as usize));
        self.tell(cells, stage, parity, word);
        self.state.with(|s| s.telling.set(s.telling.get() - 1));
    }

    /// Tells what is known in this stage of the plan.
    #[inline(always)]
    fn tell(&self, cells: &(impl ArrivalCells + ?Sized), stage: usize, parity: usize, word: CellWord) {
        for member in &self.plan.stages()[stage].tell {
            cells.arrive(*member as usize, parity, word.0);
        }
        if self.plan.has_board() && stage + 1 == self.plan.stages().len() {
            self.post(cells, parity, word);
        }
    }

    /// Arrives on the board, and wakes all members if it is the last one.
    #[cold]
    #[inline(never)]
    fn post(&self, cells: &(impl ArrivalCells + ?Sized), parity: usize, word: CellWord) {
        if cells.me() != 0 {
            cells.record(0);
        }
        cells.post(parity, word.0);
        // ORDERING: full fence ↔ itself in the other members: of two that arrive last, one sees the other's cell.
        fence(Ordering::SeqCst);
        if self.state.with(|s| self.has_heard(cells, s)) {
            let me = cells.me();
            (0..cells.members()).filter(|member| *member != me).for_each(|member| cells.wake(member));
        }
    }

    /// True if all that the stage hears has come.
    #[inline]
    fn has_heard(&self, cells: &(impl ArrivalCells + ?Sized), s: &State) -> bool {
        let phase = s.phase.get();
        let hear = &self.plan.stages()[s.stage()].hear;
        let has_board = self.plan.has_board();
        while let Some(member) = hear.get(s.heard.get() as usize) {
            let (member, parity) = (*member as usize, phase as usize & 1);
            let word = CellWord(if has_board { cells.posted(member, parity) } else { cells.arrival(member, parity) });
            let Some(arrival) = word.arrival(phase) else { return false };
            s.consensus.set(s.consensus.get().and(arrival));
            s.heard.set(s.heard.get() + 1);
        }
        true
    }

    /// Serves messages until all have arrived. The result is that of [`Self::finished`].
    pub fn wait<A: Adapter>(
        &self,
        am: &Am<A>,
        cells: &(impl ArrivalCells + ?Sized),
        id: i32,
        flags: u32,
    ) -> Result<bool, Error> {
        let mut failed = 0;
        loop {
            if let Some(matches) = self.finished(cells, id, flags)? {
                return Ok(matches);
            }
            failed = am.wait_step_with(failed, Rest::Short, || self.state.with(|s| self.has_heard(cells, s)));
        }
    }

    /// True between notify and wait.
    pub fn is_pending(&self) -> bool {
        self.state.with(|s| s.pending.get())
    }

    /// The last phase's name, if it had one (`gasnet_barrier_result`). `BadArg`: between notify and wait, or before the
    /// first phase.
    pub fn result(&self) -> Result<Option<i32>, Error> {
        self.state.with(|s| {
            if s.pending.get() || !s.begun.get() {
                return bad_arg(format_args!("a result asked for between notify and wait, or before the first phase"));
            }
            Ok(match s.consensus.get() {
                Consensus::Named(id) => Some(id),
                _ => None,
            })
        })
    }
}

#[cfg(test)]
mod tests;
