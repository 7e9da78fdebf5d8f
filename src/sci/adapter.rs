//! The interface of an adapter: segments, maps, DMA queues and interrupts as traits, and the words they share. Engines are
//! generic over [`Adapter`].
//!
//! An adapter that wraps another one must pass each method on. So a method has a body here only if it is made of the trait's others alone:
//! what a wrapper forgets does not compile.
//!
//! Must not know: how any adapter does it, messages.

#![allow(unsafe_code)] // writes and reads of memory that the caller answers for

use super::address::{NodeId, SegmentId};
use super::berth::Berth;
use super::error::SciError;
use crate::sync::AtomicU64;
use std::time::Duration;

/// What an adapter can do; queried, never assumed (SISCI: DMA alignment and minimum differ between cards).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Bytes; DMA source, target and size must be multiples of it. A power of two.
    pub dma_alignment: usize,
    /// Bytes; the smallest DMA transfer that the adapter takes.
    pub dma_min: usize,
    /// Remote segments can be mapped and written by PIO.
    pub maps_remote: bool,
    /// Stores become visible in program order, so that a store barrier costs nothing.
    pub orders_stores: bool,
    /// Stores move, also near ones, and what peers stored arrives, only while [`Adapter::progress`] is called. Clients' inline code then
    /// sends and polls nothing by itself.
    pub needs_progress: bool,
    /// True if clients' inline code may load, store and look by itself. False if each access must pass through the adapter,
    /// for example because it times them.
    pub allows_shortcuts: bool,
}

impl Properties {
    /// Those of memory that all nodes share.
    pub const OF_MEMORY: Properties = Properties {
        dma_alignment: 8,
        dma_min: 8,
        maps_remote: true,
        orders_stores: true,
        needs_progress: false,
        allows_shortcuts: true,
    };
}

/// Where a mapping shall lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The system chooses.
    Anywhere,
    /// Exactly here, in address space that the caller reserved (see [`window`](super::window)).
    At(usize),
}

/// A mapped local segment: its owner reads and writes it as memory. Cheap to clone; stays mapped while a clone lives.
pub trait LocalMap: Clone + Send + Sync + 'static {
    /// Bytes mapped.
    fn len(&self) -> usize;
    /// Nothing is mapped.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The 8-byte word at `offset` (a multiple of 8, inside the map, else a panic).
    fn word(&self, offset: usize) -> &AtomicU64;
    /// The block of `N` words (a power of two) at `offset`, a multiple of the block's bytes (and inside, else a panic): one
    /// check for all of them.
    fn words<const N: usize>(&self, offset: usize) -> Words<'_, N>;
    /// As [`LocalMap::words`], for a caller that has checked the place before: a Short there and back has four such looks, each check takes
    /// seven instructions.
    ///
    /// # Safety
    /// `offset` is a multiple of the block's bytes, and the block is inside.
    unsafe fn words_inside<const N: usize>(&self, offset: usize) -> Words<'_, N>;
    /// Address of the byte at `offset` (inside the map, else a panic). Peers write here: never make a reference to it.
    fn ptr(&self, offset: usize) -> *mut u8;
    /// As [`LocalMap::ptr`], for a caller that is about to read `len` bytes there. Only loom's map does more than that: loom
    /// cannot see such reads.
    fn bytes(&self, offset: usize, len: usize) -> *mut u8;
    /// A hint: the line at `offset` will be read soon.
    fn will_read(&self, offset: usize);
}

/// A block of words of a mapped local segment.
#[derive(Clone, Copy)]
pub struct Words<'a, const N: usize>(pub(super) &'a [AtomicU64; N]);

impl<'a, const N: usize> Words<'a, N> {
    /// The `M` words from word `first` on, else a panic.
    #[inline(always)]
    pub fn part<const M: usize>(&self, first: usize) -> Words<'a, M> {
        Words(self.0[first..].first_chunk().expect("words inside the block"))
    }

    /// Word `i` of the block, else a panic.
    #[inline(always)]
    pub fn word(&self, i: usize) -> &'a AtomicU64 {
        let word = &self.0[i];
        #[cfg(all(any(test, fuzzing), not(loom)))]
        super::fickle::touch(word);
        word
    }
}

/// A mapped remote segment for commands: stores only. Stores to different 64-byte lines may arrive in any order, and
/// late, until [`RemoteMap::barrier`]; but what a [`RemoteMap::packet`] writes arrives whole, its head last.
pub trait RemoteMap: Clone + Send + Sync + 'static {
    /// Bytes mapped.
    fn len(&self) -> usize;
    /// Nothing is mapped.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Stores `words` at `offset` (a multiple of 8). Unordered until the next barrier.
    fn store(&self, offset: usize, words: &[u64]);
    /// One SCI packet of up to 64 bytes in one line: `body` (at most 7 words) behind the head word at `offset`
    /// (a multiple of 64). A reader that sees `head` sees `body`.
    fn packet(&self, offset: usize, head: u64, body: &[u64]);
    /// Stores one 8-byte word; with [`RemoteMap::barrier`] before it, a reader that sees it sees all stored before.
    fn publish(&self, offset: usize, value: u64);
    /// As [`RemoteMap::publish`], 4 bytes (`offset` a multiple of 4).
    fn publish32(&self, offset: usize, value: u32);
    /// True if the segment is on another host: payload is put and got by [`RemoteRead::start_put`] and `start_get`, which are complete later.
    fn is_far(&self) -> bool;
    /// First byte, where stores may go by address, in the order that [`RemoteMap::packet`] and [`RemoteMap::publish`] promise.
    /// `None`: there is no such address.
    fn place(&self) -> Option<*mut u8>;
    /// A hint: the owner waits for what was just stored in the line at `offset`.
    fn hand_over(&self, offset: usize);
    /// A hint: this node will store to the line at `offset` soon. A reader in between takes the line back, and the hint was in vain.
    fn claim_by_prefetch(&self, offset: usize);
    /// As [`RemoteMap::claim_by_prefetch`], by a store: the last word of the line holds any value afterwards. So the caller must be allowed to
    /// store a message there now, and nobody may read that word unless a later message stores it. The owner may look at the line's other
    /// words meanwhile. Adapters for which this buys nothing do nothing.
    fn claim_by_store(&self, offset: usize);
    /// PIO write of bytes. Unordered until the next barrier. `OutOfRange` writes nothing.
    ///
    /// # Safety
    /// `src` is readable for `len` bytes.
    unsafe fn write(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError>;
    /// As [`RemoteMap::write`], where source and target do not overlap.
    ///
    /// # Safety
    /// As [`RemoteMap::write`].
    unsafe fn write_apart(&self, offset: usize, src: *const u8, len: usize) -> Result<(), SciError>;
    /// PIO fill. Unordered until the next barrier. `OutOfRange` writes nothing.
    fn fill(&self, offset: usize, byte: u8, len: usize) -> Result<(), SciError>;
    /// Store barrier: every store made before through any map of this adapter is visible before any store after it.
    fn barrier(&self);
}

/// Memory of a caller's that is readable: its first byte, and how many bytes.
pub type Readable = (*const u8, usize);
/// Memory of a caller's that is writable.
pub type Writable = (*mut u8, usize);
/// A word that is raised by 1 when a transfer is complete.
pub type Counter = &'static AtomicU64;

/// A mapped remote segment for payload, which may be read. Commands never are: their engines ask for [`RemoteMap`] only.
pub trait RemoteRead: RemoteMap {
    /// Reads bytes. `OutOfRange` reads nothing.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) -> Result<(), SciError>;
    /// First byte, if payload may be loaded and stored by address. Never make a reference to it.
    fn memory(&self) -> Option<*mut u8>;
    /// Starts a put to a far segment. `done` is raised by 1, with Release, when every byte is in place. `lasting`: the source
    /// stays as it is until then; else the call returns when the source is free. Runs no handlers. `NotMapped`: the segment is near.
    ///
    /// # Safety
    /// `src` is readable, as long as `lasting` says.
    unsafe fn start_put(&self, offset: usize, src: Readable, lasting: bool, done: Counter) -> Result<(), SciError>;
    /// Starts a get from a far segment. `done` is raised by 1, with Release, when every byte is here. `NotMapped`: the segment is near.
    ///
    /// # Safety
    /// `to` is writable until then.
    unsafe fn start_get(&self, offset: usize, to: Writable, done: Counter) -> Result<(), SciError>;
}

/// How [`RemoteRead`] starts transfers where all segments are near.
macro_rules! near_alone {
    () => {
        unsafe fn start_put(
            &self,
            _: usize,
            _: $crate::sci::adapter::Readable,
            _: bool,
            _: $crate::sci::adapter::Counter,
        ) -> Result<(), $crate::sci::SciError> {
            Err($crate::sci::SciError::NotMapped)
        }

        unsafe fn start_get(
            &self,
            _: usize,
            _: $crate::sci::adapter::Writable,
            _: $crate::sci::adapter::Counter,
        ) -> Result<(), $crate::sci::SciError> {
            Err($crate::sci::SciError::NotMapped)
        }
    };
}
#[cfg(not(loom))]
pub(in crate::sci) use near_alone;

/// A segment that this node created. Dropping it removes it (unavailable first; mappings stay until dropped).
pub trait LocalSegment: Send + Sync {
    /// The map type.
    type Map: LocalMap;
    /// Bytes.
    fn len(&self) -> usize;
    /// Zero bytes long.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Maps all of it.
    fn map(&self, place: Placement) -> Result<Self::Map, SciError>;
    /// Lets peers connect.
    fn set_available(&self) -> Result<(), SciError>;
    /// Stops new connections; those that exist stay.
    fn set_unavailable(&self) -> Result<(), SciError>;
    /// Commits memory for the whole segment now, so that "no room" is an error here and not a SIGBUS later.
    fn reserve(&self) -> Result<(), SciError>;
    /// Removes it: peers find it no more. `Busy` while it is mapped here or a peer is connected. Afterwards its id is
    /// free and every call but `len` fails with `NoSuchSegment`.
    fn remove(&self) -> Result<(), SciError>;
}

/// A peer's segment that this node connected to. Dropping it disconnects.
pub trait RemoteSegment: Send + Sync {
    /// The map type.
    type Map: RemoteMap;
    /// Bytes.
    fn len(&self) -> usize;
    /// Zero bytes long.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Maps `len` bytes from `offset` (a multiple of the page size) for PIO.
    fn map(&self, offset: usize, len: usize, place: Placement) -> Result<Self::Map, SciError>;
}

/// State of a DMA transfer (SISCI: SCI_DMAQUEUE_…).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaState {
    /// Queued or running.
    Pending,
    /// Every byte is at its place.
    Done,
    /// Stopped by [`DmaQueue::abort`]; an unknown part of the bytes is at its place.
    Aborted,
}

/// A queue of DMA transfers, done in order.
pub trait DmaQueue: Send + Sync {
    /// The remote segments that it writes to.
    type Remote: RemoteSegment;
    /// Queues a write of `len` bytes from `src` to `offset` of `remote`, and starts it. Source address, target offset
    /// and `len` must be multiples of `dma_alignment`, else `DmaMisaligned`; too long: `OutOfRange`; queue full:
    /// `QueueFull`. An error writes nothing.
    ///
    /// # Safety
    /// `src` is readable for `len` bytes until the transfer is `Done` or `Aborted`.
    unsafe fn enqueue(
        &self,
        src: *const u8,
        remote: &Self::Remote,
        offset: usize,
        len: usize,
    ) -> Result<DmaTicket, SciError>;
    /// State of a transfer.
    fn poll(&self, ticket: DmaTicket) -> DmaState;
    /// Waits for a transfer. `TimedOut` when `timeout` passes first.
    fn wait(&self, ticket: DmaTicket, timeout: Duration) -> Result<DmaState, SciError>;
    /// Stops everything queued.
    fn abort(&self);
}

/// Names one transfer of a queue: the count of transfers queued up to and including it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DmaTicket(pub u64);

/// This node's interrupt, which peers trigger. It owns the sleep word: non-zero while the node sleeps or is about to.
pub trait Interrupt: Send + Sync {
    /// Announces that a wait may follow. After it returns, a peer that publishes sees the sleep word set, or this node
    /// sees what the peer published: look once more before [`Interrupt::wait`]. (membarrier(2), or fences on both
    /// sides.) Where [`Interrupt::settling`] is not zero, that holds only from then on.
    fn arm(&self);
    /// How long after `arm` a peer may still not see that this node is armed. If not zero, the first wait after `arm` must
    /// not be longer than this, and the caller must look once more before the next wait.
    fn settling(&self) -> Duration;
    /// Takes the announcement back.
    fn disarm(&self);
    /// Sleeps until triggered or until `timeout`; true when triggered, or when the adapter has something that only
    /// [`Adapter::progress`] brings. Call between `arm` and `disarm`.
    fn wait(&self, timeout: Duration) -> bool;

    /// Takes a berth: a place where a thread of this node sleeps that waits for `what`, so that
    /// [`RemoteInterrupt::stored_for`] wakes it alone. `None`: all berths are taken, or there are none. What the thread waits for must be looked at after
    /// this call.
    fn take_berth(&self, what: u32) -> Option<Berth>;
    /// Sleeps in the berth until called, or until `timeout`.
    fn sleep_in(&self, berth: &Berth, timeout: Duration);
    /// Gives the berth back. True: a peer has called. It has woken nobody else for what it has published, so this thread must see to it.
    fn leave_berth(&self, berth: &Berth) -> bool;
}

/// A peer's interrupt, and what a sender says when it has stored something there.
pub trait RemoteInterrupt: Clone + Send + Sync {
    /// What this node has stored for the peer is complete. A network sends it now. A peer that sleeps is woken; for one that does not, this is
    /// one look at a cached line. Without this call what was stored may stay here.
    #[inline(always)]
    fn stored(&self) {
        self.stored_for(0);
    }
    /// As [`RemoteInterrupt::stored`], but a thread that sleeps in a berth for `what` is woken instead of the peer. 0: no such thread is
    /// meant.
    fn stored_for(&self, what: u32);
    /// True if the peer sleeps, or what was stored must be sent: [`RemoteInterrupt::stored`] has something to do.
    fn is_armed(&self) -> bool;
    /// Wakes the peer, whether it sleeps or not, and sends what was stored.
    fn trigger(&self);
    /// Wakes a thread of this node, whose interrupt this is, that sleeps in `berth`.
    fn call(&self, berth: &Berth);
    /// The word that is not 0 while the peer is armed, if a look at it, behind a compiler fence, is all that
    /// [`RemoteInterrupt::stored`] does then.
    fn sleep_word(&self) -> Option<*const u32>;
}

/// How much a poll wants of [`Adapter::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// So many polls have found something in memory since the last such call, this one included. The adapter may skip the call, but not all
    /// such calls in a row.
    Found(u32),
    /// The poll has found nothing yet.
    Glance,
    /// As `Glance`, by a wait that has polled a moment ago.
    Spin,
    /// The calling thread is about to yield or to sleep.
    Thorough,
}

/// One way of reaching memory of other nodes. Cheap to clone.
pub trait Adapter: Clone + Send + Sync + Sized + 'static {
    /// Mapped local segment.
    type Local: LocalMap;
    /// Mapped remote segment.
    type Remote: RemoteMap;
    /// Created segment.
    type LocalSegment: LocalSegment<Map = Self::Local>;
    /// Connected segment.
    type RemoteSegment: RemoteSegment<Map = Self::Remote>;
    /// DMA queue.
    type Queue: DmaQueue<Remote = Self::RemoteSegment>;
    /// Own interrupt.
    type Interrupt: Interrupt;
    /// A peer's interrupt.
    type RemoteInterrupt: RemoteInterrupt;

    /// This node's SCI id.
    fn node(&self) -> NodeId;
    /// What this adapter can do.
    fn properties(&self) -> Properties;
    /// Creates a segment of `len` bytes (rounded up to pages). `SegmentExists` when the id is in use.
    fn create(&self, id: SegmentId, len: usize) -> Result<Self::LocalSegment, SciError>;
    /// Connects to a peer's segment, waiting up to `timeout` for it to become available: `NoSuchSegment`,
    /// `NotAvailable`, `NoSuchNode`.
    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<Self::RemoteSegment, SciError>;
    /// A DMA queue with room for `depth` transfers.
    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError>;
    /// This node's interrupt.
    fn interrupt(&self) -> Result<Self::Interrupt, SciError>;
    /// A peer's interrupt.
    fn connect_interrupt(&self, node: NodeId) -> Result<Self::RemoteInterrupt, SciError>;
    /// True if polls have to call [`Adapter::progress`], and to ask [`Adapter::is_expecting`]. It never changes. Shared memory has nothing
    /// to do.
    fn wants_polls(&self) -> bool;
    /// Lets the adapter work. The library's polls call it if [`Adapter::wants_polls`]; the header's own polls, and those that follow a
    /// find of the header's, do not. True if anything came.
    fn progress(&self, effort: Effort) -> bool;
    /// Does something after which the stores that it made are on their way. An adapter may keep them together until then. `act`
    /// stands here once: a second copy would keep it from being inlined (a Short's round trip 580 -> 651 instructions).
    #[inline(always)]
    fn together<R>(&self, act: impl FnOnce() -> R) -> R {
        let held = self.hold();
        let result = act();
        if held {
            self.release();
        }
        result
    }
    /// Keeps stores of this thread back. True: the caller must call [`Adapter::release`]. False: it must not, because nothing is kept back,
    /// or an outer call of this thread's does that already. The caller has the inbox, so that one thread at a time keeps stores back.
    fn hold(&self) -> bool;
    /// Ends what [`Adapter::hold`] began.
    fn release(&self);
    /// Stores that the adapter keeps together with later ones go out now.
    fn settle(&self);
    /// True while something is on its way that only [`Adapter::progress`] brings. Then each poll that finds nothing calls that, and
    /// clients' inline code polls nothing by itself.
    fn is_expecting(&self) -> bool;
}

/// An adapter whose remote memory can be read: what payload is moved by.
pub trait Mapped: Adapter<Remote: RemoteRead> {}
impl<A: Adapter<Remote: RemoteRead>> Mapped for A {}

/// What polls ask of an [`Adapter`] whose stores are there at once, and which brings nothing.
macro_rules! memory_alone {
    () => {
        fn wants_polls(&self) -> bool {
            false
        }

        #[inline(always)]
        fn progress(&self, _effort: $crate::sci::Effort) -> bool {
            false
        }

        #[inline(always)]
        fn hold(&self) -> bool {
            false
        }

        fn release(&self) {}

        #[inline(always)]
        fn settle(&self) {}

        #[inline(always)]
        fn is_expecting(&self) -> bool {
            false
        }
    };
}
pub(in crate::sci) use memory_alone;
