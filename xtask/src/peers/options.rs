//! The options of `cargo xtask bench-peers`.

use anyhow::{Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;

const SECTIONS: &str = "am rma barrier coll hosts";

pub struct Options {
    pub quick: bool,
    pub rounds: u32,
    pub sections: Vec<String>,
    /// Run with real-time priority, so that no other process takes the cores.
    pub realtime: bool,
    pub json: Option<PathBuf>,
    pub html: Option<PathBuf>,
}

pub fn command() -> Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let file = |name: &'static str| Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf));
    Command::new("bench-peers")
        .about("the same patterns by us, OpenMPI, OpenSHMEM and UCX, in turns")
        .arg(flag("quick").help("fewer operations, and two rounds: half a minute instead of three minutes"))
        .arg(
            Arg::new("rounds")
                .long("rounds")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("so many rounds; default 5"),
        )
        .arg(
            Arg::new("sections")
                .long("sections")
                .value_name("LIST")
                .default_value(SECTIONS)
                .help("of am rma barrier coll, and hosts: two processes over TCP"),
        )
        .arg(
            flag("realtime")
                .help("as root: each run, which takes a second or two, has the cores for itself (chrt -r 50)"),
        )
        .arg(file("json").help(
            "writes the rows there; if it is there already (from gasnet-sci bench --json), they are added to its rows",
        ))
        .arg(file("html").help("writes the page of all these rows there"))
        .after_help(
            "Debian's openmpi-bin, libopenmpi-dev and ucx-utils are installed as root where they are missing. \
             Best on an idle machine.",
        )
}

impl Options {
    pub fn of(matches: &ArgMatches) -> Result<Options> {
        let quick = matches.get_flag("quick");
        let sections = matches.get_one::<String>("sections").map_or(SECTIONS, String::as_str);
        for section in sections.split_whitespace() {
            if !SECTIONS.split(' ').any(|known| known == section) {
                bail!("--sections: {SECTIONS}, not '{section}'");
            }
        }
        let rounds = matches.get_one::<u32>("rounds").copied();
        Ok(Options {
            quick,
            rounds: rounds.unwrap_or(if quick { 2 } else { 5 }),
            sections: sections.split_whitespace().map(str::to_owned).collect(),
            realtime: matches.get_flag("realtime"),
            json: matches.get_one::<PathBuf>("json").cloned(),
            html: matches.get_one::<PathBuf>("html").cloned(),
        })
    }
}
