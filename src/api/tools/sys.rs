//! The machine, the process and plain memory, for the tools (contract: tools.md §10, §12, §15). All functions are
//! allowed at any time, in any thread.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::text::text;
use crate::api::shared::start;
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

/// Number of CPUs online; 0 if unknown.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_cpu_count() -> c_int {
    host::cpus() as c_int
}

/// Bytes of physical memory; 0 if unknown. If `failure_is_fatal` is not 0, an unknown size ends the program.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_getPhysMemSz(failure_is_fatal: c_int) -> u64 {
    match host::memory() {
        0 if failure_is_fatal != 0 => fatal(format_args!("the size of physical memory is not known")),
        size => size,
    }
}

/// Binds the calling thread to one of the CPUs that this process may use: number `rank` modulo their count. 0: done.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_set_affinity(rank: c_int) -> c_int {
    (!host::bind_thread(rank.into())).into()
}

/// The limits that [`gasnett_maximize_rlimits`] raises.
const LIMITS: [(u32, &str); 5] = [
    (libc::RLIMIT_CPU, "RLIMIT_CPU"),
    (libc::RLIMIT_DATA, "RLIMIT_DATA"),
    (libc::RLIMIT_RSS, "RLIMIT_RSS"),
    (libc::RLIMIT_STACK, "RLIMIT_STACK"),
    (libc::RLIMIT_AS, "RLIMIT_AS"),
];

/// Raises one limit. Returns a value that is not 0 if it did, or if the variable GASNET_MAXIMIZE_`name` forbids it.
fn maximize(resource: c_int, name: &str) -> c_int {
    let variable = format!("GASNET_MAXIMIZE_{name}");
    let value = crate::base::config::variable(&variable).filter(|value| !value.trim().is_empty());
    let wanted = value
        .is_none_or(|value| settings::yes_no(&variable, &value).unwrap_or_else(|error| fatal(format_args!("{error}"))));
    (!wanted || host::maximize_limit(resource)).into()
}

/// Raises the soft limits on CPU time, data, resident set, stack and address space to the hard ones; not 0 on success.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_maximize_rlimits() -> c_int {
    LIMITS.iter().fold(1, |all, (resource, name)| all & maximize(*resource as c_int, name))
}

/// Raises the soft limit `res`, whose name is `lim_desc`, such as "RLIMIT_STACK"; returns not 0 on success.
///
/// # Safety
/// `lim_desc` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_maximize_rlimit(res: c_int, lim_desc: *const c_char) -> c_int {
    // SAFETY: the caller promises that `lim_desc` is NULL or a C string.
    maximize(res, &unsafe { text(lim_desc) }.unwrap_or_default())
}

/// Flushes all streams, and asks the kernel to write out stdout and stderr; with GASNET_FS_SYNC all files.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_flush_streams() {
    let all = crate::base::config::variable("GASNET_FS_SYNC").and_then(|value| crate::base::config::yes_no(&value));
    host::flush_streams(all == Some(true));
}

/// Closes stdin, stdout and stderr.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_close_streams() {
    host::close_streams();
}

/// `_exit(code)`: runs no exit handlers and flushes nothing. Async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_killmyprocess(code: c_int) -> ! {
    exit::at_once(code as u8)
}

/// Ends the process: prints a line `*** FATAL ERROR: ` and `text`, flushes streams, and aborts.
///
/// Before the abort it prints a stack trace and freezes, if these are switched on. `gasnett_fatalerror` formats the
/// text.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_fatal(text: *const c_char) -> ! {
    start::show_frozen();
    // SAFETY: the caller promises that `text` is NULL or a C string.
    let text = unsafe { self::text(text) }.unwrap_or_default();
    exit::fatal(format_args!("{}", text.trim_end_matches('\n')))
}

/// A signal handler.
pub type gasnett_sighandlerfn_t = Option<extern "C" fn(signal: c_int)>;

const SIGNALS: usize = 65;
/// Handlers in the three-argument form that [`gasnett_reghandler`] replaced. For them it returned [`chained`].
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

/// Installs `fp`, or SIG_DFL or SIG_IGN, for signal `sig`, and returns the previous handler.
///
/// Interrupted system calls are restarted. The client may call the previous handler, and may install it again. A number
/// that is no signal is fatal.
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
    // SAFETY: SIG_DFL is None; the others are handlers, or SIG_IGN, which is not NULL and is never called.
    unsafe { std::mem::transmute::<usize, gasnett_sighandlerfn_t>(given) }
}

/// Name of a signal, such as "SIGSEGV" for 11; NULL for a number that has no name.
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
    // SAFETY: the caller promises `len` readable bytes at `at`, which no thread changes meanwhile.
    unsafe { std::slice::from_raw_parts(at.cast(), len) }
}

/// Checksum of `nbytes` bytes: starts at 0, and for each byte rotates left by 8 bits and xors the byte.
///
/// # Safety
/// `p` is readable for `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_checksum(p: *const c_void, nbytes: c_int) -> u64 {
    // SAFETY: the caller promises that `p` is readable for `nbytes` bytes.
    bytes::checksum(unsafe { slice(p, usize::try_from(nbytes).unwrap_or(0)) })
}

/// Number of zero bytes among `len` bytes.
///
/// # Safety
/// `src` is readable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_count0s(src: *const c_void, len: usize) -> usize {
    // SAFETY: the caller promises that `src` is readable for `len` bytes.
    bytes::zeros(unsafe { slice(src, len) })
}

/// Copies `len` bytes, and returns how many of them are zero.
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

/// `sz` bytes of zeroed private memory, rounded up to pages, outside the segment; MAP_FAILED if there is none.
///
/// Fatal in a program without gasnet.h.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_mmap(sz: usize) -> *mut c_void {
    if !start::is_gasnet_client() {
        fatal(format_args!("gasnett_mmap of {sz} bytes in a program without gasnet.h"));
    }
    host::map(sz).unwrap_or(libc::MAP_FAILED)
}

/// Allocates `sz` bytes at a multiple of `align`, a power of two. Lack of memory is fatal.
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

/// Frees memory of `gasnett_malloc_aligned`. NULL is allowed, and nothing happens.
///
/// # Safety
/// `p` is NULL, or comes from that function and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_free_aligned(p: *mut c_void) {
    // SAFETY: the caller promises that `p` is NULL or from [`gasnett_malloc_aligned`], and not freed.
    unsafe { libc::free(p) };
}

/// A check of the self test that the client's own inline code makes.
#[repr(C)]
pub struct gasneti_sci_diagnostic_t {
    /// By which a client selects it.
    pub letter: c_char,
    /// What is printed of it.
    pub name: *const c_char,
    /// Called with `thread` -1 before the threads begin, by each with its number, with `threads` after their end.
    /// Returns NULL, or what is wrong.
    pub check: Option<extern "C" fn(thread: c_int, threads: c_int, rounds: c_int) -> *const c_char>,
}

/// Runs `iters` rounds of the self test on each of `threads` threads, and returns the number of errors found.
///
/// The first node prints what it runs.
///
/// `sections`: letters of N (numbers), Z (zero counts), S (checksums), T (threads) and of the `count` entries of `checks`; NULL or empty:
/// all.
///
/// # Safety
/// `sections` is NULL or a C string. `checks` has `count` entries with C strings and functions as described there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_run_diagnostics(
    iters: c_int,
    threads: c_int,
    sections: *const c_char,
    checks: *const gasneti_sci_diagnostic_t,
    count: c_int,
) -> c_int {
    // SAFETY: the caller promises that `sections` is NULL or a C string.
    let sections = unsafe { text(sections) }.unwrap_or_default();
    let count = usize::try_from(count).unwrap_or(0);
    let checks = match checks.is_null() {
        true => &[],
        // SAFETY: the caller promises `count` entries.
        false => unsafe { std::slice::from_raw_parts(checks, count) },
    };
    let client = |check: &gasneti_sci_diagnostic_t| {
        // SAFETY: the caller promises that the name is a C string.
        let name = unsafe { text(check.name) }.unwrap_or_default();
        Some(selftest::Client { letter: check.letter as u8 as char, name, check: Box::new(client_check(check.check?)) })
    };
    let (rounds, threads) = (iters.max(0), threads.clamp(1, 256));
    selftest::run(rounds as u64, threads as u32, &sections, &checks.iter().filter_map(client).collect::<Vec<_>>())
        as c_int
}

/// A client's check as the self test calls it.
fn client_check(
    check: extern "C" fn(c_int, c_int, c_int) -> *const c_char,
) -> impl Fn(i32, u32, u64) -> Result<(), String> + Sync {
    move |thread, threads, rounds| {
        // SAFETY: the check returns NULL or a literal.
        let wrong = unsafe { text(check(thread, threads as c_int, rounds as c_int)) };
        wrong.map_or(Ok(()), Err)
    }
}

/// Flag of `gasneti_sci_performance_warnings`: compiled with GASNET_DEBUG.
pub const GASNETI_SCI_WARN_DEBUG: u32 = 1;
/// Flag: compiled with GASNET_DEBUGMALLOC.
pub const GASNETI_SCI_WARN_MALLOC: u32 = 2;
/// Flag: reading the timer is a system call.
pub const GASNETI_SCI_WARN_TIMER: u32 = 4;

/// Lines that name what makes this program slow; "" if nothing does. `client`: `GASNETI_SCI_WARN_*` of its object.
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
        (16, "tracing or statistics (GASNET_TRACEFILE, GASNET_STATSFILE, GASNET_SCI_MATRIX)"),
    ];
    let lines: String =
        warnings.iter().filter(|(bit, _)| all & bit != 0).map(|(_, what)| format!("        {what}\n")).collect();
    // The text is never freed: clients ask rarely, and may keep it.
    CString::new(lines).unwrap_or_default().into_raw()
}

/// Path of this executable; "" if the system does not know it. Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_exe_name() -> *const c_char {
    static NAME: std::sync::OnceLock<std::ffi::CString> = std::sync::OnceLock::new();
    let find = || std::ffi::CString::new(std::env::current_exe().ok()?.into_os_string().into_encoded_bytes()).ok();
    NAME.get_or_init(|| find().unwrap_or_default()).as_ptr()
}
