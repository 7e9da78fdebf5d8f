//! Records that an engine of the card brings to a peer, from memory that it reads, while the processor does something else: all their lines but the first one, which
//! is stored when the others are there.
//!
//! The record is copied into that memory, so its source is free at once, and lies as the engine wants it. One is on its way at a time.
//!
//! Must not know: rings.

#![allow(unsafe_code)] // calls of the library, memory of clients

use super::adapter::{ADAPTER, Remote, Segment, Verdict};
use super::layout::{IN_FIRST_LINE, LINE};
use super::library::{Code, DMA_DONE, DMA_POSTED, Handle, Library};
use super::parts::Announcement;
use crate::sync::Ordering;
use std::ptr;

/// How often a transfer that has failed is started again, as long as the peer is there.
const TRIES: u32 = 16;

/// A transfer that is not complete.
struct Flight {
    record: Announcement,
    tries: u32,
}

pub struct Dma {
    library: &'static Library,
    queue: Handle,
    flight: Option<Flight>,
    stage: Segment,
}

// SAFETY: the library's calls may come from any thread.
unsafe impl Send for Dma {}

/// From how many bytes on records go by DMA: `least`, or what the library suggests if that is more. None: it does not say that whole lines fit its engine.
pub fn threshold(library: &Library, least: usize) -> Option<usize> {
    let aligned = ["SCI_Q_ADAPTER_DMA_SIZE_ALIGNMENT", "SCI_Q_ADAPTER_DMA_OFFSET_ALIGNMENT"];
    let fits =
        |name: &&str| library.ask(ADAPTER, name).is_some_and(|need| need > 0 && LINE.is_multiple_of(need as usize));
    let suggested = library.ask(ADAPTER, "SCI_Q_ADAPTER_SUGGESTED_MIN_DMA_SIZE").unwrap_or(0) as usize;
    aligned.iter().all(fits).then_some(suggested.max(least))
}

impl Dma {
    /// An engine for records of up to `most` bytes. `None`: there is none.
    pub fn new(library: &'static Library, most: usize) -> Option<Dma> {
        let stage = Segment::private(library, most).ok()?;
        let mut queue = ptr::null_mut();
        let create = |error: *mut Code| {
            // SAFETY: an open descriptor, and places for the results.
            unsafe { (library.calls.create_queue)(stage.owner(), &raw mut queue, ADAPTER, 1, 0, error) };
        };
        library.call("SCICreateDMAQueue", create).ok()?;
        Some(Dma { library, queue, flight: None, stage })
    }

    pub fn is_flying(&self) -> bool {
        self.flight.is_some()
    }

    /// Bytes of the ring that are on their way.
    pub fn flying(&self) -> usize {
        self.flight.as_ref().map_or(0, |flight| flight.record.size)
    }

    /// Takes a record, whose own bytes lie at `from`, and starts its way.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`; the record has as many, more than its first line has room for.
    pub unsafe fn start(&mut self, remote: &Remote, record: Announcement, from: *const u8, len: usize) {
        let rest = len - IN_FIRST_LINE;
        // SAFETY: the caller's promise; the stage is as long, and this thread has it alone: no transfer is on its way.
        unsafe { from.wrapping_add(IN_FIRST_LINE).copy_to_nonoverlapping(self.stage.bytes(0, rest), rest) };
        self.flight = Some(Flight { record, tries: 0 });
        self.again(remote);
    }

    fn again(&mut self, remote: &Remote) {
        let Some(flight) = &mut self.flight else { return };
        if flight.tries > 0 {
            self.library.repeats.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
        }
        flight.tries += 1;
        let (start, none) = (self.library.calls.start_dma, ptr::null_mut());
        // SAFETY: a queue that is not at work, two segments, and no callback. What fails is found by the state.
        unsafe {
            start(
                self.queue,
                self.stage.handle,
                remote.handle,
                0,
                flight.record.size - LINE,
                flight.record.place + LINE,
                none,
                none,
                0,
                &mut Code::default(),
            );
        }
    }

    /// `None`: it is not there yet. Else the record that can be announced, or why it will never be there.
    pub fn landed(&mut self, remote: &Remote) -> Option<Result<Announcement, String>> {
        let tries = self.flight.as_ref()?.tries;
        // SAFETY: a queue.
        match unsafe { (self.library.calls.dma_state)(self.queue) } {
            DMA_POSTED => return None,
            DMA_DONE => return self.flight.take().map(|flight| Ok(flight.record)),
            _ => {}
        }
        match remote.confirm(|_| Ok(())) {
            Verdict::Gone(why) => {
                self.flight = None;
                Some(Err(why))
            }
            _ if tries < TRIES => {
                self.again(remote);
                None
            }
            _ => {
                self.flight = None;
                Some(Err("DMA to it fails".into()))
            }
        }
    }
}

impl Drop for Dma {
    fn drop(&mut self) {
        // SAFETY: a queue, used for the last time. One that is at work stays: so does its memory.
        unsafe { (self.library.calls.remove_queue)(self.queue, 0, &mut Code::default()) };
    }
}
