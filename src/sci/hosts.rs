//! The adapter of a job: shared memory for nodes of this host ([`Shm`]), the far half for others ([`Far`]).
//!
//! A job on one host has no far half. It pays for the possibility with a few branches, in called paths only.
//!
//! Must not know: what is stored, how a wire works, which hosts there are but for "near" and "far".

mod maps;

pub use maps::HostsMap;

use super::berth::Berth;
use super::dma::{DmaTarget, Queue};
use super::far::Far;
use super::far::remote::FarMap;
use super::interrupt::{Bell, BellPlace, OwnInterrupt, PeerInterrupt};
use super::pio;
use super::shm::{Shm, ShmBell, ShmLocal, ShmLocalSegment, ShmRemoteSegment};
use super::{
    Adapter, Effort, JobAdapter, NodeId, Placement, Properties, RemoteInterrupt, RemoteSegment, SciError, SegmentId,
};
use crate::os::machine::page_size;
use crate::os::{net, sys};
use std::os::fd::AsRawFd;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// A node's access to all nodes of its job. Cheap to clone.
#[derive(Clone)]
pub struct Hosts {
    near: Shm,
    far: Option<Outside>,
}

/// What a job of several hosts has besides.
#[derive(Clone)]
struct Outside {
    far: &'static Far,
    /// By rank: the node is on another host.
    is_far: Arc<[bool]>,
    doors: Arc<Doors>,
}

impl Hosts {
    /// For a job in which the nodes that `is_far` says, by rank, are reached by `far`. `cookie` tells jobs apart.
    pub fn several(near: Shm, far: &'static Far, is_far: Vec<bool>, cookie: u64) -> Hosts {
        let doors = Arc::new(Doors::open(cookie, near.node()));
        Hosts { near, far: Some(Outside { far, is_far: is_far.into(), doors }) }
    }

    fn bell(&self, node: NodeId, near: ShmBell) -> HostsBell {
        let doors = self.far.as_ref().map(|outside| (outside.far, outside.doors.clone()));
        HostsBell { near, node, doors }
    }
}

impl JobAdapter for Hosts {
    fn one(near: Shm) -> Hosts {
        Hosts { near, far: None }
    }

    fn near(&self) -> &Shm {
        &self.near
    }

    fn far(&self) -> Option<&'static Far> {
        self.far.as_ref().map(|outside| outside.far)
    }

    #[inline]
    fn is_far(&self, node: NodeId) -> bool {
        let is_far = |outside: &Outside| outside.is_far.get(usize::from(node.0)).is_some_and(|is_far| *is_far);
        self.far.as_ref().is_some_and(is_far)
    }

    fn far_segment(&self, node: NodeId, id: SegmentId, len: usize) -> Result<HostsSegment, SciError> {
        match &self.far {
            Some(outside) if self.is_far(node) => {
                Ok(HostsSegment::Far { far: outside.far, peer: node.0.into(), id, len })
            }
            _ => Err(SciError::NoSuchSegment { node, id }),
        }
    }

    fn leave(&self, time: Duration) {
        if let Some(far) = self.far() {
            far.leave(time);
        }
    }

    fn start_thread(&self, always: bool) -> Result<(), SciError> {
        let Some(far) = self.far() else { return Ok(()) };
        let own = PeerInterrupt::new(self.bell(self.node(), self.near.bell(self.node())?));
        let error =
            |e: std::io::Error| SciError::System { call: "pthread_create", errno: e.raw_os_error().unwrap_or(0) };
        far.start_thread(always, move || own.stored()).map_err(error)
    }
}

impl Adapter for Hosts {
    type Local = ShmLocal;
    type Remote = HostsMap;
    type LocalSegment = ShmLocalSegment;
    type RemoteSegment = HostsSegment;
    type Queue = Queue<HostsSegment>;
    type Interrupt = OwnInterrupt<HostsBell>;
    type RemoteInterrupt = HostsInterrupt;

    fn node(&self) -> NodeId {
        self.near.node()
    }

    fn properties(&self) -> Properties {
        self.near.properties()
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<ShmLocalSegment, SciError> {
        self.near.create(id, len)
    }

    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<HostsSegment, SciError> {
        if self.is_far(node) {
            return Err(SciError::NotAvailable { node, id }); // its length must be known: `far_segment`
        }
        self.near.connect(node, id, timeout).map(HostsSegment::Near)
    }

    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError> {
        Ok(Queue::new(self.properties(), depth))
    }

    fn interrupt(&self) -> Result<Self::Interrupt, SciError> {
        let node = self.node();
        Ok(OwnInterrupt::new(self.bell(node, self.near.bell(node)?)))
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<HostsInterrupt, SciError> {
        match &self.far {
            Some(outside) if self.is_far(node) => Ok(HostsInterrupt::Far { far: outside.far, peer: node.0.into() }),
            _ => Ok(HostsInterrupt::Near(PeerInterrupt::new(self.bell(node, self.near.bell(node)?)))),
        }
    }

    fn wants_polls(&self) -> bool {
        self.far.is_some()
    }

    #[inline(always)]
    fn progress(&self, effort: Effort) -> bool {
        self.far.as_ref().is_some_and(|outside| outside.far.progress(effort))
    }

    #[inline(always)]
    fn hold(&self) -> bool {
        self.far.as_ref().is_some_and(|outside| outside.far.hold())
    }

    fn release(&self) {
        if let Some(outside) = &self.far {
            outside.far.release();
        }
    }

    #[inline(always)]
    fn settle(&self) {
        if let Some(outside) = &self.far {
            outside.far.settle();
        }
    }

    #[inline(always)]
    fn is_expecting(&self) -> bool {
        self.far.as_ref().is_some_and(|outside| outside.far.is_warm())
    }
}

/// A segment that this node connected to.
pub enum HostsSegment {
    /// Of a node of this host.
    Near(ShmRemoteSegment),
    /// Of a node of another host.
    Far {
        /// The way there.
        far: &'static Far,
        /// The node.
        peer: u32,
        /// The segment.
        id: SegmentId,
        /// Its length in bytes.
        len: usize,
    },
}

impl RemoteSegment for HostsSegment {
    type Map = HostsMap;

    fn len(&self) -> usize {
        match self {
            HostsSegment::Near(near) => near.len(),
            HostsSegment::Far { len, .. } => *len,
        }
    }

    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<HostsMap, SciError> {
        match self {
            HostsSegment::Near(near) => near.map(offset, len, place).map(HostsMap::from),
            HostsSegment::Far { far, peer, id, len: whole } => {
                pio::check_range(offset, len, *whole)?;
                let need = page_size();
                if !offset.is_multiple_of(need) {
                    return Err(SciError::Misaligned { offset, need });
                }
                if let Placement::At(address) = place {
                    return Err(SciError::BadPlacement { address, len });
                }
                Ok(FarMap::new(far, *peer, *id, offset, len).into())
            }
        }
    }
}

impl DmaTarget for HostsSegment {
    fn engine_map(&self) -> Result<HostsMap, SciError> {
        match self {
            HostsSegment::Near(near) => near.engine_map().map(HostsMap::from),
            HostsSegment::Far { len, .. } => self.map(0, *len, Placement::Anywhere),
        }
    }
}

/// A peer's interrupt.
#[derive(Clone)]
pub enum HostsInterrupt {
    /// Of a node of this host.
    Near(PeerInterrupt<HostsBell>),
    /// Of a node of another host: what was stored there goes out, and its arrival wakes the node.
    Far {
        /// The way there.
        far: &'static Far,
        /// The node.
        peer: u32,
    },
}

impl RemoteInterrupt for HostsInterrupt {
    fn is_armed(&self) -> bool {
        match self {
            HostsInterrupt::Near(near) => near.is_armed(),
            HostsInterrupt::Far { .. } => true,
        }
    }

    fn trigger(&self) {
        match self {
            HostsInterrupt::Near(near) => near.trigger(),
            HostsInterrupt::Far { far, peer } => far.flush(*peer),
        }
    }

    #[inline(always)]
    fn stored_for(&self, what: u32) {
        match self {
            HostsInterrupt::Near(near) => near.stored_for(what),
            HostsInterrupt::Far { far, peer } => far.flush(*peer),
        }
    }

    fn call(&self, berth: &Berth) {
        match self {
            HostsInterrupt::Near(near) => near.call(berth),
            HostsInterrupt::Far { .. } => {} // no thread of this node
        }
    }

    fn sleep_word(&self) -> Option<*const u32> {
        match self {
            HostsInterrupt::Near(near) => near.sleep_word(),
            HostsInterrupt::Far { .. } => None,
        }
    }
}

/// A node's bell. In a job of several hosts its node sleeps until the bell rings or the network has something.
#[derive(Clone)]
pub struct HostsBell {
    near: ShmBell,
    node: NodeId,
    doors: Option<(&'static Far, Arc<Doors>)>,
}

impl BellPlace for HostsBell {
    #[inline(always)]
    fn bell(&self) -> &Bell {
        self.near.bell()
    }

    #[inline(always)]
    fn senders_fence(&self) -> bool {
        self.near.senders_fence()
    }

    fn sleeper_fence(&self) {
        self.near.sleeper_fence();
    }

    fn sleep(&self, berth: Option<usize>, seen: u32, timeout: Duration) -> bool {
        match &self.doors {
            Some((far, doors)) if berth.is_none() => doors.sleep(far, timeout),
            _ => self.near.sleep(berth, seen, timeout),
        }
    }

    fn wake(&self, berth: Option<usize>) {
        self.near.wake(berth);
        if let (Some((_, doors)), None) = (&self.doors, berth) {
            doors.knock(self.node);
        }
    }
}

/// The sockets by which nodes of one host wake each other while they also wait for the network: a futex and a descriptor cannot be
/// waited for together. Their names are abstract, so no file stays behind. A stranger who finds a name can wake a node in vain,
/// and nothing more.
struct Doors {
    cookie: u64,
    own: Option<UnixDatagram>,
}

/// The longest sleep beside a wire without a descriptor to wait for.
const BLIND: Duration = Duration::from_micros(50);

impl Doors {
    fn open(cookie: u64, node: NodeId) -> Doors {
        let own = Doors::name(cookie, node).and_then(|name| {
            let socket = UnixDatagram::bind_addr(&name)?;
            socket.set_nonblocking(true)?;
            Ok(UnixDatagram::from(sys::duplicate_high(std::os::fd::AsFd::as_fd(&socket), 100)?))
        });
        Doors { cookie, own: own.ok() } // without one, sleeps end by themselves: they are bounded
    }

    fn name(cookie: u64, node: NodeId) -> std::io::Result<SocketAddr> {
        net::hidden_address("door", cookie, node.0.into())
    }

    /// A knock that finds the door closed, or many knocks before, wakes a node that is about to wake up anyway.
    fn knock(&self, node: NodeId) {
        if let (Some(own), Ok(name)) = (&self.own, Doors::name(self.cookie, node)) {
            let _ = own.send_to_addr(&[1], &name);
        }
    }

    /// Sleeps until somebody knocks or the network has something. True: it may have, so that the sleeper must look.
    fn sleep(&self, far: &Far, timeout: Duration) -> bool {
        let door = self.own.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let has_some = match far.wire().descriptor() {
            Some(wire) => sys::await_readable(&[door, wire], timeout)[1],
            None => {
                sys::await_readable(&[door], timeout.min(BLIND));
                true
            }
        };
        if let Some(own) = &self.own {
            // No more at once: anybody on the host can knock, without an end.
            for _ in 0..64 {
                if own.recv(&mut [0; 8]).is_err() {
                    break;
                }
            }
        }
        has_some
    }
}
