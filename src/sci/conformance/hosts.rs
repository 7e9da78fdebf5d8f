//! Jobs of several hosts: which nodes a store reaches at once, which by the network, and what wakes a node that sleeps.

#![allow(unsafe_code)] // the source of a transfer

use super::*;
use crate::base::fatal::caught::catch;
use crate::sci::hosts::{Hosts, HostsMap};
use crate::sync::AtomicU64;
use crate::testkit::shipping::{COMMAND, HEAP, Layout};

/// Bytes of a write that goes without a record, if it goes to another host.
const LONG: usize = 6 << 10;

/// Something of each kind that a map stores, and the words that it stores.
type Kind = (&'static str, fn(&HostsMap), &'static [(usize, u64)]);

const SOME: [u8; LONG] = [0x5a; LONG];
const FILLED: u64 = 0x5a5a_5a5a_5a5a_5a5a;

const KINDS: [Kind; 8] = [
    ("store", |map| map.store(8, &[1, 2]), &[(0, 0), (8, 1), (16, 2), (24, 0)]),
    ("packet", |map| map.packet(64, 3, &[4, 5]), &[(64, 3), (72, 4), (80, 5), (88, 0)]),
    ("publish", |map| map.publish(PAGE - 8, 6), &[(PAGE - 16, 0), (PAGE - 8, 6)]),
    ("publish32", |map| map.publish32(PAGE - 8, 7), &[(PAGE - 16, 0), (PAGE - 8, 7)]),
    ("write", |map| write(map, 128, &SOME[..16]).unwrap(), &[(120, 0), (128, FILLED), (136, FILLED), (144, 0)]),
    (
        "long write",
        |map| write(map, 128, &SOME).unwrap(),
        &[(120, 0), (128, FILLED), (120 + LONG, FILLED), (128 + LONG, 0)],
    ),
    ("write_apart", write_apart, &[(120, 0), (128, FILLED), (136, 0)]),
    ("fill", |map| map.fill(PAGE - 16, 0x5a, 16).unwrap(), &[(PAGE - 24, 0), (PAGE - 16, FILLED), (PAGE - 8, FILLED)]),
];

fn write_apart(map: &HostsMap) {
    // SAFETY: eight bytes of a constant.
    unsafe { map.write_apart(128, SOME.as_ptr(), 8) }.unwrap();
}

/// A near map is of its peer's memory: what is stored is there when the call returns, and nothing goes to the network. A far map is of none:
/// what is stored goes to the peer alone, which stores it when it looks.
#[test]
fn each_store_goes_straight_to_a_near_peer_and_by_the_network_to_a_far_one() {
    for (what, store, expected) in KINDS {
        // Nodes 0 and 1 are on one host, 2 and 3 on another one.
        let nodes = Paired::job(4, prompt());
        let pair = |to: usize| connected(&[nodes[to].clone(), nodes[0].clone()], PAGE);
        let (near, far) = (pair(1), pair(2));
        let is_there = |local: &_| expected.iter().all(|(offset, value)| word(local, *offset) == *value);
        let is_zero = |local: &_| (0..PAGE).step_by(8).all(|offset| word(local, offset) == 0);
        assert!(!near.map.is_far() && far.map.is_far());
        store(&near.map);
        near.map.barrier();
        assert!(is_there(&near.local), "{what} to a near peer");
        assert!(is_zero(&far.local));
        nodes[0].connect_interrupt(NodeId(2)).unwrap().trigger();
        assert!(!nodes[2].progress(Effort::Thorough), "{what} to a near peer went to the network");
        store(&far.map);
        nodes[0].connect_interrupt(NodeId(2)).unwrap().trigger();
        assert!(is_zero(&far.local), "{what} to a far peer has not come yet");
        while nodes[0].progress(Effort::Thorough) | nodes[2].progress(Effort::Thorough) {}
        assert!(is_there(&far.local), "{what} to a far peer");
    }
}

#[test]
fn only_near_maps_have_addresses_and_only_far_ones_start_transfers() {
    let nodes = Paired::job(4, prompt());
    let pair = |to: usize| connected(&[nodes[to].clone(), nodes[0].clone()], PAGE);
    let (near, far) = (pair(1), pair(2));
    assert!(near.map.place().is_some() && near.map.memory() == near.map.place());
    assert_eq!((far.map.place(), far.map.memory(), far.map.len()), (None, None, PAGE));
    let done: &AtomicU64 = Box::leak(Box::default());
    let (mut back, source) = ([0u64; 64], [7u64; 64]);
    let (from, to) = (source.as_ptr().cast::<u8>(), back.as_mut_ptr().cast::<u8>());
    // SAFETY: both live until the transfers are complete.
    let put = |map: &HostsMap, lasting| unsafe { map.start_put(512, (from, 512), lasting, done) };
    // SAFETY: as `put`.
    let get = |map: &HostsMap| unsafe { map.start_get(512, (to, 512), done) };
    assert_eq!((put(&near.map, true), get(&near.map)), (Err(SciError::NotMapped), Err(SciError::NotMapped)));
    // SAFETY: nothing is read.
    assert_eq!(unsafe { far.map.read(512, to, 512) }, Err(SciError::NotMapped));
    for (count, lasting) in [(1, true), (2, false)] {
        put(&far.map, lasting).unwrap();
        while nodes[0].progress(Effort::Thorough) | nodes[2].progress(Effort::Thorough) {}
        assert_eq!(done.load(Ordering::Acquire), count); // ORDERING: ↔ the Release with which the wire counts
    }
    assert_eq!([504, 512, 1016, 1024].map(|at| word(&far.local, at)), [0, 7, 7, 0]);
    get(&far.map).unwrap();
    while nodes[0].progress(Effort::Thorough) | nodes[2].progress(Effort::Thorough) {}
    assert_eq!(done.load(Ordering::Acquire), 3); // ORDERING: as above
    assert_eq!(back, source);
    // SAFETY: nothing is read: the range is outside.
    assert!(unsafe { far.map.start_put(PAGE - 8, (from, 16), false, done) }.is_err());
    // SAFETY: nothing is written: the range is outside.
    assert!(unsafe { far.map.start_get(PAGE, (to, 1), done) }.is_err());
}

#[test]
fn a_far_node_is_not_connected_to_and_a_near_one_has_no_far_segment() {
    let near = shm::job(3);
    let far = crate::sci::far::Far::new(
        3,
        Box::new(crate::sci::far::memory::Memory::wires(1, None, true).remove(0)),
        [ID, HEAP],
    );
    let hosts = Hosts::several(
        near[0].clone(),
        far,
        vec![false, false, true],
        u64::from(std::process::id()) << 32 | u64::from(u32::MAX),
    );
    let segment = |node| hosts.far_segment(NodeId(node), ID, 64).map(|segment| segment.len());
    assert_eq!(error(hosts.connect(NodeId(2), ID, SOON)), SciError::NotAvailable { node: NodeId(2), id: ID });
    assert_eq!((error(segment(1)), segment(2)), (SciError::NoSuchSegment { node: NodeId(1), id: ID }, Ok(64)));
    assert_eq!(
        [0, 1, 2, 3].map(|node| hosts.is_far(NodeId(node))),
        [false, false, true, false],
        "the last one does not exist"
    );
}

/// Whichever comes: something of another host, or the call of a node of this one.
#[test]
fn a_node_that_sleeps_for_long_is_woken_by_the_network_and_at_its_door() {
    for (sender, with_doors) in [(1, true), (2, true), (2, false)] {
        let nodes = Paired::job(4, Behaviour { with_doors, ..prompt() });
        let Pair { local, map, own: _own, .. } = connected(&[nodes[0].clone(), nodes[sender].clone()], PAGE);
        let interrupt = nodes[sender].connect_interrupt(NodeId(0)).unwrap();
        let own = nodes[0].interrupt().unwrap();
        own.arm();
        nodes[0].progress(Effort::Thorough);
        thread::scope(|scope| {
            scope.spawn(|| {
                map.publish(0, 1);
                interrupt.trigger();
            });
            while word(&local, 0) == 0 {
                assert!(own.wait(SOON), "the wake-up was lost");
                nodes[0].progress(Effort::Thorough);
            }
        });
        own.disarm();
    }
}

#[test]
fn a_store_where_its_sender_has_no_business_ends_the_job() {
    let nodes = Apart::job(2, prompt());
    let layout = Layout::new(2, 4);
    nodes[0].lay_out(layout);
    let own = nodes[0].create(COMMAND, layout.command_len()).unwrap();
    own.set_available().unwrap();
    let local = own.map(Placement::Anywhere).unwrap();
    let remote = nodes[1].connect(NodeId(0), COMMAND, SOON).unwrap();
    let map = remote.map(0, layout.command_len(), Placement::Anywhere).unwrap();
    let send = |at| {
        map.publish(at, 1);
        nodes[1].connect_interrupt(NodeId(0)).unwrap().trigger();
        catch(|| nodes[0].progress(Effort::Thorough))
    };
    send(layout.queue(1)).expect("its own queue");
    assert_eq!(word(&local, layout.queue(1)), 1);
    let text = send(layout.queue(0)).expect_err("another node's queue");
    assert!(text.contains("node 1 sent what this library never sends"), "{text}");
    assert_eq!(word(&local, layout.queue(0)), 0);
}
