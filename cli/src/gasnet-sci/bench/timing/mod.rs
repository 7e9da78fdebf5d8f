//! `gasnet-sci bench --timing PROFILE`: what the library measures in timing mode, beside what the model says and the papers state.
//!
//! Timing mode is another build of the library, so another build of this command runs it. The normal one only starts that.

use crate::results::Bench;
#[cfg(feature = "timed")]
use crate::results::Row;
use clap::ArgMatches;
use std::io;

#[cfg(feature = "timed")]
mod documents;
#[cfg(feature = "timed")]
mod measured;
#[cfg(feature = "timed")]
mod raw;

/// The sections of such a run.
pub const SECTIONS: [&str; 4] = ["sci", "am", "rma", "boxes"];

/// Becomes the command for timing mode, with the same arguments.
#[cfg(not(feature = "timed"))]
pub fn run(profile: &str, _: &ArgMatches, _: &[&str]) -> io::Result<Bench> {
    Err(crate::again::become_timed(Some(profile)))
}

/// Measures.
#[cfg(feature = "timed")]
pub fn run(profile: &str, options: &ArgMatches, sections: &[&str]) -> io::Result<Bench> {
    measured::run(profile, options, sections)
}

/// A row of the result: whose it is, and one or more values.
#[cfg(feature = "timed")]
fn row(section: &str, operation: &str, who: &str, bytes: usize, unit: &str, values: &[f64]) -> Row {
    Row { bytes: bytes as u64, ..Row::of(section, operation, who, 2, unit, values) }
}
