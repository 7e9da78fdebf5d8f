//! Fatal errors that tests and fuzzers catch and look at.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local!(static CATCHING: Cell<bool> = const { Cell::new(false) });

struct Fatal(String);

/// Runs `f`. A fatal error of this thread ends `f` and becomes the result. A panic unwinds further. Neither can pass
/// through an `extern "C"` function, so handlers have a `catch` of their own.
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    let before = CATCHING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    CATCHING.set(before);
    result.map_err(|panic| match panic.downcast::<Fatal>() {
        Ok(fatal) => fatal.0,
        Err(panic) => resume_unwind(panic),
    })
}

/// Returns unless a caller catches. Runs no panic hook, because that would end the process.
pub(super) fn throw(text: fmt::Arguments<'_>) {
    if CATCHING.get() {
        resume_unwind(Box::new(Fatal(text.to_string())));
    }
}
