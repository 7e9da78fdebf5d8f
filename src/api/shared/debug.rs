//! Checks for clients compiled with GASNET_DEBUG: where calls are made, the use of locks, and no-interrupt sections
//! (contract: core.md §5, §11.3). Each misuse ends the job with a line that names the call and the client's file and
//! line.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::constants::*;
use super::hsl::{self, GASNETI_SCI_HSL_INIT, GASNETI_SCI_HSL_STATIC, gasnet_hsl_t};
use super::{outcome, srcdesc};
use crate::am::token::{Kind, Token};
use crate::base::{error::Error, log};
use crate::job::{Job, fatal};
use crate::os::{layout, signal_stack, sys};
use crate::sync::fixed::{AtomicBool, Ordering};
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;

/// The library warns of a lock or a no-interrupt section that lasted longer (contract: "well below 10 s").
const LONG_MS: u64 = 10_000;

/// The client has not asked for the calls of GASNet-1.
static WITHOUT_GASNET1: AtomicBool = AtomicBool::new(false);

/// Has debug builds refuse calls of GASNet-1: the client was made by `gex_Client_Init` without `GEX_FLAG_USES_GASNET1`.
pub(in crate::api) fn refuse_gasnet1() {
    WITHOUT_GASNET1.store(true, Ordering::Relaxed); // relaxed: nothing else is read on account of it
}

thread_local! {
    /// Of the locks that this thread holds, the one that it took last; null if it holds none.
    static TOP: Cell<*mut gasnet_hsl_t> = const { Cell::new(std::ptr::null_mut()) };
    /// When this thread entered its no-interrupt section, in ms of the monotonic clock; 0 if it is in none.
    static SECTION: Cell<u64> = const { Cell::new(0) };
    static THREAD: u8 = const { 0 };
    /// The checked call that this thread made last, outside handlers and, second, in them: after a call has served messages
    /// the first is still the call itself.
    static LAST: [Cell<Option<(*const c_char, CallSite)>>; 2] = const { [Cell::new(None), Cell::new(None)] };
}

/// The place of a call in the client's source.
#[derive(Clone, Copy)]
struct CallSite {
    file: *const c_char,
    line: c_int,
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the headers pass __FILE__.
        let file = unsafe { CStr::from_ptr(self.file) };
        write!(f, "at {}:{}", file.to_string_lossy(), self.line)
    }
}

/// The client's call that an error is about.
pub(in crate::api) struct NamedCall<'a> {
    name: Cow<'a, str>,
    place: Option<CallSite>,
}

impl<'a> NamedCall<'a> {
    /// The call that the library knows as `name`. For a debug client this has the place, and the name that the client
    /// wrote: `gasnet_put_bulk`, for instance, where the library knows only `gasnet_put`.
    pub(in crate::api) fn named(name: &'a str) -> NamedCall<'a> {
        if let Some((full, place)) = LAST.with(|last| last[usize::from(in_handler())].get()) {
            // SAFETY: literals of the headers, recorded by `gasneti_sci_check`.
            let full = unsafe { CStr::from_ptr(full) }.to_string_lossy();
            if full.starts_with(name) {
                return NamedCall { name: full, place: Some(place) };
            }
        }
        NamedCall { name: name.into(), place: None }
    }

    pub(in crate::api) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the client says where it calls.
    pub(in crate::api) fn has_place(&self) -> bool {
        self.place.is_some()
    }

    /// " at FILE:LINE", or nothing.
    pub(in crate::api) fn place(&self) -> impl fmt::Display {
        self.place.map_or(String::new(), |place| format!(" {place}"))
    }
}

/// A client that names the places of its calls uses mail boxes.
static DECK_CLIENT: AtomicBool = AtomicBool::new(false);

/// Whether a client that uses mail boxes was compiled with checks.
pub(in crate::api) fn checks_deck() -> bool {
    DECK_CLIENT.load(Ordering::Relaxed) // relaxed: nothing else is read on account of it
}

fn record(name: *const c_char, place: CallSite) {
    // SAFETY: the headers pass literals.
    if !checks_deck() && unsafe { CStr::from_ptr(name) }.to_bytes().starts_with(b"deck_") {
        DECK_CLIENT.store(true, Ordering::Relaxed); // relaxed: as above
    }
    if LAST.with(|last| last[usize::from(in_handler())].replace(Some((name, place)))).is_none() {
        signal_stack::provide();
    }
}

fn thread() -> usize {
    THREAD.with(|t| std::ptr::from_ref(t) as usize)
}

fn in_handler() -> bool {
    Job::attached().is_ok_and(|job| job.am().in_handler())
}

fn holding() -> bool {
    TOP.with(|t| !t.get().is_null())
}

/// For debug clients, switches on the check that a handler returns without a lock.
pub(in crate::api) fn configure(debug: bool) {
    if let (true, Ok(job)) = (debug, Job::get()) {
        job.am().check_handlers(|| {
            // SAFETY: null, or a lock that this thread holds, hence in place.
            if let Some(lock) = unsafe { TOP.with(Cell::get).as_ref() } {
                let place = CallSite { file: lock.gasneti_file, line: lock.gasneti_line };
                fatal(format_args!("an AM handler returned while holding a handler-safe lock, taken {place}"));
            }
            if srcdesc::is_open() {
                fatal(format_args!("an AM handler returned between the prepare and the commit of a reply"));
            }
        });
    }
}

/// Whether the call is one that GASNet-EX clients must ask for (contract: ex-core.md §5.2).
fn is_gasnet1(name: &CStr) -> bool {
    let Some(rest) = name.to_bytes().strip_prefix(b"gasnet_") else { return false };
    // A transfer is followed by nothing, by "_", or by the letter of vector, indexed or strided.
    let is_transfer = |verb: &[u8]| {
        rest.strip_prefix(verb).is_some_and(|form| matches!(form.first(), None | Some(b'_' | b'v' | b'i' | b's')))
    };
    rest.starts_with(b"AMRequest") || [&b"get"[..], b"put", b"memset"].into_iter().any(is_transfer)
}

/// Checks `rules` (`GASNETI_SCI_RULE_*`) for the call `name`. A broken rule ends the job.
///
/// The library records name and place, and reports errors that it finds later in the same call with them.
///
/// # Safety
/// `name` and `file` are C strings that live for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check(name: *const c_char, file: *const c_char, line: c_int, rules: u32) {
    let place = CallSite { file, line };
    let broken = if rules & GASNETI_SCI_RULE_ATTACHED != 0 && Job::attached().is_err() {
        "before gasnet_attach"
    } else if rules & (GASNETI_SCI_RULE_NO_HANDLER | GASNETI_SCI_RULE_OUTSIDE) != 0 && in_handler() {
        "in an AM handler"
    } else if rules & GASNETI_SCI_RULE_NO_HANDLER != 0 && srcdesc::is_open() {
        "between the prepare and the commit of a message"
    } else if rules & GASNETI_SCI_RULE_IN_HANDLER != 0 && !in_handler() {
        "outside an AM handler"
    } else if rules & GASNETI_SCI_RULE_NO_LOCK != 0 && holding() {
        "while holding a handler-safe lock"
    } else if rules & GASNETI_SCI_RULE_NO_NIS != 0 && SECTION.with(Cell::get) != 0 {
        "in a no-interrupt section"
    // SAFETY: the caller promises that `name` is a C string.
    } else if WITHOUT_GASNET1.load(Ordering::Relaxed) && is_gasnet1(unsafe { CStr::from_ptr(name) }) {
        // relaxed: set in init, before the client has objects to call with
        "without gasnet_attach, and without GEX_FLAG_USES_GASNET1 in gex_Client_Init,"
    } else {
        record(name, place);
        return;
    };
    // SAFETY: the caller promises that `name` is a C string.
    let name = unsafe { CStr::from_ptr(name) };
    fatal(format_args!("{} called {broken} {place}", name.to_string_lossy()))
}

/// Ends the job for an error in the call `name`.
///
/// # Safety
/// As [`gasneti_sci_check`].
pub(in crate::api) unsafe fn refuse(name: *const c_char, file: *const c_char, line: c_int, error: Error) -> ! {
    record(name, CallSite { file, line });
    // SAFETY: the caller promises that `name` is a C string.
    outcome::die(&unsafe { CStr::from_ptr(name) }.to_string_lossy(), error)
}

/// Checks that the calling handler may reply to `token` now. If not, it ends the job.
///
/// # Safety
/// As [`gasneti_sci_check`]; `token` is NULL or was given to a handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_check_reply(
    name: *const c_char,
    file: *const c_char,
    line: c_int,
    token: *mut c_void,
) {
    let place = CallSite { file, line };
    record(name, place);
    // SAFETY: the caller promises that `name` is a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    // SAFETY: the caller promises that the token is NULL or was given to a handler.
    let why = match unsafe { Token::from_raw(token) } {
        None => "with something that is not a token",
        Some(t) if matches!(t.kind(), Kind::Reply | Kind::LoopReply) => "in a reply handler",
        Some(t) if t.kind() == Kind::Stale => "outside the request handler that the token belongs to",
        Some(t) if t.replied() => "a second time for one request",
        Some(_) if holding() => "while holding a handler-safe lock",
        Some(_) if srcdesc::is_open() => "between the prepare and the commit of a message",
        Some(_) => return,
    };
    fatal(format_args!("{name} called {why} {place}"))
}

/// `gasnet_hold_interrupts`. Ignored in handlers and while the thread holds a lock; fatal inside a section.
///
/// # Safety
/// `file` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hold_debug(file: *const c_char, line: c_int) {
    if in_handler() || holding() {
        return;
    }
    if SECTION.with(|s| s.replace(sys::clock_ms().max(1))) != 0 {
        fatal(format_args!("gasnet_hold_interrupts inside a no-interrupt section {}", CallSite { file, line }));
    }
}

/// `gasnet_resume_interrupts`. Ignored in handlers and while the thread holds a lock; fatal outside a section.
///
/// # Safety
/// `file` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_resume_debug(file: *const c_char, line: c_int) {
    if in_handler() || holding() {
        return;
    }
    let place = CallSite { file, line };
    match SECTION.with(|s| s.replace(0)) {
        0 => fatal(format_args!("gasnet_resume_interrupts outside a no-interrupt section {place}")),
        since => warn_if_long("a no-interrupt section", since, place),
    }
}

fn warn_if_long(what: &str, since: u64, place: CallSite) {
    let ms = sys::clock_ms().saturating_sub(since);
    if ms > LONG_MS {
        log::advise(&format!("{what} that ends {place} lasted {} s", ms / 1000));
    }
}

/// # Safety
/// `hsl` points to a lock's memory.
unsafe fn magic(hsl: *mut gasnet_hsl_t) -> Option<u32> {
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    let lock = unsafe { &*hsl };
    let own = match lock.gasneti_magic {
        GASNETI_SCI_HSL_STATIC => true,
        GASNETI_SCI_HSL_INIT => lock.gasneti_self == hsl.cast(),
        _ => false,
    };
    own.then_some(lock.gasneti_magic)
}

/// # Safety
/// As [`magic`].
unsafe fn require_live(call: &str, hsl: *mut gasnet_hsl_t, place: CallSite) {
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    if unsafe { magic(hsl) }.is_none() {
        fatal(format_args!("{call} on a lock that is not initialised {place}"));
    }
}

/// `gasnet_hsl_init`. Fatal on a lock that is certainly in use.
///
/// That is one that a thread holds, or one that is initialised and lies in static data.
/// Elsewhere a lock that looks initialised may be what a dead one left behind. Its function has returned, or its block of the
/// heap was freed, and nobody had to call `gasnet_hsl_destroy` for that. Static data lives as long as its program, unless it is the
/// stack of a thread. So elsewhere a lock is only noticed, once in a process: if its last use is a few lines above this call in the same
/// source file. A function that begins again comes to its first line, and a function that is called with a lock is farther away.
///
/// # Safety
/// `hsl` points to a lock's memory, `file` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_init_debug(hsl: *mut gasnet_hsl_t, file: *const c_char, line: c_int) {
    let place = CallSite { file, line };
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    if unsafe { magic(hsl) }.is_some() {
        let on_stack = 0u8;
        let may_be_on_stack = layout::is_static((&raw const on_stack).cast());
        if holds(hsl) || (layout::is_static(hsl.cast()) && !may_be_on_stack) {
            fatal(format_args!("gasnet_hsl_init on a lock that is initialised {place}"));
        }
        // SAFETY: the caller promises that `hsl` points to a lock's memory, and no other thread may use it now.
        let before = unsafe { &*hsl };
        notice_init(CallSite { file: before.gasneti_file, line: before.gasneti_line }, place);
    }
    let new = gasnet_hsl_t {
        gasneti_state: 0,
        gasneti_magic: GASNETI_SCI_HSL_INIT,
        gasneti_self: hsl.cast(),
        gasneti_holder: 0,
        gasneti_below: std::ptr::null_mut(),
        gasneti_since: 0,
        gasneti_file: file,
        gasneti_line: line,
    };
    // SAFETY: the caller promises that `hsl` points to a lock's memory, which it owns.
    unsafe { hsl.write(new) };
}

/// Says once that a lock was initialised which may be in use: at `place`, shortly after its last use at `last`, in the same file.
fn notice_init(last: CallSite, place: CallSite) {
    static NOTICED: AtomicBool = AtomicBool::new(false);
    // A guess. The more lines, the more likely is another function.
    const NEAR: c_int = 10;
    // The name of a file is one object for all calls of a source file in one object file. A dead lock's may be gone, so it is
    // not read before it is known to be this one.
    let looks_alive = last.file == place.file && (place.line - NEAR..place.line).contains(&last.line);
    // Relaxed: the flag orders nothing else.
    if looks_alive && !NOTICED.swap(true, Ordering::Relaxed) {
        log::advise(&format!(
            "gasnet_hsl_init {place} on a lock that was used {last} and not destroyed since: once is enough, and a lock that is no longer \
             used is to be destroyed"
        ));
    }
}

/// `gasnet_hsl_destroy`. Fatal on a locked or uninitialised lock.
///
/// # Safety
/// As [`gasneti_sci_hsl_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_destroy_debug(hsl: *mut gasnet_hsl_t, file: *const c_char, line: c_int) {
    let place = CallSite { file, line };
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    unsafe { require_live("gasnet_hsl_destroy", hsl, place) };
    // SAFETY: the check above found an initialised lock there.
    if unsafe { hsl::gasneti_sci_hsl_trylock(hsl) } == 0 {
        fatal(format_args!("gasnet_hsl_destroy of a locked lock {place}"));
    }
    // SAFETY: this thread holds the lock, and no other thread may use it any more.
    let lock = unsafe { &mut *hsl };
    lock.gasneti_magic = 0;
}

/// `gasnet_hsl_lock`. Fatal if the thread holds the lock already, or if the lock is not initialised.
///
/// # Safety
/// As [`gasneti_sci_hsl_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_lock_debug(hsl: *mut gasnet_hsl_t, file: *const c_char, line: c_int) {
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    unsafe { before_lock("gasnet_hsl_lock", hsl, CallSite { file, line }) };
    // SAFETY: the check above found an initialised lock there.
    unsafe { hsl::gasneti_sci_hsl_lock(hsl) };
    // SAFETY: just locked.
    unsafe { locked(hsl, CallSite { file, line }) };
}

/// `gasnet_hsl_trylock`: returns 1 if it took the lock, else 0. Fatal in the same cases as `gasnet_hsl_lock`.
///
/// # Safety
/// As [`gasneti_sci_hsl_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_trylock_debug(
    hsl: *mut gasnet_hsl_t,
    file: *const c_char,
    line: c_int,
) -> c_int {
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    unsafe { before_lock("gasnet_hsl_trylock", hsl, CallSite { file, line }) };
    // SAFETY: the check above found an initialised lock there.
    let taken = unsafe { hsl::gasneti_sci_hsl_trylock(hsl) };
    if taken != 0 {
        // SAFETY: just locked.
        unsafe { locked(hsl, CallSite { file, line }) };
    }
    taken
}

/// # Safety
/// As [`magic`].
unsafe fn before_lock(call: &str, hsl: *mut gasnet_hsl_t, place: CallSite) {
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    unsafe { require_live(call, hsl, place) };
    if holds(hsl) {
        fatal(format_args!("{call} on a lock that this thread holds {place}"));
    }
}

/// Whether this thread holds the lock.
fn holds(hsl: *mut gasnet_hsl_t) -> bool {
    let mut held = TOP.with(Cell::get);
    while !held.is_null() && held != hsl {
        // SAFETY: this thread holds the lock, so it is in place and no other thread changes it.
        held = unsafe { (*held).gasneti_below }.cast();
    }
    !held.is_null()
}

/// # Safety
/// This thread has just locked `hsl`.
unsafe fn locked(hsl: *mut gasnet_hsl_t, place: CallSite) {
    // SAFETY: only the holder touches these fields.
    let lock = unsafe { &mut *hsl };
    lock.gasneti_holder = thread();
    lock.gasneti_below = TOP.with(|t| t.replace(hsl)).cast();
    lock.gasneti_since = sys::clock_ms();
    lock.gasneti_file = place.file;
    lock.gasneti_line = place.line;
}

/// `gasnet_hsl_unlock`. Fatal on a free lock, on another thread's lock, and out of order.
///
/// # Safety
/// As [`gasneti_sci_hsl_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_hsl_unlock_debug(hsl: *mut gasnet_hsl_t, file: *const c_char, line: c_int) {
    let place = CallSite { file, line };
    // SAFETY: the caller promises that `hsl` points to a lock's memory.
    unsafe { require_live("gasnet_hsl_unlock", hsl, place) };
    // SAFETY: the check above found an initialised lock there.
    if unsafe { hsl::state(hsl) }.load(crate::sync::Ordering::Relaxed) == 0 {
        // Relaxed: if this thread holds the lock, it sees its own store.
        fatal(format_args!("gasnet_hsl_unlock of a lock that is free {place}"));
    }
    if TOP.with(Cell::get) != hsl {
        // SAFETY: the lock is initialised. If another thread writes the field now, that thread holds the lock, which is
        // fatal.
        let other = unsafe { (*hsl).gasneti_holder } != thread();
        let why = if other { "that another thread holds" } else { "that was not taken last" };
        fatal(format_args!("gasnet_hsl_unlock of a lock {why} {place}"));
    }
    // SAFETY: this thread holds it.
    let lock = unsafe { &*hsl };
    let (below, since) = (lock.gasneti_below, lock.gasneti_since);
    TOP.with(|t| t.set(below.cast()));
    warn_if_long("a handler-safe lock's section", since, place);
    // SAFETY: this thread holds it.
    unsafe { hsl::gasneti_sci_hsl_unlock(hsl) };
}
