//! Threads of the library, and those that run a program's callbacks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, ThreadId};

use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use crate::calm;

/// The stack of a thread. A program's callback runs in it, so it is nearly what programs expect of threads; only pages that are used cost memory.
const STACK: usize = 4 << 20;

/// Starts a thread that no signal of the program goes to.
#[expect(unsafe_code, reason = "signal masks are set by libc alone")]
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> rustix::io::Result<JoinHandle<()>> {
    // SAFETY: a signal set of zeros is one.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: the set is this function's.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: both sets are this function's. The new thread inherits the mask.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) };
    let thread = Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work);
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    thread.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
}

/// A call of a program's function. False ends the callback for good.
pub type Call = Box<dyn FnOnce() -> bool + Send>;

/// The thread of one resource's callback. It makes calls one after the other, in the order in which they were asked for.
#[derive(Default)]
pub struct Caller {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    calls: VecDeque<Call>,
    is_over: bool,
    thread: Option<JoinHandle<()>>,
    id: Option<ThreadId>,
}

/// Calls that may wait: more are dropped, since a callback that never returns must not eat the memory.
const MOST: usize = 4096;

impl Caller {
    /// Asks for a call. Starts the thread if this is the first.
    pub fn call(self: &Arc<Caller>, call: Call) {
        let mut state = self.state.lock();
        if state.is_over || state.calls.len() >= MOST {
            return;
        }
        state.calls.push_back(call);
        if state.thread.is_none() {
            let own = self.clone();
            match spawn("sisci-callback", move || own.run()) {
                Ok(thread) => {
                    state.id = Some(thread.thread().id());
                    state.thread = Some(thread);
                }
                Err(errno) => eprintln!("sisci: cannot start a thread for a callback: {errno}"),
            }
        }
        self.changed.notify_all();
    }

    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return;
            }
            let Some(call) = state.calls.pop_front() else {
                self.changed.wait(&mut state);
                continue;
            };
            drop(state);
            let goes_on = call();
            state = self.state.lock();
            state.is_over |= !goes_on;
            self.changed.notify_all();
        }
    }

    /// No more calls. Waits until the running one has returned, unless this is called from it.
    pub fn finish(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.calls.clear();
        self.changed.notify_all();
        if state.id == Some(std::thread::current().id()) {
            return;
        }
        let thread = state.thread.take();
        drop(state);
        if let Some(thread) = thread {
            let _ = calm::with_lock(|| calm::open(|| thread.join()));
        }
    }
}

/// A thread that waits for one resource and calls the program; its loop ends by itself once the resource is gone.
#[derive(Default)]
pub struct Waiter(Mutex<Option<JoinHandle<()>>>);

impl Waiter {
    /// Starts it.
    pub fn start(&self, work: impl FnOnce() + Send + 'static) -> rustix::io::Result<()> {
        *self.0.lock() = Some(spawn("sisci-callback", work)?);
        Ok(())
    }

    /// Whether this is called from it.
    pub fn is_current(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|thread| thread.thread().id() == std::thread::current().id())
    }

    /// Waits for its end, unless this is called from it.
    pub fn finish(&self) {
        let thread = self.0.lock().take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = calm::with_lock(|| calm::open(|| thread.join()));
        }
    }
}
