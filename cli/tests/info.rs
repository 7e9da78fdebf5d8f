//! `gasnet-sci info`: its JSON holds what it promises, and agrees with the library.

use gasnet_sci::am::region;
use gasnet_sci::base::config::{Config, VARS};
use gasnet_sci::os::{limit, sys};
use serde_json::Value;
use std::process::{Command, Output};

fn info(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gasnet-sci"));
    for var in VARS {
        for name in var.aliases.iter().chain([&var.name]) {
            command.env_remove(name);
        }
    }
    command.arg("info").args(arguments).envs(environment.iter().copied()).output().unwrap()
}

fn json(arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let output = info(&[&["--json"], arguments].concat(), environment);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn variable<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["environment"].as_array().unwrap().iter().find(|variable| variable["name"] == name).unwrap()
}

#[test]
fn keys_are_there_with_their_types() {
    let report = json(&[], &[]);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    for key in [
        "/configuration/page_bytes",
        "/configuration/job_layout",
        "/limits/max_nodes",
        "/limits/am_max_args",
        "/limits/am_max_medium_bytes",
        "/limits/am_max_long_bytes",
        "/regions/slots",
        "/regions/queue_bytes_per_peer",
        "/regions/command_bytes_per_node",
        "/regions/control_bytes_per_node",
        "/regions/max_segment_bytes_per_node",
        "/thresholds/dma_min_bytes",
        "/thresholds/exit_timeout_seconds",
        "/host/cpus/online",
        "/host/cpus/usable",
        "/host/cpus/cores",
        "/host/cpus/counted",
        "/host/memory/physical_bytes",
        "/host/memory/limit_bytes",
    ] {
        assert!(report.pointer(key).is_some_and(|value| value.as_f64().is_some_and(|n| n > 0.0)), "{key}");
    }
    for key in ["/host/cross_memory_attach/allowed", "/host/membarrier/allowed", "/host/shared_memory_files/used"] {
        assert!(report.pointer(key).is_some_and(Value::is_boolean), "{key}");
    }
    for key in
        ["/host/cpus/affinity", "/host/name", "/host/kernel", "/host/huge_pages/transparent", "/host/memory/limited_by"]
    {
        assert!(report.pointer(key).is_some_and(Value::is_string), "{key}");
    }
    for key in ["/host/numa_nodes", "/host/resource_limits", "/host/huge_pages/reserved", "/environment"] {
        assert!(report.pointer(key).is_some_and(Value::is_array), "{key}");
    }
}

#[test]
fn sizes_are_the_librarys_for_the_number_of_nodes_asked_for() {
    for nodes in [1, 2, 65] {
        let report = json(&["-n", &nodes.to_string()], &[]);
        let layout = region::Layout::new(nodes, Config::default().slots_among(nodes));
        let regions = &report["regions"];
        assert_eq!(regions["nodes"], nodes);
        assert_eq!(regions["queue_bytes_per_peer"], layout.queue_len());
        assert_eq!(regions["command_bytes_per_node"], layout.command_len());
        assert_eq!(regions["control_bytes_per_node"], layout.control_len());
    }
    let report = json(&[], &[("GASNET_SCI_NODES", "5"), ("GASNET_MAX_SEGSIZE", "1M")]);
    assert_eq!(
        (&report["regions"]["nodes"], &report["regions"]["max_segment_bytes_per_node"]),
        (&5.into(), &(1 << 20).into())
    );
    assert_eq!(report["limits"]["am_max_args"], region::MAX_ARGS);
}

#[test]
fn variables_are_the_table_with_values_and_origins() {
    let report = json(&[], &[("GASNET_NETWORKDEPTH", "16"), ("GASNET_SCI_DMA_MIN", "2K"), ("GASNET_BARRIER", "")]);
    let names: Vec<&str> =
        report["environment"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(names, VARS.iter().map(|var| var.name).collect::<Vec<_>>());
    for var in VARS {
        let found = variable(&report, var.name);
        assert_eq!((found["default"].as_str(), found["meaning"].as_str()), (Some(var.default), Some(var.doc)));
        assert_eq!(found["valid"], true, "{}", var.name);
        if !["GASNET_SCI_SLOTS", "GASNET_SCI_DMA_MIN"].contains(&var.name) {
            assert_eq!((&found["origin"], &found["value"]), (&"default".into(), &var.default.into()), "{}", var.name);
        }
    }
    let slots = variable(&report, "GASNET_SCI_SLOTS");
    assert_eq!((&slots["origin"], &slots["value"]), (&"GASNET_NETWORKDEPTH".into(), &"16".into()));
    assert_eq!((&report["regions"]["slots"], &report["thresholds"]["dma_min_bytes"]), (&16.into(), &2048.into()));
}

#[test]
fn value_that_makes_no_sense_is_marked_and_the_rest_is_shown() {
    let wrong = [("GASNET_SCI_NODES", "several")];
    let report = json(&[], &wrong);
    assert_eq!(
        (&variable(&report, "GASNET_SCI_NODES")["valid"], &report["regions"]["nodes"]),
        (&false.into(), &2.into())
    );
    let text = String::from_utf8(info(&[], &wrong).stdout).unwrap();
    assert!(text.contains("GASNET_SCI_NODES = several") && text.contains("NOT VALID: expected an integer"), "{text}");
}

#[test]
fn host_is_this_one() {
    let report = json(&[], &[]);
    assert_eq!(report["host"]["cpus"]["usable"], sys::usable_cpus().len());
    let (soft, _) = limit::of(libc::RLIMIT_NOFILE);
    let limits = report["host"]["resource_limits"].as_array().unwrap();
    assert_eq!(limits.iter().find(|limit| limit["name"] == "RLIMIT_NOFILE").unwrap()["soft"], soft);
}

#[test]
fn jobs_on_several_hosts_have_a_network_here() {
    let conf = std::env::temp_dir().join(format!("gasnet-sci-info-conf-{}", std::process::id()));
    std::fs::write(&conf, "jobs = 3 # for tests\n").unwrap();
    let set = [
        ("GASNET_SCI_NETWORK", "tcp"),
        ("GASNET_SCI_IFACE", "127.0.0.1"),
        ("GASNET_SCI_SECURE", "yes"),
        ("GASNET_SCI_PORTS", "40000-40007"),
        ("GASNET_SCI_RSH", "rsh -4"),
        ("GASNET_SCI_AGENT_CONF", conf.to_str().unwrap()),
    ];
    let report = json(&[], &set);
    std::fs::remove_file(&conf).unwrap();
    let hosts = &report["hosts"];
    assert_eq!((&hosts["network"], &hosts["address"]), (&"tcp".into(), &"127.0.0.1".into()), "{hosts}");
    assert_eq!((&hosts["addresses"][0], &hosts["only_loopback"]), (&"127.0.0.1 (lo)".into(), &true.into()), "{hosts}");
    assert_eq!((&hosts["ports"], &hosts["rsh"]), (&"40000-40007".into(), &"rsh -4".into()), "{hosts}");
    assert!(hosts["interface"].is_string() && hosts["why"].as_str().unwrap().contains("GASNET_SCI_NETWORK"), "{hosts}");
    assert!(hosts["protected"].as_str().unwrap().starts_with("AES-128-GCM"), "{hosts}");
    assert_eq!(hosts["agent_conf"][1]["lines"], serde_json::json!(["jobs = 3"]));
    for library in ["libfabric", "pmix"] {
        let file = &hosts[library]["file"];
        assert!(hosts[library]["name"].is_string() && (file.is_null() || file.is_string()), "{hosts}");
    }

    let hosts = &json(&[], &[("GASNET_SCI_IFACE", "no-such-interface")])["hosts"];
    assert!(hosts["address"].is_null() && hosts["problem"].as_str().unwrap().contains("no-such-interface"), "{hosts}");
    assert!(hosts["protected"].as_str().unwrap().starts_with("no (GASNET_SCI_SECURE)"), "{hosts}");
    assert_eq!((&hosts["ports"], &hosts["rsh"]), (&"any".into(), &"ssh -o BatchMode=yes".into()), "{hosts}");
}

#[test]
fn text_has_all_parts_and_every_variable() {
    let output = info(&["-n", "3"], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "Limits",
        "Regions of a job of 3 nodes",
        "Thresholds",
        "Jobs on several hosts",
        "This host",
        "Environment",
        "cross-memory attach",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(VARS.iter().all(|var| text.contains(&format!("  {} = ", var.name)) && text.contains(var.doc)));
}

#[test]
fn wrong_arguments_are_told_on_stderr() {
    for arguments in [&["-n", "0"][..], &["--xml"], &["-n"]] {
        let output = info(arguments, &[]);
        assert!(!output.status.success() && output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_gasnet-sci")).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("info"), "{output:?}");
}

#[test]
fn the_man_page_names_every_argument() {
    let page = Command::new(env!("CARGO_BIN_EXE_gasnet-sci")).arg("man").output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    let unnamed: Vec<&str> = page.lines().filter(|line| line.starts_with("\\fB\\fR")).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
    assert!(page.contains("\\fB<JOB>...\\fR: its number"), "{page}");
}
