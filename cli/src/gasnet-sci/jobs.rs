//! `gasnet-sci jobs` and `gasnet-sci kill`: the jobs on this host.

use crate::registry::{self, Found, Role};
use clap::ArgMatches;
use gasnet_sci::base::config::signal_number;
use gasnet_sci::os::sys;
use gasnet_sci_place::paint::{self, HEAD};
use serde_json::json;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// Prints a line for each job, or a list as JSON. The number of a process in another PID namespace would be another process here, so it is
/// left out.
pub fn list(options: &ArgMatches) -> io::Result<()> {
    let jobs = registry::list();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut out = paint::out();
    let mut listed = Vec::new();
    let is_json = options.get_flag("json");
    if !is_json {
        writeln!(
            out,
            "{HEAD}{:<18} {:>7} {:>7} {:>8} {:>9}  PROGRAM{HEAD:#}",
            "JOB", "NODES", "HERE", "PID", "SECONDS"
        )?;
    }
    for (number, job) in jobs.iter().enumerate() {
        // A launcher whose nodes are under an agent of this host has a line with that.
        let has_agent = jobs.iter().any(|other| other.id == job.id && other.role == Role::Agent);
        if job.role == Role::Launcher && job.nodes == 0 && has_agent || same_before(&jobs[..number], job) {
            continue;
        }
        let here: u32 = jobs.iter().filter(|other| other.id == job.id).map(|other| other.nodes).sum();
        let age = now.saturating_sub(job.since);
        let leader = leader(&jobs, job.id);
        let near = leader.is_near.then_some(leader.pid);
        if is_json {
            listed.push(json!({"job": format!("{:016x}", job.id), "nodes": job.all, "here": here, "pid": near,
                "seconds": age, "program": job.program}));
            continue;
        }
        let pid = near.map_or("-".into(), |pid| pid.to_string());
        writeln!(out, "{:016x}   {:>7} {here:>7} {pid:>8} {age:>9}  {}", job.id, job.all, job.program)?;
    }
    if is_json { writeln!(out, "{:#}", json!({ "jobs": listed })) } else { Ok(()) }
}

fn same_before(before: &[Found], job: &Found) -> bool {
    before.iter().any(|other| other.id == job.id && other.role == job.role)
}

// The process that a signal for the job goes to: the launcher if it is here, else an agent, which tells it.
fn leader(jobs: &[Found], id: u64) -> &Found {
    let mut of_job: Vec<&Found> = jobs.iter().filter(|job| job.id == id).collect();
    of_job.sort_by_key(|job| (!job.is_near, job.role != Role::Launcher));
    of_job[0]
}

/// Sends a signal to jobs.
pub fn kill(options: &ArgMatches) -> io::Result<()> {
    let name = options.get_one::<String>("signal").map_or("TERM", |name| name);
    let problem = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    let signal = match signal_number(name).ok_or_else(|| problem(format!("'{name}' is no signal")))? {
        libc::SIGSTOP => libc::SIGTSTP, // the process that it goes to could not stop the nodes
        signal => signal,
    };
    let jobs = registry::list();
    for wanted in options.get_many::<String>("jobs").into_iter().flatten() {
        let mut ids: Vec<u64> =
            jobs.iter().map(|job| job.id).filter(|id| format!("{id:016x}").starts_with(wanted)).collect();
        ids.sort_unstable();
        ids.dedup();
        let id = match ids[..] {
            _ if wanted.is_empty() => return Err(problem("an empty word names no job (gasnet-sci jobs)".into())),
            [id] => id,
            [] => return Err(problem(format!("there is no job {wanted} of yours on this host (gasnet-sci jobs)"))),
            _ => return Err(problem(format!("{} jobs begin with {wanted}: write more of the number", ids.len()))),
        };
        let leader = leader(&jobs, id);
        if !leader.is_near {
            let text = format!("job {id:016x} runs in another PID namespace (a container): use gasnet-sci kill there");
            return Err(problem(text));
        }
        if leader.role == Role::Agent && [libc::SIGTSTP, libc::SIGCONT].contains(&signal) {
            let text = format!("job {id:016x} can be stopped and continued only on the host of its launcher");
            return Err(problem(text));
        }
        if !sys::kill(leader.pid, signal) {
            return Err(problem(format!("job {id:016x} has ended meanwhile")));
        }
    }
    Ok(())
}
