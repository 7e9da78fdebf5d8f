//! Collectives under way: which thread polls them, and the handles that clients wait for.
//!
//! The caller of a blocking collective polls it on its own stack. All others are tasks. A thread that polls the
//! message engine polls the tasks too. Only one thread does so at a time; others return at once. In each team it
//! polls as many of the oldest tasks as the window allows, because the rest could not run anyway.
//!
//! Must not know: what collectives do.

#![allow(unsafe_code)] // client memory and mapped regions

use super::audit::Patience;
use super::team::TeamRef;
use super::{Coll, Mapped, area};
use crate::base::error::{Error, bad_arg};
use crate::sync::{ModeLock, Ordering};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// A collective that runs beside its caller.
pub struct Task {
    /// The code of the collective.
    pub future: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The handles that count this task as done when it ends.
    pub handles: Vec<usize>,
}

impl Task {
    /// Runs the task as far as it gets. True when it is done.
    pub fn poll(&mut self) -> bool {
        self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

/// Tasks of one team.
struct Running<A: Mapped> {
    team: TeamRef<A>,
    tasks: VecDeque<Task>,
}

/// State of the thread that polls tasks: whether a thread is polling, and the tasks.
struct Turn<A: Mapped>(Cell<bool>, RefCell<Vec<Running<A>>>);

type Started<A> = Vec<(TeamRef<A>, Task)>;

/// All tasks.
pub struct Tasks<A: Mapped> {
    /// Tasks that were started, but not yet seen by the thread that polls.
    incoming: ModeLock<RefCell<Started<A>>>,
    /// Tasks that the polling thread has seen.
    running: ModeLock<Turn<A>>,
}

impl<A: Mapped> Tasks<A> {
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
                failed = self.am.wait_step_for(failed, look);
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

    /// Starts a task that has run once and is not done.
    pub fn start_task(&self, team: TeamRef<A>, task: Task) {
        self.tasks.incoming.with(|incoming| incoming.borrow_mut().push((team, task)));
        self.am.background(1);
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
        let incoming = self.tasks.incoming.with(|incoming| incoming.take());
        let mut teams = running.borrow_mut();
        for (team, task) in incoming {
            match teams.iter_mut().find(|r| std::ptr::eq(&*r.team, &*team)) {
                Some(found) => found.tasks.push_back(task),
                None => teams.push(Running { team, tasks: VecDeque::from([task]) }),
            }
        }
        let mut done = 0;
        for team in teams.iter_mut() {
            // Threads of a node may have started a few tasks in another order than that of their numbers.
            let reach = 2 * area::window(team.team.members()) as usize;
            let mut i = 0;
            while i < team.tasks.len().min(reach) {
                if team.tasks[i].poll() {
                    if let Some(task) = team.tasks.remove(i) {
                        task.handles.iter().for_each(|h| self.handles.finish(*h));
                        done += 1;
                    }
                } else {
                    i += 1;
                }
            }
        }
        teams.retain(|team| !team.tasks.is_empty());
        done
    }
}

/// The collectives that a client's handle stands for and that are not done.
struct Entry {
    generation: u32,
    live: bool,
    pending: u32,
}

/// The entries, and the indices of the free ones.
#[derive(Default)]
struct Table(RefCell<Vec<Entry>>, RefCell<Vec<u32>>);

/// The clients' handles.
pub struct Handles(ModeLock<Table>);

impl Handles {
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`].
    pub unsafe fn new(threaded: bool) -> Handles {
        // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
        Handles(unsafe { ModeLock::new(threaded, Table::default()) })
    }

    /// Takes a handle for one collective. It is never 0.
    pub fn take(&self) -> usize {
        self.0.with(|Table(entries, free)| {
            let (mut entries, mut free) = (entries.borrow_mut(), free.borrow_mut());
            let index = free.pop().unwrap_or_else(|| {
                entries.push(Entry { generation: 0, live: false, pending: 0 });
                entries.len() as u32 - 1
            });
            let entry = &mut entries[index as usize];
            entry.generation = entry.generation.wrapping_add(1);
            (entry.live, entry.pending) = (true, 1);
            (u64::from(entry.generation) << 32 | u64::from(index + 1)) as usize
        })
    }

    fn with<R>(&self, handle: usize, f: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        self.0.with(|Table(entries, _)| {
            let index = (handle as u32).checked_sub(1)?;
            let mut entries = entries.borrow_mut();
            let entry = entries.get_mut(index as usize)?;
            (entry.live && entry.generation == (handle as u64 >> 32) as u32).then(|| f(entry))
        })
    }

    /// Adds one collective to those that the handle stands for.
    pub fn add(&self, handle: usize) {
        self.with(handle, |entry| entry.pending += 1);
    }

    /// Counts one of the handle's collectives as done.
    pub fn finish(&self, handle: usize) {
        self.with(handle, |entry| entry.pending -= 1);
    }

    /// True if all collectives of the handle are done.
    pub fn is_done(&self, handle: usize) -> Result<bool, Error> {
        match self.with(handle, |entry| entry.pending == 0) {
            Some(done) => Ok(done),
            None => bad_arg(format_args!("{handle:#x} is not the handle of a collective under way")),
        }
    }

    /// Gives the handle back if all its collectives are done; returns whether it did.
    pub fn sync(&self, handle: usize) -> Result<bool, Error> {
        if handle == 0 {
            return Ok(true);
        }
        let done = self.is_done(handle)?;
        if done {
            self.with(handle, |entry| entry.live = false);
            self.0.with(|Table(_, free)| free.borrow_mut().push(handle as u32 - 1));
        }
        Ok(done)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_done_when_all_it_stands_for_is_and_then_dead() {
        // SAFETY: one thread.
        let handles = unsafe { Handles::new(false) };
        let (a, b) = (handles.take(), handles.take());
        handles.add(a);
        handles.finish(a);
        assert_eq!(handles.sync(a), Ok(false));
        handles.finish(a);
        assert_eq!((handles.sync(a), handles.sync(0)), (Ok(true), Ok(true)));
        assert!(handles.sync(a).is_err());
        let again = handles.take();
        assert_eq!(again as u32, a as u32, "entries are used again");
        assert!(again != a && handles.sync(a).is_err() && handles.sync(b) == Ok(false));
    }
}
