//! libc's functions behind ours, found when they are first used; and what is asked of the kernel often.

use libc::{c_char, c_int, c_void, epoll_event, fd_set, iovec, mmsghdr, msghdr, nfds_t, off_t, pid_t, pollfd};
use libc::{sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec, timeval};
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// libc's function behind ours of this name.
pub fn find(name: &CStr) -> usize {
    // SAFETY: a name that ends.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    if found == 0 {
        complain(&format!("libc has no {}", name.to_string_lossy()));
        // SAFETY: it has no conditions.
        unsafe { libc::abort() };
    }
    found
}

macro_rules! real {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => { $(
        /// libc's function of this name.
        ///
        /// # Safety
        /// As libc says.
        pub unsafe fn $name($($arg: $ty),*) -> $ret {
            static AT: AtomicUsize = AtomicUsize::new(0);
            let mut at = AT.load(Ordering::Relaxed); // ORDERING: the code behind it is there already
            if at == 0 {
                // SAFETY: the text ends with a zero.
                at = find(unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) });
                AT.store(at, Ordering::Relaxed);
            }
            // SAFETY: libc's function of this name has this prototype; the caller keeps its conditions.
            unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($ty),*) -> $ret>(at)($($arg),*) }
        }
    )* };
}

real! {
    listen(fd: c_int, backlog: c_int) -> c_int;
    connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int;
    accept4(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    shutdown(fd: c_int, how: c_int) -> c_int;
    close(fd: c_int) -> c_int;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t) -> c_int;
    read(fd: c_int, to: *mut c_void, len: size_t) -> ssize_t;
    write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t;
    readv(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t;
    writev(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t;
    recv(fd: c_int, to: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    send(fd: c_int, from: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    recvfrom(fd: c_int, to: *mut c_void, len: size_t, flags: c_int, addr: *mut sockaddr, alen: *mut socklen_t) -> ssize_t;
    sendto(fd: c_int, from: *const c_void, len: size_t, flags: c_int, addr: *const sockaddr, alen: socklen_t) -> ssize_t;
    recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t;
    sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t;
    recvmmsg(fd: c_int, msgs: *mut mmsghdr, count: u32, flags: c_int, timeout: *mut timespec) -> c_int;
    sendmmsg(fd: c_int, msgs: *mut mmsghdr, count: u32, flags: c_int) -> c_int;
    fcntl(fd: c_int, cmd: c_int, arg: usize) -> c_int;
    ioctl(fd: c_int, request: usize, arg: usize) -> c_int;
    dup(fd: c_int) -> c_int;
    dup2(fd: c_int, to: c_int) -> c_int;
    dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
    sendfile(out: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t;
    splice(from: c_int, from_at: *mut i64, to: c_int, to_at: *mut i64, len: size_t, flags: u32) -> ssize_t;
    ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    pselect(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, t: *const timespec, m: *const sigset_t) -> c_int;
    epoll_create1(flags: c_int) -> c_int;
    epoll_ctl(ep: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    epoll_pwait(ep: c_int, events: *mut epoll_event, max: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
    fdopen(fd: c_int, mode: *const c_char) -> *mut c_void;
    execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    execvpe(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    fexecve(fd: c_int, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    posix_spawn(pid: *mut pid_t, path: *const c_char, fa: *const c_void, at: *const c_void,
        argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    posix_spawnp(pid: *mut pid_t, path: *const c_char, fa: *const c_void, at: *const c_void,
        argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    posix_spawn_file_actions_adddup2(fa: *mut c_void, fd: c_int, to: c_int) -> c_int;
    syscall(n: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i64;
    poll(fds: *mut pollfd, count: nfds_t, time: c_int) -> c_int;
    select(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, t: *mut timeval) -> c_int;
}

/// What the last call of this thread left in errno.
pub fn errno() -> c_int {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets errno; what a call that failed gives.
pub fn fail(code: c_int) -> isize {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// One line on stderr, by one write.
pub fn complain(what: &str) {
    let line = format!("gasnet-sci sock: process {}: {what}\n", std::process::id());
    // SAFETY: the text's own bytes.
    unsafe { write(2, line.as_ptr().cast(), line.len()) };
}

/// A whole option of a socket.
pub fn option<T: Copy>(fd: c_int, level: c_int, name: c_int, zero: T) -> Option<T> {
    let (mut value, mut len) = (zero, size_of::<T>() as socklen_t);
    // SAFETY: `value` has `len` bytes; plain data.
    let status = unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &mut len) };
    (status == 0).then_some(value)
}
