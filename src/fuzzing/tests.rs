//! Every target with its seeds, with seeds that were changed a little, and with bytes made at random.

use crate::am::world::Watchdog;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::path::PathBuf;

/// Changed and random inputs for each target.
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

#[test]
fn no_word_that_a_peer_may_write_harms_more_than_the_job() {
    try_target("regions");
}

#[test]
fn no_cell_that_a_member_may_write_harms_more_than_the_job() {
    try_target("collectives");
}

#[test]
fn no_hand_off_and_no_bulletin_harms_a_node() {
    try_target("hand_off");
}

#[test]
fn no_setting_panics() {
    try_target("settings");
}

#[test]
fn no_description_of_a_transfer_panics() {
    try_target("shapes");
}

/// What a run of collectives ends with; the bytes are steps of `collectives`.
fn ends_with(steps: &[u8], text: &str) {
    let end = super::collectives::outcome(steps);
    assert!(end.as_ref().is_err_and(|end| end.contains(text)), "{end:?}");
}

#[test]
fn a_member_that_took_more_of_a_stage_than_there_was_is_fatal() {
    // Node 0 alone begins a broadcast of 40,000 bytes from private memory; the other says that it took 100 chunks.
    let mut steps = vec![3];
    steps.extend([0, 0, 43, 40, 0, 0]);
    steps.extend([9, 1, 3, 100, 0, 8, 0, 4]);
    ends_with(&steps, "more taken from a collective's stage than there was");
}

#[test]
fn bytes_of_a_collective_that_nobody_asked_for_are_fatal() {
    ends_with(&[0, 14, 2, 0, 0, 1, 50, 4], "not asked for");
}

#[test]
fn words_for_half_a_cell_are_fatal() {
    ends_with(&[0, 14, 3, 4, 0, 8, 4], "8 bytes at 0x4 of the collective region");
}
