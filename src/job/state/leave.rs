//! How a node leaves its job.

use super::Job;
use crate::sci::JobAdapter;
use crate::supervise::signals;
use std::time::Duration;

/// How long a node that leaves waits until other hosts have what it has sent; the same when all nodes were asked to end. Those that have ended
/// by then answer nobody, and a job that has failed ends within a second.
const PATIENCE: Duration = Duration::from_millis(800);
const HASTE: Duration = Duration::from_millis(100);

impl Job {
    /// This node leaves in good order: what it has sent arrives. That nobody waits for, if all nodes were asked to end.
    pub fn leave(&self) {
        self.adapter.leave(if signals::was_asked() { HASTE } else { PATIENCE });
    }
}
