//! Passing a descriptor to processes of the same host and user that may not open `/proc/PID/fd`, over a socket without
//! a file (`SCM_RIGHTS`).
//!
//! Must not know: what the descriptor is.

use crate::os::{net, sys};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// How long one side waits for the other. Both know that the other one comes.
const PATIENCE: Duration = Duration::from_secs(30);

fn address(cookie: u64) -> io::Result<SocketAddr> {
    net::hidden_address("memory", cookie, 0)
}

/// The socket of the process that has the descriptor.
pub struct Door(UnixListener);

impl Door {
    /// Opens a door for those who know `cookie`.
    pub fn open(cookie: u64) -> io::Result<Door> {
        Ok(Door(UnixListener::bind_addr(&address(cookie)?)?))
    }

    /// Gives `what` to as many processes. They are of this user; a stranger gets nothing and is not counted.
    ///
    /// # Errors
    /// The call that failed, or that fewer came.
    pub fn serve(&self, mut count: u32, what: &OwnedFd) -> io::Result<()> {
        self.0.set_nonblocking(true)?;
        // In a user namespace that does not map this user, all such users have the number of nobody.
        let is_own =
            std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| is_mapped(&map, sys::effective_user()));
        let deadline = sys::clock_ns() + PATIENCE.as_nanos() as u64;
        while count > 0 {
            match self.0.accept() {
                Ok((stream, _)) => {
                    if is_own && net::peer(stream.as_fd())?.uid == sys::effective_user() {
                        send(&stream, what.as_fd())?;
                        count -= 1;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if sys::clock_ns() > deadline {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    sys::nap(Duration::from_millis(1));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Gets the descriptor of process `pid` through its door.
///
/// # Errors
/// The call that failed, or that another process than `pid` opened this door.
pub fn fetch(cookie: u64, pid: i32) -> io::Result<OwnedFd> {
    let stream = UnixStream::connect_addr(&address(cookie)?)?;
    if net::peer(stream.as_fd())?.pid != pid {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another process has its socket"));
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    receive(&stream)
}

// Whether `map`, a uid_map, gives user `uid` a meaning outside: lines of the first number inside, the first outside, and how many.
fn is_mapped(map: &str, uid: u32) -> bool {
    let holds = |line: &str| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok());
        let (first, _, count) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some((first..first.saturating_add(count)).contains(&uid.into()))
    };
    map.lines().any(|line| holds(line).unwrap_or(false))
}

fn send(stream: &UnixStream, fd: BorrowedFd<'_>) -> io::Result<()> {
    let (mut space, fds) = ([MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))], [fd]);
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds)); // there is room
    sendmsg(stream, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(stream: &UnixStream) -> io::Result<OwnedFd> {
    let (mut space, mut byte) = ([MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))], [0]);
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    descriptor.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no descriptor came"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_descriptor_comes_through_and_nothing_else_is_taken_for_one() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let file = sys::memfd().unwrap();
        send(&ours, file.as_fd()).unwrap();
        let got = receive(&theirs).unwrap();
        let inode = |fd: &OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
        assert!(inode(&got) == inode(&file) && got.as_raw_fd() != file.as_raw_fd());
        sys::send(ours.as_fd(), b"x").unwrap();
        assert_eq!(receive(&theirs).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(ours);
        assert_eq!(receive(&theirs).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_user_without_a_meaning_outside_is_nobody() {
        let whole = "         0          0 4294967295\n";
        assert!(is_mapped(whole, 0) && is_mapped(whole, 65534));
        let some = "0 1000 1\n1 100000 65536\n";
        assert!(is_mapped(some, 0) && is_mapped(some, 65536) && !is_mapped(some, 65537));
        assert!(!is_mapped("", 65534) && !is_mapped("0 x 9\n", 0));
    }
}
