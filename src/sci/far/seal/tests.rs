//! What two nodes seal for each other they open, and nobody opens anything else.

use super::epoch::{Epoch, Secret};
use super::exchange::{ANSWER, Exchange, OFFER, Pair, Secrets};
use super::ordered::{Opener, Sealer};
use super::packets::{PacketOpener, WINDOW};
use super::{Refused, TAG};
use proptest::prelude::*;

const SECRET: [u8; 16] = *b"a test's secret.";
const PAIR: Pair<'static> = Pair { wire: "tcp", layout: 7, initiator: 3, responder: 1, said: b"hello" };
/// Numbers of a key, so that keys change all the time.
const NUMBERS: u64 = 4;

fn meet(secrets: [&[u8; 16]; 2], pairs: [&Pair<'_>; 2]) -> Result<(Secrets, Secrets), Refused> {
    let (mut exchange, offer) = Exchange::offer(secrets[0], pairs[0])?;
    let (theirs, answer) = Exchange::answer(secrets[1], pairs[1], &offer)?;
    Ok((exchange.finish(&answer)?, theirs))
}

fn secret() -> Secret {
    Secret([9; 32])
}

fn sealer(numbers: u64) -> Sealer {
    let mut sealer = Sealer::new(&secret()).unwrap();
    sealer.epoch = Epoch::begin(&secret(), numbers).unwrap();
    sealer
}

fn opener(numbers: u64) -> Opener {
    let mut opener = Opener::new(&secret()).unwrap();
    opener.epoch = Epoch::begin(&secret(), numbers).unwrap();
    opener
}

fn packets(numbers: u64) -> PacketOpener {
    let mut opener = PacketOpener::new(&secret()).unwrap();
    opener.epoch = Epoch::begin(&secret(), numbers).unwrap();
    opener
}

fn content(number: u64) -> Vec<u8> {
    (0..number as usize % 90).map(|i| i as u8 ^ number as u8).collect()
}

fn sealed(sealer: &mut Sealer, number: u64) -> Vec<u8> {
    let mut bytes = content(number);
    let tag = sealer.seal_as(number, &number.to_le_bytes(), &mut bytes).unwrap();
    bytes.extend_from_slice(&tag);
    bytes
}

/// What comes of it, as bytes of its own.
fn open(opener: &mut PacketOpener, number: u64, packet: &[u8]) -> Result<Vec<u8>, Refused> {
    opener.open(number, &number.to_le_bytes(), &mut packet.to_vec()).map(|plain| plain.to_vec())
}

#[test]
fn both_have_the_same_keys_one_for_each_direction_and_others_each_time() {
    let (a, b) = meet([&SECRET; 2], [&PAIR; 2]).unwrap();
    assert!(a.send.0 == b.receive.0 && a.receive.0 == b.send.0 && a.send.0 != a.receive.0);
    let (again, _) = meet([&SECRET; 2], [&PAIR; 2]).unwrap();
    assert!(again.send.0 != a.send.0 && again.receive.0 != a.receive.0);
    let mut mine = b"to b".to_vec();
    let tag = Sealer::new(&a.send).unwrap().seal(b"", &mut mine).unwrap();
    let record = [&mine[..], &tag].concat();
    assert_eq!(Opener::new(&b.receive).unwrap().open(b"", &mut record.clone()).unwrap(), b"to b");
    // Its own sender does not take it for the other direction's.
    assert_eq!(Opener::new(&a.receive).unwrap().open(b"", &mut record.clone()), Err(Refused::Changed));
}

#[test]
fn another_secret_and_another_pair_make_no_keys() {
    let other = *b"a test's Secret.";
    assert_eq!(meet([&SECRET, &other], [&PAIR; 2]).err(), Some(Refused::Exchange));
    for wrong in [
        Pair { wire: "udp", ..PAIR },
        Pair { layout: 8, ..PAIR },
        Pair { initiator: 2, ..PAIR },
        Pair { responder: 2, ..PAIR },
        Pair { initiator: 1, responder: 3, ..PAIR },
        Pair { said: b"hellp", ..PAIR },
        Pair { wire: "tcph", said: b"ello", ..PAIR },
    ] {
        assert_eq!(meet([&SECRET; 2], [&PAIR, &wrong]).err(), Some(Refused::Exchange), "{wrong:?}");
    }
}

#[test]
fn every_bit_of_the_exchange_counts_and_the_right_answer_may_come_after_wrong_ones() {
    let (mut exchange, offer) = Exchange::offer(&SECRET, &PAIR).unwrap();
    let (theirs, answer) = Exchange::answer(&SECRET, &PAIR, &offer).unwrap();
    for bit in 0..OFFER * 8 {
        let mut wrong = offer;
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Exchange::answer(&SECRET, &PAIR, &wrong).err(), Some(Refused::Exchange), "bit {bit} of the offer");
    }
    // The highest bit of a public key is no part of the point, but of what both have seen.
    for bit in 0..ANSWER * 8 {
        let mut wrong = answer;
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(exchange.finish(&wrong).err(), Some(Refused::Exchange), "bit {bit} of the answer");
    }
    assert_eq!(exchange.finish(&offer).err(), Some(Refused::Exchange), "an offer that came back");
    let ours = exchange.finish(&answer).unwrap();
    assert!(ours.send.0 == theirs.receive.0);
    // A second answer to the same offer makes other keys: who repeats an offer learns nothing by it.
    let (others, second) = Exchange::answer(&SECRET, &PAIR, &offer).unwrap();
    assert!(others.send.0 != theirs.send.0 && second != answer);
}

#[test]
fn records_open_in_their_order_over_changes_of_keys_and_a_number_seals_once() {
    let (mut sealer, mut opener) = (sealer(NUMBERS), opener(NUMBERS));
    let mut tags = Vec::new();
    for number in 0..10 * NUMBERS {
        let mut record = b"the same bytes".to_vec();
        let tag = sealer.seal(b"8", &mut record).unwrap();
        record.extend_from_slice(&tag);
        assert!(!tags.contains(&tag), "the same seal twice");
        tags.push(tag);
        assert_eq!(opener.open(b"8", &mut record).unwrap(), b"the same bytes", "{number}");
    }
    let spent = 10 * NUMBERS - 1;
    assert_eq!(sealer.seal_as(spent, b"", &mut [0]), Err(Refused::Spent));
    assert!(sealer.seal_as(spent + 3, b"", &mut [0]).is_ok());
    assert_eq!(sealer.seal_as(spent + 1, b"", &mut [0]), Err(Refused::Spent));
    assert!(sealer.seal(b"", &mut [0]).is_ok());
}

#[test]
fn keys_are_another_for_each_epoch_and_none_is_the_one_before_again() {
    let (mut sealer, mut with_one_key) = (sealer(NUMBERS), sealer(u64::MAX));
    // Number 0 and the first number of the next key, with the same text: a sealer that kept its key would differ by the nonce alone.
    let mut first = [0; 32];
    let tag = sealer.seal(b"", &mut first).unwrap();
    let mut in_next = [0; 32];
    let next = sealer.seal_as(NUMBERS, b"", &mut in_next).unwrap();
    let mut whole = [&in_next[..], &next].concat();
    let one_key = with_one_key.seal_as(NUMBERS, b"", &mut [0; 32]).unwrap();
    assert!(tag != next && one_key != next);
    let mut opener = packets(NUMBERS);
    assert!(opener.open(NUMBERS, b"", &mut whole).is_ok());
}

#[test]
fn packets_open_once_in_any_order_around_a_change_of_keys() {
    let mut sealer = sealer(NUMBERS);
    let all: Vec<Vec<u8>> = (0..6 * NUMBERS).map(|number| sealed(&mut sealer, number)).collect();
    let mut opener = packets(NUMBERS);
    for number in [1, 5, 2, 0, 7, 4, 3, 9, 6, 11, 8, 10, 15, 12] {
        assert_eq!(open(&mut opener, number, &all[number as usize]), Ok(content(number)), "{number}");
        assert_eq!(open(&mut opener, number, &all[number as usize]), Err(Refused::Repeated), "{number}");
    }
    assert_eq!(open(&mut opener, 22, &all[22]), Err(Refused::Ahead), "two keys ahead");
    assert_eq!(open(&mut opener, 16, &all[17]), Err(Refused::Changed), "a forged packet changes no key");
    assert_eq!(open(&mut opener, 13, &all[13]), Ok(content(13)));
    assert_eq!(open(&mut opener, 17, &all[17]), Ok(content(17)));
    assert_eq!(open(&mut opener, 14, &all[14]), Ok(content(14)));
    assert_eq!(open(&mut opener, 21, &all[21]), Ok(content(21)));
    assert_eq!(open(&mut opener, 9, &all[9]), Err(Refused::Repeated));
}

#[test]
fn the_window_knows_what_came_and_refuses_what_is_older() {
    let numbers = 1 << 40;
    let mut sealer = sealer(numbers);
    let mut opener = packets(numbers);
    let end = 3 * WINDOW + 17;
    let all: Vec<Vec<u8>> = (0..end).map(|number| sealed(&mut sealer, number)).collect();
    for number in (0..WINDOW).filter(|number| number % 3 == 0) {
        assert_eq!(open(&mut opener, number, &all[number as usize]), Ok(content(number)));
    }
    assert_eq!(open(&mut opener, end - 1, &all[end as usize - 1]), Ok(content(end - 1)));
    assert_eq!(open(&mut opener, end - 1 - WINDOW, &all[(end - 1 - WINDOW) as usize]), Err(Refused::Old));
    for number in end - WINDOW..end - 1 {
        assert_eq!(open(&mut opener, number, &all[number as usize]), Ok(content(number)), "{number}");
    }
    for number in end - WINDOW..end {
        assert_eq!(open(&mut opener, number, &all[number as usize]), Err(Refused::Repeated), "{number}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A flipped bit anywhere, a cut, another text beside it, another number: refused, in either form.
    #[test]
    fn nothing_but_what_was_sealed_opens(
        content in proptest::collection::vec(any::<u8>(), 0..200),
        clear in any::<[u8; 4]>(),
        before in 0..3 * NUMBERS,
        place in any::<prop::sample::Index>(),
        what in 0..5u8,
    ) {
        let (mut sealer, mut opener, mut packets) = (sealer(NUMBERS), opener(NUMBERS), packets(NUMBERS));
        for number in 0..before {
            let mut record = sealed(&mut sealer, number);
            prop_assert!(packets.open(number, &number.to_le_bytes(), &mut record.clone()).is_ok());
            prop_assert!(opener.open(&number.to_le_bytes(), &mut record).is_ok());
        }
        let mut record = content.clone();
        let tag = sealer.seal(&clear, &mut record).unwrap();
        record.extend_from_slice(&tag);
        let (mut wrong, mut wrong_clear, mut number) = (record.clone(), clear, before);
        match what {
            0 => wrong[place.index(record.len())] ^= 1 << place.index(8),
            1 => wrong.truncate(place.index(record.len())),
            2 => wrong_clear[place.index(4)] ^= 1 << place.index(8),
            3 => wrong.insert(place.index(record.len() + 1), 0),
            _ => number += 1 + place.index(3) as u64,
        }
        let refused = packets.open(number, &wrong_clear, &mut wrong.clone()).map(|plain| plain.to_vec());
        let expected = if wrong.len() < TAG { Refused::Short } else { Refused::Changed };
        prop_assert!(refused == Err(expected) || refused == Err(Refused::Ahead), "{:?}", refused);
        if what < 4 {
            prop_assert_eq!(opener.open(&wrong_clear, &mut wrong), Err(expected));
        } else {
            let mut twice = [record.clone(), record.clone()];
            let [first, second] = &mut twice;
            prop_assert_eq!(opener.open(&clear, first).unwrap(), &content[..]);
            prop_assert_eq!(opener.open(&clear, second), Err(Refused::Changed));
        }
        prop_assert_eq!(packets.open(before, &clear, &mut record).unwrap(), &content[..]);
    }

    /// Any packets, lost, repeated and overtaken: each opens once at most, to its own bytes, and none that is not too old is refused.
    #[test]
    fn packets_of_any_schedule_open_once(
        numbers in 1..70u64,
        steps in proptest::collection::vec((0..40u64, any::<bool>()), 1..300),
    ) {
        let mut sealer = sealer(numbers);
        let mut opener = packets(numbers);
        let mut all: Vec<Vec<u8>> = Vec::new();
        let mut came = std::collections::HashSet::new();
        for (back, _) in steps.into_iter().filter(|(_, lost)| !lost) {
            all.push(sealed(&mut sealer, all.len() as u64));
            let number = (all.len() as u64 - 1).saturating_sub(back);
            let epochs = came.iter().max().map_or(0, |highest| highest / numbers);
            let result = open(&mut opener, number, &all[number as usize]);
            match result {
                Ok(plain) => prop_assert!(plain == content(number) && came.insert(number)),
                Err(Refused::Repeated) => prop_assert!(came.contains(&number)),
                Err(Refused::Ahead) => prop_assert!(number / numbers > epochs + 1),
                Err(Refused::Old) => prop_assert!(number / numbers + 1 < epochs || number + WINDOW < all.len() as u64),
                Err(other) => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
