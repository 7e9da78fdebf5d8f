//! Prints the tables to a terminal.

use super::compare::{self, Verdict};
use super::model::Bench;
use super::{show, timed};
use gasnet_sci_place::paint::{BAD, GOOD, HEAD};
use std::io::{self, Write};

/// Writes the table of targets, if there are any, then our results beside the peers', if there are any.
pub fn write(out: &mut impl Write, bench: &Bench) -> io::Result<()> {
    let host = &bench.host;
    writeln!(
        out,
        "gasnet-sci {}: {}, {} cores, Linux {}, {} rounds",
        host.library, host.cpu, host.cores, host.kernel, bench.rounds
    )?;
    write_goals(out, bench)?;
    write_cells(out, bench)?;
    timed::summary(bench).map_or(Ok(()), |text| writeln!(out, "{text}"))
}

fn write_goals(out: &mut impl Write, bench: &Bench) -> io::Result<()> {
    let goals = compare::goals(bench);
    if goals.is_empty() {
        return Ok(());
    }
    let head = ["target for", "who", "nodes", "bytes", "median", "of limit", "target", ""];
    writeln!(out)?;
    write!(out, "{HEAD}")?;
    goal_line(out, head.map(String::from))?;
    write!(out, "{HEAD:#}")?;
    for goal in &goals {
        let row = goal.row;
        let cells = [
            row.operation.clone(),
            row.who.clone(),
            row.nodes.to_string(),
            row.bytes.to_string(),
            format!("{} {}", show::number(row.median), row.unit),
            row.ratio.map_or("-".into(), show::number),
            format!("{} {}", if row.more_is_better() { ">=" } else { "<=" }, show::number(goal.target)),
            if goal.met { format!("{GOOD}met{GOOD:#}") } else { format!("{BAD}MISSED{BAD:#}") },
        ];
        goal_line(out, cells)?;
    }
    writeln!(out, "{} of {} targets met", goals.iter().filter(|goal| goal.met).count(), goals.len())
}

fn goal_line(out: &mut impl Write, cells: [String; 8]) -> io::Result<()> {
    let [operation, who, nodes, bytes, median, ratio, target, met] = cells;
    let line = format!("{operation:<36} {who:<18} {nodes:>5} {bytes:>9} {median:>14} {ratio:>9} {target:>10}  {met}");
    writeln!(out, "{}", line.trim_end())
}

fn write_cells(out: &mut impl Write, bench: &Bench) -> io::Result<()> {
    let cells = compare::cells(bench);
    if cells.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:<26} {:>5} {:>9} {:>5} {:>10} {:>10}  {:<8} {:>7}",
        "beside peers", "nodes", "bytes", "unit", "ours", "best peer", "", "factor"
    )?;
    for cell in &cells {
        let (ours, best) = (cell.ours, cell.best);
        writeln!(
            out,
            "{:<26} {:>5} {:>9} {:>5} {:>10} {:>10}  {:<8} {:>7.2}  {}",
            show::beside(&ours.operation),
            ours.nodes,
            ours.bytes,
            ours.unit,
            show::number(ours.median),
            show::number(best.median),
            best.who,
            cell.factor,
            if cell.verdict == Verdict::Behind { "BEHIND" } else { cell.verdict.word() }
        )?;
    }
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    writeln!(
        out,
        "{} cells: ahead of every peer in {}, even (within 5 %) in {}, behind in {}; factor: how many times better ours is",
        cells.len(),
        count(Verdict::Ahead),
        count(Verdict::Even),
        count(Verdict::Behind)
    )
}
