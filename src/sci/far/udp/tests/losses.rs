//! What losses cost, and how links share a queue, in simulated time: over a link with a rate, whose queue holds so many µs of it.

use super::*;

/// Bytes of a packet.
const BYTES: usize = 1000;
/// Pairs of a sender and a receiver on one link, which loses so many datagrams of a hundred by chance. Acknowledgements have a link of
/// their own.
struct Shared {
    pairs: Vec<[End; 2]>,
    random: Random,
    loss: usize,
    /// µs of one datagram, of all that the queue takes, and of one way.
    each: u64,
    queue: u64,
    delay: u64,
    /// The senders have something to send.
    is_fed: bool,
    busy_until: u64,
    flying: Vec<(u64, usize, usize, Vec<u8>)>,
    now: u64,
}

impl Shared {
    fn new(mode: Mode, pairs: usize, loss: usize, path: (u64, u64)) -> Shared {
        Shared::with_window(mode, mode.window, pairs, loss, path)
    }

    /// The receivers take so many packets at once.
    fn with_window(mode: Mode, window: u32, pairs: usize, loss: usize, (each, queue): (u64, u64)) -> Shared {
        let terms = |me| Terms { most: BYTES, window: window as u16, ..terms(mode, me, 0) };
        let pairs = (0..pairs).map(|_| [0, 1].map(|me| End::with(terms(me), 0, Protection::None))).collect();
        let (random, flying, delay) = (Random::new(1), Vec::new(), 1_000);
        Shared { pairs, random, loss, each, queue, delay, is_fed: true, busy_until: 0, flying, now: 0 }
    }

    fn send(&mut self, pair: usize, to: usize, datagram: Vec<u8>) {
        let mut at = self.now;
        if to == 1 {
            let begin = self.busy_until.max(self.now);
            if begin > self.now + self.queue || self.random.below(100) < self.loss {
                return;
            }
            self.busy_until = begin + self.each;
            at = self.busy_until;
        }
        self.flying.push((at + self.delay, pair, to, datagram));
    }

    /// Runs until this time. Returns how many packets of each pair have come since the call.
    fn run(&mut self, until: u64) -> Vec<usize> {
        let come = |pairs: &[[End; 2]]| pairs.iter().map(|pair| pair[1].got.times.len()).collect::<Vec<_>>();
        let before = come(&self.pairs);
        while self.now < until {
            for pair in 0..self.pairs.len() {
                for end in [0, 1] {
                    let one = &mut self.pairs[pair][end];
                    while self.is_fed && end == 0 && one.pipe.waiting() < 400 {
                        one.push(BYTES, false);
                    }
                    one.pipe.on_timer(self.now);
                    let datagrams = one.datagrams(self.now);
                    datagrams.into_iter().for_each(|datagram| self.send(pair, 1 - end, datagram));
                }
            }
            let timers = self.pairs.iter().flatten().map(|end| end.pipe.timer()).min().unwrap_or(u64::MAX);
            let arrivals = self.flying.iter().map(|(at, ..)| *at).min().unwrap_or(u64::MAX);
            self.now = timers.min(arrivals).max(self.now + 1);
            for (_, pair, to, datagram) in self.flying.extract_if(.., |(at, ..)| *at <= self.now).collect::<Vec<_>>() {
                self.pairs[pair][to].hear(self.now, &datagram);
            }
        }
        come(&self.pairs).iter().zip(before).map(|(now, before)| now - before).collect()
    }
}

#[test]
fn a_hundredth_that_is_lost_by_chance_costs_little_and_the_seed_most() {
    let packets = |mode, loss| Shared::new(mode, 1, loss, (20, 5_000)).run(200_000)[0];
    let (whole, lossy, seed) = (packets(Mode::NORMAL, 0), packets(Mode::NORMAL, 1), packets(Mode::SEED, 1));
    assert!(whole > 9_000 && lossy * 10 > whole * 7 && lossy > 3 * seed, "{whole}, {lossy}, {seed}");
}

#[test]
fn a_twentieth_that_is_lost_by_chance_leaves_half() {
    let packets = |loss| Shared::new(Mode::NORMAL, 1, loss, (20, 5_000)).run(1_000_000)[0];
    let (whole, lossy) = (packets(0), packets(5));
    assert!(lossy * 2 > whole, "{lossy} of {whole}");
}

#[test]
fn one_packet_that_is_missing_does_not_stop_a_short_window() {
    for window in [16, 64] {
        let packets = |loss| Shared::with_window(Mode::NORMAL, window, 1, loss, (20, 5_000)).run(400_000)[0];
        let (whole, lossy) = (packets(0), packets(1));
        assert!(lossy * 10 > whole * 8, "{lossy} of {whole} with a window of {window}");
    }
}

/// A link of 100 Mbit/s, a round trip of 20 ms, a queue of 60 KB.
#[test]
fn what_goes_after_a_pause_is_spread_so_that_a_short_queue_takes_it() {
    let mut shared = Shared { delay: 10_000, ..Shared::new(Mode::NORMAL, 1, 0, (80, 4_800)) };
    shared.run(3_000_000);
    shared.is_fed = false;
    shared.run(3_200_000);
    let counts = |shared: &Shared| shared.pairs[0][0].pipe.counts();
    let before = counts(&shared);
    shared.is_fed = true;
    shared.run(shared.now + 50_000);
    let (sent, lost) = (counts(&shared).sent - before.sent, counts(&shared).lost - before.lost);
    assert!(sent > 250 && lost < 20, "{lost} of {sent}");
}

#[test]
fn links_share_a_queue_whether_it_is_long_or_short() {
    for queue in [1_000, 5_000, 20_000] {
        let mut shared = Shared::new(Mode::NORMAL, 2, 0, (100, queue));
        shared.run(300_000);
        let packets = shared.run(1_500_000);
        let all: usize = packets.iter().sum();
        assert!(all > 11_000 && packets.iter().all(|one| one * 10 > all * 3), "{packets:?} with {queue} µs");
    }
}

/// Two packets behind it have come, so no third one will tell. The time of a round trip and an eighth does, before a timeout would.
#[test]
fn what_is_lost_near_the_end_goes_again_without_a_timeout() {
    let mut ends = open(Mode::NORMAL, 0, Protection::None);
    for round in 0..20 {
        ends[0].push(20, false);
        let sent = ends[0].datagrams(round * 10_000);
        sent.iter().for_each(|datagram| ends[1].hear(round * 10_000 + 100, datagram));
        ends[1].pipe.acknowledge_now();
        ends[1].datagrams(round * 10_000 + 100).iter().for_each(|said| ends[0].hear(round * 10_000 + 200, said));
    }
    (0..3).for_each(|_| ends[0].push(20, false));
    let begin = 300_000;
    let sent = ends[0].datagrams(begin);
    sent[1..].iter().for_each(|datagram| ends[1].hear(begin + 100, datagram));
    ends[1].datagrams(begin + 100).iter().for_each(|said| ends[0].hear(begin + 200, said));
    assert!(ends[0].datagrams(begin + 200).is_empty());
    let at = ends[0].pipe.timer();
    ends[0].pipe.on_timer(at);
    let again = ends[0].datagrams(at);
    assert_eq!((at - begin, again.len(), ends[0].pipe.counts().timeouts), (1_000, 1, 0));
}
