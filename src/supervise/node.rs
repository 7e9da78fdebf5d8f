//! What this process is in its job. [`crate::boot::join()`] sets it once; exit and signal handlers read it at any
//! time.

use super::header::{JobHeader, NodeRecord};
use crate::os::sys;
use std::sync::OnceLock;
use std::time::Duration;

/// This process as a node.
pub struct Node {
    /// The job's header.
    pub header: JobHeader,
    /// This node's rank.
    pub rank: u32,
    /// This node's process id. It shows that a child which the node forked is not the node.
    pub pid: i32,
    /// How long an orderly exit may take.
    pub exit_time: Duration,
}

static NODE: OnceLock<Node> = OnceLock::new();

impl Node {
    /// This node's record in the header.
    pub fn record(&self) -> &'static NodeRecord {
        self.header.record(self.rank)
    }
}

/// The node that this process is; `None` before it joined a job, and in a forked child of a node. Async-signal-safe.
pub fn current() -> Option<&'static Node> {
    NODE.get().filter(|node| node.pid == sys::pid())
}

/// Returns false if this process is a node already.
pub(crate) fn set(node: Node) -> bool {
    NODE.set(node).is_ok()
}
