//! Tasks of nodes: where they run, what becomes of what they print, and that none stays.

use crate::driver::*;

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
