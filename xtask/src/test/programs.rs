//! `cargo xtask programs`: the lists of C programs, and runs of them, for scripts.

use super::pool::pool;
use super::program::{self, RUN_LIMIT, Start};
use super::rows::Rows;
use crate::leftovers::{Leftovers, clear_on_signals};
use crate::repo::Repo;
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// the names of C programs of lists in ci/rows/programs.toml; with --run, runs those on standard input
#[derive(Args)]
pub struct ProgramsOptions {
    lists: Vec<String>,
    /// lines PROGRAM|NODES|HOW|ENVIRONMENT|AGAIN: path, number, fork or launcher with options of its own, assignments, and what
    /// repeats the run. Ends with "programs: N passed, M failed"
    #[arg(long, conflicts_with = "lists")]
    run: bool,
    /// so many nodes at the same time, but those of a job count as at most one per core; default: the cores
    #[arg(long, value_name = "N")]
    slots: Option<usize>,
    /// for a run
    #[arg(long, value_name = "SECONDS", default_value_t = RUN_LIMIT)]
    limit: u64,
    /// gets a line per run: seconds, seconds of the processors, the run
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
}

struct Line {
    fields: Vec<String>,
    nodes: usize,
}

pub fn run(repo: &Repo, options: &ProgramsOptions) -> Result<bool> {
    let rows = Rows::read(repo)?;
    if !options.run {
        for list in &options.lists {
            rows.names(list)?.for_each(|name| println!("{name}"));
        }
        return Ok(true);
    }
    let parse = |line: io::Result<String>| {
        let line = line?;
        let mut fields: Vec<String> = line.split('|').map(|field| field.trim().to_owned()).collect();
        fields.resize(5, String::new());
        let nodes =
            fields[1].parse().with_context(|| format!("PROGRAM|NODES|HOW|ENVIRONMENT|AGAIN is wanted, not {line}"))?;
        Ok(Line { fields, nodes })
    };
    let mut lines = io::stdin().lines().map(parse).collect::<Result<Vec<Line>>>()?;
    let weight = |line: &Line| line.nodes.min(repo.cores);
    lines.sort_by_key(weight); // those of one node first
    let slots = options.slots.unwrap_or(repo.cores);
    let leftovers = Leftovers::new(&repo.target)?;
    let runs = leftovers.marked.everyone();
    clear_on_signals(vec![leftovers.temporary().into()], move || runs.end())?;
    let outcomes = pool(slots, &lines, weight, |line| {
        let (program, how, environment) = (Path::new(&line.fields[0]), &line.fields[2], &line.fields[3]);
        let start = Start { program, nodes: line.nodes, how, environment, limit: options.limit };
        program::run(repo, &rows, &leftovers, &start)
    });
    let (mut passed, mut failed, mut times) = (0, 0, String::new());
    for (line, outcome) in lines.iter().zip(outcomes) {
        let outcome = outcome?;
        times += &format!("programs {} {}\n", outcome.ended.times(), line.fields[..4].join(" "));
        if outcome.failed.is_empty() {
            passed += 1;
            continue;
        }
        failed += 1;
        print!("{}", outcome.failed);
        if !line.fields[4].is_empty() {
            println!("again: {}", line.fields[4]);
        }
    }
    if let Some(file) = &options.times {
        fs::write(file, times).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let left = leftovers.everything();
    if !left.is_empty() {
        failed += 1;
        println!("FAILED: left behind by the C programs:\n{left}");
    }
    println!("programs: {passed} passed, {failed} failed");
    Ok(failed == 0)
}
