//! Paths that go dark before there is a link, peers that compute then; a peer that sends without end.

use super::*;
use crate::sci::far::wire::Sink;
use crate::sync::AtomicU64;
use socket2::{SockFilter, SockRef};

/// The least that the setting takes.
const SILENCE: Duration = Duration::from_secs(2);
/// Less than that, so that the time for contacts is over when silence is noticed.
const CONTACT: Duration = Duration::from_secs(1);

/// Nothing reaches this socket from now on: its system sees neither bytes nor acknowledgements, and answers nothing.
fn darken(socket: &TcpStream) {
    let drop_all = SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0);
    SockRef::from(socket).attach_filter(&[drop_all]).unwrap();
}

fn hasty(wires: Vec<Tcp>) -> Vec<Tcp> {
    wires.into_iter().map(|wire| wire.with_silence(SILENCE).with_contact(CONTACT)).collect()
}

fn meets(node: &Node<Tcp>, rank: u32) -> bool {
    node.wire.receiving.lock().meetings.contains_key(&rank)
}

/// Node 1 has proved itself, and waits for the offer; node 0 has not seen that yet.
fn meeting() -> Pair<Tcp> {
    let pair = Pair::new(hasty(protected(2)));
    let [first, second] = &pair.nodes[..] else { unreachable!("there are two") };
    assert_eq!(first.post(1, b"there"), Ok(true));
    let is_made = |node: &Node<Tcp>, rank: u32| matches!(*node.wire.peer(rank).contact.lock(), Contact::Made);
    while !is_made(second, 0) {
        first.wire.progress(first, true);
        second.wire.progress(second, true);
    }
    assert!(meets(second, 0) && !is_made(first, 1));
    pair
}

#[test]
fn a_path_that_goes_dark_while_keys_are_made_ends_the_link_at_both_nodes() {
    let pair = meeting();
    darken(&pair.nodes[1].wire.receiving.lock().meetings[&0].socket);
    pair.nodes[0].until("the offer", || meets(&pair.nodes[0], 1));
    darken(&pair.nodes[0].wire.receiving.lock().meetings[&1].socket); // node 1's questions whether it lives are a sign of life
    for node in &pair.nodes {
        let why = node.loss();
        for part in ["no sign of life from 127.0.0.", "GASNET_SCI_LINK_TIMEOUT", "keys", "GASNET_SCI_SECURE"] {
            assert!(why.contains(part), "{why}");
        }
    }
}

#[test]
fn a_node_that_computes_while_keys_are_made_is_told_of_and_not_lost() {
    let pair = meeting();
    let node = &pair.nodes[0];
    node.until("a line", || node.wire.receiving.lock().meetings.get(&1).is_some_and(|meeting| meeting.is_told));
    pair.until("the frame", || pair.came(1) == 1);
}

#[test]
fn a_path_that_goes_dark_behind_connect_is_told_when_the_time_for_the_contact_is_over() {
    let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 3), 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let mut wires = hasty(wires(2));
    wires.truncate(1);
    let addresses = vec![wires[0].address(), Endpoint::at(at.ip(), at.port()).card().bytes()];
    let pair = Pair::with_addresses(wires, addresses);
    let node = &pair.nodes[0];
    assert_eq!(node.post(1, b"x"), Ok(true));
    let socket = listener.accept().unwrap().0;
    darken(&socket);
    let why = node.loss();
    for part in ["GASNET_SCI_START_TIMEOUT) from", &at.to_string(), "connected, then no sign of life for 2 s"] {
        assert!(why.contains(part), "{why}");
    }
}

/// Without what both have said there are no keys.
#[test]
fn a_protected_connection_without_greetings_carries_nothing() {
    let pair = Pair::new(protected(2));
    let wire = &pair.nodes[0].wire;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let socket = Arc::new(TcpStream::connect(at).unwrap());
    wire.open(&mut wire.receiving.lock(), 1, &Greeting::accepted(socket, at, &wire.who()));
    assert!(wire.peer(1).link.lock().socket().is_none(), "it is open, in the clear");
    let why = pair.nodes[0].loss();
    assert!(why.contains("has not greeted") && why.contains("GASNET_SCI_SECURE"), "{why}");
}

/// Before it takes a frame it waits until the peer has no room again, or has sent all: there is always more.
struct Flooded<'a> {
    node: &'a Node<Tcp>,
    refused: &'a AtomicU64,
}

impl Sink for Flooded<'_> {
    fn frame(&self, peer: u32, frame: &[u8]) {
        let before = self.refused.load(Ordering::Relaxed); // Relaxed: a count
        while self.refused.load(Ordering::Relaxed) < before.saturating_add(2) && before < u64::MAX / 2 {
            std::thread::yield_now(); // Relaxed: a count
        }
        self.node.frame(peer, frame);
    }

    fn place(&self, peer: u32, offset: u64, len: usize, write: bool) -> Option<*mut u8> {
        self.node.place(peer, offset, len, write)
    }

    fn written(&self, offset: u64) {
        self.node.written(offset);
    }

    fn lost(&self, peer: u32, why: &Lost) {
        self.node.lost(peer, why);
    }

    fn left(&self, peer: u32) {
        self.node.left(peer);
    }
}

#[test]
fn a_peer_that_sends_without_end_leaves_others_their_turn() {
    const FRAMES: usize = 400;
    // One progress reads the socket twice at most: as the hot one, and as one of all.
    const MOST: usize = 2 * 17 * 5;
    for wires in [wires(2), protected(2)] {
        let pair = Pair::new(wires);
        pair.post(0, 1, b"there");
        pair.until("a frame", || pair.came(1) == 1);
        let [from, to] = &pair.nodes[..] else { unreachable!("there are two") };
        let longest = vec![7; from.wire.frame_max()];
        let (refused, mut most, mut turns) = (AtomicU64::new(0), 0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut sent = 0;
                while sent < FRAMES {
                    match from.post(1, &longest) == Ok(true) {
                        true => sent += 1,
                        false => drop(refused.fetch_add(1, Ordering::Relaxed)), // Relaxed: a count
                    }
                }
                refused.store(u64::MAX, Ordering::Relaxed); // Relaxed: as above
                from.until("the end", || !from.wire.peer(1).link.lock().has_unsent());
            });
            let sink = Flooded { node: to, refused: &refused };
            while to.came() < 1 + FRAMES {
                let before = to.came();
                to.wire.progress(&sink, true);
                (most, turns) = (most.max(to.came() - before), turns + 1);
            }
        });
        assert!(most <= MOST && turns > 1, "{most} frames in one of {turns} turns");
    }
}
