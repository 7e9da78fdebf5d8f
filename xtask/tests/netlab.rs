//! `xtask netlab` from outside: hosts are apart, reach each other, and leave nothing; the relay does what it is told.
//! Where namespaces are not permitted, the tests say so and pass.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The status of `netlab` where there can be no hosts.
const NOT_HERE: i32 = 77;

fn netlab(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("netlab").args(words).stdin(Stdio::null());
    command
}

/// Runs a shell script on the first of some hosts. `None` if there can be no hosts here.
fn on_hosts(options: &[&str], script: &str) -> Option<Output> {
    let output = netlab(&["hosts"]).args(options).args(["--", "sh", "-c", script]).output().unwrap();
    if output.status.code() == Some(NOT_HERE) {
        println!("not tried: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(output)
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends so many bytes from hA to hB by TCP and prints the checksums of both ends.
const TRANSFER: &str = r#"
    data=$(mktemp)
    head -c 3000000 /dev/urandom >"$data"
    $GASNET_SCI_RSH hB cksum <"$data"
    cksum <"$data"
    rm "$data"
"#;

fn transferred(output: &Output) {
    let text = out(output);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1] && lines[0].ends_with(" 3000000"), "{output:?}");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn hosts_have_names_processes_and_boot_ids_of_their_own() {
    let script = "hostname; cat /proc/sys/kernel/random/boot_id; echo $$; $GASNET_SCI_RSH hC 'hostname; \
                  cat /proc/sys/kernel/random/boot_id; echo $$'; echo $NETLAB_HOSTS";
    let Some(output) = on_hosts(&["3"], script) else { return };
    let text = out(&output);
    let lines: Vec<&str> = text.lines().collect();
    let [a, id_of_a, pid_of_a, c, id_of_c, pid_of_c, names] = lines[..] else { panic!("{output:?}") };
    assert_eq!([a, c, names], ["hA", "hC", "hA hB hC"]);
    assert_ne!(id_of_a, id_of_c);
    assert!([pid_of_a, pid_of_c].iter().all(|pid| pid.parse::<u32>().unwrap() < 100), "{output:?}");
}

#[test]
fn the_status_of_the_command_is_that_of_all() {
    for (options, script, status) in [
        (&["1"][..], "exit 7", 7),
        (&["2"], "$GASNET_SCI_RSH hB exit 5", 5),
        (&["2"], "$GASNET_SCI_RSH hB 'kill -9 $$'", 137),
        (&["2"], "$GASNET_SCI_RSH hX true", 255),
    ] {
        let Some(output) = on_hosts(options, script) else { return };
        assert_eq!(output.status.code(), Some(status), "{script}: {output:?}");
    }
}

#[test]
fn every_network_carries_bytes() {
    for options in [&["2"][..], &["3"], &["2", "--relay"], &["3", "--relay"]] {
        let Some(output) = on_hosts(options, TRANSFER) else { return };
        transferred(&output);
    }
}

#[test]
fn tcp_survives_a_bad_relay_and_the_statistics_say_how_bad() {
    let faults = "delay=1ms,jitter=1ms,loss=1%,dup=1%,reorder=1%,corrupt=0.5%";
    let options = ["2", "--link", faults, "--seed", "5", "--statistics"];
    let Some(output) = on_hosts(&options, TRANSFER) else { return };
    transferred(&output);
    let text = err(&output);
    let line = text.lines().find(|line| line.contains("hA>hB:")).unwrap_or_else(|| panic!("{text}"));
    for word in ["lost", "duplicated", "reordered", "corrupted"] {
        assert!(!line.contains(&format!(" 0 {word}")), "{line}");
    }
    assert!(line.contains(" 0 cut") && text.contains("seed is 5"), "{text}");
}

#[test]
fn a_link_that_is_cut_one_way_passes_nothing() {
    let options = ["2", "--link", "hA>hB: cut=1000s@0s", "--statistics"];
    let Some(output) = on_hosts(&options, "timeout 5 $GASNET_SCI_RSH hB true") else { return };
    assert_eq!(output.status.code(), Some(124), "{output:?}");
    let text = err(&output);
    assert!(text.contains("hA>hB: ") && !text.contains("hB>hA"), "{text}");
    let line = text.lines().find(|line| line.contains("hA>hB")).unwrap();
    assert!(line.contains(" 0 passed") && !line.contains(" 0 cut"), "{line}");
}

#[test]
fn what_a_command_leaves_on_any_host_is_told() {
    let script = "$GASNET_SCI_RSH hB 'sleep 1000 >/dev/null 2>&1 & echo x >/dev/shm/gasnet-left'";
    let Some(output) = on_hosts(&["2"], script) else { return };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = err(&output);
    assert!(text.contains("left behind on hB: process") && text.contains("sleep 1000"), "{text}");
    assert!(text.contains("hB: /dev/shm/gasnet-left"), "{text}");
}

#[test]
fn a_command_whose_rsh_is_killed_loses_its_input() {
    // In the shell of hB `cat` ends when its input does; then the second file appears.
    let script = r#"
        (sleep 1000 | $GASNET_SCI_RSH hB 'echo >/tmp/netlab-begun; cat; echo >/tmp/netlab-ended') &
        for i in $(seq 300); do $GASNET_SCI_RSH hB 'test -e /tmp/netlab-begun' && break; sleep 0.1; done
        kill -9 $(grep -lz '^rsh$' /proc/[0-9]*/cmdline | cut -d/ -f3)
        for i in $(seq 300); do $GASNET_SCI_RSH hB 'test -e /tmp/netlab-ended' && break; sleep 0.1; done
        $GASNET_SCI_RSH hB 'rm /tmp/netlab-begun /tmp/netlab-ended' && echo right
        kill $(grep -lz '^1000$' /proc/[0-9]*/cmdline | cut -d/ -f3)
    "#;
    let Some(output) = on_hosts(&["2"], script) else { return };
    assert_eq!(out(&output), "right\n", "{output:?}");
}

#[test]
fn hosts_end_with_a_netlab_that_is_killed() {
    for signal in ["KILL", "TERM", "INT"] {
        let mut child = netlab(&["hosts", "2", "--relay", "--", "sh", "-c", "echo up; exec sleep 1000"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        if lines.next().is_none() {
            assert_eq!(child.wait().unwrap().code(), Some(NOT_HERE));
            return;
        }
        let pid = child.id();
        let children = || {
            let entries = fs::read_dir("/proc").unwrap().flatten();
            let marks = format!("netlab/{pid}");
            let ours = |path: std::path::PathBuf| {
                fs::read_to_string(path.join("cmdline"))
                    .is_ok_and(|line| line.contains("hostd") && line.contains(&marks))
            };
            entries.filter(|entry| ours(entry.path())).count()
        };
        assert_eq!(children(), 6, "two hosts, each with its unshare and its first process");
        assert!(Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap().success());
        child.wait().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while children() > 0 {
            assert!(Instant::now() < until, "hosts live on after SIG{signal}");
            thread::sleep(Duration::from_millis(10));
        }
        // The command is gone, too: it held the pipe.
        assert!(lines.next().is_none());
    }
}
