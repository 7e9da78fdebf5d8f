//! Collectives (contract: ex-coll.md §5, §6). Calls but the blocking barrier return an event, 0 if
//! complete.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::must;
use crate::api::shared::coll::{coll, origin};
use crate::api::shared::objects::{self, gasneti_sci_tm_t};
use crate::base::error::{Error, bad_arg};
use crate::coll::combine::Combine;
use crate::coll::operator::{Function, Number, Operation, Operator};
use crate::coll::team::TeamRef;
use crate::coll::{Addresses, Call, Coll, Kind, flags};
use crate::sci::Host;
use crate::trace::{self, NO_NODE, TeamName, TracedOp};
use std::ffi::c_void;

/// `gex_Coll_ReduceFn_t`, as the header passes it.
pub type gasneti_sci_reduce_fn_t = *const c_void;

/// The engine and the team of a call, whose flags must be 0 in debug clients.
///
/// # Safety
/// As [`objects::team`].
unsafe fn team(tm: *const gasneti_sci_tm_t, flags: u32) -> Result<(&'static Coll<Host>, TeamRef<Host>, u32), Error> {
    let coll = coll()?;
    // SAFETY: as the caller promises.
    let head = unsafe { objects::team(tm) }?;
    if flags != 0 && coll.debug() {
        return bad_arg(format_args!("flags {flags:#x} must be 0"));
    }
    Ok((coll, coll.team(head.team)?, head.size))
}

/// The name of a barrier's team in the trace.
///
/// # Safety
/// As [`team`].
unsafe fn name(tm: *const gasneti_sci_tm_t) -> Option<TeamName> {
    // SAFETY: as the caller promises.
    let (_, team, _) = unsafe { team(tm, 0) }.ok()?;
    team.name
}

/// `gex_Coll_BarrierNB`: returns the event, 0 if all members have arrived.
///
/// # Safety
/// `tm` is a team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_barrier(tm: *const gasneti_sci_tm_t, flags: u32) -> usize {
    trace::met!(
        TracedOp::BarrierNotify,
        // SAFETY: as the caller promises.
        unsafe { name(tm) },
        must("gex_Coll_BarrierNB", || {
            // SAFETY: as the caller promises.
            let (coll, team, _) = unsafe { team(tm, flags) }?;
            coll.barrier(team)
        })
    )
}

/// `gex_Coll_BarrierBlocking`.
///
/// # Safety
/// `tm` is a team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_barrier_blocking(tm: *const gasneti_sci_tm_t, flags: u32) {
    trace::met!(
        TracedOp::Barrier,
        // SAFETY: as the caller promises.
        unsafe { name(tm) },
        must("gex_Coll_BarrierBlocking", || {
            // SAFETY: as the caller promises.
            let (coll, team, _) = unsafe { team(tm, flags) }?;
            coll.barrier_at_once(team)
        })
    )
}

/// The call with one address on each side, whose inputs and outputs are synchronised alone.
fn call(kind: Kind, root: u32, each: usize, dst: *mut c_void, src: *const c_void) -> Call {
    Call {
        kind,
        root: root as usize,
        each,
        flags: flags::LOCAL | flags::IN_MYSYNC | flags::OUT_MYSYNC,
        dst: Addresses::one(dst as usize),
        src: Addresses::one(src as usize),
        lists: false,
        reduction: None,
        origin: None,
    }
}

fn check_root(root: u32, size: u32) -> Result<(), Error> {
    if root >= size {
        return bad_arg(format_args!("root {root} is out of range: the team has {size} members"));
    }
    Ok(())
}

/// `gex_Coll_BroadcastNB`: returns the event, 0 if it is complete.
///
/// # Safety
/// `tm` is a team; until the event is synced `dst` is writable for `nbytes` bytes and, at the root, `src` readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_broadcast(
    tm: *const gasneti_sci_tm_t,
    root: u32,
    dst: *mut c_void,
    src: *const c_void,
    nbytes: usize,
    flags: u32,
) -> usize {
    let run = || {
        // SAFETY: as the caller promises.
        let (coll, team, size) = unsafe { team(tm, flags) }?;
        check_root(root, size)?;
        if coll.debug() && nbytes > 0 && (dst.is_null() || (team.me() == root as usize && src.is_null())) {
            return bad_arg(format_args!("NULL for {nbytes} bytes"));
        }
        let origin = if coll.debug() { origin(0, true) } else { None };
        coll.start(team, Call { origin, ..call(Kind::Broadcast, root, nbytes, dst, src) })
    };
    trace::moved!(TracedOp::BroadcastNb, NO_NODE, nbytes, must("gex_Coll_BroadcastNB", run))
}

/// One bit of a set, as its number.
fn bit(set: u32) -> Option<u32> {
    set.is_power_of_two().then(|| set.trailing_zeros())
}

const USER: u32 = 30;
const USER_NC: u32 = 31;

/// How a reduction combines, from the numbers that the client gives.
///
/// # Safety
/// `function` is a `gex_Coll_ReduceFn_t` for the elements, or NULL; it may be called with `cdata` until the collective is done.
unsafe fn operator(
    dt: u32,
    size: usize,
    op: u32,
    function: gasneti_sci_reduce_fn_t,
    cdata: *const c_void,
) -> Result<Operator, Error> {
    let number = match bit(dt) {
        Some(0) => Some(Number::I32),
        Some(1) => Some(Number::U32),
        Some(2) => Some(Number::I64),
        Some(3) => Some(Number::U64),
        Some(4) => Some(Number::F32),
        Some(5) => Some(Number::F64),
        Some(6) => None,
        _ => return bad_arg(format_args!("{dt:#x} is not a data type")),
    };
    if let Some(wrong) = number.map(Number::size).filter(|right| *right != size) {
        return bad_arg(format_args!("dt_sz {size} of a data type of {wrong} bytes"));
    }
    if size == 0 {
        return bad_arg(format_args!("dt_sz 0"));
    }
    if let Some(USER | USER_NC) = bit(op) {
        // SAFETY: the caller promises such a function, or NULL, which `Option` has room for.
        let function = unsafe { std::mem::transmute::<gasneti_sci_reduce_fn_t, Option<Function>>(function) };
        return match function {
            // SAFETY: as the caller promises.
            Some(function) => Ok(unsafe { Operator::client(function, cdata, size) }),
            None => bad_arg(format_args!("NULL for the function of GEX_OP_USER")),
        };
    }
    let operation = match bit(op) {
        Some(0) => Some(Operation::And),
        Some(1) => Some(Operation::Or),
        Some(2) => Some(Operation::Xor),
        Some(3) => Some(Operation::Add),
        Some(5) => Some(Operation::Mult),
        Some(6) => Some(Operation::Min),
        Some(7) => Some(Operation::Max),
        _ => None,
    };
    match operation.and_then(|operation| Operator::numbers(number?, operation)) {
        Some(operator) => Ok(operator),
        None => bad_arg(format_args!("operation {op:#x} is not for reductions of data type {dt:#x}")),
    }
}

/// The vectors of a reduction.
struct Vectors {
    dst: *mut c_void,
    src: *const c_void,
    dt: u32,
    dt_sz: usize,
    dt_cnt: usize,
    op: u32,
}

impl Vectors {
    /// Starts the reduction, to `root` or, without one, to all.
    ///
    /// # Safety
    /// As [`gasneti_sci_ex_reduce`].
    unsafe fn reduce(
        self,
        tm: *const gasneti_sci_tm_t,
        root: Option<u32>,
        function: gasneti_sci_reduce_fn_t,
        cdata: *const c_void,
        flags: u32,
    ) -> Result<usize, Error> {
        let Vectors { dst, src, dt, dt_sz, dt_cnt, op } = self;
        // SAFETY: as the caller promises.
        let (coll, team, size) = unsafe { team(tm, flags) }?;
        root.map_or(Ok(()), |root| check_root(root, size))?;
        // SAFETY: as the caller promises.
        let how = unsafe { operator(dt, dt_sz, op, function, cdata) }?;
        let Some(each) = dt_sz.checked_mul(dt_cnt).filter(|each| *each > 0) else {
            return bad_arg(format_args!("{dt_cnt} elements of {dt_sz} bytes"));
        };
        if src.is_null() || (dst.is_null() && root.is_none_or(|root| team.me() == root as usize)) {
            return bad_arg(format_args!("NULL for {each} bytes"));
        }
        let function = dt.trailing_zeros() << 8 | op.trailing_zeros();
        let origin = if coll.debug() { origin(function, true) } else { None };
        let kind = if root.is_some() { Kind::Reduce } else { Kind::ReduceAll };
        let call = call(kind, root.unwrap_or(0), each, dst, src);
        coll.start(team, Call { reduction: Some(Combine::Operator(how)), origin, ..call })
    }

    fn bytes(&self) -> usize {
        self.dt_sz.wrapping_mul(self.dt_cnt)
    }
}

/// `gex_Coll_ReduceToOneNB`: returns the event, 0 if it is complete.
///
/// # Safety
/// `tm` is a team; until the event is synced `src` is readable and, at the root, `dst` writable for the elements, and `function`
/// may be called with `cdata`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_reduce(
    tm: *const gasneti_sci_tm_t,
    root: u32,
    dst: *mut c_void,
    src: *const c_void,
    dt: u32,
    dt_sz: usize,
    dt_cnt: usize,
    op: u32,
    function: gasneti_sci_reduce_fn_t,
    cdata: *mut c_void,
    flags: u32,
) -> usize {
    let vectors = Vectors { dst, src, dt, dt_sz, dt_cnt, op };
    let bytes = vectors.bytes();
    // SAFETY: as the caller promises.
    let run = || unsafe { vectors.reduce(tm, Some(root), function, cdata, flags) };
    trace::moved!(TracedOp::ReduceNb, NO_NODE, bytes, must("gex_Coll_ReduceToOneNB", run))
}

/// `gex_Coll_ReduceToAllNB`: returns the event, 0 if it is complete.
///
/// # Safety
/// As [`gasneti_sci_ex_reduce`], with a result everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_reduce_all(
    tm: *const gasneti_sci_tm_t,
    dst: *mut c_void,
    src: *const c_void,
    dt: u32,
    dt_sz: usize,
    dt_cnt: usize,
    op: u32,
    function: gasneti_sci_reduce_fn_t,
    cdata: *mut c_void,
    flags: u32,
) -> usize {
    let vectors = Vectors { dst, src, dt, dt_sz, dt_cnt, op };
    let bytes = vectors.bytes();
    // SAFETY: as the caller promises.
    let run = || unsafe { vectors.reduce(tm, None, function, cdata, flags) };
    trace::moved!(TracedOp::ReduceNb, NO_NODE, bytes, must("gex_Coll_ReduceToAllNB", run))
}
