//! The header in a job of several hosts: which nodes are here, and the agent's part in a fence.
//!
//! The last node of a host that arrives at a fence stores the generation it waits for in `fence_asked`. The agent takes the halves
//! of its nodes, sends them to the launcher, and gets those of all nodes back. It stores those of far nodes in their records, and
//! then the new generation. Nodes use memory only, so a client that closes all descriptors does no harm.
//!
//! Must not know: how halves travel.

use super::{HALF, JobHeader};
use crate::os::sys;
use crate::sync::Ordering;
use std::time::Duration;

/// One half of a node's bulletin, as it travels.
pub type Half = [u64; HALF];

impl JobHeader {
    /// Makes this the memory of host `own` of a job of several hosts. `hosts[rank]` is the host of each node. Call it before there
    /// are nodes.
    pub fn set_hosts(&self, own: u32, hosts: &[u32], secret: [u64; 2]) {
        let fixed = self.fixed;
        for (record, host) in self.records.iter().zip(hosts) {
            record.set_host(*host);
        }
        let count = hosts.iter().max().map_or(1, |last| last + 1);
        let locals = hosts.iter().filter(|host| **host == own).count();
        // Relaxed, as the rest: rule 1.
        fixed.hosts.store(count, Ordering::Relaxed);
        fixed.own_host.store(own, Ordering::Relaxed);
        fixed.locals.store(locals as u32, Ordering::Relaxed);
        fixed.secret.iter().zip(secret).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
    }

    /// The number of hosts of the job.
    pub fn hosts(&self) -> u32 {
        self.fixed.hosts.load(Ordering::Relaxed) // Relaxed: rule 1
    }

    /// The number of the host that this memory is on.
    pub fn host(&self) -> u32 {
        self.fixed.own_host.load(Ordering::Relaxed) // Relaxed: rule 1
    }

    /// How many nodes of the job are on this host.
    pub fn local_count(&self) -> u32 {
        self.fixed.locals.load(Ordering::Relaxed) // Relaxed: rule 1
    }

    /// Whether node `rank` is on this host, so that it shares this memory. Panics unless it is below [`JobHeader::nodes`].
    pub fn is_local(&self, rank: u32) -> bool {
        self.record(rank).host() == self.host()
    }

    /// The ranks of the nodes on this host, in order.
    pub fn locals(&self) -> impl Iterator<Item = u32> + use<> {
        let header = *self;
        (0..self.nodes()).filter(move |rank| header.is_local(*rank))
    }

    /// The secret of the job, by which its nodes on several hosts know each other. Zero in a job on one host.
    pub fn secret(&self) -> [u64; 2] {
        self.fixed.secret.each_ref().map(|word| word.load(Ordering::Relaxed)) // Relaxed: rule 1
    }

    // All nodes of this host wait for `generation`.
    #[cold]
    pub(super) fn ask_agent(&self, generation: u32) {
        // ORDERING: Release ↔ Acquire in `asked`: the agent sees what the nodes of this host posted.
        self.fixed.fence_asked.store(generation, Ordering::Release);
        sys::futex_wake_all(&self.fixed.fence_asked);
    }

    /// The generation that the nodes of this host wait for, if all of them do and the agent has not released them.
    pub fn asked(&self) -> Option<u32> {
        // ORDERING: Acquire ↔ Release in `ask_agent`.
        let asked = self.fixed.fence_asked.load(Ordering::Acquire);
        // Relaxed: only the agent changes it in a job of several hosts.
        (asked == self.fixed.fence_generation.load(Ordering::Relaxed).wrapping_add(1)).then_some(asked)
    }

    /// Waits for a change of what [`JobHeader::asked`] looks at, at most for `timeout`. `seen`: its last value; returns the present.
    pub fn wait_asked(&self, seen: u32, timeout: Duration) -> u32 {
        let word = &self.fixed.fence_asked;
        if word.load(Ordering::Relaxed) == seen {
            sys::futex_wait(word, seen, timeout);
        }
        word.load(Ordering::Relaxed) // Relaxed: a hint; `asked` orders
    }

    /// What the nodes of this host put in the round that they wait to end.
    pub fn local_halves(&self) -> Vec<(u32, Half)> {
        // Relaxed: `asked` orders.
        let half = |rank| self.half_to_write(rank).each_ref().map(|word| word.load(Ordering::Relaxed));
        self.locals().map(|rank| (rank, half(rank))).collect()
    }

    /// Ends the fence that the nodes of this host wait in, with the halves of all nodes, by rank. False if they do not wait for
    /// `generation`, or if halves are missing; then nothing has changed.
    pub fn release(&self, generation: u32, halves: &[Half]) -> bool {
        if self.asked() != Some(generation) || halves.len() != self.records.len() {
            return false;
        }
        for (rank, values) in (0..).zip(halves).filter(|(rank, _)| !self.is_local(*rank)) {
            let half = self.half_to_write(rank);
            half.iter().zip(values).for_each(|(word, value)| word.store(*value, Ordering::Relaxed)); // Relaxed: see below
        }
        // ORDERING: Release ↔ Acquire in `fence`: a node that passes sees the halves of all nodes.
        self.fixed.fence_generation.store(generation, Ordering::Release);
        sys::futex_wake_all(&self.fixed.fence_generation);
        true
    }
}
