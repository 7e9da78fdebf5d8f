//! Teams and their barriers (contract: coll.md §9).

#![allow(unsafe_code)] // clients' pointers; exported names

use super::coll::must;
use crate::api::shared::coll::coll;
use crate::api::shared::constants::*;
use crate::barrier::{ArrivalCells, Barrier};
use crate::base::error::{Error, bad_arg};
use crate::coll::ALL;
use crate::coll::images::ImageBarrier;
use crate::coll::team::{Members, TeamRef};
use crate::job::Job;
use crate::sci::Host;
use crate::trace::{self, TeamName, TracedOp};
use std::ffi::{c_int, c_void};

/// Splits `parent` by `color` and returns the handle of the caller's new team. Blocks until all members have called.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_split(parent: usize, color: u32, relrank: u32, clientdata: *const c_void) -> usize {
    let _ = clientdata; // memory for the team's state, which this library does not need
    must("gasnet_coll_team_split", || Ok(coll()?.split(parent, Some((color, relrank)))?.unwrap_or(0)))
}

/// Ends a team. All its members must call. Blocks until they have.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_free(team: usize) {
    must("gasnet_coll_team_free", || coll()?.destroy(team));
}

fn team(handle: usize) -> Result<TeamRef<Host>, Error> {
    coll()?.team(handle)
}

/// Number of the team's members.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_size(handle: usize) -> u32 {
    must("gasnet_coll_team_size", || Ok(team(handle)?.members() as u32))
}

/// Node of the member with rank `rank` in the team.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_node(handle: usize, rank: c_int) -> u32 {
    must("gasnet_coll_team_rank2node", || {
        let team = team(handle)?;
        match usize::try_from(rank).ok().filter(|r| *r < team.members()) {
            Some(rank) => Ok(team.cells.rank(rank)),
            None => bad_arg(format_args!("rank {rank} is out of range: the team has {} members", team.members())),
        }
    })
}

/// Rank of a node in the team. Fatal if the node is not a member.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_rank(handle: usize, node: u32) -> u32 {
    must("gasnet_coll_team_node2rank", || {
        let team = team(handle)?;
        match (0..team.members()).find(|m| team.cells.rank(*m) == node) {
            Some(rank) => Ok(rank as u32),
            None => bad_arg(format_args!("node {node} is not a member of the team")),
        }
    })
}

/// Runs `f` with the barrier of a team and its members' arrival cells. For the team of all nodes that is the job's
/// barrier.
fn with_barrier<T>(handle: usize, f: impl FnOnce(&Barrier, &dyn ArrivalCells) -> Result<T, Error>) -> Result<T, Error> {
    let job = Job::attached()?;
    if handle == ALL {
        return f(job.barrier(), job.am());
    }
    let team = team(handle)?;
    f(&team.barrier, &Members(&team, job.am()))
}

/// The name of a team in the trace.
fn name(handle: usize) -> Option<TeamName> {
    if handle == ALL { None } else { team(handle).ok()?.name }
}

/// The barrier among this node's images, if the flags ask for it and the node has several images.
fn image_barrier(handle: usize, flags: c_int) -> Result<Option<(&'static ImageBarrier, u32)>, Error> {
    if flags & GASNETI_SCI_BARRIERFLAG_IMAGES == 0 || handle != ALL {
        return Ok(None);
    }
    let coll = coll()?;
    Ok(Some((coll.image_barrier(), coll.images_here() as u32)).filter(|(_, images)| *images > 1))
}

fn notify(handle: usize, id: c_int, flags: c_int) -> Result<(), Error> {
    let notify = || {
        let owes = with_barrier(handle, |barrier, cells| {
            barrier.notify(cells, id, flags as u32)?;
            Ok(barrier.owes())
        })?;
        if owes && handle != ALL { coll()?.carry_on(handle) } else { Ok(()) }
    };
    match image_barrier(handle, flags)? {
        None => notify(),
        Some((image_barrier, images)) => image_barrier.arrive(images, notify),
    }
}

fn wait(handle: usize, id: c_int, flags: c_int) -> Result<c_int, Error> {
    let am = Job::attached()?.am();
    match image_barrier(handle, flags)? {
        None => with_barrier(handle, |barrier, cells| barrier.wait(am, cells, id, flags as u32)),
        Some((image_barrier, _)) => {
            let finished = || with_barrier(handle, |barrier, cells| barrier.finished(cells, id, flags as u32));
            image_barrier.wait(finished, |failed| am.wait_step(failed))
        }
    }
    .map(outcome)
}

fn outcome(matches: bool) -> c_int {
    if matches { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_BARRIER_MISMATCH }
}

/// Announces arrival at the team's barrier. Never blocks.
///
/// With `GASNET_BARRIERFLAG_IMAGES` the node arrives when all its images have called.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_notify(team: usize, id: c_int, flags: c_int) {
    trace::met!(TracedOp::BarrierNotify, name(team), must("gasnet_coll_barrier_notify", || notify(team, id, flags)))
}

/// Waits until all members have arrived: `GASNET_OK` or `GASNET_ERR_BARRIER_MISMATCH`. Serves messages meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_wait(team: usize, id: c_int, flags: c_int) -> c_int {
    trace::met!(TracedOp::BarrierWait, name(team), must("gasnet_coll_barrier_wait", || wait(team, id, flags)))
}

/// Like wait, but returns `GASNET_ERR_NOT_READY` at once while a member is missing. Polls once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_try(team: usize, id: c_int, flags: c_int) -> c_int {
    trace::met!(
        TracedOp::BarrierTry,
        name(team),
        must("gasnet_coll_barrier_try", || {
            if image_barrier(team, flags)?.is_some() {
                return bad_arg(format_args!("GASNET_BARRIERFLAG_IMAGES is not for try"));
            }
            Job::attached()?.am().poll();
            with_barrier(team, |barrier, cells| {
                Ok(barrier.finished(cells, id, flags as u32)?.map_or(GASNETI_SCI_ERR_NOT_READY, outcome))
            })
        })
    )
}

/// Notify and wait in one call.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_team_barrier(team: usize, id: c_int, flags: c_int) -> c_int {
    trace::met!(
        TracedOp::Barrier,
        name(team),
        must("gasnet_coll_barrier", || {
            notify(team, id, flags)?;
            wait(team, id, flags)
        })
    )
}

/// If the last phase had a name, stores it to `*id` and returns 0; else returns a value that is not 0.
///
/// # Safety
/// `id` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_team_result(team: usize, id: *mut c_int) -> c_int {
    must("gasnet_coll_barrier_result", || {
        let Some(name) = with_barrier(team, |barrier, _| barrier.result())? else { return Ok(1) };
        // SAFETY: the caller promises that `id` is writable.
        unsafe { id.write(name) };
        Ok(0)
    })
}
