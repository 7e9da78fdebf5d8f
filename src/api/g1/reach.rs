//! What the header asks before it does something inline: C's view of `peers::shortcuts`, which decides. Constant after attach.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::job::Job;
use crate::peers::shortcuts::{self, Conditions, Shortcuts};
use crate::sci::Adapter;
use crate::trace;

/// In `gasneti_sci_reach_t.offset`: the node's segment is not mapped here, so that each transfer is a call.
pub const GASNETI_SCI_FAR: usize = 1;
const _: () = assert!(GASNETI_SCI_FAR == shortcuts::FAR);

/// What the header's inline transfers need to know. Filled by attach, constant afterwards.
#[repr(C)]
pub struct gasneti_sci_reach_t {
    /// Nodes below this one have their segments mapped here at their own addresses.
    pub window: u32,
    /// Number of nodes that `offset` knows; 0 where every transfer is a call.
    pub mapped: u32,
    /// What to add to an address in each node's segment, or `GASNETI_SCI_FAR`.
    pub offset: *const usize,
    /// Not 0: the segments of all nodes are mapped, so that the handle of a value get is the value.
    pub whole: u32,
}

/// See [`gasneti_sci_reach_t`].
#[unsafe(no_mangle)]
pub static mut gasneti_sci_reach: gasneti_sci_reach_t =
    gasneti_sci_reach_t { window: 0, mapped: 0, offset: std::ptr::null(), whole: 0 };

/// Bytes from which a non-blocking put whose source stays, or get, is a call: it may be the DMA thread's. The largest number
/// where no transfer at all is a call; one less where transfers are calls by their node only; 0 where each is one. Filled by
/// attach, constant afterwards.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_queued: usize = 0;

/// Vector, indexed and strided transfers of so many pieces or fewer, of a few common sizes, are inline; 0 where every one
/// is a call, because something counts them or because nothing is mapped. Filled by attach, constant afterwards.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_few: usize = 0;

/// Tells the header what it may do. After attach, before the client goes on.
pub(super) fn tell_header(job: &'static Job) {
    crate::sci::copy::prepare();
    let conditions = Conditions {
        native: job.rma().is_native(),
        everything: job.client().everything,
        traced: trace::is_on(),
        counted: job.config().stats,
        threaded: job.client().threaded,
        limited: crate::api::threads::is_limited(),
        properties: job.am().adapter().properties(),
        queued: job.rma().overlap().map(|overlap| overlap.min()),
    };
    let shortcuts = Shortcuts::decide(&conditions, (0..job.nodes()).map(|node| job.am().reach(node)));
    if shortcuts.polls {
        super::direct::tell_header(job);
    }
    let Shortcuts { window, offsets, whole, queued, few, .. } = shortcuts;
    let mapped = offsets.len() as u32;
    let reach = gasneti_sci_reach_t { window, mapped, offset: Box::leak(offsets).as_ptr(), whole: whole.into() };
    let place = &raw mut gasneti_sci_reach;
    // SAFETY: one thread attaches, and no transfer is legal before it has returned (contract: core.md §5).
    unsafe { place.write(reach) };
    for (place, value) in [(&raw mut gasneti_sci_queued, queued), (&raw mut gasneti_sci_few, few)] {
        // SAFETY: one thread attaches, and no transfer is legal before it has returned (contract: core.md §5).
        unsafe { place.write(value) };
    }
}
