//! Teams (contract: ex-core.md §7, ex-coll.md §7): split, create, destroy, translation of ranks.
//!
//! The library needs no scratch memory. It remembers what the client grants, and never touches it.

#![allow(unsafe_code)] // clients' pointers; objects that C holds; exported names

use crate::api::must;
use crate::api::shared::coll::coll;
use crate::api::shared::heads::Heads;
use crate::api::shared::objects::{self, GASNETI_SCI_TM_MAGIC, PAIR, gasneti_sci_tm_t};
use crate::base::error::{Error, bad_arg};
use crate::base::log;
use crate::coll::ALL;
use crate::job::Job;
use crate::sync::fixed::{AtomicBool, Ordering};
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

const SIZE_MIN: u32 = 1 << 0;
const SIZE_RECOMMENDED: u32 = 1 << 1;
const GLOBAL_SCRATCH: u32 = 1 << 2;
const LOCAL_SCRATCH: u32 = 1 << 3;
const SYMMETRIC_SCRATCH: u32 = 1 << 4;
const NO_SCRATCH: u32 = 1 << 5;
const GLOBALLY_QUIESCED: u32 = 1 << 13;
const RANK_IS_JOBRANK: u32 = 1 << 13;

/// What clients are told to grant. It must not be 0, and all else is waste.
const RECOMMENDED: usize = 64;

/// A team member that is not the primordial one, with what its head points to.
#[repr(C)]
struct Made {
    head: gasneti_sci_tm_t,
    jobranks: Box<[u32]>,
    /// (place in the job, rank), by place.
    ranks: Box<[(u32, u32)]>,
}

static TEAMS: Heads<Made> = Heads::new();

/// The team member of a new team of the engine, which was made from `parent`.
fn member(
    parent: &gasneti_sci_tm_t,
    team: usize,
    scratch: (*mut c_void, usize),
) -> Result<*mut gasneti_sci_tm_t, Error> {
    let cells = coll()?.team(team)?;
    let jobranks: Box<[u32]> = (0..cells.members()).map(|m| cells.cells.rank(m)).collect();
    let mut ranks: Box<[(u32, u32)]> = jobranks.iter().copied().zip(0..).collect();
    ranks.sort_unstable();
    let head = gasneti_sci_tm_t {
        magic: GASNETI_SCI_TM_MAGIC,
        flags: 0,
        rank: cells.me() as u32,
        size: jobranks.len() as u32,
        jobranks: jobranks.as_ptr(),
        ep: parent.ep,
        cdata: null_mut(),
        team,
        scratch: scratch.0,
        scratch_size: scratch.1,
    };
    let made = Made { head, jobranks, ranks };
    Ok(TEAMS.make(made).cast())
}

/// # Safety
/// `tm` came from [`member`].
unsafe fn bury(tm: *mut gasneti_sci_tm_t) {
    let place = tm.cast::<Made>();
    // SAFETY: `member` made it a whole `Made`, which nobody uses any more.
    let Made { head, jobranks, ranks } = unsafe { place.read() };
    drop((jobranks, ranks));
    let head = gasneti_sci_tm_t { magic: 0, jobranks: std::ptr::null(), ..head };
    // SAFETY: `member` made it a whole `Made`, which nobody uses any more. The empty boxes own nothing.
    unsafe { TEAMS.end(place, Made { head, jobranks: Box::default(), ranks: Box::default() }) };
}

/// For a query: the size to grant. `None`: the call is no query.
fn query(parent: &gasneti_sci_tm_t, joins: bool, flags: u32) -> Result<Option<usize>, Error> {
    match flags & (SIZE_MIN | SIZE_RECOMMENDED) {
        0 => return Ok(None),
        SIZE_RECOMMENDED => {}
        SIZE_MIN => {
            static WARNED: AtomicBool = AtomicBool::new(false);
            // Relaxed: orders nothing
            if parent.rank == 0 && !WARNED.swap(true, Ordering::Relaxed) {
                log::advise("GEX_FLAG_TM_SCRATCH_SIZE_MIN is deprecated; use GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED");
            }
        }
        _ => return bad_arg(format_args!("both GEX_FLAG_TM_SCRATCH_SIZE_MIN and _RECOMMENDED")),
    }
    Ok(Some(if joins { RECOMMENDED } else { 0 }))
}

/// Checks scratch memory that the client grants.
fn check_scratch(parent: &gasneti_sci_tm_t, addr: *mut c_void, size: usize) -> Result<(), Error> {
    if size == 0 {
        return bad_arg(format_args!("scratch of 0 bytes without GEX_FLAG_TM_NO_SCRATCH"));
    }
    let job = Job::attached()?;
    if !job.client().debug {
        return Ok(());
    }
    // SAFETY: the endpoint of a team member lives as long as the process.
    let segment = unsafe { (*parent.ep).segment };
    // SAFETY: NULL, or the bound segment.
    let bound = unsafe { segment.as_ref() }.is_some_and(|segment| {
        let offset = (addr as usize).wrapping_sub(segment.addr as usize);
        size <= segment.size && offset <= segment.size - size
    });
    if !bound {
        job.am().table().check(job.rank(), addr as usize, size)?;
    }
    Ok(())
}

/// `gex_TM_Split`: makes a team of the members with one color. In queries returns the size of scratch memory to grant.
///
/// # Safety
/// `new_tm_p` is NULL or writable, `parent` is a team, and `scratch` is the client's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_split(
    new_tm_p: *mut *mut gasneti_sci_tm_t,
    parent: *mut gasneti_sci_tm_t,
    color: c_int,
    key: c_int,
    scratch: *mut c_void,
    scratch_size: usize,
    flags: u32,
) -> usize {
    must("gex_TM_Split", || {
        // SAFETY: as the caller promises.
        let parent = unsafe { objects::team(parent) }?;
        let joins = !new_tm_p.is_null();
        if let Some(size) = query(parent, joins, flags)? {
            return Ok(size);
        }
        if !joins {
            coll()?.split(parent.team, None)?;
            return Ok(0);
        }
        let Ok(color) = u32::try_from(color) else { return bad_arg(format_args!("color {color} is negative")) };
        if flags & (GLOBAL_SCRATCH | SYMMETRIC_SCRATCH) != 0 {
            return bad_arg(format_args!("flags {flags:#x}: a split takes only local scratch memory"));
        }
        let granted = match flags & NO_SCRATCH {
            0 => {
                check_scratch(parent, scratch, scratch_size)?;
                (scratch, scratch_size)
            }
            _ => (null_mut(), 0),
        };
        let order = key as u32 ^ 1 << 31; // keys are signed
        if let Some(team) = coll()?.split(parent.team, Some((color, order)))? {
            let tm = member(parent, team, granted)?;
            // SAFETY: not NULL, so the caller promises that it is writable.
            unsafe { new_tm_p.write(tm) };
        }
        Ok(0)
    })
}

/// `gex_EP_Location_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasneti_sci_ep_location_t {
    /// Rank of the endpoint's process.
    pub gex_rank: u32,
    /// Its number there.
    pub gex_ep_index: u16,
}

/// `gex_TM_Create`: makes teams of the members that are listed. In queries returns the size of scratch memory to grant.
///
/// # Safety
/// `parent` is a team. Unless this is a query: `args` has `numargs` entries; if there are any, `new_tms` has room for
/// `num_new_tms`, and `scratch_addrs` has as many entries as the scratch flag says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_create(
    new_tms: *mut *mut gasneti_sci_tm_t,
    num_new_tms: usize,
    parent: *mut gasneti_sci_tm_t,
    args: *const gasneti_sci_ep_location_t,
    numargs: usize,
    scratch_addrs: *mut *mut c_void,
    scratch_size: usize,
    flags: u32,
) -> usize {
    must("gex_TM_Create", || {
        // SAFETY: as the caller promises.
        let parent_head = unsafe { objects::team(parent) }?;
        if let Some(size) = query(parent_head, numargs > 0, flags)? {
            return Ok(size);
        }
        if numargs == 0 {
            coll()?.create(parent_head.team, &[])?;
            return Ok(0);
        }
        if new_tms.is_null() || args.is_null() || num_new_tms != 1 {
            return bad_arg(format_args!("NULL, or {num_new_tms} new teams: a process has one endpoint"));
        }
        // SAFETY: the caller promises as many entries.
        let members = unsafe { listed(parent_head, args, numargs, flags) }?;
        let Some(me) = members.iter().position(|rank| *rank == parent_head.rank) else {
            return bad_arg(format_args!("the caller is not among the members of its team"));
        };
        // SAFETY: the caller promises as many entries as the flag says.
        let granted = unsafe { granted(parent_head, me, scratch_addrs, scratch_size, flags) }?;
        if let Some(team) = coll()?.create(parent_head.team, &members)? {
            let tm = member(parent_head, team, granted)?;
            // SAFETY: not NULL, so the caller promises room for one.
            unsafe { new_tms.write(tm) };
        }
        Ok(0)
    })
}

/// The ranks in `parent` of the endpoints that a client lists.
///
/// # Safety
/// `args` has `numargs` entries.
unsafe fn listed(
    parent: &gasneti_sci_tm_t,
    args: *const gasneti_sci_ep_location_t,
    numargs: usize,
    flags: u32,
) -> Result<Vec<u32>, Error> {
    let mut members = Vec::with_capacity(numargs);
    for i in 0..numargs {
        // SAFETY: i < numargs, and the caller promises as many entries.
        let gasneti_sci_ep_location_t { gex_rank, gex_ep_index } = unsafe { args.wrapping_add(i).read() };
        if gex_ep_index != 0 {
            return bad_arg(format_args!("endpoint {gex_ep_index} of process {gex_rank}: only number 0 exists"));
        }
        let rank = match flags & RANK_IS_JOBRANK {
            0 => gex_rank,
            _ => rank_of(parent, gex_rank),
        };
        if rank >= parent.size {
            return bad_arg(format_args!("process {gex_rank} is not a member of the parent"));
        }
        members.push(rank);
    }
    let distinct: HashSet<u32> = members.iter().copied().collect();
    if distinct.len() < members.len() {
        return bad_arg(format_args!("a process is listed twice"));
    }
    Ok(members)
}

/// The scratch memory that a client grants member `me` of a new team, as its flag says.
///
/// # Safety
/// `addrs` has as many entries as the flag says.
unsafe fn granted(
    parent: &gasneti_sci_tm_t,
    me: usize,
    addrs: *mut *mut c_void,
    size: usize,
    flags: u32,
) -> Result<(*mut c_void, usize), Error> {
    let index = match flags & (GLOBAL_SCRATCH | LOCAL_SCRATCH | SYMMETRIC_SCRATCH | NO_SCRATCH) {
        NO_SCRATCH => return Ok((null_mut(), 0)),
        LOCAL_SCRATCH | SYMMETRIC_SCRATCH => 0,
        GLOBAL_SCRATCH => me,
        _ => return bad_arg(format_args!("flags {flags:#x}: exactly one of the scratch flags is needed")),
    };
    if addrs.is_null() {
        return bad_arg(format_args!("NULL for the scratch addresses"));
    }
    // SAFETY: the caller promises as many entries as the flag says.
    let addr = unsafe { addrs.wrapping_add(index).read() };
    check_scratch(parent, addr, size)?;
    Ok((addr, size))
}

/// `gex_TM_Destroy`: ends a team. Returns 1 if the client had granted scratch memory and wants to know where.
///
/// # Safety
/// `tm` is a team, which nobody uses any more; the others are both NULL or both writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_destroy(
    tm: *mut gasneti_sci_tm_t,
    scratch_p: *mut *mut c_void,
    size_p: *mut usize,
    flags: u32,
) -> c_int {
    must("gex_TM_Destroy", || {
        // SAFETY: as the caller promises.
        let head = unsafe { objects::team(tm) }?;
        if head.team == ALL {
            return bad_arg(format_args!("the primordial team can't be destroyed"));
        }
        // Quiet members or not, the team's memory is free when all are here.
        let _ = flags & GLOBALLY_QUIESCED;
        let (team, scratch, size) = (head.team, head.scratch, head.scratch_size);
        coll()?.destroy(team)?;
        // SAFETY: only the primordial team has not come from `member`.
        unsafe { bury(tm) };
        if size == 0 || scratch_p.is_null() {
            return Ok(0);
        }
        // SAFETY: the caller promises a writable place.
        unsafe { scratch_p.write(scratch) };
        // SAFETY: the caller promises a writable place.
        unsafe { size_p.write(size) };
        Ok(1)
    })
}

/// The rank of a process in `team`; `GEX_RANK_INVALID`: it is no member.
fn rank_of(team: &gasneti_sci_tm_t, jobrank: u32) -> u32 {
    if team.jobranks.is_null() {
        return if jobrank < team.size { jobrank } else { u32::MAX };
    }
    // SAFETY: teams with a table were made by `member`.
    let ranks = unsafe { &(*std::ptr::from_ref(team).cast::<Made>()).ranks };
    ranks.binary_search_by_key(&jobrank, |(place, _)| *place).map_or(u32::MAX, |at| ranks[at].1)
}

/// `gex_TM_TranslateJobrankToRank`: `GEX_RANK_INVALID` if the process is not a member.
///
/// # Safety
/// `tm` is a team or a pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_rank(tm: *const gasneti_sci_tm_t, jobrank: u32) -> u32 {
    must("gex_TM_TranslateJobrankToRank", || {
        let nodes = Job::get()?.nodes();
        if jobrank >= nodes {
            return bad_arg(format_args!("job rank {jobrank} is out of range: the job has {nodes} processes"));
        }
        if tm as usize & PAIR != 0 {
            return Ok(jobrank);
        }
        // SAFETY: as the caller promises.
        Ok(rank_of(unsafe { objects::team(tm) }?, jobrank))
    })
}

/// For debug clients: the place in the job of `rank` of `tm`, a team or a pair. Ends the job if there is no such rank.
///
/// # Safety
/// `tm` is a team or a pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_jobrank(tm: *const gasneti_sci_tm_t, rank: u32) -> u32 {
    // SAFETY: as the caller promises.
    must("gex_TM_Translate", || unsafe { objects::jobrank(tm, rank) })
}
