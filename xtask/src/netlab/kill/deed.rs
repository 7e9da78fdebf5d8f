//! What is done to a job, and to whom.

use super::victim::Victim;
use crate::netlab::hosts::{Host, Hosts};
use crate::netlab::job::Bench;
use anyhow::{Context, Result};
use fastrand::Rng;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// What a process of a job is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    Node,
    Agent,
    Rsh,
    Launcher,
    Other,
}

/// Tells by its program and its arguments what a process is.
fn role(program: &str, arguments: &[&str]) -> Role {
    match program {
        "testvictim" => Role::Node,
        "gasnetrun_sci" if arguments.contains(&"--agent") => Role::Agent,
        "gasnetrun_sci" => Role::Launcher,
        _ if arguments.get(1..3) == Some(&["netlab", "rsh"]) => Role::Rsh,
        _ => Role::Other,
    }
}

fn role_of(pid: Pid) -> Role {
    let directory = format!("/proc/{}", pid.as_raw_nonzero());
    let program = fs::read_link(format!("{directory}/exe")).unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let line = fs::read_to_string(format!("{directory}/cmdline")).unwrap_or_default();
    role(&program, &line.split('\0').collect::<Vec<_>>())
}

/// What was done.
pub enum Deed {
    Killed(Pid, Role),
    /// There was no such process.
    Nobody,
    Cut,
    CutPair,
    /// These processes of the second host, and what made it.
    Stopped(Vec<Pid>),
}

/// The host that links are cut of, and that is stopped.
fn second(hosts: &Hosts) -> Result<&Host> {
    hosts.hosts.get(1).context("the layout has one host")
}

impl Deed {
    pub fn commit(bench: &Bench, victim: Victim, random: &mut Rng) -> Result<Deed> {
        let hosts = bench.hosts.as_ref();
        let mut of_role = |wanted: Role| -> Result<Deed> {
            let mut found: Vec<Pid> =
                bench.leftovers.marked.processes().into_iter().filter(|pid| role_of(*pid) == wanted).collect();
            found.sort_by_key(|pid| pid.as_raw_nonzero());
            let Some(chosen) = random.choice(&found).copied() else { return Ok(Deed::Nobody) };
            let _ = kill_process(chosen, Signal::KILL); // fails if it has just ended, as nodes do that exit
            Ok(Deed::Killed(chosen, wanted))
        };
        match victim {
            Victim::Node => of_role(Role::Node),
            Victim::Agent => of_role(Role::Agent),
            Victim::Rsh => of_role(Role::Rsh),
            Victim::Launcher => of_role(Role::Launcher),
            Victim::Link => {
                set_dead(hosts.context("there are hosts")?, true);
                Ok(Deed::Cut)
            }
            Victim::Pair => {
                let relay = hosts.context("there are hosts")?.relay.as_ref().context("it was asked for")?;
                relay.set_dead(1, 2, true);
                Ok(Deed::CutPair)
            }
            Victim::Host => {
                let host = second(hosts.context("there are hosts")?)?;
                let all = host.processes().into_iter().chain([host.pid]);
                let all: Vec<Pid> = all.filter_map(|pid| Pid::from_raw(pid as i32)).collect();
                signal(&all, Signal::STOP);
                Ok(Deed::Stopped(all))
            }
        }
    }

    /// Whether processes of the job are left beside those that were stopped.
    pub fn others_alive(&self, bench: &Bench) -> bool {
        match (self, &bench.hosts) {
            (Deed::Stopped(stopped), Some(hosts)) => {
                let all = hosts.hosts.iter().flat_map(Host::processes);
                all.filter_map(|pid| Pid::from_raw(pid as i32)).any(|pid| !stopped.contains(&pid))
            }
            _ => bench.alive() > 0,
        }
    }

    /// Lets a host go on, heals links.
    pub fn undo(&self, bench: &Bench) {
        match self {
            Deed::Killed(..) | Deed::Nobody => {}
            Deed::Cut | Deed::CutPair => bench.hosts.iter().for_each(|hosts| set_dead(hosts, false)),
            Deed::Stopped(all) => signal(all, Signal::CONT),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Deed::Killed(pid, role) => format!("SIGKILL for {role:?} {}", pid.as_raw_nonzero()),
            Deed::Nobody => "nobody to kill".into(),
            Deed::Cut => "the links of hB cut".into(),
            Deed::CutPair => "the links between hB and hC cut".into(),
            Deed::Stopped(all) => format!("{} processes of hB stopped", all.len()),
        }
    }
}

fn signal(all: &[Pid], signal: Signal) {
    for pid in all {
        let _ = kill_process(*pid, signal); // fails if it has ended
    }
}

/// Cuts or heals all links of the second host.
fn set_dead(hosts: &Hosts, dead: bool) {
    for other in (0..hosts.hosts.len()).filter(|other| *other != 1) {
        hosts.relay.iter().for_each(|relay| relay.set_dead(1, other, dead));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_told_by_the_command_line() {
        let launcher = "gasnetrun_sci";
        assert_eq!(role("testvictim", &["x/testvictim", "flood", ""]), Role::Node);
        assert_eq!(role(launcher, &["x/gasnetrun_sci", "--agent", ""]), Role::Agent);
        assert_eq!(role(launcher, &["x/gasnetrun_sci", "-n", "4", "x/testvictim", ""]), Role::Launcher);
        assert_eq!(role("xtask", &["x/xtask", "netlab", "rsh", "hB", "x --agent", ""]), Role::Rsh);
        assert_eq!(role("xtask", &["x/xtask", "netlab", "hostd", "hB", ""]), Role::Other);
    }
}
