//! Limits that control groups set, of version 2 and of version 1. They count from this process's group up to the
//! root.
//!
//! Must not know: what is done about the limits.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit, and the file that sets it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupLimit {
    /// The limit, in the unit of the file.
    pub value: u64,
    /// How much of it is used now, if the system says so.
    pub used: u64,
    /// The file in which an administrator changes it.
    pub file: PathBuf,
}

/// Version 1 shows "no limit" as the largest multiple of a page, which is above this number.
const UNLIMITED: u64 = 1 << 62;

/// The tightest limit on memory, in bytes.
pub fn memory() -> Option<GroupLimit> {
    tightest(Path::new("/"), "memory", [("memory.max", "memory.current"), LEGACY_MEMORY])
}

const LEGACY_MEMORY: (&str, &str) = ("memory.limit_in_bytes", "memory.usage_in_bytes");

/// The tightest limit on the number of processes and threads.
pub fn processes() -> Option<GroupLimit> {
    tightest(Path::new("/"), "pids", [("pids.max", "pids.current"); 2])
}

/// The tightest quota of CPU time, in CPUs.
pub fn cpus() -> Option<f64> {
    cpus_below(Path::new("/"))
}

fn tightest(root: &Path, controller: &str, files: [(&str, &str); 2]) -> Option<GroupLimit> {
    let limits = directories(root, controller).into_iter().flat_map(|directory| {
        files.iter().filter_map(move |(limit, used)| {
            let file = directory.join(limit);
            let value = number(&file).filter(|value| *value < UNLIMITED)?;
            Some(GroupLimit { value, used: number(&directory.join(used)).unwrap_or(0), file })
        })
    });
    limits.min_by_key(|limit| limit.value.saturating_sub(limit.used))
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

/// Directories of the groups that this process is in for `controller`, from its own to the root.
fn directories(root: &Path, controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounted = root.join("sys/fs/cgroup");
    let mut list = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let top = match controllers {
            "" => mounted.clone(),
            _ if controllers.split(',').any(|name| name == controller) => mounted.join(controllers),
            _ => continue,
        };
        let mut directory = top.join(path.trim_start_matches('/'));
        while directory.starts_with(&top) {
            list.push(directory.clone());
            directory.pop();
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    // A root directory with these files, for one test.
    fn root(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("gasnet-sci-cgroup-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        root
    }

    #[test]
    fn tightest_limit_on_the_way_to_the_root_counts() {
        let root = root(
            "second",
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
        let files = [("memory.max", "memory.current"), LEGACY_MEMORY];
        let found = tightest(&root, "memory", files).unwrap();
        assert_eq!((found.value, found.used), (4096, 96));
        assert!(found.file.ends_with("a/memory.max"), "{found:?}");
        assert_eq!(tightest(&root, "pids", [("pids.max", "pids.current"); 2]).unwrap().value, 7);
        assert_eq!(cpus_below(&root), Some(1.5));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn first_version_has_a_directory_per_controller() {
        let root = root(
            "first",
            &[
                ("proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/\n0::/\n"),
                ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "8192\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ],
        );
        let files = [("memory.max", "memory.current"), LEGACY_MEMORY];
        assert_eq!(tightest(&root, "memory", files).unwrap().value, 8192);
        assert_eq!(cpus_below(&root), None);
        fs::remove_dir_all(root).unwrap();
    }
}
