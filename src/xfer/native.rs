//! Transfers by loads and stores: own memory, mapped segments, and other processes' memory through the kernel.
//!
//! Each verb returns whether it did the transfer; then it is complete. Puts and sets end with a release fence, gets with an
//! acquire fence: a put that the same thread makes later, of a flag for instance, is seen after them, and what it reads later
//! is not older than what a get read (contract: extended.md §9, ex-rma.md §11). The header's inline transfers do the same.

#![allow(unsafe_code)] // client memory and mapped segments

use super::Landing;
use crate::am::Am;
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::{Adapter, RemoteMap, RemoteRead};
use crate::sync::fixed::{Ordering, fence};

fn released() -> Result<bool, Error> {
    // ORDERING: Release ↔ the acquire of the node that sees a later store of this thread: it sees the bytes as well.
    fence(Ordering::Release);
    Ok(true)
}

/// What was stored through `map` is in place, and before what this thread stores later: a barrier is at least that fence.
fn arrived(map: &impl RemoteMap) -> Result<bool, Error> {
    map.barrier();
    Ok(true)
}

fn acquired() -> Result<bool, Error> {
    // ORDERING: Acquire ↔ the release of the put whose bytes were read.
    fence(Ordering::Acquire);
    Ok(true)
}

/// Writes `source` to `address` of `node`.
pub fn put<A>(am: &Am<A>, node: u32, address: usize, source: Source) -> Result<bool, Error>
where
    A: Adapter<Remote: RemoteRead>,
{
    if node == am.me() {
        // SAFETY: the target lies in this node's segment; in EVERYTHING the client promises that it is writable (contract:
        // extended.md §1).
        unsafe { source.move_to(address as *mut u8) };
        return released();
    }
    am.segments().check(node, address, source.len())?;
    match am.segments().map(node) {
        Some((map, _)) if map.is_far() => Ok(false),
        Some((map, base)) => {
            // SAFETY: `Source` promises that its bytes are readable for its length.
            unsafe { map.write(address - base, source.ptr(), source.len()) }?;
            arrived(map)
        }
        None => am.write_unmapped(node, address, source),
    }
}

/// Reads from `address` of `node`.
pub fn get<A>(am: &Am<A>, node: u32, address: usize, to: Landing) -> Result<bool, Error>
where
    A: Adapter<Remote: RemoteRead>,
{
    if node == am.me() {
        // SAFETY: the source lies in this node's memory, and the client promises that it is readable for `to.len()` bytes.
        let source = unsafe { Source::new(address as *const u8, to.len()) };
        // SAFETY: `Landing` promises that its bytes are writable.
        unsafe { source.move_to(to.ptr()) };
        return acquired();
    }
    am.segments().check(node, address, to.len())?;
    match am.segments().map(node) {
        Some((map, _)) if map.is_far() => Ok(false),
        Some((map, base)) => {
            // SAFETY: `Landing` promises that its bytes are writable.
            unsafe { map.read(address - base, to.ptr(), to.len()) }?;
            acquired()
        }
        None => am.read_unmapped(node, address, to),
    }
}

/// Sets `len` bytes at `address` of `node`.
pub fn set<A>(am: &Am<A>, node: u32, address: usize, byte: u8, len: usize) -> Result<bool, Error>
where
    A: Adapter<Remote: RemoteRead>,
{
    if node == am.me() {
        // SAFETY: this node's memory; the client promises that it is writable for `len` bytes.
        unsafe { (address as *mut u8).write_bytes(byte, len) };
        return released();
    }
    am.segments().check(node, address, len)?;
    match am.segments().map(node) {
        Some((map, _)) if map.is_far() => Ok(false),
        Some((map, base)) => {
            map.fill(address - base, byte, len)?;
            arrived(map)
        }
        None => Ok(false), // one message sets any length; process_vm_writev would carry every byte
    }
}
