//! The options of `cargo xtask soak`.

use super::plan::Kind;
use super::program::Program;
use crate::options::seconds;
use clap::{ArgGroup, Args};
use std::path::PathBuf;
use std::time::Duration;

/// jobs under faults, every byte verified
#[derive(Args)]
#[command(group(ArgGroup::new("extent").required(true)))]
pub struct Options {
    /// how long
    #[arg(group = "extent")]
    minutes: Option<u64>,
    /// so many runs, however long they take
    #[arg(long, value_name = "N", group = "extent")]
    runs: Option<u64>,
    /// this run of the seed
    #[arg(long, value_name = "N", group = "extent")]
    only: Option<u64>,
    /// so many times each C program on 4 nodes, by turns in SEQ, PARSYNC (a debug build) and PAR, forked and launched
    #[arg(long, value_name = "N", group = "extent", conflicts_with_all = ["cases", "ex", "deaths", "kinds"])]
    rounds: Option<u64>,
    /// then so many jobs that are hit by SIGKILL at a random moment
    #[arg(long, value_name = "N", requires = "rounds", default_value = "0", hide_default_value = true)]
    kills: u64,
    #[command(flatten)]
    pub seed: crate::options::Seed,
    /// the mix of GASNet-EX, without faults unless --kind names some
    #[arg(long, conflicts_with = "cases")]
    ex: bool,
    /// nodes of a mail box, of which one is killed
    #[arg(long, conflicts_with_all = ["cases", "ex", "kinds"])]
    deaths: bool,
    /// faults of this kind; all if none is given
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<Kind>,
    /// writes the table there, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// the longest time from the fault to the end of the job
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub limit: Duration,
    /// first the faults that were once answered wrongly
    #[arg(long)]
    pub cases: bool,
}

/// How many runs there are.
pub enum Extent {
    Time(Duration),
    Runs(u64),
    Only(u64),
    /// So many rounds of the programs of ci/rows/programs.toml, then so many kills.
    Rounds(u64, u64),
}

impl Options {
    pub fn extent(&self) -> Extent {
        match (self.only, self.runs, self.rounds) {
            (Some(run), ..) => Extent::Only(run),
            (_, Some(runs), _) => Extent::Runs(runs),
            (.., Some(rounds)) => Extent::Rounds(rounds, self.kills),
            _ => Extent::Time(Duration::from_secs(60 * self.minutes.unwrap_or(0))),
        }
    }

    pub fn program(&self) -> Program {
        match () {
            () if self.ex => Program::Mixed,
            () if self.deaths => Program::Death,
            () => Program::Soak,
        }
    }
}
