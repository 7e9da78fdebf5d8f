//! What there is of collectives under way: the tasks, and the handles that clients wait for.
//!
//! Must not know: which thread polls, what collectives do.

#![allow(unsafe_code)] // locks of the client's thread mode

use super::team::TeamRef;
use crate::base::error::{Error, bad_arg};
use crate::sci::Adapter;
use crate::sync::ModeLock;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Waker};

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
