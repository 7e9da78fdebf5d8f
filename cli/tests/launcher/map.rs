//! `--map`: nodes run where a file says.

use super::driver::{Outcome, Start, launched, rsh, run, scratch};
use gasnet_sci::os::sys;
use std::fs;

const ALLOWED: &str = "grep ^Cpus_allowed_list: /proc/self/status | cut -f2";

/// Runs `arguments` under the launcher with this map, on `nodes` nodes, with more options.
fn mapped(name: &str, text: &str, nodes: u32, options: &[&str], arguments: &[&str]) -> Outcome {
    let file = scratch(&format!("map-{name}")).join("map");
    fs::write(&file, text).unwrap();
    let nodes = nodes.to_string();
    let own = ["-n", &nodes, "--map", file.to_str().unwrap()];
    run(Start::launcher(&[&own, options, arguments].concat()).with_env("GASNET_SCI_RSH", &rsh()))
}

fn bound(name: &str, text: &str, nodes: u32) -> Vec<String> {
    let outcome = mapped(name, text, nodes, &["--tag-output"], &["sh", "-c", ALLOWED]);
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let mut lines: Vec<String> = outcome.out.lines().map(String::from).collect();
    lines.sort();
    lines
}

#[test]
fn affinities_are_as_written() {
    let cpus = sys::usable_cpus();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    assert_eq!(bound("cpu", &format!("# the last one\n0 cpu:{last} # here\n"), 1), [format!("[0] {last}")]);
    if first != last {
        let text = format!("1 cpu:{first}\n\n0 cpu:{last}\n");
        assert_eq!(bound("two", &text, 2), [format!("[0] {last}"), format!("[1] {first}")]);
    }
    let cores = gasnet_sci::os::topology::Topology::read().cores;
    let core = gasnet_sci::os::topology::format_list(&cores[cores.len() - 1]);
    assert_eq!(bound("core", &format!("0 core:{}\n", cores.len() - 1), 1), [format!("[0] {core}")]);
    let all = gasnet_sci::os::topology::format_list(&cpus);
    assert_eq!(bound("pos", "0 pos:7\n1 pos:0\n2 pos:3\n", 3), [0, 1, 2].map(|rank| format!("[{rank}] {all}")));
}

#[test]
fn a_dry_run_shows_the_bindings() {
    let cpu = sys::usable_cpus()[0];
    let outcome = mapped("dry", &format!("0 cpu:{cpu}\n1 pos:5\n"), 2, &["-t"], &["echo", "ran"]);
    assert_eq!((outcome.status, outcome.out.as_str()), (0, ""), "{outcome:?}");
    assert!(outcome.err.contains(&format!("node 0: CPUs {cpu}\n")), "{}", outcome.err);
    assert!(outcome.err.contains("node 1: pos:5, not bound\n"), "{}", outcome.err);
}

#[test]
fn mistakes_name_the_line_and_end_with_status_1_before_anything_runs() {
    let cpu = sys::usable_cpus()[0];
    for (text, parts) in [
        ("0 pos:0\n0 pos:1\n".to_string(), ["line 2: ", "rank 0 ", "'0 pos:1'"]),
        ("0 pos:1\n1 pos:1\n".into(), ["line 2: ", "taken by line 1", "'1 pos:1'"]),
        (format!("0 cpu:{cpu}\n1 cpu:{cpu}\n"), ["line 2: ", "taken by line 1", "'1 cpu:"]),
        ("0 pos:1\n1 cpu:8190\n".into(), ["line 2: ", "no CPU 8190", "'1 cpu:8190'"]),
        ("0 pos:1\n1 core:9999\n".into(), ["line 2: ", "has cores 0 to ", "'1 core:9999'"]),
        ("0 pos:1\n1 numa:77\n".into(), ["line 2: ", "no NUMA node 77", "'1 numa:77'"]),
        ("# only\n0 pos:1\n".into(), ["line 2: ", "without rank 1", "'0 pos:1'"]),
        ("0 pos:1\n1 pos:2\n2 pos:3\n".into(), ["line 3: ", "no rank 2", "'2 pos:3'"]),
        ("0 pos:1\n1 there\n".into(), ["line 2: ", "is no place", "'1 there'"]),
        ("0 pos:1\n1 elsewhere/pos:2\n".into(), ["line 2: ", "runs on ", "'1 elsewhere/pos:2'"]),
    ] {
        let outcome = mapped("mistake", &text, 2, &[], &["echo", "ran"]);
        assert_eq!(
            (outcome.status, outcome.out.as_str(), outcome.err.lines().count()),
            (1, "", 1),
            "{text}: {outcome:?}"
        );
        assert!(parts.iter().all(|part| outcome.err.contains(part)), "{text}: {}", outcome.err);
    }
    let matrix = r#"{"format":"gasnet-sci matrix","version":1,"nodes":2,"rows":[]}"#;
    let outcome = mapped("matrix", matrix, 2, &[], &["echo", "ran"]);
    let said =
        "it holds a traffic matrix (gasnetrun_sci --matrix), and --map reads a map of ranks (gasnet-sci place --map)";
    assert!(outcome.status == 1 && outcome.out.is_empty() && outcome.err.contains(said), "{outcome:?}");
    for option in ["--bind=core", "-c1"] {
        let outcome = mapped("both", "0 pos:0\n", 1, &[option], &["true"]);
        assert!(outcome.status == 1 && outcome.err.contains("cannot be used with"), "{outcome:?}");
    }
    let outcome = run(Start::launcher(&["-n", "1", "--map", "/nowhere/map", "true"]));
    assert!(outcome.status == 1 && outcome.err.contains("/nowhere/map: cannot read it"), "{outcome:?}");
}

#[test]
fn a_map_of_several_hosts_places_nodes_and_binds_them_there() {
    let cpu = sys::usable_cpus()[0];
    let text = format!("0 b/cpu:{cpu}\n1 a/pos:3\n2 a/cpu:{cpu}\n");
    let hosts = ["--host", "a,b", "--tag-output"];
    let outcome = mapped("hosts", &text, 3, &hosts, &["sh", "-c", ALLOWED]);
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    for line in [format!("[0] {cpu}"), format!("[2] {cpu}")] {
        assert!(outcome.out.lines().any(|found| found == line), "{line}: {outcome:?}");
    }
    let shown = mapped("hosts-dry", &text, 3, &["--host", "a,b", "-t"], &["true"]).err;
    assert!(shown.contains("host a: nodes 1-2,") && shown.contains("host b: nodes 0,"), "{shown}");
    assert!(shown.contains(&format!("node 0: b/cpu:{cpu}\n")), "{shown}");
    let wrong = mapped("hosts-wrong", "0 b/core:9999\n1 a/core:0\n", 2, &["--host", "a,b"], &["true"]);
    assert!(wrong.status == 1 && wrong.err.contains("host b: --map ") && wrong.err.contains("line 1: "), "{wrong:?}");
    for (text, options, part) in [
        ("0 c/core:0\n1 a/core:0\n", &["--host", "a,b"][..], "line 1: the job has no host c"),
        ("0 core:0\n1 a/core:0\n", &["--host", "a,b"], "line 1: it names no host"),
        ("0 b/core:0\n1 a/core:0\n", &["--host", "a,b", "--place", "next"], "no --place"),
    ] {
        let outcome = mapped("hosts-mistake", text, 2, options, &["true"]);
        assert!(outcome.status == 1 && outcome.err.contains(part), "{part}: {outcome:?}");
    }
}

#[test]
fn every_node_knows_the_positions_of_all() {
    let file = scratch("map-positions").join("map");
    fs::write(&file, "0 pos:4\n1 pos:0\n2 pos:65519\n").unwrap();
    for hosts in [&[][..], &["--host", "a,b"]] {
        let mut start = launched(3, "join positions exit:0").with_env("GASNET_SCI_RSH", &rsh());
        start.insert_option(&[&["--map", file.to_str().unwrap()], hosts].concat());
        let outcome = run(start);
        assert_eq!(
            (outcome.status, outcome.out.as_str()),
            (0, "positions 4 0 65519\n".repeat(3).as_str()),
            "{outcome:?}"
        );
    }
}
