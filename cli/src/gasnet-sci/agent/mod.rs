//! `gasnet-sci agent`: a service of the user's that starts the agents of jobs on this host, without ssh; and the other side of that, the
//! command by which a launcher reaches it (`GASNET_SCI_RSH=standing`).
//!
//! | file | what |
//! |---|---|
//! | `secret` | the file by which both sides know each other |
//! | `talk` | the greeting, and the sealed connection behind it |
//! | `serve` | the service |
//! | `reach` | the command |
//!
//! The agent of a job is the same program as with ssh, `gasnetrun_sci --agent`, and its stdin and stdout are the channel, as ever. Must not
//! know: jobs, frames.

mod reach;
mod secret;
mod serve;
mod talk;
#[cfg(test)]
mod tests;

use crate::policy::Policy;
use clap::ArgMatches;
use gasnet_sci::os::sys;
use std::io;
use std::path::PathBuf;

/// Runs the service, or what an option says.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let text = |name: &str| options.get_one::<String>(name).map(String::as_str);
    let limits = text("conf");
    let policy = Policy::read(&[limits]).map_err(io::Error::other)?;
    let file = text("secret").map(PathBuf::from).or(policy.secret).or_else(secret::default_file);
    let file = file.ok_or_else(|| io::Error::other("there is no home directory: name a file with --secret"))?;
    if options.get_flag("make-secret") {
        return secret::make(&file);
    }
    let listen = text("listen").map(String::from).or(policy.listen);
    match options.get_many::<String>("reach") {
        Some(mut words) => reach::reach(words.next().map_or("", |host| host), port(listen.as_deref())?, &file),
        None => serve::serve(listen.as_deref(), &file, limits),
    }
}

// What an address is for that has none: users need different ones.
fn default_port() -> u16 {
    29_000 + (sys::effective_user() % 1000) as u16
}

/// The port of `ADDRESS:PORT` or `PORT`.
fn port(listen: Option<&str>) -> io::Result<u16> {
    let Some(text) = listen else { return Ok(default_port()) };
    let number = text.rsplit(':').next().and_then(|port| port.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("'{text}' ends with no port: it is PORT, or ADDRESS:PORT")))
}
