//! Jobs of many hosts, which the launcher reaches through branches: what holds of two hosts holds of these. And where nodes go by
//! the load of hosts.

use super::driver::{self, Act, Outcome, Start, Victim, launched, rsh, run, scratch, write_script};
use super::node;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

/// Five hosts, of which the launcher reaches `a` and `c` itself; `b` through the branch on `a`, `d` and `e` through the one on `c`.
fn tree(nodes: u32, script: &str) -> Start {
    let mut start = launched(nodes, script).with_env("GASNET_SCI_RSH", &rsh()).with_env("GASNET_SCI_TREE", "2");
    start.insert_option(&["-N", "5", "--host", "a,b,c,d,e"]);
    start
}

fn expect_line(outcome: &Outcome, parts: &[&str]) {
    let found = outcome.err.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(found, "no line with {parts:?} in {outcome:?}");
}

#[test]
fn exchanges_span_a_tree() {
    for nodes in [5, 12] {
        let outcome = run(tree(nodes, "join conform exchange:20 exit:0"));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    }
    let outcome = run(tree(5, "join attach exit:3"));
    assert_eq!((outcome.status, outcome.err.as_str()), (3, ""), "{outcome:?}");
}

#[test]
fn more_hosts_than_the_launcher_reaches_itself() {
    let hosts: Vec<String> = (0..66).map(|host| format!("h{host}")).collect();
    let mut start = launched(66, "join exchange:3 exit:0").with_env("GASNET_SCI_RSH", &rsh());
    start.insert_option(&["-v", "--host", &hosts.join(",")]);
    let outcome = run(start);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let through = |line: &&str| line.contains(", from host h");
    assert_eq!(outcome.err.lines().filter(through).count(), 2, "{outcome:?}");
}

#[test]
fn output_of_a_tree_is_whole_and_stdin_arrives() {
    let outcome = run(tree(10, "join fence lines:2000 exit:0"));
    assert_eq!(outcome.status, 0, "{}", outcome.err);
    node::check_lines(&outcome.out, 10, 2000);
    let text = "0123456789abcde\n".repeat(100_000);
    let mut start =
        Start::launcher(&["-n", "3", "--host", "a,b,c", "--place", "list:1,0,2", "sh", "-c", "cat | wc -c"]);
    start = start.with_env("GASNET_SCI_RSH", &rsh()).with_env("GASNET_SCI_TREE", "1").with_stdin(&text);
    let mut counts: Vec<String> = run(start).out.lines().map(|line| line.trim().to_string()).collect();
    counts.sort_unstable();
    assert_eq!(counts, ["0", "0", "1600000"]);
}

#[test]
fn what_fails_behind_a_branch_is_named_with_its_host() {
    let outcome = run(tree(5, "join attach fence @4:raise:SEGV spin"));
    assert_eq!(outcome.status, 139, "{outcome:?}");
    expect_line(&outcome, &["node 4/5 (pid ", " on e) was killed by signal 11 (SIGSEGV); ending the job"]);
    let script = |name: &str, text: &str| write_script(&scratch(name).join("rsh"), text, 0o755);
    let far = script(
        "tree-unknown",
        "#!/bin/sh\n[ $1 = d ] && { echo cannot resolve d >&2; exit 255; }; shift; exec \"$@\"\n",
    );
    let outcome = run(tree(5, "join exit:0").with_env("GASNET_SCI_RSH", &far));
    assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{outcome:?}");
    expect_line(&outcome, &["d: cannot resolve d"]);
    expect_line(&outcome, &["host d: '", "ended with status 255 before the agent answered"]);
    let far = script("tree-silent", "#!/bin/sh\n[ $1 = b ] && { echo Welcome; sleep 1000; }; shift; exec \"$@\"\n");
    let outcome =
        run(tree(5, "join exit:0").with_env("GASNET_SCI_RSH", &far).with_env("GASNET_SCI_START_TIMEOUT", "5"));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    expect_line(&outcome, &["host b did not answer within 5 s", "printed 'Welcome'"]);
    let outcome = run(tree(5, "join exit:0").with_env("GASNET_SCI_RSH", "/nonsuch/rsh"));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    expect_line(&outcome, &["host a", "/nonsuch/rsh"]);
}

/// The agents and branches of a job, with their parents.
fn processes(mark: &str) -> BTreeMap<i32, i32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|d| d.file_name().to_str()?.parse::<i32>().ok());
    let entry = |pid: i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_marked = environment.windows(mark.len()).any(|part| part == mark.as_bytes());
        let is_command = words.ends_with(b"\0--agent\0") && words.iter().filter(|byte| **byte == 0).count() == 2;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        (is_marked && is_command).then_some((pid, parent))
    };
    numbers.filter_map(entry).collect()
}

#[test]
fn a_branch_that_is_killed_ends_the_job_with_its_host_and_those_behind_it() {
    for is_guard in [true, false] {
        let mark = format!("SCI_MARK=branch-{is_guard}\0");
        let start = tree(5, "join attach daemon fence ready spin").with_env("SCI_MARK", &mark[9..mark.len() - 1]);
        let mut killed = 0;
        let outcome = driver::run_watched(start, |out| {
            if killed == 0 && out.windows(6).filter(|word| *word == b"ready\n").count() == 5 {
                let all = processes(&mark);
                assert_eq!(all.len(), 2 * (5 + 2), "{all:?}");
                // Above a branch there is no agent; it has agents two steps below.
                let below = |pid: i32| all.iter().find(|(_, parent)| **parent == pid).map(|(pid, _)| *pid);
                let first = all.iter().filter(|(_, parent)| !all.contains_key(parent)).map(|(pid, _)| *pid);
                let mut branches = first.filter_map(|guard| below(below(guard)?).map(|_| guard));
                let guard = branches.next().unwrap();
                let below = below(guard).unwrap();
                killed = if is_guard { guard } else { below };
                assert!(gasnet_sci::os::sys::kill(killed, libc::SIGKILL));
            }
        });
        assert_eq!(outcome.status, 1, "{outcome:?}");
        let line =
            outcome.err.lines().find(|line| line.contains("and the way to")).unwrap_or_else(|| panic!("{outcome:?}"));
        let is_known =
            |host, more| line.contains(&format!("the agent on host {host} has gone, and the way to {more}: "));
        assert!(is_known("a", "1 more host") || is_known("c", "2 more hosts"), "{line}");
    }
}

#[test]
fn a_launcher_that_is_killed_leaves_nothing_in_a_tree() {
    for script in ["join attach daemon fence ready spin", "join ignore:QUIT fence ready sleep", "daemon ready spin"] {
        let outcome = run(tree(5, script).with_signals(&[libc::SIGKILL]));
        assert_eq!(outcome.status, 137, "{outcome:?}");
    }
}

#[test]
fn sigkill_of_anybody_in_a_tree_at_any_moment_leaves_nothing() {
    for round in 0..8 {
        let delay = Duration::from_millis(4 * round * round);
        for victim in [Victim::Supervisor, Victim::Node, Victim::Everybody] {
            let outcome = run(tree(5, "join attach fence exchange:100000000").with_kill(delay, victim));
            assert_ne!(outcome.status, 0, "{victim:?} after {delay:?}: {outcome:?}");
        }
    }
}

#[test]
fn signals_and_stops_reach_all_of_a_tree() {
    let outcome = run(tree(5, "join attach fence ready spin").with_signals(&[libc::SIGTERM]));
    assert_eq!(outcome.status, 143, "{outcome:?}");
    let start =
        tree(5, "join attach fence ready sleep_ms:500 exchange:10 exit:0").with_env("GASNET_SCI_LINK_TIMEOUT", "2");
    let acts = [Act::Signal(libc::SIGTSTP), Act::Pause(Duration::from_millis(3500)), Act::Signal(libc::SIGCONT)];
    let outcome = run(start.with_acts(&acts));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

// --- placement by load -----------------------------------------------------------------------------

/// While the launcher waits for the second host, nodes of another job come to the first one.
#[test]
fn nodes_go_by_the_load_of_hosts_when_all_have_answered() {
    let place = scratch("load");
    for host in ["a", "b"] {
        DirBuilder::new().mode(0o700).recursive(true).create(place.join(host).join("gasnet-sci")).unwrap();
    }
    // An entry of a job in the list of the first host; this process stands for its launcher.
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let began = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
    // Its namespaces of processes and clocks.
    let [of_processes, of_clocks] = ["pid", "time"].map(|kind| {
        let file = fs::metadata(format!("/proc/self/ns/{kind}"));
        file.map_or(0, |file| std::os::unix::fs::MetadataExt::ino(&file))
    });
    let space = format!("{of_processes:x}.{of_clocks:x}");
    let entry = format!("2 00000000000000aa agent {space} {} {began} 0 5000 5000 5000 other\n", std::process::id());
    fs::write(place.join("entry"), entry).unwrap();
    let far = format!(
        "#!/bin/sh\nhost=$1; shift; cd {}; XDG_RUNTIME_DIR=$PWD/$host; export XDG_RUNTIME_DIR\n\
         [ $host = b ] && {{ sleep 1; until mkdir -m 700 -p a/gasnet-sci && mv entry a/gasnet-sci/00000000000000aa-1 2>/dev/null; do :; done; sleep 2.5; }}\nexec \"$@\"\n",
        place.display()
    );
    let far = write_script(&place.join("rsh"), &far, 0o755);
    // Each node says which agent started it.
    let show = "tr '\\0' '\\n' </proc/$PPID/environ | grep ^XDG_RUNTIME_DIR=";
    let start = Start::launcher(&["-n", "4", "--host", "a,b", "--place", "load", "sh", "-c", show]);
    let outcome = run(start.with_env("GASNET_SCI_RSH", &far));
    let line = format!("XDG_RUNTIME_DIR={}\n", place.join("b").display());
    assert_eq!((outcome.status, outcome.out), (0, line.repeat(4)), "{}", outcome.err);
}
