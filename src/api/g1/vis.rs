//! `gasnet_vis.h`: vector, indexed and strided transfers (contract: vis.md). Errors end the job. Not allowed in
//! handlers.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::Am;
use crate::api::shared::constants::*;
use crate::api::shared::rma::{check_node, engines};
use crate::api::shared::vis::*;
use crate::api::{die, must};
use crate::base::error::Error;
use crate::job::Job;
use crate::sci::Host;
use crate::trace;
use crate::verbs::{Flags, Local, Target};
use crate::vis::shape::{Levels, Section, What};
use crate::vis::{Verb, check};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Names for messages, by call and `how`.
const NAMES: [[&str; 3]; 6] = [
    ["gasnet_putv_bulk", "gasnet_putv_nb_bulk", "gasnet_putv_nbi_bulk"],
    ["gasnet_getv_bulk", "gasnet_getv_nb_bulk", "gasnet_getv_nbi_bulk"],
    ["gasnet_puti_bulk", "gasnet_puti_nb_bulk", "gasnet_puti_nbi_bulk"],
    ["gasnet_geti_bulk", "gasnet_geti_nb_bulk", "gasnet_geti_nbi_bulk"],
    ["gasnet_puts_bulk", "gasnet_puts_nb_bulk", "gasnet_puts_nbi_bulk"],
    ["gasnet_gets_bulk", "gasnet_gets_nb_bulk", "gasnet_gets_nbi_bulk"],
];

/// Makes the transfer that `describe` returns. Returns its handle, 0 if it is complete or has none. `bytes` gives the
/// number of bytes that move; it is called only if calls are recorded.
///
/// # Safety
/// The memory described is readable and writable as the contract wants it: the local side here until the operation is
/// synced, the remote side in the segment of `node`.
#[inline(always)]
unsafe fn transfer<'a>(
    call: Verb,
    how: u32,
    node: u32,
    bytes: impl FnOnce() -> usize,
    describe: impl FnOnce() -> Result<Option<What<'a>>, Error>,
) -> usize {
    let how = how.min(GASNETI_SCI_VIS_NBI);
    let name = NAMES[call as usize][how as usize];
    let run = || {
        check_node(engines()?.am, node)?;
        let (armed, what) = (take_armed(call)?, describe()?);
        // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
        unsafe { start(call, how as usize, node, what.as_ref(), Local::Later, Flags::NONE, armed) }
    };
    trace::moved!(OPS[call as usize][how as usize], node, bytes(), must(name, run))
}

/// A list of pieces on each side: how many, and where they are described.
type Pieces = (usize, *const gasnet_memvec_t);

/// A transfer between lists of pieces.
///
/// # Safety
/// As [`gasneti_sci_putv`] and [`gasneti_sci_getv`].
#[inline(always)]
unsafe fn transfer_pieces(
    call: Verb,
    how: u32,
    node: u32,
    (dstcount, dstlist): Pieces,
    (srccount, srclist): Pieces,
) -> usize {
    let describe = || {
        // SAFETY: the caller promises that both lists have as many elements as their counts say.
        let [dst, src] = unsafe { vector(dstcount, dstlist, srccount, srclist) }?;
        Ok(Some(What::Vector(dst, src)))
    };
    // SAFETY: the caller promises `dstcount` elements in `dstlist`.
    let bytes = || unsafe { pieces("dstlist", dstlist, dstcount) }.map_or(0, |dst| What::Vector(dst, dst).total());
    // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, how, node, bytes, describe) }
}

/// A list of addresses on each side: how many, where they stand, and the bytes at each.
type Addresses = (usize, *const *mut c_void, usize);

/// A transfer between lists of addresses.
///
/// # Safety
/// As [`gasneti_sci_puti`] and [`gasneti_sci_geti`].
#[inline(always)]
unsafe fn transfer_addresses(
    call: Verb,
    how: u32,
    node: u32,
    (dstcount, dstlist, dstlen): Addresses,
    (srccount, srclist, srclen): Addresses,
) -> usize {
    let describe = || {
        // SAFETY: the caller promises that both lists have as many elements as their counts say.
        let [dst, src] = unsafe { indexed(dstcount, dstlist, dstlen, srccount, srclist, srclen) }?;
        Ok(Some(What::Indexed(dst, src)))
    };
    // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, how, node, || dstcount.wrapping_mul(dstlen), describe) }
}

/// # Safety
/// All arrays as in [`slice`]; `count` has one element more than `levels`.
#[inline(always)]
unsafe fn described<'a>(
    start: [usize; 2],
    [dststrides, srcstrides]: [*const usize; 2],
    count: *const usize,
    levels: usize,
) -> Result<Levels<'a>, Error> {
    // SAFETY: the caller promises `levels` + 1 elements in `count`.
    let count = unsafe { slice("count", count, levels.saturating_add(1)) }?;
    if count.contains(&0) {
        return Ok(Levels { start, strides: [&[]; 2], count }); // the strides are not read in this case
    }
    // SAFETY: the caller promises `levels` elements in `dststrides`.
    let dst = unsafe { slice("dststrides", dststrides, levels) }?;
    // SAFETY: the caller promises `levels` elements in `srcstrides`.
    let src = unsafe { slice("srcstrides", srcstrides, levels) }?;
    Ok(Levels { start, strides: [dst, src], count })
}

/// Put from a list of pieces to a list of pieces. Returns the handle of the NB form, 0 if it is complete.
///
/// `how` is one of `GASNETI_SCI_VIS_*`. The lists are free for reuse at return.
///
/// # Safety
/// The lists have as many elements as their counts say; what they describe is readable here, and in the segment of
/// `node`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_putv(
    how: u32,
    node: u32,
    dstcount: usize,
    dstlist: *const gasnet_memvec_t,
    srccount: usize,
    srclist: *const gasnet_memvec_t,
) -> usize {
    // SAFETY: the caller promises what `transfer_pieces` asks for.
    unsafe { transfer_pieces(Verb::PutV, how, node, (dstcount, dstlist), (srccount, srclist)) }
}

/// Get from a list of pieces to a list of pieces; otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_putv`]; the destinations are writable until the operation is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_getv(
    how: u32,
    dstcount: usize,
    dstlist: *const gasnet_memvec_t,
    node: u32,
    srccount: usize,
    srclist: *const gasnet_memvec_t,
) -> usize {
    // SAFETY: the caller promises what `transfer_pieces` asks for.
    unsafe { transfer_pieces(Verb::GetV, how, node, (dstcount, dstlist), (srccount, srclist)) }
}

/// Put from a list of addresses to a list of addresses; otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_putv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_puti(
    how: u32,
    node: u32,
    dstcount: usize,
    dstlist: *const *mut c_void,
    dstlen: usize,
    srccount: usize,
    srclist: *const *mut c_void,
    srclen: usize,
) -> usize {
    // SAFETY: the caller promises what `transfer_addresses` asks for.
    unsafe { transfer_addresses(Verb::PutI, how, node, (dstcount, dstlist, dstlen), (srccount, srclist, srclen)) }
}

/// Get from a list of addresses to a list of addresses; otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_getv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_geti(
    how: u32,
    dstcount: usize,
    dstlist: *const *mut c_void,
    dstlen: usize,
    node: u32,
    srccount: usize,
    srclist: *const *mut c_void,
    srclen: usize,
) -> usize {
    // SAFETY: the caller promises what `transfer_addresses` asks for.
    unsafe { transfer_addresses(Verb::GetI, how, node, (dstcount, dstlist, dstlen), (srccount, srclist, srclen)) }
}

/// A strided transfer.
///
/// # Safety
/// As [`gasneti_sci_puts`] and [`gasneti_sci_gets`].
#[inline(always)]
unsafe fn section(
    call: Verb,
    how: u32,
    node: u32,
    start: [usize; 2],
    strides: [*const usize; 2],
    count: *const usize,
    levels: usize,
) -> usize {
    let describe = || {
        // SAFETY: the caller promises `levels` + 1 counts, and `levels` strides on each side.
        let levels = unsafe { described(start, strides, count, levels) }?;
        let Levels { start: [to, from], strides: [dst, src], count } = levels;
        let small = count.iter().fold(1usize, |n, c| n.saturating_mul(*c)) < POLL_BYTES;
        if small && !count.contains(&0) {
            let (on, vis) = (engines()?, Job::attached()?.vis());
            // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
            if unsafe { vis.direct_few(on, Target::node(node), call, &levels) } {
                return Ok(None);
            }
        }
        Ok(Section::fold(to, dst, from, src, count).map(What::Strided))
    };
    let bytes = || {
        // SAFETY: the caller promises `levels` + 1 elements in `count`.
        let count = unsafe { slice("count", count, levels.saturating_add(1)) };
        count.map_or(0, |count| count.iter().fold(1usize, |n, c| n.wrapping_mul(*c)))
    };
    // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, how, node, bytes, describe) }
}

/// Put of a regular section (strides and counts); otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_putv`]; `count` has `levels` + 1 elements, the strides `levels`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_puts(
    how: u32,
    node: u32,
    dstaddr: *mut c_void,
    dststrides: *const usize,
    srcaddr: *const c_void,
    srcstrides: *const usize,
    count: *const usize,
    levels: usize,
) -> usize {
    // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
    unsafe {
        section(Verb::PutS, how, node, [dstaddr as usize, srcaddr as usize], [dststrides, srcstrides], count, levels)
    }
}

/// Get of a regular section (strides and counts); otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_puts`] and [`gasneti_sci_getv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_gets(
    how: u32,
    dstaddr: *mut c_void,
    dststrides: *const usize,
    node: u32,
    srcaddr: *const c_void,
    srcstrides: *const usize,
    count: *const usize,
    levels: usize,
) -> usize {
    // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
    unsafe {
        section(Verb::GetS, how, node, [dstaddr as usize, srcaddr as usize], [dststrides, srcstrides], count, levels)
    }
}

// Debug clients call these before a transfer. An error ends the job with a line that names the call and its place.

/// # Safety
/// `name` is a C string.
unsafe fn checked(name: *const c_char, node: u32, check: impl FnOnce(&Am<Host>) -> Result<(), Error>) {
    let result = engines().and_then(|on| check_node(on.am, node).and_then(|()| check(on.am)));
    if let Err(error) = result {
        // SAFETY: the caller promises that `name` is a C string.
        die(&unsafe { CStr::from_ptr(name) }.to_string_lossy(), error)
    }
}

/// Checks the lists of a vector transfer; an error ends the job. `put`: not 0 if the destination is remote.
///
/// # Safety
/// As [`gasneti_sci_putv`]; `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_vector(
    name: *const c_char,
    put: c_int,
    node: u32,
    dstcount: usize,
    dstlist: *const gasnet_memvec_t,
    srccount: usize,
    srclist: *const gasnet_memvec_t,
) {
    let check = |am: &Am<Host>| {
        // SAFETY: the caller promises that both lists have as many elements as their counts say.
        let lists = unsafe { vector(dstcount, dstlist, srccount, srclist) }?;
        check::vector(am, if put != 0 { Verb::PutV } else { Verb::GetV }, node, lists)
    };
    // SAFETY: the caller promises that `name` is a C string.
    unsafe { checked(name, node, check) }
}

/// Checks the lists of an indexed transfer, like `gasneti_sci_check_vector`.
///
/// # Safety
/// As [`gasneti_sci_check_vector`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_indexed(
    name: *const c_char,
    put: c_int,
    node: u32,
    dstcount: usize,
    dstlist: *const *mut c_void,
    dstlen: usize,
    srccount: usize,
    srclist: *const *mut c_void,
    srclen: usize,
) {
    let check = |am: &Am<Host>| {
        // SAFETY: the caller promises that both lists have as many elements as their counts say.
        let lists = unsafe { indexed(dstcount, dstlist, dstlen, srccount, srclist, srclen) }?;
        check::indexed(am, if put != 0 { Verb::PutI } else { Verb::GetI }, node, lists)
    };
    // SAFETY: the caller promises that `name` is a C string.
    unsafe { checked(name, node, check) }
}

/// Checks the arrays of a strided transfer, like `gasneti_sci_check_vector`.
///
/// # Safety
/// As [`gasneti_sci_check_vector`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_strided(
    name: *const c_char,
    put: c_int,
    node: u32,
    dstaddr: *const c_void,
    dststrides: *const usize,
    srcaddr: *const c_void,
    srcstrides: *const usize,
    count: *const usize,
    levels: usize,
) {
    let start = [dstaddr as usize, srcaddr as usize];
    let check = |am: &Am<Host>| {
        // SAFETY: the caller promises `levels` + 1 counts, and `levels` strides on each side.
        let levels = unsafe { described(start, [dststrides, srcstrides], count, levels) }?;
        check::strided(am, if put != 0 { Verb::PutS } else { Verb::GetS }, node, &levels)
    };
    // SAFETY: the caller promises that `name` is a C string.
    unsafe { checked(name, node, check) }
}
