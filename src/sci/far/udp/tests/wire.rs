//! The wire: what every wire must do, in both modes, on the loopback of this machine.

#![allow(unsafe_code)] // transfers of the tests' memory

use super::SECRET;
use crate::base::config::UdpFaults;
use crate::boot::contact::address::Endpoint;
use crate::sci::far::conformance::{self, Pair};
use crate::sci::far::udp::Udp;
use crate::sci::far::udp::mode::Mode;
use crate::sci::far::wire::{Kept, Wire};
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

fn wires(nodes: u32, mode: Mode) -> Vec<Udp> {
    let here = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
    (0..nodes).map(|me| Udp::new(me, nodes, SECRET, &here, mode).unwrap()).collect()
}

#[test]
fn it_does_what_every_wire_must_do() {
    conformance::all(&Pair::new(wires(2, Mode::NORMAL)));
}

#[test]
fn it_does_what_every_wire_must_do_in_seed_mode() {
    conformance::all(&Pair::new(wires(2, Mode::SEED)));
}

#[test]
fn it_does_what_every_wire_must_do_with_losses_repeats_late_and_damaged_datagrams() {
    let faults = UdpFaults::parse("loss=3,dup=2,reorder=8,flip=1,delay=0.2ms,seed=3");
    for mode in [Mode::NORMAL, Mode::SEED] {
        let wires: Vec<Udp> = wires(2, mode).into_iter().map(|wire| wire.with_faults(faults)).collect();
        let pair = Pair::new(wires);
        conformance::frames_come_whole_and_in_order(&pair);
        pair.set_segments();
        conformance::a_write_brings_its_bytes_and_no_others(&pair);
        conformance::a_read_brings_its_bytes_and_no_others(&pair);
        conformance::a_kept_now_source_is_free_at_once(&pair);
        conformance::what_is_idle_is_not_busy(&pair);
        let counters = pair.nodes[0].wire.counters();
        for name in ["UDP packets sent again", "UDP data before", "UDP ack behind a gap", "UDP datagrams damaged"] {
            assert!(counters.iter().any(|(other, times)| *other == name && *times > 0), "{name}: {counters:?}");
        }
    }
}

#[test]
fn nodes_meet_over_ipv6() {
    let here = Endpoint::at(Ipv6Addr::LOCALHOST.into(), 0);
    let Ok(one) = Udp::new(0, 2, SECRET, &here, Mode::NORMAL) else { return }; // a system without it
    let pair = Pair::new(vec![one, Udp::new(1, 2, SECRET, &here, Mode::NORMAL).unwrap()]);
    conformance::frames_come_whole_and_in_order(&pair);
}

#[test]
fn a_node_that_leaves_says_so_and_its_frames_arrive() {
    let pair = Pair::new(wires(2, Mode::NORMAL));
    (0..100u8).for_each(|i| pair.post(0, 1, &[i; 100]));
    std::thread::scope(|scope| {
        scope.spawn(|| pair.nodes[0].wire.leave(&pair.nodes[0], Duration::from_secs(60)));
        pair.until("the end", || !pair.nodes[1].left.lock().is_empty());
    });
    assert_eq!((pair.came(1), &pair.nodes[1].left.lock()[..]), (100, &[0][..]));
    assert!(pair.nodes[1].post(0, b"more").is_err());
}

#[test]
fn a_peer_that_ends_without_a_word_is_lost_in_time() {
    let times = |wire: Udp| wire.with_times(Duration::from_millis(300), Duration::from_secs(60));
    let mut pair = Pair::new(wires(2, Mode::NORMAL).into_iter().map(times).collect());
    pair.post(0, 1, b"there");
    pair.until("a frame", || pair.came(1) == 1);
    let ended = pair.nodes.pop();
    drop(ended);
    let node = &pair.nodes[0];
    node.until("a loss", || node.post(1, b"more").is_err());
    let why = node.loss();
    assert!(why.contains("127.0.0.1:") && why.contains("for 0.3 s (GASNET_SCI_UDP_DEAD)"), "{why}");
}

#[test]
fn a_peer_that_is_not_there_is_told_of_with_its_address_and_the_settings() {
    let held = UdpSocket::bind("127.0.0.1:0").unwrap();
    let card = Endpoint::at(Ipv4Addr::LOCALHOST.into(), held.local_addr().unwrap().port()).card();
    let wire = wires(1, Mode::NORMAL).remove(0);
    let wire = Udp { nodes: 2, peers: (0..2).map(|_| Default::default()).collect(), ..wire };
    let wire = wire.with_times(Duration::from_secs(10), Duration::from_millis(200));
    let own = wire.address();
    let pair = Pair::with_addresses(vec![wire], vec![own, card.bytes()]);
    let node = &pair.nodes[0];
    let _ = node.post(1, b"there");
    let why = node.loss();
    for part in ["no answer for 0.2 s (GASNET_SCI_START_TIMEOUT)", "127.0.0.1:", "GASNET_SCI_IFACE"] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn what_strangers_send_makes_no_link_and_changes_nothing() {
    let pair = Pair::new(wires(2, Mode::NORMAL));
    let to = pair.nodes[1].wire.card.spots[0].at;
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let other =
        Udp::new(0, 2, *b"another secret!!", &Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0), Mode::NORMAL).unwrap();
    other.set_peers(vec![other.address(), pair.nodes[1].wire.address()]);
    assert_eq!(other.post(1, &mut [1, 2, 3]), Ok(true));
    for len in 0..200 {
        stranger.send_to(&vec![0u8; len], to).unwrap();
    }
    for _ in 0..1000 {
        pair.nodes[1].wire.progress(&pair.nodes[1], true);
    }
    assert!(pair.nodes[1].wire.peers.iter().all(|peer| peer.get().is_none()));
    conformance::frames_come_whole_and_in_order(&pair);
}

#[test]
fn a_write_outside_the_segment_ends_the_link() {
    let pair = Pair::new(wires(2, Mode::NORMAL));
    let [a, b] = &pair.nodes[..] else { unreachable!("two nodes") };
    let source = [1u8; 16];
    // SAFETY: the source is copied.
    unsafe { a.wire.write(1, conformance::SEGMENT as u64 - 8, (source.as_ptr(), 16), Kept::Now, None) }.unwrap();
    b.until("a loss", || {
        a.wire.progress(a, true);
        !b.losses.lock().is_empty()
    });
    assert!(b.loss().contains("never sends"));
}
