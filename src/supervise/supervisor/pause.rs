//! SIGTSTP and SIGCONT: the job stops and continues with its supervisor.
//!
//! Nodes and what they started are stopped by SIGSTOP: SIGTSTP has no effect where no shell watches (an orphaned process
//! group), and a program may ignore it. From a terminal everything in the foreground process group gets SIGTSTP from the
//! kernel, and may do something of its own with it; then only what left the group is stopped from here.

use super::Supervisor;
use crate::os::{family, sys};
use std::time::Instant;

impl Supervisor {
    /// Stops the job and this process, and returns when somebody continues this process. The time that passed counts for
    /// no deadline.
    pub(super) fn stop(&mut self, from_terminal: bool) {
        let mut children = family::own_children();
        children.retain(|pid| !self.strangers.contains(pid));
        let group = sys::process_group(0);
        family::signal_all(&children, libc::SIGSTOP, &|pid| from_terminal && sys::process_group(pid) == group);
        let began = Instant::now();
        sys::raise(libc::SIGSTOP);
        let time = began.elapsed();
        self.overdue_at = self.overdue_at.and_then(|at| at.checked_add(time));
        self.ending.put_off(time);
        self.received[libc::SIGTSTP as usize] = [0; 2]; // SIGCONT has removed what had not been read yet
        family::signal_all(&children, libc::SIGCONT, &|_| false);
    }
}
