//! Decides which rows make which chart.

use super::model::{Bench, Row};
use super::show;

/// The quantity on a chart's horizontal axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    Bytes,
    Nodes,
}

/// One chart: an operation over sizes, or over numbers of nodes.
pub struct Chart {
    pub title: String,
    pub unit: String,
    /// Number of nodes, if the axis is the size.
    pub nodes: Option<u32>,
    pub axis: Axis,
    pub more_is_better: bool,
    pub series: Vec<Series>,
}

/// One line of a chart.
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
}

/// One value; `x` is in bytes or nodes.
#[derive(Clone, Copy)]
pub struct Point {
    pub x: u64,
    /// A level that all larger values should reach.
    pub is_level: bool,
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// The charts and bars of one section of the results.
pub struct Section<'a> {
    pub name: String,
    pub charts: Vec<Chart>,
    /// Operations with too few values for a curve: the rows of each, to be shown as bars.
    pub singles: Vec<Vec<&'a Row>>,
}

/// The least number of values that make a curve.
const CURVE: usize = 3;

/// All sections, in the order of the file. The section of the bare hardware comes last, because the other charts show
/// it too.
pub fn sections(bench: &Bench) -> Vec<Section<'_>> {
    let mut names: Vec<&String> = distinct(bench.results.iter().map(|row| &row.section)).collect();
    names.sort_by_key(|name| *name == "limit");
    names
        .into_iter()
        .map(|name| section(name, bench.results.iter().filter(|row| &row.section == name).collect()))
        .collect()
}

fn section<'a>(name: &str, rows: Vec<&'a Row>) -> Section<'a> {
    let mut section = Section { name: name.into(), charts: Vec::new(), singles: Vec::new() };
    for operation in distinct(rows.iter().map(|row| (&row.operation, &row.unit))) {
        let of: Vec<&Row> = rows.iter().copied().filter(|row| (&row.operation, &row.unit) == operation).collect();
        let nodes: Vec<u32> = sorted(of.iter().map(|row| row.nodes));
        let mut rest = Vec::new();
        if nodes.len() >= CURVE && sorted(of.iter().map(|row| row.bytes)).len() < CURVE {
            for bytes in sorted(of.iter().map(|row| row.bytes)) {
                let rows: Vec<&Row> = of.iter().copied().filter(|row| row.bytes == bytes).collect();
                let mut chart = chart(&rows, Axis::Nodes);
                if bytes > 0 {
                    chart.title = format!("{}, {}", chart.title, show::bytes(bytes));
                }
                section.charts.push(chart);
            }
        } else {
            for nodes in nodes {
                let rows: Vec<&Row> = of.iter().copied().filter(|row| row.nodes == nodes).collect();
                if sorted(rows.iter().map(|row| row.bytes)).len() >= CURVE {
                    section.charts.push(chart(&rows, Axis::Bytes));
                } else {
                    rest.extend(rows);
                }
            }
        }
        if !rest.is_empty() {
            section.singles.push(rest);
        }
    }
    section
}

fn chart(rows: &[&Row], axis: Axis) -> Chart {
    let x = |row: &Row| if axis == Axis::Bytes { row.bytes } else { u64::from(row.nodes) };
    let mut series: Vec<Series> = Vec::new();
    let mut add = |name: &str, point: Point| {
        let found = series.iter_mut().find(|series| series.name == name);
        match found {
            Some(series) if series.points.iter().all(|other| other.x != point.x) => series.points.push(point),
            Some(_) => {}
            None => series.push(Series { name: name.into(), points: vec![point] }),
        }
    };
    // The limit is shown from rows of its own, or else from what our rows say it was.
    let has_limit = rows.iter().any(|row| row.who == "limit");
    for row in rows {
        add(&row.who, Point { x: x(row), is_level: row.level, median: row.median, low: row.low, high: row.high });
        if let (Some(name), Some(limit), false) = (&row.limit, row.limit_median, has_limit) {
            add(
                &format!("limit: {name}"),
                Point { x: x(row), is_level: false, median: limit, low: limit, high: limit },
            );
        }
    }
    for series in &mut series {
        // A logarithmic scale has no place for values that are not positive.
        series.points.retain(|point| point.x > 0 && point.median > 0.0);
        series.points.sort_by_key(|point| point.x);
    }
    series.retain(|series| !series.points.is_empty());
    let first = rows[0];
    Chart {
        title: first.operation.clone(),
        unit: first.unit.clone(),
        nodes: (axis == Axis::Bytes).then_some(first.nodes),
        axis,
        more_is_better: first.more_is_better(),
        series,
    }
}

// Each value once, in the order of appearance.
fn distinct<T: PartialEq + Copy>(values: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen.into_iter()
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::{bench, row};
    use super::*;

    #[test]
    fn three_sizes_make_a_curve_and_fewer_do_not() {
        let mut rows: Vec<Row> = [64, 8, 512].map(|bytes| row("a", "curve", bytes, "us", bytes as f64)).into();
        rows.extend([8, 64].map(|bytes| row("a", "pair", bytes, "us", 1.0)));
        let bench = bench(rows);
        let sections = sections(&bench);
        assert_eq!((sections.len(), sections[0].charts.len(), sections[0].singles.len()), (1, 1, 1));
        let xs: Vec<u64> = sections[0].charts[0].series[0].points.iter().map(|point| point.x).collect();
        assert_eq!(xs, [8, 64, 512]);
    }

    #[test]
    fn numbers_of_nodes_make_a_curve() {
        let bench =
            bench([2, 4, 8].map(|nodes| Row { nodes, ..row("a", "barrier", 0, "us", 1.0) }).into_iter().collect());
        let sections = sections(&bench);
        assert!(sections[0].charts[0].axis == Axis::Nodes && sections[0].charts[0].series[0].points.len() == 3);
    }

    #[test]
    fn a_limit_that_only_rows_name_is_drawn_once() {
        let limited = |who, bytes| Row {
            limit: Some("memcpy".into()),
            limit_median: Some(2.0),
            ..row(who, "put", bytes, "us", 1.0)
        };
        let rows = [8, 64, 512].into_iter().flat_map(|bytes| [limited("a", bytes), limited("b", bytes)]).collect();
        let bench = bench(rows);
        let sections = sections(&bench);
        let names: Vec<_> = sections[0].charts[0].series.iter().map(|s| (s.name.as_str(), s.points.len())).collect();
        assert_eq!(names, [("a", 3), ("limit: memcpy", 3), ("b", 3)]);
    }

    #[test]
    fn what_a_logarithm_cannot_show_is_left_out() {
        let bench = bench([8, 64, 512].map(|bytes| row("a", "x", bytes, "us", 0.0)).into());
        assert!(sections(&bench)[0].charts[0].series.is_empty());
    }
}
