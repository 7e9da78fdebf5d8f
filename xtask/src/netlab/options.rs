//! Options that several commands of `cargo xtask netlab` share.

use super::hosts::Network;
use super::spec::Spec;
use anyhow::{Context, Result};
use clap::{Arg, ArgAction, ArgMatches, value_parser};

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

pub fn trailing(name: &'static str) -> Arg {
    Arg::new(name).num_args(1..).trailing_var_arg(true).allow_hyphen_values(true).required(true)
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
