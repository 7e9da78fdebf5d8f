//! The options of `cargo xtask netlab`.

use super::hosts::Network;
use super::kill;
use super::many;
use super::meet;
use super::soak;
use super::spec::Spec;
use anyhow::{Context, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

pub fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

pub fn link() -> Arg {
    Arg::new("link")
        .long("link")
        .value_name("FAULTS")
        .action(ArgAction::Append)
        .value_parser(|text: &str| text.parse::<Spec>().map_err(|error| format!("{error:#}")))
        .help(
            "delay=1ms,jitter=1ms,loss=1%,dup=1%,reorder=1%,corrupt=0.1%,rate=100mbit,cut=1s/20s (random) or cut=1s@5s \
             (once); with \"hA>hB:\" or \"hA-hB:\" in front for one direction or one pair. The last that fits counts",
        )
}

pub fn seed() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("N")
        .value_parser(value_parser!(u64))
        .help("what decisions are made of; chosen and told if it is not given")
}

fn trailing(name: &'static str) -> Arg {
    Arg::new(name).num_args(1..).trailing_var_arg(true).allow_hyphen_values(true).required(true)
}

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

/// The network that the options ask for.
pub fn network(matches: &ArgMatches) -> Result<Network> {
    let specs = specs(matches);
    let wanted = !specs.is_empty() || matches.get_flag("relay");
    Ok(if wanted { Network::Relay(specs, seed_of(matches)) } else { Network::Plain })
}

pub fn specs(matches: &ArgMatches) -> Vec<Spec> {
    matches.get_many::<Spec>("link").into_iter().flatten().cloned().collect()
}

pub fn seed_of(matches: &ArgMatches) -> u64 {
    matches.get_one::<u64>("seed").copied().unwrap_or_else(|| fastrand::u64(0..1 << 30))
}

pub fn words(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("words").into_iter().flatten().cloned().collect()
}

pub fn name(matches: &ArgMatches) -> Result<String> {
    matches.get_one::<String>("name").cloned().context("clap demands it")
}
