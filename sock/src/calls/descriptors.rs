//! Descriptors that are closed, copied, changed.

use crate::fds::{self, CONN, EPOLL, FOREIGN, INTERNAL, LISTENER};
use crate::shared::{CLOSED, RESET};
use crate::{epoll, porter, real};
use libc::{c_int, c_uint};

use std::sync::atomic::Ordering;

/// Ends what stands behind a descriptor that is about to be closed.
fn release(fd: c_int) {
    match fds::kind(fd) {
        CONN => epoll::forget(fd),
        EPOLL => epoll::closed(fd),
        _ => {}
    }
    if let Some(conn) = fds::put(fd, None) {
        let is_last = conn.mine().holders.fetch_sub(1, Ordering::AcqRel) == 1;
        if !conn.is_joined() && is_last {
            conn.withdraw();
        }
        if conn.is_joined() && is_last {
            // TCP resets a connection that is closed with bytes unread.
            let is_lost =
                !conn.inc().is_over() && conn.inc().unread() > 0 && conn.out().pumping.load(Ordering::Acquire) == 0;
            conn.mark_closed(conn.mine(), if is_lost { RESET } else { CLOSED });
            if conn.has_shut() {
                // The end that `shutdown` put off.
                // SAFETY: the program's descriptor.
                unsafe { real::shutdown(fd, libc::SHUT_WR) };
            }
            if is_lost {
                let now = libc::linger { l_onoff: 1, l_linger: 0 };
                let len = size_of_val(&now) as u32;
                // SAFETY: a structure of ours.
                unsafe { real::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const now).cast(), len) };
            }
        }
        porter::forget(&conn);
    }
}

/// A descriptor that the program has just got cannot be what it was before; somebody closed it past the library.
pub fn forget(fd: c_int) {
    if [CONN, LISTENER, EPOLL].contains(&fds::kind(fd)) {
        release(fd);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close(fd: c_int) -> c_int {
    match fds::kind(fd) {
        FOREIGN => {}
        INTERNAL => return real::fail(libc::EBADF) as c_int, // not the program's
        _ => release(fd),
    }
    // SAFETY: the program's own.
    unsafe { real::close(fd) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close_range(from: c_uint, to: c_uint, flags: c_int) -> c_int {
    let most = (to as usize).min(fds::MOST - 1) as c_int;
    if flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0 {
        fds::all().filter(|&fd| fd >= from as c_int && fd <= most).for_each(release);
    }
    // The library's own stay.
    let close = |from: c_uint, to: c_uint| {
        // SAFETY: plain numbers.
        unsafe { real::syscall(libc::SYS_close_range, from as usize, to as usize, flags as usize, 0, 0, 0) }
    };
    let mut start = from;
    for fd in from as c_int..=most {
        if fds::kind(fd) == INTERNAL {
            if start < fd as c_uint && close(start, fd as c_uint - 1) != 0 {
                return -1;
            }
            start = fd as c_uint + 1;
        }
    }
    if start > to { 0 } else { close(start, to) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn closefrom(from: c_int) {
    // SAFETY: the program's own.
    unsafe { close_range(from.max(0) as c_uint, c_uint::MAX, 0) };
}

/// Puts behind a copy what stands behind the original.
fn copied(from: c_int, to: c_int) -> c_int {
    if to >= 0 {
        if fds::kind(from) == FOREIGN {
            forget(to);
        } else if from != to {
            fds::put(to, fds::entry(from));
        }
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: the program's own.
    copied(fd, unsafe { real::dup(fd) })
}

/// Before a descriptor takes another's place. False: it cannot.
fn gives_way(fd: c_int, to: c_int) -> bool {
    // SAFETY: it only asks.
    if fd == to || unsafe { real::fcntl(fd, libc::F_GETFD, 0) } < 0 {
        return true; // libc's own error, or nothing to do
    }
    if fds::kind(to) == INTERNAL {
        real::fail(libc::EBADF);
        return false;
    }
    forget(to);
    true
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(fd: c_int, to: c_int) -> c_int {
    // SAFETY: the program's own.
    if gives_way(fd, to) { copied(fd, unsafe { real::dup2(fd, to) }) } else { -1 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the program's own.
    if gives_way(fd, to) { copied(fd, unsafe { real::dup3(fd, to, flags) }) } else { -1 }
}

// Its third argument is read whether there is one or not, as the kernel does.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, cmd: c_int, arg: usize) -> c_int {
    // SAFETY: the program's own.
    let status = unsafe { real::fcntl(fd, cmd, arg) };
    if fds::kind(fd) == FOREIGN || status < 0 {
        return status;
    }
    match cmd {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => copied(fd, status),
        libc::F_SETFL => {
            if let Some(conn) = fds::conn(fd) {
                conn.mine().nonblock.store(u32::from(arg as c_int & libc::O_NONBLOCK != 0), Ordering::Relaxed);
            }
            status
        }
        _ => status,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, cmd: c_int, arg: usize) -> c_int {
    // SAFETY: the program's own.
    unsafe { fcntl(fd, cmd, arg) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: usize, arg: usize) -> c_int {
    // SAFETY: the program's own.
    let status = unsafe { real::ioctl(fd, request, arg) };
    let Some(conn) = (status == 0).then(|| fds::conn(fd)).flatten() else { return status };
    let value = arg as *mut c_int;
    match request as u64 {
        // SAFETY: the kernel has read it.
        libc::FIONBIO => conn.mine().nonblock.store(u32::from(unsafe { *value } != 0), Ordering::Relaxed),
        // SAFETY: the kernel has written it.
        libc::FIONREAD if conn.is_joined() => unsafe { *value += conn.inc().unread() as c_int },
        // SAFETY: the kernel has written it.
        libc::TIOCOUTQ if conn.is_joined() => unsafe { *value += conn.out().unread() as c_int },
        _ => {}
    }
    status
}

/// Leaves a connection to the kernel alone, after it has stepped down: what closes it may go past the library.
pub fn let_go(fd: c_int) {
    if fds::kind(fd) == CONN {
        epoll::let_go(fd);
        if let Some(conn) = fds::put(fd, None) {
            porter::forget(&conn);
        }
    }
}
