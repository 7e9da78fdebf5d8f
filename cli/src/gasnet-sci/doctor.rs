//! `gasnet-sci doctor`: what on this host would stop a job, slow it down or surprise its user, in plain words, and how to mend it.
//!
//! It looks first ([`facts`]): at what `gasnet-sci info` reports, and at more. Then it judges ([`checks`]). It changes nothing.

mod checks;
mod facts;

use clap::ArgMatches;
use facts::Facts;
use gasnet_sci_place::paint::{self, BAD, GOOD, HEAD, WARN};
use serde::Serialize;
use std::io::{self, Write};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// A job, or this host's part of a job of several hosts, would not start.
    Stops,
    /// A job would run slower than this host could.
    Slows,
    /// A user may wonder about it.
    Note,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub weight: Weight,
    /// What is so, and what it means for a job.
    pub what: String,
    /// What to do about it.
    pub mend: String,
}

#[derive(Serialize)]
struct Diagnosis {
    version: &'static str,
    host: String,
    checks: usize,
    findings: Vec<Finding>,
}

/// Looks, and says what it found.
///
/// # Errors
/// Something would stop a job.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let facts = Facts::gather();
    let mut findings: Vec<Finding> = checks::ALL.iter().flat_map(|check| check(&facts)).collect();
    findings.sort_by_key(|finding| finding.weight);
    let (version, host) = (facts.report.version, facts.report.host.name.clone());
    let diagnosis = Diagnosis { version, host, checks: checks::ALL.len(), findings };
    let mut out = paint::out();
    if options.get_flag("json") {
        serde_json::to_writer_pretty(&mut out, &diagnosis)?;
        writeln!(out)?;
    } else {
        write_text(&mut out, &diagnosis)?;
    }
    match count(&diagnosis, Weight::Stops) {
        0 => Ok(()),
        1 => Err(io::Error::other("one thing here would stop a job")),
        many => Err(io::Error::other(format!("{many} things here would stop a job"))),
    }
}

fn count(diagnosis: &Diagnosis, weight: Weight) -> usize {
    diagnosis.findings.iter().filter(|finding| finding.weight == weight).count()
}

fn write_text(out: &mut impl Write, diagnosis: &Diagnosis) -> io::Result<()> {
    writeln!(out, "gasnet-sci {} on host {}: {} checks", diagnosis.version, diagnosis.host, diagnosis.checks)?;
    let parts = [
        (Weight::Stops, BAD, "This would stop jobs"),
        (Weight::Slows, WARN, "This would slow jobs down"),
        (Weight::Note, HEAD, "Worth knowing"),
    ];
    for (weight, style, title) in parts {
        if count(diagnosis, weight) == 0 {
            continue;
        }
        writeln!(out, "\n{style}{title}{style:#}")?;
        for finding in diagnosis.findings.iter().filter(|finding| finding.weight == weight) {
            writeln!(out, "  - {}", finding.what)?;
            writeln!(out, "    {}", finding.mend)?;
        }
    }
    match diagnosis.findings.iter().all(|finding| finding.weight == Weight::Note) {
        true => writeln!(out, "\n{GOOD}Nothing here stops jobs or slows them down.{GOOD:#}"),
        false => Ok(()),
    }
}
