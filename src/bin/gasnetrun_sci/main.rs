//! `gasnetrun_sci -n N program args…`: starts N nodes on this host and supervises them.
//! Contract: environment.md §3.1.
// Rust's start-up code would make SIGPIPE ignored, and then so would be every node's.
#![cfg_attr(not(test), no_main)]

mod cli;
mod debugger;
mod launch;
mod options;
mod program;
mod stop;

use std::ffi::OsString;

/// Entry point; see the crate's head for why it is not Rust's.
#[cfg_attr(not(test), unsafe(export_name = "main"))]
#[cfg_attr(test, allow(dead_code))]
pub extern "C" fn start() -> i32 {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match options::parse(&arguments).and_then(launch::launch) {
        Ok(status) => status,
        Err(stop) => stop.tell(),
    }
}
