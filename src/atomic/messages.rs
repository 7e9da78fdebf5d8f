//! Operations on memory that loads and stores do not reach: the owner's handler does them.
//!
//! The request carries the operation. The answer is that of a get of a word if something is fetched, else that of a put
//! (`xfer::reference`).

#![allow(unsafe_code)] // client memory and mapped segments

use super::Fetch;
use super::word::{self, Kind, Operation, Verb};
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::am::library::{ATOMIC, Library, RMA_DONE, RMA_FETCHED, high, low};
use crate::am::source::Args;
use crate::am::token::Token;
use crate::base::error::Error;
use crate::sci::Adapter;
use crate::xfer::Counted;
use crate::xfer::table::Table;

/// In the word of codes: the old value is wanted.
const FETCHES: u32 = 1 << 16;

/// Registers the handler of the engine's message.
pub fn register<A: Adapter>(library: &mut Library<Am<A>>) {
    library.on(ATOMIC, |am, token, [address, x, y, to, ids, codes], _| {
        let code = low(codes);
        let (Some(verb), Some(kind)) = (Verb::of(code & 0xff), Kind::of(code >> 8 & 0xff)) else {
            corrupt(token.source(), "atomic operation that does not exist")
        };
        let operation = Operation { kind, verb, x, y };
        serve(am, token, address as usize, operation, (code & FETCHES != 0).then_some(to), ids)
    });
}

/// Asks `node` for the operation.
pub fn request<A: Adapter>(
    am: &Am<A>,
    node: u32,
    address: usize,
    operation: Operation,
    fetch: Fetch,
    c: Counted<'_>,
) -> Result<(), Error> {
    let Operation { kind, verb, x, y } = operation;
    let to = fetch.0 as usize;
    let stamp = Table::get().stamp(c.id, to, kind.bytes());
    let ids = u64::from(c.id.bits()) | u64::from(stamp) << 32;
    let fetches = if fetch.0.is_null() { 0 } else { FETCHES };
    let codes = verb as u32 | (kind as u32) << 8 | fetches;
    c.op.start();
    am.request_short(node, ATOMIC, Args::of(&[address as u64, x, y, to as u64, ids, u64::from(codes)], 11))
}

/// At the target. `to`: where the initiator wants the old value; `ids`: its operation and the stamp.
fn serve<A: Adapter>(
    am: &Am<A>,
    token: &Token,
    address: usize,
    operation: Operation,
    to: Option<u64>,
    ids: u64,
) -> Result<(), Error> {
    let len = operation.kind.bytes();
    if !address.is_multiple_of(len) || !am.table().holds(am.me(), address, len) {
        corrupt(token.source(), "atomic operation outside the segment");
    }
    // SAFETY: inside this node's segment and aligned; in EVERYTHING the initiator's client promises that it is writable.
    let old = unsafe { word::apply(operation, address as *mut u8) };
    match to {
        None => am.reply_short(token, RMA_DONE, Args::of(&[u64::from(low(ids))], 1)),
        Some(to) => {
            let ids = u64::from(low(ids)) | u64::from(high(ids)) << 32;
            am.reply_short(token, RMA_FETCHED, Args::of(&[to, ids, first_bytes(old, len), len as u64], 7))
        }
    }
}

/// A word whose first bytes in memory are the low `len` bytes of `value`.
fn first_bytes(value: u64, len: usize) -> u64 {
    if len == 4 && cfg!(target_endian = "big") { value << 32 } else { value }
}
