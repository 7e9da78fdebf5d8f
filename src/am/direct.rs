//! What the header's inline messages and polls use: where a Short's packet goes, and which words a poll in vain looks at.
//!
//! The header does for a Short what `Am::request_short` and `Am::reply_short` do, in the same order, and for a poll in vain
//! what `Inbox::look_for` does: a call costs as much as the message (a Short's round trip took 960 instructions in the
//! library, 2026-11). Here are the three structures that it reads, and who fills them. Their C declarations are in
//! `abi::direct`, which checks that they agree.
//!
//! Rules: 1. [`Direct`] and [`Answer`] are for jobs of one client thread at a time (SEQ, PARSYNC): nothing here is locked.
//! [`Watch`] is for every mode. 2. The header does the plain case and calls for every other: no room, two lines, a node itself, a first contact. 3. What the header leaves to
//! the library is done before anybody else can see that it is not: an inline reply is counted when its handler returns.
//! 4. A look that misses is made good by the next call, which at most `GRANT` polls, or `GRANT_ALONE`, lie before.
//!
//! Must not know: handlers, waiting.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::token::Token;
use crate::am::region::{Layout, SLOT};
use crate::sci::{RemoteInterrupt, RemoteMap};
use crate::sync::{AtomicPtr, AtomicU16, AtomicU32, Ordering};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null;

/// Polls in vain between two that look further than the words of [`Watch`]. With 16 what a call costs is 1 to 2 ns of each.
pub const GRANT: u32 = 16;
/// The same where there is one peer, so that nobody is missed.
pub const GRANT_ALONE: u32 = 64;
/// Looks of a wait, with gaps between them, weigh as much as so many polls: who is not watched waits for the sum.
pub const WAIT_WEIGHT: u32 = 4;

/// This node's way to one peer, as a sender of Shorts needs it. One line.
#[repr(C)]
pub struct Direct {
    /// The first request slot at the peer.
    pub slots: *mut u8,
    /// Our ready counts at the peer: requests, then replies.
    pub ready: *mut u32,
    /// The peer's sleep word.
    pub bell: *const u32,
    /// Ring position behind the payload of the request in each slot.
    pub ends: *const Cell<u64>,
    /// Ring position of the next payload.
    pub head: *const Cell<u64>,
    /// Requests sent. Written by whoever holds the outbox, read by the poller.
    pub sent: AtomicU32,
    /// Requests retired: consumed by the peer, and their replies by us. Written by the poller, read by senders.
    pub retired: AtomicU32,
    /// One less than the number of slots.
    pub mask: u32,
    /// Its number of bits.
    pub shift: u32,
    /// Requests that may be outstanding; 0 where each is a call.
    pub room: u32,
    /// Not 0: a message of the peer was run since the last request to it. Then the peer is likely to wait for the next one, whose
    /// line is handed over; in a flood that would cost the sender 5 ns each.
    pub heard: AtomicU32,
}

// SAFETY: the addresses are of mapped memory and of the outbox that lies beside it; what they point to is used under the
// outbox's lock, or, by the header, where there is one thread at a time (rule 1).
unsafe impl Send for Direct {}
// SAFETY: as above.
unsafe impl Sync for Direct {}

impl Direct {
    /// No way yet: each request is a call.
    pub fn none() -> Direct {
        Direct {
            slots: std::ptr::null_mut(),
            ready: std::ptr::null_mut(),
            bell: null(),
            ends: null(),
            head: null(),
            sent: AtomicU32::new(0),
            retired: AtomicU32::new(0),
            mask: 0,
            shift: 0,
            room: 0,
            heard: AtomicU32::new(0),
        }
    }

    /// Where node `me` finds its queue at a peer, if it may go there by address, and nothing else has to be told the peer.
    pub fn to<R: RemoteMap>(queue: &R, control: &R, bell: &impl RemoteInterrupt, layout: &Layout, me: usize) -> Direct {
        let (Some(slots), Some(control), Some(bell)) = (queue.place(), control.place(), bell.sleep_word()) else {
            return Direct::none();
        };
        if layout.grouped() {
            return Direct::none(); // its exist word would be due
        }
        let ready = control.wrapping_add(layout.ready(me)).cast();
        let slots_of_queue = layout.slots() as u32;
        Direct {
            slots,
            ready,
            bell,
            mask: slots_of_queue - 1,
            shift: slots_of_queue.trailing_zeros(),
            room: slots_of_queue,
            ..Direct::none()
        }
    }

    /// Where the reply to the peer's request `index` goes; null where each is a call.
    #[inline(always)]
    pub fn reply_slot(&self, index: u32) -> *mut u64 {
        if self.room == 0 {
            return std::ptr::null_mut();
        }
        let slot = (self.room + (index & self.mask)) as usize;
        self.slots.wrapping_add(slot * SLOT).cast()
    }
}

/// Where the reply to the request that a handler runs for goes. The head of its token.
#[repr(C)]
pub struct Answer {
    /// The paired slot at the requester; null when each reply is a call, and once there was one.
    pub slot: Cell<*mut u64>,
    /// The way to the requester.
    pub way: Cell<*const Direct>,
    /// The lap's sequence: what its meta word begins with.
    pub sequence: Cell<u32>,
    /// Replies to the requester, this one included.
    pub count: Cell<u32>,
    /// Not 0: [`ANSWERED`]. The reply is counted when the handler returns.
    pub answered: Cell<u8>,
}

/// [`Answer::answered`]: a reply was sent, by the header or by the engine.
pub const ANSWERED: u8 = 1;

impl Answer {
    /// Nothing can be answered.
    pub fn none() -> Answer {
        Answer {
            slot: Cell::new(std::ptr::null_mut()),
            way: Cell::new(null()),
            sequence: Cell::new(0),
            count: Cell::new(0),
            answered: Cell::new(0),
        }
    }
}

/// What the header sends by.
pub struct ForHeader {
    /// By rank, the addresses of `Peer`s, at whose beginning is a [`Direct`]; null where there is none yet.
    pub ways: *const c_void,
    /// The token of requests, at whose beginning is an [`Answer`].
    pub token: &'static Token,
}

/// What a poll in vain looks at: the slots of the peer that was active last.
///
/// Whoever holds the inbox writes it. The header reads it at any time, and where client threads may poll at the same time it may
/// see some words of an older state: then it looks at a slot that is no longer the next one. That does no harm (rule 4), for
/// the library looks again, under the inbox's lock, before it runs anything. So nothing here is ordered.
#[repr(C)]
pub struct Watch {
    /// Polls that may look here and nowhere else, before one is a call. Not exactly: a poll that is under way may undo what
    /// another thread takes away.
    pub left: AtomicU32,
    /// Those of them that pause first.
    pub pauses: AtomicU32,
    /// A wait that has failed so often, or more, is a call.
    pub spins: AtomicU32,
    /// Sequence of the next request.
    pub request_sequence: AtomicU16,
    /// Sequence of the next reply.
    pub reply_sequence: AtomicU16,
    /// Slot of the next request.
    pub request: AtomicPtr<u64>,
    /// Slot of the next reply.
    pub reply: AtomicPtr<u64>,
    /// Pauses between two looks.
    pub gap: AtomicU32,
    /// Whose they are.
    pub peer: Cell<usize>,
    /// Where these two lie in the command region.
    pub request_at: Cell<usize>,
    /// See `request_at`.
    pub reply_at: Cell<usize>,
    /// Their numbers. Another way may have run them meanwhile: then what is there is old.
    pub request_index: Cell<u32>,
    /// See `request_index`.
    pub reply_index: Cell<u32>,
    /// What `left` was.
    granted: Cell<u32>,
}

// SAFETY: the cells are used by whoever holds the inbox; any thread may use the atomics.
unsafe impl Send for Watch {}
// SAFETY: the cells are behind the inbox's lock, and the atomics need none.
unsafe impl Sync for Watch {}

impl Watch {
    /// Nothing to look at: each poll is a call.
    pub fn none() -> Watch {
        Watch {
            left: AtomicU32::new(0),
            pauses: AtomicU32::new(0),
            spins: AtomicU32::new(0),
            request_sequence: AtomicU16::new(0),
            reply_sequence: AtomicU16::new(0),
            request: AtomicPtr::new(std::ptr::null_mut()),
            reply: AtomicPtr::new(std::ptr::null_mut()),
            gap: AtomicU32::new(1),
            peer: Cell::new(0),
            request_at: Cell::new(0),
            reply_at: Cell::new(0),
            request_index: Cell::new(0),
            reply_index: Cell::new(0),
            granted: Cell::new(0),
        }
    }

    /// Grants so many polls. Returns how many were made of those granted before.
    #[inline(always)]
    pub fn grant(&self, polls: u32) -> u32 {
        // Relaxed, here and below: hints (see `Watch`).
        let made = self.granted.get().saturating_sub(self.left.load(Ordering::Relaxed));
        self.granted.set(polls);
        self.left.store(polls, Ordering::Relaxed); // Relaxed: as above
        made
    }

    /// One of the polls granted, and a gap: false if none is left.
    #[inline(always)]
    pub fn spend(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed); // Relaxed, both: as above
        let enough = left >= WAIT_WEIGHT;
        if enough {
            self.left.store(left - WAIT_WEIGHT, Ordering::Relaxed);
        }
        enough
    }

    /// The next poll is a call.
    pub fn revoke(&self) {
        self.left.store(0, Ordering::Relaxed); // Relaxed: as above; in PAR nobody looks at it
    }
}
