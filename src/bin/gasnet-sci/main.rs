//! `gasnet-sci`: what this installation is and what this host allows. One module per subcommand.

mod cli;
mod host;
mod info;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    let found = cli::command().get_matches();
    let result = match found.subcommand() {
        Some(("info", options)) => info::run(options),
        _ => unreachable!("clap demands a subcommand that it knows"),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads the first lines only, `| head`, is no error of ours.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gasnet-sci: {error}");
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
