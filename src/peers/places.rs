//! Where the job's nodes are: which share a host and its memory, which are a supernode, in the numbers that clients see.
//!
//! Must not know: how nodes of other hosts are reached.

use std::collections::HashMap;
use std::hash::Hash;

/// The places of all nodes.
pub struct Places {
    /// By rank. Empty: all are on one host.
    hosts: Box<[u32]>,
    supernodes: Supernodes,
    /// Nodes in this node's memory.
    pub locals: u32,
}

enum Supernodes {
    /// Each node is one.
    Apart,
    /// So many nodes of the job's only host are one; 0: all.
    Blocks(u32),
    /// By rank.
    Listed(Box<[u32]>),
}

impl Places {
    /// Of nodes on the hosts `real`, by rank, of which `locals` are in this node's memory. Each host is taken for `parts` of them
    /// (GASNET_SCI_SPLIT). Nodes of one host are a supernode of `most` at most (0: of all), or each is `apart`.
    pub fn of(real: &[u32], locals: u32, parts: u32, most: u32, apart: bool) -> Places {
        let hosts = numbered(split(real, parts));
        let is_one = hosts.iter().all(|host| *host == 0);
        let supernodes = match apart {
            true => Supernodes::Apart,
            false if is_one => Supernodes::Blocks(most),
            false => Supernodes::Listed(supernodes(&hosts, most).into()),
        };
        Places { hosts: if is_one { Box::default() } else { hosts.into() }, supernodes, locals }
    }

    /// Of nodes on the given hosts, by rank, each a supernode; this node is on the first one.
    #[cfg(any(test, fuzzing))]
    pub fn on(hosts: &[u32]) -> Places {
        Places::of(hosts, hosts.iter().filter(|host| **host == hosts[0]).count() as u32, 1, 0, true)
    }

    /// True if all nodes are on one host.
    pub fn is_one_host(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The host of `node`. Hosts are numbered in the order of their first nodes.
    pub fn host(&self, node: u32) -> u32 {
        self.hosts.get(node as usize).copied().unwrap_or(0)
    }

    /// The supernode of `node`, numbered likewise. Clients assume that nodes of one supernode reach each other's memory.
    pub fn supernode(&self, node: u32) -> u32 {
        match &self.supernodes {
            Supernodes::Apart => node,
            Supernodes::Blocks(size) => node.checked_div(*size).unwrap_or(0),
            Supernodes::Listed(list) => list[node as usize],
        }
    }

    /// By rank: the node is on another host than `me`. `None`: all are on one.
    pub fn far_from(&self, me: u32) -> Option<Vec<bool>> {
        let own = self.host(me);
        (!self.hosts.is_empty()).then(|| self.hosts.iter().map(|host| *host != own).collect())
    }
}

/// Takes the nodes of each host for nodes of `parts` hosts, in blocks (GASNET_SCI_SPLIT).
fn split(hosts: &[u32], parts: u32) -> Vec<u32> {
    if parts <= 1 {
        return hosts.to_vec();
    }
    let mut members: HashMap<u32, u32> = HashMap::new();
    hosts.iter().for_each(|host| *members.entry(*host).or_default() += 1);
    let mut before: HashMap<u32, u32> = HashMap::new();
    let place = |host: &u32| {
        let (all, before) = (members[host], before.entry(*host).or_default());
        let block = u64::from(*before) * u64::from(parts.min(all)) / u64::from(all);
        *before += 1;
        *host * parts + block as u32
    };
    hosts.iter().map(place).collect()
}

/// The same, numbered from 0 in the order of first appearance.
fn numbered<N: Copy + Eq + Hash>(names: impl IntoIterator<Item = N>) -> Vec<u32> {
    let mut seen: HashMap<N, u32> = HashMap::new();
    let mut last = None; // mostly, a node is where the one before it is
    let number = |name| match last {
        Some((before, number)) if before == name => number,
        _ => {
            let next = seen.len() as u32;
            let number = *seen.entry(name).or_insert(next);
            last = Some((name, number));
            number
        }
    };
    names.into_iter().map(number).collect()
}

/// Nodes of one host, at most `most` of them (0: all).
fn supernodes(hosts: &[u32], most: u32) -> Vec<u32> {
    let mut members = vec![0u32; hosts.len()];
    let name = |host: &u32| {
        let before = members[*host as usize];
        members[*host as usize] += 1;
        (*host, before.checked_div(most).unwrap_or(0))
    };
    numbered(hosts.iter().map(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_first_nodes() {
        assert_eq!(numbered([7, 3, 7, 9, 3]), [0, 1, 0, 2, 1]);
    }

    #[test]
    fn a_split_host_is_blocks_of_nodes() {
        assert_eq!(split(&[0, 0, 0, 0], 1), [0; 4]);
        assert_eq!(split(&[0, 0, 0, 0], 2), [0, 0, 1, 1]);
        assert_eq!(split(&[0, 0, 0, 0], 3), [0, 0, 1, 2]);
        assert_eq!(split(&[0, 1, 0, 1], 2), [0, 2, 1, 3]);
        assert_eq!(split(&[0, 0], 5), [0, 1]);
    }

    #[test]
    fn a_supernode_is_of_one_host_and_no_larger_than_asked() {
        assert_eq!(supernodes(&[0, 0, 1, 0, 1], 0), [0, 0, 1, 0, 1]);
        assert_eq!(supernodes(&[0, 0, 1, 0, 1], 2), [0, 0, 1, 2, 1]);
        assert_eq!(supernodes(&[0, 0, 0], 1), [0, 1, 2]);
    }
}
