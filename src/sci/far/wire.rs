//! What carries frames and bytes between nodes of different hosts: the trait [`Wire`], and what it hands to this node.
//!
//! A wire knows nodes by rank and memory by offsets ([`Area`]). What a frame says is not its business.
//!
//! Rules, for every wire:
//! 1. Frames to one peer arrive once, whole, in the order in which they were posted.
//! 2. Bytes of a [`Wire::write`] with [`Kept::Now`] or [`Kept::InOrder`] are in place before [`Sink::frame`] gets a frame that was
//!    posted to the same peer after it.
//! 3. No call waits for another node, but [`Wire::leave`], which waits for peers' systems, for `time` at most. A write with
//!    [`Kept::Now`] or [`Kept::InOrder`] takes several calls.
//! 4. Nothing that a peer sends is trusted. A wire asks [`Sink::place`] before it writes memory of this node for a peer, and says
//!    [`Sink::written`] afterwards. What no wire of ours sends ends the link: [`Sink::lost`].
//!    Writes that the network itself brings, by libfabric and by SISCI straight, are exceptions: there the registered memory is the bound.
//! 5. Any thread may call, several at once. [`Wire::progress`] does its work on one thread at a time: a caller that finds
//!    another thread in it returns at once ([`enter`]).

#![allow(unsafe_code)] // memory of clients, which callers answer for

use crate::os::lock::{Guard, Lock};
use crate::sci::SciAddr;
pub use crate::sci::adapter::{Counter, Readable, Writable};
use crate::sync::yield_now;
use std::os::fd::RawFd;
use std::time::Duration;

/// The most bytes of a [`Wire::address`]: what nodes can exchange at a time (`boot::bootstrap::LIMIT`), with a byte for the wire and one
/// for the length.
pub const ADDRESS: usize = 94;

/// A piece of memory of a node into which wires write. An offset has its number above its lower 48 bits.
pub type Area = usize;
/// The client's segment. It alone is read.
pub const SEGMENT: Area = 0;
/// The DECK heap.
pub const HEAP: Area = 1;
/// How many there are.
pub const AREAS: usize = 2;

/// The offset of byte `at` of an area.
pub fn offset_in(area: Area, at: usize) -> u64 {
    (area as u64) << SciAddr::OFFSET_BITS | at as u64
}

/// Which byte of which area an offset names. `None`: there is no such area.
pub fn area_of(offset: u64) -> Option<(Area, usize)> {
    let area = usize::try_from(offset >> SciAddr::OFFSET_BITS).ok().filter(|area| *area < AREAS)?;
    Some((area, (offset & ((1 << SciAddr::OFFSET_BITS) - 1)) as usize))
}

/// How long the source of a write stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Until the call returns true. Until then the caller lets the wire work ([`Wire::progress`]), calls again with the same
    /// arguments, and posts nothing else to this peer.
    Now,
    /// Until the write is complete.
    UntilDone,
    /// Until the write is complete. The caller calls as with [`Kept::Now`], and what it posts afterwards stays behind the bytes.
    InOrder,
}

/// What is counted when a transfer is complete: the word is raised by 1, with Release, when every byte is in place (of a write:
/// at the peer). `None`: nobody wants to know.
pub type Done = Option<Counter>;

/// The link to a peer is gone, or was never made, for this reason. It does not come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(pub String);

/// Who leaves the job waits so long for locks ([`Lock::within`]): others give them back sooner, and for his own he would wait forever.
pub const OTHERS: Duration = Duration::from_millis(50);

/// What one thread at a time has. `None`: another thread has it. A `thorough` caller would sleep next, on a descriptor that may be readable as
/// long as that thread has not come to look, which needs this caller's core perhaps. So the caller gives it away. Without that, puts of 64 KiB
/// beside the helping thread on the same core stood still for 3 to 8 ms at a time (EPYC VM, 2026-11).
pub fn enter<T>(lock: &Lock<T>, thorough: bool) -> Option<Guard<'_, T>> {
    let entered = lock.try_lock();
    if entered.is_none() && thorough {
        yield_now();
    }
    entered
}

/// What [`Wire::grace`] usually is.
pub const GRACE: Duration = Duration::from_secs(2);

/// One kind of network, as one node uses it. No method has a body here: a wire that wraps another one and forgets to pass a call on does not
/// compile.
pub trait Wire: Send + Sync {
    /// A short name for messages and statistics: `tcp`, `ofi:net`.
    fn name(&self) -> String;

    /// What peers must know to reach this node, at most [`ADDRESS`] bytes. Nodes exchange it before the first contact.
    fn address(&self) -> Vec<u8>;

    /// From now on all that goes between nodes is encrypted and authenticated. False: this wire cannot. Called before
    /// [`Wire::set_peers`], by all nodes or none.
    fn protect(&self) -> bool;

    /// The addresses of all nodes, by rank; empty for those that this wire is not for. Called once, before anything is sent.
    fn set_peers(&self, addresses: Vec<Vec<u8>>);

    /// Where `area` of this node is. Called once for each area, before any write or read of it. The error says why peers cannot
    /// reach it; without the first area they are lost.
    ///
    /// # Safety
    /// `len` bytes at `base` are readable and writable as long as the process lives.
    unsafe fn set_area(&self, area: Area, base: *mut u8, len: usize) -> Result<(), String>;

    /// The most bytes of a frame.
    fn frame_max(&self) -> usize;

    /// Bytes that a caller of [`Wire::post`] leaves in front of a frame, for the wire's own head: so both go out in one piece.
    fn headroom(&self) -> usize;

    /// Sends a frame of 1 to [`Wire::frame_max`] bytes to `peer`, and makes the contact if there is none. It begins behind
    /// [`Wire::headroom`] bytes of `frame`. False: there is no room now. Then the caller lets the wire work ([`Wire::progress`])
    /// and tries again.
    fn post(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost>;

    /// Writes bytes to `offset` of the memory of `peer`. False: there is no room now; see also [`Kept::Now`], [`Kept::InOrder`].
    ///
    /// # Safety
    /// `from` is readable as long as `kept` says.
    unsafe fn write(&self, peer: u32, offset: u64, from: Readable, kept: Kept, done: Done) -> Result<bool, Lost>;

    /// Reads bytes at `offset` of the memory of `peer`. False: there is no room now, and nothing was begun.
    ///
    /// # Safety
    /// `to` is writable until `done` is raised.
    unsafe fn read(&self, peer: u32, offset: u64, to: Writable, done: Counter) -> Result<bool, Lost>;

    /// Sends what waits, takes what has come and gives it to `sink`. True if anything came or became complete. It may look at the
    /// likely places alone, unless `thorough`: the caller sleeps next.
    fn progress(&self, sink: &dyn Sink, thorough: bool) -> bool;

    /// True while something waits that only [`Wire::progress`] can move: unsent bytes, transfers that are not complete.
    fn is_busy(&self) -> bool;

    /// As [`Wire::post`]. A write to the same peer follows at once, with which the frame may go.
    fn post_before_write(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost>;

    /// This thread leaves the job, and must not wait for a lock that it has: it may be a signal handler that has interrupted its own work
    /// here. False: it has done so, and only [`Wire::leave`] may be called.
    fn begins_to_leave(&self) -> bool;

    /// This node leaves the job in good order: what was posted reaches the peers' systems, if they take it within `time`.
    fn leave(&self, sink: &dyn Sink, time: Duration);

    /// What the statistics say of it at exit: names and numbers.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// How long this node waits, after the loss of a peer, for its supervisor to end the job: who is told of the end of a process or of a
    /// host may know better. [`GRACE`], unless the wire notices losses late.
    fn grace(&self) -> Duration;

    /// A descriptor that is readable when [`Wire::progress`] has something to do. `None`: there is none now, so a node that sleeps
    /// must look now and then. Asked for before each sleep, after a thorough progress.
    fn descriptor(&self) -> Option<RawFd>;

    /// The longest time for which nobody may call [`Wire::progress`], because peers would take this node for dead. `None`: there is none.
    fn heartbeat(&self) -> Option<Duration>;

    /// A thread will sleep on the descriptor while other threads call [`Wire::progress`]. Without this call, only what came since the
    /// last thorough progress must show there.
    fn watch_always(&self);
}

/// This node, as a wire sees it. Called by [`Wire::progress`] only. It runs no handler of a client. No method has a body, as in [`Wire`].
pub trait Sink {
    /// A frame of `peer` has come, whole.
    fn frame(&self, peer: u32, frame: &[u8]);
    /// Where the wire may write (`write`) or read `len` bytes at `offset` of this node's memory for `peer`. `None`: there is no
    /// such range, and the link must end.
    fn place(&self, peer: u32, offset: u64, len: usize, write: bool) -> Option<*mut u8>;
    /// The wire stores no more bytes of a write that had its place at `offset`. Said before [`Sink::frame`] gets what was posted behind it;
    /// a link that is lost may leave it out.
    fn written(&self, offset: u64);
    /// The link to `peer` is gone. Called once for each.
    fn lost(&self, peer: u32, why: &Lost);
    /// The peer has left the job in good order. Called once at most; what is sent to it from then on goes nowhere.
    fn left(&self, peer: u32);
}
