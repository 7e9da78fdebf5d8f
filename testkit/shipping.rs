//! The adapter that ships, [`Hosts`], for tests: nodes of one process on as many hosts as a test wants. Each host has a memory of its own.
//! A wire of the process connects the hosts.
//!
//! [`Shipping`] adds what a job does around the adapter, and nothing else: it knows how long the segments of far nodes are, and admits what
//! peers may write. Maps, interrupts, records and their checks are those of the library.
//!
//! Loom does not see any of it: it has no view of mapped memory, and the far half has locks of the system.

#![allow(unsafe_code)] // segments that peers write

use crate::am::region::CONTROL;
pub(crate) use crate::am::region::{COMMAND, DECK as HEAP, Layout};
use crate::deck::engine::Region;
use crate::deck::gift::ToHeaps;
use crate::deck::network;
use crate::sci::dma::Queue;
use crate::sci::far::Far;
use crate::sci::far::apply::MayWrite;
use crate::sci::far::memory::Memory;
use crate::sci::hosts::{Hosts, HostsInterrupt, HostsMap, HostsSegment};
use crate::sci::shm::{Shm, ShmLocal, ShmLocalSegment, tests as shm};
use crate::sci::{
    Adapter, Effort, JobAdapter, LocalMap, LocalSegment, NodeId, Placement, Properties, RemoteSegment, SciError,
    SegmentId, Words,
};
use crate::sync::{AtomicU64, Ordering};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// All nodes on one host, in a job without a network.
pub(crate) type Together = Shipping<0>;
/// Each node on a host of its own.
pub(crate) type Apart = Shipping<1>;
/// Two nodes on each host.
pub(crate) type Paired = Shipping<2>;

/// One node, of which so many are on a host; 0: all.
#[derive(Clone)]
pub(crate) struct Shipping<const PER_HOST: u32> {
    hosts: Hosts,
    job: Arc<Job>,
}

/// What nodes of a real job exchange when they start.
struct Job {
    /// The memory of each node's host, as that node sees it.
    near: Vec<Shm>,
    /// The engine's, if one is made of the nodes.
    layout: OnceLock<Layout>,
}

/// How the wire of a job behaves.
#[derive(Clone, Copy)]
pub(crate) struct Behaviour {
    /// With one, things arrive late and a few at a time.
    pub seed: Option<u64>,
    /// Nodes sleep on a descriptor of the wire.
    pub with_doors: bool,
    /// The region that the wire writes and reads without records.
    pub payload: SegmentId,
}

impl<const PER_HOST: u32> Shipping<PER_HOST> {
    /// The nodes of a job.
    pub(crate) fn job(nodes: u32, behaviour: Behaviour) -> Vec<Self> {
        let Behaviour { seed, with_doors, payload } = behaviour;
        let host_of = |node: u32| node.checked_div(PER_HOST).unwrap_or(0);
        let files: Vec<_> = (0..=host_of(nodes - 1)).map(|_| shm::memory_file()).collect();
        let join = |node| {
            let file = files[host_of(node) as usize].as_fd();
            Shm::join(file, 0, nodes, NodeId(node as u16)).expect("join")
        };
        let near: Vec<Shm> = (0..nodes).map(join).collect();
        let hosts: Vec<Hosts> = if PER_HOST == 0 {
            near.iter().map(|near| Hosts::one(near.clone())).collect()
        } else {
            let cookie = cookie();
            let wires = Memory::wires(nodes, seed, with_doors);
            let node = |(node, wire): (u32, Memory)| {
                let far = Far::new(nodes, Box::new(wire), [payload, HEAP]);
                let is_far = (0..nodes).map(|peer| host_of(peer) != host_of(node)).collect();
                Hosts::several(near[node as usize].clone(), far, is_far, cookie)
            };
            (0..nodes).zip(wires).map(node).collect()
        };
        let job = Arc::new(Job { near, layout: OnceLock::new() });
        hosts.into_iter().map(|hosts| Shipping { hosts, job: job.clone() }).collect()
    }

    /// The regions of the engine are laid out so. From now on peers may write there what a job lets them.
    pub(crate) fn lay_out(&self, layout: Layout) {
        let _ = self.job.layout.set(layout);
    }

    /// The node is on another host.
    pub(crate) fn is_far(&self, node: u32) -> bool {
        self.hosts.is_far(NodeId(node as u16))
    }

    /// The way to heaps of nodes of other hosts, and to this node's.
    pub(crate) fn heaps(&self, Region { at, len }: Region) -> ToHeaps {
        let hosts = self.hosts.clone();
        // SAFETY: nobody writes there once the nodes are gone, since none polls any more.
        unsafe {
            network::open(self.far(), &Lent { base: at, len }, len, move |node| hosts.is_far(NodeId(node as u16)))
        }
    }

    /// The way to other hosts.
    pub(crate) fn far(&self) -> &'static Far {
        self.hosts.far().expect("there are other hosts")
    }
}

/// Doors are found by it, also those of other processes.
fn cookie() -> u64 {
    static JOBS: AtomicU64 = AtomicU64::new(0);
    u64::from(std::process::id()) << 32 | JOBS.fetch_add(1, Ordering::Relaxed) // Relaxed: each gets its own
}

impl<const PER_HOST: u32> Adapter for Shipping<PER_HOST> {
    type Local = ShmLocal;
    type Remote = HostsMap;
    type LocalSegment = Admitted;
    type RemoteSegment = HostsSegment;
    type Queue = Queue<HostsSegment>;
    type Interrupt = <Hosts as Adapter>::Interrupt;
    type RemoteInterrupt = HostsInterrupt;

    fn node(&self) -> NodeId {
        self.hosts.node()
    }

    fn properties(&self) -> Properties {
        self.hosts.properties()
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<Admitted, SciError> {
        let nodes = self.job.near.len() as u16;
        let far = self.hosts.far().filter(|_| (0..nodes).any(|node| self.hosts.is_far(NodeId(node))));
        Ok(Admitted { inner: self.hosts.create(id, len)?, id, far, job: self.job.clone() })
    }

    /// Of a far segment the owner itself says whether it is there, and how long it is.
    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<HostsSegment, SciError> {
        if !self.hosts.is_far(node) {
            return self.hosts.connect(node, id, timeout);
        }
        let seen = self.job.near[usize::from(node.0)].connect(node, id, timeout)?;
        self.hosts.far_segment(node, id, seen.len())
    }

    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError> {
        self.hosts.dma_queue(depth)
    }

    fn interrupt(&self) -> Result<Self::Interrupt, SciError> {
        self.hosts.interrupt()
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<HostsInterrupt, SciError> {
        self.hosts.connect_interrupt(node)
    }

    fn wants_polls(&self) -> bool {
        self.hosts.wants_polls()
    }

    fn progress(&self, effort: Effort) -> bool {
        self.hosts.progress(effort)
    }

    fn hold(&self) -> bool {
        self.hosts.hold()
    }

    fn release(&self) {
        self.hosts.release();
    }

    fn settle(&self) {
        self.hosts.settle();
    }

    fn is_expecting(&self) -> bool {
        self.hosts.is_expecting()
    }
}

/// A segment that peers of other hosts may write, if there are any, once it is mapped here: one map for each, as in a job.
pub(crate) struct Admitted {
    inner: ShmLocalSegment,
    id: SegmentId,
    far: Option<&'static Far>,
    job: Arc<Job>,
}

impl Admitted {
    /// What a job lets peers write. Without an engine's layout: everything.
    fn rule(&self) -> MayWrite {
        let (job, id) = (self.job.clone(), self.id);
        Box::new(move |peer, offset, len| match (job.layout.get(), id) {
            (Some(layout), CONTROL) => layout.may_write_control(peer, offset, len),
            (Some(layout), COMMAND) => layout.may_write_command(peer, offset, len),
            _ => true,
        })
    }
}

impl LocalSegment for Admitted {
    type Map = ShmLocal;

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn map(&self, place: Placement) -> Result<ShmLocal, SciError> {
        let map = self.inner.map(place)?;
        if let Some(far) = self.far {
            far.admit(self.id, Lent::of(&map), self.rule());
        }
        Ok(map)
    }

    fn set_available(&self) -> Result<(), SciError> {
        self.inner.set_available()
    }

    fn set_unavailable(&self) -> Result<(), SciError> {
        self.inner.set_unavailable()
    }

    fn reserve(&self) -> Result<(), SciError> {
        self.inner.reserve()
    }

    fn remove(&self) -> Result<(), SciError> {
        self.inner.remove()
    }
}

/// A map that does not keep its memory mapped. The far half of a node is never freed, and tests make thousands. A test keeps the map
/// itself as long as anything of its node polls.
#[derive(Clone)]
struct Lent {
    base: usize,
    len: usize,
}

impl Lent {
    fn of(map: &ShmLocal) -> Lent {
        Lent { base: if map.is_empty() { 0 } else { map.ptr(0).addr() }, len: map.len() }
    }
}

impl LocalMap for Lent {
    fn len(&self) -> usize {
        self.len
    }

    fn ptr(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.len, "outside");
        (self.base as *mut u8).wrapping_add(offset)
    }

    fn bytes(&self, offset: usize, _len: usize) -> *mut u8 {
        self.ptr(offset)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        unreachable!("whoever stores what has come has no use for word {offset}")
    }

    fn words<const N: usize>(&self, offset: usize) -> Words<'_, N> {
        unreachable!("whoever stores what has come has no use for words at {offset}")
    }

    unsafe fn words_inside<const N: usize>(&self, offset: usize) -> Words<'_, N> {
        self.words(offset)
    }

    fn will_read(&self, _offset: usize) {}
}
