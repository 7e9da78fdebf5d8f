//! Descriptors that are readable while something is there (eventfd).
//!
//! Must not know: what is there.

#![allow(unsafe_code)] // system calls

use std::io;

/// A new descriptor, not readable, closed at exec.
pub fn new() -> io::Result<i32> {
    // SAFETY: a system call without pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
}

/// It is readable from now on.
pub fn raise(fd: i32) {
    let one = 1u64;
    // SAFETY: eight readable bytes. It fails only where the count is full, which is readable.
    unsafe { libc::write(fd, (&raw const one).cast(), 8) };
}

/// It is not readable until it is raised.
pub fn lower(fd: i32) {
    let mut count = 0u64;
    // SAFETY: eight writable bytes. It fails only where it is not readable.
    unsafe { libc::read(fd, (&raw mut count).cast(), 8) };
}

/// Closes it.
pub fn close(fd: i32) {
    // SAFETY: a system call without pointers; the caller owns the descriptor.
    unsafe { libc::close(fd) };
}
