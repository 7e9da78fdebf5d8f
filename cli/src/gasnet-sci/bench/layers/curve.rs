//! The figures of one layer over sizes, and the three that the table has.
//!
//! Must not know: how anything is measured.

use super::super::plan::Trip;
use crate::results::{Row, Spread};
use std::collections::BTreeMap;

/// The operations of the rows.
pub const HALF_TRIP: &str = "half a round trip";
pub const EXCHANGE: &str = "exchange, each way";
pub const LATENCY: &str = "latency: half a round trip of 4 bytes";
pub const MOST: &str = "throughput: the most of an exchange, each way";
pub const HALF_SIZE: &str = "N/2: the size with half the throughput";

/// The size whose time is called latency, as in the paper.
const LATENCY_BYTES: usize = 4;

/// One layer. Samples are nanoseconds by size: half a round trip, or an exchange.
pub struct Curve {
    pub who: &'static str,
    trips: BTreeMap<usize, Vec<f64>>,
    exchanges: BTreeMap<usize, Vec<f64>>,
}

impl Curve {
    pub fn new(who: &'static str) -> Curve {
        Curve { who, trips: BTreeMap::new(), exchanges: BTreeMap::new() }
    }

    /// Adds a sample.
    pub fn add(&mut self, trip: Trip, bytes: usize, ns: f64) {
        let samples = if trip == Trip::Exchange { &mut self.exchanges } else { &mut self.trips };
        samples.entry(bytes).or_default().push(ns);
    }

    /// Its rows, those of the table at the end. None without samples.
    pub fn rows(&self) -> Vec<Row> {
        let row = |operation: &str, bytes: usize, unit: &str, values: &[f64]| Row {
            bytes: bytes as u64,
            ..Row::of("layers", operation, self.who, 2, unit, values)
        };
        let micros = |samples: &[f64]| samples.iter().map(|ns| ns / 1e3).collect::<Vec<_>>();
        let rates =
            |bytes: usize, samples: &[f64]| samples.iter().map(|ns| bytes as f64 * 1e3 / ns).collect::<Vec<_>>();
        let mut rows: Vec<Row> =
            self.trips.iter().map(|(bytes, ns)| row(HALF_TRIP, *bytes, "us", &micros(ns))).collect();
        rows.extend(self.exchanges.iter().map(|(bytes, ns)| row(EXCHANGE, *bytes, "MB/s", &rates(*bytes, ns))));
        if let Some(ns) = self.trips.get(&LATENCY_BYTES) {
            rows.push(row(LATENCY, LATENCY_BYTES, "us", &micros(ns)));
        }
        let medians: Vec<(f64, f64)> =
            self.exchanges.iter().map(|(bytes, ns)| (*bytes as f64, Spread::of(&rates(*bytes, ns)).median)).collect();
        if let (Some(best), Some(half)) = (best(&medians), half_size(&medians)) {
            let (bytes, ns) = self.exchanges.iter().nth(best).expect("an index of the list");
            rows.push(row(MOST, 0, "MB/s", &rates(*bytes, ns)));
            rows.push(row(HALF_SIZE, 0, "B", &[half]));
        }
        rows
    }
}

/// Which of the points, sizes and rates, has the highest rate.
fn best(points: &[(f64, f64)]) -> Option<usize> {
    (0..points.len()).max_by(|a, b| points[*a].1.total_cmp(&points[*b].1))
}

/// The smallest size with half of the highest rate, on straight lines between the points, which have growing sizes. If the first point has
/// as much already, it is the first size.
fn half_size(points: &[(f64, f64)]) -> Option<f64> {
    let half = points[best(points)?].1 / 2.0;
    let above = points.iter().position(|(_, rate)| *rate >= half)?;
    let (size, rate) = points[above];
    let Some((below, low)) = above.checked_sub(1).map(|before| points[before]) else { return Some(size) };
    Some(below + (size - below) * (half - low) / (rate - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_throughput_is_between_two_sizes() {
        // Half of 100 is 50, two thirds of the way from 30 at 64 to 60 at 128.
        let points = [(32.0, 10.0), (64.0, 30.0), (128.0, 60.0), (256.0, 100.0), (512.0, 90.0)];
        assert_eq!(half_size(&points), Some(64.0 + 64.0 * 2.0 / 3.0));
        assert_eq!(half_size(&[(64.0, 50.0), (128.0, 100.0)]), Some(64.0), "a point itself");
    }

    #[test]
    fn a_first_size_with_half_of_it_is_the_answer() {
        assert_eq!(half_size(&[(8.0, 70.0), (16.0, 100.0)]), Some(8.0));
        assert_eq!(half_size(&[(8.0, 70.0)]), Some(8.0));
        assert_eq!(half_size(&[]), None);
    }

    #[test]
    fn it_is_the_first_size_that_counts_where_rates_fall_in_between() {
        let points = [(1.0, 10.0), (2.0, 60.0), (4.0, 20.0), (8.0, 100.0)];
        assert_eq!(half_size(&points), Some(1.0 + 40.0 / 50.0));
    }

    // A layer with a latency of 1,000 ns and 0.5 ns a byte: N/2 is where the bytes take as long as the latency, but for the largest
    // size, which is not infinite.
    #[test]
    fn rows_have_the_medians_and_the_three_figures() {
        let mut curve = Curve::new("x");
        for bytes in (0..=20).map(|power| 1 << power) {
            let ns = 1000.0 + 0.5 * bytes as f64;
            for noise in [0.0, 0.0, 500.0] {
                curve.add(Trip::Half, bytes, ns + noise);
                curve.add(Trip::Exchange, bytes, ns + noise);
            }
        }
        let rows = curve.rows();
        let find = |operation: &str| rows.iter().filter(|row| row.operation == operation).collect::<Vec<_>>();
        assert_eq!((find(HALF_TRIP).len(), find(EXCHANGE).len()), (21, 21));
        assert_eq!(find(LATENCY)[0].median, 1.002);
        assert!((1995.0..2000.0).contains(&find(MOST)[0].median), "2 bytes a nanosecond, nearly");
        let half = find(HALF_SIZE)[0].median;
        assert!((1950.0..2048.0).contains(&half), "{half}");
    }

    #[test]
    fn nothing_measured_is_no_row() {
        assert!(Curve::new("x").rows().is_empty());
    }
}
