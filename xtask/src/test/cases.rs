//! Runs a case of a scenarios.txt.

use super::child::{Ended, last_lines, logged};
use super::scenarios::Case;
use crate::leftovers::{Leftovers, Marked};
use crate::repo::Repo;
use anyhow::{Context, Result};
use regex_lite::Regex;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// What the cases of a build share.
pub struct Site<'a> {
    pub repo: &'a Repo,
    pub leftovers: &'a Leftovers,
    /// Of the programs.
    pub directory: PathBuf,
    /// Of the scenarios.txt: $here.
    pub folder: PathBuf,
    /// For files that later cases look into: $scratch.
    pub scratch: &'a Path,
    pub is_launched: bool,
}

/// In seconds.
const LIMIT: u64 = 30;

/// Not possible here.
const SKIPPED: i32 = 77;

impl Site<'_> {
    /// Runs a case, number `number` of its build. Returns what is wrong, and how the job ended.
    pub fn run(&self, number: usize, case: &Case) -> Result<(String, Ended)> {
        let fill =
            |text: &str| text.replace("{n}", &case.nodes.to_string()).replace("{last}", &(case.nodes - 1).to_string());
        let temporary = tempfile::tempdir_in(self.leftovers.temporary())?;
        let (mut options, mut assignments) = (String::new(), case.line.environment.as_str());
        if assignments == "-" {
            assignments = "";
        }
        while let Some(option) = assignments.split(' ').next().filter(|word| word.starts_with("--")) {
            options += &format!(" {option}");
            assignments = assignments[option.len()..].trim_start();
        }
        let (nodes, launcher) = if self.is_launched {
            (String::new(), format!("{}/bin/gasnetrun_sci -n {}{options}", self.repo.stage.display(), case.nodes))
        } else {
            (format!("GASNET_SCI_NODES={}", case.nodes), String::new())
        };
        // Many cases end by a signal on purpose.
        let line = format!(
            "ulimit -S -c 0; here='{}' scratch='{}'\n{nodes} {assignments} timeout -k 1 {LIMIT} {launcher} {}/{}",
            self.folder.display(),
            self.scratch.display(),
            self.directory.display(),
            fill(&case.line.command),
        );
        let mut command = Command::new("bash");
        self.leftovers.mark(command.args(["-c", &line]).current_dir(&self.repo.root));
        let marked = self.leftovers.marked.part(number);
        let (ended, out) = logged(marked.mark(&mut command).env("TMPDIR", temporary.path()))?;

        let mut wrong = Vec::new();
        if ended.status == SKIPPED {
            return Ok((String::new(), ended));
        }
        if ended.seconds >= LIMIT as f64 {
            wrong.push(format!("did not end within {LIMIT} s"));
        }
        let expected = &case.line.status;
        let is_expected = if expected == "!0" {
            ended.status != 0
        } else {
            expected.split(',').any(|status| status == ended.status.to_string())
        };
        if !is_expected {
            wrong.push(format!("status {}, expected {expected}", ended.status));
        }
        for check in fill(&case.line.checks).split(" ;; ") {
            wrong.extend(check_output(check, &out)?);
        }
        let left: Vec<_> = fs::read_dir(temporary.path())?.flatten().map(|entry| entry.file_name()).collect();
        if !left.is_empty() {
            wrong.push(format!("new in TMPDIR: {left:?}"));
        }
        wrong.extend(stay(&marked));
        if wrong.is_empty() {
            return Ok((String::new(), ended));
        }
        let what = format!("{} nodes: {} {}", case.nodes, case.line.environment, case.line.command);
        Ok((format!("FAILED: {what}; {}\n{}", wrong.join("; "), last_lines(&out, 40, 400, "    ")), ended))
    }
}

/// One check of what is printed, line by line as grep does it.
fn check_output(check: &str, out: &str) -> Result<Option<String>> {
    let regex = |text: &str| Regex::new(text).with_context(|| format!("check {text}"));
    if check == "-" {
        return Ok(None);
    }
    if let Some(unwanted) = check.strip_prefix('!') {
        let unwanted = regex(unwanted)?;
        return Ok(out.lines().any(|line| unwanted.is_match(line)).then(|| format!("found {unwanted}")));
    }
    let count = check.split_once('*').and_then(|(count, wanted)| Some((count.parse::<usize>().ok()?, wanted)));
    if let Some((count, wanted)) = count {
        let wanted = regex(wanted)?;
        let found = out.lines().map(|line| wanted.find_iter(line).count()).sum::<usize>();
        return Ok((found != count).then(|| format!("{found} times, not {count}: {wanted}")));
    }
    let wanted = regex(check)?;
    Ok((!out.lines().any(|line| wanted.is_match(line))).then(|| format!("not found: {wanted}")))
}

/// The processes of a case that do not end. They have some time. Then they are killed.
fn stay(marked: &Marked) -> Option<String> {
    for _ in 0..60 {
        if marked.processes().is_empty() {
            return None;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let left = marked.describe();
    marked.kill();
    Some(format!("left over: {}", left.trim_end().replace('\n', "; ")))
}

#[test]
fn all_lines_of_scenarios_are_understood() {
    let repo = Repo::find().unwrap();
    for row in super::rows::Rows::read(&repo).unwrap().builds.scenarios {
        let lines = super::scenarios::lines(&repo, &row.0).unwrap();
        assert!(!lines.is_empty());
        for check in lines.iter().flat_map(|line| line.checks.split(" ;; ")) {
            check_output(&check.replace("{n}", "2").replace("{last}", "1"), "").unwrap();
        }
    }
}

#[test]
fn checks_find_what_is_printed() {
    let wrong = |check: &str| check_output(check, "one\ntwo two\n").unwrap();
    for right in ["-", "^one$", "!three", "3*one|two", "0*four"] {
        assert_eq!(wrong(right), None);
    }
    for (check, said) in
        [("^two$", "not found: ^two$"), ("!t.o", "found t.o"), ("2*one|two", "3 times, not 2: one|two")]
    {
        assert_eq!(wrong(check).as_deref(), Some(said));
    }
}
