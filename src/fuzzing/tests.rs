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
