//! Guests: another runtime, such as MPI, whose process joins a job, or shares the one that its program has joined.
//!
//! The process stays its runtime's. So a guest's node installs no signal handlers and no exit handler, and the end of a process
//! means nothing to the others. Runtime and launcher see to deaths. A guest says when it leaves ([`gasneti_sci_guest_leave`]).
//!
//! A guest that joins is the job's client, with all memory as its segment. One that finds a client adds its handlers to that client's.

#![allow(unsafe_code)] // a guest's pointers; exported names

use crate::api::shared::constants::*;
use crate::api::shared::objects::{self, gasneti_sci_ep_t};
use crate::api::shared::{reach, start};
use crate::base::error::Error;
use crate::boot;
use crate::job::Job;
use crate::supervise::exit;
use crate::xfer::table::Table;
use std::ffi::{CStr, c_char, c_int};

/// What a guest gets to know.
#[repr(C)]
pub struct gasneti_sci_guest_t {
    /// For handlers.
    pub ep: *mut gasneti_sci_ep_t,
    /// This process's number in the job.
    pub rank: u32,
    /// Number of processes.
    pub nodes: u32,
    /// Not 0: transfers reach all memory of all processes; else only segments of the program.
    pub everything: c_int,
    /// Not 0: the program had joined before.
    pub is_shared: c_int,
}

/// What a guest's client is in every respect that it does not choose.
static CONFIG: &CStr = c"guest";
static NO_SIZE: u64 = 0;
struct NoText(*const c_char);
// SAFETY: NULL.
unsafe impl Sync for NoText {}
static NO_TEXT: NoText = NoText(std::ptr::null());

/// Joins the job for a guest named `name`, or shares the program's. NULL, or the reason why neither is done; nothing was changed then.
///
/// The reason is empty for a process that was started alone: there is nobody to talk to.
///
/// Collective: all processes of the job call, and all get NULL or none does, if they are of one program. A process that cannot join ends
/// with a line, because the others wait for it. With `threaded` not 0 several threads will call at a time.
///
/// # Safety
/// `name` is a C string; `to` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_guest_join(
    name: *const c_char,
    threaded: c_int,
    to: *mut gasneti_sci_guest_t,
) -> *const c_char {
    let is_shared = Job::get().is_ok();
    if let Some(reason) = obstacle(is_shared, threaded != 0) {
        return reason.as_ptr();
    }
    if !is_shared {
        // SAFETY: as the caller promises.
        crate::api::must("gasneti_sci_guest_join", || unsafe { join(name, threaded != 0) });
    }
    let (Ok(job), Ok(made)) = (Job::attached(), objects::primordial()) else {
        return c"the job has no client".as_ptr();
    };
    Table::get().let_events_outlive_threads();
    let found = gasneti_sci_guest_t {
        ep: made.ep,
        rank: job.rank(),
        nodes: job.nodes(),
        everything: job.client().everything.into(),
        is_shared: is_shared.into(),
    };
    // SAFETY: the caller promises a writable place.
    unsafe { to.write(found) };
    std::ptr::null()
}

fn obstacle(is_shared: bool, threaded: bool) -> Option<&'static CStr> {
    if !is_shared {
        return if start::is_gasnet_client() {
            Some(c"this program uses GASNet too, and has not called gasnet_init yet: it must do so, and attach, before MPI_Init")
        } else if boot::is_launched() {
            Some(c"gasnetrun_sci has started this program, and serves no PMIx, so that each process is an MPI world of its own: use mpirun")
        } else {
            boot::is_alone().then_some(c"")
        };
    }
    let Ok(job) = Job::attached() else {
        return Some(
            c"this program uses GASNet too, and has not called gasnet_attach yet: it must do so before MPI_Init",
        );
    };
    (threaded && !job.client().threaded).then_some(
        c"this program uses GASNet too, without GASNET_PAR, and MPI is to be called by several threads at a time",
    )
}

/// # Safety
/// `name` is a C string.
unsafe fn join(name: *const c_char, threaded: bool) -> Result<(), Error> {
    let threads = if threaded { GASNETI_SCI_MODE_PAR } else { GASNETI_SCI_MODE_SEQ };
    let client = start::gasneti_sci_client_t {
        modes: threads | GASNETI_SCI_MODE_EVERYTHING | GASNETI_SCI_MODE_NDEBUG | GASNETI_SCI_MODE_GUEST,
        config: CONFIG.as_ptr(),
        max_segsize: &raw const NO_SIZE,
        idents: std::ptr::null(),
        max_segsize_str: &raw const NO_TEXT.0,
    };
    // SAFETY: the pointers are to statics. Errors end this process there.
    unsafe { start::init(client, "gasneti_sci_guest_join") };
    let job = Job::get()?;
    // SAFETY: as the caller promises; it is copied.
    objects::begin(name, 0);
    job.open()?;
    reach::tell_header(job);
    Ok(())
}

/// A guest that has joined leaves: what it sent arrives, and the launcher knows.
///
/// Nothing of the job may be used after that. Where the program had joined before, this does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_guest_leave() {
    if Job::get().is_ok_and(|job| job.client().guest) {
        exit::leave_as_guest();
    }
}
