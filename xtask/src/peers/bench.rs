//! Runs one way of one peer, and decides what happens if it fails.

use super::options::Options;
use super::programs;
use super::samples::{Sample, Samples};
use crate::leftovers::Leftovers;
use crate::repo::Repo;
use anyhow::{Result, bail};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// The name of our own library. Without its figures there is nothing to compare.
pub const OURS: &str = "gasnet-sci";

pub struct Bench<'a> {
    pub options: &'a Options,
    programs: PathBuf,
    pub launcher: PathBuf,
    pub cores: usize,
    pub samples: Samples,
    pub directory: TempDir,
    leftovers: Leftovers,
    /// Whether this process may make hosts of namespaces; unknown until it is needed.
    namespaces: Option<bool>,
    /// Failures of ways that had worked before, or that no machine may lack.
    pub failures: usize,
    /// Ways that failed with this many nodes before they ever worked. They are left out from then on.
    broken: HashSet<(String, usize)>,
}

impl<'a> Bench<'a> {
    pub fn new(repo: &Repo, options: &'a Options) -> Result<Bench<'a>> {
        Ok(Bench {
            options,
            programs: programs::directory(repo),
            launcher: repo.stage.join("bin/gasnetrun_sci"),
            cores: repo.cores,
            samples: Samples::default(),
            directory: tempfile::tempdir()?,
            leftovers: Leftovers::new(&repo.target)?,
            namespaces: None,
            failures: 0,
            broken: HashSet::new(),
        })
    }

    /// A program that was built, by its name.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.program(name).exists()
    }

    /// A command with a time limit in seconds. The caller's settings for any of the libraries are removed.
    pub fn command(&self, seconds: u64, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &seconds.to_string()]).stdin(std::process::Stdio::null());
        self.leftovers.mark(&mut command);
        let foreign = |name: &str| name.starts_with("OMPI_") || name.starts_with("UCX_") || name == "LD_LIBRARY_PATH";
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(foreign)) {
            command.env_remove(name);
        }
        if self.options.realtime {
            command.args(["chrt", "-r", "50"]);
        }
        command.arg(program);
        command
    }

    /// Whether ci/netlab can make two hosts here. Says which hosts they are when it is first asked.
    pub fn namespaces(&mut self) -> Result<bool> {
        if let Some(known) = self.namespaces {
            return Ok(known);
        }
        let mut command = self.command(60, std::env::current_exe()?);
        let output = command.args(["netlab", "hosts", "2", "--", "true"]).output()?;
        let permitted = output.status.success();
        println!("two hosts: {}", if permitted { "namespaces of ci/netlab" } else { "this one, over its own TCP" });
        self.namespaces = Some(permitted);
        Ok(permitted)
    }

    pub fn is_broken(&self, how: &str, nodes: usize) -> bool {
        self.broken.contains(&(how.to_owned(), nodes))
    }

    /// Runs a program that prints its samples.
    pub fn job(&mut self, how: &str, nodes: usize, command: &mut Command) -> Result<()> {
        if self.is_broken(how, nodes) {
            return Ok(());
        }
        let output = command.output()?;
        if output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines().filter_map(|line| Sample::parse(how, line)).for_each(|sample| self.samples.add(sample));
        } else {
            self.failed(how, nodes, &format!("{command:?}"), &String::from_utf8_lossy(&output.stderr));
            if how == OURS {
                bail!("our own side failed");
            }
        }
        Ok(())
    }

    /// Leaves out a way that fails from then on, unless it has worked before: then the machine may just have been
    /// busy.
    pub fn failed(&mut self, how: &str, nodes: usize, what: &str, err: &str) {
        let worked = self.samples.has(how);
        self.failures += usize::from(worked || !how.starts_with("openmpi"));
        let later = if worked {
            "; the other rounds count"
        } else {
            self.broken.insert((how.to_owned(), nodes));
            ", and left out from here on"
        };
        println!("FAILED{later}: {how} on {nodes} nodes: {what}");
        let lines: Vec<&str> = err.lines().collect();
        for line in &lines[lines.len().saturating_sub(5)..] {
            println!("    {}", line.chars().take(160).collect::<String>());
        }
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        self.leftovers.marked.kill();
    }
}
