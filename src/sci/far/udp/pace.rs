//! How fast a link may send: the time of a round trip (RFC 6298), and how many packets may be under way.
//!
//! The window grows as CUBIC's does (RFC 9438). A loss shrinks it, once in an episode (RFC 9002). By how much depends on the cause, which
//! round trips tell: those of a round of packets, which were sent before the first of them was answered.
//!
//! | round trips of a round | packets lost in an episode | the cause | what is left of the window |
//! |---|---|---|---|
//! | all are longer by an eighth than the shortest one ever | any | a queue on the way is full, of this link's packets or of others' | 0.7 |
//! | some are not | more than few | a queue that is short is full | 0.7 |
//! | | few | chance: no queue is on the way | 0.98 |
//!
//! So a link of 1 Gbit/s with round trips of 1 ms goes at 110 MB/s instead of 18.5 where a datagram in a hundred is lost. It still shares a
//! link with CUBIC, which is what TCP usually has (`yardsticks/`; with a quarter instead of an eighth it left 0.3 MB/s of 12.5 to that where
//! the queue was short).
//!
//! Must not know: packets. Times are in µs.

/// The first timeout, before anything is known of the path.
const FIRST: u64 = 100_000;
/// The least allowance for what varies.
const GRAIN: u64 = 1_000;
/// Seed mode: after so many µs without an acknowledgement a packet is sent again.
pub const SEED_TIMEOUT: u64 = 20_000;
/// Between two questions to a peer that takes nothing.
pub const PROBE: u64 = 200_000;
/// No timeout is longer.
pub const LONGEST: u64 = 2_000_000;
/// Packets under way at the beginning.
const BEGIN: f64 = 32.0;
/// The fewest.
const LEAST: f64 = 4.0;
/// What is left of the window after a loss.
const AFTER_LOSS: f64 = 0.7;
/// What is left of it after a loss by chance.
const AFTER_CHANCE: f64 = 0.98;
/// So many packets of an episode may be lost by chance, and one more for each so many of the window.
const FEW: u32 = 2;
const FEW_OF: u32 = 12;
/// What a window grows by in a round trip at least: as fast as TCP's whose window is halved (RFC 5348's equation with [`AFTER_LOSS`]).
const GROWTH: f64 = 0.53;
/// The same while there is no queue.
const GROWTH_IN_SPACE: f64 = 1.0;
/// A window goes in a shorter time than a round trip (RFC 9002); while it doubles, in half of it.
const HASTE: f64 = 1.25;
const HASTE_AT_FIRST: f64 = 2.0;
/// CUBIC's: how steeply it grows, in packets and seconds, and at most in a round trip.
const STEEP: f64 = 0.4;
const LEAP: f64 = 0.5;
/// What clocks and the pauses of hosts add to a round trip, at least.
const BLUR: u64 = 32;

/// What is known of a path's round trips.
#[derive(Clone, Debug, Default)]
pub struct Rtt {
    smooth: Option<u64>,
    vary: u64,
    latest: u64,
    /// The shortest ever, of this round, and of the one before. `None`: there was none.
    least: Option<u64>,
    round: [Option<u64>; 2],
}

impl Rtt {
    /// A round trip took `time`.
    pub fn sample(&mut self, time: u64) {
        self.latest = time;
        for least in [&mut self.least, &mut self.round[0]] {
            *least = Some(least.map_or(time, |least| least.min(time)));
        }
        match self.smooth {
            None => (self.smooth, self.vary) = (Some(time), time / 2),
            Some(smooth) => {
                self.vary = (3 * self.vary + smooth.abs_diff(time)) / 4;
                self.smooth = Some((7 * smooth + time) / 8);
            }
        }
    }

    /// Another round begins.
    pub fn begin_round(&mut self) {
        self.round = [None, self.round[0].or(self.round[1])];
    }

    /// Whatever goes there waits for something else.
    pub fn is_crowded(&self) -> bool {
        let round = self.round.into_iter().flatten().min();
        self.least.zip(round).is_some_and(|(least, round)| round > least + least / 8 + BLUR)
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

    /// A packet that was sent so long ago, and before another one that has come, is lost.
    pub fn overdue(&self) -> u64 {
        self.reordering().max(GRAIN)
    }
}

/// How many packets may be under way.
#[derive(Clone, Debug)]
pub struct Congestion {
    window: f64,
    /// Below it, the window doubles in each round trip.
    threshold: f64,
    most: f64,
    /// The window that was too large, and for how long the present one was used since then, in µs.
    height: f64,
    used: u64,
    called: u64,
    /// When the window will be that large again, of this time, in s.
    back: f64,
    /// Packets lost in this episode, and whether the window was shrunk for that as for a full queue.
    lost: u32,
    is_shrunk: bool,
}

impl Congestion {
    /// Never more than `most`.
    pub fn new(most: u32) -> Congestion {
        let most = f64::from(most);
        Congestion {
            window: BEGIN.min(most),
            threshold: most,
            most,
            height: 0.0,
            used: 0,
            called: 0,
            back: 0.0,
            lost: 0,
            is_shrunk: false,
        }
    }

    /// Packets.
    pub fn window(&self) -> u32 {
        self.window as u32
    }

    /// Packets that may go in the time of a round trip.
    pub fn in_a_trip(&self) -> f64 {
        self.window * if self.window < self.threshold { HASTE_AT_FIRST } else { HASTE }
    }

    /// `packets` have come while the window was used.
    pub fn acknowledged(&mut self, now: u64, packets: u32, rtt: &Rtt) {
        let packets = f64::from(packets);
        // A time in which the window was not used says nothing of it.
        let since = now.saturating_sub(std::mem::replace(&mut self.called, now)).min(rtt.smooth());
        if self.window < self.threshold {
            self.window += packets;
        } else {
            self.used += since;
            let time = (self.used + rtt.smooth()) as f64 / 1e6 - self.back;
            let cubic = (self.height + STEEP * time.powi(3) - self.window).min(LEAP * self.window);
            let growth = if rtt.is_crowded() { GROWTH } else { GROWTH_IN_SPACE };
            self.window += growth.max(cubic) * packets / self.window;
        }
        self.window = self.window.min(self.most);
    }

    /// `packets` are lost; `is_new`: in an episode that begins with them.
    pub fn lost(&mut self, packets: u32, is_new: bool, is_crowded: bool) {
        if is_new {
            (self.lost, self.is_shrunk) = (0, false);
        }
        self.lost += packets;
        let is_chance = !is_crowded && self.lost <= FEW + self.window() / FEW_OF;
        if self.is_shrunk || is_chance && !is_new {
            return;
        }
        let before = self.window;
        self.window = (before * if is_chance { AFTER_CHANCE } else { AFTER_LOSS }).max(LEAST.min(self.most));
        if !is_chance {
            (self.threshold, self.is_shrunk) = (self.window, true);
            // Who did not come back to where it was before leaves room for others.
            self.begin(if before < self.height { before * (1.0 + AFTER_LOSS) / 2.0 } else { before });
        }
    }

    /// Another climb begins, to the window that was too large.
    fn begin(&mut self, height: f64) {
        (self.height, self.used) = (height, 0);
        self.back = ((height - self.threshold).max(0.0) / STEEP).cbrt();
    }

    /// Nothing has come for several timeouts.
    pub fn silent(&mut self) {
        self.threshold = (self.window * AFTER_LOSS).max(LEAST);
        self.window = LEAST.min(self.most);
        self.begin(self.threshold);
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
    fn a_path_is_crowded_when_no_round_trip_is_short() {
        let mut rtt = Rtt::default();
        assert!(!rtt.is_crowded());
        let mut round = |times: &[u64]| {
            rtt.begin_round();
            times.iter().for_each(|time| rtt.sample(*time));
            rtt.is_crowded()
        };
        assert!(!round(&[1000, 1100]));
        assert!(!round(&[5000, 5000]), "the round before had a short one");
        assert!(round(&[5000, 1160]));
        assert!(round(&[]), "what is known stays");
        assert!(!round(&[5000, 1150, 5000]), "one is enough");
    }

    /// Round trips of 1 ms, in a crowd or not.
    fn path(is_crowded: bool) -> Rtt {
        let mut rtt = Rtt::default();
        rtt.sample(if is_crowded { 100 } else { 1000 });
        (0..100).for_each(|_| rtt.sample(1000));
        for _ in 0..2 {
            rtt.begin_round();
            rtt.sample(1000);
        }
        assert_eq!(rtt.is_crowded(), is_crowded);
        rtt
    }

    #[test]
    fn a_window_doubles_shrinks_by_a_third_and_grows_slowly() {
        let (crowd, space) = (path(true), path(false));
        let mut window = Congestion::new(4096);
        window.acknowledged(0, 32, &crowd);
        assert_eq!(window.window(), 64);
        window.lost(1, true, true);
        assert_eq!(window.window(), 44);
        window.lost(20, false, true);
        assert_eq!(window.window(), 44, "of the same episode");
        (0..44).for_each(|_| window.acknowledged(0, 1, &crowd));
        assert_eq!(window.window(), 45);
        (0..45).for_each(|_| window.acknowledged(0, 1, &space));
        assert_eq!(window.window(), 46);
        (0..50).for_each(|_| window.lost(1, true, true));
        assert_eq!(window.window(), 4);
        (0..100_000).for_each(|_| window.acknowledged(0, 100, &crowd));
        assert!(window.window() <= 4096);
        window.silent();
        assert_eq!((window.window(), Congestion::new(2).window()), (4, 2));
    }

    /// RFC 9438: it is back after the cube root of 0.3 times the window by 0.4, here 13.4 s, and hardly grows around that time.
    #[test]
    fn a_large_window_comes_back_in_its_time_and_goes_on_from_there() {
        let crowd = path(true);
        let mut window = Congestion::new(10_000);
        window.acknowledged(0, 3_168, &crowd);
        window.lost(1, true, true);
        let mut after = |seconds: u64, from: u64| {
            for now in (from * 1000..(from + seconds) * 1000).map(|ms| ms * 1000) {
                window.acknowledged(now, 0, &crowd);
                let packets = window.window();
                // A round trip of a millisecond would let it grow faster; this one has few packets.
                window.acknowledged(now, packets / 64, &crowd);
            }
            window.window()
        };
        let (soon, back, later) = (after(3, 0), after(11, 3), after(12, 14));
        assert!((2_500..2_900).contains(&soon), "{soon}");
        assert!((3_100..3_300).contains(&back), "{back}");
        assert!(later > 3_600, "{later}");
    }

    #[test]
    fn what_is_lost_by_chance_hardly_shrinks_a_window_and_many_losses_are_none() {
        let space = path(false);
        let mut window = Congestion::new(4096);
        window.acknowledged(0, 68, &space);
        window.lost(5, true, false);
        assert_eq!(window.window(), 98);
        window.acknowledged(0, 2, &space);
        assert_eq!(window.window(), 100, "it still doubles");
        window.lost(5, false, false);
        assert_eq!(window.window(), 100, "the tenth of an episode");
        window.lost(1, false, false);
        assert_eq!(window.window(), 70, "the eleventh");
        window.lost(50, false, false);
        assert_eq!(window.window(), 70, "once in an episode");
    }
}
