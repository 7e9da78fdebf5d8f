//! Stacks for signal handlers. A handler that has one of its own can report that the thread's stack has overflowed.
//!
//! The system gives no thread such a stack, and no call tells of new threads. So [`provide`] is called where a thread comes for the
//! first time, or rarely; a thread that never comes there has none. A stack is given back at the end of its thread.
//!
//! Must not know: which handlers there are.

#![allow(unsafe_code)] // system calls

use super::host;
use super::thread_end::ThreadEnd;
use crate::sync::fixed::{AtomicUsize, Ordering};
use libc::c_void;
use std::cell::Cell;
use std::ptr;

/// Bytes of each stack; 0: threads get none.
static SIZE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STACK: Cell<Stack> = const { Cell::new(Stack::NotAsked) };
}

#[derive(Clone, Copy)]
enum Stack {
    /// The thread has not come by.
    NotAsked,
    /// It needs none of ours: it has another, it could get none, or it is at its end.
    Foreign,
    /// Memory from [`host::map`], and its length.
    Ours(*mut c_void, usize),
}

static END: ThreadEnd = ThreadEnd::new(give_back);

/// Has threads get stacks of `bytes` bytes from now on.
pub fn set_size(bytes: usize) {
    SIZE.store(bytes, Ordering::Relaxed); // Relaxed: a setting
}

/// Gives the calling thread a signal stack, unless it has one. Takes a few microseconds once, and then almost nothing.
#[cold]
pub fn provide() {
    let size = SIZE.load(Ordering::Relaxed); // Relaxed: see `set_size`
    if size != 0 && matches!(STACK.with(Cell::get), Stack::NotAsked) {
        STACK.with(|stack| stack.set(make(size)));
    }
}

fn make(size: usize) -> Stack {
    // A stack whose thread ended without a word would never be given back.
    if current().ss_flags & libc::SS_DISABLE == 0 || !END.watch() {
        return Stack::Foreign;
    }
    let Ok(memory) = host::map(size) else { return Stack::Foreign };
    set(&libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: size });
    Stack::Ours(memory, size)
}

fn give_back() {
    let Stack::Ours(memory, size) = STACK.with(|stack| stack.replace(Stack::Foreign)) else { return };
    let current = current();
    if current.ss_sp == memory {
        if current.ss_flags & libc::SS_ONSTACK != 0 {
            return; // the thread ends inside a handler, on this very stack
        }
        set(&libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 });
    }
    // SAFETY: mapped by `make`, with this length. Neither the kernel nor this thread uses it any more.
    unsafe { libc::munmap(memory, size) };
}

/// The calling thread's signal stack.
fn current() -> libc::stack_t {
    let mut stack = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: a null new stack changes nothing; `stack` is writable.
    unsafe { libc::sigaltstack(ptr::null(), &mut stack) };
    stack
}

fn set(stack: &libc::stack_t) {
    // SAFETY: no stack, or memory that lasts until `give_back` and that no other code uses.
    unsafe { libc::sigaltstack(stack, ptr::null_mut()) };
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Runs `body` on a thread of the C library, because Rust gives its own threads signal stacks.
    fn on_bare_thread(body: fn()) {
        extern "C" fn run(body: *mut c_void) -> *mut c_void {
            // SAFETY: `on_bare_thread` passes a `fn()`.
            let body = unsafe { std::mem::transmute::<*mut c_void, fn()>(body) };
            body();
            ptr::null_mut()
        }
        let mut thread = 0;
        // SAFETY: `thread` is writable, and `run` takes what is passed.
        assert_eq!(unsafe { libc::pthread_create(&mut thread, ptr::null(), run, body as *mut c_void) }, 0);
        // SAFETY: created above, and joined once.
        assert_eq!(unsafe { libc::pthread_join(thread, ptr::null_mut()) }, 0);
    }

    #[test]
    fn a_thread_gets_one_stack_and_gives_it_back() {
        static SEEN: std::sync::Mutex<Option<mpsc::Sender<(usize, usize)>>> = std::sync::Mutex::new(None);
        set_size(64 << 10);
        let (send, seen) = mpsc::channel();
        *SEEN.lock().unwrap() = Some(send);
        on_bare_thread(|| {
            assert!(current().ss_flags & libc::SS_DISABLE != 0);
            provide();
            let first = current();
            provide();
            let stacks = (first.ss_sp as usize, current().ss_sp as usize);
            assert_eq!((first.ss_flags & libc::SS_DISABLE, first.ss_size), (0, 64 << 10));
            SEEN.lock().unwrap().as_ref().unwrap().send(stacks).unwrap();
            give_back();
            assert!(current().ss_flags & libc::SS_DISABLE != 0);
            provide();
            assert!(current().ss_flags & libc::SS_DISABLE != 0, "a thread at its end gets none");
        });
        let (first, second) = seen.recv().unwrap();
        assert!(first == second && first != 0);
        // A thread that has another keeps that one.
        let before = current();
        if before.ss_flags & libc::SS_DISABLE == 0 {
            provide();
            assert_eq!(current().ss_sp, before.ss_sp);
        }
    }
}
