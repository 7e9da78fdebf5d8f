//! Datagrams of a peer that knows the job's secret and says what it likes, to a link that works meanwhile. If the link is protected, of
//! strangers as well, who repeat and change what the peer has said, and make up messages of the exchange of keys.

#![allow(unsafe_code)] // memory that peers read and write

use super::Input;
use super::far::{MAY, Node, PEER, memory};
use crate::sci::LocalMap;
use crate::sci::far::seal::epoch::Secret;
use crate::sci::far::seal::exchange::Secrets;
use crate::sci::far::udp::guard::Guard;
use crate::sci::far::udp::head::{self, Head, Kind};
use crate::sci::far::udp::link::Link;
use crate::sci::far::udp::mode::Mode;
use crate::sci::far::udp::pipe::Terms;
use crate::sci::far::wire::Sink;
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
    let how = input.u8();
    let mode = if how & 1 == 0 { Mode::NORMAL } else { Mode::SEED };
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
    let mut peers = (how & 2 != 0).then(|| protect(&mut link, mode, how & 4 == 0));
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
                let mut datagram = datagram(&head, input.bytes(), peers.as_mut());
                let copy = datagram.clone();
                if link.on_datagram(now, &mut datagram, PEER, &node).is_err() {
                    break;
                }
                if peers.is_some() {
                    stranger(&mut link, now, copy, input, &node);
                }
            }
        }
        link.pipe().on_timer(now);
        send(&mut link, now, &mut peers);
        assert!(link.pipe().kept() < KEPT);
    }
    node.0.check();
    assert!(room[..256].iter().chain(&room[256 + 200..]).all(|byte| *byte == 0xA5), "data outside its place");
}

/// Protects the link. Returns the guard of the peer, which nobody has answered if there are no keys.
fn protect(link: &mut Link, mode: Mode, has_keys: bool) -> Guard {
    let guard = |send, receive| {
        let guard = Guard::new([7; 16], mode, 1, 0).expect("who asks needs no random bytes");
        let [send, receive] = [send, receive].map(|from| Secret::known([from; 32]));
        if has_keys { guard.with_keys(&Secrets { send, receive }) } else { guard }
    };
    link.pipe().protect(guard(0, 1));
    guard(1, 0)
}

/// Everything that the link sends now is as the peer wants it.
fn send(link: &mut Link, now: u64, peers: &mut Option<Guard>) {
    let mut sent = 0;
    while let Some(datagram) = link.pipe().next(now) {
        let mut bytes = Vec::new();
        datagram.put(&mut bytes);
        let is_good = match &mut *peers {
            Some(guard) if !head::makes_keys(&bytes) => guard.open(&mut bytes).is_ok(),
            peers => Head::read(&bytes, peers.is_some(), SEEDS[0]).is_some(),
        };
        assert!(is_good);
        sent += 1;
        assert!(sent < 20_000, "it never ends");
    }
}

/// A datagram as the peer sends it. Without keys it is a message of the exchange, with any bytes.
fn datagram(head: &Head, body: &[u8], guard: Option<&mut Guard>) -> Vec<u8> {
    let Some(guard) = guard else { return head.datagram(false, SEEDS[1], body) };
    let Some(seal) = guard.seal() else {
        let kind = [Kind::Ask, Kind::Offer, Kind::Answer][body.len() % 3];
        return Head { kind, ..*head }.datagram(true, SEEDS[1], body);
    };
    let (bytes, mut body) = (seal.head(head), body.to_vec());
    let tag = seal.seal(&bytes, &mut body).expect("its number is new");
    [&bytes[..], &body, &tag].concat()
}

/// What has come comes again, changed or not: it is refused.
fn stranger(link: &mut Link, now: u64, mut datagram: Vec<u8>, input: &mut Input<'_>, node: &dyn Sink) {
    let before = link.pipe().counts().damaged;
    let bit = input.below(16 * datagram.len());
    if let Some(byte) = datagram.get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
    assert!(link.on_datagram(now, &mut datagram, PEER, node).is_ok());
    assert_eq!(link.pipe().counts().damaged, before + 1);
}

fn kind(byte: u8) -> Kind {
    [Kind::Data, Kind::Data, Kind::Part, Kind::Ack, Kind::Busy, Kind::Ping, Kind::Nack, Kind::Hello]
        [usize::from(byte & 7)]
}

/// Mostly a number that fits.
fn near(first: u32, input: &mut Input<'_>) -> u32 {
    match input.u8() {
        far @ 250.. => input.any() as u32 ^ u32::from(far),
        step => first.wrapping_add(u32::from(step) % 80),
    }
}
