//! Transfers by loads and stores: own memory and mapped segments.
//!
//! A transfer is complete when its verb returns. Puts and sets end with a release fence, gets with an acquire fence: a put that the same
//! thread makes later, of a flag for instance, is seen after them, and what it reads later is not older than what a get read (contract:
//! extended.md §9, ex-rma.md §11). The header's inline transfers do the same.

#![allow(unsafe_code)] // client memory and mapped segments

use super::Landing;
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::{RemoteMap, RemoteRead};
use crate::sync::fixed::{Ordering, fence};

fn released() {
    // ORDERING: Release ↔ the acquire of the node that sees a later store of this thread: it sees the bytes as well.
    fence(Ordering::Release);
}

fn acquired() {
    // ORDERING: Acquire ↔ the release of the put whose bytes were read.
    fence(Ordering::Acquire);
}

/// Writes `source` to `address` of this node.
pub fn put_own(address: usize, source: Source) {
    // SAFETY: the target lies in this node's segment; in EVERYTHING the client promises that it is writable (contract: extended.md §1).
    unsafe { source.move_to(address as *mut u8) };
    released();
}

/// Reads from `address` of this node.
pub fn get_own(address: usize, to: Landing) {
    // SAFETY: the source lies in this node's memory, and the client promises that it is readable for `to.len()` bytes.
    let source = unsafe { Source::new(address as *const u8, to.len()) };
    // SAFETY: `Landing` promises that its bytes are writable.
    unsafe { source.move_to(to.ptr()) };
    acquired();
}

/// Sets `len` bytes at `address` of this node.
pub fn set_own(address: usize, byte: u8, len: usize) {
    // SAFETY: this node's memory; the client promises that it is writable for `len` bytes.
    unsafe { (address as *mut u8).write_bytes(byte, len) };
    released();
}

/// Writes `source` to `offset` of a map. The range was checked.
pub fn put(map: &impl RemoteMap, offset: usize, source: Source) -> Result<(), Error> {
    // SAFETY: `Source` promises that its bytes are readable for its length.
    unsafe { map.write(offset, source.ptr(), source.len()) }?;
    map.barrier(); // at least a release fence
    Ok(())
}

/// Reads from `offset` of a map. The range was checked.
pub fn get(map: &impl RemoteRead, offset: usize, to: Landing) -> Result<(), Error> {
    // SAFETY: `Landing` promises that its bytes are writable.
    unsafe { map.read(offset, to.ptr(), to.len()) }?;
    acquired();
    Ok(())
}

/// Sets `len` bytes at `offset` of a map. The range was checked.
pub fn set(map: &impl RemoteMap, offset: usize, byte: u8, len: usize) -> Result<(), Error> {
    map.fill(offset, byte, len)?;
    map.barrier(); // at least a release fence
    Ok(())
}
