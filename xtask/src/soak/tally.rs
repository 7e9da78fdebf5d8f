//! Counts for each row of the table how its runs ended.

use super::job::Run;
use super::plan::{Kind, Plan};
use anyhow::{Context, Result};
use regex_lite::Regex;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

static VERIFIED: LazyLock<Regex> = LazyLock::new(|| {
    let line = "(?m)^(?:[0-9]+> )?test(?:soak|mixed): node .* verified ([0-9]+) messages, ([0-9]+) bytes$";
    Regex::new(line).expect("a constant")
});

#[derive(Clone, Default)]
struct Row {
    runs: u64,
    faults: u64,
    right: u64,
    ended: u64,
    failed: u64,
    slowest: Option<Duration>,
}

#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<String, Row>,
    total: Row,
    messages: u64,
    bytes: u64,
}

impl Tally {
    pub fn count(&mut self, plan: &Plan, run: &Run, wrong: &[String]) {
        for row in [self.rows.entry(plan.row()).or_default(), &mut self.total] {
            row.runs += 1;
            row.faults += u64::from(run.injected);
            match run.status {
                _ if !wrong.is_empty() => row.failed += 1,
                _ if !run.injected && plan.kind() != Kind::None => {}
                Some(0) => row.right += 1,
                _ => row.ended += 1,
            }
            // With a limit the moment of the fault is unknown, so a time from the job's start would mean nothing.
            if !plan.kind().is_limit() && run.status != Some(0) && !run.took.is_zero() {
                row.slowest = row.slowest.max(Some(run.took));
            }
        }
        for found in VERIFIED.captures_iter(&run.out) {
            self.messages += found[1].parse::<u64>().unwrap_or(0);
            self.bytes += found[2].parse::<u64>().unwrap_or(0);
        }
    }

    pub fn runs(&self) -> u64 {
        self.total.runs
    }

    pub fn failed(&self) -> u64 {
        self.total.failed
    }

    /// The table in Markdown.
    pub fn table(&self) -> String {
        let mut text =
            "| fault | runs | faults | right answer | ended with a line | slowest end, ms | failed |\n".to_owned();
        text += "|---|---|---|---|---|---|---|\n";
        let rows = self.rows.iter().map(|(name, row)| (name.as_str(), row)).chain([("total", &self.total)]);
        for (name, row) in rows {
            let slowest = row.slowest.map_or("-".into(), |slowest| slowest.as_millis().to_string());
            let Row { runs, faults, right, ended, failed, .. } = row;
            text += &format!("| {name} | {runs} | {faults} | {right} | {ended} | {slowest} | {failed} |\n");
        }
        text
    }

    pub fn summary(&self, seed: u64, time: Duration) -> String {
        format!(
            "seed {seed}: {} runs in {} s, {} messages and {} bytes verified in those that came to an answer",
            self.total.runs,
            time.as_secs(),
            self.messages,
            self.bytes
        )
    }

    pub fn write_json(&self, file: &Path, seed: u64, time: Duration) -> Result<()> {
        let kind = |row: &Row| {
            let slowest = row.slowest.map_or(0, |slowest| slowest.as_millis() as u64);
            json!({"runs": row.runs, "faults": row.faults, "right": row.right, "ended": row.ended,
                "slowest_ms": slowest, "failed": row.failed})
        };
        let kinds: Map<String, Value> = self.rows.iter().map(|(name, row)| (name.clone(), kind(row))).collect();
        let all = json!({"seed": seed, "seconds": time.as_secs(), "runs": self.total.runs, "failed": self.total.failed,
            "messages": self.messages, "bytes": self.bytes, "kinds": kinds});
        fs::write(file, format!("{all:#}\n")).with_context(|| format!("cannot write {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::*;

    #[test]
    fn a_run_counts_in_its_row_and_in_the_total() {
        let mut tally = Tally::default();
        let plan = CASES[0].plan();
        let out = "testsoak: node 0/2: verified 10 messages, 200 bytes\n".to_owned();
        let run = Run { status: Some(1), injected: true, out, took: Duration::from_millis(7), ..Run::default() };
        tally.count(&plan, &run, &[]);
        tally.count(&plan, &run, &["bad".into()]);
        let table = tally.table();
        assert!(
            table.contains("| call memfd_create | 2 | 2 | 0 | 1 | 7 | 1 |\n| total | 2 | 2 | 0 | 1 | 7 | 1 |\n"),
            "{table}"
        );
        let summary = tally.summary(5, Duration::from_secs(3));
        assert!(summary.starts_with("seed 5: 2 runs in 3 s, 20 messages and 400 bytes"), "{summary}");
        assert_eq!((tally.runs(), tally.failed()), (2, 1));
    }
}
