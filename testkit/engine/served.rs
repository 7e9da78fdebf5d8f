//! The library's own messages between nodes of one process. They run what `xfer::reference` and `vis::pack` register,
//! over the heap adapter and over the one that delays and reorders stores.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::world::{Kit, Node, Shape, nodes, nodes_with, over_all_adapters, run_nodes};
use crate::am::library::RMA_DONE;
use crate::am::source::{Args, Source};
use crate::base::config::Config;
use crate::base::fatal::caught::catch;
use crate::sci::heap::Heap;
use crate::sci::{Adapter, Effort};
use crate::sync::{AtomicU32, Ordering};
use crate::testkit::payload::mix;
use crate::testkit::shipping::Apart;
use crate::verbs::{Flags, Target};
use crate::vis::shape::{Indexed, What};
use crate::vis::{Verb, Vis};
use crate::xfer::{Completion, Counted, Engines, Landing, Rma, home, reference};

/// Bytes of each node's part of a segment.
const PART: usize = 2048;
/// Lengths of transfers: within a word, within a line, a Medium in its slot, a Medium in the ring.
const LENGTHS: [usize; 8] = [1, 7, 8, 9, 64, 100, 600, PART];

fn bytes(seed: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| mix(&[seed, i as u64]) as u8).collect()
}

/// Starts an operation with `start` and serves messages until it is done.
fn done<A: Adapter>(node: &Node<A>, start: impl FnOnce(Counted<'static>)) {
    let (id, op) = home::take().unwrap();
    start(Counted { id, op });
    let mut failed = 0;
    while !op.is_done() {
        failed = node.am.wait_step(failed);
    }
    home::give(id, op);
}

/// Serves messages until all nodes have come here. A barrier would not do: this node's last stores may still be
/// under way after it, and they arrive only while the node lives.
fn meet<A: Adapter>(node: &Node<A>, here: &AtomicU32) {
    here.fetch_add(1, Ordering::Relaxed); // Relaxed: a count; messages have their own order
    let mut failed = 0;
    while here.load(Ordering::Relaxed) < node.am.nodes() {
        failed = node.am.wait_step(failed);
    }
}

/// Puts, gets and sets this node's part of every peer's segment, and checks what it has put.
fn transfers<A: Adapter>(node: &Node<A>, seed: u64, here: &AtomicU32) {
    for (round, len) in LENGTHS.into_iter().enumerate() {
        for peer in (0..node.am.nodes()).filter(|peer| *peer != node.me) {
            let at = node.bases[peer as usize] + PART * node.me as usize;
            let sent = bytes(mix(&[seed, node.me.into(), peer.into(), round as u64]), len);
            // SAFETY: `sent` lives until the operation is done.
            let source = unsafe { Source::new(sent.as_ptr(), len) };
            done(node, |c| reference::put(&node.am, peer, at, source, c).unwrap());
            let mut back = vec![0; len];
            // SAFETY: `back` is writable and lives until the get is done.
            let landing = unsafe { Landing::new(back.as_mut_ptr(), len) };
            done(node, |c| reference::get(&node.am, peer, at, landing, c).unwrap());
            assert_eq!(back, sent, "{len} bytes from {peer}");
            // Gets into our own segment, behind the others' parts. The answer is a Long, or is streamed.
            let own = node.bases[node.me as usize] + PART * node.am.nodes() as usize;
            // SAFETY: in our segment, at a place that no other node uses.
            let landing = unsafe { Landing::new(own as *mut u8, len) };
            done(node, |c| reference::set(&node.am, peer, at, round as u8, len, c).unwrap());
            done(node, |c| reference::get(&node.am, peer, at, landing, c).unwrap());
            // SAFETY: bytes of this node's segment; no get is under way.
            let got: Vec<u8> = (0..len).map(|i| unsafe { (own as *const u8).wrapping_add(i).read() }).collect();
            assert_eq!(got, vec![round as u8; len], "{len} bytes set at {peer}");
        }
    }
    meet(node, here);
}

fn transfers_over<A: Kit>(everything: bool) {
    for seed in 0..A::SEEDS {
        let shape = Shape { everything, segment: 4 * PART, ..Shape::new(3, 4) };
        let here = AtomicU32::new(0);
        run_nodes(nodes(&shape, &A::kit(3, seed)), |node| transfers(node, seed, &here));
    }
}

#[test]
fn transfers_by_messages_are_whole_whatever_the_order_of_stores() {
    for everything in [false, true] {
        over_all_adapters!(transfers_over, everything);
    }
}

/// Runs on the heap adapter only: the one that reorders has memory that nothing else may read.
#[test]
fn pieces_by_messages_are_whole() {
    const PIECE: usize = 24;
    for seed in 0..8 {
        let engines = [0, 1].map(|_| Vis::new(&Config::default()));
        let shape = Shape::new(2, 4);
        let made = nodes_with(&shape, &Heap::kit(2, seed), |rank, library| {
            reference::register(library);
            engines[rank as usize].register(library);
        });
        let here = AtomicU32::new(0);
        run_nodes(made, |node| {
            let (vis, rma, peer) = (&engines[node.me as usize], Rma::new(false, None), 1 - node.me);
            let far: [usize; 3] = std::array::from_fn(|i| node.bases[peer as usize] + 100 * i);
            let (sent, mut back) = (bytes(seed + u64::from(node.me), 3 * PIECE), vec![0u8; 3 * PIECE]);
            let near: [usize; 3] = std::array::from_fn(|i| sent.as_ptr().addr() + PIECE * i);
            let there: [usize; 3] = std::array::from_fn(|i| back.as_mut_ptr().addr() + PIECE * i);
            let all = |list| Indexed { list, len: PIECE };
            let put = What::Indexed(all(&far), all(&near));
            let start = |call: Verb, what: &What<'_>, c: Counted<'static>| {
                let on = Engines { am: &node.am, rma: &rma };
                let _ = vis.start(on, Target::node(peer), call, what, Flags::NONE, Completion::at_return(c)).unwrap();
            };
            done(node, |c| start(Verb::PutI, &put, c));
            let get = What::Indexed(all(&there), all(&far));
            done(node, |c| start(Verb::GetI, &get, c));
            assert_eq!(back, sent);
            meet(node, &here);
        });
    }
}

/// A message to a client's index never reaches a handler of the library, even if a node sends it to itself.
#[test]
fn a_node_reaches_none_of_the_librarys_handlers_by_a_message_to_itself() {
    let made = nodes(&Shape::new(1, 4), &Heap::kit(1, 0));
    // SAFETY: with 0 arguments nothing is read.
    let none = unsafe { Args::from_raw(std::ptr::null(), 0) };
    let send = || made[0].am.request_short(0, RMA_DONE, none);
    let text = catch(send).expect_err("a fatal error");
    assert!(text.contains("not registered"), "{text}");
}

/// A client that computes between its polls makes few of them, and those that the header makes do not look at the network.
#[test]
fn polls_are_the_library_s_while_the_adapter_expects_something() {
    let left = |node: &Node<Apart>| node.am.watch().left.load(Ordering::Relaxed); // Relaxed: one thread
    let mut expected = 0;
    for seed in 0..40 {
        let (shape, adapters) = (Shape { segment: 4096, ..Shape::new(2, 8) }, Apart::kit(2, seed));
        let nodes = nodes(&shape, &adapters);
        while left(&nodes[1]) == 0 {
            nodes[1].am.poll_in_loop(); // until it has been quiet
        }
        let mut under_way = Vec::new();
        for _ in 0..6 {
            let (id, op) = home::take().unwrap();
            reference::set(&nodes[0].am, 1, nodes[0].bases[1], 7, 64, Counted { id, op }).unwrap();
            under_way.push((id, op));
        }
        while !under_way.iter().all(|(_, op)| op.is_done()) {
            nodes[1].am.poll_in_loop();
            if adapters[1].is_expecting() {
                expected += 1;
                assert_eq!(left(&nodes[1]), 0);
            }
            nodes[0].am.poll();
        }
        under_way.into_iter().for_each(|(id, op)| home::give(id, op));
    }
    assert!(expected > 40, "else nothing was tried: {expected}");
}

/// Two nodes that answer each other at once find each message by the header's look, and never call the library for lack of one.
#[test]
fn messages_that_the_header_sees_leave_the_adapter_its_turns() {
    const QUIET: u8 = 200;
    extern "C" fn quiet(_: *mut std::ffi::c_void) {}
    let left = |node: &Node<Apart>| node.am.watch().left.load(Ordering::Relaxed); // Relaxed: one thread
    let (shape, adapters) = (Shape::new(2, 8), Apart::kit(2, 3));
    let nodes = nodes(&shape, &adapters);
    nodes.iter().for_each(|node| node.register(&[(QUIET, quiet as *const () as usize)]));
    // SAFETY: with 0 arguments nothing is read.
    let none = unsafe { Args::from_raw(std::ptr::null(), 0) };
    let polls = || nodes[1].counter("polls that found messages") + nodes[1].counter("polls that found none");
    let mut told = 0;
    for round in 0..256 {
        // All polls of a node are counted, also those of this loop: how many it makes depends on the wire and on the clock. The poll that
        // sees the message is made at each remainder of that count in turn.
        while left(&nodes[1]) == 0 || polls() % 16 != round % 16 {
            nodes[1].am.poll_in_loop();
        }
        nodes[0].am.request_short(1, QUIET, none).unwrap();
        while adapters[1].progress(Effort::Thorough) || adapters[1].is_expecting() {}
        let before = adapters[1].far().told();
        nodes[1].am.poll_watched(false);
        let now = adapters[1].far().told() - before;
        assert_eq!(now, if round % 16 == 15 { 16 } else { 0 }, "round {round}");
        told += now;
        while !nodes[0].am.has_room(1).unwrap() {
            nodes[0].am.poll();
            nodes[1].am.settle();
        }
    }
    assert_eq!(told, 256, "in calls for 16 each");
}
