//! SIGTSTP and SIGCONT: the job stops and continues with its supervisor.
//!
//! SIGSTOP stops the nodes and what they started. SIGTSTP would not do: it has no effect where no shell watches (an
//! orphaned process group), and a program may ignore it. From a terminal, the kernel sends SIGTSTP to the whole
//! foreground process group, and programs may handle it in their own way. Then only processes that have left the
//! group are stopped from here.

use super::Supervisor;
use crate::os::{family, sys};
use std::time::Instant;

impl Supervisor {
    /// Stops the job and this process. Returns when this process is continued. The time that has passed counts for no
    /// deadline.
    pub(super) fn stop(&mut self, from_terminal: bool) {
        let mut children = family::own_children();
        children.retain(|pid| !self.earlier_children.contains(pid));
        let group = sys::process_group(0);
        family::signal_all(&children, libc::SIGSTOP, &|pid| from_terminal && sys::process_group(pid) == group);
        let began = Instant::now();
        sys::raise(libc::SIGSTOP);
        let time = began.elapsed();
        self.overdue_at = self.overdue_at.and_then(|at| at.checked_add(time));
        self.ending.put_off(time);
        self.received[libc::SIGTSTP as usize] = [0; 2]; // SIGCONT has removed signals that had not been read yet
        family::signal_all(&children, libc::SIGCONT, &|_| false);
    }
}
