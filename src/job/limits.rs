//! What this host allows: memory for segments.

use std::fs;

/// Bytes of the page that segments are counted in (`GASNET_PAGESIZE`).
pub const PAGE: u64 = 4096;
/// Default upper bound of a segment: 2 GiB less a page (contract: core.md §8).
const DEFAULT_MAX: u64 = (2 << 30) - PAGE;

/// Largest segment that one of `nodes` nodes on this host may ask for: `asked` (environment or client), else the
/// default; then its share of physical memory; whole pages, one at least.
pub fn max_segment(asked: Option<u64>, nodes: u32) -> u64 {
    share(asked.filter(|n| *n > 0).unwrap_or(DEFAULT_MAX), memory(), nodes)
}

fn share(asked: u64, memory: u64, nodes: u32) -> u64 {
    let share = memory / u64::from(nodes.max(1));
    (asked.min(share) / PAGE * PAGE).max(PAGE)
}

/// Bytes of memory that this job may use: physical memory, or the cgroup's limit if that is less.
pub fn memory() -> u64 {
    // SAFETY: sysconf reads constants of the system.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: as above.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let physical = (pages.max(0) as u64).saturating_mul(size.max(0) as u64);
    let physical = if physical == 0 { u64::MAX } else { physical };
    physical.min(cgroup_limit().unwrap_or(u64::MAX))
}

/// The tightest memory limit on the way from our cgroup to the root; `None` without one.
fn cgroup_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/');
    let mut path = std::path::PathBuf::from("/sys/fs/cgroup").join(own);
    let mut limit: Option<u64> = None;
    while path.starts_with("/sys/fs/cgroup") {
        let here = fs::read_to_string(path.join("memory.max")).ok().and_then(|text| text.trim().parse().ok());
        limit = [limit, here].into_iter().flatten().min();
        path.pop();
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_whole_pages_and_at_least_one() {
        assert_eq!(share(10_000, 1 << 30, 1), 8192);
        assert_eq!(share(u64::MAX, 1 << 30, 4), 1 << 28);
        assert_eq!(share(1, 1 << 30, 4), PAGE);
        assert_eq!(share(1 << 40, 100, 64), PAGE);
    }
}
