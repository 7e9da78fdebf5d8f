//! The timeline: one HTML file that holds the run and shows it.
//!
//! `page/data.js` unpacks the run, `sums.js` adds up what happened in a span, `view.js` knows what part of it is seen, `draw.js` paints,
//! `tell.js` puts into words, `interact.js` is mouse, fingers, keys and buttons. The tables below are there without scripts.
//!
//! Must not know: how the run was read, or its path found.

use super::kinds::{Class, Kind};
use super::pack::{self, Shape};
use super::path::Piece;
use super::{Found, clocks, statistics::Statistics};
use gasnet_sci_place::paint;
use gasnet_sci_place::shell::{self, escape};
use serde::Serialize;
use std::fmt::Write;

/// Texts of the client's that the page holds at most; more would hide the rest.
const MOST_NOTES: usize = 5000;

const TITLE: &str = "a run";
const STYLE: &str = include_str!("page/trace.css");
const STAGE: &str = include_str!("page/stage.html");
const SCRIPTS: [&str; 6] = [
    include_str!("page/data.js"),
    include_str!("page/sums.js"),
    include_str!("page/view.js"),
    include_str!("page/draw.js"),
    include_str!("page/tell.js"),
    include_str!("page/interact.js"),
];

/// What the scripts need beside the packed events. Times are nanoseconds since the run began.
#[derive(Serialize)]
struct Index<'a> {
    end: u64,
    nodes: Vec<Node<'a>>,
    kinds: Vec<&'a Kind>,
    shapes: Vec<Shape>,
    rounds: usize,
    /// Names of the teams of barriers.
    teams: &'a [String],
    path: &'a [Piece],
    notes: Vec<Note<'a>>,
    /// Classes in which a node spends time, with their names in words.
    classes: Vec<(Class, &'static str)>,
}

#[derive(Serialize)]
struct Node<'a> {
    rank: u32,
    host: Option<&'a str>,
    events: usize,
}

#[derive(Serialize)]
struct Note<'a> {
    node: usize,
    at: u64,
    text: &'a str,
}

/// The whole document.
pub fn page(found: &Found) -> String {
    let run = &found.run;
    let packed = pack::pack(found);
    let mut notes: Vec<Note<'_>> = run
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(at, node)| node.notes.iter().map(move |note| Note { node: at, at: note.when, text: &note.text }))
        .collect();
    notes.sort_by_key(|note| note.at);
    notes.truncate(MOST_NOTES);
    let index = Index {
        end: run.end(),
        nodes: run
            .nodes
            .iter()
            .map(|node| Node {
                rank: node.rank,
                host: node.host.as_ref().map(|(host, _)| host.as_str()),
                events: node.events.len(),
            })
            .collect(),
        kinds: run.kinds.iter().collect(),
        shapes: packed.shapes.clone(),
        rounds: found.rounds.len(),
        teams: &packed.teams,
        path: &found.path,
        notes,
        classes: Class::TIMED.map(|class| (class, class.name())).into(),
    };
    let mut body = String::new();
    header(&mut body, found);
    // Writing to memory does not fail; in a script element only `<` could end the data early.
    let index = serde_json::to_string(&index).unwrap_or_default().replace('<', "\\u003c");
    let statistics = Statistics::of(run, &found.messages, &found.rounds, &found.path);
    let table = paint::plain(|out| statistics.write(out)).unwrap_or_default();
    let _ = write!(
        body,
        "<main>{STAGE}<section><h2>Statistics of the whole run</h2><pre class=\"table\">{}</pre></section></main>\n\
         <script type=\"application/json\" id=\"index\">{index}</script>\n\
         <script type=\"text/plain\" id=\"events\">{}</script>",
        escape(&String::from_utf8_lossy(&table)),
        pack::base64(&packed.bytes)
    );
    shell::document(TITLE, STYLE, &body, &SCRIPTS)
}

fn header(out: &mut String, found: &Found) {
    let run = &found.run;
    let mut hosts: Vec<&str> = run.nodes.iter().filter_map(|node| Some(node.host.as_ref()?.0.as_str())).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let place = match hosts[..] {
        [] => String::new(),
        [host] => format!(" on host {host}"),
        _ => format!(" on {} hosts", hosts.len()),
    };
    let clock = if clocks::is_one(run) {
        ""
    } else {
        " · clocks of different hosts are brought together by messages: arrows between them are not exact"
    };
    let faults = match run.faults {
        0 => String::new(),
        faults => format!(" · {faults} lines of the traces could not be used"),
    };
    let text = format!(
        "{} nodes{place} · {} events in {:.6} s · {} messages · {} barriers{clock}{faults}",
        run.nodes.len(),
        run.count(),
        run.end() as f64 / 1e9,
        found.messages.matched,
        found.rounds.len()
    );
    let _ = write!(
        out,
        "<header>{}<p class=\"host\">{}</p><noscript><p>Without scripts there is no timeline, but the table below.</p></noscript></header>",
        shell::top(TITLE),
        escape(&text)
    );
}

#[cfg(test)]
mod tests {
    use super::super::read::of_lines;
    use super::*;

    #[test]
    fn a_page_holds_the_run_and_nothing_that_ends_its_data() {
        let run = of_lines(&["0 0.1> (P) PUT node=0 bytes=8 us=1", "0 0.2> (H) </script><b>"]);
        let page = page(&Found::of(run));
        assert!(page.contains("\"text\":\"\\u003c/script>\\u003cb>\""), "{page}");
        assert!(page.contains("<script type=\"text/plain\" id=\"events\">AA"), "{page}");
    }
}
