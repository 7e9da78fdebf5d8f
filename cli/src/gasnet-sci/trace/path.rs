//! The critical path: what the end of the run waited for, back to its beginning.
//!
//! It is followed backwards, from the node that ended last. Where that node waited for a message that was sent after its wait began,
//! the path goes to the sender, at that moment; where it waited in a barrier, to the node that came last. Between these jumps the
//! path stays on a node: what happened there kept all others.

use super::barriers::Round;
use super::kinds::Class;
use super::messages::Messages;
use super::run::{NONE, Run};
use serde::Serialize;

/// Why the path came to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// It began there.
    Start,
    /// A message of the node before ended a wait.
    Message,
    /// The node before came to a barrier last.
    Barrier,
}

/// A piece of the path, on one node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// Place of the node in the run.
    pub node: usize,
    pub begin: u64,
    pub end: u64,
    pub by: By,
}

/// A moment at which a node could go on because of another node, and the moment there that made it possible.
#[derive(Clone, Copy, Debug)]
struct Cause {
    at: u64,
    from: usize,
    sent: u64,
    by: By,
}

fn is_wait(class: Class) -> bool {
    matches!(class, Class::Messages | Class::Room | Class::Handles | Class::Collective)
}

/// The causes of each node, in the order of their time.
fn causes(run: &Run, messages: &Messages, rounds: &[Round]) -> Vec<Vec<Cause>> {
    let mut causes: Vec<Vec<Cause>> = run.nodes.iter().map(|_| Vec::new()).collect();
    for round in rounds {
        let last = round.last();
        for visit in round.visits.iter().filter(|visit| last.enter > visit.enter && visit.node != last.node) {
            causes[visit.node].push(Cause { at: visit.exit, from: last.node, sent: last.enter, by: By::Barrier });
        }
    }
    for (place, node) in run.nodes.iter().enumerate() {
        for wait in node.events.iter().filter(|event| event.ns > 0 && is_wait(run.kind(event).class)) {
            // A wait for messages is written when the handler begins, so that handler is at its end.
            let until = node.events.partition_point(|event| event.begin <= wait.end());
            let within = (0..until).rev().take_while(|at| node.events[*at].begin > wait.begin);
            let arrived = within.filter(|at| messages.origin[place][*at] != NONE).find_map(|at| {
                let from = run.place(node.events[at].peer).filter(|from| *from != place)?;
                let sent = run.nodes[from].events[messages.origin[place][at] as usize].begin;
                (sent > wait.begin && sent < wait.end()).then_some(Cause {
                    at: wait.end(),
                    from,
                    sent,
                    by: By::Message,
                })
            });
            causes[place].extend(arrived);
        }
        causes[place].sort_by_key(|cause| cause.at);
    }
    causes
}

/// The path, from the beginning of the run to its end. Empty if there is no event.
pub fn find(run: &Run, messages: &Messages, rounds: &[Round]) -> Vec<Piece> {
    let causes = causes(run, messages, rounds);
    let ends = run
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(place, node)| Some((node.events.iter().map(|event| event.end()).max()?, place)));
    let Some((mut end, mut node)) = ends.max_by_key(|(end, place)| (*end, std::cmp::Reverse(*place))) else {
        return Vec::new();
    };
    let mut path = Vec::new();
    // Each jump goes back in time, so this ends.
    loop {
        let before = causes[node].partition_point(|cause| cause.at <= end);
        let Some(cause) = causes[node][..before].iter().rev().find(|cause| cause.sent < cause.at) else { break };
        path.push(Piece { node, begin: cause.at, end, by: cause.by });
        (node, end) = (cause.from, cause.sent);
    }
    let begin = run.nodes[node].events.first().map_or(0, |event| event.begin.min(end));
    path.push(Piece { node, begin, end, by: By::Start });
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::super::read::of_lines;
    use super::super::{barriers, messages};
    use super::*;

    fn path(lines: &[&str]) -> Vec<Piece> {
        let run = of_lines(lines);
        find(&run, &messages::find(&run), &barriers::find(&run))
    }

    #[test]
    fn it_goes_to_the_node_that_came_to_a_barrier_last() {
        let found = path(&[
            "0 0.000001> (P) PUT_NB node=1 bytes=8",
            "1 0.000002> (P) PUT_NB node=0 bytes=8",
            "0 0.000052> (B) BARRIER us=42",
            "1 0.000051> (B) BARRIER us=1",
            "0 0.000090> (P) PUT_NB node=1 bytes=8",
        ]);
        assert_eq!(
            found,
            [
                Piece { node: 1, begin: 2000, end: 50_000, by: By::Start },
                Piece { node: 0, begin: 52_000, end: 90_000, by: By::Barrier },
            ]
        );
    }

    #[test]
    fn it_goes_to_the_sender_of_a_message_that_was_waited_for() {
        let lines = |sent: &'static str| {
            [
                "0 0.000001> (P) PUT_NB node=1 bytes=8",
                sent,
                "1 0.000060> (A) AM_WAIT us=40",
                "1 0.000060> (A) AMREQUEST_HANDLER node=0 bytes=0 handler=200",
                "1 0.000070> (P) PUT_NB node=0 bytes=8",
            ]
        };
        assert_eq!(
            path(&lines("0 0.000058> (A) AMREQUEST_SHORT node=1 handler=200")),
            [
                Piece { node: 0, begin: 1000, end: 58_000, by: By::Start },
                Piece { node: 1, begin: 60_000, end: 70_000, by: By::Message },
            ]
        );
        // The message was there before the node waited: the sender is not to blame.
        assert_eq!(
            path(&lines("0 0.000010> (A) AMREQUEST_SHORT node=1 handler=200")),
            [Piece { node: 1, begin: 20_000, end: 70_000, by: By::Start }]
        );
    }

    #[test]
    fn clocks_that_contradict_each_other_do_not_make_it_run_for_ever() {
        // Each left a barrier at the moment at which the other one came, and was the last at the next one.
        let found = path(&[
            "0 0.000002> (B) BARRIER us=1",
            "1 0.000004> (B) BARRIER us=2",
            "0 0.000004> (B) BARRIER us=2",
            "1 0.000008> (B) BARRIER us=4",
        ]);
        assert!(!found.is_empty() && found.len() < 5, "{found:?}");
    }
}
