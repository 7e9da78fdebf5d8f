//! Finds what a run may leave behind: processes and files. A run is marked by an environment variable that its
//! processes inherit.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

#[path = "../../testkit/marked.rs"]
mod marked;

/// The variable that marks a run; ci/lib.sh has the same.
const MARK: &str = "GASNET_CI_MARK";

/// Directories that other programs use too, and in which files with our names could appear.
const COMMON: [&str; 4] = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];

/// Finds what marked processes leave behind.
pub struct Leftovers {
    pub marked: Marked,
    /// A directory of the jobs' own for temporary files.
    temporary: TempDir,
    before: BTreeSet<PathBuf>,
}

/// Finds the processes of the runs.
#[derive(Clone)]
pub struct Marked {
    mark: String,
    /// Programs outside this directory are not ours, even if they inherited the mark.
    target: PathBuf,
}

impl Leftovers {
    pub fn new(target: &Path) -> Result<Leftovers> {
        let target = target.canonicalize().context("the target directory is there")?;
        // Behind that of whoever started this process, who finds what we leave.
        let outer = std::env::var(MARK).map(|mark| mark + ".").unwrap_or_default();
        let mark = format!("{outer}{}.{}", std::process::id(), fastrand::u32(..));
        Ok(Leftovers { marked: Marked { mark, target }, temporary: tempfile::tempdir()?, before: our_names() })
    }

    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Marks what `command` starts, and removes our settings from its environment.
    pub fn mark(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("GASNET_")) {
                command.env_remove(name);
            }
        }
        self.marked.mark(command).env("TMPDIR", self.temporary());
    }

    /// What is left, as text: processes, which have three seconds to end and are killed then, and files.
    pub fn everything(&self) -> String {
        for _ in 0..30 {
            if self.marked.processes().is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let mut left = self.marked.describe();
        self.marked.kill();
        left.extend(self.files().iter().map(|file| format!("{}\n", file.display())));
        left
    }

    /// New files with our names in common directories, and all files in the jobs' own directory. The latter are
    /// removed.
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
    /// All processes of the runs, of whatever program.
    pub fn everyone(&self) -> Marked {
        Marked { mark: self.mark.clone(), target: "/".into() }
    }

    /// Those of one of the runs, which `mark` marks, of whatever program.
    pub fn part(&self, number: usize) -> Marked {
        Marked { mark: format!("{}.{number}", self.mark), target: "/".into() }
    }

    pub fn mark<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(MARK, &self.mark)
    }

    /// Marked processes that are still alive, and those whose mark begins with this one.
    pub fn processes(&self) -> Vec<Pid> {
        let is_ours =
            |pid: &i32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|file| file.starts_with(&self.target));
        let pids = marked::processes(MARK, &self.mark).into_iter();
        pids.filter(is_ours).filter_map(Pid::from_raw).collect()
    }

    /// Kills all marked processes.
    pub fn kill(&self) {
        // A process that has ended meanwhile makes the call fail, which does no harm.
        for pid in self.processes() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Ends all marked processes: asks them, so that scripts clean up behind them, and kills those that have not ended after five seconds.
    pub fn end(&self) {
        let mut asked = BTreeSet::new();
        for round in 0..100 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            for pid in left {
                if round >= 50 {
                    let _ = kill_process(pid, Signal::KILL); // it may have ended
                } else if asked.insert(pid.as_raw_nonzero()) {
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Describes the marked processes and what each of their threads does.
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

/// Set when a signal has come that ends this process.
static ENDING: OnceLock<()> = OnceLock::new();

/// Returns unless this process is ending. What comes next would be started behind the back of whoever ends it, or be told as a failure.
pub fn go_on() {
    while ENDING.get().is_some() {
        thread::park();
    }
}

/// Makes a signal that ends this process remove directories, after `before`.
pub fn clear_on_signals(directories: Vec<PathBuf>, before: impl Fn() + Send + 'static) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            ENDING.get_or_init(|| ());
            before();
            // What cannot be removed is left to the next run.
            directories.iter().for_each(|directory| drop(fs::remove_dir_all(directory)));
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// Files with our names in common directories. Our own cgroup and directories are elsewhere.
fn our_names() -> BTreeSet<PathBuf> {
    let entries = COMMON.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let ours = |path: &PathBuf| {
        // A compiler that somebody runs meanwhile has objects there while it links.
        let object = name_of(path).ends_with(".o") || name_of(path).ends_with(".o.tmp");
        has_our_name(path) && !object && !is_registry(path)
    };
    entries.map(|entry| entry.path()).filter(ours).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

pub fn has_our_name(path: &Path) -> bool {
    name_of(path).contains("gasnet") || name_of(path).contains("gasnt")
}

/// Whether it is the directory in which launchers note the jobs of a user. It stays.
pub fn is_registry(path: &Path) -> bool {
    name_of(path).strip_prefix("gasnet-sci-").is_some_and(|user| user.parse::<u32>().is_ok())
}
