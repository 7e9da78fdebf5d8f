//! Whether a thread is between the prepare and the commit of a message (contract: ex-core.md §12): there it may neither
//! communicate nor poll. `ex::npam` counts, `debug` asks.

use std::cell::Cell;

thread_local!(static OPEN: Cell<u32> = const { Cell::new(0) });

/// Counts a prepare of this thread.
pub(super) fn opened() {
    OPEN.set(OPEN.get() + 1);
}

/// Counts its commit or cancel.
pub(super) fn closed() {
    OPEN.set(OPEN.get().saturating_sub(1));
}

/// True between the two.
pub(super) fn is_open() -> bool {
    OPEN.get() > 0
}
