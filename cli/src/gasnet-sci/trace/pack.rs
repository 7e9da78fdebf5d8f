//! The run in few bytes, for the scripts of the page (`page/data.js` unpacks it).
//!
//! Numbers are varints: seven bits a byte, the lowest first, the highest bit says that more follow. The bytes are, for each node, its events:
//! shape, begin less that of the event before, then what the shape has: duration, peer, bytes, handler, and for the
//! run of a handler its message (0: none; else the place among the sender's events, less that of the last message of that sender and 1, in
//! zigzag, and 1). After the events of all nodes come the rounds of barriers: the team (0: all nodes; else its place among the teams, and 1), number
//! of visits, and for each the node, how long after the node's coming to its round before it came, in zigzag, and how long it stayed.

use super::Found;
use super::kinds::Class;
use super::run::{Event, HAS_BYTES, HAS_TIME, NONE};
use serde::Serialize;
use std::collections::HashMap;

/// A kind of event together with the numbers that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Shape {
    kind: u16,
    time: bool,
    peer: bool,
    bytes: bool,
    handler: bool,
    message: bool,
}

/// The bytes, and the shapes that they name by number.
#[derive(Debug, Default)]
pub struct Packed {
    pub bytes: Vec<u8>,
    pub shapes: Vec<Shape>,
    /// Names of the teams of barriers.
    pub teams: Vec<String>,
}

impl Packed {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn event(&mut self, shape: Shape, event: &Event, since: u64, known: &mut HashMap<Shape, u64>) {
        let next = known.len() as u64;
        let number = *known.entry(shape).or_insert(next);
        if number == next {
            self.shapes.push(shape);
        }
        self.number(number);
        self.number(event.begin - since);
        let numbers = [
            (shape.time, event.ns),
            (shape.peer, u64::from(event.peer)),
            (shape.bytes, event.bytes),
            (shape.handler, u64::from(event.handler)),
        ];
        numbers.into_iter().filter(|(has, _)| *has).for_each(|(_, value)| self.number(value));
    }
}

/// Packs events and barriers.
pub fn pack(found: &Found) -> Packed {
    let (run, mut packed, mut known) = (&found.run, Packed::default(), HashMap::new());
    for (node, origin) in run.nodes.iter().zip(&found.messages.origin) {
        let (mut since, mut last) = (0, HashMap::new());
        for (event, sent) in node.events.iter().zip(origin) {
            let shape = Shape {
                kind: event.kind,
                time: event.has & HAS_TIME != 0,
                peer: event.peer != NONE,
                bytes: event.has & HAS_BYTES != 0,
                handler: event.handler != 0,
                message: run.kind(event).class == Class::Handler,
            };
            packed.event(shape, event, since, &mut known);
            since = event.begin;
            if shape.message {
                let before = last.entry(event.peer).or_insert(-1i64);
                let step = i64::from(*sent) - *before - 1;
                packed.number(if *sent == NONE { 0 } else { zigzag(step).wrapping_add(1) });
                if *sent != NONE {
                    *before = i64::from(*sent);
                }
            }
        }
    }
    let mut came = vec![0; run.nodes.len()];
    let mut teams = HashMap::new();
    for round in &found.rounds {
        let team = round.team.as_ref().map_or(0, |team| {
            *teams.entry(team).or_insert_with(|| {
                packed.teams.push(team.clone());
                packed.teams.len() as u64
            })
        });
        packed.number(team);
        packed.number(round.visits.len() as u64);
        for visit in &round.visits {
            packed.number(visit.node as u64);
            packed.number(zigzag(visit.enter as i64 - came[visit.node]));
            packed.number(visit.exit.saturating_sub(visit.enter));
            came[visit.node] = visit.enter as i64;
        }
    }
    packed
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// `bytes` in base 64.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().enumerate().fold(0u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { digit as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::read::of_lines;
    use super::*;

    #[test]
    fn bytes_become_letters() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn an_event_takes_the_numbers_that_it_has() {
        let found = Found::of(of_lines(&[
            "0 0.000000000> (A) AMREQUEST_SHORT node=1 handler=200",
            "0 0.000000300> (S) WAIT_SYNCNB us=0.1",
            "1 0.000001000> (A) AMREQUEST_HANDLER node=0 bytes=0 handler=200",
        ]));
        let packed = pack(&found);
        // Node 1's clock is not known: its arrival is not before the message.
        let arrived = found.run.nodes[1].events[0].begin as u8;
        assert_eq!(packed.bytes, [0, 0, 1, 200, 1, 1, 200, 1, 100, 2, arrived, 0, 0, 200, 1, 1]);
        assert_eq!(packed.shapes.len(), 3);
        assert!(packed.shapes[2].message && !packed.shapes[0].message);
    }
}
