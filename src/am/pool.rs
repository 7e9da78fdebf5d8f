//! What messages of a node to itself need while their handlers run: tokens, and buffers for copies of payloads. They are kept
//! for the next ones.
//!
//! Must not know: what is sent, handlers.

#![allow(unsafe_code)] // the client's payload

use super::source::Source;
use super::token::Token;
use crate::am::region::MAX_MEDIUM;
use crate::sync::{AtomicU64, ModeLock};
use std::cell::RefCell;

/// A Medium's private copy; aligned for anything.
#[repr(C, align(64))]
struct Buffer([u8; MAX_MEDIUM]);

/// The pool. It holds at most one token and one buffer per handler that runs at the moment.
pub(crate) struct Loopback {
    pub(super) tokens: ModeLock<RefCell<Vec<&'static Token>>>,
    buffers: ModeLock<RefCell<Vec<Box<Buffer>>>>,
    /// Messages to ourselves.
    pub(crate) count: AtomicU64,
}

impl Loopback {
    /// # Safety
    /// As [`ModeLock::new`].
    pub(crate) unsafe fn new(threaded: bool) -> Loopback {
        Loopback {
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            tokens: unsafe { ModeLock::new(threaded, RefCell::default()) },
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            buffers: unsafe { ModeLock::new(threaded, RefCell::default()) },
            count: AtomicU64::new(0),
        }
    }

    /// Runs `run` on a private copy of `source`.
    pub(super) fn with_copy(&self, source: Source, run: impl FnOnce(*mut u8)) {
        let pooled = self.buffers.with(|pool| pool.borrow_mut().pop());
        let mut buffer = pooled.unwrap_or_else(|| Box::new(Buffer([0; MAX_MEDIUM])));
        let start = (&raw mut buffer.0).cast::<u8>();
        // SAFETY: the buffer takes MAX_MEDIUM bytes, the most that a Medium has (checked by the verbs).
        unsafe { source.move_to(start) };
        run(start);
        self.buffers.with(|pool| pool.borrow_mut().push(buffer));
    }
}
