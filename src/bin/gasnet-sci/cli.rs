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
        .subcommand(tune())
        // For ci/install and ci/docs.
        .subcommand(Command::new("man").about("This command's man page").hide(true))
        .subcommand(Command::new("env-table").about("The environment variables as a table in Markdown").hide(true))
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

fn tune() -> Command {
    Command::new("tune")
        .about("Measures on this host from which length on each way of moving bytes is worth it, and writes it into a file")
        .after_help(
            "The library reads the file when a job starts; its values stand in for the defaults, and the environment goes before \
             them. Without --out it is etc/gasnet-sci/tune.conf of the installation, of / for what lies below /usr or is not \
             installed; GASNET_SCI_TUNE_FILE names another. Run it while the host has nothing else to do.",
        )
        .arg(Arg::new("out").long("out").value_name("FILE").help("write FILE; - = standard output"))
        .arg(Arg::new("quick").long("quick").action(ArgAction::SetTrue).help("take a second, and be less exact"))
}
