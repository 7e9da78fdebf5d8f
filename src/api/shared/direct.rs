//! What the header uses to send Shorts and to look for messages: C's view of `am::direct`. And the polls that are calls (contract: core.md §10).

#![allow(unsafe_code)] // clients' pointers; exported names

use super::constants::*;
use super::outcome::{die, failed, must};
use crate::am::direct;
use crate::am::engine::ForHeader;
use crate::am::outbox::{Outbox, Peer};
use crate::am::region::{LINE, SEQUENCE, SLOT};
use crate::am::slot::{Carry, FIRST_CLIENT, Meta};
use crate::am::token::Token;
use crate::job::Job;
use crate::sci::{Host, RemoteInterrupt};
use crate::sync::ModeLock;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;

/// Bytes from one slot to the next.
pub const GASNETI_SCI_SLOT_BYTES: u32 = 128;
/// Most words of arguments in a Short of one line, after its meta word.
pub const GASNETI_SCI_LINE_WORDS: u32 = 7;
/// Slots that the header claims at once in a flood (`CLAIM_BATCH` in `am::outbox`, which says why it is not that number).
pub const GASNETI_SCI_CLAIM_BATCH: u32 = 8;
/// Bit of a Short's meta word that is set in each message; the lap stands in the bits below it.
pub const GASNETI_SCI_META_SEQUENCE: u32 = 0x8000;
/// Lowest bit of the handler's index in a Short's meta word.
pub const GASNETI_SCI_META_HANDLER: u32 = 16;
/// Least handler index of clients. The header leaves messages to lower ones to the library, which ends the job.
pub const GASNETI_SCI_FIRST_CLIENT: u32 = 128;
/// Lowest bit of the number of arguments in a Short's meta word.
pub const GASNETI_SCI_META_NUMARGS: u32 = 24;
/// Value of `gasneti_sci_answer_t.answered` after the reply was sent, by the header or by the library.
pub const GASNETI_SCI_ANSWERED: u8 = 1;

// The header compiles these constants into clients. They must agree with the protocol.
const _: () = {
    assert!(GASNETI_SCI_SLOT_BYTES as usize == SLOT);
    assert!((GASNETI_SCI_LINE_WORDS as usize + 1) * 8 == LINE);
    assert!(GASNETI_SCI_CLAIM_BATCH.is_power_of_two(), "as `CLAIM_BATCH`");
    assert!(GASNETI_SCI_META_SEQUENCE == SEQUENCE as u32 && SEQUENCE == 1 << 15, "one bit above the lap's");
    assert!(GASNETI_SCI_FIRST_CLIENT == FIRST_CLIENT as u32);
    assert!(GASNETI_SCI_META_HANDLER == Meta::HANDLER_AT && GASNETI_SCI_META_NUMARGS == Meta::ARGS_AT);
    let short = 0x9234 | 0xab << GASNETI_SCI_META_HANDLER | 14 << GASNETI_SCI_META_NUMARGS;
    assert!(Meta::new(0x9234, 0xab, 14, Carry::Short, 0).bits() == short, "a Short has no other field");
    assert!(GASNETI_SCI_ANSWERED == direct::ANSWERED);
};

/// The way to one peer, for Shorts of one line.
#[repr(C)]
pub struct gasneti_sci_way_t {
    /// The first request slot at the peer, `GASNETI_SCI_SLOT_BYTES` each.
    pub slots: *mut u8,
    /// This node's ready counts at the peer: of requests, then of replies.
    pub ready: *mut u32,
    /// The peer's sleep word: not 0 while the peer sleeps or is about to.
    pub bell: *const u32,
    /// For each slot, the ring position after the payload of its request.
    pub ends: *mut u64,
    /// Ring position of the next payload.
    pub head: *const u64,
    /// Number of requests sent to the peer.
    pub sent: u32,
    /// Number of requests retired: the peer has run them, and this node their replies.
    pub retired: u32,
    /// One less than the number of slots.
    pub mask: u32,
    /// Number of bits in `mask`.
    pub shift: u32,
    /// Most requests that may be outstanding; 0 if each message to the peer is a call.
    pub room: u32,
    /// Not 0 if this node has run a message of the peer since its last request to it.
    pub heard: u32,
    /// In `GASNET_PAR`: 1 while a thread sends a request to the peer, else 0.
    pub lock: u32,
}

/// The first fields of a request's token.
#[repr(C)]
pub struct gasneti_sci_answer_t {
    /// The slot that the reply goes to; null if the reply is a call, or was sent.
    pub slot: *mut u64,
    /// The way to the requester.
    pub way: *const gasneti_sci_way_t,
    /// Sequence for the meta word of the reply.
    pub sequence: u32,
    /// Number of replies to the requester, including this one.
    pub count: u32,
    /// 0 before the reply; `GASNETI_SCI_ANSWERED` after it was sent.
    pub answered: u8,
}

/// The words that an inline poll looks at, and how many polls may do so.
#[repr(C)]
pub struct gasneti_sci_watch_t {
    /// Number of polls that may still be inline before one must call the library.
    pub left: u32,
    /// Number of next empty polls that pause before they return.
    pub pauses: u32,
    /// Steps of one wait that may be inline; later steps call the library.
    pub spins: u32,
    /// Sequence of the next request, as in the low half of its meta word.
    pub request_sequence: u16,
    /// Sequence of the next reply, as in the low half of its meta word.
    pub reply_sequence: u16,
    /// Slot in which the next request of the watched peer will be.
    pub request: *const u64,
    /// Slot in which the next reply of the watched peer will be.
    pub reply: *const u64,
    /// Number of pause instructions between two looks.
    pub gap: u32,
}

/// Where the header finds what it needs for inline messages and polls. Filled by attach, constant afterwards.
#[repr(C)]
pub struct gasneti_sci_direct_t {
    /// For each node, the way to it; null before the first contact.
    pub ways: *const *mut gasneti_sci_way_t,
    /// The token of the request handler that runs; the header may reply to it inline.
    pub answer: *mut gasneti_sci_answer_t,
    /// The words that polls look at.
    pub watch: *mut gasneti_sci_watch_t,
    /// Number of entries of `ways`; 0 if each message of the job is a call.
    pub nodes: u32,
}

macro_rules! agree {
    ($($ours:ty = $theirs:ty { $($field:ident)* })*) => { $(
        $(const _: () = assert!(offset_of!($ours, $field) == offset_of!($theirs, $field));)*
    )* };
}

agree! {
    gasneti_sci_way_t = direct::Direct { slots ready bell ends head sent retired mask shift room heard }
    gasneti_sci_answer_t = direct::Answer { slot way sequence count answered }
    gasneti_sci_watch_t = direct::Watch { left pauses spins request_sequence reply_sequence request reply gap }
}
const _: () = {
    assert!(offset_of!(Peer<Host>, direct) == 0 && ModeLock::<Outbox>::WORD == 0);
    assert!(offset_of!(Peer<Host>, outbox) == offset_of!(gasneti_sci_way_t, lock));
};
const _: () = assert!(Token::ANSWER == 0);

/// The watch of a job in which each poll is a call. It grants no inline poll.
static mut NOTHING: gasneti_sci_watch_t = gasneti_sci_watch_t {
    left: 0,
    pauses: 0,
    spins: 0,
    request_sequence: 0,
    reply_sequence: 0,
    request: std::ptr::null(),
    reply: std::ptr::null(),
    gap: 1,
};

/// The values for this process; see `gasneti_sci_direct_t`.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_direct: gasneti_sci_direct_t =
    gasneti_sci_direct_t { ways: std::ptr::null(), answer: std::ptr::null_mut(), watch: &raw mut NOTHING, nodes: 0 };

/// Tells the header how to look for messages and how to send Shorts (`reach::tell_header`).
pub(in crate::api) fn tell_header(job: &'static Job) {
    let ForHeader { ways, token } = job.am().for_header();
    let answer = std::ptr::from_ref(token).cast_mut().cast();
    let watch = std::ptr::from_ref(job.am().watch()).cast_mut().cast();
    let direct = gasneti_sci_direct_t { ways: ways.cast(), answer, watch, nodes: job.nodes() };
    let place = &raw mut gasneti_sci_direct;
    // SAFETY: one thread attaches, and no message is legal before it has returned (contract: core.md §5).
    unsafe { place.write(direct) };
}

/// Serves incoming messages: runs zero or more handlers, a bounded number. Not allowed in handlers.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_poll() -> c_int {
    super::threads::note();
    match Job::attached() {
        Ok(job) => {
            job.am().poll_in_loop();
            GASNETI_SCI_OK
        }
        Err(error) => failed("gasnet_AMPoll", error),
    }
}

/// As `gasneti_sci_poll`, by the name that configure scripts look for in a library of GASNet (OmpSs).
#[unsafe(no_mangle)]
pub extern "C" fn gasnetc_AMPoll() -> c_int {
    gasneti_sci_poll()
}

/// One step of `GASNET_BLOCKUNTIL`: polls, then pauses, yields or sleeps (at most a millisecond, if few nodes share a core).
///
/// `failed` is 0 in the first step of a wait, and later the value that the last step returned. It decides how the step
/// waits.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_step(failed: u32) -> u32 {
    must("GASNET_BLOCKUNTIL", || Ok(Job::attached()?.am().wait_step(failed)))
}

/// Runs the message of the watched peer that an inline poll has seen. Always `GASNET_OK`.
///
/// `is_reply` is not 0 if the message is a reply, and 0 if it is a request.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_poll_watched(is_reply: c_int) -> c_int {
    match Job::attached() {
        Ok(job) => {
            job.am().poll_watched(is_reply != 0);
            GASNETI_SCI_OK
        }
        Err(error) => failed("gasnet_AMPoll", error),
    }
}

/// As `gasneti_sci_poll_watched`, for `GASNET_PAR`.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_poll_watched_in_par(is_reply: c_int) -> c_int {
    match Job::attached() {
        Ok(job) => {
            job.am().poll_watched_in_par(is_reply != 0);
            GASNETI_SCI_OK
        }
        Err(error) => failed("gasnet_AMPoll", error),
    }
}

/// As `gasneti_sci_wait_watched`, for `GASNET_PAR`.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_watched_in_par(failed: u32, is_reply: c_int) -> u32 {
    match Job::attached() {
        Ok(job) => job.am().wait_watched_in_par(failed, is_reply != 0),
        Err(error) => die("GASNET_BLOCKUNTIL", error),
    }
}

/// Like `gasneti_sci_wait_step`, after an inline look has seen a message of the watched peer.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_watched(failed: u32, is_reply: c_int) -> u32 {
    // As the header's looks are granted, threads are not limited, so that none is counted here.
    match Job::attached() {
        Ok(job) => job.am().wait_watched(failed, is_reply != 0),
        Err(error) => die("GASNET_BLOCKUNTIL", error),
    }
}

/// Wakes the peer to which `way` leads, if it sleeps.
///
/// # Safety
/// `way` is one of `gasneti_sci_direct.ways`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_wake(way: *const c_void) {
    // SAFETY: the caller promises that `way` is one of the library's ways, which live for ever.
    let peer = unsafe { &*way.cast::<Peer<Host>>() };
    peer.bell.trigger();
}
