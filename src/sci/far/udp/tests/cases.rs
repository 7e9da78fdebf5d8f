//! Each case of the protocol's table, in both modes.

use super::*;
use crate::sci::far::tcp::chunk::Memory;
use crate::sci::far::udp::mode::Counts;

/// What goes, as datagrams, after three packets were pushed into a new pipe of this mode.
fn three(mode: Mode, protection: Protection) -> ([End; 2], Vec<Vec<u8>>) {
    let mut ends = open(mode, if mode.is_seed { 0 } else { u32::MAX - 1 }, protection);
    (0..3).for_each(|_| ends[0].push(20, false));
    let datagrams = ends[0].datagrams(10);
    assert_eq!(datagrams.len(), 3);
    (ends, datagrams)
}

/// Passes on what `from` says; returns how many datagrams that were.
fn pass(ends: &mut [End; 2], from: usize, now: u64) -> usize {
    let all = ends[from].datagrams(now);
    all.iter().for_each(|datagram| ends[1 - from].hear(now, datagram));
    all.len()
}

/// Both modes, each with and without protection.
fn all() -> impl Iterator<Item = (Mode, Protection)> {
    [Mode::SEED, Mode::NORMAL].into_iter().flat_map(|mode| BOTH.map(|protection| (mode, protection)))
}

fn counts(end: &End) -> Counts {
    end.pipe.counts()
}

#[test]
fn data_as_expected_is_taken_and_its_acknowledgement_frees_it() {
    for (mode, protection) in all() {
        let (mut ends, datagrams) = three(mode, protection);
        datagrams.iter().for_each(|datagram| ends[1].hear(20, datagram));
        assert!(ends[1].got.is_whole(3));
        assert_eq!(counts(&ends[1]).data_expected, 3);
        while pass(&mut ends, 1, 30) > 0 {}
        ends[1].pipe.on_timer(2_000);
        pass(&mut ends, 1, 2_000);
        assert_eq!(ends[0].pipe.waiting(), 0, "{mode:?}");
        assert!(counts(&ends[0]).ack_expected > 0);
    }
}

#[test]
fn data_that_has_come_before_is_acknowledged_again_and_not_taken() {
    for mode in [Mode::SEED, Mode::NORMAL] {
        let (mut ends, datagrams) = three(mode, Protection::None);
        ends[1].hear(20, &datagrams[0]);
        ends[1].datagrams(2_000); // what it says is lost
        ends[1].hear(3_000, &datagrams[0]);
        assert_eq!((counts(&ends[1]).data_before, ends[1].got.times.len()), (1, 1));
        assert_eq!(pass(&mut ends, 1, 3_000), 1);
        assert_eq!(ends[0].pipe.waiting(), 2);
    }
}

#[test]
fn data_behind_a_gap_is_refused_in_seed_mode_and_kept_in_normal_mode() {
    for protection in BOTH {
        let (mut ends, datagrams) = three(Mode::SEED, protection);
        ends[1].hear(20, &datagrams[1]);
        assert_eq!((counts(&ends[1]).data_behind, ends[1].got.times.len()), (1, 0));
        assert_eq!(pass(&mut ends, 1, 20), 1);
        assert_eq!(counts(&ends[0]).nack, 1);
        assert_eq!(ends[0].datagrams(30).len(), 3, "all are sent again");

        let (mut ends, datagrams) = three(Mode::NORMAL, protection);
        ends[1].hear(20, &datagrams[1]);
        ends[1].hear(20, &datagrams[1]);
        let twice = [counts(&ends[1]).data_twice, ends[1].pipe.counts().damaged];
        assert_eq!(
            (counts(&ends[1]).data_behind, twice),
            (1, if protection == Protection::None { [1, 0] } else { [0, 1] })
        );
        ends[1].hear(20, &datagrams[2]);
        assert!(ends[1].got.times.is_empty() && ends[1].pipe.kept() > 0);
        ends[1].hear(20, &datagrams[0]);
        assert!(ends[1].got.is_whole(3) && ends[1].pipe.kept() == 0);
        assert_eq!(pass(&mut ends, 1, 20), 1);
        assert_eq!(ends[0].pipe.waiting(), 0);
    }
}

#[test]
fn loose_data_behind_a_gap_are_taken_as_they_come_and_once() {
    for protection in BOTH {
        let mut ends = open(Mode::NORMAL, 7, protection);
        (0..4).for_each(|i| ends[0].push(20, i != 0 && i != 2));
        let datagrams = ends[0].datagrams(10);
        ends[1].got.times = vec![0; 4];
        for at in [3, 3, 1, 2, 3] {
            ends[1].hear(20, &datagrams[at]);
        }
        assert_eq!(ends[1].got.times, [0, 1, 0, 1]);
        ends[1].hear(20, &datagrams[0]);
        assert!(ends[1].got.is_whole(4));
    }
}

#[test]
fn an_acknowledgement_that_comes_twice_is_ignored() {
    for mode in [Mode::SEED, Mode::NORMAL] {
        let (mut ends, datagrams) = three(mode, Protection::None);
        ends[1].hear(20, &datagrams[0]);
        ends[1].hear(20, &datagrams[0]); // in normal mode: at once
        let said = ends[1].datagrams(20);
        ends[1].hear(30, &datagrams[1]);
        ends[1].hear(30, &datagrams[1]);
        let more = ends[1].datagrams(30);
        for datagram in said.iter().chain(&more).chain(&said) {
            ends[0].hear(40, datagram);
        }
        assert!(counts(&ends[0]).ack_before > 0);
        assert_eq!(ends[0].pipe.waiting(), 1);
    }
}

#[test]
fn a_larger_acknowledgement_is_ignored_in_seed_mode_and_frees_all_before_it_in_normal_mode() {
    for protection in BOTH {
        let (mut ends, datagrams) = three(Mode::SEED, protection);
        ends[1].hear(20, &datagrams[0]);
        ends[1].datagrams(20); // lost
        ends[1].hear(20, &datagrams[1]);
        pass(&mut ends, 1, 20);
        assert_eq!((counts(&ends[0]).ack_behind, ends[0].pipe.waiting()), (1, 3));
        let again: Vec<u8> = ends[0].datagrams(30).iter().map(|datagram| datagram[20]).collect();
        assert_eq!(again, [1], "its packet is sent again");
        ends[0].pipe.on_timer(10 + 20_000);
        assert_eq!(ends[0].datagrams(20_010).len(), 2, "the missing one's after its time, and the third");

        let (mut ends, datagrams) = three(Mode::NORMAL, protection);
        datagrams.iter().for_each(|datagram| ends[1].hear(20, datagram));
        let said = ends[1].datagrams(5_000);
        ends[0].hear(5_000, said.last().unwrap());
        ends[1].pipe.on_timer(9_000);
        pass(&mut ends, 1, 9_000);
        assert_eq!(ends[0].pipe.waiting(), 0);
    }
}

#[test]
fn without_memory_a_packet_is_refused_and_the_sender_asks_until_there_is_some() {
    for protection in BOTH {
        let (mut ends, datagrams) = three(Mode::SEED, protection);
        ends[1].got.has_no_room = true;
        ends[1].hear(20, &datagrams[0]);
        assert_eq!(pass(&mut ends, 1, 20), 1);
        assert_eq!((counts(&ends[1]).data_refused, counts(&ends[0]).nack), (1, 1));
        ends[1].got.has_no_room = false;
        pass(&mut ends, 0, 30);
        assert!(ends[1].got.is_whole(3));

        let (mut ends, datagrams) = three(Mode::NORMAL, protection);
        ends[1].got.has_no_room = true;
        datagrams.iter().for_each(|datagram| ends[1].hear(20, datagram));
        assert_eq!(pass(&mut ends, 1, 20), 1);
        assert_eq!((counts(&ends[1]).data_refused, counts(&ends[0]).busy), (3, 1));
        ends[1].got.has_no_room = false;
        let mut now = 30;
        while !ends[1].got.is_whole(3) {
            now = ends.iter().map(|end| end.pipe.timer()).min().unwrap().max(now + 1);
            assert!(now < 3_000_000, "it hangs");
            for end in [0, 1] {
                ends[end].pipe.on_timer(now);
                pass(&mut ends, end, now);
            }
        }
    }
}

#[test]
fn a_nack_without_packets_under_way_is_ignored() {
    let (mut ends, datagrams) = three(Mode::SEED, Protection::None);
    ends[1].hear(20, &datagrams[1]);
    let nack = ends[1].datagrams(20);
    datagrams.iter().for_each(|datagram| ends[1].hear(30, datagram));
    pass(&mut ends, 1, 30);
    assert_eq!(ends[0].pipe.waiting(), 0);
    ends[0].hear(40, &nack[0]);
    assert_eq!((counts(&ends[0]).nack_of_nothing, ends[0].datagrams(50).len()), (1, 0));
}

#[test]
fn what_is_damaged_or_of_another_job_changes_nothing() {
    for mode in [Mode::SEED, Mode::NORMAL] {
        let (mut ends, datagrams) = three(mode, Protection::None);
        for bit in 0..8 * datagrams[0].len() {
            let mut damaged = datagrams[0].clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            ends[1].hear(20, &damaged);
        }
        assert_eq!(counts(&ends[1]).damaged as usize, 8 * datagrams[0].len());
        assert!(ends[1].got.times.is_empty() && ends[1].datagrams(5_000).is_empty());
        let mut stranger = End::with(Terms { job: 78, ..terms(mode, 0, 0) }, 0, Protection::None);
        stranger.datagrams(0).iter().for_each(|hello| ends[1].hear(20, hello));
        let mut again = End::with(Terms { incarnation: 9, ..terms(mode, 0, 0) }, 0, Protection::None);
        again.datagrams(0).iter().for_each(|hello| ends[1].hear(20, hello));
        assert_eq!(counts(&ends[1]).damaged as usize, 8 * datagrams[0].len() + 2);
    }
}

#[test]
fn a_packet_that_nobody_answers_goes_again_after_a_time_that_grows() {
    let (mut ends, _) = three(Mode::NORMAL, Protection::None);
    let mut times = Vec::new();
    let mut now = 10;
    while times.len() < 8 {
        now = ends[0].pipe.timer().max(now + 1);
        ends[0].pipe.on_timer(now);
        let pings = ends[0].datagrams(now).iter().filter(|datagram| datagram[3] == 2).count();
        (0..pings).for_each(|_| times.push(now));
    }
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0]) && gaps.last() == Some(&2_000_000), "{gaps:?}");
}

/// A peer that does not run for a while answers the first sending late. What was sent between that and the second one has come as well.
#[test]
fn an_answer_to_the_first_sending_does_not_make_what_followed_it_lost() {
    let mut ends = open(Mode::NORMAL, 0, Protection::None);
    (0..20).for_each(|_| ends[0].push(20, false));
    let mut datagrams = ends[0].datagrams(10);
    let now = ends[0].pipe.timer();
    ends[0].pipe.on_timer(now);
    let again = ends[0].datagrams(now);
    assert_eq!((again.len(), counts(&ends[0]).timeouts), (1, 1));
    datagrams.extend(again);
    for (datagram, now) in datagrams.iter().zip(now + 10..) {
        ends[1].hear(now, datagram);
        pass(&mut ends, 1, now);
    }
    assert_eq!((counts(&ends[0]).lost, counts(&ends[0]).repeated, ends[0].pipe.waiting()), (0, 1, 0));
}

#[test]
fn a_peer_that_says_nothing_is_dead_and_one_that_nobody_looked_at_is_not() {
    let [mut end, _] = open(Mode::NORMAL, 0, Protection::None);
    let mut now = 0;
    while !end.pipe.is_dead(now) {
        now = end.pipe.timer().max(now + 1);
        end.pipe.on_timer(now);
        end.datagrams(now);
        assert!(now <= 10_000_001);
    }
    assert!(now > 10_000_000);
    let [mut end, _] = open(Mode::NORMAL, 0, Protection::None);
    end.push(1, false);
    end.datagrams(100);
    end.pipe.on_timer(60_000_000); // this process was stopped meanwhile
    assert!(!end.pipe.is_dead(60_000_000));
}

/// Whatever it has under way, and however often that was sent again, a peer is dead by the clock of its last sign.
#[test]
fn a_peer_that_leaves_in_a_flood_is_dead_as_soon_as_the_time_is_over() {
    let mut ends = open(Mode::NORMAL, 0, Protection::None);
    (0..50).for_each(|_| ends[0].push(20, false));
    let (mut now, mut last) = (0, 0);
    while !ends[0].pipe.is_dead(now) {
        now = ends[0].pipe.timer().max(now + 1);
        ends[0].pipe.on_timer(now);
        ends[1].pipe.on_timer(now);
        for datagram in ends[0].datagrams(now) {
            ends[1].hear(now, &datagram);
        }
        if now < 2_000 && pass(&mut ends, 1, now) > 0 {
            last = now;
        }
        if ends[0].pipe.waiting() < 40 {
            ends[0].push(20, false);
        }
    }
    assert_eq!(now, last + 10_000_001);
    assert!(counts(&ends[0]).timeouts > 5);
}

#[test]
fn idle_ends_ask_each_other_now_and_then_and_stay_alive() {
    let mut ends = open(Mode::NORMAL, 0, Protection::None);
    let (mut now, mut said) = (0, 0);
    while now < 60_000_000 {
        now = ends.iter().map(|end| end.pipe.timer()).min().unwrap().max(now + 1);
        for end in [0, 1] {
            ends[end].pipe.on_timer(now);
            said += pass(&mut ends, end, now);
            assert!(!ends[end].pipe.is_dead(now));
        }
    }
    assert!((60..=300).contains(&said), "{said} datagrams in a minute");
}

/// What goes from where it lies is not copied, so it may change between its checksum and the system's look at it.
#[test]
fn memory_that_changes_while_it_goes_spoils_one_datagram_and_arrives_when_it_is_sent_again() {
    let [mut one, mut other] = open(Mode::NORMAL, 5, Protection::None);
    let whole = packet(0, 3000, false);
    let mut memory = whole[8..].to_vec();
    one.pipe.push(whole[..8].to_vec(), Some(Memory { at: memory.as_ptr(), len: memory.len() }));
    let goes = |end: &mut End, now: u64| {
        let mut bytes = Vec::new();
        let rest = end.pipe.next(now).expect("it goes").put_front(&mut bytes);
        (rest.is_some(), bytes)
    };
    let (is_there, mut datagram) = goes(&mut one, 10);
    assert!(is_there);
    memory[100] ^= 1;
    datagram.extend_from_slice(&memory);
    memory[100] ^= 1;
    other.hear(20, &datagram);
    assert_eq!((other.pipe.refused(), other.got.times.len()), (1, 0));
    let later = one.pipe.timer();
    one.pipe.on_timer(later);
    let (is_there, datagram) = goes(&mut one, later);
    assert!(!is_there, "it is copied");
    other.hear(later, &datagram);
    assert!(other.got.is_whole(1));
}
