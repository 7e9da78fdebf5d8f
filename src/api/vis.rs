//! What the vector, indexed and strided transfers of both APIs share: how one starts that cannot be done at once, and the handler
//! that a put may have at its target (contract: ex-rma.md §9). The calls of both APIs must take it: the next put has it, whatever
//! its name.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::ex::rma::NO_OP;
use super::g1::reach;
use super::g1::rma::engines;
use super::g1::vis::slice;
use super::must;
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sync::fixed::{AtomicBool, Ordering};
use crate::verbs::{Begun, Flags, Local, Target};
use crate::vis::shape::What;
use crate::vis::{MAX_COMPLETION, Verb};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use std::cell::RefCell;
use std::ffi::c_void;

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

/// Starts what cannot be done at once: `what`, if anything is left, and the message for the handler that is armed. `form` is one
/// of `GASNETI_SCI_VIS_*`; `local` says whether the client asks for local completion. Returns the root event, 0 if it is complete
/// or has none, or `NO_OP` if `flags` ask for IMMEDIATE.
#[inline(never)]
pub(super) fn start_slow(
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
