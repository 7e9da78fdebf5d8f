//! Jobs of several hosts: two agents on this machine, which a script starts instead of ssh. Most of what holds on one host is tested
//! by running the same scripts in all ways (`driver::every`); here is what only several hosts have.

use super::driver::{self, Act, Outcome, Start, hosted, launched, rsh, run, scratch, write_script};
use super::node;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// `script` on these hosts, with more options.
pub fn on(nodes: u32, options: &[&str], script: &str) -> Start {
    let mut start = launched(nodes, script).with_env("GASNET_SCI_RSH", &rsh());
    start.insert_option(options);
    start
}

pub fn expect_line(outcome: &Outcome, parts: &[&str]) {
    let found = outcome.err.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(found, "no line with {parts:?} in {outcome:?}");
}

/// A command that reaches hosts by a shell script of its own; `$@` is the host and what to run there.
pub fn rsh_script(name: &str, text: &str) -> String {
    write_script(&scratch(name).join("rsh"), &format!("#!/bin/sh\n{text}\n"), 0o755)
}

// --- starting ------------------------------------------------------------------------------------

#[test]
fn exchanges_span_all_hosts_however_nodes_are_placed() {
    for options in [
        &["--host", "a,b,c"][..],
        &["--host", "a:1,b:1,c:16"],
        &["--host", "a,b", "--place", "list:1,0,1,1,0,0"],
        &["--host", "a,b,c", "-N", "2"],
        &["--host", "a,b", "--place", "load"],
    ] {
        let outcome = run(on(6, options, "join conform exchange:20 exit:0"));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{options:?} {outcome:?}");
    }
}

#[test]
fn thirty_two_nodes_on_each_of_two_hosts() {
    let outcome = run(hosted(64, "join exchange:3 exit:0"));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

#[test]
fn twenty_hosts_are_started_though_not_all_at_once() {
    let hosts: Vec<String> = (0..20).map(|host| format!("h{host}")).collect();
    let outcome = run(on(20, &["--host", &hosts.join(",")], "join exchange:3 exit:0"));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

#[test]
fn files_and_batch_systems_name_hosts_too() {
    let file = scratch("hostfile").join("hosts");
    fs::write(&file, "alpha slots=1 # one\nbeta:3\n").unwrap();
    let dry = |start: Start| {
        let outcome = run(start);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        outcome.err
    };
    let shown = dry(on(4, &["-t", "-H", file.to_str().unwrap()], "join exit:0"));
    assert!(shown.contains("host alpha: nodes 0,") && shown.contains("host beta: nodes 1-3,"), "{shown}");
    let slurm = on(4, &["-t", "-N", "2"], "join exit:0").with_env("SLURM_JOB_NODELIST", "n[1-3]");
    let shown = dry(slurm.with_env("SLURM_TASKS_PER_NODE", "2(x3)"));
    assert!(
        shown.contains("host n1: nodes 0-1,") && shown.contains("host n2: nodes 2-3,") && !shown.contains("n3"),
        "{shown}"
    );
    let outcome = run(on(2, &["-H", "/nonsuch"], "join exit:0"));
    assert!(outcome.status == 1 && outcome.err.contains("/nonsuch"), "{outcome:?}");
    let outcome = run(on(5, &["--host", "a:2,b:2"], "join exit:0"));
    expect_line(&outcome, &["5 nodes are too many", "4 slots"]);
}

#[test]
fn hosts_for_other_launchers_of_the_family_count_unless_an_option_names_some() {
    let named =
        |options: &[&str]| on(2, options, "join exchange:3 exit:0").with_env("GASNET_SSH_SERVERS", "alpha beta");
    let outcome = run(named(&["-v"]));
    assert!(outcome.status == 0 && outcome.err.contains("host alpha: nodes 0,"), "{outcome:?}");
    assert!(outcome.err.contains("host beta: nodes 1,"), "{outcome:?}");
    let outcome = run(named(&["-t", "--host", "gamma"]));
    assert!(outcome.err.contains("host gamma: nodes 0-1,") && !outcome.err.contains("alpha"), "{outcome:?}");
    let outcome = run(named(&["-t"]).with_env("GASNET_SPAWNFN", "L"));
    assert!(outcome.status == 0 && !outcome.err.contains("alpha"), "{outcome:?}");
    expect_line(&run(named(&[]).with_env("GASNET_SSH_NODEFILE", "/nonsuch")), &["GASNET_SSH_NODEFILE=/nonsuch: "]);
}

#[test]
fn the_command_for_other_launchers_of_the_family_reaches_hosts() {
    let path = scratch("family").join("reach");
    let script = "#!/bin/sh\necho \"reached by $1 $2\" >&2\nshift 3\nexec \"$@\"\n";
    let mut start =
        launched(2, "join exchange:2 exit:0").with_env("GASNET_SSH_CMD", &write_script(&path, script, 0o755));
    start.insert_option(&["--host", "alpha,beta"]);
    let outcome = run(start.with_env("GASNET_SSH_OPTIONS", " -p  2222 "));
    assert!(outcome.status == 0 && outcome.err.contains("reached by -p 2222"), "{outcome:?}");
    // ssh is not to ask for a password, and GASNET_SCI_RSH counts before both.
    let shown = |start: Start| run(start.with_env("GASNET_SSH_OPTIONS", "-x")).err;
    let mut start = launched(2, "join exit:0");
    start.insert_option(&["-t", "--host", "alpha,beta"]);
    let text = shown(start);
    assert!(text.contains("ssh -o BatchMode=yes -x alpha "), "{text}");
    let text = shown(on(2, &["-t", "--host", "alpha,beta"], "join exit:0"));
    assert!(!text.contains("BatchMode") && !text.contains(" -x "), "{text}");
}

#[test]
fn next_goes_on_from_the_last_job() {
    let state = scratch("state");
    let shown = || {
        let start = on(3, &["--host", "a,b", "--place", "next", "-v"], "join exit:0");
        let outcome = run(start.with_env("XDG_STATE_HOME", state.to_str().unwrap()));
        assert_eq!(outcome.status, 0, "{outcome:?}");
        outcome.err
    };
    let first = shown();
    assert!(first.contains("host a: nodes 0,2,") && first.contains("host b: nodes 1,"), "{first}");
    let second = shown();
    assert!(second.contains("host b: nodes 0,2,") && second.contains("host a: nodes 1,"), "{second}");
}

#[test]
fn hosts_named_as_this_one_need_no_command() {
    let mut start = launched(2, "join exchange:2 exit:0");
    start.insert_option(&["--host", "localhost"]);
    assert_eq!(run(start).status, 0);
    let mut start = launched(2, "join exit:0").with_env("GASNET_SCI_RSH", "/nonsuch/rsh");
    start.insert_option(&["--host", "localhost"]);
    let outcome = run(start);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    expect_line(&outcome, &["host localhost", "/nonsuch/rsh"]);
}

#[test]
fn every_node_runs_in_the_launchers_directory_with_its_environment() {
    let directory = scratch("far directory");
    // A shell on the other side that begins elsewhere, with other variables.
    let far = rsh_script("far-rsh", "shift; cd /; SCI_FAR=1; export SCI_FAR; unset SCI_MINE; exec \"$@\"");
    let mut start =
        Start::launcher(&["-n", "2", "--host", "a,b", "sh", "-c", "pwd; echo \"$SCI_MINE,$SCI_FAR\"; umask"]);
    start = start.with_env("GASNET_SCI_RSH", &far).with_env("SCI_MINE", "x\ny z").in_directory(&directory);
    let outcome = run(start.under(&["sh", "-c", "umask 031; exec \"$@\"", "sh"]));
    let mut lines: Vec<&str> = outcome.out.lines().collect();
    lines.sort_unstable();
    let directory = directory.to_str().unwrap();
    let expected = [directory, directory, "0031", "0031", "x", "x", "y z,", "y z,"];
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!((outcome.status, lines), (0, expected), "{outcome:?}");
}

// --- ends ----------------------------------------------------------------------------------------

#[test]
fn a_node_that_is_killed_is_named_with_its_host() {
    let outcome = run(hosted(4, "join attach fence @3:raise:SEGV spin"));
    assert_eq!(outcome.status, 139, "{outcome:?}");
    expect_line(&outcome, &["node 3/4 (pid ", " on beta) was killed by signal 11 (SIGSEGV); ending the job"]);
}

/// The processes of the job: its agents (the guard and the supervisor of each), found by what they run.
fn agents(tag_of: &str) -> Vec<i32> {
    let processes =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|d| d.file_name().to_str()?.parse::<i32>().ok());
    let is_agent = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_command = words.ends_with(b"\0--agent\0") && words.iter().filter(|byte| **byte == 0).count() == 2;
        is_command && environment.windows(tag_of.len()).any(|part| part == tag_of.as_bytes())
    };
    processes.filter(is_agent).collect()
}

/// Runs a job of two hosts that would never end; `act` gets the processes of its agents once all nodes are ready.
fn with_agents(mark: &str, act: impl Fn(&[i32]) + Send + Sync) -> (Outcome, Duration) {
    let start = hosted(4, "join attach daemon fence ready spin").with_env("SCI_MARK", mark);
    let (mut done, mut acted_at) = (false, Instant::now());
    let entry = format!("SCI_MARK={mark}\0");
    let outcome = driver::run_watched(start, |out| {
        if !done && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
            done = true;
            acted_at = Instant::now();
            act(&agents(&entry));
        }
    });
    assert!(done, "{outcome:?}");
    (outcome, acted_at.elapsed())
}

fn parent(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn send(pid: i32, signal: i32) {
    assert!(gasnet_sci::os::sys::kill(pid, signal), "{pid}");
}

#[test]
fn an_agent_that_is_killed_ends_the_job() {
    // Of each agent there are two processes: the guard, which the command has become, and the supervisor.
    for (number, mark) in ["agent-0", "agent-1", "agent-2", "agent-3"].into_iter().enumerate() {
        let (outcome, _) = with_agents(mark, |agents| {
            assert_eq!(agents.len(), 4, "{agents:?}");
            send(agents[number], libc::SIGKILL);
        });
        assert_eq!(outcome.status, 1, "{outcome:?}");
        expect_line(&outcome, &["agent ", "ending the job"]);
    }
}

#[test]
fn an_agent_that_is_stopped_is_silent_and_ends_the_job() {
    let start = hosted(4, "join attach fence ready spin")
        .with_env("SCI_MARK", "stopped")
        .with_env("GASNET_SCI_LINK_TIMEOUT", "2");
    let mut stopped = Vec::new();
    let outcome = driver::run_watched(start, |out| {
        if stopped.is_empty() && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
            // The supervisor of one agent: the child of the other process.
            stopped = agents("SCI_MARK=stopped\0");
            stopped.iter().skip(2).for_each(|pid| send(*pid, libc::SIGSTOP));
            // It goes on, and finds that nobody waits for it.
            let late = stopped.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(4));
                late.iter().for_each(|pid| _ = gasnet_sci::os::sys::kill(*pid, libc::SIGCONT));
            });
        }
    });
    assert_eq!(outcome.status, 1, "{outcome:?}");
    expect_line(&outcome, &["nothing was heard of host ", "2 s (GASNET_SCI_LINK_TIMEOUT)"]);
}

/// The job ends in good order, and its nodes have been asked to leave.
#[test]
fn a_host_that_is_lost_while_the_job_ends_is_named() {
    let start = hosted(4, "join attach fence ready @0:exit:0 ignore:QUIT spin").with_env("SCI_MARK", "late");
    let mut found = Vec::new();
    let outcome = driver::run_watched(start, |out| {
        if found.is_empty() && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
            found = agents("SCI_MARK=late\0");
            // The nodes have a second until they are asked, and much longer until they are killed.
            let guards: Vec<i32> = found.iter().copied().filter(|pid| !found.contains(&parent(*pid))).collect();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(2500));
                guards.iter().for_each(|pid| _ = gasnet_sci::os::sys::kill(*pid, libc::SIGKILL));
            });
        }
    });
    assert_eq!(outcome.status, 1, "{outcome:?}");
    expect_line(&outcome, &["agent ", "ending the job"]);
}

#[test]
fn a_launcher_that_is_killed_leaves_nothing_on_any_host() {
    for script in ["join attach daemon fence ready spin", "join ignore:QUIT fence ready sleep", "daemon ready spin"] {
        let outcome = run(hosted(4, script).with_signals(&[libc::SIGKILL]));
        assert_eq!(outcome.status, 137, "{outcome:?}");
    }
}

#[test]
fn a_command_that_is_killed_ends_the_job_though_its_agent_lives() {
    // The command stays above the agent, as ssh does.
    let far = rsh_script("above", "shift; \"$@\"; exit $?");
    let start =
        hosted(4, "join attach fence ready spin").with_env("GASNET_SCI_RSH", &far).with_env("SCI_MARK", "above");
    let mut done = false;
    let outcome = driver::run_watched(start, |out| {
        if !done && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
            done = true;
            let agent = agents("SCI_MARK=above\0")[0];
            send(parent(agent), libc::SIGKILL);
        }
    });
    assert_eq!(outcome.status, 1, "{outcome:?}");
    expect_line(&outcome, &["the agent on host ", "killed by signal 9 (SIGKILL)"]);
}

/// The command stays above the agent, as ssh does, and is stopped.
#[test]
fn a_command_that_is_stopped_does_not_keep_the_launcher() {
    let far = rsh_script("asleep", "shift; \"$@\"; exit $?");
    let start =
        hosted(4, "join attach fence ready spin").with_env("GASNET_SCI_RSH", &far).with_env("SCI_MARK", "asleep");
    let mut launcher = 0;
    let outcome = driver::run_watched(start, |out| {
        if launcher == 0 && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
            let found = agents("SCI_MARK=asleep\0");
            let commands: Vec<i32> =
                found.iter().map(|pid| parent(*pid)).filter(|parent| !found.contains(parent)).collect();
            assert_eq!(commands.len(), 2, "{found:?}");
            commands.iter().for_each(|pid| send(*pid, libc::SIGSTOP));
            launcher = parent(commands[0]);
            send(launcher, libc::SIGTERM);
        }
    });
    assert_eq!(outcome.status, 143, "{outcome:?}");
    assert!(!outcome.err.contains("lost") && !outcome.err.contains("heard"), "{outcome:?}");
}

#[test]
fn sigkill_of_anybody_at_any_moment_leaves_nothing() {
    for round in 0..8 {
        let delay = Duration::from_millis(3 * round * round);
        for victim in [driver::Victim::Supervisor, driver::Victim::Node, driver::Victim::Everybody] {
            let outcome = run(hosted(6, "join attach fence exchange:100000000").with_kill(delay, victim));
            assert_ne!(outcome.status, 0, "{victim:?} after {delay:?}: {outcome:?}");
        }
    }
}

#[test]
fn a_job_that_is_stopped_for_long_goes_on() {
    let start =
        hosted(4, "join attach fence ready sleep_ms:500 exchange:10 exit:0").with_env("GASNET_SCI_LINK_TIMEOUT", "2");
    let acts = [Act::Signal(libc::SIGTSTP), Act::Pause(Duration::from_millis(3500)), Act::Signal(libc::SIGCONT)];
    let outcome = run(start.with_acts(&acts));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

// --- jobs and kill -------------------------------------------------------------------------------

pub fn tool(runtime: &Path, arguments: &[&str]) -> (bool, String) {
    let found = std::process::Command::new(env!("CARGO_BIN_EXE_gasnet-sci"))
        .args(arguments)
        .env("XDG_RUNTIME_DIR", runtime)
        .output()
        .unwrap();
    (found.status.success(), String::from_utf8(found.stdout).unwrap() + &String::from_utf8(found.stderr).unwrap())
}

#[test]
fn jobs_are_listed_and_may_be_killed_by_number() {
    let runtime = scratch("runtime");
    assert_eq!(tool(&runtime, &["jobs"]).1.lines().count(), 1, "only the head");
    for start in [hosted(4, "join attach fence ready spin"), launched(4, "join attach fence ready spin")] {
        let mut done = false;
        let start = start.with_env("XDG_RUNTIME_DIR", runtime.to_str().unwrap());
        let outcome = driver::run_watched(start, |out| {
            if !done && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
                done = true;
                let (_, text) = tool(&runtime, &["jobs"]);
                let lines: Vec<Vec<&str>> =
                    text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
                assert_eq!((lines.len(), &lines[0][1..3]), (1, &["4", "4"][..]), "{text}");
                assert!(["nonsuch", ""].iter().all(|job| !tool(&runtime, &["kill", job]).0));
                for signal in ["STOP", "CONT", "TERM"] {
                    let words = ["kill", "-s", signal, &lines[0][0][..9]];
                    assert_eq!(tool(&runtime, &words), (true, String::new()));
                }
            }
        });
        assert_eq!(outcome.status, 143, "{outcome:?}");
        assert_eq!(
            fs::read_dir(runtime.join("gasnet-sci")).map_or(0, |list| list.count()),
            0,
            "the list has no entries of jobs that have ended"
        );
    }
}

#[test]
fn a_signal_to_an_agent_ends_the_job_as_one_to_the_launcher() {
    let (outcome, _) = with_agents("term", |agents| send(agents[0], libc::SIGTERM));
    assert_eq!(outcome.status, 143, "{outcome:?}");
}

/// The launcher passes on the terminal's signals. Agents and nodes stay in its session, which Linux schedules as one group.
#[test]
fn agents_and_nodes_have_no_terminal_and_stay_in_the_session() {
    let directory = scratch("terminal");
    let place = |name: &str, then: &str| {
        let text = format!("#!/bin/sh\necho {name} $(cut -d ' ' -f 5-7 /proc/$$/stat)\n{then}\n");
        write_script(&directory.join(name), &text, 0o755)
    };
    let launcher = env!("CARGO_BIN_EXE_gasnetrun_sci");
    let job = format!("exec {launcher} -n 2 --host a,b {}", place("node", ""));
    let in_terminal = format!("exec script -qec {} /dev/null </dev/null", place("launcher", &job));
    let outcome = run(Start::launcher(&[]).with_env("GASNET_SCI_RSH", &rsh()).under(&["sh", "-c", &in_terminal]));
    let of = |name: &str| -> Vec<Vec<i32>> {
        let lines = outcome.out.lines().filter_map(|line| line.strip_prefix(name));
        lines.map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect()
    };
    let (launcher, nodes) = (of("launcher"), of("node"));
    assert!(outcome.status == 0 && launcher.len() == 1 && nodes.len() == 2, "{outcome:?}");
    assert_ne!(launcher[0][2], 0, "the launcher has a terminal: {outcome:?}");
    for node in nodes {
        assert!(node[0] != launcher[0][0] && node[1] == launcher[0][1] && node[2] == 0, "{outcome:?}");
    }
}

#[test]
fn output_of_both_hosts_is_whole_and_in_order() {
    for joined in [false, true] {
        let start = hosted(8, "join fence lines:3000 exit:0");
        let outcome = run(if joined { start.with_streams_joined() } else { start });
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        node::check_lines(&outcome.out, 8, 3000);
    }
}

#[test]
fn stdin_that_is_longer_than_any_buffer_arrives() {
    let text = "0123456789abcde\n".repeat(200_000);
    let mut start = Start::launcher(&["-n", "2", "--host", "a,b", "sh", "-c", "cat | wc -c"]);
    start = start.with_env("GASNET_SCI_RSH", &rsh()).with_stdin(&text);
    let mut counts: Vec<String> = run(start).out.lines().map(|line| line.trim().to_string()).collect();
    counts.sort_unstable();
    assert_eq!(counts, ["0", "3200000"]);
}

#[test]
fn time_limits_and_files_of_output_hold_on_all_hosts() {
    let directory = scratch("hosted-output");
    let options = ["--host", "a,b", "--output-dir", directory.to_str().unwrap()];
    let outcome = run(on(4, &options, "join fence lines:100 exit:0"));
    assert_eq!((outcome.status, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""), "{outcome:?}");
    let read = |rank| fs::read_to_string(directory.join(format!("node-{rank}.out"))).unwrap();
    node::check_lines(&(0..4).map(read).collect::<String>(), 4, 100);
    let outcome = run(on(4, &["--host", "a,b", "--timeout", "1"], "join fence spin"));
    assert_eq!(outcome.status, 124, "{outcome:?}");
    expect_line(&outcome, &["did not end within 1 s (--timeout)"]);
}

#[test]
fn the_output_of_one_node_goes_where_that_of_several_goes() {
    for options in [&["--host", "a"][..], &["--host", "a:2,b:2"], &["--host", "localhost"]] {
        let outcome = run(on(1, options, "join attach lines:10 exit:0"));
        node::check_lines(&outcome.out, 1, 10);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, "0 9 .........\n"), "{outcome:?}");
    }
}

#[test]
fn tags_name_the_node_whatever_its_host() {
    let outcome = run(on(4, &["--host", "a,b", "--tag-output"], "join attach fence buffer:x exit:0"));
    let mut lines: Vec<&str> = outcome.out.lines().collect();
    lines.sort_unstable();
    assert_eq!((outcome.status, lines), (0, vec!["[0] x", "[1] x", "[2] x", "[3] x"]), "{outcome:?}");
}
