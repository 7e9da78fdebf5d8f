//! Many nodes send at once, by a clock that only this file moves: what they take together is bounded from below by the busiest link, and from
//! above by little more than what the busiest link and the busiest node need.

use super::engine::Engine;
use super::leave::{self, pio_burst};
use super::links::{Burst, Links, span_of};
use crate::sci::model::{Issuer, Packet, Parameters, Topology, packets};
use std::collections::VecDeque;
use std::ops::Range;

/// How a node sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// One long write.
    Pio,
    /// One line, and the next one when that has left.
    Lines,
    Dma,
}

/// `bytes` bytes to node `to`.
#[derive(Clone, Copy)]
struct Message {
    to: u32,
    bytes: usize,
    by: By,
}

#[derive(Default)]
struct Node {
    issuer: Issuer,
    engine: Engine,
    messages: VecDeque<Message>,
    /// Bytes of the first message that have left.
    left: usize,
    /// When it acts next, and when the last of its packets arrives.
    time: f64,
    end: f64,
}

struct Crowd {
    hardware: Parameters,
    topology: Topology,
    links: Links,
    nodes: Vec<Node>,
}

impl Crowd {
    fn new(hardware: &str, topology: &str) -> Crowd {
        let topology = Topology::parse(topology).unwrap();
        let nodes = (0..topology.positions().unwrap()).map(|_| Node::default()).collect();
        let hardware = Parameters::of(hardware).unwrap();
        Crowd { hardware, topology, links: Links::own(topology.links() as usize), nodes }
    }

    fn send(&mut self, from: u32, to: u32, bytes: usize, by: By) {
        self.nodes[from as usize].messages.push_back(Message { to, bytes, by });
    }

    /// All nodes send to all others, each in the order of `peer(node, k)`.
    fn all_to_all(&mut self, each: usize, bytes: usize, by: By, peer: impl Fn(u32, u32) -> u32) {
        let n = self.nodes.len() as u32;
        for (from, k) in (0..n).flat_map(|from| (0..each as u32 * n).map(move |k| (from, k % n))) {
            let to = peer(from, k);
            if to != from {
                self.send(from, to, bytes, by);
            }
        }
    }

    /// Nanoseconds that the busiest link needs, and those that the busiest node needs if no link is busy.
    fn least(&self) -> (f64, f64) {
        let mut links = vec![0u64; self.topology.links() as usize];
        let mut busiest = 0.0f64;
        for (from, node) in self.nodes.iter().enumerate() {
            let mut own = 0.0;
            for Message { to, bytes, by } in &node.messages {
                let burst = Burst::of_write(bytes.div_ceil(64), 0);
                self.topology.loads(from as u32, *to, |load| {
                    links[load.link as usize] += if load.is_on_way { burst.on_way } else { burst.beside };
                });
                own += match by {
                    By::Dma => self.hardware.dma(*bytes, self.topology.way(from as u32, *to)),
                    By::Pio | By::Lines => bytes.div_ceil(64) as f64 * self.hardware.pace(Packet::Line),
                };
            }
            busiest = busiest.max(own);
        }
        let link = links.into_iter().max().unwrap_or(0) as f64 * 1000.0 / self.hardware.link;
        (link, busiest)
    }

    /// Node `from` acts at its time, as `Core` does at that time.
    fn act(&mut self, from: usize) {
        let Crowd { hardware, topology, links, nodes } = self;
        let node = &mut nodes[from];
        let Message { to, bytes, by } = node.messages[0];
        let pass = |burst, at| links.pass(*topology, hardware, (from as u32, to), burst, at);
        if by == By::Dma {
            if node.engine.next().is_none() {
                node.engine.add(to as usize, bytes, node.time);
            }
            let transfer = node.engine.first(hardware.setup).unwrap();
            if transfer.time <= node.time && transfer.left < transfer.len {
                leave::dma(transfer, hardware, pass);
            }
            node.time = transfer.time;
            if transfer.left == transfer.len {
                node.end = transfer.time;
                node.engine.finish();
                node.messages.pop_front();
            }
            return;
        }
        let part = if by == By::Lines { 64 } else { pio_burst(hardware) }.min(bytes - node.left);
        let first = leave::first(&node.issuer, hardware, packets(0, part), node.time);
        if first > node.time {
            node.time = first;
            return;
        }
        let way = topology.way(from as u32, to);
        let left = leave::packets(&mut node.issuer, hardware, way, packets(0, part), node.time, pass);
        (node.time, node.end, node.left) = (left.last, node.end.max(left.arrive), node.left + part);
        if node.left == bytes {
            node.left = 0;
            node.messages.pop_front();
        }
    }

    /// Nanoseconds until all has arrived. `turn`: the system lets one node after the other run for so long, as many as there are `cores`
    /// at once; a node that was away makes up for it.
    fn run_in_turns(&mut self, turn: f64, cores: usize) -> f64 {
        let mut now = 0.0;
        while self.nodes.iter().any(|node| !node.messages.is_empty()) {
            for first in (0..self.nodes.len()).step_by(cores) {
                now += turn;
                let running = first..self.nodes.len().min(first + cores);
                while let Some(next) = self.next(running.clone()).filter(|next| self.nodes[*next].time <= now) {
                    self.act(next);
                }
            }
        }
        self.nodes.iter().map(|node| node.end).fold(0.0, f64::max)
    }

    /// The node of these that acts next.
    fn next(&self, nodes: Range<usize>) -> Option<usize> {
        let waiting = nodes.filter(|node| !self.nodes[*node].messages.is_empty());
        waiting.min_by(|a, b| self.nodes[*a].time.total_cmp(&self.nodes[*b].time))
    }

    /// Time goes on to `end`, and then some nodes are killed: nothing leaves them any more.
    fn kill(&mut self, end: f64, victims: &[usize]) {
        while let Some(next) = self.next(0..self.nodes.len()).filter(|next| self.nodes[*next].time < end) {
            self.act(next);
        }
        victims.iter().for_each(|victim| self.nodes[*victim] = Node::default());
    }

    /// The same if each node has a core.
    fn run(&mut self) -> f64 {
        while let Some(next) = self.next(0..self.nodes.len()) {
            self.act(next);
        }
        self.nodes.iter().map(|node| node.end).fold(0.0, f64::max)
    }
}

/// MB/s of such streams of 1 MiB together; each is (from, to).
fn rate(hardware: &str, topology: &str, by: By, streams: &[(u32, u32)]) -> f64 {
    let mut crowd = Crowd::new(hardware, topology);
    for (k, (from, to)) in streams.iter().enumerate() {
        crowd.send(*from, *to, 1 << 20, by);
        crowd.nodes[*from as usize].time = 777.0 * k as f64; // not in step
    }
    streams.len() as f64 * f64::from(1 << 20) * 1000.0 / crowd.run()
}

#[test]
fn streams_that_share_a_link_reach_its_rate_together_however_they_are_sent() {
    for by in [By::Pio, By::Lines, By::Dma] {
        let three = rate("d339", "ring:4", by, &[(0, 2), (1, 3), (3, 2)]);
        assert!((481.8 * 0.97..481.9).contains(&three), "three by {by:?}: {three}");
        let (one, two) = (rate("d339", "ring:4", by, &[(0, 2)]), rate("d339", "ring:4", by, &[(0, 2), (1, 3)]));
        assert!((2.0 * one * 0.97..2.0 * one * 1.01).contains(&two), "two by {by:?}: {two}, one {one}");
    }
}

/// How many times as long as the busiest link and the busiest node need it takes until all nodes have sent to all, in such an order.
fn over_least(hardware: &str, topology: &str, by: By, order: impl Fn(u32, u32, u32) -> u32) -> f64 {
    let mut crowd = Crowd::new(hardware, topology);
    let n = crowd.nodes.len() as u32;
    crowd.all_to_all(2, 40_000, by, |node, k| order(node, k, n));
    let (link, node) = crowd.least();
    let took = crowd.run();
    // Times of a link are whole nanoseconds.
    assert!(took >= 0.99 * link, "{hardware} {topology} by {by:?}: {took}, but the busiest link needs {link}");
    took / link.max(node)
}

#[test]
fn all_nodes_send_to_all_as_fast_as_the_busiest_link_allows() {
    for hardware in ["d312", "d339"] {
        for topology in ["ring:3", "ring:4", "ring:8", "torus:2x2", "torus:4x2", "switch:3", "switch:4", "switch:8"] {
            for by in [By::Pio, By::Lines, By::Dma] {
                let over = over_least(hardware, topology, by, |node, k, n| (node + k) % n);
                assert!(over < 1.2, "{hardware} {topology} by {by:?}, in turns: {over}");
                // All send to node 0 first, then to node 1. The links to the other nodes are idle meanwhile.
                let over = over_least(hardware, topology, by, |_, k, _| k);
                assert!(over < 2.0, "{hardware} {topology} by {by:?}, all to one: {over}");
            }
        }
    }
}

#[test]
fn nodes_that_share_cores_lose_none_of_the_links_time() {
    for topology in ["ring:3", "ring:4", "torus:2x2", "switch:4"] {
        for (hardware, by) in [("d312", By::Pio), ("d339", By::Lines), ("d339", By::Dma)] {
            let crowd = || {
                let mut crowd = Crowd::new(hardware, topology);
                let n = crowd.nodes.len() as u32;
                crowd.all_to_all(10, 40_000, by, |node, k| (node + k) % n);
                crowd
            };
            let (alone, shared) = (crowd().run(), crowd().run_in_turns(500_000.0, 2));
            assert!(shared < 1.5 * alone, "{hardware} {topology} by {by:?}: {shared}, with a core each {alone}");
        }
    }
}

#[test]
fn a_killed_node_leaves_the_links_to_the_others_at_once() {
    for by in [By::Pio, By::Lines, By::Dma] {
        let took = |victims: &[(u32, u32)]| {
            let mut crowd = Crowd::new("d339", "ring:4");
            victims.iter().for_each(|(from, to)| crowd.send(*from, *to, 16 << 20, by));
            let end = 1_000_000.0;
            crowd.kill(end, &[0, 2, 3]);
            crowd.nodes[1].time = end;
            crowd.send(1, 3, 1 << 20, by);
            crowd.run() - end
        };
        // What the victims would have sent would have kept the links busy for 100 ms. One burst of each may still be under way.
        let (alone, after) = (took(&[]), took(&[(0, 2), (2, 0), (3, 2)]));
        assert!(after < alone + 3.0 * 20_000.0, "by {by:?}: {after}, where nobody else was {alone}");
    }
}

#[test]
fn what_waits_for_one_link_keeps_no_other_link_from_others() {
    let mut crowd = Crowd::new("d339", "ring:4");
    let Crowd { hardware, topology, links, .. } = &mut crowd;
    let line = Burst::of_write(1, 0);
    links.pass(*topology, hardware, (0, 1), Burst { on_way: 6_625_000, beside: 0 }, 0.0); // link 0 for 10 ms
    let waited = links.pass(*topology, hardware, (0, 2), line, 0.0);
    assert_eq!(waited, 10_000_000.0, "over links 0 and 1");
    let others = [(1, 2), (2, 3), (3, 0), (1, 0)].map(|ends| links.pass(*topology, hardware, ends, line, 1000.0));
    assert!(others.iter().all(|waited| *waited < 1000.0), "over the other links: {others:?}");
}

#[test]
fn a_calendar_gives_late_comers_what_is_left_and_forgets_what_is_long_ago() {
    let (hardware, topology) = (Parameters::of("d339").unwrap(), Topology::Ring(2));
    let (links, span) = (Links::own(2), span_of(&hardware));
    let half = Burst { on_way: 8192, beside: 0 };
    let pass = |at: f64| links.pass(topology, &hardware, (0, 1), half, at).round();
    let at = 1000.0 * span;
    assert_eq!((pass(at), pass(at)), (0.0, (span / 2.0).round()), "the second one waits for the first");
    assert_eq!(pass(at), span.round(), "the span is full");
    assert_eq!(pass(at - 10.0 * span), 0.0, "before, the link was idle");
    assert_eq!(pass(at + 1.5 * span), 0.0, "the half of the next span that is left");
    assert_eq!(pass(at + 1.5 * span), (span / 2.0).round());
    // As many spans later the same words are used again. What is left of the old times is not known any more.
    assert_eq!(pass(at + 256.0 * span), 0.0);
    assert_eq!(pass(at), (2.5 * span).round(), "the first room behind the spans that are forgotten or full");
    assert_eq!(pass(1.0), 0.0, "a span of which nothing was taken since");
}
