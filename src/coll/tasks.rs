//! What there is of collectives under way: the tasks, and the operations that count them.
//!
//! A collective that runs beside its caller is counted by an operation of `xfer`, whose event the client syncs like that of a
//! transfer.
//!
//! Must not know: which thread polls, what collectives do.

#![allow(unsafe_code)] // locks of the client's thread mode

use super::team::{Members, Team, TeamRef};
use crate::am::Am;
use crate::sci::Adapter;
use crate::sync::ModeLock;
use crate::xfer::home::Taken;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Waker};

/// The operations that count a task as done when it ends.
pub type Counting = SmallVec<[Taken; 1]>;

/// What a task does.
pub enum Work {
    /// The code of a collective.
    Future(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// Waits for this meeting of the team.
    Meeting(u64),
    /// Sends credits that wait for those of others.
    Follow,
    /// Tells others of arrivals in the team's split-phase barrier.
    Arrivals,
}

/// A collective that runs beside its caller.
pub struct Task {
    /// What it does.
    pub work: Work,
    /// What counts it.
    pub counting: Counting,
}

impl Task {
    /// A task that nothing counts yet.
    pub fn new(work: Work) -> Task {
        Task { work, counting: Counting::new() }
    }

    /// Runs the task as far as it gets. True when it is done.
    pub fn poll<A: Adapter>(&mut self, team: &Team<A>, am: &Am<A>) -> bool {
        match &mut self.work {
            Work::Future(future) => future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready(),
            Work::Meeting(number) => team.meetings.is_over(&team.cells, am, *number),
            Work::Follow => team.follow(am),
            Work::Arrivals => {
                team.barrier.advance(&Members(team, am));
                !team.barrier.owes()
            }
        }
    }

    /// True if it is no collective, but something that collectives of others may wait for.
    pub fn is_service(&self) -> bool {
        matches!(self.work, Work::Follow | Work::Arrivals)
    }

    /// Counts the task as done.
    pub fn finish(self) {
        let Task { work, counting } = self;
        drop(work); // its numbers are retired before anybody can see that it is done
        counting.iter().for_each(|(_, op)| op.finish_any());
    }
}

/// Tasks of one team.
pub(super) struct Running<A: Adapter> {
    pub(super) team: TeamRef<A>,
    pub(super) tasks: VecDeque<Task>,
}

/// State of the thread that polls tasks: whether a thread is polling, and the tasks.
pub(super) struct Turn<A: Adapter>(pub(super) Cell<bool>, pub(super) RefCell<Vec<Running<A>>>);

type Started<A> = Vec<(TeamRef<A>, Task)>;

/// All tasks.
pub struct Tasks<A: Adapter> {
    /// Tasks that were started, but not yet seen by the thread that polls.
    pub(super) incoming: ModeLock<RefCell<Started<A>>>,
    /// Tasks that the polling thread has seen.
    pub(super) running: ModeLock<Turn<A>>,
}

impl<A: Adapter> Tasks<A> {
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`].
    pub unsafe fn new(threaded: bool) -> Tasks<A> {
        Tasks {
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            incoming: unsafe { ModeLock::new(threaded, RefCell::default()) },
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            running: unsafe { ModeLock::new(threaded, Turn(Cell::new(false), RefCell::default())) },
        }
    }
}
