//! The page of results.

use super::compare::{self, Cell, Verdict};
use super::curves::{self, Chart, Section};
use super::model::{Bench, Row};
use super::show;
use super::{svg, timed};
use gasnet_sci_place::shell::{self, escape};
use std::fmt::Write;

const TITLE: &str = "how fast";
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole document.
pub fn page(bench: &Bench) -> String {
    let sections = curves::sections(bench);
    let goals = goals(bench);
    let peers = peers(bench);
    let timed = timed::table(bench);
    let mut body = String::new();
    let links = [("targets", "Targets", &goals), ("peers", "Beside peers", &peers), ("timed", "Timing mode", &timed)];
    header(&mut body, bench, &sections, &links);
    body.push_str("<main>");
    body.push_str(&goals);
    body.push_str(&peers);
    body.push_str(&timed);
    for part in &sections {
        section(&mut body, part);
    }
    everything(&mut body, bench);
    body.push_str("</main><div id=\"tip\" hidden></div>");
    shell::document(TITLE, STYLE, &body, &[SCRIPT])
}

// --- head ----------------------------------------------------------------------------------------

// `links`: the id, name and text of the parts that may be there.
fn header(out: &mut String, bench: &Bench, sections: &[Section], links: &[(&str, &str, &String)]) {
    let host = &bench.host;
    let _ = write!(
        out,
        "<header>{}<p class=\"host\">{} · {} cores · Linux {} · gasnet-sci {} · medians of {} rounds</p>",
        shell::top(TITLE),
        escape(&host.cpu),
        host.cores,
        escape(&host.kernel),
        escape(&host.library),
        bench.rounds
    );
    if let Some(tricks) = &bench.tricks {
        let _ = write!(out, "<p class=\"host\">Chosen here: {}</p>", escape(&tricks.to_string()));
    }
    for layer in &bench.missing {
        let _ = write!(out, "<p class=\"host\">Not measured: {}</p>", escape(layer));
    }
    tiles(out, bench);
    out.push_str("<nav>");
    for (id, name, _) in links.iter().filter(|(_, _, text)| !text.is_empty()) {
        let _ = write!(out, "<a href=\"#{id}\">{name}</a>");
    }
    for section in sections {
        let _ = write!(out, "<a href=\"#{}\">{}</a>", escape(&section.name), escape(show::section(&section.name)));
    }
    out.push_str("<a href=\"#all\">All numbers</a></nav></header>");
}

fn tiles(out: &mut String, bench: &Bench) {
    out.push_str("<div class=\"tiles\">");
    let mut tile = |value: String, text: &str| {
        let _ = write!(out, "<div class=\"tile\"><b>{value}</b><span>{}</span></div>", escape(text));
    };
    let goals = compare::goals(bench);
    if !goals.is_empty() {
        let met = goals.iter().filter(|goal| goal.met).count();
        tile(format!("{met}<i> / {}</i>", goals.len()), "targets met");
    }
    let cells = compare::cells(bench);
    if !cells.is_empty() {
        let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
        tile(format!("{}<i> / {}</i>", count(Verdict::Ahead), cells.len()), "cells ahead of every peer");
        tile(count(Verdict::Even).to_string(), "even, within 5 %");
        tile(count(Verdict::Behind).to_string(), "behind the best peer");
    }
    let trip = bench.results.iter().find(|row| {
        row.who == compare::OURS && row.section == "am" && row.operation.contains("round trip") && row.ratio.is_some()
    });
    if let Some((row, ratio)) = trip.and_then(|row| Some((row, row.ratio?))) {
        let limit = row.limit.as_deref().unwrap_or("the limit");
        tile(format!("{ratio:.2}<i> ×</i>"), &format!("{} over {limit}", row.operation));
    }
    out.push_str("</div>");
}

// --- tables --------------------------------------------------------------------------------------

fn goals(bench: &Bench) -> String {
    let goals = compare::goals(bench);
    let mut out = String::new();
    if goals.is_empty() {
        return out;
    }
    out.push_str(
        "<section id=\"targets\"><h2>Targets</h2><p>Ratios are to the limit of the hardware, measured in the same run.",
    );
    out.push_str(
        "</p><div class=\"scroll\"><table><thead><tr><th>operation<th>who<th class=\"n\">nodes<th class=\"n\">size",
    );
    out.push_str(
        "<th class=\"n\">median<th>limit<th class=\"n\">of limit<th class=\"n\">target<th></tr></thead><tbody>",
    );
    for goal in &goals {
        let row = goal.row;
        let sign = if row.more_is_better() { "≥" } else { "≤" };
        let (class, word) = if goal.met { ("ahead", "met") } else { ("behind", "missed") };
        let _ = write!(
            out,
            "<tr class=\"row\"><td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\" title=\"rounds {}\">{}<td class=\"dim\">{}\
             <td class=\"n\">{}<td class=\"n\">{sign} {}<td><span class=\"verdict {class}\">{word}</span></tr>",
            escape(&row.operation),
            who(&row.who),
            row.nodes,
            size(row),
            range(row),
            value(row),
            escape(row.limit.as_deref().unwrap_or("–")),
            row.ratio.map_or("–".into(), show::number),
            show::number(goal.target),
        );
    }
    out.push_str("</tbody></table></div></section>");
    out
}

fn peers(bench: &Bench) -> String {
    let cells = compare::cells(bench);
    let mut out = String::new();
    if cells.is_empty() {
        return out;
    }
    let mut names: Vec<&str> = Vec::new();
    for peer in cells.iter().flat_map(|cell| &cell.peers) {
        if !names.contains(&peer.who.as_str()) {
            names.push(&peer.who);
        }
    }
    out.push_str("<section id=\"peers\"><h2>Beside peers</h2><p>The same patterns on the same cores, in turns in one run. The factor ");
    out.push_str("says how many times better ours is than the best peer; below 1 the peer is ahead.</p>");
    out.push_str("<p><label><input type=\"checkbox\" id=\"behind\"> only where ours is not ahead</label></p>");
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>operation<th class=\"n\">nodes<th class=\"n\">size<th>unit",
    );
    let _ = write!(out, "<th class=\"n\">{}", who(compare::OURS));
    for name in &names {
        let _ = write!(out, "<th class=\"n\">{}", who(name));
    }
    out.push_str("<th class=\"n\">factor<th></tr></thead><tbody>");
    for cell in &cells {
        cell_row(&mut out, cell, &names);
    }
    out.push_str("</tbody></table></div></section>");
    out
}

fn cell_row(out: &mut String, cell: &Cell, names: &[&str]) {
    let ours = cell.ours;
    let word = cell.verdict.word();
    let _ = write!(
        out,
        "<tr class=\"row is-{word}\"><td>{}<td class=\"n\">{}<td class=\"n\">{}<td>{}<td class=\"n\" title=\"rounds {}\">{}",
        escape(show::beside(&ours.operation)),
        ours.nodes,
        size(ours),
        escape(show::unit(&ours.unit)),
        range(ours),
        show::number(ours.median)
    );
    for name in names {
        match cell.peers.iter().find(|peer| peer.who == *name) {
            Some(peer) => {
                let best = if std::ptr::eq(*peer, cell.best) { " best" } else { "" };
                let how = peer.how.as_deref().map_or(String::new(), |how| format!("{}, ", escape(how)));
                let (range, median) = (range(peer), show::number(peer.median));
                let _ = write!(out, "<td class=\"n{best}\" title=\"{how}rounds {range}\">{median}");
            }
            None => out.push_str("<td class=\"n dim\">–"),
        }
    }
    let _ = write!(out, "<td class=\"n\">{:.2}<td><span class=\"verdict {word}\">{word}</span></tr>", cell.factor);
}

fn everything(out: &mut String, bench: &Bench) {
    out.push_str("<section id=\"all\"><h2>All numbers</h2><p><input type=\"search\" id=\"search\" placeholder=\"words to look for\" ");
    out.push_str(
        "aria-label=\"words to look for\"> <span id=\"found\"></span></p><details open><summary>table</summary>",
    );
    out.push_str(
        "<div class=\"scroll\"><table id=\"rows\"><thead><tr><th>section<th>operation<th>who<th class=\"n\">nodes",
    );
    out.push_str("<th class=\"n\">size<th class=\"n\">median<th class=\"n\">rounds<th>limit<th class=\"n\">of limit</tr></thead><tbody>");
    for row in &bench.results {
        let how = row.how.as_deref().filter(|how| *how != row.who && *how != "gasnet-sci");
        let _ = write!(
            out,
            "<tr class=\"row\"><td>{}<td>{}<td>{}{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n dim\">{}\
             <td>{}<td class=\"n\">{}</tr>",
            escape(&row.section),
            escape(&row.operation),
            who(&row.who),
            how.map_or(String::new(), |how| format!(" <span class=\"dim\">{}</span>", escape(how))),
            row.nodes,
            size(row),
            value(row),
            range(row),
            escape(row.limit.as_deref().unwrap_or("–")),
            row.ratio.map_or("–".into(), show::number),
        );
    }
    out.push_str("</tbody></table></div></details></section>");
}

// --- sections ------------------------------------------------------------------------------------

fn section(out: &mut String, section: &Section) {
    let (id, name) = (escape(&section.name), escape(show::section(&section.name)));
    let _ = write!(out, "<section id=\"{id}\"><h2>{name}</h2>");
    if !section.singles.is_empty() {
        out.push_str("<div class=\"bars\">");
        section.singles.iter().for_each(|rows| bars(out, rows));
        out.push_str("</div>");
    }
    out.push_str("<div class=\"charts\">");
    section.charts.iter().filter(|chart| !chart.series.is_empty()).for_each(|chart| figure(out, chart));
    out.push_str("</div></section>");
}

fn figure(out: &mut String, chart: &Chart) {
    let nodes = chart.nodes.map_or(String::new(), |nodes| format!("{nodes} nodes, "));
    let direction = if chart.more_is_better { "more is better" } else { "less is better" };
    let _ = write!(
        out,
        "<figure class=\"chart\"><figcaption><b>{}</b> <span>{nodes}{}, {direction}</span></figcaption>{}<div class=\"legend\">",
        escape(&chart.title),
        escape(show::unit(&chart.unit)),
        svg::chart(chart)
    );
    for (index, series) in chart.series.iter().enumerate() {
        let (class, name) = (svg::class(&series.name), escape(&series.name));
        let _ =
            write!(out, "<button type=\"button\" class=\"k-{class}\" data-series=\"{index}\"><i></i>{name}</button>");
    }
    out.push_str("</div><details><summary>numbers</summary><div class=\"scroll\">");
    numbers(out, chart);
    out.push_str("</div></details></figure>");
}

// The values of a chart as a table: a line per size, a column per series.
fn numbers(out: &mut String, chart: &Chart) {
    let mut xs: Vec<u64> = chart.series.iter().flat_map(|series| series.points.iter().map(|point| point.x)).collect();
    xs.sort_unstable();
    xs.dedup();
    let bytes = chart.axis == curves::Axis::Bytes;
    let _ = write!(out, "<table><thead><tr><th class=\"n\">{}", if bytes { "size" } else { "nodes" });
    for series in &chart.series {
        let _ = write!(out, "<th class=\"n\">{}", who(&series.name));
    }
    out.push_str("</tr></thead><tbody>");
    for x in xs {
        let _ = write!(out, "<tr><td class=\"n\">{}", if bytes { show::bytes(x) } else { x.to_string() });
        for series in &chart.series {
            let point = series.points.iter().find(|point| point.x == x);
            let _ = write!(out, "<td class=\"n\">{}", point.map_or("–".into(), |point| show::number(point.median)));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>");
}

// An operation without sizes: one bar per row, all on one scale, and one bar for each limit that the rows name.
fn bars(out: &mut String, rows: &[&Row]) {
    let first = rows[0];
    let direction = if first.more_is_better() { "more is better" } else { "less is better" };
    let unit = show::unit(&first.unit);
    let _ = write!(
        out,
        "<figure class=\"bar\"><figcaption><b>{}</b> <span>{}, {direction}</span></figcaption>",
        escape(&first.operation),
        escape(unit)
    );
    let same_nodes = rows.iter().all(|row| row.nodes == first.nodes);
    let same_bytes = rows.iter().all(|row| row.bytes == first.bytes || row.who == "limit");
    let mut bars: Vec<(String, f64, String)> = Vec::new();
    for row in rows {
        let mut label = row.who.clone();
        if !same_nodes {
            let _ = write!(label, ", {} nodes", row.nodes);
        }
        if !same_bytes {
            let _ = write!(label, ", {}", show::bytes(row.bytes));
        }
        bars.push((label, row.median, format!("rounds {}", range(row))));
    }
    let limits = rows.iter().filter_map(|row| Some((format!("limit: {}", row.limit.as_deref()?), row.limit_median?)));
    for (label, median) in limits {
        // Skip the limit if it has a row of its own, or if another row has named it before.
        if !bars.iter().any(|(other, ..)| *other == label || other.split(',').next() == Some("limit")) {
            bars.push((label, median, "measured in turns with it".into()));
        }
    }
    let most = bars.iter().map(|(_, median, _)| *median).fold(0.0, f64::max);
    for (label, median, title) in &bars {
        let width = if most > 0.0 { (median / most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
        let class = svg::class(label.split(',').next().unwrap_or_default());
        let (label, value) = (escape(label), show::number(*median));
        let _ = write!(
            out,
            "<div class=\"value\" title=\"{title}\"><span>{label}</span><span class=\"track\">\
             <i class=\"b-{class}\" style=\"width:{width:.1}%\"></i></span><b>{value} {}</b></div>",
            escape(unit)
        );
    }
    out.push_str("</figure>");
}

fn who(name: &str) -> String {
    format!("<span class=\"who k-{}\"><i></i>{}</span>", svg::class(name), escape(name))
}

pub fn size(row: &Row) -> String {
    if row.bytes == 0 { "–".into() } else { show::bytes(row.bytes) }
}

pub fn value(row: &Row) -> String {
    format!("{} {}", show::number(row.median), escape(show::unit(&row.unit)))
}

fn range(row: &Row) -> String {
    format!("{}–{}", show::number(row.low), show::number(row.high))
}
