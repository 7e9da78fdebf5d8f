//! What every wire must do, whatever it runs over: the rules at the head of `wire`, tried on nodes of one process.
//!
//! A wire's tests make a [`Pair`] and run [`all`] on it. Nodes 0 and 1 are moved by the same thread, so a wire that waits for another
//! node outside of [`Wire::write`] with [`Kept::Now`] hangs here; for that one the other node gets a thread of its own.

#![allow(unsafe_code)] // memory of the test
#![allow(missing_docs)] // tests

mod memory;

use super::wire::{ADDRESS, Counter, Done, HEAP, Kept, Lost, Readable, Sink, Wire, Writable, area_of, offset_in};
use crate::sync::{AtomicU64, Ordering};
use memory::{Memory, pattern, same};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Bytes of a test's segment.
pub const SEGMENT: usize = 1 << 20;
/// A wire that does nothing for so long has lost something. See also [`Pair::with_patience`].
const PATIENCE: Duration = Duration::from_secs(60);
/// Nothing that a test waits for takes so long, whatever else the machine does.
const NEVER: Duration = Duration::from_secs(300);

/// One node: its wire, its segment, what came.
pub struct Node<W> {
    pub wire: W,
    pub memory: Memory,
    /// Its second area.
    heap: Memory,
    frames: Mutex<Vec<(u32, Vec<u8>)>>,
    pub losses: Mutex<Vec<(u32, Lost)>>,
    pub left: Mutex<Vec<u32>>,
    /// Where writes had their place that are not over.
    pub writes: Mutex<Vec<u64>>,
    /// With each frame: word 0 and the last word of the segment at that time.
    words: Mutex<Vec<(u64, u64)>>,
}

impl<W: Wire> Node<W> {
    /// Posts a frame, with the room in front that the wire wants.
    pub fn post(&self, to: u32, frame: &[u8]) -> Result<bool, Lost> {
        let mut whole = vec![0; self.wire.headroom()];
        whole.extend_from_slice(frame);
        self.wire.post(to, &mut whole)
    }

    /// Lets this node work alone until `ready` says so.
    pub fn until(&self, what: &str, mut ready: impl FnMut() -> bool) {
        let start = Instant::now();
        while !ready() {
            self.wire.progress(self, true);
            assert!(start.elapsed() < NEVER, "{what}: it does not come");
        }
    }

    /// Lets this node work until it has lost a peer. Says why.
    pub fn loss(&self) -> String {
        self.until("a loss", || !self.losses.lock().is_empty());
        self.losses.lock()[0].1.0.clone()
    }

    /// How many frames have come since the last call of [`Node::frames`].
    pub fn came(&self) -> usize {
        self.frames.lock().len()
    }

    /// The frames that have come since the last call.
    pub fn frames(&self) -> Vec<(u32, Vec<u8>)> {
        self.words.lock().clear();
        std::mem::take(&mut self.frames.lock())
    }
}

impl<W: Wire> Sink for Node<W> {
    fn frame(&self, peer: u32, frame: &[u8]) {
        self.frames.lock().push((peer, frame.to_vec()));
        self.words.lock().push((self.memory.word(0), self.memory.word(SEGMENT / 8 - 1)));
    }

    fn place(&self, _: u32, offset: u64, len: usize, write: bool) -> Option<*mut u8> {
        let (area, at) = area_of(offset).filter(|(_, at)| at.checked_add(len).is_some_and(|end| end <= SEGMENT))?;
        if write {
            self.writes.lock().push(offset);
        }
        Some([&self.memory, &self.heap][area].base().wrapping_add(at))
    }

    fn written(&self, offset: u64) {
        let mut writes = self.writes.lock();
        let i = writes.iter().position(|begun| *begun == offset).expect("a write that has begun");
        writes.swap_remove(i);
    }

    fn lost(&self, peer: u32, why: &Lost) {
        self.losses.lock().push((peer, why.clone()));
    }

    fn left(&self, peer: u32) {
        self.left.lock().push(peer);
    }
}

/// Nodes of one job whose wires know each other.
pub struct Pair<W> {
    pub nodes: Vec<Node<W>>,
    patience: Duration,
}

impl<W: Wire> Pair<W> {
    pub fn new(wires: Vec<W>) -> Pair<W> {
        let addresses = wires.iter().map(Wire::address).collect();
        Pair::with_addresses(wires, addresses)
    }

    /// The nodes reach each other at these addresses.
    pub fn with_addresses(wires: Vec<W>, addresses: Vec<Vec<u8>>) -> Pair<W> {
        assert!(addresses.iter().all(|address| address.len() <= ADDRESS));
        let nodes: Vec<Node<W>> = wires
            .into_iter()
            .map(|wire| Node {
                wire,
                memory: Memory::new(),
                heap: Memory::new(),
                frames: Mutex::default(),
                losses: Mutex::default(),
                left: Mutex::default(),
                writes: Mutex::default(),
                words: Mutex::default(),
            })
            .collect();
        for node in &nodes {
            node.wire.set_peers(addresses.clone());
        }
        Pair { nodes, patience: PATIENCE }
    }

    /// For a wire that is meant to lose something.
    pub fn with_patience(self, patience: Duration) -> Pair<W> {
        Pair { patience, ..self }
    }

    /// As gasnet_attach does, some time after the first frames.
    pub fn set_segments(&self) {
        for node in &self.nodes {
            for (area, memory) in [&node.memory, &node.heap].into_iter().enumerate() {
                // SAFETY: leaked memory.
                unsafe { node.wire.set_area(area, memory.base(), SEGMENT) }.expect("an area");
            }
        }
    }

    /// Lets every node work until `ready` says so.
    pub fn until(&self, what: &str, mut ready: impl FnMut() -> bool) {
        let mut last = Instant::now();
        while !ready() {
            for (rank, node) in self.nodes.iter().enumerate() {
                if node.wire.progress(node, true) {
                    last = Instant::now();
                }
                let losses = node.losses.lock();
                assert!(losses.is_empty(), "{what}: node {rank} lost {losses:?}");
            }
            assert!(last.elapsed() < self.patience, "{what}: nothing comes any more");
        }
    }

    pub fn post(&self, from: usize, to: u32, frame: &[u8]) {
        self.until("post", || self.nodes[from].post(to, frame).expect("no loss"));
    }

    pub fn frames(&self, at: usize) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.nodes[at].frames.lock())
    }

    pub fn came(&self, at: usize) -> usize {
        self.nodes[at].came()
    }

    pub fn write(&self, from: usize, to: u32, offset: usize, bytes: Readable, kept: Kept, done: Done) {
        let wire = &self.nodes[from].wire;
        // SAFETY: callers keep the bytes.
        let mut write = || unsafe { wire.write(to, offset as u64, bytes, kept, done) }.expect("no loss");
        self.until("write", &mut write);
    }

    fn read(&self, from: u32, at: usize, offset: usize, bytes: Writable, done: Counter) {
        let wire = &self.nodes[at].wire;
        // SAFETY: callers keep the bytes.
        self.until("read", || unsafe { wire.read(from, offset as u64, bytes, done) }.expect("no loss"));
    }
}

pub fn counter() -> &'static AtomicU64 {
    Box::leak(Box::new(AtomicU64::new(0)))
}

pub fn count(of: &AtomicU64) -> u64 {
    of.load(Ordering::Acquire) // ORDERING: ↔ the Release with which the wire counts
}

/// Bytes of transfers: small ones, those around limits of providers and of this library, long ones.
const SIZES: [usize; 18] =
    [1, 7, 8, 63, 64, 65, 127, 129, 1000, 4095, 4097, 8192, 16_383, 16_385, 65_536, 262_144, 262_145, SEGMENT - 4096];

/// Everything, on two nodes that have no segments yet.
pub fn all<W: Wire>(pair: &Pair<W>) {
    what_it_says_of_itself_agrees(pair);
    frames_come_whole_and_in_order(pair);
    pair.set_segments();
    a_write_brings_its_bytes_and_no_others(pair);
    a_read_brings_its_bytes_and_no_others(pair);
    each_area_has_its_own_bytes(pair);
    a_kept_now_source_is_free_at_once(pair);
    a_frame_comes_after_the_bytes_written_before_it(pair);
    floods_of_writes_come_whole_and_their_sources_are_free(pair);
    floods_both_ways_come_whole_and_in_order(pair);
    both_may_write_with_kept_now_at_once(pair);
    what_is_idle_is_not_busy(pair);
    assert!(pair.nodes.iter().all(|node| node.writes.lock().is_empty()), "each write that had a place is over");
}

/// What a wire says of itself fits together, also if it is one around another.
pub fn what_it_says_of_itself_agrees<W: Wire>(pair: &Pair<W>) {
    for Node { wire, .. } in &pair.nodes {
        let is_protected = wire.name().contains("protected");
        assert!(!is_protected || wire.protect(), "{}: it forgets to pass it on", wire.name());
        let counters: Vec<&str> = wire.counters().iter().map(|(name, _)| *name).collect();
        let names: HashSet<&str> = counters.iter().copied().collect();
        assert_eq!(names.len(), counters.len(), "each counter has a name of its own");
        assert!(!wire.grace().is_zero(), "supervisors judge first");
    }
}

/// Rule 1, for every length from 1 to a few hundred and some up to the longest, both ways.
pub fn frames_come_whole_and_in_order<W: Wire>(pair: &Pair<W>) {
    let longest = pair.nodes[0].wire.frame_max();
    let lengths: Vec<usize> = (1..=300)
        .chain([511, 512, 513, 4000, 4096, 5000, longest - 1, longest])
        .filter(|len| *len <= longest)
        .collect();
    for (from, to) in [(0usize, 1usize), (1, 0)] {
        for (seed, len) in lengths.iter().enumerate() {
            pair.post(from, to as u32, pattern(seed, *len));
        }
        pair.until("frames", || pair.came(to) == lengths.len());
        for (seed, (peer, frame)) in pair.frames(to).iter().enumerate() {
            assert_eq!(*peer, from as u32);
            same(frame, pattern(seed, lengths[seed]), &format!("frame {seed}"));
        }
    }
}

pub fn a_write_brings_its_bytes_and_no_others<W: Wire>(pair: &Pair<W>) {
    let done = counter();
    for (turn, len) in SIZES.iter().copied().enumerate() {
        let offset = 1 + turn * 37;
        pair.nodes[1].memory.fill(0xEE);
        let source = pattern(turn, len);
        pair.write(0, 1, offset, (source.as_ptr(), len), Kept::UntilDone, Some(done));
        pair.until("a write", || count(done) == turn as u64 + 1);
        let mut wanted = vec![0xEE; SEGMENT];
        wanted[offset..offset + len].copy_from_slice(source);
        same(&pair.nodes[1].memory.bytes(0, SEGMENT), &wanted, &format!("a write of {len} at {offset}"));
    }
}

pub fn a_read_brings_its_bytes_and_no_others<W: Wire>(pair: &Pair<W>) {
    let done = counter();
    pair.nodes[0].memory.fill_with_pattern(99);
    for (turn, len) in SIZES.iter().copied().enumerate() {
        let offset = 3 + turn * 41;
        let mut room = vec![0x55u8; len + 16];
        pair.read(0, 1, offset, (room.as_mut_ptr().wrapping_add(8), len), done);
        pair.until("a read", || count(done) == turn as u64 + 1);
        assert!(room[..8].iter().chain(&room[len + 8..]).all(|byte| *byte == 0x55), "around a read of {len}");
        same(&room[8..8 + len], pattern(99 + offset, len), &format!("a read of {len} at {offset}"));
    }
    let len = 4096;
    let room = vec![0u8; len * 64];
    for i in 0..64 {
        pair.read(0, 1, i * len, (room.as_ptr().cast_mut().wrapping_add(i * len), len), done);
    }
    pair.until("reads", || count(done) == SIZES.len() as u64 + 64);
    same(&room, pattern(99, room.len()), "64 reads at once");
}

pub fn each_area_has_its_own_bytes<W: Wire>(pair: &Pair<W>) {
    const LEN: usize = 100_000;
    let (done, target) = (counter(), &pair.nodes[1]);
    target.memory.fill_with_pattern(1);
    target.heap.fill(0);
    let source = pattern(2, LEN);
    let there = offset_in(HEAP, 72) as usize;
    pair.write(0, 1, there, (source.as_ptr(), LEN), Kept::UntilDone, Some(done));
    pair.until("a write to the second area", || count(done) == 1);
    same(&target.memory.bytes(0, SEGMENT), pattern(1, SEGMENT), "the first area");
    let mut wanted = vec![0; SEGMENT];
    wanted[72..72 + LEN].copy_from_slice(source);
    same(&target.heap.bytes(0, SEGMENT), &wanted, "the second area");
}

/// The source is overwritten as soon as the call returns. The other node has a thread, because the call may need it.
pub fn a_kept_now_source_is_free_at_once<W: Wire>(pair: &Pair<W>) {
    let done = counter();
    let mut counted = 0;
    for (turn, len) in SIZES.iter().copied().enumerate() {
        for with_count in [true, false] {
            pair.nodes[1].memory.fill(0);
            let wanted: Vec<u8> = pattern(turn, len).iter().map(|byte| byte | 1).collect();
            let mut source = wanted.clone();
            with_other(pair, || {
                pair.write_here(len, &source, Kept::Now, with_count.then_some(done));
                source.fill(0);
            });
            counted += u64::from(with_count);
            pair.until("a write", || count(done) == counted);
            pair.post(0, 1, b"behind");
            pair.until("the frame", || pair.came(1) == 1);
            pair.frames(1);
            same(&pair.nodes[1].memory.bytes(0, len), &wanted, &format!("a write of {len}"));
        }
    }
}

/// Runs `work` on this thread while another thread moves node 1.
fn with_other<W: Wire>(pair: &Pair<W>, work: impl FnOnce()) {
    /// The other thread ends although `work` panics: else the test would wait for it instead of failing.
    struct Stop<'a>(&'a AtomicU64);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(1, Ordering::Release); // ORDERING: ↔ the Acquire in `count`
        }
    }
    let stop = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while count(&stop) == 0 {
                pair.nodes[1].wire.progress(&pair.nodes[1], false);
                std::thread::yield_now();
            }
        });
        let _stop = Stop(&stop);
        work();
    });
}

impl<W: Wire> Pair<W> {
    /// Node 0 writes to the beginning of node 1's segment, and moves nobody but itself.
    fn write_here(&self, len: usize, source: &[u8], kept: Kept, done: Done) {
        let node = &self.nodes[0];
        let start = Instant::now();
        // SAFETY: the source lives until the call returns (Kept::Now).
        while !unsafe { node.wire.write(1, 0, (source.as_ptr(), len), kept, done) }.expect("no loss") {
            node.wire.progress(node, false);
            assert!(start.elapsed() < PATIENCE, "no room for a write");
        }
    }
}

/// Rule 2: 64 KiB, then a frame, 500 times; the frame finds the first and the last word of its write, or of a later one.
pub fn a_frame_comes_after_the_bytes_written_before_it<W: Wire>(pair: &Pair<W>) {
    const ROUNDS: u64 = 500;
    const WORDS: usize = 8192;
    let done = counter();
    pair.nodes[1].memory.fill(0);
    pair.nodes[1].words.lock().clear();
    let sources: Vec<Vec<u64>> = (1..=ROUNDS).map(|round| vec![round; WORDS]).collect();
    let last = SEGMENT - WORDS * 8;
    for (round, source) in (1..=ROUNDS).zip(&sources) {
        let bytes = (source.as_ptr().cast(), WORDS * 8);
        let count = (round % 3 == 0).then_some(done);
        // Its first bytes to the beginning of the segment in one round, its last bytes to the end in the next.
        let kept = if round % 4 < 2 { Kept::Now } else { Kept::InOrder };
        pair.write(0, 1, if round % 2 == 0 { last } else { 0 }, bytes, kept, count);
        pair.post(0, 1, &round.to_le_bytes());
    }
    pair.until("frames", || pair.came(1) == ROUNDS as usize && count(done) == ROUNDS / 3);
    let frames = pair.frames(1);
    for (i, (first, end)) in pair.nodes[1].words.lock().drain(..).enumerate() {
        let round = i as u64 + 1;
        assert_eq!(frames[i].1, round.to_le_bytes());
        let (odd, even) = if round % 2 == 1 { (round, round - 1) } else { (round - 1, round) };
        assert!(first >= odd && end >= even, "round {round} found {first} and {end}");
    }
    pair.until("an idle wire", || !pair.nodes[0].wire.is_busy());
}

/// Rule 2 and [`Kept::Now`] in floods, where a wire may keep the end of a write back: each write goes to a place of its own, from the
/// same memory. Some are counted, some follow a frame, some a small write. What is behind the last one comes although nothing follows.
pub fn floods_of_writes_come_whole_and_their_sources_are_free<W: Wire>(pair: &Pair<W>) {
    const WRITES: usize = 300;
    const PLACES: usize = 15;
    const PLACE: usize = SEGMENT / PLACES;
    let (done, small) = (counter(), [0x77u8; 8]);
    let len = |number: usize| 65_000 + number * 7919 % 4000;
    let node = &pair.nodes[0];
    pair.nodes[1].memory.fill(0);
    let mut source = vec![0u8; PLACE];
    for end in [WRITES - 1, WRITES] {
        let (counted, before) = (end as u64, count(done));
        for number in 0..end {
            source[..len(number)].copy_from_slice(pattern(number, len(number)));
            let frame = (number as u64).to_le_bytes();
            let mut framed = [vec![0; node.wire.headroom()], frame.to_vec()].concat();
            match number % 4 {
                1 => pair.until("room", || node.wire.post_before_write(1, &mut framed).expect("no loss")),
                2 => pair.write(0, 1, SEGMENT - 8, (small.as_ptr(), 8), Kept::UntilDone, Some(done)),
                _ => pair.until("room", || node.wire.post(1, &mut framed).expect("no loss")),
            }
            let counts = (number % 4 != 2).then_some(done); // with the small ones `end` in all
            pair.write(0, 1, number % PLACES * PLACE, (source.as_ptr(), len(number)), Kept::Now, counts);
        }
        let framed = (0..end).filter(|number| number % 4 != 2).count();
        pair.until("writes and frames", || count(done) == before + counted && pair.came(1) == framed);
        let frames: Vec<u64> =
            pair.frames(1).iter().map(|(_, frame)| u64::from_le_bytes(*frame.first_chunk().unwrap())).collect();
        let expected: Vec<u64> = (0..end as u64).filter(|number| number % 4 != 2).collect();
        assert_eq!(frames, expected);
        for number in end - PLACES..end {
            let place = number % PLACES * PLACE;
            let wanted = pattern(number, len(number));
            let is_there = || pair.nodes[1].memory.bytes(place, wanted.len()) == wanted;
            pair.until("the end of a write that nobody counts", is_there);
        }
    }
    pair.nodes[1].words.lock().clear();
}

/// More than any queue takes, from both at once. No node moves while it has room.
pub fn floods_both_ways_come_whole_and_in_order<W: Wire>(pair: &Pair<W>) {
    const FRAMES: usize = 3000;
    let longest = pair.nodes[0].wire.frame_max();
    let frame = |from: usize, number: usize| -> Vec<u8> {
        let mut frame = vec![pattern(from + number, 1)[0]; 8 + number * 7919 % (longest - 8)];
        frame[..8].copy_from_slice(&(number as u64).to_le_bytes());
        frame
    };
    let mut sent = [0, 0];
    pair.until("a flood", || {
        for from in [0, 1] {
            while sent[from] < FRAMES
                && pair.nodes[from].post(1 - from as u32, &frame(from, sent[from])).expect("no loss")
            {
                sent[from] += 1;
            }
        }
        pair.came(0) + pair.came(1) == 2 * FRAMES
    });
    for at in [0, 1] {
        for (number, (peer, got)) in pair.frames(at).into_iter().enumerate() {
            assert_eq!(peer, 1 - at as u32);
            assert!(got == frame(1 - at, number), "frame {number} to {at}");
        }
        pair.nodes[at].words.lock().clear();
    }
}

/// Two nodes that both wait for room in a write let each other's writes in.
pub fn both_may_write_with_kept_now_at_once<W: Wire>(pair: &Pair<W>) {
    let len = SEGMENT;
    let finished = &AtomicU64::new(0);
    std::thread::scope(|scope| {
        for me in [0usize, 1] {
            scope.spawn(move || {
                let node = &pair.nodes[me];
                let done = counter();
                let start = Instant::now();
                for round in 1..=4u64 {
                    let source = vec![me as u8 + round as u8; len];
                    // SAFETY: the source lives until the call returns.
                    while !unsafe { node.wire.write(1 - me as u32, 0, (source.as_ptr(), len), Kept::Now, Some(done)) }
                        .expect("no loss")
                    {
                        node.wire.progress(node, false);
                        assert!(start.elapsed() < PATIENCE, "no room");
                    }
                }
                while count(done) < 4 {
                    node.wire.progress(node, false);
                    assert!(start.elapsed() < PATIENCE, "not done");
                }
                finished.fetch_add(1, Ordering::Release); // ORDERING: ↔ the Acquire in `count`
                node.until("the other node's writes", || count(finished) == 2);
            });
        }
    });
    for me in [0, 1] {
        same(&pair.nodes[me].memory.bytes(0, len), &vec![1 - me as u8 + 4; len], &format!("the last write to {me}"));
    }
}

pub fn what_is_idle_is_not_busy<W: Wire>(pair: &Pair<W>) {
    pair.until("idle wires", || pair.nodes.iter().all(|node| !node.wire.is_busy()));
}
