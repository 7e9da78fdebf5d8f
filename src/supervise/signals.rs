//! The library's signal handlers in a node. Contract: core.md §6.5.
//!
//! Rules:
//! 1. A handler that the client installed before stays. A signal that was ignored stays ignored.
//!    GASNET_NO_CATCH_SIGNAL names more signals that are left alone.
//! 2. A terminating signal becomes one SIGQUIT, for which the client may have a handler. A second one from the same
//!    origin ends the node at once. There are two origins, direct and passed on by the supervisor, because a process
//!    group gets both.
//! 3. Each signal is reported by each node that gets it. The supervisor makes one line of those of all nodes (`output/fold`).
//!    A fatal signal then kills the process as it would have without the library.
//! 4. SIGQUIT is caught even if it was ignored at the start, because the supervisor uses it to ask a node to end.
//!    From any other sender it then has no effect.
//!
//! Handlers are async-signal-safe.

#![allow(unsafe_code)] // processes and signals

use super::exit::die_of;
use super::{debug, exit, node, spawn};
use crate::base::config::Config;
use crate::base::log;
use crate::os::{signal_stack, signame, sys};
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use libc::{c_int, c_void};
use std::time::Duration;

const FATAL: [c_int; 5] = [libc::SIGABRT, libc::SIGILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE];
const TERMINATING: [c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE];
/// Enough for the handlers, with a stack trace, and with the register frame of any CPU. A guess.
const SIGNAL_STACK: usize = 64 << 10;

static QUIT_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
// The thread that handles a fatal signal; 0: none.
static DYING: AtomicU32 = AtomicU32::new(0);
// GASNET_SCI_RESERVE. Relaxed everywhere: set before the handler that reads it is installed.
static RESERVES: AtomicBool = AtomicBool::new(false);
// The supervisor has asked this node to end.
static ASKED: AtomicBool = AtomicBool::new(false);
static DIRECT: AtomicU32 = AtomicU32::new(0);
static FORWARDED: AtomicU32 = AtomicU32::new(0);

/// Number and name of a signal, such as `11 (SIGSEGV)`.
pub fn signal_name(signal: c_int) -> String {
    match signame::text(signal) {
        "" => signal.to_string(),
        name => format!("{signal} ({name})"),
    }
}

/// Installs the handler of SIGQUIT, the only one between init and attach: other nodes may end the job at any time.
/// Also reads the settings of [`debug`]. In a guest's process signals are its runtime's business, here and in attach.
pub fn install_at_init(config: &Config) {
    let (rank, _) = log::identity();
    debug::configure(config, Some(rank));
    if config.guest {
        return;
    }
    // A foreign launcher asks nodes to end by SIGTERM, at any time. Without a handler their output would be lost.
    if exit::is_unsupervised() && sys::is_default(libc::SIGTERM) && !config.no_catch.contains(libc::SIGTERM) {
        sys::set_handler(libc::SIGTERM, on_terminating);
    }
    if config.no_catch.contains(libc::SIGQUIT) {
        return;
    }
    if sys::is_ignored(libc::SIGQUIT) {
        QUIT_WAS_IGNORED.store(true, Ordering::Relaxed); // Relaxed: read by a handler that is installed below
    } else if !sys::is_default(libc::SIGQUIT) {
        return;
    }
    sys::set_handler(libc::SIGQUIT, on_quit);
}

/// Installs the other handlers (rule 1). Gives the calling thread a signal stack, so that an overflow of its own
/// stack can be reported. Other threads get theirs when they come by (`os::signal_stack`).
pub fn install_at_attach(config: &Config) {
    if config.guest {
        return;
    }
    signal_stack::set_size(SIGNAL_STACK);
    signal_stack::provide();
    let take = |signals: &[c_int], handler: sys::Handler| {
        let free = |signal: &&c_int| sys::is_default(**signal) && !config.no_catch.contains(**signal);
        signals.iter().filter(free).for_each(|signal| sys::set_handler(*signal, handler));
    };
    RESERVES.store(config.reserve, Ordering::Relaxed);
    take(&FATAL, on_fatal);
    take(&TERMINATING, on_terminating);
    take(&[libc::SIGQUIT], on_quit);
}

/// Whether this node has got a terminating signal, and with it a SIGQUIT.
pub fn was_told_to_end() -> bool {
    DIRECT.load(Ordering::Relaxed) > 0 // Relaxed: a hint
}

/// Whether the supervisor has asked this node to end, as it asks all of them.
pub fn was_asked() -> bool {
    ASKED.load(Ordering::Relaxed) // Relaxed: a hint
}

// How the signal was sent, and whether this node's supervisor sent it.
fn origin(info: *mut libc::siginfo_t) -> (c_int, bool) {
    // SAFETY: the kernel passes a valid siginfo to SA_SIGINFO handlers for as long as they run. It is null if a
    // client calls what `gasnett_reghandler` gave it back.
    let Some(info) = (unsafe { info.as_ref() }) else { return (libc::SI_USER, false) };
    if info.si_code != libc::SI_QUEUE {
        return (info.si_code, false);
    }
    // SAFETY: SI_QUEUE comes with a value.
    let value = unsafe { info.si_value() };
    (info.si_code, value.sival_ptr as usize == spawn::MARKER)
}

fn report(what: &str, signal: c_int) {
    let (node, nodes) = log::identity();
    debug::plain_line(format_args!("*** Caught a {what}: {}({signal}) on node {node}/{nodes}", signame::text(signal)));
}

extern "C" fn on_quit(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    die_if_no_node(signal);
    let (code, from_supervisor) = origin(info);
    ASKED.fetch_or(from_supervisor, Ordering::Relaxed); // Relaxed: a hint
    let ours = from_supervisor || code == libc::SI_TKILL;
    if ours || !QUIT_WAS_IGNORED.load(Ordering::Relaxed) {
        leave() // Relaxed: see `install_at_init`
    }
}

// Does what SIGQUIT does by default. A code that the job already has is not replaced.
fn leave() -> ! {
    let code = node::current().and_then(|node| node.header.exit_code());
    exit::exit(code.map_or(1, i32::from))
}

extern "C" fn on_terminating(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    die_if_no_node(signal);
    let (_, forwarded) = origin(info);
    let count = if forwarded { &FORWARDED } else { &DIRECT };
    // Relaxed: a count that orders nothing.
    if count.fetch_add(1, Ordering::Relaxed) > 0 {
        exit::at_once(1);
    }
    if (if forwarded { &DIRECT } else { &FORWARDED }).load(Ordering::Relaxed) > 0 {
        return; // the twin of a signal that is being handled
    }
    if is_news() {
        report("signal", signal);
    }
    // This signal is blocked while its handler runs, but a second one must get through (rule 2).
    sys::SignalSet::new(&TERMINATING).apply(libc::SIG_UNBLOCK);
    sys::SignalSet::new(&[libc::SIGQUIT]).apply(libc::SIG_UNBLOCK);
    sys::raise(libc::SIGQUIT);
    leave() // the client's handler has returned, or the client ignores SIGQUIT
}

// A foreign launcher sends its signals to all nodes, and no supervisor makes one line of theirs: the first one on each host tells. That
// launcher also sends SIGTERM to the nodes that are left when one has ended with a code. That is no news.
fn is_news() -> bool {
    let Some(node) = node::current().filter(|_| exit::is_unsupervised()) else { return true };
    node.header.exit_code().is_none() && node.header.tells_first()
}

extern "C" fn on_fatal(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    die_if_no_node(signal);
    let me = sys::thread_id();
    // Relaxed: it decides which thread prints the report, and hands nothing over.
    match DYING.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            if !(signal == libc::SIGABRT && crate::base::fatal::is_reported()) {
                report("fatal signal", signal);
                if signal == libc::SIGBUS && origin(info).0 == libc::BUS_ADRERR {
                    // Of a mapped file, as the job's memory is one to the system. Nobody sends such a signal.
                    let help = match RESERVES.load(Ordering::Relaxed) {
                        true => "", // of the segment attach has had all memory
                        false => ": with GASNET_SCI_RESERVE=yes attach fails instead",
                    };
                    log::error(format_args!("memory ran out, unless a file was made shorter{help}"));
                }
                debug::on_error();
            }
        }
        Err(first) if first == me => {} // another fault while this thread handles the first
        Err(_) => let_first_finish(),
    }
    die_of(signal)
}

// A child that the client forked has our handlers, but signals to it do not concern the job.
fn die_if_no_node(signal: c_int) {
    if node::current().is_none() {
        die_of(signal);
    }
}

// Gives the thread that reports the first error about a second, and all the time that it is frozen. Its report matters
// more than ours.
fn let_first_finish() {
    for _ in 0..10 {
        while debug::is_frozen() {
            sys::nap(Duration::from_millis(100));
        }
        sys::nap(Duration::from_millis(100));
    }
}
