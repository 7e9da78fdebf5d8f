//! A test double of an adapter to another host. No memory of a peer is mapped. Stores travel as frames, and the
//! *target* puts them in place when it calls `progress`: late, and a few at a time.
//!
//! Rules:
//!
//! 1. Frames of one sender to one target arrive whole and in their order, as a byte stream delivers them. Frames of
//!    different senders arrive in any order.
//! 2. Only the target's `progress` puts frames in place. A node that does not poll gets nothing.
//! 3. No call of the sender waits, and none loads from a peer's memory.
//! 4. Stores of a node to its own memory are there at once.
//!
//! An engine fails here if it needs a peer's memory mapped, looks before it has called `progress`, or waits without
//! calling it.

#![allow(unsafe_code)] // the bytes of a payload

use crate::sci::delayed::{Store, Waiting};
use crate::sci::dma::{DmaTarget, Queue};
use crate::sci::reorder::Random;
use crate::sci::{Adapter, Effort, NodeId, Placement, Properties, RemoteMap, RemoteSegment, SciError, SegmentId};
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The most frames that one call of `progress` puts in place for each sender.
const AT_ONCE: usize = 6;

type Frames<M> = Mutex<VecDeque<Waiting<M>>>;

/// The frames that are under way, by target and by sender.
pub(crate) struct Wires<M: RemoteMap>(Vec<Vec<Frames<M>>>);

impl<M: RemoteMap> Wires<M> {
    fn new(nodes: usize) -> Wires<M> {
        Wires((0..nodes).map(|_| (0..nodes).map(|_| Frames::default()).collect()).collect())
    }
}

/// The adapter of one node.
pub(crate) struct Far<A: Adapter> {
    inner: A,
    wires: Arc<Wires<A::Remote>>,
    random: Arc<Mutex<Random>>,
    /// The last call of `progress` has left frames. Like a network, it knows of none before it has looked.
    expecting: Arc<AtomicBool>,
    /// Polls of which it was told that they had found something ([`Effort::Found`]).
    pub(crate) found: Arc<AtomicU32>,
}

// Not derived, because the wires can be shared even if the maps cannot be cloned.
impl<A: Adapter> Clone for Far<A> {
    fn clone(&self) -> Self {
        Far {
            inner: self.inner.clone(),
            wires: self.wires.clone(),
            random: self.random.clone(),
            expecting: self.expecting.clone(),
            found: self.found.clone(),
        }
    }
}

impl<A: Adapter> Far<A> {
    /// Wraps the nodes of one fabric. The same seed gives the same delays.
    pub(crate) fn wrap(inner: Vec<A>, seed: u64) -> Vec<Far<A>> {
        let wires = Arc::new(Wires::new(inner.len()));
        let node = |(n, inner)| {
            let random = Arc::new(Mutex::new(Random::new(seed << 16 | n as u64)));
            Far { inner, wires: wires.clone(), random, expecting: Arc::default(), found: Arc::default() }
        };
        inner.into_iter().enumerate().map(node).collect()
    }
}

impl<A: Adapter> Adapter for Far<A>
where
    A::RemoteSegment: DmaTarget,
{
    type Local = A::Local;
    type Remote = FarMap<A::Remote>;
    type LocalSegment = A::LocalSegment;
    type RemoteSegment = FarSegment<A::RemoteSegment>;
    type Queue = Queue<FarSegment<A::RemoteSegment>>;
    type Interrupt = A::Interrupt;
    type RemoteInterrupt = A::RemoteInterrupt;

    fn node(&self) -> NodeId {
        self.inner.node()
    }

    fn properties(&self) -> Properties {
        let inner = self.inner.properties();
        Properties { maps_remote: false, orders_stores: false, needs_progress: true, allows_shortcuts: false, ..inner }
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<A::LocalSegment, SciError> {
        self.inner.create(id, len)
    }

    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<Self::RemoteSegment, SciError> {
        let inner = self.inner.connect(node, id, timeout)?;
        Ok(FarSegment { inner, wires: self.wires.clone(), from: self.node(), to: node })
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

    fn is_expecting(&self) -> bool {
        self.expecting.load(Ordering::Relaxed) // Relaxed: a hint
    }

    fn progress(&self, effort: Effort) -> bool {
        if let Effort::Found(polls) = effort {
            self.found.fetch_add(polls, Ordering::Relaxed); // Relaxed: a count
        }
        let (mut came, mut left) = (false, false);
        for frames in &self.wires.0[self.node().0 as usize] {
            let count = self.random.lock().below(AT_ONCE + 1);
            let due: Vec<_> = {
                let mut frames = frames.lock();
                let count = count.min(frames.len());
                let due = frames.drain(..count).collect();
                left |= !frames.is_empty();
                due
            };
            came |= !due.is_empty();
            due.into_iter().for_each(Waiting::deliver);
        }
        self.expecting.store(left, Ordering::Relaxed); // Relaxed: a hint
        self.inner.progress(effort) || came
    }
}

/// A connected segment.
pub(crate) struct FarSegment<S: RemoteSegment> {
    inner: S,
    wires: Arc<Wires<S::Map>>,
    from: NodeId,
    to: NodeId,
}

impl<S: RemoteSegment> FarSegment<S> {
    fn through(&self, inner: S::Map) -> FarMap<S::Map> {
        FarMap { inner, wires: self.wires.clone(), from: self.from, to: self.to }
    }
}

impl<S: RemoteSegment> RemoteSegment for FarSegment<S> {
    type Map = FarMap<S::Map>;

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<Self::Map, SciError> {
        Ok(self.through(self.inner.map(offset, len, place)?))
    }
}

// Bytes that the DMA queue moves are framed too, in order with all else. So a slot that announces bytes comes behind
// them.
impl<S: DmaTarget> DmaTarget for FarSegment<S> {
    fn engine_map(&self) -> Result<Self::Map, SciError> {
        Ok(self.through(self.inner.engine_map()?))
    }
}

/// Takes the place of a mapped segment and records stores.
#[derive(Clone)]
pub(crate) struct FarMap<M: RemoteMap> {
    inner: M,
    wires: Arc<Wires<M>>,
    from: NodeId,
    to: NodeId,
}

impl<M: RemoteMap> FarMap<M> {
    fn send(&self, offset: usize, store: Store) {
        let frame = Waiting { map: self.inner.clone(), offset, store };
        if self.from == self.to {
            return frame.deliver();
        }
        self.wires.0[self.to.0 as usize][self.from.0 as usize].lock().push_back(frame);
    }
}

impl<M: RemoteMap> RemoteMap for FarMap<M> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn store(&self, offset: usize, words: &[u64]) {
        crate::sci::words_index(offset, words.len(), self.len());
        for (i, word) in words.iter().enumerate() {
            self.send(offset + i * 8, Store::Words(vec![*word]));
        }
    }

    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        crate::sci::packet_index(offset, body.len(), self.len());
        self.send(offset, Store::Packet(head, body.to_vec()));
    }

    fn publish(&self, offset: usize, value: u64) {
        crate::sci::word_index(offset, self.len());
        self.send(offset, Store::Publish(value));
    }

    fn publish32(&self, offset: usize, value: u32) {
        crate::sci::half_index(offset, self.len());
        self.send(offset, Store::Publish32(value));
    }

    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        crate::sci::check_range(offset, len, self.len())?;
        let mut bytes = vec![0; len];
        // SAFETY: this function's contract makes `src` readable for `len` bytes; `bytes` has just been made with as
        // many.
        unsafe { std::ptr::copy_nonoverlapping(src, bytes.as_mut_ptr(), len) };
        self.send(offset, Store::Bytes(bytes));
        Ok(())
    }

    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        crate::sci::check_range(offset, len, self.len())?;
        self.send(offset, Store::Bytes(vec![byte; len]));
        Ok(())
    }

    // Does nothing: frames arrive in their order anyway (rule 1).
    fn barrier(&self) {}
}
