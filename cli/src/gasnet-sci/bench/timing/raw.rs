//! The section `sci`: PIO, DMA and reads through the adapter alone, between threads that are nodes of a fabric of their own.
//!
//! One way means from the sender's call until the receiver sees the last word; both read one clock.

#![allow(unsafe_code)] // sources and targets of transfers

use gasnet_sci::os::sys;
use gasnet_sci::sci::model::{Parameters, Topology};
use gasnet_sci::sci::shm::Shm;
use gasnet_sci::sci::timed::links::Links;
use gasnet_sci::sci::timed::{Setup, Timed, TimedMap, TimedSegment};
use gasnet_sci::sci::{
    Adapter, DmaQueue, DmaState, Effort, LocalMap, LocalSegment, NodeId, Placement, RemoteMap, RemoteRead,
    RemoteSegment, SciError, SegmentId,
};
use gasnet_sci::sync::{AtomicU64, Ordering};
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const ID: SegmentId = SegmentId(1);
/// Bytes of each segment.
const SEGMENT: usize = 2 << 20;
/// Longer than any transfer here.
const LONG: Duration = Duration::from_secs(600);

/// A fabric of nodes in one process, each with a segment.
pub struct Fabric {
    nodes: Vec<Node>,
}

struct Node {
    adapter: Timed<Shm>,
    _own: <Shm as Adapter>::LocalSegment,
    local: <Shm as Adapter>::Local,
}

/// A peer's segment, and its map.
type Connected = (TimedSegment<Shm>, TimedMap<Shm>);

/// How a stream goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum By {
    Dma,
    Pio,
}

fn other(error: SciError) -> io::Error {
    io::Error::other(error.to_string())
}

impl Fabric {
    /// So many nodes, with hardware that is scaled already.
    pub fn new(nodes: u16, hardware: &Parameters, topology: Topology) -> io::Result<Fabric> {
        let file = sys::memfd()?;
        let links = Links::own(topology.links() as usize);
        let positions: Arc<[u32]> = (0..nodes.into()).collect();
        let node = |node| -> Result<Node, SciError> {
            let shm = Shm::join(file.as_fd(), 0, nodes.into(), NodeId(node))?;
            let (positions, links) = (positions.clone(), links.clone());
            let adapter =
                Timed::new(shm, Setup { hardware: hardware.clone(), topology, positions, links, survives: false });
            let own = adapter.create(ID, SEGMENT)?;
            own.reserve()?;
            own.set_available()?;
            let local = own.map(Placement::Anywhere)?;
            Ok(Node { adapter, _own: own, local })
        };
        Ok(Fabric { nodes: (0..nodes).map(node).collect::<Result<_, _>>().map_err(other)? })
    }

    fn connect(&self, from: usize, to: u16) -> io::Result<Connected> {
        let segment = self.nodes[from].adapter.connect(NodeId(to), ID, Duration::ZERO).map_err(other)?;
        let map = segment.map(0, SEGMENT, Placement::Anywhere).map_err(other)?;
        Ok((segment, map))
    }

    /// Nanoseconds of each of `count` writes of `bytes` (a multiple of 8) from node 1 to node 0, one way.
    pub fn pio(&self, bytes: usize, count: u64, cpus: [usize; 2]) -> io::Result<Vec<f64>> {
        let (_segment, map) = self.connect(1, 0)?;
        let (local, sender) = (&self.nodes[0].local, &self.nodes[1].adapter);
        let base = local.word(bytes - 8).load(Ordering::Relaxed); // Relaxed: nobody writes yet
        let seen = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ = sys::bind_to_cpus(&cpus[1..]);
                for lap in base + 1..=base + count {
                    // ORDERING: Acquire ↔ the Release of the delivery.
                    while local.word(bytes - 8).load(Ordering::Acquire) != lap {
                        std::hint::spin_loop();
                    }
                    // ORDERING: Release ↔ the Acquire below.
                    seen.store(sys::clock_ns(), Ordering::Release);
                }
            });
            sys::bind_to_cpus(&cpus[..1])?;
            (base + 1..=base + count).map(|lap| one_way(sender, &map, bytes, lap, &seen)).collect()
        })
    }

    /// Nanoseconds of each of `count` DMA transfers from node 1 to node 0, until they are done.
    pub fn dma(&self, bytes: usize, count: u64) -> io::Result<Vec<f64>> {
        let to = self.connect(1, 0)?;
        (0..count).map(|_| self.stream(1, &to, By::Dma, bytes, 1)).collect()
    }

    /// Nanoseconds of `count` transfers, one after the other.
    fn stream(&self, from: usize, to: &Connected, by: By, bytes: usize, count: u64) -> io::Result<f64> {
        let (segment, map) = to;
        let (queue, source) = (self.nodes[from].adapter.dma_queue(1).map_err(other)?, vec![1u64; bytes / 8]);
        let source = source.as_ptr().cast();
        let start = sys::clock_ns();
        for _ in 0..count {
            if by == By::Pio {
                // SAFETY: a vector's bytes.
                unsafe { map.write(0, source, bytes) }.map_err(other)?;
                continue;
            }
            // SAFETY: the source outlives the wait.
            let ticket = unsafe { queue.enqueue(source, segment, 0, bytes) }.map_err(other)?;
            assert_eq!(queue.wait(ticket, LONG).map_err(other)?, DmaState::Done);
        }
        map.barrier();
        Ok((sys::clock_ns() - start) as f64)
    }

    /// Nanoseconds of each of `count` reads by node 1 from node 0.
    pub fn read(&self, bytes: usize, count: u64) -> io::Result<Vec<f64>> {
        let (_segment, map) = self.connect(1, 0)?;
        let mut target = vec![0u8; bytes];
        let one = |_| {
            let start = sys::clock_ns();
            // SAFETY: as many bytes as the vector has.
            unsafe { map.read(0, target.as_mut_ptr(), bytes) }.map_err(other)?;
            Ok((sys::clock_ns() - start) as f64)
        };
        (0..count).map(one).collect()
    }

    /// Bytes per nanosecond of streams of transfers at the same time, all together; each is (from, to).
    pub fn streams(&self, streams: &[(usize, u16)], by: By, bytes: usize, count: u64) -> io::Result<f64> {
        let connected = streams.iter().map(|(from, to)| self.connect(*from, *to)).collect::<io::Result<Vec<_>>>()?;
        let start = Barrier::new(streams.len());
        let one = |from: usize, to: &Connected| {
            start.wait();
            self.stream(from, to, by, bytes, count)
        };
        let one = &one;
        let took: Vec<f64> = thread::scope(|scope| {
            let pairs = streams.iter().zip(&connected);
            let threads: Vec<_> = pairs.map(|((from, _), to)| scope.spawn(move || one(*from, to))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a stream does not panic")).collect::<io::Result<_>>()
        })?;
        Ok(took.iter().map(|time| bytes as f64 * count as f64 / time).sum())
    }
}

/// One write whose last word is `lap`; nanoseconds until the receiver has seen it.
fn one_way(sender: &Timed<Shm>, map: &TimedMap<Shm>, bytes: usize, lap: u64, seen: &AtomicU64) -> io::Result<f64> {
    let mut source = vec![lap; bytes / 8];
    source[0] = if bytes > 8 { !lap } else { lap };
    map.barrier();
    seen.store(0, Ordering::Relaxed); // Relaxed: the receiver only writes it after it saw this lap
    let start = sys::clock_ns();
    // SAFETY: a vector's bytes.
    unsafe { map.write(0, source.as_ptr().cast(), bytes) }.map_err(other)?;
    loop {
        sender.progress(Effort::Glance);
        // ORDERING: Acquire ↔ the receiver's Release.
        match seen.load(Ordering::Acquire) {
            0 => std::hint::spin_loop(),
            at => return Ok((at - start) as f64),
        }
    }
}
