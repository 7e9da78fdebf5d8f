//! Brings the times of all nodes to one clock.
//!
//! A trace's times begin at 0 when its node joined the job. Nodes of one host have the host's clock in common, which the head of a
//! trace names. Between hosts, and in traces without a head, nothing is known but that no message arrives before it was sent, and
//! that nobody leaves a barrier before all have come. Messages of both directions leave an interval for the difference between two
//! clocks; its middle is taken. So an arrow between hosts may be wrong by half of the fastest way there and back.

use super::barriers::Round;
use super::messages::Messages;
use super::run::{NONE, Run};

/// Lower and upper bound of what must be added to a clock.
type Bounds = (i64, i64);

const FREE: Bounds = (i64::MIN, i64::MAX);

/// Nodes whose clocks differ by what is known: for each node its group, and what its own times need to become the group's.
fn groups(run: &Run) -> Vec<(usize, i64)> {
    let mut hosts: Vec<&str> = Vec::new();
    let mut next = run.nodes.len();
    let base = run.nodes.iter().filter_map(|node| Some(node.host.as_ref()?.1)).min().unwrap_or(0);
    run.nodes
        .iter()
        .map(|node| match &node.host {
            Some((host, clock)) => {
                let group = hosts.iter().position(|known| known == host).unwrap_or_else(|| {
                    hosts.push(host);
                    hosts.len() - 1
                });
                (group, clock.saturating_sub(base).min(i64::MAX as u64 / 4) as i64)
            }
            None => {
                next += 1;
                (next - 1, 0)
            }
        })
        .collect()
}

/// True if all nodes share a clock, so that times need no guess.
pub fn is_one(run: &Run) -> bool {
    groups(run).windows(2).all(|pair| pair[0].0 == pair[1].0)
}

/// A pair of moments: what happened at the first node at the first time was before what happened at the second one.
type Order = (usize, u64, usize, u64);

fn orders(run: &Run, messages: &Messages, rounds: &[Round]) -> Vec<Order> {
    let mut orders = Vec::new();
    for (to, origin) in messages.origin.iter().enumerate() {
        for (place, sent) in origin.iter().enumerate().filter(|(_, sent)| **sent != NONE) {
            let event = &run.nodes[to].events[place];
            if let Some(from) = run.place(event.peer).filter(|from| *from != to) {
                orders.push((from, run.nodes[from].events[*sent as usize].begin, to, event.begin));
            }
        }
    }
    // Barriers decide only where there are no messages: of a team's they might bring together what does not belong together.
    if orders.is_empty() {
        for round in rounds {
            let pairs = round.visits.iter().flat_map(|a| round.visits.iter().map(move |b| (a, b)));
            orders.extend(pairs.filter(|(a, b)| a.node != b.node).map(|(a, b)| (a.node, a.enter, b.node, b.exit)));
        }
    }
    orders
}

/// What is to be added to each node's times.
fn shifts(run: &Run, messages: &Messages, rounds: &[Round]) -> Vec<i64> {
    let groups = groups(run);
    let orders = orders(run, messages, rounds);
    let count = groups.iter().map(|(group, _)| group + 1).max().unwrap_or(0);
    let mut known: Vec<Option<i64>> = vec![None; count];
    if let Some((first, _)) = groups.first() {
        known[*first] = Some(0);
    }
    loop {
        let mut bounds = vec![FREE; count];
        for (from, sent, to, arrived) in &orders {
            let ((a, a_own), (b, b_own)) = (groups[*from], groups[*to]);
            let (sent, arrived) = (*sent as i64 + a_own, *arrived as i64 + b_own);
            match (known[a], known[b]) {
                (Some(shift), None) => bounds[b].0 = bounds[b].0.max(sent + shift - arrived),
                (None, Some(shift)) => bounds[a].1 = bounds[a].1.min(arrived + shift - sent),
                _ => (),
            }
        }
        // The one that is known best comes next: it may tell about others.
        let width = |(low, high): Bounds| i128::from(high) - i128::from(low);
        let next = (0..count)
            .filter(|group| known[*group].is_none() && bounds[*group] != FREE)
            .min_by_key(|group| width(bounds[*group]));
        let Some(group) = next else { break };
        known[group] = Some(match bounds[group] {
            (low, i64::MAX) => low,
            (i64::MIN, high) => high,
            (low, high) => low + (high - low) / 2,
        });
    }
    groups.iter().map(|(group, own)| own + known[*group].unwrap_or(0)).collect()
}

/// Makes the times of all nodes those of one clock, which begins with the first event or note.
pub fn align(run: &mut Run, messages: &Messages, rounds: &mut [Round]) {
    let shifts = shifts(run, messages, rounds);
    let firsts = run.nodes.iter().zip(&shifts).filter_map(|(node, shift)| {
        let begins = node.events.iter().map(|event| event.begin).chain(node.notes.iter().map(|note| note.when));
        Some(begins.min()? as i64 + shift)
    });
    let start = firsts.min().unwrap_or(0);
    let moved = |time: &mut u64, shift: i64| *time = (*time as i64 + shift - start).max(0) as u64;
    for (node, shift) in run.nodes.iter_mut().zip(&shifts) {
        node.events.iter_mut().for_each(|event| moved(&mut event.begin, *shift));
        node.notes.iter_mut().for_each(|note| moved(&mut note.when, *shift));
    }
    for visit in rounds.iter_mut().flat_map(|round| &mut round.visits) {
        moved(&mut visit.enter, shifts[visit.node]);
        moved(&mut visit.exit, shifts[visit.node]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::of_lines;
    use super::super::{barriers, messages};
    use super::*;

    fn aligned(lines: &[&str]) -> Run {
        let mut run = of_lines(lines);
        let (messages, mut rounds) = (messages::find(&run), barriers::find(&run));
        align(&mut run, &messages, &mut rounds);
        run
    }

    fn begins(run: &Run) -> Vec<Vec<u64>> {
        run.nodes.iter().map(|node| node.events.iter().map(|event| event.begin).collect()).collect()
    }

    #[test]
    fn nodes_of_a_host_have_its_clock() {
        let run = aligned(&[
            "0 0.000000000> (U) trace node=0 nodes=2 clock=5000 host=a",
            "1 0.000000000> (U) trace node=1 nodes=2 clock=7000 host=a",
            "0 0.000001000> (P) PUT_NB node=1 bytes=8",
            "1 0.000001000> (P) PUT_NB node=0 bytes=8",
        ]);
        assert!(is_one(&run));
        assert_eq!(begins(&run), [[0], [2000]]);
    }

    #[test]
    fn messages_there_and_back_bring_two_hosts_together() {
        // Host b's clock is 1 s behind; a message takes 10 µs there, the answer 30 µs back: the middle is 10 µs off.
        let run = aligned(&[
            "0 0.000000000> (U) trace node=0 nodes=2 clock=1000000000 host=a",
            "1 0.000000000> (U) trace node=1 nodes=2 clock=1 host=b",
            "0 0.000100000> (A) AMREQUEST_SHORT node=1 handler=200",
            "1 0.000110000> (A) AMREQUEST_HANDLER node=0 bytes=0 handler=200",
            "1 0.000110000> (A) AMREPLY_SHORT node=0 handler=200",
            "0 0.000140000> (A) AMREPLY_HANDLER node=1 bytes=0 handler=200",
        ]);
        assert!(!is_one(&run));
        assert_eq!(begins(&run), [[0, 40_000], [20_000, 20_000]]);
    }

    #[test]
    fn barriers_bring_old_traces_together() {
        let run = aligned(&["0 0.000030> (B) BARRIER us=20", "1 5.000010> (B) BARRIER us=10"]);
        // Node 1 came last: it cannot have come after node 0 left, nor left before node 0 came.
        let [zero, one] = [0, 1].map(|node: usize| run.nodes[node].events[0]);
        assert!(one.begin <= zero.end() && zero.begin <= one.end(), "{zero:?} {one:?}");
    }
}
