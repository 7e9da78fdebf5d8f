//! The result as text: a table per section, then the targets.

use crate::results::{Bench, Row};
use gasnet_sci_place::paint::{BAD, GOOD, HEAD};
use std::io::{self, Write};

/// Writes the whole result.
pub fn write(out: &mut dyn Write, report: &Bench) -> io::Result<()> {
    let host = &report.host;
    writeln!(out, "gasnet-sci {}: {}, {} cores, Linux {}", host.library, host.cpu, host.cores, host.kernel)?;
    if let Some(tricks) = &report.tricks {
        writeln!(out, "Chosen here: {tricks}")?;
    }
    writeln!(
        out,
        "Medians of {} rounds; low and high: a tenth of the rounds is below, above. Ratio: to the limit beside",
        { report.rounds }
    )?;
    writeln!(out, "it, measured in turns. Only MB/s (10^6 bytes) are better when higher.")?;
    let mut section = "";
    for row in &report.results {
        if row.section != section {
            section = &row.section;
            writeln!(out, "\n{HEAD}{section:<56} {:>5} {:>8}{HEAD:#}", "nodes", "bytes")?;
        }
        line(out, row)?;
    }
    targets(out, &report.results)
}

fn line(out: &mut dyn Write, row: &Row) -> io::Result<()> {
    let who = match row.who.as_str() {
        "gasnet-sci ref" => " (ref)",
        "model" => " (model)",
        "document" => " (document)",
        _ => "",
    };
    let name = format!("{}{who}", row.operation);
    let bytes = if row.bytes > 0 { row.bytes.to_string() } else { String::new() };
    write!(out, "{name:<56} {:>5} {bytes:>8} ", row.nodes)?;
    write!(out, "{:>10} {:>10} {:>10} {:<5}", figure(row.median), figure(row.low), figure(row.high), row.unit)?;
    if let (Some(limit), Some(value)) = (&row.limit, row.limit_median) {
        let ratio = row.ratio.map_or(String::new(), figure);
        write!(out, " {ratio:>8} of {} {}", figure(value), limit)?;
    }
    match &row.how {
        Some(how) => writeln!(out, " {how}"),
        None => writeln!(out),
    }
}

// The rows that have a target, and whether they reach it.
fn targets(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    let judged: Vec<(&Row, bool)> = rows.iter().filter_map(|row| Some((row, row.met()?))).collect();
    if judged.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{HEAD}{:<56} {:>5} {:>8} {:>12} {:>12}{HEAD:#}", "targets", "nodes", "bytes", "target", "got")?;
    for (row, met) in &judged {
        let who = if row.who == "gasnet-sci ref" { " (ref)" } else { "" };
        let name = format!("{}{who}", row.operation);
        let bytes = if row.bytes > 0 { row.bytes.to_string() } else { String::new() };
        let unit = if row.ratio.is_some() { "x" } else { &row.unit };
        let sign = if row.unit == "MB/s" { ">=" } else { "<=" };
        let target = format!("{sign} {} {unit}", figure(row.target.unwrap_or_default()));
        let got = format!("{} {unit}", figure(row.got()));
        let (style, verdict) = if *met { (GOOD, "met") } else { (BAD, "not met") };
        writeln!(out, "{name:<56} {:>5} {bytes:>8} {target:>12} {got:>12}  {style}{verdict}{style:#}", row.nodes)?;
    }
    let met = judged.iter().filter(|(_, met)| *met).count();
    writeln!(out, "{met} of {} targets met", judged.len())
}

// Three significant digits, and no exponent.
fn figure(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn figures_have_three_digits() {
        assert_eq!([1234.6, 12.34, 1.234, 0.1234, -1.0].map(super::figure), ["1235", "12.3", "1.23", "0.123", "-1.00"]);
    }
}
