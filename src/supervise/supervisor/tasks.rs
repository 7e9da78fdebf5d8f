//! The supervisor starts what its nodes ask for, and tells them how it ends. As an agent it leaves it to the launcher to decide.

use super::Supervisor;
use crate::supervise::channel::Frame;
use crate::supervise::header::JobHeader;
use crate::supervise::tasks::desk::{Desk, Heard};
use crate::supervise::tasks::{Answer, Ledger, Program, Refusal, Request, process};
use libc::{c_int, pollfd};

/// What the supervisor has of tasks.
pub(super) struct Tasks {
    // None: no node has wanted it, or the system has refused. Nodes that ask are told so by their own system.
    desk: Option<Desk>,
    was_refused: bool,
    // The nodes of this host have ended, so nothing is started any more.
    is_closed: bool,
    // What runs on this host: task and process.
    running: Vec<(u32, i32)>,
    // Of a job on one host.
    ledger: Ledger<u64>,
}

impl Tasks {
    pub(super) fn new() -> Tasks {
        Tasks { desk: None, was_refused: false, is_closed: false, running: Vec::new(), ledger: Ledger::new() }
    }

    pub(super) fn interests(&mut self, header: &JobHeader, set: &mut Vec<pollfd>) {
        if self.desk.is_none() && !self.was_refused && header.wants_tasks() {
            self.desk = Desk::open(header).ok();
            self.was_refused = self.desk.is_none();
        }
        self.desk.iter().for_each(|desk| desk.interests(set));
    }

    // False: the guest has gone.
    pub(super) fn answer(&mut self, guest: u64, answer: &Answer) -> bool {
        self.desk.as_mut().is_some_and(|desk| desk.answer(guest, answer))
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }
}

impl Supervisor {
    pub(super) fn serve_guests(&mut self, polled: &[pollfd]) {
        for heard in self.tasks.desk.as_mut().map_or(Vec::new(), |desk| desk.serve(polled)) {
            let (guest, request) = match heard {
                Heard::Request(guest, request) => (guest, Some(request)),
                Heard::Left(guest) => (guest, None),
            };
            match (&self.link, request) {
                (Some(link), request) => link.send(&Frame::Request(guest, request)),
                (None, Some(request)) => self.decide(guest, request),
                (None, None) => self.tasks.ledger.left(guest),
            }
        }
    }

    fn decide(&mut self, guest: u64, request: Request) {
        let answer = match request {
            Request::Start(program, count, _) => match self.tasks.ledger.admit(count) {
                Ok(first) => match self.run_tasks(first, count, &program) {
                    Ok(()) => Some(Answer::Started(first)),
                    Err(refusal) => {
                        self.tasks.ledger.withdraw(first, count);
                        Some(Answer::Refused(refusal))
                    }
                },
                Err(refusal) => Some(Answer::Refused(refusal)),
            },
            Request::Await(task) => match self.tasks.ledger.wait(task, guest) {
                Some(Answer::Ended(status)) => {
                    if !self.tasks.answer(guest, &Answer::Ended(status)) {
                        self.tasks.ledger.keep(task, status);
                    }
                    None
                }
                answer => answer,
            },
        };
        answer.iter().for_each(|answer| _ = self.tasks.answer(guest, answer));
    }

    /// Starts tasks with these numbers on this host.
    pub(super) fn run_tasks(&mut self, first: u32, count: u32, program: &Program) -> Result<(), Refusal> {
        if self.tasks.is_closed {
            return Err(Refusal::Resource("the nodes of that host have ended".into()));
        }
        let nodes = self.header.nodes();
        for (task, (pid, pipes)) in (first..).zip(process::start(program, count)?) {
            self.tasks.running.push((task, pid));
            // A refusal closes the task's stream, as a reader that goes away does.
            let _ = self.lead.output.add_task(task, nodes, self.options.tag, pipes);
        }
        Ok(())
    }

    /// A process that is no node has ended: it may be a task.
    pub(super) fn task_ended(&mut self, pid: i32, status: c_int) {
        let Some(at) = self.tasks.running.iter().position(|(_, process)| *process == pid) else { return };
        let (task, _) = self.tasks.running.swap_remove(at);
        match &self.link {
            Some(link) => link.send(&Frame::Finished(task, status)),
            None => {
                if let Some((guest, answer)) = self.tasks.ledger.ended(task, status)
                    && !self.tasks.answer(guest, &answer)
                {
                    self.tasks.ledger.keep(task, status);
                }
            }
        }
    }
}
