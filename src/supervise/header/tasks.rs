//! How a node gets its supervisor to open the desk at which it asks for tasks. A job that asks for none has no desk.

use super::JobHeader;
use crate::os::sys;
use crate::sync::Ordering;

impl JobHeader {
    /// Asks the supervisor for a desk, which comes soon. False: there is no supervisor, or it is in another PID
    /// namespace, where this process cannot wake it.
    pub fn want_tasks(&self) -> bool {
        if self.supervisor() == sys::pid() {
            return false;
        }
        // ORDERING: Release ↔ Acquire in `wants_tasks`. The signal comes later in any case.
        self.fixed.tasks_wanted.store(1, Ordering::Release);
        // A supervisor reads this signal from a descriptor, and looks around.
        self.supervisor_counts_here() && sys::kill(self.supervisor(), libc::SIGCHLD)
    }

    /// Whether a node wants a desk.
    pub fn wants_tasks(&self) -> bool {
        self.fixed.tasks_wanted.load(Ordering::Acquire) != 0 // ORDERING: as in `want_tasks`
    }
}
