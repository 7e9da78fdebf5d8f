//! The heads of EX objects that the header reads: client, endpoint, segment, team member (contract: ex-core.md §4).
//!
//! Client, endpoint, primordial team and attached segment live as long as the process. A client may end other teams and segments
//! (`heads`). The header reads and writes CData, and reads the rest. Each head begins with a magic number, by which the library
//! recognises foreign words.

#![allow(unsafe_code)] // clients' pointers; objects that C holds

use super::heads::Heads;
use crate::base::error::{Error, bad_arg};
use crate::coll::ALL;
use crate::job::Job;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// First word of a client.
pub const GASNETI_SCI_CLIENT_MAGIC: u32 = 0x47_45_58_43;
/// First word of an endpoint.
pub const GASNETI_SCI_EP_MAGIC: u32 = 0x47_45_58_45;
/// First word of a segment.
pub const GASNETI_SCI_SEGMENT_MAGIC: u32 = 0x47_45_58_53;
/// First word of a team member.
pub const GASNETI_SCI_TM_MAGIC: u32 = 0x47_45_58_54;

/// `gex_Client_t` points here.
#[repr(C)]
pub struct gasneti_sci_client_object_t {
    /// `GASNETI_SCI_CLIENT_MAGIC`.
    pub magic: u32,
    /// Flags given to init.
    pub flags: u32,
    /// Name given to init.
    pub name: *const c_char,
    /// The client's own pointer.
    pub cdata: *mut c_void,
}

/// `gex_EP_t` points here.
#[repr(C)]
pub struct gasneti_sci_ep_t {
    /// `GASNETI_SCI_EP_MAGIC`.
    pub magic: u32,
    /// Flags given at creation.
    pub flags: u32,
    /// Index in the process.
    pub index: u32,
    /// Its client.
    pub client: *mut gasneti_sci_client_object_t,
    /// The bound segment; NULL: none.
    pub segment: *mut gasneti_sci_segment_t,
    /// The client's own pointer.
    pub cdata: *mut c_void,
}

/// `gex_Segment_t` points here.
#[repr(C)]
pub struct gasneti_sci_segment_t {
    /// `GASNETI_SCI_SEGMENT_MAGIC`.
    pub magic: u32,
    /// Flags given at creation.
    pub flags: u32,
    /// Its client.
    pub client: *mut gasneti_sci_client_object_t,
    /// First byte, in the owner.
    pub addr: *mut c_void,
    /// Number of bytes.
    pub size: usize,
    /// The client's own pointer.
    pub cdata: *mut c_void,
    /// The library's: memory that it has allocated; 0: none; all bits: the segment was attached.
    pub owned: usize,
}

/// `gex_TM_t` points here, unless it is a pair.
#[repr(C)]
pub struct gasneti_sci_tm_t {
    /// `GASNETI_SCI_TM_MAGIC`.
    pub magic: u32,
    /// Flags given at creation.
    pub flags: u32,
    /// Rank of the caller's process in the team.
    pub rank: u32,
    /// Number of members.
    pub size: u32,
    /// For each rank its place in the job; NULL in the primordial team, whose ranks are the job's.
    pub jobranks: *const u32,
    /// The endpoint that is the member.
    pub ep: *mut gasneti_sci_ep_t,
    /// The client's own pointer.
    pub cdata: *mut c_void,
    /// The library's number of the team.
    pub team: usize,
    /// Scratch memory that the client granted; NULL: none.
    pub scratch: *mut c_void,
    /// Its number of bytes.
    pub scratch_size: usize,
}

/// `GEX_FLAG_USES_GASNET1`.
pub const GASNETI_SCI_USES_GASNET1: u32 = 1;

/// The objects that every process has.
pub struct Primordial {
    /// The client.
    pub client: *mut gasneti_sci_client_object_t,
    /// Its first endpoint.
    pub ep: *mut gasneti_sci_ep_t,
    /// The team of all.
    pub tm: *mut gasneti_sci_tm_t,
}

// SAFETY: the objects are leaked; which thread may write what is the client's concern (CData) or said at the field.
unsafe impl Send for Primordial {}
// SAFETY: the objects are leaked; which thread may write what is the client's concern (CData) or said at the field.
unsafe impl Sync for Primordial {}

static PRIMORDIAL: OnceLock<Primordial> = OnceLock::new();

/// Makes the primordial objects, once, in init. `name` stays valid for ever.
pub fn make(job: &Job, name: *const c_char, flags: u32) -> &'static Primordial {
    PRIMORDIAL.get_or_init(|| {
        let client = Box::into_raw(Box::new(gasneti_sci_client_object_t {
            magic: GASNETI_SCI_CLIENT_MAGIC,
            flags,
            name,
            cdata: null_mut(),
        }));
        let ep = Box::into_raw(Box::new(gasneti_sci_ep_t {
            magic: GASNETI_SCI_EP_MAGIC,
            flags: 0,
            index: 0,
            client,
            segment: null_mut(),
            cdata: null_mut(),
        }));
        let tm = Box::into_raw(Box::new(gasneti_sci_tm_t {
            magic: GASNETI_SCI_TM_MAGIC,
            flags: 0,
            rank: job.rank(),
            size: job.nodes(),
            jobranks: std::ptr::null(),
            ep,
            cdata: null_mut(),
            team: ALL,
            scratch: null_mut(),
            scratch_size: 0,
        }));
        Primordial { client, ep, tm }
    })
}

/// Makes the objects, after init of either API. `name` is copied.
pub(in crate::api) fn begin(name: *const c_char, flags: u32) -> Option<&'static Primordial> {
    let job = Job::get().ok()?;
    // SAFETY: callers pass a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_owned();
    Some(make(job, name.into_raw(), flags))
}

static SEGMENTS: Heads<gasneti_sci_segment_t> = Heads::new();

/// `owned` of the segment that was attached, which cannot be destroyed.
pub(in crate::api) const ATTACHED: usize = usize::MAX;

/// Makes a segment object.
pub(in crate::api) fn segment(
    client: *mut gasneti_sci_client_object_t,
    addr: usize,
    size: usize,
    owned: usize,
) -> *mut gasneti_sci_segment_t {
    let addr = addr as *mut c_void;
    let magic = GASNETI_SCI_SEGMENT_MAGIC;
    SEGMENTS.make(gasneti_sci_segment_t { magic, flags: 0, client, addr, size, cdata: null_mut(), owned })
}

/// Ends a segment object. One that is bound to the endpoint stays for ever, because bindings are never removed.
///
/// # Safety
/// [`segment`] made it, and nobody uses it any more.
pub(in crate::api) unsafe fn end_segment(place: *mut gasneti_sci_segment_t) {
    // SAFETY: as the caller promises.
    let dead = gasneti_sci_segment_t { magic: 0, owned: 0, ..unsafe { place.read() } };
    // SAFETY: the endpoint is made in init and never freed.
    let bound = primordial().is_ok_and(|made| unsafe { (*made.ep).segment } == place);
    match bound {
        // SAFETY: as the caller promises.
        true => unsafe { place.write(dead) },
        // SAFETY: as the caller promises.
        false => unsafe { SEGMENTS.end(place, dead) },
    }
}

/// Makes the segment object of an attached job, and binds it to the first endpoint. NULL: this process has no segment.
pub(in crate::api) fn bind_attached(job: &Job) -> *mut gasneti_sci_segment_t {
    let own = job.segments().map(|all| all[job.rank() as usize]).filter(|own| own.base != 0);
    let (Some(own), Ok(made)) = (own, primordial()) else { return null_mut() };
    let segment = segment(made.client, own.base, own.len, ATTACHED);
    // SAFETY: made in init and never freed; one thread attaches.
    unsafe { (*made.ep).segment = segment };
    segment
}

/// The primordial objects. `NotInit`: before init.
pub fn primordial() -> Result<&'static Primordial, Error> {
    PRIMORDIAL.get().ok_or_else(|| Error::not_init("gex_Client_Init has not been called"))
}

/// The place in the job of `rank` of `tm`; ends the job, in the name of the call `name`, if there is none.
///
/// # Safety
/// `name` is a C string; `tm` is a pair or points to an EX object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tm_jobrank(name: *const c_char, tm: *const gasneti_sci_tm_t, rank: u32) -> u32 {
    // SAFETY: as the caller promises.
    match unsafe { jobrank(tm, rank) } {
        Ok(node) => node,
        // SAFETY: the caller promises a C string.
        Err(error) => crate::api::die(&unsafe { CStr::from_ptr(name) }.to_string_lossy(), error),
    }
}

/// Lowest bit of a pair.
pub(in crate::api) const PAIR: usize = 1;

/// The team member behind `tm`. `BadArg`: NULL, a pair, or no team member.
///
/// # Safety
/// `tm` is NULL, a pair, or points to an EX object, which lives at least as long as the result is used.
pub unsafe fn team<'a>(tm: *const gasneti_sci_tm_t) -> Result<&'a gasneti_sci_tm_t, Error> {
    if tm as usize & PAIR != 0 {
        return bad_arg(format_args!("a pair of endpoints, where a team is needed"));
    }
    // SAFETY: the caller promises an EX object, and each begins with its magic number.
    match unsafe { tm.as_ref() } {
        Some(team) if team.magic == GASNETI_SCI_TM_MAGIC => Ok(team),
        _ => bad_arg(format_args!("{tm:p} is not a team")),
    }
}

/// The place in the job of `rank` of `tm`, a team or a pair. `BadArg`: there is no such rank, or `tm` is neither.
///
/// # Safety
/// As [`team`].
pub unsafe fn jobrank(tm: *const gasneti_sci_tm_t, rank: u32) -> Result<u32, Error> {
    if tm as usize & PAIR != 0 {
        let (local, remote) = (tm as usize >> 16 & 0xffff, tm as usize >> 32);
        if (local, remote) != (0, 0) {
            return bad_arg(format_args!("a pair of endpoints {local} and {remote}: each process has endpoint 0 only"));
        }
        let nodes = Job::get()?.nodes();
        return match rank < nodes {
            true => Ok(rank),
            false => bad_arg(format_args!("job rank {rank} is out of range: the job has {nodes} processes")),
        };
    }
    // SAFETY: as the caller promises.
    let team = unsafe { team(tm) }?;
    if rank >= team.size {
        return bad_arg(format_args!("rank {rank} is out of range: the team has {} members", team.size));
    }
    if team.jobranks.is_null() {
        return Ok(rank);
    }
    // SAFETY: the table has an entry for each member.
    Ok(unsafe { team.jobranks.wrapping_add(rank as usize).read() })
}
