//! Signal handlers that tidy up. A handler may interrupt its thread inside of a call of this library, where that has a lock, or is in the C library's
//! `malloc`. If it calls the library then, it would wait for its own thread for ever.
//!
//! So a thread that is inside has its signals blocked, and a handler runs when the call is over. A call that waits opens them for so long:
//!
//! | the thread | a handler |
//! |---|---|
//! | works inside of a call | runs when the call is over, or begins to wait |
//! | waits, and holds nothing | runs at once, and may call what it likes |
//! | waits, and holds a lock, or for the end of a callback ([`with_lock`]), or starts a plain transfer ([`enter_copying`]) | runs at once; its own calls give ILLEGAL_OPERATION, and its SCITerminate is made when the call is over |
//! | is in a call that takes no lock (copies and triggers, where no segment is a shadow) | runs at once, and may call what it likes |
//!
//! That is two system calls for each call: a segment that is made, connected, mapped and freed takes 81 instead of 77 µs. A transfer of 64 bytes would take
//! 0.90 instead of 0.41 µs, so these have the cheaper way (EPYC VM, loaded, medians of 7, 2026-11).
#![allow(unsafe_code)] // Signal masks are set by libc alone.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};

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
    Refuses,
}

/// What is to be made, and how often.
#[derive(Clone, Copy)]
struct End {
    make: fn(),
    times: u32,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Outside) };
    /// What handlers want to be made when the call that they have interrupted is over, and how often: the library's end.
    static WANTED_END: Cell<Option<End>> = const { Cell::new(None) };
}

/// Signals that come from what the thread does itself; blocking them would end the process.
const OWN: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Blocks all signals but a thread's own, beside those that are blocked; returns what was blocked before.
fn block() -> libc::sigset_t {
    // SAFETY: a signal set of zeros is one. The kernel writes the first words of a set alone.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: the set is this function's.
    unsafe { libc::sigfillset(&raw mut all) };
    for signal in OWN {
        // SAFETY: as above, filled.
        unsafe { libc::sigdelset(&raw mut all, signal) };
    }
    // SAFETY: both sets are this function's. What the program has blocked stays so.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before) };
    before
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
        Place::Refuses => Err(Error::IllegalOperation),
    }
}

/// A call begins that starts a transfer, which takes as long as its bytes. `is_plain`: no segment is a shadow (there is no other host, and no
/// SISCI_TIMING), and no call is traced. Then nothing in it calls `enter` again.
pub fn enter_copying(is_plain: bool) -> Result<Calm> {
    if !is_plain || !matches!(PLACE.get(), Place::Outside) {
        return enter();
    }
    PLACE.set(Place::Refuses);
    compiler_fence(Ordering::SeqCst); // a handler of this thread sees it before anything that the call does
    Ok(Calm::Open)
}

impl Drop for Calm {
    fn drop(&mut self) {
        match self {
            Calm::Inner => {}
            Calm::Open => {
                compiler_fence(Ordering::SeqCst); // as in `enter_copying`
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
    if let Some(End { make, times }) = WANTED_END.get()
        && let Ok(_calm) = enter()
    {
        WANTED_END.set(None);
        (0..times).for_each(|_| make());
    }
}

/// What `enter` has refused a handler that calls SCITerminate: `end` is called when the interrupted call is over.
pub fn end_later(end: fn()) {
    let before = WANTED_END.get().map_or(0, |end| end.times);
    WANTED_END.set(Some(End { make: end, times: before + 1 }));
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
    PLACE.set(if has_lock { Place::Refuses } else { Place::Outside });
    restore(&before);
    let result = wait();
    block();
    PLACE.set(place);
    result
}

/// Signals that came meanwhile are handled now.
pub fn breathe() {
    open(|| ());
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
        // SAFETY: a signal set of zeros is one.
        let mut now: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: without a new set the call only writes the old one.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut now) };
        // SAFETY: written above.
        unsafe { libc::sigismember(&raw const now, libc::SIGTERM) == 0 }
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
        let call = enter_copying(true).unwrap();
        assert!(is_open() && enter().is_err() && enter_copying(true).is_err());
        open(|| assert!(enter().is_err()));
        drop(call);
        assert!(enter().is_ok());
    }

    #[test]
    fn what_the_program_blocks_stays_blocked() {
        // SAFETY: a signal set of zeros is one.
        let mut trap: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is this function's.
        unsafe { libc::sigaddset(&raw mut trap, libc::SIGTRAP) };
        // SAFETY: as above.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const trap, ptr::null_mut()) };
        let call = enter().unwrap();
        // SAFETY: as above; it only writes the set.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut trap) };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::sigismember(&raw const trap, libc::SIGTRAP) }, 1);
        drop(call);
    }

    #[test]
    fn the_end_is_made_as_often_as_it_was_asked_for() {
        static ENDS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        fn end() {
            ENDS.fetch_add(1, Ordering::Relaxed); // Relaxed: one thread
        }
        let call = enter().unwrap();
        with_lock(|| {
            open(|| {
                assert!(enter().is_err());
                end_later(end);
                end_later(end);
            });
        });
        assert_eq!(ENDS.load(Ordering::Relaxed), 0);
        drop(call);
        assert_eq!(ENDS.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_thread_of_the_library_has_nothing_to_open() {
        open(|| with_lock(|| assert!(is_open())));
    }
}
