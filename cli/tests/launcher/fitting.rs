//! Jobs that do not fit the host, and large ones that do.

use super::driver::{self, Start, forked, launched, run};

fn limited(limit: &str, nodes: u32) -> driver::Outcome {
    let command = format!("ulimit {limit} && exec \"$@\"");
    run(Start::launcher(&["-n", &nodes.to_string(), "true"]).under(&["sh", "-c", &command, "sh"]))
}

#[test]
fn limit_that_is_too_low_is_named_with_what_is_asked_for_and_how_to_raise_it() {
    for (limit, nodes, parts) in [
        ("-v 10000", 2, ["each of 2 nodes needs", "RLIMIT_AS", "9.7 MiB", "ulimit -v"]),
        ("-f 100", 2, ["a job of 2 nodes needs", "RLIMIT_FSIZE", "KiB", "ulimit -f"]),
        ("-n 30", 60, ["60 nodes are too many", "RLIMIT_NOFILE", "limit is 30", "ulimit -Hn"]),
    ] {
        let outcome = limited(limit, nodes);
        assert_eq!((outcome.status, outcome.err.lines().count()), (1, 1), "{limit}: {outcome:?}");
        assert!(parts.iter().all(|part| outcome.err.contains(part)), "{limit}: {}", outcome.err);
    }
}

#[test]
fn limits_that_suffice_are_no_obstacle() {
    for limit in ["-v 2000000", "-f 1000000", "-n 64"] {
        let outcome = limited(limit, 2);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{limit}: {outcome:?}");
    }
}

#[test]
fn more_nodes_than_memory_can_hold_are_refused() {
    let outcome = run(Start::launcher(&["-n", "65535", "true"]));
    assert_eq!((outcome.status, outcome.err.lines().count()), (1, 1), "{outcome:?}");
    assert!(outcome.err.contains("65535 nodes") && outcome.err.contains("limit is"), "{}", outcome.err);
}

#[test]
fn a_program_that_forks_more_nodes_than_fit_is_refused_before_it_forks_any() {
    let outcome = run(forked(65535, "join"));
    assert_ne!(outcome.status, 0);
    assert!(outcome.err.contains("65535 nodes") && outcome.err.contains("limit is"), "{}", outcome.err);
}

#[test]
fn two_hundred_and_fifty_six_nodes_start_exchange_and_end() {
    for start in [launched(256, "join exchange:2 exit:0"), forked(256, "join exchange:2 exit:0")] {
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""));
    }
}

#[test]
fn lines_of_a_hundred_and_twenty_eight_nodes_stay_whole() {
    let outcome = run(launched(128, "join fence lines:200 exit:0"));
    assert_eq!(outcome.status, 0, "{}", outcome.err);
    super::node::check_lines(&outcome.out, 128, 200);
}
