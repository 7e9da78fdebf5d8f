//! The descendants of this process: their numbers, and signals to all of them.
//!
//! A process that adopts orphans (`sys::adopt_orphans`) finds every descendant below itself, even one that moved to
//! another session or process group. `/proc` may number processes of another PID namespace than this process's: then its numbers
//! are translated. Must not know: nodes, jobs.

use super::{namespace, sys};
use libc::c_int;
use std::fs;
use std::time::Duration;

/// The children of this process.
pub fn own_children() -> Vec<i32> {
    children_of("self", depth()).into_iter().map(|child| child.pid).collect()
}

// A process: its name in `/proc`, and its number in this process's namespace.
struct Listed {
    entry: i32,
    pid: i32,
}

// How far this process's PID namespace is below that of `/proc`. Usually it is the same one, at depth 0.
fn depth() -> usize {
    let own = || namespace::depth(&fs::read_to_string("/proc/self/status").ok()?);
    if namespace::proc_counts_alike() { 0 } else { own().unwrap_or(0) }
}

// Children of `process`, an entry of `/proc`. Empty if the process has ended, or if the kernel does not list children. `depth`: see
// there; children that have no number in this process's namespace are left out.
fn children_of(process: &str, depth: usize) -> Vec<Listed> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let entries = lists.flat_map(|list| list.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<i32>>());
    let listed = |entry| {
        let pid = match depth {
            0 => entry,
            _ => namespace::number_at(&fs::read_to_string(format!("/proc/{entry}/status")).ok()?, depth)?,
        };
        Some(Listed { entry, pid })
    };
    entries.filter_map(listed).collect()
}

/// True if process `pid` has ended, and waits for its parent to take its status. False where `/proc` cannot tell.
pub fn is_zombie(pid: i32) -> bool {
    if !namespace::proc_counts_alike() {
        return false;
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| matches!(rest.split_whitespace().next(), Some("Z" | "X")))
}

/// Sends `signal` to those children of this process that `roots` names and to all their descendants, except those that `skip`
/// names. Parents come first: a parent that SIGSTOP has reached starts no more children, so none is missed.
pub fn signal_all(roots: &[i32], signal: c_int, skip: &dyn Fn(i32) -> bool) {
    let depth = depth();
    let mut children = children_of("self", depth);
    children.retain(|child| roots.contains(&child.pid));
    signal_list(&children, depth, signal, skip);
}

fn signal_list(list: &[Listed], depth: usize, signal: c_int, skip: &dyn Fn(i32) -> bool) {
    for process in list {
        if !skip(process.pid) {
            sys::kill(process.pid, signal);
        }
        signal_list(&children_of(&process.entry.to_string(), depth), depth, signal, skip);
    }
}

/// Kills and reaps all children except `spare`, and their children once they become children of this process, until
/// none is left. Takes about a second at most. Needs `sys::adopt_orphans`.
pub fn kill_all(spare: &[i32]) {
    for _ in 0..1000 {
        while matches!(sys::reap(), Ok(Some(_))) {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_found_by_the_number_that_system_calls_take() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = child.id() as i32;
        let is_listed = own_children().contains(&pid);
        signal_all(&[pid], libc::SIGKILL, &|_| false);
        let has_list = std::path::Path::new("/proc/self/task/self/children").exists() || is_listed;
        if !has_list {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        assert!(is_listed || !has_list);
    }
}
