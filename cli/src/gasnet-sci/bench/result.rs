//! Rows of the result from the samples of the rounds.

use super::plan::{Job, Measure, Unit, View};
pub use crate::results::Row;
use crate::results::Spread;

/// A row of the library's, without a limit.
pub fn plain(section: &str, operation: &str, nodes: u32, unit: &str, values: &[f64], target: Option<f64>) -> Row {
    Row { target, ..Row::of(section, operation, Job::Native.who(), nodes, unit, values) }
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
        ratio = Some(Spread::of(&ratios).median);
    }
    Row {
        who: if measure.bare { "limit" } else { job.who() }.into(),
        bytes: measure.bytes as u64,
        limit: measure.limit.map(|limit| limit.operation.into()),
        limit_median: (!limits.is_empty()).then(|| Spread::of(&limits).median),
        ratio,
        ..plain(measure.section, &view.operation, job.nodes(), view.unit.name(), &values, view.target)
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
        bytes: *bytes as u64,
        ..Row::of("limit", operation, "limit", 2, unit.name(), values)
    };
    let mut rows: Vec<Row> = all.iter().map(row).collect();
    rows.sort_by(|a, b| (&a.operation, a.bytes).cmp(&(&b.operation, b.bytes)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_bound_times_from_above_and_rates_from_below() {
        let met = |unit, value, target| plain("am", "x", 2, unit, &[value], target).met();
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
