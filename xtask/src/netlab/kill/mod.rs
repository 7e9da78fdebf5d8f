//! The kill matrix: kills nodes, agents, rsh and launchers, cuts links and stops hosts, in each phase of a job. Whatever
//! it does, the job must end soon, with a line that names the cause and a status that is not 0, and leave nothing.
//!
//! A host or link that is only silent is noticed after some seconds. When a host that was stopped goes on after that,
//! what is left of the job on it must end by itself.

mod deed;
mod judge;
mod victim;

use super::hosts::Network;
use super::job::{self, Bench, End, Layout};
use super::options::{Wire, layout};
use crate::options::Seed;
use crate::repo::Repo;
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use deed::Deed;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use victim::Victim;

/// The phases, as `testvictim` names them.
const PHASES: [&str; 7] = ["before", "inited", "attach", "flood", "put", "barrier", "exit"];
/// How long a job may take until all nodes are in their phase.
const START: Duration = Duration::from_secs(20);
/// After its nodes have come to the phase the job runs on for up to this time, at random.
const MORE: Duration = Duration::from_millis(30);
/// After this time a job that does not end is given up.
const HOPELESS: Duration = Duration::from_secs(20);
/// The part of the time in which some process waited for a CPU from which on a job that ends late says nothing: it is run again.
const CROWDED: f64 = 0.3;
/// So often, at most.
const AGAIN: usize = 5;
/// How a finding begins that is about time alone.
const LATE: &str = "over after";
/// What is reported as the deed if the job did not come to its phase.
const NOTHING: &str = "nothing done";

/// kills each part of a job in each of its phases
#[derive(Args)]
pub struct Options {
    /// hosts and nodes; 1x4 is one host, where only nodes and launchers can be killed; a pair needs three hosts
    #[arg(long, default_value = "2x2", value_parser = layout)]
    layout: Layout,
    /// how often each
    #[arg(long, value_name = "K", default_value = "20")]
    times: u64,
    /// only these
    #[arg(long = "victim", value_name = "VICTIM")]
    victims: Vec<Victim>,
    /// only these
    #[arg(long = "phase", value_name = "PHASE", value_parser = PHASES)]
    phases: Vec<String>,
    #[arg(long, default_value = "par", value_parser = ["seq", "parsync", "par"])]
    build: String,
    #[arg(long, default_value = "tcp")]
    network: Wire,
    #[command(flatten)]
    seed: Seed,
}

/// A cell of the table.
#[derive(Default)]
struct Cell {
    runs: u64,
    failed: u64,
    slowest: Duration,
}

/// What a run showed.
struct Report {
    deed: String,
    took: Duration,
    end: End,
    wrong: Vec<String>,
    /// The part of its time in which some process of this machine waited for a CPU.
    crowded: f64,
}

/// For how long, since the machine runs, some process has waited for a CPU. `None`: the kernel does not say.
fn waited_for_cpus() -> Option<Duration> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let total = text.lines().next()?.rsplit_once("total=")?.1.parse().ok()?;
    Some(Duration::from_micros(total))
}

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    let Options { layout, times, build, network, seed: Seed { seed }, .. } = options;
    let is_wanted = |victim: &Victim| {
        layout.0.len() >= victim.needs_hosts() && (options.victims.is_empty() || options.victims.contains(victim))
    };
    let victims: Vec<Victim> = Victim::value_variants().iter().copied().filter(is_wanted).collect();
    ensure!(!victims.is_empty(), "the layout has no such victim");
    ensure!(*network != Wire::Sisci || !layout.several_hosts(), "--network sisci divides one host, as in --layout 1x4");
    let is_wanted = |phase: &&str| options.phases.is_empty() || options.phases.iter().any(|wanted| wanted == phase);
    let phases: Vec<&str> = PHASES.into_iter().filter(is_wanted).collect();

    repo.make_stage()?;
    let program = job::build(repo, build, &["testvictim".into()])?.join("testvictim");
    let bench = Bench::make(repo, layout.clone(), &Network::Relay(Vec::new(), *seed))?;
    let (mut table, mut failed, mut passed, mut repeated) = (BTreeMap::new(), 0, 0, 0);
    for &phase in &phases {
        for &victim in victims.iter().filter(|victim| victim.matters_in(phase)) {
            let cell: &mut Cell = table.entry((victim, phase)).or_default();
            for number in 0..*times {
                let strike =
                    || strike(&bench, &program, *network, (victim, phase), Rng::with_seed(seed.wrapping_add(number)));
                let mut report = strike()?;
                for _ in 0..AGAIN {
                    if report.crowded < CROWDED || !matches!(&report.wrong[..], [one] if one.starts_with(LATE)) {
                        break;
                    }
                    repeated += 1;
                    report = strike()?;
                }
                cell.runs += 1;
                cell.slowest = cell.slowest.max(report.took);
                if report.wrong.is_empty() {
                    passed += 1;
                    continue;
                }
                failed += 1;
                cell.failed += 1;
                println!("FAILED: {}, {phase}: {}: {}", victim.name(), report.deed, report.wrong.join("; "));
                println!(
                    "    again: cargo xtask netlab kill --victim {} --phase {phase} --times 1 --build {build} --network {} --seed {} --layout {}",
                    victim.name(),
                    network.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned()),
                    seed.wrapping_add(number),
                    bench.layout.0.iter().map(usize::to_string).collect::<Vec<_>>().join("+")
                );
                let End { outcome, stuck, left } = &report.end;
                outcome.err.lines().take(15).for_each(|line| println!("    err: {line}"));
                let left = stuck.lines().chain(left.iter().map(String::as_str)).take(20);
                left.for_each(|line| println!("    left: {}", line.chars().take(200).collect::<String>()));
            }
        }
    }
    print_table(&table, &victims, &phases);
    if repeated > 0 {
        println!("{repeated} runs were repeated: they were late while others waited for CPUs");
    }
    println!("kill: {passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// Starts a job, does the deed in the phase, and looks at the end.
fn strike(
    bench: &Bench,
    program: &Path,
    network: Wire,
    (victim, phase): (Victim, &str),
    mut random: Rng,
) -> Result<Report> {
    let words = [program.display().to_string(), phase.to_owned()];
    let mut job = bench.start(&words, &network.settings())?;
    let mut wrong = Vec::new();
    let until = job.start + START;
    let arrived = |text: &str| text.lines().filter(|line| line.ends_with(&format!(": {phase}"))).count();
    while arrived(&bench.printed()) < bench.layout.nodes() {
        if Instant::now() > until || job.wait(Instant::now())?.is_some() {
            wrong.push(format!("only {} nodes came to the phase", arrived(&bench.printed())));
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    thread::sleep(MORE.mul_f64(random.f64()));
    let mut report = Report { deed: NOTHING.into(), took: Duration::ZERO, end: End::default(), wrong, crowded: 0.0 };
    let mut status = None;
    if report.wrong.is_empty() {
        let (at, waited) = (Instant::now(), waited_for_cpus());
        let deed = Deed::commit(bench, victim, &mut random)?;
        report.deed = deed.describe();
        // Nodes that exit may all have gone.
        if matches!(deed, Deed::Nobody) && phase != "exit" {
            report.wrong.push("the job has no such process".into());
            job.child.kill()?;
        }
        status = job.wait(at + HOPELESS)?;
        if status.is_none() {
            report.wrong.push(format!("no end within {} s", HOPELESS.as_secs()));
        }
        // Everything but what is stopped must be gone, too.
        while status.is_some() && at.elapsed() < HOPELESS && deed.others_alive(bench) {
            thread::sleep(Duration::from_millis(1));
        }
        report.took = at.elapsed();
        let waited = waited.zip(waited_for_cpus()).map(|(before, after)| after.saturating_sub(before));
        report.crowded = waited.map_or(0.0, |waited| waited.div_duration_f64(report.took));
        if report.took > victim.bound() {
            let crowded = 100.0 * report.crowded;
            report
                .wrong
                .push(format!("{LATE} {} ms ({crowded:.0} % of it others waited for CPUs)", report.took.as_millis()));
        }
        deed.undo(bench);
    }
    report.end = bench.end(&mut job, status)?;
    // A job that was given up in the middle leaves something, of course.
    if !report.end.left.is_empty() && report.deed != NOTHING {
        report.wrong.push("left behind".into());
    }
    if status.is_some() && report.deed != NOTHING {
        report.wrong.extend(judge::findings(victim, phase, bench.layout.several_hosts(), &report.end.outcome));
    }
    Ok(report)
}

fn print_table(table: &BTreeMap<(Victim, &str), Cell>, victims: &[Victim], phases: &[&str]) {
    println!("| victim; right ends (slowest, ms) | {} |", phases.join(" | "));
    println!("|---|{}", "---|".repeat(phases.len()));
    for victim in victims {
        let cell = |phase: &&str| {
            let Some(cell) = table.get(&(*victim, *phase)) else { return "–".into() };
            format!("{} of {} ({})", cell.runs - cell.failed, cell.runs, cell.slowest.as_millis())
        };
        println!("| {} | {} |", victim.name(), phases.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
}
