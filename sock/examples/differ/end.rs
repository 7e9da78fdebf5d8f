//! One end of a connection, and the calls that can be made on it.

#![allow(clippy::too_many_lines)] // the table of calls is one function

use crate::PIPES;
use libc::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::{mem, ptr};

/// What a call gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub value: i64,
    pub errno: c_int,
    pub bytes: Vec<u8>,
    pub pipes: u32,
}

/// A call, with everything that is random in it.
#[derive(Clone, Debug)]
pub enum Call {
    Send { form: u64, len: usize, flags: c_int, start: u8 },
    Recv { form: u64, len: usize, flags: c_int },
    Poll { events: i16 },
    Select,
    Wait,
    Watch { op: c_int, events: u32 },
    Available,
    Shutdown(c_int),
    Close,
    Nonblock { on: bool, by: u64 },
    Error,
    Dup(u64),
    File { len: usize, start: u64 },
    Pass,
    Splice { len: usize },
    Forked(Box<Call>),
    Timeout,
}

pub fn bytes(start: u8, len: usize) -> Vec<u8> {
    (0..len).map(|n| (n as u8).wrapping_mul(31).wrapping_add(start) ^ (n >> 8) as u8).collect()
}

pub fn iovs(all: &mut [u8], pieces: usize) -> Vec<libc::iovec> {
    let step = all.len().div_ceil(pieces).max(1);
    all.chunks_mut(step).map(|it| libc::iovec { iov_base: it.as_mut_ptr().cast(), iov_len: it.len() }).collect()
}

pub fn errno() -> c_int {
    // SAFETY: errno is the thread's own, and lives as long as it.
    unsafe { *libc::__errno_location() }
}

/// One end of one of the two connections.
pub struct End {
    pub fd: c_int,
    pub ep: c_int,
    pub file: c_int,
    pub name: u64,
}

pub fn message(iov: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: a header of zeros names nothing.
    let mut it: libc::msghdr = unsafe { mem::zeroed() };
    (it.msg_iov, it.msg_iovlen) = (iov.as_mut_ptr(), iov.len());
    it
}

impl End {
    fn send(&self, form: u64, len: usize, flags: c_int, start: u8) -> i64 {
        let mut data = bytes(start, len);
        let at = data.as_ptr().cast::<c_void>();
        let mut iov = iovs(&mut data, 3);
        let msg = message(&mut iov);
        // SAFETY: `at` and `iov`, also in `msg`, are the `len` bytes of `data`, which nobody else uses meanwhile. There is one message.
        unsafe {
            match form {
                0 => libc::write(self.fd, at, len) as i64,
                1 => libc::send(self.fd, at, len, flags) as i64,
                2 => libc::writev(self.fd, iov.as_ptr(), iov.len() as c_int) as i64,
                3 => libc::sendmsg(self.fd, &msg, flags) as i64,
                4 => {
                    let mut all = [libc::mmsghdr { msg_hdr: msg, msg_len: 0 }];
                    let n = libc::sendmmsg(self.fd, all.as_mut_ptr(), 1, flags) as i64;
                    if n == 1 { all[0].msg_len as i64 } else { n }
                }
                _ => libc::sendto(self.fd, at, len, flags, ptr::null(), 0) as i64,
            }
        }
    }

    fn recv(&self, form: u64, len: usize, flags: c_int) -> (i64, Vec<u8>) {
        let mut data = vec![0xeeu8; len];
        let at = data.as_mut_ptr().cast::<c_void>();
        let mut iov = iovs(&mut data, 3);
        let mut msg = message(&mut iov);
        // SAFETY: as in `send`; the bytes are `data`'s own to be written. `room` has 128 bytes for an address, as `size` says.
        let n = unsafe {
            match form {
                0 => libc::read(self.fd, at, len) as i64,
                1 => libc::recv(self.fd, at, len, flags) as i64,
                2 => libc::readv(self.fd, iov.as_ptr(), iov.len() as c_int) as i64,
                3 => libc::recvmsg(self.fd, &mut msg, flags) as i64,
                4 => {
                    let mut all = [libc::mmsghdr { msg_hdr: msg, msg_len: 0 }];
                    let n = libc::recvmmsg(self.fd, all.as_mut_ptr(), 1, flags, ptr::null_mut()) as i64;
                    if n == 1 { all[0].msg_len as i64 } else { n }
                }
                _ => {
                    let mut room = [0u8; 128];
                    let mut size = 128u32;
                    let n = libc::recvfrom(self.fd, at, len, flags, room.as_mut_ptr().cast(), &mut size) as i64;
                    if n >= 0 { n | (size as i64) << 40 } else { n }
                }
            }
        };
        (n, data)
    }

    /// Makes the call.
    pub fn make(&mut self, call: &Call) -> Outcome {
        let before = PIPES.load(Ordering::Relaxed);
        let mut data = Vec::new();
        // SAFETY: each call gets variables of its arm, whose sizes are those that it is told or that it knows: an int, a timeval (16 bytes), sets of
        // descriptors (there are fewer than 1,024), an event, an offset of a file. errno is the thread's own.
        let value = unsafe {
            match *call {
                Call::Send { form, len, flags, start } => self.send(form, len, flags, start),
                Call::Recv { form, len, flags } => {
                    let (n, found) = self.recv(form, len, flags);
                    data = found;
                    n
                }
                Call::Poll { events } => {
                    let mut it = libc::pollfd { fd: self.fd, events, revents: 0 };
                    let n = libc::poll(&mut it, 1, 0) as i64;
                    n << 32 | it.revents as u16 as i64
                }
                Call::Select => {
                    let mut sets: [libc::fd_set; 3] = mem::zeroed();
                    sets.iter_mut().for_each(|set| libc::FD_SET(self.fd, set));
                    let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
                    let [r, w, e] = &mut sets;
                    let n = libc::select(self.fd + 1, r, w, e, &mut now) as i64;
                    n << 3 | sets.iter().fold(0, |sum, set| sum << 1 | i64::from(libc::FD_ISSET(self.fd, set)))
                }
                Call::Wait => {
                    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
                    let n = libc::epoll_wait(self.ep, events.as_mut_ptr(), 4, 0) as i64;
                    let mut all: Vec<(u64, u32)> =
                        events[..n.max(0) as usize].iter().map(|it| (it.u64, it.events)).collect();
                    all.sort();
                    data = format!("{all:x?}").into_bytes();
                    n
                }
                Call::Watch { op, events } => {
                    let mut event = libc::epoll_event { events, u64: self.name << 40 | 7 };
                    libc::epoll_ctl(self.ep, op, self.fd, &mut event) as i64
                }
                Call::Available => {
                    let mut n: c_int = -1;
                    libc::ioctl(
                        self.fd,
                        if matches!(call, Call::Available) { libc::FIONREAD } else { libc::TIOCOUTQ },
                        &mut n,
                    );
                    if matches!(call, Call::Available) { n as i64 } else { 0 }
                }
                Call::Shutdown(how) => libc::shutdown(self.fd, how) as i64,
                Call::Close => {
                    let status = libc::close(self.fd);
                    self.fd = -1;
                    status as i64
                }
                Call::Nonblock { on, by: 0 } => {
                    let flags = libc::fcntl(self.fd, libc::F_GETFL);
                    let flags = if on { flags | libc::O_NONBLOCK } else { flags & !libc::O_NONBLOCK };
                    libc::fcntl(self.fd, libc::F_SETFL, flags) as i64
                }
                Call::Nonblock { on, .. } => {
                    let mut value = c_int::from(on);
                    libc::ioctl(self.fd, libc::FIONBIO, &mut value) as i64
                }
                Call::Error => {
                    let (mut code, mut len): (c_int, u32) = (0, 4);
                    libc::getsockopt(self.fd, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut code).cast(), &mut len);
                    code as i64
                }
                Call::Dup(form) => self.dup(form),
                Call::File { len, start } => {
                    let mut at = start as i64;
                    let n = libc::sendfile(self.fd, self.file, &mut at, len) as i64;
                    n | at << 32
                }
                Call::Pass => self.pass(),
                Call::Splice { len } => {
                    let mut ends = [0; 2];
                    libc::pipe(ends.as_mut_ptr());
                    let from = bytes(9, len);
                    libc::write(ends[1], from.as_ptr().cast(), len);
                    let n =
                        libc::splice(ends[0], ptr::null_mut(), self.fd, ptr::null_mut(), len, libc::SPLICE_F_NONBLOCK);
                    let code = errno();
                    libc::close(ends[0]);
                    libc::close(ends[1]);
                    *libc::__errno_location() = code;
                    n as i64
                }
                Call::Forked(ref call) => return self.forked(call),
                Call::Timeout => {
                    let mut time = libc::timeval { tv_sec: 0, tv_usec: 2000 };
                    let set = |time: &libc::timeval| {
                        libc::setsockopt(self.fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, ptr::from_ref(time).cast(), 16)
                    };
                    set(&time);
                    let n = libc::recv(self.fd, [0u8; 1].as_mut_ptr().cast(), 1, libc::MSG_PEEK) as i64;
                    let code = errno();
                    time.tv_usec = 0;
                    set(&time);
                    *libc::__errno_location() = code;
                    n
                }
            }
        };
        let errno = if value == -1 { errno() } else { 0 };
        Outcome { value, errno, bytes: data, pipes: PIPES.load(Ordering::Relaxed) - before }
    }

    /// Another descriptor for the same socket.
    fn dup(&mut self, form: u64) -> i64 {
        // SAFETY: the name of the file ends with a zero; the others take no memory. Nothing has the old number but this end.
        unsafe {
            let copy = match form {
                0 => libc::dup(self.fd),
                1 => libc::fcntl(self.fd, libc::F_DUPFD_CLOEXEC, 0),
                _ => {
                    let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
                    libc::dup2(self.fd, null)
                }
            };
            libc::close(self.fd);
            self.fd = copy;
            i64::from(copy >= 0)
        }
    }

    /// The descriptor goes to another process, which is this one, and is closed here.
    fn pass(&mut self) -> i64 {
        // SAFETY: `room` is aligned for a header, and its 64 bytes are enough for one with a descriptor, as `msg_controllen` says (24). So the first header
        // is in it, with its data behind it; if one came back, it has the same form, as both ends are here. `iov` is `byte`.
        unsafe {
            let mut pair = [0; 2];
            libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, pair.as_mut_ptr());
            let (mut byte, mut room) = ([0u8; 1], [0u64; 8]);
            let mut iov = iovs(&mut byte, 1);
            let mut msg = message(&mut iov);
            (msg.msg_control, msg.msg_controllen) = (room.as_mut_ptr().cast(), libc::CMSG_SPACE(4) as usize);
            let head = libc::CMSG_FIRSTHDR(&msg);
            ((*head).cmsg_level, (*head).cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
            (*head).cmsg_len = libc::CMSG_LEN(4) as usize;
            libc::CMSG_DATA(head).cast::<c_int>().write_unaligned(self.fd);
            libc::sendmsg(pair[0], &msg, 0);
            libc::recvmsg(pair[1], &mut msg, 0);
            let head = libc::CMSG_FIRSTHDR(&msg);
            assert!(!head.is_null(), "no descriptor came");
            let got = libc::CMSG_DATA(head).cast::<c_int>().read_unaligned();
            [pair[0], pair[1], self.fd].into_iter().for_each(|fd| {
                libc::close(fd);
            });
            self.fd = got;
            i64::from(got >= 0)
        }
    }

    /// A child makes the call, and tells what it gave.
    fn forked(&mut self, call: &Call) -> Outcome {
        // SAFETY: this program has one thread, so that its child finds no lock of it taken; the library and malloc see to theirs. `head` has 32 bytes, and what
        // is behind it those that it names. The child closes and ends what is its copy.
        unsafe {
            let mut ends = [0; 2];
            libc::pipe(ends.as_mut_ptr());
            let child = libc::fork();
            if child == 0 {
                let found = self.make(call);
                let head = [found.value, found.errno as i64, found.pipes as i64, found.bytes.len() as i64];
                libc::write(ends[1], head.as_ptr().cast(), 32);
                libc::write(ends[1], found.bytes.as_ptr().cast(), found.bytes.len());
                (3..256).filter(|&fd| fd != ends[1]).for_each(|fd| {
                    libc::close(fd);
                }); // both ends count their processes
                libc::_exit(0);
            }
            let mut head = [0i64; 4];
            libc::close(ends[1]);
            libc::read(ends[0], head.as_mut_ptr().cast(), 32);
            let mut data = vec![0; head[3] as usize];
            libc::read(ends[0], data.as_mut_ptr().cast(), data.len());
            libc::close(ends[0]);
            libc::waitpid(child, ptr::null_mut(), 0);
            Outcome { value: head[0], errno: head[1] as c_int, bytes: data, pipes: head[2] as u32 }
        }
    }
}
