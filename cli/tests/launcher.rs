//! Jobs as a user sees them: with the launcher, by forking at init, and with every way to end.
//!
//! This executable is the node program too. With [`NODE`] in its environment it never reaches the test harness, but
//! does what its arguments say (see `node`). Each job has a tag in its environment, so that the tests find a process
//! that is left behind.

// A test plays the user and the client: it reads the environment and has atomics of its own.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "launcher/command_line.rs"]
mod command_line;
#[path = "launcher/debugging.rs"]
mod debugging;
#[path = "launcher/denied.rs"]
mod denied;
#[path = "launcher/driver.rs"]
mod driver;
#[path = "launcher/fitting.rs"]
mod fitting;
#[path = "launcher/hosts.rs"]
mod hosts;
#[path = "launcher/hosts_start.rs"]
mod hosts_start;
#[path = "launcher/hosts_tree.rs"]
mod hosts_tree;
#[path = "launcher/left_behind.rs"]
mod left_behind;
#[path = "launcher/map.rs"]
mod map;
#[path = "launcher/matrix.rs"]
mod matrix;
#[path = "launcher/node.rs"]
mod node;
#[path = "launcher/node_tasks.rs"]
mod node_tasks;
#[path = "launcher/output.rs"]
mod output;
#[path = "launcher/pmix.rs"]
mod pmix;
#[path = "launcher/standing.rs"]
mod standing;
#[path = "launcher/suite.rs"]
mod suite;
#[path = "launcher/tasks.rs"]
mod tasks;

use driver::{Outcome, Start, every, expect, expect_in_one_of_three, launched, run};

fn expect_silent(nodes: u32, script: &str, status: i32) {
    for outcome in expect(nodes, script, status) {
        assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", ""), "{script}");
    }
}

fn expect_line(nodes: u32, script: &str, status: i32, parts: &[&str]) {
    for outcome in expect(nodes, script, status) {
        let found = outcome.err.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(found, "{script}: no line with {parts:?} in\n{}", outcome.err);
    }
}

#[test]
fn an_orderly_exit_stays_one_if_a_peer_is_lost_meanwhile() {
    expect(2, "join attach fence @0:give_up_at_exit exit:0", 0);
}

// --- what nodes get ------------------------------------------------------------------------------

#[test]
fn arguments_arrive_intact_on_every_node() {
    let odd = ["", " two words ", "quo\"te's", "$HOME", "*", "%041%", "-n", "--", "\\", "ümlaut", "new\nline"];
    for start in every(3, "arguments") {
        let outcome = run(start.with_arguments(&odd));
        assert_eq!(outcome.status, 0, "{outcome:?}");
        for rank in 0..3 {
            let expected = format!("{rank}: {odd:?}");
            assert!(outcome.out.lines().any(|line| line == expected), "{expected} is missing in {}", outcome.out);
        }
    }
}

#[test]
fn environment_reaches_every_node_but_the_handoff_does_not() {
    for start in every(3, "join env:GASNET_FOO env:OTHER env:GASNET_SCI_BOOT fence exit:0") {
        let outcome = run(start.with_env("GASNET_FOO", "b a r").with_env("OTHER", "x=y"));
        assert_eq!(outcome.status, 0, "{outcome:?}");
        assert_eq!(outcome.out.matches("GASNET_FOO=b a r\n").count(), 3);
        assert_eq!(outcome.out.matches("OTHER=x=y\n").count(), 3);
        assert_eq!(outcome.out.matches("GASNET_SCI_BOOT unset\n").count(), 3);
    }
}

#[test]
fn stdin_is_node_zeros() {
    for start in every(3, "join stdin fence exit:0") {
        let outcome = run(start.with_stdin("typed\n"));
        assert_eq!(outcome.status, 0, "{outcome:?}");
        let mut lines: Vec<&str> = outcome.out.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0 read \"typed\\n\"", "1 read \"\"", "2 read \"\""]);
    }
}

#[test]
fn the_start_up_exchange_conforms() {
    for nodes in [1, 2, 5] {
        expect_silent(nodes, "join conform exit:0", 0);
    }
    assert_eq!(run(Start::alone("join conform exit:0")).status, 0);
}

#[test]
fn abort_of_one_node_ends_the_job_with_its_code() {
    expect_silent(3, "join @1:abort:7 @0,2:fence", 7);
    expect_silent(3, "join attach fence @2:abort:9 @0,1:spin", 9);
    expect_silent(1, "join abort:5", 5);
}

#[test]
fn every_node_sees_all_ranks_and_exchanges_do_not_mix() {
    expect_silent(7, "join exchange:50 exit:0", 0);
    expect_silent(1, "join exchange:3 exit:0", 0);
}

#[test]
fn sixty_four_nodes_start_exchange_and_end() {
    expect_silent(64, "join exchange:3 exit:0", 0);
}

#[test]
fn program_without_launcher_is_a_job_of_one() {
    for (script, status) in [("join exchange:2 exit:5", 5), ("join attach return:0", 0), ("join _exit:4", 4)] {
        let outcome = run(Start::alone(script));
        assert_eq!((outcome.status, outcome.err.as_str()), (status, ""), "{script}");
    }
}

#[test]
fn functions_and_data_have_the_same_addresses_in_all_nodes() {
    for start in every(4, "join layout fence exit:0") {
        let outcome = run(start);
        let lines: Vec<&str> = outcome.out.lines().collect();
        assert_eq!((outcome.status, lines.len()), (0, 4), "{outcome:?}");
        assert!(lines.iter().all(|line| *line == lines[0]), "{outcome:?}");
    }
}

#[test]
fn aslr_keeps_randomisation() {
    let mut start = launched(4, "join layout fence exit:0");
    start.insert_option(&["--aslr"]);
    let outcome = run(start);
    let lines: Vec<&str> = outcome.out.lines().collect();
    assert_eq!((outcome.status, lines.len()), (0, 4), "{outcome:?}");
    let is_on = std::fs::read_to_string("/proc/sys/kernel/randomize_va_space").is_ok_and(|text| text.trim() != "0");
    assert_eq!(lines.iter().any(|line| *line != lines[0]), is_on, "{outcome:?}");
}

#[test]
fn what_a_node_starts_after_init_has_randomisation_again() {
    // The first one runs before init, like a wrapper, whose program must get the job's layout.
    let outcome = run(launched(2, "personality join personality fence exit:0"));
    let mut lines: Vec<&str> = outcome.out.lines().collect();
    lines.sort_unstable();
    assert_eq!((outcome.status, &lines[..]), (0, &["00000000", "00000000", "00040000", "00040000"][..]), "{outcome:?}");
    // Randomisation that the user has switched off stays off.
    let outcome = run(launched(2, "join personality fence exit:0").under(&["setarch", "-R"]));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "00040000\n00040000\n"), "{outcome:?}");
}

#[test]
fn a_system_that_forbids_the_layout_starts_the_job_all_the_same() {
    let forbidden = |script| launched(2, script).with_call_refused(libc::SYS_personality);
    let outcome = run(forbidden("join fence exit:0"));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let mut start = forbidden("join fence exit:0");
    start.insert_option(&["-v"]);
    let outcome = run(start);
    let lines = outcome.err.lines().filter(|line| line.contains("this system forbids the change: personality: "));
    assert_eq!((outcome.status, lines.count()), (0, 1), "{outcome:?}");
}

#[test]
fn broken_handoff_is_an_error_and_no_job_of_one() {
    for (value, needle) in [
        ("nonsense", "seven fields"),
        ("99,0,2,100,101,abc,0", "version"),
        ("8,5,2,100,101,abc,0", "rank 5"),
        ("8,0,2,300,301,abc,0", "descriptor 300"),
        ("8,0,2,0,0,abc,0", "memory"),
    ] {
        let outcome = run(Start::alone("join exit:0").with_env("GASNET_SCI_BOOT", value));
        assert_eq!(outcome.status, 99, "{value}: {outcome:?}");
        assert!(outcome.err.contains(needle) && outcome.err.contains(value), "{value}: {}", outcome.err);
    }
}

#[test]
fn second_process_of_the_same_node_is_refused() {
    let outcome = run(launched(1, "twice"));
    assert_eq!(outcome.status, 99, "{outcome:?}");
    assert!(outcome.err.contains("joined as node 0 already"), "{}", outcome.err);
}

#[test]
fn programs_that_never_use_gasnet_just_run() {
    let outcome = run(Start::launcher(&["-n", "3", "echo", "hello"]));
    assert_eq!((outcome.status, outcome.out.as_str(), outcome.err.as_str()), (0, "hello\nhello\nhello\n", ""));
    let outcome = run(Start::launcher(&["-n", "3", "sh", "-c", "sleep 0.3; exit 7"]));
    assert_eq!((outcome.status, outcome.err.as_str()), (7, ""));
}

// --- ends ----------------------------------------------------------------------------------------

#[test]
fn collective_exits_are_silent_and_exact() {
    for code in [0, 1, 6, 255] {
        expect_silent(4, &format!("join attach fence exit:{code}"), code);
        expect_silent(4, &format!("join attach fence return:{code}"), code);
    }
    expect_silent(4, "join fence exit:259", 3);
}

#[test]
fn nodes_that_all_end_at_once_without_gasnet_exit_are_silent() {
    // A tenth of a second after the first of them a line tells of it, unless the others have ended too. A node that is not
    // scheduled for as long makes it appear.
    for start in every(4, "join attach fence _exit:3") {
        expect_in_one_of_three(&start, |outcome| {
            assert_eq!((outcome.status, outcome.out.as_str()), (3, ""), "{outcome:?}");
            let is_known = |line: &str| line.contains("exited with status 3 without gasnet_exit");
            assert!(outcome.err.lines().all(is_known), "{outcome:?}");
            outcome.err.is_empty()
        });
    }
}

#[test]
fn nonzero_beats_zero() {
    expect_silent(4, "join attach fence @2:exit:9 @0,1,3:exit:0", 9);
    expect_silent(4, "join attach fence @2:return:9 @0,1,3:return:0", 9);
}

#[test]
fn one_nodes_exit_ends_the_others_whatever_they_do() {
    for others in ["fence", "busy", "sleep", "threads"] {
        expect_silent(3, &format!("join attach fence @1:exit:5 @0,2:{others}"), 5);
    }
    for others in ["fence", "spin", "sleep"] {
        expect_silent(3, &format!("join attach fence @0:return:6 @1,2:{others}"), 6);
        expect_silent(3, &format!("join attach fence @0:exit:0 @1,2:{others}"), 0);
    }
    expect_silent(3, "join @1:exit:5 @0,2:fence fence", 5);
}

#[test]
fn nodes_that_ignore_sigquit_are_killed_after_the_exit_timeout() {
    for start in every(3, "join attach ignore:QUIT fence @1:exit:5 @0,2:spin") {
        let outcome = run(start.with_env("GASNET_EXITTIMEOUT", "0.4"));
        assert_eq!(outcome.status, 5, "{outcome:?}");
        assert!(outcome.err.contains("0.4 s"), "{}", outcome.err);
    }
}

#[test]
fn sigquit_handlers_of_the_client_run_on_the_others() {
    for outcome in expect(3, "join attach quit_handler fence @1:exit:5 @0,2:spin", 5) {
        assert_eq!(outcome.out.matches("quit handler\n").count(), 2, "{outcome:?}");
    }
}

#[test]
fn exit_handlers_run_on_return_but_not_on_gasnet_exit() {
    for (end, times) in [("return:0", 3), ("exit:0", 0)] {
        for outcome in expect(3, &format!("join attach atexit_fence fence {end}"), 0) {
            assert_eq!(outcome.out.matches("atexit\n").count(), times, "{end}: {outcome:?}");
        }
    }
}

#[test]
fn exit_works_with_locks_held_and_from_many_threads() {
    expect_silent(3, "join attach fence stdio_lock exit:4", 4);
    expect_silent(3, "join attach fence exit_threads:4", 4);
}

#[test]
fn exit_without_gasnet_exit_names_the_node() {
    expect_line(
        4,
        "join attach fence @2:_exit:3 @0,1,3:spin",
        3,
        &["node 2/4 (pid ", "exited with status 3 without gasnet_exit"],
    );
    expect_line(3, "join attach fence @2:_exit:0 @0,1:fence", 1, &["node 2/3 (pid ", "exited with status 0 without"]);
}

#[test]
fn end_before_init_names_the_node() {
    let outcome = run(launched(4, "@1:_exit:2 join fence"));
    assert_eq!(outcome.status, 2, "{outcome:?}");
    assert!(
        outcome.err.contains("node 1/4 (pid ") && outcome.err.contains("status 2 before gasnet_init"),
        "{}",
        outcome.err
    );
}

#[test]
fn death_by_signal_names_node_and_signal() {
    for (signal, name, number) in [("KILL", "9 (SIGKILL)", 9), ("SEGV", "11 (SIGSEGV)", 11), ("ABRT", "6 (SIGABRT)", 6)]
    {
        let parts = ["node 2/4 (pid ", "was killed by signal", name];
        expect_line(4, &format!("join attach fence @2:raise:{signal} @0,1,3:spin"), 128 + number, &parts);
        expect_line(4, &format!("join fence @2:raise:{signal} @0,1,3:fence"), 128 + number, &parts);
    }
    expect_line(3, "join attach fence @0:raise:KILL ignore:QUIT spin", 137, &["node 0/3"]);
}

#[test]
fn fatal_signals_are_told_by_the_node_once() {
    for signal in ["SEGV", "BUS", "FPE", "ILL", "ABRT"] {
        for outcome in
            expect(2, &format!("join attach fence @1:thread_raise:{signal} spin"), 128 + node::signal(signal))
        {
            let line = format!("*** Caught a fatal signal: SIG{signal}({}) on node 1/2", node::signal(signal));
            assert_eq!(outcome.err.lines().filter(|l| **l == line).count(), 1, "{outcome:?}");
            assert_eq!(outcome.err.lines().count(), 2, "{outcome:?}");
        }
    }
    expect_line(2, "join attach fence @1:overflow spin", 139, &["*** Caught a fatal signal: SIGSEGV(11) on node 1/2"]);
}

#[test]
fn fatal_errors_and_panics_tell_one_story() {
    let stories = [
        ("fatal", "*** FATAL ERROR: node 1/2: told", 134),
        ("panic", "panicked here", 134),
        ("give_up", "*** FATAL ERROR: node 1/2: lost\n", 1),
    ];
    for (how, story, status) in stories {
        for outcome in expect(2, &format!("join attach fence @1:{how} spin"), status) {
            assert_eq!(outcome.err.matches("***").count(), 1, "{outcome:?}");
            assert!(outcome.err.contains(story), "{outcome:?}");
        }
    }
}

#[test]
fn backtrace_only_when_asked_with_the_node_in_front() {
    for start in every(2, "join attach fence @1:raise:SEGV spin") {
        let outcome = run(start.with_env("GASNET_BACKTRACE", "1"));
        let frames: Vec<&str> = outcome.err.lines().filter(|l| l.contains("#")).collect();
        assert!(frames.len() > 2 && frames.iter().all(|l| l.starts_with("node 1/2: #")), "{outcome:?}");
    }
}

#[test]
fn no_catch_signal_leaves_dispositions_alone() {
    for start in every(2, "join attach dispositions fence exit:0") {
        let outcome = run(start.with_env("GASNET_NO_CATCH_SIGNAL", "*"));
        assert_eq!((outcome.status, outcome.out.as_str()), (0, "all default\nall default\n"), "{outcome:?}");
    }
}

// --- signals -------------------------------------------------------------------------------------

#[test]
fn terminating_signal_to_one_node_becomes_sigquit_there_and_ends_the_job() {
    for signal in ["INT", "TERM", "HUP"] {
        let line = format!("*** Caught a signal: SIG{signal}({}) on node 1/3", node::signal(signal));
        for outcome in expect(3, &format!("join attach quit_handler fence @1:raise:{signal} spin"), 1) {
            assert!(outcome.err.lines().any(|l| l == line), "{outcome:?}");
            assert_eq!(outcome.out.matches("quit handler\n").count(), 3, "{outcome:?}");
        }
    }
}

#[test]
fn a_signal_that_all_nodes_get_is_one_line() {
    let is_told_once = |outcome: &Outcome| {
        assert_eq!(outcome.status, 143, "{outcome:?}");
        let lines: Vec<&str> = outcome.err.lines().filter(|line| line.contains("Caught a signal")).collect();
        let line = lines[0];
        assert!(line.starts_with("*** Caught a signal: SIGTERM(15) on node "), "{outcome:?}");
        lines.len() == 1 && line.ends_with("/5 (and 4 other nodes)")
    };
    // Nodes that are not scheduled for a second say it too late.
    for start in every(5, "join attach fence ready spin") {
        expect_in_one_of_three(&start.with_signals(&[libc::SIGTERM]), is_told_once);
    }
    let start = launched(5, "join attach fence ready spin").with_acts(&[driver::Act::Group(libc::SIGTERM)]);
    expect_in_one_of_three(&start, is_told_once);
}

#[test]
fn what_all_nodes_say_of_one_cause_is_one_line_and_what_they_print_is_theirs() {
    for start in every(4, "join attach fence advise:gasnet_attach buffer:done fence exit:0") {
        expect_in_one_of_three(&start, |outcome| {
            assert_eq!((outcome.status, outcome.out.matches("done").count()), (0, 4), "{outcome:?}");
            let line = outcome.err.lines().next().unwrap_or_default();
            assert!(line.starts_with("gasnet-sci: node ") && line.contains("/4: gasnet_attach"), "{outcome:?}");
            outcome.err.lines().count() == 1 && line.ends_with(" (and 3 other nodes)")
        });
    }
}

#[test]
fn second_signal_ends_a_node_at_once() {
    for outcome in expect(3, "join attach slow_quit_handler fence @1:raise_twice:TERM spin", 1) {
        assert_eq!(outcome.out.matches("late\n").count(), 2, "node 1 waited for its handler: {outcome:?}");
    }
}

#[test]
fn signal_to_the_supervisor_reaches_all_nodes() {
    for (signal, number) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129), (libc::SIGQUIT, 131)] {
        for start in every(3, "join attach quit_handler fence ready spin") {
            let outcome = run(start.with_signals(&[signal]));
            assert_eq!(outcome.status, number, "{outcome:?}");
            assert_eq!(outcome.out.matches("quit handler\n").count(), 3, "{outcome:?}");
        }
    }
}

#[test]
fn nodes_that_are_stopped_hear_that_they_shall_end() {
    // Without this they would use up the exit timeout, and the supervisor would print a line. 19: SIGSTOP.
    for start in every(3, "join attach quit_handler fence ready @1:raise:19 spin") {
        let outcome = run(start.with_signals(&[libc::SIGTERM]));
        assert_eq!((outcome.status, outcome.err.contains("killing")), (143, false), "{outcome:?}");
        assert_eq!(outcome.out.matches("quit handler\n").count(), 3, "{outcome:?}");
    }
    for start in every(3, "join attach quit_handler fence @1:raise:19 @0:exit:7 spin") {
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.err.contains("killing")), (7, false), "{outcome:?}");
    }
}

#[test]
fn signal_before_attach_ends_the_job_too() {
    for start in every(3, "join fence ready spin") {
        assert_eq!(run(start.with_signals(&[libc::SIGTERM])).status, 143);
    }
    assert_eq!(run(launched(3, "ready spin").with_signals(&[libc::SIGINT])).status, 130);
}

#[test]
fn repeated_signals_end_even_stubborn_nodes() {
    for start in every(3, "join attach ignore:QUIT ignore:INT fence ready spin") {
        let outcome = run(start.with_signals(&[libc::SIGINT, libc::SIGINT]));
        assert_eq!(outcome.status, 130, "{outcome:?}");
    }
}

#[test]
fn ignored_signals_stay_ignored_but_the_job_still_ends() {
    for start in every(3, "join attach fence ready fence sleep_ms:300 @1:exit:3 spin") {
        let outcome = run(start.with_ignored(&[libc::SIGHUP, libc::SIGQUIT]).with_signals(&[libc::SIGHUP]));
        assert_eq!((outcome.status, outcome.err.as_str()), (3, ""));
    }
}

#[test]
fn user_signals_are_passed_on() {
    for start in every(3, "join attach usr1_exits:7 fence ready sleep") {
        assert_eq!(run(start.with_signals(&[libc::SIGUSR1])).status, 7);
    }
}
