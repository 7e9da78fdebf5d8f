//! The reference Extended API: transfers as Active Messages, of any size and alignment.
//!
//! | transfer | request | answer |
//! |---|---|---|
//! | put | Long; up to eight bytes: Short | Short, which counts it done |
//! | get into our segment | Short | Long |
//! | get to other memory | Short | Mediums, piece by piece, copied to their place |
//! | get of up to eight bytes | Short | Short |
//! | memset | Short | Short, which counts it done |
//!
//! Handlers are the extended API's own indices.

#![allow(unsafe_code)] // client memory and mapped segments

use super::op::{Op, OpId};
use super::table::Table;
use super::{Counted, Landing};
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::am::library::{
    Library, RMA_ARRIVED, RMA_DONE, RMA_FETCHED, RMA_GET, RMA_GET_LONG, RMA_LANDED, RMA_PUT, RMA_PUT_WORD, RMA_SET,
    high, low,
};
use crate::am::region::{MAX_LONG, MAX_MEDIUM};
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::base::error::Error;
use crate::sci::Adapter;

/// Registers the handlers of the engine's messages.
pub fn register<A: Adapter>(library: &mut Library<Am<A>>) {
    let asked = |to: u64, ids: u64| Asked { to: to as usize, id: low(ids), stamp: high(ids) };
    library.on(RMA_PUT, |am, token, [id], _| on_put(am, token, low(id)));
    library.on(RMA_PUT_WORD, |am, token, [address, value, ids], _| {
        on_put_word(am, token, address as usize, value, high(ids) as usize, low(ids))
    });
    for (index, long) in [(RMA_GET, false), (RMA_GET_LONG, true)] {
        library.on(index, move |am, token, [from, to, ids, stamp], _| {
            let asked = Asked { to: to as usize, id: low(ids), stamp: low(stamp) };
            on_get(am, token, long, from as usize, high(ids) as usize, asked)
        });
    }
    library.on(RMA_SET, |am, token, [address, len, ids], _| {
        on_set(am, token, address as usize, len as usize, high(ids) as u8, low(ids))
    });
    library.on(RMA_DONE, |_, token, [id], _| {
        on_done(low(id), token.source());
        Ok(())
    });
    library.on(RMA_LANDED, move |_, token, [ids], bytes| {
        on_landed(bytes.len(), asked(bytes.ptr().addr() as u64, ids), token.source());
        Ok(())
    });
    library.on(RMA_ARRIVED, move |_, token, [to, ids], bytes| {
        on_arrived(bytes, asked(to, ids), token.source());
        Ok(())
    });
    library.on(RMA_FETCHED, move |_, token, [to, ids, value, len], _| {
        on_fetched(value, low(len) as usize, asked(to, ids), token.source());
        Ok(())
    });
}

/// Two arguments, low half first.
fn word(value: usize) -> u64 {
    value as u64
}

/// Starts a put. The range was checked, as for the other two.
pub fn put<A: Adapter>(am: &Am<A>, node: u32, address: usize, source: Source, c: Counted<'_>) -> Result<(), Error> {
    if source.len() <= 8 && !source.is_empty() {
        // A Short is one line. A Long writes one more line at the target and has twice as much to look up.
        c.op.start();
        let ids = u64::from(c.id.bits()) | (source.len() as u64) << 32;
        return am.request_short(node, RMA_PUT_WORD, Args::of(&[word(address), source.word(), ids], 6));
    }
    let mut at = 0;
    while at < source.len() {
        let piece = source.part(at, MAX_LONG.min(source.len() - at));
        c.op.start();
        am.request_long(node, RMA_PUT, piece, address + at, Args::of(&[u64::from(c.id.bits())], 1))?;
        at += piece.len();
    }
    Ok(())
}

/// Starts a get.
pub fn get<A: Adapter>(am: &Am<A>, node: u32, address: usize, to: Landing, c: Counted<'_>) -> Result<(), Error> {
    // In EVERYTHING a Long reply may have to be streamed; Mediums do as well.
    let direct = am.table().is_segment(am.me(), to.ptr() as usize, to.len());
    let (handler, most) = if direct { (RMA_GET_LONG, MAX_LONG) } else { (RMA_GET, MAX_MEDIUM) };
    let mut at = 0;
    while at < to.len() {
        let piece = to.part(at, most.min(to.len() - at));
        c.op.start();
        let to = piece.ptr() as usize;
        let ids = u64::from(c.id.bits()) | (piece.len() as u64) << 32;
        let stamp = Table::get().stamp(c.id, to, piece.len());
        am.request_short(node, handler, Args::of(&[word(address + at), word(to), ids, u64::from(stamp)], 7))?;
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
    c.op.start();
    let ids = u64::from(c.id.bits()) | u64::from(byte) << 32;
    am.request_short(node, RMA_SET, Args::of(&[word(address), word(len), ids], 6))
}

/// At the target of a put.
pub fn on_put<A: Adapter>(am: &Am<A>, token: &Token, id: u32) -> Result<(), Error> {
    am.reply_short(token, RMA_DONE, Args::of(&[u64::from(id)], 1))
}

/// At the target of a put of the first `len` bytes of `value`.
pub fn on_put_word<A: Adapter>(
    am: &Am<A>,
    token: &Token,
    address: usize,
    value: u64,
    len: usize,
    id: u32,
) -> Result<(), Error> {
    if len > 8 {
        corrupt(token.source(), "put with more bytes than it has");
    }
    check_own(am, token, address, len);
    // SAFETY: the first of a word's bytes.
    let bytes = unsafe { Source::new((&raw const value).cast(), len) };
    // SAFETY: the target lies in this node's segment; in EVERYTHING the initiator's client promises that it is writable.
    unsafe { bytes.move_to(address as *mut u8) };
    on_put(am, token, id)
}

/// Where the initiator of a get wants the bytes, as its request says and the answer repeats.
#[derive(Clone, Copy)]
pub struct Asked {
    /// First byte, in the initiator's memory.
    pub to: usize,
    /// The operation's number.
    pub id: u32,
    /// [`Table::stamp`] of both and the length.
    pub stamp: u32,
}

/// At the target of a get of `len` bytes at `from`; `long`: by a Long.
pub fn on_get<A: Adapter>(
    am: &Am<A>,
    token: &Token,
    long: bool,
    from: usize,
    len: usize,
    asked: Asked,
) -> Result<(), Error> {
    check_own(am, token, from, len);
    // SAFETY: the source lies in this node's segment; in EVERYTHING the initiator's client promises that it is readable.
    let source = unsafe { Source::new(from as *const u8, len) };
    let ids = u64::from(asked.id) | u64::from(asked.stamp) << 32;
    if long {
        return am.reply_long(token, RMA_LANDED, source, asked.to, Args::of(&[ids], 2));
    }
    if len <= 8 {
        // A Short is one line; a Medium takes one more copy. Round trip of a word: 1.4 -> 1.3 of a bare line's.
        return am.reply_short(token, RMA_FETCHED, Args::of(&[word(asked.to), ids, source.word(), len as u64], 7));
    }
    am.reply_medium(token, RMA_ARRIVED, source, Args::of(&[word(asked.to), ids], 4))
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
    // SAFETY: the target was checked; in EVERYTHING the initiator's client promises that it is writable.
    unsafe { (address as *mut u8).write_bytes(byte, len) };
    am.reply_short(token, RMA_DONE, Args::of(&[u64::from(id)], 1))
}

fn check_own<A: Adapter>(am: &Am<A>, token: &Token, address: usize, len: usize) {
    if !am.table().holds(am.me(), address, len) {
        corrupt(token.source(), "transfer outside the segment");
    }
}

/// At the initiator: bytes of a get.
pub fn on_arrived(bytes: Source, asked: Asked, source: u32) {
    check_asked(bytes.len(), asked, source);
    // SAFETY: the stamp says that our own request wanted them there; writable until the operation is done.
    unsafe { bytes.move_to(asked.to as *mut u8) };
    on_done(asked.id, source);
}

/// At the initiator: `len` bytes of a get, the first ones of `value`.
pub fn on_fetched(value: u64, len: usize, asked: Asked, source: u32) {
    if len > 8 {
        corrupt(source, "answer with more bytes than it has");
    }
    // SAFETY: the first of a word's bytes.
    on_arrived(unsafe { Source::new((&raw const value).cast(), len) }, asked, source);
}

/// At the initiator: `len` bytes of a get are in place.
pub fn on_landed(len: usize, asked: Asked, source: u32) {
    check_asked(len, asked, source);
    on_done(asked.id, source);
}

fn check_asked(len: usize, asked: Asked, source: u32) {
    let expected = Table::get().op(OpId::from_bits(asked.id)).is_some_and(Op::expects);
    if !expected || Table::get().stamp(OpId::from_bits(asked.id), asked.to, len) != asked.stamp {
        corrupt(source, "answer to a get that was not asked for");
    }
}

/// At the initiator: one message of operation `id` is answered.
pub fn on_done(id: u32, source: u32) {
    if !Table::get().op(OpId::from_bits(id)).is_some_and(Op::finish) {
        corrupt(source, "answer to an operation that is not in flight");
    }
}
