//! Collectives (contract: coll.md §3–§8, §10). The header's functions all fill in the same structure and pass it here.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::Am;
use crate::api::shared::coll::{coll, origin, place};
use crate::api::shared::constants::*;
use crate::api::shared::rma::engines;
use crate::base::error::{Error, bad_arg};
use crate::coll::combine::{Combine, Function, Reduction};
use crate::coll::description::NAMES;
use crate::coll::team::TeamRef;
use crate::coll::{Addresses, Call, Coll, ImagePlace, Kind, Plain, flags};
use crate::job::{Job, fatal};
use crate::sci::Host;
use crate::trace::{self, NO_NODE, TracedOp};
use crate::xfer::event::{self, Events, Whose};
use std::ffi::{CStr, c_char, c_int, c_void};

/// One collective as its caller wrote it. The library ignores the fields that the operation does not use.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasneti_sci_coll_call_t {
    /// `gasnet_team_handle_t`.
    pub team: usize,
    /// Destination, or list of destinations.
    pub dst: *const c_void,
    /// Source, or list of sources.
    pub src: *const c_void,
    /// Bytes of a block; in reduce and scan, of an element.
    pub nbytes: usize,
    /// Elements of a vector, in reduce and scan.
    pub count: usize,
    /// Block size and offset of the destination, then of the source. All must be 0.
    pub layout: [usize; 4],
    /// The operation: 0 broadcast, 1 scatter, 2 gather, 3 gather_all, 4 exchange, 5 reduce, 6 scan.
    pub kind: u32,
    /// 1 if `dst` or `src` is a list of addresses (the M forms), else 0.
    pub lists: u32,
    /// `GASNET_COLL_*`.
    pub flags: u32,
    /// The root's image.
    pub root: u32,
    /// Index of the reduction function in the table of `gasnet_coll_init`.
    pub func: i32,
    /// The argument that the client gives to that function.
    pub func_arg: i32,
}

/// `gasnet_coll_fn_entry_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasneti_sci_coll_fn_t {
    /// The function.
    pub fnptr: *mut c_void,
    /// `GASNET_COLL_AMSAFE`, `GASNET_COLL_NONCOMM`.
    pub flags: u32,
}

/// Like `api::must`, with the place if the client set it.
pub(in crate::api) fn must<T>(name: &'static str, body: impl FnOnce() -> Result<T, Error>) -> T {
    match body() {
        Ok(value) => value,
        Err(error) => failed(name, &error),
    }
}

#[cold]
fn failed(name: &'static str, error: &Error) -> ! {
    let Some((told, file, line)) = place() else { fatal(format_args!("{name}: {error}")) };
    // SAFETY: set by `gasneti_sci_coll_at` from C strings that stay.
    let told = unsafe { CStr::from_ptr(told) }.to_string_lossy();
    // The place may be that of another call, made in the arguments of this one. Both are on the same line.
    let name = if told.starts_with(name) { &told } else { name };
    // SAFETY: `gasneti_sci_coll_at` stored it: a C string that stays.
    let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
    fatal(format_args!("{name}: {error} at {file}:{line}"))
}

/// Kinds from this one on move vectors of `count` elements.
const REDUCE: usize = 5;

/// How each kind is recorded: the blocking form, then the non-blocking one.
const OPS: [[TracedOp; 2]; 7] = [
    [TracedOp::Broadcast, TracedOp::BroadcastNb],
    [TracedOp::Scatter, TracedOp::ScatterNb],
    [TracedOp::Gather, TracedOp::GatherNb],
    [TracedOp::GatherAll, TracedOp::GatherAllNb],
    [TracedOp::Exchange, TracedOp::ExchangeNb],
    [TracedOp::Reduce, TracedOp::ReduceNb],
    [TracedOp::Scan, TracedOp::ScanNb],
];

/// `gasnet_coll_init`. Blocks until all nodes, and all images of this one, have called.
///
/// # Safety
/// `images` is NULL or has one count per node; `functions` has `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_coll_init(
    images: *const u32,
    my_image: u32,
    functions: *const gasneti_sci_coll_fn_t,
    count: usize,
) {
    must("gasnet_coll_init", || {
        let job = Job::attached()?;
        let coll = job.coll()?;
        // SAFETY: not NULL, so the caller promises one count per node.
        let counts = (!images.is_null()).then(|| unsafe { std::slice::from_raw_parts(images, job.nodes() as usize) });
        let entry = |i: usize| {
            // SAFETY: i < count, and the caller promises `count` entries in `functions`.
            let entry = unsafe { functions.wrapping_add(i).read() };
            // SAFETY: the client registers functions of this prototype, or NULL, which `Option` has room for.
            let function = unsafe { std::mem::transmute::<*mut c_void, Option<Function>>(entry.fnptr) };
            match function {
                Some(function) => Ok((function, entry.flags)),
                None => bad_arg(format_args!("function {i} of the table is NULL")),
            }
        };
        let count = if functions.is_null() { 0 } else { count };
        let functions = (0..count).map(entry).collect::<Result<Vec<_>, Error>>()?;
        coll.init(counts, my_image, &functions)
    });
}

/// Starts a collective, and completes it if `blocking`. Returns the handle, 0 when it is complete. Errors are fatal.
///
/// # Safety
/// `call` points to a filled structure. Its lists have as many addresses as the contract says; its memory is accessible
/// until the collective is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_coll_run(call: *const gasneti_sci_coll_call_t, blocking: c_int) -> usize {
    // SAFETY: the caller promises that `call` points to a filled structure.
    let call = unsafe { &*call };
    let kind = (call.kind as usize).min(Kind::Scan as usize); // `make` refuses what is above
    let run = || {
        let coll = coll()?;
        let team = coll.team_for(call.team, call.flags)?;
        // SAFETY: the caller promises that the call's lists are complete and its memory accessible.
        if blocking != 0 && unsafe { run_short(coll, &team, call) }? {
            return Ok(0);
        }
        let place = coll.place(&team)?;
        // SAFETY: the caller promises that the call's lists are complete and its memory accessible.
        let made = unsafe { make(coll, call, &place) }?;
        if coll.debug() {
            check(coll.am(), &made, &place)?;
        }
        coll.run(team, made, blocking != 0)
    };
    let op = OPS[kind][usize::from(blocking == 0)];
    let bytes = if kind < REDUCE { call.nbytes } else { call.nbytes.wrapping_mul(call.count) };
    trace::moved!(op, NO_NODE, bytes, must(NAMES[kind], run))
}

/// The kind of a call of GASNet-1.
fn kind_of(call: &gasneti_sci_coll_call_t) -> Option<Kind> {
    Kind::from_number(call.kind).filter(|kind| *kind != Kind::ReduceAll)
}

/// Does a blocking call in the short way (`coll::short`), if there is one for it. Returns whether it did.
///
/// # Safety
/// As [`gasneti_sci_coll_run`].
#[inline]
unsafe fn run_short(
    coll: &'static Coll<Host>,
    team: &TeamRef<Host>,
    call: &gasneti_sci_coll_call_t,
) -> Result<bool, Error> {
    let (Some(kind), 0) = (kind_of(call), call.lists) else { return Ok(false) };
    let (each, reduction) = match kind {
        // SAFETY: the caller promises that the call's lists are complete and its memory accessible.
        Kind::Reduce => unsafe { reduction(coll, kind, call) }?,
        _ => (call.nbytes, None),
    };
    let (dst, src, root) = (call.dst as usize, call.src as usize, call.root as usize);
    Ok(coll.run_short(team, &Plain { kind, root, each, flags: call.flags, dst, src, reduction }))
}

/// # Safety
/// As [`gasneti_sci_coll_run`].
#[inline]
unsafe fn make(coll: &Coll<Host>, call: &gasneti_sci_coll_call_t, place: &ImagePlace) -> Result<Call, Error> {
    let Some(kind) = kind_of(call) else { return bad_arg(format_args!("kind {}", call.kind)) };
    let lists = call.lists != 0;
    let side = |list: *const c_void, listed: bool| {
        if !listed || !lists {
            return Addresses::one(list as usize);
        }
        let first = if call.flags & flags::SINGLE != 0 { place.first } else { 0 };
        let entry = |i| list.cast::<usize>().wrapping_add(first + i);
        // SAFETY: the caller promises as many addresses in the list as there are images here.
        (0..place.here).map(|i| unsafe { entry(i).read() }).collect()
    };
    let dst = side(call.dst, !matches!(kind, Kind::Gather | Kind::Reduce));
    let src = side(call.src, !matches!(kind, Kind::Broadcast | Kind::Scatter));
    let root = call.root as usize;
    if kind.is_rooted() && root >= place.total {
        return bad_arg(format_args!("root {root} is out of range: the team has {} members", place.total));
    }
    let (each, reduction) = match kind {
        // SAFETY: the caller promises that the call's lists are complete and its memory accessible.
        Kind::Reduce | Kind::Scan => unsafe { reduction(coll, kind, call) }?,
        _ => (call.nbytes, None),
    };
    let origin =
        if coll.debug() { origin(if reduction.is_some() { call.func as u32 } else { 0 }, false) } else { None };
    let reduction = reduction.map(Combine::Table);
    Ok(Call { kind, root, each, flags: call.flags, dst, src, lists, reduction, origin })
}

/// # Safety
/// As [`gasneti_sci_coll_run`].
#[cold]
unsafe fn reduction(
    coll: &Coll<Host>,
    kind: Kind,
    call: &gasneti_sci_coll_call_t,
) -> Result<(usize, Option<Reduction>), Error> {
    if call.layout != [0; 4] {
        let [dst_blksz, dst_offset, src_blksz, src_offset] = call.layout;
        return bad_arg(format_args!(
            "block-cyclic vectors (dst_blksz {dst_blksz}, dst_offset {dst_offset}, src_blksz {src_blksz}, src_offset \
             {src_offset}) are not supported; all must be 0"
        ));
    }
    let exclusive = call.flags & flags::EXCLUSIVE_SCAN != 0;
    if kind == Kind::Scan && exclusive == (call.flags & flags::INCLUSIVE_SCAN != 0) {
        return bad_arg(format_args!("a scan needs one of GASNET_COLL_INCLUSIVE_SCAN and GASNET_COLL_EXCLUSIVE_SCAN"));
    }
    let Some(each) = call.nbytes.checked_mul(call.count) else {
        return bad_arg(format_args!("{} elements of {} bytes", call.count, call.nbytes));
    };
    let (function, registered) = coll.function(call.func)?;
    // SAFETY: the client's promise for the function that it registered.
    let how = unsafe { Reduction::new(function, registered, call.nbytes, call.func_arg, exclusive) };
    Ok((each, Some(how)))
}

/// More checks for debug clients: flags and segments (contract: coll.md §2.1, §4).
#[cold]
fn check(am: &Am<Host>, call: &Call, place: &ImagePlace) -> Result<(), Error> {
    let groups = [
        (0x07, "GASNET_COLL_IN_NOSYNC, IN_MYSYNC and IN_ALLSYNC"),
        (0x38, "GASNET_COLL_OUT_NOSYNC, OUT_MYSYNC and OUT_ALLSYNC"),
        (0xc0, "GASNET_COLL_SINGLE and LOCAL"),
    ];
    for (mask, names) in groups {
        if (call.flags & mask).count_ones() != 1 {
            return bad_arg(format_args!("flags {:#x}: exactly one of {names} must be given", call.flags));
        }
    }
    if call.has(flags::SINGLE) && !call.lists && !place.single {
        return bad_arg(format_args!("GASNET_COLL_SINGLE with one address, and several images on a node"));
    }
    let root = call.root == place.first + place.image;
    let one = call.each;
    let all = one.saturating_mul(place.total);
    // Bytes at each of this node's addresses; 0 where the operation does not use the address.
    let at_root = |len| if root { len } else { 0 };
    let (dst, src) = match call.kind {
        Kind::Broadcast => (one, at_root(one)),
        Kind::Scatter => (one, at_root(all)),
        Kind::Gather => (at_root(all), one),
        Kind::GatherAll => (all, one),
        Kind::Exchange => (all, all),
        Kind::Reduce => (at_root(one), one),
        Kind::Scan | Kind::ReduceAll => (one, one),
    };
    for (flag, name, addresses, len) in
        [(flags::DST_IN_SEGMENT, "DST", &call.dst, dst), (flags::SRC_IN_SEGMENT, "SRC", &call.src, src)]
    {
        if call.has(flag) {
            for address in addresses.iter() {
                if let Err(error) = am.table().check(am.me(), *address, len) {
                    return bad_arg(format_args!("GASNET_COLL_{name}_IN_SEGMENT: {error}"));
                }
            }
        }
    }
    Ok(())
}

/// Polls once; returns `GASNET_OK`, after which the handle is invalid, or `GASNET_ERR_NOT_READY`.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_coll_try(handle: usize) -> c_int {
    trace::timed!(
        TracedOp::CollTry,
        must("gasnet_coll_try_sync", || {
            let coll = coll()?;
            coll.am().poll();
            Ok(if event::test(handle, Whose::Any)? { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_NOT_READY })
        })
    )
}

/// Waits for an event. A debug client is told of the members that it waits for.
fn wait(event: usize) -> Result<(), Error> {
    let coll = coll()?;
    match coll.debug() {
        true => coll.wait_for(|| event::test(event, Whose::Any)),
        false => engines()?.wait(event, Whose::Any),
    }
}

/// Waits until the collective of one handle is complete. Serves messages meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_coll_wait(handle: usize) {
    trace::timed!(TracedOp::CollWait, must("gasnet_coll_wait_sync", || wait(handle)))
}

/// Polls once; returns `GASNET_OK` if all of `n` handles are complete, else `GASNET_ERR_NOT_READY`.
///
/// If `all` is 0, one complete handle is enough. The library overwrites the handles of complete collectives with 0.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_coll_try_array(handles: *mut usize, n: usize, all: c_int) -> c_int {
    trace::timed!(
        TracedOp::CollTryArray,
        must("gasnet_coll_try_sync_some or _all", || {
            let coll = coll()?;
            coll.am().poll();
            // SAFETY: the caller promises that `handles` points to `n` handles.
            let found = unsafe { Events::new(handles, n) }?.test(Whose::Any)?;
            Ok(if found.is_enough(all != 0) { GASNETI_SCI_OK } else { GASNETI_SCI_ERR_NOT_READY })
        })
    )
}

/// Waits until all of `n` handles are complete, or at least one if `all` is 0. Overwrites complete ones with 0.
///
/// # Safety
/// `handles` points to `n` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_coll_wait_array(handles: *mut usize, n: usize, all: c_int) {
    trace::timed!(
        TracedOp::CollWaitArray,
        must("gasnet_coll_wait_sync_some or _all", || {
            let coll = coll()?;
            // SAFETY: the caller promises that `handles` points to `n` handles.
            let handles = unsafe { Events::new(handles, n) }?;
            match coll.debug() {
                true => coll.wait_for(|| Ok(handles.test(Whose::Any)?.is_enough(all != 0))),
                false => engines()?.wait_events(handles, all != 0, Whose::Any),
            }
        })
    )
}

/// `gasnet_coll_loadTuningState`: changes nothing, but a file that does not exist is an error.
///
/// The library has one table of algorithms, which is not tuned at run time.
///
/// # Safety
/// `name` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_coll_load(name: *const c_char, team: usize) {
    must("gasnet_coll_loadTuningState", || {
        coll()?.team(team)?;
        let default = c"gasnet_coll_tuning_defaults.bin";
        // SAFETY: not NULL, so the caller promises that `name` is a C string.
        let name = if name.is_null() { default } else { unsafe { CStr::from_ptr(name) } }.to_string_lossy();
        match std::fs::metadata(&*name) {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::resource(format_args!("{name}: {error}"))),
        }
    });
}
