//! Connections that no node of the job makes: they cost nothing but themselves, and one line of each kind.

use super::super::greet::{HELLO, PROOF, Refusal};
use super::peer::{Change, Hand};
use super::*;

/// Not the secret of the job.
const WRONG: [u8; 16] = *b"another secret!!";

fn is_told(node: &Node<Tcp>, refusal: Refusal) -> bool {
    node.wire.told.lock().has(refusal)
}

/// Both nodes still find each other, and nobody is lost.
fn meets(pair: &Pair<Tcp>) {
    pair.post(1, 0, b"there");
    pair.post(0, 1, b"back");
    pair.until("a first contact", || pair.came(0) == 1 && pair.came(1) == 1);
    assert_eq!((pair.frames(0), pair.frames(1)), (vec![(1, b"there".to_vec())], vec![(0, b"back".to_vec())]));
}

fn work(pair: &Pair<Tcp>, mut until: impl FnMut() -> bool) {
    pair.until("strangers", || {
        std::thread::yield_now();
        until()
    });
}

#[test]
fn a_port_scan_is_told() {
    let pair = pair(2);
    for _ in 0..100 {
        drop(TcpStream::connect(address_of(&pair.nodes[0])).unwrap());
    }
    work(&pair, || is_told(&pair.nodes[0], Refusal::Gone));
    meets(&pair);
}

#[test]
fn wrong_greetings_are_refused_by_their_reason() {
    let changes: [(Refusal, Change); 6] = [
        (Refusal::Garbage, |hello| {
            *hello = *b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: nobody/1.0\r\n\r\n   "
        }),
        (Refusal::Version([0, 0]), |hello| hello[8..12].fill(0)),
        (Refusal::Version([3, 9]), |hello| hello[8..12].copy_from_slice(&[3, 0, 9, 0])),
        (Refusal::Layout(0), |hello| hello[24] ^= 1),
        (Refusal::Rank(7), |hello| hello[12] = 7),
        (Refusal::Rank(1), |hello| hello[16] = 1),
    ];
    for (refusal, change) in changes {
        let pair = pair(2);
        let mut hand = Hand::connect(address_of(&pair.nodes[0]), 1, 0, SECRET);
        let mut hello = hand.hello();
        change(&mut hello);
        hand.say(&hello);
        assert!(hand.hear::<1>(&pair).is_none(), "{refusal}");
        assert!(is_told(&pair.nodes[0], refusal), "{refusal}");
        meets(&pair);
    }
}

/// With a right HELLO of node 0 or of node 1: what it claims must change nothing before it is proven.
#[test]
fn who_does_not_know_the_secret_is_refused_before_it_learns_anything() {
    for (claims, victim) in [(0u32, 1u32), (1, 0)] {
        let pair = pair(2);
        let node = &pair.nodes[victim as usize];
        // The victim's own contact has begun.
        assert_eq!(node.post(claims, b"hello"), Ok(true));
        let mut hand = Hand::connect(address_of(node), claims, victim, WRONG);
        assert!(!hand.greet(&pair));
        assert!(is_told(node, Refusal::Proof));
        pair.until("the frame", || pair.came(claims as usize) == 1);
        pair.frames(claims as usize);
        meets(&pair);
    }
}

/// A stranger stops in the middle while the real node makes its contact.
#[test]
fn a_stranger_with_a_nodes_name_does_not_take_its_place() {
    let pair = pair(2);
    let mut hands: Vec<Hand> = [(0, 1), (1, 0)]
        .iter()
        .map(|(claims, victim)| Hand::connect(address_of(&pair.nodes[*victim as usize]), *claims, *victim, WRONG))
        .collect();
    for hand in &mut hands {
        hand.say(&hand.hello());
        assert!(hand.hear::<HELLO>(&pair).is_some(), "it is asked for its proof");
    }
    meets(&pair);
    hands.iter_mut().for_each(|hand| hand.say(&[0; PROOF]));
    work(&pair, || pair.nodes.iter().all(|node| is_told(node, Refusal::Proof)));
}

#[test]
fn slow_strangers_have_their_time_and_no_more() {
    let pair = pair(2);
    let mut hand = Hand::connect(address_of(&pair.nodes[0]), 1, 0, SECRET);
    let hello = hand.hello();
    let mut said = hello.iter();
    let mut last = Instant::now();
    work(&pair, || {
        if last.elapsed() > Duration::from_millis(100)
            && let Some(byte) = said.next()
        {
            hand.say(&[*byte]);
            last = Instant::now();
        }
        is_told(&pair.nodes[0], Refusal::Silent)
    });
    meets(&pair);
}

/// A node whose program computes has connected, and greets when it polls again.
#[test]
fn a_node_that_is_late_is_no_stranger() {
    let pair = pair(2);
    let (computes, other) = (&pair.nodes[1], &pair.nodes[0]);
    assert_eq!(computes.post(0, b"begun"), Ok(true));
    let end = Instant::now() + super::super::greeting::STRANGER + Duration::from_millis(500);
    while Instant::now() < end {
        other.wire.progress(other, true);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(other.wire.receiving.lock().greetings.len(), 1, "the connection waits");
    assert!(!is_told(other, Refusal::Silent));
    pair.until("the frame", || pair.came(0) == 1);
    // One that goes before it has greeted has ended, and is not told either.
    let gone = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    gone.bind(&here().interfaces[0].at(0).into()).unwrap();
    gone.connect(&address_of(other).into()).unwrap();
    while other.wire.receiving.lock().greetings.is_empty() {
        other.wire.progress(other, true);
    }
    drop(gone);
    while !other.wire.receiving.lock().greetings.is_empty() {
        other.wire.progress(other, true);
    }
    assert!(!is_told(other, Refusal::Gone));
}

/// They stay and say nothing. A node gets in before their time is over: the oldest ones make place.
#[test]
fn a_thousand_silent_strangers_keep_no_node_out() {
    assert!(crate::os::host::maximize_limit(libc::RLIMIT_NOFILE as std::ffi::c_int));
    let pair = pair(2);
    let mut strangers = Vec::new();
    for _ in 0..1000 {
        strangers.push(TcpStream::connect(address_of(&pair.nodes[0])).unwrap());
    }
    meets(&pair);
    assert!(is_told(&pair.nodes[0], Refusal::Crowd));
    let held = pair.nodes[0].wire.receiving.lock().greetings.len();
    assert!(held <= STRANGERS + pair.nodes.len(), "{held}");
}
