//! `gasnet-sci trace` beside the library: the sums of a run's traces are those of its statistics.
//!
//! The nodes are those of `gasnet-sci bench`, which do operations of most kinds. How long they take does not matter here.

// A test plays the user, who gives processes their environment.
#![allow(clippy::disallowed_methods)]

use gasnet_sci::os::sys;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const COMMAND: &str = env!("CARGO_BIN_EXE_gasnet-sci");

fn scratch(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("gasnet-sci-cli-trace-{}-{name}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// A job of two nodes that writes into `directory`: traces to `trace`, statistics to stats.0 and stats.1.
fn job(directory: &Path, trace: &str) {
    let cpus = sys::usable_cpus();
    let cpus = [cpus[0], cpus[cpus.len() - 1]].map(|cpu| cpu.to_string()).join(",");
    let options = ["--job", "native", "--nodes", "2", "--rounds", "1", "--budget", "1", "--cpus", &cpus];
    let output = Command::new(COMMAND)
        .arg("bench-node")
        .args(options)
        .args(["--sections", "am,atomic,barrier,coll"])
        .env("GASNET_SCI_NODES", "2")
        .env("GASNET_TRACEFILE", directory.join(trace))
        .env("GASNET_STATSFILE", directory.join("stats.%"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn trace(arguments: &[&str]) -> Output {
    Command::new(COMMAND).arg("trace").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Count, bytes and nanoseconds of each kind of each node.
type Sums = BTreeMap<(u64, String), (u64, u64, u64)>;

/// What the library says: a line is "0 (P) PUT  count=3  bytes total=24 min=8 avg=8.000 max=8  us total=0.5 …".
fn statistics(directory: &Path) -> Sums {
    let mut sums = Sums::new();
    for node in 0..2 {
        for line in fs::read_to_string(directory.join(format!("stats.{node}"))).unwrap().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(count) = words.get(3).and_then(|word| word.strip_prefix("count=")) else { continue };
            let total = |what: &str| {
                let at = words.iter().position(|word| *word == what)? + 1;
                words[at].strip_prefix("total=")?.parse::<f64>().ok()
            };
            let ns = (total("us").unwrap_or(0.0) * 1e3).round() as u64;
            let value = (count.parse().unwrap(), total("bytes").unwrap_or(0.0) as u64, ns);
            sums.insert((node, words[2].to_owned()), value);
        }
    }
    sums
}

/// What the command makes of the traces.
fn found(report: &Value) -> Sums {
    let mut sums = Sums::new();
    for node in report["summaries"].as_array().unwrap() {
        for operation in node["operations"].as_array().unwrap() {
            let ns = (operation["us"].as_f64().unwrap_or(0.0) * 1e3).round() as u64;
            let value = (operation["count"].as_u64().unwrap(), operation["bytes"].as_u64().unwrap_or(0), ns);
            sums.insert((node["node"].as_u64().unwrap(), operation["name"].as_str().unwrap().to_owned()), value);
        }
    }
    sums
}

#[test]
fn sums_are_those_of_the_statistics_of_the_same_run() {
    let directory = scratch("sums");
    for (name, files) in [("each.%", vec!["each.0", "each.1"]), ("all", vec!["all"])] {
        job(&directory, name);
        let files: Vec<String> = files.iter().map(|file| directory.join(file).display().to_string()).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = trace(&[&files[..], &["--json"]].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let (found, counted) = (found(&report), statistics(&directory));
        assert!(counted.len() > 20, "{counted:?}");
        assert_eq!(found, counted, "{name}");
        // Every message of such a job arrives, and its barriers are of all nodes.
        let number = |key: &str| report[key].as_u64().unwrap();
        assert_eq!((number("messages_without_arrival"), number("arrivals_without_message")), (0, 0), "{report}");
        assert_eq!((number("nodes"), number("traces"), number("unusable_lines")), (2, 2, 0));
        let sent = |node, name: &str| counted.get(&(node, name.to_string())).map_or(0, |sum| sum.0);
        let kinds = ["REQUEST_SHORT", "REQUEST_MEDIUM", "REQUEST_LONG", "REPLY_SHORT", "REPLY_MEDIUM", "REPLY_LONG"];
        let all: u64 = (0..2).flat_map(|node| kinds.map(|kind| sent(node, &format!("AM{kind}")))).sum();
        assert_eq!(number("messages"), all);
        let barriers = (0..2).map(|node| sent(node, "BARRIER_NOTIFY") + sent(node, "BARRIER")).min().unwrap();
        assert!(number("barriers") > 0 && number("barriers") <= barriers, "{} of {barriers}", number("barriers"));
        // The table has them, too, and the other files hold the run.
        let table = text(&trace(&files).stdout);
        let (node, name) = counted.keys().next().unwrap();
        assert!(table.lines().any(|line| line.starts_with(&format!("{node:>5} (")) && line.contains(name)), "{table}");
        let out = ["page.html", "perfetto.json"].map(|name| directory.join(name).display().to_string());
        let written = trace(&[&files[..], &["--html", &out[0], "--perfetto", &out[1]]].concat());
        assert!(written.status.success() && written.stdout.is_empty(), "{written:?}");
        let perfetto: Value = serde_json::from_slice(&fs::read(&out[1]).unwrap()).unwrap();
        let flows = perfetto["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "s").count();
        assert_eq!(flows as u64, number("messages"));
        assert!(fs::read_to_string(&out[0]).unwrap().contains("id=\"timeline\""));
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_is_no_trace_is_told_with_file_and_line() {
    let directory = scratch("faults");
    let file = directory.join("t").display().to_string();
    fs::write(
        &file,
        "0 0.1> (P) PUT node=1 bytes=8 us=1\nwhat is this\n0 0.2> (P) PUT node=1 bytes=8 us=1\n0 0.3> (P) PU",
    )
    .unwrap();
    let output = trace(&[&file]);
    assert!(output.status.success(), "{output:?}");
    let told: Vec<String> = text(&output.stderr).lines().map(str::to_owned).collect();
    assert!(
        told.len() == 2 && told[0].contains(&format!("{file}:2: ")) && told[1].contains(&format!("{file}:4: ")),
        "{told:?}"
    );
    assert!(text(&output.stdout).contains("2 events"), "{output:?}");
    let refused = |arguments: &[&str], part: &str| {
        let output = trace(arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains(part) && output.stdout.is_empty(), "{output:?}");
    };
    refused(&["/nowhere/t"], "/nowhere/t: No such file");
    refused(&["/dev/null"], "no operation in 0 lines");
    refused(&[&file, "--html", "/nowhere/page"], "/nowhere/page: No such file");
    refused(&[&file, "--perfetto", "/nowhere/json"], "/nowhere/json: No such file");
    fs::remove_dir_all(directory).unwrap();
}
