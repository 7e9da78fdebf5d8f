//! Whether calls that return an error code also report it on stderr (`gex_System_SetVerboseErrors`; contract: ex-core.md §6).

use crate::sync::fixed::{AtomicBool, Ordering};

static VERBOSE: AtomicBool = AtomicBool::new(true);

/// True if they do: at first, and in GASNet-1 always.
pub(super) fn is_on() -> bool {
    VERBOSE.load(Ordering::Relaxed) // Relaxed: orders nothing
}

/// Chooses it, for the whole process.
pub(super) fn set(on: bool) {
    VERBOSE.store(on, Ordering::Relaxed); // Relaxed: orders nothing
}
