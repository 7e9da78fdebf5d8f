//! How a node gets its supervisor to open the desk at which it asks for tasks. A job that asks for none has no desk.

use super::JobHeader;
use crate::os::{namespace, sys};
use crate::sync::Ordering;

impl JobHeader {
    /// Asks the supervisor for a desk, which comes soon. False: there is no supervisor.
    pub fn want_tasks(&self) -> bool {
        let is_near = self.supervisor_counts_here();
        if self.supervisor() == sys::pid() && (is_near || namespace::of_processes().is_none()) {
            return false;
        }
        // ORDERING: Release ↔ Acquire in `wants_tasks`. The signal comes later in any case.
        self.fixed.tasks_wanted.store(1, Ordering::Release);
        // A supervisor reads this signal from a descriptor, and looks around. One in another PID namespace cannot be woken from here, and
        // looks by itself.
        !is_near || sys::kill(self.supervisor(), libc::SIGCHLD)
    }

    /// Whether a node wants a desk.
    pub fn wants_tasks(&self) -> bool {
        self.fixed.tasks_wanted.load(Ordering::Acquire) != 0 // ORDERING: as in `want_tasks`
    }
}
