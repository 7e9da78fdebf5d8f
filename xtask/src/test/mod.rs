//! `ci/test`: every check of this repository. Ends with "N passed, M failed".

mod cases;
mod child;
mod lanes;
#[cfg(test)]
mod pairs;
mod plan;
mod pool;
mod program;
mod programs;
mod rows;
mod scenarios;
mod sections;

pub use program::right_ends;
pub use programs::{ProgramsOptions, run as run_programs};
pub use rows::Rows;

use crate::leftovers::{Leftovers, clear_on_signals};
use crate::repo::{Repo, outcome};
use anyhow::{Context, Result, bail};
use clap::Args;
use lanes::Lanes;
use plan::{Choice, Run};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

const USAGE: &str = "\
ci/test                                what the change may have broken, and a share of the rest that depends on the commit
ci/test quick                          what a change meets first: fmt, clippy, cargo doc, unit tests, stale tables, fifteen C programs
ci/test WHAT...                        sections: those of ci/rows/sections.toml
ci/test c [PROGRAM [NODES [BUILD]]]    some runs of C programs: ci/test c testam 4 par; . stands for all
ci/test scenarios [PATTERN]            the cases of c-tests/*/scenarios.txt whose line matches, but those of timing mode (ci/test timed)
ci/test --thorough ...                 all sections, each C program in all rows of its table and all products where ci/test has
                                       pairs (ci/rows/builds.toml), each scenario with each number of nodes in each build, all with -O2
ci/test --plan ...                     prints the runs of C programs and the scenarios instead

Without arguments it leaves out sections that the change does not touch, and of those that it touches what would take too long:
ci/sections.txt has the rules. The change is what came within six hours before the last commit, or since the commit CI_BASE. Each run
tries one third of the rows for each C program, and each scenario in one of its builds. The commit's hash says which: CI_TURN=N
repeats the choice of another run, and eight turns in a row try all rows and sections, but of arm and hosts a share. CONTRIBUTING.md says what each of these cuts could miss.

Prints the time of each section, by the clock and of the processors; target/ci-times.txt has that of each run. CI_LANES=1 runs one
thing at a time. CI_SLOTS=N lets N nodes of C programs run at the same time (default: the number of cores).";

/// all checks: ci/test is its door
#[derive(Args)]
#[command(override_usage = USAGE)]
pub struct Options {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// What a run of ci/test and its sections know.
pub struct Test {
    repo: Repo,
    rows: Rows,
    choice: Choice,
    /// Instead of running programs, print which.
    is_plan: bool,
    slots: usize,
    /// Seconds that a check or a script may take. The lane that gets what the other one leaves of the processors has more.
    limit: u64,
    times: PathBuf,
    leftovers: Leftovers,
    /// Those of the section's process.
    arguments: Vec<String>,
}

fn number(variable: &str) -> Result<Option<usize>> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty());
    text.map(|text| text.parse().with_context(|| format!("{variable}={text} is no number"))).transpose()
}

/// One of 840 turns, which divide by the numbers of sections, of programs that share rows and of builds that share scenarios. It comes from the hash
/// of the commit, so that runs of any choice of commits try all in time.
fn turn(repo: &Repo) -> usize {
    let hash = outcome(repo.command("git").args(["rev-parse", "HEAD"])).map(|(_, text)| text).unwrap_or_default();
    hash.get(..8).and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or_default() % 840
}

impl Test {
    fn new(repo: &Repo, thorough: bool, is_plan: bool, arguments: Vec<String>) -> Result<Test> {
        let turn = number("CI_TURN")?.unwrap_or_else(|| turn(repo));
        let cores = repo.cores;
        Ok(Test {
            repo: Repo::find()?,
            rows: Rows::read(repo)?,
            choice: Choice { turn, thorough, cores, wish: Vec::new() },
            is_plan,
            slots: number("CI_SLOTS")?.unwrap_or(cores),
            limit: number("CI_LIMIT")?.unwrap_or(1800) as u64,
            times: env::var_os("CI_TIMES").map_or_else(|| repo.target.join("ci-times.txt"), PathBuf::from),
            leftovers: Leftovers::new(&repo.target)?,
            arguments,
        })
    }

    fn describe(&self, run: &Run) -> String {
        let Run { weight, build, nodes, how, program, environment } = run;
        let text = format!("{weight} {} {nodes} {how} {program}|{environment}", build.directory());
        text.replace(&*self.repo.root.to_string_lossy(), "$root")
    }
}

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    let begin = Instant::now();
    let mut words = options.arguments.as_slice();
    let mut section = None;
    if let [first, name, file, rest @ ..] = words
        && first == "--section"
    {
        section = Some((name, file));
        words = rest;
    }
    let arguments = words.to_vec();
    let mut flag = |flag: &str| match words {
        [first, rest @ ..] if first == flag => {
            words = rest;
            true
        }
        _ => false,
    };
    let (thorough, is_plan) = (flag("--thorough"), flag("--plan"));
    let mut test = Test::new(repo, thorough, is_plan, arguments)?;
    let sections = &test.rows.sections;
    let mut wanted = words.to_vec();
    if let [first, second, ..] = words
        && ["c", "scenarios"].contains(&first.as_str())
        && !sections.section.contains_key(second)
    {
        test.choice.wish = words[1..].to_vec();
        wanted.truncate(1);
    } else if words == ["quick"] {
        wanted.clone_from(&sections.quick);
    }
    if let Some(unknown) = wanted.iter().find(|name| !sections.section.contains_key(*name)) {
        let known: Vec<&str> = sections.section.keys().map(String::as_str).collect();
        bail!("ci/test has no section {unknown}, but {}\n\n{USAGE}", known.join(" "));
    }
    if let Some((name, file)) = section {
        let (passed, failed) = sections::body(&test, name)?;
        fs::write(file, format!("{passed} {failed}"))?;
        return Ok(true);
    }
    let chosen = if wanted.is_empty() { Some(lanes::selection(&test)?) } else { None };
    if is_plan {
        chosen.iter().flatten().for_each(|lane| println!("{lane:?}"));
        return wanted.iter().try_for_each(|name| sections::body(&test, name).map(drop)).map(|()| true);
    }
    fs::write(&test.times, "").with_context(|| format!("cannot write {}", test.times.display()))?;
    let runs = test.leftovers.marked.everyone();
    clear_on_signals(vec![test.leftovers.temporary().into()], move || runs.end())?;
    let lanes = Lanes::default();
    wanted.iter().for_each(|name| lanes.section(&test, name, false, false));
    chosen.iter().for_each(|chosen| lanes.all(&test, chosen));
    Ok(lanes.finish(&test, begin))
}
