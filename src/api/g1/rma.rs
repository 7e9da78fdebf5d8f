//! One-sided transfers that the header does not do inline, and their handles (contract: extended.md §1–§7). Errors end
//! the job.
//!
//! Each transfer's shim passes the bytes to move and the name of the call to `transfer`, which does the rest by the
//! call's row in `CALLS`. The shims are written out as functions, because cbindgen reads the prototypes from here.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::Am;
use crate::am::source::Source;
use crate::api::constants::*;
use crate::api::{die, must};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sci::Host;
use crate::trace::{self, NO_NODE, TracedOp};
use crate::verbs::{Begun, Flags, Local, Target};
use crate::xfer::event::{self, Events, Sets, Whose};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use crate::xfer::{Completion, Engines, Landing};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The engines of this process.
type On = Engines<'static, Host>;

pub(in crate::api) fn engines() -> Result<On, Error> {
    let job = Job::attached()?;
    Ok(Engines { am: job.am(), rma: job.rma() })
}

pub(in crate::api) fn check_node(am: &Am<Host>, node: u32) -> Result<(), Error> {
    if node >= am.nodes() {
        return bad_arg(format_args!("node {node} is out of range: the job has {} nodes", am.nodes()));
    }
    Ok(())
}

/// The bytes that a call moves: from where, to where.
#[derive(Clone, Copy)]
enum What {
    Put(*mut c_void, Source),
    Get(Landing, *const c_void),
    /// Destination, a value whose low byte is stored, and the number of bytes.
    Set(*mut c_void, c_int, usize),
    /// Source and number of bytes, which go into the operation itself.
    Value(*const c_void, usize),
}

impl What {
    #[inline(always)]
    fn bytes(self) -> usize {
        match self {
            What::Put(_, source) => source.len(),
            What::Get(landing, _) => landing.len(),
            What::Set(_, _, len) | What::Value(_, len) => len,
        }
    }

    #[inline(always)]
    fn begin(self, on: On, to: Target, c: Completion<'_>) -> Result<Begun, Error> {
        let Engines { am, rma } = on;
        match self {
            What::Put(dest, source) => rma.put(am, to, dest as usize, source, Flags::NONE, c),
            What::Get(landing, src) => rma.get(am, to, src as usize, landing, Flags::NONE, c),
            What::Set(dest, val, len) => rma.set(am, to, dest as usize, (val as u8, len), Flags::NONE, c),
            What::Value(src, len) => rma.get_value(am, to, src as usize, len, c),
        }
    }
}

/// # Safety
/// `src` is readable for `n` bytes: during the call, or, with [`Local::Later`], until the operation is synced.
#[inline(always)]
unsafe fn put(dest: *mut c_void, src: *const c_void, n: usize) -> What {
    // SAFETY: the caller promises that `src` is readable for `n` bytes as long as this call's form needs it.
    What::Put(dest, unsafe { Source::new(src.cast(), n) })
}

/// # Safety
/// `dest` is writable for `n` bytes until the operation is synced.
#[inline(always)]
unsafe fn get(dest: *mut c_void, src: *const c_void, n: usize) -> What {
    // SAFETY: the caller promises that `dest` is writable for `n` bytes until the sync.
    What::Get(unsafe { Landing::new(dest.cast(), n) }, src)
}

/// The calls that move bytes.
#[derive(Clone, Copy)]
enum TransferCall {
    Put,
    Get,
    Memset,
    PutNb,
    PutNbBulk,
    GetNb,
    MemsetNb,
    PutNbi,
    PutNbiBulk,
    GetNbi,
    MemsetNbi,
    PutVal,
    PutNbVal,
    PutNbiVal,
    GetVal,
    GetNbVal,
}

/// Of each call: its name in messages, its kind in records, and how its completion is told. Bulk puts, and non-blocking
/// gets, leave their memory to the library until they are synced.
const CALLS: [(TransferCall, &str, TracedOp, How); 16] = [
    (TransferCall::Put, "gasnet_put", TracedOp::Put, How::Blocking),
    (TransferCall::Get, "gasnet_get", TracedOp::Get, How::Blocking),
    (TransferCall::Memset, "gasnet_memset", TracedOp::Memset, How::Blocking),
    (TransferCall::PutNb, "gasnet_put_nb", TracedOp::PutNb, How::Event(Local::AtReturn)),
    (TransferCall::PutNbBulk, "gasnet_put_nb_bulk", TracedOp::PutNb, How::Event(Local::Later)),
    (TransferCall::GetNb, "gasnet_get_nb", TracedOp::GetNb, How::Event(Local::Later)),
    (TransferCall::MemsetNb, "gasnet_memset_nb", TracedOp::MemsetNb, How::Event(Local::AtReturn)),
    (TransferCall::PutNbi, "gasnet_put_nbi", TracedOp::PutNbi, How::Implicit(Set::Puts, Local::AtReturn)),
    (TransferCall::PutNbiBulk, "gasnet_put_nbi_bulk", TracedOp::PutNbi, How::Implicit(Set::Puts, Local::Later)),
    (TransferCall::GetNbi, "gasnet_get_nbi", TracedOp::GetNbi, How::Implicit(Set::Gets, Local::Later)),
    (TransferCall::MemsetNbi, "gasnet_memset_nbi", TracedOp::MemsetNbi, How::Implicit(Set::Puts, Local::AtReturn)),
    (TransferCall::PutVal, "gasnet_put_val", TracedOp::PutVal, How::Blocking),
    (TransferCall::PutNbVal, "gasnet_put_nb_val", TracedOp::PutNbVal, How::Event(Local::AtReturn)),
    (TransferCall::PutNbiVal, "gasnet_put_nbi_val", TracedOp::PutNbiVal, How::Implicit(Set::Puts, Local::AtReturn)),
    (TransferCall::GetVal, "gasnet_get_val", TracedOp::GetVal, How::Blocking),
    (TransferCall::GetNbVal, "gasnet_get_nb_val", TracedOp::GetNbVal, How::Value),
];

const _: () = {
    let mut i = 0;
    while i < CALLS.len() {
        assert!(CALLS[i].0 as usize == i, "calls stand at their numbers");
        i += 1;
    }
};

/// Moves `what` between this node and `node`; the handle, 0 if it is complete or has none. Blocking calls are recorded
/// with their duration.
///
/// The call is a const parameter, so that the compiler makes one copy of the engine's verb per call and decides in it
/// everything that depends on the call. Shared code would decide at run time (30 instructions more per transfer).
#[inline(always)]
fn transfer<const CALL: usize>(node: u32, what: What) -> usize {
    let (_, name, op, how) = const { CALLS[CALL] };
    let timed = how == How::Blocking;
    let _recorded = timed.then(|| trace::span(op, node, what.bytes()));
    if !timed {
        trace::event(op, node, what.bytes());
    }
    must(name, || {
        let on = engines()?;
        check_node(on.am, node)?;
        let root = on.transfer(how, |c| what.begin(on, Target::node(node), c))?;
        Ok(root.unwrap_or(0)) // None would be a refusal, which only IMMEDIATE allows
    })
}

/// Blocking put of `nbytes` bytes, complete at the target when it returns. Serves messages while it waits.
///
/// # Safety
/// `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::Put as usize }>(node, put);
}

/// Blocking get of `nbytes` bytes. Serves messages while it waits.
///
/// # Safety
/// `dest` is writable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get(dest: *mut c_void, node: u32, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `dest` is writable for `nbytes` bytes; we return when it is done.
    let get = unsafe { get(dest, src, nbytes) };
    transfer::<{ TransferCall::Get as usize }>(node, get);
}

/// Blocking memset: stores the low byte of `val` `nbytes` times.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) {
    transfer::<{ TransferCall::Memset as usize }>(node, What::Set(dest, val, nbytes));
}

/// Put with an explicit handle, which is 0 if the put is complete. The source is free for reuse at return.
///
/// # Safety
/// `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nb(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) -> usize {
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::PutNb as usize }>(node, put)
}

/// Put with an explicit handle, whose source must not change until the handle is synced.
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
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::PutNbBulk as usize }>(node, put)
}

/// Get with an explicit handle, which is 0 if the get is complete.
///
/// # Safety
/// `dest` is writable for `nbytes` bytes until the handle is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get_nb(dest: *mut c_void, node: u32, src: *const c_void, nbytes: usize) -> usize {
    // SAFETY: the caller promises that `dest` is writable for `nbytes` bytes until the sync.
    let get = unsafe { get(dest, src, nbytes) };
    transfer::<{ TransferCall::GetNb as usize }>(node, get)
}

/// Memset with an explicit handle, which is 0 if the memset is complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset_nb(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) -> usize {
    transfer::<{ TransferCall::MemsetNb as usize }>(node, What::Set(dest, val, nbytes))
}

/// Put with an implicit handle: a sync of this thread's implicit puts, or its open region, waits for it.
///
/// # Safety
/// `src` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nbi(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::PutNbi as usize }>(node, put);
}

/// Put with an implicit handle, whose source must not change until the put is synced.
///
/// # Safety
/// `src` is readable for `nbytes` bytes until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nbi_bulk(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::PutNbiBulk as usize }>(node, put);
}

/// Get with an implicit handle: a sync of this thread's implicit gets, or its open region, waits for it.
///
/// # Safety
/// `dest` is writable for `nbytes` bytes until it is synced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get_nbi(dest: *mut c_void, node: u32, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `dest` is writable for `nbytes` bytes until the sync.
    let get = unsafe { get(dest, src, nbytes) };
    transfer::<{ TransferCall::GetNbi as usize }>(node, get);
}

/// Memset with an implicit handle, which counts as one of this thread's puts.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_memset_nbi(node: u32, dest: *mut c_void, val: c_int, nbytes: usize) {
    transfer::<{ TransferCall::MemsetNbi as usize }>(node, What::Set(dest, val, nbytes));
}

/// As `gasneti_sci_put`, of a value.
///
/// # Safety
/// As [`gasneti_sci_put`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_val(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::PutVal as usize }>(node, put);
}

/// As `gasneti_sci_put_nb`, of a value.
///
/// # Safety
/// As [`gasneti_sci_put_nb`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nb_val(
    node: u32,
    dest: *mut c_void,
    src: *const c_void,
    nbytes: usize,
) -> usize {
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::PutNbVal as usize }>(node, put)
}

/// As `gasneti_sci_put_nbi`, of a value.
///
/// # Safety
/// As [`gasneti_sci_put_nbi`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_put_nbi_val(node: u32, dest: *mut c_void, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `src` is readable for `nbytes` bytes, as long as this call's form needs it.
    let put = unsafe { put(dest, src, nbytes) };
    transfer::<{ TransferCall::PutNbiVal as usize }>(node, put);
}

/// As `gasneti_sci_get`, of a value.
///
/// # Safety
/// As [`gasneti_sci_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_get_val(dest: *mut c_void, node: u32, src: *const c_void, nbytes: usize) {
    // SAFETY: the caller promises that `dest` is writable for `nbytes` bytes; we return when it is done.
    let get = unsafe { get(dest, src, nbytes) };
    transfer::<{ TransferCall::GetVal as usize }>(node, get);
}

/// Starts a get of a value of 1 to 8 bytes. The caller must wait for the handle exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_get_nb_val(node: u32, src: *const c_void, nbytes: usize) -> u64 {
    transfer::<{ TransferCall::GetNbVal as usize }>(node, What::Value(src, nbytes)) as u64
}

/// Ends the job, because the value form `name` was called with an impossible size.
///
/// # Safety
/// `name` is a C string.
#[cold]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_bad_value(name: *const c_char, nbytes: usize) -> ! {
    // SAFETY: the caller promises that `name` is a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    die(&name, format_args!("a value of {nbytes} bytes; 1 to 8 are possible"))
}

/// Serves messages; does nothing in a handler. The header calls it after every 256th inline transfer, or sooner.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tick_poll() {
    crate::api::threads::note();
    if let Ok(on) = engines() {
        on.am.poll_in_loop();
    }
}

/// Waits for a get of a value, and returns the value.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_valget(handle: u64) -> u64 {
    let _recorded = trace::span(TracedOp::WaitValget, NO_NODE, 0);
    must("gasnet_wait_syncnb_valget", || engines()?.wait_value(handle as usize, Whose::of_handles()))
}

pub(in crate::api) fn is_ready(ready: bool) -> c_int {
    if ready { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_NOT_READY }
}

/// The engines. Serves messages first if `poll` is not 0.
#[inline(always)]
fn polled(poll: c_int) -> Result<On, Error> {
    let on = engines()?;
    if poll != 0 {
        on.am.poll_in_loop();
    }
    Ok(on)
}

/// `GASNET_OK`, after which the handle is invalid, or `GASNET_ERR_NOT_READY`.
///
/// Serves messages first if `poll` is not 0.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_try_nb(handle: usize, poll: c_int) -> c_int {
    let _recorded = trace::span(TracedOp::TestNb, NO_NODE, 0);
    must(if poll != 0 { "gasnet_try_syncnb" } else { "gasnet_try_syncnb_nopoll" }, || {
        polled(poll)?;
        event::test(handle, Whose::of_handles()).map(is_ready)
    })
}

/// Waits until the operation of one handle is complete. Serves messages meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_nb(handle: usize) {
    let _recorded = trace::span(TracedOp::WaitNb, NO_NODE, 0);
    must("gasnet_wait_syncnb", || engines()?.wait(handle, Whose::of_handles()));
}

/// `GASNET_OK` if all of `n` handles are complete, else `GASNET_ERR_NOT_READY`.
///
/// If `all` is 0, one complete handle is enough. The library overwrites complete handles with 0. It serves messages
/// first if `poll` is not 0.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_try_array(handles: *mut usize, n: usize, all: c_int, poll: c_int) -> c_int {
    let _recorded = trace::span(TracedOp::of_several(false, all != 0), NO_NODE, 0);
    let name = match (all != 0, poll != 0) {
        (true, true) => "gasnet_try_syncnb_all",
        (false, true) => "gasnet_try_syncnb_some",
        (true, false) => "gasnet_try_syncnb_all_nopoll",
        (false, false) => "gasnet_try_syncnb_some_nopoll",
    };
    must(name, || {
        polled(poll)?;
        // SAFETY: the caller promises that `handles` points to `n` handles.
        let found = unsafe { Events::new(handles, n) }?.test(Whose::of_handles())?;
        Ok(is_ready(found.is_enough(all != 0)))
    })
}

/// Waits until all of `n` handles are complete, or at least one if `all` is 0. Overwrites complete ones with 0.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_wait_array(handles: *mut usize, n: usize, all: c_int) {
    let _recorded = trace::span(TracedOp::of_several(true, all != 0), NO_NODE, 0);
    must(if all != 0 { "gasnet_wait_syncnb_all" } else { "gasnet_wait_syncnb_some" }, || {
        // SAFETY: the caller promises that `handles` points to `n` handles.
        let events = unsafe { Events::new(handles, n) }?;
        engines()?.wait_events(events, all != 0, Whose::of_handles())
    });
}

/// Translates `sets` of the implicit syncs (1 puts, 2 gets, 3 both), and gives the index of the call's name.
fn which(sets: c_int) -> (Sets, usize) {
    match sets & 3 {
        1 => (Sets::PUTS, 0),
        2 => (Sets::GETS, 1),
        3 => (Sets::ALL, 2),
        _ => (Sets::NONE, 0),
    }
}

/// `GASNET_OK` if all implicit operations of this thread in `sets` are complete, else `GASNET_ERR_NOT_READY`.
///
/// `sets`: 1 puts, 2 gets, 3 both.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_try_nbi(sets: c_int) -> c_int {
    let _recorded = trace::span(TracedOp::TestNbi, NO_NODE, 0);
    let (sets, at) = which(sets);
    must(["gasnet_try_syncnbi_puts", "gasnet_try_syncnbi_gets", "gasnet_try_syncnbi_all"][at], || {
        polled(1)?;
        sets.test().map(is_ready)
    })
}

/// Waits until all implicit operations of this thread in `sets` (1 puts, 2 gets, 3 both) are complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_wait_nbi(sets: c_int) {
    let _recorded = trace::span(TracedOp::WaitNbi, NO_NODE, 0);
    let (sets, at) = which(sets);
    must(["gasnet_wait_syncnbi_puts", "gasnet_wait_syncnbi_gets", "gasnet_wait_syncnbi_all"][at], || {
        engines()?.wait_sets(sets)
    });
}

/// Opens an access region of this thread. Fatal if one is open.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_begin_region() {
    must("gasnet_begin_nbi_accessregion", || {
        engines()?; // an error before attach
        event::begin_region()
    });
}

/// Closes the access region and returns the handle of its operations, 0 if they are complete.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_end_region() -> usize {
    trace::event(TracedOp::EndRegion, NO_NODE, 0);
    must("gasnet_end_nbi_accessregion", event::end_region)
}

/// Ends the job unless `[address, address + nbytes)` is in the segment of `node`. Only debug clients call it.
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
        let am = engines()?.am;
        check_node(am, node)?;
        am.table().check(node, address as usize, nbytes)
    };
    if let Err(error) = checked() {
        // SAFETY: the caller promises that `name` is a C string.
        die(&unsafe { CStr::from_ptr(name) }.to_string_lossy(), error)
    }
}
