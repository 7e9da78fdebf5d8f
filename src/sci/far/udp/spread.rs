//! Packets of a window go spread over a round trip, and not at once: a short queue on the way would lose most of them (RFC 9002, 7.7). And
//! few of them wait in the queue of this host's own network, where TCP keeps few, too: it would get little of a link that both share.
//!
//! Where a round trip is short, nothing is spread, and nothing is counted.
//!
//! Must not know: packets, windows. Times are in µs.

/// As many packets as go in so much time may go at once, since nobody looks at timers much more often.
const AT_ONCE: u64 = 1_000;
/// Or so many, if that is more.
const FEW: f32 = 8.0;
/// As many packets as go in so much time may wait in this host. TCP has less, since the system calls it when that has gone.
const IN_HOST: u64 = 3_000;
/// Three quarters of those of a call may, too, if they go in so much time: a slower link would be late with everything that follows. TCP
/// leaves more there than its rate says where round trips are short: two pieces of 64 KiB. Of a link of 100 Mbit/s with a queue of 200 KB at
/// the sender this wire had 24 Mbit/s beside CUBIC with 8 packets, 33 with three quarters of a call, and 44 with all of it, where CUBIC had
/// but 24 to 37 of it with a queue of 60 KB (two network namespaces of a loaded EPYC VM, 2026-11).
const OF_A_CALL: u64 = 12_000;
/// Where a round trip takes no longer, nothing waits anywhere.
const SHORT: u64 = 250;

/// When packets may go.
#[derive(Default)]
#[cfg_attr(test, derive(Clone))]
pub struct Spread {
    /// Packets in a µs; 0: nothing is spread.
    rate: f32,
    /// Packets that may go, at this time.
    credit: f32,
    at: u64,
}

impl Spread {
    /// It is `now`, and `packets` may go in the time `trip` of a round trip.
    pub fn look(&mut self, now: u64, packets: f64, trip: u64) {
        if trip <= AT_ONCE {
            self.rate = 0.0;
            return;
        }
        let most = |rate: f32| (rate * AT_ONCE as f32).max(FEW);
        let rate = packets as f32 / trip as f32;
        self.credit = match self.rate {
            0.0 => most(rate),
            before => (self.credit + before * now.saturating_sub(self.at) as f32).min(most(rate)),
        };
        (self.rate, self.at) = (rate, self.at.max(now));
    }

    /// A packet may go.
    pub fn is_open(&self) -> bool {
        self.rate == 0.0 || self.credit >= 1.0
    }

    /// A packet goes.
    pub fn goes(&mut self) {
        self.credit -= 1.0;
    }

    /// When the next one may, if it may not now.
    pub fn until(&self) -> Option<u64> {
        (!self.is_open()).then(|| self.at + (((1.0 - self.credit) / self.rate).ceil() as u64).max(AT_ONCE / 2))
    }
}

/// How many of `new` packets may join those that wait in this host, where `waiting` do at most, if `flying` are under way for the time
/// `trip`, and `together` fill a call. `None`: all. No more wait there than are under way, so where a round trip is short nobody need count
/// them: one call of the system less in each flight of packets.
pub fn room_in_host(waiting: impl FnOnce() -> u32, flying: u32, new: u32, trip: u64, together: u32) -> Option<u32> {
    if trip <= SHORT || new == 0 {
        return None;
    }
    let in_time = |time: u64| (u64::from(flying) * time / trip.max(IN_HOST / 2)) as u32;
    let of_a_call = (together * 3 / 4).min(in_time(OF_A_CALL));
    let most = in_time(IN_HOST).max(FEW as u32).max(of_a_call);
    let room = || most.saturating_sub(waiting().min(flying));
    if most >= flying + new { None } else { Some(room()).filter(|room| *room < new) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(spread: &mut Spread) -> u32 {
        let mut count = 0;
        while spread.is_open() && count < 10_000 {
            spread.goes();
            count += 1;
        }
        count
    }

    #[test]
    fn a_window_goes_in_a_round_trip_of_some_time_and_at_once_in_a_short_one() {
        let mut spread = Spread::default();
        spread.look(0, 1000.0, 900);
        assert_eq!((gone(&mut spread), spread.until()), (10_000, None));
        let mut all = 0;
        for now in (100_000..=110_000).step_by(100) {
            spread.look(now, 1000.0, 10_000);
            all += gone(&mut spread);
            assert!(spread.until().is_some_and(|until| until > now && until <= now + 500));
        }
        assert_eq!(all, 1_100, "a tenth at once, and the rest in time");
        spread.look(200_000, 1000.0, 10_000);
        assert_eq!(gone(&mut spread), 100, "a pause earns no more");
        spread.look(300_000, 10.0, 1_000_000);
        assert_eq!((gone(&mut spread), spread.until()), (8, Some(400_000)), "few go at once");
    }

    #[test]
    fn few_packets_wait_in_this_host() {
        let room = |waiting| room_in_host(|| waiting, 100, 40, 10_000, 4);
        assert_eq!([0, 15, 30, 90].map(room), [Some(30), Some(15), Some(0), Some(0)]);
        assert_eq!(room_in_host(|| 15, 100, 40, 10_000, 44), Some(18), "those of a call are not many");
        // Of 1,472 bytes: 1 Mbit/s, 10 and 30, and 1 Gbit/s.
        let most = |flying, trip| room_in_host(|| 0, flying, 1_000, trip, 44);
        assert_eq!(most(20, 235_000), Some(8), "0.4 s of a slow link would be late");
        assert_eq!([most(20, 23_500), most(20, 7_850)], [Some(10), Some(30)], "12 ms");
        assert_eq!([most(40, 11_775), most(1_000, 11_775)], [Some(33), Some(254)], "fast links do not look at calls");
        assert_eq!(room_in_host(|| 10, 100, 15, 10_000, 4), None, "there is room for all");
        assert_eq!(room_in_host(|| 50, 100, 200, 400, 4), Some(150), "a queue that is short becomes longer");
        assert_eq!(room_in_host(|| 5_000, 100, 200, 400, 4), Some(100), "what others have there is not counted");
        for (new, trip) in [(1_000, SHORT), (100, 400), (100, 1_500), (0, 10_000)] {
            assert_eq!(room_in_host(|| unreachable!("nobody asks the system"), 100, new, trip, 4), None);
        }
    }
}
