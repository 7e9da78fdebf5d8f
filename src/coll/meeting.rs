//! Meetings of a team: barriers without names, of which any number may be under way (contract: ex-coll.md §5, Barrier).
//!
//! Members count their arrivals. A member tells the others its count, a word that only grows. So a late word
//! stands for all before it, and the cells of a pair of members do for any number of meetings. There are two, used in turns, so that
//! a slow reader does not hold up the next store.
//!
//! In small teams on one host each member tells all others, in the cell of the count's parity; meeting `n` is over when all cells
//! of its parity are at least `n`. Other teams have a [`Plan`]: large ones go in rounds or by a tree, those on several hosts by levels. In a stage
//! of it a member tells the lowest count that it knows of: its own, and what it was told in the stages before. After the last
//! stage that is the lowest count of the team. Such teams use the cells of one parity.
//!
//! Rules:
//! 1. One thread at a time arrives; the client orders the calls (contract: ex-coll.md §5). That thread alone tells in the first stage.
//! 2. The thread whose turn it is to run tasks alone tells in later stages. So no cell ever goes back.
//! 3. A member has told all that others need of meeting `n` when it is over for itself. So it may then leave the team.
//!
//! Must not know: tasks, events.

use super::cells::Cells;
use super::select::DIRECT_MEMBERS;
use crate::am::Am;
use crate::barrier::grouping::Grouping;
use crate::barrier::plan::Plan;
use crate::sci::Adapter;
use crate::sync::{AtomicU64, Ordering};

/// What one member knows of its team's meetings.
pub struct Meetings {
    /// Whom it tells and hears. `None`: a small team on one host.
    plan: Option<Plan>,
    /// Meetings in which this member has arrived.
    arrived: AtomicU64,
    /// Meetings that are over.
    over: AtomicU64,
    /// The counts told in each stage but the first.
    told: Box<[AtomicU64]>,
}

impl Meetings {
    /// For member `me` of a team. `hosts`: its members are on several.
    pub fn new(me: usize, members: usize, hosts: Option<&Grouping>) -> Meetings {
        let plan = match hosts {
            Some(hosts) => Some(Plan::levels(me, hosts)),
            None => (members > DIRECT_MEMBERS).then(|| Plan::narrow(me, members)),
        };
        let stages = plan.as_ref().map_or(0, |plan| plan.stages().len());
        Meetings {
            plan,
            arrived: AtomicU64::new(0),
            over: AtomicU64::new(0),
            told: (0..stages).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Whom this member tells and hears when all wait for all. `None`: all members tell all others.
    #[inline]
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Arrives in the next meeting, and returns its number. The caller's stores come before the meeting.
    #[inline]
    pub fn arrive<A: Adapter>(&self, cells: &Cells<A>, am: &Am<A>) -> u64 {
        let number = self.arrived.load(Ordering::Relaxed) + 1; // Relaxed: one thread at a time (rule 1)
        match &self.plan {
            None => {
                let me = cells.me();
                for member in (me + 1..cells.members()).chain(0..me) {
                    cells.meet(am, member, number as usize & 1, number);
                }
            }
            Some(plan) => plan.stages()[0].tell.iter().for_each(|to| cells.meet(am, *to as usize, 0, number)),
        }
        // ORDERING: Release ↔ Acquire in `pass_on`: the thread that tells others of the arrival comes behind this thread's stores.
        self.arrived.store(number, Ordering::Release);
        number
    }

    /// True if an arrival may be followed by a look at once, by the thread that arrived (rule 2).
    #[inline]
    pub fn are_direct(&self) -> bool {
        self.plan.is_none()
    }

    /// True if meeting `number`, in which this member has arrived, is over. In teams with a plan by the thread that runs tasks only.
    #[inline]
    pub fn is_over<A: Adapter>(&self, cells: &Cells<A>, am: &Am<A>, number: u64) -> bool {
        // ORDERING: Acquire ↔ Release below: what that thread saw of the others' stores.
        if self.over.load(Ordering::Acquire) >= number {
            return true;
        }
        let over = if let Some(plan) = &self.plan {
            self.pass_on(plan, cells, am)
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

    /// Does what there is to do in the later stages. Returns the lowest count that this member knows of.
    fn pass_on<A: Adapter>(&self, plan: &Plan, cells: &Cells<A>, am: &Am<A>) -> u64 {
        // ORDERING: Acquire ↔ Release in `arrive`.
        let mut least = self.arrived.load(Ordering::Acquire);
        for (index, (stage, told)) in plan.stages().iter().zip(&self.told).enumerate() {
            if index > 0 && told.load(Ordering::Relaxed) < least {
                // Relaxed, both: one thread at a time, ordered by the lock of the tasks (rule 2)
                told.store(least, Ordering::Relaxed);
                stage.tell.iter().for_each(|to| cells.meet(am, *to as usize, 0, least));
            }
            least = stage.hear.iter().fold(least, |least, from| least.min(cells.met(*from as usize, 0)));
        }
        least
    }
}
