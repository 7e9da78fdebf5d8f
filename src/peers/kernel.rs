//! Copies by the kernel to and from the memory of a peer that is not mapped here (`Way::Kernel`).
//!
//! Each call says whether the kernel has made the copy. Once it has refused, the way is closed and messages go.
//!
//! Must not know: messages, operations.

#![allow(unsafe_code)] // client memory

use crate::base::error::{Error, bad_arg};
use crate::sci::process::Access;
use crate::sci::{SciError, cma};

/// Writes `len` bytes to `address` of `node`. False: not a byte was written.
///
/// # Safety
/// `src` is readable for `len` bytes.
pub unsafe fn write(access: &Access, node: u32, address: usize, src: *const u8, len: usize) -> Result<bool, Error> {
    // SAFETY: the caller promises that `src` is readable for `len` bytes.
    copy(access, node, (address, len), src, |pid| unsafe { cma::write(pid, address, src, len) })
}

/// Reads `len` bytes from `address` of `node`. False: the kernel refuses.
///
/// # Safety
/// `to` is writable for `len` bytes.
pub unsafe fn read(access: &Access, node: u32, address: usize, to: *mut u8, len: usize) -> Result<bool, Error> {
    // SAFETY: the caller promises that `to` is writable for `len` bytes.
    copy(access, node, (address, len), to, |pid| unsafe { cma::read(pid, address, to, len) })
}

/// Writes (`write`) or reads many ranges of `node` at once. False: the kernel refuses; some ranges may have been moved.
///
/// # Safety
/// The batch's local ranges are readable, for reading writable.
pub unsafe fn transfer(access: &Access, node: u32, write: bool, batch: &mut cma::Batch) -> Result<bool, Error> {
    if batch.bytes() == 0 {
        return Ok(true);
    }
    let (remote, local) = (batch.remote(), batch.local());
    // SAFETY: the caller promises that the batch's local ranges are readable, and writable if we read from the peer.
    copy(access, node, remote, local, |pid| unsafe { batch.transfer(pid, write) })
}

fn copy(
    access: &Access,
    node: u32,
    (address, len): (usize, usize),
    local: *const u8,
    call: impl FnOnce(i32) -> Result<(), SciError>,
) -> Result<bool, Error> {
    let Some(pid) = access.pid() else { return Ok(false) };
    match call(pid) {
        Ok(()) => Ok(true),
        Err(SciError::System { errno: libc::EFAULT, .. }) => {
            let local = local as usize;
            bad_arg(format_args!(
                "[{address:#x}, +{len}) is not memory of node {node}, or [{local:#x}, +{len}) not of this node, \
                 that can be accessed so"
            ))
        }
        Err(_) => {
            access.close();
            Ok(false)
        }
    }
}
