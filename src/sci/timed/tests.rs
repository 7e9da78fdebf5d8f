//! A test per rule at the head of `timed`. Times are compared with what the model says, as lower bounds only: a busy host makes waits longer.

#![allow(unsafe_code)] // the sources and targets of transfers

use super::links::{Links, span_of};
use super::*;
use crate::os::sys::clock_ns;
use crate::sci::heap::{Heap, HeapFabric};
use crate::sci::model::{PROFILES, Parameters, Topology};
use crate::sci::{
    DmaQueue, DmaState, Interrupt, LocalMap, LocalSegment, Placement, RemoteInterrupt, RemoteMap, RemoteRead,
    RemoteSegment,
};
use crate::sync::Ordering;
use std::thread;

/// A heap of two nodes, each of them with `hardware`.
fn heaps(hardware: &Parameters, topology: Topology) -> [Timed<Heap>; 2] {
    let (fabric, links) = (HeapFabric::new(2), Links::own(topology.links() as usize));
    [0, 1].map(|node| {
        let (hardware, positions, links) = (hardware.clone(), [0, 1].into(), links.clone());
        let setup = Setup { hardware, topology, positions, links, survives: false };
        Timed::new(Heap::join(&fabric, NodeId(node)).unwrap(), setup)
    })
}

fn profile(name: &str) -> Parameters {
    Parameters::of(name).unwrap()
}

/// d339, so many times as slow: slow enough for a look in between.
fn slow(scale: f64) -> [Timed<Heap>; 2] {
    heaps(&Parameters { map: 0.0, ..profile("d339") }.scaled(scale), Topology::Apart)
}

struct Pair {
    _own: <Heap as Adapter>::LocalSegment,
    local: <Heap as Adapter>::Local,
    remote: TimedSegment<Heap>,
    map: TimedMap<Heap>,
}

/// Node 0's segment, seen by itself and by node 1.
fn connected([a, b]: &[Timed<Heap>; 2]) -> Pair {
    let own = a.create(SegmentId(7), 64 << 10).unwrap();
    own.set_available().unwrap();
    let local = own.map(Placement::Anywhere).unwrap();
    let remote = b.connect(NodeId(0), SegmentId(7), Duration::ZERO).unwrap();
    let map = remote.map(0, remote.len(), Placement::Anywhere).unwrap();
    Pair { _own: own, local, remote, map }
}

fn word(local: &impl LocalMap, offset: usize) -> u64 {
    // ORDERING: Acquire ↔ the Release of what is delivered.
    local.word(offset).load(Ordering::Acquire)
}

/// Waits without a call of the library; the nanoseconds.
fn until(start: u64, ready: impl Fn() -> bool) -> u64 {
    while !ready() {
        assert!(clock_ns() - start < 20_000_000_000, "it never arrives");
        thread::yield_now();
    }
    clock_ns() - start
}

#[test]
fn rule_1_maps_give_no_address_and_nothing_is_inline() {
    let nodes = slow(1.0);
    let Pair { map, .. } = connected(&nodes);
    assert!(map.place().is_none() && map.memory().is_none());
    let properties = nodes[0].properties();
    assert!(!properties.orders_stores && !properties.allows_shortcuts);
    assert!(nodes[1].connect_interrupt(NodeId(0)).unwrap().sleep_word().is_none());
}

#[test]
fn rule_2_what_is_stored_arrives_later_in_its_order() {
    let nodes = slow(10_000.0); // 27 ms
    let Pair { local, map, .. } = connected(&nodes);
    let start = clock_ns();
    map.publish(0, 1);
    map.packet(64, 2, &[3, 4]);
    assert!(word(&local, 0) == 0 || clock_ns() - start > 27_000_000, "it is on its way");
    until(start, || word(&local, 64) == 2);
    assert!(clock_ns() - start >= 27_000_000);
    assert_eq!((word(&local, 0), word(&local, 72), word(&local, 80)), (1, 3, 4), "stored before");
}

#[test]
fn rule_2_the_last_line_of_a_write_is_kept() {
    let nodes = slow(1000.0);
    let Pair { local, map, .. } = connected(&nodes);
    let bytes = [0xab; 200];
    // SAFETY: an array's bytes.
    unsafe { map.write(0, bytes.as_ptr(), bytes.len()) }.unwrap();
    assert_eq!(word(&local, 128), 0xabab_abab_abab_abab, "an earlier line");
    map.barrier();
    assert_eq!(word(&local, 192), 0xabab_abab_abab_abab);
}

#[test]
fn rule_3_the_helper_delivers_while_the_node_computes() {
    let nodes = slow(1000.0); // 2.7 ms
    let Pair { local, map, .. } = connected(&nodes);
    let start = clock_ns();
    map.publish(8, 5);
    let passed = until(start, || word(&local, 8) == 5);
    assert!(passed >= 2_700_000, "{passed}");
}

#[test]
fn rule_3_a_look_delivers_what_is_due() {
    let nodes = slow(100.0);
    let Pair { local, map, .. } = connected(&nodes);
    map.publish(8, 5);
    let start = clock_ns();
    until(start, || {
        nodes[1].progress(Effort::Glance);
        word(&local, 8) == 5
    });
    // The helper may have stored the word, and not have noted yet that it was the last.
    until(start, || !nodes[1].is_expecting());
}

#[test]
fn rule_4_a_sleeper_wakes_when_the_store_arrives_before_its_bound() {
    let nodes = slow(1000.0);
    let Pair { local, map, .. } = connected(&nodes);
    let [a, b] = &nodes;
    let (own, peer) = (a.interrupt().unwrap(), b.connect_interrupt(NodeId(0)).unwrap());
    let bound = Duration::from_secs(20);
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            map.publish(0, 1);
            peer.stored(); // before the word arrives, perhaps before the node sleeps
        });
        let start = clock_ns();
        own.arm();
        while word(&local, 0) == 0 {
            assert!(own.wait(bound), "the bell did not ring");
        }
        own.disarm();
        assert!(Duration::from_nanos(clock_ns() - start) < bound);
        sender.join().unwrap();
    });
}

#[test]
fn rule_5_a_barrier_waits_for_the_acknowledgement_and_a_read_for_both_ways() {
    let nodes = slow(100.0);
    let Pair { local, map, .. } = connected(&nodes);
    let start = clock_ns();
    map.publish(0, 1);
    map.barrier();
    assert!(word(&local, 0) == 1 && clock_ns() - start >= 539_000);
    let (start, mut bytes) = (clock_ns(), [0u8; 65]);
    map.publish(8, 2);
    // SAFETY: an array's bytes.
    unsafe { map.read(0, bytes.as_mut_ptr(), bytes.len()) }.unwrap();
    assert!(clock_ns() - start >= 539_000 + 2 * 2_700_000, "two lines");
    assert_eq!((bytes[0], bytes[8]), (1, 2), "what this node has stored is read");
}

#[test]
fn rule_5_unmapping_delivers() {
    let nodes = slow(1000.0);
    let Pair { local, map, .. } = connected(&nodes);
    map.publish(0, 9);
    drop(map);
    assert_eq!(word(&local, 0), 9);
}

#[test]
fn rule_6_dma_copies_at_once_and_is_done_at_its_time() {
    let nodes = slow(100.0);
    let Pair { local, remote, .. } = &connected(&nodes);
    let queue = nodes[1].dma_queue(4).unwrap();
    let source = vec![7u64; 1024];
    let start = clock_ns();
    // SAFETY: the source outlives the wait below.
    let ticket = unsafe { queue.enqueue(source.as_ptr().cast(), remote, 0, 8192) }.unwrap();
    assert!(queue.poll(ticket) == DmaState::Pending || clock_ns() - start >= 6_000_000);
    assert_eq!(word(local, 8184), 7, "copied at once");
    let early = queue.wait(ticket, Duration::from_nanos(1));
    assert!(early == Err(SciError::TimedOut) || clock_ns() - start >= 6_000_000, "{early:?}");
    assert_eq!(queue.wait(ticket, Duration::from_secs(20)), Ok(DmaState::Done));
    assert!(clock_ns() - start >= 6_577_000, "30 us and 8192 bytes at 229 MB/s");
}

#[test]
fn rule_6_transfers_that_share_a_link_share_its_rate() {
    let hardware = Parameters { setup: 0.0, map: 0.0, rate: 1e6, link: 88.0, ..profile("d339") };
    let nodes = heaps(&hardware, Topology::Ring(2));
    let pair = &connected(&nodes);
    let source = vec![1u64; 8192];
    let start = clock_ns();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let queue = nodes[1].dma_queue(1).unwrap();
                // SAFETY: the source outlives the wait.
                let ticket = unsafe { queue.enqueue(source.as_ptr().cast(), &pair.remote, 0, 65_536) }.unwrap();
                queue.wait(ticket, Duration::from_secs(20)).unwrap();
            });
        }
    });
    let passed = clock_ns() - start;
    assert!(passed >= 2_000_000, "2 x 64 KiB at 64 MB/s of payload take 2 ms: {passed}");
}

#[test]
fn rule_6_a_packet_that_may_not_leave_yet_has_taken_no_time_of_a_link() {
    // The second word leaves when the first one is acknowledged, after 0.2 s.
    let slow = Parameters { outstanding: 1, latency16: 1e8, back: 1e8, map: 0.0, ..profile("d339") };
    let nodes = heaps(&slow, Topology::Ring(2));
    let Pair { map, .. } = connected(&nodes);
    let links = &nodes[1].core.setup.links;
    thread::scope(|scope| {
        let sender = scope.spawn(move || (0..2).for_each(|i| map.publish(8 * i, 1)));
        while !sender.is_finished() {
            let booked = [0, 1].map(|link| links.last_span(link));
            let now = (clock_ns() as f64 / span_of(&slow)) as u64;
            assert!(
                booked.iter().all(|span| *span <= now + 1),
                "time of links is taken in spans {booked:?}, now is {now}"
            );
            thread::yield_now();
        }
    });
}

#[test]
fn rule_7_what_goes_to_each_peer_is_counted() {
    for (name, _) in PROFILES {
        let nodes = heaps(&profile(name), Topology::Apart);
        let Pair { remote, map, .. } = &connected(&nodes);
        map.packet(0, 1, &[2]);
        map.publish32(64, 3);
        map.store(72, &[4, 5, 6]);
        map.fill(1000, 9, 8 << 10).unwrap();
        let mut bytes = [0u8; 100];
        // SAFETY: an array's bytes.
        unsafe { map.read(0, bytes.as_mut_ptr(), 100) }.unwrap();
        let queue = nodes[1].dma_queue(1).unwrap();
        let source = [1u64; 8];
        // SAFETY: the source outlives the wait.
        let ticket = unsafe { queue.enqueue(source.as_ptr().cast(), remote, 0, 64) }.unwrap();
        queue.wait(ticket, Duration::from_secs(20)).unwrap();
        nodes[1].connect_interrupt(NodeId(0)).unwrap().trigger();
        // 1000 to 9192: pieces to 1024 and from 9152 on, 127 lines.
        let expected =
            Traffic { p64: 1 + 127, p16: 1 + 2 + 2 + 3, pio: 16 + 4 + 24 + 8192, dma: [1, 64], read: [1, 100], irq: 1 };
        assert_eq!(nodes[1].traffic(NodeId(0)), expected, "{name}");
        assert_eq!(nodes[0].traffic(NodeId(1)), Traffic::default(), "{name}");
    }
}

#[test]
fn rule_8_in_a_job_that_survives_what_was_published_has_arrived() {
    let nodes = slow(1000.0).map(|node| {
        let setup = Setup { survives: true, ..node.core.setup.clone() };
        Timed::new(node.inner, setup)
    });
    let Pair { local, map, .. } = connected(&nodes);
    map.store(128, &[7; 16]);
    map.publish(0, 1);
    assert_eq!((word(&local, 0), word(&local, 128), word(&local, 248)), (1, 7, 7));
    map.packet(64, 2, &[3, 4]);
    assert_eq!((word(&local, 64), word(&local, 72), word(&local, 80)), (2, 3, 4));
    assert!(!nodes[1].is_expecting(), "nothing is kept that would be lost");
}

/// As a signal handler finds it that has interrupted its thread in the middle of a store.
#[test]
fn who_leaves_waits_for_no_lock_of_its_own_and_else_delivers_what_is_kept() {
    let nodes = slow(100_000.0); // 270 ms
    let pair = connected(&nodes);
    let held = nodes[1].core.under_way.lock();
    nodes[1].deliver_last(|| unreachable!("nothing is stored any more"));
    assert_eq!(nodes[1].traffic(NodeId(0)), Traffic::default());
    drop(held);
    let start = clock_ns();
    pair.map.publish(64, 7);
    nodes[1].deliver_last(|| false);
    assert!(nodes[1].core.has_kept() || clock_ns() - start > 270_000_000, "nobody waited for it");
    nodes[1].deliver_last(|| true);
    assert_eq!(word(&pair.local, 64), 7);
}
