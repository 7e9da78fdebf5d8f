//! Limits that control groups set, of version 2 and of version 1. They count from this process's group up to the
//! root.
//!
//! Must not know: what is done about the limits.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A limit, and the file that sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// The limit, in the unit of the file.
    pub value: u64,
    /// How much of it is used now, if the system says so. Of memory: without what the system caches of files, because it gives that
    /// back before it runs out.
    pub used: u64,
    /// The file in which an administrator changes it.
    pub file: PathBuf,
}

impl GroupLimit {
    /// What is not used yet.
    pub fn left(&self) -> u64 {
        self.value.saturating_sub(self.used)
    }

    /// The directory of the group.
    pub fn group(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// Device and inode of the group's directory. Processes see one group under different paths, and different groups under one path:
    /// these tell whether it is the same.
    pub fn identity(&self) -> Option<(u64, u64)> {
        let directory = fs::metadata(self.group()).ok()?;
        Some((directory.dev(), directory.ino()))
    }
}

/// Version 1 shows "no limit" as the largest multiple of a page, which is above this number.
const UNLIMITED: u64 = 1 << 62;

/// The limit on memory that leaves the fewest bytes.
pub fn memory() -> Option<GroupLimit> {
    memory_below(Path::new("/"))
}

/// How many processes the kernel has killed in this process's group of memory because a limit was reached.
pub fn memory_kills() -> Option<u64> {
    memory_kills_below(Path::new("/"))
}

/// The tightest limit on the number of processes and threads.
pub fn processes() -> Option<GroupLimit> {
    processes_below(Path::new("/"))
}

fn processes_below(root: &Path) -> Option<GroupLimit> {
    let found = limits(root, "pids", [("pids.max", "pids.current"); 2], number);
    found.into_iter().min_by_key(GroupLimit::left)
}

fn memory_below(root: &Path) -> Option<GroupLimit> {
    memory_groups_below(root).into_iter().min_by_key(GroupLimit::left)
}

/// All limits on memory, from this process's group up, in the system at `root`.
pub fn memory_groups_below(root: &Path) -> Vec<GroupLimit> {
    let files = [("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")];
    limits(root, "memory", files, |file| Some(number(file)?.saturating_sub(cached(file))))
}

// Bytes of files in the group of which `usage` is a file. Version 1 counts groups below with the names that begin with total_.
fn cached(usage: &Path) -> u64 {
    let text = fs::read_to_string(usage.with_file_name("memory.stat")).unwrap_or_default();
    let value =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
    let bytes = |name: &str| value(&format!("total_{name}")).or_else(|| value(name)).unwrap_or(0u64);
    bytes("inactive_file").saturating_add(bytes("active_file"))
}

fn memory_kills_below(root: &Path) -> Option<u64> {
    let of = |directory: &PathBuf| {
        let text = ["memory.events", "memory.oom_control"].map(|file| fs::read_to_string(directory.join(file)));
        let text = text.into_iter().find_map(Result::ok)?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    };
    directories(root, "memory").iter().find_map(of) // the first is the innermost group
}

/// The tightest quota of CPU time, in CPUs.
pub fn cpus() -> Option<f64> {
    cpus_below(Path::new("/"))
}

fn limits(
    root: &Path,
    controller: &str,
    files: [(&str, &str); 2],
    usage: impl Fn(&Path) -> Option<u64>,
) -> Vec<GroupLimit> {
    let found = directories(root, controller).into_iter().flat_map(|directory| {
        let usage = &usage;
        files.iter().filter_map(move |(limit, used)| {
            let file = directory.join(limit);
            let value = number(&file).filter(|value| *value < UNLIMITED)?;
            Some(GroupLimit { value, used: usage(&directory.join(used)).unwrap_or(0), file })
        })
    });
    found.collect()
}

fn cpus_below(root: &Path) -> Option<f64> {
    let quotas = directories(root, "cpu").into_iter().filter_map(|directory| {
        let (quota, period) = match fs::read_to_string(directory.join("cpu.max")) {
            Ok(text) => {
                let (quota, period) = text.trim().split_once(' ')?;
                (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?) // "max" is not a number: no quota
            }
            Err(_) => {
                let quota = number(&directory.join("cpu.cfs_quota_us"))?; // -1 is not accepted here: no quota
                (quota as f64, number(&directory.join("cpu.cfs_period_us"))? as f64)
            }
        };
        (period > 0.0).then_some(quota / period)
    });
    quotas.min_by(f64::total_cmp)
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Directories of the groups that this process is in for `controller`, from its own to the root, or as far up as is to be seen.
fn directories(root: &Path, controller: &str) -> Vec<PathBuf> {
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut list = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let usual = match controllers {
            "" => "/sys/fs/cgroup".to_string(),
            _ if controllers.split(',').any(|name| name == controller) => format!("/sys/fs/cgroup/{controllers}"),
            _ => continue,
        };
        let mounted = mounts.lines().filter_map(|line| mount(line, controllers.is_empty(), controller));
        for (place, top) in mounted.chain([(usual, "/".to_string())]) {
            // A group above the one that is mounted, or beside it, is not to be seen there. In a container the usual place has the
            // container's own group, whatever the path says.
            let Ok(below) = Path::new(path).strip_prefix(&top) else { continue };
            let top = root.join(place.trim_start_matches('/'));
            let is_inside = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            let mut directory = if is_inside { top.join(below) } else { top.clone() };
            while directory.starts_with(&top) {
                if !list.contains(&directory) {
                    list.push(directory.clone());
                }
                directory.pop();
            }
        }
    }
    list
}

// From a line of mountinfo: where groups of `controller` are mounted, and which group is at the top there. `second`: those of
// version 2, which have all controllers.
fn mount(line: &str, second: bool, controller: &str) -> Option<(String, String)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut fields = place.split(' ').skip(3);
    let (top, place) = (fields.next()?, fields.next()?);
    let mut kind = kind.split(' ');
    let is_right = match kind.next()? {
        "cgroup2" => second,
        "cgroup" => !second && kind.nth(1)?.split(',').any(|name| name == controller),
        _ => false,
    };
    is_right.then(|| (place.replace("\\040", " "), top.replace("\\040", " ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::scratch::Scratch;

    #[test]
    fn tightest_limit_on_the_way_to_the_root_counts() {
        let root = Scratch::with(
            "cgroup-second",
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                ("sys/fs/cgroup/a/memory.max", "4096\n"),
                ("sys/fs/cgroup/a/memory.current", "96\n"),
                ("sys/fs/cgroup/a/b/pids.max", "7\n"),
                ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
            ],
        );
        let found = memory_below(&root).unwrap();
        assert_eq!((found.value, found.used, found.left()), (4096, 96, 4000));
        assert!(found.file.ends_with("a/memory.max") && found.group().ends_with("a"), "{found:?}");
        assert_eq!(processes_below(&root).unwrap().value, 7);
        assert_eq!(cpus_below(&root), Some(1.5));
    }

    #[test]
    fn first_version_has_a_directory_per_controller() {
        let root = Scratch::with(
            "cgroup-first",
            &[
                ("proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/\n0::/\n"),
                ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "8192\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ],
        );
        assert_eq!(memory_below(&root).unwrap().value, 8192);
        assert_eq!(cpus_below(&root), None);
    }

    #[test]
    fn the_group_that_leaves_least_counts_and_files_in_its_cache_do_not() {
        let root = Scratch::with(
            "cgroup-least",
            &[
                ("proc/self/cgroup", "0::/a/b/c\n"),
                ("sys/fs/cgroup/a/b/c/memory.max", "1000\n"),
                ("sys/fs/cgroup/a/b/c/memory.current", "300\n"),
                ("sys/fs/cgroup/a/b/memory.max", "9000\n"),
                ("sys/fs/cgroup/a/b/memory.current", "9500\n"),
                ("sys/fs/cgroup/a/b/memory.stat", "anon 8000\ninactive_file 600\nactive_file 400\n"),
                ("sys/fs/cgroup/a/memory.max", "max\n"),
                ("sys/fs/cgroup/a/b/c/memory.events", "oom 9\noom_kill 3\n"),
            ],
        );
        let found = memory_below(&root).unwrap();
        assert_eq!((found.value, found.used, found.left()), (9000, 8500, 500));
        assert!(found.group().ends_with("a/b"), "{found:?}");
        assert_eq!(memory_kills_below(&root), Some(3));
    }

    #[test]
    fn groups_of_the_first_version_count_those_below_them_and_kills() {
        let root = Scratch::with(
            "cgroup-first-nested",
            &[
                ("proc/self/cgroup", "4:memory:/x/y\n0::/\n"),
                ("sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "8000\n"),
                ("sys/fs/cgroup/memory/x/y/memory.usage_in_bytes", "1000\n"),
                ("sys/fs/cgroup/memory/x/y/memory.oom_control", "under_oom 0\noom_kill 2\n"),
                ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9000\n"),
                ("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "7000\n"),
                (
                    "sys/fs/cgroup/memory/x/memory.stat",
                    "inactive_file 7\ntotal_inactive_file 500\ntotal_active_file 100\n",
                ),
            ],
        );
        let found = memory_below(&root).unwrap();
        assert_eq!((found.value, found.used), (9000, 6400));
        assert_eq!(memory_kills_below(&root), Some(2));
    }

    #[test]
    fn groups_are_found_where_they_are_mounted_and_nothing_outside_of_them() {
        let root = Scratch::with(
            "cgroup-mounted",
            &[
                ("proc/self/cgroup", "5:cpu,cpuacct:/d/c1\n4:memory:/d/c1/in\n0::/../z\n"),
                (
                    "proc/self/mountinfo",
                    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                     35 31 0:32 /d/c1 /my\\040groups/memory rw - cgroup cgroup rw,memory\n\
                     36 31 0:33 /d/c2 /other/memory rw - cgroup cgroup rw,memory\n\
                     37 31 0:34 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                     41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
                ),
                ("my groups/memory/in/memory.limit_in_bytes", "8000\n"),
                ("my groups/memory/memory.limit_in_bytes", "5000\n"),
                ("other/memory/memory.limit_in_bytes", "1\n"),
                ("sys/fs/cgroup/unified/memory.max", "7000\n"),
                ("sys/fs/cgroup/z/memory.max", "2\n"),
                ("sys/fs/cgroup/cpu/d/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu/d/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let found = memory_below(&root).unwrap();
        assert_eq!((found.value, found.file), (5000, root.join("my groups/memory/memory.limit_in_bytes")));
        assert_eq!(cpus_below(&root), Some(0.5));
    }
}
