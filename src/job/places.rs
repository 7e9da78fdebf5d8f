//! Where the job's nodes are: which share a host and its memory, which are a supernode, in the numbers that clients see.
//!
//! Must not know: how nodes of other hosts are reached.

use crate::base::config::{Config, Unmapped};
use crate::boot::JobMemory;

/// The places of all nodes.
pub struct Places {
    hosts: Box<[u32]>,
    supernodes: Box<[u32]>,
    /// Nodes in this node's memory.
    pub locals: u32,
}

impl Places {
    /// Of the job, as its memory and the settings say. `everything`: no segment is mapped.
    pub fn of(memory: &JobMemory, config: &Config, everything: bool) -> Places {
        let header = memory.header();
        let real: Vec<u32> = header.records().iter().map(|record| record.host()).collect();
        let locals = header.local_count();
        let hosts = numbered(&split(&real, config.hosts.split));
        let apart = everything || config.unmapped != Unmapped::No;
        let supernodes =
            if apart { (0..hosts.len() as u32).collect() } else { supernodes(&hosts, config.supernode_max) };
        Places { hosts: hosts.into(), supernodes: supernodes.into(), locals }
    }

    /// The host of `node`. Hosts are numbered in the order of their first nodes.
    pub fn host(&self, node: u32) -> u32 {
        self.hosts[node as usize]
    }

    /// The supernode of `node`, numbered likewise. Clients assume that nodes of one supernode reach each other's memory.
    pub fn supernode(&self, node: u32) -> u32 {
        self.supernodes[node as usize]
    }

    /// By rank: the node is on another host than `me`. `None`: all are on one.
    pub fn far_from(&self, me: u32) -> Option<Vec<bool>> {
        let own = self.host(me);
        let far: Vec<bool> = self.hosts.iter().map(|host| *host != own).collect();
        far.contains(&true).then_some(far)
    }
}

/// Takes the nodes of each host for nodes of `parts` hosts, in blocks (GASNET_SCI_SPLIT).
fn split(hosts: &[u32], parts: u32) -> Vec<u32> {
    if parts <= 1 {
        return hosts.to_vec();
    }
    let place = |rank: usize| {
        let of_host = |ranks: &[u32]| ranks.iter().filter(|host| **host == hosts[rank]).count();
        let (before, all) = (of_host(&hosts[..rank]), of_host(hosts));
        hosts[rank] * parts + (before * (parts as usize).min(all) / all) as u32
    };
    (0..hosts.len()).map(place).collect()
}

/// The same, numbered from 0 in the order of first appearance.
fn numbered(names: &[u32]) -> Vec<u32> {
    let mut seen: Vec<u32> = Vec::new();
    let number = |name: &u32| {
        let known = seen.iter().position(|other| other == name);
        known.unwrap_or_else(|| {
            seen.push(*name);
            seen.len() - 1
        }) as u32
    };
    names.iter().map(number).collect()
}

/// Nodes of one host, at most `most` of them (0: all).
fn supernodes(hosts: &[u32], most: u32) -> Vec<u32> {
    let mut members = vec![0u32; hosts.len()];
    let name = |host: &u32| {
        let before = members[*host as usize];
        members[*host as usize] += 1;
        *host << 16 | before.checked_div(most).unwrap_or(0)
    };
    numbered(&hosts.iter().map(name).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_first_nodes() {
        assert_eq!(numbered(&[7, 3, 7, 9, 3]), [0, 1, 0, 2, 1]);
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
