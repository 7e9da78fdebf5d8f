//! Active Messages of negotiated payload: prepare, commit, cancel (contract: ex-core.md §12).
//!
//! Each thread has one descriptor for requests and one for replies, each with a buffer of its own that is made when it is first
//! needed. In SEQ, a Medium request to another process, longer than fits the slot, has room in the peer's ring as its buffer
//! (`am::lend`). Then nothing is copied.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::lend::Lent;
use crate::am::slot::inline_max;
use crate::am::source::{Args, Source};
use crate::am::token::Kind;
use crate::api::must;
use crate::api::shared::am::{Message, Payload, am_for, token};
use crate::api::shared::constants::*;
use crate::api::shared::srcdesc::*;
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::trace::{self, TracedOp};
use crate::verbs::Flags;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// The words of a prepare that both directions have.
struct Wish {
    what: u32,
    client: *mut c_void,
    least: usize,
    most: usize,
    dest: *mut c_void,
    event: *mut usize,
    numargs: u32,
}

/// Most bytes of a message.
#[inline(always)]
fn limit(what: u32, client: bool) -> usize {
    match what & GASNETI_SCI_NPAM_LONG != 0 && client {
        true => GASNETI_SCI_MAX_LONG,
        false => GASNETI_SCI_MAX_MEDIUM,
    }
}

/// `GEX_EVENT_DEFER` and `GEX_EVENT_GROUP`.
pub(super) const DEFER: usize = 2;
pub(super) const GROUP: usize = 3;

#[inline(always)]
fn check(wish: &Wish) -> Result<usize, Error> {
    let Wish { what, client, least, most, event, numargs, .. } = *wish;
    let most_of_all = limit(what, !client.is_null());
    if least > most || least > most_of_all {
        return bad_arg(format_args!("at least {least} bytes, at most {most}; the limit is {most_of_all}"));
    }
    if numargs as usize > GASNETI_SCI_MAX_ARGS {
        return bad_arg(format_args!("{numargs} arguments; the limit is {GASNETI_SCI_MAX_ARGS}"));
    }
    let event = event as usize;
    let is_reply = what & GASNETI_SCI_NPAM_REPLY != 0;
    let is_wrong = if client.is_null() {
        // Only debug builds refuse it (ex-core.md §12); clients are known that pass `GEX_EVENT_NOW`.
        event != 0 && Job::get()?.client().debug
    } else {
        event == 0 || event == DEFER || (event == GROUP && is_reply)
    };
    if is_wrong {
        return bad_arg(format_args!("lc_opt {event:#x} with a buffer at {client:p}"));
    }
    Ok(most.min(most_of_all))
}

/// Opens the thread's descriptor. `lent`: room at the receiver, if the library's buffer lies there.
#[inline(always)]
fn open(
    wish: &Wish,
    size: usize,
    node: u32,
    token: *mut c_void,
    lent: Option<Lent>,
) -> Result<*const gasneti_sci_srcdesc_t, Error> {
    let own = descriptor(wish.what);
    if own.what.get() != 0 {
        return bad_arg(format_args!("a second prepare before the commit or cancel of the first"));
    }
    let addr = match &lent {
        _ if !wish.client.is_null() => wish.client,
        Some(lent) => lent.bytes.cast(),
        None => own.bytes(),
    };
    own.what.set(wish.what);
    own.numargs.set(wish.numargs);
    own.node.set(node);
    own.token.set(token);
    own.dest.set(wish.dest);
    let is_place = !wish.client.is_null() && wish.event as usize > GROUP;
    own.event.set(if is_place { wish.event } else { null_mut() });
    own.lent.set(lent.map(|lent| lent.index));
    own.shown.set(gasneti_sci_srcdesc_t { addr, size });
    Ok(own.shown.as_ptr())
}

/// Opens this thread's descriptor for a request to `node`; NULL if there is no room and `flags` say not to wait.
///
/// # Safety
/// The buffer and `event` are as the contract says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_npam_request(
    what: u32,
    node: u32,
    client: *const c_void,
    least: usize,
    most: usize,
    dest: *mut c_void,
    event: *mut usize,
    flags: u32,
    numargs: u32,
) -> *const gasneti_sci_srcdesc_t {
    let name =
        if what & GASNETI_SCI_NPAM_LONG != 0 { "gex_AM_PrepareRequestLong" } else { "gex_AM_PrepareRequestMedium" };
    must(name, || {
        let job = Job::attached()?;
        let flags = Flags(flags & Flags::IMMEDIATE.0);
        if flags.has(Flags::IMMEDIATE) && !job.am().has_room(node)? {
            return Ok(std::ptr::null());
        }
        let wish = Wish { what, client: client.cast_mut(), least, most, dest, event, numargs };
        let size = check(&wish)?;
        // Of a guest, whose configuration has no thread mode, calls never overlap.
        let is_parsync = job.client().configuration & u64::from(GASNETI_SCI_MODE_PARSYNC) != 0;
        let own_thread = !job.client().threaded && !is_parsync;
        let is_ours = client.is_null() && what & GASNETI_SCI_NPAM_MEDIUM != 0 && size > inline_max(numargs as usize);
        let mut lent = None;
        if own_thread && is_ours && node != job.rank() && job.am().can_lend(node)? {
            lent = job.am().lend(node, size, flags)?;
            if lent.is_none() {
                return Ok(std::ptr::null());
            }
        }
        open(&wish, size, node, null_mut(), lent)
    })
}

/// Opens this thread's descriptor for the reply to the request of `token`.
///
/// # Safety
/// `token` was given to the handler that calls; the buffer and `event` are as the contract says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_npam_reply(
    what: u32,
    token: *mut c_void,
    client: *const c_void,
    least: usize,
    most: usize,
    dest: *mut c_void,
    event: *mut usize,
    numargs: u32,
) -> *const gasneti_sci_srcdesc_t {
    let name = if what & GASNETI_SCI_NPAM_LONG != 0 { "gex_AM_PrepareReplyLong" } else { "gex_AM_PrepareReplyMedium" };
    must(name, || {
        // SAFETY: the caller promises a token.
        let asked = unsafe { self::token(token) }?;
        if !matches!(asked.kind(), Kind::Request | Kind::LoopRequest) || asked.replied() {
            return bad_arg(format_args!("a reply outside a request handler, or a second one"));
        }
        let wish = Wish { what, client: client.cast_mut(), least, most, dest, event, numargs };
        open(&wish, check(&wish)?, 0, token, None)
    })
}

const COMMIT: [&str; 4] =
    ["gex_AM_CommitRequestMedium", "gex_AM_CommitReplyMedium", "gex_AM_CommitRequestLong", "gex_AM_CommitReplyLong"];
const CANCEL: [&str; 4] =
    ["gex_AM_CancelRequestMedium", "gex_AM_CancelReplyMedium", "gex_AM_CancelRequestLong", "gex_AM_CancelReplyLong"];

fn name(names: &[&'static str; 4], what: u32) -> &'static str {
    let long = usize::from(what & GASNETI_SCI_NPAM_LONG != 0);
    names[2 * long + usize::from(what & GASNETI_SCI_NPAM_REPLY != 0)]
}

/// Whether this thread has a descriptor open under `sd`.
pub(super) fn is_open_as(sd: *const gasneti_sci_srcdesc_t) -> bool {
    let own = |what| {
        let own = descriptor(what);
        std::ptr::eq(own.shown.as_ptr(), sd) && own.what.get() != 0
    };
    own(GASNETI_SCI_NPAM_REQUEST) || own(GASNETI_SCI_NPAM_REPLY)
}

/// The thread's descriptor, if it is open under `sd` for a message of the sort `what`.
#[inline(always)]
fn opened(what: u32, sd: *const gasneti_sci_srcdesc_t) -> Result<&'static Descriptor, Error> {
    let own = descriptor(what);
    if !std::ptr::eq(own.shown.as_ptr(), sd) || own.what.get() != what {
        return bad_arg(format_args!(
            "{sd:p} is not open here: wrong thread, wrong kind, committed or cancelled before, or NO_OP"
        ));
    }
    Ok(own)
}

/// Sends the first `nbytes` bytes of a descriptor; 1 if there is no room and `flags` say not to wait, else 0.
///
/// # Safety
/// `args` points to as many words as `numargs` arguments take; the client's buffer is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_npam_commit(
    what: u32,
    sd: *const gasneti_sci_srcdesc_t,
    handler: u8,
    nbytes: usize,
    dest: *mut c_void,
    flags: u32,
    args: *const u64,
    numargs: u32,
) -> c_int {
    must(name(&COMMIT, what), || {
        let own = opened(what, sd)?;
        let gasneti_sci_srcdesc_t { addr, size } = own.shown.get();
        let wanted = own.numargs.get();
        if nbytes > size || numargs != wanted || flags & !Flags::IMMEDIATE.0 != 0 {
            return bad_arg(format_args!(
                "{nbytes} bytes of {size}, {numargs} arguments of {wanted}, flags {flags:#x}"
            ));
        }
        let announced = own.dest.get();
        if !announced.is_null() && announced != dest && nbytes > 0 {
            return bad_arg(format_args!("destination {dest:p}; at the prepare it was {announced:p}"));
        }
        // SAFETY: the caller promises as many readable words behind `args` as `numargs` arguments take.
        let args = unsafe { Args::from_raw(args, numargs as usize) };
        // SAFETY: the library's buffer, or the client's, which it promises to be readable for `nbytes` bytes.
        let source = unsafe { Source::new(addr.cast(), nbytes) };
        own.what.set(0); // before the message, because a request may run handlers
        let event = own.event.get();
        let is_long = what & GASNETI_SCI_NPAM_LONG != 0;
        let payload = if is_long { Payload::Long(source, dest as usize) } else { Payload::Medium(source) };
        let message = Message { handler, args, payload };
        if !send(what, own, message, nbytes, Flags(flags & Flags::IMMEDIATE.0))? {
            own.what.set(what);
            return Ok(1);
        }
        if !event.is_null() {
            // SAFETY: the client promises a writable place until the commit.
            unsafe { event.write(0) };
        }
        Ok(0)
    })
}

#[inline(always)]
fn send(what: u32, own: &Descriptor, message: Message<'_>, nbytes: usize, flags: Flags) -> Result<bool, Error> {
    let is_long = what & GASNETI_SCI_NPAM_LONG != 0;
    if what & GASNETI_SCI_NPAM_REPLY != 0 {
        let op = if is_long { TracedOp::ReplyLong } else { TracedOp::ReplyMedium };
        // SAFETY: the token that was checked at the prepare.
        return unsafe { message.reply(op, own.token.get()) }.map(|()| true);
    }
    let (op, node) = (if is_long { TracedOp::RequestLong } else { TracedOp::RequestMedium }, own.node.get());
    let Some(index) = own.lent.get() else { return message.request(op, node, flags) };
    let Message { handler, args, .. } = message;
    trace::message!(op, node, nbytes, handler, args.words(), {
        am_for(handler)?.send_lent(node, handler, index, own.shown.get().size, nbytes, args).map(|()| true)
    })
}

/// Gives up a descriptor: nothing is sent. Always 0.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_npam_cancel(what: u32, sd: *const gasneti_sci_srcdesc_t) -> c_int {
    must(name(&CANCEL, what), || {
        opened(what, sd)?.what.set(0);
        Ok(0)
    })
}
