//! `gasnet-sci bench`: what operations cost, each beside what the machine can do. Both are measured in the same run.
//!
//! The command starts itself as jobs (`jobs`). Their nodes run C kernels that are compiled like a client (`kernels`),
//! in the order that `plan` gives. The command prints the figures (`result`, `table`).

mod bare;
mod hosts;
mod jobs;
mod kernels;
pub mod layer;
mod layers;
mod memory;
pub mod node;
mod plan;
mod played;
mod result;
mod table;
mod timing;
mod tricks;

pub use plan::SECTIONS;

use crate::results::{Bench, Host, Row, VERSION};
use clap::ArgMatches;
use gasnet_sci::os::topology::Topology;
use gasnet_sci_place::paint;
use gasnet_sci_place::progress::Progress;
use plan::Job;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Names of the kinds of jobs, for the hidden subcommand.
pub fn jobs() -> impl Iterator<Item = &'static str> {
    let others = [
        "timed", "native", "ref", "par", "threads", "crowd", "silent", "played", "start", "near-of-two", "near-of-one",
        "layers",
    ];
    others.into_iter().chain(plan::NETS.iter().map(|net| net.job))
}

/// Measures and prints.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let quick = options.get_flag("quick");
    let sections: Vec<&str> = match options.get_many::<String>("only") {
        Some(only) => only.map(String::as_str).collect(),
        None => SECTIONS.to_vec(),
    };
    if let Some(profile) = options.get_one::<String>("timing") {
        let wanted: Vec<&str> = timing::SECTIONS.into_iter().filter(|section| sections.contains(section)).collect();
        if wanted.is_empty() {
            return Err(io::Error::other(format!("--timing measures the sections {}", timing::SECTIONS.join(", "))));
        }
        return write(&timing::run(profile, options, &wanted)?, options, table::write);
    }
    if sections.iter().all(|section| ["sci", "boxes"].contains(section)) {
        return Err(io::Error::other("the sections sci and boxes need --timing PROFILE"));
    }
    let cores: Vec<usize> = Topology::read().cores.iter().map(|cpus| cpus[0]).collect();
    if cores.len() < plan::CROWD_CORES {
        return Err(io::Error::other(format!("bench needs {} cores, {} may be used", plan::CROWD_CORES, cores.len())));
    }
    let rounds = options.get_one::<u32>("rounds").copied().unwrap_or(if quick { 7 } else { 31 });
    let settings = jobs::Settings {
        rounds,
        quick,
        cpus: cores[..plan::CROWD_CORES].to_vec(),
        hosts: hosts::Hosts::of(options)?,
        sections: sections.join(","),
        most: *options.get_one::<u32>("nodes").expect("it has a default"),
        progress: Progress::none(),
    };
    if options.get_flag("layers") {
        return write(&layers::run(&settings)?, options, layers::write);
    }
    let wanted = |section: &str| sections.contains(&section);
    let progress = Progress::new(jobs::NAME, steps(&settings, &wanted));
    let mut results = measure(&jobs::Settings { progress, ..settings }, &wanted)?;
    results.sort_by_key(|row| SECTIONS.iter().position(|section| *section == row.section));
    let (host, tricks) = (Host::look(cores.len()), Some(tricks::look()?));
    let report = Bench { version: VERSION, host, tricks, rounds, results, missing: Vec::new() };
    write(&report, options, table::write)
}

/// What prints a result as text.
type Print = fn(&mut dyn Write, &Bench) -> io::Result<()>;

/// Prints the result, or writes it to the files that the options name.
fn write(report: &Bench, options: &ArgMatches, print: Print) -> io::Result<()> {
    let json_file = options.get_one::<PathBuf>("json");
    if let Some(path) = json_file {
        gasnet_sci_place::shell::write_file(path, &format!("{}\n", serde_json::to_string_pretty(report)?))?;
    }
    if let Some(path) = options.get_one::<PathBuf>("html") {
        crate::page::write_results(&serde_json::to_string(report)?, path)?;
    }
    // A file gets no colours.
    let mut out: Box<dyn Write> = match options.get_one::<String>("out") {
        Some(file) => {
            let created = File::create(file).map_err(|error| io::Error::other(format!("{file}: {error}")))?;
            Box::new(paint::never(created))
        }
        None => Box::new(paint::out()),
    };
    if options.contains_id("json") && json_file.is_none() {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)
    } else {
        print(&mut out, report)
    }
}

/// The jobs of pairs, and of many nodes, that measure sections that are wanted.
fn main_jobs(settings: &jobs::Settings) -> impl Iterator<Item = Job> + use<> {
    let most = settings.most;
    let crowds = plan::CROWDS.into_iter().filter(move |nodes| *nodes <= most).map(Job::Crowd);
    [Job::Native, Job::Reference, Job::Par, Job::Threads].into_iter().chain(crowds)
}

/// How long `measure` will take, in steps of the jobs' progress.
fn steps(settings: &jobs::Settings, wanted: &dyn Fn(&str) -> bool) -> u64 {
    let of = |job: Job| match plan::measures(job, wanted).len() {
        0 => 0,
        many => settings.steps(job, many),
    };
    let mut all: u64 = main_jobs(settings).map(of).sum();
    if wanted("hosts") {
        all += hosts::steps(settings);
    }
    if wanted("poll") {
        all += jobs::poll_jobs(settings).map(of).sum::<u64>();
    }
    if wanted("memory") {
        all += jobs::memory_jobs(settings).map(|job| settings.steps(job, 0)).sum::<u64>();
    }
    if wanted("start") {
        all += jobs::start_steps(settings);
    }
    all
}

fn measure(settings: &jobs::Settings, wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut beside = Vec::new();
    for job in main_jobs(settings) {
        let measures = plan::measures(job, wanted);
        if measures.is_empty() {
            continue;
        }
        let samples = settings.run(job)?.samples;
        for (measure, samples) in measures.into_iter().zip(samples) {
            rows.extend(
                measure.views.iter().map(|view| result::row(job, &measure, view, &samples.ours, &samples.limit)),
            );
            beside.push((measure, samples));
        }
    }
    if wanted("hosts") {
        rows.extend(hosts::rows(settings, &mut beside)?);
    }
    rows.splice(0..0, result::limits(&beside));
    if wanted("poll") {
        rows.extend(jobs::polls(settings, wanted)?);
    }
    if wanted("memory") {
        rows.extend(jobs::memory(settings)?);
    }
    if wanted("start") {
        rows.extend(jobs::starts(settings)?);
    }
    Ok(rows)
}
