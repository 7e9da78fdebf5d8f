//! The wire over TCP: what every wire must do, over plain connections, protected ones, and ones that come in pieces; first contacts that
//! cross; ends; strangers; a man between two nodes.

#![allow(unsafe_code)] // transfers of the tests' memory

mod contacts;
mod dark;
mod ends;
mod man;
mod peer;
mod pieces;
mod strangers;

use super::address::Endpoint;
use super::*;
use crate::sci::far::conformance::{self, Node, Pair};
use std::net::Ipv4Addr;

const LAYOUT: u64 = 0x1234;
const SECRET: [u8; 16] = *b"a test's secret.";

/// Nodes live at another address than strangers, who come from 127.0.0.1.
fn here() -> Endpoint {
    Endpoint::at(Ipv4Addr::new(127, 0, 0, 2).into(), 0)
}

fn wires(nodes: u32) -> Vec<Tcp> {
    (0..nodes).map(|me| Tcp::new(me, nodes, LAYOUT, SECRET, &here()).unwrap()).collect()
}

fn pair(nodes: u32) -> Pair<Tcp> {
    Pair::new(wires(nodes))
}

/// Nodes whose connections are protected.
fn protected(nodes: u32) -> Vec<Tcp> {
    let wires = wires(nodes);
    assert!(wires.iter().all(Wire::protect));
    wires
}

/// Nodes that reach each other through relays.
fn relayed(wires: Vec<Tcp>) -> Pair<Tcp> {
    let relays: Vec<pieces::Relay> = wires.iter().map(|wire| pieces::Relay::to(wire.card.spots[0].at)).collect();
    let addresses =
        relays.iter().map(|relay| Endpoint::at(Ipv4Addr::LOCALHOST.into(), relay.port).card().bytes()).collect();
    Pair::with_addresses(wires, addresses)
}

/// Where a node listens.
fn address_of(node: &Node<Tcp>) -> SocketAddr {
    node.wire.card.spots[0].at
}

#[test]
fn it_does_what_every_wire_must_do() {
    conformance::all(&pair(2));
}

#[test]
fn it_does_what_every_wire_must_do_when_bytes_come_in_pieces_and_late() {
    conformance::all(&relayed(wires(2)));
}

#[test]
fn it_does_what_every_wire_must_do_protected() {
    conformance::all(&Pair::new(protected(2)));
}

#[test]
fn it_does_what_every_wire_must_do_protected_when_bytes_come_in_pieces_and_late() {
    conformance::all(&relayed(protected(2)));
}

/// All nodes send to all others before anybody has looked, and then each in its own thread.
#[test]
fn first_contacts_that_cross_end_in_one_connection() {
    const NODES: usize = 4;
    for turn in 0..30 {
        let wires = if turn % 2 == 0 { wires(NODES as u32) } else { protected(NODES as u32) };
        let pair = Pair::new(wires);
        let everybody = |from: usize| (0..NODES).filter(move |to| *to != from);
        for from in 0..NODES {
            everybody(from).for_each(|to| assert_eq!(pair.nodes[from].post(to as u32, &[turn, from as u8]), Ok(true)));
        }
        let arrived = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for node in &pair.nodes {
                let (arrived, mut is_counted) = (&arrived, false);
                scope.spawn(move || {
                    // ORDERING: Acquire and Release: who sees the last count sees the frames.
                    while arrived.load(Ordering::Acquire) < NODES as u32 {
                        node.wire.progress(node, false);
                        assert!(node.losses.lock().is_empty(), "{:?}", node.losses.lock());
                        if !is_counted && node.came() == NODES - 1 {
                            is_counted = true;
                            arrived.fetch_add(1, Ordering::Release); // ORDERING: as above
                        }
                        std::thread::yield_now();
                    }
                });
            }
        });
        for (me, node) in pair.nodes.iter().enumerate() {
            let mut frames = node.frames();
            frames.sort_unstable();
            assert_eq!(frames, everybody(me).map(|from| (from as u32, vec![turn, from as u8])).collect::<Vec<_>>());
        }
        // Each has one connection to each other, and it is the same one at both ends.
        for (me, node) in pair.nodes.iter().enumerate() {
            for peer in everybody(me) {
                let end = |node: &Node<Tcp>, peer: usize| {
                    let link = node.wire.peer(peer as u32).link.lock();
                    let socket = link.socket().expect("it is open");
                    (socket.local_addr().unwrap(), socket.peer_addr().unwrap())
                };
                let ((a, b), theirs) = (end(node, peer), end(&pair.nodes[peer], me));
                assert_eq!(theirs, (b, a), "{me} and {peer}");
            }
        }
    }
}

/// More peers than strangers are let in at once, all in the middle of their own first contacts. None is told off.
#[test]
fn more_contacts_at_once_than_strangers_are_let_in() {
    const NODES: usize = STRANGERS + 6;
    let pair = pair(NODES as u32);
    for to in 1..NODES {
        assert_eq!(pair.nodes[0].post(to as u32, b"there"), Ok(true));
        assert_eq!(pair.nodes[to].post(0, b"back"), Ok(true));
    }
    pair.until("contacts", || pair.came(0) == NODES - 1 && (1..NODES).all(|node| pair.came(node) == 1));
    assert!(!pair.nodes[0].wire.told.lock().has(Refusal::Crowd));
}

/// Threads that send at once, while another one receives, and while the contact is being made.
#[test]
fn frames_of_each_thread_come_in_their_order() {
    const THREADS: usize = 4;
    const FRAMES: u32 = 2000;
    let pair = pair(2);
    let node = &pair.nodes[0];
    std::thread::scope(|scope| {
        for thread in 0..THREADS as u8 {
            scope.spawn(move || {
                for number in 0..FRAMES {
                    let mut frame = vec![thread; 5 + number as usize * 37 % 900];
                    frame[1..5].copy_from_slice(&number.to_le_bytes());
                    while !node.post(1, &frame).expect("no loss") {
                        node.wire.progress(node, true);
                    }
                }
            });
        }
        pair.until("frames", || pair.came(1) == THREADS * FRAMES as usize);
    });
    let mut next = [0u32; THREADS];
    for (peer, frame) in pair.frames(1) {
        let (thread, number) = (frame[0], u32::from_le_bytes(*frame[1..].first_chunk().unwrap()));
        assert_eq!((peer, number), (0, next[usize::from(thread)]));
        assert!(frame.len() == 5 + number as usize * 37 % 900 && frame[5..].iter().all(|byte| *byte == thread));
        next[usize::from(thread)] += 1;
    }
    assert_eq!(next, [FRAMES; THREADS]);
}

#[test]
fn a_node_without_an_address_is_lost_at_once() {
    let mut wires = wires(2);
    wires.truncate(1);
    let addresses = vec![wires[0].address(), Vec::new()];
    let pair = Pair::with_addresses(wires, addresses);
    let node = &pair.nodes[0];
    let _ = node.post(1, b"x");
    assert!(node.loss().contains("no address"), "{:?}", node.losses.lock());
    assert!(node.post(1, b"x").is_err());
}
