//! How much memory is left to commit. Asked before committing, because the kernel answers a lack of it not with an
//! error but by killing processes.
//!
//! Must not know what the memory is for.

use super::SciError;
use std::fs;

/// `NoMemory` when the system or this process's control group has less than `need` bytes left.
pub(crate) fn check(need: u64) -> Result<(), SciError> {
    let limits = [("the system", system_left()), ("the memory control group", group_left())];
    for (limit, left) in limits {
        match left {
            Some(available) if available < need => {
                return Err(SciError::NoMemory { need, available, limit });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Bytes that the kernel thinks it can give without swapping.
fn system_left() -> Option<u64> {
    meminfo_available(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn meminfo_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// What the tightest group above this process allows; `None` without a limit (or with the first version of cgroups).
fn group_left() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut directory = std::path::PathBuf::from("/sys/fs/cgroup").join(path);
    let mut least = None;
    while directory.starts_with("/sys/fs/cgroup") {
        let number = |file: &str| fs::read_to_string(directory.join(file)).ok()?.trim().parse::<u64>().ok();
        if let (Some(max), Some(current)) = (number("memory.max"), number("memory.current")) {
            let left = max.saturating_sub(current);
            least = Some(least.map_or(left, |so_far: u64| so_far.min(left)));
        }
        directory.pop();
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_refused_with_the_numbers() {
        match check(u64::MAX) {
            Err(SciError::NoMemory { need, available, .. }) => assert!(need == u64::MAX && available < need),
            other => panic!("expected NoMemory, got {other:?}"),
        }
        assert_eq!(check(0), Ok(()));
    }

    #[test]
    fn meminfo_counts_in_kib() {
        assert_eq!(meminfo_available("MemTotal: 9 kB\nMemAvailable:   3 kB\n"), Some(3072));
        assert_eq!(meminfo_available("nothing"), None);
    }
}
