//! The way into heaps of nodes of other hosts, and for them into this node's, over what connects the hosts.
//!
//! Must not know: messages, boxes.

#![allow(unsafe_code)] // memory that the network reads and writes

use super::gift::{Network, ToHeaps, Writable};
use crate::am::region::DECK;
use crate::base::error::Error;
use crate::base::log;
use crate::sci::LocalMap;
use crate::sci::adapter::{Counter, Readable};
use crate::sci::far::Far;
use crate::sci::far::apply::Rule;
use crate::sci::far::remote::FarMap;
use crate::sci::far::wire::HEAP;
use std::sync::Arc;

/// Heaps of nodes of other hosts.
struct FarHeaps<F> {
    far: &'static Far,
    is_far: F,
    len: usize,
}

impl<F: Fn(u32) -> bool + Send + Sync> Network for FarHeaps<F> {
    fn reaches(&self, node: u32) -> bool {
        (self.is_far)(node)
    }

    unsafe fn write(&self, node: u32, offset: usize, from: Readable, done: Counter) -> Result<(), Error> {
        // SAFETY: the caller promises the source until `done` is raised.
        Ok(unsafe { FarMap::new(self.far, node, DECK, 0, self.len).put_in_order(offset, from, done) }?)
    }
}

/// Peers write the heap through the wire alone: stores by records are refused.
impl Rule for Arc<Writable> {
    fn may_store(&self, _: u32, _: usize, _: usize) -> bool {
        false
    }

    fn begins(&self, node: u32, offset: usize, len: usize) -> bool {
        self.begin(node, offset, len)
    }

    fn ends(&self, offset: usize) {
        self.end(offset);
    }

    fn leaves(&self) {
        self.leaver.leaves();
    }
}

/// Opens both ways. `map` is this node's heap, `len` the bytes of each heap. All nodes call it before anybody gives.
///
/// # Safety
/// The heap stays mapped as long as the job.
pub unsafe fn open<M: LocalMap>(
    far: &'static Far,
    map: &M,
    len: usize,
    is_far: impl Fn(u32) -> bool + Send + Sync + 'static,
) -> ToHeaps {
    let network = Box::new(FarHeaps { far, is_far, len });
    let writable = Arc::<Writable>::default();
    let places = writable.clone();
    far.admit(DECK, map.clone(), Box::new(places));
    // SAFETY: the caller's promise.
    match unsafe { far.wire().set_area(HEAP, map.ptr(0), len) } {
        Ok(()) => (network, Some(writable)),
        Err(why) => {
            log::advise(&format!("messages that nodes of other hosts give are copied here: {why}"));
            (network, None)
        }
    }
}
