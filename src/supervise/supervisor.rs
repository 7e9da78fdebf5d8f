//! The process above the nodes: the launcher, or the process that forked. It runs one loop over signals, output and
//! deadlines until every node has ended. Then it returns the job's status. It never touches the nodes' segments.

use super::channel::{End, Frame, How};
use super::ending::{Ending, Step};
use super::header::{JobHeader, Phase};
use super::outlet::{Outlet, Show};
use super::relay::Relay;
use super::spawn::{Children, MARKER};
use crate::os::poller::Poller;
use crate::os::sys;
use libc::{c_int, pollfd};
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

mod agent;
mod clear_up;
mod node;
mod pause;

pub use agent::Link;
use node::{Inner, Supervised};

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
    /// The time limit of the job. When it is over, the job is ended with status [`OVERDUE`].
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

/// See [`Options::farewell`].
pub type Farewell = Box<dyn FnOnce() -> Vec<Frame>>;

impl Options {
    /// The options for a job that forked at init.
    pub fn new(prefix: &'static str) -> Options {
        let exit_time = Duration::from_secs(10);
        let (exec_errors, time_limit, guard, link, farewell) = (None, None, None, None, None);
        Options { prefix, exit_time, exec_errors, time_limit, tag: false, prompts: 0, guard, link, farewell }
    }
}

/// Status of a job that was ended by its time limit. timeout(1) uses the same one.
pub const OVERDUE: u8 = 124;

/// Runs the job to its end and returns the status to exit with. This thread must have forked the nodes.
pub fn run(header: JobHeader, children: Children, mut options: Options) -> i32 {
    let Children { mut list, earlier_children, signals } = children;
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
        let signals = sys::SignalSet::new(&[&signals[..], &[libc::SIGCHLD]].concat()).descriptor()?;
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
    let overdue_at = options.time_limit.and_then(|limit| Instant::now().checked_add(limit));
    let nodes = list.into_iter().map(Supervised::new).collect();
    let mut supervisor = Supervisor {
        header,
        options,
        nodes,
        earlier_children,
        signals,
        output,
        ending,
        overdue_at,
        requested: None,
        received: [[0; 2]; 32],
        link,
        failed: false,
        poller: Poller::default(),
        has_polled: false,
        blind: false,
    };
    supervisor.until_all_ended();
    supervisor.clear_up();
    supervisor.tell_done();
    supervisor.status()
}

struct Supervisor {
    header: JobHeader,
    options: Options,
    nodes: Vec<Supervised>,
    earlier_children: Vec<i32>,
    signals: OwnedFd,
    output: Outlet,
    ending: Ending,
    // The time at which the time limit is over, if there is one.
    overdue_at: Option<Instant>,
    // The signal that asked for the end of the job.
    requested: Option<c_int>,
    // How often each signal has come: from the guard, and from other senders.
    received: [[u32; 2]; 32],
    // In a job of several hosts: the channel to the launcher.
    link: Option<Link>,
    // A node has failed without leaving a code.
    failed: bool,
    poller: Poller,
    // A first poll, which does not wait, has been made. So a system that refuses to tell of ends is noticed at once.
    has_polled: bool,
    // The kernel tells this process nothing of the nodes.
    blind: bool,
}

impl Supervisor {
    fn until_all_ended(&mut self) {
        let mut killed_at = None;
        while self.nodes.iter().any(|node| !node.ended) {
            let polled = self.wait();
            self.serve_launcher(&polled, &mut killed_at);
            let now = Instant::now();
            self.look_at_time(now);
            for step in self.ending.steps(now) {
                self.do_step(step, &mut killed_at);
            }
            if self.blind && killed_at.is_some() {
                return; // it was told, and their ends would not be seen
            }
            if killed_at.is_some_and(|at| now > at + REAPING) {
                self.report("some nodes cannot be killed; leaving them to the system");
                return;
            }
        }
    }

    fn look_at_time(&mut self, now: Instant) {
        if let Some(limit) = self.options.time_limit
            && self.overdue_at.take_if(|at| *at <= now).is_some()
        {
            self.header.record_exit(OVERDUE);
            let line = format!("the job did not end within {} s (--timeout); ending it", limit.as_secs_f64());
            self.ending.overdue(now, line);
        }
    }

    fn do_step(&mut self, step: Step, killed_at: &mut Option<Instant>) {
        match step {
            Step::Print(line) => self.report(&line),
            Step::Ask => {
                if self.header.exit_code().is_none() && self.requested.is_none() {
                    self.failed = true;
                }
                for node in self.nodes.iter_mut().filter(|node| !node.ended) {
                    node.look();
                    node.ask();
                }
                self.go_on();
            }
            Step::Kill => {
                *killed_at = Some(Instant::now());
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
        }
    }

    fn report(&mut self, line: &str) {
        let prefix = self.options.prefix;
        self.output.report(&format!("{prefix}: {line}"));
    }

    // Makes one poll, and handles all that it brings except for the launcher's frames.
    fn wait(&mut self) -> Vec<pollfd> {
        let now = Instant::now();
        let tick = self.look_at_joining(now);
        if self.output.is_clogged() {
            self.ending.extend(now);
        }
        if self.output.is_queueing() {
            self.ending.await_turns(now);
        }
        let mut set = vec![readable(&self.signals)];
        set.extend(self.options.exec_errors.as_ref().map(readable));
        set.extend(self.options.guard.as_ref().map(readable));
        set.extend(self.nodes.iter().filter_map(|node| node.inner.as_ref()?.descriptor().map(readable)));
        self.output.interests(&mut set);
        if let Some(link) = &self.link {
            link.interests(&mut set);
        }
        let beat = self.link.as_ref().and_then(Link::next);
        let dues = [self.ending.next(), self.overdue_at, self.output.next(), beat];
        let due = dues.into_iter().flatten().min().map(|at| at.saturating_duration_since(now));
        let at_once = (!std::mem::replace(&mut self.has_polled, true)).then_some(Duration::ZERO);
        self.poll(&mut set, [due, tick, at_once].into_iter().flatten().min());
        self.output.transfer(&set);
        let is_ready = |fd: i32| set.iter().any(|entry| entry.fd == fd && entry.revents != 0);
        if self.options.exec_errors.as_ref().is_some_and(|pipe| is_ready(pipe.as_raw_fd())) {
            self.exec_failed();
        }
        if self.options.guard.take_if(|guard| is_ready(guard.as_raw_fd())).is_some() {
            self.tell_failure(1, "its agent was killed"); // before the nodes' ends, which follow from it
            self.requested.get_or_insert(libc::SIGKILL);
            self.ending.abandoned(now);
        }
        if is_ready(self.signals.as_raw_fd()) {
            self.take_signals();
        }
        self.take_ends();
        let inner_has_ended = |node: &Supervised| node.inner.as_ref().is_some_and(|inner| inner.has_ended(is_ready));
        let inner: Vec<usize> = (0..self.nodes.len()).filter(|at| inner_has_ended(&self.nodes[*at])).collect();
        inner.into_iter().for_each(|at| self.inner_ended(at));
        set
    }

    fn poll(&mut self, set: &mut [pollfd], timeout: Option<Duration>) {
        if let Err(error) = self.poller.poll(set, timeout) {
            self.go_blind(&error);
        }
    }

    // The kernel tells this process nothing of the nodes. That ends the job, with a line.
    fn go_blind(&mut self, error: &io::Error) {
        if std::mem::replace(&mut self.blind, true) {
            return;
        }
        let line = format!("cannot hear of the nodes: {error}; ending the job, what they print may be lost");
        self.header.record_exit(1);
        if self.tell_failure(1, &line) {
            self.ending.abandoned(Instant::now()); // what the launcher says may not be heard
        } else if self.nodes.iter().all(|node| node.ended) {
            self.report(&line);
        } else {
            self.ending.crash(Instant::now(), u32::MAX, line);
        }
    }

    fn take_signals(&mut self) {
        while let Some((signal, from_terminal)) = self.next_signal() {
            match signal {
                _ if self.tell_signal(signal) => {}
                libc::SIGUSR1 | libc::SIGUSR2 => self.forward(signal),
                libc::SIGTSTP => self.stop(from_terminal),
                _ => self.end_requested(signal, from_terminal),
            }
        }
    }

    // The next signal from the user. The second part is true if the kernel sent it for a terminal, to the whole
    // process group: then the nodes have got it already. A signal to a process group also reaches the guard, which
    // passes on what has already come here. Of two such twins the second one is dropped.
    fn next_signal(&mut self) -> Option<(c_int, bool)> {
        loop {
            let info = sys::read_signal(self.signals.as_fd())?;
            let signal = info.ssi_signo as c_int;
            if signal == libc::SIGCHLD {
                continue;
            }
            if info.ssi_code == libc::SI_KERNEL {
                return Some((signal, true)); // the guard passes on none of these
            }
            let passed_on = info.ssi_code == libc::SI_QUEUE && info.ssi_ptr as usize == MARKER;
            let [from_guard, from_others] = &mut self.received[signal as usize % 32];
            let (count, twins) = if passed_on { (from_guard, *from_others) } else { (from_others, *from_guard) };
            *count += 1;
            if *count > twins {
                return Some((signal, false));
            }
        }
    }

    fn take_ends(&mut self) {
        loop {
            let (pid, status) = match sys::reap() {
                Ok(Some(ended)) => ended,
                Ok(None) => return,
                Err(error) => return self.go_blind(&error),
            };
            self.look_at_starts();
            let header = self.header;
            let is_inner = |node: &Supervised| node.child_gone && node.process == Some(pid);
            let of = self.nodes.iter_mut().find(|node| !node.ended && (node.child.pid == pid || is_inner(node)));
            let Some(node) = of else { continue };
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
            && let Some(code) = self.ending.ended(Instant::now(), &end, "")
        {
            self.header.record_exit(code);
        }
    }

    // Lets a job that survives losses go on without this node. False if it cannot.
    fn outlive(&mut self, end: &End) -> bool {
        let header = self.header;
        let boxes = header.record(end.rank).boxes();
        let loss = if header.survives() { self.ending.survived(end, boxes) } else { None };
        let Some(loss) = loss else { return false };
        // A node behind a wrapper ends twice. Where it did not say its code, only the second end has one, which hides no failure.
        let is_news = header.lose(end.rank);
        let hidden = (!is_news && end.phase != Phase::Exiting).then_some(1);
        let code = loss.code.or(hidden);
        code.into_iter().for_each(|code| header.record_exit(code));
        if is_news {
            self.report(&loss.line);
        }
        true
    }

    fn end_requested(&mut self, signal: c_int, from_terminal: bool) {
        let first = self.requested.is_none();
        self.requested.get_or_insert(signal);
        self.ending.request(Instant::now());
        if first && !from_terminal {
            self.forward(signal);
        }
        self.go_on();
    }

    // A stopped node does not notice that it must end, so it is continued.
    fn go_on(&mut self) {
        self.forward(libc::SIGCONT);
    }

    fn forward(&mut self, signal: c_int) {
        for node in self.nodes.iter_mut().filter(|node| !node.ended) {
            node.look();
            if !node.child_gone {
                sys::queue_signal(node.child.pid, signal, MARKER);
            }
            node.signal_inner(signal);
        }
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
    fn look_at_joining(&mut self, now: Instant) -> Option<Duration> {
        if self.ending.has_begun() {
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
            self.ending.joined(now);
        }
        (waiting || self.ending.has_unjoined()).then_some(TICK)
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
            self.ending.crash(Instant::now(), 0, line.into());
        }
    }

    fn status(&self) -> i32 {
        let status = match (self.requested, self.header.exit_code()) {
            (Some(signal), _) => 128 + signal,
            (None, Some(code)) => code.into(),
            (None, None) => self.failed.into(),
        };
        // A job whose output could not be written, for example on a full disk, must not end with success.
        if status == 0 { self.output.has_lost().into() } else { status }
    }
}

fn readable(fd: &impl AsRawFd) -> pollfd {
    pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}
