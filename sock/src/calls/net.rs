//! listen, connect, accept, shutdown, and options that change how calls wait.

use super::descriptors::forget;
use crate::fds::{self, Entry};
use crate::porter;
use crate::shared::{IN, OUT};
use crate::{epoll, meet, real, step};
use libc::{c_int, c_void, sockaddr, socklen_t, timeval};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[unsafe(no_mangle)]
unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: the program's own.
    let status = unsafe { real::listen(fd, backlog) };
    if status == 0 {
        meet::announce(fd);
    }
    status
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the program's own.
    let to = if fds::kind(fd) == fds::FOREIGN && (fd as usize) < fds::MOST {
        // SAFETY: the program's own.
        unsafe { meet::address(addr, len) }
    } else {
        None
    };
    let to = to.map(|mut to| {
        match to.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => to.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => to.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        to
    });
    let conn = to.and_then(|to| meet::offer(fd, to));
    let Some(conn) = conn else {
        // SAFETY: the program's own.
        return unsafe { real::connect(fd, addr, len) };
    };
    fds::put(fd, Some(Arc::new(Entry::Conn(Arc::clone(&conn)))));
    // SAFETY: the program's own.
    let status = unsafe { real::connect(fd, addr, len) };
    let code = real::errno();
    if status != 0 && ![libc::EINPROGRESS, libc::EINTR].contains(&code) {
        conn.withdraw();
        fds::put(fd, None);
        porter::forget(&conn);
    } else {
        epoll::became_ours(fd, &conn);
    }
    if status != 0 {
        real::fail(code);
    }
    status
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: the program's own.
    let made = unsafe { real::accept4(fd, addr, len, flags) };
    if made >= 0 {
        forget(made);
        if (made as usize) < fds::MOST
            && let Some(conn) = meet::adopt(made)
        {
            porter::tell(|| format!("connection {} goes by rings, to here", conn.id));
            fds::put(made, Some(Arc::new(Entry::Conn(conn))));
        }
    }
    made
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t) -> c_int {
    // SAFETY: the program's own.
    unsafe { accept4(fd, addr, len, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let Some(conn) = fds::conn(fd).filter(|conn| conn.is_joined() || !conn.withdraw()) else {
        // SAFETY: the program's own.
        return unsafe { real::shutdown(fd, how) };
    };
    if !(libc::SHUT_RD..=libc::SHUT_RDWR).contains(&how) {
        return real::fail(libc::EINVAL) as c_int;
    }
    let way = conn.out();
    conn.mine().shuts.fetch_add(1, Ordering::Relaxed);
    if how != libc::SHUT_WR {
        conn.mine().deaf.store(1, Ordering::Release);
    }
    if how != libc::SHUT_RD {
        let held = way.send_lock.take();
        conn.out().switch();
        // ORDERING: Release ↔ Acquire in `transfer::end`: `tail` is the last.
        way.fin.store(1, Ordering::Release);
        drop(held);
    }
    // While the ring has bytes the kernel's stream stays open: they may have to go there, if somebody steps down (`step::Pump`).
    let is_deaf = conn.mine().deaf.load(Ordering::Acquire) != 0;
    let is_empty = way.unread() == 0 && way.pumping.load(Ordering::Acquire) == 0;
    let how = match (conn.has_shut() && (is_empty || is_deaf || conn.peer_closed()), is_deaf) {
        (true, true) => libc::SHUT_RDWR,
        (true, false) => libc::SHUT_WR,
        (false, true) => libc::SHUT_RD,
        (false, false) => return finish(&conn, 0),
    };
    // Where both streams have ended TCP knows no connection any more, and says so.
    // SAFETY: the program's own.
    finish(&conn, unsafe { real::shutdown(fd, how) })
}

/// Both sides look again.
fn finish(conn: &crate::conn::Conn, status: c_int) -> c_int {
    conn.ring_all();
    status
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t) -> c_int {
    // SAFETY: the program's own.
    let status = unsafe { real::setsockopt(fd, level, name, value, len) };
    if status == 0 && level == libc::SOL_SOCKET && fds::kind(fd) == fds::CONN {
        match name {
            libc::SO_RCVTIMEO | libc::SO_SNDTIMEO if len as usize >= size_of::<timeval>() => {
                if let Some(conn) = fds::conn(fd) {
                    // SAFETY: so many bytes are there.
                    let time = unsafe { value.cast::<timeval>().read_unaligned() };
                    let what = if name == libc::SO_RCVTIMEO { IN } else { OUT };
                    conn.mine().timeouts[what].store(crate::wait::nanos(time), Ordering::Relaxed);
                }
            }
            libc::SO_ZEROCOPY => step::descriptor(fd, "it sends without copies"),
            _ => {}
        }
    }
    status
}
