//! The options of `cargo xtask bench-peers`.

use anyhow::{Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;

const SECTIONS: &str = "am rma barrier coll hosts";
/// With `--deck`.
const DECK: &str = "messages mandelbrot laplace ray live";

pub struct Options {
    pub quick: bool,
    pub rounds: u32,
    pub sections: Vec<String>,
    /// Mail boxes instead of our active messages and transfers.
    pub deck: bool,
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
                .visible_alias("only")
                .value_name("LIST")
                .help("of am rma barrier coll, and hosts: two processes over TCP; with --deck of messages mandelbrot laplace ray live; default: all"),
        )
        .arg(flag("deck").help(
            "mail boxes beside what else moves messages on one host, and three applications over them and over MPI, with the bounds A0 to \
             A11 of docs/deck-figures.md; live: the picture of Mandelbrot grows in a page in headless Chromium while it is computed. \
             Twenty minutes, with --quick three. Fails if a program fails or gives another answer; bounds do not count",
        ))
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
        let deck = matches.get_flag("deck");
        let all = if deck { DECK } else { SECTIONS };
        let wanted = matches.get_one::<String>("sections").map_or(all, String::as_str);
        let sections: Vec<String> =
            wanted.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        if let Some(section) = sections.iter().find(|section| !all.split(' ').any(|known| known == *section)) {
            bail!("--sections: {all}, not '{section}'");
        }
        let rounds = matches.get_one::<u32>("rounds").copied();
        Ok(Options {
            quick,
            rounds: rounds.unwrap_or(if quick { 2 } else { 5 }),
            sections,
            deck,
            realtime: matches.get_flag("realtime"),
            json: matches.get_one::<PathBuf>("json").cloned(),
            html: matches.get_one::<PathBuf>("html").cloned(),
        })
    }
}
