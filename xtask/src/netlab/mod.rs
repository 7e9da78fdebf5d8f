//! Hosts and faulty networks on one machine. Each host is a set of namespaces; the relay between them delays, loses,
//! reorders, duplicates, corrupts and cuts, as a seed says, because not every kernel can.
//!
//! - `dark`: what the wire over UDP bears.
//! - `hosts`: runs a command on the first of some hosts.
//! - `kill`: kills processes and links in each phase of a job.
//! - `meet`: nodes of hosts with unusual addresses.
//! - `many`: many nodes on a few hosts.
//! - `soak`: verifying programs over a bad network.

mod dark;
mod fault;
mod hostd;
mod hosts;
mod job;
mod kill;
mod many;
mod meet;
mod options;
mod relay;
mod remote;
mod site;
mod soak;
mod spec;
mod switch;
mod tap;

use crate::repo::Repo;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use hosts::{Hosts, Network, NotHere};
use job::PATIENCE;
use options::Links;
use remote::code_of;
use std::path::PathBuf;
use std::process;

/// The status that means: not possible here.
const NOT_HERE: i32 = 77;

/// hosts and faulty networks on this machine; status 77 where namespaces are not permitted
#[derive(Subcommand)]
pub enum Command {
    Dark(dark::Options),
    Hosts(HostsOptions),
    Kill(kill::Options),
    Many(many::Options),
    /// nodes of hosts with IPv6 alone, link-local addresses, docker0, the loopback alone, a firewall that drops
    Meet,
    Soak(soak::Options),
    #[command(hide = true)]
    Hostd {
        name: String,
        directory: PathBuf,
        /// gives the host a /tmp of its own
        #[arg(long)]
        own_tmp: bool,
    },
    #[command(hide = true, disable_help_flag = true)]
    Rsh {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        words: Vec<String>,
    },
}

/// runs a command on the first of some hosts, with GASNET_SCI_RSH for the others (hA, hB, ...)
#[derive(Args)]
pub struct HostsOptions {
    #[arg(value_name = "N")]
    count: usize,
    #[command(flatten)]
    links: Links,
    /// joins them by the relay even if it has no faults
    #[arg(long)]
    relay: bool,
    /// says at the end what became of the frames
    #[arg(long)]
    statistics: bool,
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

pub fn run(repo: &Repo, command: &Command) -> Result<bool> {
    let result = dispatch(repo, command);
    if let Some(reason) = result.as_ref().err().and_then(|error| error.downcast_ref::<NotHere>()) {
        eprintln!("netlab: {reason}");
        process::exit(NOT_HERE);
    }
    result
}

fn dispatch(repo: &Repo, command: &Command) -> Result<bool> {
    match command {
        Command::Hosts(_) => repo.set_up("ip")?,
        Command::Dark(_) | Command::Kill(_) | Command::Meet => repo.set_up("gcc ip")?,
        Command::Many(_) | Command::Soak(_) => repo.set_up("gcc g++ ip")?,
        Command::Hostd { .. } | Command::Rsh { .. } => {}
    }
    match command {
        Command::Hosts(options) => {
            let code = run_command(repo, options)?;
            // All values are dropped: the hosts have ended.
            process::exit(code)
        }
        Command::Dark(options) => dark::run(repo, options),
        Command::Kill(options) => kill::run(repo, options),
        Command::Meet => meet::run(repo),
        Command::Many(options) => many::run(repo, options),
        Command::Soak(options) => soak::run(repo, options),
        Command::Hostd { name, directory, own_tmp } => hostd::run(name, directory, *own_tmp).map(|()| true),
        Command::Rsh { words } => process::exit(remote::rsh(words)?),
    }
}

/// Runs a command on the first of some hosts. Returns its status, or 1 if it left something behind.
fn run_command(repo: &Repo, options: &HostsOptions) -> Result<i32> {
    let HostsOptions { count, links, relay, statistics, words } = options;
    let network = if *relay || !links.specs.is_empty() { links.relay() } else { Network::Plain };
    let hosts = Hosts::start(&repo.target, *count, &network)?;
    crate::leftovers::clear_on_signals(vec![hosts.directory.path().into()], || {})?;
    if let Network::Relay(specs, seed) = &network
        && !specs.is_empty()
    {
        eprintln!("netlab: the relay's seed is {seed}");
    }
    let mut command = hosts.command(&words[0])?;
    let status = command.args(&words[1..]).status().context("cannot run nsenter")?;
    let left = hosts.left(PATIENCE);
    left.iter().for_each(|line| eprintln!("netlab: left behind on {line}"));
    if *statistics {
        hosts.relay.iter().flat_map(|relay| relay.report()).for_each(|line| eprintln!("netlab: {line}"));
    }
    let code = code_of(status);
    Ok(if code == 0 && !left.is_empty() { 1 } else { code })
}
