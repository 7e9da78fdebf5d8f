//! The network between two ends, in simulated time: a rate with a queue, a delay, a loss by chance.

use std::collections::VecDeque;

/// µs of one way.
const DELAY: u64 = 500;
/// Bytes in a µs: 1 Gbit/s.
const RATE: f64 = 125.0;
/// What the queue in front of the link holds.
const QUEUE: f64 = 256.0 * 1024.0;
/// What a datagram has beside its bytes: IP, UDP.
const HEADS: usize = 28;

/// One direction.
pub struct Way {
    loss: f64,
    random: u64,
    busy_until: f64,
    flying: VecDeque<(u64, Vec<u8>)>,
}

impl Way {
    pub fn new(loss: f64, seed: u64) -> Way {
        Way { loss, random: seed, busy_until: 0.0, flying: VecDeque::new() }
    }

    pub fn send(&mut self, now: u64, datagram: Vec<u8>) {
        // A linear congruential generator (Knuth's).
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let begin = self.busy_until.max(now as f64);
        if ((self.random >> 33) as f64) < self.loss * 2f64.powi(31) || (begin - now as f64) * RATE > QUEUE {
            return;
        }
        self.busy_until = begin + (datagram.len() + HEADS) as f64 / RATE;
        self.flying.push_back((self.busy_until as u64 + DELAY, datagram));
    }

    /// When something arrives.
    pub fn next(&self) -> u64 {
        self.flying.front().map_or(u64::MAX, |(at, _)| *at)
    }

    pub fn arrived(&mut self, now: u64) -> Option<Vec<u8>> {
        self.flying.pop_front_if(|(at, _)| *at <= now).map(|(_, datagram)| datagram)
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
}

/// Runs both until the sender, the first, is done. Returns the simulated time in µs.
pub fn run(ends: [&mut dyn End; 2], loss: f64) -> u64 {
    let mut ways = [Way::new(loss, 1), Way::new(loss, 2)];
    let mut now = 0;
    loop {
        for at in [0, 1] {
            while let Some(datagram) = ways[1 - at].arrived(now) {
                ends[at].hear(now, datagram);
            }
            if ends[at].timer() <= now {
                ends[at].on_timer(now);
            }
            while let Some(datagram) = ends[at].next(now) {
                ways[at].send(now, datagram);
            }
        }
        if ends.iter().all(|end| end.is_done()) {
            return now;
        }
        let timers = ends[0].timer().min(ends[1].timer());
        now = ways[0].next().min(ways[1].next()).min(timers).max(now + 1);
        assert!(now < 600_000_000, "it is not done in ten minutes");
    }
}
