//! Jobs of more than 64 nodes, where a receiver looks at exist words before it looks at ready counts.

use super::plan::{Leg, Message};
use super::steps::{ECHO, NOTE, Steps, note_of};
use super::traffic::{mixed, travel};
use super::world::{Kit, Shape, Steady, over_all_adapters, tests_over};
use crate::sci::heap::Heap;
use crate::testkit::shipping::Together;

fn large() -> Shape {
    Shape { active: vec![0, 20, 40, 63, 64, 66, 69], ..Shape::new(70, 4) }
}

#[test]
fn any_traffic_between_few_nodes_of_a_large_job_arrives() {
    fn any<A: Kit>() {
        for seed in 0..A::SEEDS.min(3) {
            for answers in [0, 8, 16] {
                travel::<A>(&large(), 500, seed, &mixed(seed, 40, answers, 500), &|_| {});
            }
        }
    }
    over_all_adapters!(any);
}

/// The only message of a pair cannot be found by looking for the pair's next one.
#[test]
fn a_single_message_from_an_unpredicted_peer_is_found() {
    fn single<A: Kit>(reply: Option<Leg>) {
        let plan =
            |from: u32, to: u32, m: u32| (m == 0 && from != to).then_some(Message { request: Leg::short(1), reply });
        for seed in 0..A::SEEDS {
            travel::<A>(&large(), 0, seed, &plan, &|_| {});
        }
    }
    over_all_adapters!(single, None);
    over_all_adapters!(single, Some(Leg::short(0)));
}

/// The credit must arrive no later than the reply's exist word, because no node sets that word again.
#[test]
fn a_reply_behind_an_unanswered_request_is_found() {
    fn behind<A: Kit>() {
        let plan = |from: u32, to: u32, m: u32| {
            let reply = (m == 1).then_some(Leg::short(0));
            (m < 2 && from != to).then_some(Message { request: Leg::short(1), reply })
        };
        let shape = Shape { slots: 64, active: vec![0, 20, 40, 64, 66], ..large() };
        for seed in 0..A::SEEDS {
            travel::<A>(&shape, 0, seed, &plan, &|_| {});
        }
    }
    over_all_adapters!(behind);
}

/// The number of nodes of the largest supported job: two lines of exist words.
const MANY: u32 = 1024;

/// One thread plays node 0 of 1,024 nodes and the nodes of `peers`, in this order. The other nodes send nothing.
fn many<A: Steady>(peers: &[u32]) -> Steps<A> {
    Steps::new(&Shape { active: [&[0], peers].concat(), everything: true, ..Shape::new(MANY, 4) })
}

fn random(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) as u32
}

/// Ranks from the whole job: the edges of groups and of lines, and others.
fn all_over() -> Vec<u32> {
    let mut state = 7;
    let mut ranks: Vec<u32> = (0..10).map(|_| 1 + random(&mut state) % (MANY - 1)).collect();
    ranks.extend([1, 63, 64, 511, 512, 575, 1023]);
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

fn a_message_of_any_of_1024_nodes_is_found_within_a_few_polls<A: Steady>() {
    let peers = all_over();
    let steps = many::<A>(&peers);
    let mut state = 1;
    for round in 0..3000 {
        let from = random(&mut state) as usize % peers.len();
        for _ in 0..random(&mut state) % 200 {
            steps.poll(0); // finds nothing
        }
        assert_eq!(steps.take_log(), []);
        steps.request(from as u32 + 1, 0, NOTE, round);
        let polls = (1..=8).find(|_| steps.poll(0));
        assert!(polls.is_some(), "round {round}: the message of node {} is not found", peers[from]);
        assert_eq!(steps.take_log(), [(peers[from], round)]);
    }
}

fn none_of_many_messages_of_1024_nodes_is_lost<A: Steady>() {
    let peers = all_over();
    let steps = many::<A>(&peers);
    let mut state = 2;
    let mut sent = vec![0; peers.len()];
    let mut seen = vec![0; peers.len()];
    let mut take = |log: Vec<(u32, i32)>| {
        for (from, value) in log {
            let at = peers.iter().position(|peer| *peer == from).unwrap();
            assert_eq!(value, seen[at], "in order, and none left out, from node {from}");
            seen[at] += 1;
        }
        seen.clone()
    };
    for _ in 0..20_000 {
        let from = random(&mut state) as usize % peers.len();
        // At most as many as there are slots. With more, the sender would wait for node 0, which this thread plays
        // too.
        if sent[from] - take(steps.take_log())[from] < 4 {
            steps.request(from as u32 + 1, 0, NOTE, sent[from]);
            sent[from] += 1;
        }
        for _ in 0..random(&mut state) % 4 {
            steps.poll(0);
        }
    }
    assert_eq!(take(steps.poll_until_quiet(0)), sent);
}

/// Node 0 sends to all these nodes and finds their answers.
fn answers_of_many_of_1024_nodes_are_found<A: Steady>() {
    let peers = all_over();
    let steps = many::<A>(&peers);
    for round in 0..50 {
        for peer in &peers {
            steps.request(0, *peer, ECHO, round);
        }
        for at in 1..=peers.len() {
            assert_eq!(steps.poll_until_quiet(at as u32), [(0, round)]);
        }
        let mut answers = steps.poll_until_quiet(0);
        answers.sort_unstable();
        assert_eq!(answers, peers.iter().map(|peer| (*peer, note_of(round))).collect::<Vec<_>>());
    }
}

/// A node of a large job has queues to the nodes that it talked to, and to no others.
fn silent_peers_have_no_way<A: Steady>() {
    let steps = many::<A>(&[5, 700]);
    for _ in 0..2000 {
        steps.poll(0);
    }
    assert_eq!(steps.ways(0), 0);
    steps.request(2, 0, ECHO, 1);
    assert_eq!(steps.poll_until_quiet(0), [(700, 1)]);
    assert_eq!((steps.ways(0), steps.ways(1), steps.ways(2)), (1, 0, 1));
}

// Over adapters whose nodes have all memory in common. Each look of a wire would pass 1,024 queues; what goes over one is tried with
// 70 nodes above.
tests_over! { [Heap, Together]:
    a_message_of_any_of_1024_nodes_is_found_within_a_few_polls,
    none_of_many_messages_of_1024_nodes_is_lost,
    answers_of_many_of_1024_nodes_are_found,
    silent_peers_have_no_way,
}
