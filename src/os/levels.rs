//! What each core shares with others: caches, die, package, NUMA node.
//!
//! Must not know: costs, processes.

use super::topology::{Topology, parse_list};
use std::fs;
use std::path::Path;

/// Where a core is. Two cores share a cache, a die or a package if they have the same number for it. The numbers say
/// nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The package: what is in one socket.
    pub package: usize,
    /// The die. It is counted over all packages.
    pub die: (usize, usize),
    /// The system's number of the NUMA node.
    pub numa: usize,
    /// The lowest CPU that shares the third level of cache. `None`: the system names no such cache.
    pub l3: Option<usize>,
    /// The same of the second level.
    pub l2: Option<usize>,
}

/// The homes of the cores of this system, in the order of `topology`.
pub fn homes(topology: &Topology) -> Vec<Home> {
    homes_below(Path::new("/sys/devices/system"), topology)
}

/// The homes of the cores of `topology`, which was read from a copy of /sys/devices/system at `root`.
pub fn homes_below(root: &Path, topology: &Topology) -> Vec<Home> {
    let home = |cpus: &Vec<usize>| {
        let cpu = cpus[0];
        let number = |file: &str| {
            let path = root.join(format!("cpu/cpu{cpu}/topology/{file}"));
            // Some systems write -1 for what they do not have.
            fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        let numa = topology.numa.iter().find(|node| node.cpus.contains(&cpu));
        let package = number("physical_package_id");
        Home {
            package,
            die: (package, number("die_id")),
            numa: numa.map_or(0, |node| node.id),
            l3: sharers(root, cpu, 3),
            l2: sharers(root, cpu, 2),
        }
    };
    topology.cores.iter().map(home).collect()
}

// The lowest CPU that shares the cache of this level with `cpu`. Instructions have no cache of their own at these levels.
fn sharers(root: &Path, cpu: usize, level: usize) -> Option<usize> {
    let caches = root.join(format!("cpu/cpu{cpu}/cache"));
    (0..8).find_map(|index| {
        let read = |file: &str| fs::read_to_string(caches.join(format!("index{index}/{file}"))).ok();
        let is_this = read("level")?.trim().parse() == Ok(level);
        is_this.then(|| read("shared_cpu_list")).flatten().and_then(|list| parse_list(&list).into_iter().min())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::scratch::Scratch;

    // Two packages of two L3 of two cores. Of the second package the system names no cache.
    #[test]
    fn cores_of_one_cache_have_the_same_number_for_it() {
        let files = [("node/online", "0-1\n"), ("node/node0/cpulist", "0-3\n"), ("node/node1/cpulist", "4-7\n")];
        let root = Scratch::with("levels", &files);
        let write = |file: String, text: &str| root.write(file, text);
        for cpu in 0..8 {
            write(format!("cpu/cpu{cpu}/topology/physical_package_id"), &format!("{}\n", cpu / 4));
            write(format!("cpu/cpu{cpu}/topology/die_id"), "-1\n");
            write(format!("cpu/cpu{cpu}/topology/core_cpus_list"), &format!("{cpu}\n"));
        }
        for cpu in 0..4 {
            let cache = |index: usize, file: &str| format!("cpu/cpu{cpu}/cache/index{index}/{file}");
            for (index, level, shared) in
                [(0, 1, format!("{cpu}")), (1, 2, format!("{cpu}")), (2, 3, format!("{}-{}", cpu & 2, cpu | 1))]
            {
                write(cache(index, "level"), &format!("{level}\n"));
                write(cache(index, "shared_cpu_list"), &shared);
            }
        }
        let topology = Topology::read_below(&root, (0..8).collect());
        let homes = homes_below(&root, &topology);
        assert_eq!(
            homes.iter().map(|home| home.l3).collect::<Vec<_>>()[..5],
            [Some(0), Some(0), Some(2), Some(2), None]
        );
        assert_eq!(homes[3], Home { package: 0, die: (0, 0), numa: 0, l3: Some(2), l2: Some(3) });
        assert_eq!(homes[7], Home { package: 1, die: (1, 0), numa: 1, l3: None, l2: None });
    }

    #[test]
    fn every_core_of_this_system_has_a_home() {
        let topology = Topology::read();
        assert_eq!(homes(&topology).len(), topology.cores.len());
    }
}
