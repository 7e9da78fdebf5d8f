//! What comes over a protected connection: records that somebody on the way has changed, cut, repeated and exchanged, and the messages
//! that make keys.

use super::Input;
use super::far::connection;
use crate::sci::far::seal::epoch::Secret;
use crate::sci::far::seal::exchange::{Exchange, Pair};
use crate::sci::far::seal::record::{HEAD, RecordOpener, RecordSealer};
use crate::sci::far::tcp::sealed::Incoming;
use std::io::{ErrorKind, IoSliceMut, Write};

pub(super) fn run(input: &mut Input<'_>) {
    match input.u8() % 8 {
        0 => exchange(input),
        _ => records(input),
    }
}

/// What the man on the way hands on is a beginning of what was sent, or is refused: never another byte.
fn records(input: &mut Input<'_>) {
    let secret = Secret::known([7; 32]);
    let mut sealer = RecordSealer::new(&secret).expect("a key");
    let mut incoming = Incoming::new(RecordOpener::new(&secret).expect("a key"));
    let (ours, mut theirs) = connection();
    let (mut plain, mut kept, mut came) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(step) = input.next() {
        let content = vec![step; 1 + input.below(600)];
        let mut record = vec![0; HEAD];
        record.extend_from_slice(&content);
        sealer.seal(&mut record).expect("it is short");
        plain.extend_from_slice(&content);
        match step % 16 {
            0 => record[input.below(600) % (content.len() + HEAD)] ^= 1 << (step >> 5),
            1 => record.truncate(input.below(content.len())),
            2 => record.extend_from_slice(input.bytes()),
            3 => record = kept.clone(),
            4 => record.extend_from_slice(&kept),
            5 => record.clear(),
            6 => record = input.bytes().to_vec(),
            _ => kept.clone_from(&record),
        }
        theirs.write_all(&record).expect("a socket takes a few hundred bytes");
        let mut room = [[0; 100], [0; 100]];
        loop {
            let [first, second] = &mut room;
            let len = 1 + usize::from(step) % 100;
            let mut places = [IoSliceMut::new(&mut first[..len]), IoSliceMut::new(second)];
            match incoming.read(&ours, &mut places, true) {
                Ok(got) => {
                    came.extend_from_slice(&first[..got.min(len)]);
                    came.extend_from_slice(&second[..got.saturating_sub(len)]);
                    assert!(plain.starts_with(&came), "other bytes than were sent");
                    if got < len + second.len() {
                        assert!(!incoming.has_more());
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return assert_eq!(error.kind(), ErrorKind::InvalidData),
            }
        }
    }
}

/// Keys come of the right messages alone.
fn exchange(input: &mut Input<'_>) {
    let secret = [7; 16];
    let pair = Pair { wire: "tcp", layout: 1, initiator: 0, responder: 1, said: input.bytes() };
    let (mut exchange, offer) = Exchange::offer(&secret, &pair).expect("random bytes");
    let mut change = |bytes: &[u8; 48]| {
        let mut changed = *bytes;
        for _ in 0..input.below(4) {
            changed[input.below(48)] ^= input.u8();
        }
        changed
    };
    let changed = change(&offer);
    let answer = Exchange::answer(&secret, &pair, &changed);
    assert_eq!(answer.is_ok(), changed == offer);
    if let Ok((_, answer)) = answer {
        let changed = change(&answer);
        assert_eq!(exchange.finish(&changed).is_ok(), changed == answer);
    }
}
