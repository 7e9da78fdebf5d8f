//! The values by which the header decides what to do inline: C's view of `peers::shortcuts`, which makes the decision.
//! Attach fills them. Afterwards some of them change, in one direction only: from inline to calls (`note_implicit`, `stop_few`).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::job::Job;
use crate::peers::shortcuts::{self, Conditions, Shortcuts};
use crate::sci::Adapter;
use crate::sync::fixed::{AtomicBool, AtomicUsize, Ordering};
use crate::trace;

/// In `gasneti_sci_reach_t.offset`: the node's segment is not mapped here, so each transfer is a call.
pub const GASNETI_SCI_FAR: usize = 1;
const _: () = assert!(GASNETI_SCI_FAR == shortcuts::FAR);

/// What the header's inline transfers need to know. Filled by attach, constant afterwards.
#[repr(C)]
pub struct gasneti_sci_reach_t {
    /// The segments of all nodes below this rank are mapped here at their owners' addresses.
    pub window: u32,
    /// Number of entries of `offset`; 0 if every transfer is a call.
    pub mapped: u32,
    /// For each node, the number to add to an address in its segment, or `GASNETI_SCI_FAR`.
    pub offset: *const usize,
    /// Not 0 if the segments of all nodes are mapped. Then the handle of a value get is the value.
    pub whole: u32,
}

/// The values for this process; see `gasneti_sci_reach_t`.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_reach: gasneti_sci_reach_t =
    gasneti_sci_reach_t { window: 0, mapped: 0, offset: std::ptr::null(), whole: 0 };

/// Bytes from which non-blocking bulk puts, and gets, call the library, because the DMA thread may take them.
///
/// Attach fills it. The first implicit operation that a call has started turns `SIZE_MAX` into `SIZE_MAX - 1`. Special values:
///
/// | value | meaning |
/// |---|---|
/// | `SIZE_MAX` | no transfer is a call |
/// | `SIZE_MAX - 1` | the length makes no transfer a call; transfers to nodes that are not mapped are calls |
/// | 0 | every transfer is a call |
#[unsafe(no_mangle)]
pub static mut gasneti_sci_queued: usize = 0;

/// Largest number of pieces of an inline vector, indexed or strided transfer; 0 if each of them is a call.
///
/// Only pieces of a few common sizes are inline. It is 0 if the library records or counts transfers, or if no inline
/// transfer is allowed. Attach fills it. It becomes 0 when the client arms a handler for peer completion (GASNet-EX).
#[unsafe(no_mangle)]
pub static mut gasneti_sci_few: usize = 0;

/// Tells the header what it may do. Attach calls it last, before it returns to the client.
pub(in crate::api) fn tell_header(job: &'static Job) {
    crate::sci::copy::prepare();
    let conditions = Conditions {
        native: job.rma().is_native(),
        everything: job.client().everything,
        traced: trace::is_on(),
        counted: job.config().stats,
        limited: super::threads::is_limited(),
        properties: job.am().adapter().properties(),
        queued: job.rma().overlap().map(|overlap| overlap.min()),
    };
    let table = job.am().table();
    let shortcuts = Shortcuts::decide(&conditions, (0..job.nodes()).map(|node| table.offset(node)));
    if shortcuts.messages {
        super::direct::tell_header(job);
    }
    let Shortcuts { window, offsets, whole, queued, few, .. } = shortcuts;
    let mapped = offsets.len() as u32;
    let reach = gasneti_sci_reach_t { window, mapped, offset: Box::leak(offsets).as_ptr(), whole: whole.into() };
    let place = &raw mut gasneti_sci_reach;
    // SAFETY: one thread attaches, and no transfer is legal before it has returned (contract: core.md §5).
    unsafe { place.write(reach) };
    let few = if ALL_CALLS.load(Ordering::Relaxed) { 0 } else { few }; // Relaxed: one thread attaches
    for (place, value) in [(&raw mut gasneti_sci_queued, queued), (&raw mut gasneti_sci_few, few)] {
        // SAFETY: one thread attaches, and no transfer is legal before it has returned (contract: core.md §5).
        unsafe { place.write(value) };
    }
}

/// An implicit operation is about to be counted: from now on implicit syncs ask the library. While none is, the header knows
/// that all are complete if no transfer is a call. Calls of GASNet-EX that start one come here: other endpoints' memory and
/// atomics may need messages where GASNet-1's transfers need none.
#[inline(always)]
pub(in crate::api) fn note_implicit() {
    let place = &raw mut gasneti_sci_queued;
    // SAFETY: a word that lives for ever. Attach writes it while no other thread calls, the line below atomically.
    let queued = unsafe { AtomicUsize::from_ptr(place) };
    // Relaxed: the thread that counts the operation is the one that syncs it.
    if queued.load(Ordering::Relaxed) == usize::MAX {
        queued.store(usize::MAX - 1, Ordering::Relaxed); // Relaxed: as above
    }
}

/// Vector, indexed and strided transfers are all calls.
static ALL_CALLS: AtomicBool = AtomicBool::new(false);

/// From now on vector, indexed and strided transfers are all calls, at least those of the calling thread: the next one may have
/// a handler to run at its target.
pub(in crate::api) fn stop_few() {
    ALL_CALLS.store(true, Ordering::Relaxed); // Relaxed: attach follows on the same thread, or came before
    let place = &raw mut gasneti_sci_few;
    // SAFETY: a word that lives for ever. Attach writes it while no other thread calls, the line below atomically.
    let few = unsafe { AtomicUsize::from_ptr(place) };
    few.store(0, Ordering::Relaxed); // Relaxed: other threads may go on as before
}
