//! A wire of tests: nodes of one process whose frames and bytes lie in queues until the target takes them.
//!
//! It is as awkward as a network may be. Each queue has little room. With a seed, a target takes a few things of each sender at a time,
//! by chance, and often none. A write is copied when the target takes it, if its source lasts until then, and is complete when its
//! sender looks again. A faulty one drops some frames, against rule 1 of `wire`: for tests that a loss is noticed.
//!
//! Must not know: what a frame holds.

#![allow(unsafe_code)] // memory of the nodes, which callers answer for

use super::wire::{Area, Counter, Done, GRACE, Kept, Lost, Readable, Sink, Wire, Writable};
use crate::os::event;
use crate::os::lock::Lock;
use crate::sci::random::Random;
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// Things that a queue has room for.
const ROOM: usize = 64;
/// The most things that one call of `progress` takes of a sender, with a seed.
const AT_ONCE: usize = 6;
/// Bytes of the longest frame.
const FRAME: usize = 8 << 10;
/// Bytes in front of a frame. The wire needs none; callers must leave them all the same.
const HEADROOM: usize = 8;

/// Something on its way to a node.
enum Thing {
    Frame(Vec<u8>),
    Write {
        offset: u64,
        bytes: Bytes,
        done: Done,
    },
    Read {
        offset: u64,
        to: Address,
        len: usize,
        done: &'static AtomicU64,
    },
    /// Back at its sender: a write is in place, or the bytes of a read.
    Written(Done),
    Answer {
        to: Address,
        bytes: Vec<u8>,
        done: &'static AtomicU64,
    },
    /// The peer has ended the link.
    Cut(Lost),
}

/// What a write brings.
enum Bytes {
    Copied(Vec<u8>),
    /// In the sender's memory, which stays as it is until the write is complete.
    There(Address, usize),
}

/// An address of the process, handed from thread to thread.
struct Address(*mut u8);

// SAFETY: who gave the address promises the memory until the transfer is complete, for whichever thread.
unsafe impl Send for Address {}

/// What one node has sent to another that has not taken it yet, in order.
type Queue = Lock<VecDeque<Thing>>;

/// All nodes.
struct Net {
    /// By target, then by sender.
    queues: Vec<Vec<Queue>>,
    /// By node: readable while something lies in its queues. Empty: nodes sleep blindly.
    doors: Vec<OwnedFd>,
}

impl Net {
    fn put(&self, to: u32, from: u32, thing: Thing) {
        self.queues[to as usize][from as usize].lock().push_back(thing);
        if let Some(door) = self.doors.get(to as usize) {
            event::raise(door);
        }
    }
}

/// The wire of one node.
pub(crate) struct Memory {
    me: u32,
    net: Arc<Net>,
    random: Option<Lock<Random>>,
    /// One thread at a time takes things.
    taking: Lock<()>,
    /// Transfers that this node has begun and that are not complete.
    under_way: AtomicU64,
    /// By peer: this node's link to it has ended.
    lost: Box<[AtomicBool]>,
    /// Of the frames that this node posts, the last of each so many is dropped; 0: none is.
    drops_each: u64,
    /// Frames posted.
    posted: AtomicU64,
}

impl Memory {
    /// The wires of `nodes` nodes. Without a seed, a target takes all that is there. `with_doors`: a node has a descriptor to sleep on.
    pub(crate) fn wires(nodes: u32, seed: Option<u64>, with_doors: bool) -> Vec<Memory> {
        let queues = (0..nodes).map(|_| (0..nodes).map(|_| Queue::default()).collect()).collect();
        let doors = (0..nodes).filter(|_| with_doors).map(|_| event::new().expect("an eventfd")).collect();
        let net = Arc::new(Net { queues, doors });
        let wire = |me| Memory {
            me,
            net: net.clone(),
            random: seed.map(|seed| Lock::new(Random::new(seed << 16 | u64::from(me)))),
            taking: Lock::default(),
            under_way: AtomicU64::new(0),
            lost: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            drops_each: 0,
            posted: AtomicU64::new(0),
        };
        (0..nodes).map(wire).collect()
    }

    /// The same wire, but of the frames that this node posts each `each`-th goes nowhere, and the sender hears nothing of it.
    #[cfg(test)]
    fn faulty(self, each: u64) -> Memory {
        Memory { drops_each: each, ..self }
    }

    /// Counts a frame that was posted. True if it is one of those to drop.
    fn drops(&self) -> bool {
        let posted = self.posted.fetch_add(1, Ordering::Relaxed) + 1; // Relaxed: a count
        self.drops_each > 0 && posted.is_multiple_of(self.drops_each)
    }

    fn has_lost(&self, peer: u32) -> bool {
        self.lost[peer as usize].load(Ordering::Relaxed) // Relaxed: a flag, alone
    }

    /// The queue to `peer` takes one thing more.
    fn has_room(&self, peer: u32) -> Result<bool, Lost> {
        match self.has_lost(peer) {
            true => Err(Lost("the link has ended".into())),
            false => Ok(self.net.queues[peer as usize][self.me as usize].lock().len() < ROOM),
        }
    }

    fn begins(&self, done: Done) {
        if done.is_some() {
            self.under_way.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
        }
    }

    fn completes(&self, done: Done) {
        if let Some(done) = done {
            self.under_way.fetch_sub(1, Ordering::Relaxed); // Relaxed: a count
            done.fetch_add(1, Ordering::Release); // ORDERING: ↔ the Acquire of who waits: the bytes are in place
        }
    }

    /// What `from` has sent and is due.
    fn due(&self, from: u32) -> Vec<Thing> {
        let most = self.random.as_ref().map_or(usize::MAX, |random| random.lock().below(AT_ONCE + 1));
        let mut things = self.net.queues[self.me as usize][from as usize].lock();
        let count = most.min(things.len());
        things.drain(..count).collect()
    }

    /// Puts a thing of `from` in its place, or answers it. Of a link that has ended nothing is taken.
    fn take(&self, from: u32, thing: Thing, sink: &dyn Sink) {
        if self.has_lost(from) {
            return;
        }
        match thing {
            Thing::Frame(frame) => sink.frame(from, &frame),
            Thing::Write { offset, bytes, done } => {
                let (source, len) = match &bytes {
                    Bytes::Copied(bytes) => (bytes.as_ptr(), bytes.len()),
                    Bytes::There(address, len) => (address.0.cast_const(), *len),
                };
                let Some(place) = sink.place(from, offset, len, true) else { return self.cut(from, sink) };
                // SAFETY: the sink allows the target; the source is a vector's, or its sender promises it until the write is complete.
                unsafe { place.copy_from(source, len) };
                sink.written(offset);
                if done.is_some() {
                    self.net.put(from, self.me, Thing::Written(done));
                }
            }
            Thing::Read { offset, to, len, done } => {
                let Some(place) = sink.place(from, offset, len, false) else { return self.cut(from, sink) };
                let mut bytes = vec![0; len];
                // SAFETY: the sink allows the source; the target was just made.
                unsafe { place.copy_to(bytes.as_mut_ptr(), len) };
                self.net.put(from, self.me, Thing::Answer { to, bytes, done });
            }
            Thing::Written(done) => self.completes(done),
            Thing::Answer { to, bytes, done } => {
                // SAFETY: who began the read promises the target until it is complete.
                unsafe { to.0.copy_from(bytes.as_ptr(), bytes.len()) };
                self.completes(Some(done));
            }
            Thing::Cut(why) => self.lose(from, &why, sink),
        }
    }

    /// `from` has asked for memory that it may not have.
    fn cut(&self, from: u32, sink: &dyn Sink) {
        self.net.put(from, self.me, Thing::Cut(Lost("the peer has ended the link".into())));
        self.lose(from, &Lost("it asked for memory that is none of its".into()), sink);
    }

    fn lose(&self, peer: u32, why: &Lost, sink: &dyn Sink) {
        self.lost[peer as usize].store(true, Ordering::Relaxed); // Relaxed: as in `has_lost`
        sink.lost(peer, why);
    }

    fn door(&self) -> Option<&OwnedFd> {
        self.net.doors.get(self.me as usize)
    }
}

impl Wire for Memory {
    fn name(&self) -> String {
        "memory".into()
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn protect(&self) -> bool {
        false
    }

    fn begins_to_leave(&self) -> bool {
        true // no test leaves in the middle of a call
    }

    fn set_peers(&self, _: Vec<Vec<u8>>) {}

    /// The sink knows it.
    unsafe fn set_area(&self, _: Area, _: *mut u8, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn frame_max(&self) -> usize {
        FRAME
    }

    fn headroom(&self) -> usize {
        HEADROOM
    }

    fn post(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        let has_room = self.has_room(peer)?;
        if has_room && !self.drops() {
            self.net.put(peer, self.me, Thing::Frame(frame[HEADROOM..].to_vec()));
        }
        Ok(has_room)
    }

    fn post_before_write(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.post(peer, frame)
    }

    unsafe fn write(
        &self,
        peer: u32,
        offset: u64,
        (from, len): Readable,
        kept: Kept,
        done: Done,
    ) -> Result<bool, Lost> {
        let has_room = self.has_room(peer)?;
        if has_room {
            let bytes = match kept {
                // SAFETY: the caller promises `len` readable bytes.
                Kept::Now => Bytes::Copied(unsafe { std::slice::from_raw_parts(from, len) }.to_vec()),
                Kept::UntilDone | Kept::InOrder => Bytes::There(Address(from.cast_mut()), len),
            };
            self.begins(done);
            self.net.put(peer, self.me, Thing::Write { offset, bytes, done });
        }
        Ok(has_room)
    }

    unsafe fn read(&self, peer: u32, offset: u64, (to, len): Writable, done: Counter) -> Result<bool, Lost> {
        let has_room = self.has_room(peer)?;
        if has_room {
            self.begins(Some(done));
            self.net.put(peer, self.me, Thing::Read { offset, to: Address(to), len, done });
        }
        Ok(has_room)
    }

    fn progress(&self, sink: &dyn Sink, _thorough: bool) -> bool {
        let Some(_taking) = self.taking.try_lock() else { return false };
        let queues = &self.net.queues[self.me as usize];
        // Lowered first: what comes from now on raises it again.
        self.door().into_iter().for_each(event::lower);
        let mut came = false;
        for from in 0..queues.len() as u32 {
            for thing in self.due(from) {
                came = true;
                self.take(from, thing, sink);
            }
        }
        if queues.iter().any(|queue| !queue.lock().is_empty()) {
            self.door().into_iter().for_each(event::raise);
        }
        came
    }

    fn is_busy(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0 // Relaxed: a count
    }

    fn leave(&self, _: &dyn Sink, _: Duration) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn grace(&self) -> Duration {
        GRACE
    }

    fn heartbeat(&self) -> Option<Duration> {
        None
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.door().map(AsRawFd::as_raw_fd)
    }

    /// A door shows always what has come.
    fn watch_always(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sci::far::conformance::{self, Pair, SEGMENT};
    use std::time::Duration;

    #[test]
    fn it_does_what_every_wire_must_do() {
        for seed in [None, Some(1), Some(2)] {
            conformance::all(&Pair::new(Memory::wires(2, seed, seed.is_none())));
        }
    }

    #[test]
    fn a_faulty_wire_drops_each_thousandth_frame_and_the_suite_for_wires_notices() {
        let faulty = || Pair::new(Memory::wires(2, None, true).into_iter().map(|wire| wire.faulty(1000)).collect());
        let pair = faulty();
        for number in 1..=2000u32 {
            pair.post(0, 1, &number.to_le_bytes());
            pair.nodes[1].wire.progress(&pair.nodes[1], true);
        }
        let came: Vec<u32> =
            pair.frames(1).iter().map(|(_, f)| u32::from_le_bytes(f[..4].try_into().unwrap())).collect();
        assert_eq!(came, (1..=2000).filter(|number| number % 1000 != 0).collect::<Vec<u32>>());
        let pair = faulty().with_patience(Duration::from_millis(200));
        let check = || (0..4).for_each(|_| conformance::frames_come_whole_and_in_order(&pair)); // 308 frames each way
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).expect_err("a frame is missing");
        assert_eq!(said.downcast_ref::<String>().unwrap(), "frames: nothing comes any more");
    }

    #[test]
    fn a_write_outside_the_segment_ends_the_link_on_both_sides() {
        let pair = Pair::new(Memory::wires(2, None, true));
        let [a, b] = &pair.nodes[..] else { unreachable!("two nodes") };
        let source = [1u8; 16];
        // SAFETY: the source is copied.
        unsafe { a.wire.write(1, SEGMENT as u64 - 8, (source.as_ptr(), 16), Kept::Now, None) }.unwrap();
        assert!(b.wire.progress(b, true) && a.wire.progress(a, true));
        assert_eq!((b.losses.lock()[0].0, a.losses.lock()[0].0), (0, 1));
        assert!(a.post(1, b"more").is_err() && b.post(0, b"more").is_err());
    }
}
