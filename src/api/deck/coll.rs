//! What all nodes do together, by the collectives' engine.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::constants::*;
use super::{deck, status, wrong};
use crate::coll::combine::Combine;
use crate::coll::operator::{Number, Operation, Operator};
use crate::coll::{ALL, Addresses, Call, Coll, Kind, flags};
use crate::deck::Failure;
use crate::deck::engine::Deck;
use crate::deck::message::Bytes;
use crate::job::Job;
use crate::sci::Host;
use crate::xfer::event::{self, Whose};
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

fn coll() -> Result<&'static Coll<Host>, Failure> {
    deck()?;
    Ok(Job::attached()?.coll()?)
}

/// Runs a call of all nodes. `len` is what each contributes, or gets.
fn run(
    kind: Kind,
    root: c_int,
    to: *mut c_void,
    from: *const c_void,
    len: usize,
    combine: Option<Combine>,
) -> Result<(), Failure> {
    let (coll, job) = (coll()?, Job::attached()?);
    let Some(root) = usize::try_from(root).ok().filter(|root| *root < job.nodes() as usize) else {
        return wrong(format!("{root} is no root of a job of {} nodes", job.nodes()));
    };
    let is_root = root == job.rank() as usize;
    let (sends, receives) = match kind {
        Kind::Broadcast | Kind::Scatter => (is_root, true),
        _ => (true, is_root),
    };
    if len > 0 && (sends && from.is_null() || receives && to.is_null()) {
        return wrong("NULL for bytes that are needed here");
    }
    let deck = deck()?;
    if deck.survives() {
        deck.all_alive()?;
    }
    if len == 0 {
        return Ok(());
    }
    let call = |to: *mut c_void, from: *const c_void| Call {
        kind,
        root,
        each: len,
        flags: flags::LOCAL | flags::IN_MYSYNC | flags::OUT_MYSYNC | flags::NO_IMAGES,
        dst: Addresses::one(to as usize),
        src: Addresses::one(from as usize),
        lists: false,
        reduction: combine,
        origin: None,
    };
    if !deck.survives() {
        coll.run_now(coll.team(ALL)?, call(to, from));
        return Ok(());
    }
    // Bytes may come after the call has failed, so they come to memory of the library's, which is kept then.
    let all = len.saturating_mul(job.nodes() as usize);
    let source_len = match kind {
        _ if !sends => 0,
        Kind::Scatter => all,
        _ => len,
    };
    let target_len = match kind {
        _ if !receives => 0,
        Kind::Gather => all,
        _ => len,
    };
    let (source, target) = (kept(source_len)?, kept(target_len)?);
    // SAFETY: the caller promises as many readable bytes, for which the source has room.
    unsafe { source.at().copy_from_nonoverlapping(from.cast(), source_len) };
    let event = coll.run_alone(coll.team(ALL)?, call(target.at().cast(), source.at().cast()))?;
    // They are freed only after a success.
    let (source, target) = (ManuallyDrop::new(source), ManuallyDrop::new(target));
    await_all(coll, deck, event)?;
    let (_source, target) = (ManuallyDrop::into_inner(source), ManuallyDrop::into_inner(target));
    // SAFETY: the caller promises as many writable bytes, which the target has.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(target.at(), target_len) };
    Ok(())
}

/// Memory of the library's for `len` bytes.
fn kept(len: usize) -> Result<Bytes, Failure> {
    Bytes::new(len).ok_or_else(|| Failure::memory(format!("{len} bytes")))
}

/// Waits for a collective, in a job that survives. Fails once a node is lost; then no collective works any more.
fn await_all(coll: &'static Coll<Host>, deck: &Deck<Host>, event: usize) -> Result<(), Failure> {
    let is_done = || match event::test(event, Whose::Any)? {
        true => Ok(true),
        false => deck.all_alive().map(|()| false),
    };
    coll.wait_for(is_done).map_err(|error| {
        coll.abandon();
        error.into()
    })
}

/// `deck_barrier`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_barrier() -> c_int {
    status("deck_barrier", || {
        let (deck, coll) = (deck()?, coll()?);
        if !deck.survives() {
            return Ok(coll.barrier_at_once(coll.team(ALL)?)?);
        }
        deck.all_alive()?;
        await_all(coll, deck, coll.barrier(coll.team(ALL)?)?)
    })
}

/// `deck_bcast`.
///
/// # Safety
/// `buffer` is readable at the root, and writable elsewhere, for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_bcast(buffer: *mut c_void, bytes: usize, root: c_int) -> c_int {
    status("deck_bcast", || run(Kind::Broadcast, root, buffer, buffer, bytes, None))
}

/// `deck_gather`.
///
/// # Safety
/// `from` is readable for `bytes` bytes; at the root `to` is writable for those of all nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_gather(from: *const c_void, bytes: usize, to: *mut c_void, root: c_int) -> c_int {
    status("deck_gather", || run(Kind::Gather, root, to, from, bytes, None))
}

/// `deck_scatter`.
///
/// # Safety
/// `to` is writable for `bytes` bytes; at the root `from` is readable for those of all nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_scatter(from: *const c_void, to: *mut c_void, bytes: usize, root: c_int) -> c_int {
    status("deck_scatter", || run(Kind::Scatter, root, to, from, bytes, None))
}

/// `deck_reduce`.
///
/// # Safety
/// `from` is readable for `count` elements; at the root `to` is writable for as many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_reduce(
    from: *const c_void,
    to: *mut c_void,
    kind: c_int,
    count: usize,
    op: c_int,
    root: c_int,
) -> c_int {
    status("deck_reduce", || {
        let operation = match op {
            DECK_SUM => Operation::Add,
            DECK_PROD => Operation::Mult,
            DECK_MIN => Operation::Min,
            DECK_MAX => Operation::Max,
            DECK_AND => Operation::And,
            DECK_OR => Operation::Or,
            DECK_XOR => Operation::Xor,
            _ => return wrong(format!("{op} is no operation")),
        };
        let number = match kind {
            DECK_INT8 => Number::I8,
            DECK_BYTE | DECK_UINT8 => Number::U8,
            DECK_INT16 => Number::I16,
            DECK_UINT16 => Number::U16,
            DECK_INT32 => Number::I32,
            DECK_UINT32 => Number::U32,
            DECK_INT64 => Number::I64,
            DECK_UINT64 => Number::U64,
            DECK_FLOAT => Number::F32,
            DECK_DOUBLE => Number::F64,
            _ => return wrong(format!("{kind} is no type")),
        };
        let Some(how) = Operator::numbers(number, operation) else {
            return wrong("an operation on bits, of numbers that are no integers");
        };
        let Some(len) = count.checked_mul(how.elem_size()) else { return wrong(format!("{count} elements")) };
        run(Kind::Reduce, root, to, from, len, Some(Combine::Operator(how)))
    })
}
