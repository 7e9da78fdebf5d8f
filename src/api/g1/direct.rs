//! What the header sends Shorts and looks for messages by: C's view of `am::direct`.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::direct;
use crate::am::outbox::{CLAIM_AHEAD, Peer};
use crate::am::region::{LINE, SEQUENCE, SLOT};
use crate::am::slot::{Carry, Meta};
use crate::am::token::Token;
use crate::api::constants::*;
use crate::job::Job;
use crate::sci::{Host, RemoteInterrupt};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;

/// A look of a wait, which has a gap behind it, weighs as much as so many polls.
pub const GASNETI_SCI_WAIT_WEIGHT: u32 = 4;
/// Bytes from one slot to the next.
pub const GASNETI_SCI_SLOT_BYTES: u32 = 128;
/// Words of arguments that a Short of one line has at most, behind its first word.
pub const GASNETI_SCI_LINE_WORDS: u32 = 7;
/// Slots from the request that is sent to the one whose line is claimed, in a flood.
pub const GASNETI_SCI_CLAIM_AHEAD: u32 = 8;
/// The first word of a Short: a sequence, which is this bit and the lap below it, and from these bits on the handler's index
/// and the number of arguments.
pub const GASNETI_SCI_META_SEQUENCE: u32 = 0x8000;
/// See `GASNETI_SCI_META_SEQUENCE`.
pub const GASNETI_SCI_META_HANDLER: u32 = 16;
/// See `GASNETI_SCI_META_SEQUENCE`.
pub const GASNETI_SCI_META_NUMARGS: u32 = 24;
/// `answered` of a request that has its reply.
pub const GASNETI_SCI_ANSWERED: u8 = 1;

// The header is compiled into clients with these: a change of the protocol must be one of these, too.
const _: () = {
    assert!(GASNETI_SCI_WAIT_WEIGHT == direct::WAIT_WEIGHT);
    assert!(GASNETI_SCI_SLOT_BYTES as usize == SLOT);
    assert!((GASNETI_SCI_LINE_WORDS as usize + 1) * 8 == LINE);
    assert!(GASNETI_SCI_CLAIM_AHEAD == CLAIM_AHEAD);
    assert!(GASNETI_SCI_META_SEQUENCE == SEQUENCE as u32 && SEQUENCE == 1 << 15, "one bit above the lap's");
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
    /// Our ready counts at the peer: requests, then replies.
    pub ready: *mut u32,
    /// Not 0 while the peer sleeps, or is about to.
    pub bell: *const u32,
    /// Ring position behind the payload of the request in each slot.
    pub ends: *mut u64,
    /// Ring position of the next payload.
    pub head: *const u64,
    /// Requests sent.
    pub sent: u32,
    /// Requests retired.
    pub retired: u32,
    /// One less than the number of slots.
    pub mask: u32,
    /// Its number of bits.
    pub shift: u32,
    /// Requests that may be outstanding; 0 where each is a call.
    pub room: u32,
    /// Not 0: a message of the peer was run since the last request to it.
    pub heard: u32,
}

/// The head of a request's token.
#[repr(C)]
pub struct gasneti_sci_answer_t {
    /// Where the reply goes; null when it is a call, and once there was one.
    pub slot: *mut u64,
    /// The way to the requester.
    pub way: *const gasneti_sci_way_t,
    /// What the reply's meta word begins with.
    pub sequence: u32,
    /// Replies to the requester, this one included.
    pub count: u32,
    /// 0 before there is an answer; `GASNETI_SCI_ANSWERED`.
    pub answered: u8,
}

/// What a poll in vain looks at.
#[repr(C)]
pub struct gasneti_sci_watch_t {
    /// Polls that may look here and nowhere else, before one is a call.
    pub left: u32,
    /// Those of them that pause first.
    pub pauses: u32,
    /// A wait that has failed so often, or more, is a call.
    pub spins: u32,
    /// Low half of the next request's meta word.
    pub request_sequence: u16,
    /// Low half of the next reply's meta word.
    pub reply_sequence: u16,
    /// Slot of the next request.
    pub request: *const u64,
    /// Slot of the next reply.
    pub reply: *const u64,
    /// Pauses between two looks.
    pub gap: u32,
}

/// What is sent and looked for inline. Filled by attach, constant afterwards.
#[repr(C)]
pub struct gasneti_sci_direct_t {
    /// Where the ways to the nodes are told; null for a node to which each message is a call.
    pub ways: *const *mut gasneti_sci_way_t,
    /// The token of a request's handler, if it may be answered inline.
    pub answer: *mut gasneti_sci_answer_t,
    /// What polls look at.
    pub watch: *mut gasneti_sci_watch_t,
    /// Number of nodes; 0 where each message is a call.
    pub nodes: u32,
}

macro_rules! agree {
    ($($ours:ty = $theirs:ty { $($field:ident)* })*) => { $(
        $(const _: () = assert!(offset_of!($ours, $field) == offset_of!($theirs, $field));)*
        const _: () = assert!(size_of::<$ours>() <= size_of::<$theirs>());
    )* };
}

agree! {
    gasneti_sci_way_t = direct::Direct { slots ready bell ends head sent retired mask shift room heard }
    gasneti_sci_answer_t = direct::Answer { slot way sequence count answered }
    gasneti_sci_watch_t = direct::Watch { left pauses spins request_sequence reply_sequence request reply gap }
}
const _: () = assert!(offset_of!(Peer<Host>, direct) == 0 && size_of::<gasneti_sci_way_t>() == 64);
const _: () = assert!(Token::ANSWER == 0);

/// Looked at while each poll is a call.
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

/// See [`gasneti_sci_direct_t`].
#[unsafe(no_mangle)]
pub static mut gasneti_sci_direct: gasneti_sci_direct_t =
    gasneti_sci_direct_t { ways: std::ptr::null(), answer: std::ptr::null_mut(), watch: &raw mut NOTHING, nodes: 0 };

/// Tells the header how messages are looked for and, where it may send them, how they are sent (`reach::tell_header`).
pub(in crate::api) fn tell_header(job: &'static Job) {
    let watch = std::ptr::from_ref(job.am().watch()).cast_mut().cast();
    let direct = match job.am().for_header() {
        Some(told) => gasneti_sci_direct_t {
            ways: told.ways.cast(),
            answer: std::ptr::from_ref(told.token).cast_mut().cast(),
            watch,
            nodes: job.nodes(),
        },
        // Client threads may call at the same time: messages are sent by the library, under its locks.
        None => gasneti_sci_direct_t { ways: std::ptr::null(), answer: std::ptr::null_mut(), watch, nodes: 0 },
    };
    let place = &raw mut gasneti_sci_direct;
    // SAFETY: one thread attaches, and no message is legal before it has returned (contract: core.md §5).
    unsafe { place.write(direct) };
}

/// A poll that has seen a message of the peer that is watched: a reply, or a request. Always `GASNET_OK`.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_poll_watched(is_reply: c_int) -> c_int {
    match Job::attached() {
        Ok(job) => {
            job.am().poll_watched(is_reply != 0);
            GASNETI_SCI_OK
        }
        Err(error) => crate::api::failed("gasnet_AMPoll", error),
    }
}

/// As `gasneti_sci_wait_step`, after a look that has seen a message of the peer that is watched.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_watched(failed: u32, is_reply: c_int) -> u32 {
    crate::api::must("GASNET_BLOCKUNTIL", || Ok(Job::attached()?.am().wait_watched(failed, is_reply != 0)))
}

/// Wakes the peer at the end of `way`.
///
/// # Safety
/// `way` is one of `gasneti_sci_direct.ways`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_wake(way: *const c_void) {
    // SAFETY: the caller promises that `way` is one of ours; they live for ever.
    let peer = unsafe { &*way.cast::<Peer<Host>>() };
    peer.bell.trigger();
}
