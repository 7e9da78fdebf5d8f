//! The command line as clap knows it. Needs nothing but clap, so that the man page is made from it too.

use clap::{Arg, ArgAction, Command, value_parser};

/// The command and its subcommands.
pub fn command() -> Command {
    Command::new("gasnet-sci")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Information about gasnet-sci, a GASNet-1 conduit over software SCI.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(info())
}

fn info() -> Command {
    Command::new("info")
        .about("Version, limits, regions, thresholds, environment variables, and what this host allows")
        .after_help(
            "Values of environment variables are those of this shell: what a job started from it would see. A value that \
             makes no sense is marked; a job would not start with it.",
        )
        .arg(
            Arg::new("nodes")
                .short('n')
                .long("nodes")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=65535))
                .help("sizes for a job of N nodes [default: GASNET_SCI_NODES, at least 2]"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("print one JSON object"))
}
