//! The end of a process whose last thread of the client's has ended.
//!
//! A client may leave `main` by `pthread_exit`. The system ends a process when its last thread ends, as `exit(0)` does; but the library's threads never end.
//! So when the main thread ends and the library has started any, one more looks at the list of threads until they are alone, and then calls `exit(0)`.
//!
//! The process stays, as it would without this file, if another thread than the main one has called init, if the library starts its first thread after the main one
//! has ended, or while there is a thread that `own_threads` does not know.
//!
//! Must not know: what the threads do.

#![allow(unsafe_code)] // exit

use super::thread_end::ThreadEnd;
use super::{own_threads, signal, sys};
use std::time::Duration;

/// Between two looks.
const BETWEEN: Duration = Duration::from_millis(20);
/// So many looks in a row must find no thread of the client's: one may start another and end while the list is read, so that neither is seen.
const LOOKS: u32 = 2;
/// Bytes of the stack, on which the client's exit functions run.
const STACK: usize = 8 << 20;

static MAIN: ThreadEnd = ThreadEnd::new(main_ends);

/// Asks the system to tell when the main thread ends. For init; in another thread it does nothing.
pub fn watch() {
    if sys::thread_id() == sys::pid() as u32 {
        MAIN.watch();
    }
}

fn main_ends() {
    if !own_threads::were_started() {
        return;
    }
    let mask = signal::SignalSet::new(&[]).apply(libc::SIG_BLOCK); // as it is
    let look = move || {
        let mut alone = 0;
        while alone < LOOKS {
            sys::nap(BETWEEN);
            alone = if own_threads::are_alone() == Some(true) { alone + 1 } else { 0 };
        }
        mask.apply(libc::SIG_SETMASK); // what the client's exit functions expect
        // SAFETY: the client has no thread that could do it at the same time.
        unsafe { libc::exit(0) };
    };
    let _ = own_threads::spawn("sci-last", STACK, look); // without it the process stays
}
