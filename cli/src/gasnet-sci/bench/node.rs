//! A node of a measuring job. It is the hidden subcommand with which `gasnet-sci bench` starts itself.

use super::kernels::{MAX_BYTES, Node, SEGMENT};
use super::memory;
use super::plan::{self, Batch, Job, Measure};
use super::{bare, played};
use clap::ArgMatches;
use gasnet_sci::base::config::Config;
use gasnet_sci::os::sys;
use gasnet_sci::os::topology::Topology;
use serde::{Deserialize, Serialize};
use std::io;

/// A line that node 0 prints: the samples of one measure in nanoseconds per operation, one sample per round.
#[derive(Serialize, Deserialize)]
pub struct Samples {
    /// Place of the measure in the job's list.
    pub measure: usize,
    pub ours: Vec<f64>,
    /// Samples of the limit; empty if there is none.
    pub limit: Vec<f64>,
}

/// Another kind of line, from a job of silent nodes: KiB that one node has touched, on average.
#[derive(Serialize, Deserialize)]
pub struct Touched {
    pub touched: f64,
}

/// The line that node 0 of a job reads before each round, and prints after it, if its rounds take turns with another job's.
pub const IN_TURNS: &str = "turn";

/// The line that node 0 prints after each of the other rounds, for who wants to know how far the job is.
pub const ROUND: &str = "round";

/// Runs the node. Returns only if this process is not a node of a job, or could not join it.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let number = |name: &str| *options.get_one::<u32>(name).expect("clap has it");
    let text = |name: &str| options.get_one::<String>(name).expect("clap has it").as_str();
    let job = Job::parse(text("job"), number("nodes")).expect("clap allows jobs only");
    let cpus: Vec<usize> = text("cpus").split(',').filter_map(|cpu| cpu.parse().ok()).collect();
    let sections: Vec<&str> = text("sections").split(',').collect();
    let budget = f64::from(number("budget")) * 1e3;
    let measures = plan::measures(job, &|section| sections.contains(&section));

    if let Job::Played(nodes) = job {
        sys::bind_to_cpus(&cpus[..1])?;
        for (measure, row) in measures.iter().enumerate() {
            let ours = played::polls(nodes, number("rounds"), row.ours(budget).1)?;
            print(&Samples { measure, ours, limit: Vec::new() })?;
        }
        return Ok(());
    }
    if matches!(job, Job::Hosts(..) | Job::NearOfTwo | Job::NearOfOne) {
        return two_hosts(job, &cpus, &measures, number("rounds"), budget);
    }
    // The library must count the job's cores; after that this node is bound to its own core. Threads have all cores that
    // the command may use.
    if job != Job::Threads {
        sys::bind_to_cpus(&cpus)?;
    }
    let pair = matches!(job, Job::Timed | Job::Native | Job::Layers | Job::Reference | Job::Par | Job::Threads);
    let node = Node::start(if pair { SEGMENT } else { 64 << 10 }, matches!(job, Job::Par | Job::Threads))?;
    match job {
        Job::Start(_) | Job::Played(_) | Job::Hosts(..) | Job::NearOfTwo | Job::NearOfOne => {}
        Job::Silent(_) => silent(&node, &measures, number("rounds"), budget)?,
        Job::Crowd(_) => rounds(&node, &measures, number("rounds"), budget, asked)?,
        Job::Threads => {
            let cores = Topology::read().cores;
            node.threads_on(&cores.iter().map(|cpus| cpus[0]).collect::<Vec<_>>());
            node.touch();
            rounds(&node, &measures, number("rounds"), budget, asked)?;
        }
        Job::Timed => {
            sys::bind_to_cpus(&cpus[node.me as usize..][..1])?;
            rounds(&node, &measures, number("rounds"), budget, asked)?;
        }
        Job::Native | Job::Layers | Job::Reference | Job::Par => {
            sys::bind_to_cpus(&cpus[node.me as usize..][..1])?;
            node.touch();
            rounds(&node, &measures, number("rounds"), budget, asked)?;
            verify(&node)?;
        }
    }
    node.exit(0)
}

fn verify(node: &Node) -> io::Result<()> {
    let same = node.verify();
    if same {
        Ok(())
    } else {
        Err(io::Error::other(format!("{MAX_BYTES} bytes that were put and got are not the same")))
    }
}

// A node of a job whose nodes may be on two hosts. Without `cpus` each host has its own.
fn two_hosts(job: Job, cpus: &[usize], measures: &[Measure], rounds: u32, budget: f64) -> io::Result<()> {
    let own = Topology::read().cores.iter().map(|cpus| cpus[0]).collect::<Vec<_>>();
    if !cpus.is_empty() {
        let mut all = cpus.to_vec();
        all.sort_unstable();
        all.dedup();
        sys::bind_to_cpus(&all)?;
    }
    let node = Node::start(SEGMENT, false)?;
    let here = (node.me % (job.nodes() / job.hosts())) as usize;
    let cpu = if cpus.is_empty() { own[here % own.len()] } else { cpus[node.me as usize % cpus.len()] };
    sys::bind_to_cpus(&[cpu])?;
    node.touch();
    if job.hosts() == 2 {
        bare::connect(&node)?;
    }
    match job {
        Job::NearOfTwo | Job::NearOfOne => rounds_in_turns(&node, measures, rounds, budget)?,
        _ => self::rounds(&node, measures, rounds, budget, |_, figure| figure)?, // node 0 asks, and has the figure
    }
    verify(&node)?;
    node.exit(0)
}

fn print(line: &impl Serialize) -> io::Result<()> {
    println!("{}", serde_json::to_string(line)?);
    Ok(())
}

/// How many times as slow as the hardware this job is in timing mode.
fn slowness() -> f64 {
    match cfg!(feature = "timed") {
        true => Config::from_env().map_or(1.0, |(config, _)| config.timing.scale.into()),
        false => 1.0,
    }
}

// Nanoseconds per operation. A first run fills the caches with what the batch uses.
fn run_batch(node: &Node, (kernel, n, bytes): Batch) -> f64 {
    node.barrier();
    kernel.run(node, n / 8 + 3, bytes);
    kernel.run(node, n, bytes) / n as f64 / slowness()
}

/// What node 0 makes of the nodes' figures.
type Asked = fn(&Node, f64) -> f64;

// The mean of the nodes that ask. These are the nodes with even numbers.
fn asked(node: &Node, figure: f64) -> f64 {
    let all = node.gather(figure);
    all.iter().step_by(2).sum::<f64>() / all.len().div_ceil(2).max(1) as f64
}

// For each measure, no sample yet.
fn no_samples(measures: &[Measure]) -> Vec<Samples> {
    (0..measures.len()).map(|measure| Samples { measure, ours: Vec::new(), limit: Vec::new() }).collect()
}

// Rounds are the outer loop, so that a disturbance hits one round of many rows and not all rounds of one row. The
// order within a round changes.
fn rounds(node: &Node, measures: &[Measure], rounds: u32, budget: f64, asked: Asked) -> io::Result<()> {
    let mut samples = no_samples(measures);
    for round in 0..rounds {
        for (measure, samples) in measures.iter().zip(&mut samples) {
            let ours = || asked(node, run_batch(node, measure.ours(budget)));
            let limit = || measure.beside(budget).map(|batch| asked(node, run_batch(node, batch)));
            let (ours, limit) = if round % 2 == 0 {
                let limit = limit();
                (ours(), limit)
            } else {
                (ours(), limit())
            };
            samples.ours.push(ours);
            samples.limit.extend(limit);
        }
        if node.me == 0 {
            println!("{ROUND}");
        }
    }
    if node.me == 0 { samples.iter().try_for_each(print) } else { Ok(()) }
}

// Rounds that take turns with those of another job. The other nodes wait in the round's barrier until node 0 has its turn.
fn rounds_in_turns(node: &Node, measures: &[Measure], rounds: u32, budget: f64) -> io::Result<()> {
    let mut samples = no_samples(measures);
    for _ in 0..rounds {
        if node.me == 0 {
            let turn = io::stdin().read_line(&mut String::new())?;
            if turn == 0 {
                return Err(io::Error::other("the other job has failed, or the command is gone"));
            }
        }
        for (measure, samples) in measures.iter().zip(&mut samples) {
            samples.ours.push(run_batch(node, measure.ours(budget)));
        }
        if node.me == 0 {
            println!("{IN_TURNS}");
        }
    }
    if node.me == 0 { samples.iter().try_for_each(print) } else { Ok(()) }
}

fn silent(node: &Node, measures: &[Measure], rounds: u32, budget: f64) -> io::Result<()> {
    // A silent node sends no message, but takes part in barriers.
    node.barrier();
    let here = memory::touched(node.nodes)?;
    let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len().max(1) as f64;
    let sum = Touched { touched: mean(node.gather(here)) };
    let polls = node.alone(|| {
        let batch = |(kernel, n, bytes): Batch| kernel.run(node, n, bytes) / n as f64;
        let samples = |measure: &Measure| (0..rounds).map(|_| batch(measure.ours(budget))).collect();
        measures.iter().map(samples).collect::<Vec<_>>()
    });
    if let Some(polls) = polls {
        print(&sum)?;
        for (measure, ours) in polls.into_iter().enumerate() {
            print(&Samples { measure, ours, limit: Vec::new() })?;
        }
    }
    Ok(())
}
