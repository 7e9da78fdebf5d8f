//! The way to the memory of another process through the kernel (process_vm_readv(2), process_vm_writev(2)): proven before its first
//! use.
//!
//! These calls name the process by a number. In another PID namespace the same number is another process, perhaps the caller, and
//! the calls would succeed there. So:
//!
//! 1. A node tells its number together with the namespace that the number is of, and a random word of its memory ([`Mark`]).
//! 2. A way to it exists only in a process of the same namespace that has read this word through the number. The namespace counts
//!    as well because a copy of the process, made by fork(2), has the same word.
//! 3. Where the process may end before its peers do, its number may be given to another one. There the way has a descriptor of the
//!    process, opened before the word is read, and is closed once the process has ended.
//!
//! Where there is no way, messages go. Must not know: nodes, segments, what is copied.

#![allow(unsafe_code)] // a word of another process

use super::cma;
use crate::os::namespace::{self, Namespace};
use crate::os::sys;
use crate::sync::fixed::{AtomicBool, Ordering};
use std::os::fd::{AsFd, OwnedFd};

/// A word by which others know this process. It has its place in memory as long as it lives.
pub struct Mark(Box<u64>);

impl Mark {
    /// One that no other process has.
    pub fn new() -> Mark {
        Mark(Box::new(sys::random()))
    }

    /// What others need in order to find a way to this process.
    pub fn identity(&self) -> Identity {
        let Namespace { device, inode } = namespace::of_processes().unwrap_or(Namespace { device: 0, inode: 0 });
        Identity { pid: sys::pid() as u32, device, inode, address: std::ptr::from_ref(&*self.0) as u64, word: *self.0 }
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

/// What a process tells its peers so that they can reach its memory through the kernel: its number, the namespace of that number, and a
/// word to find in its memory. The process makes it ([`Mark::identity`]), attach sends it with the address of the segment, and a peer proves
/// it before use ([`Access::prove`]). Nothing of it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number, in its own namespace.
    pid: u32,
    /// Its namespace; inode 0: it does not know.
    device: u64,
    inode: u64,
    /// Where its mark lies, and the mark.
    address: u64,
    word: u64,
}

/// Words of a [`Identity`].
pub const WORDS: usize = 5;

impl Identity {
    /// As it is exchanged.
    pub fn words(&self) -> [u64; WORDS] {
        [self.pid.into(), self.device, self.inode, self.address, self.word]
    }

    /// From what was exchanged.
    pub fn read([pid, device, inode, address, word]: [u64; WORDS]) -> Identity {
        Identity { pid: pid as u32, device, inode, address, word }
    }
}

/// Why there is no way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The process is in another PID namespace, or one of the two does not know its own.
    Namespace,
    /// The kernel refuses, or what is there is not the mark.
    Refused,
}

/// Proven access to the memory of one other process through the kernel. [`Access::prove`] makes it, in attach; `am::segments` keeps one for
/// each such peer; copies ask it for the process's number ([`Access::pid`]) each time.
#[derive(Debug)]
pub struct Access {
    pid: i32,
    is_open: AtomicBool,
    /// Readable once the process has ended (rule 3).
    end: Option<OwnedFd>,
}

impl Access {
    /// Access to the process that `identity` is of, if there is any. `may_end`: the process may end while this way is in use.
    pub fn prove(identity: &Identity, may_end: bool) -> Result<Access, Closed> {
        let own = namespace::of_processes().ok_or(Closed::Namespace)?;
        if identity.inode == 0 || own != (Namespace { device: identity.device, inode: identity.inode }) {
            return Err(Closed::Namespace);
        }
        let pid = i32::try_from(identity.pid).ok().filter(|pid| *pid > 0).ok_or(Closed::Refused)?;
        let end = match may_end {
            true => Some(sys::pidfd(pid).map_err(|_| Closed::Refused)?),
            false => None,
        };
        let mut word = !identity.word;
        // SAFETY: `word` has eight writable bytes.
        unsafe { cma::read(pid, identity.address as usize, (&raw mut word).cast(), 8) }.map_err(|_| Closed::Refused)?;
        let way = Access { pid, is_open: AtomicBool::new(true), end };
        if word == identity.word && way.is_open() { Ok(way) } else { Err(Closed::Refused) }
    }

    /// The number of the process, for the call that is made next; `None` once the way is closed.
    pub fn pid(&self) -> Option<i32> {
        self.is_open().then_some(self.pid)
    }

    /// Nobody uses the way any more: the kernel has refused a copy.
    pub fn close(&self) {
        self.is_open.store(false, Ordering::Relaxed); // Relaxed: the flag stands alone; two threads may both find out
    }

    fn is_open(&self) -> bool {
        // Relaxed: as in `close`.
        let is_open = self.is_open.load(Ordering::Relaxed);
        if is_open && self.end.as_ref().is_some_and(|end| sys::poll_one(end.as_fd(), libc::POLLIN) != 0) {
            self.close();
            return false;
        }
        is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    // The kernel may forbid the calls altogether.
    fn is_forbidden() -> bool {
        Access::prove(&Mark::new().identity(), false).err() == Some(Closed::Refused)
    }

    #[test]
    fn the_way_to_a_process_is_found_by_its_mark_alone() {
        if is_forbidden() {
            return;
        }
        let mark = Mark::new();
        let identity = mark.identity();
        assert_eq!(Identity::read(identity.words()), identity);
        assert_eq!(Access::prove(&identity, false).unwrap().pid(), Some(sys::pid()));
        // A number that names another process than the one that the identity is of: there the word is not, or another.
        let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
        let stranger = Identity { pid: other.id(), ..identity };
        let found = Access::prove(&stranger, false).err();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(found, Some(Closed::Refused));
        for wrong in [
            Identity { word: !identity.word, ..identity },
            Identity { address: 8, ..identity },
            Identity { pid: 0, ..identity },
        ] {
            assert_eq!(Access::prove(&wrong, false).err(), Some(Closed::Refused), "{wrong:?}");
        }
    }

    #[test]
    fn a_number_of_another_namespace_is_not_even_tried() {
        let identity = Mark::new().identity();
        for other in [
            Identity { inode: identity.inode + 1, ..identity },
            Identity { device: !identity.device, ..identity },
            Identity { inode: 0, ..identity },
        ] {
            assert_eq!(Access::prove(&other, false).err(), Some(Closed::Namespace), "{other:?}");
        }
    }

    #[test]
    fn a_way_is_closed_when_its_process_ends_or_the_kernel_refuses() {
        let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = other.id() as i32;
        let Ok(end) = sys::pidfd(pid) else {
            other.kill().unwrap();
            other.wait().unwrap();
            return; // an old kernel, or a sandbox
        };
        let way = Access { pid, is_open: AtomicBool::new(true), end: Some(end) };
        assert_eq!(way.pid(), Some(pid));
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(way.pid(), None, "its number may be another process's by now");
        let way = Access { pid, is_open: AtomicBool::new(true), end: None };
        way.close();
        assert_eq!(way.pid(), None);
    }
}
