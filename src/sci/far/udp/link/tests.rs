//! How what a link is told becomes packets.

use super::*;
use crate::sci::far::udp::mode::Mode;
use crate::sci::far::wire::Lost;
use std::cell::RefCell;

const LONG: usize = 64 << 10;
const FRAME_LEN: usize = 50;

/// A node: what is written to it, and frames in their order, each with the first byte of what was written before it.
struct Node {
    segment: Vec<u8>,
    frames: RefCell<Vec<(u8, u8)>>,
}

impl Sink for Node {
    fn frame(&self, _: u32, frame: &[u8]) {
        assert_eq!(frame.len(), FRAME_LEN);
        self.frames.borrow_mut().push((frame[0], self.segment[LONG - 1]));
    }
    fn place(&self, _: u32, offset: u64, len: usize, _: bool) -> Option<*mut u8> {
        let at = self.segment.as_ptr().wrapping_add(offset as usize).cast_mut();
        (offset as usize + len <= self.segment.len()).then_some(at)
    }
    fn written(&self, _: u64) {}
    fn lost(&self, _: u32, why: &Lost) {
        panic!("{why:?}");
    }
    fn left(&self, _: u32) {}
}

/// Two links, and what is under way from the first one to the other.
struct Pair {
    links: [Link; 2],
    nodes: [Node; 2],
    under_way: VecDeque<Vec<u8>>,
    now: u64,
}

impl Pair {
    /// They have found out how long datagrams may be.
    fn new(mode: Mode) -> Pair {
        let terms = |me| Terms {
            mode,
            job: 1,
            me,
            peer: 1 - me,
            incarnation: me,
            first: 0,
            seeds: if me == 0 { [1, 2] } else { [2, 1] },
            window: mode.window as u16,
            most: 16_320,
            dead: 10_000_000,
            contact: 60_000_000,
        };
        let node = || Node { segment: vec![0; LONG], frames: RefCell::default() };
        let links = [0, 1].map(|me| Link::new(terms(me), 0));
        let mut pair = Pair { links, nodes: [node(), node()], under_way: VecDeque::new(), now: 0 };
        while pair.links[0].pipe.capacity() < 16_320 || !pair.links[0].pipe.is_open() {
            pair.now += 100_000;
            pair.send();
            pair.arrive(0);
        }
        pair
    }

    /// The first one sends what it may send now. Returns the sizes of datagrams.
    fn send(&mut self) -> Vec<usize> {
        let all = datagrams(&mut self.links[0], self.now);
        let sizes = all.iter().map(Vec::len).collect();
        self.under_way.extend(all);
        sizes
    }

    /// What was sent arrives and is answered, but the last `left` datagrams.
    fn arrive(&mut self, left: usize) {
        while self.under_way.len() > left {
            let mut datagram = self.under_way.pop_front().expect("one is left");
            self.links[1].on_datagram(self.now, &mut datagram, 0, &self.nodes[1]).expect("a datagram of ours");
        }
        for mut datagram in datagrams(&mut self.links[1], self.now) {
            self.links[0].on_datagram(self.now, &mut datagram, 1, &self.nodes[0]).expect("a datagram of ours");
        }
    }
}

fn datagrams(link: &mut Link, now: u64) -> Vec<Vec<u8>> {
    link.pipe.on_timer(now);
    link.pipe.begin(now, || 0);
    let mut all = Vec::new();
    while let Some(datagram) = link.pipe.next(now) {
        let mut bytes = Vec::new();
        datagram.put(&mut bytes);
        all.push(bytes);
    }
    all
}

/// A call of the system takes datagrams of one size, and only the last one may be shorter. A frame alone would be much shorter.
#[test]
fn frames_go_with_the_ends_of_the_writes_that_they_tell_of_in_packets_of_one_size() {
    const COUNT: u8 = 40;
    let mut pair = Pair::new(Mode::NORMAL);
    let mut sizes = Vec::new();
    for number in 1..=COUNT {
        pair.now += 10;
        assert!(pair.links[0].write_in_order(0, vec![number; LONG].as_ptr(), LONG, false, None));
        sizes.extend(pair.send());
        assert!(pair.links[0].post(&[number; FRAME_LEN]));
        sizes.extend(pair.send());
        pair.arrive(15);
    }
    // The first ones find nothing under way, and wait for nothing.
    let flood = &sizes[3 * LONG.div_ceil(16_320)..];
    assert!(flood.iter().all(|size| *size <= flood[0] && *size + FOLLOWER > flood[0]), "{flood:?}");
    while pair.nodes[1].frames.borrow().len() < usize::from(COUNT) {
        pair.now += 100_000;
        pair.send();
        pair.arrive(0);
    }
    let all: Vec<(u8, u8)> = (1..=COUNT).map(|number| (number, number)).collect();
    assert_eq!(*pair.nodes[1].frames.borrow(), all);
    assert!(pair.nodes[1].segment.iter().all(|byte| *byte == COUNT));
}

/// The items of a datagram that is not protected: their kinds and lengths.
fn items(datagram: &[u8]) -> Vec<(u8, usize)> {
    let (mut all, mut left) = (Vec::new(), &datagram[HEAD..]);
    while let [kind, _, low, high, ..] = left {
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        let size = len + if [WRITE, LOOSE].contains(kind) { WRITE_HEAD } else { FRAME_HEAD };
        all.push((*kind, len));
        left = &left[size..];
    }
    all
}

/// What goes of a write, and of a frame behind it.
fn of_a_write(mode: Mode, len: usize, done: Done) -> Vec<Vec<(u8, usize)>> {
    let mut pair = Pair::new(mode);
    assert!(pair.links[0].write_in_order(0, vec![1; len].as_ptr(), len, false, done));
    assert!(pair.links[0].post(&[1; FRAME_LEN]));
    pair.now += 1;
    datagrams(&mut pair.links[0], pair.now).iter().map(|datagram| items(datagram)).collect()
}

const FRAME_ALONE: (u8, usize) = (FRAME, FRAME_LEN);

/// Seed mode knows neither room for frames behind writes nor items that say nothing: each packet has one piece, and all have one size.
#[test]
fn seed_mode_sends_what_it_always_did() {
    let pieces = LONG.div_ceil(16_320 - WRITE_HEAD);
    let each = LONG.div_ceil(pieces);
    let mut all = vec![vec![(LOOSE, each)]; pieces];
    all.push(vec![FRAME_ALONE]);
    assert_eq!(of_a_write(Mode::SEED, LONG, None), all);
    let mut pair = Pair::new(Mode::SEED);
    for number in 1..=10 {
        assert!(pair.links[0].write_in_order(0, vec![number; LONG].as_ptr(), LONG, false, None));
        assert!(pair.links[0].post(&[number; FRAME_LEN]));
    }
    let (mut most, mut gone) = (0, Vec::new());
    while !pair.links[0].is_clear() {
        pair.now += 100;
        let sent = datagrams(&mut pair.links[0], pair.now);
        gone.extend(sent.iter().map(|datagram| items(datagram)));
        most = most.max(sent.len());
        pair.under_way.extend(sent);
        pair.arrive(0);
    }
    assert_eq!(most, 8, "packets of a window");
    let kinds: Vec<Vec<u8>> = gone.iter().map(|items| items.iter().map(|(kind, _)| *kind).collect()).collect();
    assert!(kinds.iter().all(|kinds| kinds.len() == 1 && [WRITE, LOOSE, FRAME].contains(&kinds[0])), "{kinds:?}");
    assert_eq!(pair.nodes[1].frames.borrow().len(), 10);
}

/// A lost packet holds up no bytes that anybody may look at before those that follow: neither those of a put, nor a Long in one piece.
#[test]
fn only_the_end_of_a_long_of_several_pieces_waits_for_what_was_sent_before() {
    static DONE: AtomicU64 = AtomicU64::new(0);
    let kinds = |all: Vec<Vec<(u8, usize)>>| all.concat().iter().map(|(kind, _)| *kind).collect::<Vec<u8>>();
    for done in [None, Some(&DONE)] {
        assert_eq!(kinds(of_a_write(Mode::NORMAL, 8_000, done)), [LOOSE, FRAME]);
    }
    assert_eq!(kinds(of_a_write(Mode::NORMAL, 40_000, Some(&DONE))), [LOOSE, LOOSE, LOOSE, FRAME]);
    let long = of_a_write(Mode::NORMAL, 40_000, None);
    assert_eq!(kinds(long.clone()), [LOOSE, LOOSE, WRITE, FRAME]);
    assert_eq!(long[2].len(), 2, "the frame goes with the end");
    let mut pair = Pair::new(Mode::NORMAL);
    for len in [8_000, 40_000] {
        assert!(pair.links[0].post(&[7; FRAME_LEN]));
        pair.now += 1;
        pair.send();
        pair.under_way.pop_back(); // it is lost
        let done = (len > 8_000).then_some(&DONE);
        assert!(pair.links[0].write_in_order((LONG - len) as u64, vec![9; len].as_ptr(), len, false, done));
        pair.now += 1;
        pair.send();
        pair.arrive(0);
        assert!(pair.nodes[1].segment[LONG - len..].iter().all(|byte| *byte == 9), "{len} bytes are there");
        pair.nodes[1].segment.fill(0);
        while !pair.links[0].is_clear() {
            pair.now += 100_000;
            pair.send();
            pair.arrive(0);
        }
        pair.nodes[1].segment.fill(0);
    }
}
