//! Events, implicit sets and regions of GASNet-EX (contract: ex-rma.md). Its transfers: `shared::rma`. Errors end the job.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::shared::objects::{self, gasneti_sci_tm_t};
use crate::api::shared::rma::{Wish, engines, is_ready};
use crate::api::{die, must};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::trace::{self, NO_NODE, TracedOp};
use crate::xfer::event::{self, Events, Part, Sets, Whose};
use crate::xfer::home::Set;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `GEX_FLAG_PEER_NEVER_NBRHD` and `GEX_FLAG_PEER_NEVER_SELF`.
const NEVER_NEAR: u32 = 1 << 14;
const NEVER_SELF: u32 = 1 << 15;

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
