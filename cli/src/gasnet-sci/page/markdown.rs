//! Tables of Markdown for a document, such as docs/figures.md: the machine, all rows with targets, and where other libraries are ahead.

use super::compare::{self, Verdict};
use super::model::Bench;
use super::show;
use std::fmt::Write;

const BEGIN: &str = "<!-- tables: gasnet-sci page --markdown makes what follows -->\n";
const END: &str = "<!-- end of tables -->\n";

/// The text of the document with the tables between its two marks. A document without marks becomes the tables alone.
pub fn document(old: &str, bench: &Bench) -> String {
    let tables = format!("{BEGIN}{}{END}", tables(bench));
    let parts = old.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    match parts {
        Some((before, after)) => format!("{before}{tables}{after}"),
        None => tables,
    }
}

fn tables(bench: &Bench) -> String {
    let host = &bench.host;
    let mut out = format!(
        "\n{}, {} cores, Linux {}; gasnet-sci {}, {} rounds in turns.\n",
        host.cpu, host.cores, host.kernel, host.library, bench.rounds
    );
    for section in distinct(compare::goals(bench).iter().map(|goal| goal.row.section.as_str())) {
        goals(&mut out, bench, section);
    }
    peers(&mut out, bench);
    out.push('\n');
    out
}

/// The rows of a section that have a target.
fn goals(out: &mut String, bench: &Bench, section: &str) {
    let title = show::section(section);
    line(
        out,
        format_args!(
            "\n### {title}\n\n| operation | nodes | bytes | median | of its limit | target | |\n|---|---|---|---|---|---|---|"
        ),
    );
    for goal in compare::goals(bench).iter().filter(|goal| goal.row.section == section) {
        let row = goal.row;
        let limit = match (&row.ratio, &row.limit) {
            (Some(ratio), Some(limit)) => format!("{} × {limit}", show::number(*ratio)),
            _ => "–".into(),
        };
        let cells = [
            if row.who == compare::OURS { row.operation.clone() } else { format!("{} ({})", row.operation, row.who) },
            row.nodes.to_string(),
            if row.bytes == 0 { "–".into() } else { show::bytes(row.bytes) },
            format!("{} {}", show::number(row.median), show::unit(&row.unit)),
            limit,
            format!("{} {}", if row.more_is_better() { "≥" } else { "≤" }, show::number(goal.target)),
            if goal.met { "met" } else { "**missed**" }.into(),
        ];
        line(out, format_args!("| {} |", cells.join(" | ")));
    }
}

/// How many cells of each section are ahead of the best way of the best peer, and those that are behind.
fn peers(out: &mut String, bench: &Bench) {
    let cells = compare::cells(bench);
    if cells.is_empty() {
        return;
    }
    line(
        out,
        format_args!(
            "\n### Beside other libraries\n\n| section | cells | ahead | within 5 % | behind |\n|---|---|---|---|---|"
        ),
    );
    for section in distinct(cells.iter().map(|cell| cell.ours.section.as_str())) {
        let of = |verdict: Verdict| {
            cells.iter().filter(|cell| cell.ours.section == section && cell.verdict == verdict).count()
        };
        let (ahead, even, behind) = (of(Verdict::Ahead), of(Verdict::Even), of(Verdict::Behind));
        let all = ahead + even + behind;
        line(out, format_args!("| {} | {all} | {ahead} | {even} | {behind} |", show::section(section)));
    }
    let behind: Vec<_> = cells.iter().filter(|cell| cell.verdict == Verdict::Behind).collect();
    if behind.is_empty() {
        return;
    }
    line(out, format_args!("\n| behind | nodes | bytes | gasnet-sci | the best other | |\n|---|---|---|---|---|---|"));
    for cell in behind {
        let (ours, best, unit) = (cell.ours, cell.best, show::unit(&cell.ours.unit));
        let figure = |value| format!("{} {unit}", show::number(value));
        line(
            out,
            format_args!(
                "| {} | {} | {} | {} | {} | {} |",
                show::beside(&ours.operation),
                ours.nodes,
                show::bytes(ours.bytes),
                figure(ours.median),
                figure(best.median),
                best.how.as_ref().unwrap_or(&best.who)
            ),
        );
    }
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    writeln!(out, "{text}").expect("a String takes all");
}

/// Each value once, in the order in which they first come.
fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::compare::OURS;
    use super::super::model::Row;
    use super::super::model::tests::{bench, row};
    use super::*;
    use std::path::Path;

    #[test]
    fn tables_replace_what_is_between_the_marks() {
        let bench = bench(vec![
            Row { target: Some(2.0), ..row(OURS, "trip", 8, "us", 3.0) },
            row("slow", "trip", 8, "us", 4.0),
            row(OURS, "flood", 64, "MB/s", 10.0),
            row("fast", "flood", 64, "MB/s", 20.0),
        ]);
        let old = format!("before\n{BEGIN}stale\n{END}after\n");
        let new = document(&old, &bench);
        assert!(new.starts_with("before\n") && new.ends_with("after\n") && !new.contains("stale"), "{new}");
        assert!(new.contains("| trip | 2 | 8 B | 3.00 µs | – | ≤ 2.00 | **missed** |"), "{new}");
        assert!(new.contains("| flood | 2 | 64 B | 10.0 MB/s | 20.0 MB/s | fast |"), "{new}");
        assert_eq!(document(&new, &bench), new);
    }

    #[test]
    fn figures_of_the_documents_are_those_of_the_site() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let bench = Bench::read(&[root.join("site/bench.json")]).unwrap();
        let figures = std::fs::read_to_string(root.join("figures.md")).unwrap();
        assert_eq!(
            document(&figures, &bench),
            figures,
            "gasnet-sci page --markdown docs/figures.md docs/site/bench.json renews it"
        );
    }
}
