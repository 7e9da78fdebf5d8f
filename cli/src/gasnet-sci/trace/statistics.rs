//! Sums over a run: per node and kind what GASNET_STATSFILE counts too, and how each node spent its time.

use super::barriers::Round;
use super::kinds::Class;
use super::messages::Messages;
use super::path::{By, Piece};
use super::run::{Event, HAS_BYTES, HAS_TIME, Node, Run};
use gasnet_sci_place::paint::HEAD;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One kind of operation of one node.
#[derive(Debug, PartialEq, Serialize)]
pub struct Operation {
    letter: char,
    name: String,
    count: u64,
    /// `None` of kinds without bytes, or without a duration.
    bytes: Option<u64>,
    us: Option<f64>,
}

/// How a node spent its time.
#[derive(Debug, Serialize)]
pub struct Summary {
    node: u32,
    host: Option<String>,
    events: usize,
    /// From its first event to its last.
    seconds: f64,
    /// Not in any call whose duration is recorded.
    computing_us: f64,
    /// In calls of each class, of all threads together.
    waits: Vec<Wait>,
    /// Barriers to which it came last, and how long all others waited for it there.
    last_at: u64,
    waited_for_us: f64,
    /// Its share of the critical path.
    path_us: f64,
    operations: Vec<Operation>,
}

#[derive(Debug, Serialize)]
struct Wait {
    reason: Class,
    us: f64,
}

/// The whole run.
#[derive(Debug, Serialize)]
pub struct Statistics {
    format: &'static str,
    version: u32,
    nodes: Option<u32>,
    traces: usize,
    events: usize,
    seconds: f64,
    lines: u64,
    unusable_lines: u64,
    messages: u64,
    messages_without_arrival: u64,
    arrivals_without_message: u64,
    barriers: usize,
    /// Barriers of teams, by team.
    team_barriers: BTreeMap<String, usize>,
    path_messages: usize,
    path_barriers: usize,
    summaries: Vec<Summary>,
}

/// Teams whose barriers are listed.
const MOST_TEAMS: usize = 8;

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// How long at least one of these intervals lasts; they are in the order of their begin.
fn covered<'a>(events: impl Iterator<Item = &'a Event>) -> u64 {
    let (mut sum, mut until) = (0u64, 0u64);
    for event in events {
        sum += event.end().max(until) - event.begin.max(until);
        until = until.max(event.end());
    }
    sum
}

fn operations(run: &Run, node: &Node) -> Vec<Operation> {
    let mut sums: Vec<(u64, u64, u64, u8)> = vec![(0, 0, 0, 0); run.kinds.len()];
    for event in &node.events {
        let sum = &mut sums[usize::from(event.kind)];
        *sum = (sum.0 + 1, sum.1.saturating_add(event.bytes), sum.2.saturating_add(event.ns), sum.3 | event.has);
    }
    // Barriers of all teams are one operation, as in GASNET_STATSFILE.
    let mut by_name: BTreeMap<(char, &str), (u64, u64, u64, u8)> = BTreeMap::new();
    for (kind, (count, bytes, ns, has)) in run.kinds.iter().zip(sums) {
        let sum = by_name.entry((kind.letter, &kind.name)).or_default();
        *sum = (sum.0 + count, sum.1.saturating_add(bytes), sum.2.saturating_add(ns), sum.3 | has);
    }
    let operation = |((letter, name), (count, bytes, ns, has)): ((char, &str), (u64, u64, u64, u8))| Operation {
        letter,
        name: name.into(),
        count,
        bytes: (has & HAS_BYTES != 0).then_some(bytes),
        us: (has & HAS_TIME != 0).then_some(us(ns)),
    };
    by_name.into_iter().filter(|(_, sum)| sum.0 > 0).map(operation).collect()
}

fn summary(run: &Run, place: usize, rounds: &[Round], path: &[Piece]) -> Summary {
    let node = &run.nodes[place];
    let begin = node.events.first().map_or(0, |event| event.begin);
    let span = node.events.iter().map(Event::end).max().unwrap_or(0).saturating_sub(begin);
    let in_class =
        |class: Class| node.events.iter().filter(move |event| run.kind(event).class == class).map(|event| event.ns);
    let waits = Class::TIMED.map(|class| (class, in_class(class).fold(0, u64::saturating_add)));
    let last: Vec<&Round> = rounds.iter().filter(|round| round.last().node == place).collect();
    Summary {
        node: node.rank,
        host: node.host.as_ref().map(|(host, _)| host.clone()),
        events: node.events.len(),
        seconds: span as f64 / 1e9,
        computing_us: us(span.saturating_sub(covered(node.events.iter()))),
        waits: waits.into_iter().filter(|(_, ns)| *ns > 0).map(|(reason, ns)| Wait { reason, us: us(ns) }).collect(),
        last_at: last.len() as u64,
        waited_for_us: us(last.iter().map(|round| round.cost()).sum()),
        path_us: us(path.iter().filter(|piece| piece.node == place).map(|piece| piece.end - piece.begin).sum()),
        operations: operations(run, node),
    }
}

impl Statistics {
    pub fn of(run: &Run, messages: &Messages, rounds: &[Round], path: &[Piece]) -> Statistics {
        let jumps = |by: By| path.iter().filter(|piece| piece.by == by).count();
        Statistics {
            format: "gasnet-sci trace",
            version: 1,
            nodes: run.job,
            traces: run.nodes.len(),
            events: run.count(),
            seconds: run.end() as f64 / 1e9,
            lines: run.lines,
            unusable_lines: run.faults,
            messages: messages.matched,
            messages_without_arrival: messages.lost,
            arrivals_without_message: messages.stray,
            barriers: rounds.iter().filter(|round| round.team.is_none()).count(),
            team_barriers: rounds.iter().filter_map(|round| round.team.clone()).fold(
                BTreeMap::new(),
                |mut sums, team| {
                    *sums.entry(team).or_default() += 1;
                    sums
                },
            ),
            path_messages: jumps(By::Message),
            path_barriers: jumps(By::Barrier),
            summaries: (0..run.nodes.len()).map(|place| summary(run, place, rounds, path)).collect(),
        }
    }

    /// The tables.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let of = self
            .nodes
            .filter(|nodes| *nodes as usize != self.traces)
            .map_or(String::new(), |nodes| format!(" of {nodes}"));
        writeln!(
            out,
            "{}{of} nodes, {} events in {:.6} s; {} messages, {} barriers of all of them",
            self.traces, self.events, self.seconds, self.messages, self.barriers
        )?;
        if !self.team_barriers.is_empty() {
            let all: usize = self.team_barriers.values().sum();
            let teams: Vec<String> =
                self.team_barriers.iter().map(|(team, count)| format!("{team} ({count})")).collect();
            let (shown, left) = teams.split_at(teams.len().min(MOST_TEAMS));
            let more = if left.is_empty() { String::new() } else { format!(" and {} more", left.len()) };
            writeln!(out, "{all} barriers of teams: {}{more}", shown.join(", "))?;
        }
        if self.messages_without_arrival + self.arrivals_without_message > 0 {
            writeln!(
                out,
                "{} messages whose arrival is in no trace, {} arrivals of messages that are in none",
                self.messages_without_arrival, self.arrivals_without_message
            )?;
        }
        writeln!(
            out,
            "critical path: {} messages and {} barriers that others were waited for in\n",
            self.path_messages, self.path_barriers
        )?;
        self.write_times(out)?;
        writeln!(
            out,
            "\n{HEAD}{:>5} {:<26} {:>10} {:>14} {:>16}{HEAD:#}",
            "node", "operation", "count", "bytes", "us"
        )?;
        for summary in &self.summaries {
            for Operation { letter, name, count, bytes, us } in &summary.operations {
                let bytes = bytes.map_or(String::new(), |bytes| bytes.to_string());
                let us = us.map_or(String::new(), |us| format!("{us:.3}"));
                let line = format!("{:>5} ({letter}) {name:<22} {count:>10} {bytes:>14} {us:>16}", summary.node);
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }

    /// How nodes spent their time, in milliseconds: a column for each class that occurs.
    fn write_times(&self, out: &mut impl Write) -> io::Result<()> {
        let us = |summary: &Summary, class| {
            summary.waits.iter().find(|wait| wait.reason == class).map_or(0.0, |wait| wait.us)
        };
        let classes: Vec<Class> = Class::TIMED
            .into_iter()
            .filter(|class| self.summaries.iter().any(|summary| us(summary, *class) > 0.0))
            .collect();
        writeln!(
            out,
            "time in ms: computing is what is in no call; last: barriers to which the node came last, and what that cost others"
        )?;
        write!(out, "{HEAD}{:>5} {:>9} {:>11} {:>11}", "node", "events", "from first", "computing")?;
        for class in &classes {
            write!(out, " {:>11}", class.short())?;
        }
        writeln!(out, " {:>11} {:>7} {:>11}{HEAD:#}", "on path", "last", "others")?;
        for summary in &self.summaries {
            let ms = summary.seconds * 1e3;
            write!(out, "{:>5} {:>9} {ms:>11.3} {:>11.3}", summary.node, summary.events, summary.computing_us / 1e3)?;
            for class in &classes {
                write!(out, " {:>11.3}", us(summary, *class) / 1e3)?;
            }
            let (path, cost) = (summary.path_us / 1e3, summary.waited_for_us / 1e3);
            writeln!(out, " {path:>11.3} {:>7} {cost:>11.3}", summary.last_at)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::of_lines;
    use super::super::{barriers, messages, path};
    use super::*;

    fn statistics(lines: &[&str]) -> Statistics {
        let run = of_lines(lines);
        let (messages, rounds) = (messages::find(&run), barriers::find(&run));
        let path = path::find(&run, &messages, &rounds);
        Statistics::of(&run, &messages, &rounds, &path)
    }

    #[test]
    fn sums_are_those_of_the_lines() {
        let found = statistics(&[
            "0 0.000010> (P) PUT node=1 bytes=8 us=2",
            "0 0.000020> (P) PUT node=1 bytes=24 us=3.5",
            "0 0.000020> (S) END_NBI_ACCESSREGION",
            "0 0.000100> (B) BARRIER us=50",
            "1 0.000100> (B) BARRIER us=10",
        ]);
        let zero = &found.summaries[0];
        let operation =
            |letter, name: &str, count, bytes, us| Operation { letter, name: name.into(), count, bytes, us };
        assert_eq!(
            zero.operations,
            [
                operation('B', "BARRIER", 1, None, Some(50.0)),
                operation('P', "PUT", 2, Some(32), Some(5.5)),
                operation('S', "END_NBI_ACCESSREGION", 1, None, None),
            ]
        );
        // From 8 to 100 µs, of which 55.5 in calls.
        assert!((zero.computing_us - 36.5).abs() < 1e-6, "{zero:?}");
        assert_eq!((found.summaries[1].last_at, found.summaries[1].waited_for_us), (1, 40.0));
        let mut text = Vec::new();
        found.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("    0 (P) PUT                             2             32            5.500\n"),
            "{text}"
        );
        assert!(text.contains("\n    0 (S) END_NBI_ACCESSREGION            1\n"), "{text}");
    }

    #[test]
    fn calls_of_several_threads_cover_a_moment_once() {
        let run = of_lines(&[
            "0 0.000010> (S) WAIT_SYNCNB us=5",
            "0 0.000012> (S) WAIT_SYNCNB us=5",
            "0 0.000011> (S) WAIT_SYNCNB us=1",
        ]);
        assert_eq!(covered(run.nodes[0].events.iter()), 7000);
    }
}
