//! Tasks of nodes: where they run, what becomes of what they print, and that none stays.

use crate::driver::*;
use gasnet_sci::os::sys;

// A task for each of these places, which prints a word and ends with a status that says its number.
const TASKS: &str = "join attach fence @0:task:0 @0:task:3 @0:task:-1 @0:task:-2 fence exit:0";

#[test]
fn tasks_run_on_every_host_and_their_lines_are_tagged() {
    for mut start in [launched(4, TASKS), hosted(4, TASKS)] {
        start.insert_option(&["--tag-output"]);
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
        let mut lines: Vec<&str> = outcome.out.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["[task 0] out", "[task 1] out", "[task 2] out", "[task 3] out"], "{outcome:?}");
    }
}

#[test]
fn a_task_that_runs_on_is_killed_with_the_job() {
    for script in ["join attach fence leave_task fence exit:3", "join attach fence leave_task raise:KILL"] {
        for start in every(2, script) {
            let outcome = run(start); // which looks for processes that stay
            assert!([3, 137].contains(&outcome.status), "{outcome:?}");
        }
    }
}

#[test]
fn much_output_of_a_task_is_not_lost_when_the_reader_is_slow() {
    for start in every(2, "join attach fence @1:task_lines:20000 fence exit:0") {
        let outcome = run(start.with_reader_that_waits(std::time::Duration::from_millis(800)));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
        assert!(outcome.out.lines().eq((1..=20000).map(|n| n.to_string())), "{} lines", outcome.out.lines().count());
    }
}

/// `script` goes well in every way, under a shell that has done this.
fn expect_right(before: &str, script: &str) {
    for start in every(2, script) {
        let outcome = run(start.under(&["sh", "-c", &format!("{before}; exec \"$@\""), "sh"]));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    }
}

/// The supervisor's soft limit on descriptors is too low for them: each takes two.
#[test]
fn more_tasks_run_than_the_soft_limit_on_descriptors_lets() {
    expect_right("ulimit -Sn 300", "join attach fence @1:tasks:300 fence exit:0");
}

#[test]
fn tasks_for_which_the_hard_limit_is_too_low_are_refused_and_fewer_run() {
    expect_right("ulimit -n 400", "join attach fence @1:tasks_refused:300 @1:tasks:30 @0:tasks_wrong:3 fence exit:0");
}

/// The supervisor has a descriptor for each call that waits.
#[test]
fn calls_for_which_there_is_no_descriptor_are_refused() {
    expect_right("ulimit -n 400", "join attach fence @1:task_crowd:140 fence exit:0");
}

/// It takes longer than a host may be silent.
#[test]
fn a_supervisor_that_starts_thousands_of_tasks_is_heard_meanwhile() {
    let start = hosted(2, "join attach fence @1:tasks:4000 fence exit:0").with_env("GASNET_SCI_LINK_TIMEOUT", "2");
    let outcome = run(start);
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

#[test]
fn several_threads_wait_for_tasks() {
    expect_right(":", "join attach fence task_threads:12 fence exit:0");
}

#[test]
fn the_end_of_a_task_is_left_to_others_if_the_node_that_waits_is_lost() {
    let script = "join attach fence boxes_and_task fence @1:await_task_aside:0 @1:sleep_ms:200 @1:raise:KILL @0:sleep_ms:600 \
                  @0:await_task:0 @0:exit:0 sleep_ms:2000 exit:0";
    let mut start = launched(3, script);
    start.insert_option(&["--survive"]);
    let outcome = run(start);
    assert_eq!((outcome.status, outcome.out.as_str()), (137, "task 0 ended 1792\n"), "{outcome:?}");
}

#[test]
fn the_ends_of_tasks_are_told_when_their_host_is_done() {
    let script = "join attach fence @2:leave_task:2 fence @2:exit:0 @3:exit:0 @0:await_task:0 exit:0";
    let outcome = run(hosted(4, script));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "task 0 ended 9\n"), "{outcome:?}");
}

/// Tasks run under the supervisor, whatever namespace the nodes are in.
#[test]
fn nodes_in_pid_namespaces_have_tasks_too() {
    if sys::effective_user() != 0 {
        return; // others may not make such namespaces
    }
    let start = || launched(2, "join attach fence task_threads:3 fence exit:0").wrapped("exec unshare -pf \"$@\"");
    let mut hosted = start().with_env("GASNET_SCI_RSH", &rsh());
    hosted.insert_option(&["--host", "alpha,beta"]);
    for start in [start(), hosted] {
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    }
}
