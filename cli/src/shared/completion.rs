//! Completion of the commands' options in shells. It is made from what clap knows, so that it matches the commands.

use clap_complete::Shell;
use std::io::{self, Write};

/// The script for `shell` (bash, zsh, fish and others of clap_complete), which completes `command`.
///
/// # Errors
/// There is none for this shell, or nothing can be written to standard output.
pub fn write(mut command: clap::Command, shell: &str) -> io::Result<()> {
    let shell: Shell = shell.parse().map_err(|_| io::Error::other(format!("no completion for the shell '{shell}'")))?;
    let (name, mut script) = (command.get_name().to_string(), Vec::new());
    clap_complete::generate(shell, &mut command, name, &mut script);
    io::stdout().write_all(&script)
}
