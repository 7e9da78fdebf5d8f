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
mod options;
mod peers;
mod repo;
#[path = "../../cli/src/shared/results.rs"]
mod results;
mod soak;
mod symbols;
mod test;
mod verdicts;

use clap::Parser;
use repo::Repo;
use std::process::ExitCode;

/// Checks and measurements of this repository
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// the headers that clients include: fresh, clean in every dialect and mode, what the contract says
    Headers {
        /// writes the generated headers anew from src/api
        #[arg(long)]
        update: bool,
    },
    /// what the libraries show to the linker and the loader, compared with ci/symbols.txt
    Symbols {
        /// writes ci/symbols.txt anew
        #[arg(long)]
        update: bool,
    },
    /// the binary interface that clients are compiled against, compared with ci/abi.txt
    Abi {
        /// writes ci/abi.txt anew, if things were only added
        #[arg(long)]
        update: bool,
        /// writes it whatever changed; CONTRIBUTING.md says what that means for the version
        #[arg(long = "break", requires = "update")]
        breaks: bool,
    },
    Soak(soak::Options),
    #[command(subcommand)]
    Netlab(netlab::Command),
    BenchPeers(peers::Options),
    Compare(compare::Options),
    Test(test::Options),
    Programs(test::ProgramsOptions),
}

fn run(task: Task) -> anyhow::Result<bool> {
    let repo = Repo::find()?;
    match task {
        Task::Headers { update } => headers::run(&repo, update),
        Task::Symbols { update } => symbols::run(&repo, update),
        Task::Abi { update, breaks } => abi::run(&repo, update, breaks),
        Task::Soak(options) => soak::run(&repo, &options),
        Task::Netlab(command) => netlab::run(&repo, &command),
        Task::BenchPeers(options) => peers::run(&repo, &options),
        Task::Compare(options) => compare::run(&repo, &options),
        Task::Test(options) => test::run(&repo, &options),
        Task::Programs(options) => test::run_programs(&repo, &options),
    }
}

fn main() -> ExitCode {
    match run(Task::parse()) {
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
        <super::Task as clap::CommandFactory>::command().debug_assert();
    }
}
