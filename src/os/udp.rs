//! Datagram sockets: many datagrams of one size in a call where the system can (GSO, GRO), room for what comes, the size of a path.
//!
//! Must not know: what is sent.

#![allow(unsafe_code)] // system calls

use super::sys;
use libc::c_int;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::io::{self, Error, ErrorKind, IoSlice};
use std::mem::{self, MaybeUninit};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// What a message has beside its bytes: one value.
#[repr(C)]
struct Control<T> {
    head: libc::cmsghdr,
    value: T,
}

impl<T> Control<T> {
    /// The head of a value of this kind of UDP.
    fn head(kind: c_int) -> libc::cmsghdr {
        let len = size_of::<libc::cmsghdr>() + size_of::<T>();
        libc::cmsghdr { cmsg_len: len, cmsg_level: libc::SOL_UDP, cmsg_type: kind }
    }
}

/// A socket that never blocks, with a high number, because clients may expect the lowest ones. `room`: bytes for what comes, if the
/// system gives so many. Routers may cut its datagrams in pieces: so a path that takes less than its first link is no trap.
pub fn bind(at: SocketAddr, room: usize) -> io::Result<UdpSocket> {
    bind_as(at, room, false)
}

/// `shares`: other sockets of this user may have the same address and port, if they say so too.
fn bind_as(at: SocketAddr, room: usize, shares: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM.nonblocking(), None)?;
    if at.is_ipv6() {
        socket.set_only_v6(true)?;
    } else {
        let _ = set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT);
    }
    let bytes = c_int::try_from(room).unwrap_or(c_int::MAX);
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes).or_else(|_| socket.set_recv_buffer_size(room));
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes).or_else(|_| socket.set_send_buffer_size(room));
    let _ = put_together(&socket, true); // Linux 5.0
    if shares {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&at.into())?;
    sys::duplicate_high(socket.as_fd(), 100).map(UdpSocket::from)
}

/// Datagrams of one size that come together are taken in one call, or not.
pub fn put_together(socket: &impl AsFd, together: bool) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_GRO, together.into())
}

/// A socket at the address and port of `socket`, connected to `to`. What comes from there comes to it, and, before this returns, perhaps some
/// of what comes from elsewhere.
pub fn beside(socket: &UdpSocket, to: SocketAddr, room: usize) -> io::Result<UdpSocket> {
    SockRef::from(socket).set_reuse_port(true)?; // not before it was bound, or the system would give it a port that others have
    let beside = bind_as(socket.local_addr()?, room, true)?;
    beside.connect(to)?;
    Ok(beside)
}

/// A socket beside `socket`, at the same address: nobody, neither this host nor a router, cuts what it sends.
pub fn beside_uncut(socket: &UdpSocket) -> io::Result<UdpSocket> {
    let mut at = socket.local_addr()?;
    at.set_port(0);
    let socket = bind(at, 1 << 16)?;
    match at.is_ipv4() {
        true => set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
        false => set(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
    }
    .map(|()| socket)
}

/// Bytes that the system keeps of what comes, its own records of it included.
pub fn room(socket: &UdpSocket) -> usize {
    SockRef::from(socket).recv_buffer_size().unwrap_or(0)
}

fn set(socket: &impl AsFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the value is an int, as its size says.
    let result = unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), size_of::<c_int>() as u32) };
    if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// The most bytes of a datagram of UDP to `to` that go in one piece over the first link, as far as the system knows.
pub fn most(to: SocketAddr) -> io::Result<usize> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, None)?;
    socket.connect(&to.into())?;
    let (level, name, heads) = match to {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU, 28),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, 48),
    };
    let (mut value, mut len): (c_int, u32) = (0, size_of::<c_int>() as u32);
    // SAFETY: the value is an int, as its size says.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut len) };
    if result == 0 { Ok((value as usize).saturating_sub(heads)) } else { Err(Error::last_os_error()) }
}

/// Sends all `parts`, in their order, to `to`, or to where the socket is connected: one datagram, or with `each` several of so many bytes, of which the last one may have fewer.
/// False: the system has no room.
pub fn send(socket: &UdpSocket, to: Option<&SockAddr>, parts: &[IoSlice<'_>], each: Option<u16>) -> io::Result<bool> {
    if let ([one], None, None) = (parts, to, each) {
        // SAFETY: the bytes live until the call returns.
        return sent(|| unsafe { libc::send(socket.as_raw_fd(), one.as_ptr().cast(), one.len(), libc::MSG_NOSIGNAL) });
    }
    let head = Control::<u16>::head(libc::UDP_SEGMENT);
    let mut control = Control { head, value: each.unwrap_or_default() };
    // SAFETY: all zeros are a message without anything.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    if let Some(to) = to {
        (message.msg_name, message.msg_namelen) = (to.as_ptr().cast_mut().cast(), to.len());
    }
    // An IoSlice is an iovec, as std promises; the call reads it.
    (message.msg_iov, message.msg_iovlen) = (parts.as_ptr().cast_mut().cast(), parts.len());
    if each.is_some() {
        (message.msg_control, message.msg_controllen) = ((&raw mut control).cast(), size_of_val(&control));
    }
    // SAFETY: everything that the message points to lives until the call returns.
    sent(|| unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
}

fn sent(call: impl Fn() -> isize) -> io::Result<bool> {
    loop {
        let sent = call();
        match Error::last_os_error() {
            _ if sent >= 0 => return Ok(true),
            error if was_told(error.kind()) => {} // see `taken`
            error if error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS) => {
                return Ok(false);
            }
            error => return Err(error),
        }
    }
}

/// What has come: how many bytes of `into` it has, from where, and how many bytes each datagram in it has but the last one.
pub struct Came {
    /// Bytes.
    pub len: usize,
    /// The sender's address.
    pub from: SocketAddr,
    /// Bytes of each.
    pub each: usize,
}

/// Takes what has come first by `call`, which says how many bytes that are. `None`: nothing has come.
fn taken(call: impl Fn() -> isize) -> Option<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(len) => return Some(len),
            // A connected socket tells of an earlier datagram once, whatever has come behind: nobody was there.
            Err(_) if !was_told(Error::last_os_error().kind()) => return None,
            Err(_) => {}
        }
    }
}

/// A call has only told of something else, and is made again.
fn was_told(error: ErrorKind) -> bool {
    [ErrorKind::Interrupted, ErrorKind::ConnectionRefused].contains(&error)
}

/// Takes the datagram that has come first, of a socket that does not put them together. Returns its bytes.
pub fn receive_one(socket: &UdpSocket, into: &mut [u8]) -> Option<usize> {
    let (fd, at, len) = (socket.as_raw_fd(), into.as_mut_ptr().cast(), into.len());
    // SAFETY: the room is as long as the call is told.
    taken(|| unsafe { libc::recv(fd, at, len, libc::MSG_DONTWAIT) })
}

/// Takes what has come first. `None`: nothing has.
pub fn receive(socket: &UdpSocket, into: &mut [u8]) -> Option<Came> {
    let mut vector = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut control = Control { head: Control::<c_int>::head(0), value: 0 };
    // SAFETY: all zeros are a message without anything.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut vector, 1);
    (message.msg_control, message.msg_controllen) = ((&raw mut control).cast(), size_of_val(&control));
    let mut storage = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    message.msg_name = storage.as_mut_ptr().cast();
    message.msg_namelen = size_of::<libc::sockaddr_storage>() as u32;
    let to = &raw mut message;
    // SAFETY: everything that the message points to lives until the call returns, and is as long as it says.
    let len = taken(|| unsafe { libc::recvmsg(socket.as_raw_fd(), to, libc::MSG_DONTWAIT) })?;
    // The socket asks for one thing of the kind alone.
    let is_cut = message.msg_controllen > 0
        && (control.head.cmsg_level, control.head.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO);
    let each = if is_cut { control.value as usize } else { len };
    // SAFETY: both are an address of any family, whose bytes the system has written; the rest are zeros, which are no address.
    let storage = unsafe { mem::transmute_copy(&storage) };
    // SAFETY: the system has said how long the address is.
    let from = unsafe { SockAddr::new(storage, message.msg_namelen) }.as_socket()?;
    Some(Came { len, from, each: each.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The peer is not there yet when something is sent, and its host says so. What it sends then is found at once.
    #[test]
    fn an_error_that_is_told_hides_nothing_that_has_come() {
        for is_alone in [false, true] {
            let [one, two] = [0; 2].map(|_| bind("127.0.0.1:0".parse().unwrap(), 1 << 16).unwrap());
            let (here, there) = (one.local_addr().unwrap(), two.local_addr().unwrap());
            drop(two);
            one.connect(there).unwrap();
            assert!(send(&one, None, &[IoSlice::new(b"too early")], None).unwrap());
            let two = bind(there, 1 << 16).unwrap();
            assert!(send(&two, Some(&here.into()), &[IoSlice::new(b"here")], None).unwrap());
            sys::await_readable(&[one.as_raw_fd()], Duration::from_secs(60));
            let mut room = [0; 100];
            let len =
                if is_alone { receive_one(&one, &mut room) } else { receive(&one, &mut room).map(|came| came.len) };
            assert_eq!((len, &room[..4]), (Some(4), &b"here"[..]));
        }
    }

    #[test]
    fn datagrams_that_go_in_one_call_come_with_their_sizes() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(one) = bind(at.parse().unwrap(), 1 << 20) else { continue }; // a system without IPv6
            let two = bind(at.parse().unwrap(), 1 << 20).unwrap();
            let to = two.local_addr().unwrap();
            assert!(most(to).unwrap() > 1200 && room(&two) > 10_000 && two.as_raw_fd() >= 100);
            let bytes: Vec<u8> = (0..2500).map(|i| (i / 7) as u8).collect();
            let parts = [&bytes[..700], &bytes[700..]].map(IoSlice::new);
            assert!(send(&one, Some(&to.into()), &parts, Some(1000)).unwrap());
            assert!(send(&one, Some(&to.into()), &[IoSlice::new(&bytes[..5])], None).unwrap());
            let (mut got, mut room, mut sizes) = (Vec::new(), vec![0; 1 << 16], Vec::new());
            while got.len() < 2505 {
                assert!(
                    sys::await_readable(&[two.as_raw_fd()], Duration::from_secs(60))[0],
                    "{} bytes came",
                    got.len()
                );
                let came = receive(&two, &mut room).unwrap();
                assert_eq!(came.from, one.local_addr().unwrap());
                for datagram in room[..came.len].chunks(came.each) {
                    sizes.push(datagram.len());
                    got.extend_from_slice(datagram);
                }
            }
            assert_eq!((&got[..2500], &got[2500..], &sizes[..]), (&bytes[..], &bytes[..5], &[1000, 1000, 500, 5][..]));
            assert!(receive(&two, &mut room).is_none());
        }
    }
}
