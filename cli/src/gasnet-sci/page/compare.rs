//! Verdicts: our rows compared with the peers' and with the targets.

use super::model::{Bench, Row};

/// The library whose rows are compared with the peers'.
pub const OURS: &str = "gasnet-sci native";

/// Differences smaller than this count as none, because rounds differ by more.
const EVEN: f64 = 0.05;

/// Which library has the better median.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Ahead,
    Even,
    Behind,
}

impl Verdict {
    /// The verdict in one word.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Ahead => "ahead",
            Verdict::Even => "even",
            Verdict::Behind => "behind",
        }
    }
}

/// An operation at one size that we and at least one peer can do.
pub struct Cell<'a> {
    pub ours: &'a Row,
    /// In the order of the file.
    pub peers: Vec<&'a Row>,
    /// The best row of the peers.
    pub best: &'a Row,
    /// How many times better than `best` our row is. Below 1, `best` is better.
    pub factor: f64,
    pub verdict: Verdict,
}

/// All cells, in the order of our rows.
pub fn cells(bench: &Bench) -> Vec<Cell<'_>> {
    bench.results.iter().filter(|row| row.who == OURS).filter_map(|ours| cell(bench, ours)).collect()
}

fn cell<'a>(bench: &'a Bench, ours: &'a Row) -> Option<Cell<'a>> {
    let peers: Vec<&Row> = bench.results.iter().filter(|row| row.is_peer() && row.comparable(ours)).collect();
    let factor = |peer: &Row| match ours.more_is_better() {
        true => ours.median / peer.median,
        false => peer.median / ours.median,
    };
    let best = *peers.iter().min_by(|a, b| factor(a).total_cmp(&factor(b)))?;
    let factor = factor(best);
    let verdict = match factor {
        f if f >= 1.0 + EVEN => Verdict::Ahead,
        f if f >= 1.0 / (1.0 + EVEN) => Verdict::Even,
        _ => Verdict::Behind,
    };
    Some(Cell { ours, peers, best, factor, verdict })
}

/// A row that has a target, and whether it reaches the target.
pub struct Goal<'a> {
    pub row: &'a Row,
    pub target: f64,
    pub met: bool,
}

/// All rows with targets, in the order of the file.
pub fn goals<'a>(bench: &'a Bench) -> Vec<Goal<'a>> {
    let goal = |row: &'a Row| {
        let (target, value) = (row.target?, row.ratio.unwrap_or(row.median));
        let met = if row.more_is_better() { value >= target } else { value <= target };
        Some(Goal { row, target, met })
    };
    bench.results.iter().filter_map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::{bench, row};
    use super::*;

    #[test]
    fn the_best_peer_decides_and_the_unit_says_which_way() {
        let bench = bench(vec![
            row(OURS, "trip", 8, "us", 1.0),
            row("slow", "trip", 8, "us", 3.0),
            row("fast", "trip", 8, "us", 0.5),
            row(OURS, "flood", 8, "MB/s", 100.0),
            row("slow", "flood", 8, "MB/s", 50.0),
            row("limit", "flood", 8, "MB/s", 500.0),
            row("gasnet-sci ref", "flood", 8, "MB/s", 500.0),
            row(OURS, "alone", 8, "us", 1.0),
        ]);
        let cells = cells(&bench);
        let seen: Vec<_> = cells.iter().map(|cell| (cell.best.who.as_str(), cell.factor, cell.verdict)).collect();
        assert_eq!(seen, [("fast", 0.5, Verdict::Behind), ("slow", 2.0, Verdict::Ahead)]);
    }

    #[test]
    fn small_differences_are_even() {
        for (theirs, verdict) in
            [(1.06, Verdict::Ahead), (1.04, Verdict::Even), (0.96, Verdict::Even), (0.94, Verdict::Behind)]
        {
            let bench = bench(vec![row(OURS, "x", 8, "us", 1.0), row("peer", "x", 8, "us", theirs)]);
            assert_eq!(cells(&bench)[0].verdict, verdict, "{theirs}");
        }
    }

    #[test]
    fn targets_are_of_the_ratio_or_of_the_median() {
        let with = |unit, median, ratio, target| Row { ratio, target: Some(target), ..row(OURS, "x", 8, unit, median) };
        let bench = bench(vec![
            with("us", 9.0, Some(1.1), 1.15),
            with("us", 9.0, None, 8.0),
            with("MB/s", 9.0, Some(0.96), 0.95),
            with("MB/s", 9.0, Some(0.94), 0.95),
            with("share", 0.9, None, 0.8),
            with("times", 0.9, None, 0.8),
            row(OURS, "y", 8, "us", 1.0),
        ]);
        let met: Vec<bool> = goals(&bench).iter().map(|goal| goal.met).collect();
        assert_eq!(met, [true, false, true, false, true, false]);
    }
}
