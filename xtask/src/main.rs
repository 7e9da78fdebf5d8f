//! `cargo xtask`: the programs that developers of this repository run, beside the small scripts of ci/. One module
//! per subcommand.

// A tool of the repository reads the environment as scripts do. The rule about the one table of variables is for the
// library.
#![allow(clippy::disallowed_methods)]

mod abi;
mod compare;
mod headers;
mod leftovers;
mod netlab;
mod peers;
mod repo;
#[path = "../../cli/src/shared/results.rs"]
mod results;
mod soak;
mod symbols;
mod test;
mod verdicts;

use clap::{Arg, ArgAction, Command};
use repo::Repo;
use std::process::ExitCode;

fn command() -> Command {
    let update = |help: &'static str| Arg::new("update").long("update").action(ArgAction::SetTrue).help(help);
    Command::new("cargo xtask")
        .about("Checks and measurements of this repository")
        .subcommand_required(true)
        .subcommand(
            Command::new("headers")
                .about(
                    "the headers that clients include: fresh, clean in every dialect and mode, what the contract says",
                )
                .arg(update("writes the generated headers anew from src/api")),
        )
        .subcommand(
            Command::new("symbols")
                .about("what the libraries show to the linker and the loader, compared with ci/symbols.txt")
                .arg(update("writes ci/symbols.txt anew")),
        )
        .subcommand(
            Command::new("abi")
                .about("the binary interface that clients are compiled against, compared with ci/abi.txt")
                .arg(update("writes ci/abi.txt anew, if things were only added"))
                .arg(
                    Arg::new("break")
                        .long("break")
                        .action(ArgAction::SetTrue)
                        .requires("update")
                        .help("writes it whatever changed; CONTRIBUTING.md says what that means for the version"),
                ),
        )
        .subcommand(soak::command())
        .subcommand(netlab::command())
        .subcommand(peers::command())
        .subcommand(compare::command())
        .subcommand(test::command())
        .subcommand(test::programs_command())
}

fn main() -> ExitCode {
    let found = command().get_matches();
    let result = Repo::find().and_then(|repo| match found.subcommand() {
        Some(("headers", options)) => headers::run(&repo, options.get_flag("update")),
        Some(("symbols", options)) => symbols::run(&repo, options.get_flag("update")),
        Some(("abi", options)) => abi::run(&repo, options.get_flag("update"), options.get_flag("break")),
        Some(("soak", options)) => soak::run(&repo, options),
        Some(("netlab", options)) => netlab::run(&repo, options),
        Some(("bench-peers", options)) => peers::run(&repo, options),
        Some(("compare", options)) => compare::run(&repo, options),
        Some(("test", options)) => test::run(&repo, options),
        Some(("programs", options)) => test::run_programs(&repo, options),
        _ => unreachable!("clap demands a subcommand that it knows"),
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn definitions_are_consistent() {
        super::command().debug_assert();
    }
}
