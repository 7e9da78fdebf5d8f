//! `GASNET_MAX_THREADS`, when it is set: how many client threads of a node may be alive that have called the library
//! (contract: environment.md §2.1). Clients size arrays by it. A thread counts from its first call that is not inline
//! until it ends.
//!
//! Unset, which is the default, a call pays one relaxed load and a branch not taken.

use crate::sync::fixed::{AtomicU64, Ordering};

/// 0: no limit. Set once, by init.
static LIMIT: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);

/// A thread that is counted.
struct CountedThread;

thread_local!(static COUNTED: CountedThread = CountedThread::new());

impl CountedThread {
    fn new() -> CountedThread {
        // Relaxed, here and below: numbers that order nothing.
        let (live, limit) = (LIVE.fetch_add(1, Ordering::Relaxed) + 1, LIMIT.load(Ordering::Relaxed));
        if live > limit {
            crate::job::fatal(format_args!(
                "{live} client threads, GASNET_MAX_THREADS is {limit}: set it to the threads of a node, or unset it"
            ));
        }
        CountedThread
    }
}

impl Drop for CountedThread {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed); // Relaxed: as above
    }
}

/// Limits the number of threads from now on. By init, in PAR and PARSYNC.
pub(super) fn limit(most: Option<u32>) {
    LIMIT.store(most.map_or(0, u64::from), Ordering::Relaxed); // Relaxed: before there are threads that call
}

/// Is there a limit, so that no call may be inline?
pub(super) fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != 0 // Relaxed: as above
}

/// Notes that the calling thread calls the library.
#[inline(always)]
pub(super) fn note() {
    // Relaxed: as above
    if LIMIT.load(Ordering::Relaxed) != 0 {
        count();
    }
}

#[cold]
#[inline(never)]
fn count() {
    // A thread that is ending has been counted, and may call from its last functions.
    let _ = COUNTED.try_with(|_| ());
}
