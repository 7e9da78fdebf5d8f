//! Two hosts whose addresses are as those of real hosts now and then are: whether their nodes meet, and what is said if they cannot.
//! The launcher runs outside of the hosts and enters them by itself, so no address is needed for that.

use super::hosts::{Host, Hosts, Network};
use super::job;
use super::remote::code_of;
use crate::repo::Repo;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// Verifies every byte that comes, in its section V.
const PROGRAM: &str = "testam";
const ARGUMENTS: [&str; 3] = ["20", "65536", "V"];

struct Case {
    name: &'static str,
    /// Lines for `ip -batch` on each host, before and behind the making of the pair of devices that joins them.
    before: [&'static str; 2],
    after: [&'static str; 2],
    /// How the hosts are called, and their slots.
    list: &'static str,
    /// The job ends with a status that is not 0, and one line has all these words. None: the program is right, and nothing is printed
    /// beside it.
    says: &'static [&'static str],
}

/// As docker makes it, and named so that it comes first.
const DOCKER: &str = "link add docker0 type veth peer name docker1\nlink set docker0 addrgenmode none up\n\
     link set docker1 addrgenmode none up\naddress add 172.17.0.1/16 dev docker0\n";
const LINK: [&str; 2] = [
    "link set eth0 addrgenmode none up\naddress add fe80::1/64 dev eth0 nodad\n",
    "link set eth0 addrgenmode none up\naddress add fe80::2/64 dev eth0 nodad\n",
];
const FOUR: [&str; 2] =
    ["link set eth0 up\naddress add 10.77.0.1/16 dev eth0\n", "link set eth0 up\naddress add 10.77.0.2/16 dev eth0\n"];
const SIX: [&str; 2] = [
    "link set eth0 up\naddress add fd77::1/64 dev eth0 nodad\n",
    "link set eth0 up\naddress add fd77::2/64 dev eth0 nodad\n",
];
/// The other host's frames go to a card that is not there: what is sent is dropped.
const DROPS: &str = "link set eth0 up\naddress add 10.77.0.1/16 dev eth0\n\
     neighbor replace 10.77.0.2 lladdr 02:4e:4c:00:ff:ff dev eth0 nud permanent\n";
const DROPS_BOTH: [&str; 2] = [
    "link set eth0 up\naddress add 10.77.0.1/16 dev eth0\naddress add fd77::1/64 dev eth0 nodad\n\
     neighbor replace 10.77.0.2 lladdr 02:4e:4c:00:ff:ff dev eth0 nud permanent\n",
    "link set eth0 up\naddress add 10.77.0.2/16 dev eth0\naddress add fd77::2/64 dev eth0 nodad\n",
];
/// What most cases have.
const MOST: Case = Case { name: "", before: ["", ""], after: ["", ""], list: "hA:1,hB:1", says: &[] };

const CASES: [Case; 8] = [
    Case { name: "IPv6 alone", after: SIX, ..MOST },
    Case {
        name: "link-local addresses alone, and a list with brackets",
        after: LINK,
        list: "[fe80::1%eth0]:1,[fe80::2%eth0]:1",
        ..MOST
    },
    Case { name: "both have docker0 with the same address", before: [DOCKER, DOCKER], after: FOUR, ..MOST },
    Case { name: "IPv4 is dropped, IPv6 is not", after: DROPS_BOTH, ..MOST },
    Case {
        name: "one has the loopback alone",
        after: [FOUR[0], ""],
        says: &["node 1/2", "no interface that is up but the loopback (127.0.0.1, ::1)", "GASNET_SCI_IFACE"],
        ..MOST
    },
    Case {
        name: "the only address is that of both",
        before: [DOCKER, DOCKER],
        says: &["node 0/2", "other hosts have the same addresses", "172.17.0.1"],
        ..MOST
    },
    Case {
        name: "no family in common",
        after: ["link set eth0 addrgenmode none up\naddress add 10.77.0.1/16 dev eth0\n", SIX[1]],
        says: &["node 0/2", "only IPv4 addresses (10.77.0.1)", "node 1", "IPv6", "fd77::2"],
        ..MOST
    },
    Case {
        name: "what is sent is dropped",
        after: [DROPS, FOUR[1]],
        says: &[
            "lost the connection to node ", // both lose each other, and one line says so for both
            ": no answer for 2 s (GASNET_SCI_START_TIMEOUT) from 10.77.0.",
            "GASNET_SCI_PORTS",
            "GASNET_SCI_IFACE",
        ],
        ..MOST
    },
];

pub fn run(repo: &Repo) -> Result<bool> {
    if !Path::new("/proc/sys/net/ipv6").exists() {
        println!("meet: not tried: this system has no IPv6");
        println!("meet: 0 passed, 0 failed");
        return Ok(true);
    }
    repo.make_stage()?;
    let program = job::build(repo, "seq", &[PROGRAM.into()])?.join(PROGRAM).display().to_string();
    let mut failed = 0;
    for case in &CASES {
        let start = Instant::now();
        let problem = case.play(repo, &program)?;
        let what = problem.as_ref().map_or("as expected".into(), |problem| format!("FAILED: {problem}"));
        println!("meet: {}: {what} ({} ms)", case.name, start.elapsed().as_millis());
        failed += usize::from(problem.is_some());
    }
    println!("meet: {} passed, {failed} failed", CASES.len() - failed);
    Ok(failed == 0)
}

impl Case {
    /// `Some`: what was not as expected.
    fn play(&self, repo: &Repo, program: &str) -> Result<Option<String>> {
        let hosts = Hosts::start(&repo.target, 2, &Network::None)?;
        let [first, second] = &hosts.hosts[..] else { unreachable!("two hosts") };
        for (host, lines) in hosts.hosts.iter().zip(self.before) {
            allow_ipv6(host)?;
            host.ip(lines)?;
        }
        first.ip(&format!("link add eth0 type veth peer name eth0 netns {}\n", second.pid))?;
        for (host, lines) in hosts.hosts.iter().zip(self.after) {
            host.ip(lines)?;
        }
        let mut command = repo.command(&repo.stage.join("bin/gasnetrun_sci").display().to_string());
        command.args(["--timeout", "60", "-n", "2", "-N", "2", "--host", self.list]);
        if !self.says.is_empty() {
            command.args(["env", "GASNET_SCI_START_TIMEOUT=2"]); // for the nodes; the agents have their time
        }
        command.arg(program).args(ARGUMENTS).env("GASNET_SCI_RSH", enter(&hosts, self.list)?).stdin(Stdio::null());
        let output = command.output().context("cannot run the launcher")?;
        let (status, said) = (code_of(output.status), String::from_utf8_lossy(&output.stderr));
        let is_right = if self.says.is_empty() {
            status == 0 && said.trim().is_empty()
        } else {
            let lines = said.lines().filter(|line| self.says.iter().all(|word| line.contains(word)));
            status != 0 && lines.count() == 1
        };
        let left = hosts.left(job::PATIENCE);
        Ok(match (is_right, left.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("left behind: {}", left.join(", "))),
            (false, _) => Some(format!("status {status}\n{said}{}", String::from_utf8_lossy(&output.stdout))),
        })
    }
}

/// Lets a host have IPv6, with addresses that count at once.
fn allow_ipv6(host: &Host) -> Result<()> {
    let script = "cd /proc/sys/net/ipv6/conf && for i in all default lo; do echo 0 >$i/accept_dad; echo 0 >$i/disable_ipv6; done";
    let status = host.command("sh")?.args(["-c", script]).status()?;
    ensure!(status.success(), "this system has no IPv6");
    Ok(())
}

/// The command that starts agents: it enters the host that a name of `list` stands for.
fn enter(hosts: &Hosts, list: &str) -> Result<String> {
    let names =
        list.split(',').filter_map(|entry| entry.rsplit_once(':')).map(|(name, _)| name.trim_matches(['[', ']']));
    let cases = names.zip(&hosts.hosts).map(|(name, host)| format!("'{name}') pid={} ;;\n", host.pid));
    let path = hosts.directory.path().join("enter");
    let text = format!(
        "#!/bin/sh\ncase $1 in\n{}*) exit 255 ;;\nesac\nshift\n\
         exec nsenter --net --uts --mount --pid --ipc --target $pid -- sh -c \"$*\"\n",
        cases.collect::<String>()
    );
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path.display().to_string())
}
