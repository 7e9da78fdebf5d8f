//! What options of several subcommands have in common.

use clap::Args;
use std::num::ParseIntError;
use std::time::Duration;

#[derive(Args)]
pub struct Seed {
    /// what decisions are made of; chosen and told if it is not given
    #[arg(long, value_name = "N", default_value_t = fastrand::u64(0..1 << 30), hide_default_value = true)]
    pub seed: u64,
}

pub fn seconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_secs)
}
