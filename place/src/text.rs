//! The answer as text.
//!
//! Must not know: how a mapping is found.

use super::cost::Busiest;
use super::machine::Machine;
use super::paint::{GOOD, HEAD, WARN};
use super::report::{HeavyPair, Report, Verdict};
use std::io::{self, Write};

/// Writes it.
pub fn write(out: &mut (impl Write + ?Sized), report: &Report) -> io::Result<()> {
    let (matrix, machine) = (report.matrix, report.machine);
    writeln!(
        out,
        "{}: {} positions, costs by {}; {} ranks{}",
        machine.topology,
        machine.positions(),
        machine.model,
        matrix.ranks,
        matrix.program.as_ref().map_or(String::new(), |program| format!(" of {program}")),
    )?;
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))?;
    writeln!(
        out,
        "\n{HEAD}{:<10} {:>14} {:>14} {:>14}   busiest link{HEAD:#}",
        "", "cost us", "writes us", "reads us"
    )?;
    for mapping in &report.mappings {
        let [writes, reads] = mapping.bill.sums();
        let busiest = mapping.bill.busiest(machine).map_or("none".into(), |busiest| link(machine, &busiest));
        writeln!(
            out,
            "{:<10} {:>14} {:>14} {:>14}   {busiest}",
            mapping.name,
            us(mapping.bill.cost()),
            us(writes),
            us(reads)
        )?;
    }
    verdict(out, report)?;
    pairs(out, &report.pairs)?;
    let ranks: Vec<String> = (0..matrix.ranks).map(|rank| rank.to_string()).collect();
    moves(out, "rank", &ranks, [&report.present().at, &report.proposal().at], machine)
}

/// Microseconds, to the ns.
pub fn us(ns: f64) -> String {
    format!("{:.3}", ns / 1e3)
}

/// A link, its load and its time.
pub fn link(machine: &Machine, busiest: &Busiest) -> String {
    let link = &machine.shape.links()[busiest.link];
    format!("{} -> {}: {:.0} bytes, {} us", link.from, link.to, busiest.bytes, us(busiest.ns))
}

/// What the search found, as sentences on lines of their own.
pub fn verdict(out: &mut (impl Write + ?Sized), report: &Report) -> io::Result<()> {
    let Verdict { verdict, has_fixed, gain, min_gain, bound, proved, iterations, nodes, tried, cut, .. } =
        &report.verdict;
    match *verdict {
        "equal" => {
            return writeln!(
                out,
                "\n{GOOD}all equal{GOOD:#}: every mapping costs the same, so ranks may stay where they are"
            );
        }
        "stay" if *gain <= 0.0 => writeln!(out, "\n{GOOD}stay{GOOD:#}: no better mapping was found")?,
        "stay" => writeln!(
            out,
            "\n{GOOD}stay{GOOD:#}: the best mapping found is better by {gain:.2} %, which is below {min_gain} %"
        )?,
        "fixed" => writeln!(out, "\n{WARN}the fixed ranks cost {:.2} % more{WARN:#} than the present mapping", -gain)?,
        _ => writeln!(out, "\n{WARN}the proposal is better{WARN:#} than the present mapping by {gain:.2} %")?,
    }
    let work = match (tried, nodes) {
        (0, 0) => format!("{iterations} iterations"),
        (0, _) => format!("{iterations} iterations, {nodes} nodes of the exact search"),
        (1, _) => "the processes stay".into(),
        _ if *proved => format!("all {tried} arrangements of the processes tried"),
        _ => format!("{tried} arrangements of the processes tried"),
    };
    let allowed = if *has_fixed { " with these fixed ranks" } else { "" };
    match bound {
        _ if *proved => writeln!(out, "proved: no mapping{allowed} is better ({work})")?,
        Some(bound) => writeln!(out, "no mapping costs less than {} us; not proved best ({work})", us(*bound))?,
        None => writeln!(out, "not proved best ({work})")?,
    }
    if *cut && !*proved {
        writeln!(out, "--seconds ended the search: another run may find another mapping")?;
    }
    Ok(())
}

fn pairs(out: &mut (impl Write + ?Sized), pairs: &[HeavyPair]) -> io::Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{HEAD}{:<16} {:>14} {:>14}{HEAD:#}", "heaviest pairs", "before us", "after us")?;
    for pair in pairs {
        let name = format!("{} - {}", pair.from, pair.to);
        writeln!(out, "{name:<16} {:>14} {:>14}", us(pair.before), us(pair.after))?;
    }
    Ok(())
}

/// Who moves where.
pub fn moves(
    out: &mut (impl Write + ?Sized),
    what: &str,
    names: &[impl AsRef<str>],
    [now, then]: [&[usize]; 2],
    machine: &Machine,
) -> io::Result<()> {
    let moved: Vec<usize> = (0..now.len()).filter(|at| now[*at] != then[*at]).collect();
    if moved.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{HEAD}{what:<16} {:>16} {:>16}{HEAD:#}", "now", "then")?;
    for at in moved {
        let places = [now, then].map(|list| machine.places[list[at]].to_string());
        writeln!(out, "{:<16} {:>16} {:>16}", names[at].as_ref(), places[0], places[1])?;
    }
    Ok(())
}
