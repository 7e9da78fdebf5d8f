//! Leaves the job, from any thread, handler or signal handler, whatever locks are held.
//!
//! Rules:
//! 1. The first caller in a process proceeds. Others wait for the process to end.
//! 2. The code is written to the job's header before anything that may block.
//! 3. All that may block (the hook, stdio) runs under an alarm. The alarm ends the process with its code.
//!
//! Contract: core.md §6.3, §6.4.

#![allow(unsafe_code)] // processes and signals

use super::debug;
use super::header::Phase;
use super::node::{self, Node};
use crate::base::{fatal as base, log};
use crate::os::{last_thread, spare_heap, sys};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use libc::{c_int, c_void};
use std::time::Duration;
use std::{fmt, ptr};

unsafe extern "C" {
    // The calls that the libc crate lacks. `stdout` and `stderr` are C's streams.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    fn ftrylockfile(stream: *mut libc::FILE) -> c_int;
    fn fflush_unlocked(stream: *mut libc::FILE) -> c_int;
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Time for the hook, and for flushing streams whose lock another thread may never give back. A guess: long enough
/// for any write to a file, short enough for a user who waits.
const SHORT: Duration = Duration::from_secs(1);

/// Time to say goodbye to a launcher that is not ours. It is a few ms; a guess for a busy host.
const GOODBYE: Duration = Duration::from_secs(5);

/// Time for the other streams if one stream is known to be locked. A guess: files are cached, so 100 ms flush a lot.
const BLOCKED: Duration = Duration::from_millis(100);

// The thread that leaves; 0: none.
static LEAVING: AtomicU32 = AtomicU32::new(0);
// The exit code, for the alarm.
static CODE: AtomicU32 = AtomicU32::new(0);
static HOOK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static DEPARTURE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static UNSUPERVISED: AtomicBool = AtomicBool::new(false);
static FLUSHING: AtomicBool = AtomicBool::new(false);

/// Signals that are ignored once exit has begun.
const SILENCED: [c_int; 5] = [libc::SIGQUIT, libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE];
/// Faults that may happen in the last flush, because it works with streams in any state.
const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Sets the hook. It runs once, in the node's exit, on the thread that leaves. stdout and stderr are flushed then,
/// other streams are not. The hook must not wait for locks that client code may hold. After a second it is cut off.
pub fn set_hook(hook: fn()) {
    // ORDERING: Release ↔ Acquire in `run_hook`: the hook sees what was set up before.
    HOOK.store(hook as *mut c_void, Ordering::Release);
}

/// How a node leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Departure {
    /// By gasnet_exit or by returning from main.
    Orderly,
    /// It has failed, and ends the job.
    Failed,
}

/// Sets the function with which a node says goodbye to a launcher that is not ours. It runs once, after the job's code
/// was recorded and all was flushed. It must be async-signal-safe and return after a bounded time.
pub fn set_departure(depart: fn(Departure)) {
    // ORDERING: Release ↔ Acquire in `depart`: the function sees what was set up before.
    DEPARTURE.store(depart as *mut c_void, Ordering::Release);
    UNSUPERVISED.store(true, Ordering::Relaxed); // Relaxed: see `is_unsupervised`
}

/// Whether a launcher that is not ours started this node. Then the node has no supervisor above it.
pub fn is_unsupervised() -> bool {
    UNSUPERVISED.load(Ordering::Relaxed) // Relaxed: a setting
}

fn depart(how: Departure) {
    if let Some(depart) = take_departure() {
        set_alarm(GOODBYE);
        depart(how);
    }
}

fn take_departure() -> Option<fn(Departure)> {
    // ORDERING: Acquire ↔ Release in `set_departure`: the function sees what was set up before. The swap makes it run
    // once.
    let depart = DEPARTURE.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: only `set_departure` stores here, and it stores a `fn(Departure)`.
    (!depart.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, fn(Departure)>(depart) })
}

/// This node leaves its job in good order, and its process goes on without it: a guest's end. Nothing bounds the time.
pub fn leave_as_guest() {
    run_hook();
    if let Some(depart) = take_departure() {
        depart(Departure::Orderly);
    }
}

fn leave_orderly(code: i32) -> ! {
    depart(Departure::Orderly);
    sys::exit_now(code & 0xff)
}

/// Ends this node with `code` from a thread of ours, whatever its client does: `depart` runs, for a second at most.
pub fn force(code: u8, depart: impl FnOnce()) -> ! {
    CODE.store(code.into(), Ordering::Relaxed); // Relaxed: as in `record`
    DEPARTURE.store(ptr::null_mut(), Ordering::Relaxed); // Relaxed: no function is handed over
    set_alarm(SHORT);
    depart();
    sys::exit_now(code.into())
}

fn run_hook() {
    // ORDERING: Acquire ↔ Release in `set_hook`: the hook sees what was set up before. The swap makes it run once.
    let hook = HOOK.swap(ptr::null_mut(), Ordering::Acquire);
    if !hook.is_null() {
        // SAFETY: only `set_hook` stores here, and it stores a `fn()`.
        let hook = unsafe { std::mem::transmute::<*mut c_void, fn()>(hook) };
        hook();
    }
}

/// `gasnet_exit`: ends this node, and thereby the job, with the low 8 bits of `code`. Legal anywhere.
pub fn exit(code: i32) -> ! {
    let Some(node) = node::current() else { sys::exit_now(code & 0xff) };
    begin(node, code);
    FAULTS.iter().for_each(|signal| sys::set_handler(*signal, leave_with_code));
    FLUSHING.store(true, Ordering::Relaxed); // Relaxed: only this thread reads it, if it comes here again
    // A stream whose lock is free can only wait for its reader. That may take as long as the whole exit.
    set_alarm(node.exit_time);
    // SAFETY: libc defines it before any code of ours runs. A client that assigns it does so before it leaves.
    flush_if_free(unsafe { stdout });
    // SAFETY: libc defines `stderr` before any code of ours runs.
    flush_if_free(unsafe { stderr });
    set_alarm(SHORT);
    run_hook();
    flush_the_rest();
    leave_orderly(code)
}

// A thread in a read holds its stream's lock, usually that of stdin, and fflush(NULL) waits for that lock. Then the
// time is short.
fn flush_the_rest() {
    // SAFETY: libc's own stream. This thread keeps the lock, because the process ends.
    if unsafe { ftrylockfile(stdin) } != 0 {
        set_alarm(BLOCKED);
    }
    sys::flush_all_stdio();
}

// Does what rules 1 and 2 say.
fn begin(node: &Node, code: i32) {
    let me = sys::thread_id();
    // Relaxed: only the first caller continues, and nothing is handed over.
    if let Err(leaving) = LEAVING.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        if leaving == me {
            // The same thread again: from an exit handler after `process_exits`, from the hook, or during the flush.
            if !FLUSHING.swap(true, Ordering::Relaxed) {
                set_alarm(SHORT); // Relaxed: one thread
                sys::flush_all_stdio();
            }
            leave_orderly(code);
        }
        loop {
            sys::pause();
        }
    }
    SILENCED.iter().for_each(|signal| sys::set_plain(*signal, libc::SIG_IGN));
    record(node, Phase::Exiting, code);
}

fn record(node: &Node, phase: Phase, code: i32) {
    let code = (code & 0xff) as u8;
    CODE.store(code.into(), Ordering::Relaxed); // Relaxed: the alarm is armed later, and may read it on any thread
    node.header.record_exit(code);
    node.record().set_leaving(phase, code);
}

/// Ends this node with `code`. Flushes nothing. Async-signal-safe.
pub fn at_once(code: u8) -> ! {
    leave_at_once(Phase::Exiting, code)
}

/// As [`at_once`], for a node that has said why it ends the job: the others are asked without the grace of an orderly exit.
fn fail(code: u8) -> ! {
    match LEAVING.load(Ordering::Relaxed) {
        0 => {}
        // Relaxed, above: as in `begin`. This node is leaving in order, with its own code: peers that go meanwhile change nothing.
        leaving if leaving == sys::thread_id() => {
            flush_the_rest();
            leave_orderly(CODE.load(Ordering::Relaxed) as i32) // Relaxed: this thread's own
        }
        _ => loop {
            sys::pause();
        },
    }
    leave_at_once(Phase::Failed, code)
}

fn leave_at_once(phase: Phase, code: u8) -> ! {
    if let Some(node) = node::current() {
        record(node, phase, code.into());
        depart(Departure::Failed);
    }
    sys::exit_now(code.into())
}

/// Whether this process has begun to leave.
pub fn is_leaving() -> bool {
    LEAVING.load(Ordering::Relaxed) != 0 // Relaxed: a hint
}

extern "C" fn leave_with_code(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    leave_orderly(CODE.load(Ordering::Relaxed) as c_int) // Relaxed: see `record`
}

// Does what rule 3 says.
fn set_alarm(time: Duration) {
    set_alarm_for(time, leave_with_code);
}

fn set_alarm_for(time: Duration, handler: sys::Handler) {
    sys::set_handler(libc::SIGALRM, handler);
    sys::SignalSet::new(&[libc::SIGALRM]).apply(libc::SIG_UNBLOCK);
    sys::set_alarm(time);
}

fn flush_if_free(stream: *mut libc::FILE) {
    for _ in 0..20 {
        // SAFETY: `stream` is one of C's standard streams. This thread keeps the lock, because the process ends.
        if unsafe { ftrylockfile(stream) } == 0 {
            // SAFETY: locked by this thread.
            unsafe { fflush_unlocked(stream) };
            return;
        }
        sys::nap(Duration::from_millis(5));
    }
}

/// Makes a return from `main`, and `exit(n)`, count as `gasnet_exit(n)`. Exit handlers that are registered later run
/// before, those registered earlier still run after; the end of the last thread of a client that has left `main` by `pthread_exit` counts as
/// `exit(0)`. Call it in init.
pub fn register_process_exit() {
    last_thread::watch();
    // SAFETY: the handler is a plain function of the library, which stays loaded (-z nodelete).
    unsafe { on_exit(process_exits, ptr::null_mut()) };
}

extern "C" fn process_exits(code: c_int, _argument: *mut c_void) {
    let Some(node) = node::current() else { return }; // a child that the client forked is not a node
    begin(node, code);
    set_alarm(node.exit_time); // for the exit handlers and destructors that still have to run
    run_hook();
    depart(Departure::Orderly);
    set_alarm(node.exit_time);
}

/// Like [`base::fatal`], but works before init too, when the hook is not installed yet.
pub fn fatal(text: fmt::Arguments<'_>) -> ! {
    base::set_fatal_hook(on_fatal_error);
    base::fatal(text)
}

/// What a fatal error does after its line: stack trace and freeze, if they are switched on, then what the client printed before.
fn on_fatal_error() {
    debug::on_error();
    // A child that the client forked has copies of what the node has not written yet.
    if node::current().is_some() || log::identity().1 == 0 {
        flush_or_die();
    }
}

/// Writes out what the client printed before, unless another thread holds the stream. The error may have come in the middle of a
/// write, and a reader may have stopped: a fault, or a second without success, ends the process as the error would have.
fn flush_or_die() {
    let faults = FAULTS.iter().filter(|signal| **signal != libc::SIGABRT);
    faults.for_each(|signal| sys::set_handler(*signal, end_by_abort));
    set_alarm_for(SHORT, end_by_abort);
    // SAFETY: libc defines it before any code of ours runs. A client that assigns it does so before it leaves.
    flush_if_free(unsafe { stdout });
    // SAFETY: libc defines `stderr` before any code of ours runs.
    flush_if_free(unsafe { stderr });
    sys::set_alarm(Duration::ZERO);
}

extern "C" fn end_by_abort(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    die_of(libc::SIGABRT)
}

/// Ends the process as `signal` does by default. Async-signal-safe.
pub fn die_of(signal: c_int) -> ! {
    sys::set_plain(signal, libc::SIG_DFL);
    sys::SignalSet::new(&[signal]).apply(libc::SIG_UNBLOCK);
    sys::raise(signal);
    sys::exit_now(128 + signal)
}

/// Makes a panic of the library a [`fatal`] error with the panic's place, and has [`base::fatal`] do what [`fatal`] does.
pub fn install_error_hooks() {
    base::set_fatal_hook(on_fatal_error);
    base::set_leave_hook(fail);
    std::panic::set_hook(Box::new(|panic| {
        if spare_heap::has_switched() {
            sys::exit_now(1); // a child that looks names up: its parent goes on without it
        }
        let text = panic_text(panic.payload());
        match panic.location() {
            Some(place) => fatal(format_args!("internal error at {place}: {text}")),
            None => fatal(format_args!("internal error: {text}")),
        }
    }));
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}
