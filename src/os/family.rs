//! The descendants of this process: their numbers, and signals to all of them.
//!
//! A process that adopts orphans (`sys::adopt_orphans`) finds every descendant below itself, even one that moved to
//! another session or process group. Must not know: nodes, jobs.

use super::sys;
use libc::c_int;
use std::fs;
use std::time::Duration;

/// The children of this process.
pub fn own_children() -> Vec<i32> {
    children_of("self")
}

// Children of `process`, a number or "self". Empty if the process has ended, or if the kernel does not list children.
fn children_of(process: &str) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// True if `pid` descends from this process. A process with the same number in another namespace does not count.
pub fn is_descendant(mut pid: i32) -> bool {
    let mine = sys::pid();
    for _ in 0..64 {
        match parent_of(pid) {
            Some(parent) if parent == mine => return true,
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Sends `signal` to the processes `roots` and all their descendants, except those that `skip` names. Parents come
/// first: a parent that SIGSTOP has reached starts no more children, so none is missed.
pub fn signal_all(roots: &[i32], signal: c_int, skip: &dyn Fn(i32) -> bool) {
    for pid in roots {
        if !skip(*pid) {
            sys::kill(*pid, signal);
        }
        signal_all(&children_of(&pid.to_string()), signal, skip);
    }
}

/// Kills and reaps all children except `spare`, and their children once they become children of this process, until
/// none is left. Takes about a second at most. Needs `sys::adopt_orphans`.
pub fn kill_all(spare: &[i32]) {
    for _ in 0..1000 {
        while sys::reap().is_some() {}
        let mut left = own_children();
        left.retain(|pid| !spare.contains(pid));
        if left.is_empty() {
            return;
        }
        for pid in &left {
            sys::kill(*pid, libc::SIGKILL);
        }
        sys::nap(Duration::from_millis(1));
    }
}
