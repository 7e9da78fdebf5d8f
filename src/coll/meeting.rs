//! Meetings of a team: barriers without names, of which any number may be under way (contract: ex-coll.md §5, Barrier).
//!
//! Members count their arrivals. A member tells the others its count, a word that only grows. So a late word
//! stands for all before it, and the cells of a pair of members do for any number of meetings. There are two, used in turns, so that
//! a slow reader does not hold up the next store.
//!
//! In small teams each member tells all others, in the cell of the count's parity; meeting `n` is over when all cells of its
//! parity are at least `n`. In large ones a member tells in round `r` the member at distance 2^r, with the lowest count that it
//! knows of: its own, and what it was told in the rounds before. After the last round that is the lowest count of the team.
//! Large teams use the cells of one parity.
//!
//! Rules:
//! 1. One thread at a time arrives; the client orders the calls (contract: ex-coll.md §5). That thread alone tells in round 0.
//! 2. The thread whose turn it is to run tasks alone tells in later rounds. So no cell ever goes back.
//! 3. A member has told all that others need of meeting `n` when it is over for itself. So it may then leave the team.
//!
//! Must not know: tasks, events.

use super::cells::Cells;
use super::select::DIRECT_MEMBERS;
use crate::am::Am;
use crate::sci::Adapter;
use crate::sync::{AtomicU64, Ordering};

/// The distances 1, 2, 4 … to members of a team of 2^32.
const ROUNDS: usize = 32;

/// What one member knows of its team's meetings.
pub struct Meetings {
    /// Meetings in which this member has arrived.
    arrived: AtomicU64,
    /// Meetings that are over.
    over: AtomicU64,
    /// The counts told in each round but the first.
    told: [AtomicU64; ROUNDS],
}

impl Default for Meetings {
    fn default() -> Meetings {
        Meetings {
            arrived: AtomicU64::new(0),
            over: AtomicU64::new(0),
            told: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Meetings {
    /// Arrives in the next meeting, and returns its number. The caller's stores come before the meeting.
    #[inline]
    pub fn arrive<A: Adapter>(&self, cells: &Cells<A>, am: &Am<A>) -> u64 {
        let number = self.arrived.load(Ordering::Relaxed) + 1; // Relaxed: one thread at a time (rule 1)
        let me = cells.me();
        if Self::are_direct(cells) {
            for member in (me + 1..cells.members()).chain(0..me) {
                cells.meet(am, member, number as usize & 1, number);
            }
        } else {
            cells.meet(am, (me + 1) % cells.members(), 0, number);
        }
        // ORDERING: Release ↔ Acquire in `pass_on`: the thread that tells others of the arrival comes behind this thread's stores.
        self.arrived.store(number, Ordering::Release);
        number
    }

    /// True if an arrival may be followed by a look at once, by the thread that arrived (rule 2).
    #[inline]
    pub fn are_direct<A: Adapter>(cells: &Cells<A>) -> bool {
        cells.members() <= DIRECT_MEMBERS
    }

    /// True if meeting `number`, in which this member has arrived, is over. In large teams by the thread that runs tasks only.
    #[inline]
    pub fn is_over<A: Adapter>(&self, cells: &Cells<A>, am: &Am<A>, number: u64) -> bool {
        // ORDERING: Acquire ↔ Release below: what that thread saw of the others' stores.
        if self.over.load(Ordering::Acquire) >= number {
            return true;
        }
        let over = if !Self::are_direct(cells) {
            self.pass_on(cells, am)
        } else if Self::all_told(cells, number) {
            number
        } else {
            return false;
        };
        // ORDERING: Release ↔ Acquire above. Threads that look at once may set it back; a later look mends that.
        self.over.store(over, Ordering::Release);
        over >= number
    }

    #[inline]
    fn all_told<A: Adapter>(cells: &Cells<A>, number: u64) -> bool {
        let parity = number as usize & 1;
        (0..cells.members()).all(|member| member == cells.me() || cells.met(member, parity) >= number)
    }

    /// Does what there is to do in the later rounds of a large team. Returns the lowest count that this member knows of.
    fn pass_on<A: Adapter>(&self, cells: &Cells<A>, am: &Am<A>) -> u64 {
        let (me, members) = (cells.me(), cells.members());
        // ORDERING: Acquire ↔ Release in `arrive`.
        let mut least = self.arrived.load(Ordering::Acquire);
        let (mut distance, mut round) = (1, 0);
        while distance < members {
            if round > 0 && self.told[round].load(Ordering::Relaxed) < least {
                // Relaxed, both: one thread at a time, ordered by the lock of the tasks (rule 2)
                self.told[round].store(least, Ordering::Relaxed);
                cells.meet(am, (me + distance) % members, 0, least);
            }
            least = least.min(cells.met((me + members - distance) % members, 0));
            (distance, round) = (2 * distance, round + 1);
        }
        least
    }
}
