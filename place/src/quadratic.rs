//! Quadratic assignment problems as QAPLIB has them (`gasnet-sci place --qaplib`), to compare the search with published results.
//!
//! Must not know: ranks, topologies.

use super::cost::Objective;
use super::links::Shape;
use super::search::{self, Limits, Task, qaplib};
use super::shell::write_file;
use super::{progress, read};
use clap::ArgMatches;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Reads the problem, and prints or writes what was found.
///
/// # Errors
/// It is none, or is too large for --exact.
pub fn solve(file: &Path, limits: Limits, options: &ArgMatches) -> Result<io::Result<()>, String> {
    let problem = qaplib::parse(&read(file)?).map_err(|error| format!("{}: {error}", file.display()))?;
    if limits.exact && problem.n > search::MOST_EXACT {
        return Err(format!("--exact is for {} rows at most", search::MOST_EXACT));
    }
    let identity: Vec<usize> = (0..problem.n).collect();
    let loads = vec![[0.0; 2]; problem.flows.len()];
    let answer = search::search(&Task {
        problem: &problem,
        objective: Objective { cost: 1.0, link: 0.0 },
        shape: &Shape::Points,
        rates: &[],
        loads: &loads,
        fixed: &[],
        known: std::slice::from_ref(&identity),
        limits,
        tell: &progress::parts("gasnet-sci place", limits.deadline),
    });
    let identity = problem.cost(&identity);
    let found = problem.cost(&answer.at);
    let json = options.get_one::<PathBuf>("json");
    if let Some(file) = json {
        let permutation: Vec<usize> = answer.at.iter().map(|position| position + 1).collect();
        let value = json!({"n": problem.n, "identity": identity, "found": found, "proved": answer.proved,
            "bound": answer.bound, "iterations": answer.iterations, "nodes": answer.nodes, "cut": answer.cut,
            "permutation": permutation});
        if file.as_os_str() == "-" {
            return Ok(writeln!(io::stdout().lock(), "{value}"));
        }
        write_file(file, &format!("{value}\n")).map_err(|error| error.to_string())?;
    }
    let permutation: Vec<String> = answer.at.iter().map(|position| (position + 1).to_string()).collect();
    let proved = if answer.proved { "proved best" } else { "not proved best" };
    let mut out = io::stdout().lock();
    let lines = [
        format!("n          {}", problem.n),
        format!("identity   {identity}"),
        format!("found      {found}   {proved}"),
        format!("bound      {}", answer.bound.map_or("none".into(), |bound| format!("{bound}"))),
        format!(
            "work       {} iterations, {} nodes{}",
            answer.iterations,
            answer.nodes,
            if answer.cut { ", cut by --seconds" } else { "" }
        ),
        format!("p          {}", permutation.join(" ")),
    ];
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}
