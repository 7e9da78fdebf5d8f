//! The conformance suite with threads as nodes. `cli/tests/launcher` runs it with processes, forked and launched.

use super::conformance::conforms;
use super::memory::{Aborted, Memory};
use super::{BootError, Bootstrap, Key, Shared};
use crate::supervise::JobHeader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

fn run<B: Bootstrap>(nodes: &[B], node: impl Fn(&B) + Sync) {
    thread::scope(|scope| nodes.iter().for_each(|boot| drop(scope.spawn(|| node(boot)))));
}

#[test]
fn memory_conforms() {
    for size in [1, 2, 5] {
        run(&Memory::job(size), |boot| conforms(boot));
    }
}

#[test]
fn shared_conforms() {
    for size in [1, 2, 5] {
        let (_file, header) = JobHeader::create(size).unwrap();
        let nodes: Vec<Shared> = (0..size).map(|rank| Shared::new(header, rank)).collect();
        run(&nodes, |boot| conforms(boot));
    }
}

#[test]
fn abort_of_one_releases_those_that_wait() {
    run(&Memory::job(3), |boot| {
        if boot.rank() == 1 {
            let end = catch_unwind(AssertUnwindSafe(|| boot.abort(7))).unwrap_err();
            assert_eq!(end.downcast_ref::<Aborted>().map(|aborted| aborted.0), Some(7));
        } else {
            assert_eq!(boot.fence(), Err(BootError::Lost("a node has aborted with 7".into())));
        }
    });
}

#[test]
fn keys_keep_their_names() {
    assert_eq!([Key::new("a"), Key::new("segment")].map(|key| key.name().to_string()), ["a", "segment"]);
}
