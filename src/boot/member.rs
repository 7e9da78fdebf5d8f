//! A node's place in its job, and why there is none.
//!
//! Must not know: who started the job.

use super::{Bootstrap, HANDOFF, Shared};
use crate::base::config::Config;
use crate::base::log;
use crate::os::sys;
use crate::supervise::node::{self, Node};
use crate::supervise::{JobHeader, Phase};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::time::Duration;
use std::{fmt, io};

/// Why this process could not join its job.
#[derive(Debug)]
pub enum JobError {
    /// A launcher started this process, but the hand-off does not work.
    Handoff {
        /// Value of [`HANDOFF`].
        value: String,
        /// The fault.
        problem: String,
    },
    /// The system refused a call.
    System {
        /// The call that was tried.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// This host has no room for that many nodes. The text says what is asked for, and names the limit.
    TooMany(String),
    /// This process is already a node.
    Twice,
    /// This process made the job itself, but its place could not be taken.
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
    pub(super) fn system(what: &'static str) -> impl Fn(io::Error) -> JobError {
        move |error| JobError::System { what, error }
    }
}

/// The result of joining.
pub struct Joined {
    /// The exchange with all nodes of the job.
    pub boot: Box<dyn Bootstrap>,
    /// The memory that it shares with its supervisor and with the nodes of its host.
    pub memory: JobMemory,
}

/// The job's memory on this host, and this node's record in it.
pub struct JobMemory {
    header: JobHeader,
    rank: u32,
    file: OwnedFd,
}

impl JobMemory {
    /// The memory, the same in every node. Closed on exec.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The head of the memory.
    pub fn header(&self) -> &JobHeader {
        &self.header
    }

    /// What only this job's nodes know: the key of their proofs to each other.
    pub fn secret(&self) -> [u8; 16] {
        let mut words = self.header.secret();
        if self.header.hosts() == 1 {
            words[0] = self.header.cookie(); // one host that counts as several
        }
        let mut secret = [0; 16];
        secret.chunks_exact_mut(8).zip(words).for_each(|(eight, word)| eight.copy_from_slice(&word.to_le_bytes()));
        secret
    }

    /// Offset of the SCI fabric in bytes; a multiple of the page size. At first the file ends there.
    pub fn fabric_offset(&self) -> usize {
        JobHeader::bytes(self.header.nodes())
    }

    /// Tells the supervisor how far this node has come. The phase never goes back.
    pub fn set_phase(&self, phase: Phase) {
        self.header.record(self.rank).advance(phase);
    }
}

/// Takes the place of node `rank`.
pub(super) fn enter(
    header: JobHeader,
    rank: u32,
    file: OwnedFd,
    lifeline: Option<OwnedFd>,
    config: &Config,
) -> Result<Joined, String> {
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
    Ok(Joined { boot: Box::new(Shared::new(header, rank)), memory: JobMemory { header, rank, file } })
}

/// The signal of the lifeline in the first process of a PID namespace.
const HANGUP: libc::c_int = 64;

extern "C" fn at_hangup(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    sys::exit_now(128 + libc::SIGKILL)
}

// Ties this process's life to the supervisor's. The descriptor is never closed.
fn hold(lifeline: OwnedFd) -> Result<(), String> {
    // A SIGKILL of a lifeline does not reach the first process of a PID namespace, which gets only signals that it handles.
    let signal = match sys::pid() {
        1 => {
            sys::set_handler(HANGUP, at_hangup);
            HANGUP
        }
        _ => libc::SIGKILL,
    };
    sys::signal_at_hangup(lifeline.as_fd(), signal).map_err(|e| format!("the lifeline cannot be tied: {e}"))?;
    if sys::poll_one(lifeline.as_fd(), libc::POLLIN) != 0 {
        sys::exit_now(1); // the supervisor has died; no process is left that could be told
    }
    let _ = lifeline.into_raw_fd();
    Ok(())
}
