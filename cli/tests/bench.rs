//! `gasnet-sci bench`: a quick run ends, and its JSON holds every row. The tests assert nothing about speed. They do
//! check the memory per silent peer, because that is counted and not timed.

use gasnet_sci::am::wait;
use serde_json::Value;
use std::process::{Command, Output};
use std::sync::Mutex;

fn bench(arguments: &[&str]) -> Output {
    // Two tests at a time would share the cores.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Command::new(env!("CARGO_BIN_EXE_gasnet-sci")).arg("bench").args(arguments).output().unwrap()
}

/// Rows of the table of targets: section, beginning of the operation, who, nodes, bytes, target.
const TARGETS: [(&str, &str, &str, u64, u64, f64); 98] = [
    ("am", "short request-reply round trip", "native", 2, 0, 1.15),
    ("am", "short request-request round trip", "native", 2, 0, 1.25),
    ("am", "short flood, one way", "native", 2, 0, 0.13),
    ("am", "short flood, request-reply", "native", 2, 0, 0.25),
    ("am", "medium request-reply round trip", "native", 2, 64, 1.4),
    ("am", "medium request-reply round trip", "native", 2, 1 << 10, 2.5),
    ("am", "medium request-reply round trip", "native", 2, 4 << 10, 4.6),
    ("am", "medium request-reply round trip", "native", 2, 64 << 10, 48.0),
    ("am", "medium flood, one way", "native", 2, 64 << 10, 0.9),
    ("am", "long request-reply round trip", "native", 2, 64, 1.6),
    ("am", "long request-reply round trip", "native", 2, 4 << 10, 4.6),
    ("am", "long flood, one way", "native", 2, 1 << 20, 0.95),
    ("rma", "put, above the plain copy", "native", 2, 8, 2.0),
    ("rma", "get, above the plain copy", "native", 2, 8, 2.0),
    ("rma", "put bandwidth", "native", 2, 1 << 10, 0.97),
    ("rma", "put bandwidth", "native", 2, 4 << 20, 0.97),
    ("rma", "get bandwidth", "native", 2, 1 << 10, 0.97),
    ("rma", "get bandwidth", "native", 2, 4 << 20, 0.97),
    ("rma", "put", "ref", 2, 8, 1.3),
    ("rma", "get", "ref", 2, 8, 1.3),
    ("poll", "idle poll", "native", 64, 0, 5.0),
    ("poll", "idle poll, peers played", "native", 1024, 0, 10.0),
    ("barrier", "barrier", "native", 2, 0, 1.05),
    ("barrier", "barrier, 2 cores", "native", 8, 0, 8.0),
    ("barrier", "barrier, 2 cores", "native", 16, 0, 25.0),
    ("am", "short request-reply round trip, all pairs", "native", 4, 0, 5.0),
    ("am", "short request-reply round trip, all pairs", "native", 8, 0, 8.0),
    ("am", "short request-reply round trip, all pairs", "native", 16, 0, 16.0),
    ("start", "start and exit, by fork", "native", 64, 0, 0.5),
    ("start", "start and exit, by gasnetrun_sci", "native", 64, 0, 0.5),
    ("memory", "touched per silent peer", "native", 64, 0, 1.0),
    ("lock", "lock and unlock", "native", 2, 0, f64::NAN),
    ("am", "short request-reply round trip, PAR", "native", 2, 0, 1.4),
    ("am", "short flood, one way, PAR", "native", 2, 0, 0.2),
    ("rma", "put, above the plain copy, PAR", "native", 2, 8, 2.0),
    ("rma", "get, above the plain copy, PAR", "native", 2, 8, 2.0),
    ("poll", "idle poll, PAR", "native", 2, 0, 8.0),
    ("poll", "computing with polls, busy core", "native", 2, 0, f64::NAN),
    ("limit", "computing alone, busy core", "limit", 2, 0, f64::NAN),
    ("am", "short request-reply round trip, EX", "native", 2, 0, 1.03),
    ("am", "short flood, one way, EX", "native", 2, 0, 1.03),
    ("am", "medium packed in the library's buffer, flood, EX", "native", 2, 4 << 10, 1.2),
    ("rma", "put, above GASNet-1's, EX", "native", 2, 8, 0.5),
    ("rma", "get, above GASNet-1's, EX", "native", 2, 8, 0.5),
    ("rma", "put bandwidth, EX", "native", 2, 4 << 10, 0.97),
    ("rma", "get bandwidth, EX", "native", 2, 4 << 10, 0.97),
    ("atomic", "fetch and add, above the locked add", "native", 2, 8, 4.0),
    ("atomic", "fetch and add, both nodes", "native", 2, 8, 1.05),
    ("barrier", "barrier, EX", "native", 2, 0, 1.1),
    ("coll", "reduce to all, EX", "native", 2, 8, f64::NAN),
    ("limit", "barrier, GASNet-1", "limit", 2, 0, f64::NAN),
    ("limit", "locked add in the peer's segment", "limit", 2, 8, f64::NAN),
    ("am", "short round trips of 1 thread, per message, PAR", "native", 2, 0, f64::NAN),
    ("am", "short round trips of 2 threads, per message, PAR", "native", 2, 0, f64::NAN),
    ("am", "short round trips of 4 threads, per message, PAR", "native", 2, 0, f64::NAN),
    ("am", "short round trips of 8 threads, per message, PAR", "native", 2, 0, f64::NAN),
    ("limit", "line ring round trip, lines handed over", "limit", 2, 64, f64::NAN),
    ("limit", "line ring round trip, 0 pauses between looks", "limit", 2, 64, f64::NAN),
    ("limit", "line ring round trip, 4 pauses between looks", "limit", 2, 64, f64::NAN),
    ("limit", "line stream, lines claimed ahead", "limit", 2, 64, f64::NAN),
    ("limit", "copy ring round trip, lines handed over", "limit", 2, 64, f64::NAN),
    ("limit", "copy ring round trip, lines claimed ahead", "limit", 2, 16 << 10, f64::NAN),
    ("hosts", "short request-reply round trip, two hosts", "native", 2, 0, 1.1),
    ("hosts", "put, two hosts", "native", 2, 8, 1.15),
    ("hosts", "get, two hosts", "native", 2, 8, 1.15),
    ("hosts", "short flood, one way, two hosts", "native", 2, 0, 0.35),
    ("hosts", "medium request-reply round trip, two hosts", "native", 2, 1 << 10, f64::NAN),
    ("hosts", "medium flood, one way, two hosts", "native", 2, 1 << 10, f64::NAN),
    ("hosts", "long flood, one way, two hosts", "native", 2, 64 << 10, 0.9),
    ("hosts", "long flood, one way, two hosts", "native", 2, 1 << 20, 0.9),
    ("hosts", "put nb bandwidth, two hosts", "native", 2, 64 << 10, 0.9),
    ("hosts", "put nb bandwidth, two hosts", "native", 2, 1 << 20, 0.9),
    ("hosts", "get nb bandwidth, two hosts", "native", 2, 64 << 10, 0.9),
    ("hosts", "get nb bandwidth, two hosts", "native", 2, 1 << 20, 0.9),
    ("hosts", "mail box post, two hosts", "native", 2, 256 << 10, f64::NAN),
    ("hosts", "mail box post, two hosts", "native", 2, 1 << 20, f64::NAN),
    ("hosts", "mail box give, two hosts", "native", 2, 1 << 20, f64::NAN),
    ("hosts", "mail box give beside post, two hosts", "native", 2, 256 << 10, f64::NAN),
    ("hosts", "mail box give beside post, two hosts", "native", 2, 1 << 20, 0.95),
    ("hosts", "mail box give, processor time, two hosts", "native", 2, 1 << 20, 0.5),
    ("hosts", "barrier, two hosts", "native", 2, 0, 1.1),
    ("hosts", "short request-reply round trip, two hosts, udp", "native", 2, 0, 1.25),
    ("hosts", "long flood, one way, two hosts, udp", "native", 2, 64 << 10, 0.9),
    ("hosts", "raw TCP as iperf3 sends, two hosts, tcp", "limit", 2, 128 << 10, f64::NAN),
    ("hosts", "bare UDP by plain sendmmsg, two hosts, udp", "limit", 2, 128 << 10, f64::NAN),
    ("hosts", "short request-reply round trip, two hosts, tcp, protected", "native", 2, 0, f64::NAN),
    ("hosts", "put nb bandwidth, two hosts, tcp, protected", "native", 2, 1 << 20, f64::NAN),
    ("hosts", "long flood, one way, two hosts, udp, protected", "native", 2, 64 << 10, f64::NAN),
    ("hosts", "mail box give beside post, two hosts, udp, protected", "native", 2, 1 << 20, 0.95),
    ("limit", "bare UDP round trip", "limit", 2, 8, f64::NAN),
    ("limit", "bare UDP stream", "limit", 2, 64 << 10, f64::NAN),
    ("hosts", "barrier, two hosts", "native", 4, 0, f64::NAN),
    ("hosts", "short request-reply round trip within a host, two hosts", "native", 4, 0, 1.03),
    ("limit", "short round trip in a job on one host", "limit", 2, 0, f64::NAN),
    ("limit", "raw TCP round trip", "limit", 2, 8, f64::NAN),
    ("limit", "raw TCP stream", "limit", 2, 1 << 20, f64::NAN),
    ("limit", "mail box post, two hosts", "limit", 2, 1 << 20, f64::NAN),
    ("limit", "mail box post, processor time, two hosts", "limit", 2, 1 << 20, f64::NAN),
];

#[test]
fn quick_run_has_every_row() {
    if wait::cores() < 2 {
        let output = bench(&["--quick"]);
        assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("needs 2 cores"));
        return;
    }
    let output = bench(&["--quick", "--json", "--rounds", "3"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["version"], 1);
    for key in ["/host/cpu", "/host/kernel", "/host/library"] {
        assert!(report.pointer(key).is_some_and(Value::is_string), "{key}");
    }
    assert!(report["host"]["cores"].as_u64().unwrap() >= 2);
    let tricks = &report["tricks"];
    assert!(tricks["cldemote"].is_boolean() && tricks["membarrier"].is_boolean(), "{tricks}");
    assert!(tricks["copy"].as_str().unwrap().contains("memmove") && tricks["pauses"].as_u64().unwrap() > 0, "{tricks}");
    let rows = report["results"].as_array().unwrap();

    for (section, operation, who, nodes, bytes, target) in TARGETS {
        let wanted = |row: &&Value| {
            row["section"] == section
                && row["operation"].as_str().unwrap().starts_with(operation)
                && row["who"].as_str().unwrap().trim_start_matches("gasnet-sci ") == who
                && row["nodes"] == nodes
                && row["bytes"] == bytes
        };
        let mut found = rows.iter().filter(wanted);
        let same = |row: &Value| row["target"].as_f64().map_or(target.is_nan(), |value| value == target);
        assert!(found.any(same), "{section}: {operation} ({who}), {nodes} nodes, {bytes} bytes");
    }
    for section in ["limit", "am", "rma", "atomic", "barrier", "poll", "lock", "coll", "hosts", "start", "memory"] {
        assert!(rows.iter().any(|row| row["section"] == section), "{section}");
    }
    for row in rows {
        row_is_consistent(row, rows);
        let same =
            |other: &&Value| ["who", "operation", "nodes", "bytes", "unit"].iter().all(|key| other[key] == row[key]);
        assert_eq!(rows.iter().filter(same).count(), 1, "{row}");
    }
    // Pages are counted and no time is taken: this holds on any machine, and for any number of nodes.
    let memory: Vec<&Value> = rows.iter().filter(|row| row["section"] == "memory").collect();
    assert_eq!(memory.iter().map(|row| row["nodes"].as_u64().unwrap()).collect::<Vec<_>>(), [32, 64]);
    let per_peer = memory[1]["median"].as_f64().unwrap();
    assert!((0.1..=1.0).contains(&per_peer), "a silent peer takes {per_peer} KiB");
}

fn row_is_consistent(row: &Value, rows: &[Value]) {
    let number = |key: &str| row[key].as_f64();
    let (low, median, high) = (number("low").unwrap(), number("median").unwrap(), number("high").unwrap());
    assert!(low <= median && median <= high, "{row}");
    // A difference of two times may be less than nothing.
    let named = |word: &str| row["operation"].as_str().unwrap().contains(word);
    let difference = row["section"] == "memory" || named("above");
    assert!(median > 0.0 || difference, "{row}");
    assert!(["us", "ns", "MB/s", "KiB", "s"].contains(&row["unit"].as_str().unwrap()), "{row}");
    let Some(limit) = row["limit"].as_str() else {
        assert!(row["limit_median"].is_null() && row["ratio"].is_null(), "{row}");
        return;
    };
    assert!(number("limit_median").unwrap() > 0.0, "{row}");
    assert!(number("ratio").map_or(difference, |ratio| ratio > 0.0), "{row}");
    let named = |other: &&Value| other["section"] == "limit" && other["who"] == "limit" && other["operation"] == limit;
    assert!(rows.iter().any(|other| named(&other)), "{row}: no such limit");
}

#[test]
fn parts_can_be_chosen_and_go_to_a_file() {
    if wait::cores() < 2 {
        return;
    }
    let file = std::env::temp_dir().join(format!("gasnet-sci-bench-{}.json", std::process::id()));
    let output = bench(&["--quick", "--json", "--rounds", "2", "--only", "lock,barrier", "--nodes", "4", "--out", {
        file.to_str().unwrap()
    }]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(report["rounds"], 2);
    let rows = report["results"].as_array().unwrap();
    assert!(
        rows.iter().all(|row| ["limit", "lock", "barrier"].contains(&row["section"].as_str().unwrap())),
        "{rows:?}"
    );
    assert!(rows.iter().all(|row| row["nodes"].as_u64().unwrap() <= 4), "{rows:?}");

    let table =
        bench(&["--quick", "--rounds", "1", "--only", "barrier", "--nodes", "2", "--json", { file.to_str().unwrap() }]);
    let text = String::from_utf8(table.stdout).unwrap();
    assert!(table.status.success() && text.contains("\nbarrier ") && text.contains("targets met"), "{text}");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(report["results"].as_array().unwrap().iter().any(|row| row["section"] == "barrier"), "{report}");
}

#[test]
fn what_cannot_be_is_an_error() {
    for (arguments, expected) in [
        (&["--only", "rma,speed"][..], "speed"),
        (&["--rounds", "0"], "--rounds"),
        (&["--nodes", "1"], "--nodes"),
        (&["--hosts", "one"], "--hosts a,b"),
        (&["--layers", "--only", "am"], "--only"),
        (&["--quick", "--only", "lock", "--out", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["--quick", "--only", "lock", "--json", "/nowhere/at/all"], "/nowhere/at/all"),
    ] {
        let output = bench(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}

/// The layers, and whether each host has them.
const LAYERS: [(&str, bool); 8] = [
    ("HAL", true),
    ("ports", true),
    ("TCP by rings", false),
    ("TCP", true),
    ("MPI, sci", false),
    ("MPI, vader", false),
    ("MPI, tcp", false),
    ("PVM", false),
];

#[test]
fn each_layer_is_measured_or_said_to_be_missing() {
    if wait::cores() < 2 {
        return;
    }
    let page = std::env::temp_dir().join(format!("gasnet-sci-layers-{}.html", std::process::id()));
    let output = bench(&["--layers", "--quick", "--rounds", "1", "--json", "--html", page.to_str().unwrap()]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["results"].as_array().unwrap();
    let missing: Vec<&str> = report["missing"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let drawn = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    for (layer, always) in LAYERS {
        let of = |operation: &str| -> Vec<(u64, f64)> {
            let wanted =
                |row: &&Value| row["who"] == layer && row["operation"].as_str().unwrap().starts_with(operation);
            let pair = |row: &Value| (row["bytes"].as_u64().unwrap(), row["median"].as_f64().unwrap());
            rows.iter().filter(wanted).map(pair).collect()
        };
        let (trips, rates) = (of("half a round trip"), of("exchange, each way"));
        if missing.iter().any(|line| line.starts_with(&format!("{layer}: "))) {
            assert!(!always && trips.is_empty() && rates.is_empty(), "{layer}: {missing:?}");
            continue;
        }
        let sizes: Vec<u64> = (0..=20).map(|power| 1 << power).collect();
        assert!(trips.iter().map(|(bytes, _)| *bytes).eq(sizes.iter().copied()), "{layer}: {trips:?}");
        assert!(rates.iter().map(|(bytes, _)| *bytes).eq(sizes.iter().copied()), "{layer}: {rates:?}");
        assert!(trips.iter().chain(&rates).all(|(_, value)| *value > 0.0), "{layer}: {trips:?} {rates:?}");
        assert_eq!(of("latency"), [trips[2]], "{layer}: that of 4 bytes");
        let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        assert_eq!(of("throughput"), [(0, most)], "{layer}");
        let half = of("N/2")[0].1;
        let below =
            |bytes: f64| rates.iter().filter(|(size, _)| (*size as f64) < bytes).all(|(_, rate)| *rate < most / 2.0);
        assert!((1.0..=(1 << 20) as f64).contains(&half) && below(half), "{layer}: {half} in {rates:?}");
        assert!(drawn.contains(&format!("data-name=\"{layer}\"")), "{layer} is not in the picture");
    }
    assert!(missing.iter().all(|line| drawn.contains(line.split(':').next().unwrap())), "{missing:?}");
}
