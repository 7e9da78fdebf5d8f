//! A branch of the tree in which a launcher reaches many hosts: an agent that has no nodes, but starts the agents of other hosts, and
//! moves bytes between the launcher and them. The agent for the nodes of its own host is one of them.
//!
//! It ends when the launcher closes the channel or falls silent. Then the channels of its agents end, and they kill their nodes.
//!
//! Must not know: jobs, what frames say that are not for itself.

use super::reach::{self, AGENT, End, Inherited, end_of, fate};
use gasnet_sci::base::log;
use gasnet_sci::os::poller::Poller;
use gasnet_sci::os::{limit, sys};
use gasnet_sci::supervise::channel::{Channel, Frame, MAGIC};
use libc::pollfd;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::process::Child;
use std::time::{Duration, Instant};

/// How long commands may take to end once their input has. The launcher does not wait for a branch for longer.
pub const LEAVING: Duration = Duration::from_millis(400);
/// How long after the end of its output a command's status is waited for.
const STATUS: Duration = Duration::from_millis(300);
/// Between two looks for a status.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

struct Reached {
    host: u32,
    child: Child,
    status: Option<End>,
    // The agent's side of its pipes; `None`: it has ended.
    input: Option<File>,
    output: Option<File>,
    errors: Option<File>,
    // What its input has not taken.
    held: Vec<u8>,
    output_ended: Option<Instant>,
    // The launcher was told that it has ended.
    told: bool,
    // The greeting of an agent was in what it printed. The end of that, until then.
    is_agent: bool,
    end: Vec<u8>,
}

impl Reached {
    fn new(host: u32, mut child: Child) -> Option<Reached> {
        let pipe = |fd: OwnedFd| sys::set_nonblocking(fd.as_fd()).is_ok().then(|| File::from(fd));
        let input = pipe(child.stdin.take()?.into())?;
        let output = pipe(child.stdout.take()?.into())?;
        let errors = pipe(child.stderr.take()?.into())?;
        let (input, output, errors) = (Some(input), Some(output), Some(errors));
        Some(Reached {
            host,
            child,
            status: None,
            input,
            output,
            errors,
            held: Vec::new(),
            output_ended: None,
            told: false,
            is_agent: false,
            end: Vec::new(),
        })
    }

    fn interests(&self, set: &mut Vec<pollfd>) {
        let mut add = |file: &File, events| set.push(pollfd { fd: file.as_raw_fd(), events, revents: 0 });
        self.output.iter().chain(&self.errors).for_each(|file| add(file, libc::POLLIN));
        if !self.held.is_empty() {
            self.input.iter().for_each(|file| add(file, libc::POLLOUT));
        }
    }

    fn flush(&mut self) {
        while let Some(input) = self.input.as_mut().filter(|_| !self.held.is_empty()) {
            match input.write(&self.held) {
                Ok(n) => drop(self.held.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.close_input(), // its output says how it ended
            }
        }
    }

    fn close_input(&mut self) {
        self.held.clear();
        self.input = None;
    }

    // Passes on what it has printed.
    fn pass_on(&mut self, launcher: &mut Channel, polled: &[pollfd]) {
        let is_ready = |file: &File| polled.iter().any(|entry| entry.fd == file.as_raw_fd() && entry.revents != 0);
        let host = self.host;
        if let Some(output) = self.output.as_mut().filter(|file| is_ready(file)) {
            match read(output) {
                Some(bytes) if bytes.is_empty() => {}
                Some(bytes) => {
                    self.look_for_agent(&bytes);
                    launcher.send(&Frame::Through(host, bytes));
                }
                None => (self.output, self.output_ended) = (None, Some(Instant::now())),
            }
        }
        if let Some(errors) = self.errors.as_mut().filter(|file| is_ready(file)) {
            match read(errors) {
                Some(bytes) if bytes.is_empty() => {}
                Some(bytes) => launcher.send(&Frame::Said(host, bytes)),
                None => self.errors = None,
            }
        }
    }

    fn look_for_agent(&mut self, bytes: &[u8]) {
        if !self.is_agent {
            self.end.extend_from_slice(bytes);
            self.is_agent = self.end.windows(MAGIC.len()).any(|some| some == MAGIC);
            self.end.drain(..self.end.len().saturating_sub(MAGIC.len() - 1));
        }
    }

    // Tells the launcher, once it is clear how it ended.
    fn tell_end(&mut self, launcher: &mut Channel) {
        let can_read = |file: &File| sys::poll_one(file.as_fd(), libc::POLLIN) != 0;
        if !self.is_running() && self.output_ended.is_none() && !self.output.as_ref().is_some_and(can_read) {
            self.output_ended = Some(Instant::now()); // another process may hold its output
        }
        let is_over = self.output_ended.is_some_and(|at| self.status.is_some() || at.elapsed() > STATUS);
        if is_over && !self.told {
            self.told = true;
            launcher.send(&Frame::Gone(self.host, fate(self.status.as_ref())));
        }
    }

    fn is_running(&mut self) -> bool {
        if self.status.is_none() {
            self.status = end_of(&mut self.child);
        }
        self.status.is_none()
    }

    fn kill(&mut self) {
        if self.is_running() {
            reach::end(&self.child, self.is_agent);
        }
    }
}

// `None`: the end. Empty: nothing now.
fn read(file: &mut File) -> Option<Vec<u8>> {
    let mut piece = vec![0; PIECE];
    match file.read(&mut piece) {
        Ok(0) => None,
        Ok(n) => {
            piece.truncate(n);
            Some(piece)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Some(Vec::new()),
        Err(_) => None,
    }
}

struct Branch {
    launcher: Channel,
    silence: Duration,
    // The launcher has stopped the job, and will be silent.
    paused: bool,
    inherited: Inherited,
    reached: Vec<Reached>,
    poller: Poller,
    // The file of limits of a standing agent.
    limits: Option<OsString>,
}

/// Serves the launcher until it needs this branch no more. `silence`: how long it may say nothing. `guard`: readable when this
/// process's guard is dead.
pub fn serve(launcher: Channel, silence: Duration, guard: Option<&PipeReader>, limits: Option<&str>) {
    let inherited = Inherited::now();
    limit::raise_descriptors(); // three for each host; what this process starts gets what it has inherited
    let (reached, poller) = (Vec::new(), Poller::default());
    let limits = limits.map(OsString::from);
    let mut branch = Branch { launcher, silence, paused: false, inherited, reached, poller, limits };
    sys::set_plain(libc::SIGPIPE, libc::SIG_IGN); // pipes of commands that have ended
    while branch.turn(guard) {}
    branch.clear_up();
}

impl Branch {
    // Makes one poll, and handles all that it brings. False: the launcher has gone.
    fn turn(&mut self, guard: Option<&PipeReader>) -> bool {
        let mut set = Vec::new();
        set.extend(guard.map(|guard| pollfd { fd: guard.as_raw_fd(), events: libc::POLLIN, revents: 0 }));
        let first = set.len();
        self.launcher.interests(&mut set);
        self.reached.iter().for_each(|reached| reached.interests(&mut set));
        let mut due = self.launcher.next_beat().saturating_duration_since(Instant::now());
        if self.reached.iter().any(|reached| reached.output_ended.is_some() && !reached.told) {
            due = due.min(LOOK);
        }
        if let Err(error) = self.poller.poll(&mut set, Some(due)) {
            log::error(format_args!("the branch cannot hear of the launcher: {error}"));
            return false;
        }
        self.launcher.flush();
        self.launcher.beat(Instant::now());
        let mut frames = Ok(Vec::new());
        if self.launcher.is_readable(&set) {
            frames = self.launcher.receive();
        }
        for frame in frames.unwrap_or_default() {
            self.obey(frame);
        }
        for reached in &mut self.reached {
            reached.flush();
            reached.pass_on(&mut self.launcher, &set);
            reached.tell_end(&mut self.launcher);
        }
        self.reached.retain_mut(|reached| !reached.told || reached.errors.is_some() || reached.is_running());
        let is_silent = !self.paused && self.launcher.silence(Instant::now()) > self.silence;
        let is_unguarded = set[..first].iter().any(|entry| entry.revents != 0);
        !self.launcher.is_over() && !is_silent && !is_unguarded
    }

    fn obey(&mut self, frame: Frame) {
        let find = |reached: &mut Vec<Reached>, host| reached.iter().position(|reached| reached.host == host);
        match frame {
            Frame::Reach(host, words) => self.reach(host, words.into_iter().map(OsString::from_vec).collect()),
            Frame::Through(host, bytes) => {
                if let Some(at) = find(&mut self.reached, host) {
                    self.reached[at].held.extend(bytes);
                    self.reached[at].flush();
                }
            }
            Frame::Gone(host, _) => {
                if let Some(at) = find(&mut self.reached, host) {
                    self.reached[at].close_input();
                    self.reached[at].kill();
                }
            }
            Frame::Pause(paused) => {
                self.paused = paused;
                self.launcher.forgive();
            }
            _ => {} // a beat, or what launchers do not say to branches
        }
    }

    fn reach(&mut self, host: u32, mut words: Vec<OsString>) {
        // The agent of this very host: what limits this process limits that one.
        if words.len() == 2 && words[1] == AGENT {
            words.extend(self.limits.clone());
        }
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let started = self.inherited.start(&words);
        match started.map(|child| Reached::new(host, child)) {
            Ok(Some(reached)) => self.reached.push(reached),
            Ok(None) => self.launcher.send(&Frame::Gone(host, "has no pipes".into())),
            Err(error) => {
                let line = format!("cannot run '{}': {error}\n", shown.join(" "));
                self.launcher.send(&Frame::Said(host, line.into_bytes()));
                self.launcher.send(&Frame::Gone(host, "did not start".into()));
            }
        }
    }

    // Ends all channels. Their agents end then, and with them the commands; those that do not are killed.
    fn clear_up(&mut self) {
        self.reached.iter_mut().for_each(Reached::close_input);
        let until = Instant::now() + LEAVING;
        while self.reached.iter_mut().any(|reached| reached.is_running()) && Instant::now() < until {
            // What they still print goes nowhere, but must not keep them.
            let mut set = Vec::new();
            self.reached.iter().for_each(|reached| reached.interests(&mut set));
            let _ = sys::poll(&mut set, Some(LOOK));
            self.launcher.give_up();
            self.reached.iter_mut().for_each(|reached| reached.pass_on(&mut self.launcher, &set));
        }
        self.reached.iter_mut().for_each(Reached::kill);
    }
}
