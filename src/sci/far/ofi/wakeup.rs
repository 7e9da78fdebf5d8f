//! The descriptor on which a node sleeps until its provider has something to do.
//!
//! A provider's own descriptor may stay readable: that of `net` does from its first completion on, because nothing takes the signal
//! back (1.17). So a set of ours watches it, which tells only of what happens anew.
//!
//! Must not know: what has happened.

use crate::os::net::Epoll;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

/// The set.
pub struct Wakeup(Epoll);

impl Wakeup {
    /// Watches the provider's descriptor, which is open as long as the endpoint.
    pub fn new(provider: BorrowedFd<'_>) -> io::Result<Wakeup> {
        let set = Epoll::new()?;
        set.add_edges(provider, 0)?;
        Ok(Wakeup(set))
    }

    /// Readable when something has happened since [`Wakeup::forget`].
    pub fn descriptor(&self) -> RawFd {
        self.0.descriptor()
    }

    /// Forgets what has happened. The caller looks at the provider next.
    pub fn forget(&self) {
        self.0.look(&mut [(0, false); 32]);
    }
}
