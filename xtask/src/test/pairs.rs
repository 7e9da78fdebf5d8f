//! Whether the tables of ci/rows/builds.toml with `pairs` have them, and each program meets every setting.

use super::plan::takes_part;
use super::rows::{Build, Row, Table};
use std::collections::BTreeSet;

/// Values of the dimensions of a run, in this order.
const DIMENSIONS: [&str; 8] = ["mode", "segment", "debug", "compiler", "static", "nodes", "start", "environment"];
const NODES: usize = 5;
const ENVIRONMENT: usize = 7;

type Values = [String; 8];

/// The runs that a row stands for.
fn dimensions(row: &Row) -> Vec<Values> {
    let mut all = Vec::new();
    for build in Build::all(&row.0) {
        let either = |word: &str, other: &str| String::from(if build.has(word) { word } else { other });
        let segment = if build.has("large") { "large".into() } else { either("everything", "fast") };
        for nodes in row.1.split(' ') {
            let many = nodes.parse().is_ok_and(|nodes: usize| nodes > 4);
            let nodes = if many { "many" } else { nodes };
            all.extend(row.2.split(' ').map(|start| {
                let (debug, compiler, linked) =
                    (either("debug", "release"), either("clang", "gcc"), either("static", "shared"));
                [
                    build.mode.clone(),
                    segment.clone(),
                    debug,
                    compiler,
                    linked,
                    nodes.into(),
                    start.into(),
                    row.3.clone(),
                ]
            }));
        }
    }
    all
}

fn name(dimension: usize, value: &str) -> String {
    format!("{}={value}", DIMENSIONS[dimension])
}

/// The pairs that a table lacks: of any two dimensions every value with every value; of numbers of nodes and environments those of `pairs`.
fn missing(table: &Table) -> BTreeSet<String> {
    let runs: Vec<Values> = table.rows.iter().flat_map(dimensions).collect();
    let values = |dimension: usize| runs.iter().map(|run| run[dimension].clone()).collect::<BTreeSet<String>>();
    let mut wanted = Vec::new();
    let mut lacks = BTreeSet::new();
    for a in 0..DIMENSIONS.len() {
        if values(a).len() < if a < 2 { 3 } else { 2 } {
            lacks.insert(format!("not all values of {}", DIMENSIONS[a]));
        }
        for b in (a + 1..DIMENSIONS.len()).filter(|b| (a, *b) != (NODES, ENVIRONMENT)) {
            wanted.extend(values(a).iter().flat_map(|x| values(b).into_iter().map(move |y| (a, x.clone(), b, y))));
        }
    }
    for (environment, nodes) in &table.pairs {
        wanted.extend(nodes.split(' ').map(|nodes| (NODES, nodes.into(), ENVIRONMENT, environment.clone())));
    }
    let lacking = wanted.iter().filter(|(a, x, b, y)| !runs.iter().any(|run| run[*a] == *x && run[*b] == *y));
    lacks.extend(lacking.map(|(a, x, b, y)| name(*a, x) + " " + &name(*b, y)));
    lacks
}

/// Values that runs on several nodes have, of these rows.
fn values<'a>(rows: impl Iterator<Item = &'a Row>) -> BTreeSet<String> {
    let runs = rows.flat_map(dimensions).filter(|run| run[NODES] != "1");
    runs.flat_map(|run| (0..run.len()).map(|at| name(at, &run[at])).collect::<Vec<_>>()).collect()
}

/// One text for each check: nothing, or what is missing.
pub fn check(tables: &[Table]) -> Vec<String> {
    let mut found = Vec::new();
    let mut judge = |what: String, lacks: BTreeSet<String>| {
        let lines = Vec::from_iter(lacks).join("\n    ");
        found.push(if lines.is_empty() { lines } else { format!("FAILED: pairs: {what}:\n    {lines}") });
    };
    for table in tables.iter().filter(|table| !table.pairs.is_empty()) {
        judge(format!("{} lacks", table.name), missing(table));
        for place in 0..table.share {
            let part = table.rows.iter().enumerate().filter(|(at, _)| takes_part(*at, place, table.share));
            let mut lacks = &values(table.rows.iter()) - &values(part.map(|(_, row)| row));
            lacks.retain(|value| !table.shared_out.iter().any(|environment| *value == name(ENVIRONMENT, environment)));
            judge(format!("programs at place {place} do not meet, of {}", table.name), lacks);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::rows::Rows;
    use super::*;
    use crate::repo::Repo;

    #[test]
    fn a_table_without_one_of_its_rows_lacks_pairs() {
        let mut rows = Rows::read(&Repo::find().unwrap()).unwrap();
        assert!(check(&rows.builds.c).iter().all(String::is_empty));
        // No other row has clang's shared library of segment mode large under these settings.
        rows.builds.c[0].rows.retain(|row| row.0 != "parsync clang large");
        let found = check(&rows.builds.c);
        assert!(found[0].contains("lacks") && found[0].contains("mode=parsync compiler=clang"), "{found:?}");
    }

    #[test]
    fn three_turns_in_a_row_try_all_rows() {
        for (row, place) in (0..40).flat_map(|row| (0..12).map(move |place| (row, place))) {
            assert!((place..place + 3).any(|place| takes_part(row, place, 3)));
        }
    }
}
