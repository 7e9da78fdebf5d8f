//! Jobs on hosts, or on this machine alone: how they are started, what they print, and what they leave.

use super::hosts::{Hosts, Network};
use super::remote::code_of;
use crate::leftovers::{Leftovers, clear_on_signals};
use crate::repo::Repo;
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};
use std::{env, thread};
use tempfile::TempDir;

/// Between two turns of a loop that sleeps for a millisecond: this process was stopped meanwhile.
const STILL: Duration = Duration::from_secs(1);
/// How long processes of a job may take to end after its first, or after a host was stopped that they are on.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// The nodes on each host.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout(pub Vec<usize>);

impl FromStr for Layout {
    type Err = anyhow::Error;

    /// HOSTSxNODES or NODES+NODES+...
    fn from_str(text: &str) -> Result<Layout> {
        let number = |word: &str| word.parse::<usize>().ok().filter(|number| (1..=64).contains(number));
        let list = match text.split_once('x') {
            Some((hosts, nodes)) => number(hosts).and_then(|hosts| Some(vec![number(nodes)?; hosts])),
            None => text.split('+').map(number).collect(),
        };
        Ok(Layout(list.with_context(|| format!("{text}: HOSTSxNODES or NODES+NODES+... is wanted"))?))
    }
}

impl Layout {
    pub fn nodes(&self) -> usize {
        self.0.iter().sum()
    }

    pub fn several_hosts(&self) -> bool {
        self.0.len() > 1
    }

    /// Options of the launcher.
    fn options(&self, names: &[String]) -> Vec<String> {
        let mut options = vec!["-n".to_owned(), self.nodes().to_string()];
        if self.several_hosts() {
            let list: Vec<String> = names.iter().zip(&self.0).map(|(name, nodes)| format!("{name}:{nodes}")).collect();
            options.extend(["-N".into(), self.0.len().to_string(), "--host".into(), list.join(",")]);
        }
        options
    }
}

/// What all jobs of a run share.
pub struct Bench {
    pub layout: Layout,
    pub hosts: Option<Hosts>,
    pub leftovers: Leftovers,
    launcher: PathBuf,
    /// For what the jobs print. Their temporary files go elsewhere, to a directory that must stay empty.
    work: TempDir,
}

/// A job that was started.
pub struct Job {
    pub child: Child,
    pub start: Instant,
}

/// What was seen at the end of a job.
#[derive(Default)]
pub struct End {
    pub outcome: Outcome,
    /// What its processes did, if it did not end.
    pub stuck: String,
    /// What had to be killed or removed.
    pub left: Vec<String>,
}

/// How a job ended.
#[derive(Default)]
pub struct Outcome {
    /// `None`: it did not end.
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Bench {
    /// Makes the hosts, if the layout has several.
    pub fn make(repo: &Repo, layout: Layout, network: &Network) -> Result<Bench> {
        let hosts = layout.several_hosts().then(|| Hosts::start(&repo.target, layout.0.len(), network)).transpose()?;
        let (leftovers, work) = (Leftovers::new(&repo.target)?, tempfile::tempdir()?);
        let mut directories = vec![work.path().to_path_buf(), leftovers.temporary().to_path_buf()];
        directories.extend(hosts.iter().map(|hosts| hosts.directory.path().to_path_buf()));
        let marked = leftovers.marked.clone();
        clear_on_signals(directories, move || marked.kill())?;
        Ok(Bench { layout, hosts, leftovers, launcher: repo.stage.join("bin/gasnetrun_sci"), work })
    }

    /// The words of a job.
    pub fn words(&self, program: &[String]) -> Vec<String> {
        let names = self.hosts.as_ref().map(Hosts::names).unwrap_or_default();
        let launcher = self.launcher.display().to_string();
        [vec![launcher], self.layout.options(&names), program.to_vec()].concat()
    }

    /// Starts a job.
    pub fn start(&self, program: &[String], environment: &[(&str, &str)]) -> Result<Job> {
        let words = self.words(program);
        let mut command = match &self.hosts {
            Some(hosts) => hosts.command(&words[0])?,
            None => std::process::Command::new(&words[0]),
        };
        self.leftovers.mark(&mut command);
        if let Some(hosts) = &self.hosts {
            // Its directory for temporary files is not there in the host.
            command.env("GASNET_SCI_RSH", hosts.rsh()).env_remove("TMPDIR");
        }
        command.args(&words[1..]).env_remove("LD_LIBRARY_PATH").envs(environment.iter().copied()).stdin(Stdio::null());
        command.stdout(File::create(self.work.path().join("out"))?);
        command.stderr(File::create(self.work.path().join("err"))?);
        let start = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", words.join(" ")))?;
        Ok(Job { child, start })
    }

    /// What the job has printed so far.
    pub fn printed(&self) -> String {
        fs::read(self.work.path().join("out"))
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .unwrap_or_default()
    }

    /// The end of a job that was waited for. Kills what is left of it.
    pub fn end(&self, job: &mut Job, status: Option<i32>) -> Result<End> {
        let until = Instant::now() + AFTERWARDS;
        while status.is_some() && self.alive() > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        let stuck = if status.is_none() { self.leftovers.marked.describe() } else { String::new() };
        let left = self.clear();
        if status.is_none() {
            let _ = job.child.kill(); // it may have ended meanwhile; what it was started with is not of the job's own
            job.child.wait()?;
        }
        let err = fs::read(self.work.path().join("err")).unwrap_or_default();
        let outcome = Outcome { status, out: self.printed(), err: String::from_utf8_lossy(&err).into_owned() };
        Ok(End { outcome, stuck, left })
    }

    /// Processes that still are, of the job on any host or, by their mark, on this machine.
    pub fn alive(&self) -> usize {
        let on_hosts = self.hosts.iter().flat_map(|hosts| &hosts.hosts).map(|host| host.processes().len());
        on_hosts.sum::<usize>().max(self.leftovers.marked.processes().len())
    }

    /// Removes what a job left, and says what it was.
    fn clear(&self) -> Vec<String> {
        let mut found: Vec<String> = self.leftovers.files().iter().map(|path| path.display().to_string()).collect();
        found.extend(self.hosts.iter().flat_map(|hosts| hosts.left(Duration::ZERO)));
        let described = self.leftovers.marked.describe();
        found.extend(described.lines().map(str::to_owned));
        self.leftovers.marked.kill();
        self.hosts.iter().for_each(Hosts::clear);
        found
    }
}

impl Job {
    /// Waits for its end, at most until then. The time in which this process itself stood still, because the machine did or because
    /// somebody stopped all that runs here, does not count.
    pub fn wait(&mut self, mut until: Instant) -> Result<Option<i32>> {
        let mut turn = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(code_of(status)));
            }
            let still = turn.elapsed();
            if still > STILL {
                eprintln!("netlab: this process stood still for {} ms", still.as_millis());
                until += still;
            }
            turn = Instant::now();
            if turn >= until {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Builds C programs, and returns the directory of a build.
pub fn build(repo: &Repo, build: &str, programs: &[String]) -> Result<PathBuf> {
    let profile = env::var("CI_PROFILE").ok().filter(|profile| profile != "release");
    let mut command = repo.command("ci/c-tests");
    let status = command.arg(build).args(programs.iter().flat_map(|name| ["--only", name])).status()?;
    ensure!(status.success(), "the C programs did not build");
    let directory = profile.map_or(build.to_owned(), |profile| format!("{build}-{profile}"));
    Ok(repo.target.join("c-tests").join(directory))
}

/// How long processes may still end after their job.
pub const PATIENCE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_options_of_the_launcher() {
        let names = ["hA", "hB", "hC"].map(str::to_owned);
        let words = |text: &str| text.parse::<Layout>().unwrap().options(&names).join(" ");
        assert_eq!(words("1x4"), "-n 4");
        assert_eq!(words("2x2"), "-n 4 -N 2 --host hA:2,hB:2");
        assert_eq!(words("2+1+1"), "-n 4 -N 3 --host hA:2,hB:1,hC:1");
        for bad in ["", "x", "2x", "0x4", "1+", "2y2"] {
            assert!(bad.parse::<Layout>().is_err(), "{bad}");
        }
    }
}
