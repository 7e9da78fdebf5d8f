//! Signal handlers that tidy up. A handler may interrupt its thread inside of a call of this library, where that has a lock, or is in the C library's
//! `malloc`. If it calls the library then, it would wait for its own thread for ever.
//!
//! So a thread that is inside has its signals blocked, and a handler runs when the call is over. A call that waits opens them for so long:
//!
//! | the thread | a handler |
//! |---|---|
//! | works inside of a call | runs when the call is over, or waits |
//! | waits, and holds nothing | runs at once, and may call what it likes |
//! | waits, and holds a lock ([`with_lock`]), or starts a transfer on one host ([`enter_copying`]) | runs at once; its own calls give ILLEGAL_OPERATION, and its SCITerminate is made when the call is over |
//! | is in a call that takes no lock (copies and triggers on one host) | runs at once, and may call what it likes |
//!
//! That is two system calls for each call: a segment that is made, connected, mapped and freed takes 81 instead of 77 µs. A transfer of 64 bytes would take
//! 0.90 instead of 0.41 µs, so these have the cheaper way (EPYC VM, loaded, medians of 7, 2026-11).
#![allow(unsafe_code)] // Signal masks are set by libc alone.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, Result};

/// Where a thread of the program is.
#[derive(Clone, Copy)]
enum Place {
    /// In the program, or in a call that waits and holds nothing.
    Outside,
    /// In a call. Its signals were these before.
    Inside { before: libc::sigset_t, has_lock: bool },
    /// In a call that waits and holds something, or that copies with its signals open: the library takes no call from here.
    Waits,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Outside) };
    /// What a handler wants to be made when the call that it has interrupted is over: the library's end.
    static WANTED_END: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Signals that come from what the thread does itself; blocking them would end the process.
const OWN: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// Blocks all signals but a thread's own; returns what was blocked before.
fn block() -> libc::sigset_t {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is this function's.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    for signal in OWN {
        // SAFETY: as above, filled.
        unsafe { libc::sigdelset(all.as_mut_ptr(), signal) };
    }
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are this function's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: the call has written it; it fails for a wrong first parameter only.
    unsafe { before.assume_init() }
}

/// Blocks these signals and no others.
fn restore(before: &libc::sigset_t) {
    // SAFETY: a set that `block` has got.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::from_ref(before), ptr::null_mut()) };
}

/// A thread is inside, until this is dropped. Of calls within calls the outermost one counts.
pub enum Calm {
    /// Its signals were these before.
    Blocked(libc::sigset_t),
    /// They are open.
    Open,
    /// A call within another one.
    Inner,
}

/// A call begins. ILLEGAL_OPERATION in a handler whose thread is in another call that holds something. (BUSY would have some programs try for ever.)
pub fn enter() -> Result<Calm> {
    match PLACE.get() {
        Place::Outside => {
            let before = block();
            PLACE.set(Place::Inside { before, has_lock: false });
            Ok(Calm::Blocked(before))
        }
        Place::Inside { .. } => Ok(Calm::Inner),
        Place::Waits => Err(Error::IllegalOperation),
    }
}

/// A call begins that starts a transfer, which takes as long as its bytes. While no segment is on another host (`is_far` is false) nothing in it calls
/// `enter` again.
pub fn enter_copying(is_far: bool) -> Result<Calm> {
    if is_far || !matches!(PLACE.get(), Place::Outside) {
        return enter();
    }
    PLACE.set(Place::Waits);
    Ok(Calm::Open)
}

impl Drop for Calm {
    fn drop(&mut self) {
        match self {
            Calm::Inner => {}
            Calm::Open => {
                PLACE.set(Place::Outside);
                end_if_wanted();
            }
            Calm::Blocked(before) => {
                PLACE.set(Place::Outside);
                restore(before);
                end_if_wanted();
            }
        }
    }
}

/// A handler that came meanwhile has called SCITerminate.
fn end_if_wanted() {
    if let Some(end) = WANTED_END.get()
        && let Ok(_calm) = enter()
    {
        WANTED_END.set(None);
        end();
    }
}

/// What `enter` has refused a handler that calls SCITerminate: `end` is called when the interrupted call is over.
pub fn end_later(end: fn()) {
    WANTED_END.set(Some(end));
}

/// Does `work`, which holds a lock while it waits, or something else that a handler's call would wait for.
pub fn with_lock<T>(work: impl FnOnce() -> T) -> T {
    let Place::Inside { before, has_lock } = PLACE.get() else { return work() };
    PLACE.set(Place::Inside { before, has_lock: true });
    let result = work();
    PLACE.set(Place::Inside { before, has_lock });
    result
}

/// Makes a system call that waits: signals may come. It calls nothing of the library.
pub fn open<T>(wait: impl FnOnce() -> T) -> T {
    let place = PLACE.get();
    let Place::Inside { before, has_lock } = place else { return wait() };
    PLACE.set(if has_lock { Place::Waits } else { Place::Outside });
    restore(&before);
    let result = wait();
    block();
    PLACE.set(place);
    result
}

/// Takes a lock whose owner may wait long. A thread that waits for it is in a list of all who wait for locks, where it must not be twice.
pub fn lock<'a, T>(
    mutex: &'a Mutex<T>,
    wait: impl FnOnce(&'a Mutex<T>) -> Option<MutexGuard<'a, T>>,
) -> Option<MutexGuard<'a, T>> {
    mutex.try_lock().or_else(|| with_lock(|| open(|| wait(mutex))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a signal that programs end by would come now.
    fn is_open() -> bool {
        let mut now = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: without a new set the call only writes the old one.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), now.as_mut_ptr()) };
        // SAFETY: written above.
        unsafe { libc::sigismember(now.as_ptr(), libc::SIGTERM) == 0 }
    }

    #[test]
    fn signals_come_outside_and_in_waits_alone() {
        assert!(is_open());
        let outermost = enter().unwrap();
        assert!(!is_open());
        drop(enter().unwrap());
        assert!(!is_open(), "the outermost call counts");
        open(|| {
            assert!(is_open());
            // A handler.
            drop(enter().unwrap());
            assert!(is_open());
        });
        with_lock(|| {
            assert!(!is_open());
            open(|| assert!(is_open() && enter().err() == Some(Error::IllegalOperation)));
            assert!(!is_open() && enter().is_ok());
        });
        open(|| assert!(enter().is_ok()));
        assert!(!is_open());
        drop(outermost);
        assert!(is_open());
    }

    #[test]
    fn a_handler_that_interrupts_a_transfer_is_refused() {
        let call = enter_copying(false).unwrap();
        assert!(is_open() && enter().is_err() && enter_copying(false).is_err());
        open(|| assert!(enter().is_err()));
        drop(call);
        assert!(enter().is_ok());
    }

    #[test]
    fn a_thread_of_the_library_has_nothing_to_open() {
        open(|| with_lock(|| assert!(is_open())));
    }
}
