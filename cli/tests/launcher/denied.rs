//! System calls that a sandbox refuses: a job ends with its status, or with a line that says why it could not. It never hangs.

use super::driver::{Outcome, Start, at_once, every, launched, run};

/// Calls by which processes wait, or learn of what they wait for.
const WAITS: &[i64] = &[
    libc::SYS_rt_sigtimedwait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    libc::SYS_pselect6,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pidfd_open,
    libc::SYS_signalfd4,
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_accept4,
];

fn expect_an_end(call: i64, outcome: &Outcome) {
    let is_told = outcome.err.lines().any(|line| line.starts_with("gasnet"));
    let is_right = if outcome.status == 0 { outcome.err.is_empty() } else { is_told };
    assert!(is_right, "call {call}: {outcome:?}");
}

#[test]
fn a_job_ends_whatever_wait_is_refused() {
    for call in WAITS {
        at_once(every(2, "join attach fence exit:0"), |start| {
            expect_an_end(*call, &run(start.with_call_refused(*call)));
        });
    }
}

#[test]
fn a_job_ends_whatever_wait_does_not_exist() {
    for call in WAITS {
        at_once(every(2, "join attach fence exit:0"), |start| {
            expect_an_end(*call, &run(start.with_call_missing(*call)));
        });
    }
}

#[test]
fn a_good_job_needs_no_wait_for_signals() {
    for start in every(2, "join attach fence exit:0") {
        let outcome = run(start.with_call_refused(libc::SYS_rt_sigtimedwait));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    }
    let start = launched(2, "join attach fence ready spin").with_call_refused(libc::SYS_rt_sigtimedwait);
    assert_eq!(run(start.with_signals(&[libc::SIGTERM])).status, 143);
}

#[test]
fn who_cannot_hear_of_the_nodes_says_so_and_leaves_none() {
    for call in [libc::SYS_wait4, libc::SYS_signalfd4] {
        for start in every(2, "join attach fence sleep") {
            let outcome = run(start.with_call_refused(call));
            assert_eq!(outcome.status, 1, "{outcome:?}");
            assert!(outcome.err.contains("Operation not permitted"), "{outcome:?}");
        }
    }
}

#[test]
fn a_node_behind_a_lingering_wrapper_is_noticed_without_descriptors_of_processes() {
    let start = launched(3, "join attach fence sleep_ms:300 @1:raise:KILL spin").wrapped("\"$@\"; sleep 60");
    let outcome = run(start.with_call_refused(libc::SYS_pidfd_open));
    assert!(outcome.status != 0 && outcome.err.contains("ended without gasnet_exit"), "{outcome:?}");
}

#[test]
fn branches_of_a_tree_end_too() {
    for call in WAITS {
        let mut start = Start::launcher(&["-n", "3", "true"]).with_env("GASNET_SCI_RSH", &super::driver::rsh());
        start = start.with_env("GASNET_SCI_TREE", "1").with_env("GASNET_SCI_LINK_TIMEOUT", "2");
        start.insert_option(&["-N", "3", "--host", "a,b,c"]);
        expect_an_end(*call, &run(start.with_call_refused(*call)));
    }
}
