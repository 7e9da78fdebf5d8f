//! The behaviour that every [`Bootstrap`] must have. All nodes of a job call [`conforms`]. It panics in a node that
//! sees another one.
//!
//! Two kinds of tests use it: the unit tests with threads as nodes, and `cli/tests/launcher` with processes.

use super::{BootError, Bootstrap, Key, LIMIT};
use std::thread;

const VALUE: Key = Key::new("value");
const OTHER: Key = Key::new("another");
const MOST: usize = LIMIT - 8;

/// The value of `len` bytes that a node puts in a round.
fn value(round: u32, rank: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (round.wrapping_mul(31) ^ rank.wrapping_mul(7) ^ i) as u8).collect()
}

fn get(boot: &dyn Bootstrap, rank: u32, key: Key, len: usize) -> Result<Vec<u8>, BootError> {
    let mut got = vec![0xAA; len];
    let result = boot.get(rank, key, &mut got);
    if result.is_err() {
        assert_eq!(got, vec![0xAA; len], "a get that fails leaves the bytes alone");
    }
    result.map(|()| got)
}

/// Runs the whole suite.
pub fn conforms(boot: &dyn Bootstrap) {
    every_node_has_a_rank_of_its_own(boot);
    values_of_every_length_arrive(boot);
    a_round_holds_so_much_and_no_more(boot);
    the_later_value_counts(boot);
    what_is_not_there_is_said(boot);
    rounds_do_not_mix(boot);
}

fn every_node_has_a_rank_of_its_own(boot: &dyn Bootstrap) {
    assert!(boot.rank() < boot.size());
    boot.put(VALUE, &boot.rank().to_le_bytes()).unwrap();
    boot.put(OTHER, &boot.size().to_le_bytes()).unwrap();
    boot.fence().unwrap();
    for rank in 0..boot.size() {
        assert_eq!(get(boot, rank, VALUE, 4), Ok(rank.to_le_bytes().to_vec()));
        assert_eq!(get(boot, rank, OTHER, 4), Ok(boot.size().to_le_bytes().to_vec()));
    }
}

fn values_of_every_length_arrive(boot: &dyn Bootstrap) {
    for len in 0..=MOST {
        boot.put(VALUE, &value(1, boot.rank(), len)).unwrap();
        boot.fence().unwrap();
        for rank in 0..boot.size() {
            assert_eq!(get(boot, rank, VALUE, len), Ok(value(1, rank, len)), "{len} bytes of node {rank}");
        }
    }
}

fn a_round_holds_so_much_and_no_more(boot: &dyn Bootstrap) {
    boot.put(VALUE, &value(2, boot.rank(), MOST - 16)).unwrap();
    assert_eq!(boot.put(OTHER, &[0; 9]), Err(BootError::Full { key: OTHER, len: 9 }));
    boot.put(OTHER, &value(3, boot.rank(), 8)).unwrap();
    assert_eq!(boot.put(VALUE, &[]), Err(BootError::Full { key: VALUE, len: 0 }));
    boot.fence().unwrap();
    for rank in 0..boot.size() {
        assert_eq!(get(boot, rank, VALUE, MOST - 16), Ok(value(2, rank, MOST - 16)));
        assert_eq!(get(boot, rank, OTHER, 8), Ok(value(3, rank, 8)));
    }
}

fn the_later_value_counts(boot: &dyn Bootstrap) {
    boot.put(VALUE, &value(4, boot.rank(), 24)).unwrap();
    boot.put(VALUE, &value(5, boot.rank(), 3)).unwrap();
    boot.fence().unwrap();
    for rank in 0..boot.size() {
        assert_eq!(get(boot, rank, VALUE, 3), Ok(value(5, rank, 3)));
    }
}

fn what_is_not_there_is_said(boot: &dyn Bootstrap) {
    // Only nodes with even ranks put something. A get may ask for any node.
    let puts = |rank: u32| rank.is_multiple_of(2);
    if puts(boot.rank()) {
        boot.put(VALUE, &value(6, boot.rank(), 5)).unwrap();
    }
    boot.fence().unwrap();
    for rank in 0..boot.size() {
        assert_eq!(get(boot, rank, OTHER, 4), Err(BootError::Missing { rank, key: OTHER }));
        if puts(rank) {
            assert_eq!(get(boot, rank, VALUE, 4), Err(BootError::Length { rank, key: VALUE, is: 5, wanted: 4 }));
        } else {
            assert_eq!(get(boot, rank, VALUE, 5), Err(BootError::Missing { rank, key: VALUE }));
        }
    }
    let beyond = boot.size();
    assert_eq!(get(boot, beyond, VALUE, 5), Err(BootError::Missing { rank: beyond, key: VALUE }));
    boot.fence().unwrap();
    for rank in 0..boot.size() {
        assert_eq!(get(boot, rank, VALUE, 5), Err(BootError::Missing { rank, key: VALUE }), "of the round before");
    }
}

// Fast nodes put their next value while slow nodes still read the one before.
fn rounds_do_not_mix(boot: &dyn Bootstrap) {
    const LEN: usize = 40;
    for round in 0..300 {
        boot.put(VALUE, &value(round, boot.rank(), LEN)).unwrap();
        boot.fence().unwrap();
        if (boot.rank() + round).is_multiple_of(3) {
            (0..20).for_each(|_| thread::yield_now());
        }
        for rank in 0..boot.size() {
            assert_eq!(get(boot, rank, VALUE, LEN), Ok(value(round, rank, LEN)), "round {round}");
        }
    }
}
