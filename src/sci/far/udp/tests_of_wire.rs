//! The wire: what every wire must do, in both modes, on the loopback of this machine.

#![allow(unsafe_code)] // transfers of the tests' memory

use crate::base::config::UdpFaults;
use crate::boot::contact::address::Endpoint;
use crate::sci::far::conformance::{self, Pair};
use crate::sci::far::udp::Udp;
use crate::sci::far::udp::head::{self, HEAD, Head, Kind};
use crate::sci::far::udp::mode::Mode;
use crate::sci::far::wire::{Kept, Wire};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

const SECRET: [u8; 16] = *b"a test's secret.";

fn wires(nodes: u32, mode: Mode) -> Vec<Udp> {
    let here = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
    (0..nodes).map(|me| Udp::new(me, nodes, SECRET, &here, mode).unwrap()).collect()
}

fn protected(nodes: u32, mode: Mode) -> Vec<Udp> {
    let wires = wires(nodes, mode);
    assert!(wires.iter().all(|wire| wire.protect() && wire.name().contains("protected")));
    wires
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
fn it_does_what_every_wire_must_do_when_it_is_protected() {
    conformance::all(&Pair::new(protected(2, Mode::NORMAL)));
    conformance::all(&Pair::new(protected(2, Mode::SEED)));
}

#[test]
fn it_does_what_every_wire_must_do_with_losses_repeats_late_and_damaged_datagrams() {
    let faults = UdpFaults::parse("loss=3,dup=2,reorder=8,flip=1,delay=0.2ms,seed=3");
    for wires in [wires(2, Mode::NORMAL), wires(2, Mode::SEED), protected(2, Mode::NORMAL), protected(2, Mode::SEED)] {
        let pair = Pair::new(wires.into_iter().map(|wire| wire.with_faults(faults)).collect());
        conformance::frames_come_whole_and_in_order(&pair);
        pair.set_segments();
        conformance::a_write_brings_its_bytes_and_no_others(&pair);
        conformance::a_read_brings_its_bytes_and_no_others(&pair);
        conformance::a_kept_now_source_is_free_at_once(&pair);
        conformance::what_is_idle_is_not_busy(&pair);
        let counters: Vec<_> = pair.nodes.iter().flat_map(|node| node.wire.counters()).collect();
        for name in ["UDP packets sent again", "UDP data before", "UDP ack behind a gap", "UDP datagrams damaged"] {
            assert!(counters.iter().any(|(other, times)| *other == name && *times > 0), "{name}: {counters:?}");
        }
    }
}

/// A datagram of memory that another thread stores into may be damaged, since bulk goes from where it lies. It must not be so each time it is
/// sent. Sealing copies, and what is sealed is never damaged.
#[test]
fn memory_that_changes_while_it_is_read_arrives() {
    const LEN: usize = 400_000;
    static DONE: AtomicU64 = AtomicU64::new(0);
    for (turn, wires) in [wires(2, Mode::NORMAL), protected(2, Mode::NORMAL)].into_iter().enumerate() {
        let pair = Pair::new(wires);
        pair.set_segments();
        let base = pair.nodes[1].memory.base().expose_provenance();
        let (stop, turns) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut room = vec![0u8; LEN];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Relaxed, all: nothing is ordered by it.
                while !stop.load(Ordering::Relaxed) {
                    let byte = turns.fetch_add(1, Ordering::Relaxed) as u8 | 1;
                    for at in (0..LEN).step_by(64) {
                        let at = std::ptr::with_exposed_provenance_mut::<u8>(base + at);
                        // SAFETY: inside the memory of the node, which lives as long as the process.
                        unsafe { at.write_volatile(byte) };
                    }
                }
            });
            pair.until("the first stores", || turns.load(Ordering::Relaxed) > 1); // Relaxed: as above
            for read in 1..=8 {
                let place = (room.as_mut_ptr(), room.len());
                // SAFETY: the room lives until the read is done.
                pair.until("a read", || unsafe { pair.nodes[0].wire.read(1, 0, place, &DONE) }.unwrap());
                let all = 8 * turn as u64 + read;
                pair.until("a read", || DONE.load(Ordering::Acquire) == all); // ORDERING: ↔ the Release of the wire
                assert!(room.iter().step_by(64).all(|byte| byte & 1 == 1));
            }
            stop.store(true, Ordering::Relaxed); // Relaxed: as above
        });
        let damaged = pair.nodes[0].wire.peer(1).lock().link.pipe().refused();
        assert!(turn == 0 || damaged == 0, "{damaged} sealed datagrams were damaged");
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

/// As a signal handler finds it that has interrupted its thread in the middle of a send.
#[test]
fn who_leaves_waits_for_no_lock_of_its_own_and_others_get_what_it_sent() {
    let pair = Pair::new(wires(3, Mode::NORMAL));
    for peer in [1, 2] {
        pair.post(0, peer, b"there");
        pair.until("a frame", || pair.came(peer as usize) == 1);
    }
    let node = &pair.nodes[0];
    let held = (node.wire.peer(1).lock(), node.wire.batches.lock(), node.wire.losses.lock());
    assert!(node.wire.begins_to_leave() && node.post(1, b"nothing") == Ok(false));
    assert_eq!((node.post(2, b"last"), pair.nodes[1].post(0, b"which nobody takes")), (Ok(true), Ok(true)));
    std::thread::scope(|scope| {
        scope.spawn(|| node.wire.leave(node, Duration::from_secs(60)));
        pair.until("the end", || !pair.nodes[2].left.lock().is_empty());
    });
    drop(held);
    assert_eq!((pair.came(2), pair.came(0)), (2, 0));
}

/// While one thread leaves, those that still work let it first, and wait for no lock without end.
#[test]
fn others_let_who_leaves_first() {
    let pair = Pair::new(wires(2, Mode::NORMAL));
    let wire = &pair.nodes[0].wire;
    std::thread::scope(|scope| scope.spawn(|| wire.begins_to_leave()).join().unwrap());
    let looking = wire.peer(1).looks();
    assert_eq!(pair.nodes[0].post(1, b"more"), Ok(false), "the thread that leaves wants the link");
    drop(looking);
    assert_eq!(pair.nodes[0].post(1, b"more"), Ok(true));
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

/// A node whose library is of another version, and in its place a socket that sends what that one would.
#[test]
fn a_peer_of_another_version_is_lost_with_a_line_that_names_both() {
    for (is_protected, versions) in [(false, [1, 3]), (true, [2, 4])] {
        let older = UdpSocket::bind("127.0.0.1:0").unwrap();
        let card = Endpoint::at(Ipv4Addr::LOCALHOST.into(), older.local_addr().unwrap().port()).card();
        let wire = if is_protected { protected(1, Mode::NORMAL) } else { wires(1, Mode::NORMAL) }.remove(0);
        let wire = Udp { nodes: 2, peers: (0..2).map(|_| Default::default()).collect(), ..wire };
        // Of what is protected nothing is believed before the time is over.
        let contact = Duration::from_millis(if is_protected { 200 } else { 3_600_000 });
        let wire = wire.with_times(Duration::from_secs(10), contact);
        let own = wire.address();
        let pair = Pair::with_addresses(vec![wire], vec![own, card.bytes()]);
        let node = &pair.nodes[0];
        let mut datagram = Head {
            kind: if is_protected { Kind::Ask } else { Kind::Hello },
            job: node.wire.job(),
            incarnation: 1,
            from: 1,
            sequence: 7,
            acknowledged: 0,
            ahead: 0,
            window: 64,
            delay: 0,
            time: 0,
        }
        .bytes(is_protected)
        .to_vec();
        datagram[2] = versions[0];
        head::close(&mut datagram, &[], node.wire.seed(1, 0));
        older.send_to(&datagram, node.wire.card.spots[0].at).unwrap();
        let why = node.loss(); // this node has sent nothing yet
        let [theirs, ours] = versions;
        let both = format!(
            "127.0.0.1:{} speaks version {theirs} of the udp wire, this node {ours}",
            older.local_addr().unwrap().port()
        );
        assert!(why.contains(&both) && why.contains("install the same version on all hosts"), "{why}");
        older.set_nonblocking(true).unwrap();
        let mut room = [0; 2048];
        let (len, _) = older.recv_from(&mut room).expect("it hears this node's version, too");
        assert!(len >= HEAD && room[2] == ours, "{ours}");
    }
}

#[test]
fn what_strangers_send_makes_no_link_and_changes_nothing() {
    for is_protected in [false, true] {
        let here = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
        let pair = Pair::new(if is_protected { protected(2, Mode::NORMAL) } else { wires(2, Mode::NORMAL) });
        let to = pair.nodes[1].wire.card.spots[0].at;
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        let others = [(*b"another secret!!", is_protected), (SECRET, !is_protected)].map(|(secret, is_protected)| {
            let other = Udp::new(0, 2, secret, &here, Mode::NORMAL).unwrap();
            assert!(!is_protected || other.protect());
            other.set_peers(vec![other.address(), pair.nodes[1].wire.address()]);
            assert_eq!(other.post(1, &mut [1, 2, 3]), Ok(true));
            other
        });
        for len in 0..200 {
            stranger.send_to(&vec![0u8; len], to).unwrap();
        }
        for _ in 0..1000 {
            pair.nodes[1].wire.progress(&pair.nodes[1], true);
        }
        assert!(pair.nodes[1].wire.peers.iter().all(|peer| peer.get().is_none()));
        drop(others);
        conformance::frames_come_whole_and_in_order(&pair);
    }
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

/// A pair between whose nodes somebody sits, who keeps what goes by, changes each tenth datagram, repeats each seventh, and keeps each
/// thirteenth back until another one has gone. A copy of each comes ahead of it, from elsewhere.
struct Relay {
    pair: Pair<Udp>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl Relay {
    fn between(wires: Vec<Udp>) -> Relay {
        let stop = Arc::new(AtomicBool::new(false));
        let sockets: Vec<UdpSocket> = (0..2).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let elsewhere = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = |socket: &UdpSocket| Endpoint::at(Ipv4Addr::LOCALHOST.into(), socket.local_addr().unwrap().port());
        let addresses = sockets.iter().map(|socket| at(socket).card().bytes()).collect();
        let nodes: Vec<_> = wires.iter().map(|wire| wire.card.spots[0].at).collect();
        let flag = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut kept, mut late, mut room) = (Vec::new(), None, vec![0; 1 << 16]);
            sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
            // Relaxed: nothing is ordered by it.
            while !flag.load(Ordering::Relaxed) {
                // What comes to the one socket is for the node that it stands for, and comes there from the other one.
                for to in [0, 1] {
                    while let Ok((len, _)) = sockets[to].recv_from(&mut room) {
                        let mut bytes = room[..len].to_vec();
                        kept.push(bytes.clone());
                        let count = kept.len();
                        let bit = count * 31 % (8 * len);
                        bytes[bit / 8] ^= u8::from(count % 10 == 0) << (bit % 8);
                        let send = |bytes: &[u8], to: usize| drop(sockets[1 - to].send_to(bytes, nodes[to]));
                        if count % 13 == 0 {
                            late = Some((bytes, to));
                            continue;
                        }
                        elsewhere.send_to(&bytes, nodes[to]).unwrap();
                        (0..1 + usize::from(count % 7 == 0)).for_each(|_| send(&bytes, to));
                        late.take().into_iter().for_each(|(bytes, to): (Vec<u8>, usize)| send(&bytes, to));
                    }
                }
                std::thread::yield_now();
            }
            kept
        });
        Relay { pair: Pair::with_addresses(wires, addresses), stop, thread }
    }

    /// What went by.
    fn end(self) -> Vec<Vec<u8>> {
        self.stop.store(true, Ordering::Relaxed); // Relaxed: as above
        self.thread.join().unwrap()
    }
}

const SAID: &[u8] = b"this is what both the nodes say..";

/// Frames, a write and a read of words that are easy to find, through somebody between the nodes. Returns what that one has seen of them.
fn seen(wires: Vec<Udp>) -> usize {
    static DONE: AtomicU64 = AtomicU64::new(0);
    let relay = Relay::between(wires);
    let pair = &relay.pair;
    let begin = DONE.load(Ordering::Acquire); // ORDERING: ↔ the Release of the wire
    let source = SAID.repeat(1000);
    for count in 1..=100 {
        pair.post(0, 1, SAID);
        pair.post(1, 0, SAID);
        pair.until("frames", || pair.came(0) == count && pair.came(1) == count);
    }
    let node = &pair.nodes[0].wire;
    let bytes = (source.as_ptr(), source.len());
    // SAFETY: the source lives until the write is done.
    pair.until("a write", || unsafe { node.write(1, 0, bytes, Kept::UntilDone, Some(&DONE)) }.unwrap());
    pair.until("a write", || DONE.load(Ordering::Acquire) == begin + 1); // ORDERING: as above
    let mut room = vec![0; source.len()];
    let place = (room.as_mut_ptr(), room.len());
    // SAFETY: the room lives until the read is done.
    pair.until("a read", || unsafe { node.read(1, 0, place, &DONE) }.unwrap());
    pair.until("a read", || DONE.load(Ordering::Acquire) == begin + 2); // ORDERING: as above
    assert!(room == source && pair.frames(1).iter().chain(&pair.frames(0)).all(|(_, frame)| frame == SAID));
    let refused = |at: usize| pair.nodes[at].wire.peer(1 - at as u32).lock().link.pipe().counts().damaged;
    assert!(refused(0) + refused(1) > 10);
    let all = relay.end();
    assert!(all.len() > 200);
    all.iter().filter(|datagram| datagram.windows(8).any(|there| SAID.windows(8).any(|part| part == there))).count()
}

#[test]
fn who_sits_between_two_nodes_reads_nothing_of_what_is_protected_and_changes_nothing() {
    assert!(seen(wires(2, Mode::NORMAL)) > 200, "what is not protected can be read");
    assert_eq!(seen(protected(2, Mode::NORMAL)), 0);
    assert_eq!(seen(protected(2, Mode::SEED)), 0);
}

#[test]
fn nodes_that_differ_in_protection_or_secret_say_so_and_never_talk() {
    let here = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
    let wire = |me, secret, is_protected: bool| {
        let times = (Duration::from_secs(10), Duration::from_millis(500));
        let wire = Udp::new(me, 2, secret, &here, Mode::NORMAL).unwrap().with_times(times.0, times.1);
        assert!(!is_protected || wire.protect());
        wire
    };
    let other = *b"another secret!!";
    for (wires, words) in [
        ([wire(0, SECRET, true), wire(1, SECRET, false)], ["is not protected", "is protected, and this node's is not"]),
        ([wire(0, SECRET, false), wire(1, SECRET, true)], ["is protected, and this node's is not", "is not protected"]),
        ([wire(0, SECRET, true), wire(1, other, true)], ["no answer for 0.5 s", "no answer for 0.5 s"]),
    ] {
        let pair = Pair::new(wires.into());
        for node in &pair.nodes {
            assert_eq!(node.post(if std::ptr::eq(node, &pair.nodes[0]) { 1 } else { 0 }, b"there"), Ok(true));
        }
        while pair.nodes.iter().any(|node| node.losses.lock().is_empty()) {
            pair.nodes.iter().for_each(|node| _ = node.wire.progress(node, true));
        }
        for (node, words) in pair.nodes.iter().zip(words) {
            let why = &node.losses.lock()[0].1.0;
            assert!(why.contains(words) && why.contains("GASNET_SCI_SECURE"), "{why}");
            assert_eq!(node.came(), 0);
        }
    }
}
