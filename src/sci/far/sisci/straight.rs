//! Bytes that go straight to their places in a peer's memory, past its ring: the client's segment is one of the library's as well, where the library takes
//! memory that a program has. The peer's processor has nothing to do for them, and they are copied once instead of twice.
//!
//! Puts of 1 MiB over software SISCI take 50 µs so, by rings 98 (docs/hosts.md, "SISCI").
//!
//! Must not know: records.

#![allow(unsafe_code)] // calls of the library, memory of clients

use super::adapter::{ADAPTER, ANSWER, Descriptor};
use super::layout::LINE;
use super::library::{Code, DMA_DONE, DirectCalls, Handle, Library};
use std::ptr;

/// Bytes of a write from which on it goes this way. Blocking puts of 16 KiB take 1.5 µs so, 4.3 by rings; of 8 KiB 3 by rings (as in docs/hosts.md).
pub const LEAST: usize = 16 << 10;
/// The most bytes that go in one call, under the lock of the peer: others wait for it meanwhile, and signals for the library.
pub const MOST: usize = 1 << 20;
/// How often a transfer that has failed is started again.
const TRIES: u32 = 16;

/// The way to the client's segment of a peer.
pub struct Way {
    direct: &'static DirectCalls,
    descriptor: Descriptor,
    segment: Handle,
    queue: Handle,
}

// SAFETY: the library's calls may come from any thread.
unsafe impl Send for Way {}

impl Way {
    /// The way to this segment of a node. `None`: there is none.
    pub fn connect(library: &'static Library, node: u32, segment: u32) -> Option<Way> {
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

    /// Brings whole lines to `offset` of the peer's segment. True: they are there. False: it has failed so often that the caller goes by the ring from now on.
    ///
    /// # Safety
    /// `len` bytes at `from` are readable.
    pub unsafe fn bring(&self, from: *const u8, offset: usize, len: usize) -> bool {
        debug_assert!(offset.is_multiple_of(LINE) && len.is_multiple_of(LINE));
        let (library, start) = (self.descriptor.library(), self.direct.start);
        let (from, none) = (from.cast_mut().cast(), ptr::null_mut());
        (0..TRIES).any(|_| {
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
