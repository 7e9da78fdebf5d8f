//! Buffers that messages are received into.
//!
//! Rules: 1. A posted buffer is the provider's until it gives it back (`given_back`). 2. A message that lies in a buffer keeps it
//! until the sink has had it (`done`). 3. A buffer that is given back and keeps no message is posted again.

#![allow(unsafe_code)] // buffers that the provider writes

use super::fabric::{Begun, Endpoint};
use super::message::MESSAGE;
use libc::c_void;

/// Bytes and first count of buffers that take many messages.
const MULTI: (usize, usize) = (128 << 10, 4);
/// The first count of buffers that take one message each.
const SINGLES: usize = 64;
/// When fewer buffers than this are posted, and messages lie in the others, there is one more.
const LEAST: usize = 2;
/// The most buffers: of many messages, of one message.
const MOST: (usize, usize) = (256, 4096);

/// A message that lies in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    buffer: usize,
    at: *const u8,
    len: usize,
}

// SAFETY: it names memory of `Buffers`, which any thread may read while the message is not `done`.
unsafe impl Send for Arrived {}

impl Arrived {
    /// # Safety
    /// The message is not [`Buffers::done`] while the result is used.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: `Buffers::arrived` has checked that it lies inside its buffer; the provider writes there no more (rule 2).
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }
}

struct Buffer {
    /// From `Box::into_raw`, because the provider writes into it.
    at: *mut u8,
    context: *mut c_void,
    posted: bool,
    /// An error was reported for it, so it may have been given back without a word. It is not posted again until that is certain.
    doubtful: bool,
    /// Messages in it that are not done.
    holds: usize,
}

/// All buffers of an endpoint.
pub struct Buffers {
    size: usize,
    multi: bool,
    all: Vec<Buffer>,
    posted: usize,
}

// SAFETY: the buffers belong to no thread.
unsafe impl Send for Buffers {}

impl Buffers {
    pub fn new(multi: bool) -> Buffers {
        Buffers { size: if multi { MULTI.0 } else { MESSAGE }, multi, all: Vec::new(), posted: 0 }
    }

    /// The number of buffers to begin with.
    pub fn first(&self, receives: usize) -> usize {
        if self.multi { MULTI.1 } else { SINGLES.min(receives.max(1)) }
    }

    /// True if the provider may soon have none.
    pub fn is_short(&self) -> bool {
        self.posted < LEAST && self.all.len() < if self.multi { MOST.0 } else { MOST.1 }
    }

    /// One more buffer, which is not posted yet. Its index; completions name it by `context`.
    pub fn add(&mut self, context: *mut c_void) -> usize {
        let memory = vec![0u8; self.size].into_boxed_slice();
        let at = Box::into_raw(memory).cast();
        self.all.push(Buffer { at, context, posted: false, doubtful: false, holds: 0 });
        self.all.len() - 1
    }

    /// Posts buffer `i` if nothing lies in it. False: the provider has no room for it now.
    pub fn post(&mut self, i: usize, endpoint: &Endpoint) -> Result<bool, String> {
        let buffer = &mut self.all[i];
        if buffer.posted || buffer.holds > 0 {
            return Ok(true);
        }
        // SAFETY: nobody reads it; it is freed after the endpoint is closed; the context is never freed before.
        match unsafe { endpoint.receive(buffer.at, self.size, buffer.context) } {
            Begun::Yes => {
                buffer.posted = true;
                self.posted += 1;
                Ok(true)
            }
            Begun::NoRoom => Ok(false),
            Begun::Failed(error) => Err(format!("fi_recv: {}", endpoint.error(error))),
        }
    }

    /// A message of `len` bytes lies in buffer `i` at `at`. None: it does not.
    pub fn arrived(&mut self, i: usize, at: *const u8, len: usize) -> Option<Arrived> {
        let buffer = self.all.get_mut(i)?;
        // Providers leave the address out where it can only be the beginning.
        let at = if at.is_null() || !self.multi { buffer.at.cast_const() } else { at };
        let offset = (at as usize).checked_sub(buffer.at as usize)?;
        if !buffer.posted || offset > self.size || len > self.size - offset {
            return None;
        }
        buffer.holds += 1;
        Some(Arrived { buffer: i, at, len })
    }

    /// The provider gives buffer `i` back.
    pub fn given_back(&mut self, i: usize) {
        let buffer = &mut self.all[i];
        if buffer.posted {
            self.posted -= usize::from(!buffer.doubtful);
            buffer.posted = false;
            buffer.doubtful = false;
        }
    }

    /// A message failed in buffer `i`, and the provider does not say whose the buffer is now. It is not counted any more, so that
    /// there will be another one.
    pub fn doubt(&mut self, i: usize) {
        let buffer = &mut self.all[i];
        if buffer.posted && !buffer.doubtful {
            buffer.doubtful = true;
            self.posted -= 1;
        }
    }

    /// Nobody reads the message any more. Its buffer, which may now be one to post.
    pub fn done(&mut self, message: Arrived) -> usize {
        self.all[message.buffer].holds -= 1;
        message.buffer
    }

    /// True if [`Buffers::post`] would post buffer `i`.
    pub fn is_free(&self, i: usize) -> bool {
        !self.all[i].posted && self.all[i].holds == 0
    }

    pub fn is_multi(&self) -> bool {
        self.multi
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        for buffer in &self.all {
            let memory = std::ptr::slice_from_raw_parts_mut(buffer.at, self.size);
            // SAFETY: from `Box::into_raw` in `add`; the owner closes the endpoint first.
            drop(unsafe { Box::from_raw(memory) });
        }
    }
}
