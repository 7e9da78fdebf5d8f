//! What the vector, indexed and strided transfers of both APIs share: how one starts that cannot be done at once, and the handler
//! that a put may have at its target (contract: ex-rma.md §9). The calls of both APIs must take it: the next put has it, whatever
//! its name.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::shared::constants::*;
use crate::api::shared::outcome::must;
use crate::api::shared::reach;
use crate::api::shared::rma::{NO_OP, engines};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sync::fixed::{AtomicBool, Ordering};
use crate::trace::TracedOp;
use crate::verbs::{Begun, Flags, Local, Target};
use crate::vis::shape::{Indexed, Piece, What};
use crate::vis::{MAX_COMPLETION, Verb};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use std::cell::RefCell;
use std::ffi::c_void;

/// `gasnet_memvec_t`. The header defines it itself, before these prototypes.
#[repr(C)]
pub struct gasnet_memvec_t {
    /// First byte.
    pub addr: *mut c_void,
    /// Bytes.
    pub len: usize,
}

const _: () = assert!(size_of::<gasnet_memvec_t>() == size_of::<Piece>());

/// A blocking copy of this many bytes or more serves messages afterwards. After many small ones the header does.
pub(super) const POLL_BYTES: usize = 64 << 10;

/// The kinds in traces and statistics, in the same order.
pub(super) const OPS: [[TracedOp; 3]; 6] = [
    [TracedOp::PutV, TracedOp::PutVNb, TracedOp::PutVNbi],
    [TracedOp::GetV, TracedOp::GetVNb, TracedOp::GetVNbi],
    [TracedOp::PutI, TracedOp::PutINb, TracedOp::PutINbi],
    [TracedOp::GetI, TracedOp::GetINb, TracedOp::GetINbi],
    [TracedOp::PutS, TracedOp::PutSNb, TracedOp::PutSNbi],
    [TracedOp::GetS, TracedOp::GetSNb, TracedOp::GetSNbi],
];

/// A client's array. `BadArg`: NULL, or more elements than memory holds.
///
/// # Safety
/// `array` is NULL, or points to `n` elements that no thread writes while the slice is used.
#[inline(always)]
pub(super) unsafe fn slice<'a, T>(name: &str, array: *const T, n: usize) -> Result<&'a [T], Error> {
    if n == 0 {
        return Ok(&[]);
    }
    if array.is_null() || n > isize::MAX as usize / size_of::<T>() {
        return bad_array(name, array.is_null(), n);
    }
    // SAFETY: not NULL, so the caller promises `n` elements that no thread writes meanwhile.
    Ok(unsafe { std::slice::from_raw_parts(array, n) })
}

#[cold]
#[inline(never)]
fn bad_array<T>(name: &str, null: bool, n: usize) -> Result<T, Error> {
    if null {
        return bad_arg(format_args!("{name} is NULL, and its length {n}"));
    }
    bad_arg(format_args!("{name} cannot have {n} elements"))
}

/// # Safety
/// As [`slice`].
#[inline(always)]
unsafe fn pieces<'a>(name: &str, list: *const gasnet_memvec_t, n: usize) -> Result<&'a [Piece], Error> {
    // SAFETY: the caller promises `n` elements in `list`; the types have the same layout.
    unsafe { slice(name, list.cast(), n) }
}

/// # Safety
/// As [`slice`].
#[inline(always)]
unsafe fn indices<'a>(name: &str, list: *const *mut c_void, n: usize, len: usize) -> Result<Indexed<'a>, Error> {
    // SAFETY: the caller promises `n` elements in `list`; addresses are words.
    let list = unsafe { slice(name, list.cast::<usize>(), n) }?;
    Ok(Indexed { list, len })
}

/// # Safety
/// Both lists as in [`slice`].
#[inline(always)]
pub(super) unsafe fn vector<'a>(
    dstcount: usize,
    dstlist: *const gasnet_memvec_t,
    srccount: usize,
    srclist: *const gasnet_memvec_t,
) -> Result<[&'a [Piece]; 2], Error> {
    // SAFETY: the caller promises `dstcount` elements in `dstlist`.
    let dst = unsafe { pieces("dstlist", dstlist, dstcount) }?;
    // SAFETY: the caller promises `srccount` elements in `srclist`.
    let src = unsafe { pieces("srclist", srclist, srccount) }?;
    Ok([dst, src])
}

/// # Safety
/// Both lists as in [`slice`].
#[inline(always)]
pub(super) unsafe fn indexed<'a>(
    dstcount: usize,
    dstlist: *const *mut c_void,
    dstlen: usize,
    srccount: usize,
    srclist: *const *mut c_void,
    srclen: usize,
) -> Result<[Indexed<'a>; 2], Error> {
    // SAFETY: the caller promises `dstcount` elements in `dstlist`.
    let dst = unsafe { indices("dstlist", dstlist, dstcount, dstlen) }?;
    // SAFETY: the caller promises `srccount` elements in `srclist`.
    let src = unsafe { indices("srclist", srclist, srccount, srclen) }?;
    Ok([dst, src])
}

/// A handler that the client wants to be run at the target of its next put.
pub(super) struct Armed {
    handler: u8,
    payload: Box<[u8]>,
}

thread_local! {
    /// That of this thread's next put.
    static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
}

/// Some thread has armed a handler. Few programs do, and the others need not look.
static ANY_ARMED: AtomicBool = AtomicBool::new(false);

/// Takes the handler that this thread has armed, if `verb` is a put. `BadArg`: `verb` is a get, a handler is armed, and the client is a
/// debug build.
#[inline(always)]
pub(super) fn take_armed(verb: Verb) -> Result<Option<Armed>, Error> {
    // Relaxed: the thread that armed sees its own store.
    if !ANY_ARMED.load(Ordering::Relaxed) { Ok(None) } else { take(verb) }
}

#[cold]
#[inline(never)]
fn take(verb: Verb) -> Result<Option<Armed>, Error> {
    if verb.is_put() {
        return Ok(ARMED.try_with(RefCell::take).unwrap_or_default()); // gone when the thread ends
    }
    let is_armed = ARMED.try_with(|armed| armed.borrow().is_some()).unwrap_or(false);
    if is_armed && Job::get()?.client().debug {
        return bad_arg(format_args!("a get between gex_VIS_SetPeerCompletionHandler and its put"));
    }
    Ok(None)
}

/// Makes the transfer `what` and runs the handler that is armed, as far as there are any. Returns the root event, 0 if it is complete or
/// has none, or `NO_OP`. `form` is one of `GASNETI_SCI_VIS_*`; `local` says whether the client asks for local completion.
///
/// # Safety
/// The memory described is readable and writable as the contract wants it: the local side here until the operation is synced, the remote
/// side in the segment of `node`.
#[inline(always)]
pub(super) unsafe fn start(
    verb: Verb,
    form: usize,
    node: u32,
    what: Option<&What<'_>>,
    local: Local,
    flags: Flags,
    armed: Option<Armed>,
) -> Result<usize, Error> {
    let (on, to, vis) = (engines()?, Target::node(node), Job::attached()?.vis());
    // SAFETY: as the caller promises.
    let left = what.filter(|what| !unsafe { vis.direct(on, to, verb, what) });
    if left.is_some() || armed.is_some() {
        return start_slow(verb, form, node, left, local, flags, armed);
    }
    if form == GASNETI_SCI_VIS_BLOCKING as usize && what.is_some_and(|what| what.total() >= POLL_BYTES) {
        on.am.poll();
    }
    Ok(0)
}

/// As [`start`], of what cannot be done at once: `what`, if anything is left, and the message for the handler that is armed.
#[inline(never)]
fn start_slow(
    verb: Verb,
    form: usize,
    node: u32,
    what: Option<&What<'_>>,
    local: Local,
    flags: Flags,
    armed: Option<Armed>,
) -> Result<usize, Error> {
    let (on, to, vis) = (engines()?, Target::node(node), Job::attached()?.vis());
    let set = if verb.is_put() { Set::Puts } else { Set::Gets };
    let how = [How::Blocking, How::Event(local), How::Implicit(set, local)][form];
    if matches!(how, How::Implicit(..)) {
        reach::note_implicit();
    }
    // The handler must be run once, so the call that has one is not refused.
    let flags = if armed.is_some() { Flags::NONE } else { flags };
    let root = on.transfer(how, |c| {
        let begun = match what {
            Some(what) => vis.start(on, to, verb, what, flags, c)?,
            None => Begun::Complete,
        };
        let Some(Armed { handler, payload }) = armed else { return Ok(begun) };
        vis.complete(on.am, to, handler, &payload, c)?;
        Ok(Begun::InFlight)
    })?;
    Ok(root.unwrap_or(NO_OP))
}

/// Arms a handler: it is run at the target of this thread's next put, with a copy of `nbytes` bytes. 0 disarms.
///
/// # Safety
/// `source` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ex_arm(handler: u8, source: *const c_void, nbytes: usize) {
    must("gex_VIS_SetPeerCompletionHandler", || {
        if handler == 0 {
            ARMED.with(RefCell::take);
            return Ok(());
        }
        if nbytes > MAX_COMPLETION {
            return bad_arg(format_args!("{nbytes} bytes; the limit is {MAX_COMPLETION}"));
        }
        // SAFETY: the caller promises `nbytes` readable bytes.
        let payload = unsafe { slice("source_addr", source.cast::<u8>(), nbytes) }?;
        ANY_ARMED.store(true, Ordering::Relaxed); // Relaxed: as in `take_armed`
        reach::stop_few();
        ARMED.with(|armed| armed.replace(Some(Armed { handler, payload: payload.into() })));
        Ok(())
    });
}
