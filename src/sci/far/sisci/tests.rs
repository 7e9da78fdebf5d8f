//! The wire over our own libsisci, which cargo builds beside these tests.

#![allow(unsafe_code)] // records as no node of ours sends them

use super::super::conformance::{self, Pair};
use super::super::wire::{Kept, Wire, offset_in};
use super::adapter::Verdict;
use super::layout::{Head, Kind, LINE, Line, Word};
use super::library::Library;
use super::{Link, SisciWire, Wishes};
use crate::os::sys;
use crate::sync::Ordering;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const SECRET: [u8; 16] = *b"a test's secret.";

/// The library that cargo has built for these tests.
fn library() -> String {
    let test = std::env::current_exe().unwrap();
    let file: Option<PathBuf> = test.ancestors().skip(1).map(|dir| dir.join("libsisci.so")).find(|file| file.exists());
    file.expect("cargo has built libsisci.so").to_str().unwrap().to_owned()
}

fn wire(secret: [u8; 16], me: u32, nodes: u32, dma_from: Option<usize>) -> SisciWire {
    wire_that(secret, me, nodes, dma_from, false)
}

fn wire_that(secret: [u8; 16], me: u32, nodes: u32, dma_from: Option<usize>, straight: bool) -> SisciWire {
    let library = library();
    let wishes = Wishes { library: Some(&library), dma_from, straight, contact: Duration::from_secs(5) };
    SisciWire::open(&wishes, secret, me, nodes).expect("a wire")
}

fn pair(nodes: u32) -> Pair<SisciWire> {
    Pair::new((0..nodes).map(|me| wire(SECRET, me, nodes, None)).collect())
}

#[test]
fn it_does_what_every_wire_must_do() {
    let pair = pair(2);
    conformance::all(&pair);
    println!("counters: {:?}", pair.nodes[0].wire.counters());
}

/// Two nodes whose large writes go straight.
fn straight_pair() -> Pair<SisciWire> {
    Pair::new((0..2).map(|me| wire_that(SECRET, me, 2, None, true)).collect())
}

#[test]
fn it_does_so_straight() {
    let pair = straight_pair();
    assert!(pair.nodes[0].wire.says().contains("straight puts: from 16384 bytes on"), "{}", pair.nodes[0].wire.says());
    conformance::all(&pair);
    assert!(pair.nodes[0].wire.ground.straight_writes.load(Ordering::Relaxed) > 0); // Relaxed: a count
    println!("counters: {:?}", pair.nodes[0].wire.counters());
}

#[test]
fn it_does_so_by_dma() {
    let pair = Pair::new((0..2).map(|me| wire(SECRET, me, 2, Some(0))).collect());
    assert!(pair.nodes[0].wire.says().contains("DMA from 4096 bytes"), "{}", pair.nodes[0].wire.says());
    conformance::all(&pair);
    println!("counters: {:?}", pair.nodes[0].wire.counters());
}

/// The edges of a large write go by the ring. A later write does not overtake one that still lies there.
#[test]
fn large_writes_go_straight_to_the_segment() {
    const LEN: usize = 300_000;
    let pair = straight_pair();
    pair.set_segments();
    let straight = || pair.nodes[0].wire.ground.straight_writes.load(Ordering::Relaxed); // Relaxed: a count
    pair.post(1, 0, b"here I am");
    pair.until("the frame", || pair.frames(0).len() == 1);
    for (turn, at, len) in [(1, 4096, LEN - LEN % 64), (2, 4096, LEN), (3, 4104, LEN), (4, 4096 + 63, LEN), (5, 0, 64)]
    {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + turn) as u8).collect();
        let (before, done, shown) = (straight(), conformance::counter(), [&bytes[..], &[0xee; 100]].concat());
        pair.write(0, 1, at, (shown.as_ptr(), shown.len()), Kept::UntilDone, Some(done));
        pair.write(0, 1, at, (bytes.as_ptr(), len), Kept::UntilDone, Some(done));
        pair.until("both writes", || conformance::count(done) == 2);
        let there = &pair.nodes[1].memory;
        assert!(there.bytes(at, len) == bytes, "turn {turn}");
        assert!(there.bytes(at + len, 100) == [0xee; 100], "turn {turn}");
        assert_eq!(straight() > before, len > 64, "turn {turn}");
    }
}

/// Every write comes whole. The library's news that the segment is gone may come after some more writes; then all go by the ring.
#[test]
fn a_segment_that_the_library_gives_up_is_reached_by_the_ring() {
    const LEN: usize = 200_000;
    let mut pair = straight_pair();
    pair.set_segments();
    pair.post(1, 0, b"here I am");
    pair.until("the frame", || pair.frames(0).len() == 1);
    // How many pieces of a write go straight.
    let straight_pieces = |pair: &Pair<SisciWire>, turn: u8| {
        let count = || pair.nodes[0].wire.ground.straight_writes.load(Ordering::Relaxed); // Relaxed: a count
        let (bytes, done, before) = (vec![turn; LEN], conformance::counter(), count());
        pair.write(0, 1, 64, (bytes.as_ptr(), LEN), Kept::UntilDone, Some(done));
        pair.until("the write", || conformance::count(done) == 1);
        assert!(pair.nodes[1].memory.bytes(64, LEN) == vec![turn; LEN], "turn {turn}");
        count() - before
    };
    assert_eq!(straight_pieces(&pair, 1), (LEN / 65_536 + 1) as u64);
    drop(pair.nodes[1].wire.client_segment.take());
    let (mut turn, end) = (2, Instant::now() + Duration::from_secs(60));
    while straight_pieces(&pair, turn) > 0 {
        assert!(Instant::now() < end, "no news that the segment is gone");
        turn = turn.wrapping_add(1);
    }
    for turn in [1, 2] {
        assert_eq!(straight_pieces(&pair, turn), 0);
    }
}

/// Runs tests of this file in a process of their own, since the library reads its variables once. What they print.
fn with_variables(variables: &[(&str, &str)], test: &str) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("sci::far::sisci::tests::{test}"), "--nocapture"]);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), said)
}

/// How often stores were made again, by what a test printed.
fn repeats(said: &str) -> u64 {
    let number = said.split("(\"sisci stores made again\", ").nth(1).and_then(|rest| rest.split(')').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no counter: {said}"))
}

#[test]
fn it_does_so_with_the_alignments_of_cards_and_when_stores_are_lost() {
    let (by_processor, by_dma) = ("it_does_what_every_wire_must_do", "it_does_so_by_dma");
    let straight = "it_does_so_straight";
    for (test, strict, fault, least) in [
        (by_processor, "1", "connect:2", 0),
        (by_dma, "1", "retriable:7", 100),
        (by_processor, "0", "retriable:5", 100),
        (by_processor, "0", "pending:3", 100),
        (straight, "0", "retriable:5", 100),
        (straight, "0", "dma:2", 1),
        (by_dma, "0", "dma:3", 10),
    ] {
        let (is_well, said) = with_variables(&[("SISCI_STRICT", strict), ("SISCI_FAULT", fault)], test);
        assert!(is_well && said.contains("1 passed"), "{fault}: {said}");
        assert!(repeats(&said) >= least, "{fault}: {said}");
    }
}

#[test]
fn a_link_that_dies_ends_with_its_reason() {
    for (fault, reason) in [
        ("dead:3000", "its segment is gone"),
        ("pending:1", "the library has not said for 5 s that stores have arrived"),
    ] {
        let (is_well, said) = with_variables(&[("SISCI_FAULT", fault)], "it_does_what_every_wire_must_do");
        assert!(!is_well && said.contains(reason), "{fault}: {said}");
    }
}

#[test]
fn three_nodes_know_who_sent_what() {
    let pair = pair(3);
    for (from, to) in (0..3u32).flat_map(|from| (0..3).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        pair.post(from as usize, to, &[from as u8, to as u8]);
    }
    for to in 0..3usize {
        let mut came = Vec::new();
        pair.until("frames", || {
            came.extend(pair.frames(to));
            came.len() == 2
        });
        came.sort();
        let wanted = (0..3u32).filter(|from| *from != to as u32).map(|from| (from, vec![from as u8, to as u8]));
        assert_eq!(came, wanted.collect::<Vec<_>>());
    }
}

/// Puts a record into the ring of node 0 at node 1, whatever it says.
fn put(pair: &Pair<SisciWire>, kind: Kind, number: u64, body: &[u8]) {
    let head = Head { kind, len: body.len(), number };
    let from = &pair.nodes[0].wire;
    // SAFETY: a slice.
    pair.until("room", || from.with(1, |outlet, ground| unsafe { outlet.put(ground, head, body.as_ptr()) }).unwrap());
}

#[test]
fn what_no_node_of_ours_sends_ends_the_link_on_both_sides() {
    let segment = conformance::SEGMENT as u64;
    let long = vec![7; super::FRAME + 1];
    let cases: [(&str, Kind, u64, &[u8]); 11] = [
        ("kind: Write", Kind::Write, segment - 7, &[1; 8]),
        ("kind: Write", Kind::Write, u64::MAX, &[1; 8]),
        ("kind: WriteAndTell", Kind::WriteAndTell, offset_in(1, segment as usize), &[1; 8]),
        ("kind: Read", Kind::Read, 8, &segment.to_le_bytes()),
        ("kind: Read", Kind::Read, 0, &u64::MAX.to_le_bytes()),
        ("kind: Read", Kind::Read, 0, &[0; 9]),
        ("kind: Answer", Kind::Answer, 0, &[1; 8]),
        ("kind: Hello", Kind::Hello, 1, &[]),
        ("kind: Frame", Kind::Frame, 0, &[]),
        ("kind: Frame", Kind::Frame, 0, &long),
        ("where", Kind::Skip, 64, &[]),
    ];
    for (reason, kind, number, body) in cases {
        let pair = pair(2);
        pair.set_segments();
        pair.post(0, 1, b"ok");
        pair.until("a frame", || pair.came(1) == 1);
        put(&pair, kind, number, body);
        let why = pair.nodes[1].loss();
        assert!(why.contains("node 0 sent") && why.contains(reason), "{kind:?}: {why}");
        assert!(pair.nodes[1].post(0, b"more").is_err());
        assert_eq!(pair.nodes[0].loss(), "the peer has ended the link");
        assert_eq!(pair.frames(1), [(0, b"ok".to_vec())]);
    }
}

#[test]
fn words_that_cannot_be_end_the_link() {
    for (reason, word, value) in [
        ("the peer has ended the link", Word::Cut, 1),
        ("has taken", Word::Credit, 1 << 40),
        ("has taken", Word::Credit, 64),
    ] {
        let pair = pair(2);
        pair.post(0, 1, b"ok"); // behind the token, a line
        pair.post(1, 0, b"ok");
        pair.until("frames", || pair.came(0) + pair.came(1) == 2);
        if value == 64 {
            pair.nodes[0].wire.with(1, |outlet, ground| outlet.tell(ground, Word::Credit, 128));
            pair.until("the credit", || pair.nodes[1].wire.with(0, |outlet, ground| outlet.has_taken(ground, 128)));
        }
        pair.nodes[0].wire.with(1, |outlet, ground| outlet.tell(ground, word, value));
        let why = pair.nodes[1].loss();
        assert!(why.contains(reason), "{value}: {why}");
    }
}

/// The peer takes no record of a line that is not whole, or that belongs elsewhere, and takes it when it is there.
#[test]
fn a_record_comes_when_its_first_line_is_whole() {
    let pair = pair(2);
    pair.post(0, 1, b"ok");
    pair.until("a frame", || pair.frames(1).len() == 1);
    let (from, to) = (&pair.nodes[0].wire, &pair.nodes[1]);
    let (position, frame) = (2 * LINE as u64, b"all of it, and nothing else");
    let (place, _) = from.ground.layout.place(0, position);
    let head = Head { kind: Kind::Frame, len: frame.len(), number: 0 };
    // SAFETY: a slice of this length.
    let [good, elsewhere] = [position, position + 64].map(|position| unsafe { head.line(position, frame.as_ptr()) });
    for i in 0..LINE {
        let mut line = good;
        line.0[i] ^= 1;
        store(from, &line, place);
        assert!(!to.wire.progress(to, true) && to.came() == 0, "byte {i}");
    }
    store(from, &elsewhere, place);
    assert!(!to.wire.progress(to, true) && to.losses.lock().is_empty());
    store(from, &good, place);
    pair.until("the frame", || pair.frames(1) == [(0, frame.to_vec())]);
}

#[test]
fn first_lines_that_no_node_of_ours_sends_end_the_link() {
    let left = (super::Layout::of(2).ring - 2 * LINE) as u64;
    for (kind, len, number) in [
        (Kind::Skip, 0xff_ffff, left),
        (Kind::Skip, 0, left + 64),
        (Kind::Skip, 0, u64::MAX),
        (Kind::Skip, 0, 0),
        (Kind::Frame, 0xff_ffff, 0),
        (Kind::Write, left as usize, 0),
    ] {
        let pair = pair(2);
        pair.post(0, 1, b"ok");
        pair.until("a frame", || pair.frames(1).len() == 1);
        let from = &pair.nodes[0].wire;
        let position = 2 * LINE as u64;
        // SAFETY: as many bytes as a line has room for.
        let line = unsafe { Head { kind, len, number }.line(position, [0; LINE].as_ptr()) };
        store(from, &line, from.ground.layout.place(0, position).0);
        let why = pair.nodes[1].loss();
        assert!(why.contains("node 0 sent a record of"), "{kind:?} {len} {number}: {why}");
    }
}

/// Stores a line as it is.
fn store(from: &SisciWire, line: &Line, place: usize) {
    let Link::Up(remote) = &from.outlets[1].lock().link else { panic!("no link") };
    assert_eq!(remote.confirm(|remote| remote.copy_line(line, place)), Verdict::Arrived);
}

#[test]
fn a_stranger_without_the_token_is_refused() {
    let [a, b] = [wire([9; 16], 0, 2, None), wire(SECRET, 1, 2, None)];
    let pair = Pair::new(vec![a, b]);
    while !pair.nodes[0].post(1, b"hello").unwrap() {}
    assert_eq!(pair.nodes[1].loss(), "node 0 sent no token of this job");
    assert!(pair.frames(1).is_empty());
}

#[test]
fn more_reads_at_a_time_than_a_node_makes_end_the_link() {
    let pair = pair(2);
    pair.set_segments();
    pair.post(0, 1, b"ok");
    let most = (conformance::SEGMENT as u64).to_le_bytes();
    // More than its ring has room for, so that answers wait.
    (0..2 * super::transfer::READS).for_each(|_| put_alone(&pair, &most));
    assert!(pair.nodes[1].loss().contains("kind: Read"));
}

/// Asks for bytes, and takes no answers.
fn put_alone(pair: &Pair<SisciWire>, len: &[u8]) {
    let head = Head { kind: Kind::Read, len: len.len(), number: 0 };
    // SAFETY: a slice.
    let is_put = pair.nodes[0].wire.with(1, |outlet, ground| unsafe { outlet.put(ground, head, len.as_ptr()) });
    assert_eq!(is_put, Ok(true));
}

/// A node sleeps on its descriptor; what comes then shows there.
#[test]
fn a_frame_wakes_a_node_that_sleeps() {
    let pair = pair(2);
    for round in 0..50u8 {
        if round == 25 {
            pair.nodes[1].wire.watch_always();
        }
        let fd = loop {
            let came = pair.nodes[1].wire.progress(&pair.nodes[1], true);
            let fd = pair.nodes[1].wire.descriptor().expect("there is one");
            if !came && !is_readable(fd, Duration::ZERO) {
                break fd;
            }
        };
        assert!(pair.nodes[0].post(1, &[round]).unwrap());
        assert!(is_readable(fd, Duration::from_secs(20)), "frame {round} shows nowhere");
        pair.until("the frame", || pair.frames(1) == [(0, vec![round])]);
        pair.post(1, 0, b"x"); // each side knows of the other one
        pair.until("the answer", || pair.frames(0).len() == 1);
    }
}

fn is_readable(fd: i32, time: Duration) -> bool {
    let mut set = [libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
    sys::poll(&mut set, Some(time)).unwrap();
    set[0].revents != 0
}

/// As a signal handler finds it that has interrupted its thread in the middle of a send.
#[test]
fn who_leaves_waits_for_no_lock_of_its_own_and_others_are_told() {
    let pair = pair(3);
    pair.set_segments();
    for peer in [1, 2] {
        pair.post(0, peer, b"there");
        pair.until("the frame", || pair.came(peer as usize) == 1);
    }
    let node = &pair.nodes[0];
    assert!(node.wire.begins_to_leave());
    let held = node.wire.outlets[1].lock();
    assert!(!node.wire.begins_to_leave());
    node.wire.leave(node, Duration::from_secs(10));
    drop(held);
    pair.nodes[2].until("the end of node 0", || *pair.nodes[2].left.lock() == [0]);
}

/// All that was posted comes, nothing is lost, and what is sent to it afterwards goes nowhere.
#[test]
fn who_leaves_in_good_order_is_no_loss() {
    let mut pair = pair(3);
    pair.set_segments();
    pair.post(1, 0, b"hello"); // node 0 has no way to node 1 yet
    pair.until("the frame", || pair.frames(0).len() == 1);
    let leaver = pair.nodes.remove(0);
    assert!(leaver.post(2, b"last").unwrap());
    leaver.wire.leave(&leaver, Duration::from_secs(10));
    drop(leaver);
    for node in &pair.nodes {
        node.until("the end of node 0", || *node.left.lock() == [0]);
        assert!(node.losses.lock().is_empty());
        assert_eq!(node.post(0, b"nobody hears it"), Ok(true));
        let (done, byte) = (conformance::counter(), 1u8);
        // SAFETY: the byte lives until the call returns.
        let taken = unsafe { node.wire.write(0, 0, (&byte, 1), Kept::Now, Some(done)) };
        assert_eq!((taken, conformance::count(done)), (Ok(true), 1));
        for _ in 0..1000 {
            node.wire.progress(node, true);
        }
        assert!(node.losses.lock().is_empty() && !node.wire.is_busy());
    }
    assert_eq!(pair.frames(1), [(0, b"last".to_vec())]);
}

#[test]
fn who_ends_without_a_word_is_lost_after_what_it_had_sent() {
    let mut pair = pair(2);
    pair.post(1, 0, b"hello");
    pair.post(0, 1, b"last");
    pair.until("the frame", || pair.frames(0).len() == 1);
    drop(pair.nodes.remove(0));
    assert_eq!(pair.nodes[0].loss(), "its segment is gone");
    assert_eq!(pair.frames(0), [(0, b"last".to_vec())]);
    assert!(pair.nodes[0].post(0, b"more").is_err());
    assert!(!pair.nodes[0].wire.is_busy());
}

#[test]
fn a_peer_that_cannot_be_found_is_lost_in_time() {
    let library = library();
    let wishes =
        Wishes { library: Some(&library), dma_from: None, straight: false, contact: Duration::from_millis(50) };
    let wires = (0..2).map(|me| SisciWire::open(&wishes, SECRET, me, 2).expect("a wire")).collect();
    let mut pair = Pair::<SisciWire>::new(wires);
    drop(pair.nodes.pop());
    let node = &pair.nodes[0];
    node.until("a loss", || node.post(1, b"x").is_err());
    assert!(node.loss().starts_with("no way to segment 0x"));
}

#[test]
fn addresses_of_other_networks_are_refused_with_the_reason() {
    let wire = wire(SECRET, 0, 3, None);
    let other = self::wire(SECRET, 1, 4, None).address();
    wire.set_peers(vec![wire.address(), other, vec![9; 21]]);
    let why = |peer| wire.post(peer, &mut [7]).unwrap_err().0;
    assert!(why(1).contains("other measures") && why(2).contains("version 9"), "{} {}", why(1), why(2));
}

#[test]
fn a_library_that_is_none_is_named_with_what_it_lacks() {
    let why = |file| Library::load(Some(file)).err().expect("a reason");
    assert!(
        why("/nowhere/libsisci.so").contains("/nowhere/libsisci.so: cannot open"),
        "{}",
        why("/nowhere/libsisci.so")
    );
    let old = why("libc.so.6");
    assert!(
        old.contains("version 2") && old.contains("SCIStartDmaTransfer") && old.contains("SCIGetLocalNodeId"),
        "{old}"
    );
}
