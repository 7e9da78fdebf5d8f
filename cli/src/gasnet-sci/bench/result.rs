//! Rows of the result: statistics of the samples, and the JSON that `--json` prints.

use super::plan::{Job, Measure, Unit, View};
use super::tricks::Tricks;
use serde::Serialize;
use std::fs;

/// The whole result. Its form is fixed, because other programs read it.
#[derive(Serialize)]
pub struct Report {
    pub version: u32,
    pub host: Host,
    pub tricks: Tricks,
    pub rounds: u32,
    pub results: Vec<Row>,
}

/// The host of the measurement.
#[derive(Serialize)]
pub struct Host {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    pub library: &'static str,
}

impl Host {
    /// The host that this process runs on.
    pub fn look(cores: usize) -> Host {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
        Host {
            cpu: model.map_or(std::env::consts::ARCH.into(), |(_, name)| name.trim().into()),
            cores,
            kernel: read("/proc/sys/kernel/osrelease").trim().into(),
            library: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// One row. Figures are in `unit`; only those in MB/s are better when they are higher.
#[derive(Clone, Serialize)]
pub struct Row {
    pub section: &'static str,
    pub operation: String,
    pub who: &'static str,
    pub nodes: u32,
    /// Bytes of payload; 0: none.
    pub bytes: usize,
    pub unit: &'static str,
    pub median: f64,
    /// A tenth of the rounds is below this.
    pub low: f64,
    /// A tenth of the rounds is above this.
    pub high: f64,
    /// Operation of the row that is this row's limit.
    pub limit: Option<String>,
    pub limit_median: Option<f64>,
    /// The median of the rounds' ratios to the limit. It differs a little from the ratio of the medians.
    pub ratio: Option<f64>,
    /// What the ratio should be, or the median where there is no ratio.
    pub target: Option<f64>,
    /// Where a figure comes from that was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// A document's plateau: the value is that of all sizes that are large enough.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub level: bool,
}

impl Row {
    /// A row without a limit.
    pub fn plain(
        section: &'static str,
        operation: &str,
        nodes: u32,
        unit: &'static str,
        values: &[f64],
        target: Option<f64>,
    ) -> Row {
        let (low, median, high) = spread(values);
        Row {
            section,
            operation: operation.into(),
            who: Job::Native.who(),
            nodes,
            bytes: 0,
            unit,
            median,
            low,
            high,
            limit: None,
            limit_median: None,
            ratio: None,
            target,
            how: None,
            level: false,
        }
    }

    /// The figure that is compared with the target.
    pub fn got(&self) -> f64 {
        self.ratio.unwrap_or(self.median)
    }

    /// Whether the target is reached. `None`: there is none.
    pub fn met(&self) -> Option<bool> {
        self.target.map(|target| if self.unit == "MB/s" { self.got() >= target } else { self.got() <= target })
    }
}

/// The quantile `q` of sorted values, interpolated between two of them.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Lowest tenth, median, highest tenth. `values` must not be empty.
fn spread(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (quantile(&sorted, 0.1), quantile(&sorted, 0.5), quantile(&sorted, 0.9))
}

// Converts `ns` nanoseconds for one operation of `bytes` bytes to `unit`.
fn convert(unit: Unit, ns: f64, bytes: usize) -> f64 {
    match unit {
        Unit::Ns | Unit::NsOver => ns,
        Unit::Us => ns / 1e3,
        Unit::Rate => bytes as f64 * 1e3 / ns,
    }
}

/// The row of a view. `ours` and `limit` come from the same rounds.
pub fn row(job: Job, measure: &Measure, view: &View, ours: &[f64], limit: &[f64]) -> Row {
    let in_unit = |samples: &[f64]| samples.iter().map(|ns| convert(view.unit, *ns, measure.bytes)).collect::<Vec<_>>();
    let (mut values, limits) = (in_unit(ours), in_unit(limit));
    let mut ratio = None;
    if view.unit == Unit::NsOver {
        values.iter_mut().zip(&limits).for_each(|(value, limit)| *value -= limit);
    } else if !limits.is_empty() {
        let ratios: Vec<f64> = values.iter().zip(&limits).map(|(value, limit)| value / limit).collect();
        ratio = Some(spread(&ratios).1);
    }
    Row {
        who: if measure.bare { "limit" } else { job.who() },
        bytes: measure.bytes,
        limit: measure.limit.map(|limit| limit.operation.into()),
        limit_median: (!limits.is_empty()).then(|| spread(&limits).1),
        ratio,
        ..Row::plain(measure.section, &view.operation, job.nodes(), view.unit.name(), &values, view.target)
    }
}

/// The rows of the limits themselves: one per limit and size, from all rounds of all measures beside it. A limit that is
/// also measured as a row has that row only.
pub fn limits(measured: &[(Measure, super::node::Samples)]) -> Vec<Row> {
    let mut all: Vec<(&'static str, usize, Unit, Vec<f64>)> = Vec::new();
    for (measure, samples) in measured {
        let Some(limit) = measure.limit else { continue };
        let bytes = measure.limit_bytes(limit);
        let is_row = |(other, _): &(Measure, _)| {
            other.bare && other.bytes == bytes && other.views.iter().any(|view| view.operation == limit.operation)
        };
        if measured.iter().any(is_row) {
            continue;
        }
        let values = samples.limit.iter().map(|ns| convert(limit.unit, *ns, bytes));
        match all.iter_mut().find(|(operation, size, ..)| *operation == limit.operation && *size == bytes) {
            Some((.., sum)) => sum.extend(values),
            None => all.push((limit.operation, bytes, limit.unit, values.collect())),
        }
    }
    let row = |(operation, bytes, unit, values): &(&str, usize, Unit, Vec<f64>)| Row {
        who: "limit",
        bytes: *bytes,
        ..Row::plain("limit", operation, 2, unit.name(), values, None)
    };
    let mut rows: Vec<Row> = all.iter().map(row).collect();
    rows.sort_by(|a, b| (&a.operation, a.bytes).cmp(&(&b.operation, b.bytes)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_of_sorted_values_and_falls_between_them() {
        let values: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(spread(&values), (1.0, 5.0, 9.0));
        assert_eq!(spread(&[7.0]), (7.0, 7.0, 7.0));
        assert_eq!(spread(&[1.0, 2.0]).1, 1.5);
    }

    #[test]
    fn targets_bound_times_from_above_and_rates_from_below() {
        let met = |unit, value, target| Row::plain("am", "x", 2, unit, &[value], target).met();
        assert_eq!(met("us", 1.0, Some(2.0)), Some(true));
        assert_eq!(met("us", 3.0, Some(2.0)), Some(false));
        assert_eq!(met("MB/s", 3.0, Some(2.0)), Some(true));
        assert_eq!(met("MB/s", 1.0, Some(2.0)), Some(false));
        assert_eq!(met("us", 1.0, None), None);
    }

    #[test]
    fn rates_are_in_millions_of_bytes() {
        assert_eq!(convert(Unit::Rate, 1e6, 1 << 20), 1048.576);
        assert_eq!(convert(Unit::Us, 1500.0, 8), 1.5);
    }
}
