//! Which C programs run, in which builds, on how many nodes, how started.

use super::rows::{Build, Rows, Table};
use anyhow::Result;
use std::collections::BTreeSet;

/// One run of a program. Their order is that of the runs: those of one node come first, and go at the same time as others. A run of
/// two nodes has both cores for itself, because a node that waits for its peer must not wait for a third process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    pub weight: usize,
    pub build: Build,
    pub nodes: usize,
    pub how: String,
    pub program: String,
    pub environment: String,
}

pub struct Choice {
    /// Another turn chooses other rows; three in a row choose all.
    pub turn: usize,
    pub thorough: bool,
    pub cores: usize,
    /// PROGRAM, NODES, BUILD; "." and what is not there stand for all.
    pub wish: Vec<String>,
}

/// Whether the program at `place` of its list, counted from the number of the turn on, runs in row number `row` of its table, if `share`
/// programs share the rows. The choice moves on by a row after each ten, so that each program meets all values of each setting on several
/// nodes in each turn.
pub fn takes_part(row: usize, place: usize, share: usize) -> bool {
    row == 0 || (row + row / 10 + place).is_multiple_of(share.max(1))
}

impl Choice {
    /// All runs of the section `c`: a share of the pairs for each program; all of them, and products, if runs are named or with --thorough.
    pub fn c(&self, rows: &Rows) -> Result<BTreeSet<Run>> {
        let whole = self.thorough || !self.wish.is_empty();
        let mut all = BTreeSet::new();
        for table in rows.builds.c.iter().filter(|table| whole || !table.thorough) {
            all.extend(self.table(rows, table, if whole { 1 } else { table.share })?);
        }
        Ok(all)
    }

    pub fn table(&self, rows: &Rows, table: &Table, share: usize) -> Result<BTreeSet<Run>> {
        let wish = |at: usize| self.wish.get(at).map_or(".", String::as_str);
        let is = |wish: &str, value: &str| wish == "." || wish == value;
        let mut runs = BTreeSet::new();
        for list in &table.programs {
            for (at, program) in rows.names(list)?.enumerate().filter(|(_, name)| is(wish(0), name)) {
                let mine = |(row, _): &(usize, _)| takes_part(*row, self.turn + at + 1, share);
                for (_, row) in table.rows.iter().enumerate().filter(mine) {
                    for build in
                        Build::all(&row.0).into_iter().filter(|build| wish(2) == "." || build.is_called(wish(2)))
                    {
                        for nodes in row.1.split(' ').filter(|nodes| is(wish(1), nodes)) {
                            let nodes: usize = nodes.parse()?;
                            runs.extend(row.2.split(' ').map(|how| Run {
                                weight: nodes.min(self.cores),
                                build: build.clone(),
                                nodes,
                                how: how.into(),
                                program: program.into(),
                                environment: row.3.clone(),
                            }));
                        }
                    }
                }
            }
        }
        Ok(runs)
    }
}
