//! How this process takes its place in the job: handed over by the launcher, found by PMIx, forked here, or alone.
//!
//! Must not know: what a hand-off holds, how nodes are forked, what a place is.

use super::launcher::{is_launched, launched, take_handoff};
use super::pmix::{self, Foreign};
use super::{JobError, Joined, fork};
use crate::base::config::Config;
use crate::os::sys;
use crate::supervise::node;

/// What whoever starts nodes has to know of its host.
pub trait OwnHost {
    /// # Errors
    /// Why that number of nodes does not fit this host.
    fn fits(&self, nodes: u32) -> Result<(), String>;

    /// Called before there are nodes. The result is called with the job's status, and gives a line for the user if the host has
    /// something to say about it.
    fn watch(&self) -> Box<dyn FnOnce(i32) -> Option<String>>;
}

/// Makes this process a node. Call it once per process.
///
/// | start | result |
/// |---|---|
/// | under a launcher | this process is the node that the hand-off names |
/// | under another launcher, several processes | this process is the node that PMIx says, or an error |
/// | `config.nodes` above 1, and `host` has room | this process forks the nodes and supervises them |
/// | otherwise | a job of one node |
///
/// If it forks, it returns in the nodes only. The original process ends with the job's status.
///
/// # Errors
/// Why there is no job. All that was begun has been undone.
pub fn join(config: &Config, host: &impl OwnHost) -> Result<Joined, JobError> {
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
        None => match pmix::found() {
            Foreign::Unusable(problem) => Err(JobError::Place(problem)),
            Foreign::Pmix(who) => match pmix::join(&who, config, &|nodes| host.fits(nodes))? {
                Some(joined) => Ok(joined),
                None => unlaunched(config, host),
            },
            Foreign::None => unlaunched(config, host),
        },
    }
}

/// Whether no launcher started several processes, of which this is one.
pub fn is_alone() -> bool {
    !is_launched() && pmix::found() == Foreign::None
}

fn unlaunched(config: &Config, host: &impl OwnHost) -> Result<Joined, JobError> {
    if config.nodes > 1 && !config.guest { fork::forked(config, host) } else { fork::alone(config) }
}
