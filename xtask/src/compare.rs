//! `cargo xtask compare OLD`: is this build slower than another one? Both run `gasnet-sci bench` in turns, so that
//! other load on the machine hits both alike. The verdict on a row is the median of the ratios of the single rounds.

use crate::repo::Repo;
use anyhow::{Context, Result, bail};
use clap::{Args, value_parser};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A row that is slower by more than this share counts as worse. The noise of a quiet machine of two cores is about 2
/// %.
const WORSE: f64 = 0.03;

/// runs gasnet-sci bench of another build and of this one in turns; fails if a row with a target is slower by more than 3 %
#[derive(Args)]
pub struct Options {
    /// target/release of the other build
    #[arg(value_name = "DIRECTORY")]
    old: PathBuf,
    /// times that each of them runs
    #[arg(long, value_name = "N", default_value = "3", value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// sections of the bench; default all
    #[arg(long, value_name = "SECTION")]
    only: Vec<String>,
}

/// A row's name and its figure: the ratio to its limit if it has one, else the median. Smaller is better.
type Figures = BTreeMap<String, f64>;

pub fn run(repo: &Repo, Options { old, rounds, only }: &Options) -> Result<bool> {
    repo.make_stage()?;
    let new = repo.target.join("release");
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for round in 0..*rounds {
        // The two builds take turns in going first.
        let (before, after) = if round % 2 == 0 {
            let before = measure(repo, old, only)?;
            (before, measure(repo, &new, only)?)
        } else {
            let after = measure(repo, &new, only)?;
            (measure(repo, old, only)?, after)
        };
        for (row, then) in before {
            if let Some(now) = after.get(&row) {
                ratios.entry(row).or_default().push(now / then);
            }
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    let mut worse = 0;
    for (row, mut found) in ratios {
        found.sort_by(f64::total_cmp);
        let median = found[found.len() / 2];
        let verdict = match median {
            m if m > 1.0 + WORSE => "worse",
            m if m < 1.0 - WORSE => "better",
            _ => "",
        };
        worse += u32::from(verdict == "worse");
        println!("{median:7.3}  {:7.3} to {:7.3}  {row}  {verdict}", found[0], found[found.len() - 1]);
    }
    println!("compare: {worse} rows with a target are slower by more than {} %", WORSE * 100.0);
    Ok(worse == 0)
}

fn measure(repo: &Repo, directory: &Path, only: &[String]) -> Result<Figures> {
    let mut bench = repo.command(&directory.join("gasnet-sci").to_string_lossy());
    bench.args(["bench", "--quick"]);
    if !only.is_empty() {
        bench.args(["--only", &only.join(",")]);
    }
    let output = bench.arg("--json").output()?;
    if !output.status.success() {
        bail!("{}: {}: {}", directory.display(), output.status, String::from_utf8_lossy(&output.stderr));
    }
    let report: Value = serde_json::from_slice(&output.stdout).context("the bench's JSON")?;
    let rows = report["results"].as_array().context("the bench's rows")?;
    let with_target = rows.iter().filter(|row| !row["target"].is_null());
    Ok(with_target.filter_map(figure).collect())
}

fn figure(row: &Value) -> Option<(String, f64)> {
    let name = format!(
        "{} {} {} B {} nodes",
        row["section"].as_str()?,
        row["operation"].as_str()?,
        row["bytes"],
        row["nodes"]
    );
    let value = row["ratio"].as_f64().or_else(|| row["median"].as_f64())?;
    // For bandwidths higher is better, alone or as a ratio to that of copies.
    let rises = row["unit"] == "MB/s";
    Some((name, if rises { 1.0 / value } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rows_figure_is_its_ratio_and_a_bandwidth_is_turned_round() {
        let row = |unit: &str, ratio: Option<f64>| json!({"section": "am", "operation": "flood", "bytes": 0, "nodes": 2, "unit": unit, "median": 8.0, "ratio": ratio});
        assert_eq!(figure(&row("us", Some(2.0))), Some(("am flood 0 B 2 nodes".into(), 2.0)));
        assert_eq!(figure(&row("us", None)).map(|f| f.1), Some(8.0));
        assert_eq!(figure(&row("MB/s", Some(0.5))).map(|f| f.1), Some(2.0));
    }
}
