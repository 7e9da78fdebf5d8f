//! Collectives under way: which thread polls them, and how a thread waits for one.
//!
//! The caller of a blocking collective polls it on its own stack. All others are tasks. A thread that polls the
//! message engine polls the tasks too. Only one thread does so at a time; others return at once. In each team it
//! polls as many of the oldest tasks as the window allows, because the rest could not run anyway.
//!
//! Must not know: what collectives do.

use super::area;
use super::engine::Coll;
use super::patience::Patience;
use super::tasks::{Running, Task, Turn, Work};
use super::team::TeamRef;
use crate::am::wait::Rest;
use crate::base::error::Error;
use crate::sci::Mapped;
use crate::sync::Ordering;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

impl<A: Mapped> Coll<A> {
    /// Runs the future until it is done, and serves messages meanwhile.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let future = pin!(future);
        let future = RefCell::new(future);
        let result = Cell::new(None);
        let patience = self.debug.then(Patience::start);
        let look = || match future.borrow_mut().as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => {
                result.set(Some(value));
                true
            }
            Poll::Pending => false,
        };
        if look() {
            self.serve_now_and_then();
        } else {
            let (mut failed, mut moves) = (0, self.moves());
            loop {
                failed = self.am.wait_step_with(failed, Rest::Short, look);
                if let Some(patience) = &patience {
                    self.teams_in_turn(|team| team.compare(self.am));
                    patience.check(self);
                }
                // The poll before a sleep may have finished the future.
                let done = result.take();
                match done {
                    Some(value) => return value,
                    None if look() => break,
                    // No pause is needed while a collective makes progress.
                    None if self.moves() != moves => (failed, moves) = (0, self.moves()),
                    None => {}
                }
            }
        }
        result.take().expect("just set")
    }

    /// Waits until `done`, and serves messages meanwhile.
    pub fn wait_for(&self, mut done: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
        let patience = self.debug.then(Patience::start);
        let mut failed = 0;
        while !done()? {
            failed = self.am.wait_step(failed);
            if let Some(patience) = &patience {
                patience.check(self);
            }
        }
        Ok(())
    }

    /// Notes that a collective has moved bytes and is not done.
    pub(super) fn moved(&self) {
        // Relaxed, and not read-modify-write: threads may lose counts, and then wait a little longer.
        self.moves.store(self.moves().wrapping_add(1), Ordering::Relaxed);
    }

    fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed) // Relaxed: as in `moved`
    }

    /// Counts a collective that was done at once. Every 16th call polls, so that a node that does nothing else still
    /// answers requests.
    #[inline]
    pub(super) fn serve_now_and_then(&self) {
        // Relaxed, and not read-modify-write: threads may lose counts, not correctness.
        let n = self.done_at_once.load(Ordering::Relaxed).wrapping_add(1);
        self.done_at_once.store(n, Ordering::Relaxed); // Relaxed: see the load
        if n & 15 == 0 {
            self.am.poll();
        }
    }

    /// After a notify of a split team's barrier by which this member owes others something: polls see to that.
    pub fn carry_on(&self, handle: usize) -> Result<(), Error> {
        self.start_task(self.team(handle)?, Task::new(Work::Arrivals));
        Ok(())
    }

    /// Starts a task that is not done.
    pub fn start_task(&self, team: TeamRef<A>, task: Task) {
        self.am.background(1);
        self.tasks.incoming.with(|incoming| incoming.borrow_mut().push((team, task)));
    }

    /// Gives up all collectives under way: a member is lost, so they have no end. Nobody may begin another one. Peers may still put
    /// bytes where a collective wants them, so the caller leaves that memory as it is for ever.
    pub fn abandon(&self) {
        let mut given_up = 0;
        let mut give_up = |task: Task| {
            std::mem::forget(task);
            given_up += 1;
        };
        self.tasks.incoming.with(|incoming| incoming.take().into_iter().for_each(|(_, task)| give_up(task)));
        self.tasks.running.with(|Turn(_, running)| {
            running.take().into_iter().for_each(|of_team| of_team.tasks.into_iter().for_each(&mut give_up));
        });
        self.am.background(-given_up);
    }

    #[cfg(all(any(test, fuzzing), not(loom)))]
    pub(super) fn drop_tasks(&self) {
        drop(self.tasks.incoming.with(RefCell::take));
        drop(self.tasks.running.with(|Turn(_, running)| running.take()));
    }

    /// Runs tasks as far as they get. True if one was done or moved bytes. Any poll outside handlers calls this.
    pub fn progress(&self) -> bool {
        let moves = self.moves();
        let turn = self.tasks.running.try_with(|Turn(busy, running)| {
            // A callback of a task may poll, and then the same thread comes here again.
            if busy.replace(true) {
                return 0;
            }
            if self.debug {
                self.teams_in_turn(|team| team.compare(self.am));
            }
            let done = self.poll_tasks(running);
            busy.set(false);
            done
        });
        let done = turn.unwrap_or(0);
        self.am.background(-done);
        done > 0 || self.moves() != moves
    }

    fn poll_tasks(&self, running: &RefCell<Vec<Running<A>>>) -> i32 {
        let mut teams = running.borrow_mut();
        self.tasks.incoming.with(|incoming| {
            for (team, task) in incoming.borrow_mut().drain(..) {
                match teams.iter_mut().find(|r| std::ptr::eq(&*r.team, &*team)) {
                    // The others may wait for it, however many there are.
                    Some(found) if task.is_service() => found.tasks.push_front(task),
                    Some(found) => found.tasks.push_back(task),
                    None => teams.push(Running { team, tasks: VecDeque::from([task]) }),
                }
            }
        });
        let mut done = 0;
        for Running { team, tasks } in teams.iter_mut() {
            // Threads of a node may have started a few tasks in another order than that of their numbers.
            let reach = 2 * area::window(team.members()) as usize;
            let mut i = 0;
            while i < tasks.len().min(reach) {
                if tasks[i].poll(team, self.am) {
                    tasks.remove(i).into_iter().for_each(Task::finish);
                    done += 1;
                } else {
                    i += 1;
                }
            }
        }
        // A split team is let go, because its end waits for that.
        teams.retain(|team| !team.tasks.is_empty() || matches!(team.team, TeamRef::All(_)));
        done
    }
}
