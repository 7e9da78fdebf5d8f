//! Vector, indexed and strided transfers of both APIs (contract: vis.md, ex-rma.md §8, §9). Errors end the job. Not allowed in handlers.
//!
//! A put is locally complete when its call returns, so a leaf is complete whenever a client asks for it. Lists, strides and
//! counts are free at return, too. Where the two APIs differ, `Call::is_g1` is asked.

#![allow(unsafe_code)] // clients' pointers; exported names

pub mod begin; // not `start`: cbindgen, which reads this file alone, would take the start.rs beside it

use super::constants::*;
use super::objects::{self, gasneti_sci_tm_t};
use super::outcome::must;
use super::rma::{check_node, engines, is_refused};
use crate::am::Am;
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sci::Host;
use crate::trace;
use crate::verbs::{Flags, Local, Target};
use crate::vis::shape::{Indexed, Levels, Piece, Section, What};
use crate::vis::signed::Signed;
use crate::vis::{Verb, check};
use begin::{Armed, OPS, POLL_BYTES, gasnet_memvec_t, indexed, slice, take_armed, vector};
use std::ffi::c_void;

/// Bit of `how`: a debug client, whose arguments are checked.
pub const GASNETI_SCI_VIS_CHECKED: u32 = 256;
/// Bit of `how`: a call of GASNet-1. Its `rank` is a node, and it has neither a team nor flags.
pub const GASNETI_SCI_VIS_G1: u32 = 512;
/// `GEX_FLAG_ENABLE_LEAF_LC`.
const ENABLE_LEAF_LC: u32 = 1 << 11;

/// Names for messages, by call and `how`: those of GASNet-EX.
const NAMES: [[&str; 3]; 6] = [
    ["gex_VIS_VectorPutBlocking", "gex_VIS_VectorPutNB", "gex_VIS_VectorPutNBI"],
    ["gex_VIS_VectorGetBlocking", "gex_VIS_VectorGetNB", "gex_VIS_VectorGetNBI"],
    ["gex_VIS_IndexedPutBlocking", "gex_VIS_IndexedPutNB", "gex_VIS_IndexedPutNBI"],
    ["gex_VIS_IndexedGetBlocking", "gex_VIS_IndexedGetNB", "gex_VIS_IndexedGetNBI"],
    ["gex_VIS_StridedPutBlocking", "gex_VIS_StridedPutNB", "gex_VIS_StridedPutNBI"],
    ["gex_VIS_StridedGetBlocking", "gex_VIS_StridedGetNB", "gex_VIS_StridedGetNBI"],
];

/// The same of GASNet-1.
const G1_NAMES: [[&str; 3]; 6] = [
    ["gasnet_putv_bulk", "gasnet_putv_nb_bulk", "gasnet_putv_nbi_bulk"],
    ["gasnet_getv_bulk", "gasnet_getv_nb_bulk", "gasnet_getv_nbi_bulk"],
    ["gasnet_puti_bulk", "gasnet_puti_nb_bulk", "gasnet_puti_nbi_bulk"],
    ["gasnet_geti_bulk", "gasnet_geti_nb_bulk", "gasnet_geti_nbi_bulk"],
    ["gasnet_puts_bulk", "gasnet_puts_nb_bulk", "gasnet_puts_nbi_bulk"],
    ["gasnet_gets_bulk", "gasnet_gets_nb_bulk", "gasnet_gets_nbi_bulk"],
];

/// What the client describes.
enum Shape<'a> {
    Vector([&'a [Piece]; 2]),
    Indexed([Indexed<'a>; 2]),
    Strided(Signed<'a>),
    /// As GASNet-1 describes it: strides that are not negative, and element and counts in one list.
    Levels(Levels<'a>),
}

impl<'a> Shape<'a> {
    fn what(&self) -> Option<What<'a>> {
        let what = match *self {
            Shape::Vector([to, from]) => What::Vector(to, from),
            Shape::Indexed([to, from]) => What::Indexed(to, from),
            Shape::Strided(signed) => What::Strided(signed.fold()?),
            Shape::Levels(Levels { start: [to, from], strides: [dst, src], count }) => {
                What::Strided(Section::fold(to, dst, from, src, count)?)
            }
        };
        if what.is_empty() { None } else { Some(what) }
    }

    fn is_empty(&self) -> bool {
        match self {
            Shape::Strided(signed) => signed.is_empty(),
            other => other.what().is_none(),
        }
    }

    fn total(&self) -> usize {
        match *self {
            Shape::Vector([to, from]) => What::Vector(to, from).total(),
            Shape::Indexed([to, from]) => What::Indexed(to, from).total(),
            Shape::Strided(signed) => signed.total(),
            Shape::Levels(levels) => levels.count.iter().fold(1usize, |n, count| n.saturating_mul(*count)),
        }
    }

    /// What debug clients are told of. GASNet-1 leaves to its clients whether pieces are apart, and wants no empty ones.
    fn check(&self, am: &Am<Host>, call: Call, node: u32) -> Result<(), Error> {
        let verb = call.verb;
        match *self {
            Shape::Vector(lists) => {
                check::vector(am, verb, node, lists)?;
                if call.is_g1() { Ok(()) } else { check::apart(lists[0].iter().copied()) }
            }
            Shape::Indexed(lists) if call.is_g1() => check::indexed(am, verb, node, lists),
            Shape::Indexed(lists) => {
                check::indexed(am, verb, node, lists.map(|side| if side.len == 0 { NOTHING } else { side }))?;
                check::apart(lists[0].pieces())
            }
            Shape::Strided(signed) => signed.check(am, verb, node),
            Shape::Levels(levels) => check::strided(am, verb, node, &levels),
        }
    }
}

/// An empty list.
const NOTHING: Indexed<'_> = Indexed { list: &[], len: 0 };

/// One call, without its description.
#[derive(Clone, Copy)]
struct Call {
    verb: Verb,
    /// One of `GASNETI_SCI_VIS_*`, perhaps with `GASNETI_SCI_VIS_CHECKED` and `GASNETI_SCI_VIS_G1`.
    how: u32,
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    flags: u32,
}

impl Call {
    fn form(self) -> usize {
        (self.how & 3).min(GASNETI_SCI_VIS_NBI) as usize
    }

    fn name(self) -> &'static str {
        (if self.is_g1() { &G1_NAMES } else { &NAMES })[self.verb as usize][self.form()]
    }

    fn is_g1(self) -> bool {
        self.how & GASNETI_SCI_VIS_G1 != 0
    }

    fn is_checked(self) -> bool {
        self.how & GASNETI_SCI_VIS_CHECKED != 0
    }
}

/// Makes the transfer that `describe` returns: its root event, 0 if it is complete or has none, or `NO_OP`.
///
/// # Safety
/// `call.tm` is a team or a pair, if anything moves. The memory described is readable and writable as the contract wants it: the
/// local side here until the operation is synced, the remote side in the segment of the target.
unsafe fn transfer<'a>(call: Call, describe: impl FnOnce() -> Result<Shape<'a>, Error>) -> usize {
    must(call.name(), || {
        let (shape, armed) = (describe()?, take_armed(call.verb)?);
        let blocking = call.form() == GASNETI_SCI_VIS_BLOCKING as usize;
        if call.is_checked() && call.flags & ENABLE_LEAF_LC != 0 && (blocking || !call.verb.is_put()) {
            return bad_arg(format_args!("GEX_FLAG_ENABLE_LEAF_LC is for puts of the NB and NBI forms"));
        }
        if !call.is_g1() && shape.is_empty() && armed.is_none() {
            return if call.is_checked() { check_nothing(&shape) } else { Ok(0) };
        }
        let node = if call.is_g1() {
            check_node(engines()?.am, call.rank)?;
            call.rank
        } else {
            // SAFETY: the caller promises a team or a pair.
            unsafe { objects::jobrank(call.tm, call.rank) }?
        };
        if call.is_checked() {
            shape.check(engines()?.am, call, node)?;
        }
        let op = OPS[call.verb as usize][call.form()];
        let may = call.flags & Flags::IMMEDIATE.0 != 0;
        // SAFETY: the caller promises that the memory described is accessible until the operation is synced.
        trace::offered_move!(op, node, shape.total(), may, is_refused, unsafe { begin(call, node, &shape, armed) })
    })
}

/// The check of lists that move nothing: that both sides agree about it.
#[cold]
fn check_nothing(shape: &Shape<'_>) -> Result<usize, Error> {
    let totals = match *shape {
        Shape::Vector(lists) => lists.map(|list| list.iter().map(|piece| piece.len).sum::<usize>()),
        Shape::Indexed(lists) => lists.map(|side| side.list.len().saturating_mul(side.len)),
        Shape::Strided(_) | Shape::Levels(_) => [0; 2],
    };
    if totals != [0; 2] {
        return bad_arg(format_args!("the destination has {} bytes, the source {}", totals[0], totals[1]));
    }
    Ok(0)
}

/// As [`transfer`], to or from a node.
///
/// # Safety
/// As [`transfer`].
#[inline(always)]
unsafe fn begin(call: Call, node: u32, shape: &Shape<'_>, armed: Option<Armed>) -> Result<usize, Error> {
    let flags = Flags(call.flags & Flags::IMMEDIATE.0);
    let local = if call.flags & ENABLE_LEAF_LC != 0 { Local::WhenAsked } else { Local::Later };
    let (on, to, engine) = (engines()?, Target::node(node), Job::attached()?.vis());
    // SAFETY: the caller promises that the memory described is accessible.
    let few = |levels: &Levels<'_>| unsafe { engine.direct_few(on, to, call.verb, levels) };
    let is_done = armed.is_none()
        && match shape {
            Shape::Strided(signed) => signed.total() < POLL_BYTES && signed.with_levels(few),
            Shape::Levels(levels) => shape.total() < POLL_BYTES && few(levels),
            Shape::Vector(_) | Shape::Indexed(_) => false,
        };
    if is_done {
        return Ok(0);
    }
    // SAFETY: as the caller promises.
    unsafe { begin::start(call.verb, call.form(), node, shape.what().as_ref(), local, flags, armed) }
}

/// Put from a list of pieces to a list of pieces. The root event, 0 if it is complete or has none, or `NO_OP`.
///
/// `how` is one of `GASNETI_SCI_VIS_*`, perhaps with `GASNETI_SCI_VIS_CHECKED` and `GASNETI_SCI_VIS_G1`. The lists are free for reuse
/// at return.
///
/// # Safety
/// `tm` is a team or a pair, but for GASNet-1. The lists have as many elements as their counts say; what they describe is readable here, and in the
/// segment of the target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_putv(
    how: u32,
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    dstcount: usize,
    dstlist: *const gasnet_memvec_t,
    srccount: usize,
    srclist: *const gasnet_memvec_t,
    flags: u32,
) -> usize {
    let call = Call { verb: Verb::PutV, how, tm, rank, flags };
    // SAFETY: the caller promises both lists.
    let describe = || unsafe { vector(dstcount, dstlist, srccount, srclist) }.map(Shape::Vector);
    // SAFETY: the caller promises a team, and that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, describe) }
}

/// Get from a list of pieces to a list of pieces; otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_putv`]; the destinations are writable until the operation is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_getv(
    how: u32,
    tm: *const gasneti_sci_tm_t,
    dstcount: usize,
    dstlist: *const gasnet_memvec_t,
    rank: u32,
    srccount: usize,
    srclist: *const gasnet_memvec_t,
    flags: u32,
) -> usize {
    let call = Call { verb: Verb::GetV, how, tm, rank, flags };
    // SAFETY: the caller promises both lists.
    let describe = || unsafe { vector(dstcount, dstlist, srccount, srclist) }.map(Shape::Vector);
    // SAFETY: the caller promises a team, and that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, describe) }
}

/// Put from a list of addresses to a list of addresses; otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_putv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_puti(
    how: u32,
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    dstcount: usize,
    dstlist: *const *mut c_void,
    dstlen: usize,
    srccount: usize,
    srclist: *const *mut c_void,
    srclen: usize,
    flags: u32,
) -> usize {
    let call = Call { verb: Verb::PutI, how, tm, rank, flags };
    // SAFETY: the caller promises both lists.
    let describe = || unsafe { indexed(dstcount, dstlist, dstlen, srccount, srclist, srclen) }.map(Shape::Indexed);
    // SAFETY: the caller promises a team, and that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, describe) }
}

/// Get from a list of addresses to a list of addresses; otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_getv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_geti(
    how: u32,
    tm: *const gasneti_sci_tm_t,
    dstcount: usize,
    dstlist: *const *mut c_void,
    dstlen: usize,
    rank: u32,
    srccount: usize,
    srclist: *const *mut c_void,
    srclen: usize,
    flags: u32,
) -> usize {
    let call = Call { verb: Verb::GetI, how, tm, rank, flags };
    // SAFETY: the caller promises both lists.
    let describe = || unsafe { indexed(dstcount, dstlist, dstlen, srccount, srclist, srclen) }.map(Shape::Indexed);
    // SAFETY: the caller promises a team, and that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, describe) }
}

/// The description of a strided transfer. In each pair the destination comes first. GASNet-1 gives the bytes of an element as the first
/// of `levels` + 1 counts.
///
/// # Safety
/// The arrays have so many elements, or none is looked at because nothing moves.
#[inline(always)]
unsafe fn section<'a>(
    call: Call,
    start: [usize; 2],
    [dststrides, srcstrides]: [*const isize; 2],
    element: usize,
    count: *const usize,
    levels: usize,
) -> Result<Shape<'a>, Error> {
    let nothing = Signed { start, strides: [&[]; 2], element, count: &[0] };
    if element == 0 && !call.is_g1() {
        return Ok(Shape::Strided(nothing));
    }
    let counts = if call.is_g1() { levels.saturating_add(1) } else { levels };
    // SAFETY: the caller promises as many counts.
    let count = unsafe { slice("count", count, counts) }?;
    if count.contains(&0) {
        return Ok(Shape::Strided(nothing));
    }
    // SAFETY: the caller promises `levels` strides.
    let dst = unsafe { slice("dststrides", dststrides.cast::<usize>(), levels) }?;
    // SAFETY: the caller promises `levels` strides.
    let src = unsafe { slice("srcstrides", srcstrides.cast::<usize>(), levels) }?;
    let strides = [dst, src];
    Ok(match call.is_g1() {
        true => Shape::Levels(Levels { start, strides, count }),
        false => Shape::Strided(Signed { strides, count, ..nothing }),
    })
}

/// Put of a regular section (strides and counts); otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_putv`]; `count` and the strides have `levels` elements, `count` one more for GASNet-1, where `elemsz` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_puts(
    how: u32,
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    dstaddr: *mut c_void,
    dststrides: *const isize,
    srcaddr: *const c_void,
    srcstrides: *const isize,
    elemsz: usize,
    count: *const usize,
    levels: usize,
    flags: u32,
) -> usize {
    let call = Call { verb: Verb::PutS, how, tm, rank, flags };
    let start = [dstaddr as usize, srcaddr as usize];
    // SAFETY: the caller promises the arrays.
    let describe = || unsafe { section(call, start, [dststrides, srcstrides], elemsz, count, levels) };
    // SAFETY: the caller promises a team, and that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, describe) }
}

/// Get of a regular section (strides and counts); otherwise like `gasneti_sci_putv`.
///
/// # Safety
/// As [`gasneti_sci_puts`] and [`gasneti_sci_getv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_gets(
    how: u32,
    tm: *const gasneti_sci_tm_t,
    dstaddr: *mut c_void,
    dststrides: *const isize,
    rank: u32,
    srcaddr: *const c_void,
    srcstrides: *const isize,
    elemsz: usize,
    count: *const usize,
    levels: usize,
    flags: u32,
) -> usize {
    let call = Call { verb: Verb::GetS, how, tm, rank, flags };
    let start = [dstaddr as usize, srcaddr as usize];
    // SAFETY: the caller promises the arrays.
    let describe = || unsafe { section(call, start, [dststrides, srcstrides], elemsz, count, levels) };
    // SAFETY: the caller promises a team, and that the memory described is accessible until the operation is synced.
    unsafe { transfer(call, describe) }
}
