//! Hosts and faulty networks on one machine. Each host is a set of namespaces; the relay between them delays, loses,
//! reorders, duplicates, corrupts and cuts, as a seed says, because not every kernel can.
//!
//! - `hosts`: runs a command on the first of some hosts.
//! - `raw`: what plain TCP does between two hosts; what ours is compared with.
//! - `kill`: kills processes and links in each phase of a job.
//! - `meet`: nodes of hosts with unusual addresses.
//! - `many`: many nodes on a few hosts.
//! - `soak`: verifying programs over a bad network.

mod fault;
mod hostd;
mod hosts;
mod job;
mod kill;
mod many;
mod meet;
mod options;
mod raw;
mod reaper;
mod relay;
mod remote;
mod site;
mod soak;
mod spec;
mod switch;
mod tap;

use crate::repo::Repo;
use anyhow::{Context, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use hosts::{Hosts, Network, NotHere};
use job::{PATIENCE, code_of};
use options::{flag, link, seed, trailing};
use std::path::Path;
use std::process;

/// The status that means: not possible here.
const NOT_HERE: i32 = 77;

pub fn command() -> Command {
    Command::new("netlab")
        .about("hosts and faulty networks on this machine; status 77 where namespaces are not permitted")
        .subcommand_required(true)
        .subcommand(
            Command::new("hosts")
                .about("runs a command on the first of some hosts, with GASNET_SCI_RSH for the others (hA, hB, ...)")
                .arg(Arg::new("count").value_name("N").required(true).value_parser(value_parser!(usize)))
                .arg(link())
                .arg(seed())
                .arg(flag("relay", "joins them by the relay even if it has no faults"))
                .arg(flag("statistics", "says at the end what became of the frames"))
                .arg(trailing("words").value_name("COMMAND")),
        )
        .subcommand(
            Command::new("raw")
                .about("plain TCP between two hosts: round trips of 8 bytes, streams; by the kernel and by the relay")
                .arg(link())
                .arg(seed()),
        )
        .subcommand(kill::command())
        .subcommand(many::command())
        .subcommand(meet::command())
        .subcommand(soak::command())
        .subcommand(
            Command::new("hostd")
                .hide(true)
                .arg(Arg::new("name").required(true))
                .arg(Arg::new("directory").required(true))
                .arg(flag("own-tmp", "gives the host a /tmp of its own")),
        )
        .subcommand(Command::new("rsh").hide(true).disable_help_flag(true).arg(trailing("words")))
        .subcommand(Command::new("raw-server").hide(true))
        .subcommand(Command::new("raw-client").hide(true).arg(Arg::new("name").required(true)))
}

pub fn run(repo: &Repo, matches: &ArgMatches) -> Result<bool> {
    let result = dispatch(repo, matches);
    if let Some(reason) = result.as_ref().err().and_then(|error| error.downcast_ref::<NotHere>()) {
        eprintln!("netlab: {reason}");
        process::exit(NOT_HERE);
    }
    result
}

fn dispatch(repo: &Repo, matches: &ArgMatches) -> Result<bool> {
    let (name, matches) = matches.subcommand().context("clap demands a subcommand")?;
    match name {
        "hosts" => {
            repo.set_up("ip")?;
            let code = run_command(repo, matches)?;
            // All values are dropped: the hosts have ended.
            process::exit(code)
        }
        "raw" => {
            repo.set_up("ip")?;
            raw::run(repo, matches)
        }
        "kill" => {
            repo.set_up("gcc ip")?;
            kill::run(repo, matches)
        }
        "meet" => {
            repo.set_up("gcc ip")?;
            meet::run(repo, matches)
        }
        "many" => {
            repo.set_up("gcc g++ ip")?;
            many::run(repo, matches)
        }
        "soak" => {
            repo.set_up("gcc g++ ip")?;
            soak::run(repo, matches)
        }
        "hostd" => {
            let directory = matches.get_one::<String>("directory").context("clap demands it")?;
            hostd::run(&options::name(matches)?, Path::new(directory), matches.get_flag("own-tmp")).map(|()| true)
        }
        "rsh" => process::exit(remote::rsh(&options::words(matches))?),
        "raw-server" => raw::serve().map(|()| true),
        "raw-client" => raw::measure(&options::name(matches)?).map(|()| true),
        _ => unreachable!("clap demands a subcommand that it knows"),
    }
}

/// Runs a command on the first of some hosts. Returns its status, or 1 if it left something behind.
fn run_command(repo: &Repo, matches: &ArgMatches) -> Result<i32> {
    let network = options::network(matches)?;
    let count = *matches.get_one::<usize>("count").context("clap demands it")?;
    let hosts = Hosts::start(&repo.target, count, &network)?;
    crate::leftovers::clear_on_signals(vec![hosts.directory.path().into()], || {})?;
    if let Network::Relay(specs, seed) = &network
        && !specs.is_empty()
    {
        eprintln!("netlab: the relay's seed is {seed}");
    }
    let words = options::words(matches);
    let mut command = hosts.command(&words[0])?;
    let status = command.args(&words[1..]).status().context("cannot run nsenter")?;
    let left = hosts.left(PATIENCE);
    left.iter().for_each(|line| eprintln!("netlab: left behind on {line}"));
    if matches.get_flag("statistics") {
        hosts.relay.iter().flat_map(|relay| relay.report()).for_each(|line| eprintln!("netlab: {line}"));
    }
    let code = code_of(status);
    Ok(if code == 0 && !left.is_empty() { 1 } else { code })
}
