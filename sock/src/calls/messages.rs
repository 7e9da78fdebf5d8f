//! recvmsg, sendmsg and their forms for several messages. Descriptors that are passed on step down.

use super::inout::is_for_kernel;
use crate::{fds, real, step, transfer};
use libc::{c_int, iovec, mmsghdr, msghdr, ssize_t, timespec};

/// The pieces of a message.
///
/// # Safety
/// It is one, as libc wants it.
unsafe fn pieces<'a>(msg: *const msghdr) -> &'a [iovec] {
    // SAFETY: the caller's promise.
    let (iov, count) = unsafe { ((*msg).msg_iov, (*msg).msg_iovlen) };
    // SAFETY: as above.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(iov, count.min(1024)) } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t {
    match fds::conn(fd) {
        Some(conn) if !is_for_kernel(fd, flags, false) => {
            // SAFETY: the program's own.
            let n = transfer::recv(&conn, fd, unsafe { pieces(msg) }, flags);
            if n >= 0 {
                // SAFETY: the program's own. TCP gives no addresses, and we no control messages.
                unsafe { ((*msg).msg_namelen, (*msg).msg_controllen, (*msg).msg_flags) = (0, 0, 0) };
            }
            n
        }
        // SAFETY: the program's own.
        _ => unsafe { real::recvmsg(fd, msg, flags) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t {
    match fds::conn(fd) {
        // SAFETY: the program's own.
        Some(conn) if !is_for_kernel(fd, flags, true) => transfer::send(&conn, fd, unsafe { pieces(msg) }, flags),
        _ => {
            // SAFETY: the program's own.
            unsafe { pass_on(msg) };
            // SAFETY: the program's own.
            unsafe { real::sendmsg(fd, msg, flags) }
        }
    }
}

/// Steps down what a message passes on to another process.
///
/// # Safety
/// It is one, as libc wants it.
unsafe fn pass_on(msg: *const msghdr) {
    // SAFETY: the caller's promise: the control buffer is as long as it says.
    unsafe {
        if msg.is_null() || (*msg).msg_control.is_null() || (*msg).msg_controllen == 0 {
            return;
        }
        let mut head = libc::CMSG_FIRSTHDR(msg);
        while !head.is_null() {
            if (*head).cmsg_level == libc::SOL_SOCKET && (*head).cmsg_type == libc::SCM_RIGHTS {
                let len = ((*head).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
                let all = libc::CMSG_DATA(head).cast::<c_int>();
                for n in 0..len / size_of::<c_int>() {
                    step::descriptor(all.add(n).read_unaligned(), "its descriptor is passed on");
                }
            }
            head = libc::CMSG_NXTHDR(msg, head);
        }
    }
}

/// Several messages, one after the other.
fn several(msgs: *mut mmsghdr, count: u32, mut call: impl FnMut(*mut msghdr, bool) -> ssize_t) -> c_int {
    for n in 0..count {
        // SAFETY: the program's own array of `count`.
        let entry = unsafe { &mut *msgs.add(n as usize) };
        let done = call(&mut entry.msg_hdr, n == 0);
        if done < 0 {
            return if n > 0 { n as c_int } else { -1 };
        }
        entry.msg_len = done as u32;
    }
    count as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(fd: c_int, msgs: *mut mmsghdr, count: u32, flags: c_int, time: *mut timespec) -> c_int {
    if fds::kind(fd) != fds::CONN {
        // SAFETY: the program's own.
        return unsafe { real::recvmmsg(fd, msgs, count, flags, time) };
    }
    // It is the one call that tells an error before the bytes that came before it.
    let failed = real::option(fd, libc::SOL_SOCKET, libc::SO_ERROR, 0).unwrap_or(0);
    if failed != 0 {
        return real::fail(failed) as c_int;
    }
    let one = flags & !libc::MSG_WAITFORONE;
    several(msgs, count, |msg, is_first| {
        let now = if is_first || flags & libc::MSG_WAITFORONE == 0 { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: the program's own.
        unsafe { recvmsg(fd, msg, one | now) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(fd: c_int, msgs: *mut mmsghdr, count: u32, flags: c_int) -> c_int {
    if fds::kind(fd) != fds::CONN {
        // SAFETY: the program's own.
        unsafe { (0..count).for_each(|n| pass_on(&(*msgs.add(n as usize)).msg_hdr)) };
        // SAFETY: the program's own.
        return unsafe { real::sendmmsg(fd, msgs, count, flags) };
    }
    // SAFETY: the program's own.
    several(msgs, count, |msg, _| unsafe { sendmsg(fd, msg, flags) })
}
