//! Joining a job: handed over by the launcher, forked here, or alone; then exchange of a few words between all nodes.
//!
//! Invariant: a launcher's hand-off that fails is an error that says what was tried, never a silent job of one.

use super::header::{BULLETIN, JobHeader, Phase};
use super::node::{self, Node};
use super::spawn::{self, Spawned};
use super::{limits, supervise};
use crate::base::config::Config;
use crate::base::log;
use crate::os::sys;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Duration;
use std::{fmt, io};

pub use crate::base::config::HANDOFF;

/// Why this process could not join its job.
#[derive(Debug)]
pub enum JobError {
    /// A launcher started this process, but what it handed over does not work.
    Handoff {
        /// Value of [`HANDOFF`].
        value: String,
        /// What does not work.
        problem: String,
    },
    /// The system refused something.
    System {
        /// What was tried.
        what: &'static str,
        /// Its answer.
        error: io::Error,
    },
    /// So many nodes do not fit this host: what is asked for, and the limit.
    TooMany(String),
    /// This process is a node already.
    Twice,
    /// Its place in a job that it made itself could not be taken.
    Place(String),
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::Handoff { value, problem } => {
                write!(f, "cannot join the job that {HANDOFF}='{value}' names: {problem}")
            }
            JobError::System { what, error } => write!(f, "{what}: {error}"),
            JobError::Place(problem) => write!(f, "cannot join the job: {problem}"),
            JobError::TooMany(problem) => f.write_str(problem),
            JobError::Twice => f.write_str("this process is a node of a job already"),
        }
    }
}

impl JobError {
    fn system(what: &'static str) -> impl Fn(io::Error) -> JobError {
        move |error| JobError::System { what, error }
    }
}

/// This process's place in its job.
pub struct Boot {
    header: JobHeader,
    rank: u32,
    memory: OwnedFd,
}

impl Boot {
    /// Own rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Job size.
    pub fn nodes(&self) -> u32 {
        self.header.nodes()
    }

    /// The job's memory, the same in every node. Closed on exec.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// The job's header.
    pub fn header(&self) -> &JobHeader {
        &self.header
    }

    /// Where the SCI fabric begins in the job's memory, in bytes; a multiple of the page size. The file ends there at
    /// first.
    pub fn fabric_offset(&self) -> usize {
        JobHeader::bytes(self.nodes())
    }

    /// Publishes `words` to all nodes: they read them with [`Boot::get`] after the next [`Boot::fence`].
    pub fn post(&self, words: &[u64; BULLETIN]) {
        self.header.post(self.rank, words);
    }

    /// Waits until all nodes are here. Blocks; if a node dies first, the supervisor ends the job.
    pub fn fence(&self) {
        self.header.fence();
    }

    /// What `rank` posted before the last fence.
    pub fn get(&self, rank: u32) -> [u64; BULLETIN] {
        self.header.posted(rank)
    }

    /// Tells the job how far this node is; never goes back.
    pub fn set_phase(&self, phase: Phase) {
        self.header.record(self.rank).advance(phase);
    }
}

/// Makes this process a node. Under a launcher it takes the place handed over; else, when `config.nodes` asks for
/// more than one, it forks them and stays behind as their supervisor: then this returns in the nodes only, and the
/// original process ends with the job's status. Else it is a job of one. Once per process.
pub fn join(config: &Config) -> Result<Boot, JobError> {
    if node::current().is_some() {
        return Err(JobError::Twice);
    }
    match take_handoff() {
        Some(value) if sys::is_privileged() => Err(JobError::Handoff {
            value,
            problem:
                "this program has rights that its caller lacks (setuid, setgid or file capabilities), so it shares no \
                      memory with the caller's processes"
                    .into(),
        }),
        Some(value) => launched(&value, config).map_err(|problem| JobError::Handoff { value: value.clone(), problem }),
        None if config.nodes > 1 => forked(config),
        None => alone(config),
    }
}

// Not in config.rs's table: no setting, but a message from one process to another, and read exactly once.
fn take_handoff() -> Option<String> {
    #[allow(clippy::disallowed_methods)]
    let value = std::env::var_os(HANDOFF)?;
    // SAFETY: gasnet_init is called by one thread before others use GASNet (contract: core.md §6.1); the environment
    // is changed here once, so that programs that this node starts do not take themselves for nodes.
    unsafe { std::env::remove_var(HANDOFF) };
    Some(value.to_string_lossy().into_owned())
}

/// The value of [`HANDOFF`] for one node.
pub fn handoff(header: &JobHeader, rank: u32, memory: RawFd, lifeline: RawFd) -> String {
    let (version, nodes, cookie) = (super::header::VERSION, header.nodes(), header.cookie());
    format!("{version},{rank},{nodes},{memory},{lifeline},{cookie:x}")
}

/// What a hand-off says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) rank: u32,
    pub(crate) nodes: u32,
    memory: u32,
    lifeline: u32,
    cookie: u64,
}

/// Reads a hand-off; the error says what is wrong with it.
pub(crate) fn parse(value: &str) -> Result<Place, String> {
    let fields: Vec<&str> = value.split(',').collect();
    let [version, rank, nodes, memory, lifeline, cookie] = fields[..] else {
        return Err("it does not have six fields; do launcher and library come from the same installation?".into());
    };
    if version != super::header::VERSION.to_string() {
        let mine = super::header::VERSION;
        return Err(format!(
            "the launcher speaks version {version}, this library {mine}: use the one installed with it"
        ));
    }
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("'{text}' is not a number"));
    let (rank, nodes) = (number(rank)?, number(nodes)?);
    let cookie = u64::from_str_radix(cookie, 16).map_err(|_| format!("'{cookie}' is not a cookie"))?;
    if rank >= nodes {
        return Err(format!("there is no rank {rank} among {nodes} nodes"));
    }
    Ok(Place { rank, nodes, memory: number(memory)?, lifeline: number(lifeline)?, cookie })
}

fn launched(value: &str, config: &Config) -> Result<Boot, String> {
    let Place { rank, nodes, memory, lifeline, cookie } = parse(value)?;
    log::set_identity(rank, nodes); // errors from here on are this node's
    let memory = adopt(memory, "the job's memory")?;
    let header =
        JobHeader::open(memory.as_fd(), nodes, cookie).map_err(|e| format!("the job's memory is not right: {e}"))?;
    let lifeline = adopt(lifeline, "this node's lifeline")?;
    enter(header, rank, memory, Some(lifeline), config)
}

// Takes over a descriptor that the launcher opened for this process.
fn adopt(number: u32, what: &str) -> Result<OwnedFd, String> {
    let number = RawFd::try_from(number).map_err(|_| format!("descriptor {number} for {what} cannot exist"))?;
    // SAFETY: only borrowed for the one call that finds out whether it is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    sys::set_close_on_exec(borrowed, true).map_err(|e| {
        format!(
            "descriptor {number} for {what} is not usable ({e}); a program between gasnetrun_sci and this one may \
             have closed it"
        )
    })?;
    // SAFETY: open, as just seen, and the hand-off, taken out of the environment, gave it to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn alone(config: &Config) -> Result<Boot, JobError> {
    let (memory, header) = JobHeader::create(1).map_err(JobError::system("memory for the job's header"))?;
    enter(header, 0, memory, None, config).map_err(JobError::Place)
}

fn forked(config: &Config) -> Result<Boot, JobError> {
    let nodes = config.nodes;
    limits::check(nodes).map_err(JobError::TooMany)?;
    if thread_count() > 1 {
        log::advise(
            "this process has several threads; gasnet_init forks the nodes, and only the calling thread lives on in \
             them (gasnetrun_sci avoids this)",
        );
    }
    let (memory, header) = JobHeader::create(nodes).map_err(JobError::system("memory for the job's header"))?;
    header.set_memory_number(memory.as_raw_fd());
    sys::flush_all_stdio();
    let alarm = sys::take_alarm(); // the client's, a watchdog perhaps: it is for the nodes, and fork passes none on
    let plan = spawn::Plan { stdin: 0, streams: &spawn::plain(nodes) };
    match spawn::spawn_all(&header, &plan).map_err(JobError::system("forking the nodes"))? {
        Spawned::Node { rank, lifeline } => {
            log::set_identity(rank, nodes); // errors from here on are this node's
            sys::restore_alarm(&alarm);
            enter(header, rank, memory, Some(lifeline), config).map_err(JobError::Place)
        }
        Spawned::Supervisor(children) => {
            // The memory stays open, for nodes whose client closes their descriptors; it ends with this process anyway.
            let exit_time = Duration::from_secs_f64(config.exit_seconds(nodes));
            let prefix = "gasnet-sci";
            let options = supervise::Options { exit_time, ..supervise::Options::new(prefix) };
            sys::exit_now(supervise::run(header, children, options))
        }
    }
}

fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |entries| entries.count())
}

fn enter(
    header: JobHeader,
    rank: u32,
    memory: OwnedFd,
    lifeline: Option<OwnedFd>,
    config: &Config,
) -> Result<Boot, String> {
    if let Some(lifeline) = lifeline {
        hold(lifeline)?;
    }
    let record = header.record(rank);
    if !record.claim() {
        return Err(format!("process {} has joined as node {rank} already; one process per node may", record.pid()));
    }
    let exit_time = Duration::from_secs_f64(config.exit_seconds(header.nodes()));
    if !node::set(Node { header, rank, pid: sys::pid(), exit_time }) {
        return Err("this process descends from a node".into());
    }
    log::set_identity(rank, header.nodes());
    Ok(Boot { header, rank, memory })
}

// Ties this process's life to the supervisor's. The descriptor is never closed.
fn hold(lifeline: OwnedFd) -> Result<(), String> {
    sys::kill_me_at_hangup(lifeline.as_fd()).map_err(|e| format!("the lifeline cannot be tied: {e}"))?;
    if sys::poll_one(lifeline.as_fd(), libc::POLLIN) != 0 {
        sys::exit_now(1); // the supervisor died before the line above; there is nobody left to tell
    }
    let _ = lifeline.into_raw_fd();
    Ok(())
}
