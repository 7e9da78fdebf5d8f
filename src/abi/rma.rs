//! One-sided transfers that the header does not do inline (contract: extended.md §1–§7). Errors are fatal.

use super::constants::*;
use super::{die, must};
use crate::am::Am;
use crate::am::source::Source;
use crate::error::{Error, bad_arg};
use crate::job::Job;
use crate::rma::op::{self, Op, OpId, Set, Table};
use crate::rma::{Counted, Landing, Rma};
use crate::sci::Host;
use crate::trace::{self, NO_NODE, Op as Kind};
use std::ffi::{CStr, c_char, c_int, c_void};

pub(super) fn am() -> Result<(&'static Am<Host>, &'static Rma), Error> {
    let job = Job::attached()?;
    Ok((job.am(), job.rma()))
}

pub(super) fn check_node(am: &Am<Host>, node: u32) -> Result<(), Error> {
    if node >= am.nodes() {
        return bad_arg(format_args!("node {node} is out of range: the job has {} nodes", am.nodes()));
    }
    Ok(())
}

fn full<T>(taken: Option<T>) -> Result<T, Error> {
    taken.ok_or_else(|| Error::resource("16 million operations are in flight"))
}

/// Starts a transfer of its own op.
pub(super) fn start(begin: impl FnOnce(Counted<'_>) -> Result<(), Error>) -> Result<(OpId, &'static Op), Error> {
    let (id, op) = full(op::take())?;
    begin(Counted { id, op })?;
    Ok((id, op))
}

fn wait_for(am: &Am<Host>, rma: &Rma, op: &Op) -> Result<(), Error> {
    wait_until(am, rma, || op.is_done())
}

/// Handlers do not run in handlers, and without one no answer is counted: such a wait would never end.
fn check_may_wait(am: &Am<Host>) -> Result<(), Error> {
    if am.in_handler() {
        return bad_arg(format_args!("an AM handler can't wait for what a peer must answer"));
    }
    Ok(())
}

/// Waits, serving messages; once at least, so that a node that does nothing but blocking calls answers requests even if
/// each of them is complete at once (behaviours 45).
fn wait_until(am: &Am<Host>, rma: &Rma, done: impl Fn() -> bool) -> Result<(), Error> {
    if done() {
        am.poll_in_loop(); // a client that gets a flag again and again is such a loop
        return Ok(());
    }
    check_may_wait(am)?;
    let mut failed = 0;
    while !done() {
        failed = wait_step(am, rma, failed);
    }
    Ok(())
}

/// One step of waiting: while the DMA engine has transfers that nobody makes, makes a part of one and polls.
fn wait_step(am: &Am<Host>, rma: &Rma, failed: u32) -> u32 {
    if rma.help() {
        am.poll();
        return 0;
    }
    am.wait_step(failed)
}

pub(super) fn blocking(
    (am, rma): (&Am<Host>, &Rma),
    begin: impl FnOnce(Counted<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (id, op) = start(begin)?;
    wait_for(am, rma, op)?;
    op::give(id, op);
    Ok(())
}

/// The handle of a started op: 0 when it is complete already, and was the DMA engine's at no time.
pub(super) fn handle(started: (OpId, &Op)) -> usize {
    let (id, op) = started;
    if !op.needs_handle() {
        op::give(id, op);
        return 0;
    }
    op.handle(id)
}

pub(super) fn implicit(set: Set, begin: impl FnOnce(Counted<'_>) -> Result<(), Error>) -> Result<(), Error> {
    let (id, op) = full(op::implicit(set))?;
    begin(Counted { id, op })
}

/// Blocking put.
///
/// # Safety
/// `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    let _recorded = trace::span(Kind::Put, node, nbytes);
    must("gasnet_put", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        blocking((am, rma), |c| rma.put(am, node, dest as usize, source, c))
    });
}

/// Blocking get.
///
/// # Safety
/// `dest` is writable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get(dest: *mut c_void, node: u32, src: *const c_void, nbytes: usize) {
    let _recorded = trace::span(Kind::Get, node, nbytes);
    must("gasnet_get", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract; we return when it is done.
        let landing = unsafe { Landing::new(dest.cast(), nbytes) };
        blocking((am, rma), |c| rma.get(am, node, src as usize, landing, c))
    });
}

/// Blocking memset; the low byte of `val`.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) {
    let _recorded = trace::span(Kind::Memset, node, nbytes);
    must("gasnet_memset", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        blocking((am, rma), |c| rma.set(am, node, dest as usize, val as u8, nbytes, c))
    });
}

/// Put with an explicit handle; 0 when complete. The source is free for reuse at return.
///
/// # Safety
/// `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nb(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) -> usize {
    trace::event(Kind::PutNb, node, nbytes);
    must("gasnet_put_nb", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        start(|c| rma.put(am, node, dest as usize, source, c)).map(handle)
    })
}

/// As [`gasneti_sci_put_nb`], but the source must not change until the handle is synced.
///
/// # Safety
/// `src` is readable for `nbytes` bytes until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nb_bulk(
    node: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
) -> usize {
    trace::event(Kind::PutNb, node, nbytes);
    must("gasnet_put_nb_bulk", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        start(|c| rma.put_bulk(am, node, dest as usize, source, c)).map(handle)
    })
}

/// Get with an explicit handle.
///
/// # Safety
/// `dest` is writable for `nbytes` bytes until the handle is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get_nb(dest: *mut c_void, node: u32, src: *const c_void, nbytes: usize) -> usize {
    trace::event(Kind::GetNb, node, nbytes);
    must("gasnet_get_nb", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract.
        let landing = unsafe { Landing::new(dest.cast(), nbytes) };
        start(|c| rma.get_later(am, node, src as usize, landing, c)).map(handle)
    })
}

/// Memset with an explicit handle.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset_nb(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) -> usize {
    trace::event(Kind::MemsetNb, node, nbytes);
    must("gasnet_memset_nb", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        start(|c| rma.set(am, node, dest as usize, val as u8, nbytes, c)).map(handle)
    })
}

/// Put counted by this thread's implicit set, or its open region.
///
/// # Safety
/// `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nbi(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    trace::event(Kind::PutNbi, node, nbytes);
    must("gasnet_put_nbi", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        implicit(Set::Puts, |c| rma.put(am, node, dest as usize, source, c))
    });
}

/// As [`gasneti_sci_put_nbi`], but the source must not change until it is synced.
///
/// # Safety
/// `src` is readable for `nbytes` bytes until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nbi_bulk(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    trace::event(Kind::PutNbi, node, nbytes);
    must("gasnet_put_nbi_bulk", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract.
        let source = unsafe { Source::new(src.cast(), nbytes) };
        implicit(Set::Puts, |c| rma.put_bulk(am, node, dest as usize, source, c))
    });
}

/// Get counted by this thread's implicit set, or its open region.
///
/// # Safety
/// `dest` is writable for `nbytes` bytes until it is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get_nbi(dest: *mut c_void, node: u32, src: *const c_void, nbytes: usize) {
    trace::event(Kind::GetNbi, node, nbytes);
    must("gasnet_get_nbi", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        // SAFETY: this function's own contract.
        let landing = unsafe { Landing::new(dest.cast(), nbytes) };
        implicit(Set::Gets, |c| rma.get_later(am, node, src as usize, landing, c))
    });
}

/// Memset counted by this thread's implicit puts, or its open region.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset_nbi(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) {
    trace::event(Kind::MemsetNbi, node, nbytes);
    must("gasnet_memset_nbi", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        implicit(Set::Puts, |c| rma.set(am, node, dest as usize, val as u8, nbytes, c))
    });
}

/// Starts a value get of 1 to 8 bytes, as the header has checked; to be waited for once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_get_nb_val(node: u32, src: *const c_void, nbytes: usize) -> u64 {
    trace::event(Kind::GetNbVal, node, nbytes);
    must("gasnet_get_nb_val", || {
        let (am, rma) = am()?;
        check_node(am, node)?;
        let started = start(|c| {
            c.op.clear_value();
            // SAFETY: the op's own word of 8 bytes, which lives for ever.
            let landing = unsafe { Landing::new(c.op.landing(), nbytes.min(8)) };
            rma.get(am, node, src as usize, landing, c)
        })?;
        Ok(started.1.handle(started.0) as u64)
    })
}

/// The value form `name` was called with an impossible size: ends the job.
///
/// # Safety
/// `name` is a C string.
#[cold]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_bad_value(name: *const c_char, nbytes: usize) -> ! {
    // SAFETY: this function's own contract.
    die(
        &unsafe { CStr::from_ptr(name) }.to_string_lossy(),
        format_args!("a value of {nbytes} bytes; 1 to 8 are possible"),
    )
}

/// Serves messages, in normal client code; does nothing in a handler. The header's inline transfers call it now and then.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tick_poll() {
    super::threads::note();
    if let Ok((am, _)) = am() {
        am.poll_in_loop();
    }
}

/// Waits for a value get.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_valget(handle: u64) -> u64 {
    let _recorded = trace::span(Kind::WaitValget, NO_NODE, 0);
    must("gasnet_wait_syncnb_valget", || {
        let (am, rma) = am()?;
        let (id, op) = live(handle as usize)?;
        wait_for(am, rma, op)?;
        let value = op.value();
        op::give(id, op);
        Ok(value)
    })
}

fn live(handle: usize) -> Result<(OpId, &'static Op), Error> {
    Table::get().live(handle).or_else(|why| bad_arg(format_args!("{handle:#x} {why}")))
}

/// `GASNET_OK` and the handle is dead, or `GASNET_ERR_NOT_READY`. `poll`: serve messages first.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_try_nb(handle: usize, poll: c_int) -> c_int {
    let _recorded = trace::span(Kind::TryNb, NO_NODE, 0);
    must(if poll != 0 { "gasnet_try_syncnb" } else { "gasnet_try_syncnb_nopoll" }, || {
        let (am, _) = am()?;
        if poll != 0 {
            am.poll_in_loop();
        }
        Ok(if handle == 0 || sync(handle)? { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_NOT_READY })
    })
}

/// Gives a complete operation's handle back; false while it is in flight.
fn sync(handle: usize) -> Result<bool, Error> {
    let (id, op) = live(handle)?;
    let done = op.is_done();
    if done {
        op::give(id, op);
    }
    Ok(done)
}

/// Waits for one handle.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_nb(handle: usize) {
    let _recorded = trace::span(Kind::WaitNb, NO_NODE, 0);
    must("gasnet_wait_syncnb", || {
        let (am, rma) = am()?;
        if handle == 0 {
            am.poll_in_loop(); // as in `wait_until`
            return Ok(());
        }
        let (id, op) = live(handle)?;
        wait_for(am, rma, op)?;
        op::give(id, op);
        Ok(())
    });
}

/// What one look at an array found.
struct Look {
    synced: usize,
    pending: usize,
}

/// Syncs what is complete of `n` handles and overwrites it with 0.
///
/// # Safety
/// `handles` points to `n` handles.
unsafe fn look(handles: *mut usize, n: usize) -> Result<Look, Error> {
    let mut found = Look { synced: 0, pending: 0 };
    if handles.is_null() && n > 0 {
        return bad_arg(format_args!("NULL for an array of {n} handles"));
    }
    for i in 0..n {
        let place = handles.wrapping_add(i);
        // SAFETY: i < n: this function's own contract.
        let handle = unsafe { place.read() };
        if handle == 0 {
            continue;
        }
        if sync(handle)? {
            // SAFETY: as above.
            unsafe { place.write(0) };
            found.synced += 1;
        } else {
            found.pending += 1;
        }
    }
    Ok(found)
}

/// `all` or some of `n` handles: `GASNET_OK` or `GASNET_ERR_NOT_READY`; complete ones are overwritten.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_try_array(handles: *mut usize, n: usize, all: c_int, poll: c_int) -> c_int {
    let _recorded = trace::span(Kind::TryArray, NO_NODE, 0);
    let name = match (all != 0, poll != 0) {
        (true, true) => "gasnet_try_syncnb_all",
        (false, true) => "gasnet_try_syncnb_some",
        (true, false) => "gasnet_try_syncnb_all_nopoll",
        (false, false) => "gasnet_try_syncnb_some_nopoll",
    };
    must(name, || {
        let (am, _) = am()?;
        if poll != 0 {
            am.poll_in_loop();
        }
        // SAFETY: this function's own contract.
        let found = unsafe { look(handles, n) }?;
        let ready = found.pending == 0 || (all == 0 && found.synced > 0);
        Ok(if ready { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_NOT_READY })
    })
}

/// Waits for all, or for one at least, of `n` handles.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_wait_array(handles: *mut usize, n: usize, all: c_int) {
    let _recorded = trace::span(Kind::WaitArray, NO_NODE, 0);
    must(if all != 0 { "gasnet_wait_syncnb_all" } else { "gasnet_wait_syncnb_some" }, || {
        let (am, rma) = am()?;
        let mut failed = 0;
        loop {
            // SAFETY: this function's own contract.
            let found = unsafe { look(handles, n) }?;
            let ready = found.pending == 0 || (all == 0 && found.synced > 0);
            if !ready {
                check_may_wait(am)?;
                failed = wait_step(am, rma, failed);
                continue;
            }
            if failed == 0 {
                am.poll_in_loop(); // as in `wait_until`
            }
            return Ok(());
        }
    });
}

/// `sets`: 1 puts, 2 gets, 3 both. `GASNET_OK` when none of this thread's implicit operations is in flight.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_try_nbi(sets: c_int) -> c_int {
    let _recorded = trace::span(Kind::TryNbi, NO_NODE, 0);
    let name = ["gasnet_try_syncnbi_puts", "gasnet_try_syncnbi_gets", "gasnet_try_syncnbi_all"][kind(sets)];
    must(name, || {
        let (am, _) = am()?;
        check_no_region()?;
        am.poll_in_loop();
        Ok(if is_done(sets) { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_NOT_READY })
    })
}

/// Waits for this thread's implicit operations.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_nbi(sets: c_int) {
    let _recorded = trace::span(Kind::WaitNbi, NO_NODE, 0);
    let name = ["gasnet_wait_syncnbi_puts", "gasnet_wait_syncnbi_gets", "gasnet_wait_syncnbi_all"][kind(sets)];
    must(name, || {
        let (am, rma) = am()?;
        check_no_region()?;
        wait_until(am, rma, || is_done(sets))
    });
}

/// 0 puts, 1 gets, 2 both.
fn kind(sets: c_int) -> usize {
    (sets as usize & 3).saturating_sub(1)
}

fn is_done(sets: c_int) -> bool {
    (sets & 1 == 0 || op::is_implicit_done(Set::Puts)) && (sets & 2 == 0 || op::is_implicit_done(Set::Gets))
}

fn check_no_region() -> Result<(), Error> {
    if op::in_region() {
        return bad_arg(format_args!("an implicit sync inside an access region"));
    }
    Ok(())
}

/// Opens an access region.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_begin_region() {
    must("gasnet_begin_nbi_accessregion", || {
        am()?; // nothing can be transferred before attach
        match full(op::begin_region())? {
            true => Ok(()),
            false => bad_arg(format_args!("an access region is open on this thread")),
        }
    });
}

/// Closes it: the handle of what was started inside, 0 when that is complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_end_region() -> usize {
    must("gasnet_end_nbi_accessregion", || match op::end_region() {
        Some(region) => Ok(handle(region)),
        None => bad_arg(format_args!("no access region is open on this thread")),
    })
}

/// Ends the job unless `[address, address + nbytes)` is in `node`'s segment; debug clients' inline transfers ask.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_range(
    name: *const c_char,
    node: u32,
    address: *const c_void,
    nbytes: usize,
) {
    let checked = || {
        let (am, _) = am()?;
        check_node(am, node)?;
        am.payloads().check(node, address as usize, nbytes)
    };
    if let Err(error) = checked() {
        // SAFETY: this function's own contract.
        die(&unsafe { CStr::from_ptr(name) }.to_string_lossy(), error)
    }
}
