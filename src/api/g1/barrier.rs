//! Barriers (contract: extended.md §8).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::must;
use crate::api::shared::constants::*;
use crate::base::error::Error;
use crate::job::Job;
use crate::trace::{self, TracedOp};
use std::ffi::c_int;

/// Announces this node's arrival at the barrier. Never blocks. Misuse is fatal.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_barrier_notify(id: c_int, flags: c_int) {
    trace::timed!(TracedOp::BarrierNotify, {
        must("gasnet_barrier_notify", || {
            let job = Job::attached()?;
            job.barrier().notify(job.am(), id, flags as u32)
        })
    });
}

/// Waits until all nodes have arrived: `GASNET_OK` or `GASNET_ERR_BARRIER_MISMATCH`. Serves messages meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_barrier_wait(id: c_int, flags: c_int) -> c_int {
    trace::timed!(TracedOp::BarrierWait, must("gasnet_barrier_wait", || wait(id, flags)))
}

/// Like wait, but returns `GASNET_ERR_NOT_READY` at once while a node is missing. Polls once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_barrier_try(id: c_int, flags: c_int) -> c_int {
    trace::timed!(TracedOp::BarrierTry, {
        must("gasnet_barrier_try", || {
            let job = Job::attached()?;
            job.am().poll_in_loop();
            Ok(job.barrier().finished(job.am(), id, flags as u32)?.map_or(GASNETI_SCI_ERR_NOT_READY, outcome))
        })
    })
}

/// Notify and wait in one call.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_barrier(id: c_int, flags: c_int) -> c_int {
    trace::timed!(TracedOp::Barrier, {
        must("gasnet_barrier", || {
            let job = Job::attached()?;
            job.barrier().notify(job.am(), id, flags as u32)?;
            wait(id, flags)
        })
    })
}

/// If the last phase had a name, stores it to `*id` and returns 0; else returns a value that is not 0.
///
/// # Safety
/// `id` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_barrier_result(id: *mut c_int) -> c_int {
    must("gasnet_barrier_result", || {
        let Some(name) = Job::attached()?.barrier().result()? else { return Ok(1) };
        // SAFETY: the caller promises that `id` is writable.
        unsafe { id.write(name) };
        Ok(0)
    })
}

fn wait(id: c_int, flags: c_int) -> Result<c_int, Error> {
    let job = Job::attached()?;
    let matches = job.barrier().wait(job.am(), job.am(), id, flags as u32)?;
    if job.client().debug {
        job.am().poll(); // compares this node's collectives before the barrier with those of the others
    }
    Ok(outcome(matches))
}

fn outcome(matches: bool) -> c_int {
    if matches { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_BARRIER_MISMATCH }
}
