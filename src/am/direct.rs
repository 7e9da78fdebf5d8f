//! What the header's inline messages and polls use: where a Short's packet goes, and which words an empty poll looks at.
//!
//! The header does for a Short what `Am::request_short` and `Am::reply_short` do, in the same order. For an empty poll it does
//! what `Inbox::look_for` does. The reason: a call costs as much as the message (a Short's round trip took 960 instructions in
//! the library, 2026-11). This file has the three structures that the header reads, and says which code fills them. Their C
//! declarations are in `api::shared::direct`, which checks that they agree.
//!
//! Rules:
//! 1. Where client threads may send at the same time (PAR), the header takes the outbox's lock, as the library does, and calls
//!    the library if another thread has it. A reply needs no lock: one thread at a time runs the handlers of peers' requests,
//!    under the inbox's lock, and only that thread uses [`Answer`]. Of `Direct` a reply uses addresses only, which never change.
//!    (PAR: the replier's share of a Short's round trip 479 -> 359 instructions.)
//! 2. The header does the plain case. It calls the library when there is no room, when a message takes two lines, for messages
//!    of a node to itself, and at the first contact.
//! 3. Work that the header leaves to the library is done before anybody can notice. An inline reply, for instance, is counted
//!    when its handler returns.
//! 4. A header poll may miss a message. The next call of the library finds it, after at most `GRANT` (or `GRANT_ALONE`) polls that find
//!    nothing. Of those that find something, each eighth looks at the other peers (in a job of two each 32nd at what else its peer has sent),
//!    each 16th at the network.
//!
//! Must not know: handlers, waiting.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use crate::am::flood::Flood;
use crate::am::region::{LINE, Layout, SLOT};
use crate::sci::{RemoteInterrupt, RemoteMap};
use crate::sync::fixed::AtomicU64;
use crate::sync::{AtomicPtr, AtomicU16, AtomicU32, Ordering};
use std::cell::Cell;
use std::ptr::null;

/// Header polls granted before a poll must call the library, which looks further than the words of [`Watch`]. With 16 the call
/// costs each of them 1 to 2 ns.
pub const GRANT: u32 = 16;
/// The last word of a line, which claims overwrite.
const LAST_WORD: usize = LINE / 8 - 1;
/// [`GRANT`] for a job with one peer, where the header's poll misses nobody.
pub const GRANT_ALONE: u32 = 64;
/// A grant to a wait that goes on is this part of others. The looks of a wait have gaps between them, and a peer that is not watched waits
/// for their sum. The grant after a message is whole: the next message comes while it lasts. With this part there,
/// too, a Short there and back in a job of four nodes took 190 to 220 ns instead of 168 to 188, where two cores share a cache (EPYC 7003
/// VM), and in a job of two hosts 1.17 to 1.23 of that.
pub const WAIT_PART: u32 = 4;

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
    /// Requests that may be outstanding; 0 if each message to the peer is a call.
    pub room: u32,
    /// Not 0: a message of the peer was run since the last request to it. Then the peer probably waits for the next request,
    /// and its line is handed over to the peer's core. In a flood that would cost the sender 5 ns per message.
    pub heard: AtomicU32,
}

// SAFETY: the addresses are of mapped memory and of the outbox that lies beside it; what they point to is used as rule 1 says.
unsafe impl Send for Direct {}
// SAFETY: threads share what it points to as rule 1 says.
unsafe impl Sync for Direct {}

impl Direct {
    /// No way for the header: each message to the peer is a call of the library.
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

    /// Where node `me` finds its queue at a peer, if it may store there by address and a store is all that the peer needs.
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

    /// The slot of request `index`, if `room` is not 0.
    #[inline(always)]
    pub fn request_slot(&self, index: u32) -> *mut u64 {
        self.slots.wrapping_add((index & self.mask) as usize * SLOT).cast()
    }

    /// Claims the first line of `slot`, one of this way's that is free, or both, as [`RemoteMap::claim_by_store`] does: by the address, without
    /// the checks of an offset, 12 instructions of each Short.
    ///
    /// # Safety
    /// `slot` is what [`Self::request_slot`] or [`Self::reply_slot`] of a mapped peer gave, and not null. The slot is free.
    #[inline(always)]
    pub unsafe fn claim(slot: *mut u64, both_lines: bool) {
        let claim = |line: usize| {
            // SAFETY: the last word of a line of the slot, which is mapped and aligned.
            let word = unsafe { AtomicU64::from_ptr(slot.wrapping_add(line * (LINE / 8) + LAST_WORD)) };
            word.store(u64::MAX, Ordering::Relaxed); // Relaxed: nobody reads it
        };
        claim(0);
        if both_lines {
            claim(1);
        }
    }

    /// Where the reply to the peer's request `index` goes; null if each reply is a call of the library.
    #[inline(always)]
    pub fn reply_slot(&self, index: u32) -> *mut u64 {
        if self.room == 0 {
            return std::ptr::null_mut();
        }
        let slot = (self.room + (index & self.mask)) as usize;
        self.slots.wrapping_add(slot * SLOT).cast()
    }
}

/// Where the header puts the reply to the request whose handler runs. It is the head of that handler's token.
#[repr(C)]
pub struct Answer {
    /// The paired slot at the requester. Null if each reply is a call of the library, and after a reply was sent.
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

/// What a look at the watched peer has seen.
pub enum Seen {
    /// Nothing.
    Nothing,
    /// A request.
    Request,
    /// A reply.
    Reply,
}

/// What the header's polls look at: the slots of the peer that was active last.
///
/// The thread that holds the inbox writes it. The header reads it at any time. If client threads may poll at the same time, the
/// header may see some words of an older state, and then looks at a slot that is no longer the next one. That does no harm
/// (rule 4): the library looks again, under the inbox's lock, before it runs anything. So nothing here is ordered.
#[repr(C)]
pub struct Watch {
    /// Header polls that are left until one must call the library. The number is not exact: a poll under way may undo a change
    /// by another thread.
    pub left: AtomicU32,
    /// How many of those polls pause first.
    pub pauses: AtomicU32,
    /// Failed steps of a wait from which on each step is a call of the library.
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
    pub gap: u32,
    /// The peer that the two slots belong to.
    pub peer: Cell<usize>,
    /// Where these two lie in the command region.
    pub request_at: Cell<usize>,
    /// See `request_at`.
    pub reply_at: Cell<usize>,
    /// Number of the request that `request` waits for. If the library has run it meanwhile, the message in the slot is old.
    pub request_index: Cell<u32>,
    /// See `request_index`.
    pub reply_index: Cell<u32>,
    /// What `left` was, and [`TO_WAIT`].
    granted: AtomicU32,
    /// What a message of the watched peer grants; 0: that must be found out. It saves each the questions whether other peers or other work
    /// are to be looked after.
    again: AtomicU32,
    /// Whether a wait gives a sender time.
    pub flood: Flood,
}

// SAFETY: the cells are used by whoever holds the inbox; any thread may use the atomics.
unsafe impl Send for Watch {}
// SAFETY: threads use the cells under the inbox's lock only, and the atomics need none.
unsafe impl Sync for Watch {}

/// Says that a grant was to a wait.
const TO_WAIT: u32 = 1 << 31;

/// No message has it: those have [`SEQUENCE`](crate::am::region::SEQUENCE)'s bit.
const NO_SEQUENCE: u16 = 1;

impl Watch {
    /// Nothing is granted: each poll is a call of the library. `gap`: pauses between two looks. `readable`: any word. The slots point there until they are known,
    /// because a header poll of another thread may see a grant before it sees the slots (no order, see [`Watch`]).
    /// `apart`: see [`Flood::new`].
    pub fn none(readable: *mut u64, gap: u32, apart: bool) -> Watch {
        Watch {
            left: AtomicU32::new(0),
            pauses: AtomicU32::new(0),
            spins: AtomicU32::new(0),
            request_sequence: AtomicU16::new(NO_SEQUENCE),
            reply_sequence: AtomicU16::new(NO_SEQUENCE),
            request: AtomicPtr::new(readable),
            reply: AtomicPtr::new(readable),
            gap,
            peer: Cell::new(0),
            request_at: Cell::new(0),
            reply_at: Cell::new(0),
            request_index: Cell::new(0),
            reply_index: Cell::new(0),
            granted: AtomicU32::new(0),
            again: AtomicU32::new(0),
            flood: Flood::new(apart),
        }
    }

    /// Grants `polls` polls.
    #[inline(always)]
    pub fn grant(&self, polls: u32) {
        self.granted.store(polls, Ordering::Relaxed); // Relaxed, both: hints (see `Watch`)
        self.left.store(polls, Ordering::Relaxed);
    }

    /// How many polls of the last grant were made.
    #[inline(always)]
    pub fn made(&self) -> u32 {
        // Relaxed, both: hints (see `Watch`).
        (self.granted.load(Ordering::Relaxed) & !TO_WAIT).saturating_sub(self.left.load(Ordering::Relaxed))
    }

    /// This node has run `requests` one behind the other, and has caught up with the sender. If a wait is to pause then, the next look is the
    /// library's.
    #[inline(always)]
    pub fn caught_up(&self, requests: u32) {
        if requests >= 2 && !cfg!(loom) && self.flood.caught_up(requests) {
            self.left.store(0, Ordering::Relaxed); // Relaxed: a hint (see `Watch`)
        }
    }

    /// See the field.
    #[inline(always)]
    pub fn again(&self) -> u32 {
        self.again.load(Ordering::Relaxed) // Relaxed: a hint, as all here
    }

    /// Sets what [`Self::again`] says, until the next [`Self::revoke`].
    #[inline(always)]
    pub fn set_again(&self, polls: u32) {
        self.again.store(polls, Ordering::Relaxed); // Relaxed: as above
    }

    /// As [`Self::grant`], to a wait that has just polled.
    #[inline(always)]
    pub fn grant_to_wait(&self, polls: u32) {
        self.granted.store(polls | TO_WAIT, Ordering::Relaxed); // Relaxed, both: as above
        self.left.store(polls, Ordering::Relaxed);
    }

    /// True if the last grant was to a wait.
    #[inline(always)]
    pub fn is_wait(&self) -> bool {
        self.granted.load(Ordering::Relaxed) & TO_WAIT != 0 // Relaxed: as above
    }

    /// Takes one of the polls granted, with a gap; false if none is left.
    #[inline(always)]
    pub fn spend(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed); // Relaxed, both: as above
        if left == 0 {
            return false;
        }
        self.left.store(left - 1, Ordering::Relaxed); // Relaxed: as above
        true
    }

    /// A look by a wait after `failed` failed steps, as `gasneti_sci_wait` of the header makes it. `waits` says whether there is a message in
    /// the slot of the next request, or reply if its argument is true. `None`: it is time to look further.
    #[inline(always)]
    pub fn look(&self, failed: u32, waits: impl Fn(bool) -> bool) -> Option<Seen> {
        // Relaxed: a hint (see `Watch`).
        if failed >= self.spins.load(Ordering::Relaxed) || !self.spend() {
            return None;
        }
        Some(if waits(false) {
            Seen::Request
        } else if waits(true) {
            Seen::Reply
        } else {
            Seen::Nothing
        })
    }

    /// What `waits` of [`Self::look`] says, for one of several threads. It may be old (see [`Watch`]).
    #[inline(always)]
    pub fn waits(&self, is_reply: bool) -> bool {
        let (slot, sequence) = match is_reply {
            true => (&self.reply, &self.reply_sequence),
            false => (&self.request, &self.request_sequence),
        };
        // Relaxed, all: hints (see `Watch`).
        // SAFETY: the slot is a word of this node's command region, or the word that was given at first. Both stay mapped, and are
        // written as atomics.
        let word = unsafe { AtomicU64::from_ptr(slot.load(Ordering::Relaxed)) };
        word.load(Ordering::Relaxed) as u16 == sequence.load(Ordering::Relaxed)
    }

    /// Makes the next poll a call of the library. [`Self::grant`] then takes the polls that were left for made: a hint of how long
    /// the client has polled may be too long by one grant.
    pub fn revoke(&self) {
        self.left.store(0, Ordering::Relaxed); // Relaxed, both: as above; a poll under way may undo it
        self.again.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn behind_a_flood_the_next_look_is_the_librarys() {
        let mut word = 0u64;
        let watch = Watch::none(&raw mut word, 1, true);
        let left = |requests| {
            watch.grant(GRANT);
            watch.caught_up(requests);
            watch.left.load(Ordering::Relaxed) // Relaxed: one thread
        };
        assert_eq!([left(1), left(2)], [GRANT, 0], "one message alone is no flood");
        assert!(watch.flood.is_ahead());
    }
}
