//! Many nodes on a few hosts: how long a job takes to come up and go, and programs in which all nodes send to all others by messages
//! and verify what came.

use super::hosts::Network;
use super::job::{self, Bench, End, Job, Layout};
use super::options::layout;
use super::soak::faults;
use crate::options::seconds;
use crate::repo::Repo;
use anyhow::Result;
use clap::Args;
use std::time::Duration;

/// A job that does nothing but come up and go; and how often it is run, since the machine may have other work.
const NOTHING: &str = "testhello";
const TIMES: usize = 5;
/// In which the fastest of them must be over.
const BOUND: Duration = Duration::from_secs(1);
/// What is verified: random updates of a table by Shorts and by batches, as in RandomAccess and Graph500; Mediums from all to all.
const PROGRAMS: [(&str, &[&str]); 2] =
    [("gups", &["-u", "1000", "-v", "sm"]), ("ex-testalltoall", &["-random", "20", "1024"])];

/// 64 nodes on 4 hosts: time to come up and go; messages from all to all, verified
#[derive(Args)]
pub struct Options {
    #[arg(long, default_value = "4x16", value_parser = layout)]
    layout: Layout,
    #[arg(long, default_value = "seq", value_parser = ["seq", "parsync", "par"])]
    build: String,
    /// after which a job hangs
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    limit: Duration,
}

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    repo.make_stage()?;
    let names: Vec<String> = PROGRAMS.iter().map(|(name, _)| *name).chain([NOTHING]).map(String::from).collect();
    let directory = job::build(repo, &options.build, &names)?;
    let bench = Bench::make(repo, options.layout.clone(), &Network::Plain)?;
    let play = |name: &str, arguments: &[&str]| -> Result<(Duration, bool)> {
        let mut words = vec![directory.join(name).display().to_string()];
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        let mut job = bench.start(&words, &[])?;
        let status = job.wait(job.start + options.limit)?;
        let took = job.start.elapsed();
        let good = judge(&bench, &mut job, name, status)?;
        Ok((took, good))
    };
    let (mut good, mut fastest) = (true, Duration::MAX);
    for _ in 0..TIMES {
        let (took, right) = play(NOTHING, &[])?;
        println!("{NOTHING}: {} ms", took.as_millis());
        good &= right;
        fastest = fastest.min(took);
    }
    if fastest > BOUND {
        println!("FAILED: up and down in {} ms at best", fastest.as_millis());
        good = false;
    }
    for (name, arguments) in PROGRAMS {
        let (took, right) = play(name, arguments)?;
        println!("{name} {}: {} ms", arguments.join(" "), took.as_millis());
        good &= right;
    }
    println!("many: {}", if good { "passed" } else { "failed" });
    Ok(good)
}

/// Whether a job ended as it should, and left nothing.
fn judge(bench: &Bench, job: &mut Job, name: &str, status: Option<i32>) -> Result<bool> {
    let End { outcome, stuck, left } = bench.end(job, status)?;
    let wrong = faults(name, bench.layout.nodes(), &outcome);
    if wrong.is_empty() && left.is_empty() {
        return Ok(true);
    }
    println!("FAILED: {name}: {wrong:?}, status {status:?}");
    outcome.err.lines().take(20).for_each(|line| println!("    err: {line}"));
    let left = stuck.lines().chain(left.iter().map(String::as_str)).take(40);
    left.for_each(|line| println!("    left: {}", line.chars().take(200).collect::<String>()));
    Ok(false)
}
