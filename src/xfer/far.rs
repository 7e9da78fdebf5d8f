//! Transfers to and from segments on other hosts: the adapter's network moves the bytes, and counts the copy when it is complete.
//!
//! To the operation such a transfer is a copy (`op`): so a put counts as locally complete only when it is complete, which is later than
//! necessary and never too early. The range was checked.

#![allow(unsafe_code)] // client memory

use super::op::Op;
use super::table::Table;
use super::{Completion, Counted, Landing};
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::RemoteRead;
use crate::verbs::Local;

/// The op of a transfer, where it lives for ever.
fn op(c: Counted<'_>) -> Option<&'static Op> {
    Table::get().op(c.id)
}

/// Starts a put. False: it was not started.
pub fn put(map: &impl RemoteRead, offset: usize, source: Source, c: Completion<'_>) -> Result<bool, Error> {
    let Some(op) = op(c.counts) else { return Ok(false) };
    let lasting = c.local != Local::AtReturn;
    // SAFETY: `Source` promises readable bytes; unless it is `AtReturn`, the caller keeps them until they are free.
    op.queue(c.local, |done| unsafe { map.start_put(offset, (source.ptr(), source.len()), lasting, done) })?;
    Ok(true)
}

/// Starts a get. False: it was not started.
pub fn get(map: &impl RemoteRead, offset: usize, to: Landing, c: Counted<'_>) -> Result<bool, Error> {
    let Some(op) = op(c) else { return Ok(false) };
    // SAFETY: `Landing` promises that its bytes are writable until the operation is complete.
    op.queue(Local::Later, |done| unsafe { map.start_get(offset, (to.ptr(), to.len()), done) })?;
    Ok(true)
}
