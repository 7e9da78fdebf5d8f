//! Which visits of nodes to barriers belong together, and who came last.
//!
//! A line of a barrier says which team it is of; without a team it is of all nodes, or, in traces of older versions, of any. The visits of the
//! nodes to the barriers of one team are taken in their order; those that cannot belong together, because a node left before another one
//! came, are no round.

use super::kinds::{Class, MANY};
use super::run::{Node, Run};
use std::collections::BTreeMap;

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
    /// What its team is called; `None`: all nodes.
    pub team: Option<String>,
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

/// The visits of one node to barriers, by team. A barrier in two halves ends with the wait for it, else with the last sync before the team's
/// next one.
fn visits<'a>(run: &'a Run, place: usize, node: &Node) -> BTreeMap<Option<&'a str>, Vec<Visit>> {
    let mut visits: BTreeMap<Option<&str>, Vec<Visit>> = BTreeMap::new();
    let mut open: BTreeMap<Option<&str>, Visit> = BTreeMap::new();
    for event in &node.events {
        let kind = run.kind(event);
        let team = kind.team.as_deref();
        if team == Some(MANY) {
            continue;
        }
        let visit = Visit { node: place, enter: event.begin, exit: event.end() };
        let begun = match kind.name.as_str() {
            "BARRIER" => {
                let begun = open.remove(&team);
                begun.into_iter().for_each(|begun| visits.entry(team).or_default().push(begun));
                Some(visit)
            }
            "BARRIER_NOTIFY" => open.insert(team, visit),
            "BARRIER_WAIT" => open.remove(&team).map(|begun| Visit { exit: visit.exit, ..begun }),
            // A try ends the barrier when it succeeds.
            "BARRIER_TRY" => {
                open.entry(team).and_modify(|open| open.exit = visit.exit);
                None
            }
            // An event's wait ends that of gex_Coll_BarrierNB.
            _ if kind.class == Class::Handles => {
                open.values_mut().for_each(|open| open.exit = visit.exit);
                None
            }
            _ => None,
        };
        if let Some(begun) = begun {
            visits.entry(team).or_default().push(begun);
        }
    }
    open.into_iter().for_each(|(team, begun)| visits.entry(team).or_default().push(begun));
    visits
}

/// The rounds of a run, possible or not, in their order for each team.
pub fn find(run: &Run) -> Vec<Round> {
    let mut teams: BTreeMap<Option<&str>, Vec<Vec<Visit>>> = BTreeMap::new();
    for (place, node) in run.nodes.iter().enumerate() {
        for (team, visits) in visits(run, place, node) {
            if !visits.is_empty() {
                teams.entry(team).or_default().push(visits);
            }
        }
    }
    let mut rounds = Vec::new();
    for (team, all) in teams {
        let count = all.iter().map(Vec::len).min().unwrap_or(0);
        let of = |round: usize| all.iter().map(|visits| visits[round]).collect();
        rounds.extend((0..count).map(|round| Round { team: team.map(String::from), visits: of(round) }));
    }
    rounds
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
    fn barriers_of_teams_are_rounds_of_their_own() {
        let run = of_lines(&[
            "0 0.000010> (B) BARRIER_NOTIFY team=0.0 us=1",
            "0 0.000020> (B) BARRIER us=5",
            "0 0.000060> (B) BARRIER_WAIT team=0.0 us=10",
            "1 0.000021> (B) BARRIER us=1",
            "1 0.000061> (B) BARRIER team=0.0 us=4",
            "2 0.000022> (B) BARRIER us=3",
            "2 0.000090> (B) BARRIER team=2.7 us=3",
        ]);
        let rounds = find(&run);
        let visit = |node, enter, exit| Visit { node, enter, exit };
        let teams: Vec<Option<&str>> = rounds.iter().map(|round| round.team.as_deref()).collect();
        assert_eq!(teams, [None, Some("0.0"), Some("2.7")]);
        assert_eq!(rounds[0].visits.len(), 3);
        assert_eq!(rounds[1].visits, [visit(0, 9000, 60_000), visit(1, 57_000, 61_000)]);
        assert_eq!((rounds[1].last().node, rounds[1].cost()), (1, 48_000));
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
