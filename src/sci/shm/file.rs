//! The job's memory file, and a check that our descriptor still refers to it. A client may close all descriptors that it
//! does not know, and its own files may then get the same numbers. So each use checks first; none is on a hot path.
//!
//! Must not know what is in the file.

use crate::sci::SciError;
use parking_lot::RwLock;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

pub(super) struct JobFile {
    held: RwLock<Held>,
}

struct Held {
    fd: OwnedFd,
    /// Device and inode.
    identity: (u64, u64),
}

impl Held {
    fn new(fd: OwnedFd) -> Result<Held, SciError> {
        let identity = identity(fd.as_fd()).ok_or(SciError::System { call: "fstat", errno: libc::EBADF })?;
        Ok(Held { fd, identity })
    }

    /// Is the descriptor still the file?
    fn is_ours(&self) -> bool {
        identity(self.fd.as_fd()) == Some(self.identity)
    }
}

impl JobFile {
    /// Keeps `fd`, which is the job's file now.
    pub(super) fn new(fd: OwnedFd) -> Result<Self, SciError> {
        Ok(Self { held: RwLock::new(Held::new(fd)?) })
    }

    /// Is the descriptor still the job's file?
    pub(super) fn is_open(&self) -> bool {
        self.held.read().is_ours()
    }

    /// Uses the file. `FileLost`.
    pub(super) fn with<T>(&self, f: impl FnOnce(&OwnedFd) -> Result<T, SciError>) -> Result<T, SciError> {
        let held = self.held.read();
        if !held.is_ours() {
            return Err(SciError::FileLost);
        }
        f(&held.fd)
    }

    /// Goes on with `fd`. Unless `any` will do, it must be the same file, else `FileLost`.
    pub(super) fn replace(&self, fd: OwnedFd, any: bool) -> Result<(), SciError> {
        let new = Held::new(fd)?;
        let mut held = self.held.write();
        if !any && new.identity != held.identity {
            return Err(SciError::FileLost);
        }
        // `fd` may have got the very number that the client closed.
        let reused = held.fd.as_raw_fd() == new.fd.as_raw_fd();
        let old = std::mem::replace(&mut *held, new);
        if reused || !old.is_ours() {
            let _ = old.fd.into_raw_fd(); // the number belongs to the new descriptor, to the client, or to nobody
        }
        Ok(())
    }
}

fn identity(fd: BorrowedFd<'_>) -> Option<(u64, u64)> {
    // Not by std's File, which would take a second descriptor: a client may have none left.
    rustix::fs::fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

#[cfg(test)]
#[allow(unsafe_code)] // descriptors by their numbers
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    fn memfd() -> OwnedFd {
        crate::os::sys::memfd().unwrap()
    }

    #[test]
    fn file_that_the_client_replaced_is_not_touched_and_can_be_had_again() {
        let fd = memfd();
        let again = fd.try_clone().unwrap();
        let number = fd.as_raw_fd();
        let file = JobFile::new(fd).unwrap();
        assert!(file.is_open() && file.with(|_| Ok(())).is_ok());
        let theirs = memfd();
        // SAFETY: the number is that of a descriptor that this test owns; now it is another file.
        unsafe { libc::dup2(theirs.as_raw_fd(), number) };
        assert!(!file.is_open());
        assert_eq!(file.with(|_| Ok(())), Err(SciError::FileLost));
        assert_eq!(file.replace(theirs, false), Err(SciError::FileLost), "any file will not do");
        assert_eq!(file.replace(again, false), Ok(()));
        assert!(file.is_open() && file.with(|_| Ok(())).is_ok());
        // SAFETY: only asks; the client's descriptor must have stayed open. Then it is closed, once.
        assert!(unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0);
        // SAFETY: `number` is a descriptor of ours, just found open.
        unsafe { libc::close(number) };
        assert_eq!(file.replace(memfd(), true), Ok(()));
        assert!(file.is_open());
    }

    #[test]
    fn new_descriptor_may_have_the_number_that_the_client_closed() {
        let fd = memfd();
        let again = fd.try_clone().unwrap();
        let number = fd.as_raw_fd();
        let file = JobFile::new(fd).unwrap();
        // SAFETY: as if the client had closed the number and the file, opened again, had got it.
        unsafe { libc::dup2(again.as_raw_fd(), number) };
        // SAFETY: open, as of the line above; `file` takes it for closed.
        let same = unsafe { OwnedFd::from_raw_fd(number) };
        assert_eq!(file.replace(same, false), Ok(()));
        assert!(file.is_open() && file.with(|_| Ok(())).is_ok());
    }
}
