//! The hidden subcommand that is the program of the layer of sockets (`layers`). It is started plain and with the library for drop-in sockets.

use super::kernels;
use clap::ArgMatches;
use std::io;

/// Measures, and prints lines as c-tests/apps/deck/layer.h says.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let number = |name: &str| *options.get_one::<i32>(name).expect("clap has it");
    let cpus = [number("cpu0"), number("cpu1")];
    kernels::layer_tcp(number("rounds"), f64::from(number("nanoseconds")), cpus);
    Ok(())
}
