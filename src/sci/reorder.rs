//! A test double that delivers stores late and out of order, as SCI does: it wraps an adapter and keeps what is stored
//! in 64-byte lines of its own, which reach memory at random moments in random order.
//!
//! Rules: 1. Stores to one line arrive in their order; a packet arrives whole. 2. Lines arrive in any order, at any
//! call of this node. 3. `barrier`, and unmapping, deliver everything. 4. `progress` delivers something, so whoever
//! polls delivers everything in the end. 5. DMA does not pass the lines: it is ordered by its own completion only.
//! A protocol that forgets a barrier fails under some seed.

#![allow(unsafe_code)] // mapped memory, system calls

use super::delayed::{Store, Waiting};
use super::dma::{DmaTarget, Queue};
use super::random::Random;
use super::{Adapter, Effort, NodeId, Placement, Properties, RemoteMap, RemoteSegment, SciError, SegmentId};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const LINE: usize = 64;

/// Lines that may wait; hardware has a few dozen as well.
const MOST_LINES: usize = 32;

/// The double. Each node needs one of its own, with a seed of its own.
pub(crate) struct Reorder<A: Adapter> {
    inner: A,
    lines: Arc<Lines<A::Remote>>,
}

// By hand: the lines can be shared whatever the maps are.
impl<A: Adapter> Clone for Reorder<A> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), lines: self.lines.clone() }
    }
}

impl<A: Adapter> Reorder<A> {
    /// Wraps `inner`; the same seed and the same calls give the same order.
    pub(crate) fn new(inner: A, seed: u64) -> Self {
        let state = State { random: Random::new(seed), lines: Vec::new() };
        Self { inner, lines: Arc::new(Lines(Mutex::new(state))) }
    }

    /// What it wraps.
    pub(crate) fn inner(&self) -> &A {
        &self.inner
    }
}

impl<A: Adapter> Adapter for Reorder<A>
where
    A::RemoteSegment: DmaTarget,
{
    type Local = A::Local;
    type Remote = ReorderMap<A::Remote>;
    type LocalSegment = A::LocalSegment;
    type RemoteSegment = ReorderSegment<A::RemoteSegment>;
    type Queue = Queue<ReorderSegment<A::RemoteSegment>>;
    type Interrupt = A::Interrupt;
    type RemoteInterrupt = A::RemoteInterrupt;

    fn node(&self) -> NodeId {
        self.inner.node()
    }

    fn properties(&self) -> Properties {
        Properties { orders_stores: false, needs_progress: true, ..self.inner.properties() }
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<A::LocalSegment, SciError> {
        self.inner.create(id, len)
    }

    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<Self::RemoteSegment, SciError> {
        let inner = self.inner.connect(node, id, timeout)?;
        Ok(ReorderSegment { inner, name: (node, id), lines: self.lines.clone(), engine: OnceLock::new() })
    }

    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError> {
        Ok(Queue::new(self.properties(), depth))
    }

    fn interrupt(&self) -> Result<A::Interrupt, SciError> {
        self.inner.interrupt()
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<A::RemoteInterrupt, SciError> {
        self.inner.connect_interrupt(node)
    }

    fn wants_polls(&self) -> bool {
        true
    }

    fn progress(&self, effort: Effort) -> bool {
        self.lines.0.lock().stir();
        self.inner.progress(effort)
    }

    fn hold(&self) -> bool {
        self.inner.hold()
    }

    fn release(&self) {
        self.inner.release();
    }

    fn settle(&self) {
        self.inner.settle();
    }

    fn is_expecting(&self) -> bool {
        self.inner.is_expecting()
    }
}

/// A connected segment.
pub(crate) struct ReorderSegment<S: RemoteSegment> {
    inner: S,
    name: (NodeId, SegmentId),
    lines: Arc<Lines<S::Map>>,
    engine: OnceLock<S::Map>,
}

impl<S: RemoteSegment> RemoteSegment for ReorderSegment<S> {
    type Map = ReorderMap<S::Map>;

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<Self::Map, SciError> {
        let inner = self.inner.map(offset, len, place)?;
        let unmap = Unmap(self.lines.clone());
        Ok(ReorderMap { inner, name: self.name, start: offset, direct: false, unmap: Arc::new(unmap) })
    }
}

impl<S: DmaTarget> DmaTarget for ReorderSegment<S> {
    fn engine_map(&self) -> Result<Self::Map, SciError> {
        let inner = match self.engine.get() {
            Some(map) => map.clone(),
            None => {
                let map = self.inner.engine_map()?;
                self.engine.get_or_init(|| map).clone()
            }
        };
        // Its own, empty lines: its barrier and its end deliver nothing of others (rule 5).
        let none = Arc::new(Lines(Mutex::new(State { random: Random::new(0), lines: Vec::new() })));
        Ok(ReorderMap { inner, name: self.name, start: 0, direct: true, unmap: Arc::new(Unmap(none)) })
    }
}

/// Delivers when the last clone of a map goes (rule 3).
struct Unmap<M: RemoteMap>(Arc<Lines<M>>);

impl<M: RemoteMap> Drop for Unmap<M> {
    fn drop(&mut self) {
        self.0.0.lock().deliver_all();
    }
}

/// A mapped segment whose stores wait in lines.
#[derive(Clone)]
pub(crate) struct ReorderMap<M: RemoteMap> {
    inner: M,
    name: (NodeId, SegmentId),
    /// Bytes from the segment's start.
    start: usize,
    /// Not through the lines (rule 5).
    direct: bool,
    unmap: Arc<Unmap<M>>,
}

impl<M: RemoteMap> ReorderMap<M> {
    fn push(&self, offset: usize, store: Store) {
        let mut state = self.unmap.0.0.lock();
        let line = (self.start + offset) / LINE;
        state.push((self.name, line), Waiting { map: self.inner.clone(), offset, store });
        if self.direct {
            return state.deliver_all();
        }
        state.stir();
    }

    /// Cuts `len` bytes at `offset` at line borders: (offset, length) of each piece.
    fn pieces(offset: usize, len: usize) -> impl Iterator<Item = (usize, usize)> {
        let end = offset + len;
        let mut at = offset;
        std::iter::from_fn(move || {
            let piece = (at, end.min((at / LINE + 1) * LINE) - at);
            at += piece.1;
            (piece.1 > 0).then_some(piece)
        })
    }

    fn write_piece(&self, offset: usize, bytes: Vec<u8>) {
        self.push(offset, Store::Bytes(bytes));
    }
}

impl<M: RemoteMap> RemoteMap for ReorderMap<M> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn store(&self, offset: usize, words: &[u64]) {
        super::pio::words_index(offset, words.len(), self.len());
        for (i, word) in words.iter().enumerate() {
            self.push(offset + i * 8, Store::Words(vec![*word]));
        }
    }

    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        super::pio::packet_index(offset, body.len(), self.len());
        self.push(offset, Store::Packet(head, body.to_vec()));
    }

    fn is_far(&self) -> bool {
        self.inner.is_far()
    }

    fn place(&self) -> Option<*mut u8> {
        None // stores by address would not be seen
    }

    fn hand_over(&self, offset: usize) {
        self.inner.hand_over(offset);
    }

    fn claim_by_prefetch(&self, offset: usize) {
        self.inner.claim_by_prefetch(offset);
    }

    fn claim_by_store(&self, offset: usize) {
        super::pio::packet_index(offset, 0, self.len());
        self.push(offset + 8 * super::pio::LAST_WORD, Store::Words(vec![u64::MAX]));
    }

    fn publish(&self, offset: usize, value: u64) {
        super::pio::word_index(offset, self.len());
        self.push(offset, Store::Publish(value));
    }

    fn publish32(&self, offset: usize, value: u32) {
        super::pio::half_index(offset, self.len());
        self.push(offset, Store::Publish32(value));
    }

    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        super::pio::check_range(offset, len, self.len())?;
        for (at, piece) in Self::pieces(offset, len) {
            let from = src.wrapping_add(at - offset);
            let mut bytes = vec![0; piece];
            // SAFETY: the source is readable by this function's contract; the target was just made.
            unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), piece) };
            self.write_piece(at, bytes);
        }
        Ok(())
    }

    unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.write(offset, src, len) }
    }

    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        super::pio::check_range(offset, len, self.len())?;
        for (at, piece) in Self::pieces(offset, len) {
            self.write_piece(at, vec![byte; piece]);
        }
        Ok(())
    }

    fn barrier(&self) {
        self.unmap.0.0.lock().deliver_all();
        self.inner.barrier();
    }
}

/// Which line of which segment.
type Key = ((NodeId, SegmentId), usize);

struct Lines<M>(Mutex<State<M>>);

struct State<M> {
    random: Random,
    lines: Vec<(Key, VecDeque<Waiting<M>>)>,
}

impl<M: RemoteMap> State<M> {
    fn push(&mut self, key: Key, store: Waiting<M>) {
        match self.lines.iter_mut().find(|line| line.0 == key) {
            Some(line) => line.1.push_back(store),
            None => self.lines.push((key, VecDeque::from([store]))),
        }
    }

    /// Delivers the first stores of up to two lines (rules 1, 2).
    fn stir(&mut self) {
        for _ in 0..self.random.below(3) {
            self.deliver_some();
        }
        while self.lines.len() > MOST_LINES {
            self.deliver_some();
        }
    }

    fn deliver_some(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let at = self.random.below(self.lines.len());
        let count = self.random.below(self.lines[at].1.len()) + 1;
        self.lines[at].1.drain(..count).for_each(Waiting::deliver);
        if self.lines[at].1.is_empty() {
            self.lines.swap_remove(at);
        }
    }

    fn deliver_all(&mut self) {
        while !self.lines.is_empty() {
            self.deliver_some();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sci::heap::{Heap, HeapFabric};
    use crate::sci::{LocalMap, LocalSegment};
    use crate::sync::Ordering;

    /// Sends `payload; [barrier;] flag`, polling the receiver after each step. True when it ever saw the flag without
    /// the payload.
    fn flag_overtakes(seed: u64, barrier: bool) -> bool {
        let fabric = HeapFabric::new(2);
        let node = |n| Reorder::new(Heap::join(&fabric, NodeId(n)).unwrap(), seed);
        let (a, b) = (node(0), node(1));
        let own = a.create(SegmentId(1), 4096).unwrap();
        own.set_available().unwrap();
        let local = own.map(Placement::Anywhere).unwrap();
        let remote = b.connect(NodeId(0), SegmentId(1), Duration::ZERO).unwrap();
        let map = remote.map(0, 4096, Placement::Anywhere).unwrap();
        map.fill(1024, 0xab, 640).unwrap();
        if barrier {
            map.barrier();
        }
        map.publish(0, 1);
        let mut polls = 0;
        // ORDERING: Acquire ↔ the flag's Release.
        while local.word(0).load(Ordering::Acquire) == 0 {
            b.progress(Effort::Glance);
            polls += 1;
            assert!(polls < 10_000, "rule 4");
        }
        (1024..1664).step_by(8).any(|at| local.word(at).load(Ordering::Relaxed) != 0xabab_abab_abab_abab)
    }

    #[test]
    fn a_forgotten_barrier_is_found_and_a_kept_one_is_not() {
        assert!((0..50).any(|seed| flag_overtakes(seed, false)));
        assert!(!(0..50).any(|seed| flag_overtakes(seed, true)));
    }

    #[test]
    fn a_packet_needs_no_barrier() {
        for seed in 0..50 {
            let fabric = HeapFabric::new(1);
            let node = Reorder::new(Heap::join(&fabric, NodeId(0)).unwrap(), seed);
            let own = node.create(SegmentId(1), 4096).unwrap();
            own.set_available().unwrap();
            let local = own.map(Placement::Anywhere).unwrap();
            let remote = node.connect(NodeId(0), SegmentId(1), Duration::ZERO).unwrap();
            let map = remote.map(0, 4096, Placement::Anywhere).unwrap();
            for lap in 1..20 {
                map.packet(64, lap, &[lap; 7]);
                // ORDERING: Acquire ↔ the head's Release.
                let head = local.word(64).load(Ordering::Acquire);
                (72..128).step_by(8).for_each(|at| assert_eq!(local.word(at).load(Ordering::Relaxed), head));
            }
            drop(map);
            assert_eq!(local.word(64).load(Ordering::Relaxed), 19, "rule 3");
        }
    }
}
