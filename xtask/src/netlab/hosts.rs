//! Hosts on this machine: each has namespaces of its own for network, processes, files, name and IPC. They are joined
//! by a pair of virtual Ethernet devices, by a bridge, or by the relay.

use super::hostd::{HOSTS_FILE, boot_id_file};
use super::relay::Relay;
use super::site::Directory;
use super::spec::{MOST, Spec, host_name};
use super::switch::mac;
use super::tap::{INTERFACE, Tap};
use crate::leftovers::{has_our_name, is_registry};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// How the hosts are joined.
pub enum Network {
    /// Not at all.
    None,
    /// By the kernel alone: a pair of devices, or a bridge for more than two hosts.
    Plain,
    /// By the relay, which has these faults and this seed.
    Relay(Vec<Spec>, u64),
}

/// A host, or the switch of plain networks. It ends when this value is dropped.
pub struct Host {
    pub name: String,
    /// The number of the process that made it, as processes outside know it; and that of its first process, which waits for that one.
    pub pid: u32,
    first: u32,
    unshare: Child,
}

/// All hosts of a run. They end when this value is dropped.
pub struct Hosts {
    pub hosts: Vec<Host>,
    /// Ends before the hosts.
    pub relay: Option<Relay>,
    _switch: Option<Host>,
    pub directory: Directory,
    own_tmp: bool,
}

/// The address of a host in the network of all hosts.
fn address(host: usize) -> String {
    format!("10.77.0.{}", host + 1)
}

fn mac_text(host: usize) -> String {
    mac(host).map(|byte| format!("{byte:02x}")).join(":")
}

/// Whether a process is one that only its parent has not noticed yet.
fn has_ended(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which is in parentheses.
    status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

/// Why there can be no hosts here, as opposed to a failure.
#[derive(Debug)]
pub struct NotHere(pub String);

impl std::fmt::Display for NotHere {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "namespaces are not permitted here: {}", self.0)
    }
}

impl std::error::Error for NotHere {}

impl Host {
    fn start(name: &str, directory: &Path, own_tmp: bool) -> Result<Host> {
        let mut command = Command::new("unshare");
        command.args(["--net", "--uts", "--mount", "--pid", "--ipc", "--fork", "--propagation", "private", "--"]);
        command
            .args(["sh", "-c", "\"$@\"; exit", "sh"])
            .arg(env::current_exe()?)
            .args(["netlab", "hostd", name])
            .arg(directory);
        if own_tmp {
            command.arg("--own-tmp");
        }
        // It is none of the processes that a test looks for, and a signal from the terminal is not for it.
        command.env_remove("GASNET_CI_MARK").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut unshare = command.spawn().context("cannot run unshare, of util-linux")?;
        let mut line = String::new();
        let mut from = BufReader::new(unshare.stdout.take().context("a pipe was asked for")?);
        from.read_line(&mut line)?;
        let numbers = line.trim().strip_prefix("ready ").and_then(|numbers| numbers.split_once(' '));
        let numbers = numbers.and_then(|(pid, first)| Some((pid.parse().ok()?, first.parse().ok()?)));
        let mut stderr = unshare.stderr.take().context("a pipe was asked for")?;
        let Some((pid, first)) = numbers else {
            let mut why = String::new();
            stderr.read_to_string(&mut why)?;
            unshare.wait()?;
            bail!(NotHere(why.trim().to_owned()));
        };
        thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
        Ok(Host { name: name.into(), pid, first, unshare })
    }

    /// A command that runs in this host, with the files that this process has open. It is `nsenter` until it runs.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--uts", "--mount", "--pid", "--ipc", "--target", &self.pid.to_string()]);
        command.arg(format!("--wd={}", env::current_dir()?.display())).arg("--").arg(program);
        Ok(command)
    }

    /// Runs lines for `ip -batch` in the host's network.
    pub fn ip(&self, lines: &str) -> Result<()> {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.pid.to_string(), "--", "ip", "-batch", "-"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot run nsenter")?;
        child.stdin.take().context("a pipe was asked for")?.write_all(lines.as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "cannot set up the network of {}: {}",
            self.name,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    }

    /// The processes of the host beside those that make it, by the numbers that processes outside know.
    pub fn processes(&self) -> Vec<u32> {
        let space = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let Some(own) = space(self.pid) else { return Vec::new() };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let others = numbers.filter(|pid| ![self.pid, self.first].contains(pid));
        others.filter(|pid| space(*pid).as_ref() == Some(&own) && !has_ended(*pid)).collect()
    }

    /// The path outside of a path in the host.
    pub fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What made it sees the end of its input and ends, and with it all others.
        self.unshare.stdin.take();
        let _ = self.unshare.wait(); // fails only if there is nothing to wait for
    }
}

impl Hosts {
    /// Makes `count` hosts that reach each other at `address`, and by their names.
    pub fn start(target: &Path, count: usize, network: &Network) -> Result<Hosts> {
        ensure!((1..=MOST).contains(&count), "{count} hosts: 1 to {MOST} are possible");
        let directory = Directory::make(target)?;
        let path = directory.path();
        let mut table = "127.0.0.1 localhost\n".to_owned();
        for number in 0..count {
            let name = host_name(number);
            writeln!(table, "{} {name}", address(number))?;
            fs::write(path.join(boot_id_file(&name)), fs::read("/proc/sys/kernel/random/uuid")?)?;
        }
        fs::write(path.join(boot_id_file("switch")), "")?;
        fs::write(path.join(HOSTS_FILE), table)?;
        let rsh = path.join("rsh");
        fs::write(&rsh, format!("#!/bin/sh\nexec '{}' netlab rsh \"$@\"\n", env::current_exe()?.display()))?;
        fs::set_permissions(&rsh, fs::Permissions::from_mode(0o755))?;
        // The programs lie in the target directory. A /tmp of the hosts' own would hide them there.
        let own_tmp = !target.starts_with("/tmp") && !env::current_dir()?.starts_with("/tmp");
        let hosts =
            (0..count).map(|number| Host::start(&host_name(number), path, own_tmp)).collect::<Result<Vec<_>>>()?;
        let mut hosts = Hosts { hosts, relay: None, _switch: None, directory, own_tmp };
        hosts.join(network)?;
        Ok(hosts)
    }

    fn join(&mut self, network: &Network) -> Result<()> {
        let hosts = &self.hosts;
        match network {
            Network::None => return Ok(()),
            Network::Plain if hosts.len() == 1 => return Ok(()),
            Network::Plain if hosts.len() == 2 => hosts[0]
                .ip(&format!("link add {INTERFACE} type veth peer name {INTERFACE} netns {}\n", hosts[1].pid))?,
            Network::Plain => {
                let switch = Host::start("switch", self.directory.path(), false)?;
                let mut lines = "link add bridge0 type bridge\nlink set bridge0 up\n".to_owned();
                for host in hosts {
                    let (name, pid) = (format!("to-{}", host.name), host.pid);
                    writeln!(lines, "link add {name} type veth peer name {INTERFACE} netns {pid}")?;
                    writeln!(lines, "link set {name} master bridge0 up")?;
                }
                switch.ip(&lines)?;
                self._switch = Some(switch);
            }
            Network::Relay(specs, seed) => {
                let taps = hosts.iter().map(|host| Tap::make(host.pid)).collect::<Result<Vec<_>>>();
                let taps = taps.map_err(|error| NotHere(format!("{error:#}")))?;
                self.relay = Some(Relay::start(taps, specs, *seed)?);
            }
        }
        for (number, host) in hosts.iter().enumerate() {
            let mut lines = format!(
                "link set {INTERFACE} address {} up\naddress add {}/16 dev {INTERFACE}\n",
                mac_text(number),
                address(number)
            );
            // No host asks for addresses: a question or answer that the relay corrupts would cut the link for long.
            for other in (0..hosts.len()).filter(|other| *other != number) {
                let (ip, mac) = (address(other), mac_text(other));
                writeln!(lines, "neighbor add {ip} lladdr {mac} dev {INTERFACE} nud permanent")?;
            }
            host.ip(&lines)?;
        }
        Ok(())
    }

    /// The command that starts others on a host, as GASNET_SCI_RSH wants it.
    pub fn rsh(&self) -> PathBuf {
        self.directory.path().join("rsh")
    }

    pub fn names(&self) -> Vec<String> {
        self.hosts.iter().map(|host| host.name.clone()).collect()
    }

    /// A command that runs in the first host, with what jobs need to find the others.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
        let mut command = self.hosts[0].command(program)?;
        command.env("GASNET_SCI_RSH", self.rsh()).env("NETLAB_HOSTS", self.names().join(" "));
        if self.own_tmp && env::var("TMPDIR").is_ok_and(|place| place.starts_with("/tmp")) {
            command.env_remove("TMPDIR"); // it is not there in the host
        }
        Ok(command)
    }

    /// What commands have left in the hosts after `patience`: processes, and files with our names.
    pub fn left(&self, patience: Duration) -> Vec<String> {
        let until = Instant::now() + patience;
        while self.hosts.iter().any(|host| !host.processes().is_empty()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        self.hosts.iter().flat_map(|host| self.left_on(host)).collect()
    }

    /// Kills the processes of all hosts and removes files with our names.
    pub fn clear(&self) {
        for host in &self.hosts {
            for pid in host.processes() {
                // One that has ended meanwhile makes the call fail.
                let _ = Pid::from_raw(pid as i32).map(|pid| kill_process(pid, Signal::KILL));
            }
            for path in self.files(host) {
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)); // is told again next time
            }
        }
    }

    /// Files with our names where programs put such, as seen from outside.
    fn files(&self, host: &Host) -> Vec<PathBuf> {
        let places: &[&str] = if self.own_tmp { &["/tmp", "/dev/shm"] } else { &["/dev/shm"] };
        let entries = places.iter().filter_map(|place| fs::read_dir(host.outside(place)).ok()).flatten().flatten();
        // A user's directory of jobs stays, but nothing in it.
        let (registries, mut found): (Vec<PathBuf>, _) =
            entries.map(|entry| entry.path()).filter(|path| has_our_name(path)).partition(|path| is_registry(path));
        let inside = registries.iter().filter_map(|path| fs::read_dir(path).ok()).flatten().flatten();
        found.extend(inside.map(|entry| entry.path()));
        found
    }

    fn left_on(&self, host: &Host) -> Vec<String> {
        let command_line = |pid: u32| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?.replace('\0', " ");
            Some(format!("{}: process {pid}: {}", host.name, words.trim_end()))
        };
        let mut found: Vec<String> = host.processes().into_iter().filter_map(command_line).collect();
        let root = host.outside("");
        let inside = |path: PathBuf| format!("{}: /{}", host.name, path.strip_prefix(&root).unwrap_or(&path).display());
        found.extend(self.files(host).into_iter().map(inside));
        found
    }
}
