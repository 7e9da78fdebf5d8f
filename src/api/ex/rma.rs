//! Transfers of GASNet-EX that the header does not do inline, their events, implicit sets and regions (contract: ex-rma.md).
//! Errors end the job.
//!
//! A call with IMMEDIATE that is refused returns `NO_OP` (1), from the `int` forms, too.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::objects::{self, gasneti_sci_tm_t};
use crate::am::source::Source;
use crate::api::constants::GASNETI_SCI_FLAG_VALUE;
use crate::api::g1::reach;
use crate::api::g1::rma::{engines, is_ready};
use crate::api::{die, must};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::trace::{self, NO_NODE, TracedOp};
use crate::verbs::{Flags, Local, Target};
use crate::xfer::Landing;
use crate::xfer::event::{self, Events, Part, Sets, Whose};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `GEX_EVENT_NO_OP`, and what the `int` forms return for it.
pub(in crate::api) const NO_OP: usize = 1;

/// `GEX_FLAG_PEER_NEVER_NBRHD` and `GEX_FLAG_PEER_NEVER_SELF`.
const NEVER_NEAR: u32 = 1 << 14;
const NEVER_SELF: u32 = 1 << 15;

/// What the client wants to know of a put's local completion.
#[derive(Clone, Copy)]
enum Wish {
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
    fn explicit(lc_opt: *mut usize) -> Result<Wish, Error> {
        match Wish::of(lc_opt) {
            Wish::Group => bad_arg(format_args!("GEX_EVENT_GROUP is for puts without an event")),
            wish => Ok(wish),
        }
    }

    /// That of a put without an event. `BadArg`: a place for a leaf.
    #[inline(always)]
    fn implicit(lc_opt: *mut usize) -> Result<Wish, Error> {
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

/// The bytes that a call moves: from where, to where.
#[derive(Clone, Copy)]
enum What {
    Put(*mut c_void, *const c_void, usize),
    Get(*mut c_void, *const c_void, usize),
}

impl What {
    fn bytes(self) -> usize {
        match self {
            What::Put(_, _, n) | What::Get(_, _, n) => n,
        }
    }
}

/// The name of the call: of `of_value` if the header says that the bytes are a value.
fn named(flags: u32, plain: &'static str, of_value: &'static str) -> &'static str {
    if flags & GASNETI_SCI_FLAG_VALUE != 0 { of_value } else { plain }
}

/// Whether an operation was refused, for the recorder.
pub(super) fn is_refused(root: &Result<usize, Error>) -> bool {
    matches!(root, Ok(NO_OP))
}

/// Starts to move `what` between this process and `rank` of `tm`. Returns the root event, 0 if it is complete or has none, or
/// `NO_OP`.
///
/// # Safety
/// `tm` is a team or a pair. The local side is readable or writable: during the call or, if the operation is not complete, until
/// its local completion.
#[inline(always)]
unsafe fn start(
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    how: How,
    flags: u32,
    what: What,
    op: TracedOp,
) -> Result<usize, Error> {
    if what.bytes() == 0 {
        return Ok(0);
    }
    // SAFETY: the caller promises a team or a pair.
    let node = unsafe { objects::jobrank(tm, rank) }?;
    let may = flags & Flags::IMMEDIATE.0 != 0;
    let op = || if flags & GASNETI_SCI_FLAG_VALUE != 0 { op.of_value() } else { op };
    // SAFETY: as the caller promises.
    trace::offered_move!(op(), node, what.bytes(), may, is_refused, unsafe { start_at(node, how, flags, what) })
}

/// As [`start`], to or from a node.
///
/// # Safety
/// The local side is as for [`start`].
#[inline(always)]
unsafe fn start_at(node: u32, how: How, flags: u32, what: What) -> Result<usize, Error> {
    let (on, to, flags) = (engines()?, Target::node(node), Flags(flags & Flags::IMMEDIATE.0));
    if matches!(how, How::Implicit(..)) {
        reach::note_implicit();
    }
    let root = on.transfer(how, |c| match what {
        What::Put(dest, src, n) => {
            // SAFETY: the caller promises that `src` is readable as long as the operation needs it.
            let source = unsafe { Source::new(src.cast(), n) };
            on.rma.put(on.am, to, dest as usize, source, flags, c)
        }
        What::Get(dest, src, n) => {
            // SAFETY: the caller promises that `dest` is writable until the operation is complete.
            let landing = unsafe { Landing::new(dest.cast(), n) };
            on.rma.get(on.am, to, src as usize, landing, flags, c)
        }
    })?;
    Ok(root.unwrap_or(NO_OP))
}

/// Blocking put. 1 if IMMEDIATE was refused, else 0.
///
/// # Safety
/// `tm` is a team or a pair; `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_put(
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> c_int {
    let what = What::Put(dest, src, nbytes);
    must(named(flags, "gex_RMA_PutBlocking", "gex_RMA_PutBlockingVal"), || {
        // SAFETY: the caller promises a team, and a source that is readable during the call.
        unsafe { start(tm, rank, How::Blocking, flags, what, TracedOp::Put) }.map(|root| root as c_int)
    })
}

/// Put with an event: the root, 0 if it is complete, or `NO_OP`. `lc_opt` is as in `gex_RMA_PutNB`.
///
/// # Safety
/// `tm` is a team or a pair; `src` is readable for `nbytes` bytes until local completion; `lc_opt` is one of the constants or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_put_nb(
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
    lc_opt: *mut usize,
    flags: u32,
) -> usize {
    let what = What::Put(dest, src, nbytes);
    must(named(flags, "gex_RMA_PutNB", "gex_RMA_PutNBVal"), || {
        let wish = Wish::explicit(lc_opt)?;
        // SAFETY: the caller promises a team, and a source that is readable until local completion.
        let root = unsafe { start(tm, rank, How::Event(wish.local()), flags, what, TracedOp::PutNb) }?;
        if let Wish::Leaf(place) = wish {
            let leaf = if root == NO_OP { 0 } else { event::leaf(root, Part::Local)? };
            // SAFETY: the caller promises a writable place.
            unsafe { place.write(leaf) };
        }
        Ok(root)
    })
}

/// Put without an event. 1 if IMMEDIATE was refused, else 0. `lc_opt` is as in `gex_RMA_PutNBI`.
///
/// # Safety
/// As [`gasneti_sci_ex_put_nb`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_put_nbi(
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
    lc_opt: *mut usize,
    flags: u32,
) -> c_int {
    let what = What::Put(dest, src, nbytes);
    must(named(flags, "gex_RMA_PutNBI", "gex_RMA_PutNBIVal"), || {
        let how = How::Implicit(Set::Puts, Wish::implicit(lc_opt)?.local());
        // SAFETY: the caller promises a team, and a source that is readable until local completion.
        unsafe { start(tm, rank, how, flags, what, TracedOp::PutNbi) }.map(|root| root as c_int)
    })
}

/// Blocking get. 1 if IMMEDIATE was refused, else 0.
///
/// # Safety
/// `tm` is a team or a pair; `dest` is writable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_get(
    tm: *const gasneti_sci_tm_t,
    dest: *mut c_void,
    rank: u32,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> c_int {
    let what = What::Get(dest, src, nbytes);
    must(named(flags, "gex_RMA_GetBlocking", "gex_RMA_GetBlockingVal"), || {
        // SAFETY: the caller promises a team, and a writable destination.
        unsafe { start(tm, rank, How::Blocking, flags, what, TracedOp::Get) }.map(|root| root as c_int)
    })
}

/// Get with an event: the root, 0 if it is complete, or `NO_OP`.
///
/// # Safety
/// `tm` is a team or a pair; `dest` is writable for `nbytes` bytes until the event is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_get_nb(
    tm: *const gasneti_sci_tm_t,
    dest: *mut c_void,
    rank: u32,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> usize {
    let what = What::Get(dest, src, nbytes);
    // SAFETY: the caller promises a team, and a destination that is writable until the sync.
    must("gex_RMA_GetNB", || unsafe { start(tm, rank, How::Event(Local::Later), flags, what, TracedOp::GetNb) })
}

/// Get without an event. 1 if IMMEDIATE was refused, else 0.
///
/// # Safety
/// As [`gasneti_sci_ex_get_nb`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_get_nbi(
    tm: *const gasneti_sci_tm_t,
    dest: *mut c_void,
    rank: u32,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> c_int {
    let what = What::Get(dest, src, nbytes);
    let how = How::Implicit(Set::Gets, Local::Later);
    must("gex_RMA_GetNBI", || {
        // SAFETY: the caller promises a team, and a destination that is writable until the sync.
        unsafe { start(tm, rank, how, flags, what, TracedOp::GetNbi) }.map(|root| root as c_int)
    })
}

/// Syncs an event if it is complete. `GASNET_OK`, or `GASNET_ERR_NOT_READY`. Serves no messages.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_test(event: usize) -> c_int {
    let _recorded = trace::span(TracedOp::TestNb, NO_NODE, 0);
    must("gex_Event_Test", || {
        event::test(event, Whose::Any).or_else(|error| dead_is_complete(event, error)).map(is_ready)
    })
}

/// The result for an event that is not live. One that was synced before is complete, unless the client is a debug build.
#[cold]
#[inline(never)]
fn dead_is_complete(event: usize, error: Error) -> Result<bool, Error> {
    if event::is_dead(event) && !Job::get()?.client().debug { Ok(true) } else { Err(error) }
}

/// Waits until an event is complete. Serves messages, at least once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_wait(event: usize) {
    let _recorded = trace::span(TracedOp::WaitNb, NO_NODE, 0);
    must("gex_Event_Wait", || engines()?.wait(event, Whose::Any));
}

/// As `gasneti_sci_ex_test`, for `n` events: all of them, or one at least if `all` is 0. Complete ones become 0.
///
/// # Safety
/// `events` points to `n` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_test_array(events: *mut usize, n: usize, all: c_int) -> c_int {
    let _recorded = trace::span(TracedOp::of_several(false, all != 0), NO_NODE, 0);
    must(if all != 0 { "gex_Event_TestAll" } else { "gex_Event_TestSome" }, || {
        // SAFETY: the caller promises `n` events.
        let found = unsafe { Events::new(events, n) }?.test(Whose::Any)?;
        Ok(is_ready(found.is_enough(all != 0)))
    })
}

/// As `gasneti_sci_ex_wait`, for `n` events: all of them, or one at least if `all` is 0. Complete ones become 0.
///
/// # Safety
/// `events` points to `n` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_wait_array(events: *mut usize, n: usize, all: c_int) {
    let _recorded = trace::span(TracedOp::of_several(true, all != 0), NO_NODE, 0);
    must(if all != 0 { "gex_Event_WaitAll" } else { "gex_Event_WaitSome" }, || {
        // SAFETY: the caller promises `n` events.
        let events = unsafe { Events::new(events, n) }?;
        engines()?.wait_events(events, all != 0, Whose::Any)
    });
}

/// The leaf of `root` for one `GEX_EC_*`; 0 if that part is complete.
///
/// A root without such a leaf is an error in debug builds. In others the result is an event that is complete with the root.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_leaf(root: usize, category: u32) -> usize {
    must("gex_Event_QueryLeaf", || {
        let (set, name) = match category {
            PUT => (Some(Set::Puts), "PUT"),
            GET => (Some(Set::Gets), "GET"),
            RMW => (Some(Set::Rmw), "RMW"),
            LC => (None, "LC"),
            _ => return bad_arg(format_args!("{category:#x} is not one event category")),
        };
        match event::category(root, set)? {
            Some(leaf) => Ok(leaf),
            None if Job::get()?.client().debug => bad_arg(format_args!(
                "{root:#x} has no leaf for GEX_EC_{name}. Access regions have leaves; so have puts that were started with a place for it \
                 or with GEX_FLAG_ENABLE_LEAF_LC"
            )),
            None => event::leaf(root, Part::Category),
        }
    })
}

/// `GEX_EC_*`. The first bit is that of puts alone.
const PUT: u32 = 3;
const LC: u32 = 2;
const GET: u32 = 4;
const RMW: u32 = 8;

/// The sets of a mask of `GEX_EC_*`.
fn sets(mask: u32) -> Sets {
    let rows = [(PUT & !LC, Sets::PUTS), (LC, Sets::LOCAL), (GET, Sets::GETS), (RMW, Sets::RMW)];
    let wanted = rows.into_iter().filter(|(bits, _)| mask & bits != 0);
    wanted.fold(Sets::NONE, |all, (_, set)| all.and(set))
}

/// `GASNET_OK` if this thread's implicit operations of the categories are complete, else `GASNET_ERR_NOT_READY`.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_nbi_test(mask: u32) -> c_int {
    let _recorded = trace::span(TracedOp::TestNbi, NO_NODE, 0);
    must("gex_NBI_Test", || sets(mask).test().map(is_ready))
}

/// Waits until this thread's implicit operations of the categories are complete. Serves messages, at least once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_nbi_wait(mask: u32) {
    let _recorded = trace::span(TracedOp::WaitNbi, NO_NODE, 0);
    must("gex_NBI_Wait", || engines()?.wait_sets(sets(mask)));
}

/// Opens an access region of this thread. Fatal if one is open.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_begin_region() {
    must("gex_NBI_BeginAccessRegion", || {
        engines()?; // an error before init
        event::begin_region()
    });
}

/// Closes the access region. The root of its operations, 0 if they are complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_end_region() -> usize {
    trace::event(TracedOp::EndRegion, NO_NODE, 0);
    must("gex_NBI_EndAccessRegion", event::end_region)
}

/// The debug checks of a transfer; an error ends the job. `form` is 1 for `PutNB`, 2 for `PutNBI`, whose `lc_opt` is checked; else 0.
///
/// # Safety
/// `name` is a C string; `tm` is a team or a pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_check_transfer(
    name: *const c_char,
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    address: *const c_void,
    nbytes: usize,
    form: c_int,
    lc_opt: *mut usize,
    flags: u32,
) {
    let checked = || {
        if form != 0 && lc_opt.is_null() {
            return bad_arg(format_args!("NULL for lc_opt"));
        }
        match form {
            1 => Wish::explicit(lc_opt).map(|_| ())?,
            2 => Wish::implicit(lc_opt).map(|_| ())?,
            _ => {}
        }
        if nbytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller promises a team or a pair.
        let node = unsafe { objects::jobrank(tm, rank) }?;
        let (job, on) = (Job::attached()?, engines()?);
        if flags & (NEVER_SELF | NEVER_NEAR) != 0 && node == job.rank() {
            return bad_arg(format_args!("rank {rank} is this process, against a GEX_FLAG_PEER_NEVER_* flag"));
        }
        if flags & NEVER_NEAR != 0 && job.supernode(node) == job.supernode(job.rank()) {
            return bad_arg(format_args!("rank {rank} is in the neighbourhood, against GEX_FLAG_PEER_NEVER_NBRHD"));
        }
        if address.is_null() {
            return bad_arg(format_args!("NULL for the remote side of {nbytes} bytes"));
        }
        on.am.table().check(node, address as usize, nbytes)
    };
    if let Err(error) = checked() {
        // SAFETY: the caller promises that `name` is a C string.
        die(&unsafe { CStr::from_ptr(name) }.to_string_lossy(), error)
    }
}
