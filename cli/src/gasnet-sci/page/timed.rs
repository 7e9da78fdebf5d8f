//! Results of timing mode: each operation as a paper states it, as the model computes it, and as it was measured.

use super::html::{size, value};
use super::model::{Bench, Row};
use super::show;
use gasnet_sci_place::shell::escape;
use std::fmt::Write;

/// What papers say: marks without a line.
pub const DOCUMENT: &str = "document";
/// What the model computes.
pub const MODEL: &str = "model";

/// Whether `who` is one of those who say something of hardware that is not there.
pub fn is_timed(who: &str) -> bool {
    who == DOCUMENT || who == MODEL || who.starts_with("timed ")
}

/// An operation at one size.
pub struct Line<'a> {
    pub measured: &'a Row,
    pub document: Option<&'a Row>,
    pub model: Option<&'a Row>,
}

/// All that was measured beside a document or a model, in the order of the file.
pub fn lines(bench: &Bench) -> Vec<Line<'_>> {
    let measured = bench.results.iter().filter(|row| row.who.starts_with("timed "));
    let line = |row| {
        let of = |who| bench.results.iter().find(|other| other.who == who && other.comparable(row));
        Line { measured: row, document: of(DOCUMENT), model: of(MODEL) }
    };
    measured.map(line).filter(|line| line.document.is_some() || line.model.is_some()).collect()
}

/// What was measured, divided by `row`.
pub fn quotient(line: &Line<'_>, row: Option<&Row>) -> Option<f64> {
    row.filter(|row| row.median > 0.0).map(|row| line.measured.median / row.median)
}

/// The table; empty without such results.
pub fn table(bench: &Bench) -> String {
    let lines = lines(bench);
    let mut out = String::new();
    if lines.is_empty() {
        return out;
    }
    out.push_str("<section id=\"timed\"><h2>Document, model, measured</h2><p>A quotient is what was measured, divided by what the ");
    out.push_str("document states, and by what the model computes. Times of the host are divided by the scale.</p>");
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>operation<th class=\"n\">size<th class=\"n\">document<th>source",
    );
    out.push_str("<th class=\"n\">model<th class=\"n\">measured<th class=\"n\">of document<th class=\"n\">of model</tr></thead><tbody>");
    for line in &lines {
        let number = |row: Option<&Row>| row.map_or("–".into(), value);
        let part = |row| quotient(line, row).map_or("–".into(), |part| format!("{part:.3}"));
        let source = line.document.and_then(|row| row.how.as_deref()).unwrap_or_default();
        let _ = write!(
            out,
            "<tr class=\"row\"><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"dim\">{}<td class=\"n\">{}<td class=\"n\">{}\
             <td class=\"n of-document\">{}<td class=\"n of-model\">{}</tr>",
            escape(&line.measured.operation),
            size(line.measured),
            number(line.document),
            escape(source),
            number(line.model),
            number(Some(line.measured)),
            part(line.document),
            part(line.model)
        );
    }
    out.push_str("</tbody></table></div></section>");
    out
}

/// The same in a line for a terminal: between which quotients to the model all that was measured lies.
pub fn summary(bench: &Bench) -> Option<String> {
    let lines = lines(bench);
    let parts: Vec<f64> = lines.iter().filter_map(|line| quotient(line, line.model)).collect();
    let (low, high) = (parts.iter().copied().reduce(f64::min)?, parts.iter().copied().reduce(f64::max)?);
    Some(format!(
        "{} operations measured beside the model: {} to {} of it; {} have a document",
        parts.len(),
        show::number(low),
        show::number(high),
        lines.iter().filter(|line| line.document.is_some()).count()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::{bench, row};
    use super::*;

    #[test]
    fn lines_join_what_is_said_of_one_operation() {
        let bench = bench(vec![
            row("timed d339", "read", 64, "us", 27.2),
            row(MODEL, "read", 64, "us", 27.0),
            row(DOCUMENT, "read", 64, "us", 27.2),
            row(MODEL, "read", 8, "us", 27.0),
            row("timed d339", "alone", 64, "us", 1.0),
        ]);
        let lines = lines(&bench);
        assert_eq!(lines.len(), 1);
        assert_eq!(quotient(&lines[0], lines[0].document), Some(1.0));
        assert!(table(&bench).contains("<td class=\"n of-document\">1.000<td class=\"n of-model\">1.007"));
        assert!(
            summary(&bench).unwrap().starts_with("1 operations measured beside the model: 1.01 to 1.01 of it; 1 have")
        );
        assert!(!bench.results.iter().any(Row::is_peer));
    }
}
