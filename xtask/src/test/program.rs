//! One run of a C program, and how it is judged.

use super::child::{Ended, indented, last_lines, separate};
use super::rows::Rows;
use crate::leftovers::Leftovers;
use crate::repo::Repo;
use anyhow::Result;
use regex_lite::Regex;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Seconds that a run may take.
pub const RUN_LIMIT: u64 = 120;

pub struct Start<'a> {
    pub program: &'a Path,
    pub nodes: usize,
    /// "fork", or "launcher", perhaps with options of its own.
    pub how: &'a str,
    /// Assignments, and perhaps a command that runs the program.
    pub environment: &'a str,
    /// In seconds.
    pub limit: u64,
}

/// What a run was like: nothing in `failed` if it was as it should be.
pub struct Outcome {
    pub failed: String,
    pub ended: Ended,
}

/// Whether it is one of those that end as the tests of GASNet-EX do.
fn is_ex(program: &str) -> bool {
    program.starts_with("ex-") || program == "hashtable" || program == "coarray"
}

/// The nodes that say in what a program prints that they have come to the right end.
pub fn right_ends(program: &str, nodes: usize, out: &str) -> Vec<usize> {
    let end = if is_ex(program) {
        r"(?m)^([0-9]+)> done\.$".into()
    } else {
        format!(
            "(?m)^{}: node ([0-9]+)/{nodes}: PASS",
            regex_lite::escape(program.strip_suffix("-deck").unwrap_or(program))
        )
    };
    let pattern = Regex::new(&end).expect("a name is none");
    let mut seen: Vec<usize> = pattern.captures_iter(out).flat_map(|found| found[1].parse()).collect();
    seen.sort_unstable();
    seen
}

/// Runs a program. Its status has to be 0, each node has to say PASS (done.) once, stderr has to be empty but that of noisy programs,
/// and its TMPDIR too.
pub fn run(repo: &Repo, rows: &Rows, leftovers: &Leftovers, start: &Start) -> Result<Outcome> {
    let name = start.program.file_name().unwrap_or_default().to_string_lossy();
    let nodes = start.nodes;
    let (program, environment) =
        (start.program.display(), start.environment.replace("$root", &repo.root.to_string_lossy()));
    let line = match start.how.strip_prefix("launcher") {
        Some(options) => {
            format!("env {environment} {}/bin/gasnetrun_sci -n {nodes}{options} {program}", repo.stage.display())
        }
        None => format!("env GASNET_SCI_NODES={nodes} {environment} {program}"),
    };
    let line = format!("{line} {}", rows.arguments(&name));
    let line = line.split_whitespace().collect::<Vec<&str>>().join(" ");
    let temporary = tempfile::tempdir_in(leftovers.temporary())?;
    let mut command = Command::new("timeout");
    command.args(["-k", "5", &start.limit.to_string()]).args(line.split(' ')).current_dir(&repo.root);
    leftovers.mark(&mut command);
    let (ended, out, errors) = separate(command.env("TMPDIR", temporary.path()))?;

    let is_noisy = rows.is_noisy(&name);
    let mut why = Vec::new();
    match ended.status {
        0 => {}
        124 | 137 => why.push(format!("no end within {} s", start.limit)),
        status => why.push(format!("status {status}")),
    }
    if is_ex(&name) && out.contains("ERROR") {
        why.push("a line with ERROR".into());
    }
    let seen = right_ends(&name, nodes, &out);
    if !seen.iter().copied().eq(0..nodes) {
        why.push(format!("the end seen of nodes: {seen:?}"));
    }
    if !is_noisy && !errors.is_empty() {
        why.push("lines on stderr".into());
    }
    let left: Vec<String> =
        fs::read_dir(temporary.path())?.flatten().map(|entry| entry.file_name().to_string_lossy().into()).collect();
    if !left.is_empty() {
        why.push(format!("left in TMPDIR: {}", left.join(" ")));
    }
    let mut failed = String::new();
    if !why.is_empty() {
        failed = format!("FAILED: {line}: {}\n{}", why.join("; "), last_lines(&out, 15, 200, "    out: "));
        // Noisy programs print lines about refused calls, as they should. Lines about failed checks are shown.
        let shown = errors.lines().filter(|line| !is_noisy || !line.contains("returning GASNET_ERR"));
        failed.extend(shown.take(15).map(|line| indented(line, 300, "    err: ")));
    }
    Ok(Outcome { failed, ended })
}
