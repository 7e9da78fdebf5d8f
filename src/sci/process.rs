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
    pub fn card(&self) -> Card {
        let Namespace { device, inode } = namespace::of_processes().unwrap_or(Namespace { device: 0, inode: 0 });
        Card { pid: sys::pid() as u32, device, inode, address: std::ptr::from_ref(&*self.0) as u64, word: *self.0 }
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

/// What a process says of itself. Nothing of it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its number, in its own namespace.
    pid: u32,
    /// Its namespace; inode 0: it does not know.
    device: u64,
    inode: u64,
    /// Where its mark lies, and the mark.
    address: u64,
    word: u64,
}

/// Words of a [`Card`].
pub const WORDS: usize = 5;

impl Card {
    /// As it is exchanged.
    pub fn words(&self) -> [u64; WORDS] {
        [self.pid.into(), self.device, self.inode, self.address, self.word]
    }

    /// From what was exchanged.
    pub fn read([pid, device, inode, address, word]: [u64; WORDS]) -> Card {
        Card { pid: pid as u32, device, inode, address, word }
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

/// A proven way.
#[derive(Debug)]
pub struct Way {
    pid: i32,
    is_open: AtomicBool,
    /// Readable once the process has ended (rule 3).
    end: Option<OwnedFd>,
}

impl Way {
    /// The way to the process that `card` is of, if there is one. `may_end`: the process may end while this way is in use.
    pub fn prove(card: &Card, may_end: bool) -> Result<Way, Closed> {
        let own = namespace::of_processes().ok_or(Closed::Namespace)?;
        if card.inode == 0 || own != (Namespace { device: card.device, inode: card.inode }) {
            return Err(Closed::Namespace);
        }
        let pid = i32::try_from(card.pid).ok().filter(|pid| *pid > 0).ok_or(Closed::Refused)?;
        let end = match may_end {
            true => Some(sys::pidfd(pid).map_err(|_| Closed::Refused)?),
            false => None,
        };
        let mut word = !card.word;
        // SAFETY: `word` has eight writable bytes.
        unsafe { cma::read(pid, card.address as usize, (&raw mut word).cast(), 8) }.map_err(|_| Closed::Refused)?;
        let way = Way { pid, is_open: AtomicBool::new(true), end };
        if word == card.word && way.is_open() { Ok(way) } else { Err(Closed::Refused) }
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
        Way::prove(&Mark::new().card(), false).err() == Some(Closed::Refused)
    }

    #[test]
    fn the_way_to_a_process_is_found_by_its_mark_alone() {
        if is_forbidden() {
            return;
        }
        let mark = Mark::new();
        let card = mark.card();
        assert_eq!(Card::read(card.words()), card);
        assert_eq!(Way::prove(&card, false).unwrap().pid(), Some(sys::pid()));
        // A number that names another process than the one that the card is of: there the word is not, or another.
        let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
        let stranger = Card { pid: other.id(), ..card };
        let found = Way::prove(&stranger, false).err();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(found, Some(Closed::Refused));
        for wrong in [Card { word: !card.word, ..card }, Card { address: 8, ..card }, Card { pid: 0, ..card }] {
            assert_eq!(Way::prove(&wrong, false).err(), Some(Closed::Refused), "{wrong:?}");
        }
    }

    #[test]
    fn a_number_of_another_namespace_is_not_even_tried() {
        let card = Mark::new().card();
        for other in
            [Card { inode: card.inode + 1, ..card }, Card { device: !card.device, ..card }, Card { inode: 0, ..card }]
        {
            assert_eq!(Way::prove(&other, false).err(), Some(Closed::Namespace), "{other:?}");
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
        let way = Way { pid, is_open: AtomicBool::new(true), end: Some(end) };
        assert_eq!(way.pid(), Some(pid));
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(way.pid(), None, "its number may be another process's by now");
        let way = Way { pid, is_open: AtomicBool::new(true), end: None };
        way.close();
        assert_eq!(way.pid(), None);
    }
}
