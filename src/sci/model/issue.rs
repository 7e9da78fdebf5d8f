//! When a node's packets leave: the rules of its CPU, its bus, and the packets that may be under way at once.
//!
//! Must not know: where packets go, what they wait for on their way.

use super::{Packet, Parameters, Route};
use std::collections::VecDeque;

/// The packets of one node, by the times of one clock in nanoseconds.
#[derive(Default)]
pub struct Issuer {
    /// When the last one left.
    last: Option<f64>,
    /// When the last ones are acknowledged, as many as may be under way, oldest first.
    acks: VecDeque<f64>,
    /// When all are.
    all: f64,
}

/// When packets have left, and when the last of them arrives.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// The last one has left.
    pub last: f64,
    /// It, or the slowest of them, arrives.
    pub arrive: f64,
}

impl Issuer {
    /// Packets leave that the CPU stores from `ready` on, and wait for links so long.
    pub fn leave(
        &mut self,
        hardware: &Parameters,
        way: Route,
        packets: impl Iterator<Item = (Packet, usize)>,
        ready: f64,
        waited: f64,
    ) -> Left {
        let mut left = Left { last: ready, arrive: ready };
        for (packet, count) in packets {
            for _ in 0..count {
                left.last = self.next(hardware, packet, left.last);
                let there = left.last + hardware.flight(packet, way) + waited;
                self.sent(hardware, left.last, there + hardware.back);
                left.arrive = there.max(left.arrive);
            }
        }
        left
    }

    /// When a packet leaves that the CPU stores at `now`.
    pub fn next(&self, hardware: &Parameters, packet: Packet, now: f64) -> f64 {
        let free = self.last.map_or(now, |last| last + hardware.pace(packet));
        let room = match self.acks.len() >= hardware.outstanding as usize {
            true => self.acks[self.acks.len() - hardware.outstanding as usize],
            false => now,
        };
        now.max(free).max(room)
    }

    /// A packet has left at `issue` and is acknowledged at `ack`.
    pub fn sent(&mut self, hardware: &Parameters, issue: f64, ack: f64) {
        self.last = Some(issue);
        self.acks.push_back(ack);
        if self.acks.len() > hardware.outstanding as usize {
            self.acks.pop_front();
        }
        self.all = self.all.max(ack);
    }

    /// When everything that has left is acknowledged.
    pub fn all_acknowledged(&self) -> f64 {
        self.all
    }
}
