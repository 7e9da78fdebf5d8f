//! The peers whose stages a poll keeps back until it ends, so that one frame takes all that it has stored for a peer.
//!
//! One thread at a time keeps stages back, under a lock of its caller's ([`Adapter::hold`](crate::sci::Adapter::hold)). A list in
//! thread-local memory would cost each poll that finds something two calls of `__tls_get_addr`.
//!
//! Must not know: what a stage is.

#![allow(unsafe_code)] // cells that one thread at a time uses

use crate::os::sys;
use crate::sync::{AtomicUsize, Ordering};
use smallvec::SmallVec;
use std::cell::Cell;

/// Peers whose stages one poll keeps back.
const MOST: usize = 16;

/// The list.
#[derive(Default)]
pub struct Held {
    /// The thread that polls ([`sys::thread_number`]); 0: none keeps any back. The rest is that thread's alone.
    by: AtomicUsize,
    list: Cell<[u32; MOST]>,
    len: Cell<usize>,
}

// SAFETY: the cells are used by the thread that `by` names only. `begin` has set it under its caller's lock, and the next thread that
// sets it has the same lock.
unsafe impl Sync for Held {}

impl Held {
    /// This thread keeps stages back.
    #[inline(always)]
    fn is_mine(&self) -> bool {
        self.by.load(Ordering::Relaxed) == sys::thread_number() // Relaxed: nobody else stores this thread's number
    }

    /// This thread keeps stages back from now on. False: it does so already.
    #[inline(always)]
    pub fn begin(&self) -> bool {
        let begins = !self.is_mine();
        if begins {
            self.by.store(sys::thread_number(), Ordering::Relaxed); // Relaxed: see `is_mine`
        }
        begins
    }

    /// Ends what [`Self::begin`] began. Returns the peers whose stages were kept back, if there are any.
    #[inline(always)]
    pub fn end(&self) -> Option<SmallVec<[u32; MOST]>> {
        let len = self.len.take();
        self.by.store(0, Ordering::Relaxed); // Relaxed: see `is_mine`
        (len > 0).then(|| SmallVec::from_slice(&self.list.get()[..len]))
    }

    /// This thread has kept stages back.
    pub fn has_some(&self) -> bool {
        self.is_mine() && self.len.get() > 0
    }

    /// Keeps the stage of `peer` back. False: this thread keeps none back, or too many already.
    pub fn takes(&self, peer: u32) -> bool {
        if !self.is_mine() {
            return false;
        }
        let (mut list, len) = (self.list.get(), self.len.get());
        if list[..len].contains(&peer) {
            return true;
        }
        if len < MOST {
            list[len] = peer;
            self.list.set(list);
            self.len.set(len + 1);
        }
        len < MOST
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_polls_keeps_each_peer_back_once_and_others_none() {
        let held = Held::default();
        assert!(!held.takes(1), "nobody polls");
        assert!(held.begin() && !held.begin());
        assert!(held.takes(1) && held.takes(2) && held.takes(1) && held.has_some());
        std::thread::scope(|scope| _ = scope.spawn(|| assert!(!held.takes(3) && !held.has_some())));
        assert_eq!(held.end().as_deref(), Some(&[1, 2][..]));
        assert!(!held.takes(1) && held.begin() && held.end().is_none());
    }

    #[test]
    fn too_many_peers_are_not_kept_back() {
        let held = Held::default();
        held.begin();
        assert_eq!((0..20).filter(|peer| held.takes(*peer)).count(), MOST);
        assert!(held.takes(0), "it is in the list");
    }
}
