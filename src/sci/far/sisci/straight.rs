//! Bytes that go straight to their places in a peer's memory, past its ring: the client's segment is one of the library's as well, where the library takes
//! memory that a program has. The peer's processor has nothing to do for them, and they are copied once instead of twice.
//!
//! Puts of 1 MiB over software SISCI take 46 µs so, by rings 102 (docs/hosts.md, "SISCI").
//!
//! Must not know: records.

#![allow(unsafe_code)] // calls of the library, memory of clients

use super::adapter::{ADAPTER, ANSWER, Descriptor};
use super::layout::LINE;
use super::library::{Code, DMA_DONE, DirectCalls, Handle, Library};
use crate::sync::Ordering;
use std::ops::Range;
use std::ptr;
use std::time::{Duration, Instant};

/// Bytes of a write from which on it goes this way. Blocking puts of 16 KiB take 1.0 µs so, 3.8 by rings (as in docs/hosts.md).
pub const LEAST: usize = 16 << 10;
/// The most bytes that go in one call, under the lock of the peer: others wait for it meanwhile, and signals for the library.
/// Tests have shorter writes.
const MOST: usize = if cfg!(test) { 64 << 10 } else { 1 << 20 };
/// How often a transfer that has failed is started again.
const TRIES: u32 = 16;
/// Between two tries to connect to a client's segment.
const RETRY: Duration = Duration::from_secs(1);

/// How straight writes to one peer stand.
#[derive(Default)]
pub struct Straight {
    path: Path,
    /// The ring position behind the last record that writes the client's segment, and the bytes there that records write which the peer has perhaps not taken.
    by_ring: (u64, Range<usize>),
    /// Bytes that went straight in this call.
    brought: usize,
}

/// How large writes go to the client's segment of a peer.
enum Path {
    /// The peer has not announced its client's segment; or it could not be connected to, and the next try is not before this time.
    Unknown(Option<Instant>),
    To(Way),
    /// By the ring alone.
    No,
}

impl Default for Path {
    fn default() -> Path {
        Path::Unknown(None)
    }
}

/// How a write goes on.
pub enum Brought {
    /// All that was left of it has gone straight to its place.
    Whole,
    /// So much has gone straight in this call that the rest goes in another one: others want the lock.
    Enough,
    /// So many bytes go next, by the ring: those before the first whole line, or behind the last one.
    Ring(usize),
    /// The rest goes by the ring.
    No,
}

impl Straight {
    /// Whether there is a way to the client's segment of a node, which has this number; 0: it has none, or was not announced yet.
    pub fn has_way(&mut self, library: &'static Library, node: u32, number: u64) -> bool {
        if let Path::Unknown(next) = self.path
            && number != 0
            && next.is_none_or(|next| Instant::now() > next)
        {
            self.path = match u32::try_from(number).map(|number| Way::connect(library, node, number)) {
                Ok(Some(way)) => Path::To(way),
                Ok(None) => Path::Unknown(Some(Instant::now() + RETRY)),
                Err(_) => Path::No,
            };
        }
        matches!(self.path, Path::To(_))
    }

    /// From now on all goes by the ring.
    pub fn give_up(&mut self) {
        self.path = Path::No;
    }

    /// A call of the wire begins.
    pub fn begins_call(&mut self) {
        self.brought = 0;
    }

    /// A record that ends at the position `end` of the ring writes these bytes. The peer has taken `taken` bytes of the ring.
    pub fn note_by_ring(&mut self, bytes: Range<usize>, end: u64, taken: u64) {
        let (last, written) = &self.by_ring;
        let all = if taken < *last { written.start.min(bytes.start)..written.end.max(bytes.end) } else { bytes };
        self.by_ring = (end, all);
    }

    /// The position of the ring that the peer must have taken before these bytes may go straight. `None`: no record writes any of them.
    pub fn waits_for(&self, bytes: &Range<usize>) -> Option<u64> {
        let (last, written) = &self.by_ring;
        (bytes.start < written.end && written.start < bytes.end).then_some(*last)
    }

    /// Brings what it can of these bytes of the client's segment to their places: how many, and how the write goes on behind them.
    ///
    /// # Safety
    /// As many bytes are readable at `from`.
    pub unsafe fn bring(&mut self, from: *const u8, bytes: Range<usize>) -> (usize, Brought) {
        let Path::To(way) = &self.path else { return (0, Brought::No) };
        let (before, left) = (bytes.start.next_multiple_of(LINE) - bytes.start, bytes.len());
        if before > 0 || left < LINE {
            return (0, Brought::Ring(if before > 0 { before.min(left) } else { left }));
        }
        if self.brought >= MOST {
            return (0, Brought::Enough);
        }
        let lines = (left - left % LINE).min(MOST);
        // SAFETY: the caller's promise.
        if !unsafe { way.bring(from, bytes.start, lines) } {
            self.path = Path::No;
            return (0, Brought::No);
        }
        self.brought += lines;
        let next = match left - lines {
            0 => Brought::Whole,
            rest if rest < LINE => Brought::Ring(rest),
            _ => Brought::Enough,
        };
        (lines, next)
    }
}

/// The way to the client's segment of a peer.
struct Way {
    direct: &'static DirectCalls,
    descriptor: Descriptor,
    segment: Handle,
    queue: Handle,
}

// SAFETY: the library's calls may come from any thread.
unsafe impl Send for Way {}

impl Way {
    /// The way to this segment of a node. `None`: there is none.
    fn connect(library: &'static Library, node: u32, segment: u32) -> Option<Way> {
        let direct = library.direct.as_ref()?;
        let null = ptr::null_mut();
        let mut way = Way { direct, descriptor: Descriptor::open(library).ok()?, segment: null, queue: null };
        let (calls, owner) = (&library.calls, way.descriptor.handle());
        // SAFETY: an open descriptor, no callback, places for the results.
        let connect = |error: *mut Code| unsafe {
            (calls.connect)(owner, &raw mut way.segment, node, segment, ADAPTER, null, null, ANSWER, 0, error);
        };
        library.call("SCIConnectSegment", connect).ok()?;
        // SAFETY: as above.
        let create = |error: *mut Code| unsafe {
            (calls.create_queue)(owner, &raw mut way.queue, ADAPTER, 1, 0, error);
        };
        library.call("SCICreateDMAQueue", create).ok()?;
        Some(way)
    }

    /// Brings whole lines to `offset` of the peer's segment. True: they are there. False: it has failed `TRIES` times.
    ///
    /// # Safety
    /// `len` bytes at `from` are readable.
    unsafe fn bring(&self, from: *const u8, offset: usize, len: usize) -> bool {
        debug_assert!(offset.is_multiple_of(LINE) && len.is_multiple_of(LINE));
        let (library, start) = (self.descriptor.library(), self.direct.start);
        let (from, none) = (from.cast_mut().cast(), ptr::null_mut());
        (0..TRIES).any(|tries| {
            if tries > 0 {
                library.repeats.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
            }
            // SAFETY: a queue that is not at work, a connected segment, no callback; the caller's promise. The library only reads the bytes.
            let transfer = |error: *mut Code| unsafe {
                start(self.queue, from, self.segment, len, offset, none, none, self.direct.wait, error);
            };
            let is_started = library.call("SCIStartDmaTransferMem", transfer).is_ok();
            // SAFETY: a queue.
            is_started && unsafe { (library.calls.dma_state)(self.queue) } == DMA_DONE
        })
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        let (calls, error) = (&self.descriptor.library().calls, &mut Code::default());
        let steps: [(Handle, unsafe extern "C" fn(Handle, u32, *mut Code)); 2] =
            [(self.queue, calls.remove_queue), (self.segment, calls.disconnect)];
        for (handle, end) in steps {
            if !handle.is_null() {
                // SAFETY: a handle of this way, used for the last time.
                unsafe { end(handle, 0, error) };
            }
        }
    }
}
