//! The conformance suite with threads as nodes. `cli/tests/launcher` runs it with processes, forked and launched.

use super::conformance::conforms;
use super::memory::{Aborted, Memory};
use super::{BootError, Bootstrap, Key, Shared, share};
use crate::supervise::JobHeader;
use crate::supervise::header::HALF;
use crate::sync::fixed::{AtomicBool, Ordering};
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

/// A job of several hosts in one process: a memory for each host, and a thread that does what agents and launcher do at fences.
fn on_hosts(hosts_of: &[u32], node: impl Fn(&Shared) + Sync) {
    let nodes = hosts_of.len() as u32;
    let hosts = hosts_of.iter().max().unwrap() + 1;
    let memories: Vec<_> = (0..hosts)
        .map(|host| {
            let (file, header) = JobHeader::create(nodes).unwrap();
            header.set_hosts(host, hosts_of, [3, 4]);
            (file, header)
        })
        .collect();
    let header_of = |rank: u32| memories[hosts_of[rank as usize] as usize].1;
    let boots: Vec<Shared> = (0..nodes).map(|rank| Shared::new(header_of(rank), rank)).collect();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                exchange(&memories.iter().map(|(_, header)| *header).collect::<Vec<_>>());
            }
        });
        thread::scope(|scope| boots.iter().for_each(|boot| drop(scope.spawn(|| node(boot)))));
        over.store(true, Ordering::Relaxed);
    });
}

// Ends the fence that all hosts wait in, if they do.
fn exchange(headers: &[JobHeader]) {
    let asked: Vec<_> = headers.iter().map(JobHeader::asked).collect();
    let Some(generation) = asked[0].filter(|_| asked.iter().all(|other| *other == asked[0])) else {
        return thread::yield_now();
    };
    let mut halves = vec![[0; HALF]; headers[0].nodes() as usize];
    for (rank, half) in headers.iter().flat_map(JobHeader::local_halves) {
        halves[rank as usize] = half;
    }
    assert!(!headers[0].release(generation.wrapping_add(1), &halves) && !headers[0].release(generation, &halves[1..]));
    assert!(headers.iter().all(|header| header.release(generation, &halves)));
}

#[test]
fn several_hosts_conform() {
    for hosts_of in [&[0, 1][..], &[0, 0, 1, 1, 2], &[1, 0, 1]] {
        on_hosts(hosts_of, |boot| conforms(boot));
    }
}

#[test]
fn a_header_knows_which_nodes_are_here() {
    let (_file, header) = JobHeader::create(4).unwrap();
    assert_eq!((header.hosts(), header.host(), header.local_count(), header.secret()), (1, 0, 4, [0, 0]));
    assert!(header.locals().eq(0..4));
    header.set_hosts(1, &[0, 1, 2, 1], [5, 6]);
    assert_eq!((header.hosts(), header.host(), header.local_count(), header.secret()), (3, 1, 2, [5, 6]));
    assert!(header.locals().eq([1, 3]) && header.is_local(3) && !header.is_local(0));
    assert_eq!((header.asked(), header.release(1, &[[0; HALF]; 4])), (None, false), "no node waits");
}

#[test]
fn all_take_what_node_zero_has_whether_they_have_the_same_or_not() {
    for len in [0, 1, 95, 96, 97, 1000] {
        let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
        for differs in [false, true] {
            on_hosts(&[0, 1, 1], |boot| {
                let mut own = bytes.clone();
                if differs && boot.rank() == 2 {
                    own.push(7);
                }
                assert_eq!(share::from_first(boot, &own).unwrap(), bytes);
            });
        }
    }
}
