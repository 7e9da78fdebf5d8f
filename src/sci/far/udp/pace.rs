//! How fast a link may send: the time of a round trip (RFC 6298), and how many packets may be under way (RFC 9002's loss episodes with
//! NewReno's growth).
//!
//! Must not know: packets. Times are in µs.

/// The first timeout, before anything is known of the path.
const FIRST: u64 = 100_000;
/// The least allowance for what varies.
const GRAIN: u64 = 1_000;
/// No timeout is longer.
pub const LONGEST: u64 = 2_000_000;
/// Packets under way at the beginning.
const BEGIN: f64 = 32.0;
/// The fewest.
const LEAST: f64 = 4.0;
/// What is left of the window after a loss.
const AFTER_LOSS: f64 = 0.7;
/// What a window grows by in a round trip: as fast as TCP's whose window is halved (RFC 5348's equation with [`AFTER_LOSS`]).
const GROWTH: f64 = 0.53;

/// What is known of a path's round trips.
#[derive(Clone, Debug, Default)]
pub struct Rtt {
    smooth: Option<u64>,
    vary: u64,
    latest: u64,
}

impl Rtt {
    /// A round trip took `time`.
    pub fn sample(&mut self, time: u64) {
        self.latest = time;
        match self.smooth {
            None => (self.smooth, self.vary) = (Some(time), time / 2),
            Some(smooth) => {
                self.vary = (3 * self.vary + smooth.abs_diff(time)) / 4;
                self.smooth = Some((7 * smooth + time) / 8);
            }
        }
    }

    /// What one takes, about; 0: nothing is known.
    pub fn smooth(&self) -> u64 {
        self.smooth.unwrap_or(0)
    }

    /// After so long without an answer, which the peer may hold back for `delay`, something is lost.
    pub fn timeout(&self, delay: u64) -> u64 {
        self.smooth.map_or(FIRST, |smooth| smooth + (4 * self.vary).max(GRAIN) + delay).min(LONGEST)
    }

    /// A packet that was sent so long before another one, which has come, is lost.
    pub fn reordering(&self) -> u64 {
        self.smooth.map_or(FIRST, |smooth| smooth.max(self.latest) * 9 / 8 + 1)
    }
}

/// How many packets may be under way.
#[derive(Clone, Debug)]
pub struct Congestion {
    window: f64,
    /// Below it, the window doubles in each round trip.
    threshold: f64,
    most: f64,
}

impl Congestion {
    /// Never more than `most`.
    pub fn new(most: u32) -> Congestion {
        let most = f64::from(most);
        Congestion { window: BEGIN.min(most), threshold: most, most }
    }

    /// Packets.
    pub fn window(&self) -> u32 {
        self.window as u32
    }

    /// `packets` have come while the window was used.
    pub fn acknowledged(&mut self, packets: u32) {
        let packets = f64::from(packets);
        self.window += if self.window < self.threshold { packets } else { GROWTH * packets / self.window };
        self.window = self.window.min(self.most);
    }

    /// Something is lost, of a window in which nothing was lost so far.
    pub fn lost(&mut self) {
        self.window = (self.window * AFTER_LOSS).max(LEAST.min(self.most));
        self.threshold = self.window;
    }

    /// Nothing has come for several timeouts.
    pub fn silent(&mut self) {
        self.threshold = (self.window * AFTER_LOSS).max(LEAST);
        self.window = LEAST.min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_follows_the_round_trips() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.timeout(1000), FIRST);
        (0..100).for_each(|_| rtt.sample(200));
        assert_eq!((rtt.timeout(1000), rtt.reordering()), (200 + GRAIN + 1000, 226));
        (0..100).for_each(|i| rtt.sample(10_000 + i % 2 * 8_000));
        assert!((20_000..60_000).contains(&rtt.timeout(1000)), "{rtt:?}");
    }

    #[test]
    fn a_window_doubles_shrinks_by_a_third_and_grows_slowly() {
        let mut window = Congestion::new(4096);
        window.acknowledged(32);
        assert_eq!(window.window(), 64);
        window.lost();
        assert_eq!(window.window(), 44);
        (0..44).for_each(|_| window.acknowledged(1));
        assert_eq!(window.window(), 45);
        (0..50).for_each(|_| window.lost());
        assert_eq!(window.window(), 4);
        (0..100_000).for_each(|_| window.acknowledged(100));
        assert!(window.window() <= 4096);
        window.silent();
        assert_eq!((window.window(), Congestion::new(2).window()), (4, 2));
    }
}
