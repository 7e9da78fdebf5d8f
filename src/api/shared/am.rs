//! Active Messages of fixed payload, of both APIs (contract: core.md §9, ex-core.md §11), and what those of negotiated payload share with them.
//!
//! One export per verb. The headers tell it by `what` which API calls, to which handler, with how many arguments: a constant in most calls. From
//! that an error has the name of its call, and becomes a code or the end of the job.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::debug::NamedCall;
use super::outcome::{self, die};
use super::threads;
use crate::am::engine::Am;
use crate::am::slot::{FIRST_CLIENT, Meta};
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sci::Host;
use crate::trace::{self, NO_NODE, TracedOp};
use crate::verbs::Flags;
use std::ffi::{c_int, c_void};

/// Bit of a message's `what`: if there is no room, do nothing and return 1 (`GEX_FLAG_IMMEDIATE`).
pub const GASNETI_SCI_AM_NOW: u32 = 1;
/// Bit of a message's `what`: a call of GASNet-EX. An error ends the job; it returns 0 but for `GASNETI_SCI_AM_NOW`.
pub const GASNETI_SCI_AM_EX: u32 = 2;

const _: () = assert!(
    GASNETI_SCI_AM_NOW == Flags::IMMEDIATE.0 && (GASNETI_SCI_AM_NOW | GASNETI_SCI_AM_EX) >> Meta::HANDLER_AT == 0
);

/// What the header passes as one word: bits `GASNETI_SCI_AM_*`, and the handler and the number of arguments where a meta word has them.
#[derive(Clone, Copy)]
struct What(u32);

impl What {
    #[inline(always)]
    fn handler(self) -> u8 {
        (self.0 >> Meta::HANDLER_AT) as u8
    }

    #[inline(always)]
    fn numargs(self) -> u32 {
        self.0 >> Meta::ARGS_AT
    }

    /// # Safety
    /// Behind `args` stand as many readable words as the arguments take, two in each, until the message is sent.
    #[inline(always)]
    unsafe fn message<'a>(self, args: *const u64, payload: Payload) -> Message<'a> {
        // SAFETY: as the caller promises.
        let args = unsafe { Args::from_raw(args, self.numargs() as usize) };
        Message { handler: self.handler(), args, payload }
    }
}

/// A verb: what its calls are named in GASNet-1 and in GASNet-EX, and its kind in records.
struct Verb([&'static str; 2], TracedOp);

const REQUEST_SHORT: &Verb = &Verb(["gasnet_AMRequestShort", "gex_AM_RequestShort"], TracedOp::RequestShort);
const REQUEST_MEDIUM: &Verb = &Verb(["gasnet_AMRequestMedium", "gex_AM_RequestMedium"], TracedOp::RequestMedium);
const REQUEST_LONG: &Verb = &Verb(["gasnet_AMRequestLong", "gex_AM_RequestLong"], TracedOp::RequestLong);
const REPLY_SHORT: &Verb = &Verb(["gasnet_AMReplyShort", "gex_AM_ReplyShort"], TracedOp::ReplyShort);
const REPLY_MEDIUM: &Verb = &Verb(["gasnet_AMReplyMedium", "gex_AM_ReplyMedium"], TracedOp::ReplyMedium);
const REPLY_LONG: &Verb = &Verb(["gasnet_AMReplyLong", "gex_AM_ReplyLong"], TracedOp::ReplyLong);

impl Verb {
    /// What a request to `node` returns: 0, 1 if it was refused, or the code of an error.
    ///
    /// # Safety
    /// Behind `args` stand as many readable words as the arguments take.
    #[inline(always)]
    unsafe fn request(&self, node: u32, what: u32, args: *const u64, payload: Payload) -> c_int {
        threads::note();
        // SAFETY: as the caller promises.
        let message = unsafe { What(what).message(args, payload) };
        match message.request(self.1, node, Flags(what & GASNETI_SCI_AM_NOW)) {
            Ok(sent) => c_int::from(!sent),
            Err(error) => self.failed(What(what), error),
        }
    }

    /// What a reply returns: 0, or the code of an error.
    ///
    /// # Safety
    /// As [`Verb::request`]; `token` is NULL or was given to a handler.
    #[inline(always)]
    unsafe fn reply(&self, token: *mut c_void, what: u32, args: *const u64, payload: Payload) -> c_int {
        threads::note();
        // SAFETY: as the caller promises.
        let message = unsafe { What(what).message(args, payload) };
        // SAFETY: as the caller promises.
        match unsafe { message.reply(self.1, token) } {
            Ok(()) => 0,
            Err(error) => self.failed(What(what), error),
        }
    }

    /// A call of GASNet-1 gets a code, but for a handler that is the library's own.
    #[cold]
    #[inline(never)]
    fn failed(&self, what: What, error: Error) -> c_int {
        let is_ex = what.0 & GASNETI_SCI_AM_EX != 0;
        let name = self.0[usize::from(is_ex)];
        if is_ex && !NamedCall::named(name).has_place() {
            // Only a client that says where it calls tells the whole name, which ends in the number of arguments.
            die(&format!("{name}{}", what.numargs()), error)
        }
        if is_ex || what.handler() < FIRST_CLIENT {
            die(name, error)
        }
        outcome::failed(name, error)
    }
}

/// A Short request to `node`, without payload. 0, 1 if it was refused, or the code of an error. Contract: core.md §9.4.
///
/// `what` says who calls. `args` has `numargs` arguments, two per word. May run handlers while it waits for a free slot.
///
/// # Safety
/// `args` points to `numargs / 2`, rounded up, readable words; it may be NULL if `numargs` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_request_short(node: u32, what: u32, args: *const u64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { REQUEST_SHORT.request(node, what, args, Payload::None) }
}

/// Medium request: `nbytes` (up to `GASNETI_SCI_MAX_MEDIUM`) bytes from `src`, free for reuse at return.
///
/// # Safety
/// As [`gasneti_sci_request_short`]; `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_request_medium(
    node: u32,
    what: u32,
    src: *const c_void,
    nbytes: usize,
    args: *const u64,
) -> c_int {
    // SAFETY: as the caller promises.
    let payload = unsafe { Payload::medium(src, nbytes) };
    // SAFETY: as the caller promises.
    unsafe { REQUEST_MEDIUM.request(node, what, args, payload) }
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
    what: u32,
    src: *const c_void,
    nbytes: usize,
    dest_addr: *mut c_void,
    args: *const u64,
) -> c_int {
    // SAFETY: as the caller promises.
    let payload = unsafe { Payload::long(src, nbytes, dest_addr) };
    // SAFETY: as the caller promises.
    unsafe { REQUEST_LONG.request(node, what, args, payload) }
}

/// Short reply to the request of `token`. Allowed once, in that request's handler. Contract: core.md §9.5.
///
/// # Safety
/// `token` is NULL or was given to a handler; `args` as in [`gasneti_sci_request_short`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_reply_short(token: *mut c_void, what: u32, args: *const u64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { REPLY_SHORT.reply(token, what, args, Payload::None) }
}

/// Medium reply. `src` is free for reuse at return, and may be the buffer of the request.
///
/// # Safety
/// As [`gasneti_sci_reply_short`]; `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_reply_medium(
    token: *mut c_void,
    what: u32,
    src: *const c_void,
    nbytes: usize,
    args: *const u64,
) -> c_int {
    // SAFETY: as the caller promises.
    let payload = unsafe { Payload::medium(src, nbytes) };
    // SAFETY: as the caller promises.
    unsafe { REPLY_MEDIUM.reply(token, what, args, payload) }
}

/// Long reply to `dest_addr` in the requester's segment.
///
/// # Safety
/// As [`gasneti_sci_reply_medium`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_reply_long(
    token: *mut c_void,
    what: u32,
    src: *const c_void,
    nbytes: usize,
    dest_addr: *mut c_void,
    args: *const u64,
) -> c_int {
    // SAFETY: as the caller promises.
    let payload = unsafe { Payload::long(src, nbytes, dest_addr) };
    // SAFETY: as the caller promises.
    unsafe { REPLY_LONG.reply(token, what, args, payload) }
}

/// What a message carries beside its arguments; of a Long, and where to.
#[derive(Clone, Copy)]
pub(in crate::api) enum Payload {
    None,
    Medium(Source),
    Long(Source, usize),
}

impl Payload {
    /// # Safety
    /// `src` is readable for `nbytes` bytes until the message is sent.
    #[inline(always)]
    unsafe fn medium(src: *const c_void, nbytes: usize) -> Payload {
        // SAFETY: as the caller promises.
        Payload::Medium(unsafe { Source::new(src.cast(), nbytes) })
    }

    /// # Safety
    /// As [`Payload::medium`].
    #[inline(always)]
    unsafe fn long(src: *const c_void, nbytes: usize, dest: *mut c_void) -> Payload {
        // SAFETY: as the caller promises.
        Payload::Long(unsafe { Source::new(src.cast(), nbytes) }, dest as usize)
    }
}

/// A message, but for where it goes.
#[derive(Clone, Copy)]
pub(in crate::api) struct Message<'a> {
    pub handler: u8,
    pub args: Args<'a>,
    pub payload: Payload,
}

impl Message<'_> {
    #[inline(always)]
    fn bytes(&self) -> usize {
        match self.payload {
            Payload::None => 0,
            Payload::Medium(source) | Payload::Long(source, _) => source.len(),
        }
    }

    /// Sends it as a request to `node`. False: there was no room, and `flags` say not to wait.
    #[inline(always)]
    pub fn request(self, op: TracedOp, node: u32, flags: Flags) -> Result<bool, Error> {
        let Message { handler, args, payload } = self;
        trace::offered_message!(
            op,
            node,
            self.bytes(),
            handler,
            args.words(),
            flags.has(Flags::IMMEDIATE),
            |sent: &Result<bool, Error>| matches!(sent, Ok(false)),
            {
                let am = am_for(handler)?;
                match payload {
                    Payload::None => am.send_short(node, handler, args, flags),
                    Payload::Medium(source) => am.send_medium(node, handler, source, args, flags),
                    Payload::Long(source, dest) => am.send_long(node, handler, source, dest, args, flags),
                }
            }
        )
    }

    /// Sends it as the reply to the request of `raw`. Allowed once, in that request's handler.
    ///
    /// # Safety
    /// `raw` is NULL or was given to a handler.
    #[inline(always)]
    pub unsafe fn reply(self, op: TracedOp, raw: *mut c_void) -> Result<(), Error> {
        let Message { handler, args, payload } = self;
        // A token that is none has no node. Sending then fails.
        // SAFETY: as the caller promises.
        let requester = || unsafe { token(raw) }.map_or(NO_NODE, Token::source);
        trace::message!(op, requester(), self.bytes(), handler, args.words(), {
            // SAFETY: as the caller promises.
            let token = unsafe { token(raw) }?;
            let am = am_for(handler)?;
            match payload {
                Payload::None => am.reply_short(token, handler, args),
                Payload::Medium(source) => am.reply_medium(token, handler, source, args),
                Payload::Long(source, dest) => am.reply_long(token, handler, source, dest, args),
            }
        })
    }
}

/// The endpoint, for a message to a handler of the client. `BadArg`: indices below [`FIRST_CLIENT`] are the library's own. A message of the
/// client to one of them would run a function of the library on words that the library did not write, so callers end the job, as it ends
/// where a message meets no handler (contract: core.md §4).
#[inline(always)]
pub(in crate::api) fn am_for(handler: u8) -> Result<&'static Am<Host>, Error> {
    let am = Job::attached()?.am();
    if handler < FIRST_CLIENT { not_a_clients(handler) } else { Ok(am) }
}

#[cold]
#[inline(never)]
fn not_a_clients<T>(handler: u8) -> Result<T, Error> {
    bad_arg(format_args!(
        "AM for handler index {handler}, which no client can register: clients' are {FIRST_CLIENT} to 255"
    ))
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
