//! The end of a thread, as late as the system tells it.
//!
//! The client's own values of a thread (`pthread_key_create`) may still use the library in their destructors. The system runs
//! destructors of keys in rounds, four of them, as long as any value is set. Destructors of Rust's thread-locals run before all
//! of these. So a [`ThreadEnd`] has a key of its own, whose value names the round, and acts in round `ACTS`. The last round is
//! for those on whom we depend: in it ThreadSanitizer drops what it knows of the thread, and calls crash after that.
//!
//! Must not know: what is done at the end.

#![allow(unsafe_code)] // keys of threads

use libc::{c_void, pthread_key_t};
use std::sync::OnceLock;

/// The last round but one: PTHREAD_DESTRUCTOR_ITERATIONS is 4 in glibc and musl, and POSIX asks for no less.
const ACTS: usize = 3;

/// Something to do at the ends of threads.
#[repr(align(8))] // the round stands in the low bits of its address
pub struct ThreadEnd {
    /// `None`: the system has no key left.
    key: OnceLock<Option<pthread_key_t>>,
    end: fn(),
}

const _: () = assert!(ACTS < align_of::<ThreadEnd>());

impl ThreadEnd {
    /// Calls `end` on each thread that is [watched](Self::watch).
    pub const fn new(end: fn()) -> ThreadEnd {
        ThreadEnd { key: OnceLock::new(), end }
    }

    /// Has the calling thread's end noticed, unless the whole process ends with it. False: the system lacks a key or memory,
    /// and it will not be noticed.
    pub fn watch(&'static self) -> bool {
        let key = self.key.get_or_init(|| {
            super::stay::loaded(); // the system keeps the address of `round`
            let mut key = 0;
            // SAFETY: `key` is writable, and `round` knows every value that `arm` sets.
            (unsafe { libc::pthread_key_create(&mut key, Some(round)) } == 0).then_some(key)
        });
        key.is_some_and(|key| self.arm(key, 1))
    }

    fn arm(&'static self, key: pthread_key_t, round: usize) -> bool {
        let value = std::ptr::from_ref(self).wrapping_byte_add(round);
        // SAFETY: the key was made and is never deleted.
        unsafe { libc::pthread_setspecific(key, value.cast()) == 0 }
    }
}

extern "C" fn round(value: *mut c_void) {
    let round = value as usize % align_of::<ThreadEnd>();
    // SAFETY: `arm` made the value of a `&'static ThreadEnd` and the round.
    let this: &'static ThreadEnd = unsafe { &*value.wrapping_byte_sub(round).cast::<ThreadEnd>() };
    let again = round < ACTS && this.key.get().copied().flatten().is_some_and(|key| this.arm(key, round + 1));
    if !again {
        (this.end)();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::{AtomicU32, Ordering};

    static ENDS: AtomicU32 = AtomicU32::new(0);
    /// Ends that a key's destructor saw before its last use of the library.
    static EARLY: AtomicU32 = AtomicU32::new(0);
    static USES: AtomicU32 = AtomicU32::new(0);
    static KEY: OnceLock<pthread_key_t> = OnceLock::new();

    /// A client's destructor, which sets its value again until the round in which the end comes.
    extern "C" fn clients(value: *mut c_void) {
        // Relaxed, all: one thread, which the test joins.
        EARLY.fetch_add(ENDS.load(Ordering::Relaxed), Ordering::Relaxed);
        USES.fetch_add(1, Ordering::Relaxed);
        if (value as usize) < ACTS {
            // SAFETY: the test's own key, and a number.
            unsafe { libc::pthread_setspecific(*KEY.get().unwrap(), std::ptr::without_provenance(value as usize + 1)) };
        }
    }

    #[test]
    fn the_end_comes_once_and_after_the_rounds_of_other_keys() {
        static END: ThreadEnd = ThreadEnd::new(|| {
            ENDS.fetch_add(1, Ordering::Relaxed); // Relaxed: as above
        });
        let mut key = 0;
        // SAFETY: `key` is writable, and `clients` takes any value.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(clients)) }, 0);
        KEY.set(key).unwrap();
        let thread = std::thread::spawn(move || {
            assert!(END.watch() && END.watch());
            // SAFETY: the test's own key, and a number.
            assert_eq!(unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) }, 0);
        });
        thread.join().unwrap();
        let seen = [&ENDS, &EARLY, &USES].map(|count| count.load(Ordering::Relaxed)); // Relaxed: as above
        assert_eq!(seen, [1, 0, ACTS as u32]);
    }
}
