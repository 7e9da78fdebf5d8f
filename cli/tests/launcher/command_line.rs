//! The launcher's command line: every option, spelling and mistake.

use super::driver::{self, Start, at_once, launched, run};
use gasnet_sci::os::topology::{Topology, format_list};

fn usage_error(arguments: &[&str], needle: &str) {
    let outcome = run(Start::launcher(arguments));
    assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{arguments:?}");
    assert!(outcome.err.contains(needle), "{arguments:?}: {}", outcome.err);
    assert!(
        outcome.err.starts_with("gasnetrun_sci: ") && outcome.err.contains("Usage: "),
        "{arguments:?}: {}",
        outcome.err
    );
}

#[test]
fn wrong_options_are_told_on_stderr_with_status_1() {
    usage_error(&["true"], "-n N");
    usage_error(&["-n", "0", "true"], "'0' for '-n N': it is not an integer from 1 to 65535");
    usage_error(&["-n", "x", "true"], "'x' for '-n N': it is not an integer");
    usage_error(&["-n"], "-n N");
    usage_error(&["-n", "2", "-frobnicate", "true"], "frobnicate");
    usage_error(&["-n", "2", "--bnd", "core", "true"], "--bind");
    usage_error(&["-n", "70000", "true"], "70000");
    usage_error(&["-n", "-3", "true"], "'-3' for '-n N': it is not an integer");
    usage_error(&["-n", "2", "--bind", "socket", "true"], "none, core, numa");
    usage_error(&["-n", "2", "--timeout", "soon", "true"], "soon");
    usage_error(&["-n", "2", "--timeout", "0", "true"], "positive number of seconds");
    usage_error(&["-n", "2", "--timeout=-1", "true"], "positive number of seconds");
    usage_error(&["-n", "2", "-c", "many", "true"], "many");
    usage_error(&["-n", "2", "--debug-node", "2", "true"], "nodes 0 to 1");
    usage_error(&["-n", "2", "--debug-node", "-1", "true"], "not an integer from 0");
    usage_error(&["-n", "2", "--output", "file", "true"], "%n");
    usage_error(&["-n", "2", "--output=", "true"], "needs a name");
    usage_error(&["-n", "2", "--output", "a%n", "--output-dir", "b", "true"], "cannot be used with");
    usage_error(&["-n", "2", "--output", "a%n", "--tag-output", "true"], "cannot be used with");
    usage_error(&["-n", "2"], "program");
    usage_error(&["-n", "2", "-N", "3", "true"], "hosts");
}

#[test]
fn help_and_version_go_to_stdout_with_status_0() {
    for argument in ["-h", "-help", "--help", "--version"] {
        let outcome = run(Start::launcher(&[argument]));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{argument}");
        assert!(outcome.out.contains("gasnetrun_sci"), "{argument}: {}", outcome.out);
    }
}

/// CPUs that this test, and so the launcher, may use.
fn usable() -> Vec<usize> {
    gasnet_sci::os::sys::usable_cpus()
}

const ALLOWED: &str = "grep ^Cpus_allowed_list: /proc/self/status | cut -f2";

#[test]
fn bound_nodes_have_cores_of_their_own_from_the_launchers_mask() {
    let cores = Topology::read().cores;
    let nodes = cores.len().to_string();
    let outcome = run(Start::launcher(&["-n", &nodes, "--bind", "core", "sh", "-c", ALLOWED]));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let mut found: Vec<&str> = outcome.out.lines().collect();
    let mut expected: Vec<String> = cores.iter().map(|core| format_list(core)).collect();
    found.sort_unstable();
    expected.sort();
    assert_eq!(found, expected);
    let last = usable().pop().unwrap().to_string();
    let outcome =
        run(Start::launcher(&["-n", "1", "--bind", "core", "sh", "-c", ALLOWED]).under(&["taskset", "-c", &last]));
    assert_eq!((outcome.status, outcome.out.trim()), (0, &last[..]), "{outcome:?}");
}

#[test]
fn more_nodes_than_cores_are_an_error_with_bind_and_none_without() {
    let cores = Topology::read().cores.len();
    let nodes = (cores + 1).to_string();
    let outcome = run(Start::launcher(&["-n", &nodes, "--bind", "core", "true"]));
    assert_eq!((outcome.status, outcome.err.lines().count()), (1, 1), "{outcome:?}");
    assert!(outcome.err.contains(&format!("{nodes} nodes need {nodes} cores, {cores} may be used")), "{outcome:?}");
    let outcome = run(Start::launcher(&["-n", &nodes, "--bind", "none", "true"]));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""));
    let nodes = (usable().len() + 1).to_string();
    let outcome = run(Start::launcher(&["-n", &nodes, "--bind", "numa", "true"]));
    assert!(outcome.status == 0 && outcome.err.contains("share"), "{outcome:?}");
}

#[test]
fn numa_binding_gives_cpus_and_memory_of_one_numa_node() {
    let numa = Topology::read().numa.remove(0);
    let script = format!("{ALLOWED}; grep -o -m1 'prefer[^ ]*' /proc/self/numa_maps");
    let outcome = run(Start::launcher(&["-n", "1", "--bind", "numa", "sh", "-c", &script]));
    let lines: Vec<&str> = outcome.out.lines().collect();
    assert_eq!((outcome.status, lines[0]), (0, &format_list(&numa.cpus)[..]), "{outcome:?}");
    if std::path::Path::new("/proc/self/numa_maps").exists() {
        assert!(lines[1].starts_with("prefer") && lines[1].ends_with(&format!(":{}", numa.id)), "{outcome:?}");
    }
}

#[test]
fn dry_run_shows_where_nodes_would_run() {
    let cpu = usable()[0];
    let outcome = run(Start::launcher(&["-t", "-n", "1", "--bind", "core", "--output-dir", "/nonexistent", "true"]));
    assert_eq!(outcome.status, 0);
    assert!(outcome.err.contains(&format!("node 0: CPUs {cpu}")), "{}", outcome.err);
    assert!(outcome.err.contains("/nonexistent/node-0.out"), "{}", outcome.err);
}

#[test]
fn verbose_shows_whether_addresses_are_the_same() {
    for (options, shown) in [
        (&["-t", "-n", "2"][..], "the same in all nodes (--aslr: random)"),
        (&["-t", "-n", "2", "--aslr"], "random in each node"),
        (&["-t", "-n", "1"], "random in each node"),
    ] {
        let outcome = run(Start::launcher(&[options, &["true"]].concat()));
        let line = format!("gasnetrun_sci: addresses of functions and static data: {shown}\n");
        assert!(outcome.status == 0 && outcome.err.contains(&line), "{options:?}: {outcome:?}");
    }
}

#[test]
fn overdue_jobs_end_with_status_124_and_a_line() {
    let overdue = |script| {
        let mut start = launched(3, script);
        start.insert_option(&["--timeout", "5"]);
        start
    };
    // Most of them sleep, because they run at once.
    let scripts =
        ["ready spin", "join fence ready sleep", "join attach fence ready sleep", "join attach ignore:QUIT sleep"];
    at_once(scripts.map(overdue), |start| {
        let outcome = run(start);
        assert_eq!(outcome.status, 124, "{outcome:?}");
        assert_eq!(
            outcome.err, "gasnetrun_sci: the job did not end within 5 s (--timeout); ending it\n",
            "{outcome:?}"
        );
    });
    let outcome = run(overdue("join attach buffer:x quit_handler fence spin"));
    let counts = ["quit handler", "x"].map(|text| outcome.out.matches(text).count());
    assert_eq!((outcome.status, counts), (124, [3, 3]), "{outcome:?}");
}

#[test]
fn jobs_within_their_time_end_as_ever() {
    for (script, status) in [("join attach fence exit:0", 0), ("join attach fence exit:7", 7)] {
        let mut start = launched(3, script);
        start.insert_option(&["--timeout", "30"]);
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.err.as_str()), (status, ""), "{script}");
    }
    // A failure that came first keeps its status.
    let mut start = launched(3, "join attach fence @1:exit:9 ignore:QUIT sleep");
    start.insert_option(&["--timeout", "5"]);
    assert_eq!(run(start).status, 9);
}

#[test]
fn nodes_are_bound_to_blocks_of_cpus_if_there_are_enough() {
    let outcome = run(Start::launcher(&["-n", "1", "-c", "1", "nproc"]));
    assert_eq!((outcome.status, outcome.out.as_str(), outcome.err.as_str()), (0, "1\n", ""));
    let outcome = run(Start::launcher(&["-n", "1", "-c", "65535", "true"]));
    assert!(outcome.status == 0 && outcome.err.contains("not bound"), "{outcome:?}");
}

#[test]
fn all_spellings_of_options_work() {
    for spelling in ["-n 2", "-n2", "-np 2", "-np2", "-n 2 -N1 -E A,B -EC -c 0 -noencode-args -encode", "-n 2 --"] {
        let arguments: Vec<&str> = spelling.split(' ').chain(["sh", "-c", "echo -n"]).collect();
        let outcome = run(Start::launcher(&arguments));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{spelling}");
    }
    let outcome = run(Start::launcher(&["-n", "1", "-spawner=ssh", "true"]));
    assert!(outcome.status == 0 && outcome.err.contains("spawner"), "{outcome:?}");
}

#[test]
fn dry_run_shows_and_runs_nothing() {
    let outcome = run(Start::launcher(&["-n", "3", "-t", "sh", "-c", "echo ran"]));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, ""));
    assert!(outcome.err.contains("3 nodes") && outcome.err.contains("echo ran"), "{}", outcome.err);
}

#[test]
fn verbose_sets_the_nodes_verboseenv() {
    let outcome = run(Start::launcher(&["-v", "-n", "1", "sh", "-c", "echo $GASNET_VERBOSEENV"]));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "1\n"));
}

#[test]
fn programs_that_cannot_run_are_one_clear_line() {
    let directory = driver::scratch("cannot-run");
    let script = |name: &str, text: &str, mode: u32| driver::write_script(&directory.join(name), text, mode);
    let cases = [
        ("no-such-program-anywhere".to_string(), 127, "not found"),
        (directory.join("missing").display().to_string(), 127, "No such file"),
        (script("plain", "#!/bin/sh\n", 0o644), 126, "not executable"),
        (script("interpreter", "#!/no/such/interpreter\n", 0o755), 126, "interpreter"),
        (script("nonsense", "\u{7f}nonsense", 0o755), 126, "no program"),
        (directory.display().to_string(), 126, "directory"),
    ];
    for (program, status, needle) in cases {
        let outcome = run(Start::launcher(&["-n", "3", &program]));
        assert_eq!((outcome.status, outcome.err.lines().count()), (status, 1), "{program}: {outcome:?}");
        assert!(outcome.err.contains(needle), "{program}: {}", outcome.err);
    }
}

#[test]
fn the_program_is_searched_as_path_then_here_then_in_path() {
    let directory = driver::scratch("search");
    driver::write_script(&directory.join("only-here"), "#!/bin/sh\necho $0\n", 0o755);
    driver::write_script(&directory.join("true"), "#!/bin/sh\necho here\n", 0o755);
    for (program, out) in [("only-here", "./only-here\n"), ("true", "here\n"), ("/bin/true", "")] {
        let outcome = run(Start::launcher(&["-n", "1", program]).in_directory(&directory));
        assert_eq!((outcome.status, outcome.out.as_str()), (0, out), "{program}: {outcome:?}");
    }
}

#[test]
fn timing_mode_needs_a_profile_that_exists_and_the_library_for_it() {
    let told = |variable: &str, value: &str, needle: &str| {
        let start =
            Start::launcher(&["-n", "2", "true"]).with_env("GASNET_SCI_TIMING", "d339").with_env(variable, value);
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{value}");
        let line = outcome.err.strip_suffix('\n').unwrap_or(&outcome.err);
        assert!(
            line.starts_with("gasnetrun_sci: ") && !line.contains('\n') && line.contains(needle),
            "{value}: {line}"
        );
    };
    told("GASNET_SCI_TIMING", "d340", "'d340' is not off, count");
    told("GASNET_SCI_TIMING", "d339,speed=1", "no parameter 'speed'");
    told("GASNET_SCI_TOPOLOGY", "mesh:4", "'mesh:4' is not ring:N");
    told("GASNET_SCI_TOPOLOGY", "ring:1", "1 positions for 2 nodes");
    told("GASNET_SCI_TIMING", "d339", "lib/gasnet-sci/timed/libgasnet_sci.so"); // no installation is around this command
}
