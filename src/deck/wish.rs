//! A thread that waits for a message of a box, and where the message is to go.
//!
//! A `LINE` or a `BODY` that comes while the box is empty is stored where the waiting thread wants it. The handler
//! does that, under the lock of the state. So it does not go through the box's queue, and the thread needs no lock to find it. With `Deck::post_now` a message of 8 bytes
//! takes 201 instead of 232 ns one way in SEQ, 219 instead of 245 in PAR (2026-11, Xeon VM).
//!
//! Rules:
//! 1. The thread lists its wish at the box, and takes it out, under the lock. The wish lives until it is out.
//! 2. Who grants a wish holds the lock, takes it out first, and says `granted` last.
//! 3. While the wish is listed, the thread touches the message under the lock only.
//!
//! Must not know: boxes, credits, how threads are woken.

#![allow(unsafe_code)] // the message of another thread

use super::message::Message;
use crate::sync::{AtomicBool, Ordering};
use std::ptr::NonNull;

/// What a waiting thread wants.
pub(super) struct Wish {
    message: NonNull<Message>,
    granted: AtomicBool,
}

impl Wish {
    /// The next message is wanted in `message`, which the caller leaves alone as long as the wish lives.
    pub(super) fn new(message: &mut Message) -> Wish {
        Wish { message: NonNull::from(message), granted: AtomicBool::new(false) }
    }

    /// The message is there.
    #[inline]
    pub(super) fn is_granted(&self) -> bool {
        self.granted.load(Ordering::Acquire) // ORDERING: Acquire ↔ Release in `Listed::grant`: who sees it sees the message
    }

    /// The message, to be filled.
    ///
    /// # Safety
    /// The caller has the lock of the state, and no other reference from here.
    #[allow(clippy::mut_from_ref)] // the lock makes it exclusive
    pub(super) unsafe fn message(&self) -> &mut Message {
        // SAFETY: `new` got a message that lives as long as the wish and that its thread leaves alone; see the caller's promise.
        unsafe { &mut *self.message.as_ptr() }
    }

    /// What the box keeps of it.
    pub(super) fn listed(&self) -> Listed {
        Listed(NonNull::from(self))
    }
}

/// A wish as its box keeps it: `Own::wish`. "Listed" says that it is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed(NonNull<Wish>);

// SAFETY: used under the lock of the state, where the wish lives (rule 1).
unsafe impl Send for Listed {}

impl Listed {
    /// The number by which the waiting thread is woken.
    pub(super) fn number(self) -> usize {
        self.0.as_ptr().addr()
    }

    /// A message of `len` bytes can be stored there at once.
    ///
    /// # Safety
    /// The caller has the lock of the state, and the wish is listed.
    #[inline(always)]
    pub(super) unsafe fn takes(self, len: usize) -> bool {
        // SAFETY: as the caller promises.
        let wish = unsafe { self.0.as_ref() };
        // SAFETY: as the caller promises.
        unsafe { wish.message() }.takes(len)
    }

    /// Stores a message there by `store`, which `takes` has allowed.
    ///
    /// # Safety
    /// The caller has the lock of the state, and has just taken the wish out of the list.
    #[inline(always)]
    pub(super) unsafe fn grant(self, store: impl FnOnce(&mut Message)) {
        // SAFETY: as the caller promises; the thread cannot leave before it sees `granted`, or has the lock.
        let wish = unsafe { self.0.as_ref() };
        // SAFETY: as the caller promises.
        store(unsafe { wish.message() });
        wish.granted.store(true, Ordering::Release); // ORDERING: see `is_granted`
    }
}
