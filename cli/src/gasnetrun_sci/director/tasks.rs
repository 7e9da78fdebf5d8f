//! The launcher decides where the tasks of a job run, numbers them, and tells nodes how they have ended (`supervise::tasks`).

use super::remote::State;
use super::task_list::Guest;
use super::{Director, fed, has_tags};
use gasnet_sci::supervise::channel::Frame;
use gasnet_sci::supervise::outlet::Outlet;
use gasnet_sci::supervise::tasks::{self, Answer, LEAST, NEXT, Program, Refusal, Request};

impl Director {
    /// A node asks for something.
    pub(super) fn requested(&mut self, at: usize, guest: u64, request: Request) {
        let guest = (at, guest);
        let answer = match request {
            Request::Await(task) => self.tasks.ledger.wait(task, guest),
            Request::Start(program, count, place) => {
                self.start_tasks(guest, program, count, place).err().map(Answer::Refused)
            }
        };
        answer.into_iter().for_each(|answer| self.tell_guest(guest, answer));
    }

    fn tell_guest(&mut self, (at, guest): Guest, answer: Answer) {
        self.remotes[at].send(&Frame::Answer(guest, answer));
    }

    fn start_tasks(&mut self, guest: Guest, program: Program, count: u32, place: i32) -> Result<(), Refusal> {
        let at = self.choose(place)?;
        let first = self.tasks.ledger.admit(count)?;
        self.tasks.last = Some(at);
        self.tasks.under_way.insert(first, (guest, count));
        self.tasks.homes.extend((first..first + count).map(|task| (task, (at, true))));
        self.remotes[at].send(&Frame::Run(first, count, program));
        Ok(())
    }

    fn choose(&self, place: i32) -> Result<usize, Refusal> {
        let running: Vec<usize> =
            (0..self.remotes.len()).filter(|at| self.remotes[*at].state == State::Running).collect();
        let found = match place {
            NEXT => running.iter().find(|at| self.tasks.last.is_some_and(|last| **at > last)).or(running.first()),
            LEAST => running.iter().min_by(|a, b| self.fullness(**a).total_cmp(&self.fullness(**b))),
            node => {
                running.iter().find(|at| u32::try_from(node).is_ok_and(|node| self.remotes[**at].ranks.contains(&node)))
            }
        };
        found.copied().ok_or_else(|| Refusal::Argument(format!("there is no node {place} whose host has nodes")))
    }

    // Nodes and tasks of a host for each of its processors.
    fn fullness(&self, at: usize) -> f64 {
        let remote = &self.remotes[at];
        let tasks = self.tasks.homes.values().filter(|home| **home == (at, true)).count();
        let cpus = remote.hello.as_ref().map_or(100, |hello| hello.cpus.max(1));
        (remote.ranks.len() + tasks) as f64 * 100.0 / f64::from(cpus)
    }

    /// A host has started tasks, or has not.
    pub(super) fn ran(&mut self, first: u32, refusal: Option<Refusal>) {
        let Some((guest, count)) = self.tasks.under_way.remove(&first) else { return };
        let tasks = first..first + count;
        match refusal {
            None => {
                let (nodes, tag) = (self.plan.order.nodes, has_tags(&self.plan.order));
                if let Outlet::Own(output) = &mut self.lead.output {
                    for (task, stream) in tasks.flat_map(|task| [(task, 0), (task, 1)]) {
                        output.add_fed(fed(nodes + task, stream), stream.into(), tasks::tag(task, tag), false, None);
                    }
                }
                self.tell_guest(guest, Answer::Started(first));
            }
            Some(refusal) => {
                self.tasks.homes.retain(|task, _| !tasks.contains(task));
                self.tasks.ledger.withdraw(first, count);
                self.tell_guest(guest, Answer::Refused(refusal));
            }
        }
    }

    /// The nodes of a host have ended, and with them all that ran there.
    pub(super) fn tasks_ended_with(&mut self, at: usize) {
        self.tasks.ledger.left(|(home, _)| home == at, false);
        let begun: Vec<u32> =
            self.tasks.under_way.keys().copied().filter(|first| self.tasks.is_at(at, *first)).collect();
        for first in begun {
            self.ran(first, Some(Refusal::Resource("the nodes of that host have ended".into())));
        }
        let ran = self.tasks.homes.iter().filter(|(_, home)| **home == (at, true)).map(|(task, _)| *task);
        for task in ran.collect::<Vec<u32>>() {
            self.finished(task, libc::SIGKILL);
        }
    }

    /// A task has ended.
    pub(super) fn finished(&mut self, task: u32, status: i32) {
        if let Some((_, runs)) = self.tasks.homes.get_mut(&task) {
            *runs = false;
        }
        if let Some((guest, answer)) = self.tasks.ledger.ended(task, status) {
            self.tell_guest(guest, answer);
        }
    }
}
