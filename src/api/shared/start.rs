//! Start and end, of clients of either API (contract: core.md §6).

#![allow(unsafe_code)] // clients' pointers; exported names

use super::constants::*;
use super::{debug as checks, threads};
use crate::api::failed;
use crate::api::tools::{debug as tools_debug, env as tools_env, trace as tools_trace};
use crate::base::config::Config;
use crate::base::error::{Error, Kind};
use crate::base::log;
use crate::job::state::{Client, Job};
use crate::job::{self, exit};
use crate::sync::{AtomicU32, Ordering};
use crate::tools::{backtrace, settings};
use crate::trace;
use std::ffi::{CStr, c_char, c_int, c_void};

/// How a client object was compiled. Its headers fill it in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasneti_sci_client_t {
    /// `GASNETI_SCI_MODE_*`, or-ed: one thread mode, one segment mode, one of DEBUG and NDEBUG.
    pub modes: u32,
    /// `GASNET_CONFIG_STRING`.
    pub config: *const c_char,
    /// The client's `gasnet_max_segsize`.
    pub max_segsize: *const u64,
    /// Strings that tools look for in the executable. This reference makes the linker keep them.
    pub idents: *const *const c_char,
    /// The client's `gasnet_max_segsize_str`.
    pub max_segsize_str: *const *const c_char,
}

/// Modes of every object of this program that includes `gasnet.h`, or-ed by constructors before `main`.
static MODES: AtomicU32 = AtomicU32::new(0);

/// Announces the modes of a client object. A constructor in every such object calls it before `main`.
///
/// The name carries the version of the ABI, so that headers of another version fail to link. An object that is loaded
/// after init is checked at once.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_object_0_3(modes: u32) {
    MODES.fetch_or(modes, Ordering::Relaxed); // Relaxed: the same thread reads it, or one that it started later
    if Job::get().is_ok() {
        check_objects("an object loaded after gasnet_init", modes);
    }
}

/// `gasnet_max_segsize`, bytes. A client may define its own variable; its header then passes that one to init.
#[unsafe(no_mangle)]
pub static mut gasnet_max_segsize: u64 = 0;

/// `gasnet_max_segsize_str`, a memory size or a fraction of the host's memory; NULL: not set. As `gasnet_max_segsize`.
#[unsafe(no_mangle)]
pub static mut gasnet_max_segsize_str: *const c_char = std::ptr::null();

/// `gasnet_frozen`: not 0 while this process waits for a debugger.
#[unsafe(no_mangle)]
pub static mut gasnet_frozen: c_int = 0;

/// `gasnet_client_attach_hook`: if set, attach calls it with address and bytes of the local segment.
#[unsafe(no_mangle)]
pub static mut gasnet_client_attach_hook: Option<unsafe extern "C" fn(*mut c_void, usize)> = None;

/// What becomes of an error in the call `name`, which joins the job: a second call returns its code. Any other error ends this process
/// and thereby the job. Without a job the client cannot continue, and the other nodes would wait for this one for ever.
pub(in crate::api) fn refused(name: &'static str, error: Error) -> c_int {
    if matches!(error.kind(), Kind::NotInit(_)) {
        return failed(name, error);
    }
    log::error(format_args!("{name}: {error}"));
    exit::exit(1);
}

/// Joins the job, for a client of either API whose call is `name`.
///
/// # Safety
/// The pointers in `client` are valid.
pub(in crate::api) unsafe fn init(client: gasneti_sci_client_t, name: &'static str) -> c_int {
    check_objects(name, client.modes);
    // SAFETY: the caller promises that the pointers in `client` are valid.
    let max_segsize = unsafe { client.max_segsize.read() };
    // SAFETY: the caller promises that the pointers in `client` are valid.
    let text = unsafe { client.max_segsize_str.read() };
    // SAFETY: NULL, or the client's string, which lives as long as the process.
    let max_segsize_text =
        (!text.is_null()).then(|| unsafe { CStr::from_ptr::<'static>(text) }.to_str().unwrap_or("?"));
    show_frozen();
    tools_debug::take_own_mechanism();
    let result = Job::init(Client {
        threaded: client.modes & GASNETI_SCI_MODE_PAR != 0,
        everything: client.modes & GASNETI_SCI_MODE_EVERYTHING != 0,
        debug: client.modes & GASNETI_SCI_MODE_DEBUG != 0,
        max_segsize,
        max_segsize_text,
        configuration: u64::from(client.modes & !modes_of_one_node(client.modes)),
        guest: client.modes & GASNETI_SCI_MODE_GUEST != 0,
    });
    if let Err(error) = result {
        return refused(name, error);
    }
    exit::set_hook(leave);
    tools_trace::tell_header();
    // SAFETY: the caller promises that the pointers in `client` are valid; `config` is a C string.
    report_environment(unsafe { CStr::from_ptr(client.config) });
    if let Ok(job) = Job::get() {
        checks::configure(client.modes & GASNETI_SCI_MODE_DEBUG != 0);
        if client.modes & GASNETI_SCI_MODE_SEQ == 0 {
            threads::limit(job.config().max_threads);
        }
        if job.config().freeze {
            job::debug::freeze();
        }
    }
    GASNETI_SCI_OK
}

/// The modes in which nodes may differ: a guest's thread mode is what the process asked its runtime for.
fn modes_of_one_node(modes: u32) -> u32 {
    let threads = GASNETI_SCI_MODE_SEQ | GASNETI_SCI_MODE_PARSYNC | GASNETI_SCI_MODE_PAR;
    if modes & GASNETI_SCI_MODE_GUEST == 0 { 0 } else { threads }
}

/// Makes freezing use `gasnet_frozen`.
pub(in crate::api) fn show_frozen() {
    let frozen = &raw mut gasnet_frozen;
    // SAFETY: the cell is a static of the library, which only debuggers write besides it.
    unsafe { job::debug::set_frozen_cell(frozen) };
}

/// True if an object of this program includes gasnet.h. Known before `main`.
pub(in crate::api) fn is_gasnet_client() -> bool {
    MODES.load(Ordering::Relaxed) != 0 // Relaxed: see `gasneti_sci_object_0_3`
}

/// Ends the process unless all objects of the program have the same thread mode, segment mode and debug mode.
fn check_objects(when: &str, modes: u32) {
    let all = MODES.load(Ordering::Relaxed) | modes; // Relaxed: see `gasneti_sci_object_0_3`
    let groups = [
        (
            GASNETI_SCI_MODE_SEQ | GASNETI_SCI_MODE_PARSYNC | GASNETI_SCI_MODE_PAR,
            "GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR",
        ),
        (
            GASNETI_SCI_MODE_FAST | GASNETI_SCI_MODE_LARGE | GASNETI_SCI_MODE_EVERYTHING,
            "GASNET_SEGMENT_FAST, _LARGE and _EVERYTHING",
        ),
        (GASNETI_SCI_MODE_DEBUG | GASNETI_SCI_MODE_NDEBUG, "GASNET_DEBUG and GASNET_NDEBUG"),
    ];
    for (group, names) in groups {
        if (all & group).count_ones() > 1 {
            // A program may include gasnet.h, and begin with deck_init all the same.
            let beside = if when != "deck_init" {
                ""
            } else {
                "; a program that calls no gasnet_init before deck_init is GASNET_PAR, and has a segment of GASNET_SEGMENT_FAST"
            };
            log::error(format_args!(
                "{when}: objects of this program were compiled in different modes: all must choose the same of {names}{beside}"
            ));
            exit::exit(1);
        }
    }
}

fn report_environment(config: &CStr) {
    let Ok(job) = Job::get() else { return };
    if !job.config().observe.raw_values {
        tools_env::use_decoder();
    }
    settings::set_verbose(job.config().verbose_env && job.rank() == 0);
    settings::report("GASNET_CONFIG_STRING", &config.to_string_lossy(), false);
    for found in job.report() {
        let unset = found.is_default && found.value.is_empty();
        let value = settings::shown((!unset).then_some(&found.value));
        let origin = if found.is_tuned { "   (tune file)" } else { "" };
        settings::report(found.name, &format!("{value}{origin}"), found.is_default);
    }
    if job.rank() == 0 {
        report_problems(job.config());
    }
    trace::note(
        b'I',
        format_args!(
            "node {} of {}, pid {}: {}",
            job.rank(),
            job.nodes(),
            std::process::id(),
            config.to_string_lossy()
        ),
    );
}

/// What is wrong in the environment and does not end the job. One node reports it.
fn report_problems(config: &Config) {
    config.tune_problem.iter().chain(&backtrace::problem(config)).for_each(|problem| log::advise(problem));
    for word in &config.no_catch.unknown {
        log::advise(&format!("GASNET_NO_CATCH_SIGNAL names an unknown signal: {word}"));
    }
    for (name, near) in crate::base::config::unknown_here() {
        let hint = near.map_or(String::new(), |near| format!("; is {near} meant?"));
        log::advise(&format!("environment variable {name} is not known{hint}"));
    }
}

pub(in crate::api) fn call_hook(base: usize, len: usize) {
    let place = &raw const gasnet_client_attach_hook;
    // SAFETY: the client sets it before attach and leaves it alone (contract: core.md §13).
    if let Some(hook) = unsafe { place.read() } {
        // SAFETY: the client's own function, with the arguments that the contract names.
        unsafe { hook(base as *mut c_void, len) };
    }
}

/// Ends the job with status `code`. Any thread, any time after init. Contract: core.md §6.3.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_exit(code: c_int) -> ! {
    exit::exit(code)
}

/// Ends the job with a line `*** FATAL ERROR: `, followed by `text`.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_fatal(text: *const c_char) -> ! {
    // SAFETY: the caller promises that `text` is a C string.
    let text = unsafe { CStr::from_ptr(text) };
    job::fatal(format_args!("{}", text.to_string_lossy()))
}

/// What the node's exit calls: other hosts get what was sent to them, and the traces their last lines.
fn leave() {
    trace::leaves();
    if let Ok(job) = Job::get() {
        job.leave();
    }
    tools_trace::at_exit();
}
