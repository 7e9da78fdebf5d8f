//! The end of a process whose last thread of the client's has ended.
//!
//! A client may leave `main` by `pthread_exit`. The system ends a process when its last thread ends, as `exit(0)` does; but the library's threads never end.
//! So when the main thread ends while there are any, one more looks until they are alone, and then calls `exit(0)`.
//!
//! Must not know: what the threads do.

#![allow(unsafe_code)] // exit

use super::thread_end::ThreadEnd;
use super::{signal, sys};
use std::fs;
use std::thread::Builder;
use std::time::Duration;

/// How names of the library's threads begin, and of those of our libsisci. The client's threads have the program's name, unless it gives them others.
const NAMES: [&str; 4] = ["sci-", "sisci-", "deck-poll", "deck-survive"];
/// Between two looks.
const BETWEEN: Duration = Duration::from_millis(20);
/// So many looks in a row must find no thread of the client's: one may begin while the list is read, and the one that began it end.
const LOOKS: u32 = 2;

static MAIN: ThreadEnd = ThreadEnd::new(main_ends);

/// Has the end of the main thread noticed. For init, which usually runs there; in another thread it does nothing.
pub fn watch() {
    if sys::thread_id() == sys::pid() as u32 {
        MAIN.watch();
    }
}

fn main_ends() {
    if !threads().iter().any(|thread| *thread == Thread::Ours) {
        return;
    }
    let look = || {
        let mut alone = 0;
        while alone < LOOKS {
            sys::nap(BETWEEN);
            alone = if threads().contains(&Thread::Clients) { 0 } else { alone + 1 };
        }
        // SAFETY: the client has no thread that could do it at the same time.
        unsafe { libc::exit(0) };
    };
    // Without it the process stays, as it would without this file.
    drop(signal::with_all_blocked(|| Builder::new().name("sci-last".into()).spawn(look)));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thread {
    Ours,
    Clients,
    /// The main thread that has ended, which stays in the list until the process ends.
    Over,
}

/// All of this process. None where there is no /proc.
fn threads() -> Vec<Thread> {
    let list = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let program = fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let is_ours = |name: &str| name != program.trim_end() && NAMES.iter().any(|start| name.starts_with(start));
    let kind = |path: std::path::PathBuf| {
        // What follows the name in parentheses is the state. A thread that has ended meanwhile has no file.
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        let (name, state) = stat.split_once('(')?.1.rsplit_once(") ")?;
        Some(match state.starts_with(['Z', 'X']) {
            true => Thread::Over,
            false if is_ours(name) => Thread::Ours,
            false => Thread::Clients,
        })
    };
    list.filter_map(|task| kind(task.path())).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn threads_are_told_apart_by_their_names() {
        let meet = Barrier::new(3);
        let ours = || threads().iter().filter(|thread| **thread == Thread::Ours).count();
        let before = ours();
        std::thread::scope(|scope| {
            for name in ["sci-test", "a client's"] {
                let wait = || {
                    meet.wait();
                    meet.wait();
                };
                Builder::new().name(name.into()).spawn_scoped(scope, wait).unwrap();
            }
            meet.wait();
            assert!(ours() > before && threads().contains(&Thread::Clients));
            meet.wait();
        });
    }
}
