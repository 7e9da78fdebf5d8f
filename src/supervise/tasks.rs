//! Tasks: programs that nodes start while the job runs. They are supervised processes, but no nodes.
//!
//! A node asks the supervisor of its host, over a socket ([`guest`], [`desk`]). Where that is the agent of a job of several hosts, it passes
//! the request on to the launcher. Whoever judges the job (the lone supervisor, or the launcher) numbers the tasks and knows how each has
//! ended ([`Ledger`]). The supervisor of the host on which they run starts them ([`process`]), shows what they print, and takes their ends.
//!
//! Rules:
//! 1. Of the tasks of one request all start, or none.
//! 2. The end of a task is told once, to the node that asks for it. It is kept until that node has read it: a node that dies before leaves it
//!    to the next one that asks.
//! 3. A supervisor starts a few tasks in each turn of its loop, so that it goes on with all else. Who asked is told when all have started.
//! 4. A task that still runs when the nodes of its host have ended is killed, as all that nodes have started. From then on none starts there.
//!
//! Must not know: messages, what the nodes are to each other.

pub mod desk;
pub mod guest;
pub mod process;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The place of a request: on the host after that of the last request.
pub const NEXT: i32 = -1;
/// The place of a request: on the host that has the fewest nodes and tasks for its processors.
pub const LEAST: i32 = -2;
/// The most tasks of one request.
pub const MOST: u32 = 4096;

/// What stands in front of each line of a task, if lines have tags.
pub fn tag(task: u32, wanted: bool) -> String {
    if wanted { format!("[task {task}] ") } else { String::new() }
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its file, which is not searched for.
    #[serde(with = "serde_bytes")]
    pub file: Vec<u8>,
    /// Its arguments, the zeroth among them.
    pub arguments: Vec<Vec<u8>>,
    /// Its environment: entries, each with a zero behind it.
    #[serde(with = "serde_bytes")]
    pub environment: Vec<u8>,
    /// Its working directory.
    #[serde(with = "serde_bytes")]
    pub directory: Vec<u8>,
}

/// What a node asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Start so many processes of a program on the host of this node, or at [`NEXT`] or [`LEAST`].
    Start(Program, u32, i32),
    /// Tell how this task ends.
    Await(u32),
}

/// What it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The tasks run. The number of the first; the others follow.
    Started(u32),
    /// The task has ended, with this status of waitpid(2).
    Ended(i32),
    /// Nothing was done.
    Refused(Refusal),
}

/// Why nothing was done, in a line for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The request is wrong.
    Argument(String),
    /// The system has no room for more processes.
    Resource(String),
}

enum Fate<G> {
    Runs(Option<G>),
    Ended(i32),
}

/// The numbers of all tasks of a job, how they have ended, and which guest waits for which.
pub struct Ledger<G> {
    fates: BTreeMap<u32, Fate<G>>,
    // Ends that were told to guests who have not left yet: the task, and its status.
    told: Vec<(G, u32, i32)>,
    next: u32,
}

impl<G: Copy + PartialEq> Ledger<G> {
    /// There are no tasks yet.
    pub fn new() -> Ledger<G> {
        Ledger { fates: BTreeMap::new(), told: Vec::new(), next: 0 }
    }

    /// How many numbers have been given so far: all are smaller.
    pub fn given(&self) -> u32 {
        self.next
    }

    /// Numbers `count` more tasks. Returns the first number.
    ///
    /// # Errors
    /// The count is none, or too large.
    pub fn admit(&mut self, count: u32) -> Result<u32, Refusal> {
        if !(1..=MOST).contains(&count) {
            return Err(Refusal::Argument(format!("{count} tasks; 1 to {MOST} are possible")));
        }
        let first = self.next;
        let next = first.checked_add(count).filter(|next| i32::try_from(*next).is_ok());
        self.next = next.ok_or_else(|| Refusal::Resource("the numbers of tasks are used up".into()))?;
        self.fates.extend((first..self.next).map(|task| (task, Fate::Runs(None))));
        Ok(first)
    }

    /// Tasks that were numbered do not run after all.
    pub fn withdraw(&mut self, first: u32, count: u32) {
        self.fates.retain(|task, _| !(first..first + count).contains(task));
    }

    /// A guest waits for the end of a task. What it is told at once, if anything.
    pub fn wait(&mut self, task: u32, guest: G) -> Option<Answer> {
        let refuse = |why: &str| Some(Answer::Refused(Refusal::Argument(format!("task {task} {why}"))));
        match self.fates.get_mut(&task) {
            None => refuse("does not exist, or its end was told before"),
            Some(Fate::Runs(Some(_))) => refuse("is waited for already"),
            Some(Fate::Runs(waits)) => {
                *waits = Some(guest);
                None
            }
            Some(Fate::Ended(status)) => {
                let status = *status;
                self.fates.remove(&task);
                self.told.push((guest, task, status));
                Some(Answer::Ended(status))
            }
        }
    }

    /// A task has ended. Who is told, and what.
    pub fn ended(&mut self, task: u32, status: i32) -> Option<(G, Answer)> {
        match self.fates.remove(&task)? {
            Fate::Runs(Some(guest)) => {
                self.told.push((guest, task, status));
                Some((guest, Answer::Ended(status)))
            }
            Fate::Runs(None) | Fate::Ended(_) => {
                self.fates.insert(task, Fate::Ended(status));
                None
            }
        }
    }

    /// Guests have gone, and wait no more. Unless they have read their answers, the next one that asks is told.
    pub fn left(&mut self, is_gone: impl Fn(G) -> bool, has_read: bool) {
        let waits = |fate: &&mut Fate<G>| matches!(fate, Fate::Runs(Some(who)) if is_gone(*who));
        self.fates.values_mut().filter(waits).for_each(|fate| *fate = Fate::Runs(None));
        let (gone, told) = std::mem::take(&mut self.told).into_iter().partition(|(who, ..)| is_gone(*who));
        let (gone, told): (Vec<_>, _) = (gone, told);
        self.told = told;
        self.fates.extend(gone.into_iter().filter(|_| !has_read).map(|(_, task, status)| (task, Fate::Ended(status))));
    }
}

impl<G: Copy + PartialEq> Default for Ledger<G> {
    fn default() -> Ledger<G> {
        Ledger::new()
    }
}
