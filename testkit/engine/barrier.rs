//! The barrier between nodes on threads of their own.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::world::{Kit, Node, Shape, Watchdog, nodes, run, tests_over};
use crate::barrier::{ANONYMOUS, MISMATCH};
use crate::base::error::is_bad_arg as is_bad;
use crate::sci::heap::Heap;
use crate::sci::reorder::Reorder;
use crate::sci::{Adapter, RemoteMap};
use crate::sync::{AtomicU32, Ordering};
use crate::testkit::payload::mix;
use crate::testkit::shipping::{Apart, Paired, Together};

/// Bytes that a node writes to the next one before each notify.
const NOTE: usize = 640;

/// What a node passes to notify in a phase: mostly the common name, sometimes none, another name, or the mismatch
/// flag.
fn arrival(phase: u32, node: u32) -> (i32, u32) {
    let bits = mix(&[phase.into(), node.into()]);
    match (phase % 4, bits % 8) {
        (0, _) => (phase as i32, 0),
        (1, 0) => (phase as i32 + 1, 0),
        (2, 0) => (0, MISMATCH),
        (3, 0..=6) => (bits as i32, ANONYMOUS),
        _ => (phase as i32, 0),
    }
}

/// The result that a phase must have: mismatch, or the name if a node gave one.
fn outcome(phase: u32, nodes: u32) -> Result<Option<i32>, ()> {
    let all: Vec<_> = (0..nodes).map(|node| arrival(phase, node)).collect();
    let mut names: Vec<i32> = all.iter().filter(|(_, flags)| *flags == 0).map(|(id, _)| *id).collect();
    names.dedup();
    match names[..] {
        _ if all.iter().any(|(_, flags)| flags & MISMATCH != 0) => Err(()),
        [] => Ok(None),
        [name] => Ok(Some(name)),
        _ => Err(()),
    }
}

fn value(phase: u32, from: u32) -> u8 {
    mix(&[9, phase.into(), from.into()]) as u8
}

/// With `notes`, nodes also check that what the one before has stored is there. Stores to far nodes are only ordered with those of the
/// same node, so they need not be: a leader's word may come first.
fn phases<A: Adapter>(node: &Node<A>, count: u32, notes: bool) {
    let nodes = node.bases.len() as u32;
    let next = (node.me + 1) % nodes;
    let before = (node.me + nodes - 1) % nodes;
    for phase in 1..=count {
        // The writer may be one phase ahead of the reader.
        let place = phase as usize % 2 * 1024;
        if notes {
            let map = node.maps[next as usize].as_ref().unwrap();
            map.fill(place, value(phase, node.me), NOTE).unwrap();
        }
        let (id, flags) = arrival(phase, node.me);
        node.barrier.notify(&node.am, id, flags).unwrap();
        let expected = outcome(phase, nodes);
        let matches = node.barrier.wait(&node.am, &node.am, id, flags).unwrap();
        assert_eq!(matches, expected.is_ok(), "phase {phase}");
        assert_eq!(node.barrier.result().unwrap(), expected.unwrap_or(None), "phase {phase}");
        if !notes {
            continue;
        }
        let own = node.bases[node.me as usize] + place;
        for at in own..own + NOTE {
            // SAFETY: a byte of this node's segment. The writer stores here again only after our next notify.
            let byte = unsafe { (at as *const u8).read() };
            assert_eq!(byte, value(phase, before), "phase {phase}: byte {} from node {before}", at - own);
        }
    }
    // A peer may still wait, in its last phase, for stores that only our calls deliver.
    for _ in 0..200 {
        node.am.wait_step(0);
    }
}

/// The hosts of the nodes of some jobs.
const HOSTS: [&[u32]; 6] =
    [&[0, 1], &[0, 1, 1, 2, 2, 2], &[0, 1, 2], &[0, 1, 2, 3, 4], &[0, 1, 2, 0, 1, 0], &[0, 0, 0, 1, 2, 2, 3]];

fn on(hosts: &[u32]) -> Shape {
    Shape { hosts: hosts.to_vec(), ..Shape::new(hosts.len() as u32, 4) }
}

fn all_phases<A: Kit>(levels_with_notes: bool) {
    for seed in 0..A::SEEDS {
        for nodes in [2, 3, 6] {
            run(&Shape::new(nodes, 4), A::kit(nodes, seed), |node| phases(node, 80, true));
        }
        for hosts in HOSTS {
            run(&on(hosts), A::kit(hosts.len() as u32, seed), |node| phases(node, 40, levels_with_notes));
        }
    }
}

#[test]
fn what_was_stored_before_notify_is_seen_after_wait_and_names_agree() {
    all_phases::<Heap>(true);
    all_phases::<Reorder<Heap>>(true);
    all_phases::<Together>(true);
    all_phases::<Apart>(false);
    all_phases::<Paired>(false);
}

fn the_count_of_phases_comes_round<A: Kit>() {
    let wrap = |node: &Node<A>| {
        node.barrier.start_at(0x3fff_ffff - 5);
        phases(node, 12, true);
    };
    run(&Shape::new(3, 4), A::kit(3, 0), wrap);
}

#[test]
fn a_node_that_has_notified_need_not_poll() {
    let nodes = nodes(&Shape::new(3, 4), &Heap::kit(3, 0));
    nodes[0].barrier.notify(&nodes[0].am, 1, 0).unwrap();
    nodes[1].barrier.notify(&nodes[1].am, 1, 0).unwrap();
    assert_eq!(nodes[1].barrier.finished(&nodes[1].am, 1, 0), Ok(None));
    nodes[2].barrier.notify(&nodes[2].am, 1, 0).unwrap();
    assert_eq!(nodes[1].barrier.finished(&nodes[1].am, 2, 0), Ok(Some(false)), "another name than notify's");
    // Node 1 notifies the next phase while node 0 has not waited for this one.
    nodes[1].barrier.notify(&nodes[1].am, 2, 0).unwrap();
    assert_eq!(nodes[0].barrier.finished(&nodes[0].am, 1, 0), Ok(Some(true)));
    assert_eq!(nodes[2].barrier.finished(&nodes[2].am, 0, ANONYMOUS), Ok(Some(true)));
}

/// Nodes whose polls carry on the barrier, as `Job` has it. The nodes are not freed: the polls keep them.
fn served(shape: &Shape) -> &'static [Node<Heap>] {
    let nodes: &'static [Node<Heap>] = nodes(shape, &Heap::kit(shape.nodes, 0)).leak();
    for node in nodes {
        node.am.set_background(|| node.barrier.advance(&node.am));
    }
    nodes
}

fn polls<'a>(nodes: impl Iterator<Item = &'a Node<Heap>> + Clone) {
    for node in (0..8).flat_map(|_| nodes.clone()) {
        node.am.poll();
    }
}

#[test]
fn a_leader_that_has_notified_and_polls_need_not_wait() {
    for hosts in HOSTS {
        let nodes = served(&on(hosts));
        for phase in 1..=6 {
            // Each time another node is the last to notify, and what all give but one is named alike.
            let last = phase as usize % nodes.len();
            let others = nodes.iter().filter(|node| node.me as usize != last);
            others.clone().for_each(|node| node.barrier.notify(&node.am, 7, 0).unwrap());
            polls(others.clone());
            for node in others {
                assert_eq!(node.barrier.finished(&node.am, 7, 0), Ok(None), "{hosts:?}: {last} has not notified");
            }
            let name = if phase % 2 == 0 { 7 } else { 8 };
            nodes[last].barrier.notify(&nodes[last].am, name, 0).unwrap();
            polls(nodes.iter());
            // Nobody has looked at the barrier itself: the polls told all that others need.
            for node in nodes.iter().rev() {
                assert!(!node.barrier.owes());
                assert_eq!(node.barrier.finished(&node.am, 7, 0), Ok(Some(name == 7)), "{hosts:?}: node {}", node.me);
            }
        }
    }
}

#[test]
fn tries_in_a_loop_end_on_several_hosts() {
    let names = |phase: u32, me: u32| if phase % 3 == 2 && me == 4 { (5, 0) } else { (4, ANONYMOUS * (me % 2)) };
    run(&on(&[0, 1, 1, 2, 2, 2]), Heap::kit(6, 0), |node| {
        for phase in 0..50 {
            let (id, flags) = names(phase, node.me);
            node.barrier.notify(&node.am, id, flags).unwrap();
            let matches = loop {
                node.am.poll();
                match node.barrier.finished(&node.am, id, flags).unwrap() {
                    Some(matches) => break matches,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(matches, phase % 3 != 2, "phase {phase}");
        }
    });
}

#[test]
fn threads_that_poll_carry_a_leader_s_part_beside_the_one_that_waits() {
    let shape = Shape { threaded: true, ..on(&[0, 0, 1, 1, 2, 3]) };
    let nodes = served(&shape);
    let _watch = Watchdog::start();
    let running = AtomicU32::new(nodes.len() as u32);
    std::thread::scope(|scope| {
        for node in nodes {
            scope.spawn(|| {
                phases(node, 60, true);
                running.fetch_sub(1, Ordering::Relaxed);
            });
            scope.spawn(|| {
                while running.load(Ordering::Relaxed) > 0 {
                    node.am.poll();
                    std::thread::yield_now();
                }
            });
        }
    });
}

#[test]
fn notify_and_wait_alternate() {
    let nodes = nodes(&Shape::new(2, 4), &Heap::kit(2, 0));
    let (am, barrier) = (&nodes[0].am, &nodes[0].barrier);
    assert!(is_bad(barrier.finished(am, 0, 0)));
    assert!(is_bad(barrier.result()));
    barrier.notify(am, 0, 0).unwrap();
    assert!(is_bad(barrier.notify(am, 0, 0)));
    assert!(is_bad(barrier.result()));
}

tests_over! { [Heap, Together, Apart, Paired]:
    the_count_of_phases_comes_round,
}
