//! Nothing is left behind: nodes, and what they started, end with the job, however its processes are killed or stopped.
//! `run` looks for processes of the job after every job and fails if it finds one.

use super::driver::{Act, Victim, both, every, expect, forked, hosted, launched, run};
use super::expect_line;
use std::time::Duration;

#[test]
fn node_that_becomes_another_program_is_still_the_jobs() {
    let line = ["node 1/3", "exited with status 7 without gasnet_exit"];
    expect_line(3, "join attach fence @1:exec:exit${IFS}7 spin", 7, &line);
    let before = run(launched(3, "@1:exec:exit${IFS}7 join attach fence spin"));
    assert_eq!(before.status, 7, "{before:?}");
    assert!(before.err.contains("node 1/3") && before.err.contains("before gasnet_init"), "{before:?}");
    for start in every(3, "join attach fence ready @1:exec:exec${IFS}sleep${IFS}1000 spin") {
        assert_eq!(run(start.with_signals(&[libc::SIGTERM])).status, 143);
    }
    for start in every(3, "join attach fence @1:exec:exec${IFS}sleep${IFS}1000 spin") {
        assert_eq!(run(start.with_kill(Duration::from_millis(700), Victim::Supervisor)).status, 137);
    }
}

#[test]
fn sigkill_of_the_supervisor_kills_all_nodes() {
    for script in ["join attach fence ready busy", "join ignore:QUIT fence ready sleep"] {
        for start in every(4, script) {
            run(start.with_signals(&[libc::SIGKILL]));
        }
    }
    // A program that does not join does not fork either: it stays one process.
    let alone = forked(4, "ready spin").of_nodes(1);
    for start in [launched(4, "ready spin"), alone, hosted(4, "ready spin")] {
        run(start.with_signals(&[libc::SIGKILL]));
    }
}

#[test]
fn sigkill_of_anybody_at_any_moment_leaves_nothing() {
    for round in 0..8 {
        let delay = Duration::from_micros(400 * round * round + 100 * round);
        for victim in [Victim::Supervisor, Victim::Node, Victim::Everybody] {
            for start in both(8, "join attach fence exchange:100000000") {
                let outcome = run(start.with_kill(delay, victim));
                assert_eq!(outcome.status, 137, "{victim:?} after {delay:?}: {outcome:?}");
            }
        }
    }
}

#[test]
fn sigkill_of_the_launcher_ends_what_nodes_started() {
    // Nodes start a daemon in a session of its own. Its parent still runs in one case and has ended in the other.
    let scripts = ["join attach daemon fence ready spin", "daemon ready sleep"];
    for script in scripts {
        run(launched(3, script).with_signals(&[libc::SIGKILL]));
    }
    let wrapped = launched(3, scripts[0]).wrapped("setsid sleep 1000 & \"$@\"; exit $?");
    run(wrapped.with_signals(&[libc::SIGKILL]));
}

#[test]
fn sigkill_of_the_launchers_second_process_ends_everything_too() {
    for delay in [0, 2, 20, 700] {
        let start = launched(3, "join attach daemon fence ready spin");
        let outcome = run(start.with_kill(Duration::from_millis(delay), Victim::Deputy));
        assert_eq!(outcome.status, 137, "{outcome:?}");
    }
}

#[test]
fn job_stops_and_goes_on_with_its_launcher() {
    for script in
        ["join attach daemon fence ready spin", "join fence ready sleep", "join attach ignore:TSTP fence ready spin"]
    {
        for start in both(3, script) {
            let again = [Act::Signal(libc::SIGTSTP), Act::Await(true), Act::Signal(libc::SIGCONT), Act::Await(false)];
            let acts = [&again[..], &again[..], &[Act::Signal(libc::SIGTERM)]].concat();
            let outcome = run(start.with_acts(&acts));
            assert_eq!(outcome.status, 143, "{outcome:?}");
        }
    }
}

/// `gasnet-sci kill` signals the second process, which the first one follows.
#[test]
fn job_that_is_stopped_by_its_second_process_goes_on_with_that() {
    for stop in [libc::SIGTSTP, libc::SIGSTOP] {
        let wait = if stop == libc::SIGTSTP { Act::Await(true) } else { Act::Pause(Duration::from_millis(200)) };
        let again = [Act::Deputy(stop), wait, Act::Deputy(libc::SIGCONT), Act::Await(false)];
        let acts = [&again[..], &again[..], &[Act::Signal(libc::SIGTERM)]].concat();
        let outcome = run(launched(3, "join attach daemon fence ready spin").with_acts(&acts));
        assert_eq!(outcome.status, 143, "{outcome:?}");
    }
}

#[test]
fn stopped_job_can_be_killed() {
    let stop = [Act::Signal(libc::SIGTSTP), Act::Await(true), Act::Signal(libc::SIGKILL)];
    for start in both(3, "join attach fence ready spin") {
        assert_eq!(run(start.with_acts(&stop)).status, 137);
    }
    run(launched(3, "join attach daemon fence ready spin").with_acts(&stop));
}

#[test]
fn time_in_which_a_job_is_stopped_does_not_count_for_its_limit() {
    let mut start = launched(2, "join attach usr1_exits:5 fence ready sleep");
    start.insert_option(&["--timeout", "5"]);
    let pause = [Act::Signal(libc::SIGTSTP), Act::Await(true), Act::Pause(Duration::from_secs(5))];
    let acts = [&pause[..], &[Act::Signal(libc::SIGCONT), Act::Signal(libc::SIGUSR1)]].concat();
    assert_eq!(run(start.with_acts(&acts)).status, 5);
}

#[test]
fn signal_to_the_whole_process_group_counts_once() {
    // A second signal would shorten the time that nodes have to end, and the handler of the first would not print its
    // line.
    let outcome =
        run(launched(3, "join attach slow_quit_handler fence ready spin").with_acts(&[Act::Group(libc::SIGTERM)]));
    assert_eq!((outcome.status, outcome.out.matches("late\n").count()), (143, 3), "{outcome:?}");
}

#[test]
fn wrapper_scripts_are_seen_through() {
    let wrapped = |script: &str| launched(3, script).wrapped("\"$@\"; exit $?");
    let outcome = run(wrapped("join attach fence exit:0"));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    assert_eq!(run(wrapped("join attach fence @1:exit:5 spin")).status, 5);
    assert_eq!(run(wrapped("join attach fence ready spin").with_signals(&[libc::SIGTERM])).status, 143);
    run(wrapped("join attach ignore:QUIT fence ready spin").with_signals(&[libc::SIGKILL]));
    let outcome = run(wrapped("join attach fence @1:raise:KILL spin"));
    assert_eq!(outcome.status, 137, "{outcome:?}");
}

#[test]
fn node_that_outlives_its_wrapper_ends_in_good_order() {
    let wrapped = |script: &str| launched(3, script).wrapped("\"$@\" & sleep 3");
    let outcome = run(wrapped("join attach fence sleep_ms:3500 buffer:x exit:4"));
    assert_eq!((outcome.status, outcome.out.as_str(), outcome.err.as_str()), (4, "xxx", ""));
}

#[test]
fn a_wrapper_that_leaves_its_program_in_the_background_is_told() {
    let outcome = run(launched(2, "sleep_ms:60000 join attach").wrapped("\"$@\" &"));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.err.contains("no node has joined the job") && outcome.err.contains("`exec`"), "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
}

#[test]
fn node_behind_a_lingering_wrapper_is_noticed() {
    let outcome = run(launched(3, "join attach fence sleep_ms:300 @1:raise:KILL spin").wrapped("\"$@\"; sleep 60"));
    assert_ne!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.err.contains("node 1/3") && outcome.err.contains("ended without gasnet_exit"), "{}", outcome.err);
}

#[test]
fn processes_started_by_nodes_end_with_the_job() {
    expect(2, "join attach fence daemon @0:exit:2 spin", 2);
}
