//! When a node's packets leave: the rules of its CPU, its bus, and the packets that may be under way at once.
//!
//! Must not know: where packets go, what they wait for on their way.

use super::{Packet, Parameters};
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

impl Issuer {
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
