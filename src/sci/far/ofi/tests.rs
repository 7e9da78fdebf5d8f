//! The wire over the providers of libfabric that need no hardware. Without libfabric the tests say so and pass, unless
//! `CI_TEST_OFI` demands it (ci/test sets it).

use super::super::conformance::{self, Pair};
use super::super::wire::Wire;
use super::OfiWire;
use super::library::{Handlers, Library};
use super::message::{Head, Kind};
use crate::os::sys;
use parking_lot::{Mutex, MutexGuard};

const SECRET: [u8; 16] = *b"a test's secret.";

/// One test at a time: providers spin, and two of them on few cores wait for each other's time slices.
static ONE: Mutex<()> = Mutex::new(());

/// The right to run. `None`, with a line, if there is no libfabric.
fn alone() -> Option<MutexGuard<'static, ()>> {
    if let Err(why) = Library::get() {
        assert!(std::env::vars_os().all(|(name, _)| name != "CI_TEST_OFI"), "{why}");
        println!("skipped: {why}");
        return None;
    }
    Some(ONE.lock())
}

fn wires(provider: &str, nodes: u32) -> Vec<OfiWire> {
    (0..nodes).map(|me| OfiWire::open(Some(provider), SECRET, me, nodes).expect("a wire")).collect()
}

fn conforms(provider: &str) {
    let Some(_one) = alone() else { return };
    conformance::all(&Pair::new(wires(provider, 2)));
}

#[test]
fn net_conforms() {
    conforms("net");
}

#[test]
fn tcp_conforms() {
    conforms("tcp");
}

#[test]
fn shm_conforms() {
    conforms("shm");
}

#[test]
fn rxd_conforms() {
    conforms("udp;ofi_rxd");
}

/// What node 1 sleeps on when nothing has come; `None`: there is nothing, and it looks now and then.
fn quiet(pair: &Pair<OfiWire>) -> Option<i32> {
    let (from, to) = (&pair.nodes[0], &pair.nodes[1]);
    (0..100_000).find_map(|_| {
        from.wire.progress(from, true);
        let came = to.wire.progress(to, true);
        to.wire.descriptor().filter(|_| !came)
    })
}

#[test]
fn a_frame_wakes_a_node_that_sleeps_on_its_provider() {
    let Some(_one) = alone() else { return };
    let pair = Pair::new(wires("net", 2));
    pair.post(0, 1, b"contact");
    pair.until("a frame", || pair.frames(1).len() == 1);
    for round in 0..50u8 {
        let fd = quiet(&pair).expect("something to sleep on");
        assert!(pair.frames(1).is_empty());
        pair.post(0, 1, &[round]);
        pair.nodes[0].wire.progress(&pair.nodes[0], true);
        let mut set = [libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
        sys::poll(&mut set, Some(std::time::Duration::from_secs(10))).unwrap();
        assert_ne!(set[0].revents, 0, "frame {round} shows nowhere");
        pair.until("the frame", || pair.frames(1) == [(0, vec![round])]);
    }
    for provider in ["tcp;ofi_rxm", "shm", "udp;ofi_rxd"] {
        assert_eq!(wires(provider, 1)[0].descriptor(), None, "{provider}");
    }
}

/// The other way to keep frames behind writes, on a provider that would not need it.
#[test]
fn frames_wait_for_delivery_where_the_provider_keeps_no_order() {
    let Some(_one) = alone() else { return };
    let pair = Pair::new(wires("net", 2));
    for node in &pair.nodes {
        node.wire.engine.lock().ordered = false;
    }
    conformance::all(&pair);
}

/// Transfers across registrations and longer than a provider's longest.
#[test]
fn segments_in_pieces_conform() {
    let Some(_one) = alone() else { return };
    let pair = Pair::new(wires("net", 2));
    for node in &pair.nodes {
        let mut engine = node.wire.engine.lock();
        engine.longest_region = conformance::SEGMENT / 8;
        engine.endpoint.traits.longest = 50_000;
        engine.most = 4;
    }
    conformance::all(&pair);
    let engine = pair.nodes[0].wire.engine.lock();
    let pieces = |area: &Option<super::message::Segment>| area.as_ref().map(|segment| segment.keys.len());
    assert_eq!(engine.own.each_ref().map(pieces), [Some(8); 2]);
    assert_eq!(engine.regions.len(), 2 * 8, "each piece is one registration");
}

#[test]
fn three_nodes_know_who_sent_what() {
    let Some(_one) = alone() else { return };
    let pair = Pair::new(wires("net", 3));
    for from in 0..3u32 {
        for to in 0..3u32 {
            pair.post(from as usize, to, &[from as u8, to as u8]);
        }
    }
    for to in 0..3usize {
        let mut came = Vec::new();
        pair.until("frames", || {
            came.extend(pair.frames(to));
            came.len() == 3
        });
        came.sort();
        let wanted: Vec<_> = (0..3u32).map(|from| (from, vec![from as u8, to as u8])).collect();
        assert_eq!(came, wanted);
    }
}

/// Sends bytes as they are: what another program could do.
fn send_raw(wire: &OfiWire, to: u32, bytes: &[u8]) -> bool {
    let engine = wire.engine.lock();
    let address = engine.peers[to as usize].address.expect("an address");
    engine.endpoint.inject(address, bytes) == super::fabric::Begun::Yes
}

#[test]
fn what_a_stranger_sends_is_dropped_and_harms_nobody() {
    let Some(_one) = alone() else { return };
    let pair = Pair::new(wires("net", 2));
    let token = super::message::Secret::new([0; 16]).token(0, 1);
    let mut messages = vec![vec![0u8; 1], vec![0xFF; 15], vec![0; 16], vec![0xFF; 100]];
    for from in [0, 1, 2, u32::MAX] {
        for kind in [Kind::Frame as u8, Kind::Keys as u8, 77] {
            let mut message = vec![1u8; 64];
            Head { token, from, kind, number: 0 }.write(&mut message);
            messages.push(message);
        }
    }
    for message in &messages {
        pair.until("room", || send_raw(&pair.nodes[0].wire, 1, message));
    }
    pair.until("strangers", || pair.nodes[1].wire.strange() == messages.len() as u64);
    assert!(pair.frames(1).is_empty());
    conformance::all(&pair);
}

/// Takes no notice.
struct Deaf;

impl super::Sink for Deaf {
    fn frame(&self, _peer: u32, _frame: &[u8]) {}
    fn place(&self, _peer: u32, _offset: u64, _len: usize, _write: bool) -> Option<*mut u8> {
        None
    }
    fn written(&self, _: u64) {}
    fn lost(&self, _peer: u32, _why: &super::Lost) {}
    fn left(&self, _: u32) {}
}

/// Another program that speaks this wire's language without the secret, and sends what no buffer has room for.
#[test]
fn a_stranger_with_an_endpoint_of_its_own_harms_nobody() {
    let Some(_one) = alone() else { return };
    for provider in ["net", "tcp"] {
        let pair = Pair::new(wires(provider, 2));
        let stranger = OfiWire::open(Some(provider), [9; 16], 0, 2).expect("a wire");
        stranger.set_peers(vec![stranger.address(), pair.nodes[1].wire.address()]);
        println!("{provider}");
        let ignore = &Deaf; // its link to node 1 may be lost
        pair.until("frames of a stranger", || {
            stranger.progress(ignore, true);
            let _ = stranger.post(1, &mut [1; 4000]);
            pair.nodes[1].wire.strange() > 100
        });
        let long: &'static [u8] = Box::leak(vec![3u8; 1 << 20].into_boxed_slice());
        let mut turns = 0;
        pair.until("long messages of a stranger", || {
            stranger.progress(ignore, true);
            let mut engine = stranger.engine.lock();
            let address = engine.peers[1].address.expect("an address");
            let context = engine.contexts.take(super::context::What::Free);
            // SAFETY: leaked; the context stays until the engine goes.
            let _ = unsafe { engine.endpoint.send(address, long.as_ptr(), long.len(), context) };
            turns += 1;
            turns > 50
        });
        println!("strange: {}", pair.nodes[1].wire.strange());
        drop(stranger);
        assert!(pair.frames(1).is_empty());
        conformance::all(&pair);
    }
}

/// A node of the job, or one that has read its token, that sends what no wire of ours sends.
#[test]
fn garbage_of_a_peer_ends_the_link_to_it_alone() {
    let Some(_one) = alone() else { return };
    // A kind that there is not; keys without a proof; an empty frame; a number that is not its turn.
    for (kind, number, len) in [(77u8, 0u32, 20usize), (2, 0, 100), (1, 0, 0), (1, 9999, 20)] {
        let pair = Pair::new(wires("net", 3));
        let token = super::message::Secret::new(SECRET).token(0, 1);
        let mut message = vec![7u8; 16 + len];
        Head { token, from: 0, kind, number }.write(&mut message);
        let victim = &pair.nodes[1];
        pair.until("room", || send_raw(&pair.nodes[0].wire, 1, &message));
        let lost = Mutex::new(Vec::new());
        struct Watch<'a>(&'a Mutex<Vec<u32>>);
        impl super::Sink for Watch<'_> {
            fn frame(&self, peer: u32, _frame: &[u8]) {
                assert_eq!(peer, 2);
            }
            fn place(&self, _peer: u32, _offset: u64, _len: usize, _write: bool) -> Option<*mut u8> {
                None
            }

            fn written(&self, _: u64) {}
            fn lost(&self, peer: u32, why: &super::Lost) {
                assert!(why.0.contains("node 0 sent"), "{why:?}");
                self.0.lock().push(peer);
            }
            fn left(&self, _: u32) {}
        }
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while lost.lock().is_empty() && std::time::Instant::now() < end {
            pair.nodes[0].wire.progress(&pair.nodes[0], true);
            victim.wire.progress(&Watch(&lost), true);
        }
        assert_eq!(*lost.lock(), [0], "kind {kind}");
        assert!(victim.wire.post(0, &mut [7]).is_err(), "the link is gone");
        pair.post(2, 1, b"hello");
        pair.until("a frame of the third", || pair.frames(1) == [(2, b"hello".to_vec())]);
        assert_eq!(*lost.lock(), [0], "told once");
    }
}

#[test]
fn ranges_outside_a_segment_are_refused_here() {
    let Some(_one) = alone() else { return };
    let pair = Pair::new(wires("net", 2));
    pair.set_segments();
    pair.until("keys", || {
        // SAFETY: no bytes.
        unsafe { pair.nodes[0].wire.write(1, 0, (std::ptr::null(), 0), super::Kept::UntilDone, None) }.unwrap()
    });
    let byte = 0u8;
    for (offset, len) in [(conformance::SEGMENT as u64, 1), (u64::MAX, 1), (0, conformance::SEGMENT + 1)] {
        // SAFETY: refused before the byte is looked at.
        let result = unsafe { pair.nodes[0].wire.write(1, offset, (&byte, len), super::Kept::UntilDone, None) };
        assert!(result.is_err(), "{len} at {offset}");
    }
}

#[test]
fn signal_handlers_stay_as_they_are() {
    let Some(_one) = alone() else { return };
    let before = Handlers::now();
    drop(wires("shm", 1)); // this provider takes some when an endpoint is made
    drop(wires("net", 1));
    assert_eq!(before.restore(), 0, "handlers were changed");
}

#[test]
fn a_provider_that_is_not_there_or_does_not_fit_is_named_with_the_reason() {
    let Some(_one) = alone() else { return };
    for (name, parts) in [
        ("nonesuch", ["provider nonesuch", "fi_info"]),
        ("net@nonesuch", ["provider net on nonesuch", "fi_info"]),
        ("usnic", ["provider usnic", "fi_info"]),
    ] {
        let why = OfiWire::open(Some(name), SECRET, 0, 1).err().unwrap_or_else(|| panic!("{name} was taken"));
        println!("{name}: {why}");
        assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    }
    let wire = OfiWire::open(Some("net@lo"), SECRET, 0, 1).expect("the interface of this host alone");
    assert_eq!(wire.engine.lock().endpoint.traits.domain, "lo");
}

#[test]
fn without_a_word_the_best_of_those_that_reach_other_hosts_is_taken() {
    let Some(_one) = alone() else { return };
    let wire = OfiWire::open(None, SECRET, 0, 1).expect("a wire");
    assert!(!["ofi:shm", "ofi:sockets"].contains(&wire.name().as_str()), "{}", wire.name());
    println!("taken: {}", wire.name());
}

#[test]
fn peers_of_another_provider_or_version_are_lost_with_the_reason() {
    let Some(_one) = alone() else { return };
    let wire = OfiWire::open(Some("net"), SECRET, 0, 3).expect("a wire");
    let mut other = vec![1, 5];
    other.extend_from_slice(b"verbsxxxxxxxxxxxxxxxx");
    wire.set_peers(vec![wire.address(), other, vec![9, 0, 1]]);
    let why = wire.post(1, &mut [7]).unwrap_err().0;
    assert!(why.contains("verbs") && why.contains("net"), "{why}");
    let why = wire.post(2, &mut [7]).unwrap_err().0;
    assert!(why.contains("version 9"), "{why}");
}
