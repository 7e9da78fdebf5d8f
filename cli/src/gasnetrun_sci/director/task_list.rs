//! What the launcher knows of tasks (`supervise::tasks`): their numbers, hosts and ends.

use gasnet_sci::supervise::tasks::Ledger;
use std::collections::BTreeMap;

/// A node's call: its host, and its number at the desk there.
pub type Guest = (usize, u64);

/// All tasks of the job.
#[derive(Default)]
pub struct Tasks {
    /// Their numbers and ends.
    pub ledger: Ledger<Guest>,
    /// The host of each task, and whether it runs.
    pub homes: BTreeMap<u32, (usize, bool)>,
    /// The requests that hosts are carrying out, by their first task: who asked, and for how many.
    pub under_way: BTreeMap<u32, (Guest, u32)>,
    /// The host that was used last.
    pub last: Option<usize>,
}

impl Tasks {
    /// Whether a task is one of this host's.
    pub fn is_at(&self, at: usize, task: u32) -> bool {
        self.home(task) == Some(at)
    }

    /// The numbers of all tasks so far.
    pub fn all(&self) -> std::ops::Range<u32> {
        0..self.ledger.given()
    }

    /// The host of a task.
    pub fn home(&self, task: u32) -> Option<usize> {
        self.homes.get(&task).map(|(at, _)| *at)
    }
}
