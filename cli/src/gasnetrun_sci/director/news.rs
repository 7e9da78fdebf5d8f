//! What agents and the user tell the launcher.

use super::remote::State;
use super::{Director, Remote};
use gasnet_sci::am::region::layout_version;
use gasnet_sci::os::machine::{self, Unlike};
use gasnet_sci::os::sys;
use gasnet_sci::supervise::channel::{self, Frame, Hello};
use gasnet_sci::supervise::conductor::{self, Hands};
use gasnet_sci::supervise::header::{self, Phase};
use libc::pollfd;
use std::time::{Duration, Instant};

impl Director {
    /// Reads all channels, and looks for hosts that have gone or are silent.
    pub(super) fn hear(&mut self, polled: &[pollfd]) {
        let now = Instant::now();
        // Branches first: they bring what others say, and whose branch is lost is not at fault.
        for at in (self.hosts.len()..self.remotes.len()).chain(0..self.hosts.len()) {
            if self.remotes[at].is_over() {
                continue;
            }
            let frames = match &mut self.remotes[at].channel {
                Some(channel) => {
                    channel.flush();
                    let readable = channel.is_readable(polled);
                    if readable { channel.receive() } else { Ok(Vec::new()) }
                }
                None => continue,
            };
            let problem = frames.as_ref().err().cloned();
            for frame in frames.unwrap_or_default() {
                self.take(at, frame);
            }
            self.look_at(at, now, problem);
        }
    }

    fn look_at(&mut self, at: usize, now: Instant, problem: Option<String>) {
        let remote = &mut self.remotes[at];
        let Some(channel) = remote.channel.as_mut().filter(|_| !matches!(remote.state, State::Over | State::Unused))
        else {
            return;
        };
        if remote.state != State::Starting {
            channel.beat(now); // before an agent answers, a login shell might read it
        }
        let (name, silence, noise) = (remote.name.clone(), channel.silence(now), channel.noise());
        let noise = if noise.is_empty() { noise } else { format!(" (it printed '{noise}')") };
        let is_silent = remote.state != State::Starting && silence > self.link_timeout;
        let line = if let Some(problem) = problem {
            format!("host {name}: what the agent sends is not right: {problem}; ending the job")
        } else if channel.is_over()
            || !remote.is_running() && !remote.channel.as_ref().is_some_and(|c| c.is_readable_now())
        {
            let fate = remote.fate();
            match remote.state {
                State::Starting => {
                    let shown = self.command.show(&name);
                    format!("host {name}: '{shown}' {fate} before the agent answered{noise}; ending the job")
                }
                _ => {
                    let more = self.behind(at).len().saturating_sub(1);
                    let s = if more == 1 { "" } else { "s" };
                    let more = if more > 0 { format!(", and the way to {more} more host{s}") } else { "".into() };
                    format!(
                        "the agent on host {name} has gone{more}: the command that started it {fate}; ending the job"
                    )
                }
            }
        } else if remote.is_late(now) {
            let seconds = self.start_timeout.as_secs_f64();
            let shown = self.command.show(&name);
            format!(
                "host {name} did not answer within {seconds} s (GASNET_SCI_START_TIMEOUT): '{shown}'{noise}; ending the job"
            )
        } else if is_silent {
            let seconds = self.link_timeout.as_secs_f64();
            format!("nothing was heard of host {name} for {seconds} s (GASNET_SCI_LINK_TIMEOUT); ending the job")
        } else {
            return;
        };
        self.lose(at, line);
        if is_silent {
            self.remotes[at].end(); // its command may wait for the link for minutes
        }
    }

    fn lose(&mut self, at: usize, line: String) {
        self.abandon(at);
        for host in self.behind(at) {
            self.remotes[host].end_through("was lost with its branch".into());
            if !self.remotes[host].is_over() {
                self.abandon(host);
            }
        }
        self.fail(1, line);
    }

    fn abandon(&mut self, at: usize) {
        self.remotes[at].abandon();
        let tasks =
            self.tasks.all().filter(|task| self.tasks.is_at(at, *task)).map(|task| self.plan.order.nodes + task);
        for rank in self.remotes[at].ranks.iter().copied().chain(tasks).collect::<Vec<u32>>() {
            [0, 1].into_iter().for_each(|stream| self.feed(rank, stream, &[]));
        }
    }

    fn take(&mut self, at: usize, frame: Frame) {
        let now = Instant::now();
        let state = self.remotes[at].state;
        let Some(frame) = self.take_of_branch(at, frame) else { return };
        let is_own = |rank: u32| self.remotes[at].ranks.contains(&rank);
        let nodes = self.plan.order.nodes;
        let is_task_here = |rank: u32| rank.checked_sub(nodes).is_some_and(|task| self.tasks.is_at(at, task));
        match (frame, state) {
            (Frame::Hello(hello), State::Starting) => self.greeted(at, hello),
            (Frame::Beat, _) => {}
            (Frame::Load(load), _) => {
                self.remotes[at].hello.iter_mut().for_each(|hello| hello.load = load);
            }
            (Frame::Output(rank, stream, bytes), State::Running) if is_own(rank) || is_task_here(rank) => {
                self.remotes[at].took(bytes.len());
                self.feed(rank, stream, &bytes);
            }
            (Frame::Taken(count), State::Running) => self.input.taken(count as usize),
            (Frame::Phase(rank, phase), State::Running) if is_own(rank) => {
                if phase != Phase::Unborn && !self.lead.ending.has_begun() {
                    self.joined = true;
                    self.lead.ending.joined(now);
                }
            }
            (Frame::Ended(end, code), State::Running) if is_own(end.rank) => {
                // What gasnet_exit recorded there counts before what the end of the process says.
                if let Some(code) = code {
                    self.record(code);
                }
                let place = format!(" on {}", self.remotes[at].name);
                if let Some(code) = self.lead.ending.ended(now, &end, &place) {
                    self.record(code);
                }
                if self.joined {
                    self.lead.ending.joined(now);
                }
            }
            (Frame::Bulletin(generation, halves), State::Running)
                if halves.iter().map(|(rank, _)| *rank).eq(self.remotes[at].ranks.iter().copied()) =>
            {
                self.remotes[at].bulletin = Some((generation, halves));
            }
            (Frame::Line(line), State::Running) => self.lead.report(&format!("host {}: {line}", self.remotes[at].name)),
            (Frame::Failed(status, line), State::Running) => {
                let line = format!("host {}: {line}; ending the job", self.remotes[at].name);
                self.fail(status.max(1), line);
            }
            (Frame::Signal(signal), State::Running) => conductor::signalled(self, signal, false),
            (Frame::Part(rank, bytes), State::Running) if is_own(rank) => {
                self.matrix.iter_mut().for_each(|matrix| matrix.bring(rank, &bytes));
            }
            (Frame::Request(guest, request), State::Running) => self.requested(at, guest, request),
            (Frame::Left(guest, has_read), State::Running) => {
                self.tasks.ledger.left(|who| who == (at, guest), has_read);
            }
            (Frame::Ran(first, refusal), State::Running) if self.tasks.is_at(at, first) => self.ran(first, refusal),
            (Frame::Finished(task, status), State::Running) if self.tasks.is_at(at, task) => {
                self.finished(task, status)
            }
            (Frame::Done(code), State::Running) => {
                if let Some(code) = code {
                    self.record(code);
                }
                self.remotes[at].let_go();
                self.tasks_ended_with(at);
                self.registered = None;
            }
            (frame, _) => {
                let name = &self.remotes[at].name;
                let kind: String = format!("{frame:?}").chars().take_while(|c| c.is_alphanumeric()).collect();
                let line = format!("host {name}: its agent sends what does not fit ({kind}); ending the job");
                self.lose(at, line);
            }
        }
    }

    fn greeted(&mut self, at: usize, hello: Hello) {
        let own = (channel::VERSION, header::VERSION, layout_version(), env!("CARGO_PKG_VERSION"));
        let theirs = (hello.channel, hello.handoff, hello.layout, &hello.library[..]);
        if let Some(Unlike::Machine(theirs, own)) = machine::unlike(hello.layout, own.2) {
            let name = &self.remotes[at].name;
            let line = format!(
                "host {name} is another kind of machine ({theirs}) than this launcher's ({own}), and nodes of a job cannot differ in that; ending the job"
            );
            return self.lose(at, line);
        }
        if own != theirs {
            let show = |(channel, handoff, layout, library): (u32, u32, u64, &str)| {
                format!("{library} (channel {channel}, hand-off {handoff}, layout {layout:#x})")
            };
            let name = &self.remotes[at].name;
            let line = format!(
                "host {name} has gasnet-sci {}, this launcher is {}: install the same version on all hosts; ending the job",
                show(theirs),
                show(own)
            );
            return self.lose(at, line);
        }
        self.remotes[at].hello = Some(hello);
        self.remotes[at].state = State::Greeted;
        if self.is_branch(at) {
            let silence = self.link_timeout.as_millis();
            self.remotes[at].send(&Frame::Branch(u32::try_from(silence).unwrap_or(u32::MAX)));
            self.remotes[at].state = State::Branch;
        }
    }

    // Agents that have no nodes yet just end.
    pub(super) fn abandon_idle(&mut self) {
        let idle = |remote: &&mut Remote| matches!(remote.state, State::Waiting | State::Starting | State::Greeted);
        self.remotes.iter_mut().filter(idle).for_each(Remote::abandon);
    }

    // Stops (true) or continues the job on all hosts. Those that are stopped have been told when this returns.
    pub(super) fn pause_hosts(&mut self, pause: bool) {
        if self.remotes.iter().all(Remote::is_over) {
            return;
        }
        if !pause {
            self.remotes.iter_mut().filter_map(|remote| remote.channel.as_mut()).for_each(|channel| channel.forgive());
            self.pause_branches(false);
            return self.send_all(&Frame::Pause(false));
        }
        self.send_all(&Frame::Pause(true));
        self.pass_on();
        self.pause_branches(true);
        let began = Instant::now();
        for channel in self.remotes.iter_mut().filter_map(|remote| remote.channel.as_mut()) {
            while channel.is_holding() && began.elapsed() < self.link_timeout {
                sys::nap(Duration::from_millis(1));
                channel.flush();
            }
        }
    }

    fn pause_branches(&mut self, pause: bool) {
        let branches = self.remotes.iter_mut().filter(|remote| remote.state == State::Branch);
        branches.for_each(|branch| branch.send(&Frame::Pause(pause)));
    }

    // Leaves nodes that do not end to their hosts.
    pub(super) fn leave_to_hosts(&mut self) {
        for at in 0..self.remotes.len() {
            if !self.remotes[at].is_over() {
                if !self.is_branch(at) {
                    let name = &self.remotes[at].name;
                    self.lead.report(&format!("host {name} does not end its nodes; leaving them to it"));
                }
                self.remotes[at].abandon();
            }
        }
    }
}
