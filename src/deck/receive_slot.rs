//! A thread that waits for a message of a box, and where the message is to go.
//!
//! A message that comes while the box is empty does not go through the box's queue, and the waiting thread needs no lock to find it. The handler
//! stores a `LINE` or a short `BODY` in the thread's message. It leaves any other message in the slot, as an [`Item`]. It does both under the
//! lock of the state. With `Deck::post_now` a message of 8 bytes takes 201 instead of 232 ns one way in SEQ, 219 instead of 245 in PAR
//! (2026-11, Xeon VM). 1 KiB, which is lent, takes 221 instead of 250 ns together with the one lock of its post (EPYC VM).
//!
//! Rules:
//! 1. The thread lists its slot at the box, and takes it out, under the lock. The slot lives until it is out.
//! 2. The handler that fills a slot holds the lock. It takes the slot out of the box first, and sets `granted` last.
//! 3. While the slot is listed, the thread touches the message, and what was taken, under the lock only.
//!
//! Must not know: boxes, credits, how threads are woken.

#![allow(unsafe_code)] // the message of another thread

use super::item::{Item, Retrieved};
use super::message::Message;
use crate::sync::{AtomicBool, Ordering};
use std::cell::UnsafeCell;
use std::ptr::NonNull;

/// What a waiting thread wants.
pub(super) struct ReceiveSlot {
    message: NonNull<Message>,
    /// What has come, unless it is in `message`.
    taken: UnsafeCell<Retrieved>,
    granted: AtomicBool,
}

impl ReceiveSlot {
    /// The next message is wanted in `message`, which the caller leaves alone as long as the slot lives.
    pub(super) fn new(message: &mut Message) -> ReceiveSlot {
        let message = NonNull::from(message);
        ReceiveSlot { message, taken: UnsafeCell::new(None), granted: AtomicBool::new(false) }
    }

    /// The message is there.
    #[inline]
    pub(super) fn is_granted(&self) -> bool {
        // ORDERING: Acquire ↔ Release in `Listed::grant` and `grant_item`: a thread that sees it sees the message.
        self.granted.load(Ordering::Acquire)
    }

    /// The message, which may be filled, and the place for an [`Item`], which the waiting thread makes the message's content itself.
    ///
    /// # Safety
    /// The caller has the lock of the state, and no other reference from here.
    #[allow(clippy::mut_from_ref)] // the lock makes it exclusive
    pub(super) unsafe fn places(&self) -> (&mut Message, &mut Retrieved) {
        // SAFETY: `new` got a message that lives as long as the slot and that its thread leaves alone; see the caller's promise.
        (unsafe { &mut *self.message.as_ptr() }, unsafe { &mut *self.taken.get() })
    }

    /// What the box keeps of it.
    pub(super) fn listed(&self) -> Listed {
        Listed(NonNull::from(self))
    }

    /// What has come, unless it is in the message. The slot is not listed.
    pub(super) fn into_taken(self) -> Retrieved {
        self.taken.into_inner()
    }
}

/// A slot as its box keeps it: `Own::receive_slot`. "Listed" says that it is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed(NonNull<ReceiveSlot>);

// SAFETY: used under the lock of the state, where the slot lives (rule 1).
unsafe impl Send for Listed {}

impl Listed {
    /// The number by which the waiting thread is woken.
    pub(super) fn number(self) -> usize {
        self.0.as_ptr().addr()
    }

    /// How the slot can take a message of `len` bytes. `None`: not at all, since the message is fixed and too small.
    ///
    /// # Safety
    /// The caller has the lock of the state, and the slot is listed.
    #[inline(always)]
    pub(super) unsafe fn accepts(self, len: usize) -> Option<Accepts> {
        // SAFETY: as the caller promises.
        let slot = unsafe { self.0.as_ref() };
        // SAFETY: as the caller promises.
        let (message, _) = unsafe { slot.places() };
        if message.takes(len) {
            return Some(Accepts::Bytes);
        }
        (!message.fixed || len <= message.capacity).then_some(Accepts::Item)
    }

    /// Stores a message there by `store`. [`Self::accepts`] has allowed it with [`Accepts::Bytes`].
    ///
    /// # Safety
    /// The caller has the lock of the state, and has just taken the slot out of the list.
    #[inline(always)]
    pub(super) unsafe fn grant(self, store: impl FnOnce(&mut Message)) {
        // SAFETY: as the caller promises; the thread cannot leave before it sees `granted`, or has the lock.
        let slot = unsafe { self.0.as_ref() };
        // SAFETY: as the caller promises.
        let (message, _) = unsafe { slot.places() };
        store(message);
        slot.granted.store(true, Ordering::Release); // ORDERING: see `is_granted`
    }

    /// Gives the slot a message of `node`. [`Self::accepts`] has allowed it.
    ///
    /// # Safety
    /// As [`Self::grant`].
    #[inline(always)]
    pub(super) unsafe fn grant_item(self, node: u32, item: Item) {
        // SAFETY: as the caller promises; as in `grant`.
        let slot = unsafe { self.0.as_ref() };
        // SAFETY: as the caller promises.
        let (_, taken) = unsafe { slot.places() };
        *taken = Some((node, item));
        slot.granted.store(true, Ordering::Release); // ORDERING: see `is_granted`
    }
}

/// How a slot takes a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepts {
    /// In the memory of its message, or as [`Self::Item`].
    Bytes,
    /// As an item.
    Item,
}
