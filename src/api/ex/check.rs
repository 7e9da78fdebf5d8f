//! What headers check for clients compiled with GASNET_DEBUG before they work on objects themselves: handles, indices, limits
//! (contract: ex-core.md §7, §10, §12, §17). A wrong one ends the job with a line that has the call and its place.
//!
//! The place is kept only if something is wrong. These calls stand in arguments of others, whose places would be lost.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::atomic::GASNETI_SCI_AD_MAGIC;
use super::npam::{self, DEFER, GROUP};
use crate::api::shared::constants::GASNETI_SCI_MAX_ARGS;
use crate::api::shared::debug::refuse;
use crate::api::shared::objects::{self, GASNETI_SCI_CLIENT_MAGIC, GASNETI_SCI_EP_MAGIC, GASNETI_SCI_SEGMENT_MAGIC};
use crate::api::shared::objects::{GASNETI_SCI_TM_MAGIC, PAIR, gasneti_sci_ep_t, gasneti_sci_tm_t};
use crate::api::shared::srcdesc::gasneti_sci_srcdesc_t;
use crate::base::error::{Error, bad_arg};
use std::ffi::{c_char, c_int, c_void};

/// `GEX_FLAG_AM_PREPARE_LEAST_CLIENT` and `GEX_FLAG_AM_PREPARE_LEAST_ALLOC`.
const LEAST: u32 = 1 << 11 | 1 << 12;

/// Checks that `object` is one whose head begins with `magic`, and that it has not ended.
///
/// # Safety
/// `name` and `file` are C strings that live for ever; `object` is NULL, a pair, or points to four readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_object(
    name: *const c_char,
    file: *const c_char,
    line: c_int,
    object: *const c_void,
    magic: u32,
) {
    // SAFETY: as the caller promises.
    let result = unsafe { live(object, magic) };
    // SAFETY: as the caller promises.
    unsafe { demand((name, file, line), result) }
}

/// # Safety
/// The call's name and file are C strings that live for ever.
unsafe fn demand((name, file, line): (*const c_char, *const c_char, c_int), result: Result<(), Error>) {
    if let Err(error) = result {
        // SAFETY: as the caller promises.
        unsafe { refuse(name, file, line, error) }
    }
}

/// # Safety
/// `object` is NULL, a pair, or points to four readable bytes.
unsafe fn live(object: *const c_void, magic: u32) -> Result<(), Error> {
    let what = match magic {
        GASNETI_SCI_CLIENT_MAGIC => "a client",
        GASNETI_SCI_EP_MAGIC => "an endpoint",
        GASNETI_SCI_SEGMENT_MAGIC => "a segment",
        GASNETI_SCI_TM_MAGIC if object as usize & PAIR != 0 => {
            return bad_arg(format_args!("a pair of endpoints, where a team is needed"));
        }
        GASNETI_SCI_TM_MAGIC => "a team",
        GASNETI_SCI_AD_MAGIC => "an atomic domain",
        _ => "an object",
    };
    // Heads are aligned, and none lies in the first page.
    let is_head = object as usize >= 4096 && object.cast::<u64>().is_aligned();
    // SAFETY: the caller promises four readable bytes behind what is neither NULL nor a pair.
    if is_head && unsafe { object.cast::<u32>().read() } == magic {
        return Ok(());
    }
    bad_arg(format_args!("{object:p} is not {what}, or not any more"))
}

/// Checks the arguments of `gex_TM_Pair`: `eps` is `GASNET_MAXEPS`.
///
/// # Safety
/// As [`gasneti_sci_check_object`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_pair(
    name: *const c_char,
    file: *const c_char,
    line: c_int,
    local: *const gasneti_sci_ep_t,
    remote: u32,
    eps: u32,
) {
    // SAFETY: as the caller promises.
    unsafe { gasneti_sci_check_object(name, file, line, local.cast(), GASNETI_SCI_EP_MAGIC) };
    let result = match remote < eps {
        true => Ok(()),
        false => bad_arg(format_args!("index {remote} of the remote endpoint: GASNET_MAXEPS is {eps}")),
    };
    // SAFETY: as the caller promises.
    unsafe { demand((name, file, line), result) }
}

/// Checks the arguments of a query of the largest payload.
///
/// # Safety
/// As [`gasneti_sci_check_object`]; `tm` is a pair or an EX object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_limit(
    name: *const c_char,
    file: *const c_char,
    line: c_int,
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    flags: u32,
    numargs: u32,
) {
    let check = || {
        // GEX_RANK_INVALID stands for all ranks.
        let some_rank = if rank == u32::MAX { 0 } else { rank };
        // SAFETY: as the caller promises.
        unsafe { objects::jobrank(tm, some_rank) }?;
        if flags & LEAST == LEAST {
            return bad_arg(format_args!(
                "flags {flags:#x} have both GEX_FLAG_AM_PREPARE_LEAST_CLIENT and _LEAST_ALLOC"
            ));
        }
        if numargs as usize > GASNETI_SCI_MAX_ARGS {
            return bad_arg(format_args!("{numargs} arguments: the limit is {GASNETI_SCI_MAX_ARGS}"));
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { demand((name, file, line), check()) }
}

/// Checks that `sd` is a descriptor that this thread has open.
///
/// # Safety
/// As [`gasneti_sci_check_object`]; `sd` is any value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_srcdesc(
    name: *const c_char,
    file: *const c_char,
    line: c_int,
    sd: *const gasneti_sci_srcdesc_t,
) {
    let result = match npam::is_open_as(sd) {
        true => Ok(()),
        false => bad_arg(format_args!("{sd:p} is not open here")),
    };
    // SAFETY: as the caller promises.
    unsafe { demand((name, file, line), result) }
}

/// Checks that a message's call takes its `lc_opt`. `is_reply` is not 0 for a reply.
///
/// # Safety
/// As [`gasneti_sci_check_object`]; `lc_opt` is any value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_lc(
    name: *const c_char,
    file: *const c_char,
    line: c_int,
    lc_opt: *const c_void,
    is_reply: c_int,
) {
    let is_wrong = matches!(lc_opt as usize, 0 | DEFER) || (lc_opt as usize == GROUP && is_reply != 0);
    let result = match is_wrong {
        true => bad_arg(format_args!("lc_opt is NULL, GEX_EVENT_DEFER, or, in a reply, GEX_EVENT_GROUP")),
        false => Ok(()),
    };
    // SAFETY: as the caller promises.
    unsafe { demand((name, file, line), result) }
}

/// Checks that there are no `wrong` flags, those that the call does not take.
///
/// # Safety
/// As [`gasneti_sci_check_object`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_flags(name: *const c_char, file: *const c_char, line: c_int, wrong: u32) {
    let result = if wrong == 0 { Ok(()) } else { bad_arg(format_args!("flags that this call does not take")) };
    // SAFETY: as the caller promises.
    unsafe { demand((name, file, line), result) }
}
