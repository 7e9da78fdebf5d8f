//! Transfers to and from segments on other hosts: the adapter's network moves the bytes, and counts the copy when it is complete.
//!
//! Each verb returns whether it started the transfer. To the operation it is a copy (`op`): so a put counts as locally complete
//! only when it is complete, which is later than necessary and never too early.

#![allow(unsafe_code)] // client memory

use super::op::Op;
use super::table::Table;
use super::{Completion, Counted, Landing};
use crate::am::Am;
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::{Adapter, RemoteRead};
use crate::verbs::Local;

/// The map of the segment of `node` if it is on another host, and its address there.
fn map<A>(am: &Am<A>, node: u32) -> Option<(&A::Remote, usize)>
where
    A: Adapter<Remote: RemoteRead>,
{
    am.segments().map(node).filter(|(map, _)| map.is_far())
}

/// The op of a transfer, where it lives for ever.
fn op(c: Counted<'_>) -> Option<&'static Op> {
    Table::get().op(c.id)
}

/// Starts a put.
pub fn put<A>(am: &Am<A>, node: u32, address: usize, source: Source, c: Completion<'_>) -> Result<bool, Error>
where
    A: Adapter<Remote: RemoteRead>,
{
    let (Some((map, base)), Some(op)) = (map(am, node), op(c.counts)) else { return Ok(false) };
    am.segments().check(node, address, source.len())?;
    let (offset, lasting) = (address - base, c.local != Local::AtReturn);
    // SAFETY: `Source` promises readable bytes; unless it is `AtReturn`, the caller keeps them until they are free.
    op.queue(c.local, |done| unsafe { map.start_put(offset, source.ptr(), source.len(), lasting, done) })?;
    Ok(true)
}

/// Starts a get.
pub fn get<A>(am: &Am<A>, node: u32, address: usize, to: Landing, c: Counted<'_>) -> Result<bool, Error>
where
    A: Adapter<Remote: RemoteRead>,
{
    let (Some((map, base)), Some(op)) = (map(am, node), op(c)) else { return Ok(false) };
    am.segments().check(node, address, to.len())?;
    let offset = address - base;
    // SAFETY: `Landing` promises that its bytes are writable until the operation is complete.
    op.queue(Local::Later, |done| unsafe { map.start_get(offset, to.ptr(), to.len(), done) })?;
    Ok(true)
}
