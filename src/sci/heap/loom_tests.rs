//! Models of packets, barriers and interrupts over the heap.

use super::*;
use crate::explore::explore;
use crate::sci::{Interrupt, LocalMap, RemoteInterrupt, RemoteMap};
use crate::sync::Ordering;
use loom::thread;

/// Two nodes, and node 0's segment of one line: local map, node 1's remote map.
fn pair(len: usize) -> (Heap, Heap, HeapLocalSegment, HeapLocal, HeapRemote) {
    let fabric = HeapFabric::new(2);
    let (a, b) = (Heap::join(&fabric, NodeId(0)).unwrap(), Heap::join(&fabric, NodeId(1)).unwrap());
    let own = a.create(SegmentId(1), len).unwrap();
    own.set_available().unwrap();
    let local = own.map(Placement::Anywhere).unwrap();
    let remote = b.connect(NodeId(0), SegmentId(1), Duration::ZERO).unwrap();
    let map = remote.map(0, len, Placement::Anywhere).unwrap();
    (a, b, own, local, map)
}

#[test]
fn who_sees_a_packets_head_sees_its_body() {
    explore(|| {
        let (_a, _b, _own, local, map) = pair(64);
        let sender = thread::spawn(move || map.packet(0, 1, &[7, 8]));
        // ORDERING: Acquire ↔ the head's Release.
        if local.word(0).load(Ordering::Acquire) == 1 {
            assert_eq!(local.word(8).load(Ordering::Relaxed), 7);
            assert_eq!(local.word(16).load(Ordering::Relaxed), 8);
        }
        sender.join().unwrap();
    });
}

#[test]
fn stores_after_a_barrier_come_after_those_before() {
    explore(|| {
        let (_a, _b, _own, local, map) = pair(128);
        let sender = thread::spawn(move || {
            map.store(0, &[7]);
            map.barrier();
            map.publish(64, 1);
        });
        // ORDERING: Acquire ↔ the barrier's Release fence.
        if local.word(64).load(Ordering::Acquire) == 1 {
            assert_eq!(local.word(0).load(Ordering::Relaxed), 7);
        }
        sender.join().unwrap();
    });
}

/// [`RemoteInterrupt::trigger`] alone, without the fence of a sender that looks whether anybody sleeps.
#[test]
fn a_triggered_sleeper_sees_the_news() {
    explore(|| {
        let (a, b, _own, local, map) = pair(64);
        let own = a.interrupt().unwrap();
        let peer = b.connect_interrupt(NodeId(0)).unwrap();
        let sender = thread::spawn(move || {
            map.publish(0, 1);
            peer.trigger();
        });
        own.arm();
        if own.wait(Duration::ZERO) {
            // Relaxed: the trigger orders it.
            assert_eq!(local.word(0).load(Ordering::Relaxed), 1);
        }
        own.disarm();
        sender.join().unwrap();
    });
}

/// A sleeper that neither saw the news nor was triggered would spin here until loom gives up.
#[test]
fn an_armed_sleeper_sees_the_news_or_is_triggered() {
    explore(|| {
        let (a, b, _own, local, map) = pair(64);
        let own = a.interrupt().unwrap();
        let peer = b.connect_interrupt(NodeId(0)).unwrap();
        let sender = thread::spawn(move || {
            map.publish(0, 1);
            peer.stored();
        });
        own.arm();
        // Relaxed: only whether it is there; the fences decide.
        if local.word(0).load(Ordering::Relaxed) == 0 {
            assert!(own.wait(Duration::MAX));
            assert_eq!(local.word(0).load(Ordering::Relaxed), 1);
        }
        own.disarm();
        sender.join().unwrap();
    });
}
