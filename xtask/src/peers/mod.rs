//! Compares our speed with that of OpenMPI (messages, one-sided, collectives), OpenSHMEM and UCX. All libraries run
//! the same patterns on the same cores in one run. They take turns, so that drift of the machine hits all alike. The
//! result is one table, and a file for the page of results.
//!
//! Each peer may use its best way: in each cell the value of the best one counts.

mod bench;
mod bounds;
mod deck;
mod options;
mod programs;
mod samples;
mod ucx;
mod ways;

pub use options::Options;

use crate::repo::Repo;
use crate::results::{self, Host, Row};
use anyhow::{Result, bail};
use bench::Bench;
use std::io::{IsTerminal, Write, stdout};
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    let sections = options.sections()?;
    if options.deck {
        return deck::run(repo, options);
    }
    repo.set_up("gcc mpicc ucx_perftest")?;
    repo.make_stage()?;
    programs::build_peers(repo)?;
    let mut bench = Bench::new(repo, options)?;
    let quick = if options.quick { ", quick" } else { "" };
    println!("{} rounds, each peer in turn{quick}", options.rounds);
    for round in 1..=options.rounds {
        for section in &sections {
            progress(&format!("round {round} of {}: {section}", options.rounds));
            let nodes: &[usize] = if matches!(*section, "am" | "rma" | "hosts") { &[2] } else { &[2, 4] };
            for &nodes in nodes {
                ways::all(&mut bench, section, nodes)?;
            }
        }
    }
    progress("");
    show(repo, &bench, bench.samples.results())
}

/// Shows which step is under way, if stdout is a terminal.
fn progress(text: &str) {
    if stdout().is_terminal() {
        print!("\r{text:40}\r");
        let _ = stdout().flush(); // a closed terminal does no harm
    }
}

/// Writes the file of results and lets `gasnet-sci page` show it.
fn show(repo: &Repo, bench: &Bench, results: Vec<Row>) -> Result<bool> {
    let host = Host::look(thread::available_parallelism()?.get());
    let options = bench.options;
    let file = results::Bench {
        version: results::VERSION,
        host,
        tricks: None,
        rounds: options.rounds,
        results,
        missing: Vec::new(),
    };
    let rows = bench.directory.path().join("peers.json");
    fs::write(&rows, format!("{}\n", serde_json::to_string_pretty(&file)?))?;
    let mut page = Command::new(repo.stage.join("bin/gasnet-sci"));
    page.arg("page");
    let earlier = |file: &&Path| fs::metadata(file).is_ok_and(|data| data.len() > 0);
    for (name, file) in [("--json", &options.json), ("--html", &options.html)] {
        page.args(file.iter().flat_map(|file| [Path::new(name), file.as_path()]));
    }
    page.args(options.json.as_deref().filter(earlier)).arg(&rows);
    let status = page.status()?;
    if !status.success() {
        bail!("gasnet-sci page: {status}");
    }
    Ok(true)
}
