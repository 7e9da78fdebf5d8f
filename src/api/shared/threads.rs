//! The limit `GASNET_MAX_THREADS`: how many live client threads of a node may have called the library
//! (contract: environment.md §2.1). Clients size arrays by it. A thread counts from its first call that is not inline
//! until it ends.
//!
//! By default the variable is unset. Then each call costs one relaxed load and a branch that is not taken.

use crate::sync::fixed::{AtomicU64, Ordering};

/// 0: no limit. Set once, by init.
static LIMIT: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);

/// A thread that is counted.
struct CountedThread;

thread_local!(static COUNTED: CountedThread = CountedThread::new());

impl CountedThread {
    fn new() -> CountedThread {
        // Relaxed, here and in the rest of the file: the counters order no other memory.
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
        LIVE.fetch_sub(1, Ordering::Relaxed); // Relaxed: orders nothing
    }
}

/// Limits the number of threads from now on. Init calls it in PAR and PARSYNC.
pub(in crate::api) fn limit(most: Option<u32>) {
    LIMIT.store(most.map_or(0, u64::from), Ordering::Relaxed); // Relaxed: init runs before other threads call
}

/// True if there is a limit. Then no poll may be inline, because the library must see each thread's first call.
pub(in crate::api) fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != 0 // Relaxed: orders nothing
}

/// Counts the calling thread, if there is a limit and this is its first call.
#[inline(always)]
pub(in crate::api) fn note() {
    // Relaxed: orders nothing
    if LIMIT.load(Ordering::Relaxed) != 0 {
        count();
    }
}

#[cold]
#[inline(never)]
fn count() {
    // The access fails in a thread that runs its destructors. That thread has been counted already.
    let _ = COUNTED.try_with(|_| ());
}
