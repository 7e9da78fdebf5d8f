//! Datagrams of a peer that knows the job's secret and says what it likes, to a link that works meanwhile.

#![allow(unsafe_code)] // memory that peers read and write

use super::Input;
use super::far::{MAY, Node, PEER, memory};
use crate::sci::LocalMap;
use crate::sci::far::udp::head::{HEAD, Head, Kind};
use crate::sci::far::udp::link::Link;
use crate::sci::far::udp::mode::Mode;
use crate::sci::far::udp::pipe::Terms;
use crate::sync::AtomicU64;

/// What checksums begin with.
const SEEDS: [u32; 2] = [3, 4];
const FIRST: u32 = u32::MAX - 2;
const JOB: u64 = 5;
/// Bytes that a link may keep for packets that have not come.
const KEPT: usize = 9 << 20;

pub(super) fn run(input: &mut Input<'_>) {
    static DONE: AtomicU64 = AtomicU64::new(0);
    let node = Node(memory());
    let mode = if input.u8() & 1 == 0 { Mode::NORMAL } else { Mode::SEED };
    let first = if mode.is_seed { 0 } else { FIRST };
    let (peer, window, dead) = (PEER, 64, 10_000_000);
    let terms = Terms {
        mode,
        job: JOB,
        me: 0,
        peer,
        incarnation: 1,
        first,
        seeds: SEEDS,
        window,
        most: 1000,
        dead,
        contact: 60_000_000,
    };
    let mut link = Link::new(terms, 0);
    let mut room = vec![0xA5u8; 1024];
    let place = room.as_mut_ptr();
    let from = node.0.maps[0].ptr(MAY.start);
    let mut now = 0;
    let mut is_first = true;
    while let Some(step) = input.next() {
        now += input.below(300) as u64 * 100;
        match step & 7 {
            0 => drop(link.post(&[step; 40])),
            1 => drop(link.write_in_order(input.any() >> 1, from, 1 + input.below(2000), step & 8 != 0, Some(&DONE))),
            2 => drop(link.write_later(input.any() >> 1, from, 1 + input.below(2000), Some(&DONE))),
            3 => drop(link.read(input.any(), place.wrapping_add(256), 1 + input.below(200), &DONE)),
            _ => {
                let kind = if std::mem::take(&mut is_first) { Kind::Hello } else { kind(input.u8()) };
                let (sequence, acknowledged) = (near(first, input), near(first, input));
                let (ahead, window, delay, time) = (input.any(), input.number(2) as u16, 0, now as u32);
                let head = Head {
                    kind,
                    job: JOB,
                    incarnation: 2,
                    from: PEER,
                    sequence,
                    acknowledged,
                    ahead,
                    window,
                    delay,
                    time,
                };
                let body = input.bytes();
                let mut bytes = [0; HEAD];
                head.write(SEEDS[1], &mut bytes, &[body]);
                if link.on_datagram(now, &[&bytes[..], body].concat(), PEER, &node).is_err() {
                    break;
                }
            }
        }
        link.pipe().on_timer(now);
        let mut sent = 0;
        while let Some(datagram) = link.pipe().next(now) {
            assert!(
                Head::read(&[&datagram.head[..], datagram.own].concat(), SEEDS[0]).is_some()
                    || datagram.theirs.is_some()
            );
            sent += 1;
            assert!(sent < 20_000, "it never ends");
        }
        assert!(link.pipe().kept() < KEPT);
    }
    node.0.check();
    assert!(room[..256].iter().chain(&room[256 + 200..]).all(|byte| *byte == 0xA5), "data outside its place");
}

fn kind(byte: u8) -> Kind {
    [Kind::Data, Kind::Data, Kind::Data, Kind::Ack, Kind::Busy, Kind::Ping, Kind::Nack, Kind::Hello]
        [usize::from(byte & 7)]
}

/// Mostly a number that fits.
fn near(first: u32, input: &mut Input<'_>) -> u32 {
    match input.u8() {
        far @ 250.. => input.any() as u32 ^ u32::from(far),
        step => first.wrapping_add(u32::from(step) % 80),
    }
}
