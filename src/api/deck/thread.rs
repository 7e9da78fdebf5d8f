//! Threads and semaphores of the process.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::{DESTROYED, Object, deck, hand_out, object, shared, status, take_back, until, wrong};
use crate::deck::waiting::Key;
use crate::deck::{Failure, Until};
use crate::os::signal_stack;
use crate::sync::fixed::{AtomicBool, Ordering};
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// A pointer of the program's that goes from thread to thread.
pub(super) struct Carried(*mut c_void);
// SAFETY: the program's own; what it points to is the program's business.
unsafe impl Send for Carried {}

/// `struct deck_thread`.
pub struct deck_thread {
    magic: u32,
    handle: Option<JoinHandle<Carried>>,
    /// Its function has returned.
    ended: Arc<AtomicBool>,
}

impl Object for deck_thread {
    const MAGIC: u32 = 0x7468_725c;
    const NAME: &'static str = "thread";
    type Content = Option<JoinHandle<Carried>>;
    fn word(&self) -> u32 {
        self.magic
    }
    fn magic(&mut self) -> &mut u32 {
        &mut self.magic
    }
    fn content(&mut self) -> Option<JoinHandle<Carried>> {
        self.handle.take()
    }
}

thread_local! {
    /// The calling thread, if it is one of ours.
    static SELF: Cell<*mut deck_thread> = const { Cell::new(null_mut()) };
}

/// What a thread runs.
pub type deck_thread_fn_t = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// `deck_thread_create`.
///
/// # Safety
/// `run` may be called with `arg` in another thread; `place` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_thread_create(
    run: Option<deck_thread_fn_t>,
    arg: *mut c_void,
    place: *mut *mut deck_thread,
) -> c_int {
    status("deck_thread_create", || {
        let (deck, ended) = (deck()?, Arc::new(AtomicBool::new(false)));
        if !deck.is_threaded() {
            return Err(Failure::Mode);
        }
        let Some(run) = run.filter(|_| !place.is_null()) else { return wrong("NULL for the function or the result") };
        let object =
            Box::into_raw(Box::new(deck_thread { magic: deck_thread::MAGIC, handle: None, ended: ended.clone() }));
        let (arg, own) = (Carried(arg), Carried(object.cast()));
        // The client's function begins when the object is complete: others may join the thread as soon as they have it from there.
        let complete = Arc::new(Mutex::new(()));
        let begins = complete.clone();
        let building = complete.lock();
        let body = move || {
            let (arg, own) = (arg, own);
            signal_stack::provide();
            drop(begins.lock());
            SELF.with(|cell| cell.set(own.0.cast()));
            // SAFETY: as the caller promises.
            let result = Carried(unsafe { run(arg.0) });
            ended.store(true, Ordering::Release); // ORDERING: Release ↔ Acquire in deck_thread_join
            deck.waiting.wake_all(Key::Object(own.0 as usize));
            result
        };
        match thread::Builder::new().name("deck".into()).spawn(body) {
            Ok(handle) => {
                // SAFETY: made above; the thread takes its address only.
                unsafe { (*object).handle = Some(handle) };
                // SAFETY: not NULL, so the caller promises that it is writable.
                unsafe { place.write(object) };
                drop(building);
                Ok(())
            }
            Err(error) => {
                // SAFETY: made above, and no thread has it.
                drop(unsafe { Box::from_raw(object) });
                Err(Failure::memory(format!("a thread: {error}")))
            }
        }
    })
}

/// `deck_thread_join`.
///
/// # Safety
/// `thread` is NULL or a thread, which nobody uses any more; `result` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_thread_join(thread: *mut deck_thread, result: *mut *mut c_void) -> c_int {
    status("deck_thread_join", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let ended = unsafe { object(thread) }?.ended.clone();
        // Messages are served meanwhile: the thread may wait for one that this thread has to serve.
        let look = || Ok(ended.load(Ordering::Acquire).then_some(())); // ORDERING: see deck_thread_create
        if look()?.is_none() {
            deck.wait(&[Key::Object(thread as usize)], Until::Forever, look)?;
        }
        // SAFETY: as the caller promises.
        let handle = unsafe { take_back(thread, DESTROYED) }?;
        let returned = handle.and_then(|handle| handle.join().ok()).map_or(null_mut(), |carried| carried.0);
        if !result.is_null() {
            // SAFETY: as the caller promises.
            unsafe { result.write(returned) };
        }
        Ok(())
    })
}

/// `deck_thread_yield`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_thread_yield() -> c_int {
    status("deck_thread_yield", || {
        deck()?.am().poll();
        thread::yield_now();
        Ok(())
    })
}

/// `deck_thread_self`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_thread_self() -> *mut deck_thread {
    SELF.with(Cell::get)
}

/// What a semaphore has. Each thread that waits has a ticket.
#[derive(Default)]
struct Count {
    /// How many may pass without waiting.
    value: u64,
    /// Those who wait, in the order in which they came.
    waiting: VecDeque<u64>,
    /// Those who waited and may pass, and have not seen it yet.
    passed: Vec<u64>,
}

/// `struct deck_sem`.
pub struct deck_sem {
    magic: u32,
    count: Mutex<Count>,
}

impl Object for deck_sem {
    const MAGIC: u32 = 0x7365_6d5c;
    const NAME: &'static str = "semaphore";
    type Content = ();
    fn word(&self) -> u32 {
        self.magic
    }
    fn magic(&mut self) -> &mut u32 {
        &mut self.magic
    }
    fn content(&mut self) {}
}

/// `deck_sem_create`.
///
/// # Safety
/// `sem` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_sem_create(value: c_uint, sem: *mut *mut deck_sem) -> c_int {
    status("deck_sem_create", || {
        deck()?;
        if sem.is_null() {
            return wrong("NULL for the result");
        }
        let count = Mutex::new(Count { value: value.into(), ..Count::default() });
        // SAFETY: not NULL, so the caller promises that it is writable.
        unsafe { hand_out(sem, deck_sem { magic: deck_sem::MAGIC, count }) };
        Ok(())
    })
}

/// `deck_sem_destroy`.
///
/// # Safety
/// `sem` is NULL or a semaphore, which nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_sem_destroy(sem: *mut deck_sem) -> c_int {
    status("deck_sem_destroy", || {
        deck()?;
        // SAFETY: as the caller promises.
        unsafe { take_back(sem, DESTROYED) }
    })
}

/// What a semaphore counts. Threads share it.
///
/// # Safety
/// NULL or a semaphore.
unsafe fn count<'a>(sem: *mut deck_sem) -> Result<&'a Mutex<Count>, Failure> {
    // SAFETY: as the caller promises.
    unsafe { shared(sem) }.map(|object| &object.count)
}

/// `deck_sem_p`.
///
/// # Safety
/// `sem` is NULL or a semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_sem_p(sem: *mut deck_sem) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { pass("deck_sem_p", sem, super::constants::DECK_FOREVER) }
}

/// `deck_sem_p_timed`.
///
/// # Safety
/// `sem` is NULL or a semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_sem_p_timed(sem: *mut deck_sem, time: i64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { pass("deck_sem_p_timed", sem, time) }
}

/// `call`, which is `deck_sem_p` or `deck_sem_p_timed`.
///
/// # Safety
/// As [`deck_sem_p`].
unsafe fn pass(call: &str, sem: *mut deck_sem, time: i64) -> c_int {
    status(call, || {
        let (deck, until) = (deck()?, until(time)?);
        // SAFETY: as the caller promises.
        let count = unsafe { count(sem) }?;
        let mut own = count.lock();
        if own.value > 0 {
            own.value -= 1;
            return Ok(());
        }
        if let Some(failure) = until.over() {
            return Err(failure);
        }
        let number = deck.waiting.ticket();
        own.waiting.push_back(number);
        drop(own);
        let passes = |count: &mut Count| {
            let at = count.passed.iter().position(|passed| *passed == number);
            at.map(|at| count.passed.swap_remove(at))
        };
        let look = || Ok(passes(&mut count.lock()).map(drop));
        let waited = deck.wait(&[Key::Ticket(number)], until, look);
        waited.or_else(|failure| {
            let mut own = count.lock();
            own.waiting.retain(|waits| *waits != number);
            // It may have been let through in the last moment.
            passes(&mut own).map(drop).ok_or(failure)
        })
    })
}

/// `deck_sem_v`.
///
/// # Safety
/// `sem` is NULL or a semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_sem_v(sem: *mut deck_sem) -> c_int {
    status("deck_sem_v", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let mut own = unsafe { count(sem) }?.lock();
        match own.waiting.pop_front() {
            None => own.value += 1,
            Some(number) => {
                own.passed.push(number);
                drop(own);
                deck.waiting.wake(Key::Ticket(number));
            }
        }
        Ok(())
    })
}
