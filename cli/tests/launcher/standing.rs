//! Jobs whose agents a standing agent starts (`gasnet-sci agent`): two of them on this machine, at two addresses of the loopback.

use super::driver::{self, Act, Outcome, Start, launched, marked, run, scratch, write_script};
use super::hosts::{expect_line, tool};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const MARK: &str = "SCI_TEST_STANDING";
const TOOL: &str = env!("CARGO_BIN_EXE_gasnet-sci");

/// Makes a secret, and returns its file.
fn secret(directory: &Path) -> PathBuf {
    let file = directory.join("agent.secret");
    let made = Command::new(TOOL).args(["agent", "--make-secret", "--secret"]).arg(&file).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    file
}

/// A standing agent. When it is dropped, it is killed, and nothing of it may be left.
struct Standing {
    child: Child,
    port: u16,
    mark: String,
    log: PathBuf,
}

impl Standing {
    fn new(program: &Path, name: &str, listen: &str, options: &[&str]) -> Standing {
        let log = scratch(&format!("standing-{name}")).join("log");
        let mark = format!("{}-{name}", std::process::id());
        let mut child = Command::new(program)
            .args(["agent", "--listen", listen])
            .args(options)
            .env(MARK, &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        Standing { port: port.unwrap_or_else(|| panic!("{line:?}, {:?}", fs::read_to_string(&log))), child, mark, log }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until only the service itself is left of all that it has started.
    fn expect_idle(&self) {
        expect_processes(&self.mark, 1);
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !thread::panicking() {
            expect_processes(&self.mark, 0);
        }
    }
}

fn expect_processes(mark: &str, count: usize) {
    let until = Instant::now() + Duration::from_secs(10);
    while marked::processes(MARK, mark).len() != count {
        assert!(Instant::now() < until, "processes are left: {:?}", marked::processes(MARK, mark));
        thread::sleep(Duration::from_millis(5));
    }
}

/// Two standing agents, at one port of two addresses, with one secret; more options for both.
fn two(name: &str, options: &[&str]) -> (PathBuf, [Standing; 2]) {
    let file = secret(&scratch(&format!("standing-{name}-secret")));
    let options = [&["--secret", file.to_str().unwrap()], options].concat();
    let first = Standing::new(TOOL.as_ref(), &format!("{name}-2"), "127.0.0.2:0", &options);
    let listen = format!("127.0.0.3:{}", first.port);
    let second = Standing::new(TOOL.as_ref(), &format!("{name}-3"), &listen, &options);
    (file, [first, second])
}

/// `script` on the hosts of two standing agents.
fn on(nodes: u32, script: &str, port: u16, secret: &Path) -> Start {
    let rsh = format!("standing --listen {port} --secret {}", secret.display());
    let mut start = launched(nodes, script).with_env("GASNET_SCI_RSH", &rsh);
    start.insert_option(&["--host", "127.0.0.2,127.0.0.3"]);
    start
}

fn expect_refused(outcome: &Outcome, parts: &[&str]) {
    assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{outcome:?}");
    expect_line(outcome, parts);
    expect_line(outcome, &["host 127.0.0.", "before the agent answered"]);
}

#[test]
fn a_job_of_two_hosts_runs_without_ssh() {
    let (file, [first, second]) = two("runs", &[]);
    for script in ["join conform exchange:20 exit:0", "join attach fence exchange:20 exit:0"] {
        let outcome = run(on(6, script, first.port, &file));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    }
    let outcome = run(on(4, "join attach fence @3:raise:SEGV spin", first.port, &file));
    assert_eq!(outcome.status, 139, "{outcome:?}");
    expect_line(&outcome, &["node 3/4 (pid ", " on 127.0.0.3) was killed by signal 11 (SIGSEGV); ending the job"]);
    for standing in [&first, &second] {
        standing.expect_idle();
        assert_eq!(standing.log(), "");
    }
}

#[test]
fn input_and_much_output_go_through_it() {
    let (file, [first, _second]) = two("bytes", &[]);
    let rsh = format!("standing --listen {} --secret {}", first.port, file.display());
    let text = "0123456789abcde\n".repeat(100_000);
    let start = Start::launcher(&["-n", "2", "--host", "127.0.0.2,127.0.0.3", "sh", "-c", "cat | wc -c; seq 50000"]);
    let outcome = run(start.with_env("GASNET_SCI_RSH", &rsh).with_stdin(&text));
    let mut counts: Vec<u32> = outcome.out.lines().map(|line| line.trim().parse().unwrap()).collect();
    counts.sort_unstable();
    let mut expected: Vec<u32> = (1..=50_000).flat_map(|n| [n, n]).chain([0, 1_600_000]).collect();
    expected.sort_unstable();
    assert!(outcome.status == 0 && counts == expected, "{} lines, {}", counts.len(), outcome.err);
}

#[test]
fn a_tree_of_standing_agents_works_like_one_of_ssh() {
    let (file, [first, _second]) = two("tree", &[]);
    let outcome = run(on(4, "join exchange:5 exit:0", first.port, &file).with_env("GASNET_SCI_TREE", "1"));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

#[test]
fn whoever_has_another_secret_is_refused_with_a_line_on_both_sides() {
    let (_, [first, second]) = two("other", &[]);
    let other = secret(&scratch("standing-other-own"));
    let outcome = run(on(2, "join exit:0", first.port, &other));
    expect_refused(&outcome, &["127.0.0.", ": gasnet-sci: the standing agent at 127.0.0.", "it has another secret"]);
    let log = first.log() + &second.log();
    assert!(log.contains("refused 127.0.0.1: it does not know the secret"), "{log}");
    first.expect_idle();
}

#[test]
fn a_secret_that_others_may_read_is_none() {
    let (file, [first, _second]) = two("mode", &[]);
    for mode in [0o640, 0o604, 0o620] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let said = format!("agent.secret: others may read or write it (mode {mode:o})");
        let outcome = run(on(2, "join exit:0", first.port, &file));
        expect_refused(&outcome, &[&said]);
        let agent =
            Command::new(TOOL).args(["agent", "--listen", "127.0.0.2:0", "--secret"]).arg(&file).output().unwrap();
        assert!(!agent.status.success() && String::from_utf8(agent.stderr).unwrap().contains(&said));
    }
}

/// Another version of this library stands beside its own standing agent, and greets as every version does.
#[test]
fn an_agent_of_another_version_is_refused_with_both() {
    let directory = scratch("standing-old-version");
    let program = directory.join("gasnet-sci");
    fs::copy(TOOL, &program).unwrap();
    write_script(&directory.join("gasnetrun_sci"), &super::hosts_start::old_agent("exec cat"), 0o755);
    let file = secret(&directory);
    let old = Standing::new(&program, "old", "127.0.0.2:0", &["--secret", file.to_str().unwrap()]);
    let rsh = format!("standing --listen {} --secret {}", old.port, file.display());
    let outcome = run(super::hosts::on(2, &["--host", "127.0.0.2"], "join exit:0").with_env("GASNET_SCI_RSH", &rsh));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    let own = concat!("this launcher is ", env!("CARGO_PKG_VERSION"));
    expect_line(&outcome, &["host 127.0.0.2 has gasnet-sci 0.0.1 (channel 1, hand-off 3", own]);
    old.expect_idle();
}

#[test]
fn limits_of_the_service_hold_whatever_the_launcher_sets() {
    let conf = scratch("standing-conf").join("agent.conf");
    fs::write(&conf, "processes = 2\n").unwrap();
    let (file, [first, second]) = two("limit", &["--conf", conf.to_str().unwrap()]);
    // Also of a host that reaches another one for the launcher.
    for tree in ["64", "1"] {
        let outcome = run(on(6, "join exit:0", first.port, &file).with_env("GASNET_SCI_TREE", tree));
        assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{outcome:?}");
        expect_line(
            &outcome,
            &["host 127.0.0.", "too many processes: with this job there would be ", "the limit is 2", "agent.conf"],
        );
    }
    first.expect_idle();
    second.expect_idle();
    let text = format!("listen = 127.0.0.3:0\nsecret = {}\n", file.display());
    fs::write(&conf, text).unwrap();
    let mut named = Command::new(TOOL).args(["agent", "--conf"]).arg(&conf).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let heard = BufReader::new(named.stdout.take().unwrap()).read_line(&mut line);
    let _ = (named.kill(), named.wait());
    heard.unwrap();
    assert!(line.starts_with("gasnet-sci agent: listens at 127.0.0.3:"), "{line}");
}

/// The answer of a standing agent to these bytes, until it hangs up.
fn answer(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.2", port)).unwrap();
    let _ = stream.write_all(bytes); // it may have hung up
    let _ = stream.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard); // a reset is an end as well
    heard
}

#[test]
fn strangers_are_refused_and_start_nothing() {
    let (file, [first, _second]) = two("stranger", &[]);
    let port = first.port;
    for bytes in [&b"GET / HTTP/1.0\r\n\r\n"[..], b"", &[0; 4096], b"GSCISTA\x01", b"SSH-2.0-x\r\n"] {
        assert_eq!(answer(port, bytes), b"", "{bytes:?}");
    }
    let wrong = [&b"GSCISTA\x01"[..], &[7; 48]].concat();
    assert_eq!(answer(port, &wrong), b"GSCISTA\x01\x01");
    assert_eq!(answer(port, b"GSCISTA\x09"), b"GSCISTA\x01\x01", "who speaks another version hears this one");
    first.expect_idle();
    // Those that say nothing have 16 places of one address; all others are sent away at once.
    let silent: Vec<TcpStream> = (0..16).map(|_| TcpStream::connect(("127.0.0.2", port)).unwrap()).collect();
    assert_eq!(answer(port, b""), b"GSCISTA\x01\x02");
    drop(silent);
    // It goes on.
    let until = Instant::now() + Duration::from_secs(20);
    while answer(port, b"") != b"" {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(100));
    }
    let outcome = run(on(4, "join exchange:5 exit:0", port, &file));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    assert!(first.log().contains("it did not greet as a launcher does"), "{}", first.log());
}

/// All that a launcher's command said, once more on another connection.
#[test]
fn what_was_recorded_starts_nothing() {
    let (file, [first, _second]) = two("replay", &[]);
    let between = TcpListener::bind("127.0.0.4:0").unwrap();
    let port = between.local_addr().unwrap().port();
    let mut command = Command::new(TOOL)
        .args(["agent", "--listen", &port.to_string(), "--secret"])
        .arg(&file)
        .args(["--reach", "127.0.0.4"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut near, _) = between.accept().unwrap();
    let mut far = TcpStream::connect(("127.0.0.2", first.port)).unwrap();
    let mut recorded = vec![0; 8 + 48];
    near.read_exact(&mut recorded).unwrap();
    far.write_all(&recorded).unwrap();
    let mut welcome = [0; 8 + 1 + 48];
    far.read_exact(&mut welcome).unwrap();
    near.write_all(&welcome).unwrap();
    let mut ready = [0; 8 + 1 + 16];
    near.read_exact(&mut ready).unwrap();
    far.write_all(&ready).unwrap();
    // That one was the right one, and the agent greets.
    assert_eq!(far.read(&mut [0; 1]).unwrap(), 1);
    recorded.extend_from_slice(&ready);
    let heard = answer(first.port, &recorded);
    assert!(heard.starts_with(&welcome[..9]) && heard.ends_with(b"GSCISTA\x01\x01"), "{heard:?}");
    assert_eq!(heard.len(), 8 + 1 + 48 + 9, "no agent speaks");
    assert!(first.log().contains("it did not prove that it knows the secret"), "{}", first.log());
    let _ = command.kill();
    let _ = command.wait();
    drop((near, far));
    first.expect_idle();
}

#[test]
fn a_service_that_ends_ends_its_jobs_and_leaves_nothing() {
    for (name, signal) in [("ends", libc::SIGTERM), ("killed", libc::SIGKILL)] {
        let (file, [first, second]) = two(name, &[]);
        let start = on(4, "join attach daemon fence ready spin", first.port, &file);
        let (mut done, pid) = (false, second.child.id() as i32);
        let outcome = driver::run_watched(start, |out| {
            if !done && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
                done = true;
                assert!(gasnet_sci::os::sys::kill(pid, signal));
            }
        });
        assert_eq!(outcome.status, 1, "{outcome:?}");
        expect_line(&outcome, &["127.0.0.3: gasnet-sci: lost the standing agent at 127.0.0.3"]);
        expect_line(&outcome, &["the agent on host 127.0.0.3 has gone", "ending the job"]);
        first.expect_idle();
    }
}

#[test]
fn a_launcher_that_is_killed_leaves_nothing() {
    let (file, standing) = two("launcher", &[]);
    for script in ["join attach daemon fence ready spin", "join ignore:QUIT fence ready sleep"] {
        let outcome = run(on(4, script, standing[0].port, &file).with_signals(&[libc::SIGKILL]));
        assert_eq!(outcome.status, 137, "{outcome:?}");
        standing.iter().for_each(Standing::expect_idle);
    }
    let outcome = run(on(4, "join fence ready sleep_ms:300 exit:0", standing[0].port, &file).with_acts(&[
        Act::Signal(libc::SIGTSTP),
        Act::Pause(Duration::from_millis(500)),
        Act::Signal(libc::SIGCONT),
    ]));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

#[test]
fn its_jobs_are_listed_and_may_be_killed_by_number() {
    let runtime = scratch("standing-runtime");
    let (file, [first, _second]) = two("jobs", &[]);
    let start = on(4, "join attach fence ready spin", first.port, &file);
    let mut done = false;
    let outcome = driver::run_watched(start.with_env("XDG_RUNTIME_DIR", runtime.to_str().unwrap()), |out| {
        if !done && out.windows(6).filter(|word| *word == b"ready\n").count() == 4 {
            done = true;
            let number = tool(&runtime, &["jobs"]).1.lines().nth(1).unwrap().split(' ').next().unwrap().to_string();
            assert_eq!(tool(&runtime, &["kill", &number]), (true, String::new()));
        }
    });
    assert_eq!(outcome.status, 143, "{outcome:?}");
}

/// Another user has another secret, and cannot read this one.
#[test]
fn another_user_is_refused_with_a_line() {
    if gasnet_sci::os::sys::effective_user() != 0 {
        return; // who is not root is no other user
    }
    let directory = std::env::temp_dir().join(format!("gasnet-sci-standing-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    let program = directory.join("gasnet-sci");
    fs::copy(TOOL, &program).unwrap();
    let (file, [first, _second]) = two("user", &[]);
    let (own, copy) = (directory.join("own"), directory.join("copy"));
    fs::copy(&file, &copy).unwrap();
    let ask = |words: &[&std::ffi::OsStr]| {
        let mut command = Command::new(&program);
        command.current_dir("/").arg("agent").args(words).env_remove("LD_LIBRARY_PATH");
        let output = command.uid(65_534).gid(65_534).output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let port = first.port.to_string();
    let reach = |secret: &Path| {
        let words = ["--listen", &port, "--secret", secret.to_str().unwrap(), "--reach", "127.0.0.2"];
        ask(&words.map(|word| word.as_ref()))
    };
    let (made, text) = ask(&["--make-secret".as_ref(), "--secret".as_ref(), own.as_os_str()]);
    let answers = [reach(&own), reach(&copy)];
    fs::remove_dir_all(&directory).unwrap();
    assert!(made, "{text}");
    assert!(!answers[0].0 && answers[0].1.contains("it has another secret"), "{answers:?}");
    assert!(!answers[1].0 && answers[1].1.contains("Permission denied"), "{answers:?}");
    first.expect_idle();
}
