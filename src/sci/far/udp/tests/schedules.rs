//! Random schedules: a network that loses, repeats, delays, damages and cuts, by the numbers of a case, which shrink when one fails.

use super::*;
use crate::sci::far::udp::mode::Counts;
use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

#[derive(Clone, Debug)]
struct Case {
    is_seed: bool,
    protection: Protection,
    seed: u64,
    packets: [usize; 2],
    loss: usize,
    twice: usize,
    damage: usize,
    delay: usize,
    late: usize,
    /// Begin and length of a time in which nothing arrives at an end, in ms.
    blackout: (u64, u64, usize),
    /// One in so many steps begins or ends a time without memory; 0: never.
    no_room: usize,
    first: u32,
}

fn case() -> impl Strategy<Value = Case> {
    // Numbers of all orders of magnitude: one is as telling as another, and large ones take long.
    let up_to = |most: f64| (0.0..1f64).prop_map(move |share| (most + 1.0).powf(share) as usize - 1);
    let net = (0..50usize, 0..20usize, 0..20usize, up_to(200_000.0), up_to(100_000.0));
    let rest = (up_to(500.0), up_to(5_000.0), 0..2usize, prop_oneof![Just(0usize), 2..20usize]);
    let first = prop_oneof![Just(0u32), Just(u32::MAX - 20), any::<u32>()];
    // Half of them; few make keys, which takes as long as all the rest of a case.
    let protection =
        prop_oneof![8 => Just(Protection::None), 7 => Just(Protection::Known), 1 => Just(Protection::Made(SECRET))];
    // By the rules of the seed, a packet goes again and again until its answer comes, which takes as long as ten others. So those are fewer.
    let is_seed = prop_oneof![2 => Just(false), 1 => Just(true)];
    ((is_seed, protection), any::<u64>(), up_to(60.0), up_to(60.0), net, rest, first).prop_map(
        |(
            (is_seed, protection),
            seed,
            a,
            b,
            (loss, twice, damage, delay, late),
            (begin, length, end, no_room),
            first,
        )| Case {
            is_seed,
            protection,
            seed,
            packets: if is_seed { [a / 3, b / 3] } else { [a, b] },
            loss,
            twice,
            damage,
            delay,
            late,
            blackout: (begin as u64, length as u64, end),
            no_room,
            first,
        },
    )
}

/// Runs a case to its end. Returns what both ends have counted.
fn run(case: &Case) -> Counts {
    let mode = if case.is_seed { Mode::SEED } else { Mode::NORMAL };
    let mut blackout = [(0, 0); 2];
    blackout[case.blackout.2] = (case.blackout.0 * 1000, (case.blackout.0 + case.blackout.1) * 1000);
    let Case { loss, twice, damage, delay, late, .. } = *case;
    let mut net = Net {
        random: Random::new(case.seed),
        loss,
        twice,
        damage,
        delay,
        late,
        blackout,
        flying: Flying::new(),
        sent: 0,
    };
    let mut ends = [0, 1].map(|me| End::new(mode, me, case.first, 0, case.protection));
    let mut random = Random::new(!case.seed);
    let mut now = 0;
    let mut steps = 0;
    loop {
        steps += 1;
        for end in [0, 1] {
            if (ends[end].pushed as usize) < case.packets[end] && random.below(3) > 0 {
                let len = if random.below(16) == 0 { random.below(1400) } else { random.below(40) };
                ends[end].push(len, random.below(3) == 0);
            }
            ends[end].got.has_no_room = match case.no_room {
                0 => false,
                one_in if random.below(one_in) == 0 => !ends[end].got.has_no_room && now < 20_000_000,
                _ => ends[end].got.has_no_room,
            };
            ends[end].pipe.on_timer(now);
            for datagram in ends[end].datagrams(now) {
                net.send(now, 1 - end, datagram);
            }
        }
        for (to, datagram) in net.arrived(now).into_values() {
            ends[to].hear(now, &datagram);
        }
        let is_pushed = (0..2).all(|end| ends[end].pushed as usize == case.packets[end]);
        if is_pushed && ends.iter().all(|end| end.pipe.waiting() == 0) {
            break;
        }
        assert!(ends.iter().all(|end| end.pipe.kept() <= 9 << 20));
        let timers = ends.iter().map(|end| end.pipe.timer()).min().unwrap_or(u64::MAX);
        let step = if is_pushed { net.next().min(timers) } else { now + 200 };
        now = step.max(now + 1);
        assert!(
            now < 1_000_000_000 && steps < 2_000_000,
            "it is not done at {now} µs: {:?}",
            ends.map(|end| end.pipe.counts())
        );
    }
    for (end, other) in [(0, 1), (1, 0)] {
        assert!(ends[other].got.is_whole(case.packets[end]), "from {end}: {:?}", ends[other].got.times);
    }
    let [mut all, other] = ends.map(|end| end.pipe.counts());
    all.add(other);
    all
}

/// SCHEDULES=N tries so many.
fn cases() -> u32 {
    #[allow(clippy::disallowed_methods)] // a test's own setting
    std::env::var("SCHEDULES").ok().and_then(|number| number.parse().ok()).unwrap_or(1000)
}

/// Cases of the protocol's table that a network can provoke, in either mode; those of one mode. (Only a forger acknowledges what was never
/// sent.)
const BOTH: [&str; 9] = [
    "data before", "data as expected", "data behind a gap", "data refused", "ack before", "ack as expected",
    "ack behind a gap", "timeouts", "datagrams damaged",
];
const OWN: [&[&str]; 2] = [&["data twice", "busy", "packets found lost"], &["nack", "nack of nothing"]];

#[test]
fn packets_arrive_once_and_in_order_in_any_network_and_every_case_occurs() {
    let totals = Mutex::new([Counts::default(); 2]);
    let config = ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&case(), |case| {
        totals.lock()[usize::from(case.is_seed)].add(run(&case));
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let least = if cases() >= 100_000 { 1_000 } else { 0 };
    for (own, counts) in OWN.into_iter().zip(totals.into_inner()) {
        let list = counts.list();
        println!("{list:?}");
        for name in BOTH.iter().chain(own) {
            let times =
                list.iter().find(|(shown, _)| shown.strip_prefix("UDP ") == Some(name)).map(|(_, times)| *times);
            assert!(times.is_some_and(|times| times > least), "{name}: {times:?} in {} schedules", cases());
        }
    }
}

/// Both ends answer each other so fast that something can be sent at any time. The packet whose acknowledgement was lost has its timeout.
#[test]
fn repeats_without_end_keep_no_packet_from_its_timeout() {
    let case = Case {
        is_seed: true,
        protection: Protection::None,
        seed: 3004499860100699000,
        packets: [10, 14],
        loss: 0,
        twice: 0,
        damage: 0,
        delay: 0,
        late: 0,
        blackout: (1, 8, 1),
        no_room: 0,
        first: 0,
    };
    assert!(run(&case).timeouts < 100);
}
