//! The page of an answer: one HTML file in which ranks and segments are dragged onto positions.
//!
//! The tables are there without scripts. `page/model.js` computes costs and loads of other mappings from the answer's JSON,
//! which the page holds; `net.js` makes the tables of machines and links that were made on the page, `change.js` makes and deletes
//! things, `files.js` saves and loads. `layout.js` says where positions and links lie, `draw.js` draws them, `panel.js` fills figures
//! and tables, `edit.js` is the panel in which things are made, `interact.js` is mouse, keys and buttons. Elements of class `live` are shown where scripts run.
//!
//! Must not know: how costs are computed.

use super::links::Shape;
use super::paint;
use super::report::{Mapping, Report};
use super::shell::{self, escape};
use super::text;
use std::fmt::Write;

/// More positions than these make a page that browsers are slow with; its size grows with the square.
pub const MOST: usize = 512;

const TITLE: &str = "where ranks run";
const STYLE: &str = include_str!("page/place.css");
const SCRIPTS: [&str; 9] = [
    include_str!("page/model.js"),
    include_str!("page/net.js"),
    include_str!("page/files.js"),
    include_str!("page/change.js"),
    include_str!("page/layout.js"),
    include_str!("page/draw.js"),
    include_str!("page/edit.js"),
    include_str!("page/panel.js"),
    include_str!("page/interact.js"),
];
const STAGE: &str = include_str!("page/stage.html");

/// The whole document.
pub fn page(report: &Report) -> String {
    let mut body = String::new();
    header(&mut body, report);
    body.push_str("<main>");
    body.push_str(STAGE);
    // Of a page with nothing on it yet there is nothing to list.
    if report.matrix.ranks > 0 {
        mappings(&mut body, report);
        ranks(&mut body, report);
        segments(&mut body, report);
        links(&mut body, report);
        pairs(&mut body, report);
    }
    body.push_str("</main>");
    // In a script element only `<` could end the data early.
    let data = report.to_json().replace('<', "\\u003c");
    let _ = write!(body, "\n<script type=\"application/json\" id=\"placement\">{data}</script>");
    shell::document(TITLE, STYLE, &body, &SCRIPTS)
}

fn header(out: &mut String, report: &Report) {
    let (matrix, machine) = (report.matrix, report.machine);
    let mut parts = vec![
        machine.topology.clone(),
        format!("{} positions", machine.positions()),
        format!("costs by {}", machine.model),
    ];
    let program = matrix.program.as_ref().map_or(String::new(), |program| format!(" of {program}"));
    match report.segments {
        Some(_) => parts.push(format!("{} processes and their segments", matrix.ranks)),
        None => {
            let sum = matrix.sum();
            parts.push(format!("{} ranks{program}", matrix.ranks));
            parts.push(format!("{} operations, {} bytes", sum.0, sum.1));
        }
    }
    let verdict = match report.matrix.ranks {
        0 => b"nothing is here yet\nmake machines, links, processes and segments, and say who reads and writes what"
            .to_vec(),
        // Writing to memory does not fail.
        _ => paint::plain(|out| text::verdict(out, report)).unwrap_or_default(),
    };
    let verdict = String::from_utf8_lossy(&verdict);
    let sentences: Vec<String> = verdict.lines().filter(|line| !line.is_empty()).map(escape).collect();
    let _ = write!(
        out,
        "<header>{}<p class=\"host\">{}</p><p class=\"answer\"><b>{}</b> {}</p>\
         <noscript><p>Without scripts the tables below are all there is: ranks cannot be moved.</p></noscript></header>",
        shell::top(TITLE),
        escape(&parts.join(" · ")),
        sentences.first().map_or("", String::as_str),
        sentences.get(1..).unwrap_or_default().join("; "),
    );
}

// --- tables --------------------------------------------------------------------------------------

// A cell that the script fills for the mapping that is drawn.
fn live(key: &str) -> String {
    format!("<td class=\"n live now\" data-now=\"{}\">", escape(key))
}

fn open(out: &mut String, id: &str, title: &str, columns: &[&str]) {
    let _ = write!(out, "<section id=\"{id}\"><h2>{title}</h2><div class=\"scroll\"><table><thead><tr>");
    for (at, column) in columns.iter().enumerate() {
        let class = match (at, column.starts_with("now")) {
            (0, _) => "",
            (_, true) => " class=\"n live now\"",
            _ => " class=\"n\"",
        };
        let _ = write!(out, "<th{class}>{column}");
    }
    out.push_str("</tr></thead><tbody>");
}

fn close(out: &mut String) {
    out.push_str("</tbody></table></div></section>");
}

fn mappings(out: &mut String, report: &Report) {
    open(out, "mappings", "Mappings", &["", "cost µs", "writes µs", "reads µs", "against present", "busiest link"]);
    let present = report.present().bill.cost();
    for Mapping { name, bill, .. } in &report.mappings {
        let [writes, reads] = bill.sums();
        let cost = bill.cost();
        let change = if present > 0.0 { 100.0 * (cost / present - 1.0) } else { 0.0 };
        let change = if change.abs() < 0.005 { "same".into() } else { format!("{change:+.2} %").replace('-', "−") };
        let busiest =
            bill.busiest(report.machine).map_or("none".into(), |busiest| text::link(report.machine, &busiest));
        let busiest = busiest.replace("->", "→").replace(" us", " µs");
        let _ = write!(
            out,
            "<tr><td>{name}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{change}<td class=\"n\">{}</tr>",
            text::us(cost),
            text::us(writes),
            text::us(reads),
            escape(&busiest)
        );
    }
    let cells: String = ["cost", "writes", "reads", "change", "busiest"].into_iter().map(live).collect();
    let _ = write!(out, "<tr class=\"live\"><td class=\"now\">now{cells}</tr>");
    close(out);
}

fn ranks(out: &mut String, report: &Report) {
    let (present, proposal) = (report.present(), report.proposal());
    let (what, title) = match report.segments {
        Some(_) => ("process", "Processes"),
        None => ("rank", "Ranks"),
    };
    let columns = [
        what, "now at", "present", "proposal", "now writes µs", "present writes µs", "proposal writes µs",
        "now reads µs", "present reads µs", "proposal reads µs",
    ];
    open(out, "ranks", title, &columns);
    for rank in 0..report.matrix.ranks {
        let name = named(report, "processes", rank).unwrap_or_else(|| rank.to_string());
        let place = |mapping: &Mapping| place(report, mapping.at[rank]);
        let moved = if present.at[rank] == proposal.at[rank] { "" } else { " moved" };
        let _ = write!(
            out,
            "<tr><td>{}{}<td class=\"n\">{}<td class=\"n{moved}\">{}",
            escape(&name),
            live(&format!("place:{rank}")),
            place(present),
            place(proposal)
        );
        for (part, name) in ["writes", "reads"].into_iter().enumerate() {
            let ns = |mapping: &Mapping| text::us(mapping.bill.nodes[rank][part]);
            let _ = write!(
                out,
                "{}<td class=\"n\">{}<td class=\"n\">{}",
                live(&format!("{name}:{rank}")),
                ns(present),
                ns(proposal)
            );
        }
        out.push_str("</tr>");
    }
    close(out);
}

// What people call a position.
fn place(report: &Report, position: usize) -> String {
    match &report.machine.shape {
        Shape::Net(net) if !net.machines[position].is_empty() => escape(&net.machines[position]),
        _ => escape(&report.machine.places[position].to_string()),
    }
}

// A name in the answer's part about segments.
fn named(report: &Report, list: &str, number: usize) -> Option<String> {
    Some(report.segments.as_ref()?[list].get(number)?.as_str()?.to_owned())
}

fn segments(out: &mut String, report: &Report) {
    let Some(part) = &report.segments else { return };
    open(out, "segments", "Segments", &["segment", "now at", "present", "proposal"]);
    let place = |mapping: &Mapping, segment: usize| place(report, mapping.segments[segment]);
    for segment in 0..part["names"].as_array().map_or(0, Vec::len) {
        let name = named(report, "names", segment).unwrap_or_default();
        let [present, proposal] = [report.present(), report.proposal()].map(|mapping| place(mapping, segment));
        let moved = if present == proposal { "" } else { " moved" };
        let now = live(&format!("segment:{segment}"));
        let _ = write!(
            out,
            "<tr><td>{}{now}<td class=\"n\">{present}<td class=\"n{moved}\">{proposal}</tr>",
            escape(&name)
        );
    }
    close(out);
}

fn links(out: &mut String, report: &Report) {
    // The ends of a link are equal where a ring has one node, and at the root of a tree: nothing uses it.
    let links: Vec<_> =
        report.machine.shape.links().into_iter().enumerate().filter(|(_, link)| link.from != link.to).collect();
    if links.is_empty() {
        return;
    }
    let columns = ["link", "now bytes", "present bytes", "proposal bytes", "now µs", "present µs", "proposal µs"];
    open(out, "links", "Links", &columns);
    let both = [report.present(), report.proposal()].map(|mapping| &mapping.bill.loads);
    for (number, link) in links {
        let rate = report.machine.rates[number];
        let _ =
            write!(out, "<tr><td>{} → {}{}", escape(&link.from), escape(&link.to), live(&format!("bytes:{number}")));
        let cells = |show: &dyn Fn(f64) -> String| {
            both.map(|loads| format!("<td class=\"n\">{}", show(loads[number]))).concat()
        };
        out.push_str(&cells(&|bytes| format!("{bytes:.0}")));
        out.push_str(&live(&format!("ns:{number}")));
        out.push_str(&cells(&|bytes| text::us(bytes / rate)));
        out.push_str("</tr>");
    }
    close(out);
}

fn pairs(out: &mut String, report: &Report) {
    if report.pairs.is_empty() {
        return;
    }
    open(out, "pairs", "Heaviest pairs", &["ranks", "present µs", "proposal µs"]);
    for pair in &report.pairs {
        let (before, after) = (text::us(pair.before), text::us(pair.after));
        let _ = write!(out, "<tr><td>{} – {}<td class=\"n\">{before}<td class=\"n\">{after}</tr>", pair.from, pair.to);
    }
    close(out);
}
