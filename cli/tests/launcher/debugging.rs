//! `--debug`, with programs that stand in for debugger and terminal window. They note how they were called, and then
//! do the node's work.

use super::driver::{self, Start, launched, run};
use std::fs;
use std::path::{Path, PathBuf};

// Makes a directory with stand-ins for `names`, and returns it with the file that they write to.
fn stand_ins(test: &str, names: &[&str]) -> (PathBuf, PathBuf) {
    let directory = driver::scratch(test);
    let calls = directory.join("calls");
    for name in names {
        // The script drops its own options up to the separator that the real debugger has.
        let text = format!(
            "#!/bin/sh\necho \"{name} $*\" >> {}\nwhile [ $# -gt 0 ]; do case $1 in --args|--|-e) shift; break ;; esac; shift; done\nexec \"$@\"\n",
            calls.display()
        );
        driver::write_script(&directory.join(name), &text, 0o755);
    }
    (directory, calls)
}

fn debugged(nodes: u32, script: &str, options: &[&str], path: &Path, display: &str) -> Start {
    let mut start = launched(nodes, script);
    start.insert_option(options);
    start.with_env("PATH", &format!("{}:/usr/bin:/bin", path.display())).with_env("DISPLAY", display)
}

fn calls(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    lines.sort();
    lines
}

#[test]
fn with_a_display_every_debugger_has_a_window() {
    let (path, file) = stand_ins("debug-window", &["gdb", "xterm"]);
    let outcome = run(debugged(3, "join attach fence exit:4", &["--debug"], &path, ":9"));
    assert_eq!((outcome.status, outcome.err.as_str()), (4, ""), "{outcome:?}");
    let calls = calls(&file);
    let count = |start: &str| calls.iter().filter(|call| call.starts_with(start)).count();
    assert_eq!((count("gdb --args "), count("xterm -T node ")), (3, 3), "{calls:?}");
    assert!(calls.iter().any(|call| call.starts_with("xterm -T node 2 of 3: ") && call.contains(" -e gdb --args /")));
}

#[test]
fn without_one_a_single_node_has_its_debugger_on_the_terminal() {
    let (path, file) = stand_ins("debug-terminal", &["gdb", "xterm"]);
    let start = debugged(3, "join stdin fence exit:0", &["--debug-node", "1"], &path, "");
    let outcome = run(start.with_stdin("typed\n"));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let mut lines: Vec<&str> = outcome.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 read \"\"", "1 read \"typed\\n\"", "2 read \"\""], "stdin is where the debugger is");
    assert_eq!(calls(&file).len(), 1);
    let (path, file) = stand_ins("debug-alone", &["lldb"]);
    let start = debugged(1, "join exit:3", &["--debug=lldb -b"], &path, "");
    assert_eq!((run(start).status, calls(&file).len()), (3, 1));
    assert!(calls(&file)[0].starts_with("lldb -b -- /"));
}

#[test]
fn ctrl_c_is_for_the_debugger_alone() {
    let (path, _) = stand_ins("debug-interrupt", &["gdb"]);
    let script = "join attach usr1_exits:7 fence ready sleep";
    let start = debugged(2, script, &["--debug-node", "1"], &path, "");
    // SIGINT to the launcher ends nothing; the signal after it does.
    assert_eq!(run(start.with_signals(&[libc::SIGINT, libc::SIGUSR1])).status, 7);
}

#[test]
fn several_nodes_without_a_window_wait_and_say_how_to_go_on() {
    let (path, file) = stand_ins("debug-wait", &["gdb"]);
    let script = "env:GASNET_FREEZE join fence exit:0";
    let outcome = run(debugged(2, script, &["--debug"], &path, ""));
    assert_eq!((outcome.status, outcome.out.matches("GASNET_FREEZE=1\n").count()), (0, 2), "{outcome:?}");
    assert!(outcome.err.contains("gdb -p PID") && outcome.err.contains("gasnet_frozen"), "{}", outcome.err);
    assert!(calls(&file).is_empty());
    let outcome = run(debugged(2, script, &["--debug=wait", "--debug-node=1"], &path, ""));
    assert_eq!((outcome.out.matches("GASNET_FREEZE=1\n").count(), outcome.err.as_str()), (1, ""), "{outcome:?}");
}

#[test]
fn other_commands_stand_in_front_of_every_program() {
    let (path, file) = stand_ins("debug-other", &["tool"]);
    let outcome = run(debugged(2, "join fence exit:0", &["--debug=tool --log=%n --"], &path, ":9"));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let calls = calls(&file);
    assert!(calls[0].starts_with("tool --log=0 -- /") && calls[1].starts_with("tool --log=1 -- /"), "{calls:?}");
    let outcome = run(Start::launcher(&["-n", "1", "--debug=no-such-debugger", "true"]));
    assert_eq!(outcome.status, 1);
    assert!(outcome.err.contains("no-such-debugger is not found"), "{}", outcome.err);
}

#[test]
fn real_debugger_runs_a_node_to_its_end() {
    let has_gdb = Path::new("/usr/bin/gdb").exists();
    if !has_gdb {
        return; // nothing to test here; the tests above need no such program
    }
    let mut start = launched(2, "join attach fence exit:0");
    start.insert_option(&["--debug=gdb -nx -batch -ex run"]);
    let outcome = run(start);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert_eq!(outcome.out.matches("exited normally").count(), 2, "{outcome:?}");
}
