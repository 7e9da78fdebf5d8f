//! The file of results, as `gasnet-sci bench --json` and `ci/bench-peers --json` write it and `gasnet-sci page` reads it. Existing fields
//! stay and new ones may be added. Readers skip fields that they do not know.
//!
//! Must not know: what is measured, how it is shown.

use serde::{Deserialize, Serialize};

/// The format that this program reads and writes.
pub const VERSION: u32 = 1;

/// All results of one or more runs on one host.
#[derive(Serialize, Deserialize)]
pub struct Bench {
    pub version: u32,
    pub host: Host,
    /// What the library chose on the host. Older files do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tricks: Option<Tricks>,
    pub rounds: u32,
    pub results: Vec<Row>,
    /// What was to be measured and is not there: a line for each, the name first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The host of the measurement.
#[derive(Serialize, Deserialize, PartialEq)]
pub struct Host {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    pub library: String,
}

impl Host {
    /// The host that this process runs on.
    pub fn look(cores: usize) -> Host {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
        Host {
            cpu: model.map_or(std::env::consts::ARCH.into(), |(_, name)| name.trim().into()),
            cores,
            kernel: read("/proc/sys/kernel/osrelease").trim().into(),
            library: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// What the library chose on the host. Figures of two hosts may differ because these differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tricks {
    /// The processor has CLDEMOTE, with which lines are handed over. The library chooses nothing here: a processor without
    /// it ignores the instruction.
    pub cldemote: bool,
    /// The routine that copies.
    pub copy: String,
    /// Pauses between two looks of a wait, where each node has a core.
    pub pauses: u32,
    /// Sleepers rely on membarrier(2), so that senders make no fences.
    pub membarrier: bool,
}

/// One cell: an operation of one library, at one size, on one number of nodes.
#[derive(Serialize, Deserialize, Clone)]
pub struct Row {
    pub section: String,
    pub operation: String,
    /// `gasnet-sci native`, `gasnet-sci ref`, `limit`, or a peer's name.
    pub who: String,
    pub nodes: u32,
    /// Bytes of payload; 0: none.
    pub bytes: u64,
    /// `us`, `ns`, `MB/s` (10^6 bytes), `B`, `KiB` or `s`; `times` and `share` of quotients. For MB/s and a share more is better, for all
    /// others less.
    pub unit: String,
    /// Of the rounds. A tenth of them is below `low`, a tenth above `high`.
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// The hardware limit, measured in the same run: its name, its median in the row's unit, and the median of the rounds' ratios to it,
    /// which differs a little from the ratio of the medians.
    pub limit: Option<String>,
    pub limit_median: Option<f64>,
    pub ratio: Option<f64>,
    /// What `ratio` should reach. In a row without ratio: what `median` should reach.
    pub target: Option<f64>,
    /// Which of a peer library's ways this is, if it has several; of a figure that was not measured, where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// A document's plateau: the value is that of all sizes that are large enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub level: bool,
}

impl Row {
    /// A row of the given rounds, without bytes, limit and target.
    pub fn of(section: &str, operation: &str, who: &str, nodes: u32, unit: &str, values: &[f64]) -> Row {
        let Spread { low, median, high } = Spread::of(values);
        Row {
            section: section.into(),
            operation: operation.into(),
            who: who.into(),
            nodes,
            bytes: 0,
            unit: unit.into(),
            median,
            low,
            high,
            limit: None,
            limit_median: None,
            ratio: None,
            target: None,
            how: None,
            level: false,
        }
    }
}

/// Some values: the lowest tenth is below `low`, the highest above `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Spread {
    /// Of values in any order; there is one at least.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        // Interpolated between two values.
        let quantile = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Spread { low: quantile(0.1), median: quantile(0.5), high: quantile(0.9) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_sorted_values_and_falls_between_them() {
        let values: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(Spread::of(&values), Spread { low: 1.0, median: 5.0, high: 9.0 });
        assert_eq!(Spread::of(&[7.0]), Spread { low: 7.0, median: 7.0, high: 7.0 });
        assert_eq!(Spread::of(&[1.0, 2.0]).median, 1.5);
    }
}
