//! Tests of the rows: the tables of ci/rows/builds.toml with `pairs` have them, each program meets every setting, and turns are short.

use super::lanes::{BUDGET, TURNS};
use super::plan::takes_part;
use super::rows::{Build, Row, Rows, Table};
use crate::repo::Repo;
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
        let has = |word: &str| build.words.iter().any(|own| own == word);
        let either = |word: &str, other: &str| String::from(if has(word) { word } else { other });
        let segment = if has("large") { "large".into() } else { either("everything", "fast") };
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
    for (a, dimension) in DIMENSIONS.iter().enumerate() {
        if values(a).len() < if a < 2 { 3 } else { 2 } {
            lacks.insert(format!("not all values of {dimension}"));
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

/// What is missing in a table, as text.
fn check(table: &Table) -> String {
    let mut found = String::new();
    let mut judge = |what: String, lacks: BTreeSet<String>| {
        found.extend(lacks.iter().map(|value| format!("{} {what}: {value}\n", table.name)));
    };
    judge("lacks".into(), missing(table));
    for place in 0..table.share {
        let part = table.rows.iter().enumerate().filter(|(at, _)| takes_part(*at, place, table.share));
        let mut lacks = &values(table.rows.iter()) - &values(part.map(|(_, row)| row));
        lacks.retain(|value| !table.shared_out.iter().any(|environment| *value == name(ENVIRONMENT, environment)));
        judge(format!("has, and programs at place {place} do not meet"), lacks);
    }
    found
}

#[test]
fn tables_have_all_pairs_and_programs_meet_all_settings() {
    let mut rows = Rows::read(&Repo::find().unwrap()).unwrap();
    let tables: Vec<&mut Table> = rows.builds.c.iter_mut().filter(|table| !table.pairs.is_empty()).collect();
    assert_eq!(tables.len(), 2);
    for table in tables {
        let found = check(table);
        assert!(found.is_empty(), "{found}");
        table.rows.retain(|row| row.0 != "parsync clang large");
        assert!(check(table).contains("lacks: mode=parsync compiler=clang\n"));
    }
}

#[test]
fn three_turns_in_a_row_try_all_rows() {
    for (row, place) in (0..40).flat_map(|row| (0..12).map(move |place| (row, place))) {
        assert!((place..place + 3).any(|place| takes_part(row, place, 3)));
    }
}

#[test]
fn no_turn_takes_more_than_its_budget() {
    let rows = super::lanes::optional(&Repo::find().unwrap()).unwrap();
    for turn in 0..TURNS {
        let sum: usize = rows.iter().filter(|row| row.turn == turn).map(|row| row.seconds).sum();
        assert!((1..=BUDGET).contains(&sum), "turn {turn} of ci/sections.txt takes {sum} seconds");
    }
}
