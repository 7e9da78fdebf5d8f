//! What commands show at a terminal, and nowhere else: progress and colours. The terminal is one that `script` of util-linux makes.

mod folder;

use folder::Folder;
use std::fs;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gasnet-sci");

fn clean(command: &mut Command, environment: &[(&str, &str)]) -> Output {
    // A machine for tests says so, and gets colours without a terminal.
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "COLORTERM"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(environment.iter().copied()).stdin(Stdio::null()).output().unwrap()
}

/// All that a terminal gets.
fn at_terminal(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    // No argument has a character that the shell would take for its own.
    let line = [&[PROGRAM][..], arguments].concat().join(" ");
    let output = clean(Command::new("script").args(["-qec", &line, "/dev/null"]), environment);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{line}: {text}");
    text
}

fn piped(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    clean(Command::new(PROGRAM).args(arguments), environment)
}

fn stdout(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a text sets colours: ESC [ numbers m.
fn has_colours(text: &str) -> bool {
    text.split("\x1b[")
        .skip(1)
        .any(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

fn trace(folder: &Folder) -> String {
    let line = |i: u32| format!("0 0.{i:09}> (P) PUT node=1 bytes=8 us=0.001\n");
    // Several megabytes, so that the line has something to tell.
    let text = "0 0.000000000> (U) trace node=0 nodes=2 clock=9 host=a\n".to_string()
        + &(1..80_000).map(line).collect::<String>();
    folder.write("trace.0", &text)
}

/// The commands that take long, each short here.
// `is_long`: they take long enough for a time that is left.
fn commands(folder: &Folder, is_long: bool) -> Vec<Vec<String>> {
    let (iterations, rounds) = if is_long { (4000, 3) } else { (100, 1) };
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let traffic = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/traffic.json");
    let mut all = vec![
        words(&format!("place {traffic} --topology torus:5x4 --objective cost+1*link --iterations {iterations}")),
        words(&format!("tune --quick --out {}", folder.0.join("tune.conf").display())),
        words(&format!("trace {}", trace(folder))),
    ];
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2) {
        all.push(words(&format!("bench --quick --rounds {rounds} --only barrier")));
    }
    all
}

fn borrowed(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

#[test]
fn a_terminal_sees_the_share_that_is_done_and_the_time_that_is_left() {
    let folder = Folder::new("terminal-progress");
    for command in commands(&folder, true) {
        let text = at_terminal(&borrowed(&command), &[]);
        let shares: Vec<u32> = text
            .split(&format!("gasnet-sci {}: [", command[0]))
            .skip(1)
            .filter_map(|part| part.split_once(']')?.1.split_once(" %, ")?.0.trim().parse().ok())
            .collect();
        assert!(shares.len() > 1 && shares.iter().all(|share| *share <= 100), "{command:?}: {shares:?} in {text:?}");
        assert!(text.contains(" left  "), "{command:?}: {text:?}");
        // It is gone when the answer comes: behind the last clearing there is nothing of it.
        let after = text.rsplit("\x1b[2K").next().unwrap();
        assert!(after.contains('\n') && !after.contains(" left  "), "{command:?}: {text:?}");
    }
}

#[test]
fn where_there_is_no_terminal_nothing_is_drawn_nor_coloured() {
    let folder = Folder::new("terminal-piped");
    for command in commands(&folder, false) {
        let output = piped(&borrowed(&command), &[]);
        assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {output:?}");
        assert!(!stdout(output).contains('\x1b'), "{command:?}");
        // A terminal that cannot be drawn on.
        assert!(!at_terminal(&borrowed(&command), &[("TERM", "dumb")]).contains('\x1b'), "{command:?}");
    }
}

#[test]
fn colours_are_where_they_are_seen_and_wanted() {
    let folder = Folder::new("terminal-colours");
    let mut all: Vec<Vec<String>> = ["info", "jobs"].map(|name| vec![name.to_string()]).into();
    all.extend(commands(&folder, false).into_iter().filter(|command| command[0] != "tune"));
    for command in all {
        let command = borrowed(&command);
        assert!(has_colours(&at_terminal(&command, &[])), "{command:?}");
        assert!(!has_colours(&at_terminal(&command, &[("NO_COLOR", "1")])), "{command:?}");
        let plain = stdout(piped(&command, &[]));
        assert!(
            !has_colours(&plain) && has_colours(&stdout(piped(&command, &[("CLICOLOR_FORCE", "1")]))),
            "{command:?}"
        );
    }
    // Errors, too, and files never.
    let wrong = ["place", "/nonexistent"];
    assert!(has_colours(&String::from_utf8(piped(&wrong, &[("CLICOLOR_FORCE", "1")]).stderr).unwrap()));
    assert!(String::from_utf8(piped(&wrong, &[]).stderr).unwrap().starts_with("gasnet-sci: "));
    let page = folder.0.join("page.html");
    let traffic = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/traffic.json");
    let arguments =
        ["place", traffic, "--topology", "torus:5x4", "--html", page.to_str().unwrap(), "--iterations", "100"];
    assert!(piped(&arguments, &[("CLICOLOR_FORCE", "1")]).status.success());
    assert!(!fs::read_to_string(page).unwrap().contains('\x1b'));
}

#[test]
fn what_prints_a_table_prints_json_too() {
    let folder = Folder::new("terminal-json");
    let problem = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tai12a.dat");
    let trace = trace(&folder);
    for (arguments, key) in [
        (&["jobs", "--json"][..], "jobs"),
        (&["tune", "--quick", "--json", "--out", "-"], "thresholds"),
        (&["place", "--qaplib", problem, "--json", "-"], "permutation"),
        (&["trace", &trace, "--json"], "summaries"),
        (&["info", "--json"], "limits"),
        (&["sisci", "--json"], "nodes"),
        (&["page", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bench.json"), "--json", "-"], "results"),
    ] {
        let output = piped(arguments, &[("CLICOLOR_FORCE", "1")]);
        assert!(output.status.success(), "{output:?}");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!value[key].is_null(), "{arguments:?}: {value}");
    }
}
