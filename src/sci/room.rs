//! How much memory is left to commit. Asked before committing, because the kernel answers a lack of it not with an
//! error but by killing processes.
//!
//! Must not know what the memory is for.

use super::SciError;
use crate::os::cgroup;
use std::fs;

/// `NoMemory` when the system or a control group of this process's has less than `need` bytes left.
pub(crate) fn check(need: u64) -> Result<(), SciError> {
    let lacks = |available: &u64| *available < need;
    if let Some(available) = system_left().filter(lacks) {
        return Err(SciError::NoMemory { need, available, group: None });
    }
    match cgroup::memory() {
        Some(group) if lacks(&group.left()) => {
            Err(SciError::NoMemory { need, available: group.left(), group: Some(Box::new(group)) })
        }
        _ => Ok(()),
    }
}

/// Bytes that the kernel thinks it can give without swapping.
pub(crate) fn system_left() -> Option<u64> {
    meminfo_available(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn meminfo_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
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
