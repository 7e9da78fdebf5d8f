//! Which visits of nodes to barriers belong together, and who came last.
//!
//! A line of a barrier does not say whether it is one of all nodes or of a team. The visits of all nodes are taken in their order;
//! those that cannot belong together, because a node left before another one came, are no round.

use super::kinds::Class;
use super::run::{Node, Run};

/// Different clocks, and old traces, which have microseconds only, may make a visit this much too short or too long.
const SLACK: u64 = 2_000;

/// A node in a barrier: when it came, and when it went on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Place of the node in the run.
    pub node: usize,
    pub enter: u64,
    pub exit: u64,
}

/// A barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    pub visits: Vec<Visit>,
}

impl Round {
    /// The visit of the node that came last.
    pub fn last(&self) -> &Visit {
        self.visits.iter().max_by_key(|visit| visit.enter).expect("a round has visits")
    }

    /// How long the others waited for the last, together.
    pub fn cost(&self) -> u64 {
        let last = self.last().enter;
        self.visits.iter().map(|visit| last - visit.enter).sum()
    }

    /// True if nobody left before all had come.
    pub fn is_possible(&self) -> bool {
        let first = self.visits.iter().map(|visit| visit.exit).min();
        first.is_some_and(|first| self.last().enter <= first.saturating_add(SLACK))
    }
}

/// The visits of one node to barriers. A barrier in two halves ends with the wait for it, else with the last sync before the next one.
fn visits(run: &Run, place: usize, node: &Node) -> Vec<Visit> {
    let mut visits: Vec<Visit> = Vec::new();
    let mut open: Option<Visit> = None;
    for event in &node.events {
        let kind = run.kind(event);
        let visit = Visit { node: place, enter: event.begin, exit: event.end() };
        match kind.name.as_str() {
            "BARRIER" => {
                visits.extend(open.take());
                visits.push(visit);
            }
            "BARRIER_NOTIFY" => visits.extend(open.replace(visit)),
            "BARRIER_WAIT" => visits.extend(open.take().map(|begun| Visit { exit: visit.exit, ..begun })),
            // A try ends the barrier when it succeeds, and an event's wait ends that of gex_Coll_BarrierNB.
            name if name == "BARRIER_TRY" || kind.class == Class::Handles => {
                open.iter_mut().for_each(|open| open.exit = visit.exit);
            }
            _ => (),
        }
    }
    visits.extend(open);
    visits
}

/// The rounds of a run, possible or not, in their order.
pub fn find(run: &Run) -> Vec<Round> {
    let all: Vec<Vec<Visit>> = run
        .nodes
        .iter()
        .enumerate()
        .map(|(place, node)| visits(run, place, node))
        .filter(|visits| !visits.is_empty())
        .collect();
    let count = all.iter().map(Vec::len).min().unwrap_or(0);
    (0..count).map(|round| Round { visits: all.iter().map(|visits| visits[round]).collect() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::read::of_lines;
    use super::*;

    #[test]
    fn a_round_has_a_visit_of_each_node_and_knows_the_last() {
        let run = of_lines(&[
            "0 0.000010> (B) BARRIER_NOTIFY us=1",
            "0 0.000040> (B) BARRIER_WAIT us=20",
            "1 0.000041> (B) BARRIER us=5",
            "2 0.000031> (B) BARRIER_NOTIFY us=1",
            "2 0.000038> (B) BARRIER_TRY us=1",
            "2 0.000042> (B) BARRIER_TRY us=1",
            "0 0.000100> (B) BARRIER us=10",
            "1 0.000101> (B) BARRIER us=8",
            "2 0.000101> (B) BARRIER us=3",
        ]);
        let rounds = find(&run);
        let visit = |node, enter, exit| Visit { node, enter, exit };
        assert_eq!(rounds[0].visits, [visit(0, 9000, 40_000), visit(1, 36_000, 41_000), visit(2, 30_000, 42_000)]);
        assert_eq!((rounds[0].last().node, rounds[0].cost()), (1, 27_000 + 6000));
        assert_eq!((rounds.len(), rounds[1].last().node, rounds[1].cost()), (2, 2, 8000 + 5000));
        assert!(rounds.iter().all(Round::is_possible));
    }

    #[test]
    fn visits_that_do_not_overlap_are_no_barrier() {
        let run = of_lines(&["0 0.000100> (B) BARRIER us=10", "1 0.000200> (B) BARRIER us=10"]);
        assert!(!find(&run)[0].is_possible());
    }

    #[test]
    fn a_barrier_of_an_event_ends_with_the_events_wait() {
        let run = of_lines(&["0 0.000010> (B) BARRIER_NOTIFY us=1", "0 0.000050> (S) WAIT_SYNCNB us=30"]);
        assert_eq!(find(&run)[0].visits[0], Visit { node: 0, enter: 9000, exit: 50_000 });
    }
}
