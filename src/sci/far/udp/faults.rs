//! Faults on wish, for tests: what this node sends is lost, repeated, late, overtaken or damaged by chance (GASNET_SCI_UDP_FAULTS).
//!
//! Must not know: what a datagram says.

use crate::base::config::UdpFaults;

/// A datagram that goes later: after so many others, and not before a time.
struct Late {
    others: u32,
    at: u64,
    socket: usize,
    to: socket2::SockAddr,
    bytes: Vec<u8>,
}

/// The faults of one node.
pub struct Faults {
    wish: UdpFaults,
    state: u64,
    late: Vec<Late>,
}

impl Faults {
    /// Those that the settings ask for; nodes with other ranks have others.
    pub fn new(wish: UdpFaults, rank: u32) -> Faults {
        Faults { wish, state: wish.seed ^ u64::from(rank) << 32, late: Vec::new() }
    }

    /// A number below `bound`, by a linear congruential generator (Knuth's).
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound.max(1)
    }

    /// True in so many of a hundred cases.
    fn happens(&mut self, per_cent: f64) -> bool {
        self.below(1_000_000) < (per_cent * 10_000.0) as u64
    }

    /// Sends a datagram by `put`, or not, or otherwise.
    pub fn send(
        &mut self,
        now: u64,
        socket: usize,
        to: &socket2::SockAddr,
        datagram: &[u8],
        put: &mut dyn FnMut(usize, &socket2::SockAddr, &[u8]),
    ) {
        let UdpFaults { loss, twice, damage, depth, delay, .. } = self.wish;
        self.late.iter_mut().for_each(|late| late.others = late.others.saturating_sub(1));
        self.send_late(now, put);
        if self.happens(loss) {
            return;
        }
        let mut bytes = datagram.to_vec();
        if self.happens(damage) {
            let bit = self.below(8 * bytes.len() as u64) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for _ in 0..1 + u32::from(self.happens(twice)) {
            let others = if depth > 0 && self.happens(10.0) { self.below(u64::from(depth) + 1) as u32 } else { 0 };
            if others == 0 && delay == 0 {
                put(socket, to, &bytes);
                continue;
            }
            let at = now + delay / 2 + self.below(delay / 2 + 1);
            self.late.push(Late { others, at, socket, to: to.clone(), bytes: bytes.clone() });
        }
    }

    /// Sends what is due. What waits for others goes after a millisecond all the same, since nothing may follow.
    pub fn send_late(&mut self, now: u64, put: &mut dyn FnMut(usize, &socket2::SockAddr, &[u8])) {
        let due = |late: &mut Late| late.at <= now && (late.others == 0 || late.at + 1000 <= now);
        for Late { socket, to, bytes, .. } in self.late.extract_if(.., due) {
            put(socket, &to, &bytes);
        }
    }

    /// When [`Faults::send_late`] has something.
    pub fn timer(&self) -> u64 {
        self.late.iter().map(|late| late.at + if late.others > 0 { 1000 } else { 0 }).min().unwrap_or(u64::MAX)
    }
}
