//! Queries: rank, size, segments, environment, names of errors, wait mode (contract: core.md §4, §7, §12).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::wait::Mode;
use crate::api::{must, status};
use crate::base::error::bad_arg;
use crate::job::{Job, environment};
use crate::os::{host, signal_stack};
use std::ffi::{CStr, c_char, c_int, c_void};

/// `gasnet_seginfo_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasnet_seginfo_t {
    /// Address of the segment in its owner's process; NULL: the node has no segment.
    pub addr: *mut c_void,
    /// Its length in bytes.
    pub size: usize,
}

/// `gasnet_nodeinfo_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasnet_nodeinfo_t {
    /// Number of the physical machine; numbers count up from 0 in rank order.
    pub host: u32,
    /// Number of the supernode (nodes that map each other's segments); they count up from 0 in rank order.
    pub supernode: u32,
    /// Number to add to an address in that node's segment, to get the address of the same byte in this process.
    pub offset: usize,
}

/// This node's rank, from 0 to nodes − 1. Allowed from init on.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_mynode() -> u32 {
    must("gasnet_mynode", || Ok(Job::get()?.rank()))
}

/// Number of nodes of the job. Allowed from init on.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_nodes() -> u32 {
    must("gasnet_nodes", || Ok(Job::get()?.nodes()))
}

/// The largest segment that this node may ask for, in bytes. Allowed from init on.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_max_local_segment() -> usize {
    must("gasnet_getMaxLocalSegmentSize", || Ok(Job::get()?.max_local()))
}

/// The smallest of all nodes' largest segments, in bytes. Allowed from init on.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_max_global_segment() -> usize {
    must("gasnet_getMaxGlobalSegmentSize", || Ok(Job::get()?.max_global()))
}

/// Fills the first `n` entries of `table`, or as many as there are nodes. Allowed after attach.
///
/// # Safety
/// `table` is writable for `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_segment_info(table: *mut gasnet_seginfo_t, n: c_int) -> c_int {
    status("gasnet_getSegmentInfo", || {
        let n = entries(n, table.is_null())?;
        let segments = Job::attached()?.segments().unwrap_or(&[]);
        for (i, s) in segments.iter().take(n).enumerate() {
            let entry = gasnet_seginfo_t { addr: s.base as *mut c_void, size: s.len };
            // SAFETY: i < n, and the caller promises that `table` is writable for `n` entries.
            unsafe { table.wrapping_add(i).write(entry) };
        }
        Ok(())
    })
}

/// Fills the first `n` entries of `table` with hosts and supernodes. Allowed from init on; offsets are 0 before attach.
///
/// # Safety
/// `table` is writable for `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_node_info(table: *mut gasnet_nodeinfo_t, n: c_int) -> c_int {
    status("gasnet_getNodeInfo", || {
        let n = entries(n, table.is_null())?;
        let job = Job::get()?;
        for node in 0..job.nodes().min(n as u32) {
            let offset = job.segments().map_or(0, |s| s[node as usize].offset);
            let entry = gasnet_nodeinfo_t { host: job.host(node), supernode: job.supernode(node), offset };
            // SAFETY: node < n, and the caller promises that `table` is writable for `n` entries.
            unsafe { table.wrapping_add(node as usize).write(entry) };
        }
        Ok(())
    })
}

fn entries(n: c_int, null: bool) -> Result<usize, crate::base::error::Error> {
    match usize::try_from(n) {
        Ok(n) if n == 0 || !null => Ok(n),
        Ok(n) => bad_arg(format_args!("NULL table for {n} entries")),
        Err(_) => bad_arg(format_args!("a negative number of entries: {n}")),
    }
}

/// `getenv` on the job's environment, then on the process's own; NULL if the variable is unset in both.
///
/// The job's environment is the one that node 0 had when it called init. It is the same on all nodes, and strings from
/// it stay valid.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_getenv(name: *const c_char) -> *mut c_char {
    if name.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the caller promises that `name` is a C string.
    let text = unsafe { CStr::from_ptr(name) };
    match environment::get(text) {
        Some(value) => value.as_ptr().cast_mut(),
        // SAFETY: the caller promises that `name` is a C string.
        None => unsafe { libc::getenv(name) },
    }
}

/// Name of this host, never NULL. Allowed at any time, in any thread.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_gethostname() -> *const c_char {
    host::name().as_ptr()
}

/// `gasnet_set_waitmode`. Allowed from init on.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_set_waitmode(mode: c_int) -> c_int {
    status("gasnet_set_waitmode", || {
        let job = Job::get()?;
        match Mode::from_number(mode) {
            Some(mode) => job.am().waiter().set_mode(mode),
            None => return bad_arg(format_args!("{mode} is no wait mode")),
        }
        Ok(())
    })
}

/// A value that differs between live threads and is never NULL: `GASNET_GET_THREADINFO` in PAR and PARSYNC.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_thread_info() -> *mut c_void {
    thread_local!(static HERE: u8 = const { 0 });
    signal_stack::provide();
    HERE.with(|here| std::ptr::from_ref(here).cast_mut().cast())
}
