//! A supervised node: the child that was started for it, and the node's own process, which may be another one behind a wrapper.

use crate::os::{family, sys};
use crate::supervise::spawn::{Child, MARKER};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A node's process, or the process that was started for it.
pub(super) struct Supervised {
    pub(super) child: Child,
    // The child has ended. So has the node, unless it is another process.
    pub(super) child_gone: bool,
    pub(super) ended: bool,
    // The node's process, once it has joined: `child`, or another one if `child` is a wrapper around it.
    pub(super) process: Option<i32>,
    // The node itself, if `child` is a wrapper around it.
    pub(super) inner: Option<Inner>,
}

// How the end of a node behind a wrapper is seen.
pub(super) enum Inner {
    // A descriptor is readable then.
    Watched(OwnedFd),
    // The kernel refuses such descriptors. So the supervisor looks for the process now and then.
    Looked(i32),
}

impl Inner {
    pub(super) fn new(pid: i32) -> Inner {
        sys::pidfd(pid).map_or(Inner::Looked(pid), Inner::Watched)
    }

    pub(super) fn descriptor(&self) -> Option<&OwnedFd> {
        match self {
            Inner::Watched(fd) => Some(fd),
            Inner::Looked(_) => None,
        }
    }

    // `tie`: the node's, which the kernel knows by process. `is_ready`: what poll(2) said of a descriptor.
    pub(super) fn has_ended(&self, tie: BorrowedFd, is_ready: impl Fn(i32) -> bool) -> bool {
        match self {
            Inner::Watched(fd) => is_ready(fd.as_raw_fd()),
            Inner::Looked(pid) => sys::tied_to(tie) != Some(*pid) || family::is_zombie(*pid),
        }
    }
}

impl Supervised {
    pub(super) fn new(child: Child) -> Supervised {
        Supervised { child, child_gone: false, ended: false, process: None, inner: None }
    }

    // Looks whether the node has joined. The number that the node has entered in the header is that of its own PID namespace; the
    // kernel knows the process and says its number here.
    pub(super) fn look(&mut self) {
        if self.process.is_none()
            && let Some(pid) = sys::tied_to(self.child.tie.as_fd())
        {
            self.process = Some(pid);
            self.inner = (pid != self.child.pid).then(|| Inner::new(pid));
        }
    }

    // The node behind a wrapper, if it has joined and runs.
    pub(super) fn inner_pid(&self) -> Option<i32> {
        sys::tied_to(self.child.tie.as_fd()).filter(|pid| *pid != self.child.pid)
    }

    // SIGQUIT goes only to nodes, which may have a handler. It would make other programs leave core files.
    pub(super) fn ask(&self) {
        if let Some(pid) = self.inner_pid() {
            sys::queue_signal(pid, libc::SIGQUIT, MARKER);
        } else if self.process == Some(self.child.pid) {
            sys::queue_signal(self.child.pid, libc::SIGQUIT, MARKER);
        } else if !self.child_gone {
            sys::kill(self.child.pid, libc::SIGTERM);
        }
    }
}
