//! Memory that is not mapped: between which nodes the kernel copies, and what is said about it.

use super::Job;
use crate::sci::process::{self, Access, Closed, Identity};
use std::fmt;

/// What a node tells of its segment, in words.
pub(super) const WORDS: usize = 2 + process::WORDS;

/// How many nodes of the same host a node reaches without having mapped their memory, by the way that bytes take there. Attach counts
/// those of its own node, and tells them to the others; node 0 adds up those of all nodes and prints the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AccessCounts {
    /// The kernel copies to them.
    kernel: u64,
    /// Messages carry the bytes, because the two nodes are in different PID namespaces.
    namespaces: u64,
    /// Messages carry the bytes, because the kernel refuses to copy.
    refused: u64,
}

impl AccessCounts {
    /// Counts one node. `Err(None)`: its memory is mapped, or the kernel is not to be used, so nothing was tried and nothing is counted.
    pub(super) fn note(&mut self, found: Result<Access, Option<Closed>>) -> Option<Access> {
        match &found {
            Ok(_) => self.kernel += 1,
            Err(Some(Closed::Namespace)) => self.namespaces += 1,
            Err(Some(Closed::Refused)) => self.refused += 1,
            Err(None) => {}
        }
        found.ok()
    }

    /// As other nodes get them.
    pub(super) fn words(self) -> [u64; 3] {
        [self.kernel, self.namespaces, self.refused]
    }

    /// Adds what another node has counted.
    pub(super) fn add(&mut self, [kernel, namespaces, refused]: [u64; 3]) {
        for (sum, more) in
            [(&mut self.kernel, kernel), (&mut self.namespaces, namespaces), (&mut self.refused, refused)]
        {
            *sum = sum.saturating_add(more); // another node's words
        }
    }

    /// Nothing was counted.
    pub(super) fn is_empty(self) -> bool {
        self == AccessCounts::default()
    }
}

impl fmt::Display for AccessCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AccessCounts { kernel, namespaces, refused } = self;
        let all = kernel.saturating_add(*namespaces).saturating_add(*refused);
        write!(f, "memory that is not mapped: of {all} ways between nodes of one host {kernel} go by the kernel")?;
        if *namespaces > 0 {
            write!(f, "; {namespaces} by messages, because the nodes are in different PID namespaces")?;
        }
        if *refused > 0 {
            write!(f, "; {refused} by messages, because the kernel refuses (gasnet-sci info: cross-memory attach)")?;
        }
        Ok(())
    }
}

impl Job {
    /// What this node tells of its segment: address, bytes, and how to find this process.
    pub(super) fn segment_words(&self, base: usize, len: usize) -> [u64; WORDS] {
        let [pid, device, inode, address, word] = self.mark.identity().words();
        [base as u64, len as u64, pid, device, inode, address, word]
    }

    /// Access to `node`'s memory through the kernel. `Err(None)`: none is tried, because a setting forbids it.
    pub(super) fn way(&self, node: u32, card: [u64; process::WORDS]) -> Result<Access, Option<Closed>> {
        if !self.config.cma || self.hides(node) {
            return Err(None);
        }
        // Where the job goes on without a node, the node's number may be given to another process.
        Access::prove(&Identity::read(card), self.memory.header().survives()).map_err(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_counted_by_what_goes_there_and_said_with_the_reason() {
        let mut ways = AccessCounts::default();
        assert!(ways.is_empty() && ways.note(Err(None)).is_none() && ways.is_empty());
        ways.note(Err(Some(Closed::Namespace)));
        ways.add([2, 3, 0]);
        assert_eq!(ways.words(), [2, 4, 0]);
        let text = ways.to_string();
        assert!(text.contains("of 6 ways") && text.contains("2 go by the kernel"), "{text}");
        assert!(
            text.contains("4 by messages, because the nodes are in different PID") && !text.contains("refuses"),
            "{text}"
        );
    }
}
