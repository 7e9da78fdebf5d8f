//! Stack traces. They use the mechanisms that are there, in the order that the user wants (contract: tools.md §11.2,
//! environment.md §2.2).
//!
//! Once [`configure`] has run, [`print()`] is async-signal-safe, with one exception: EXECINFO takes the dynamic
//! linker's lock for a frame whose name it could not find otherwise. [`print()`] always ends: all but the client's own
//! mechanism have limits, and a trace within a trace is refused.

#![allow(unsafe_code)] // system calls, guarded memory

use super::external::{self, External};
use super::stack;
use crate::base::config::Config;
use crate::base::log;
use crate::os::sys;
use crate::sync::fixed::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use libc::c_int;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A mechanism of the client's own.
#[derive(Clone, Copy)]
pub struct Own {
    /// The name by which GASNET_BACKTRACE_TYPE selects it.
    pub name: &'static str,
    /// Prints a trace to the descriptor; returns 0 if it did. Signal handlers call it too.
    pub print: extern "C" fn(c_int) -> c_int,
    /// Whether it shows all threads.
    pub threads: bool,
}

enum Mechanism {
    Execinfo,
    External(External),
    Own(Own),
}

impl Mechanism {
    fn name(&self) -> &str {
        match self {
            Mechanism::Execinfo => "EXECINFO",
            Mechanism::External(tool) => tool.name,
            Mechanism::Own(own) => own.name,
        }
    }

    fn shows_threads(&self) -> bool {
        match self {
            Mechanism::Execinfo => false,
            Mechanism::External(_) => true,
            Mechanism::Own(own) => own.threads,
        }
    }

    fn print(&self, fd: c_int) -> bool {
        match self {
            Mechanism::Execinfo => stack::print(fd),
            Mechanism::External(tool) => tool.run(fd),
            Mechanism::Own(own) => (own.print)(fd) == 0,
        }
    }
}

static OWN: Mutex<Option<Own>> = Mutex::new(None);
// The mechanisms that `print` tries, in order; null before `configure`. A published list never changes and is never
// freed, so that a handler may read it at any time. Each call of `configure` makes a new list.
static ORDER: AtomicPtr<Vec<Mechanism>> = AtomicPtr::new(ptr::null_mut());
static ENABLED: AtomicBool = AtomicBool::new(false);
static HINTED: AtomicBool = AtomicBool::new(false);
// The thread that is printing a trace; 0: none.
static PRINTING: AtomicU64 = AtomicU64::new(0);

/// Sets the client's own mechanism. Call it before [`configure`].
pub fn set_own(own: Option<Own>) {
    *OWN.lock().unwrap_or_else(PoisonError::into_inner) = own;
}

/// Reads the settings. `node` is this node's rank, if there is a job. Each call looks for the mechanisms again,
/// because the client may have set variables or registered its own mechanism in between.
pub fn configure(config: &Config, node: Option<u32>) {
    let here = node.is_none_or(|node| config.backtrace_nodes.contains(node));
    // Relaxed: set at init, before any error that would be traced.
    ENABLED.store(config.backtrace && here, Ordering::Relaxed);
    // ORDERING: Release ↔ Acquire in `order`: a handler that sees the list sees what is in it.
    ORDER.store(Box::into_raw(Box::new(find(config).0)), Ordering::Release);
    // The first call may allocate and load a library, which a signal handler must not.
    let _ = stack::Stack::here();
}

/// Whether traces are printed on errors.
pub fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed) // Relaxed: a setting
}

/// Whether [`configure`] has run.
pub fn is_configured() -> bool {
    order().is_some()
}

fn order() -> Option<&'static [Mechanism]> {
    // ORDERING: Acquire ↔ Release in `configure`: this thread sees what is in the list.
    let list = ORDER.load(Ordering::Acquire);
    // SAFETY: null, or from `Box::into_raw` in `configure`; no code frees the list or writes to it afterwards.
    unsafe { list.as_ref() }.map(Vec::as_slice)
}

/// The mechanisms that are there, in the order in which they are tried, and a line about names in the settings that no mechanism has.
fn find(config: &Config) -> (Vec<Mechanism>, Option<String>) {
    let mut all = vec![Mechanism::Execinfo];
    all.extend(external::find().into_iter().map(Mechanism::External));
    all.extend(OWN.lock().unwrap_or_else(PoisonError::into_inner).map(Mechanism::Own));
    let wanted = &config.observe.backtrace_types;
    let mut order = Vec::new();
    let mut unknown = Vec::new();
    if wanted.is_empty() {
        order = std::mem::take(&mut all);
    }
    for name in wanted {
        match all.iter().position(|mechanism| mechanism.name().eq_ignore_ascii_case(name)) {
            Some(at) => order.push(all.remove(at)),
            None if order.iter().any(|mechanism: &Mechanism| mechanism.name().eq_ignore_ascii_case(name)) => {}
            None if external::NAMES.contains(&name.as_str()) => {} // not installed here: the next one is tried
            None => unknown.push(name.as_str()),
        }
    }
    let problem = (!unknown.is_empty()).then(|| {
        let known: Vec<&str> = order.iter().chain(&all).map(Mechanism::name).collect();
        format!("GASNET_BACKTRACE_TYPE names an unknown mechanism: {}; known: {}", unknown.join(" "), known.join(" "))
    });
    if config.observe.backtrace_threads {
        order.sort_by_key(|mechanism| !mechanism.shows_threads()); // stable: the user's order within each kind
    }
    (order, problem)
}

/// A line about names in GASNET_BACKTRACE_TYPE that no mechanism has. It looks for the mechanisms only if there are names.
pub fn problem(config: &Config) -> Option<String> {
    if config.observe.backtrace_types.is_empty() { None } else { find(config).1 }
}

/// Prints a trace of this thread to `fd`, each line with the node in front. False if no mechanism could, or if this
/// thread is already printing a trace.
pub fn print(fd: c_int) -> bool {
    let Some(order) = order() else {
        log::error(format_args!("no stack trace: gasnett_backtrace_init has not been called"));
        return false;
    };
    let me = u64::from(sys::thread_id());
    for _ in 0..100 {
        // Relaxed: it decides which thread prints, and hands nothing over.
        match PRINTING.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
            Err(other) if other == me => return false,
            Ok(_) => break,
            // Traces of two threads come one after the other, but no thread waits for ever.
            Err(_) => sys::nap(Duration::from_millis(100)),
        }
    }
    let printed = order.iter().any(|mechanism| mechanism.print(fd));
    // Relaxed: see above. A thread that gave up waiting does not change the other thread's mark.
    let _ = PRINTING.compare_exchange(me, 0, Ordering::Relaxed, Ordering::Relaxed);
    printed
}

/// Like [`print()`], if traces are switched on. Otherwise prints, once, how to switch them on.
pub fn print_if_enabled(fd: c_int) -> bool {
    if is_enabled() {
        return print(fd);
    }
    // Relaxed: the flag orders nothing else.
    if !HINTED.swap(true, Ordering::Relaxed) {
        log::advise("no stack trace: set GASNET_BACKTRACE=1 to see one");
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn within(fd: c_int) -> c_int {
        c_int::from(print(fd)) // a trace within a trace is refused, so the outer one succeeds
    }

    // All in one test, because a process has only one order of mechanisms.
    #[test]
    fn the_clients_mechanism_is_used_when_it_is_named_and_may_not_recurse() {
        set_own(Some(Own { name: "Mine", print: within, threads: true }));
        let mut config = Config::default();
        config.observe.backtrace_types = vec!["MINE".into(), "EXECINFO".into(), "MINE".into()];
        let order = find(&config).0;
        assert_eq!(order.iter().map(Mechanism::name).collect::<Vec<_>>(), ["Mine", "EXECINFO"]);
        config.observe.backtrace_types.reverse();
        config.observe.backtrace_types = vec!["EXECINFO".into(), "MINE".into()];
        config.observe.backtrace_threads = true;
        assert_eq!(find(&config).0[0].name(), "Mine");
        configure(&config, None);
        assert!(print(2));
        assert!(!is_enabled() && !print_if_enabled(2));
        config.observe.backtrace_types = vec!["EXECINFO".into()];
        config.observe.backtrace_threads = false;
        config.backtrace = true;
        configure(&config, None);
        assert!(is_enabled(), "the second call reads the settings again");
        assert_eq!(super::order().unwrap().iter().map(Mechanism::name).collect::<Vec<_>>(), ["EXECINFO"]);
        configure(&Config::default(), None);
    }
}
