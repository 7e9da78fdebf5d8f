//! Jobs without a launcher. `gasnet_init` forks the nodes, and the original process becomes their supervisor.

use super::join::OwnHost;
use super::member::{JobError, Joined, enter};
use crate::base::config::Config;
use crate::base::log;
use crate::os::{namespace, sys};
use crate::supervise::spawn::{self, Spawned};
use crate::supervise::{JobHeader, guard, supervisor};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Returns in the nodes only.
pub(super) fn forked(config: &Config, host: &impl OwnHost) -> Result<Joined, JobError> {
    let nodes = config.nodes;
    host.fits(nodes).map_err(JobError::TooMany)?;
    if thread_count() > 1 {
        log::advise(
            "this process has several threads; gasnet_init forks the nodes, and only the calling thread lives on in \
             them (gasnetrun_sci avoids this)",
        );
    }
    sys::flush_all_stdio();
    let alarm = sys::take_alarm(); // the client's alarm, perhaps a watchdog, is meant for the nodes; fork does not pass it on
    // The first process of a PID namespace must outlive the others there. So that is the supervisor, not a node.
    let guard = if namespace::children_are_elsewhere() { guard::split(|| ()) } else { None };
    let (memory, header) = JobHeader::create(nodes).map_err(JobError::system("memory for the job's header"))?;
    header.set_memory_number(memory.as_raw_fd());
    let after = host.watch();
    let plan = spawn::Plan { stdin: 0, streams: &spawn::plain(nodes) };
    match spawn::spawn_all(&header, &plan).map_err(JobError::system("forking the nodes"))? {
        Spawned::Node { rank, lifeline } => {
            log::set_identity(rank, nodes); // errors from here on come from this node
            sys::restore_alarm(&alarm);
            enter(header, rank, memory, Some(lifeline), config).map_err(JobError::Place)
        }
        Spawned::Supervisor(children) => {
            // The memory stays open, for nodes whose client closes all descriptors. It goes when this process ends.
            let exit_time = Duration::from_secs_f64(config.exit_seconds(nodes));
            let prefix = "gasnet-sci";
            let options = supervisor::Options { exit_time, guard, ..supervisor::Options::new(prefix) };
            let status = supervisor::run(header, children, options);
            after(status).into_iter().for_each(|line| log::advise(&line));
            sys::exit_now(status)
        }
    }
}

/// A job of one node, without supervisor.
pub(super) fn alone(config: &Config) -> Result<Joined, JobError> {
    let (memory, header) = JobHeader::create(1).map_err(JobError::system("memory for the job's header"))?;
    enter(header, 0, memory, None, config).map_err(JobError::Place)
}

fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |entries| entries.count())
}
