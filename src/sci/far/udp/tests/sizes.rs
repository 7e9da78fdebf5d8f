//! How long datagrams may be, on ways that drop what is too long for them.

use super::*;
use crate::sci::far::seal::TAG;
use crate::sci::far::udp::head::HEAD;
use crate::sci::far::udp::size::MOST;

const PACKETS: u32 = 300;

/// Sends packets as long as they may be, over a way that takes `limit` bytes and loses so many datagrams of a hundred, until all have come and
/// this time is over. Returns the sender, and bytes of its datagrams around packets.
fn run(protection: Protection, limit: impl Fn(u64) -> usize, loss: usize, time: u64) -> (End, usize) {
    let around = HEAD + if protection == Protection::None { 0 } else { TAG };
    let mut ends = [0, 1].map(|me| {
        let terms = Terms { most: MOST - around, ..terms(Mode::NORMAL, me, u32::MAX - 9) };
        End::with(terms, 0, protection)
    });
    let (random, blackout) = (Random::new(7), [(0, 0); 2]);
    let mut net =
        Net { random, loss, twice: 0, damage: 0, delay: 200, late: 0, blackout, flying: Flying::new(), sent: 0 };
    let mut now = 0;
    while now < time || ends[0].pushed < PACKETS || ends[0].pipe.waiting() > 0 {
        for end in [0, 1] {
            ends[end].pipe.on_timer(now);
            for datagram in ends[end].datagrams(now).into_iter().filter(|datagram| datagram.len() <= limit(now)) {
                net.send(now, 1 - end, datagram);
            }
        }
        for (to, datagram) in net.arrived(now).into_values() {
            ends[to].hear(now, &datagram);
        }
        if ends[0].pushed < PACKETS && ends[0].pipe.waiting() < 20 {
            let len = ends[0].pipe.capacity() - 5;
            ends[0].push(len, ends[0].pushed % 3 == 0);
        }
        let timers = ends.iter().map(|end| end.pipe.timer()).min().unwrap();
        now = net.next().min(timers).max(now + 1);
        assert!(now < 200_000_000, "it hangs: {:?}", ends.map(|end| end.pipe.counts()));
    }
    let [sender, receiver] = ends;
    assert!(receiver.got.is_whole(PACKETS as usize));
    (sender, around)
}

#[test]
fn datagrams_become_as_long_as_the_way_takes() {
    for protection in BOTH {
        for (limit, size) in [(1300, 1252), (1472, 1472), (8000, 4000), (9000, 8972), (1 << 16, MOST)] {
            let (sender, around) = run(protection, |_| limit, 0, 1_000_000);
            assert_eq!(sender.pipe.capacity() + around, size, "of a way that takes {limit}");
        }
        let (sender, around) = run(protection, |_| 4000, 30, 1_000_000);
        assert!(sender.pipe.capacity() + around <= 4000);
    }
}

#[test]
fn packets_that_have_become_too_long_arrive_in_parts_and_others_become_shorter() {
    for protection in BOTH {
        for loss in [0, 10] {
            let shrinks = |now| if now < 3_000 { 1 << 16 } else { 2_000 };
            let (sender, around) = run(protection, shrinks, loss, 130_000_000);
            assert!(sender.pipe.counts().repeated > 0);
            assert_eq!(sender.pipe.capacity() + around, 1472, "the search after a minute has found it");
        }
    }
}
