//! What protection is for: nobody but the two ends reads, changes, repeats or makes what goes between them.

use super::*;
use crate::sci::far::seal::exchange::ANSWER;
use crate::sci::far::seal::exchange::OFFER;
use crate::sci::far::udp::head::{HEAD, Head, Kind};

const MADE: Protection = Protection::Made(SECRET);

/// Everything that ends say until they are silent, which arrives.
fn talk(ends: &mut [End; 2], now: u64) -> Vec<(usize, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let said: Vec<_> = [0, 1]
            .into_iter()
            .flat_map(|from| ends[from].datagrams(now).into_iter().map(move |it| (1 - from, it)))
            .collect();
        if said.is_empty() {
            return all;
        }
        said.iter().for_each(|(to, datagram)| ends[*to].hear(now, datagram));
        all.extend(said);
    }
}

fn kind(datagram: &[u8]) -> Option<Kind> {
    Head::look(datagram.first_chunk()?, true).map(|head| head.kind)
}

/// The pipe is as it was, but that it has refused one datagram more.
fn refuses(end: &mut End, datagram: &[u8], what: &str) {
    let before = (end.pipe.describe(), end.pipe.counts().damaged + 1, end.got.times.len());
    end.hear(100, datagram);
    assert_eq!((end.pipe.describe(), end.pipe.counts().damaged, end.got.times.len()), before, "{what}");
}

#[test]
fn what_is_changed_or_cut_on_the_way_is_refused_and_the_true_one_taken() {
    for mode in [Mode::SEED, Mode::NORMAL] {
        let mut ends = [0, 1].map(|me| End::new(mode, me, 0, 0, MADE));
        (0..3).for_each(|_| ends[0].push(40, false));
        let mut kinds = Vec::new();
        // Node 0 says OFFER, HELLO, DATA; node 1 ANSWER, HELLO, acknowledgements.
        for turn in 0..12 {
            let from = turn % 2;
            for datagram in ends[from].datagrams(100) {
                kinds.push(kind(&datagram).unwrap());
                let other = &mut ends[1 - from];
                for bit in 0..8 * datagram.len() {
                    let mut changed = datagram.clone();
                    changed[bit / 8] ^= 1 << (bit % 8);
                    refuses(other, &changed, "a flipped bit");
                }
                (0..datagram.len()).for_each(|len| refuses(other, &datagram[..len], "a cut"));
                refuses(other, &[&datagram[..], &[0]].concat(), "one byte more");
                other.hear(100, &datagram);
            }
            ends[1].pipe.acknowledge_now();
        }
        for kind in [Kind::Offer, Kind::Answer, Kind::Hello, Kind::Data, Kind::Ack] {
            assert!(kinds.contains(&kind), "{kind:?} of {kinds:?}");
        }
        assert!(ends[1].got.is_whole(3));
    }
}

#[test]
fn what_somebody_says_who_knows_the_checksums_alone_makes_no_keys() {
    let mut ends = [0, 1].map(|me| End::new(Mode::NORMAL, me, 0, 0, MADE));
    let says = |from: u32, kind, body: &[u8]| {
        let Terms { job, seeds, incarnation, .. } = terms(Mode::NORMAL, from, 0);
        let (sequence, acknowledged, ahead, window, delay, time) = (0, 0, 0, 9, 0, 0);
        let head = Head { kind, job, incarnation, from, sequence, acknowledged, ahead, window, delay, time };
        head.datagram(true, seeds[0], body)
    };
    let offers = ends[0].datagrams(0);
    for kind in [Kind::Hello, Kind::Data, Kind::Ack, Kind::Ping, Kind::Offer, Kind::Answer] {
        for body in [&[0; 0][..], &[7; OFFER], &[0; ANSWER], &[1; 100]] {
            refuses(&mut ends[0], &says(1, kind, body), "no answer");
            refuses(&mut ends[1], &says(0, kind, body), "no offer");
        }
    }
    offers.iter().for_each(|offer| ends[1].hear(0, offer));
    talk(&mut ends, 0);
    assert!(ends.iter().all(|end| end.pipe.is_open()));
    for kind in [Kind::Hello, Kind::Data, Kind::Ack, Kind::Ping, Kind::Offer, Kind::Answer, Kind::Ask] {
        refuses(&mut ends[0], &says(1, kind, &[7; OFFER]), "there are keys");
        refuses(&mut ends[1], &says(0, kind, &[7; OFFER]), "there are keys");
    }
}

#[test]
fn what_is_repeated_is_refused_all_of_a_talk_at_its_end_and_each_at_once() {
    let mut ends = [0, 1].map(|me| End::new(Mode::NORMAL, me, 0, 0, MADE));
    (0..3).for_each(|_| ends[0].push(40, true));
    let mut all = talk(&mut ends, 0);
    ends[1].pipe.acknowledge_now();
    all.extend(talk(&mut ends, 5_000));
    assert!(ends[1].got.is_whole(3) && ends[0].pipe.waiting() == 0);
    for (to, datagram) in &all {
        refuses(&mut ends[*to], datagram, "a repeat");
    }
    assert_eq!(talk(&mut ends, 6_000), []);
    (0..3).for_each(|_| ends[1].push(40, true));
    for datagram in ends[1].datagrams(7_000) {
        ends[0].hear(7_000, &datagram);
        refuses(&mut ends[0], &datagram, "a repeat");
    }
    assert!(ends[0].got.is_whole(3));
}

#[test]
fn an_answer_that_is_lost_comes_again_until_something_sealed_has_come() {
    let mut ends = [0, 1].map(|me| End::new(Mode::NORMAL, me, 0, 0, MADE));
    let offer = ends[0].datagrams(0).remove(0);
    for now in 0..3 {
        ends[1].hear(now, &offer);
        let said = ends[1].datagrams(now);
        assert_eq!(kind(&said[0]), Some(Kind::Answer));
        if now == 2 {
            said.iter().for_each(|datagram| ends[0].hear(now, datagram));
        }
    }
    talk(&mut ends, 3);
    assert!(ends.iter().all(|end| end.pipe.is_open()));
    refuses(&mut ends[1], &offer, "the offer comes late");
    assert_eq!(ends[1].datagrams(4).len(), 0);
}

/// Nothing goes but what makes keys, and in time the peer is given up.
fn never_meet(mut ends: [End; 2]) {
    (0..2).for_each(|end| ends[end].push(40, false));
    let mut now = 0;
    while !ends.iter().any(|end| end.pipe.is_dead(now)) {
        for (to, datagram) in talk(&mut ends, now) {
            let is_protected = datagram[2] == 2;
            assert!(!is_protected || head_only(&datagram), "{:?} to {to}", kind(&datagram));
        }
        assert!(!ends.iter().any(|end| end.pipe.is_open()));
        now = ends.iter().map(|end| end.pipe.timer()).min().unwrap().max(now + 1).min(60_000_001);
    }
    assert!(ends.iter().all(|end| end.pipe.waiting() == 1 && end.got.times.is_empty()));
}

fn head_only(datagram: &[u8]) -> bool {
    matches!(kind(datagram), Some(Kind::Ask | Kind::Offer)) && datagram.len() <= HEAD + OFFER
}

#[test]
fn nodes_with_different_secrets_and_one_that_is_not_protected_never_meet() {
    let end = |me, protection| End::new(Mode::NORMAL, me, 0, 0, protection);
    let other = Protection::Made(*b"another secret!!");
    never_meet([end(0, MADE), end(1, other)]);
    never_meet([end(0, Protection::None), end(1, MADE)]);
    never_meet([end(0, MADE), end(1, Protection::None)]);
    never_meet([end(0, MADE), End::new(Mode::SEED, 1, 0, 0, MADE)]);
}

#[test]
fn another_process_of_the_same_rank_does_not_disturb_a_link_that_stands() {
    for me in [0, 1] {
        let mut ends = open(Mode::NORMAL, 0, MADE);
        let mut again = End::with(Terms { incarnation: 9, ..terms(Mode::NORMAL, me, 0) }, 0, MADE);
        for datagram in again.datagrams(0) {
            refuses(&mut ends[1 - me as usize], &datagram, "another process");
        }
        ends[0].push(40, false);
        talk(&mut ends, 0);
        assert!(ends[1].got.is_whole(1));
    }
}

#[test]
fn each_datagram_has_a_number_of_its_own_and_nothing_of_a_packet_can_be_read() {
    let mut ends = open(Mode::NORMAL, 0, Protection::Known);
    (0..20).for_each(|_| ends[0].push(400, false));
    let (mut now, mut numbers) = (0, Vec::new());
    while !ends[1].got.is_whole(20) {
        now = ends.iter().map(|end| end.pipe.timer()).min().unwrap().max(now + 1);
        ends.iter_mut().for_each(|end| end.pipe.on_timer(now));
        for datagram in ends[0].datagrams(now) {
            let head = Head::look(datagram.first_chunk().unwrap(), true).unwrap();
            numbers.push(head.job);
            let plain = (0..20).map(|number| packet(number, 400, false));
            for part in plain.flat_map(|packet| packet.windows(8).map(<[u8]>::to_vec).collect::<Vec<_>>()) {
                assert!(!datagram.windows(8).any(|there| there == part), "{part:?}");
            }
            if numbers.len() % 3 == 0 {
                ends[1].hear(now, &datagram);
            }
        }
        ends[1].datagrams(now).iter().for_each(|datagram| ends[0].hear(now, datagram));
    }
    assert!(ends[0].pipe.counts().repeated > 0);
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
}
