//! Reader-writer locks of the tools (contract: tools.md §6). They are those of parking_lot, in a word of client memory
//! that starts as 0.

#![allow(unsafe_code)] // clients' pointers; exported names

use parking_lot::RawRwLock;
use parking_lot::lock_api::{RawRwLock as _, RawRwLockRecursive as _};

const _: () = assert!(size_of::<RawRwLock>() == size_of::<usize>() && align_of::<RawRwLock>() == align_of::<usize>());
// SAFETY: equal sizes, see above; every bit pattern is a usize.
const _: () =
    assert!(unsafe { std::mem::transmute::<RawRwLock, usize>(RawRwLock::INIT) } == 0, "clients start it as 0");

/// # Safety
/// `word` points to an initialised lock that stays in place for `'a`.
unsafe fn lock<'a>(word: *mut usize) -> &'a RawRwLock {
    // SAFETY: the caller promises a lock that stays for `'a`; it is one word, and free when that is 0: see above.
    unsafe { &*word.cast::<RawRwLock>() }
}

/// Takes the lock for reading; waits while a thread writes. A thread that reads may call it again.
///
/// # Safety
/// `word` points to an initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_read_lock(word: *mut usize) {
    // SAFETY: the caller promises that `word` is an initialised lock.
    let lock = unsafe { lock(word) };
    lock.lock_shared_recursive();
}

/// Takes the lock for reading and returns 1; returns 0 if a thread writes.
///
/// # Safety
/// As [`gasneti_sci_tools_read_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_try_read_lock(word: *mut usize) -> i32 {
    // SAFETY: the caller promises that `word` is an initialised lock.
    let lock = unsafe { lock(word) };
    i32::from(lock.try_lock_shared_recursive())
}

/// Takes the lock for writing; waits until no other thread reads or writes.
///
/// # Safety
/// As [`gasneti_sci_tools_read_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_write_lock(word: *mut usize) {
    // SAFETY: the caller promises that `word` is an initialised lock.
    let lock = unsafe { lock(word) };
    lock.lock_exclusive();
}

/// Takes the lock for writing and returns 1; returns 0 if a thread reads or writes.
///
/// # Safety
/// As [`gasneti_sci_tools_read_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_try_write_lock(word: *mut usize) -> i32 {
    // SAFETY: the caller promises that `word` is an initialised lock.
    let lock = unsafe { lock(word) };
    i32::from(lock.try_lock_exclusive())
}

/// # Safety
/// As [`gasneti_sci_tools_read_lock`]; the calling thread reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_read_unlock(word: *mut usize) {
    // SAFETY: the caller promises that `word` is an initialised lock.
    let lock = unsafe { lock(word) };
    // SAFETY: the calling thread reads, says the contract.
    unsafe { lock.unlock_shared() }
}

/// # Safety
/// As [`gasneti_sci_tools_read_lock`]; the calling thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_write_unlock(word: *mut usize) {
    // SAFETY: the caller promises that `word` is an initialised lock.
    let lock = unsafe { lock(word) };
    // SAFETY: the calling thread writes, says the contract.
    unsafe { lock.unlock_exclusive() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let mut word = 0usize;
        let word = &raw mut word;
        // SAFETY: an initialised lock, for the whole test.
        let read = || unsafe { gasneti_sci_tools_try_read_lock(word) };
        // SAFETY: the caller promises that `word` is an initialised lock.
        let write = || unsafe { gasneti_sci_tools_try_write_lock(word) };
        assert_eq!((read(), read(), write()), (1, 1, 0));
        // SAFETY: this thread reads twice.
        (0..2).for_each(|_| unsafe { gasneti_sci_tools_read_unlock(word) });
        assert_eq!((write(), write(), read()), (1, 0, 0));
        // SAFETY: this thread writes.
        unsafe { gasneti_sci_tools_write_unlock(word) };
        assert_eq!(read(), 1);
    }
}
