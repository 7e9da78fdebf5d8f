//! Start, the job's queries and the error messages of GASNet-EX (contract: ex-core.md §5, §6, §16).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::shared::constants::*;
use crate::api::shared::objects::{self, gasneti_sci_client_object_t, gasneti_sci_ep_t, gasneti_sci_tm_t};
use crate::api::shared::{debug, outcome, reach, start};
use crate::api::{failed, must, status};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::xfer::table::Table;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

/// `GEX_FLAG_DEFER_THREADS`.
pub const GASNETI_SCI_DEFER_THREADS: u32 = 2;

/// Joins the job, and opens it for messages. Contract: ex-core.md §5.1.
///
/// # Safety
/// `client` points to a filled structure whose pointers are valid; `name` is NULL or a C string; the others are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_init(
    client: *const start::gasneti_sci_client_t,
    name: *const c_char,
    flags: u32,
    client_p: *mut *mut gasneti_sci_client_object_t,
    ep_p: *mut *mut gasneti_sci_ep_t,
    tm_p: *mut *mut gasneti_sci_tm_t,
) -> c_int {
    const CALL: &str = "gex_Client_Init";
    let arguments = || {
        if client_p.is_null() || ep_p.is_null() || tm_p.is_null() || name.is_null() {
            return bad_arg(format_args!("NULL for the client's name, or for a place of a result"));
        }
        match flags & !(objects::GASNETI_SCI_USES_GASNET1 | GASNETI_SCI_DEFER_THREADS) {
            0 => Ok(()),
            unknown => bad_arg(format_args!("unknown flags {unknown:#x}")),
        }
    };
    // A code, so that the client may call again; it has not joined the job.
    if let Err(error) = arguments() {
        return failed(CALL, error);
    }
    // SAFETY: the caller promises a filled structure.
    let client = unsafe { client.read() };
    // SAFETY: the caller promises that its pointers are valid.
    let joined = unsafe { start::init(client, CALL) };
    if joined != GASNETI_SCI_OK {
        return joined;
    }
    let opened = || {
        let job = Job::get()?;
        let Some(made) = objects::begin(name, flags) else { return bad_arg(format_args!("no job")) };
        if flags & objects::GASNETI_SCI_USES_GASNET1 == 0 {
            debug::refuse_gasnet1();
        }
        if job.client().debug {
            job.am().handlers().inspect(super::am::inspect);
        }
        job.open()?;
        Table::get().let_events_outlive_threads();
        reach::tell_header(job);
        // SAFETY: the caller promises writable places; they are not NULL, as checked.
        unsafe { client_p.write(made.client) };
        // SAFETY: the caller promises writable places; they are not NULL, as checked.
        unsafe { ep_p.write(made.ep) };
        // SAFETY: the caller promises writable places; they are not NULL, as checked.
        unsafe { tm_p.write(made.tm) };
        Ok(())
    };
    match opened() {
        Ok(()) => GASNETI_SCI_OK,
        Err(error) => start::refused(CALL, error),
    }
}

/// Not 0 if errors that calls return are reported on stderr as well.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_verbose_errors() -> c_int {
    outcome::is_verbose().into()
}

/// Chooses whether errors that calls return are reported on stderr as well.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_set_verbose_errors(enable: c_int) {
    outcome::set_verbose(enable != 0);
}

/// `gex_RankInfo_t`.
#[repr(C)]
pub struct gasneti_sci_rank_info_t {
    /// Rank in the job.
    pub gex_jobrank: u32,
}

/// The processes of this one's neighbourhood, or of its host, by rank. Made at the first query.
fn set(host: bool) -> Result<&'static [gasneti_sci_rank_info_t], Error> {
    static SETS: [OnceLock<Box<[gasneti_sci_rank_info_t]>>; 2] = [OnceLock::new(), OnceLock::new()];
    let job = Job::get()?;
    let place = |node| if host { job.host(node) } else { job.supernode(node) };
    let mine = place(job.rank());
    let members = || (0..job.nodes()).filter(|node| place(*node) == mine);
    Ok(SETS[usize::from(host)]
        .get_or_init(|| members().map(|gex_jobrank| gasneti_sci_rank_info_t { gex_jobrank }).collect()))
}

/// Writes the set of processes near this one: its neighbourhood or, with `host` not 0, its host. NULL pointers are skipped.
///
/// # Safety
/// The pointers are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_near(
    host: c_int,
    info_p: *mut *const gasneti_sci_rank_info_t,
    count_p: *mut u32,
    index_p: *mut u32,
) {
    let name = if host != 0 { "gex_System_QueryHostInfo" } else { "gex_System_QueryNbrhdInfo" };
    must(name, || {
        let members = set(host != 0)?;
        let me = Job::get()?.rank();
        let index = members.iter().position(|member| member.gex_jobrank == me).unwrap_or(0) as u32;
        if !info_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { info_p.write(members.as_ptr()) };
        }
        // SAFETY: the caller promises writable places.
        unsafe { fill(count_p, members.len() as u32) };
        // SAFETY: the caller promises writable places.
        unsafe { fill(index_p, index) };
        Ok(())
    })
}

/// # Safety
/// `place` is NULL or writable.
unsafe fn fill(place: *mut u32, value: u32) {
    if !place.is_null() {
        // SAFETY: the caller promises a writable place.
        unsafe { place.write(value) }
    }
}

/// Writes number of neighbourhoods, this one's, number of hosts, this one's. NULL pointers are skipped.
///
/// # Safety
/// The pointers are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_position(nbrhds: *mut u32, nbrhd: *mut u32, hosts: *mut u32, host: *mut u32) {
    must("gex_System_QueryMyPosition", || {
        let job = Job::get()?;
        let count = |of: &dyn Fn(u32) -> u32| (0..job.nodes()).map(of).max().unwrap_or(0) + 1;
        for (place, value) in [
            (nbrhds, count(&|node| job.supernode(node))),
            (nbrhd, job.supernode(job.rank())),
            (hosts, count(&|node| job.host(node))),
            (host, job.host(job.rank())),
        ] {
            // SAFETY: the caller promises NULL or a writable place.
            unsafe { fill(place, value) };
        }
        Ok(())
    })
}

/// Most client threads at a time: `GASNET_MAX_THREADS`, or what no program reaches.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_ex_max_threads() -> u64 {
    must("gex_System_QueryMaxThreads", || Ok(Job::get()?.config().max_threads.map_or(1 << 20, u64::from)))
}

/// `gex_System_QueryProgressThreads`: there are none.
///
/// # Safety
/// The pointers are NULL or writable; `client` is NULL or a client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_progress_threads(
    client: *const gasneti_sci_client_object_t,
    count_p: *mut u32,
    info_p: *mut *const c_void,
    flags: u32,
) -> c_int {
    status("gex_System_QueryProgressThreads", || {
        if client.is_null() || count_p.is_null() || info_p.is_null() || flags != 0 {
            return bad_arg(format_args!("NULL, or flags {flags:#x} that are not 0"));
        }
        // SAFETY: the caller promises a client.
        if unsafe { (*client).flags } & GASNETI_SCI_DEFER_THREADS == 0 {
            return Err(Error::resource("the client was made without GEX_FLAG_DEFER_THREADS"));
        }
        // SAFETY: the caller promises a writable place.
        unsafe { count_p.write(0) };
        // SAFETY: the caller promises a writable place.
        unsafe { info_p.write(std::ptr::null()) };
        Ok(())
    })
}

/// Writes the objects of the GASNet-1 client. NULL pointers are skipped.
///
/// # Safety
/// The pointers are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_objects(
    client_p: *mut *mut gasneti_sci_client_object_t,
    ep_p: *mut *mut gasneti_sci_ep_t,
    tm_p: *mut *mut gasneti_sci_tm_t,
    segment_p: *mut *mut objects::gasneti_sci_segment_t,
) {
    must("gasnet_QueryGexObjects", || {
        Job::attached()?;
        let made = objects::primordial()?;
        Table::get().let_events_outlive_threads(); // who asks for them uses GASNet-EX
        // SAFETY: made in init, and never freed.
        let segment = unsafe { (*made.ep).segment };
        if !client_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { client_p.write(made.client) };
        }
        if !ep_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { ep_p.write(made.ep) };
        }
        if !tm_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { tm_p.write(made.tm) };
        }
        if !segment_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { segment_p.write(segment) };
        }
        Ok(())
    })
}
