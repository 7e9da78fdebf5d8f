//! The options of `cargo xtask bench-peers`.

use anyhow::{Result, bail};
use clap::{Args, value_parser};
use std::path::PathBuf;

const SECTIONS: &str = "am rma barrier coll hosts";
/// With `--deck`.
const DECK: &str = "messages mandelbrot laplace ray live";

/// the same patterns by us, OpenMPI, OpenSHMEM and UCX, in turns
///
/// Debian's openmpi-bin, libopenmpi-dev and ucx-utils are installed as root where they are missing. Best on an idle machine.
#[derive(Args)]
pub struct Options {
    /// fewer operations, and two rounds: half a minute instead of three minutes
    #[arg(long)]
    pub quick: bool,
    /// so many rounds
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    #[arg(default_value = "5", default_value_if("quick", "true", "2"))]
    pub rounds: u32,
    /// of am rma barrier coll, and hosts: two processes over TCP; with --deck of messages mandelbrot laplace ray live; default: all
    #[arg(long, visible_alias = "only", value_name = "LIST")]
    sections: Option<String>,
    /// mail boxes beside what else moves messages on one host, and three applications over them and over MPI, with the bounds A0 to
    /// A11 of docs/deck-figures.md; live: the picture of Mandelbrot grows in a page in headless Chromium while it is computed.
    /// Twenty minutes, with --quick three. Fails if a program fails or gives another answer; bounds do not count
    #[arg(long)]
    pub deck: bool,
    /// as root: each run, which takes a second or two, has the cores for itself (chrt -r 50)
    #[arg(long)]
    pub realtime: bool,
    /// writes the rows there; if it is there already (from gasnet-sci bench --json), they are added to its rows
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// writes the page of all these rows there
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Options {
    pub fn sections(&self) -> Result<Vec<&str>> {
        let all = if self.deck { DECK } else { SECTIONS };
        let wanted = self.sections.as_deref().unwrap_or(all);
        let sections: Vec<&str> = wanted.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        if let Some(section) = sections.iter().find(|section| !all.split(' ').any(|known| known == **section)) {
            bail!("--sections: {all}, not '{section}'");
        }
        Ok(sections)
    }
}
