//! Which sections run, in which order, and their sum.

use super::Test;
use super::child;
use crate::repo::{Repo, outcome};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;
use std::{env, fs, process};

/// So many turns in a row try all sections of ci/sections.txt, each with so many seconds of the processors at most.
pub const TURNS: usize = 8;
pub const BUDGET: usize = 400;

/// A row of ci/sections.txt: a section that a run without arguments may leave out.
pub struct Optional {
    pub turn: usize,
    name: String,
    pub seconds: usize,
    paths: Vec<String>,
}

pub fn optional(repo: &Repo) -> Result<Vec<Optional>> {
    let text = repo.read("ci/sections.txt")?;
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        ensure!(fields.len() == 5, "ci/sections.txt: five fields, not: {line}");
        let paths = fields[3].split_whitespace().map(str::to_owned).collect();
        Ok(Optional { turn: fields[0].parse()?, name: fields[1].into(), seconds: fields[2].parse()?, paths })
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// The files that the change touches, in the working tree as well. Nothing where that cannot be known.
fn touched(repo: &Repo) -> Option<Vec<String>> {
    let git = |arguments: &[&str]| {
        let (good, text) = outcome(repo.command("git").args(arguments)).ok()?;
        good.then(|| text.trim().to_owned())
    };
    let base = match env::var("CI_BASE").ok().filter(|base| !base.is_empty()) {
        Some(base) => base,
        None => {
            let last: u64 = git(&["log", "-1", "--format=%ct"])?.parse().ok()?;
            git(&["rev-list", "-1", &format!("--before={}", last - 6 * 3600), "HEAD"])
                .filter(|base| !base.is_empty())?
        }
    };
    let files = git(&["diff", "--name-only", &base])? + "\n" + &git(&["ls-files", "--others", "--exclude-standard"])?;
    Some(files.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
        .filter(|files: &Vec<_>| !files.is_empty())
}

/// The sections that are left out: ci/sections.txt has the rules. Where the change cannot be known, it is everything.
fn left_out(test: &Test) -> Result<BTreeSet<String>> {
    let mut left = env::var("CI_BUDGET").map_or(Ok(BUDGET), |budget| budget.parse()).context("CI_BUDGET")?;
    let files = touched(&test.repo);
    let rows = optional(&test.repo)?;
    let mut out = BTreeSet::new();
    for i in 0..TURNS {
        for row in rows.iter().filter(|row| row.turn == (test.choice.turn + i) % TURNS) {
            let touches =
                |files: &Vec<String>| files.iter().any(|file| row.paths.iter().any(|path| file.starts_with(path)));
            let is_due = i == 0 || files.as_ref().is_none_or(touches);
            if is_due && row.seconds <= left {
                left -= row.seconds;
            } else {
                out.insert(row.name.clone());
            }
        }
    }
    Ok(out)
}

/// The lanes of a run without sections.
pub fn selection(test: &Test) -> Result<[Vec<&String>; 2]> {
    let out = if test.choice.thorough { BTreeSet::new() } else { left_out(test)? };
    let list = if out.is_empty() { "nothing".into() } else { Vec::from_iter(out.iter().cloned()).join(" ") };
    println!("turn {}; left out: {list}", test.choice.turn);
    let lanes = &test.rows.sections;
    let is_one = env::var("CI_LANES").is_ok_and(|lanes| lanes == "1");
    // The build for a section goes with it, and nobody waits for what does not come.
    let stays = |name: &&String| !out.contains(name.trim_start_matches('+').trim_end_matches("-build"));
    let lanes = if is_one { [lanes.alone.as_slice(), &[]] } else { [&lanes.jobs, lanes.computing.as_slice()] };
    Ok(lanes.map(|names| names.iter().filter(stays).collect()))
}

/// The sections that have ended, with their counts.
#[derive(Default)]
pub struct Lanes {
    done: Mutex<BTreeMap<String, (usize, usize)>>,
    ended: Condvar,
}

impl Lanes {
    /// Runs a section in a process of its own, and prints its result; `is_kept`: after its end, so that its lines stay together.
    pub fn section(&self, test: &Test, name: &str, is_low: bool, is_kept: bool) {
        let counts = self.try_section(test, name, is_low, is_kept).unwrap_or_else(|error| {
            let _ = writeln!(io::stdout(), "FAILED: section {name} did not finish: {error:#}; again: ci/test {name}");
            (0, 1)
        });
        self.done.lock().unwrap().insert(name.into(), counts);
        self.ended.notify_all();
    }

    fn try_section(&self, test: &Test, name: &str, is_low: bool, is_kept: bool) -> Result<(usize, usize)> {
        let file = test.leftovers.temporary().join(format!("counts.{name}"));
        let mut command = Command::new(if is_low { "nice" } else { "env" });
        if is_low {
            command.args(["-n", "19", "env", "CI_LIMIT=5400"]);
        }
        // This program, even if cargo has put another one in its place meanwhile.
        let program = format!("/proc/{}/exe", process::id());
        command.args([&program, "test", "--section", name]).arg(&file).args(&test.arguments);
        // A commit that is made meanwhile changes nothing.
        command.env("CI_TURN", test.choice.turn.to_string());
        // Ctrl-C comes to this process alone, which ends all others.
        test.leftovers.mark(command.process_group(0));
        if self.done.lock().unwrap().contains_key("stage") {
            command.env("CI_STAGED", &test.repo.stage);
        }
        let (ended, log) = if is_kept {
            child::logged(&mut command)?
        } else {
            (child::run(command.stdin(Stdio::null()))?, String::new())
        };
        let text = fs::read_to_string(&file).unwrap_or_default();
        let counts = text.split_once(' ').and_then(|(good, bad)| Some((good.parse().ok()?, bad.parse().ok()?)));
        let (said, (good, bad)) = match counts {
            Some(counts) => (String::new(), counts),
            None => (format!("FAILED: section {name} did not finish; again: ci/test {name}\n"), (0, 1)),
        };
        let (seconds, processors) = (ended.seconds, ended.processors);
        let counts = format!("{good} passed, {bad} failed; {seconds:.0} s, processors {processors:.0} s");
        // Nobody may read it any more. Then the other lane must not wait for this one.
        let _ = writeln!(io::stdout(), "{log}{said}-- {name}: {counts}");
        Ok((good, bad))
    }

    /// Runs sections one after the other, at the same time as the other lane. "+NAME" waits for the end of section NAME, which that one runs.
    fn lane(&self, test: &Test, names: &[&String], is_low: bool) {
        for name in names {
            match name.strip_prefix('+') {
                Some(other) => {
                    drop(self.ended.wait_while(self.done.lock().unwrap(), |done| !done.contains_key(other)).unwrap())
                }
                None => self.section(test, name, is_low, true),
            }
        }
    }

    /// Runs the lanes of a run without sections, beside each other.
    pub fn all(&self, test: &Test, [jobs, computing]: &[Vec<&String>; 2]) {
        thread::scope(|scope| {
            scope.spawn(|| self.lane(test, computing, true));
            self.lane(test, jobs, false);
        });
    }

    /// The sum of all sections. Returns true if nothing failed.
    pub fn finish(&self, test: &Test, begin: Instant) -> bool {
        let done = self.done.lock().unwrap();
        let (good, bad) = done.values().fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        let seconds = begin.elapsed().as_secs();
        println!("{} min {} s; seconds of each run: {}", seconds / 60, seconds % 60, test.times.display());
        println!("{good} passed, {bad} failed");
        bad == 0
    }
}
