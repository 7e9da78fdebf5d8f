//! `--deck`: mail boxes beside what else moves messages on one host, and the three applications of c-tests/apps/deck over mail boxes and
//! over MPI, in turns on the same cores.

use super::bench::Bench;
use super::options::Options;
use super::programs::{build, directory};
use super::samples::Sample;
use super::ways::{launch, openmpi_ways};
use super::{bounds, progress, show};
use crate::repo::Repo;
use crate::results::Row;
use anyhow::{Context, Result, bail};
use regex_lite::Regex;
use std::collections::BTreeSet;
use std::process::Command;

/// Part, case, options of a full run, options of a quick one.
#[rustfmt::skip] // a table
const CASES: [(&str, &str, &str, &str); 5] = [
    ("mandelbrot", "mandelbrot", "--full", "--size 768 --iterations 4000"),
    ("laplace", "laplace-light", "--full --mode light", "--mode light --iterations 60"),
    ("laplace", "laplace-balanced", "--full --mode balanced", "--mode balanced --iterations 300"),
    ("laplace", "laplace-heavy", "--full --mode heavy", "--mode heavy --iterations 2000"),
    ("ray", "ray", "--full", "--width 400 --height 300"),
];

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    let sections = options.sections()?;
    let wants = |part: &str| sections.contains(&part);
    repo.set_up("gcc")?;
    repo.make_stage()?;
    let mut bench = Bench::new(repo, options)?;
    if wants("messages") {
        build_messages(repo)?;
        for round in 1..=options.rounds {
            progress(&format!("round {round} of {}: messages", options.rounds));
            messages(&mut bench)?;
        }
    }
    for (part, case, full, quick) in CASES.into_iter().filter(|case| wants(case.0)) {
        build_application(repo, part)?;
        application(&mut bench, part, case, if options.quick { quick } else { full })?;
    }
    progress("");
    if wants("live") {
        build_application(repo, "mandelbrot")?;
        let live = repo.command("bash").arg("ci/deck-live.sh").args(options.quick.then_some("quick")).status()?;
        bench.failures += usize::from(!live.success());
    }
    let mut rows = bench.samples.results();
    if !rows.is_empty() {
        quotients(&mut rows);
        for Row { who, how, operation, bytes, median, low, high, unit, .. } in &rows {
            let how = how.as_deref().unwrap_or_default();
            println!("{who:<20} {how:<26} {operation:<54} {bytes:>8} {median:>12.3} {low:>12.3} {high:>12.3} {unit}");
        }
        rows.extend(bounds::rows(&rows));
        show(repo, &bench, rows)?;
    }
    println!("bench-deck: {} failed", bench.failures);
    Ok(bench.failures == 0)
}

/// Builds a program of a library that may be missing. As root it is installed then.
fn build_peer(repo: &Repo, tool: &str, source: &str, flags: &[String]) -> Result<()> {
    let compiler = if tool == "mpicc" { tool } else { "gcc" };
    if build(repo, compiler, source, flags).is_ok() {
        return Ok(());
    }
    if repo.set_up(tool).is_err() {
        println!("skipped: {source}: {tool} is not there");
        return Ok(());
    }
    build(repo, compiler, source, flags).map(drop)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn build_messages(repo: &Repo) -> Result<()> {
    let ours = |flags: &str| [words(flags), repo.client_flags()].concat();
    // The bare ring is the one that gasnet-sci bench measures.
    let ring = "cli/src/gasnet-sci/bench/kernels/limits.c";
    let ring = build(repo, "gcc", ring, &ours("-std=c11 -O2 -DGASNET_SEQ -c"))?;
    let ring = ring.to_str().context("the target directory's name is text")?.to_owned();
    let source = |name| format!("c-tests/peers/{name}.c");
    build(repo, "gcc", &source("mbox-deck"), &[vec![ring], ours("-pthread -DGASNET_SEQ")].concat())?;
    build(repo, "gcc", &source("mbox-sleep"), &ours("-pthread -DGASNET_PAR"))?;
    build(repo, "gcc", &source("mbox-kernel"), &words("-pthread -lrt"))?;
    for (tool, name, library) in
        [("mpicc", "mbox-mpi", ""), ("libzmq3-dev", "mbox-zmq", "-lzmq"), ("libnng-dev", "mbox-nng", "-lnng")]
    {
        build_peer(repo, tool, &source(name), &words(&format!("-pthread {library}")))?;
    }
    let mut cargo = repo.cargo();
    cargo.env("CARGO_TARGET_DIR", directory(repo).join("iceoryx2"));
    cargo.args(["build", "--release", "--quiet", "--manifest-path", "c-tests/peers/iceoryx2/Cargo.toml"]);
    if !cargo.status()?.success() {
        println!("skipped: iceoryx2: its crate does not build here");
    }
    Ok(())
}

fn build_application(repo: &Repo, app: &str) -> Result<()> {
    let flags = words("-Werror -pthread -ffp-contract=off -pedantic -lm");
    let source = |kind| format!("c-tests/apps/deck/{app}-{kind}.c");
    build(repo, "gcc", &source("deck"), &[repo.client_flags(), flags.clone()].concat())?;
    if app == "laplace" {
        build(repo, "gcc", &source("bare"), &flags)?;
    }
    build_peer(repo, "mpicc", &source("mpi"), &flags)
}

/// The command that starts a program: by a way of Open MPI, by our launcher, or by itself.
fn start(bench: &Bench, seconds: u64, way: &str, nodes: usize, program: &str, arguments: &str) -> Command {
    let path = bench.program(program);
    let mut command = if let Some((_, options)) = openmpi_ways().iter().find(|(how, _)| *how == way) {
        let mut command = bench.command(seconds, "mpirun");
        command.args(launch(bench, nodes)).args(options).arg(path);
        command
    } else if program.ends_with("-deck") || program == "mbox-sleep" {
        let mut command = bench.command(seconds, &bench.launcher);
        // Threads that are woken stay where they are.
        command.args(["-n", &nodes.to_string()]).args((arguments == "threads").then_some("--bind=core")).arg(path);
        command
    } else {
        bench.command(seconds, path)
    };
    command.args(words(arguments));
    command
}

/// One round of the programs of c-tests/peers/mbox-*.
fn messages(bench: &mut Bench) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let at = directory.path().to_str().context("a temporary directory's name is text")?;
    let mut runs: Vec<(&str, usize, &str, String)> = Vec::new();
    for (section, nodes) in [("trip", 2), ("flood", 2), ("give", 2), ("post", 2), ("many", 5)] {
        runs.push(("deck", nodes, "mbox-deck", section.into()));
        runs.extend(openmpi_ways().map(|(way, _)| (way, nodes, "mbox-mpi", section.into())));
    }
    runs.extend([
        ("deck", 2, "mbox-deck", "clone".into()),
        ("kernel", 2, "mbox-kernel", String::new()),
        ("zmq", 2, "mbox-zmq", at.into()),
        ("nng", 2, "mbox-nng", at.into()),
        ("iceoryx2", 2, "iceoryx2/release/mbox-iceoryx2", String::new()),
        ("deck", 2, "mbox-sleep", "threads".into()),
        ("deck", 64, "mbox-sleep", format!("idle {at}")),
    ]);
    for (way, nodes, program, arguments) in runs {
        if bench.has(program) {
            let mut command = start(bench, 120, way, nodes, program, &arguments);
            bench.job(way, nodes, command.args(bench.options.quick.then_some("quick")))?;
        }
    }
    Ok(())
}

/// Runs a case of an application. Returns the seconds, the part of them that went to communication, and the checksum.
fn once(bench: &Bench, app: &str, case: &str, arguments: &str, way: &str) -> Result<(f64, f64, String)> {
    let (program, nodes, more) = match way {
        "serial" => ("deck", 1, "--serial --threads 2"),
        "DECK 1 x 2" => ("deck", 1, "--threads 2"),
        "DECK 2 x 1" => ("deck", 2, ""),
        "bare" => ("bare", 2, ""),
        _ => ("mpi", 2, ""),
    };
    let arguments = format!("{more} {arguments} --no-verify");
    let output = start(bench, 600, way, nodes, &format!("{app}-{program}"), &arguments).output()?;
    let out = String::from_utf8_lossy(&output.stdout);
    let line = Regex::new(&format!("(?m)^{case}: ([0-9.]+) s, communication ([0-9.]+) %, checksum ([0-9a-f]+)$"))?;
    match line.captures(&out) {
        Some(found) if output.status.success() && out.matches(": PASS (").count() == nodes => {
            let seconds: f64 = found[1].parse()?;
            Ok((seconds, seconds * found[2].parse::<f64>()? / 100.0, found[3].into()))
        }
        _ => bail!("{case}, {way}: {}: {out}{}", output.status, String::from_utf8_lossy(&output.stderr)),
    }
}

/// A case of an application: each way of Open MPI once, then the rounds with the quickest of them. All runs give one checksum.
fn application(bench: &mut Bench, app: &str, case: &str, arguments: &str) -> Result<()> {
    let (mut sums, mut ways) = (BTreeSet::new(), vec!["DECK 2 x 1", "DECK 1 x 2"]);
    ways.extend((app == "laplace").then_some("bare"));
    if bench.has(&format!("{app}-mpi")) {
        let mut tried = Vec::new();
        for (way, _) in openmpi_ways() {
            match once(bench, app, case, arguments, way) {
                Ok((seconds, _, sum)) => tried.push((seconds, way, sums.insert(sum))),
                Err(error) => println!("skipped: {error:#}"),
            }
        }
        let best = tried.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
        ways.push(best.with_context(|| format!("{case}: no way of Open MPI runs"))?.1);
    }
    for round in 1..=bench.options.rounds {
        progress(&format!("round {round} of {}: {case}", bench.options.rounds));
        // Another one begins in each round.
        ways.rotate_left(1);
        for way in ways.iter().copied().chain((round == 1).then_some("serial")) {
            let (seconds, communication, sum) = match once(bench, app, case, arguments, way) {
                Ok(took) => took,
                Err(error) => {
                    bench.failures += 1;
                    println!("FAILED: {error:#}");
                    continue;
                }
            };
            sums.insert(sum);
            let who = if way.starts_with("openmpi") { "MPI" } else { way };
            for (what, value) in [("", seconds), (", communication", communication)] {
                let line = format!("{who}|applications|{case}{what}|2|0|s|{value}");
                bench.samples.add(Sample::parse(way, &line).context("a line of a sample")?);
            }
        }
    }
    if sums.len() > 1 {
        bench.failures += 1;
        println!("FAILED: {case}: checksums {sums:?}");
    }
    Ok(())
}

/// Adds for each way of an application how it stands beside MPI, and its speed-up.
fn quotients(rows: &mut Vec<Row>) {
    let mut more = Vec::new();
    for row in rows.iter().filter(|row| row.section == "applications") {
        for (who, what, unit) in [("MPI", "part of MPI's", "times"), ("serial", "speed-up", "share")] {
            let other = rows.iter().find(|other| other.who == who && other.operation == row.operation);
            if let Some(other) = other.filter(|other| other.median > 0.0 && row.median > 0.0 && row.who != "serial") {
                let quotient = row.median / other.median;
                let value = if unit == "share" { 1.0 / quotient } else { quotient };
                more.push(Row::of(&row.section, &format!("{}, {what}", row.operation), &row.who, 2, unit, &[value]));
            }
        }
    }
    rows.extend(more);
}
