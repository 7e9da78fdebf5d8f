//! `gasnet_vis.h`: vector, indexed and strided transfers (contract: vis.md). Errors end the job. Not allowed in
//! handlers.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::rma::{check_node, engines};
use crate::am::Am;
use crate::api::constants::*;
use crate::api::vis::{Armed, start_slow, take_armed};
use crate::api::{die, must};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sci::Host;
use crate::trace::{self, TracedOp};
use crate::verbs::{Flags, Local, Target};
use crate::vis::shape::{Indexed, Levels, Piece, Section, What};
use crate::vis::{Verb, check};
use std::ffi::{CStr, c_char, c_int, c_void};

/// `gasnet_memvec_t`. The header defines it itself, before these prototypes.
#[repr(C)]
pub struct gasnet_memvec_t {
    /// First byte.
    pub addr: *mut c_void,
    /// Bytes.
    pub len: usize,
}

const _: () = assert!(size_of::<gasnet_memvec_t>() == size_of::<Piece>());

/// A blocking copy of this many bytes or more serves messages afterwards. After many small ones the header does.
pub(in crate::api) const POLL_BYTES: usize = 64 << 10;

/// Names for messages, by call and `how`.
const NAMES: [[&str; 3]; 6] = [
    ["gasnet_putv_bulk", "gasnet_putv_nb_bulk", "gasnet_putv_nbi_bulk"],
    ["gasnet_getv_bulk", "gasnet_getv_nb_bulk", "gasnet_getv_nbi_bulk"],
    ["gasnet_puti_bulk", "gasnet_puti_nb_bulk", "gasnet_puti_nbi_bulk"],
    ["gasnet_geti_bulk", "gasnet_geti_nb_bulk", "gasnet_geti_nbi_bulk"],
    ["gasnet_puts_bulk", "gasnet_puts_nb_bulk", "gasnet_puts_nbi_bulk"],
    ["gasnet_gets_bulk", "gasnet_gets_nb_bulk", "gasnet_gets_nbi_bulk"],
];

/// The kinds in traces and statistics, in the same order.
pub(in crate::api) const OPS: [[TracedOp; 3]; 6] = [
    [TracedOp::PutV, TracedOp::PutVNb, TracedOp::PutVNbi],
    [TracedOp::GetV, TracedOp::GetVNb, TracedOp::GetVNbi],
    [TracedOp::PutI, TracedOp::PutINb, TracedOp::PutINbi],
    [TracedOp::GetI, TracedOp::GetINb, TracedOp::GetINbi],
    [TracedOp::PutS, TracedOp::PutSNb, TracedOp::PutSNbi],
    [TracedOp::GetS, TracedOp::GetSNb, TracedOp::GetSNbi],
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
        let on = engines()?;
        check_node(on.am, node)?;
        let (armed, what, to) = (take_armed(call)?, describe()?, Target::node(node));
        let Some(what) = what else { return without_bytes(call, how, node, armed) };
        // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
        if unsafe { Job::attached()?.vis().direct(on, to, call, &what) } {
            if armed.is_some() {
                return without_bytes(call, how, node, armed);
            }
            if how == GASNETI_SCI_VIS_BLOCKING && what.total() >= POLL_BYTES {
                on.am.poll();
            }
            return Ok(0);
        }
        start_slow(call, how as usize, node, Some(&what), Local::Later, Flags::NONE, armed)
    };
    trace::moved!(OPS[call as usize][how as usize], node, bytes(), must(name, run))
}

/// The end of a call whose bytes, if any, are at the target: the handler that is armed. Returns as [`transfer`].
#[inline(always)]
fn without_bytes(call: Verb, how: u32, node: u32, armed: Option<Armed>) -> Result<usize, Error> {
    if armed.is_none() { Ok(0) } else { start_slow(call, how as usize, node, None, Local::Later, Flags::NONE, armed) }
}

/// A client's array. `BadArg`: NULL, or more elements than memory holds.
///
/// # Safety
/// `array` is NULL, or points to `n` elements that no thread writes while the slice is used.
#[inline(always)]
pub(in crate::api) unsafe fn slice<'a, T>(name: &str, array: *const T, n: usize) -> Result<&'a [T], Error> {
    if n == 0 {
        return Ok(&[]);
    }
    if array.is_null() || n > isize::MAX as usize / size_of::<T>() {
        return bad_array(name, array.is_null(), n);
    }
    // SAFETY: not NULL, so the caller promises `n` elements that no thread writes meanwhile.
    Ok(unsafe { std::slice::from_raw_parts(array, n) })
}

#[cold]
#[inline(never)]
fn bad_array<T>(name: &str, null: bool, n: usize) -> Result<T, Error> {
    if null {
        return bad_arg(format_args!("{name} is NULL, and its length {n}"));
    }
    bad_arg(format_args!("{name} cannot have {n} elements"))
}

/// # Safety
/// As [`slice`].
#[inline(always)]
unsafe fn pieces<'a>(name: &str, list: *const gasnet_memvec_t, n: usize) -> Result<&'a [Piece], Error> {
    // SAFETY: the caller promises `n` elements in `list`; the types have the same layout.
    unsafe { slice(name, list.cast(), n) }
}

/// # Safety
/// As [`slice`].
#[inline(always)]
unsafe fn indices<'a>(name: &str, list: *const *mut c_void, n: usize, len: usize) -> Result<Indexed<'a>, Error> {
    // SAFETY: the caller promises `n` elements in `list`; addresses are words.
    let list = unsafe { slice(name, list.cast::<usize>(), n) }?;
    Ok(Indexed { list, len })
}

/// # Safety
/// Both lists as in [`slice`].
#[inline(always)]
pub(in crate::api) unsafe fn vector<'a>(
    dstcount: usize,
    dstlist: *const gasnet_memvec_t,
    srccount: usize,
    srclist: *const gasnet_memvec_t,
) -> Result<[&'a [Piece]; 2], Error> {
    // SAFETY: the caller promises `dstcount` elements in `dstlist`.
    let dst = unsafe { pieces("dstlist", dstlist, dstcount) }?;
    // SAFETY: the caller promises `srccount` elements in `srclist`.
    let src = unsafe { pieces("srclist", srclist, srccount) }?;
    Ok([dst, src])
}

/// # Safety
/// Both lists as in [`slice`].
#[inline(always)]
pub(in crate::api) unsafe fn indexed<'a>(
    dstcount: usize,
    dstlist: *const *mut c_void,
    dstlen: usize,
    srccount: usize,
    srclist: *const *mut c_void,
    srclen: usize,
) -> Result<[Indexed<'a>; 2], Error> {
    // SAFETY: the caller promises `dstcount` elements in `dstlist`.
    let dst = unsafe { indices("dstlist", dstlist, dstcount, dstlen) }?;
    // SAFETY: the caller promises `srccount` elements in `srclist`.
    let src = unsafe { indices("srclist", srclist, srccount, srclen) }?;
    Ok([dst, src])
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
