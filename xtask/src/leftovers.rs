//! What a run may leave behind: processes, files. A run is marked by an environment variable, which its processes inherit.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Where names of ours could come up that other programs use, too.
const COMMON: [&str; 4] = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];

/// Finds what marked processes leave.
pub struct Leftovers {
    pub marked: Marked,
    /// The jobs' own place for temporary files.
    temporary: TempDir,
    before: BTreeSet<PathBuf>,
}

/// Finds the processes of the runs.
#[derive(Clone)]
pub struct Marked {
    mark: String,
    /// Programs outside it are none of ours, whatever they inherited.
    target: PathBuf,
}

impl Leftovers {
    pub fn new(target: &Path) -> Result<Leftovers> {
        let target = target.canonicalize().context("the target directory is there")?;
        let mark = format!("{}.{}", std::process::id(), fastrand::u32(..));
        Ok(Leftovers { marked: Marked { mark, target }, temporary: tempfile::tempdir()?, before: our_names() })
    }

    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Makes what `command` starts recognisable, and takes settings of ours away.
    pub fn mark(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("GASNET_")) {
                command.env_remove(name);
            }
        }
        command.env("GASNET_CI_MARK", &self.marked.mark).env("TMPDIR", self.temporary());
    }

    /// New names of ours in common places, and anything in the jobs' own; the latter is removed.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = our_names().difference(&self.before).cloned().collect();
        for entry in fs::read_dir(self.temporary()).into_iter().flatten().flatten() {
            let path = entry.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.unwrap_or_else(|error| eprintln!("cannot remove {}: {error}", path.display()));
            found.push(path);
        }
        found
    }
}

impl Marked {
    /// Marked processes that are alive.
    pub fn processes(&self) -> Vec<Pid> {
        let mark = format!("GASNET_CI_MARK={}", self.mark);
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = |number: &i32| {
            // Of a process that is about to go, either may be unreadable.
            let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
                && fs::read_link(format!("/proc/{number}/exe")).is_ok_and(|file| file.starts_with(&self.target))
        };
        numbers.filter(ours).filter_map(Pid::from_raw).collect()
    }

    /// Kills all marked processes.
    pub fn kill(&self) {
        // One that has gone by itself meanwhile is as good.
        for pid in self.processes() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// What the marked processes are and what each of their threads does.
    pub fn describe(&self) -> String {
        let read = |path: String| fs::read_to_string(path).unwrap_or_default();
        let mut text = String::new();
        for pid in self.processes() {
            let directory = format!("/proc/{}", pid.as_raw_nonzero());
            text += &format!("process {pid:?}: {}\n", read(format!("{directory}/cmdline")).replace('\0', " "));
            for task in fs::read_dir(format!("{directory}/task")).into_iter().flatten().flatten() {
                let task = task.path().display().to_string();
                let status = read(format!("{task}/status"));
                let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or("?").trim();
                let (place, call) = (read(format!("{task}/wchan")), read(format!("{task}/syscall")));
                let call: Vec<&str> = call.split_whitespace().take(3).collect();
                text += &format!("  thread {task}: {state}, {place}, {}\n", call.join(" "));
            }
        }
        text
    }
}

/// What lies in common places under a name of ours. Our own cgroup and directories have other places.
fn our_names() -> BTreeSet<PathBuf> {
    let entries = COMMON.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        name.contains("gasnet") || name.contains("gasnt")
    };
    entries.map(|entry| entry.path()).filter(ours).collect()
}
