//! Namespaces of processes: numbers of processes mean something only among those that count alike.
//!
//! Must not know: what the numbers are for.

use super::sys;
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

/// A namespace. Two processes of one system are in the same one exactly if these are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The device of its file.
    pub device: u64,
    /// The inode of its file.
    pub inode: u64,
}

/// The PID namespace of this process; `None` if the system does not say.
pub fn of_processes() -> Option<Namespace> {
    read("/proc/self/ns/pid")
}

/// True if this process's children are in another PID namespace than it is, as after `unshare --pid` without `--fork`. The first
/// child is the first process of that namespace: when it ends, the kernel kills all others there.
pub fn children_are_elsewhere() -> bool {
    const CHILDREN: &str = "/proc/self/ns/pid_for_children";
    // Until there is a first child, the link is there, but leads nowhere.
    fs::symlink_metadata(CHILDREN).is_ok() && of_processes().is_some_and(|own| read(CHILDREN) != Some(own))
}

/// The time namespace of this process, in which clocks and start times of processes count; `None` if the kernel has none.
pub fn of_clocks() -> Option<Namespace> {
    read("/proc/self/ns/time")
}

fn read(link: &str) -> Option<Namespace> {
    let file = fs::metadata(link).ok()?;
    Some(Namespace { device: file.dev(), inode: file.ino() })
}

/// True if `/proc` numbers processes as this process does. It does not after `unshare --pid` without a mount of `/proc`: there
/// `/proc/N` is another process than the one that a system call means by N.
pub fn proc_counts_alike() -> bool {
    fs::read_link("/proc/self").is_ok_and(|link| link.to_str() == Some(&sys::pid().to_string()))
}

/// The directory in `/proc` of process `pid`, a number of this process's namespace.
///
/// # Errors
/// `/proc` does not number processes so.
pub fn proc_of(pid: i32) -> io::Result<std::path::PathBuf> {
    match proc_counts_alike() {
        true => Ok(format!("/proc/{pid}").into()),
        false => Err(io::Error::new(io::ErrorKind::NotFound, "/proc numbers processes of another PID namespace")),
    }
}

/// From the file `status` of a process in `/proc`, its number in the namespace that is `depth` below that of `/proc`.
pub(super) fn number_at(status: &str, depth: usize) -> Option<i32> {
    numbers(status)?.nth(depth)?.parse().ok()
}

/// How far this process's namespace is below that of `/proc`, by its own file `status`.
pub(super) fn depth(status: &str) -> Option<usize> {
    numbers(status)?.count().checked_sub(1)
}

// Its numbers, from that in the namespace of `/proc` to that in its own.
fn numbers(status: &str) -> Option<std::str::SplitWhitespace<'_>> {
    status.lines().find_map(|line| line.strip_prefix("NSpid:")).map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_namespace_and_proc_counts_as_it_does() {
        assert_eq!(of_processes(), of_processes());
        assert!(of_processes().is_some());
        assert!(proc_counts_alike() && !children_are_elsewhere());
        assert_eq!(proc_of(7).unwrap().to_str(), Some("/proc/7"));
    }

    #[test]
    fn a_process_has_a_number_in_each_namespace_from_that_of_proc_down() {
        let status = "Name:\tsh\nNgid:\t0\nNSpid:\t4711\t12\t1\nNSpgid:\t4711\t12\t1\n";
        assert_eq!(depth(status), Some(2));
        assert_eq!([0, 1, 2, 3].map(|at| number_at(status, at)), [Some(4711), Some(12), Some(1), None]);
        assert_eq!(depth("Name:\tsh\n"), None);
    }
}
