//! The process above the nodes: the launcher, an agent, or the process that forked. It is the conductor's hands on the processes of a
//! host until every node has ended. Then it returns the job's status. It never touches the nodes' segments.

use super::channel::{End, Frame, How};
use super::conductor::{self, Hands, Lead, readable};
use super::ending::Ending;
use super::header::{JobHeader, Phase};
use super::outlet::{Outlet, Show};
use super::relay::Relay;
use super::spawn::{Children, MARKER};
use crate::os::{family, sys};
use libc::{c_int, pollfd};
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

mod agent;
mod clear_up;
mod node;
mod tasks;

pub use agent::Link;
use node::{Inner, Supervised};
use tasks::Tasks;

/// How often the supervisor looks for nodes that have joined. Joining itself wakes no process.
const TICK: Duration = Duration::from_millis(100);
/// How long killed processes may take to disappear (they may be writing a core file).
const REAPING: Duration = Duration::from_secs(10);

/// How to supervise.
pub struct Options {
    /// The text in front of the supervisor's own lines.
    pub prefix: &'static str,
    /// The time from asking nodes to end to killing them, if the job ends in good order.
    pub exit_time: Duration,
    /// Brings a status byte and a line from each node whose program could not be executed. It ends when all programs
    /// run.
    pub exec_errors: Option<PipeReader>,
    /// The time limit of the job. When it is over, the job is ended with status [`conductor::OVERDUE`].
    pub time_limit: Option<Duration>,
    /// Each line of a node begins with its number.
    pub tag: bool,
    /// The rank of the node that has the supervisor's stdin, so that it may prompt.
    pub prompts: u32,
    /// Readable when the guard is dead (see [`super::guard`]).
    pub guard: Option<PipeReader>,
    /// In a job of several hosts: the channel to the launcher.
    pub link: Option<Link>,
    /// With a link: makes what the launcher is told when all nodes have ended.
    pub farewell: Option<Farewell>,
}

/// See [`Options::farewell`]. It is told whether somebody else than the job has killed a node by SIGKILL.
pub type Farewell = Box<dyn FnOnce(bool) -> Vec<Frame>>;

impl Options {
    /// The options for a job that forked at init.
    pub fn new(prefix: &'static str) -> Options {
        let exit_time = Duration::from_secs(10);
        let (exec_errors, time_limit, guard, link, farewell) = (None, None, None, None, None);
        Options { prefix, exit_time, exec_errors, time_limit, tag: false, prompts: 0, guard, link, farewell }
    }
}

/// Runs the job to its end and returns the status to exit with. This thread must have forked the nodes.
pub fn run(header: JobHeader, children: Children, mut options: Options) -> i32 {
    let Children { mut list, earlier_children, signals, descriptors } = children;
    let mut link = options.link.take();
    let streams: Vec<_> = list.iter_mut().map(|child| (child.rank, std::mem::take(&mut child.streams))).collect();
    let output = match &mut link {
        None => {
            let show = Show { tag: options.tag, prompts: options.prompts, nodes: header.nodes() };
            Outlet::own(streams.into_iter(), show)
        }
        Some(link) => Relay::new(link.channel(), streams.into_iter()).map(Outlet::Launcher),
    };
    let prepared = output.and_then(|output| {
        let signals = heard(signals, options.guard.is_some())?;
        link.as_mut().map_or(Ok(()), |link| link.listen(header))?;
        Ok((output, signals))
    });
    let (output, signals) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            crate::base::log::error(format_args!("cannot supervise the nodes: {error}"));
            return 1; // closing the lifelines and ending kills the nodes
        }
    };
    let ending = Ending::new(header.nodes(), options.exit_time);
    let mut lead = Lead::new(options.prefix, output, ending, signals, options.time_limit);
    lead.guard = options.guard.is_some().then(sys::parent_pid);
    let nodes = list.into_iter().map(Supervised::new).collect();
    let tasks = Tasks::new(descriptors);
    let mut supervisor = Supervisor { lead, header, options, nodes, earlier_children, link, tasks, blind: false };
    conductor::run(&mut supervisor);
    supervisor.clear_up();
    supervisor.tell_done();
    conductor::status(&mut supervisor)
}

// What brings `signals`, which are blocked, and those about processes.
fn heard(mut signals: Vec<c_int>, has_guard: bool) -> io::Result<OwnedFd> {
    signals.push(libc::SIGCHLD);
    if has_guard {
        sys::SignalSet::new(&[libc::SIGCONT]).apply(libc::SIG_BLOCK); // the nodes have been started
        signals.push(libc::SIGCONT);
    }
    sys::SignalSet::new(&signals).descriptor()
}

struct Supervisor {
    lead: Lead,
    header: JobHeader,
    options: Options,
    nodes: Vec<Supervised>,
    earlier_children: Vec<i32>,
    // In a job of several hosts: the channel to the launcher.
    link: Option<Link>,
    tasks: Tasks,
    // The kernel tells this process nothing of the nodes.
    blind: bool,
}

impl Hands for Supervisor {
    fn lead(&mut self) -> &mut Lead {
        &mut self.lead
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        let killed_at = self.lead.killed_at;
        if self.nodes.iter().all(|node| node.ended) || self.blind && killed_at.is_some() {
            return false; // who is blind has told the nodes, and would not see their ends
        }
        let is_in_vain = killed_at.is_some_and(|at| now >= at + REAPING);
        if is_in_vain {
            self.lead.report("some nodes cannot be killed; leaving them to the system");
        }
        !is_in_vain
    }

    fn interests(&mut self, now: Instant, set: &mut Vec<pollfd>, dues: &mut Vec<Option<Instant>>) {
        let tick = self.look_at_joining(now);
        set.extend(self.options.exec_errors.as_ref().map(readable));
        set.extend(self.options.guard.as_ref().map(readable));
        set.extend(self.nodes.iter().filter_map(|node| node.inner.as_ref()?.descriptor().map(readable)));
        if let Some(link) = &self.link {
            link.interests(set);
        }
        self.tasks.interests(&self.header, set);
        let reaped = self.lead.killed_at.map(|at| at + REAPING);
        // A node in another PID namespace says another number there.
        let is_stranger =
            |node: &Supervised| node.inner.is_some() && node.process != Some(self.header.record(node.child.rank).pid());
        let asked = self.tasks.next(now, || self.nodes.iter().any(is_stranger));
        dues.extend([tick, reaped, self.link.as_ref().and_then(Link::next), asked]);
    }

    fn serve(&mut self, polled: &[pollfd]) {
        let is_ready = |fd: i32| polled.iter().any(|entry| entry.fd == fd && entry.revents != 0);
        if self.options.exec_errors.as_ref().is_some_and(|pipe| is_ready(pipe.as_raw_fd())) {
            self.exec_failed();
        }
        if self.options.guard.take_if(|guard| is_ready(guard.as_raw_fd())).is_some() {
            self.tell_failure(1, "its agent was killed"); // before the nodes' ends, which follow from it
            self.lead.requested.get_or_insert(libc::SIGKILL);
            self.lead.ending.abandoned(Instant::now());
        }
        self.take_ends();
        let inner_has_ended = |node: &Supervised| node.inner.as_ref().is_some_and(|inner| inner.has_ended(is_ready));
        let inner: Vec<usize> = (0..self.nodes.len()).filter(|at| inner_has_ended(&self.nodes[*at])).collect();
        inner.into_iter().for_each(|at| self.inner_ended(at));
        self.serve_guests(polled);
        self.serve_launcher(polled);
    }

    fn deaf(&mut self, error: &io::Error) {
        if std::mem::replace(&mut self.blind, true) {
            return;
        }
        let line = format!("cannot hear of the nodes: {error}; ending the job, what they print may be lost");
        self.header.record_exit(1);
        if self.tell_failure(1, &line) {
            self.lead.ending.abandoned(Instant::now()); // what the launcher says may not be heard
        } else if self.nodes.iter().all(|node| node.ended) {
            self.lead.report(&line);
        } else {
            self.lead.ending.crash(Instant::now(), u32::MAX, line);
        }
    }

    fn code(&self) -> Option<u8> {
        self.header.exit_code()
    }

    fn record(&mut self, code: u8) {
        self.header.record_exit(code);
    }

    fn ask(&mut self) {
        for node in self.nodes.iter_mut().filter(|node| !node.ended) {
            node.look();
            node.ask();
        }
        self.send(libc::SIGCONT, false); // a stopped node does not notice that it must end
    }

    fn kill(&mut self) {
        for node in self.nodes.iter_mut().filter(|node| !node.ended) {
            node.child.lifeline = None;
            // The first process of a PID namespace gets no signal of a lifeline, but those from outside.
            node.look();
            node.signal_inner(libc::SIGKILL);
            if !node.child_gone {
                sys::kill(node.child.pid, libc::SIGKILL);
            }
        }
    }

    fn send(&mut self, signal: c_int, from_terminal: bool) {
        for node in self.nodes.iter_mut().filter(|node| !node.ended && !from_terminal) {
            node.look();
            if !node.child_gone {
                sys::queue_signal(node.child.pid, signal, MARKER);
            }
            node.signal_inner(signal);
        }
    }

    fn leave(&mut self, signal: c_int) -> bool {
        self.tell_signal(signal)
    }

    // SIGSTOP stops the nodes and what they started. SIGTSTP would not do: it has no effect where no shell watches (an orphaned
    // process group), and a program may ignore it. From a terminal the kernel sends SIGTSTP to the whole foreground process group,
    // and programs may handle it in their own way. Then only processes that have left the group are stopped from here.
    fn pause(&mut self, pause: bool, from_terminal: bool) {
        let mut children = family::own_children();
        children.retain(|pid| !self.earlier_children.contains(pid));
        let group = sys::process_group(0);
        let has_terminal = |pid| pause && from_terminal && sys::process_group(pid) == group;
        family::signal_all(&children, if pause { libc::SIGSTOP } else { libc::SIGCONT }, &has_terminal);
    }
}

impl Supervisor {
    fn poll(&mut self, set: &mut [pollfd], timeout: Option<Duration>) {
        if let Err(error) = self.lead.poller.poll(set, timeout) {
            self.deaf(&error);
        }
    }

    fn take_ends(&mut self) {
        loop {
            let (pid, status) = match sys::reap() {
                Ok(Some(ended)) => ended,
                Ok(None) => return,
                Err(error) => return self.deaf(&error),
            };
            self.look_at_starts();
            let header = self.header;
            let is_inner = |node: &Supervised| node.child_gone && node.process == Some(pid);
            let of = self
                .nodes
                .iter_mut()
                .find(|node| !node.ended && (!node.child_gone && node.child.pid == pid || is_inner(node)));
            let Some(node) = of else {
                self.task_ended(pid, status);
                continue;
            };
            // A node that outlives its wrapper has become a child of this process, so its end will be seen.
            node.look();
            if node.child.pid == pid && node.inner.as_ref().is_some_and(Inner::exists) {
                node.child_gone = true;
                continue;
            }
            node.ended = true;
            node.inner = None;
            let (rank, pid) = (node.child.rank, node.child.pid);
            let how = match libc::WIFSIGNALED(status) {
                true => How::Signal(libc::WTERMSIG(status)),
                false => How::Status(libc::WEXITSTATUS(status) as u8),
            };
            self.judge(End { rank, pid, phase: header.record(rank).phase(), how });
        }
    }

    fn judge(&mut self, end: End) {
        if !self.tell_end(&end)
            && !self.outlive(&end)
            && let Some(code) = self.lead.ending.ended(Instant::now(), &end, "")
        {
            self.header.record_exit(code);
        }
    }

    // Lets a job that survives losses go on without this node. False if it cannot.
    fn outlive(&mut self, end: &End) -> bool {
        let header = self.header;
        let boxes = header.record(end.rank).boxes();
        let loss = if header.survives() { self.lead.ending.survived(end, boxes) } else { None };
        let Some(loss) = loss else { return false };
        // A node behind a wrapper ends twice. Where it did not say its code, only the second end has one, which hides no failure.
        let is_news = header.lose(end.rank);
        let hidden = (!is_news && end.phase < Phase::Exiting).then_some(1);
        let code = loss.code.or(hidden);
        code.into_iter().for_each(|code| header.record_exit(code));
        if is_news {
            self.lead.report(&loss.line);
        }
        true
    }

    // The node behind a wrapper has ended.
    fn inner_ended(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.inner = None;
        node.ended = node.child_gone;
        let (rank, pid) = (node.child.rank, node.process.unwrap_or(node.child.pid));
        self.judge(End { rank, pid, phase: self.header.record(rank).phase(), how: How::Inner });
    }

    // Joining wakes no process, so the supervisor looks for it while it matters. Returns when to look again.
    fn look_at_joining(&mut self, now: Instant) -> Option<Instant> {
        if self.lead.ending.has_begun() {
            return None;
        }
        let header = self.header;
        let mut waiting = false;
        for node in self.nodes.iter_mut().filter(|node| !node.ended) {
            waiting |= header.record(node.child.rank).phase() == Phase::Unborn;
            node.look();
            waiting |= matches!(node.inner, Some(Inner::Looked(..)));
        }
        let joined = header.records().iter().any(|record| record.phase() != Phase::Unborn);
        if joined {
            self.lead.ending.joined(now);
        }
        (waiting || self.lead.ending.has_unjoined()).then_some(now + TICK)
    }

    // A child that could not run its program has said so before it ended. Its line comes before its end.
    fn look_at_starts(&mut self) {
        let Some(mut set) = self.options.exec_errors.as_ref().map(|pipe| [readable(pipe)]) else { return };
        self.poll(&mut set, Some(Duration::ZERO));
        if set[0].revents != 0 {
            self.exec_failed();
        }
    }

    fn exec_failed(&mut self) {
        let Some(mut pipe) = self.options.exec_errors.take() else {
            return;
        };
        let mut bytes = [0; 4096];
        let Ok(got) = pipe.read(&mut bytes) else {
            return;
        };
        let Some((status, text)) = bytes[..got].split_first() else {
            return;
        }; // all nodes run their programs
        let text = String::from_utf8_lossy(text);
        let line = text.lines().next().unwrap_or_default();
        if !self.tell_failure(*status, line) {
            self.header.record_exit(*status);
            self.lead.ending.crash(Instant::now(), 0, line.into());
        }
    }
}
