//! Memsets, gets of values, and handles of GASNet-1 (contract: extended.md §1–§7). Its other transfers: `shared::rma`. Errors end the job.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::shared::rma::{On, What, check_node, engines, is_ready, start};
use crate::api::{die, must};
use crate::base::error::Error;
use crate::trace::{self, NO_NODE, TracedOp};
use crate::verbs::Local;
use crate::xfer::event::{self, Events, Sets, Whose};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Moves `what` between this node and `node`; the handle, 0 if it is complete or has none.
#[inline(always)]
fn transfer(name: &'static str, op: TracedOp, how: How, node: u32, what: What) -> usize {
    must(name, || start(node, what, how, op, 0))
}

/// Blocking memset: stores the low byte of `val` `nbytes` times.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) {
    transfer("gasnet_memset", TracedOp::Memset, How::Blocking, node, What::Set(dest, val, nbytes));
}

/// Memset with an explicit handle, which is 0 if the memset is complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset_nb(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) -> usize {
    transfer("gasnet_memset_nb", TracedOp::MemsetNb, How::Event(Local::AtReturn), node, What::Set(dest, val, nbytes))
}

/// Memset with an implicit handle, which counts as one of this thread's puts.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset_nbi(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) {
    transfer(
        "gasnet_memset_nbi",
        TracedOp::MemsetNbi,
        How::Implicit(Set::Puts, Local::AtReturn),
        node,
        What::Set(dest, val, nbytes),
    );
}

/// Starts a get of a value of 1 to 8 bytes. The caller must wait for the handle exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_get_nb_val(node: u32, src: *const c_void, nbytes: usize) -> u64 {
    transfer("gasnet_get_nb_val", TracedOp::GetNbVal, How::Value, node, What::Value(src, nbytes)) as u64
}

/// Waits for a get of a value, and returns the value.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_valget(handle: u64) -> u64 {
    let _recorded = trace::span(TracedOp::WaitValget, NO_NODE, 0);
    must("gasnet_wait_syncnb_valget", || engines()?.wait_value(handle as usize, Whose::of_handles()))
}

/// The engines. Serves messages first if `poll` is not 0.
#[inline(always)]
fn polled(poll: c_int) -> Result<On, Error> {
    let on = engines()?;
    if poll != 0 {
        on.am.poll_in_loop();
    }
    Ok(on)
}

/// `GASNET_OK`, after which the handle is invalid, or `GASNET_ERR_NOT_READY`.
///
/// Serves messages first if `poll` is not 0.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_try_nb(handle: usize, poll: c_int) -> c_int {
    let _recorded = trace::span(TracedOp::TestNb, NO_NODE, 0);
    must(if poll != 0 { "gasnet_try_syncnb" } else { "gasnet_try_syncnb_nopoll" }, || {
        polled(poll)?;
        event::test(handle, Whose::of_handles()).map(is_ready)
    })
}

/// Waits until the operation of one handle is complete. Serves messages meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_nb(handle: usize) {
    let _recorded = trace::span(TracedOp::WaitNb, NO_NODE, 0);
    must("gasnet_wait_syncnb", || engines()?.wait(handle, Whose::of_handles()));
}

/// `GASNET_OK` if all of `n` handles are complete, else `GASNET_ERR_NOT_READY`.
///
/// If `all` is 0, one complete handle is enough. The library overwrites complete handles with 0. It serves messages
/// first if `poll` is not 0.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_try_array(handles: *mut usize, n: usize, all: c_int, poll: c_int) -> c_int {
    let _recorded = trace::span(TracedOp::of_several(false, all != 0), NO_NODE, 0);
    let name = match (all != 0, poll != 0) {
        (true, true) => "gasnet_try_syncnb_all",
        (false, true) => "gasnet_try_syncnb_some",
        (true, false) => "gasnet_try_syncnb_all_nopoll",
        (false, false) => "gasnet_try_syncnb_some_nopoll",
    };
    must(name, || {
        polled(poll)?;
        // SAFETY: the caller promises that `handles` points to `n` handles.
        let found = unsafe { Events::new(handles, n) }?.test(Whose::of_handles())?;
        Ok(is_ready(found.is_enough(all != 0)))
    })
}

/// Waits until all of `n` handles are complete, or at least one if `all` is 0. Overwrites complete ones with 0.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_wait_array(handles: *mut usize, n: usize, all: c_int) {
    let _recorded = trace::span(TracedOp::of_several(true, all != 0), NO_NODE, 0);
    must(if all != 0 { "gasnet_wait_syncnb_all" } else { "gasnet_wait_syncnb_some" }, || {
        // SAFETY: the caller promises that `handles` points to `n` handles.
        let events = unsafe { Events::new(handles, n) }?;
        engines()?.wait_events(events, all != 0, Whose::of_handles())
    });
}

/// Translates `sets` of the implicit syncs (1 puts, 2 gets, 3 both), and gives the index of the call's name.
fn which(sets: c_int) -> (Sets, usize) {
    match sets & 3 {
        1 => (Sets::PUTS, 0),
        2 => (Sets::GETS, 1),
        3 => (Sets::ALL, 2),
        _ => (Sets::NONE, 0),
    }
}

/// `GASNET_OK` if all implicit operations of this thread in `sets` are complete, else `GASNET_ERR_NOT_READY`.
///
/// `sets`: 1 puts, 2 gets, 3 both.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_try_nbi(sets: c_int) -> c_int {
    let _recorded = trace::span(TracedOp::TestNbi, NO_NODE, 0);
    let (sets, at) = which(sets);
    must(["gasnet_try_syncnbi_puts", "gasnet_try_syncnbi_gets", "gasnet_try_syncnbi_all"][at], || {
        polled(1)?;
        sets.test().map(is_ready)
    })
}

/// Waits until all implicit operations of this thread in `sets` (1 puts, 2 gets, 3 both) are complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_nbi(sets: c_int) {
    let _recorded = trace::span(TracedOp::WaitNbi, NO_NODE, 0);
    let (sets, at) = which(sets);
    must(["gasnet_wait_syncnbi_puts", "gasnet_wait_syncnbi_gets", "gasnet_wait_syncnbi_all"][at], || {
        engines()?.wait_sets(sets)
    });
}

/// Opens an access region of this thread. Fatal if one is open.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_begin_region() {
    must("gasnet_begin_nbi_accessregion", || {
        engines()?; // an error before attach
        event::begin_region()
    });
}

/// Closes the access region and returns the handle of its operations, 0 if they are complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_end_region() -> usize {
    trace::event(TracedOp::EndRegion, NO_NODE, 0);
    must("gasnet_end_nbi_accessregion", event::end_region)
}

/// Ends the job unless `[address, address + nbytes)` is in the segment of `node`. Only debug clients call it.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_range(
    name: *const c_char,
    node: u32,
    address: *const c_void,
    nbytes: usize,
) {
    let checked = || {
        let am = engines()?.am;
        check_node(am, node)?;
        am.table().check(node, address as usize, nbytes)
    };
    if let Err(error) = checked() {
        // SAFETY: the caller promises that `name` is a C string.
        die(&unsafe { CStr::from_ptr(name) }.to_string_lossy(), error)
    }
}
