//! Descriptors that are readable while something is there (eventfd).
//!
//! Must not know: what is there.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;

/// A new descriptor, not readable, closed at exec.
pub fn new() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// It is readable from now on.
pub fn raise(fd: &OwnedFd) {
    // It fails only where the count is full, which is readable.
    let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
}

/// It is not readable until it is raised.
pub fn lower(fd: &OwnedFd) {
    // It fails only where it is not readable.
    let _ = rustix::io::read(fd, &mut [0; 8]);
}
