//! Start of GASNet-1 (contract: core.md §6).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::handlers::Entry;
use crate::api::shared::constants::*;
use crate::api::shared::start::{call_hook, gasneti_sci_client_t, init};
use crate::api::shared::{objects, reach};
use crate::api::status;
use crate::base::error::bad_arg;
use crate::job::state::Job;
use crate::trace;
use std::ffi::{c_char, c_int, c_void};

/// `gasnet_handlerentry_t`, with the function as a plain pointer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasneti_sci_handlerentry_t {
    /// 128–255; 0: attach assigns an index and stores it here.
    pub index: u8,
    /// The handler.
    pub fnptr: *mut c_void,
}

const _: () = assert!(std::mem::offset_of!(gasneti_sci_handlerentry_t, index) == 0, "attach writes indices back");

/// Joins the job. Leaves `argc` and `argv` as they are. Contract: core.md §6.1.
///
/// # Safety
/// `client` points to a filled structure whose pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_init(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    client: *const gasneti_sci_client_t,
) -> c_int {
    let _ = (argc, argv); // the library takes no arguments from the command line
    // SAFETY: the caller promises that `client` points to a filled structure.
    let client = unsafe { client.read() };
    // SAFETY: the caller promises that the pointers in `client` are valid.
    let code = unsafe { init(client, "gasnet_init") };
    if code == GASNETI_SCI_OK {
        objects::begin(c"LEGACY".as_ptr(), objects::GASNETI_SCI_USES_GASNET1);
    }
    code
}

/// Registers the handlers and creates the segment. Contract: core.md §6.2.
///
/// # Safety
/// `table` is NULL or points to `numentries` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_attach(
    table: *mut gasneti_sci_handlerentry_t,
    numentries: c_int,
    segsize: usize,
    minheapoffset: usize,
) -> c_int {
    let _ = minheapoffset; // a hint that only 32-bit address spaces need
    status("gasnet_attach", || {
        let job = Job::get()?;
        let n = match usize::try_from(numentries) {
            Ok(n) if n == 0 || !table.is_null() => n,
            _ => return bad_arg(format_args!("handler table {table:p} of {numentries} entries")),
        };
        // SAFETY: the caller promises `numentries` entries in `table`; callers pass `i` below that.
        let read = |i| unsafe { table.wrapping_add(i).read() };
        let entry = |e: gasneti_sci_handlerentry_t| Entry { index: e.index, function: e.fnptr as usize };
        // A table has 256 entries at most. With 257 attach refuses it, without reading the rest.
        let mut entries: Vec<Entry> = (0..n.min(257)).map(|i| entry(read(i))).collect();
        job.attach(&mut entries, segsize, call_hook)?;
        reach::tell_header(job);
        objects::bind_attached(job);
        trace::note(b'I', format_args!("attached: segment of {segsize} bytes, {n} handlers"));
        for (i, assigned) in entries.iter().enumerate() {
            if read(i).index != assigned.index {
                // The index is the first byte of the entry. Attach changes nothing else in the table.
                let index = table.wrapping_add(i).cast::<u8>();
                // SAFETY: i < numentries, and the caller promises that the entries are writable.
                unsafe { index.write(assigned.index) };
            }
        }
        Ok(())
    })
}
