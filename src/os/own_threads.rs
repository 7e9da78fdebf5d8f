//! Which threads of the process are the library's, by their numbers.
//!
//! Each thread that the library starts is listed, and those that another library starts on its behalf while it is opened. Threads that such a library starts
//! later are not known: they count as the client's.
//!
//! Must not know: what the threads do.

use super::{signal, sys};
use crate::sync::{AtomicBool, Ordering};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::{fs, io};

/// Bytes of a stack where none is chosen: as Rust's.
pub const STACK: usize = 2 << 20;

static LIST: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// A thread was started, though it may not have listed itself yet.
static STARTED: AtomicBool = AtomicBool::new(false);

fn list() -> MutexGuard<'static, BTreeSet<u32>> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread of the library, which gets no signals but faults. `stack`: bytes of its stack.
///
/// # Errors
/// There is no thread.
pub fn spawn(name: &str, stack: usize, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let run = move || {
        let _listed = listed();
        body();
    };
    STARTED.store(true, Ordering::Relaxed); // Relaxed: see `were_started`
    signal::with_all_blocked(|| Builder::new().name(name.into()).stack_size(stack).spawn(run))
}

/// The calling thread is the library's until the result is dropped.
pub fn listed() -> Listed {
    list().insert(sys::thread_id());
    Listed
}

/// See `listed`.
pub struct Listed;

impl Drop for Listed {
    fn drop(&mut self) {
        list().remove(&sys::thread_id());
    }
}

/// Opens another library by `open`: the threads that it starts are the library's.
pub fn of_library<T>(open: impl FnOnce() -> T) -> T {
    let before = numbers();
    let result = open();
    if let (Some(before), Some(after)) = (before, numbers()) {
        list().extend(after.difference(&before));
        STARTED.store(true, Ordering::Relaxed); // Relaxed: see `were_started`
    }
    result
}

/// The library has started threads in this process. One that this thread has started counts from then on: it lists itself later, when it runs.
pub fn were_started() -> bool {
    STARTED.load(Ordering::Relaxed) // Relaxed: a thread sees what it has stored itself, and others may start threads at any time
}

/// The client has no thread any more: the main one has ended, and the others are the library's. `None`: nobody knows.
pub fn are_alone() -> Option<bool> {
    // Held while the threads are read: one that lists itself afterwards would be struck off, as it is not among those that were read.
    let mut list = list();
    let all = numbers()?;
    list.retain(|number| all.contains(number)); // the system gives numbers again
    let main = sys::pid() as u32;
    let stat = fs::read_to_string(format!("/proc/self/task/{main}/stat")).ok()?;
    // Behind the name, which is in parentheses, stands the state. The main thread stays in the list until the process ends.
    let has_ended = stat.rsplit_once(") ")?.1.starts_with(['Z', 'X']);
    Some(
        all.contains(&sys::thread_id())
            && all.iter().all(|number| list.contains(number) || *number == main && has_ended),
    )
}

/// The numbers of all threads of this process. `None`: they cannot be read.
fn numbers() -> Option<BTreeSet<u32>> {
    fs::read_dir("/proc/self/task").ok()?.map(|task| task.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn threads_are_listed_while_they_run() {
        let (say, hear) = mpsc::channel::<u32>();
        let (end, ends) = mpsc::channel::<()>();
        let ours = spawn("sci-test", 64 << 10, move || {
            say.send(sys::thread_id()).unwrap();
            let _ = ends.recv();
        })
        .unwrap();
        let number = hear.recv().unwrap();
        assert!(list().contains(&number) && were_started());
        assert_eq!(are_alone(), Some(false), "this thread is no thread of the library");
        drop(end);
        ours.join().unwrap();
        assert!(!list().contains(&number));
    }

    #[test]
    fn threads_of_a_library_that_is_opened_are_listed() {
        let (end, ends) = mpsc::channel::<()>();
        let (thread, number) = of_library(|| {
            let (say, hear) = mpsc::channel();
            let body = move || {
                say.send(sys::thread_id()).unwrap();
                let _ = ends.recv();
            };
            let thread = Builder::new().spawn(body).unwrap();
            (thread, hear.recv().unwrap())
        });
        assert!(list().contains(&number));
        drop(end);
        thread.join().unwrap();
        while numbers().unwrap().contains(&number) {} // until the system has forgotten it
        assert_eq!(are_alone(), Some(false));
        assert!(!list().contains(&number));
    }
}
