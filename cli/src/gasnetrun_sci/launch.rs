//! From an [`Order`] to a job: checks that the job fits the host, starts the nodes, supervises them.

use super::cli::NAME;
use super::debugger;
use super::director;
use super::hint;
use super::mapping::Mapping;
use super::matrix::{self, Wanted};
use super::options::{Order, Output};
use super::part::{Part, system};
use super::program;
use super::registry::{self, Entry, Role};
use super::stop::{Stop, advise};
use gasnet_sci::base::config::Config;
use gasnet_sci::job::limits;
use gasnet_sci::os::sys;
use gasnet_sci::supervise::{JobHeader, Phase, guard, spawn, supervisor};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

/// An exit timeout that no debugging session reaches.
const DAYS: Duration = Duration::from_secs(100 * 86400);

/// Runs the job and returns the launcher's exit status.
pub fn launch(mut order: Order) -> Result<i32, Stop> {
    // This comes before anything else is opened. Otherwise a pipe could get the number of a closed stdout, and what
    // the nodes print would go into it.
    spawn::fill_standard_descriptors().map_err(|error| Stop::new(1, format!("{NAME}: {error}")))?;
    let (file, zeroth) = program::find(&order.program)?;
    let config = Config::from_env().map_err(|error| Stop::new(1, format!("{NAME}: {error}")))?.0;
    let stop = |problem: String| Stop::new(1, format!("{NAME}: {problem}"));
    // A name without the node's number in the variable means the same as the option.
    let (own, joined) = config.observe.matrix.iter().partition::<Vec<_>, _>(|name| name.contains('%'));
    if let (Some(file), [own]) = (&order.matrix, &own[..]) {
        let (file, variable) = (file.display(), matrix::VARIABLE);
        return Err(stop(format!(
            "--matrix {file} and {variable}={own}: the nodes write one of them; leave out the other"
        )));
    }
    order.matrix = order.matrix.or(joined.first().map(PathBuf::from));
    let mapping = order.map.as_ref().map(|file| Mapping::read(file, order.nodes)).transpose().map_err(stop)?;
    if order.hosts.is_some() {
        return director::launch(order, mapping, file, zeroth, &config);
    }
    mapping.as_ref().map_or(Ok(()), Mapping::check_own).map_err(stop)?;
    let ranks = (0..order.nodes).collect();
    let job = Part::prepare(false, order, mapping, file, zeroth, ranks, &config)?;
    if job.order.verbose {
        job.show();
    }
    limits::check(job.order.nodes).map_err(|problem| Stop::new(1, format!("{NAME}: {problem}")))?;
    if job.order.dry {
        return Ok(0);
    }
    job.prepare_files()?;
    let wanted = job.order.matrix.as_ref().map(|file| Wanted::new(file, job.order.nodes)).transpose().map_err(stop)?;
    run(job, &config, wanted)
}

// Runs the job: starts the nodes, supervises them, and collects what they leave.
fn run(mut job: Part, config: &Config, mut wanted: Option<Wanted>) -> Result<i32, Stop> {
    let nodes = job.order.nodes;
    let is_entered = registry::is_sessions();
    let leaves_files = is_entered || wanted.is_some();
    let guard = guard::split(if leaves_files { registry::tidy } else { || () });
    let (memory, header) = JobHeader::create(nodes).map_err(system("no memory for the job"))?;
    if wanted.is_some() {
        job.make_parts(&header)?;
    }
    header.set_memory_number(memory.as_raw_fd());
    job.hand_positions(&header);
    if job.order.survive {
        header.set_survives();
    }
    let watch = hint::Watch::begin(config);
    let terminal = job.debug.as_ref().and_then(debugger::Plan::on_terminal);
    if terminal.is_some() {
        // Ctrl-C is for the debugger. It must end neither the launcher nor the other nodes.
        sys::set_plain(libc::SIGINT, libc::SIG_IGN);
    }
    let stdin = terminal.unwrap_or(0);
    let (children, exec_errors) = job.start(&header, &memory, stdin, terminal)?;
    let exit_time = Duration::from_secs_f64(config.exit_seconds(nodes));
    let tag = job.order.output == Output::Here { tag: true };
    let options = supervisor::Options {
        // A node that is stopped in a debugger may keep the job's exit waiting for as long as the user likes.
        exit_time: if job.debug.is_some() { DAYS } else { exit_time },
        exec_errors: Some(exec_errors),
        time_limit: job.order.time_limit,
        tag,
        prompts: stdin,
        guard,
        ..supervisor::Options::new(NAME)
    };
    let entry = Entry {
        id: header.cookie(),
        role: Role::Launcher,
        nodes,
        all: nodes,
        cpus: nodes,
        program: job.file.display().to_string(),
    };
    let registered = is_entered.then(|| registry::register(&entry));
    let mut status = supervisor::run(header, children, options);
    let is_joined = header.records().iter().any(|record| record.phase() != Phase::Unborn);
    let end = hint::End { file: &job.file, word: &job.order.program, nodes, is_joined, status };
    watch.lines(&end).iter().for_each(|line| advise(line));
    if let (Some(parts), Some(wanted)) = (job.take_parts(), &mut wanted) {
        wanted.collect(&parts);
        if !wanted.is_in_vain(status)
            && let Err(problem) = wanted.write()
        {
            advise(&problem);
            status = status.max(1);
        }
    }
    drop(registered);
    sys::exit_now(status)
}
