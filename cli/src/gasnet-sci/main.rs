//! `gasnet-sci`: what this installation is and what this host allows. One module per subcommand.

#[cfg(not(feature = "timed"))]
mod again;
mod agent;
mod bench;
mod cli;
#[path = "../shared/completion.rs"]
mod completion;
mod doctor;
mod host;
mod info;
mod jobs;
#[path = "../shared/man.rs"]
mod man;
mod network;
mod page;
#[path = "../shared/policy.rs"]
mod policy;
#[path = "../shared/reach.rs"]
mod reach;
#[path = "../shared/registry.rs"]
mod registry;
mod report;
#[path = "../shared/results.rs"]
mod results;
mod sisci;
mod sock;
#[cfg(not(feature = "timed"))]
#[path = "../shared/timed.rs"]
mod timed;
mod trace;
mod tree;
mod tune;

use gasnet_sci::base::config::table;
use gasnet_sci_place as place;
use place::paint::{self, BAD};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let found = cli::command().get_matches();
    let result = match found.subcommand() {
        Some(("info", options)) => info::run(options),
        Some(("doctor", options)) => doctor::run(options),
        Some(("bench", options)) => bench::run(options),
        Some(("bench-node", options)) => bench::node::run(options),
        Some(("bench-layer", options)) => bench::layer::run(options),
        Some(("page", options)) => page::run(options),
        Some(("place", options)) => place::run(options),
        Some(("trace", options)) => trace::run(options),
        Some(("tune", options)) => tune::run(options),
        Some(("tree", options)) => tree::run(options),
        Some(("sisci", options)) => sisci::run(options),
        Some(("sock", options)) => sock::run(options.subcommand_matches("run").expect("clap demands it")),
        Some(("agent", options)) => agent::run(options),
        Some(("jobs", options)) => jobs::list(options),
        Some(("kill", options)) => jobs::kill(options),
        Some(("man", _)) => {
            man::page(cli::command(), |_| true, "gasnetrun_sci").and_then(|page| io::stdout().write_all(&page))
        }
        Some(("completion", options)) => {
            completion::write(cli::command(), options.get_one::<String>("shell").expect("clap demands it"))
        }
        Some(("env-table", _)) => io::stdout().write_all(table::markdown().as_bytes()),
        _ => unreachable!("clap demands a subcommand that it knows"),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closes the pipe early, such as `| head`, is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(paint::err(), "{BAD}gasnet-sci{BAD:#}: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn definitions_are_consistent() {
        super::cli::command().debug_assert();
    }
}
