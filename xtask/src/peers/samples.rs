//! The samples, and the rows that are made from them. For a peer with
//! several ways, the row is that of the way with the best median. Only gasnet-sci's rows name limits.

use crate::results::{Row, Spread};
use std::collections::{BTreeMap, HashMap};

/// Cells in which we want to be so many times faster than a peer: operation, bytes, peer, times. The target is a bound of our
/// median, because these cells have no limit of their own.
const TARGETS: [(&str, usize, &str, f64); 4] = [
    ("reduce to all", 8, "openmpi", 1.2),
    ("short message round trip, two hosts", 8, "openmpi", 1.0),
    ("long message flood, two hosts", 64 << 10, "openmpi", 1.0),
    ("long message flood, two hosts", 1 << 20, "openmpi", 1.0),
];

/// One measured value of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The way, of a peer or our own.
    pub how: String,
    /// The library; "limit" for what the hardware can do.
    pub who: String,
    pub section: String,
    pub operation: String,
    pub nodes: usize,
    pub bytes: usize,
    pub unit: String,
    pub value: f64,
}

impl Sample {
    /// Reads a line of a program of c-tests/peers: WHO|SECTION|OPERATION|NODES|BYTES|UNIT|VALUE.
    pub fn parse(how: &str, line: &str) -> Option<Sample> {
        let fields: Vec<&str> = line.split('|').collect();
        let [who, section, operation, nodes, bytes, unit, value] = fields[..] else { return None };
        Some(Sample {
            how: how.into(),
            who: who.into(),
            section: section.into(),
            operation: operation.into(),
            nodes: nodes.trim().parse().ok()?,
            bytes: bytes.trim().parse().ok()?,
            unit: unit.into(),
            value: value.trim().parse().ok()?,
        })
    }
}

/// The key by which rows are sorted: the operation's place in the order of measuring, then nodes, bytes, unit and
/// library.
type Cell = (usize, usize, usize, String, String);

#[derive(Default)]
pub struct Samples {
    all: Vec<Sample>,
}

/// The best way of one library in one cell.
struct Best {
    sample: Sample,
    values: Vec<f64>,
    median: f64,
}

impl Samples {
    pub fn add(&mut self, sample: Sample) {
        self.all.push(sample);
    }

    /// Whether this way has ever given a sample.
    pub fn has(&self, how: &str) -> bool {
        self.all.iter().any(|sample| sample.how == how)
    }

    /// The rows of the file of results.
    pub fn results(&self) -> Vec<Row> {
        let best = self.best();
        let row = |(cell, found): (&Cell, &Best)| {
            let sample = &found.sample;
            let limit_cell = (cell.0, cell.1, cell.2, cell.3.clone(), "limit".to_owned());
            let limit = best.get(&limit_cell).filter(|_| sample.who.starts_with("gasnet-sci"));
            let target = TARGETS.iter().find_map(|&(operation, bytes, peer, times)| {
                let wanted =
                    sample.who.starts_with("gasnet-sci") && sample.operation == operation && sample.bytes == bytes;
                let beside = best.get(&(cell.0, cell.1, cell.2, cell.3.clone(), peer.to_owned())).filter(|_| wanted)?;
                let times = if sample.unit == "MB/s" { 1.0 / times } else { times };
                Some((beside.median / times * 1e4).round() / 1e4)
            });
            // `gasnet-sci bench` measures operations with the same names in another way, each with its own limit.
            let same_name = matches!(sample.section.as_str(), "rma" | "barrier" | "coll" | "hosts");
            let beside = if same_name { ", beside peers" } else { "" };
            let limit = limit.map(|limit| limit.median);
            let operation = format!("{}{beside}", sample.operation);
            let row =
                Row::of(&sample.section, &operation, &sample.who, sample.nodes as u32, &sample.unit, &found.values);
            Row {
                bytes: sample.bytes as u64,
                limit: limit.map(|_| limit_name(&sample.operation).into()),
                limit_median: limit,
                ratio: limit.map(|limit| (row.median / limit * 1e4).round() / 1e4),
                target,
                how: Some(sample.how.clone()),
                ..row
            }
        };
        best.iter().map(row).collect()
    }

    fn best(&self) -> BTreeMap<Cell, Best> {
        let mut places: HashMap<(&str, &str), usize> = HashMap::new();
        let mut ways: BTreeMap<(Cell, &str), Vec<&Sample>> = BTreeMap::new();
        for sample in &self.all {
            let next = places.len();
            let place = *places.entry((&sample.section, &sample.operation)).or_insert(next);
            let cell = (place, sample.nodes, sample.bytes, sample.unit.clone(), sample.who.clone());
            ways.entry((cell, &sample.how)).or_default().push(sample);
        }
        let mut best: BTreeMap<Cell, Best> = BTreeMap::new();
        for ((cell, _), samples) in ways {
            let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
            let found = Best { sample: samples[0].clone(), median: Spread::of(&values).median, values };
            let more_is_better = found.sample.unit == "MB/s";
            let better = best.get(&cell).is_none_or(|so_far| match more_is_better {
                true => found.median > so_far.median,
                false => found.median < so_far.median,
            });
            if better {
                best.insert(cell, found);
            }
        }
        best
    }
}

/// The name of the limit that an operation is compared with.
fn limit_name(operation: &str) -> &'static str {
    let round_trip = operation.contains("round trip");
    if round_trip && (operation.starts_with("medium") || operation.starts_with("long")) {
        "copy and a word, there and back"
    } else if round_trip || operation.starts_with("barrier") {
        "bare line round trip"
    } else {
        "plain copy"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(lines: &[(&str, &str)]) -> Vec<Row> {
        let mut samples = Samples::default();
        lines.iter().for_each(|(how, line)| samples.add(Sample::parse(how, line).unwrap()));
        samples.results()
    }

    #[test]
    fn the_best_way_of_a_peer_counts() {
        let rows = samples(&[
            ("a", "peer|rma|put flood|2|64|MB/s|10"),
            ("a", "peer|rma|put flood|2|64|MB/s|30"),
            ("b", "peer|rma|put flood|2|64|MB/s|25"),
            ("c", "peer|rma|put flood|2|64|MB/s|5"),
        ]);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].how.as_deref(), rows[0].median), (Some("b"), 25.0));
        assert_eq!(rows[0].operation, "put flood, beside peers");
    }

    #[test]
    fn we_are_compared_with_the_limit_of_the_same_cell() {
        let rows = samples(&[
            ("gasnet-sci", "gasnet-sci|am|medium message round trip|2|64|us|3"),
            ("gasnet-sci", "limit|am|medium message round trip|2|64|us|2"),
            ("a", "peer|am|medium message round trip|2|64|us|4"),
        ]);
        let ours = rows.iter().find(|row| row.who == "gasnet-sci").unwrap();
        assert_eq!((ours.ratio, ours.limit.as_deref()), (Some(1.5), Some("copy and a word, there and back")));
        let peer = rows.iter().find(|row| row.who == "peer").unwrap();
        assert!(peer.limit.is_none() && peer.ratio.is_none());
    }

    #[test]
    fn reduce_to_all_of_a_word_is_to_be_faster_than_open_mpi() {
        let rows = samples(&[
            ("gasnet-sci", "gasnet-sci|coll|reduce to all|4|8|us|3"),
            ("a", "openmpi|coll|reduce to all|4|8|us|6"),
            ("a", "openmpi|coll|reduce to all|2|8|us|1.2"),
            ("gasnet-sci", "gasnet-sci|coll|reduce to all|4|64|us|3"),
            ("a", "openmpi|coll|reduce to all|4|64|us|6"),
        ]);
        let targets: Vec<f64> = rows.iter().filter_map(|row| row.target).collect();
        assert_eq!(targets, [5.0], "that of the same number of nodes, for ours alone");
    }

    #[test]
    fn other_lines_are_no_samples() {
        assert_eq!(Sample::parse("a", "PASS"), None);
        assert_eq!(Sample::parse("a", "peer|rma|put|2|64|MB/s"), None);
    }
}
