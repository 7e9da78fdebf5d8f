//! The helper: a thread that does what is due while the client computes or blocks (rule 3).
//!
//! It looks every `NAP` and at the times that are known, so that a node that communicates need not wake it: that would be a system call
//! per store. After `AWAKE` without work it sleeps until it is called, and after `IDLE` it ends. It takes no signal but faults.
//!
//! Must not know: what is due.

use crate::os::{own_threads, sys};
use crate::sync::{AtomicU32, Ordering, fence};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Time between two looks of a helper that is awake: so late can a store arrive while its node computes.
const NAP: Duration = Duration::from_micros(100);
/// Naps without work until it sleeps.
const AWAKE: u32 = 50;
/// How long it sleeps before it ends.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes of its stack.
const STACK: usize = 256 << 10;

const IS_ABSENT: u32 = 0;
const IS_ASLEEP: u32 = 1;
const IS_AWAKE: u32 = 2;

/// The thread, if there is one.
#[derive(Default)]
pub(super) struct Helper {
    /// One of the words above. Changed under the lock.
    state: AtomicU32,
    lock: Mutex<()>,
    called: Condvar,
}

/// What has a helper.
pub(super) trait Helped: Send + Sync + 'static {
    /// Its helper.
    fn helper(&self) -> &Helper;
    /// Does what is due.
    fn work(&self);
    /// When something is due next, in nanoseconds.
    fn next(&self) -> Option<u64>;
}

impl Helper {
    /// True if it will look soon. Ask behind a fence behind what it shall see.
    pub(super) fn is_awake(&self) -> bool {
        // Relaxed: the caller's fence and the one in `serve` order it.
        self.state.load(Ordering::Relaxed) == IS_AWAKE
    }

    fn is(&self, state: u32) {
        self.state.store(state, Ordering::Relaxed); // Relaxed: as above
    }
}

/// Starts the helper of `of`, or wakes it.
pub(super) fn call<T: Helped>(of: &Arc<T>) {
    let helper = of.helper();
    let _one_at_a_time = helper.lock.lock();
    // Relaxed: under the lock.
    if helper.state.load(Ordering::Relaxed) == IS_ABSENT {
        let thread = of.clone();
        if own_threads::spawn("sci-timed", STACK, move || serve(&*thread)).is_err() {
            return; // calls of the library deliver alone
        }
    }
    helper.is(IS_AWAKE);
    helper.called.notify_one();
}

/// The thread.
fn serve(of: &impl Helped) {
    let helper = of.helper();
    let mut idle = 0;
    loop {
        of.work();
        let nap = of.next().map_or(NAP, |next| NAP.min(Duration::from_nanos(next.saturating_sub(sys::clock_ns()))));
        idle = if of.next().is_some() { 0 } else { idle + 1 };
        if idle <= AWAKE {
            std::thread::sleep(nap);
            continue;
        }
        let mut lock = helper.lock.lock();
        helper.is(IS_ASLEEP);
        // ORDERING: full fence ↔ the one behind the store of what is kept (`Core::note_next`): this thread sees it, or the caller of
        // `is_awake` sees that this thread sleeps.
        fence(Ordering::SeqCst);
        if of.next().is_none() && helper.called.wait_for(&mut lock, IDLE).timed_out() && !helper.is_awake() {
            return helper.is(IS_ABSENT);
        }
        helper.is(IS_AWAKE);
        idle = 0;
    }
}
