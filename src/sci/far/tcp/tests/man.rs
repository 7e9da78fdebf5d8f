//! A man between two nodes, who relays and changes: never wrong bytes, and a line.

use super::super::greet::{HELLO, PROOF, Refusal};
use super::*;
use crate::sci::far::seal::TAG;
use crate::sci::far::seal::exchange::OFFER;
use crate::sci::far::seal::record;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread::{self, JoinHandle};

/// What node 0 says before its first record, piece by piece.
const BEGIN: [usize; 3] = [HELLO, PROOF, OFFER];
/// The number of its first record.
const FIRST: usize = BEGIN.len();
/// What frames and writes of a test are made of.
const PATTERN: &[u8; 16] = b"Nobody sees this";

/// What the man makes of a piece with this number, of those that go from node 0 to node 1. `None`: he goes away.
trait Deed: FnMut(usize, &[u8]) -> Option<Vec<u8>> + Send + 'static {}
impl<T: FnMut(usize, &[u8]) -> Option<Vec<u8>> + Send + 'static> Deed for T {}

/// The thread ends with the connection, and tells what went by, both ways.
struct Man(JoinHandle<Vec<u8>>);

/// The next piece: of the greeting, a record, or of a connection that is not protected any bytes. `None`: there is none, or a part.
fn piece(mut from: &TcpStream, number: usize, is_protected: bool) -> Option<Vec<u8>> {
    let mut exactly = |len: usize| {
        let mut bytes = vec![0; len];
        from.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    match BEGIN.get(number) {
        Some(_) if !is_protected => exactly(1),
        Some(len) => exactly(*len),
        None if !is_protected => {
            let mut bytes = vec![0; 4096];
            let got = from.read(&mut bytes).ok().filter(|got| *got > 0)?;
            bytes.truncate(got);
            Some(bytes)
        }
        None => {
            let mut bytes = exactly(record::HEAD)?;
            let len = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
            bytes.extend(exactly(len + TAG)?);
            Some(bytes)
        }
    }
}

/// Passes on what goes from node 1 to node 0.
fn pass_back(mut from: &TcpStream, mut to: &TcpStream) -> Vec<u8> {
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(got @ 1..) = from.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..got]);
        if to.write_all(&bytes[..got]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    seen
}

/// Node 0 reaches node 1 through a man, once.
fn between(wires: Vec<Tcp>, mut deed: impl Deed) -> (Pair<Tcp>, Man) {
    let (node, is_protected) = (wires[1].card.spots[0].at, wires[0].who().is_protected);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = Endpoint::at(Ipv4Addr::LOCALHOST.into(), listener.local_addr().unwrap().port()).card().bytes();
    let thread = thread::spawn(move || {
        let from = listener.accept().unwrap().0;
        drop(listener);
        let to = TcpStream::connect(node).unwrap();
        let back = (to.try_clone().unwrap(), from.try_clone().unwrap());
        let back = thread::spawn(move || pass_back(&back.0, &back.1));
        let mut seen = Vec::new();
        for number in 0.. {
            let Some(bytes) = piece(&from, number, is_protected) else { break };
            seen.extend_from_slice(&bytes);
            let Some(bytes) = deed(number, &bytes) else { break };
            if (&to).write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        seen.extend(back.join().unwrap());
        seen
    });
    let pair = Pair::with_addresses(wires, vec![Vec::new(), address]);
    pair.set_segments();
    (pair, Man(thread))
}

fn frame(number: usize) -> Vec<u8> {
    [&(number as u64).to_le_bytes()[..], &PATTERN.repeat(40)].concat()
}

/// Node 0 posts frames through a man until node `loser` has lost the other one. Returns why. What came is what was sent, from the first on.
fn lost_by(deed: impl Deed, loser: usize, what: &str) -> String {
    let wires = protected(2).into_iter().map(|wire| wire.with_contact(Duration::from_secs(1))).collect();
    let (pair, man) = between(wires, deed);
    let [from, to] = &pair.nodes[..] else { unreachable!("there are two") };
    let mut sent = 0;
    let start = Instant::now();
    while pair.nodes[loser].losses.lock().is_empty() {
        sent += usize::from(from.post(1, &frame(sent)) == Ok(true));
        for _ in 0..10 {
            pair.nodes.iter().for_each(|node| _ = node.wire.progress(node, true));
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}: nobody notices");
    }
    for (number, came) in to.frames().into_iter().enumerate() {
        assert_eq!(came, (0, frame(number)), "{what}");
    }
    assert!(to.left.lock().is_empty(), "{what}: taken for a farewell");
    let why = pair.nodes[loser].losses.lock()[0].1.0.clone();
    drop(pair);
    man.0.join().unwrap();
    why
}

/// As [`lost_by`]: node 1 says that something was changed.
fn is_noticed(deed: impl Deed, what: &str) {
    let why = lost_by(deed, 1, what);
    for part in ["at 127.0.0.", "was changed on the way, or is not of this job", "GASNET_SCI_SECURE"] {
        assert!(why.contains(part), "{what}: {why}");
    }
}

/// The same man sees it where connections are not protected, so he looks for the right thing.
#[test]
fn who_looks_at_a_protected_connection_sees_nothing_of_what_is_sent() {
    for is_protected in [true, false] {
        let wires = if is_protected { protected(2) } else { wires(2) };
        let (pair, man) = between(wires, |_: usize, bytes: &[u8]| Some(bytes.to_vec()));
        let source = PATTERN.repeat(20_000);
        let done = conformance::counter();
        for number in 0..20 {
            pair.post(0, 1, &frame(number));
            pair.write(0, 1, 0, (source.as_ptr(), source.len()), Kept::Now, Some(done));
        }
        pair.until("frames and writes", || pair.came(1) == 20 && conformance::count(done) == 20);
        pair.post(1, 0, &frame(0));
        pair.until("an answer", || pair.came(0) == 1);
        drop(pair);
        let seen = man.0.join().unwrap();
        assert!(seen.len() > 20 * source.len());
        let sees = |part: &[u8]| seen.windows(part.len()).any(|window| window == part);
        assert_eq!(sees(&PATTERN[..8]) || sees(&PATTERN[8..]), !is_protected);
        assert!(!sees(&SECRET[..8]));
    }
}

/// Bits of each part of the head, of the first bytes, of the last ones, of the tag.
#[test]
fn every_flipped_bit_of_a_record_ends_the_link() {
    let from_start = [0, 1, 2, 3, 7, 8, 9, 40].map(|at| (at, false));
    let from_end = [0, 1, 15, 16, 17, 300].map(|at| (at, true));
    for (turn, (place, is_from_end)) in from_start.into_iter().chain(from_end).enumerate() {
        let (record, bit) = (FIRST + turn % 3, 1u8 << (turn % 8));
        let flip = move |number: usize, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            if number == record {
                let at = if is_from_end { bytes.len() - 1 - place } else { place };
                bytes[at] ^= bit;
            }
            Some(bytes)
        };
        is_noticed(flip, &format!("bit {bit:#x} of byte {place} of piece {record}, from the end: {is_from_end}"));
    }
}

#[test]
fn records_that_are_left_out_repeated_exchanged_replaced_or_cut_end_the_link() {
    let odd = FIRST + 2;
    is_noticed(
        move |number: usize, bytes: &[u8]| Some(bytes[..if number == odd { 0 } else { bytes.len() }].into()),
        "left out",
    );
    is_noticed(move |number: usize, bytes: &[u8]| Some(bytes.repeat(1 + usize::from(number == odd))), "repeated");
    is_noticed(
        move |number: usize, bytes: &[u8]| Some(bytes[..bytes.len() - usize::from(number == odd)].into()),
        "without its last byte",
    );
    is_noticed(move |number: usize, bytes: &[u8]| Some([bytes, &[0][..usize::from(number == odd)]].concat()), "longer");
    let mut kept = Vec::new();
    is_noticed(
        move |number: usize, bytes: &[u8]| match number == odd {
            true => {
                kept = bytes.to_vec();
                Some(Vec::new())
            }
            false => Some([bytes, &std::mem::take(&mut kept)].concat()),
        },
        "exchanged",
    );
    let mut first = Vec::new();
    is_noticed(
        move |number: usize, bytes: &[u8]| {
            if number == FIRST {
                first = bytes.to_vec();
            }
            Some(if number == odd { first.clone() } else { bytes.to_vec() })
        },
        "an earlier one in its place",
    );
}

/// Nothing comes after it, so a node that believed the length would wait for ever.
#[test]
fn a_changed_length_is_noticed_although_nothing_more_comes() {
    is_noticed(
        move |number: usize, bytes: &[u8]| match number {
            0..FIRST => Some(bytes.to_vec()),
            FIRST => Some([&[bytes[0], bytes[1] ^ 0x40], &bytes[2..]].concat()),
            _ => Some(Vec::new()),
        },
        "a longer length",
    );
}

#[test]
fn a_connection_that_is_cut_in_a_record_is_lost() {
    let cut = |number: usize, bytes: &[u8]| match number {
        0..=FIRST => Some(bytes.to_vec()),
        _ if number == FIRST + 1 => Some(bytes[..bytes.len() / 2].to_vec()),
        _ => None,
    };
    let why = lost_by(cut, 1, "cut");
    assert!(why.contains("closed the connection without leaving"), "{why}");
}

/// The offer is not that of this connection: node 1 says so. What was changed before it makes a stranger of node 0.
#[test]
fn a_greeting_or_an_offer_that_was_changed_makes_no_link() {
    for (piece, place) in [(0, 20), (0, HELLO - 1), (1, 0), (1, PROOF - 1), (2, 0), (2, 31), (2, 32), (2, OFFER - 1)] {
        let what = format!("byte {place} of piece {piece}");
        let flip = move |number: usize, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            if number == piece {
                bytes[place] ^= 1;
            }
            assert!(number < FIRST, "node 0 goes on");
            Some(bytes)
        };
        let why = lost_by(flip, usize::from(piece == 2), &what);
        assert!(piece < 2 || why.contains("to make keys does not prove"), "{what}: {why}");
    }
}

/// Neither sends anything in the clear, and both say what to do.
#[test]
fn a_node_that_protects_and_one_that_does_not_refuse_each_other() {
    for who in [0, 1] {
        let wires = wires(2);
        assert!(wires[who].protect());
        let pair = Pair::new(wires);
        pair.nodes.iter().zip([1, 0]).for_each(|(node, to)| assert_eq!(node.post(to, &frame(0)), Ok(true)));
        while pair.nodes.iter().any(|node| node.losses.lock().is_empty()) {
            pair.nodes.iter().for_each(|node| _ = node.wire.progress(node, true));
        }
        for (me, node) in pair.nodes.iter().enumerate() {
            let why = node.losses.lock()[0].1.0.clone();
            let said = if me == who { "it does not protect what it sends" } else { "it protects what it sends" };
            let parts = ["cannot connect to 127.0.0.2:", said, "set GASNET_SCI_SECURE to the same for all nodes"];
            assert!(parts.iter().all(|part| why.contains(part)), "{why}");
            assert!(node.came() == 0 && node.wire.told.lock().has(Refusal::Protected(me != who)));
        }
    }
}
