//! The machine, the process and plain memory, for the tools (contract: tools.md §10, §12, §15). Any time, any thread.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::text;
use crate::api::g1::init;
use crate::job::{exit, fatal};
use crate::os::{host, signame, sys};
use crate::sync::{AtomicUsize, Ordering};
use crate::tools::{bytes, selftest, settings};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// Name of this host, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_gethostname() -> *const c_char {
    host::name().as_ptr()
}

/// CPUs online; 0 if unknown.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_cpu_count() -> c_int {
    host::cpus() as c_int
}

/// Bytes of physical memory; 0 if unknown, or the end if `failure_is_fatal`.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_getPhysMemSz(failure_is_fatal: c_int) -> u64 {
    match host::memory() {
        0 if failure_is_fatal != 0 => fatal(format_args!("the size of physical memory is not known")),
        size => size,
    }
}

/// Binds the calling thread to CPU `rank`, modulo their number, of those that this process may use.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_set_affinity(rank: c_int) {
    host::bind_thread(rank.into());
}

/// The limits that [`gasnett_maximize_rlimits`] raises.
const LIMITS: [(u32, &str); 5] = [
    (libc::RLIMIT_CPU, "RLIMIT_CPU"),
    (libc::RLIMIT_DATA, "RLIMIT_DATA"),
    (libc::RLIMIT_RSS, "RLIMIT_RSS"),
    (libc::RLIMIT_STACK, "RLIMIT_STACK"),
    (libc::RLIMIT_AS, "RLIMIT_AS"),
];

/// Non-zero: the variable GASNET_MAXIMIZE_`name` forbids it, or it is done.
fn maximize(resource: c_int, name: &str) -> c_int {
    let variable = format!("GASNET_MAXIMIZE_{name}");
    let value = crate::base::config::variable(&variable).filter(|value| !value.trim().is_empty());
    let wanted = value
        .is_none_or(|value| settings::yes_no(&variable, &value).unwrap_or_else(|error| fatal(format_args!("{error}"))));
    (!wanted || host::maximize_limit(resource)).into()
}

/// Raises the soft limits on CPU time, data, resident set, stack and address space to the hard ones; non-zero on success.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_maximize_rlimits() -> c_int {
    LIMITS.iter().fold(1, |all, (resource, name)| all & maximize(*resource as c_int, name))
}

/// Raises one soft limit, `res`, whose name is `lim_desc`, such as "RLIMIT_STACK"; non-zero on success.
///
/// # Safety
/// `lim_desc` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_maximize_rlimit(res: c_int, lim_desc: *const c_char) -> c_int {
    // SAFETY: the caller promises that `lim_desc` is NULL or a C string.
    maximize(res, &unsafe { text(lim_desc) }.unwrap_or_default())
}

/// Writes out all streams, and asks the kernel to do so with stdout and stderr; GASNET_FS_SYNC: with all files.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_flush_streams() {
    let all = crate::base::config::variable("GASNET_FS_SYNC").and_then(|value| crate::base::config::yes_no(&value));
    host::flush_streams(all == Some(true));
}

/// Gives stdin, stdout and stderr up.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_close_streams() {
    host::close_streams();
}

/// `_exit(code)`: no exit handlers, no flush. Async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_killmyprocess(code: c_int) -> ! {
    exit::at_once(code as u8)
}

/// Ends the process with a line `*** FATAL ERROR: ` and `text`, flush, trace and freeze as switched on, and abort.
/// `gasnett_fatalerror` formats for it.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_fatal(text: *const c_char) -> ! {
    init::show_frozen();
    // SAFETY: the caller promises that `text` is NULL or a C string.
    let text = unsafe { self::text(text) }.unwrap_or_default();
    exit::fatal_flushed(format_args!("{}", text.trim_end_matches('\n')))
}

/// A signal handler.
pub type gasnett_sighandlerfn_t = Option<extern "C" fn(signal: c_int)>;

const SIGNALS: usize = 65;
/// Handlers in the three-argument form that [`gasnett_reghandler`] replaced; what it gave back for them is [`chained`].
static REPLACED: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

extern "C" fn chained(signal: c_int) {
    let place = usize::try_from(signal).ok().and_then(|signal| REPLACED.get(signal));
    let address = place.map_or(0, |place| place.load(Ordering::Relaxed)); // Relaxed: set before this function was given out
    if address != 0 {
        // SAFETY: only `gasnett_reghandler` stores there, and it stores such handlers.
        let handler = unsafe { std::mem::transmute::<usize, sys::Handler>(address) };
        handler(signal, ptr::null_mut(), ptr::null_mut());
    }
}

/// Installs `fp` (SIG_DFL and SIG_IGN as well) for signal `sig`; interrupted calls go on. Returns the handler before, which may
/// be called, and installed again. A wrong signal is fatal.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_reghandler(sig: c_int, fp: gasnett_sighandlerfn_t) -> gasnett_sighandlerfn_t {
    let before = match sys::disposition(sig) {
        Some(before) if ![libc::SIGKILL, libc::SIGSTOP].contains(&sig) => before,
        _ => fatal(format_args!("gasnett_reghandler: {sig} is no signal that can be caught")),
    };
    let address = fp.map_or(libc::SIG_DFL, |handler| handler as usize);
    let mut action = before;
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    action.sa_mask = sys::SignalSet::new(&[]).into_raw();
    action.sa_sigaction = address;
    let place = &REPLACED[(sig as usize).min(SIGNALS - 1)];
    if address == chained as *const () as usize {
        action.sa_sigaction = place.load(Ordering::Relaxed); // Relaxed: as in `chained`
        action.sa_flags |= libc::SA_SIGINFO;
    }
    sys::restore_disposition(sig, &action);
    let plain = before.sa_flags & libc::SA_SIGINFO == 0 || before.sa_sigaction <= libc::SIG_IGN;
    let given = if plain {
        before.sa_sigaction
    } else {
        place.store(before.sa_sigaction, Ordering::Relaxed); // Relaxed: as in `chained`
        chained as *const () as usize
    };
    // SAFETY: SIG_DFL is None; the others are handlers, or SIG_IGN, which is not NULL and which nobody calls.
    unsafe { std::mem::transmute::<usize, gasnett_sighandlerfn_t>(given) }
}

/// "SIGSEGV" for 11; NULL for a number that has no name.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_signame_fromval(sig: c_int) -> *const c_char {
    signame::name(sig).map_or(ptr::null(), |name| name.as_ptr())
}

/// # Safety
/// `at` is readable for `len` bytes, or `len` is 0.
unsafe fn slice<'a>(at: *const c_void, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller promises `len` readable bytes at `at`, which nobody changes meanwhile.
    unsafe { std::slice::from_raw_parts(at.cast(), len) }
}

/// Rotate left by 8, xor the byte, over `nbytes` bytes from 0 on.
///
/// # Safety
/// `p` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_checksum(p: *const c_void, nbytes: c_int) -> u64 {
    // SAFETY: the caller promises that `p` is readable for `nbytes` bytes.
    bytes::checksum(unsafe { slice(p, usize::try_from(nbytes).unwrap_or(0)) })
}

/// Zero bytes among `len`.
///
/// # Safety
/// `src` is readable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_count0s(src: *const c_void, len: usize) -> usize {
    // SAFETY: the caller promises that `src` is readable for `len` bytes.
    bytes::zeros(unsafe { slice(src, len) })
}

/// Copies `len` bytes, and says how many are zero.
///
/// # Safety
/// `src` is readable and `dst` writable for `len` bytes; they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_count0s_copy(dst: *mut c_void, src: *const c_void, len: usize) -> usize {
    // SAFETY: the caller promises that `src` is readable for `len` bytes.
    let from = unsafe { slice(src, len) };
    if len > 0 {
        // SAFETY: the caller promises that `dst` is writable for `len` bytes and overlaps nothing of `src`.
        unsafe { dst.cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), len) };
    }
    bytes::zeros(from)
}

/// `sz` bytes of zeroed private memory, rounded up to pages, beside the segment; MAP_FAILED if there is none. Fatal in a
/// program without gasnet.h.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_mmap(sz: usize) -> *mut c_void {
    if !init::is_gasnet_client() {
        fatal(format_args!("gasnett_mmap of {sz} bytes in a program without gasnet.h"));
    }
    host::map(sz).unwrap_or(libc::MAP_FAILED)
}

/// `sz` bytes at a multiple of `align`, a power of two; lack of memory is fatal.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_malloc_aligned(align: usize, sz: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        fatal(format_args!("gasnett_malloc_aligned: the alignment {align} is not a power of two"));
    }
    match host::allocate_aligned(align, sz) {
        Some(memory) => memory,
        None => fatal(format_args!("gasnett_malloc_aligned: no memory for {sz} bytes at a multiple of {align}")),
    }
}

/// Frees what [`gasnett_malloc_aligned`] gave; NULL is nothing.
///
/// # Safety
/// `p` is NULL or was given by that function, and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_free_aligned(p: *mut c_void) {
    // SAFETY: the caller promises that `p` is NULL or from [`gasnett_malloc_aligned`], and not freed.
    unsafe { libc::free(p) };
}

/// The self test: errors found in `iters` rounds on each of `threads` threads; `sections`: letters of N Z S T, NULL or empty: all.
///
/// # Safety
/// `sections` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_run_diagnostics(iters: c_int, threads: c_int, sections: *const c_char) -> c_int {
    // SAFETY: the caller promises that `sections` is NULL or a C string.
    let sections = unsafe { text(sections) }.unwrap_or_default();
    let (rounds, threads) = (u64::try_from(iters).unwrap_or(0), u32::try_from(threads).unwrap_or(1).clamp(1, 256));
    selftest::run(rounds, threads, &sections) as c_int
}

/// Flags of [`gasneti_sci_performance_warnings`].
pub const GASNETI_SCI_WARN_DEBUG: u32 = 1;
/// See [`GASNETI_SCI_WARN_DEBUG`].
pub const GASNETI_SCI_WARN_MALLOC: u32 = 2;
/// See [`GASNETI_SCI_WARN_DEBUG`].
pub const GASNETI_SCI_WARN_TIMER: u32 = 4;

/// What makes this program slow, a line each; "" if nothing does. `client`: how its object was compiled.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_performance_warnings(client: u32) -> *const c_char {
    use std::ffi::CString;
    let library = if cfg!(debug_assertions) { 8 } else { 0 };
    let recording = if crate::trace::is_on() { 16 } else { 0 };
    let all = client | library | recording;
    let warnings = [
        (GASNETI_SCI_WARN_DEBUG, "debugging (GASNET_DEBUG)"),
        (GASNETI_SCI_WARN_MALLOC, "debug malloc (GASNET_DEBUGMALLOC)"),
        (GASNETI_SCI_WARN_TIMER, "timers by system call"),
        (8, "a library without optimisation"),
        (16, "tracing or statistics (GASNET_TRACEFILE, GASNET_STATSFILE)"),
    ];
    let lines: String =
        warnings.iter().filter(|(bit, _)| all & bit != 0).map(|(_, what)| format!("        {what}\n")).collect();
    // Few are asked for, and each stays valid.
    CString::new(lines).unwrap_or_default().into_raw()
}

/// Name of this executable, as far as the system knows it; "" if it does not.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_exe_name() -> *const c_char {
    static NAME: std::sync::OnceLock<std::ffi::CString> = std::sync::OnceLock::new();
    let find = || std::ffi::CString::new(std::env::current_exe().ok()?.into_os_string().into_encoded_bytes()).ok();
    NAME.get_or_init(|| find().unwrap_or_default()).as_ptr()
}
