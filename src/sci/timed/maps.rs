//! Segments and maps of peers in timing mode.
//!
//! Must not know: when a packet leaves or arrives.

#![allow(unsafe_code)] // mapped memory, client memory

use super::core::{Core, now};
use super::leave::{self, LINE};
use super::links::Burst;
use crate::sci::delayed::{Store, Waiting};
use crate::sci::model::{Packet, packets};
use crate::sci::{Adapter, Mapped, NodeId, Placement, RemoteMap, RemoteRead, RemoteSegment, SciError, pio};
use std::iter::once;
use std::sync::Arc;

/// A peer's segment that this node connected to.
pub struct TimedSegment<A: Adapter> {
    inner: A::RemoteSegment,
    peer: usize,
    core: Arc<Core<A>>,
}

impl<A: Adapter> TimedSegment<A> {
    pub(super) fn new(inner: A::RemoteSegment, peer: NodeId, core: &Arc<Core<A>>) -> Self {
        TimedSegment { inner, peer: peer.0.into(), core: core.clone() }
    }

    pub(super) fn inner(&self) -> &A::RemoteSegment {
        &self.inner
    }

    /// Its owner.
    pub(super) fn peer(&self) -> usize {
        self.peer
    }
}

impl<A: Adapter> RemoteSegment for TimedSegment<A> {
    type Map = TimedMap<A>;

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<TimedMap<A>, SciError> {
        let end = now() + self.core.setup.hardware.map;
        let inner = self.inner.map(offset, len, place)?;
        self.core.wait_until(end);
        let unmap = Arc::new(Unmap(self.core.clone()));
        Ok(TimedMap { inner, peer: self.peer, unmap })
    }
}

/// Delivers when the last clone of a map goes (rule 5).
struct Unmap<A: Adapter>(Arc<Core<A>>);

impl<A: Adapter> Drop for Unmap<A> {
    fn drop(&mut self) {
        self.0.barrier();
    }
}

/// A mapped segment of a peer.
#[derive(Clone)]
pub struct TimedMap<A: Adapter> {
    inner: A::Remote,
    peer: usize,
    unmap: Arc<Unmap<A>>,
}

impl<A: Adapter> TimedMap<A> {
    fn core(&self) -> &Arc<Core<A>> {
        &self.unmap.0
    }

    /// Sends a store of `bytes` bytes, cut into `packets`, that the CPU makes from `ready` on; when it is ready for the next one.
    fn send(
        &self,
        ready: f64,
        packets: impl Iterator<Item = (Packet, usize)> + Clone,
        offset: usize,
        store: Store,
        bytes: usize,
        software: f64,
    ) -> f64 {
        let waiting = Waiting { map: self.inner.clone(), offset, store };
        if self.core().is_instant {
            self.core().count(self.peer, |traffic| {
                packets.for_each(|(packet, count)| traffic.packets(packet, count));
                traffic.pio += bytes as u64;
            });
            waiting.deliver();
            return ready;
        }
        self.core().send(self.peer, ready, packets, bytes, software, waiting)
    }

    /// A write or fill of `len` bytes, which are inside. `store` stores a part at once; `bytes` makes the bytes of a part that is
    /// kept.
    fn stream(
        &self,
        offset: usize,
        len: usize,
        store: impl Fn(usize, usize) -> Result<(), SciError>,
        bytes: impl Fn(usize, usize) -> Vec<u8>,
    ) -> Result<(), SciError> {
        let (end, mut at, mut ready) = (offset + len, offset, now());
        let hardware = &self.core().setup.hardware;
        let burst = if hardware.staged { len } else { leave::pio_burst(hardware) };
        while at < end {
            let part = if end - at > burst { (at + burst) / LINE * LINE - at } else { end - at };
            // Of the last burst the last line is kept; all of a burst, if it would pass what is kept already.
            let last = if at + part == end { at.max((end - 1) / LINE * LINE) } else { at + part };
            let kept = if self.core().has_kept_for(self.peer) { at } else { last };
            store(at, kept - at)?;
            let bytes = Store::Bytes(bytes(kept, at + part - kept));
            // The next burst follows at once: what the host takes meanwhile is not the hardware's.
            ready = self.send(ready, packets(at, part), kept, bytes, part, 0.0);
            at += part;
        }
        Ok(())
    }
}

impl<A: Adapter> RemoteMap for TimedMap<A> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn store(&self, offset: usize, words: &[u64]) {
        pio::words_index(offset, words.len(), self.len());
        let (end, mut at, mut ready) = (offset + words.len() * 8, offset, now());
        while at < end {
            let part = end.min((at / LINE + 1) * LINE) - at;
            let words = &words[(at - offset) / 8..][..part / 8];
            ready = self.send(ready, packets(at, part), at, Store::Words(words.to_vec()), part, 0.0);
            at += part;
        }
    }

    fn packet(&self, offset: usize, head: u64, body: &[u64]) {
        pio::packet_index(offset, body.len(), self.len());
        let (store, message) = (Store::Packet(head, body.to_vec()), self.core().setup.hardware.message);
        self.send(now(), once((Packet::Line, 1)), offset, store, 8 + 8 * body.len(), message);
    }

    fn publish(&self, offset: usize, value: u64) {
        pio::word_index(offset, self.len());
        self.send(now(), once((Packet::Piece, 1)), offset, Store::Publish(value), 8, 0.0);
    }

    fn publish32(&self, offset: usize, value: u32) {
        pio::half_index(offset, self.len());
        self.send(now(), once((Packet::Piece, 1)), offset, Store::Publish32(value), 4, 0.0);
    }

    /// Timing mode is for one host.
    fn is_far(&self) -> bool {
        false
    }

    /// Rule 1.
    fn place(&self) -> Option<*mut u8> {
        None
    }

    /// The cards know no such hint, nor the next two: what they stored would take time.
    fn hand_over(&self, _offset: usize) {}

    fn claim_by_prefetch(&self, _offset: usize) {}

    fn claim_by_store(&self, _offset: usize) {}

    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        pio::check_range(offset, len, self.len())?;
        let from = |at: usize| src.wrapping_add(at - offset);
        // SAFETY: the caller promises `len` readable bytes, of which this is a part.
        let at_once = |at, part| unsafe { self.inner.write(at, from(at), part) };
        let kept = |at, part| {
            let mut bytes = vec![0u8; part];
            // SAFETY: the source is readable by this function's contract; the target was just made.
            unsafe { std::ptr::copy_nonoverlapping(from(at), bytes.as_mut_ptr(), part) };
            bytes
        };
        self.stream(offset, len, at_once, kept)
    }

    unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError> {
        // SAFETY: the caller promises that `src` is readable for `len` bytes.
        unsafe { self.write(offset, src, len) }
    }

    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError> {
        pio::check_range(offset, len, self.len())?;
        self.stream(offset, len, |at, part| self.inner.fill(at, byte, part), |_, part| vec![byte; part])
    }

    fn barrier(&self) {
        self.core().barrier();
        self.inner.barrier();
    }
}

impl<A: Mapped> RemoteRead for TimedMap<A> {
    unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) -> Result<(), SciError> {
        pio::check_range(offset, len, self.len())?;
        let core = self.core();
        core.count(self.peer, |traffic| traffic.read = [traffic.read[0] + 1, traffic.read[1] + len as u64]);
        if core.is_instant {
            // SAFETY: the caller promises that `to` is writable for `len` bytes.
            return unsafe { self.inner.read(offset, to, len) };
        }
        self.barrier();
        let (hardware, mut time, mut at) = (&core.setup.hardware, now(), 0);
        let burst = if hardware.staged { len } else { LINE };
        while at < len {
            let part = burst.min(len - at);
            let lines = part.div_ceil(LINE);
            // Request and data ask for their links at the same time: what is far in the future must not keep a link from others.
            let request = core.pass(self.peer, Burst::of_requests(lines), time);
            time += request.max(core.pass_back(self.peer, Burst::of_data(lines), time));
            time += hardware.read_of(part, core.way(self.peer), core.way_back(self.peer));
            core.wait_until(time);
            // SAFETY: the caller promises that `to` is writable for `len` bytes, of which this is a part.
            unsafe { self.inner.read(offset + at, to.wrapping_add(at), part) }?;
            at += part;
        }
        Ok(())
    }

    /// Rule 1.
    fn memory(&self) -> Option<*mut u8> {
        None
    }

    crate::sci::adapter::near_alone!();
}
