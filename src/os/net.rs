//! Sockets and what tells of them: epoll, the addresses of this host's interfaces, what a socket has not sent.
//!
//! Must not know: what is sent.

#![allow(unsafe_code)] // system calls

use libc::c_int;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use sha2::{Digest, Sha256};
use std::ffi::CStr;
use std::io::{self, Error};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as unix;
use std::ptr;
use std::time::Duration;

/// The address of a socket without a file, which only those can compute who know `secret`. Everybody can see it (`/proc/net/unix`), and learns
/// nothing of the secret. `what` and `number` tell the sockets of one secret apart.
pub fn hidden_address(what: &str, secret: u64, number: u64) -> io::Result<unix::SocketAddr> {
    let hash = Sha256::new().chain_update(secret.to_le_bytes()).chain_update(what).chain_update(number.to_le_bytes());
    let hash: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    unix::SocketAddr::from_abstract_name(format!("gasnet-sci-{what}-{hash}"))
}

/// The process that made the other end of a socket of this host.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    // SAFETY: all-zero is a valid value.
    let mut who: libc::ucred = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: `who` has `len` writable bytes.
    match unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut who).cast(), &mut len) } {
        0 => Ok(who),
        _ => Err(Error::last_os_error()),
    }
}

/// A set of descriptors, and what happens at them. Level-triggered, unless a descriptor was added otherwise.
pub struct Epoll(OwnedFd);

/// One descriptor at which something happened: the key that it was added with, and whether bytes or an end can be read.
pub type Event = (u64, bool);

impl Epoll {
    /// An empty set.
    pub fn new() -> io::Result<Epoll> {
        Ok(Epoll(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// The set's own descriptor: readable when something happened.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Adds `fd`. `write`: also when it can be written.
    pub fn add(&self, fd: BorrowedFd<'_>, key: u64, write: bool) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(key), wanted(write))?)
    }

    /// Adds `fd`, of which nothing but that it can be read is asked for. What is told of it has the key 0.
    pub fn add_readable(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.add(fd, 0, false)
    }

    /// Adds `fd`, of which only what happens anew is told (edge-triggered).
    pub fn add_edges(&self, fd: BorrowedFd<'_>, key: u64) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(key), EventFlags::IN | EventFlags::ET)?)
    }

    /// Changes what is asked for of `fd`.
    pub fn change(&self, fd: BorrowedFd<'_>, key: u64, write: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.0, fd, EventData::new_u64(key), wanted(write))?)
    }

    /// Takes `fd` out of the set.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.0, fd)?)
    }

    /// What has happened, without waiting; at most as many as `list` has room for.
    pub fn look<'a>(&self, list: &'a mut [Event; 32]) -> &'a [Event] {
        let mut events = [const { MaybeUninit::uninit() }; 32];
        let found = match epoll::wait(&self.0, &mut events, Some(&Timespec::default())) {
            Ok((found, _)) => &*found,
            Err(_) => &[],
        };
        let readable = EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        for (entry, event) in list.iter_mut().zip(found) {
            *entry = ({ event.data }.u64(), { event.flags }.intersects(readable));
        }
        &list[..found.len()]
    }
}

fn wanted(write: bool) -> EventFlags {
    EventFlags::IN | EventFlags::RDHUP | if write { EventFlags::OUT } else { EventFlags::empty() }
}

/// Lets a TCP socket wait at most so long before it sends unacknowledged bytes again; without that, each time twice as long. Fails
/// where the system cannot (before Linux 6.15).
pub fn limit_retransmission(fd: BorrowedFd<'_>, most: Duration) -> io::Result<()> {
    const TCP_RTO_MAX_MS: c_int = 44;
    let most = c_int::try_from(most.as_millis()).unwrap_or(c_int::MAX);
    set_option(fd, libc::IPPROTO_TCP, TCP_RTO_MAX_MS, most)
}

fn set_option(fd: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: `value` lives during the call, and `len` is its size.
    match unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), len) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// A socket option that Rust's `libc` lacks: bits for the sizes of buffers that the system must not change, because a program has set them.
const SO_BUF_LOCK: c_int = 72;

/// Gives a socket room for `bytes` that wait to be sent, or for as many as the system allows (`net.core.wmem_max`). The system may
/// still give more, up to `net.ipv4.tcp_wmem`: by itself a program's size is also the most, and 208 KiB, which is what Linux allows
/// by default, are too few. Bulk of 1 MiB then takes 0.79 to 0.89 of a bare stream, not 1 (docs/figures.md). Before Linux 5.14 it
/// stays the most.
pub fn ask_for_send_buffer(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    socket2::SockRef::from(&fd).set_send_buffer_size(bytes)?;
    set_option(fd, libc::SOL_SOCKET, SO_BUF_LOCK, 0)
}

/// Bytes that this socket was given and has not handed to the network yet. 0 where the system does not say.
pub fn unsent(fd: BorrowedFd<'_>) -> usize {
    const SIOCOUTQNSD: libc::Ioctl = 0x894B;
    queued(fd, SIOCOUTQNSD)
}

/// Bytes that this socket was given and that the peer's system has not acknowledged yet; of datagrams: that have not left this host.
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
    pub address: IpAddr,
    /// How many leading bits the addresses of its network have in common.
    pub prefix: u8,
    /// Of an IPv6 address that counts on this link alone: the number of the interface. Else 0.
    pub scope: u32,
    /// It reaches this host alone.
    pub is_loopback: bool,
    /// Something is connected to it.
    pub is_running: bool,
}

impl Interface {
    /// Its address with this port.
    pub fn at(&self, port: u16) -> SocketAddr {
        match self.address {
            IpAddr::V4(address) => (address, port).into(),
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, self.scope).into(),
        }
    }
}

/// The addresses of the interfaces that are up, in the system's order.
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
        let has = |flag: c_int| entry.ifa_flags & flag as u32 != 0;
        // SAFETY: null, or an address of the family that it names, as long as the list lives.
        let Some((address, scope)) = (unsafe { address(entry.ifa_addr) }).filter(|_| has(libc::IFF_UP)) else {
            continue;
        };
        // SAFETY: as above.
        let mask = unsafe { self::address(entry.ifa_netmask) };
        // SAFETY: a name that ends with a zero byte, as long as the list lives.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let ones = |mask| match mask {
            IpAddr::V4(mask) => mask.to_bits().leading_ones(),
            IpAddr::V6(mask) => mask.to_bits().leading_ones(),
        };
        list.push(Interface {
            name,
            address,
            prefix: mask.map_or(0, |(mask, _)| ones(mask) as u8),
            scope,
            is_loopback: has(libc::IFF_LOOPBACK),
            is_running: has(libc::IFF_RUNNING),
        });
    }
    // SAFETY: the list that getifaddrs made; nothing refers to it any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(list)
}

/// An IP address, with the number of the interface on which alone it counts. `None`: it is of another family.
///
/// # Safety
/// `at` is null, or points to an address of the family that it names.
unsafe fn address(at: *const libc::sockaddr) -> Option<(IpAddr, u32)> {
    // SAFETY: as the caller promises.
    match i32::from(unsafe { at.as_ref() }?.sa_family) {
        libc::AF_INET => {
            // SAFETY: its family says that it is one.
            let address = unsafe { at.cast::<libc::sockaddr_in>().read_unaligned() };
            Some((Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into(), 0))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { at.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some((Ipv6Addr::from(address.sin6_addr.s6_addr).into(), address.sin6_scope_id))
        }
        _ => None,
    }
}

/// An address as people write it: `10.0.0.2:4000`, `[fd00::2]:4000`, `[fe80::2%eth0]:4000`.
pub fn shown(at: SocketAddr) -> String {
    match at {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => {
            format!("[{}%{}]:{}", v6.ip(), interface_name(v6.scope_id()), v6.port())
        }
        at => at.to_string(),
    }
}

/// The name of an interface; its number, if it has gone.
pub fn interface_name(number: u32) -> String {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the array has the size that the call may write.
    let found = unsafe { libc::if_indextoname(number, name.as_mut_ptr()) };
    if found.is_null() {
        return number.to_string();
    }
    // SAFETY: the call has written a name that ends with a zero byte.
    unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_hidden_address_holds_no_part_of_its_secret_and_is_anothers_for_each_socket() {
        let secret: u64 = 0x0123_4567_89ab_cdef;
        let name = |what, secret, number| {
            let address = hidden_address(what, secret, number).unwrap();
            String::from_utf8(address.as_abstract_name().unwrap().to_vec()).unwrap()
        };
        let shown = name("door", secret, 1);
        for part in [secret.to_string(), format!("{secret:016x}"), format!("{:016x}", secret.swap_bytes())] {
            assert!(
                part.as_bytes().windows(4).all(|four| !shown.as_bytes().windows(4).any(|there| there == four)),
                "{shown}"
            );
        }
        assert_eq!(shown, name("door", secret, 1));
        for other in [name("door", secret, 2), name("door", secret + 1, 1), name("task", secret, 1)] {
            assert!(shown[16..] != other[16..], "{other}");
        }
    }

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
    fn loopback_is_an_interface_with_its_network() {
        let list = interfaces().unwrap();
        let loopback = list.iter().find(|i| i.is_loopback && i.address == Ipv4Addr::LOCALHOST).expect("there is one");
        assert_eq!((loopback.prefix, loopback.scope, loopback.at(9)), (8, 0, "127.0.0.1:9".parse().unwrap()));
    }

    #[test]
    fn a_link_local_address_is_shown_with_the_name_of_its_interface() {
        let on = |scope| SocketAddr::V6(SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, scope));
        assert_eq!((shown(on(1)), shown(on(0))), ("[fe80::1%lo]:7".into(), "[fe80::1]:7".into()));
        assert_eq!(shown(on(u32::MAX)), format!("[fe80::1%{}]:7", u32::MAX));
        assert_eq!(shown("10.0.0.1:3".parse().unwrap()), "10.0.0.1:3");
    }
}
