//! What comes from other hosts: addresses, greetings, frames and streams of nodes, and of strangers.

#![allow(unsafe_code)] // memory that peers read and write

use super::Input;
use crate::boot::contact::book::Book;
use crate::boot::contact::card::Card;
use crate::boot::contact::greet::{HELLO, Hello, Refusal, VERSIONS};
use crate::boot::contact::greeting::{Greeting, Identity, Step};
use crate::os::lock::Lock;
use crate::os::sys;
use crate::sci::far::apply::Regions;
use crate::sci::far::tcp::head::{HEAD, Head};
use crate::sci::far::tcp::input::{End, From, Input as Receiver};
use crate::sci::far::tcp::link::Link;
use crate::sci::far::wire::{Kept, Lost, Sink};
use crate::sci::heap::{Heap, HeapFabric};
use crate::sci::{Adapter, LocalMap, LocalSegment, NodeId, Placement, SegmentId};
use crate::sync::{AtomicU64, Ordering};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Bytes of a region; a peer may write those between the two others.
const REGION: usize = 4096;
pub(super) const MAY: std::ops::Range<usize> = 1024..3072;
const REGIONS: [SegmentId; 2] = [SegmentId(1), SegmentId(2)];
pub(super) const PEER: u32 = 1;
/// A layout as nodes of this test have it.
const LAYOUT: u64 = 0x99;

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.u8() % 6 {
        0 => frame(input.rest()),
        1 => stream(&mut input),
        2 => greeting(&mut input),
        3 => small(input.rest()),
        5 => super::records::run(&mut input),
        _ => super::datagrams::run(&mut input),
    }
}

/// Regions of a node, and their memory.
pub(super) struct Memory<M> {
    regions: Regions,
    pub(super) maps: Vec<M>,
}

pub(super) fn memory() -> Memory<impl LocalMap> {
    let heap = Heap::join(&HeapFabric::new(2), NodeId(0)).expect("it joins");
    let map = |id| heap.create(id, REGION).and_then(|segment| segment.map(Placement::Anywhere)).expect("memory");
    let memory = Memory { regions: Regions::default(), maps: REGIONS.map(map).into() };
    for (id, map) in REGIONS.into_iter().zip(&memory.maps) {
        let may = |peer, offset, len| peer == PEER && offset >= MAY.start && len <= MAY.end && offset <= MAY.end - len;
        memory.regions.admit(id, map.clone(), Box::new(may));
    }
    memory
}

impl<M: LocalMap> Memory<M> {
    pub(super) fn check(&self) {
        for map in &self.maps {
            for offset in (0..MAY.start).chain(MAY.end..REGION).step_by(8) {
                assert_eq!(map.word(offset).load(Ordering::Relaxed), 0, "a store at {offset}"); // Relaxed: one thread
            }
        }
    }
}

fn frame(bytes: &[u8]) {
    let memory = memory();
    let _ = memory.regions.apply(PEER, bytes);
    memory.check();
    if memory.regions.apply(PEER + 1, bytes).is_ok() {
        assert!(bytes.is_empty(), "a peer that may write nowhere");
    }
}

/// A node that takes frames, and that lets a peer write and read a part of its first region.
pub(super) struct Node<M>(pub(super) Memory<M>);

impl<M: LocalMap> Sink for Node<M> {
    fn frame(&self, peer: u32, frame: &[u8]) {
        let _ = self.0.regions.apply(peer, frame);
    }

    fn place(&self, peer: u32, offset: u64, len: usize, _write: bool) -> Option<*mut u8> {
        self.0.regions.place(REGIONS[0], peer, usize::try_from(offset).ok()?, len)
    }

    fn written(&self, _: u64) {}

    fn lost(&self, _: u32, _: &Lost) {}

    fn left(&self, _: u32) {}
}

/// Two ends of a connection. A pair of sockets of this host has no ports that could run out.
pub(super) fn connection() -> (Arc<TcpStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    ours.set_nonblocking(true).and_then(|()| theirs.set_nonblocking(true)).expect("they can");
    (Arc::new(TcpStream::from(OwnedFd::from(ours))), theirs)
}

/// What the receiving half does with any bytes, some of which come late, while transfers of this node are under way.
fn stream(input: &mut Input<'_>) {
    static DONE: AtomicU64 = AtomicU64::new(0);
    let node = Node(memory());
    let (ours, mut theirs) = connection();
    let link = Lock::new(Link::default());
    link.lock().open(ours.clone(), None).expect("nothing is to be sent");
    // Memory around the landings of reads, of which no more than the landings may change.
    let mut room = vec![0xA5u8; 1024];
    let place = room.as_mut_ptr();
    for _ in 0..input.below(3) {
        let len = 1 + input.below(200);
        let from = node.0.maps[0].ptr(MAY.start);
        let _ = link.lock().read(0, place.wrapping_add(256), len, &DONE);
        let _ = link.lock().write_later(8, from, len, Some(&DONE));
        // SAFETY: the region lives as long as this function.
        let _ = (unsafe { std::ptr::read_volatile(from) }, Kept::UntilDone);
    }
    let mut receiver = Receiver::new(None);
    let mut pieces = vec![input.bytes(), input.bytes()];
    let rest = std::mem::replace(input, Input::new(&[])).rest();
    pieces.push(rest);
    for piece in pieces {
        theirs.write_all(piece).expect("a socket takes a few hundred bytes");
        match receiver.receive(&ours, &From { peer: PEER, link: &link, sink: &node }) {
            Ok(_) => {}
            Err(End::Left) => break,
            Err(End::Lost(why)) => {
                assert!(!why.is_empty());
                break;
            }
        }
        if receiver.owes() {
            let _ = link.lock().acknowledge();
        }
    }
    node.0.check();
    assert!(room[..256].iter().chain(&room[256 + 200..]).all(|byte| *byte == 0xA5), "data outside its place");
}

/// What an acceptor does with any bytes. Nobody here knows the secret.
fn greeting(input: &mut Input<'_>) {
    let who = Identity {
        me: 0,
        nodes: 2,
        layout: LAYOUT,
        secret: sys::random().to_ne_bytes().repeat(2).try_into().expect("16"),
        is_protected: input.u8() & 1 == 1,
    };
    let (ours, mut theirs) = connection();
    let mut greeting = Greeting::accepted(ours, SocketAddr::from(([127, 0, 0, 1], 9)), &who);
    let mut bytes = Hello::new(1, 0, LAYOUT).bytes();
    for _ in 0..input.below(8) {
        bytes[input.below(HELLO)] = input.u8();
    }
    let cut = input.below(HELLO + 1);
    for piece in [&bytes[..cut], &bytes[cut..], input.bytes(), input.bytes()] {
        let _ = theirs.write_all(piece);
        match greeting.step(&who) {
            Step::Wait => {}
            Step::Ended(_) | Step::Unmade(..) | Step::Refused(_) => return,
            Step::Asked(rank) | Step::Sure(rank) => panic!("node {rank} is believed"),
        }
    }
}

/// Heads, HELLOs and addresses come back as they were, or are none.
fn small(bytes: &[u8]) {
    if let Some(head) = bytes.first_chunk::<HEAD>().and_then(Head::read) {
        assert_eq!(head.bytes(), bytes[..HEAD]);
    }
    if let Some(bytes) = bytes.first_chunk::<HELLO>() {
        match Hello::read(bytes, LAYOUT) {
            Ok(hello) => {
                assert!(hello.versions[0] <= VERSIONS[1] && hello.versions[1] >= VERSIONS[0] && hello.layout == LAYOUT);
                assert_eq!(Hello::read(&hello.bytes(), LAYOUT), Ok(hello));
            }
            Err(refusal) => assert!(!matches!(refusal, Refusal::Silent) && !refusal.to_string().is_empty()),
        }
    }
    if let Some(card) = Card::read(bytes) {
        assert_eq!(card.bytes(), bytes);
    }
    // Cards of two machines, as they may come.
    let book =
        Book::read(&[bytes.to_vec(), bytes.get(1..).unwrap_or_default().to_vec(), Card::here(Vec::new()).bytes()]);
    let _ = (book.gap(), book.ways(&Card::here(Vec::new()), 0));
}
