//! Cores and NUMA nodes that this process may use, and how nodes are spread over them.
//!
//! A process may use the CPUs of its affinity mask; cpusets narrow that mask too. Must not know: options, processes.

use super::sys;
use std::fs;
use std::path::Path;

/// The part of the host that this process may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// CPUs of each core (more than one with SMT). Cores of one NUMA node follow each other.
    pub cores: Vec<Vec<usize>>,
    /// NUMA nodes that have usable CPUs.
    pub numa: Vec<NumaNode>,
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq)]
pub struct NumaNode {
    /// The system's number of the NUMA node.
    pub id: usize,
    /// Its usable CPUs.
    pub cpus: Vec<usize>,
}

/// How to bind nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Bind {
    /// Nodes are not bound.
    None,
    /// Each node gets a block of this many CPUs.
    Cpus(usize),
    /// Each node gets this many cores of its own.
    Cores(usize),
    /// Blocks of neighbouring nodes get a NUMA node, and memory from there.
    Numa,
}

/// The CPUs and the NUMA node that one node of the job is bound to.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The node's CPUs.
    pub cpus: Vec<usize>,
    /// The NUMA node from which its memory should come.
    pub memory: Option<usize>,
}

impl Topology {
    /// Reads /sys as it is now. A system without NUMA looks like one NUMA node.
    pub fn read() -> Topology {
        Self::read_below(Path::new("/sys/devices/system"), sys::usable_cpus())
    }

    /// Reads a copy of /sys/devices/system that lies at `root`, for a process that may use the CPUs `usable`.
    pub fn read_below(root: &Path, usable: Vec<usize>) -> Topology {
        let list = |file: String| fs::read_to_string(root.join(file)).ok().map(|text| parse_list(&text));
        let mut numa = Vec::new();
        for id in list("node/online".into()).unwrap_or_default() {
            let mut cpus = list(format!("node/node{id}/cpulist")).unwrap_or_default();
            cpus.retain(|cpu| usable.contains(cpu));
            if !cpus.is_empty() {
                numa.push(NumaNode { id, cpus });
            }
        }
        if numa.is_empty() {
            numa.push(NumaNode { id: 0, cpus: usable.clone() });
        }
        let mut cores: Vec<Vec<usize>> = Vec::new();
        for cpu in numa.iter().flat_map(|node| &node.cpus) {
            if cores.iter().any(|core| core.contains(cpu)) {
                continue;
            }
            let of = |file| list(format!("cpu/cpu{cpu}/topology/{file}"));
            let mut core = of("core_cpus_list").or_else(|| of("thread_siblings_list")).unwrap_or_default();
            core.retain(|other| usable.contains(other) && other != cpu);
            core.insert(0, *cpu);
            cores.push(core);
        }
        Topology { cores, numa }
    }

    /// Number of CPUs that may be used.
    pub fn cpus(&self) -> usize {
        self.cores.iter().map(Vec::len).sum()
    }

    /// A place for each of `nodes` nodes, by rank; empty without binding. An error says what the host lacks.
    pub fn places(&self, bind: Bind, nodes: usize) -> Result<Vec<Binding>, String> {
        match bind {
            Bind::None => Ok(Vec::new()),
            Bind::Cpus(each) => {
                let mut cpus: Vec<usize> = self.cores.iter().flatten().copied().collect();
                cpus.sort_unstable();
                self.blocks(&cpus, each, nodes, "CPUs")
                    .map(|blocks| blocks.map(|block| self.binding(block.to_vec())).collect())
            }
            Bind::Cores(each) => self
                .blocks(&self.cores, each, nodes, "cores")
                .map(|blocks| blocks.map(|block| self.binding(block.concat())).collect()),
            Bind::Numa => {
                let numa = |rank: usize| &self.numa[rank * self.numa.len() / nodes];
                let place = |rank| Binding { cpus: numa(rank).cpus.clone(), memory: Some(numa(rank).id) };
                Ok((0..nodes).map(place).collect())
            }
        }
    }

    fn blocks<'a, T>(
        &self,
        all: &'a [T],
        each: usize,
        nodes: usize,
        what: &str,
    ) -> Result<impl Iterator<Item = &'a [T]>, String> {
        let need = nodes * each;
        if need > all.len() {
            return Err(format!("{nodes} nodes need {need} {what}, {} may be used", all.len()));
        }
        Ok(all.chunks(each).take(nodes))
    }

    /// These CPUs, with memory from their NUMA node. On a host with one NUMA node, memory needs no choice.
    pub fn binding(&self, cpus: Vec<usize>) -> Binding {
        let home = self.numa.iter().find(|node| cpus.iter().all(|cpu| node.cpus.contains(cpu)));
        Binding { cpus, memory: home.filter(|_| self.numa.len() > 1).map(|node| node.id) }
    }
}

impl Binding {
    /// Moves this process to its place. Programs that it executes inherit the place. Errors are the system's.
    pub fn enter(&self) -> std::io::Result<()> {
        sys::bind_to_cpus(&self.cpus)?;
        match self.memory {
            Some(node) => sys::prefer_memory_of(node),
            None => Ok(()),
        }
    }
}

/// The most entries of a list, and the bound of its numbers. No system has as many CPUs or NUMA nodes.
const MOST_LISTED: usize = 1 << 16;

/// Reads a list as the kernel writes it: `0-3,8,10-11`. Ranges that go beyond all systems are left out, for a list may come from a file
/// of the user's.
pub fn parse_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse().ok().filter(|number| *number < MOST_LISTED);
        Some(number(low)?..=number(high)?)
    };
    text.trim().split(',').filter_map(range).flatten().take(MOST_LISTED).collect()
}

/// Writes a list in the shortest form: `0-3,8`.
pub fn format_list(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b);
    let text = runs.map(|run| match (run[0], run[run.len() - 1]) {
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low}-{high}"),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::scratch::Scratch;

    // Two NUMA nodes of two cores of two CPUs. The numbers go across NUMA nodes first and siblings come last, as is
    // frequent.
    fn host(name: &str) -> Scratch {
        let files = [
            ("node/online", "0-2\n"),
            ("node/node0/cpulist", "0,2,4,6\n"),
            ("node/node1/cpulist", "1,3,5,7\n"),
            ("node/node2/cpulist", "\n"), // a NUMA node with memory only
        ];
        let root = Scratch::with(&format!("topology-{name}"), &files);
        for cpu in 0..8 {
            root.write(format!("cpu/cpu{cpu}/topology/core_cpus_list"), &format!("{},{}\n", cpu % 4, cpu % 4 + 4));
        }
        root
    }

    #[test]
    fn cores_are_sets_of_siblings_and_neighbours_share_a_numa_node() {
        let root = host("cores");
        let all = Topology::read_below(&root, (0..8).collect());
        assert_eq!(all.cores, [[0, 4], [2, 6], [1, 5], [3, 7]]);
        assert_eq!(all.numa.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 1]);
        let some = Topology::read_below(&root, vec![1, 2, 6]);
        assert_eq!(some.cores, [vec![2, 6], vec![1]], "the mask is honoured");
    }

    #[test]
    fn nodes_get_cores_of_their_own_or_an_error_that_counts() {
        let root = host("places");
        let host = Topology::read_below(&root, (0..8).collect());
        let cpus = |bind, nodes| host.places(bind, nodes).unwrap().into_iter().map(|p| p.cpus).collect::<Vec<_>>();
        assert_eq!(cpus(Bind::Cores(1), 3), [[0, 4], [2, 6], [1, 5]]);
        assert_eq!(cpus(Bind::Cores(2), 2), [[0, 4, 2, 6], [1, 5, 3, 7]]);
        assert_eq!(cpus(Bind::Cpus(3), 2), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(cpus(Bind::None, 9), Vec::<Vec<usize>>::new());
        let refusal = host.places(Bind::Cores(2), 3).unwrap_err();
        assert_eq!(refusal, "3 nodes need 6 cores, 4 may be used");
    }

    #[test]
    fn numa_binding_keeps_neighbours_together_with_memory_from_there() {
        let root = host("numa");
        let host = Topology::read_below(&root, (0..8).collect());
        let homes = |nodes| host.places(Bind::Numa, nodes).unwrap().into_iter().map(|p| p.memory.unwrap());
        assert_eq!(homes(5).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
        assert_eq!(homes(1).collect::<Vec<_>>(), [0]);
        assert_eq!(host.places(Bind::Cores(1), 4).unwrap()[3].memory, Some(1));
        assert_eq!(host.places(Bind::Cpus(8), 1).unwrap()[0].memory, None, "spread over both");
    }

    #[test]
    fn host_without_numa_or_topology_in_sys_is_one_node_of_single_cpu_cores() {
        let host = Topology::read_below(Path::new("/nonexistent"), vec![3, 5]);
        assert_eq!(host.cores, [[3], [5]]);
        assert_eq!(host.numa, [NumaNode { id: 0, cpus: vec![3, 5] }]);
        assert_eq!(host.cpus(), 2);
    }

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        assert_eq!(parse_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_list("\n"), [0usize; 0]);
        assert_eq!(parse_list("0-18446744073709551615,7,65536"), [7]);
        assert_eq!(parse_list(&"0-65535,".repeat(9)).len(), 65536);
        assert_eq!(format_list(&[8, 0, 1, 2, 3, 11, 10]), "0-3,8,10-11");
    }
}
