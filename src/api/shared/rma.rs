//! One-sided transfers of both APIs that the header does not do inline (contract: extended.md §1–§7, ex-rma.md). Errors end the job.
//!
//! One export per verb. The headers tell it by a flag which API calls; from that an error has the name of its call.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::outcome::die;
use super::{reach, threads};
use crate::am::Am;
use crate::am::source::Source;
use crate::api::shared::constants::*;
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sci::Host;
use crate::trace::{self, TracedOp};
use crate::verbs::{Begun, Flags, Local, Target};
use crate::xfer::event::{self, Part};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use crate::xfer::{Completion, Engines, Landing};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The engines of this process.
pub(in crate::api) type On = Engines<'static, Host>;

pub(in crate::api) fn engines() -> Result<On, Error> {
    let job = Job::attached()?;
    Ok(Engines { am: job.am(), rma: job.rma() })
}

pub(in crate::api) fn check_node(am: &Am<Host>, node: u32) -> Result<(), Error> {
    if node >= am.nodes() {
        return bad_arg(format_args!("node {node} is out of range: the job has {} nodes", am.nodes()));
    }
    Ok(())
}

/// `GEX_EVENT_NO_OP`: a call with IMMEDIATE that was refused.
pub(in crate::api) const NO_OP: usize = 1;

/// Whether an operation was refused, for the recorder.
pub(in crate::api) fn is_refused(root: &Result<usize, Error>) -> bool {
    matches!(root, Ok(NO_OP))
}

/// The bytes that a call moves: from where, to where.
#[derive(Clone, Copy)]
pub(in crate::api) enum What {
    Put(*mut c_void, Source),
    Get(Landing, *const c_void),
    /// Destination, a value whose low byte is stored, and the number of bytes.
    Set(*mut c_void, c_int, usize),
    /// Source and number of bytes, which go into the operation itself.
    Value(*const c_void, usize),
}

impl What {
    /// # Safety
    /// `src` is readable for `n` bytes as long as the call's form needs it: during the call, or until local completion.
    #[inline(always)]
    unsafe fn put(dest: *mut c_void, src: *const c_void, n: usize) -> What {
        // SAFETY: as the caller promises.
        What::Put(dest, unsafe { Source::new(src.cast(), n) })
    }

    /// # Safety
    /// `dest` is writable for `n` bytes until the operation is complete.
    #[inline(always)]
    unsafe fn get(dest: *mut c_void, src: *const c_void, n: usize) -> What {
        // SAFETY: as the caller promises.
        What::Get(unsafe { Landing::new(dest.cast(), n) }, src)
    }

    #[inline(always)]
    fn bytes(self) -> usize {
        match self {
            What::Put(_, source) => source.len(),
            What::Get(landing, _) => landing.len(),
            What::Set(_, _, len) | What::Value(_, len) => len,
        }
    }

    #[inline(always)]
    fn begin(self, on: On, to: Target, flags: Flags, c: Completion<'_>) -> Result<Begun, Error> {
        let Engines { am, rma } = on;
        match self {
            What::Put(dest, source) => rma.put(am, to, dest as usize, source, flags, c),
            What::Get(landing, src) => rma.get(am, to, src as usize, landing, flags, c),
            What::Set(dest, val, len) => rma.set(am, to, dest as usize, (val as u8, len), flags, c),
            What::Value(src, len) => rma.get_value(am, to, src as usize, len, c),
        }
    }
}

/// What the client wants to know of a put's local completion: its `lc_opt`. Calls of GASNet-1 are told by `NOW` and `DEFER`.
#[derive(Clone, Copy)]
pub(in crate::api) enum Wish {
    /// `GEX_EVENT_NOW`.
    Now,
    /// `GEX_EVENT_DEFER`.
    Defer,
    /// `GEX_EVENT_GROUP`.
    Group,
    /// A leaf event, at this place.
    Leaf(*mut usize),
}

impl Wish {
    /// NULL, which only debug builds refuse (contract: ex-rma.md §12), asks for most: the source is free at return.
    #[inline(always)]
    fn of(lc_opt: *mut usize) -> Wish {
        match lc_opt as usize {
            0 | 1 => Wish::Now,
            2 => Wish::Defer,
            3 => Wish::Group,
            _ => Wish::Leaf(lc_opt),
        }
    }

    /// That of a put with an event. `BadArg`: GROUP.
    #[inline(always)]
    pub fn explicit(lc_opt: *mut usize) -> Result<Wish, Error> {
        match Wish::of(lc_opt) {
            Wish::Group => bad_arg(format_args!("GEX_EVENT_GROUP is for puts without an event")),
            wish => Ok(wish),
        }
    }

    /// That of a put without an event. `BadArg`: a place for a leaf.
    #[inline(always)]
    pub fn implicit(lc_opt: *mut usize) -> Result<Wish, Error> {
        match Wish::of(lc_opt) {
            Wish::Leaf(place) => bad_arg(format_args!("lc_opt is {place:p}: a put without an event has no leaf")),
            wish => Ok(wish),
        }
    }

    #[inline(always)]
    fn local(self) -> Local {
        match self {
            Wish::Now => Local::AtReturn,
            Wish::Defer => Local::Later,
            Wish::Group | Wish::Leaf(_) => Local::WhenAsked,
        }
    }
}

/// Starts to move `what` between this node and `node`. Returns the root event, 0 if it is complete or has none, or `NO_OP`. Operations are
/// recorded as `op`; blocking ones with their duration.
///
/// The compiler makes one copy of the engine's verb per call and decides in it everything that depends on the call, whose `how` and `op` are
/// constants. Shared code would decide at run time (30 instructions more per transfer).
#[inline(always)]
pub(in crate::api) fn start(node: u32, what: What, how: How, op: TracedOp, flags: u32) -> Result<usize, Error> {
    if what.bytes() == 0 && flags & GASNETI_SCI_FLAG_EX != 0 {
        return Ok(0); // its rank may be any
    }
    let on = engines()?;
    if node >= on.am.nodes() && flags & GASNETI_SCI_FLAG_EX != 0 {
        return bad_arg(format_args!("rank {node} is out of range: the job has {} processes", on.am.nodes()));
    }
    check_node(on.am, node)?;
    let op = || if flags & GASNETI_SCI_FLAG_VALUE != 0 { op.of_value() } else { op };
    let flags = Flags(flags & Flags::IMMEDIATE.0);
    trace::offered_move!(op(), node, what.bytes(), flags.has(Flags::IMMEDIATE), is_refused, {
        on.transfer(how, |c| what.begin(on, Target::node(node), flags, c)).map(|root| root.unwrap_or(NO_OP))
    })
}

/// A verb: what its calls are named in GASNet-1 and in GASNet-EX, and its kind in records.
struct Verb([&'static str; 2], TracedOp);

const PUT: &Verb = &Verb(["gasnet_put", "gex_RMA_PutBlocking"], TracedOp::Put);
const PUT_NB: &Verb = &Verb(["gasnet_put_nb", "gex_RMA_PutNB"], TracedOp::PutNb);
const PUT_NBI: &Verb = &Verb(["gasnet_put_nbi", "gex_RMA_PutNBI"], TracedOp::PutNbi);
const GET: &Verb = &Verb(["gasnet_get", "gex_RMA_GetBlocking"], TracedOp::Get);
const GET_NB: &Verb = &Verb(["gasnet_get_nb", "gex_RMA_GetNB"], TracedOp::GetNb);
const GET_NBI: &Verb = &Verb(["gasnet_get_nbi", "gex_RMA_GetNBI"], TracedOp::GetNbi);

impl Verb {
    /// As [`start`], of a call of this verb. Without an event, the header learns that an implicit operation may be in flight.
    #[inline(always)]
    fn start(&self, node: u32, what: What, how: How, flags: u32) -> usize {
        threads::note();
        if matches!(how, How::Implicit(..)) {
            reach::note_implicit();
        }
        start(node, what, how, self.1, flags).unwrap_or_else(|error| self.failed(flags, error))
    }

    /// As [`Verb::start`], of a put whose client has a wish. Each has a copy of its own: [`start`] says why.
    #[inline(always)]
    fn wished(&self, node: u32, what: What, how: fn(Local) -> How, wish: Result<Wish, Error>, flags: u32) -> usize {
        match wish.map(Wish::local) {
            Ok(Local::AtReturn) => self.start(node, what, how(Local::AtReturn), flags),
            Ok(Local::Later) => self.start(node, what, how(Local::Later), flags),
            Ok(Local::WhenAsked) => self.start(node, what, how(Local::WhenAsked), flags),
            Err(error) => self.failed(flags, error),
        }
    }

    #[cold]
    #[inline(never)]
    fn failed(&self, flags: u32, error: Error) -> ! {
        let of = |flag| flags & flag != 0;
        let form = match (of(GASNETI_SCI_FLAG_EX), of(GASNETI_SCI_FLAG_VALUE)) {
            (true, true) => "Val",
            (false, true) => "_val",
            (false, false) if of(GASNETI_SCI_FLAG_BULK) => "_bulk",
            _ => "",
        };
        die(&format!("{}{form}", self.0[usize::from(of(GASNETI_SCI_FLAG_EX))]), error)
    }
}

/// Blocking put of `nbytes` bytes, complete at the target when it returns. 1 if IMMEDIATE was refused, else 0.
///
/// `flags` are those of GASNet-EX, and `GASNETI_SCI_FLAG_*`. Serves messages while it waits.
///
/// # Safety
/// `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put(
    node: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> c_int {
    // SAFETY: as the caller promises.
    PUT.start(node, unsafe { What::put(dest, src, nbytes) }, How::Blocking, flags) as c_int
}

/// Put with an event: the root, 0 if it is complete, or `NO_OP` (1). `lc_opt` is as in `gex_RMA_PutNB`.
///
/// # Safety
/// `src` is readable for `nbytes` bytes until local completion; `lc_opt` is one of the constants or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nb(
    node: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
    lc_opt: *mut usize,
    flags: u32,
) -> usize {
    // SAFETY: as the caller promises.
    let what = unsafe { What::put(dest, src, nbytes) };
    let root = PUT_NB.wished(node, what, How::Event, Wish::explicit(lc_opt), flags);
    if let Wish::Leaf(place) = Wish::of(lc_opt) {
        let leaf = if root == NO_OP { Ok(0) } else { event::leaf(root, Part::Local) };
        let leaf = leaf.unwrap_or_else(|error| PUT_NB.failed(flags, error));
        // SAFETY: the caller promises a writable place.
        unsafe { place.write(leaf) };
    }
    root
}

/// Put without an event. 1 if IMMEDIATE was refused, else 0. `lc_opt` is as in `gex_RMA_PutNBI`.
///
/// A sync of this thread's implicit puts, or its open region, waits for it.
///
/// # Safety
/// As [`gasneti_sci_put_nb`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nbi(
    node: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
    lc_opt: *mut usize,
    flags: u32,
) -> c_int {
    // SAFETY: as the caller promises.
    let what = unsafe { What::put(dest, src, nbytes) };
    PUT_NBI.wished(node, what, |local| How::Implicit(Set::Puts, local), Wish::implicit(lc_opt), flags) as c_int
}

/// Blocking get of `nbytes` bytes; otherwise like `gasneti_sci_put`.
///
/// # Safety
/// `dest` is writable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get(
    dest: *mut c_void,
    node: u32,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> c_int {
    // SAFETY: as the caller promises.
    GET.start(node, unsafe { What::get(dest, src, nbytes) }, How::Blocking, flags) as c_int
}

/// Get with an event: the root, 0 if it is complete, or `NO_OP` (1).
///
/// # Safety
/// `dest` is writable for `nbytes` bytes until the event is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get_nb(
    dest: *mut c_void,
    node: u32,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> usize {
    // SAFETY: as the caller promises.
    GET_NB.start(node, unsafe { What::get(dest, src, nbytes) }, How::Event(Local::Later), flags)
}

/// Get without an event. 1 if IMMEDIATE was refused, else 0.
///
/// # Safety
/// As [`gasneti_sci_get_nb`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get_nbi(
    dest: *mut c_void,
    node: u32,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> c_int {
    let how = How::Implicit(Set::Gets, Local::Later);
    // SAFETY: as the caller promises.
    GET_NBI.start(node, unsafe { What::get(dest, src, nbytes) }, how, flags) as c_int
}

pub(in crate::api) fn is_ready(ready: bool) -> c_int {
    if ready { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_NOT_READY }
}

/// Ends the job, because the value form `name` was called with an impossible size.
///
/// # Safety
/// `name` is a C string.
#[cold]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_bad_value(name: *const c_char, nbytes: usize) -> ! {
    // SAFETY: the caller promises that `name` is a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    die(&name, format_args!("a value of {nbytes} bytes; 1 to 8 are possible"))
}

/// Serves messages; does nothing in a handler. The header calls it after every 256th inline transfer, or sooner.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tick_poll() {
    threads::note();
    if let Ok(on) = engines() {
        on.am.poll_in_loop();
    }
}
