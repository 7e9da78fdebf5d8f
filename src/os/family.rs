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

/// A process that was seen below this one. Its number may become another's, but not the number with the time of its start.
#[derive(Debug, PartialEq)]
pub struct Descendant {
    /// Its name in `/proc`.
    entry: i32,
    start: u64,
}

/// `/proc` is not there, so that nothing can be told of processes.
#[derive(Debug, PartialEq)]
pub struct NoProc;

/// Looks for a process that has the number `pid` and descends from this one, be it a zombie.
///
/// # Errors
/// There is no `/proc`.
pub fn descendant(pid: i32) -> Result<Option<Descendant>, NoProc> {
    if stat("self").is_none() {
        return Err(NoProc);
    }
    let found = if namespace::proc_counts_alike() {
        below(pid, sys::pid(), |process| Some(stat(&process.to_string())?.parent)).then_some(pid)
    } else {
        let depth = depth();
        let name = |entry: Option<i32>| entry.map_or("self".into(), |entry| entry.to_string());
        below_by_lists(pid, |entry| children_of(&name(entry), depth))
    };
    Ok(found.and_then(|entry| Some(Descendant { entry, start: stat(&entry.to_string())?.start })))
}

impl Descendant {
    /// It has not ended, or its parent has not taken its status yet.
    pub fn exists(&self) -> bool {
        self.now().is_some()
    }

    /// It has not ended.
    pub fn runs(&self) -> bool {
        self.now().is_some_and(|now| !now.is_zombie)
    }

    fn now(&self) -> Option<Stat> {
        stat(&self.entry.to_string()).filter(|now| now.start == self.start)
    }
}

// What `/proc` says of a process.
struct Stat {
    is_zombie: bool,
    parent: i32,
    start: u64,
}

fn stat(process: &str) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect(); // the name may have blanks
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat { is_zombie: matches!(*fields.first()?, "Z" | "X"), parent: number(1)? as i32, start: number(19)? })
}

// Whether the parents of `pid` lead to this process, `own`. `parent`: that of a process; `None`: it has gone.
fn below(pid: i32, own: i32, parent: impl Fn(i32) -> Option<i32>) -> bool {
    let mut at = pid;
    for _ in 0..1000 {
        at = match parent(at) {
            Some(parent) if parent == own => return true,
            Some(parent) if parent > 0 => parent,
            None if at != pid => pid, // this ancestor has gone meanwhile, and its children have got another parent before
            _ => return false,
        };
    }
    false // processes that come and go
}

// Where `/proc` has other numbers: the entry of the descendant `pid`. `children`: those of an entry; `None`: of this process.
fn below_by_lists(pid: i32, children: impl Fn(Option<i32>) -> Vec<Listed>) -> Option<i32> {
    let search = || {
        let mut left = children(None);
        while let Some(process) = left.pop() {
            if process.pid == pid {
                return Some(process.entry);
            }
            left.extend(children(Some(process.entry)));
        }
        None
    };
    // A process between them may end after this process's children were listed: then `pid` has become one of those.
    search().or_else(search)
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
/// none is left. Takes about a second at most. Returns how many there were at first. Needs `sys::adopt_orphans`.
pub fn kill_all(spare: &[i32]) -> usize {
    let mut count = None;
    for _ in 0..1000 {
        while matches!(sys::reap(), Ok(Some(_))) {}
        let mut left = own_children();
        left.retain(|pid| !spare.contains(pid));
        count.get_or_insert(left.len());
        if left.is_empty() {
            break;
        }
        for pid in &left {
            sys::kill(*pid, libc::SIGKILL);
        }
        sys::nap(Duration::from_millis(1));
    }
    count.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
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

    #[test]
    fn a_descendant_is_known_by_its_start_and_strangers_are_none() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & echo $!; wait"]);
        let mut child = shell.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (pid, grandchild) = (child.id() as i32, line.trim().parse().unwrap());
        let found = [pid, grandchild].map(|pid| descendant(pid).unwrap().unwrap());
        assert!(found.iter().all(|process| process.exists() && process.runs()));
        let other = Descendant { entry: pid, start: found[0].start + 1 };
        assert!(!other.exists() && !other.runs(), "another process has the number");
        assert_eq!([sys::pid(), sys::parent_pid()].map(descendant), [Ok(None), Ok(None)]);
        sys::kill(grandchild, libc::SIGKILL);
        child.wait().unwrap(); // the shell has taken the status of its child
        assert!(found.iter().all(|process| !process.exists()));
        assert_eq!(descendant(pid), Ok(None));
    }

    /// 10 has started 11, which has started 12; 11 goes during the look.
    #[test]
    fn a_descendant_is_found_though_a_process_between_goes_meanwhile() {
        let gone = std::cell::Cell::new(false);
        let parent = |process| match process {
            11 => {
                gone.set(true);
                None
            }
            12 => Some(if gone.get() { 10 } else { 11 }),
            _ => None,
        };
        assert!(below(12, 10, parent));
        assert!(!below(12, 9, |process| (process == 12).then_some(11)) && !below(11, 10, parent), "it has gone itself");
        gone.set(false);
        let listed = |number| vec![Listed { entry: number, pid: number + 100 }];
        let children = |entry: Option<i32>| match entry {
            None => listed(if gone.get() { 12 } else { 11 }),
            Some(11) => {
                gone.set(true);
                Vec::new()
            }
            Some(_) => Vec::new(),
        };
        assert_eq!([112, 113].map(|pid| below_by_lists(pid, children)), [Some(12), None]);
    }
}
