//! read, write, recv, send, and what copies files into sockets.

use crate::{fds, real, step, transfer};
use libc::{c_int, c_void, iovec, off_t, size_t, sockaddr, socklen_t, ssize_t};

/// Flags that a ring cannot serve.
const KERNELS: c_int = libc::MSG_OOB | libc::MSG_ERRQUEUE;

/// Whether these flags are for the kernel. Bytes out of band end the ring.
pub fn is_for_kernel(fd: c_int, flags: c_int, sends: bool) -> bool {
    if sends && flags & libc::MSG_OOB != 0 {
        step::descriptor(fd, "it sends out of band");
    }
    flags & KERNELS != 0
}

fn one(at: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: at.cast_mut(), iov_len: len }]
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, to: *mut c_void, len: size_t) -> ssize_t {
    match fds::conn(fd) {
        Some(conn) => transfer::recv(&conn, fd, &one(to, len), 0),
        // SAFETY: the program's own.
        None => unsafe { real::read(fd, to, len) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t {
    match fds::conn(fd) {
        Some(conn) => transfer::send(&conn, fd, &one(from, len), 0),
        // SAFETY: the program's own.
        None => unsafe { real::write(fd, from, len) },
    }
}

/// The program's array of pieces. None: libc's error stands in errno.
///
/// # Safety
/// `iov` has `count` entries.
unsafe fn pieces<'a>(iov: *const iovec, count: c_int) -> Option<&'a [iovec]> {
    if !(0..=1024).contains(&count) {
        real::fail(libc::EINVAL);
        return None;
    }
    // SAFETY: the caller's promise; an empty one may be null.
    Some(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(iov, count as usize) } })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
    match fds::conn(fd) {
        // SAFETY: the program's own.
        Some(conn) => unsafe { pieces(iov, count) }.map_or(-1, |all| transfer::recv(&conn, fd, all, 0)),
        // SAFETY: the program's own.
        None => unsafe { real::readv(fd, iov, count) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
    match fds::conn(fd) {
        // SAFETY: the program's own.
        Some(conn) => match unsafe { pieces(iov, count) } {
            Some(all) if all.iter().all(|it| it.iov_len == 0) => 0, // Linux does not ask the socket
            Some(all) => transfer::send(&conn, fd, all, 0),
            None => -1,
        },
        // SAFETY: the program's own.
        None => unsafe { real::writev(fd, iov, count) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, to: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    match fds::conn(fd) {
        Some(conn) if !is_for_kernel(fd, flags, false) => transfer::recv(&conn, fd, &one(to, len), flags),
        // SAFETY: the program's own.
        _ => unsafe { real::recv(fd, to, len, flags) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, from: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    match fds::conn(fd) {
        Some(conn) if !is_for_kernel(fd, flags, true) => transfer::send(&conn, fd, &one(from, len), flags),
        // SAFETY: the program's own.
        _ => unsafe { real::send(fd, from, len, flags) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
    addr: *mut sockaddr,
    alen: *mut socklen_t,
) -> ssize_t {
    match fds::conn(fd) {
        Some(conn) if !is_for_kernel(fd, flags, false) => {
            let n = transfer::recv(&conn, fd, &one(to, len), flags);
            if n >= 0 && !addr.is_null() && !alen.is_null() {
                // SAFETY: the program's own. TCP gives no addresses.
                unsafe { *alen = 0 };
            }
            n
        }
        // SAFETY: the program's own.
        _ => unsafe { real::recvfrom(fd, to, len, flags, addr, alen) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
    addr: *const sockaddr,
    alen: socklen_t,
) -> ssize_t {
    match fds::conn(fd) {
        Some(conn) if !is_for_kernel(fd, flags, true) => transfer::send(&conn, fd, &one(from, len), flags),
        // SAFETY: the program's own.
        _ => unsafe { real::sendto(fd, from, len, flags, addr, alen) },
    }
}

// What programs that are built with _FORTIFY_SOURCE call.

#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(fd: c_int, to: *mut c_void, len: size_t, room: size_t) -> ssize_t {
    if len > room {
        overflow();
    }
    // SAFETY: the program's own.
    unsafe { read(fd, to, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recv_chk(fd: c_int, to: *mut c_void, len: size_t, room: size_t, flags: c_int) -> ssize_t {
    if len > room {
        overflow();
    }
    // SAFETY: the program's own.
    unsafe { recv(fd, to, len, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
    addr: *mut sockaddr,
    alen: *mut socklen_t,
) -> ssize_t {
    if len > room {
        overflow();
    }
    // SAFETY: the program's own.
    unsafe { recvfrom(fd, to, len, flags, addr, alen) }
}

/// A program that would write past its buffer.
pub fn overflow() -> ! {
    real::complain("buffer overflow detected: terminated");
    // SAFETY: no conditions.
    unsafe { libc::abort() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(out: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    let Some(conn) = fds::conn(out) else {
        // SAFETY: the program's own.
        return unsafe { real::sendfile(out, from, offset, count) };
    };
    // SAFETY: the program's own; a file that can be read at a place.
    let mut at = if offset.is_null() { unsafe { libc::lseek(from, 0, libc::SEEK_CUR) } } else { unsafe { *offset } };
    if at < 0 {
        // Not a file: the kernel says what it thinks of that.
        step::descriptor(out, "sendfile from something that is no file");
        // SAFETY: the program's own.
        return unsafe { real::sendfile(out, from, offset, count) };
    }
    let mut chunk = vec![0u8; count.min(1 << 16)];
    let mut sum = 0;
    while sum < count {
        let want = chunk.len().min(count - sum);
        // SAFETY: the chunk's own length.
        let n = unsafe { libc::pread(from, chunk.as_mut_ptr().cast(), want, at) };
        let sent = if n > 0 { transfer::send(&conn, out, &one(chunk.as_ptr().cast(), n as usize), 0) } else { n };
        if sent <= 0 {
            if sum == 0 && sent < 0 {
                return -1;
            }
            break;
        }
        sum += sent as usize;
        at += sent as off_t;
        if sent < n {
            break;
        }
    }
    // SAFETY: the program's own.
    unsafe {
        if offset.is_null() {
            libc::lseek(from, at, libc::SEEK_SET);
        } else {
            *offset = at;
        }
    }
    sum as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(out: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    // SAFETY: the program's own.
    unsafe { sendfile(out, from, offset, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn splice(
    from: c_int,
    from_at: *mut i64,
    to: c_int,
    to_at: *mut i64,
    len: size_t,
    flags: u32,
) -> ssize_t {
    [from, to].into_iter().for_each(|fd| step::descriptor(fd, "splice"));
    // SAFETY: the program's own.
    unsafe { real::splice(from, from_at, to, to_at, len, flags) }
}
