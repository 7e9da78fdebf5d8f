//! How links end, and what ends them.

use super::super::head::Kind;
use super::peer::Hand;
use super::*;

/// Two nodes that have spoken to each other; the second one apart.
fn met() -> (Pair<Tcp>, Node<Tcp>) {
    meeting(wires(2))
}

fn meeting(wires: Vec<Tcp>) -> (Pair<Tcp>, Node<Tcp>) {
    let mut pair = Pair::new(wires);
    pair.set_segments();
    pair.post(0, 1, b"there");
    pair.until("a frame", || pair.came(1) == 1);
    pair.post(1, 0, b"back");
    pair.until("a frame", || pair.came(0) == 1);
    let second = pair.nodes.pop().unwrap();
    (pair, second)
}

/// What a hand says: kind, length, writes done, body.
type Said = (Kind, usize, u64, Vec<u8>);

#[test]
fn a_peer_that_dies_is_lost_once_and_what_is_sent_to_it_goes_nowhere() {
    let (pair, second) = met();
    let node = &pair.nodes[0];
    drop(second);
    node.loss();
    for _ in 0..100 {
        assert!(node.post(1, b"x").is_err());
        node.wire.progress(node, true);
    }
    let losses = node.losses.lock().clone();
    assert_eq!((losses.len(), node.left.lock().len()), (1, 0), "{losses:?}");
    let parts = ["at 127.0.0.2:", "without leaving the job"];
    assert!(losses[0].0 == 1 && parts.iter().all(|part| losses[0].1.0.contains(part)), "{losses:?}");
    assert!(!node.wire.is_busy());
}

#[test]
fn a_peer_that_leaves_is_not_lost() {
    [wires(2), protected(2)].into_iter().for_each(leaves);
}

fn leaves(wires: Vec<Tcp>) {
    let (pair, second) = meeting(wires);
    let node = &pair.nodes[0];
    let longest = vec![7; second.wire.frame_max()];
    assert_eq!(second.post(0, &longest), Ok(true));
    let leaver = std::thread::spawn(move || second.wire.leave(&second, Duration::from_secs(60)));
    node.until("a farewell", || !node.left.lock().is_empty());
    leaver.join().unwrap();
    assert!(node.frames().iter().any(|(peer, frame)| (*peer, frame) == (1, &longest)), "what it had posted has come");
    for _ in 0..100 {
        assert!(node.post(1, b"x").is_err());
        node.wire.progress(node, true);
    }
    assert_eq!((&*node.left.lock(), node.losses.lock().len()), (&vec![1], 0));
}

/// As a signal handler finds it that has interrupted its thread in the middle of a send.
#[test]
fn who_leaves_waits_for_no_lock_of_its_own_and_others_are_told() {
    let mut pair = Pair::new(wires(3));
    for peer in [1, 2] {
        pair.post(0, peer, b"there");
        pair.until("a frame", || pair.came(peer as usize) == 1);
    }
    let node = pair.nodes.remove(0);
    assert!(node.wire.begins_to_leave());
    let held = node.wire.peer(1).link.lock();
    assert!(!node.wire.begins_to_leave());
    node.wire.leave(&node, Duration::from_secs(3600));
    drop(held);
    drop(node);
    let other = &pair.nodes[1];
    other.until("a farewell", || !other.left.lock().is_empty());
}

/// The contact has begun, and nothing more. A protected connection has no keys yet.
#[test]
fn what_a_node_sent_first_of_all_arrives_although_it_leaves_at_once() {
    [wires(2), protected(2)].into_iter().for_each(sends_and_leaves);
}

fn sends_and_leaves(wires: Vec<Tcp>) {
    let mut pair = Pair::new(wires);
    let second = pair.nodes.pop().unwrap();
    let node = &pair.nodes[0];
    assert_eq!(second.post(0, b"first"), Ok(true));
    let leaver = std::thread::spawn(move || second.wire.leave(&second, Duration::from_secs(60)));
    node.until("a farewell", || !node.left.lock().is_empty());
    leaver.join().unwrap();
    assert_eq!(node.frames(), [(1, b"first".to_vec())]);
}

#[test]
fn a_peer_that_nobody_listens_for_is_lost() {
    let mut pair = pair(2);
    drop(pair.nodes.pop());
    let node = &pair.nodes[0];
    let _ = node.post(1, b"x");
    node.loss();
    let losses = node.losses.lock().clone();
    assert!(losses[0].1.0.contains("cannot connect to 127.0.0.2:"), "{losses:?}");
}

/// Its system resets the connection, and then does not tell any more what was at its other end.
#[test]
fn a_connection_that_is_reset_is_told_with_its_address() {
    let mut pair = pair(2);
    pair.set_segments();
    drop(pair.nodes.pop());
    let mut hand = Hand::connect(address_of(&pair.nodes[0]), 1, 0, SECRET);
    assert!(hand.greet(&pair));
    let at = hand.socket.local_addr().unwrap();
    hand.send(Kind::Frame, 2, 0, b"ok");
    let node = &pair.nodes[0];
    node.until("a frame", || node.came() == 1);
    socket2::SockRef::from(&hand.socket).set_linger(Some(Duration::ZERO)).unwrap();
    drop(hand);
    node.loss();
    let why = node.losses.lock()[0].1.0.clone();
    assert!(why.starts_with(&format!("at {at} the connection broke: ")) && why.contains("firewall"), "{why}");
}

/// A node of the job, by its proof, that sends what no node sends.
#[test]
fn what_no_wire_of_ours_sends_ends_the_link_with_its_reason() {
    let outside = |at: u64, len: u64| [at.to_le_bytes(), len.to_le_bytes()].concat();
    let segment = conformance::SEGMENT as u64;
    let cases: [(&str, Vec<Said>); 9] = [
        ("a frame of", vec![(Kind::Frame, input::FRAME_MAX + 1, 0, Vec::new())]),
        ("no head", vec![(Kind::Frame, head::BODY_MAX + 1, 0, Vec::new())]),
        ("no head", vec![(Kind::Ack, 1, 0, Vec::new())]),
        ("acknowledges what was not sent", vec![(Kind::Ack, 0, 1, Vec::new())]),
        ("data that nobody asked for", vec![(Kind::Data, 8, 0, vec![1; 8])]),
        ("where it may not write", vec![(Kind::Write, 16, 0, outside(segment - 7, 0))]),
        ("where it may not write", vec![(Kind::Write, 16, 0, outside(u64::MAX, 0))]),
        ("outside the segment", vec![(Kind::Read, 16, 0, outside(8, segment))]),
        ("outside the segment", vec![(Kind::Read, 16, 0, outside(u64::MAX, u64::MAX))]),
    ];
    for (reason, sent) in cases {
        let mut pair = pair(2);
        pair.set_segments();
        drop(pair.nodes.pop());
        let mut hand = Hand::connect(address_of(&pair.nodes[0]), 1, 0, SECRET);
        assert!(hand.greet(&pair));
        hand.send(Kind::Frame, 2, 0, b"ok");
        sent.iter().for_each(|(kind, len, done, body)| hand.send(*kind, *len, *done, body));
        let node = &pair.nodes[0];
        node.loss();
        let losses = node.losses.lock().clone();
        assert!(losses[0].1.0.contains(reason), "{reason}: {losses:?}");
        assert_eq!(node.frames(), [(1, b"ok".to_vec())]);
        assert!(hand.hear::<1>(&pair).is_none(), "{reason}: the connection ends");
    }
}

/// The rest of a body may come long after its head: until then the write is under way.
#[test]
fn a_write_is_over_with_the_last_byte_of_its_body() {
    let mut pair = pair(2);
    pair.set_segments();
    drop(pair.nodes.pop());
    let mut hand = Hand::connect(address_of(&pair.nodes[0]), 1, 0, SECRET);
    assert!(hand.greet(&pair));
    let node = &pair.nodes[0];
    hand.send(Kind::Frame, 2, 0, b"ok");
    hand.send(Kind::Write, 16, 0, &[&64u64.to_le_bytes()[..], &[1]].concat());
    node.until("the head of a write", || !node.writes.lock().is_empty());
    assert_eq!((node.frames(), &*node.writes.lock()), (vec![(1, b"ok".to_vec())], &vec![64]));
    hand.say(&[2; 7]);
    hand.send(Kind::Frame, 2, 0, b"on");
    node.until("a frame behind it", || node.came() == 1);
    assert_eq!(&*node.writes.lock(), &Vec::<u64>::new());
}

/// More reads at once than a node of ours begins would fill this node's memory.
#[test]
fn a_peer_that_asks_for_more_than_it_takes_is_lost() {
    let mut pair = pair(2);
    pair.set_segments();
    drop(pair.nodes.pop());
    let mut hand = Hand::connect(address_of(&pair.nodes[0]), 1, 0, SECRET);
    assert!(hand.greet(&pair));
    let node = &pair.nodes[0];
    let ask = [0u64.to_le_bytes(), (conformance::SEGMENT as u64).to_le_bytes()].concat();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..2 * link::UNDER_WAY).for_each(|_| hand.send(Kind::Read, 16, 0, &ask)));
        node.loss();
    });
    let losses = node.losses.lock().clone();
    assert!(losses[0].1.0.contains("too many reads at once"), "{losses:?}");
}

/// A node that computes takes nothing until its system has no room; that system still answers.
#[test]
fn a_peer_that_takes_nothing_for_long_is_not_silent() {
    const FRAMES: usize = 400;
    let limit = Duration::from_secs(2); // the least that the setting takes
    let pair = Pair::new(wires(2).into_iter().map(|wire| wire.with_silence(limit)).collect());
    let longest = vec![7; pair.nodes[0].wire.frame_max()];
    pair.post(0, 1, b"there");
    pair.until("a frame", || pair.came(1) == 1);
    let node = &pair.nodes[0];
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < 4 * limit {
        let goes = sent < FRAMES && node.post(1, &longest) == Ok(true);
        sent += usize::from(goes);
        node.wire.progress(node, true);
        if !goes {
            std::thread::sleep(Duration::from_millis(1)); // full: seconds pass
        }
    }
    assert!(node.losses.lock().is_empty(), "{:?}", node.losses.lock());
    assert!(sent < FRAMES, "there was room for all: the peer was never full");
    pair.until("what waits", || pair.came(1) == 1 + sent);
}

/// A peer that was killed takes nothing more. Its system resets the connection, because bytes had come that nobody had read.
#[test]
fn a_node_that_leaves_does_not_wait_for_a_peer_that_died() {
    let (pair, second) = met();
    let node = &pair.nodes[0];
    let longest = vec![7; node.wire.frame_max()];
    while node.post(1, &longest) == Ok(true) {} // more than both systems hold
    drop(second);
    node.wire.leave(node, Duration::from_secs(3600));
}
