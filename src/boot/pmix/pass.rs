//! Passing a descriptor to processes of the same host and user that may not open `/proc/PID/fd`, over a socket without
//! a file (`SCM_RIGHTS`).
//!
//! Must not know: what the descriptor is.

#![allow(unsafe_code)] // control messages of sockets

use crate::os::sys;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// How long one side waits for the other. Both know that the other one comes.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a control message with one descriptor, and more.
const CONTROL: usize = 64;

fn address(cookie: u64) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("gasnet-sci.{cookie:016x}"))
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
                    if is_own && credentials(&stream)?.uid == sys::effective_user() {
                        send(&stream, what.as_raw_fd())?;
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
    if credentials(&stream)?.pid != pid {
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

fn credentials(stream: &UnixStream) -> io::Result<libc::ucred> {
    // SAFETY: all-zero is a valid value.
    let mut who: libc::ucred = unsafe { zeroed() };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = stream.as_raw_fd();
    // SAFETY: `who` has `len` writable bytes.
    match unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut who).cast(), &mut len) } {
        0 => Ok(who),
        _ => Err(io::Error::last_os_error()),
    }
}

#[repr(C, align(8))]
struct Control([u8; CONTROL]);

// Calls `f` with a message of one byte and room for one descriptor.
fn with_message<T>(control: &mut Control, f: impl FnOnce(&mut libc::msghdr) -> T) -> T {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: all-zero is a valid value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    f(&mut message)
}

fn send(stream: &UnixStream, fd: RawFd) -> io::Result<()> {
    let mut control = Control([0; CONTROL]);
    // SAFETY: takes an integer.
    let [len, space] = [unsafe { libc::CMSG_LEN(4) }, unsafe { libc::CMSG_SPACE(4) }];
    let head = libc::cmsghdr { cmsg_len: len as _, cmsg_level: libc::SOL_SOCKET, cmsg_type: libc::SCM_RIGHTS };
    let start = control.0.as_mut_ptr();
    // SAFETY: `control` is aligned for a head, and longer.
    unsafe { start.cast::<libc::cmsghdr>().write(head) };
    // SAFETY: the data of a control message follow its head at once on Linux; `control` is longer.
    let data = unsafe { start.add(size_of::<libc::cmsghdr>()) };
    // SAFETY: four bytes inside `control`.
    unsafe { data.cast::<RawFd>().write_unaligned(fd) };
    let sent = with_message(&mut control, |message| {
        message.msg_controllen = space as _;
        // SAFETY: the message points to live memory.
        unsafe { libc::sendmsg(stream.as_raw_fd(), message, libc::MSG_NOSIGNAL) }
    });
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn receive(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut control = Control([0; CONTROL]);
    let got = with_message(&mut control, |message| {
        // SAFETY: the message points to live, writable memory.
        unsafe { libc::recvmsg(stream.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) }
    });
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `control` is aligned for a head, and longer; all bytes are valid for one.
    let head = unsafe { control.0.as_ptr().cast::<libc::cmsghdr>().read() };
    // SAFETY: takes an integer.
    let wanted = unsafe { libc::CMSG_LEN(4) } as usize;
    if got != 1 || head.cmsg_type != libc::SCM_RIGHTS || head.cmsg_len != wanted {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no descriptor came"));
    }
    let at = size_of::<libc::cmsghdr>();
    let number = RawFd::from_ne_bytes([control.0[at], control.0[at + 1], control.0[at + 2], control.0[at + 3]]);
    // SAFETY: the kernel has just put this descriptor into this process, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_a_meaning_outside_is_nobody() {
        let whole = "         0          0 4294967295\n";
        assert!(is_mapped(whole, 0) && is_mapped(whole, 65534));
        let some = "0 1000 1\n1 100000 65536\n";
        assert!(is_mapped(some, 0) && is_mapped(some, 65536) && !is_mapped(some, 65537));
        assert!(!is_mapped("", 65534) && !is_mapped("0 x 9\n", 0));
    }
}
