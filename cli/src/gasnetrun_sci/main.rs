//! `gasnetrun_sci -n N program args…`: starts N nodes on this host, or on several, and supervises them. `gasnetrun_sci --agent`: its
//! part on another host, which talks to it over stdin and stdout.
//! Contract: environment.md §3.1.

#![allow(unsafe_code)] // system calls and C

// Rust's start-up code would ignore SIGPIPE, and every node would inherit that.
#![cfg_attr(not(test), no_main)]

mod agent;
mod branch;
mod cli;
#[path = "../shared/completion.rs"]
mod completion;
mod debugger;
mod director;
#[cfg(test)]
mod fuzzing;
mod hint;
mod hosts;
mod launch;
#[path = "../shared/man.rs"]
mod man;
mod mapping;
mod matrix;
mod options;
mod part;
mod place;
#[path = "../shared/policy.rs"]
mod policy;
mod program;
#[path = "../shared/reach.rs"]
mod reach;
#[path = "../shared/registry.rs"]
mod registry;
mod start;
mod stop;
#[path = "../shared/timed.rs"]
mod timed;
mod timing;

use gasnet_sci_place::{format, map};
use std::ffi::OsString;
use std::io::{self, Write};

/// Entry point; see the crate's head for why it is not Rust's.
#[cfg_attr(not(test), unsafe(export_name = "main"))]
#[cfg_attr(test, allow(dead_code))]
pub extern "C" fn start() -> i32 {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().eq(["--man"]) {
        return write_man();
    }
    if let [option, shell] = &arguments[..]
        && option == "--completion"
    {
        return match completion::write(cli::command(), &shell.to_string_lossy()) {
            Ok(()) => 0,
            Err(error) => stop::Stop::new(1, format!("{}: {error}", cli::NAME)).print(),
        };
    }
    if let Some(limits) = agent::limits(&arguments) {
        return agent::run(limits);
    }
    match options::parse(&arguments).and_then(launch::launch) {
        Ok(status) => status,
        Err(stop) => stop.print(),
    }
}

// The man page, for ci/install.
fn write_man() -> i32 {
    let wanted = |name: &str| {
        let hosts = [
            "GASNET_SCI_RSH",
            "GASNET_SSH_CMD",
            "GASNET_SSH_OPTIONS",
            "GASNET_SCI_START_TIMEOUT",
            "GASNET_SCI_LINK_TIMEOUT",
            "GASNET_SCI_AGENT_CONF",
            "GASNET_SCI_TREE",
        ];
        let others =
            ["GASNET_SCI_NODES", "GASNET_SCI_MATRIX", "GASNET_VERBOSEENV", "GASNET_SCI_TIMING", "GASNET_SCI_TOPOLOGY"];
        name.starts_with("GASNET_EXIT") || others.contains(&name) || hosts.contains(&name)
    };
    match man::page(cli::command(), wanted, "gasnet-sci").and_then(|page| io::stdout().write_all(&page)) {
        Ok(()) => 0,
        Err(error) => stop::Stop::new(1, format!("{}: cannot write the man page: {error}", cli::NAME)).print(),
    }
}
