//! This command for timing mode, which has another library.

use crate::timed;
use std::io;

/// Runs this command again as the one that has the library for timing mode, with `profile` or the one of the environment. Returns why
/// it does not run.
pub fn become_timed(profile: Option<&str>) -> io::Error {
    use std::os::unix::process::CommandExt;
    let command = match timed::file("gasnet-sci") {
        Ok(command) => command,
        Err(problem) => return io::Error::other(problem),
    };
    let mut again = std::process::Command::new(command);
    again.args(std::env::args_os().skip(1));
    if let Some(profile) = profile {
        again.env("GASNET_SCI_TIMING", profile);
    }
    again.exec()
}
