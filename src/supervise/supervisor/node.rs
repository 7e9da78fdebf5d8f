//! A supervised node: the child that was started for it, and the node's own process, which may be another one behind a wrapper.

use crate::os::family::{Descendant, descendant};
use crate::os::sys;
use crate::supervise::spawn::{Child, MARKER};
use libc::c_int;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

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

// The node's process behind a wrapper. Its number may be another process's once it has ended, so it is known by what no other process
// can have: only so it is looked for, and gets signals.
pub(super) enum Inner {
    // A descriptor, which is readable when it ends.
    Watched(OwnedFd),
    // The kernel refuses such descriptors. So the supervisor looks for the process now and then.
    Looked(i32, Descendant),
}

impl Inner {
    // The process `pid`, which `is_tied` says is the node's. `None`: it has ended, and nothing or somebody else has its number; or it
    // is none of this process's, which nodes are.
    pub(super) fn find(pid: i32, is_tied: impl Fn() -> bool) -> Option<Inner> {
        let watched = sys::pidfd(pid);
        // The descriptor is that of the node only if the number was the node's before and after. Old kernels say so of a number that
        // was another's meanwhile, so that the place in the family counts as well.
        let found = descendant(pid);
        if !is_tied() || found == Ok(None) {
            return None;
        }
        match (watched, found) {
            (Ok(descriptor), _) => Some(Inner::Watched(descriptor)),
            (Err(_), Ok(Some(found))) => Some(Inner::Looked(pid, found)),
            (Err(_), _) => None, // nothing tells of its end but that of its wrapper
        }
    }

    pub(super) fn descriptor(&self) -> Option<&OwnedFd> {
        match self {
            Inner::Watched(fd) => Some(fd),
            Inner::Looked(..) => None,
        }
    }

    // `is_ready`: what poll(2) said of a descriptor.
    pub(super) fn has_ended(&self, is_ready: impl Fn(i32) -> bool) -> bool {
        match self {
            Inner::Watched(fd) => is_ready(fd.as_raw_fd()),
            Inner::Looked(_, process) => !process.runs(),
        }
    }

    // It has not ended, or its status was not taken yet.
    pub(super) fn exists(&self) -> bool {
        self.signal(0)
    }

    // Sends `signal`; 0: only looks whether it could. False if nobody is there.
    pub(super) fn signal(&self, signal: c_int) -> bool {
        match self {
            Inner::Watched(fd) => match sys::queue_signal_at(fd.as_fd(), signal, MARKER) {
                Ok(()) => true,
                Err(error) if sys::errno(&error) == Some(libc::ESRCH) => false,
                Err(_) => sys::poll_one(fd.as_fd(), libc::POLLIN) == 0,
            },
            Inner::Looked(pid, process) => process.exists() && (signal == 0 || sys::queue_signal(*pid, signal, MARKER)),
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
        let tied = || sys::tied_to(self.child.tie.as_fd());
        if self.process.is_none()
            && let Some(pid) = tied()
        {
            if pid != self.child.pid {
                self.inner = Inner::find(pid, || tied() == Some(pid));
            }
            self.process = Some(pid);
        }
    }

    // Sends `signal` to the node behind a wrapper, if it has joined and runs. False if nobody is there.
    pub(super) fn signal_inner(&self, signal: c_int) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.signal(signal))
    }

    // SIGQUIT goes only to nodes, which may have a handler. It would make other programs leave core files.
    pub(super) fn ask(&self) {
        if self.signal_inner(libc::SIGQUIT) {
            return;
        }
        if self.process == Some(self.child.pid) {
            sys::queue_signal(self.child.pid, libc::SIGQUIT, MARKER);
        } else if !self.child_gone {
            sys::kill(self.child.pid, libc::SIGTERM);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").spawn().unwrap()
    }

    // Both ways to know a process, whatever this kernel has.
    fn both(pid: i32) -> [Option<Inner>; 2] {
        let looked = descendant(pid).unwrap().map(|process| Inner::Looked(pid, process));
        [Inner::find(pid, || true), looked]
    }

    /// As kernels before Linux 5.12 say it: the number of an owner that has ended.
    #[test]
    fn a_number_that_was_a_nodes_and_is_a_strangers_gets_no_signal() {
        let stranger = sys::parent_pid();
        assert!(both(stranger).iter().all(Option::is_none));
        assert!(Inner::find(sys::pid(), || true).is_none());
        let mut child = sleeper();
        assert!(Inner::find(child.id() as i32, || false).is_none(), "meanwhile the kernel says another number");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(both(child.id() as i32).iter().all(Option::is_none));
    }

    #[test]
    fn a_node_is_gone_when_its_status_is_taken_whatever_the_kernel_says_of_its_number() {
        let mut child = sleeper();
        let both = both(child.id() as i32).map(Option::unwrap);
        assert!(both.iter().all(|inner| inner.exists() && inner.signal(libc::SIGCONT)));
        let ready = |fd: i32| both[0].descriptor().is_some_and(|own| own.as_raw_fd() == fd && is_readable(own));
        assert!(both.iter().all(|inner| !inner.has_ended(ready)));
        child.kill().unwrap();
        while !both[1].has_ended(|_| false) {} // a zombie
        assert!(both.iter().all(|inner| inner.exists() && inner.has_ended(ready)));
        child.wait().unwrap();
        assert!(both.iter().all(|inner| inner.has_ended(ready) && !inner.exists() && !inner.signal(libc::SIGCONT)));
    }

    fn is_readable(fd: &OwnedFd) -> bool {
        sys::poll_one(fd.as_fd(), libc::POLLIN) != 0
    }
}
