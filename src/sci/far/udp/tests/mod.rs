//! The reliable protocol in a simulated network: two pipes, whose datagrams a schedule delays, drops, repeats and damages. `testkit/alone` has
//! these tests too, without the rest of the library: what goes through sockets is elsewhere (`wire`).

mod cases;
mod everything;
mod losses;
mod protected;
mod schedules;
mod sizes;

use super::guard::Guard;
use super::inbox::Take;
use super::mode::Mode;
use super::pipe::{Pipe, Terms};
use crate::sci::far::seal::epoch::Secret;
use crate::sci::far::seal::exchange::Secrets;
use crate::sci::random::Random;
use std::collections::BTreeMap;

const JOB: u64 = 77;
const SECRET: [u8; 16] = *b"a test's secret.";
/// With and without protection.
const BOTH: [Protection; 2] = [Protection::None, Protection::Known];

fn terms(mode: Mode, me: u32, first: u32) -> Terms {
    let seeds = if me == 0 { [5, 6] } else { [6, 5] };
    let (window, dead) = (mode.window as u16, 10_000_000);
    Terms {
        mode,
        job: JOB,
        me,
        peer: 1 - me,
        incarnation: 100 + me,
        first,
        seeds,
        window,
        most: 10,
        dead,
        contact: 60_000_000,
    }
}

/// The packet with this number: its number, whether it is loose, bytes of a pattern.
fn packet(number: u32, len: usize, is_loose: bool) -> Vec<u8> {
    // Copied in pieces: nothing optimises a closure for each byte in tests.
    const RAMP: [u8; 512] = {
        let mut ramp = [0; 512];
        let mut at = 0;
        while at < 512 {
            ramp[at] = at as u8;
            at += 1;
        }
        ramp
    };
    let mut bytes = vec![0; 5 + len];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4] = is_loose.into();
    let first = number.wrapping_mul(31) as u8 as usize;
    bytes[5..].chunks_mut(256).for_each(|piece| piece.copy_from_slice(&RAMP[first..first + piece.len()]));
    bytes
}

/// What a node has got.
#[derive(Clone, Default)]
struct Got {
    /// How often each packet came.
    times: Vec<u32>,
    /// Each packet before this number has come once.
    whole: usize,
    has_no_room: bool,
}

impl Got {
    fn is_whole(&self, count: usize) -> bool {
        self.times.len() == count && self.times.iter().all(|times| *times == 1)
    }
}

impl Take for Got {
    fn is_loose(&self, packet: &[u8]) -> bool {
        packet[4] == 1
    }

    fn take(&mut self, bytes: &[u8]) {
        let number = u32::from_le_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(bytes, packet(number, bytes.len() - 5, bytes[4] == 1), "wrong bytes");
        let at = number as usize;
        if bytes[4] == 0 {
            while self.whole < at && self.times.get(self.whole) == Some(&1) {
                self.whole += 1;
            }
            assert!(self.whole >= at, "packet {at} overtakes one before it");
        }
        if self.times.len() <= at {
            self.times.resize(at + 1, 0);
        }
        self.times[at] += 1;
        assert_eq!(self.times[at], 1, "packet {at} came twice");
    }

    fn has_room(&self) -> bool {
        !self.has_no_room
    }
}

/// One end: its pipe, and what has come out of it.
#[derive(Clone)]
struct End {
    pipe: Pipe,
    got: Got,
    pushed: u32,
}

/// What protects an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    None,
    /// By keys that are there from the beginning, since many exchanges take their time.
    Known,
    /// By keys that the ends make.
    Made([u8; 16]),
}

impl Protection {
    fn of(self, mode: Mode, me: u32) -> Option<Guard> {
        match self {
            Protection::None => None,
            Protection::Known => {
                let [send, receive] = [me, 1 - me].map(|from| Secret::known([from as u8; 32]));
                Guard::new(SECRET, mode, 1, 0).ok().map(|guard| guard.with_keys(&Secrets { send, receive }))
            }
            Protection::Made(secret) => Some(Guard::new(secret, mode, me, 1 - me).unwrap()),
        }
    }
}

impl End {
    fn new(mode: Mode, me: u32, first: u32, now: u64, protection: Protection) -> End {
        End::with(terms(mode, me, first), now, protection)
    }

    fn with(terms: Terms, now: u64, protection: Protection) -> End {
        let mut pipe = Pipe::new(terms, now);
        protection.of(terms.mode, terms.me).into_iter().for_each(|guard| pipe.protect(guard));
        End { pipe, got: Got::default(), pushed: 0 }
    }

    fn push(&mut self, len: usize, is_loose: bool) {
        self.pipe.push(packet(self.pushed, len, is_loose), None);
        self.pushed += 1;
    }

    /// All datagrams that go now.
    fn datagrams(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        self.pipe.begin(now, || 0);
        while let Some(datagram) = self.pipe.next(now) {
            let (len, mut bytes) = (datagram.size(), Vec::new());
            datagram.put(&mut bytes);
            assert_eq!(bytes.len(), len);
            all.push(bytes);
            assert!(all.len() < 20_000, "it never ends");
        }
        all
    }

    fn hear(&mut self, now: u64, datagram: &[u8]) {
        self.pipe.on_datagram(now, &mut datagram.to_vec(), &mut self.got);
    }
}

/// Both ends know each other.
fn open(mode: Mode, first: u32, protection: Protection) -> [End; 2] {
    let mut ends = [0, 1].map(|me| End::new(mode, me, first, 0, protection));
    for _ in 0..5 {
        for from in [0, 1] {
            for datagram in ends[from].datagrams(0) {
                ends[1 - from].hear(0, &datagram);
            }
        }
    }
    assert!(ends.iter().all(|end| end.pipe.is_open()));
    ends
}

/// A network: what is on its way, by the time at which it arrives.
struct Net {
    random: Random,
    /// Per cent.
    loss: usize,
    twice: usize,
    damage: usize,
    /// µs.
    delay: usize,
    /// More of it for some, so that they are overtaken.
    late: usize,
    /// From when to when nothing of an end arrives.
    blackout: [(u64, u64); 2],
    flying: Flying,
    sent: u64,
}

/// Datagrams on their way, by the time at which they arrive and the order in which they were sent: at which end they do.
type Flying = BTreeMap<(u64, u64), (usize, Vec<u8>)>;

impl Net {
    fn send(&mut self, now: u64, to: usize, mut datagram: Vec<u8>) {
        let (from, until) = self.blackout[to];
        if self.random.below(100) < self.loss || (from..until).contains(&now) {
            return;
        }
        let copies = 1 + usize::from(self.random.below(100) < self.twice);
        if self.random.below(100) < self.damage {
            match self.random.below(4) {
                0 => datagram.truncate(self.random.below(datagram.len())),
                1 => datagram.iter_mut().for_each(|byte| *byte = self.random.below(256) as u8),
                2 => datagram.push(0),
                _ => {
                    let at = self.random.below(datagram.len());
                    datagram[at] ^= 1 << self.random.below(8);
                }
            }
        }
        for _ in 0..copies {
            let late = if self.random.below(4) == 0 { self.random.below(self.late + 1) } else { 0 };
            let at = now + 1 + (self.delay / 2 + self.random.below(self.delay / 2 + 1) + late) as u64;
            self.sent += 1;
            self.flying.insert((at, self.sent), (to, datagram.clone()));
        }
    }

    fn next(&self) -> u64 {
        self.flying.first_key_value().map_or(u64::MAX, |((at, _), _)| *at)
    }

    fn arrived(&mut self, now: u64) -> Flying {
        let later = self.flying.split_off(&(now + 1, 0));
        std::mem::replace(&mut self.flying, later)
    }
}
