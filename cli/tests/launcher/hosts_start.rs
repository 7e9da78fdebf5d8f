//! What goes wrong when a job of several hosts starts, and what is said of it.

use super::driver::{Start, hosted, rsh, run, scratch, write_script};
use super::hosts::{expect_line, on, rsh_script};
use gasnet_sci::supervise::channel::{self, Frame};
use std::fs;

#[test]
fn a_host_that_cannot_be_reached_is_named_with_what_the_command_said() {
    let far =
        rsh_script("unknown", "[ $1 = good ] || { echo \"cannot resolve $1\" >&2; exit 255; }; shift; exec \"$@\"");
    let outcome = run(on(2, &["--host", "good,bad"], "join exit:0").with_env("GASNET_SCI_RSH", &far));
    assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{outcome:?}");
    expect_line(&outcome, &["bad: cannot resolve bad"]);
    expect_line(&outcome, &["host bad: '", "ended with status 255 before the agent answered"]);
}

#[test]
fn a_host_that_does_not_answer_is_named() {
    let far = rsh_script("silent", "[ $1 = good ] || { echo Welcome; sleep 1000; }; shift; exec \"$@\"");
    let start = on(2, &["--host", "good,bad"], "join exit:0").with_env("GASNET_SCI_RSH", &far);
    let outcome = run(start.with_env("GASNET_SCI_START_TIMEOUT", "5"));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    expect_line(&outcome, &["host bad did not answer within 5 s", "printed 'Welcome'"]);
}

#[test]
fn what_a_login_shell_prints_does_no_harm() {
    let far = rsh_script("chatty", "shift; echo Welcome to this host; echo news >&2; exec \"$@\"");
    let outcome = run(on(2, &["--host", "a,b"], "join exchange:2 exit:0").with_env("GASNET_SCI_RSH", &far));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, ""), "{outcome:?}");
    expect_line(&outcome, &["gasnetrun_sci: a: news"]);
}

/// A script that greets as an agent of another version, and then does something else.
pub fn old_agent(then: &str) -> String {
    // 38 bytes, kind 1: three versions, two texts, two loads. It stays so in all versions of the channel.
    let word = |n: u8| format!("\\{n:03o}\\000\\000\\000");
    let [lengths, versions] = [[word(38), word(1)], [word(1), word(3)]].map(|words| words.concat());
    let [layout, library, host] = [word(64) + &word(0), word(5) + "0.0.1", word(1) + "b"];
    let hello = format!("\\000GSCIAG\\n{lengths}{versions}{layout}{library}{host}{}{}", word(100), word(0));
    format!("#!/bin/sh\nprintf '{hello}'\n{then}\n")
}

#[test]
fn another_version_is_refused_with_both() {
    let old = write_script(&scratch("old-agent").join("agent"), &old_agent("exec sleep 1000"), 0o755);
    let far = rsh_script("old", &format!("[ $1 = old ] && exec {old}; shift; exec \"$@\""));
    let outcome = run(on(2, &["--host", "new,old"], "join exit:0").with_env("GASNET_SCI_RSH", &far));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    let own = concat!("this launcher is ", env!("CARGO_PKG_VERSION"));
    expect_line(&outcome, &["host old has gasnet-sci 0.0.1 (channel 1, hand-off 3", own]);
}

#[test]
fn programs_and_directories_that_a_host_lacks_are_named_with_the_host() {
    let directory = scratch("gone");
    let far = rsh_script("rm", &format!("[ $1 = b ] && rmdir {}; shift; exec \"$@\"", directory.display()));
    // The launcher is in a directory that is there no more.
    let start = on(2, &["--host", "a,b"], "join exit:0").with_env("GASNET_SCI_RSH", &far).in_directory(&directory);
    let outcome = run(start);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.err.contains("current directory") || outcome.err.contains("cannot enter"), "{outcome:?}");
    let script = write_script(&scratch("no-interpreter").join("x"), "#!/nonsuch/shell\n", 0o755);
    let mut start = Start::launcher(&["-n", "2", "--host", "a,b", &script]);
    start = start.with_env("GASNET_SCI_RSH", &rsh());
    let outcome = run(start);
    assert_eq!(outcome.status, 126, "{outcome:?}");
    expect_line(&outcome, &["host ", "cannot run", "interpreter"]);
}

#[test]
fn a_program_that_is_not_there_is_told_as_on_one_host() {
    for (change, status, words) in
        [("rm -f", 127, "No such file or directory"), ("chmod -x", 126, "it is not executable")]
    {
        let file = scratch("absent").join("prog");
        let change = format!("{change} {}", file.display());
        write_script(&file, "#!/bin/sh\n", 0o755);
        // The launcher finds the program, and the agents do not.
        let far = rsh_script("remover", &format!("shift; {change}; exec \"$@\""));
        let start = Start::launcher(&["-n", "2", "--host", "a,b", file.to_str().unwrap()]);
        let outcome = run(start.with_env("GASNET_SCI_RSH", &far));
        assert_eq!(outcome.status, status, "{outcome:?}");
        let line = format!("cannot run {}: {words}", file.display());
        expect_line(&outcome, &["gasnetrun_sci: host ", &line, "; ending the job"]);
        let outcome = run(Start::launcher(&["-n", "2", file.to_str().unwrap()]));
        assert_eq!(outcome.status, status, "{outcome:?}");
        expect_line(&outcome, &[&format!("gasnetrun_sci: {line}")]);
    }
}

/// Otherwise it would wait until the launcher, which waits for it, has gone.
#[test]
fn an_agent_that_refuses_says_that_nothing_is_left_there() {
    let place = scratch("refusing");
    fs::write(place.join("agent.conf"), "processes = 2\n").unwrap();
    let far = rsh_script("tee", &format!("host=$1; shift; \"$@\" | tee {}/$host", place.display()));
    let start = hosted(6, "join exit:0").with_env("GASNET_SCI_AGENT_CONF", place.join("agent.conf").to_str().unwrap());
    let outcome = run(start.with_env("GASNET_SCI_RSH", &far));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    for host in ["alpha", "beta"] {
        let bytes = fs::read(place.join(host)).unwrap();
        let (mut rest, mut frames) = (&bytes[channel::MAGIC.len()..], Vec::new());
        while let Some((frame, len)) = Frame::decode(rest).unwrap() {
            frames.push(frame);
            rest = &rest[len..];
        }
        let is_end = |pair: &[Frame]| matches!(pair, [Frame::Failed(1, _), Frame::Done(None)]);
        assert!(frames.windows(2).any(is_end), "{frames:?}");
    }
}

#[test]
fn limits_of_a_host_are_named() {
    let conf = scratch("agent-conf").join("agent.conf");
    for (text, part) in [("processes = 2\n", "too many processes"), ("users = nobody-at-all", "may not run nodes here")]
    {
        fs::write(&conf, text).unwrap();
        let outcome = run(hosted(6, "join exit:0").with_env("GASNET_SCI_AGENT_CONF", conf.to_str().unwrap()));
        assert_eq!(outcome.status, 1, "{outcome:?}");
        expect_line(&outcome, &["host ", part, "agent.conf"]);
    }
}
