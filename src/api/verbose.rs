//! Whether calls that return an error code also report it on stderr (`gex_System_SetVerboseErrors`; contract: ex-core.md §6).

use crate::base::error::Error;
use crate::sync::fixed::{AtomicBool, Ordering};
use std::cell::RefCell;

thread_local! {
    /// What was wrong with this thread's last message that failed.
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the error of a message, for the line of `gasneti_sci_am_failed`.
pub(super) fn keep(error: &Error) {
    let _ = KEPT.try_with(|kept| kept.replace(Some(error.to_string()))); // a thread that is at its end keeps none
}

/// The error that this thread has kept.
pub(super) fn kept() -> Option<String> {
    KEPT.try_with(RefCell::take).ok().flatten()
}

static VERBOSE: AtomicBool = AtomicBool::new(true);

/// True if they do: at first, and in GASNet-1 always.
pub(super) fn is_on() -> bool {
    VERBOSE.load(Ordering::Relaxed) // Relaxed: orders nothing
}

/// Chooses it, for the whole process.
pub(super) fn set(on: bool) {
    VERBOSE.store(on, Ordering::Relaxed); // Relaxed: orders nothing
}
