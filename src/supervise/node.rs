//! What this process is in its job: set once by [`crate::boot::join()`], read by exit and signal handlers at any time.

use super::header::{JobHeader, NodeRecord};
use crate::os::sys;
use std::sync::OnceLock;
use std::time::Duration;

/// This process as a node.
pub struct Node {
    /// The job's header.
    pub header: JobHeader,
    /// Own rank.
    pub rank: u32,
    /// Own process id: a forked child of the node is not the node.
    pub pid: i32,
    /// How long an orderly exit may take.
    pub exit_time: Duration,
}

static NODE: OnceLock<Node> = OnceLock::new();

impl Node {
    /// Own record in the header.
    pub fn record(&self) -> &'static NodeRecord {
        self.header.record(self.rank)
    }
}

/// The node that this process is; `None` before it joined a job, and in a forked child of a node. Async-signal-safe.
pub fn current() -> Option<&'static Node> {
    NODE.get().filter(|node| node.pid == sys::pid())
}

/// False if this was set before in this process.
pub(crate) fn set(node: Node) -> bool {
    NODE.set(node).is_ok()
}
