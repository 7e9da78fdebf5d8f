//! One run: the command, how it ended, what it printed and what it left.

use super::disturb::{Done, Target, disturb};
use super::plan::{How, Plan, Trouble};
use super::site::Site;
use anyhow::{Context, Result};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long a job may take if nothing ends it.
const PATIENCE: Duration = Duration::from_secs(100);

/// The outcome of a run.
#[derive(Default)]
pub struct Run {
    /// 128 and the signal's number if a signal ended the job; `None` if the job did not end.
    pub status: Option<i32>,
    /// Whether the fault happened.
    pub injected: bool,
    /// Time from the fault to the end of all processes; zero if there was no fault.
    pub took: Duration,
    pub out: String,
    pub err: String,
    /// The log of the LD_PRELOAD library: process, pid, call, time.
    pub fault: String,
    /// The processes that should have ended by then.
    pub stuck: String,
    /// Faults in the way the job ended.
    pub wrong: Vec<String>,
}

impl Run {
    pub fn status_text(&self) -> String {
        self.status.map_or("no end".into(), |status| format!("status {status}"))
    }
}

/// The environment variables of the job, except its mark.
fn variables(site: &Site, plan: &Plan) -> Vec<(String, String)> {
    let split = |setting: &&str| setting.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut variables: Vec<(String, String)> = plan.settings.iter().filter_map(split).collect();
    if let Trouble::Call { fault, .. } | Trouble::Delay { fault } = &plan.trouble {
        let log = site.work.path().join("fault");
        variables.push(("SOAK_FAULT".into(), fault.clone()));
        variables.push(("SOAK_LOG".into(), log.display().to_string()));
        variables.push(("LD_PRELOAD".into(), site.shim.display().to_string()));
    }
    if plan.how == How::Fork {
        variables.push(("GASNET_SCI_NODES".into(), plan.nodes.to_string()));
    }
    variables
}

/// Program and arguments.
fn words(site: &Site, plan: &Plan) -> Vec<String> {
    let mut words = Vec::new();
    if plan.how == How::Launcher {
        words.extend([site.launcher.display().to_string(), "-n".into(), plan.nodes.to_string()]);
    }
    words.push(site.program(plan).display().to_string());
    words.extend(plan.arguments());
    words
}

/// A command that a user can type to run the job without disturbance.
pub fn command_line(site: &Site, plan: &Plan) -> String {
    let variables: String = variables(site, plan).iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    variables + &words(site, plan).join(" ")
}

/// The command. If the plan has limits, it sets them for itself before it becomes the job.
fn command(site: &Site, plan: &Plan) -> Result<Command> {
    let words = words(site, plan);
    let limit = match plan.trouble {
        Trouble::Memory(megabytes) => Some(format!("ulimit -v {}", megabytes * 1024)),
        Trouble::Descriptors(count) => Some(format!("ulimit -n {count}")),
        Trouble::Cgroup(megabytes) => {
            let group = site.group.as_ref().context("a cgroup is planned only where there is one")?;
            group.limit(megabytes)?;
            Some(format!("echo $$ >{}", group.processes().display()))
        }
        _ => None,
    };
    let mut command = match limit {
        Some(limit) => {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("{limit} && exec \"$@\""), "sh"]).args(&words);
            command
        }
        None => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            command
        }
    };
    site.leftovers.mark(&mut command);
    command.env_remove("LD_LIBRARY_PATH").envs(variables(site, plan)).stdin(Stdio::null());
    command.stdout(File::create(site.work.path().join("out"))?).stderr(File::create(site.work.path().join("err"))?);
    Ok(command)
}

/// Runs the plan. After the job's end its processes may take `limit` to end.
pub fn run(site: &Site, plan: &Plan, limit: Duration) -> Result<Run> {
    let log = site.work.path().join("fault");
    let _ = fs::remove_file(&log); // mostly there is none
    let mut command = command(site, plan)?;
    let started_at = SystemTime::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command_line(site, plan)))?;
    let launcher = Pid::from_child(&child);
    let ended: OnceLock<SystemTime> = OnceLock::new();
    let mut run = Run::default();
    let mut done = thread::scope(|scope| {
        scope.spawn(|| {
            // Does not reap the process, so that no other one can get its number.
            while waitid(WaitId::Pid(launcher), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .is_err_and(|error| error == rustix::io::Errno::INTR)
            {}
            let _ = ended.set(SystemTime::now()); // only this thread sets it
        });
        let done = disturb(plan, &Target { launcher, ended: &|| ended.get().is_some() });
        let patience = Instant::now() + PATIENCE;
        while ended.get().is_none() && Instant::now() < patience {
            thread::sleep(Duration::from_micros(500));
        }
        if ended.get().is_none() {
            run.wrong.push(format!("no end within {} s", PATIENCE.as_secs()));
            run.stuck = site.leftovers.marked.describe();
            site.leftovers.marked.kill();
            let _ = child.kill(); // a shell may still be outside the target directory
        }
        done
    });
    let status = child.wait()?;
    if run.wrong.is_empty() {
        run.status = status.code().or(status.signal().map(|signal| 128 + signal));
    }
    run.fault = fs::read_to_string(&log).unwrap_or_default();
    note_fault(plan, &run, started_at, &mut done);
    run.injected = done.injected || done.fault_at.is_some();
    let ended_at = *ended.get().context("the job has been waited for")?;
    let gone_at = all_gone(site, ended_at, limit, &mut run);
    if let Some(fault_at) = done.fault_at {
        run.took = gone_at.duration_since(fault_at).unwrap_or_default();
    }
    let files = site.leftovers.files();
    if !files.is_empty() {
        run.wrong.push(format!("left behind: {files:?}"));
    }
    let read =
        |name: &str| fs::read(site.work.path().join(name)).map(|text| String::from_utf8_lossy(&text).into_owned());
    (run.out, run.err) = (read("out")?, read("err")?);
    Ok(run)
}

/// Notes the moment of a fault that the job causes itself.
fn note_fault(plan: &Plan, run: &Run, started_at: SystemTime, done: &mut Done) {
    let seconds = run.fault.lines().next().and_then(|line| line.split_whitespace().nth(3)?.parse::<f64>().ok());
    if let Some(seconds) = seconds {
        done.fault_at = Some(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds));
    }
    if plan.kind().is_limit() && run.status != Some(0) {
        done.fault_at = Some(started_at);
    }
}

/// Waits until all processes of the job have ended, and returns the time when the last one did. One
/// that still lives `limit` after the job's end is noted as wrong and killed.
fn all_gone(site: &Site, ended_at: SystemTime, limit: Duration, run: &mut Run) -> SystemTime {
    let mut gone_at = ended_at;
    while !site.leftovers.marked.processes().is_empty() {
        gone_at = SystemTime::now();
        if gone_at.duration_since(ended_at).is_ok_and(|since| since > limit) {
            run.wrong.push("left behind: processes".into());
            run.stuck = site.leftovers.marked.describe();
            site.leftovers.marked.kill();
            break;
        }
    }
    gone_at
}
