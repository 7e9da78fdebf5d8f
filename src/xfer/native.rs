//! Transfers by loads and stores: own memory, mapped segments, and other processes' memory through the kernel.
//!
//! Each verb returns whether it did the transfer; then it is complete. Plain stores need no barrier here. A node that may look
//! at the bytes learns of them by a message, a barrier or the synchronising means of another put, and those have one.

#![allow(unsafe_code)] // client memory and mapped segments

use super::Landing;
use crate::am::Am;
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::{Adapter, RemoteMap, RemoteRead};

/// Writes `source` to `address` of `node`.
pub fn put<A: Adapter>(am: &Am<A>, node: u32, address: usize, source: Source) -> Result<bool, Error> {
    if node == am.me() {
        // SAFETY: the target lies in this node's segment; in EVERYTHING the client promises that it is writable (contract:
        // extended.md §1).
        unsafe { source.move_to(address as *mut u8) };
        return Ok(true);
    }
    am.segments().check(node, address, source.len())?;
    match am.segments().map(node) {
        Some((map, base)) => {
            // SAFETY: `Source` promises that its bytes are readable for its length.
            unsafe { map.write(address - base, source.ptr(), source.len()) }?;
            Ok(true)
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
        return Ok(true);
    }
    am.segments().check(node, address, to.len())?;
    match am.segments().map(node) {
        Some((map, base)) => {
            // SAFETY: `Landing` promises that its bytes are writable.
            unsafe { map.read(address - base, to.ptr(), to.len()) }?;
            Ok(true)
        }
        None => am.read_unmapped(node, address, to),
    }
}

/// Sets `len` bytes at `address` of `node`.
pub fn set<A: Adapter>(am: &Am<A>, node: u32, address: usize, byte: u8, len: usize) -> Result<bool, Error> {
    if node == am.me() {
        // SAFETY: this node's memory; the client promises that it is writable for `len` bytes.
        unsafe { (address as *mut u8).write_bytes(byte, len) };
        return Ok(true);
    }
    am.segments().check(node, address, len)?;
    match am.segments().map(node) {
        Some((map, base)) => {
            map.fill(address - base, byte, len)?;
            Ok(true)
        }
        None => Ok(false), // one message sets any length; process_vm_writev would carry every byte
    }
}
