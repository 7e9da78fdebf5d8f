//! The supervisor starts what its nodes ask for, and tells them how it ends. As an agent it leaves it to the launcher to decide.

use super::{Supervisor, TICK};
use crate::os::{limit, sys};
use crate::supervise::channel::Frame;
use crate::supervise::header::JobHeader;
use crate::supervise::tasks::desk::{Desk, Heard};
use crate::supervise::tasks::{Answer, Ledger, Program, Refusal, Request, process};
use libc::{c_int, pollfd};
use std::collections::VecDeque;
use std::io::PipeReader;
use std::time::{Duration, Instant};

/// So many tasks are started in a turn of the loop: a few milliseconds.
const PORTION: usize = 8;

/// A request that is being carried out.
struct Starting {
    first: u32,
    count: u32,
    program: Program,
    // Those of the tasks that have started.
    pipes: Vec<[PipeReader; 2]>,
    // Who is told; `None`: the launcher.
    guest: Option<u64>,
}

/// What the supervisor has of tasks.
pub(super) struct Tasks {
    // None: no node has wanted it, or the system has refused. Nodes that ask are told so by their own system.
    desk: Option<Desk>,
    was_refused: bool,
    // The nodes of this host have ended, so nothing is started any more.
    is_closed: bool,
    // Requests that wait for their turn, the first one begun.
    starting: VecDeque<Starting>,
    // What runs on this host: task and process.
    running: Vec<(u32, i32)>,
    // Of a job on one host.
    ledger: Ledger<u64>,
    // The limit on descriptors that nodes have, and that tasks get.
    descriptors: (u64, u64),
}

impl Tasks {
    pub(super) fn new(descriptors: (u64, u64)) -> Tasks {
        let (starting, running, ledger) = (VecDeque::new(), Vec::new(), Ledger::new());
        Tasks { desk: None, was_refused: false, is_closed: false, starting, running, ledger, descriptors }
    }

    pub(super) fn interests(&mut self, header: &JobHeader, set: &mut Vec<pollfd>) {
        if self.desk.is_none() && !self.was_refused && header.wants_tasks() {
            self.desk = Desk::open(header).ok();
            self.was_refused = self.desk.is_none();
            limit::raise_descriptors(); // each call of a node takes one
        }
        self.desk.iter_mut().for_each(|desk| desk.interests(set));
    }

    // When there is something to do even if nothing is heard. `has_strangers`: there are nodes that cannot wake this process.
    pub(super) fn next(&self, now: Instant, has_strangers: impl FnOnce() -> bool) -> Option<Instant> {
        match &self.desk {
            _ if !self.starting.is_empty() => Some(now),
            None => (!self.was_refused && has_strangers()).then(|| now + TICK),
            Some(desk) => desk.next(),
        }
    }

    // False: the guest has gone.
    pub(super) fn answer(&mut self, guest: u64, answer: &Answer) -> bool {
        self.desk.as_mut().is_some_and(|desk| desk.answer(guest, answer))
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.starting.clear();
    }

    fn has_room(&self, count: u32) -> Result<(), Refusal> {
        if self.is_closed {
            return Err(Refusal::Resource("the nodes of that host have ended".into()));
        }
        let before = self.starting.iter().map(|starting| starting.count - starting.pipes.len() as u32).sum::<u32>();
        process::has_room(before.saturating_add(count))
    }
}

impl Supervisor {
    pub(super) fn serve_guests(&mut self, polled: &[pollfd]) {
        self.hear_guests(polled);
        self.start_some();
    }

    fn hear_guests(&mut self, polled: &[pollfd]) {
        for heard in self.tasks.desk.as_mut().map_or(Vec::new(), |desk| desk.serve(polled)) {
            match (&self.link, heard) {
                (Some(link), Heard::Request(guest, request)) => link.send(&Frame::Request(guest, request)),
                (Some(link), Heard::Left(guest, has_read)) => link.send(&Frame::Left(guest, has_read)),
                (None, Heard::Request(guest, request)) => self.decide(guest, request),
                (None, Heard::Left(guest, has_read)) => self.tasks.ledger.left(|who| who == guest, has_read),
            }
        }
    }

    /// The nodes of this host have ended: which of them had read their answers.
    pub(super) fn hear_last_guests(&mut self) {
        let mut set = Vec::new();
        self.tasks.desk.iter_mut().for_each(|desk| desk.interests(&mut set));
        if sys::poll(&mut set, Some(Duration::ZERO)).is_ok() {
            self.hear_guests(&set);
        }
    }

    fn decide(&mut self, guest: u64, request: Request) {
        let answer = match request {
            Request::Start(program, count, _) => match self.tasks.ledger.admit(count) {
                Ok(first) => return self.begin_tasks(first, count, program, Some(guest)),
                Err(refusal) => Some(Answer::Refused(refusal)),
            },
            Request::Await(task) => self.tasks.ledger.wait(task, guest),
        };
        answer.iter().for_each(|answer| _ = self.tasks.answer(guest, answer));
    }

    /// Begins to start tasks with these numbers on this host. `guest` is told when they run, or why none does; `None`: the launcher.
    pub(super) fn begin_tasks(&mut self, first: u32, count: u32, program: Program, guest: Option<u64>) {
        let refusal = self.tasks.has_room(count).err();
        let starting = Starting { first, count, program, pipes: Vec::new(), guest };
        match refusal {
            None => self.tasks.starting.push_back(starting),
            refusal => self.started(starting, refusal),
        }
    }

    // Starts what there is time for in this turn.
    fn start_some(&mut self) {
        for _ in 0..PORTION {
            let Some(starting) = self.tasks.starting.front_mut() else { return };
            let refusal = match process::start(&starting.program, self.tasks.descriptors) {
                Ok((pid, pipes)) => {
                    self.tasks.running.push((starting.first + starting.pipes.len() as u32, pid));
                    starting.pipes.push(pipes);
                    if starting.pipes.len() < starting.count as usize {
                        continue;
                    }
                    None
                }
                Err(refusal) => Some(refusal),
            };
            self.tasks.starting.pop_front().into_iter().for_each(|starting| self.started(starting, refusal.clone()));
        }
    }

    // All tasks of a request run, or none does.
    fn started(&mut self, starting: Starting, refusal: Option<Refusal>) {
        let Starting { first, count, pipes, guest, .. } = starting;
        if refusal.is_some() {
            self.tasks.running.retain(|(task, pid)| {
                let is_one = (first..first + count).contains(task);
                if is_one {
                    sys::kill(*pid, libc::SIGKILL);
                }
                !is_one
            });
        } else {
            let nodes = self.header.nodes();
            for (task, pipes) in (first..).zip(pipes) {
                // A refusal closes the task's stream, as a reader that goes away does.
                let _ = self.lead.output.add_task(task, nodes, self.options.tag, pipes);
            }
        }
        let Some(guest) = guest else {
            return self.link.iter().for_each(|link| link.send(&Frame::Ran(first, refusal.clone())));
        };
        let answer = match refusal {
            None => Answer::Started(first),
            Some(refusal) => {
                self.tasks.ledger.withdraw(first, count);
                Answer::Refused(refusal)
            }
        };
        self.tasks.answer(guest, &answer);
    }

    /// A process that is no node has ended: it may be a task.
    pub(super) fn task_ended(&mut self, pid: i32, status: c_int) {
        let Some(at) = self.tasks.running.iter().position(|(_, process)| *process == pid) else { return };
        let (task, _) = self.tasks.running.swap_remove(at);
        match &self.link {
            Some(link) => link.send(&Frame::Finished(task, status)),
            None => {
                if let Some((guest, answer)) = self.tasks.ledger.ended(task, status) {
                    self.tasks.answer(guest, &answer);
                }
            }
        }
    }
}
