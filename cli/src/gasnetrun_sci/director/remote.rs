//! One host as the launcher sees it: the command that reaches it, its agent, and how far that is.

use super::super::place::Load;
use super::super::reach::{self, AGENT, End, Inherited, end_of, fate};
use gasnet_sci::base::config::Config;
use gasnet_sci::os::{host, limit, sys};
use gasnet_sci::supervise::channel::{Channel, Frame, Hello};
use gasnet_sci::supervise::header::Half;
use libc::pollfd;
use std::ffi::OsString;
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::process::Child;
use std::time::{Duration, Instant};

/// The word for the command that reaches a standing agent. Options of that command may follow.
const STANDING: &str = "standing";

/// How agents are started.
pub struct Command {
    reach: Vec<String>,
    /// This host is reached in the same way.
    own_too: bool,
    launcher: OsString,
    // As this process was before it blocked the signals that it reads, and raised its limit on descriptors.
    inherited: Inherited,
}

impl Command {
    /// For a job that may reach so many hosts. Raises this process's limit on descriptors.
    pub fn new(config: &Config, hosts: usize) -> Result<Command, String> {
        let launcher =
            std::env::current_exe().map_err(|error| format!("this program's own path is unknown: {error}"))?;
        // A remote shell reads the command line.
        let text = launcher.to_string_lossy();
        if !text.chars().all(|c| c.is_alphanumeric() || "/._-+@%,:=".contains(c)) {
            return Err(format!(
                "the launcher's path {text:?} has characters that a shell would read; install it elsewhere"
            ));
        }
        let inherited = Inherited::now();
        let descriptors = inherited.descriptors;
        let (needed, hard) = (hosts as u64 * 3 + 32, descriptors.1);
        if needed > hard {
            return Err(format!(
                "{hosts} hosts need {needed} descriptors, the hard limit is {hard} (RLIMIT_NOFILE: ulimit -Hn)"
            ));
        }
        if descriptors.0 < needed {
            limit::set_descriptors((needed, hard));
        }
        let mut reach = config.hosts.reach();
        if reach.first().is_some_and(|word| word == STANDING) {
            let command = launcher.with_file_name("gasnet-sci").to_string_lossy().into_owned();
            reach.splice(..1, [command, "agent".into()]);
            reach.push("--reach".into());
        }
        let own_too = config.hosts.rsh.is_some();
        Ok(Command { reach, own_too, launcher: launcher.into(), inherited })
    }

    /// Whether this is the launcher's own host, which is reached without the command unless GASNET_SCI_RSH names one.
    pub fn is_own(&self, name: &str) -> bool {
        let own = host::name().to_string_lossy();
        let is_own = name == "localhost" || name == own || Some(name) == own.split('.').next();
        !self.own_too && is_own
    }

    // What goes in front of the agent's command line.
    fn way(&self, name: &str) -> Vec<String> {
        if self.is_own(name) {
            return Vec::new();
        }
        let mut words = self.reach.clone();
        words.push(name.into());
        words
    }

    fn agent(&self) -> [OsString; 2] {
        [self.launcher.clone(), AGENT.into()]
    }

    /// What is run for a host.
    pub fn show(&self, name: &str) -> String {
        let words = self.way(name).iter().map(|word| format!("{word} ")).collect::<String>();
        format!("{words}{} {AGENT}", self.launcher.to_string_lossy())
    }

    fn words(&self, name: &str) -> Vec<OsString> {
        self.way(name).into_iter().map(OsString::from).chain(self.agent()).collect()
    }

    /// What a branch on host `branch` runs for a host.
    pub fn words_of_branch(&self, branch: &str, name: &str) -> Vec<Vec<u8>> {
        let words = if name == branch { self.agent().into() } else { self.words(name) };
        words.into_iter().map(OsString::into_vec).collect()
    }

    fn start(&self, name: &str) -> std::io::Result<Child> {
        self.inherited.start(&self.words(name))
    }
}

/// How far an agent is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// Not started yet.
    Waiting,
    /// Started; it has not answered.
    Starting,
    /// It has said who it is.
    Greeted,
    /// It has its part of the job.
    Running,
    /// It has none: it reaches other hosts.
    Branch,
    /// It has said that nothing is left, or it has gone.
    Over,
    /// No nodes are placed there.
    Unused,
}

/// A host.
pub struct Remote {
    pub name: String,
    pub state: State,
    pub hello: Option<Hello>,
    /// The nodes on it.
    pub ranks: Vec<u32>,
    /// What its nodes put, while they wait in a fence.
    pub bulletin: Option<(u32, Vec<(u32, Half)>)>,
    pub channel: Option<Channel>,
    /// The branch through which it is reached, by its place in the list; `None`: by a command of the launcher's own.
    pub through: Option<usize>,
    /// Of a host that is reached through a branch: bytes that are to go, and whether its command is to be ended.
    pub parting: Vec<u8>,
    pub unwanted: bool,
    // The same: how its command has ended, as the branch says.
    gone: Option<String>,
    child: Option<Child>,
    status: Option<End>,
    answer_by: Option<Instant>,
    // Bytes of output that have come, and that the agent has not been told of.
    unanswered: u32,
}

impl Remote {
    pub fn new(name: &str) -> Remote {
        Remote {
            name: name.into(),
            state: State::Waiting,
            hello: None,
            ranks: Vec::new(),
            bulletin: None,
            channel: None,
            through: None,
            parting: Vec::new(),
            unwanted: false,
            gone: None,
            child: None,
            status: None,
            answer_by: None,
            unanswered: 0,
        }
    }

    /// Starts the agent. Returns what brings the stderr of the command.
    pub fn start(&mut self, command: &Command, timeout: Duration) -> Result<PipeReader, String> {
        let shown = command.show(&self.name);
        let mut child = command.start(&self.name).map_err(|error| format!("cannot run '{shown}': {error}"))?;
        let taken = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        self.child = Some(child);
        let (Some(stdin), Some(stdout), Some(stderr)) = taken else { return Err(format!("'{shown}' has no pipes")) };
        let channel = Channel::of_launcher(OwnedFd::from(stdout), OwnedFd::from(stdin));
        self.channel = Some(channel.map_err(|error| error.to_string())?);
        self.state = State::Starting;
        self.answer_by = Some(Instant::now() + timeout);
        Ok(PipeReader::from(OwnedFd::from(stderr)))
    }

    /// The agent is being started by a branch.
    pub fn start_through(&mut self, timeout: Duration) {
        self.channel = Some(Channel::through());
        self.state = State::Starting;
        self.answer_by = Some(Instant::now() + timeout);
    }

    /// The branch says that the command has ended, or the branch itself has gone.
    pub fn end_through(&mut self, how: String) {
        self.gone.get_or_insert(how);
        if let Some(channel) = &mut self.channel {
            channel.end();
        }
    }

    /// Whether a command of the launcher's own reaches it.
    pub fn is_direct(&self) -> bool {
        self.through.is_none()
    }

    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over | State::Unused)
    }

    pub fn load(&self) -> Load {
        self.hello
            .as_ref()
            .map_or(Load { load: u32::MAX, cpus: 1 }, |hello| Load { load: hello.load, cpus: hello.cpus })
    }

    pub fn send(&mut self, frame: &Frame) {
        if let Some(channel) = &mut self.channel {
            channel.send(frame);
        }
    }

    pub fn interests(&self, set: &mut Vec<pollfd>) {
        if let Some(channel) = &self.channel {
            channel.interests(set);
        }
    }

    /// When something is due even if nothing is heard.
    pub fn due(&self, link_timeout: Duration) -> Option<Instant> {
        let channel = self.channel.as_ref()?;
        let now = Instant::now();
        let silent_at = now + link_timeout.saturating_sub(channel.silence(now));
        match self.state {
            State::Starting => self.answer_by,
            _ => Some(channel.next_beat().min(silent_at)),
        }
    }

    /// Whether it has not answered in time.
    pub fn is_late(&self, now: Instant) -> bool {
        self.state == State::Starting && self.answer_by.is_some_and(|by| now >= by)
    }

    pub fn took(&mut self, count: usize) {
        self.unanswered += count as u32;
    }

    pub fn answer(&mut self) {
        if self.unanswered > 0 {
            let count = std::mem::take(&mut self.unanswered);
            self.send(&Frame::Taken(count));
        }
    }

    /// Nothing more is expected from it. What was sent still goes out.
    pub fn let_go(&mut self) {
        self.state = State::Over;
        self.bulletin = None;
        if let Some(mut channel) = self.channel.take() {
            self.parting.extend(channel.take_held());
        }
    }

    /// Ends the channel, and the command at once. The agent ends when it sees that.
    pub fn abandon(&mut self) {
        self.let_go();
        self.end();
    }

    /// Kills the command.
    pub fn end(&mut self) {
        self.unwanted = self.through.is_some() && self.gone.is_none();
        if self.status.is_none()
            && let Some(child) = &self.child
        {
            reach::end(child, self.hello.is_some());
        }
    }

    /// Whether the command still runs.
    pub fn is_running(&mut self) -> bool {
        if self.through.is_some() {
            return self.gone.is_none();
        }
        if self.status.is_none()
            && let Some(child) = &mut self.child
        {
            self.status = end_of(child);
            return self.status.is_none();
        }
        false
    }

    /// How the command has ended; waits for that for a moment.
    pub fn fate(&mut self) -> String {
        if self.through.is_some() {
            return self.gone.clone().unwrap_or_else(|| fate(None));
        }
        for _ in 0..60 {
            if !self.is_running() {
                break;
            }
            sys::nap(Duration::from_millis(5));
        }
        fate(self.status.as_ref())
    }
}
