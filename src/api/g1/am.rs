//! Active Messages and polling (contract: core.md §9, §10).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::engine::Am;
use crate::am::slot::FIRST_CLIENT;
use crate::am::source::{Args, Source};
use crate::am::token::{Kind, Token};
use crate::api::constants::*;
use crate::api::{debug, die, message_status, status};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sci::Host;
use crate::trace::{self, NO_NODE, TracedOp};
use std::ffi::{c_int, c_void};

/// The endpoint, for a message of the call `name` to a handler of the client. Indices below [`FIRST_CLIENT`] are the library's own. A message
/// of the client to one of them would run a function of the library on words that the library did not write, so the job ends here, as it
/// does where a message meets no handler (contract: core.md §4).
#[inline(always)]
pub(in crate::api) fn am_for(name: &'static str, handler: u8) -> Result<&'static Am<Host>, Error> {
    let am = Job::attached()?.am();
    if handler < FIRST_CLIENT {
        not_a_clients(name, handler);
    }
    Ok(am)
}

#[cold]
#[inline(never)]
fn not_a_clients(name: &'static str, handler: u8) -> ! {
    let name = match debug::without_gasnet1() {
        true => name.replacen("gasnet_AM", "gex_AM_", 1),
        false => name.into(),
    };
    die(
        &name,
        format_args!(
            "AM for handler index {handler}, which no client can register: clients' are {FIRST_CLIENT} to 255"
        ),
    )
}

/// Short request to `node`: `numargs` (0–16) arguments, two per word, no payload. Contract: core.md §9.4.
///
/// Returns `GASNET_OK` or an error code. May run handlers while it waits for a free slot.
///
/// # Safety
/// `args` points to `numargs / 2`, rounded up, readable words; it may be NULL if `numargs` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_request_short(node: u32, handler: u8, args: *const u64, numargs: u32) -> c_int {
    let send = |args: Args<'_>| am_for("gasnet_AMRequestShort", handler)?.request_short(node, handler, args);
    // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
    unsafe { message(TracedOp::RequestShort, "gasnet_AMRequestShort", (|| node, 0), args, numargs, send) }
}

/// Medium request: `nbytes` (up to `GASNETI_SCI_MAX_MEDIUM`) bytes from `src`, free for reuse at return.
///
/// # Safety
/// As [`gasneti_sci_request_short`]; `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_request_medium(
    node: u32,
    handler: u8,
    src: *const c_void,
    nbytes: usize,
    args: *const u64,
    numargs: u32,
) -> c_int {
    let send = |args: Args<'_>| {
        // SAFETY: the caller promises that `src` is readable for `nbytes` bytes.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        am_for("gasnet_AMRequestMedium", handler)?.request_medium(node, handler, source, args)
    };
    // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
    unsafe { message(TracedOp::RequestMedium, "gasnet_AMRequestMedium", (|| node, nbytes), args, numargs, send) }
}

/// Long request: `nbytes` (up to `GASNETI_SCI_MAX_LONG`) bytes from `src` to `dest_addr` in the segment of `node`.
///
/// LongAsync requests call it, too. `src` is free for reuse at return.
///
/// # Safety
/// As [`gasneti_sci_request_medium`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_request_long(
    node: u32,
    handler: u8,
    src: *const c_void,
    nbytes: usize,
    dest_addr: *mut c_void,
    args: *const u64,
    numargs: u32,
) -> c_int {
    let send = |args: Args<'_>| {
        // SAFETY: the caller promises that `src` is readable for `nbytes` bytes.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        am_for("gasnet_AMRequestLong", handler)?.request_long(node, handler, source, dest_addr as usize, args)
    };
    // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
    unsafe { message(TracedOp::RequestLong, "gasnet_AMRequestLong", (|| node, nbytes), args, numargs, send) }
}

/// Sends a message to the node that `node` finds, with `bytes` of payload; records it if messages are recorded.
///
/// # Safety
/// Behind `args` stand as many readable words as `numargs` arguments take.
#[inline(always)]
unsafe fn message(
    op: TracedOp,
    name: &'static str,
    (node, bytes): (impl FnOnce() -> u32, usize),
    args: *const u64,
    numargs: u32,
    send: impl FnOnce(Args<'_>) -> Result<(), Error>,
) -> c_int {
    // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
    let args = unsafe { Args::from_raw(args, numargs as usize) };
    trace::message!(op, node(), bytes, args.words(), message_status(name, || send(args)))
}

/// # Safety
/// As [`Token::from_raw`].
#[inline(always)]
pub(in crate::api) unsafe fn token<'a>(raw: *mut c_void) -> Result<&'a Token, Error> {
    // SAFETY: the caller promises that the token is NULL or was given to a handler.
    match unsafe { Token::from_raw(raw) } {
        Some(token) => Ok(token),
        None => bad_arg(format_args!("{raw:p} is not a token")),
    }
}

/// The node that a reply goes to, for records. A token that is none has no node; sending then fails.
///
/// # Safety
/// As [`Token::from_raw`].
unsafe fn requester(raw: *mut c_void) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { token(raw) }.map_or(NO_NODE, Token::source)
}

/// Short reply to the request of `token`. Allowed once, in that request's handler. Contract: core.md §9.5.
///
/// # Safety
/// `token` is NULL or was given to a handler; `args` as in [`gasneti_sci_request_short`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_reply_short(
    token: *mut c_void,
    handler: u8,
    args: *const u64,
    numargs: u32,
) -> c_int {
    let send = |args: Args<'_>| {
        // SAFETY: the caller promises that the token is NULL or was given to a handler.
        let token = unsafe { self::token(token) }?;
        am_for("gasnet_AMReplyShort", handler)?.reply_short(token, handler, args)
    };
    // SAFETY: the caller promises that the token is NULL or was given to a handler.
    let node = || unsafe { requester(token) };
    // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
    unsafe { message(TracedOp::ReplyShort, "gasnet_AMReplyShort", (node, 0), args, numargs, send) }
}

/// Medium reply. `src` is free for reuse at return, and may be the buffer of the request.
///
/// # Safety
/// As [`gasneti_sci_reply_short`]; `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_reply_medium(
    token: *mut c_void,
    handler: u8,
    src: *const c_void,
    nbytes: usize,
    args: *const u64,
    numargs: u32,
) -> c_int {
    let send = |args: Args<'_>| {
        // SAFETY: the caller promises that `src` is readable for `nbytes` bytes.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        // SAFETY: the caller promises that the token is NULL or was given to a handler.
        let token = unsafe { self::token(token) }?;
        am_for("gasnet_AMReplyMedium", handler)?.reply_medium(token, handler, source, args)
    };
    // SAFETY: the caller promises that the token is NULL or was given to a handler.
    let node = || unsafe { requester(token) };
    // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
    unsafe { message(TracedOp::ReplyMedium, "gasnet_AMReplyMedium", (node, nbytes), args, numargs, send) }
}

/// Long reply to `dest_addr` in the requester's segment.
///
/// # Safety
/// As [`gasneti_sci_reply_medium`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_reply_long(
    token: *mut c_void,
    handler: u8,
    src: *const c_void,
    nbytes: usize,
    dest_addr: *mut c_void,
    args: *const u64,
    numargs: u32,
) -> c_int {
    let send = |args: Args<'_>| {
        // SAFETY: the caller promises that `src` is readable for `nbytes` bytes.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        // SAFETY: the caller promises that the token is NULL or was given to a handler.
        let token = unsafe { self::token(token) }?;
        am_for("gasnet_AMReplyLong", handler)?.reply_long(token, handler, source, dest_addr as usize, args)
    };
    // SAFETY: the caller promises that the token is NULL or was given to a handler.
    let node = || unsafe { requester(token) };
    // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
    unsafe { message(TracedOp::ReplyLong, "gasnet_AMReplyLong", (node, nbytes), args, numargs, send) }
}

/// Stores the sender's rank of the message of `token` to `*node`. Allowed in its handler, any number of times.
///
/// # Safety
/// `token` is NULL or was given to a handler; `node` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_msg_source(token: *mut c_void, node: *mut u32) -> c_int {
    status("gasnet_AMGetMsgSource", || {
        // SAFETY: the caller promises that the token is NULL or was given to a handler.
        let token = unsafe { self::token(token) }?;
        if token.kind() == Kind::Stale {
            return bad_arg(format_args!("the token's handler has returned"));
        }
        if node.is_null() {
            return bad_arg(format_args!("NULL to store the node in"));
        }
        // SAFETY: not null, hence writable by this function's contract.
        unsafe { node.write(token.source()) };
        Ok(())
    })
}

/// Serves incoming messages: runs zero or more handlers, a bounded number. Not allowed in handlers.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_poll() -> c_int {
    crate::api::threads::note();
    match Job::attached() {
        Ok(job) => {
            job.am().poll_in_loop();
            GASNETI_SCI_OK
        }
        Err(error) => crate::api::failed("gasnet_AMPoll", error),
    }
}

/// As `gasneti_sci_poll`, by the name that configure scripts look for in a library of GASNet (OmpSs).
#[unsafe(no_mangle)]
pub extern "C" fn gasnetc_AMPoll() -> c_int {
    gasneti_sci_poll()
}

/// One step of `GASNET_BLOCKUNTIL`: polls, then pauses, yields or sleeps (at most a millisecond).
///
/// `failed` is 0 in the first step of a wait, and later the value that the last step returned. It decides how the step
/// waits.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_step(failed: u32) -> u32 {
    crate::api::must("GASNET_BLOCKUNTIL", || Ok(Job::attached()?.am().wait_step(failed)))
}
