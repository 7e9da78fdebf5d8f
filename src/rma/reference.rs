//! The reference Extended API: transfers as Active Messages, of any size and alignment.
//!
//! A put is a Long request, answered by a Short reply that counts it done. A get is a Short request, answered by a Long
//! reply when it lands in our segment, else, piece by piece, by Medium replies that are copied to their place. A memset
//! is a Short request with a Short reply. Handlers are the extended API's own indices.

use super::op::{OpId, Table};
use super::{Counted, Landing};
use crate::am::Am;
use crate::am::inbox::corrupt;
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::error::Error;
use crate::region::{MAX_LONG, MAX_MEDIUM};
use crate::sci::Adapter;

/// Answers a put, which its Long has done already.
pub const PUT: u8 = 64;
/// Answers a get with a Medium.
pub const GET: u8 = 65;
/// Answers a get with a Long.
pub const GET_LONG: u8 = 66;
/// Sets memory.
pub const SET: u8 = 67;
/// Counts an operation done.
pub const DONE: u8 = 68;
/// Counts a get done whose bytes are in place.
pub const LANDED: u8 = 69;
/// Puts a get's bytes in place and counts it done.
pub const ARRIVED: u8 = 70;

/// Two arguments, low half first.
fn word(value: usize) -> u64 {
    value as u64
}

fn args(words: &[u64], count: usize) -> Args<'_> {
    debug_assert!(words.len() == count.div_ceil(2));
    // SAFETY: as many words as the count needs.
    unsafe { Args::from_raw(words.as_ptr(), count) }
}

/// Starts a put.
pub fn put<A: Adapter>(am: &Am<A>, node: u32, address: usize, source: Source, c: Counted<'_>) -> Result<(), Error> {
    let mut at = 0;
    while at < source.len() {
        let piece = source.part(at, MAX_LONG.min(source.len() - at));
        c.op.start();
        am.request_long(node, PUT, piece, address + at, args(&[u64::from(c.id.bits())], 1))?;
        at += piece.len();
    }
    Ok(())
}

/// Starts a get.
pub fn get<A: Adapter>(am: &Am<A>, node: u32, address: usize, to: Landing, c: Counted<'_>) -> Result<(), Error> {
    am.payloads().check(node, address, to.len())?;
    // In EVERYTHING a Long reply may have to be streamed; Mediums do as well.
    let direct = am.payloads().is_segment(am.me(), to.ptr() as usize, to.len());
    let (handler, most) = if direct { (GET_LONG, MAX_LONG) } else { (GET, MAX_MEDIUM) };
    let mut at = 0;
    while at < to.len() {
        let piece = to.part(at, most.min(to.len() - at));
        c.op.start();
        let ids = u64::from(c.id.bits()) | (piece.len() as u64) << 32;
        am.request_short(node, handler, args(&[word(address + at), word(piece.ptr() as usize), ids], 6))?;
        at += piece.len();
    }
    Ok(())
}

/// Starts a memset.
pub fn set<A: Adapter>(
    am: &Am<A>,
    node: u32,
    address: usize,
    byte: u8,
    len: usize,
    c: Counted<'_>,
) -> Result<(), Error> {
    am.payloads().check(node, address, len)?;
    c.op.start();
    let ids = u64::from(c.id.bits()) | u64::from(byte) << 32;
    am.request_short(node, SET, args(&[word(address), word(len), ids], 6))
}

/// At the target of a put.
pub fn on_put<A: Adapter>(am: &Am<A>, token: &Token, id: u32) -> Result<(), Error> {
    am.reply_short(token, DONE, args(&[u64::from(id)], 1))
}

/// At the target of a get.
pub fn on_get<A: Adapter>(
    am: &Am<A>,
    token: &Token,
    long: bool,
    from: usize,
    to: usize,
    id: u32,
    len: usize,
) -> Result<(), Error> {
    check_own(am, token, from, len);
    // SAFETY: in this node's segment, or valid by the initiator's promise in EVERYTHING.
    let source = unsafe { Source::new(from as *const u8, len) };
    if long {
        return am.reply_long(token, LANDED, source, to, args(&[u64::from(id)], 1));
    }
    am.reply_medium(token, ARRIVED, source, args(&[word(to), u64::from(id)], 3))
}

/// At the target of a memset.
pub fn on_set<A: Adapter>(
    am: &Am<A>,
    token: &Token,
    address: usize,
    len: usize,
    byte: u8,
    id: u32,
) -> Result<(), Error> {
    check_own(am, token, address, len);
    // SAFETY: as in `on_get`.
    unsafe { (address as *mut u8).write_bytes(byte, len) };
    am.reply_short(token, DONE, args(&[u64::from(id)], 1))
}

fn check_own<A: Adapter>(am: &Am<A>, token: &Token, address: usize, len: usize) {
    if !am.payloads().holds(am.me(), address, len) {
        corrupt(token.source(), "transfer outside the segment");
    }
}

/// At the initiator: bytes of a get, for `to`.
pub fn on_arrived(bytes: Source, to: usize, id: u32, source: u32) {
    // SAFETY: where our own request told the target to send them, writable until the operation is done.
    unsafe { bytes.move_to(to as *mut u8) };
    on_done(id, source);
}

/// At the initiator: one message of operation `id` is answered.
pub fn on_done(id: u32, source: u32) {
    match Table::get().op(OpId::from_bits(id)) {
        Some(op) => op.finish(),
        None => corrupt(source, "answer to an operation that does not exist"),
    }
}
