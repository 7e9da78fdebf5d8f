//! Runs every target with its seeds, with slightly changed seeds, and with random bytes.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::scene::{act, seats, with_args};
use crate::am::library::{RMA_GET, RMA_GET_LONG, RMA_SET};
use crate::base::fatal::caught::catch;
use crate::testkit::world::{Shape, Watchdog};
use crate::xfer::reference::{self, Asked};
use crate::xfer::{Counted, Landing, home, table};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::path::PathBuf;

/// The number of changed and random inputs for each target.
const CASES: u32 = 1500;

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(name);
    let files = fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} has no seeds", directory.display());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn try_target(name: &str) {
    let target = super::target(name);
    let seeds = seeds(name);
    {
        let _watch = Watchdog::start();
        seeds.iter().for_each(|seed| target(seed));
    }
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12);
    let made = (any::<prop::sample::Index>(), changes, prop::collection::vec(any::<u8>(), 0..200), any::<bool>());
    let run = |(seed, changes, tail, fresh): (prop::sample::Index, Vec<(prop::sample::Index, u8)>, Vec<u8>, bool)| {
        let _watch = Watchdog::start();
        let mut bytes = if fresh { Vec::new() } else { seeds[seed.index(seeds.len())].clone() };
        for (at, byte) in changes.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes.extend(tail);
        target(&bytes);
        Ok(())
    };
    TestRunner::new(config).run(&made, run).unwrap_or_else(|e| panic!("{name}: {e}"));
}

macro_rules! targets {
    ($($test:ident: $target:literal,)+) => {
        $(#[test]
        fn $test() {
            try_target($target);
        })+
    };
}

targets! {
    no_word_that_a_peer_may_write_harms_more_than_the_job: "regions",
    no_cell_that_a_member_may_write_harms_more_than_the_job: "collectives",
    no_hand_off_and_no_bulletin_harms_a_node: "hand_off",
    nothing_that_another_host_sends_harms_more_than_its_link: "far",
    no_frame_of_a_channel_harms_launcher_or_agent: "channel",
    no_message_about_a_mail_box_harms_more_than_the_job: "mailbox",
    no_setting_panics: "settings",
    no_description_of_a_transfer_panics: "shapes",
}

/// Checks the error that a run of collectives ends with. `steps` are the input of `collectives`.
fn ends_with(steps: &[u8], text: &str) {
    let end = super::collectives::outcome(steps);
    assert!(end.as_ref().is_err_and(|end| end.contains(text)), "{end:?}");
}

#[test]
fn a_member_that_took_more_of_a_stage_than_there_was_is_fatal() {
    // Node 0 alone begins a broadcast of 40,000 bytes from private memory. The other node claims to have taken 100
    // chunks.
    let mut steps = vec![3];
    steps.extend([0, 0, 40, 40, 0, 0]);
    steps.extend([9, 1, 3, 100, 0, 8, 0, 4]);
    ends_with(&steps, "more taken from a collective's stage than there was");
}

#[test]
fn bytes_said_to_be_sent_ahead_where_the_region_ends_are_fatal() {
    // Node 0 waits for a broadcast of 304 bytes from the other node. That one claims that they lie 8 bytes before the
    // end.
    let mut steps = vec![3];
    steps.extend([0, 0, 32, 32, 1, 0]);
    steps.extend([9, 1, 2, 8, 0, 6, 0]);
    steps.extend([9, 1, 3, 6, 0, 0, 4]);
    ends_with(&steps, "a collective's stage outside the region");
}

#[test]
fn bytes_of_a_collective_that_nobody_asked_for_are_fatal() {
    ends_with(&[0, 14, 2, 0, 0, 1, 50, 4], "not asked for");
}

#[test]
fn words_for_half_a_cell_are_fatal() {
    ends_with(&[0, 14, 3, 4, 0, 8, 4], "8 bytes at 0x4 of the collective region");
}

#[test]
fn a_collectives_message_of_a_kind_that_nobody_writes_is_fatal() {
    // Node 0 receives a broadcast of 5,000 bytes from node 1, and does not announce a place for them.
    let bits = (0u32..1 << 20).find(|bits| bits % 8 == 0 && (bits >> 3) % 9 == 5 && bits >> 16 & 1 == 1).unwrap();
    let begin: Vec<u8> = [0, 0].into_iter().chain(bits.to_le_bytes()).collect();
    for (how, count) in [(0, 0), (1, 0), (4, 2), (4, 31), (5, 0), (7, 1)] {
        let mut steps = vec![3];
        steps.extend(&begin);
        // The word that says how number 1 is sent, followed by a poll.
        let value = how | count << 3;
        steps.extend([9, 1, 3, value, 0, 0, 4]);
        let end = super::collectives::outcome(&steps);
        assert!(end.as_ref().is_err_and(|end| end.contains("of an unknown kind")), "{how} {count}: {end:?}");
    }
}

/// Sends node 0 a request to read or write `len` bytes at `at`.
fn asks_node_zero(handler: u8, at: impl Fn(usize) -> usize, len: usize) -> Result<bool, String> {
    let seats = seats(&Shape::new(2, 4), 64);
    let halves = |n: usize| [n as i32, (n >> 32) as i32];
    let ([a, b], [c, d]) = (halves(at(seats[0].node.bases[0])), halves(seats[1].node.bases[1]));
    let [low, high] = halves(len);
    let values = match handler {
        RMA_SET => vec![a, b, low, high, 0, 7],
        _ => vec![a, b, c, d, 0, low, 0],
    };
    act(&seats[1], 0, |seat| with_args(&values, |args| seat.node.am.request_short(0, handler, args).unwrap())).unwrap();
    act(&seats[0], 0, |seat| seat.node.am.poll())
}

#[test]
fn what_a_peer_asks_for_outside_the_own_segment_is_fatal() {
    let segment = Shape::new(2, 4).segment;
    for handler in [RMA_GET, RMA_GET_LONG, RMA_SET] {
        assert_eq!(asks_node_zero(handler, |base| base + segment - 8, 8), Ok(true), "{handler}: the last bytes");
        let outside: [fn(usize, usize) -> usize; 5] =
            [|b, _| b - 8, |b, s| b + s - 7, |b, s| b + s, |_, _| 0, |_, _| usize::MAX - 3];
        for at in outside {
            let end = asks_node_zero(handler, |base| at(base, segment), 8);
            assert!(end.as_ref().is_err_and(|end| end.contains("transfer outside the segment")), "{handler}: {end:?}");
        }
    }
    let end = asks_node_zero(RMA_SET, |base| base + 8, usize::MAX - 7);
    assert!(end.is_err_and(|end| end.contains("transfer outside the segment")), "the end wraps");
}

#[test]
fn an_answer_to_a_get_is_taken_once_as_it_was_asked_for() {
    const LEN: usize = 24;
    let seats = seats(&Shape::new(2, 4), 64);
    let (id, op) = home::take().unwrap();
    let mut landing = [0u8; 2 * LEN];
    let to = landing.as_mut_ptr();
    let asked = Asked { to: to.addr(), id: id.bits(), stamp: table::Table::get().stamp(id, to.addr(), LEN) };
    let refused = |len: usize, asked: Asked| {
        let end = catch(|| reference::on_landed(len, asked, 1));
        assert!(end.as_ref().is_err_and(|end| end.contains("was not asked for")), "{end:?}");
    };
    refused(LEN, asked); // nothing is under way
    let start = |seat: &super::scene::Seat| {
        // SAFETY: the memory lives as long as the test.
        let landing = unsafe { Landing::new(to, LEN) };
        reference::get(&seat.node.am, 1, seat.node.bases[1], landing, Counted { id, op }).unwrap();
    };
    act(&seats[0], 0, start).unwrap();
    refused(LEN + 1, asked);
    refused(LEN, Asked { to: asked.to + 1, ..asked });
    refused(LEN, Asked { stamp: asked.stamp ^ 1, ..asked });
    refused(LEN, Asked { id: u32::MAX, ..asked });
    assert!(!op.is_done());
    act(&seats[1], 0, |seat| seat.node.am.poll()).unwrap();
    act(&seats[0], 0, |seat| seat.node.am.poll()).unwrap();
    assert!(op.is_done());
    refused(LEN, asked);
    home::give(id, op);
}
