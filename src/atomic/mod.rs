//! Remote atomic operations on single words (contract: ex-coll.md §2–§4).
//!
//! | module | does |
//! |---|---|
//! | `word` | an operation on a word of this process' memory, by the processor's atomic instructions |
//! | `messages` | an operation at a peer whose memory is not mapped: a request, and an answer |
//!
//! All ways end in the same instructions, because a word may be reached in several ways at once: by its owner, by peers that have
//! mapped it, and by handlers.
//!
//! The header does the integer operations that are one instruction inline, on mapped memory, and calls here for the rest. An
//! operation is counted as a transfer is (`xfer::op`).
//!
//! Must not know: domains, C types, error codes.

#![allow(unsafe_code)] // client memory and mapped segments

pub mod messages;
#[cfg(test)]
mod tests;
pub mod word;

use crate::am::Am;
use crate::base::error::{Error, bad_arg};
use crate::sci::Mapped;
use crate::verbs::{Begun, Flags, Target};
use crate::xfer::Completion;
use word::Operation;

/// Where the fetched value goes. Null: nothing is fetched.
#[derive(Clone, Copy)]
pub struct Fetch(*mut u8);

impl Fetch {
    /// # Safety
    /// `place` is null, or writable for a word of the operation until the operation is complete.
    pub unsafe fn new(place: *mut u8) -> Fetch {
        Fetch(place)
    }
}

/// Starts `operation` on the word at `address` of the target. `native`: mapped memory is used.
pub fn start<A: Mapped>(
    am: &Am<A>,
    native: bool,
    (to, address): (Target, usize),
    operation: Operation,
    fetch: Fetch,
    flags: Flags,
    c: Completion<'_>,
) -> Result<Begun, Error> {
    let (node, len) = (to.rank(), operation.kind.bytes());
    if !address.is_multiple_of(len) {
        return bad_arg(format_args!("the target {address:#x} is not a multiple of its {len} bytes"));
    }
    if let Some(at) = near(am, native, node, address, len)? {
        // SAFETY: own memory, which the client promises to be its segment, or inside a mapped segment; aligned, as maps are.
        let old = unsafe { word::apply(operation, at) };
        // SAFETY: `Fetch` promises a writable place.
        unsafe { store(old, fetch, len) };
        return Ok(Begun::Complete);
    }
    if flags.has(Flags::IMMEDIATE) && !am.has_room(node)? {
        return Ok(Begun::Refused);
    }
    messages::request(am, node, address, operation, fetch, c.counts)?;
    Ok(Begun::InFlight)
}

/// The word's place in this process, if loads and stores reach it.
fn near<A: Mapped>(am: &Am<A>, native: bool, node: u32, address: usize, len: usize) -> Result<Option<*mut u8>, Error> {
    let (way, offset) = am.table().at(node, address, len)?;
    let is_own = node == am.me();
    if is_own {
        am.table().check(node, address, len)?;
    }
    let reached = native || is_own;
    Ok(if reached { way.memory(offset) } else { None })
}

/// Stores the low `len` bytes of a word, if they are wanted.
///
/// # Safety
/// The place is null or writable for `len` bytes.
unsafe fn store(old: u64, fetch: Fetch, len: usize) {
    if fetch.0.is_null() {
        return;
    }
    match len {
        // SAFETY: the caller promises a writable place.
        4 => unsafe { fetch.0.cast::<u32>().write_unaligned(old as u32) },
        // SAFETY: the caller promises a writable place.
        _ => unsafe { fetch.0.cast::<u64>().write_unaligned(old) },
    }
}
