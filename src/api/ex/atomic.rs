//! Atomic domains and remote atomics of GASNet-EX (contract: ex-coll.md §2–§4, §13). Errors end the job.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::must;
use crate::api::shared::coll::coll;
use crate::api::shared::heads::Heads;
use crate::api::shared::objects::{self, gasneti_sci_tm_t};
use crate::api::shared::reach;
use crate::api::shared::rma::{NO_OP, engines, is_refused};
use crate::atomic::word::{self, Kind, Operation, Verb};
use crate::atomic::{self, Fetch};
use crate::base::error::{Error, bad_arg};
use crate::coll::description::Description;
use crate::job::Job;
use crate::trace::{self, TracedOp};
use crate::verbs::{Flags, Local, Target};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// First word of an atomic domain.
pub const GASNETI_SCI_AD_MAGIC: u32 = 0x47_45_58_41;

/// `gex_AD_t` points here.
#[repr(C)]
pub struct gasneti_sci_ad_t {
    /// `GASNETI_SCI_AD_MAGIC`.
    pub magic: u32,
    /// Flags given at creation.
    pub flags: u32,
    /// The type of its words, `GEX_DT_*`.
    pub dt: u32,
    /// Its operations, `GEX_OP_*`.
    pub ops: u32,
    /// Its team.
    pub tm: *mut gasneti_sci_tm_t,
    /// The team's table of places in the job; NULL: ranks are the job's.
    pub jobranks: *const u32,
    /// The client's own pointer.
    pub cdata: *mut c_void,
}

/// Bits from an operation that does not fetch to its twin that does.
const FETCHING: u32 = 15;
/// The operations that atomics have: 12 that do not fetch, their twins, and GET.
const OPS: u32 = 0xfff | 0x1fff << FETCHING;
/// `GEX_FLAG_AD_FAVOR_*`.
const FAVORS: u32 = 7;
/// `GEX_FLAG_AD_MY_RANK`.
const MY_RANK: u32 = 1 << 11;
/// `GEX_FLAG_AD_MY_NBRHD`.
const MY_NBRHD: u32 = 1 << 12;
/// `GEX_FLAG_RANK_IS_JOBRANK`.
const RANK_IS_JOBRANK: u32 = 1 << 13;

/// What an opcode with one bit does, and whether it fetches. `None`: it is no operation of atomics.
fn verb(opcode: u32) -> Option<(Verb, bool)> {
    if !opcode.is_power_of_two() || opcode & OPS == 0 {
        return None;
    }
    let bit = opcode.trailing_zeros();
    let fetches = bit >= FETCHING;
    Some((Verb::of(if fetches { bit - FETCHING } else { bit })?, fetches))
}

fn kind(dt: u32) -> Option<Kind> {
    if dt.is_power_of_two() { Kind::of(dt.trailing_zeros()) } else { None }
}

fn check_domain(dt: u32, ops: u32, flags: u32) -> Result<(), Error> {
    let Some(kind) = kind(dt) else {
        return bad_arg(format_args!("{dt:#x} is not one of the types of atomics"));
    };
    if ops == 0 || ops & !OPS != 0 {
        return bad_arg(format_args!("{ops:#x} is not a set of operations of atomics"));
    }
    let fits = |bit: u32| ops >> bit & 1 == 0 || verb(1 << bit).is_some_and(|(verb, _)| verb.fits(kind));
    if !(0..u32::BITS).all(fits) {
        return bad_arg(format_args!("the set {ops:#x} has bitwise operations, which the type {dt:#x} does not have"));
    }
    if (flags & FAVORS).count_ones() > 1 {
        return bad_arg(format_args!("flags {flags:#x} favor two places"));
    }
    Ok(())
}

/// Makes an atomic domain. It waits for nobody, because a message of a domain does not name it. With debug clients all members meet
/// and compare type, operations and flags.
///
/// # Safety
/// `ad_p` is writable; `tm` is an EX object or a pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ad_create(
    ad_p: *mut *mut gasneti_sci_ad_t,
    tm: *mut gasneti_sci_tm_t,
    dt: u32,
    ops: u32,
    flags: u32,
) {
    must("gex_AD_Create", || {
        let job = Job::attached()?;
        if ad_p.is_null() {
            return bad_arg(format_args!("NULL for the place of the domain"));
        }
        // SAFETY: the caller promises an EX object or a pair.
        let team = unsafe { objects::team(tm) }?;
        check_domain(dt, ops, flags)?;
        if job.client().debug {
            let coll = coll()?; // it takes memory: others leave it alone
            coll.agree(coll.team(team.team)?, Description::of_domain(dt, ops, flags))?;
        }
        let magic = GASNETI_SCI_AD_MAGIC;
        let ad = gasneti_sci_ad_t { magic, flags, dt, ops, tm, jobranks: team.jobranks, cdata: null_mut() };
        // SAFETY: the caller promises a writable place.
        unsafe { ad_p.write(DOMAINS.make(ad)) };
        Ok(())
    });
}

/// The domain behind `ad`. `BadArg`: it is none, or not any more.
///
/// # Safety
/// `ad` is NULL or points to a domain that lives.
unsafe fn domain<'a>(ad: *const gasneti_sci_ad_t) -> Result<&'a gasneti_sci_ad_t, Error> {
    // SAFETY: as the caller promises.
    match unsafe { ad.as_ref() } {
        Some(domain) if domain.magic == GASNETI_SCI_AD_MAGIC => Ok(domain),
        _ => bad_arg(format_args!("{ad:p} is not an atomic domain")),
    }
}

static DOMAINS: Heads<gasneti_sci_ad_t> = Heads::new();

/// Ends a domain. The client has synced its operations on all members.
///
/// # Safety
/// `ad` is NULL or points to a domain that lives, and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ad_destroy(ad: *mut gasneti_sci_ad_t) {
    must("gex_AD_Destroy", || {
        // SAFETY: as the caller promises.
        let domain = unsafe { domain(ad) }?;
        let dead = gasneti_sci_ad_t { magic: 0, ..*domain };
        // SAFETY: `gasneti_sci_ad_create` made it, and the caller uses it no more.
        unsafe { DOMAINS.end(ad, dead) };
        Ok(())
    });
}

/// An atomic operation on the word at `addr` of `rank`. The operands are bits. Returns an event, or 0 or 1 if `implicit`.
///
/// # Safety
/// `ad` is a domain; `result` is writable for a word until the operation is complete, if the opcode fetches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ad_op(
    ad: *const gasneti_sci_ad_t,
    result: *mut c_void,
    rank: u32,
    addr: *mut c_void,
    opcode: u32,
    x: u64,
    y: u64,
    dt: u32,
    flags: u32,
    implicit: c_int,
) -> usize {
    must(if implicit == 0 { "gex_AD_OpNB" } else { "gex_AD_OpNBI" }, || {
        // SAFETY: as the caller promises.
        let ad = unsafe { domain(ad) }?;
        let (operation, fetches) = checked(ad, opcode, dt, (x, y))?;
        // SAFETY: the domain's team lives as long as the domain.
        let node = unsafe { target(ad, rank, flags) }?;
        if fetches && result.is_null() {
            return bad_arg(format_args!("NULL for the place of the result"));
        }
        let flags = Flags(flags & Flags::IMMEDIATE.0);
        // SAFETY: the caller promises a writable place for an opcode that fetches.
        let fetch = unsafe { Fetch::new(if fetches { result.cast() } else { null_mut() }) };
        let at = (Target::node(node), addr as usize);
        let may = flags.0 != 0;
        trace::offered_move!(
            TracedOp::Atomic,
            node,
            operation.kind.bytes(),
            may,
            is_refused,
            start(at, operation, (fetch, fetches), flags, implicit != 0)
        )
    })
}

/// Does an operation on a word that is mapped here, and returns the old bits. The header has found the word, and made sure that the
/// domain has the operation and the type.
///
/// # Safety
/// `word` is aligned, and valid for reads and writes that are atomic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ad_word(word: *mut c_void, opcode: u32, x: u64, y: u64, dt: u32) -> u64 {
    let (Some(kind), Some((verb, _))) = (kind(dt), verb(opcode)) else { return 0 };
    // SAFETY: as the caller promises.
    unsafe { word::apply(Operation { kind, verb, x, y }, word.cast()) }
}

/// Starts an operation, and returns what its call does.
#[inline(always)]
fn start(
    at: (Target, usize),
    operation: Operation,
    (fetch, fetches): (Fetch, bool),
    flags: Flags,
    implicit: bool,
) -> Result<usize, Error> {
    let on = engines()?;
    let how = if implicit {
        reach::note_implicit();
        How::Implicit(set(operation.verb, fetches), Local::AtReturn)
    } else {
        How::Event(Local::AtReturn)
    };
    let begin = |c| atomic::start(on.am, on.rma.is_native(), at, operation, fetch, flags, c);
    Ok(on.transfer(how, begin)?.unwrap_or(NO_OP))
}

/// The category of an implicit operation: SET is a put, GET a get, the rest is neither.
fn set(verb: Verb, fetches: bool) -> Set {
    match verb {
        Verb::Set if !fetches => Set::Puts,
        Verb::Get => Set::Gets,
        _ => Set::Rmw,
    }
}

/// The operation, and whether it fetches, if the domain has it.
fn checked(ad: &gasneti_sci_ad_t, opcode: u32, dt: u32, (x, y): (u64, u64)) -> Result<(Operation, bool), Error> {
    if dt != ad.dt {
        return bad_arg(format_args!("the call is for the type {dt:#x}, the domain for {:#x}", ad.dt));
    }
    match (kind(dt), verb(opcode)) {
        (Some(kind), Some((verb, fetches))) if opcode & ad.ops != 0 => Ok((Operation { kind, verb, x, y }, fetches)),
        _ => bad_arg(format_args!("the opcode {opcode:#x} is not one of the domain's, {:#x}", ad.ops)),
    }
}

/// In jobs of debug clients: is the process a member of the domain's team?
fn check_member(ad: &gasneti_sci_ad_t, jobrank: u32) -> Result<(), Error> {
    if ad.jobranks.is_null() || !Job::get()?.client().debug {
        return Ok(());
    }
    // SAFETY: the domain's team lives as long as the domain.
    let size = unsafe { (*ad.tm).size };
    // SAFETY: its table has an entry for each member.
    let members = unsafe { std::slice::from_raw_parts(ad.jobranks, size as usize) };
    if members.contains(&jobrank) {
        return Ok(());
    }
    bad_arg(format_args!("job rank {jobrank} is not a member of the domain's team"))
}

/// The place in the job of the target.
///
/// # Safety
/// The domain's team lives.
unsafe fn target(ad: &gasneti_sci_ad_t, rank: u32, flags: u32) -> Result<u32, Error> {
    let job = Job::get()?;
    let node = if flags & RANK_IS_JOBRANK == 0 {
        // SAFETY: as the caller promises.
        unsafe { objects::jobrank(ad.tm, rank) }?
    } else if rank < job.nodes() {
        check_member(ad, rank)?;
        rank
    } else {
        return bad_arg(format_args!("job rank {rank} is out of range: the job has {} processes", job.nodes()));
    };
    if flags & MY_RANK != 0 && flags & MY_NBRHD != 0 {
        return bad_arg(format_args!("flags {flags:#x} promise both the own rank and the own neighbourhood"));
    }
    if flags & MY_RANK != 0 && node != job.rank() {
        return bad_arg(format_args!("GEX_FLAG_AD_MY_RANK, but the target is another process, {node}"));
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_one_bit_of_those_that_atomics_have() {
        assert_eq!(verb(1 << 3), Some((Verb::Add, false)));
        assert_eq!(verb(1 << 18), Some((Verb::Add, true)));
        assert_eq!(verb(1 << 25), Some((Verb::Set, true)));
        assert_eq!(verb(1 << 27), Some((Verb::Get, true)));
        for none in [0, 3, 1 << 12, 1 << 13, 1 << 28, 1 << 30, 1 << 31] {
            assert_eq!(verb(none), None, "{none:#x}");
        }
        assert_eq!((0..32).filter(|bit| verb(1 << bit).is_some()).count(), 25);
        assert!(kind(1 << 5) == Some(Kind::F64) && kind(1 << 6).is_none() && kind(3).is_none());
    }

    #[test]
    fn domains_have_one_type_and_operations_that_fit_it() {
        assert!(check_domain(1, OPS, 7 << 8).is_ok());
        assert!(check_domain(1 << 4, 1 << 3 | 1 << 27, 4).is_ok());
        for (dt, ops, flags) in
            [(0, 1, 0), (3, 1, 0), (1 << 6, 8, 0), (1, 0, 0), (1, 1 << 30, 0), (16, 1, 0), (1, 8, 3)]
        {
            assert!(check_domain(dt, ops, flags).is_err(), "{dt:#x} {ops:#x} {flags:#x}");
        }
        assert!(
            set(Verb::Set, false) == Set::Puts && set(Verb::Set, true) == Set::Rmw && set(Verb::Get, true) == Set::Gets
        );
    }
}
