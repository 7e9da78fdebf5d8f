//! How two sides find each other. Who listens binds a marker; who connects sees it and publishes an offer, under a name that both can tell: user,
//! addresses, ports. Who accepts fetches it. Names are of abstract Unix sockets, so each network namespace has its own, and nothing is left behind.

use crate::conn::Conn;
use crate::fds::{self, Entry};
use crate::porter;
use crate::real;
use crate::shared::*;
use crate::transfer;
use libc::{
    AF_INET, AF_INET6, AF_UNIX, c_int, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, sockaddr_un, socklen_t,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Who accepts waits no longer for what was offered; then the connection stays the kernel's.
const PATIENCE: Duration = Duration::from_millis(200);

/// An address of libc's; IPv4 in IPv6's clothes is IPv4.
///
/// # Safety
/// `addr` has `len` readable bytes.
pub unsafe fn address(addr: *const sockaddr, len: socklen_t) -> Option<SocketAddr> {
    if addr.is_null() || (len as usize) < size_of::<sockaddr_in>() {
        return None;
    }
    // SAFETY: so many bytes are there; what is read fits into them.
    match unsafe { (*addr).sa_family } as c_int {
        AF_INET => {
            // SAFETY: as above.
            let found = unsafe { addr.cast::<sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(found.sin_addr.s_addr));
            Some(SocketAddr::new(ip.into(), u16::from_be(found.sin_port)))
        }
        AF_INET6 if len as usize >= size_of::<sockaddr_in6>() => {
            // SAFETY: as above.
            let found = unsafe { addr.cast::<sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(found.sin6_addr.s6_addr).to_canonical();
            Some(SocketAddr::new(ip, u16::from_be(found.sin6_port)))
        }
        _ => None,
    }
}

/// The address of a socket, or of its peer.
fn name_of(fd: c_int, call: unsafe extern "C" fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int) -> Option<SocketAddr> {
    // SAFETY: plain data.
    let mut found: sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut len = size_of_val(&found) as socklen_t;
    // SAFETY: room for any address.
    let status = unsafe { call(fd, (&raw mut found).cast(), &mut len) };
    // SAFETY: the call filled it.
    if status == 0 { unsafe { address((&raw const found).cast(), len) } } else { None }
}

fn libc_address(at: SocketAddr, family: c_int) -> (sockaddr_storage, socklen_t) {
    // SAFETY: plain data.
    let mut made: sockaddr_storage = unsafe { std::mem::zeroed() };
    let port = at.port().to_be();
    if let (AF_INET, IpAddr::V4(ip)) = (family, at.ip()) {
        let addr = libc::in_addr { s_addr: u32::from(ip).to_be() };
        let it = sockaddr_in { sin_family: AF_INET as u16, sin_port: port, sin_addr: addr, sin_zero: [0; 8] };
        // SAFETY: it fits into the storage.
        unsafe { (&raw mut made).cast::<sockaddr_in>().write(it) };
        return (made, size_of::<sockaddr_in>() as socklen_t);
    }
    let ip = match at.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    // SAFETY: plain data.
    let mut it: sockaddr_in6 = unsafe { std::mem::zeroed() };
    (it.sin6_family, it.sin6_port, it.sin6_addr.s6_addr) = (AF_INET6 as u16, port, ip.octets());
    // SAFETY: it fits into the storage.
    unsafe { (&raw mut made).cast::<sockaddr_in6>().write(it) };
    (made, size_of::<sockaddr_in6>() as socklen_t)
}

/// The namespace in which this process's numbers are known: locks have them, so both sides must know them alike. 0: nobody tells.
fn namespace() -> u64 {
    // SAFETY: plain data.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a name that ends, a structure of ours.
    if unsafe { libc::stat(c"/proc/self/ns/pid".as_ptr(), &mut stat) } == 0 { stat.st_ino } else { 0 }
}

/// An abstract name of this user, in this namespace of processes.
fn name(what: &str) -> (sockaddr_un, socklen_t) {
    // SAFETY: plain data.
    let mut made: sockaddr_un = unsafe { std::mem::zeroed() };
    made.sun_family = AF_UNIX as u16;
    // SAFETY: no conditions.
    let text = format!("gasnet-sci-sock/{}/{}/{what}", unsafe { libc::geteuid() }, namespace());
    for (to, from) in made.sun_path[1..].iter_mut().zip(text.bytes()) {
        *to = from as libc::c_char;
    }
    (made, (3 + text.len()) as socklen_t)
}

fn unix(kind: c_int) -> c_int {
    // SAFETY: plain numbers.
    unsafe { libc::socket(AF_UNIX, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) }
}

/// A Unix socket bound to a name; -1 if the name is taken.
fn bound(kind: c_int, what: &str) -> c_int {
    let (fd, (at, len)) = (unix(kind), name(what));
    // SAFETY: an address of ours.
    if fd >= 0 && unsafe { libc::bind(fd, (&raw const at).cast(), len) } != 0 {
        // SAFETY: made above.
        unsafe { real::close(fd) };
        return -1;
    }
    fd
}

/// A Unix socket connected to a name, or -1.
fn connected(kind: c_int, what: &str) -> c_int {
    let (fd, (at, len)) = (unix(kind), name(what));
    // SAFETY: an address of ours.
    if fd >= 0 && unsafe { real::connect(fd, (&raw const at).cast(), len) } != 0 {
        // SAFETY: made above.
        unsafe { real::close(fd) };
        return -1;
    }
    fd
}

/// Whether the process at the other end of a Unix socket is of this user.
pub fn is_same_user(fd: c_int) -> bool {
    let nobody = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let found = real::option(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, nobody);
    // SAFETY: no conditions.
    found.is_some_and(|found| found.uid == unsafe { libc::geteuid() })
}

fn is_tcp(fd: c_int) -> bool {
    real::option(fd, libc::SOL_SOCKET, libc::SO_PROTOCOL, 0) == Some(libc::IPPROTO_TCP)
}

/// After `listen`: the marker.
pub fn announce(fd: c_int) {
    let Some(here) = (fds::kind(fd) == fds::FOREIGN && is_tcp(fd)).then(|| name_of(fd, libc::getsockname)).flatten()
    else {
        return;
    };
    if porter::is_excepted(here.port()) {
        return;
    }
    let marker = fds::hide(bound(libc::SOCK_DGRAM, &here.port().to_string()));
    if marker >= 0 {
        fds::put(fd, Some(Arc::new(Entry::Listener(marker))));
    }
}

/// The address from which the kernel would reach `to`.
fn source(to: SocketAddr) -> Option<IpAddr> {
    let family = if to.is_ipv4() { AF_INET } else { AF_INET6 };
    // SAFETY: plain numbers.
    let fd = unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let (at, len) = libc_address(to, family);
    // SAFETY: an address of ours. Nothing is sent.
    let reached = fd >= 0 && unsafe { real::connect(fd, (&raw const at).cast(), len) } == 0;
    let found = if reached { name_of(fd, libc::getsockname) } else { None };
    // SAFETY: made above.
    unsafe { real::close(fd) };
    found.map(|found| found.ip())
}

/// What both sides call an offer.
fn offer_name(from: SocketAddr, to: SocketAddr) -> String {
    format!("{from}>{to}")
}

/// Before `connect`: publishes an offer, if somebody of this host and user listens there who can fetch it.
pub fn offer(fd: c_int, to: SocketAddr) -> Option<Arc<Conn>> {
    if porter::is_excepted(to.port()) || !is_tcp(fd) {
        return None;
    }
    let marker = connected(libc::SOCK_DGRAM, &to.port().to_string());
    if marker < 0 {
        return None;
    }
    // SAFETY: made above.
    unsafe { real::close(marker) };
    let bound_to = name_of(fd, libc::getsockname)?;
    let from = if bound_to.ip().is_unspecified() { source(to)? } else { bound_to.ip() };
    if !to.ip().is_loopback() && from != to.ip() {
        return None;
    }
    let mut here = SocketAddr::new(from, bound_to.port());
    if here.port() == 0 {
        // So the port is known before the other side can accept.
        let family = real::option(fd, libc::SOL_SOCKET, libc::SO_DOMAIN, 0)?;
        let (at, len) = libc_address(here, family);
        // SAFETY: an address of ours.
        if unsafe { libc::bind(fd, (&raw const at).cast(), len) } != 0 {
            return None;
        }
        here.set_port(name_of(fd, libc::getsockname)?.port());
    }
    if here.port() == 0 {
        return None;
    }
    let conn = create(bound(libc::SOCK_SEQPACKET, &offer_name(here, to)))?;
    let nonblock = is_nonblocking(fd);
    conn.mine().nonblock.store(nonblock, Ordering::Relaxed);
    copy_timeouts(fd, &conn);
    let conn = Arc::new(conn);
    porter::serve(&conn).then_some(conn)
}

fn is_nonblocking(fd: c_int) -> u32 {
    // SAFETY: it only asks.
    u32::from(unsafe { real::fcntl(fd, libc::F_GETFL, 0) } & libc::O_NONBLOCK != 0)
}

/// The time-outs that the program had set before.
fn copy_timeouts(fd: c_int, conn: &Conn) {
    for (what, name) in [(IN, libc::SO_RCVTIMEO), (OUT, libc::SO_SNDTIMEO)] {
        let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let time = real::option(fd, libc::SOL_SOCKET, name, zero).unwrap_or(zero);
        conn.mine().timeouts[what].store(crate::wait::nanos(time), Ordering::Relaxed);
    }
}

/// The memory of a connection and its bells; `listener` is where they are fetched.
fn create(listener: c_int) -> Option<Conn> {
    // SAFETY: the socket is this function's.
    let listener = if listener >= 0 && unsafe { real::listen(listener, 4) } == 0 { fds::hide(listener) } else { -1 };
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: a name that ends.
    let memfd = fds::hide(unsafe { libc::memfd_create(c"gasnet-sci-sock".as_ptr(), flags) });
    // SAFETY: plain numbers.
    let is_sized = memfd >= 0 && unsafe { libc::ftruncate(memfd, SIZE as i64) } == 0 && seal(memfd);
    // SAFETY: plain numbers.
    let bell = || fds::hide(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) });
    let bells = [[bell(), bell()], [bell(), bell()]];
    let conn = Conn::new(memfd, 0, bells, -1, listener)?; // whatever is missing, this closes the rest
    if listener < 0 || !is_sized || bells.iter().flatten().any(|&bell| bell < 0) {
        return None;
    }
    let shared = conn.shared();
    shared.magic.store(MAGIC, Ordering::Relaxed);
    shared.ways[0].switch_at.store(NEVER, Ordering::Relaxed);
    shared.ends.iter().for_each(|end| end.holders.store(1, Ordering::Relaxed));
    Some(conn)
}

const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

fn seal(memfd: c_int) -> bool {
    // SAFETY: plain numbers.
    unsafe { real::fcntl(memfd, libc::F_ADD_SEALS, SEALS as usize) == 0 }
}

/// After `accept`: fetches what the other side offered, if it did.
pub fn adopt(fd: c_int) -> Option<Arc<Conn>> {
    let there = name_of(fd, libc::getpeername)?;
    let here = name_of(fd, libc::getsockname)?;
    if !there.ip().is_loopback() && there.ip() != here.ip() || porter::is_excepted(here.port()) {
        return None;
    }
    let ctl = fds::hide(connected(libc::SOCK_SEQPACKET, &offer_name(there, here)));
    if ctl < 0 {
        return None;
    }
    let fetched = fetch(ctl);
    let Some([memfd, bells @ ..]) = fetched else {
        fds::close(ctl);
        return None;
    };
    // SAFETY: it only asks.
    let is_sealed = unsafe { real::fcntl(memfd, libc::F_GET_SEALS, 0) } & SEALS == SEALS;
    // SAFETY: plain data.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a structure of ours.
    let is_whole = unsafe { libc::fstat(memfd, &mut stat) } == 0 && stat.st_size == SIZE as i64;
    if !(is_sealed && is_whole) {
        [memfd, ctl].into_iter().chain(bells).for_each(fds::close);
        return None;
    }
    let conn = Arc::new(Conn::new(memfd, 1, [[bells[0], bells[1]], [bells[2], bells[3]]], ctl, -1)?);
    fds::close(conn.memfd.swap(-1, Ordering::Relaxed));
    let shared = conn.shared();
    conn.mine().nonblock.store(is_nonblocking(fd), Ordering::Relaxed);
    copy_timeouts(fd, &conn);
    let is_known = shared.magic.load(Ordering::Relaxed) == MAGIC;
    // ORDERING: AcqRel ↔ Acquire in `is_joined`. Only one can take an offer.
    let take = || shared.state.compare_exchange(OFFERED, JOINED, Ordering::AcqRel, Ordering::Relaxed);
    (is_known && take().is_ok()).then(|| {
        porter::serve(&conn);
        conn
    })
}

/// The memfd and the bells, from the porter of who connected.
fn fetch(ctl: c_int) -> Option<[c_int; 5]> {
    if !is_same_user(ctl) {
        return None;
    }
    let mut entry = libc::pollfd { fd: ctl, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry.
    unsafe { real::ppoll(&mut entry, 1, &crate::wait::span(PATIENCE), std::ptr::null()) };
    porter::receive(ctl).map(|all| all.map(fds::hide)).filter(|all| all.iter().all(|&fd| fd >= 0))
}

/// The other side is gone, or this one has shut down both ways, and what came last is in the ring, where a program without this library cannot read it: the descriptors of this process get
/// a connection of the kernel's that has those bytes, and ends behind them.
pub fn replay(conn: &Conn) {
    let lost =
        || real::complain("a connection lost bytes as it stepped down: the other side is gone, or does not answer");
    if !conn.peer_closed() && !conn.has_ended_both() {
        return lost();
    }
    let any = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let tcp = || {
        // SAFETY: plain numbers.
        unsafe { libc::socket(AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) }
    };
    let (listener, from) = (tcp(), tcp());
    let (mut at, mut len) = libc_address(any, AF_INET);
    // SAFETY: sockets and addresses of ours.
    let to = unsafe {
        libc::bind(listener, (&raw const at).cast(), len);
        real::listen(listener, 1);
        libc::getsockname(listener, (&raw mut at).cast(), &mut len);
        real::connect(from, (&raw const at).cast(), len);
        real::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC)
    };
    let mut bytes = vec![0u8; RING as usize];
    let iov = [libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }];
    let n = transfer::get(conn, -1, &mut transfer::Cursor::new(&iov), transfer::How::default()).unwrap_or(0);
    // SAFETY: as above.
    let sent = unsafe { real::send(from, bytes.as_ptr().cast(), n, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
    if to < 0 || sent != n as isize {
        lost();
    }
    while let Some(fd) = fds::find(conn) {
        crate::epoll::forget(fd);
        let last = fds::put(fd, None);
        last.into_iter().for_each(|conn| porter::forget(&conn));
        // SAFETY: a descriptor of the program's, which it inherits to another one.
        unsafe { real::dup2(to, fd) };
    }
    for fd in [listener, from, to] {
        // SAFETY: made above.
        unsafe { real::close(fd) };
    }
}
