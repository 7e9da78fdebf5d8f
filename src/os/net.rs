//! Sockets and what tells of them: epoll, the addresses of this host's interfaces, what a socket has not sent.
//!
//! Must not know: what is sent.

#![allow(unsafe_code)] // system calls

use std::ffi::CStr;
use std::io::{self, Error};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

/// A set of descriptors, and what happens at them. Level-triggered, unless a descriptor was added otherwise.
pub struct Epoll(OwnedFd);

/// One descriptor at which something happened: the key that it was added with, and whether bytes or an end can be read.
pub type Event = (u64, bool);

impl Epoll {
    /// An empty set.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the call above made it, and nobody else owns it.
        Ok(Epoll(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The set's own descriptor: readable when something happened.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Adds `fd`. `write`: also when it can be written.
    pub fn add(&self, fd: BorrowedFd<'_>, key: u64, write: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, key, write)
    }

    /// Adds `fd`, of which only what happens anew is told (edge-triggered).
    pub fn add_edges(&self, fd: BorrowedFd<'_>, key: u64) -> io::Result<()> {
        self.ask(libc::EPOLL_CTL_ADD, fd, key, (libc::EPOLLIN | libc::EPOLLET) as u32)
    }

    /// Changes what is asked for of `fd`.
    pub fn change(&self, fd: BorrowedFd<'_>, key: u64, write: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, key, write)
    }

    /// Takes `fd` out of the set.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, false)
    }

    fn control(&self, what: i32, fd: BorrowedFd<'_>, key: u64, write: bool) -> io::Result<()> {
        self.ask(what, fd, key, (libc::EPOLLIN | libc::EPOLLRDHUP | if write { libc::EPOLLOUT } else { 0 }) as u32)
    }

    fn ask(&self, what: i32, fd: BorrowedFd<'_>, key: u64, events: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: key };
        // SAFETY: `event` lives during the call.
        match unsafe { libc::epoll_ctl(self.0.as_raw_fd(), what, fd.as_raw_fd(), &mut event) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    /// What has happened, without waiting; at most as many as `list` has room for.
    pub fn look<'a>(&self, list: &'a mut [Event; 32]) -> &'a [Event] {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 32];
        // SAFETY: the array has room for as many.
        let found = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), events.len() as i32, 0) };
        let found = usize::try_from(found).unwrap_or(0);
        for (entry, event) in list.iter_mut().zip(&events[..found]) {
            let readable = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR;
            *entry = (event.u64, event.events & readable as u32 != 0);
        }
        &list[..found]
    }
}

/// Lets a TCP socket wait at most so long before it sends unacknowledged bytes again; without that, each time twice as long. Fails
/// where the system cannot (before Linux 6.15).
pub fn limit_retransmission(fd: BorrowedFd<'_>, most: Duration) -> io::Result<()> {
    const TCP_RTO_MAX_MS: libc::c_int = 44;
    let most = libc::c_int::try_from(most.as_millis()).unwrap_or(libc::c_int::MAX);
    let len = size_of_val(&most) as libc::socklen_t;
    // SAFETY: `most` lives during the call, and `len` is its size.
    match unsafe { libc::setsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, TCP_RTO_MAX_MS, (&raw const most).cast(), len) }
    {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// A socket option that Rust's `libc` lacks: bits for the sizes of buffers that the system must not change, because a program has set them.
const SO_BUF_LOCK: libc::c_int = 72;

/// Gives a socket room for `bytes` that wait to be sent, or for as many as the system allows (`net.core.wmem_max`). The system may
/// still give more, up to `net.ipv4.tcp_wmem`: by itself a program's size is also the most, and 208 KiB, which is what Linux allows
/// by default, are too few. Bulk of 1 MiB then takes 0.79 to 0.89 of a bare stream, not 1 (docs/figures.md). Before Linux 5.14 it
/// stays the most.
pub fn ask_for_send_buffer(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    socket2::SockRef::from(&fd).set_send_buffer_size(bytes)?;
    let none: libc::c_int = 0;
    let len = size_of_val(&none) as libc::socklen_t;
    // SAFETY: `none` lives during the call, and `len` is its size.
    match unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, SO_BUF_LOCK, (&raw const none).cast(), len) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// Bytes that this socket was given and has not handed to the network yet. 0 where the system does not say.
pub fn unsent(fd: BorrowedFd<'_>) -> usize {
    const SIOCOUTQNSD: libc::Ioctl = 0x894B;
    queued(fd, SIOCOUTQNSD)
}

/// Bytes that this socket was given and that the peer's system has not acknowledged yet.
pub fn unacknowledged(fd: BorrowedFd<'_>) -> usize {
    queued(fd, libc::TIOCOUTQ)
}

fn queued(fd: BorrowedFd<'_>, what: libc::Ioctl) -> usize {
    let mut bytes = 0i32;
    // SAFETY: `bytes` is writable, and both requests write an int.
    match unsafe { libc::ioctl(fd.as_raw_fd(), what, &raw mut bytes) } {
        0 => usize::try_from(bytes).unwrap_or(0),
        _ => 0,
    }
}

/// An interface of this host that is up, and one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// It reaches this host alone.
    pub is_loopback: bool,
}

/// The IPv4 addresses of the interfaces that are up.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut first: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: `first` is writable.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(Error::last_os_error());
    }
    let mut list = Vec::new();
    let mut next = first;
    // SAFETY: null, or an entry of the list, which lives until it is freed below.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: null, or an address of the family that it names.
        let family = unsafe { entry.ifa_addr.as_ref() }.map(|address| i32::from(address.sa_family));
        let is_up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
        if family != Some(libc::AF_INET) || !is_up {
            continue;
        }
        // SAFETY: its family says that it is one.
        let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
        // SAFETY: a name that ends with a zero byte, as long as the list lives.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let is_loopback = entry.ifa_flags & libc::IFF_LOOPBACK as u32 != 0;
        list.push(Interface { name, address: Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)), is_loopback });
    }
    // SAFETY: the list that getifaddrs made; nothing refers to it any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_happens_is_told_with_its_key() {
        let set = Epoll::new().unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        set.add(theirs.as_fd(), 7, false).unwrap();
        let mut list = [(0, false); 32];
        assert!(set.look(&mut list).is_empty());
        ours.write_all(b"x").unwrap();
        assert_eq!(set.look(&mut list), [(7, true)]);
        set.change(theirs.as_fd(), 8, true).unwrap();
        drop(ours);
        assert_eq!(set.look(&mut list), [(8, true)]);
    }

    /// Over loopback the system gives a connection megabytes at once. Without what the call takes back, 16 KiB stay 16 KiB.
    #[test]
    fn a_send_buffer_that_was_asked_for_may_grow() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        if ask_for_send_buffer(socket.as_fd(), 8 << 10).is_err() {
            return; // before Linux 5.14
        }
        let before = socket.send_buffer_size().unwrap();
        socket.connect(&listener.local_addr().unwrap().into()).unwrap();
        assert!(socket.send_buffer_size().unwrap() > before, "{before}");
    }

    #[test]
    fn edges_are_told_once_and_again_when_more_comes() {
        let (inner, set) = (Epoll::new().unwrap(), Epoll::new().unwrap());
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (mut other, stale) = UnixStream::pair().unwrap();
        inner.add(stale.as_fd(), 0, false).unwrap();
        inner.add(theirs.as_fd(), 0, false).unwrap();
        // SAFETY: open as long as `inner`.
        set.add_edges(unsafe { BorrowedFd::borrow_raw(inner.descriptor()) }, 7).unwrap();
        let mut list = [(0, false); 32];
        other.write_all(b"x").unwrap();
        assert_eq!(set.look(&mut list), [(7, true)]);
        assert!(set.look(&mut list).is_empty(), "still readable, and not anew");
        ours.write_all(b"x").unwrap();
        assert_eq!(set.look(&mut list), [(7, true)], "behind one that stays readable");
    }

    #[test]
    fn loopback_is_an_interface() {
        let list = interfaces().unwrap();
        assert!(list.iter().any(|i| i.is_loopback && i.address == Ipv4Addr::LOCALHOST), "{list:?}");
    }
}
