//! What the header asks before it does a transfer inline. Constant after attach.

use crate::job::Job;
use crate::sci::{Adapter, Host, RemoteRead};
use crate::trace;

/// What the header's inline transfers need to know. Filled by attach, constant afterwards.
#[repr(C)]
pub struct gasneti_sci_reach_t {
    /// Nodes below this one have their segments mapped here at their own addresses: all nodes, or none.
    pub window: u32,
    /// Nodes below this one have their segments mapped here, by offset: all nodes, or none. For the others call the library.
    pub mapped: u32,
    /// What to add to an address in each node's segment.
    pub offset: *const usize,
}

/// See [`gasneti_sci_reach_t`].
#[unsafe(no_mangle)]
pub static mut gasneti_sci_reach: gasneti_sci_reach_t =
    gasneti_sci_reach_t { window: 0, mapped: 0, offset: std::ptr::null() };

/// Bytes from which a non-blocking put whose source stays, or get, is a call: it may be the DMA thread's. 0 where every
/// transfer is a call, the largest number where none is. Filled by attach, constant afterwards.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_queued: usize = 0;

/// Vector, indexed and strided transfers of so many pieces or fewer, of a few common sizes, are inline; 0 where every one
/// is a call, because something counts them or because nothing is mapped. Filled by attach, constant afterwards.
#[unsafe(no_mangle)]
pub static mut gasneti_sci_few: usize = 0;

/// A call costs 15 ns, a piece 0.5 to 1: from here on it is below a twentieth (testvisperf, 2026-11, Xeon).
const FEW: usize = 512;

/// Tells the header how segments are reached. After attach, before the client goes on.
pub(in crate::api) fn tell_header(job: &'static Job) {
    crate::sci::copy::prepare();
    // Not what clients are told in gasnet_getNodeInfo: that says nothing of nodes of other supernodes, which are mapped too.
    let payloads = job.am().payloads();
    let offset = |(map, base): (&<Host as Adapter>::Remote, usize)| Some((map.memory()? as usize).wrapping_sub(base));
    let offsets: Box<[usize]> = (0..job.nodes()).map(|p| payloads.map(p).and_then(offset).unwrap_or(0)).collect();
    // What is recorded must come by here, so then nothing is inline.
    let inline = job.rma().is_native() && !job.client().everything && !trace::is_on();
    let mapped = if inline { job.nodes() } else { 0 };
    let window = if job.has_window() { mapped } else { 0 };
    let offset = Box::leak(offsets).as_ptr();
    let queued = match job.rma().overlap() {
        _ if !inline => 0,
        None => usize::MAX,
        Some(overlap) => overlap.min(),
    };
    // The counters of GASNET_SCI_STATS say which way each of these went.
    let few = if inline && !job.config().stats { FEW } else { 0 };
    let reach = gasneti_sci_reach_t { window, mapped, offset };
    let place = &raw mut gasneti_sci_reach;
    // SAFETY: one thread attaches, and no transfer is legal before it has returned (contract: core.md §5).
    unsafe { place.write(reach) };
    for (place, value) in [(&raw mut gasneti_sci_queued, queued), (&raw mut gasneti_sci_few, few)] {
        // SAFETY: as above.
        unsafe { place.write(value) };
    }
}
