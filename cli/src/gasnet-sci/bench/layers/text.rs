//! The layers as text: the paper's table.

use super::LAYERS;
use super::curve::{HALF_SIZE, LATENCY, MOST};
use crate::results::{Bench, Row};
use std::io::{self, Write};

/// Writes the table, and a line for each layer that is missing.
pub fn write(out: &mut dyn Write, report: &Bench) -> io::Result<()> {
    let host = &report.host;
    writeln!(out, "gasnet-sci {}: {}, {} cores, Linux {}", host.library, host.cpu, host.cores, host.kernel)?;
    writeln!(
        out,
        "Two processes with a core each; medians of {} rounds, the layers in turns. latency: half a round trip of 4 bytes.",
        report.rounds
    )?;
    writeln!(
        out,
        "throughput: the most that goes each way while both send, messages of 1 B to 1 MiB. N/2: the size with half"
    )?;
    writeln!(out, "of it. x: beside HAL; there: the same in the ParaStation2 paper (Pentium II, 350 MHz).\n")?;
    let head = ["layer", "latency us", "x", "there", "MB/s", "x", "there", "N/2 B", "x", "there"];
    line(out, head.map(String::from))?;
    let find = |who: &str, operation: &str| {
        report.results.iter().find(|row: &&Row| row.who == who && row.operation == operation).map(|row| row.median)
    };
    let paper = LAYERS[0].1.as_ref();
    for (who, there) in &LAYERS {
        let three = [LATENCY, MOST, HALF_SIZE].map(|operation| (find(who, operation), find(LAYERS[0].0, operation)));
        let theirs = [0, 1, 2].map(|index| {
            let of = |paper: &super::Paper| [paper.latency, paper.rate, paper.half][index];
            Some(of(there.as_ref()?) / of(paper?))
        });
        if three[0].0.is_none() {
            continue;
        }
        let quotient = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
        let mut cells = vec![who.to_string()];
        for (index, (ours, first)) in three.into_iter().enumerate() {
            let digits = if index == 0 { 3 } else { 0 };
            cells.push(ours.map_or(String::new(), |value| format!("{value:.digits$}")));
            cells.push(quotient(ours.zip(first).map(|(ours, first)| ours / first)));
            cells.push(quotient(theirs[index]));
        }
        line(out, cells.try_into().expect("ten cells"))?;
    }
    report.missing.iter().try_for_each(|layer| writeln!(out, "{layer}"))
}

fn line(out: &mut dyn Write, cells: [String; 10]) -> io::Result<()> {
    let [layer, rest @ ..] = cells;
    write!(out, "{layer:<14}")?;
    for (place, cell) in rest.iter().enumerate() {
        let width = if place % 3 == 0 { 11 } else { 7 };
        write!(out, "{cell:>width$}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Host, VERSION};

    #[test]
    fn the_table_has_quotients_and_says_what_is_missing() {
        let row =
            |who: &str, operation: &str, unit: &str, value: f64| Row::of("layers", operation, who, 2, unit, &[value]);
        let of = |who: &str, factor: f64| {
            [
                row(who, LATENCY, "us", 0.2 * factor),
                row(who, MOST, "MB/s", 9e3 / factor),
                row(who, HALF_SIZE, "B", 512.0),
            ]
        };
        let host = Host { cpu: "c".into(), cores: 2, kernel: "k".into(), library: "l".into() };
        let results = of("HAL", 1.0).into_iter().chain(of("ports", 1.5)).collect();
        let missing = vec!["PVM: no pvmd".into()];
        let mut out = Vec::new();
        write(&mut out, &Bench { version: VERSION, host, tricks: None, rounds: 1, results, missing }).unwrap();
        let text = String::from_utf8(out).unwrap();
        let words = |name: &str| -> Vec<&str> {
            text.lines().find(|line| line.starts_with(name)).unwrap().split_whitespace().collect()
        };
        assert_eq!(words("ports")[1..], ["0.300", "1.50", "1.29", "6000", "0.67", "0.87", "512", "1.00", "1.95"]);
        assert!(text.ends_with("\nPVM: no pvmd\n") && !text.contains("MPI"), "{text}");
    }
}
