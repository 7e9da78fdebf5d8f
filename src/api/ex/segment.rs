//! Segments and endpoints of GASNet-EX (contract: ex-core.md §8).
//!
//! A process has one endpoint. Its segment is either the one that attach makes, which peers map, or memory that
//! `gex_Segment_Create` describes and that peers reach by the kernel or by messages.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::shared::objects::{self, GASNETI_SCI_EP_MAGIC, GASNETI_SCI_SEGMENT_MAGIC};
use crate::api::shared::objects::{
    gasneti_sci_client_object_t, gasneti_sci_ep_t, gasneti_sci_segment_t, gasneti_sci_tm_t,
};
use crate::api::shared::{reach, start};
use crate::api::{must, status};
use crate::base::error::{Error, bad_arg};
use crate::job::{Job, limits};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Creates and binds the segments of all processes. Contract: ex-core.md §8.2.
///
/// # Safety
/// `segment_p` is NULL or writable; `tm` is NULL, a pair or an EX object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_segment_attach(
    segment_p: *mut *mut gasneti_sci_segment_t,
    tm: *const gasneti_sci_tm_t,
    length: usize,
) -> c_int {
    status("gex_Segment_Attach", || {
        let job = Job::attached()?;
        if segment_p.is_null() || !std::ptr::eq(tm, objects::primordial()?.tm) {
            return bad_arg(format_args!("NULL, or a team that is not the primordial one"));
        }
        if job.client().everything {
            job.coll()?.meet();
            // SAFETY: the caller promises a writable place.
            unsafe { segment_p.write(null_mut()) };
            return Ok(());
        }
        // SAFETY: made in init and never freed.
        if !unsafe { (*objects::primordial()?.ep).segment }.is_null() {
            return Err(Error::not_init("the endpoint has a segment"));
        }
        job.attach_segment(length, start::call_hook)?;
        let segment = objects::bind_attached(job);
        reach::tell_header(job);
        // SAFETY: the caller promises a writable place.
        unsafe { segment_p.write(segment) };
        job.coll()?.meet();
        Ok(())
    })
}

/// Makes a segment of `length` bytes, at `address` or, if that is NULL, of new memory. `kind` is 1 for host memory.
///
/// # Safety
/// `segment_p` is NULL or writable; `client` is NULL or a client; memory at `address` stays as it is until the destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_segment_create(
    segment_p: *mut *mut gasneti_sci_segment_t,
    client: *mut gasneti_sci_client_object_t,
    address: *mut c_void,
    length: usize,
    kind: usize,
    flags: u32,
) -> c_int {
    status("gex_Segment_Create", || {
        let job = Job::get()?;
        if segment_p.is_null() || client.is_null() || flags != 0 {
            return bad_arg(format_args!("NULL for a result or the client, or flags {flags:#x} that are not 0"));
        }
        if kind != HOST || length == 0 {
            return bad_arg(format_args!("kind {kind:#x}, {length} bytes: a segment has bytes of host memory"));
        }
        if (address as usize).checked_add(length).is_none() {
            return bad_arg(format_args!("[{address:p}, +{length}) is longer than the address space"));
        }
        let segment = match address.is_null() {
            false => objects::segment(client, address as usize, length, 0),
            true => allocate(job, client, length)?,
        };
        // SAFETY: the caller promises a writable place.
        unsafe { segment_p.write(segment) };
        Ok(())
    })
}

/// `GEX_MK_HOST`.
const HOST: usize = 1;

fn allocate(
    job: &Job,
    client: *mut gasneti_sci_client_object_t,
    length: usize,
) -> Result<*mut gasneti_sci_segment_t, Error> {
    let page = limits::PAGE as usize;
    if length > job.max_local() || length > usize::MAX - page {
        return Err(Error::resource(format_args!("{length} bytes are above the largest segment, {}", job.max_local())));
    }
    let length = length.next_multiple_of(page);
    let memory =
        memmap2::MmapMut::map_anon(length).map_err(|e| Error::resource(format_args!("{length} bytes: {e}")))?;
    let at = memory.as_ptr() as usize;
    Ok(objects::segment(client, at, length, Box::into_raw(Box::new(memory)) as usize))
}

/// Ends a created segment. The library frees memory that it has allocated for it.
///
/// # Safety
/// `segment` is NULL or a segment that no operation uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_segment_destroy(segment: *mut gasneti_sci_segment_t, flags: u32) {
    must("gex_Segment_Destroy", || {
        // SAFETY: the caller promises NULL or a segment.
        let Some(object) = (unsafe { segment.as_ref() }).filter(|s| s.magic == GASNETI_SCI_SEGMENT_MAGIC) else {
            return bad_arg(format_args!("{segment:p} is not a segment"));
        };
        if flags != 0 || object.owned == objects::ATTACHED {
            return bad_arg(format_args!("flags {flags:#x}, or the segment that was attached"));
        }
        if object.owned != 0 {
            // SAFETY: made by `allocate`; the client promises that nobody uses the memory.
            drop(unsafe { Box::from_raw(object.owned as *mut memmap2::MmapMut) });
        }
        // SAFETY: the magic number says that it is a segment; the caller promises that nothing uses it.
        unsafe { objects::end_segment(segment) };
        Ok(())
    })
}

/// `gex_EP_Create`: the process has its one endpoint, so that this one would be too many.
///
/// # Safety
/// The pointers are NULL or what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ep_create(
    ep_p: *mut *mut gasneti_sci_ep_t,
    client: *mut gasneti_sci_client_object_t,
    capabilities: u32,
    flags: u32,
) -> c_int {
    status("gex_EP_Create", || {
        if ep_p.is_null() || client.is_null() || capabilities == 0 || capabilities > 31 || flags > 3 {
            return bad_arg(format_args!("NULL, capabilities {capabilities:#x}, or flags {flags:#x}"));
        }
        Err(Error::resource("GASNET_MAXEPS is 1, and the process has that endpoint"))
    })
}

/// Binds a created segment to an endpoint that has none. Always checked, whatever the build.
///
/// # Safety
/// `ep` is NULL or an endpoint, `segment` is NULL or a segment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ep_bind(
    ep: *mut gasneti_sci_ep_t,
    segment: *mut gasneti_sci_segment_t,
    flags: u32,
) -> c_int {
    status("gex_EP_BindSegment", || {
        // SAFETY: the caller promises NULL or an endpoint.
        let Some(ep) = (unsafe { ep.as_mut() }).filter(|ep| ep.magic == GASNETI_SCI_EP_MAGIC) else {
            return bad_arg(format_args!("{ep:p} is not an endpoint"));
        };
        // SAFETY: the caller promises NULL or a segment.
        let Some(object) = (unsafe { segment.as_ref() }).filter(|s| s.magic == GASNETI_SCI_SEGMENT_MAGIC) else {
            return bad_arg(format_args!("{segment:p} is not a segment"));
        };
        let job = Job::attached()?;
        if flags != 0 || !ep.segment.is_null() || job.client().everything {
            return bad_arg(format_args!("flags {flags:#x}, or an endpoint that is bound"));
        }
        job.bind(object.addr as usize, object.size)?;
        ep.segment = segment;
        Ok(())
    })
}

/// Tells the members of `tm` of the segments bound to `eps`. Contract: ex-core.md §8.3.
///
/// # Safety
/// `tm` is NULL, a pair or an EX object; `eps` points to `count` endpoints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ep_publish(
    tm: *const gasneti_sci_tm_t,
    eps: *const *mut gasneti_sci_ep_t,
    count: usize,
    flags: u32,
) -> c_int {
    status("gex_EP_PublishBoundSegment", || {
        if flags != 0 || (eps.is_null() && count > 0) || count > 1 {
            return bad_arg(format_args!("flags {flags:#x}, or {count} endpoints of a process that has one"));
        }
        // SAFETY: as the caller promises.
        let team = unsafe { objects::team(tm) }?;
        let mut bound = None;
        if count == 1 {
            // SAFETY: the caller promises `count` endpoints.
            let ep = unsafe { eps.read() };
            // SAFETY: the caller promises endpoints.
            let Some(ep) = (unsafe { ep.as_ref() }).filter(|ep| ep.magic == GASNETI_SCI_EP_MAGIC) else {
                return bad_arg(format_args!("{ep:p} is not an endpoint"));
            };
            // SAFETY: NULL or the segment that was bound, whose head is never freed.
            bound = unsafe { ep.segment.as_ref() }.map(|segment| (segment.addr as usize, segment.size));
        }
        Job::attached()?.publish(team.team, bound)
    })
}

/// Looks up the segment bound to the endpoint of `rank` of `tm`; 0: this process knows of none, and nothing was written.
///
/// # Safety
/// `tm` is a team or a pair; the other pointers are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_bound_segment(
    tm: *const gasneti_sci_tm_t,
    rank: u32,
    owner_p: *mut *mut c_void,
    local_p: *mut *mut c_void,
    size_p: *mut usize,
) -> c_int {
    must("gex_EP_QueryBoundSegmentNB", || {
        let job = Job::attached()?;
        // SAFETY: as the caller promises.
        let node = unsafe { objects::jobrank(tm, rank) }?;
        let Some((base, len, here)) = job.bound(node) else { return Ok(0) };
        if !owner_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { owner_p.write(base as *mut c_void) };
        }
        if !local_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { local_p.write(here as *mut c_void) };
        }
        if !size_p.is_null() {
            // SAFETY: the caller promises a writable place.
            unsafe { size_p.write(len) };
        }
        Ok(1)
    })
}
