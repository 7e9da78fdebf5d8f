//! The network between two ends, in simulated time: a rate with a queue, a delay, a loss by chance.

use std::collections::VecDeque;

/// What a datagram has beside its bytes: IP, UDP.
const HEADS: usize = 28;

/// A path in both directions: µs of one way, bytes in a µs, what the queue in front of the link holds, the share that is lost by chance.
#[derive(Clone, Copy)]
pub struct Path {
    pub delay: u64,
    pub rate: f64,
    pub queue: f64,
    pub loss: f64,
}

/// One direction, with what is under way of each pair of ends.
struct Way {
    path: Path,
    random: u64,
    busy_until: f64,
    flying: VecDeque<(u64, usize, Vec<u8>)>,
}

impl Way {
    fn new(path: Path, seed: u64) -> Way {
        Way { path, random: seed, busy_until: 0.0, flying: VecDeque::new() }
    }

    fn send(&mut self, now: u64, pair: usize, datagram: Vec<u8>) {
        // A linear congruential generator (Knuth's).
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let Path { delay, rate, queue, loss } = self.path;
        let begin = self.busy_until.max(now as f64);
        if ((self.random >> 33) as f64) < loss * 2f64.powi(31) || (begin - now as f64) * rate > queue {
            return;
        }
        self.busy_until = begin + (datagram.len() + HEADS) as f64 / rate;
        self.flying.push_back((self.busy_until as u64 + delay, pair, datagram));
    }

    /// When something arrives.
    fn next(&self) -> u64 {
        self.flying.front().map_or(u64::MAX, |(at, ..)| *at)
    }

    fn arrived(&mut self, now: u64) -> Option<(usize, Vec<u8>)> {
        self.flying.pop_front_if(|(at, ..)| *at <= now).map(|(_, pair, datagram)| (pair, datagram))
    }
}

/// One end of what is measured.
pub trait End {
    /// Something arrives.
    fn hear(&mut self, now: u64, datagram: Vec<u8>);
    /// Time has passed.
    fn on_timer(&mut self, now: u64);
    /// When that must be called.
    fn timer(&mut self) -> u64;
    /// What goes now.
    fn next(&mut self, now: u64) -> Option<Vec<u8>>;
    /// All bytes are known to be at the other end (the sender's), or there (the receiver's).
    fn is_done(&self) -> bool;
    /// Bytes of which that is so, about.
    fn moved(&self) -> u64;
}

/// Runs pairs of a sender and a receiver, which share a path, until all are done, or until this time. Returns the time, simulated, in µs.
pub fn run(pairs: &mut [[&mut dyn End; 2]], path: Path, until: u64) -> u64 {
    let mut ways = [Way::new(path, 1), Way::new(path, 2)];
    let mut now = 0;
    loop {
        for at in [0, 1] {
            while let Some((pair, datagram)) = ways[1 - at].arrived(now) {
                pairs[pair][at].hear(now, datagram);
            }
            for (number, pair) in pairs.iter_mut().enumerate() {
                if pair[at].timer() <= now {
                    pair[at].on_timer(now);
                }
                while let Some(datagram) = pair[at].next(now) {
                    ways[at].send(now, number, datagram);
                }
            }
        }
        if now >= until || pairs.iter().flatten().all(|end| end.is_done()) {
            return now;
        }
        let timers = pairs.iter_mut().flatten().map(|end| end.timer()).min().unwrap_or(u64::MAX);
        now = ways[0].next().min(ways[1].next()).min(timers).max(now + 1);
    }
}
