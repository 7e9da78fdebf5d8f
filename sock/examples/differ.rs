//! Differential fuzzing: two connections between two ends each, one by rings, one the kernel's alone. Random calls are made on both; results, errno, bytes,
//! events and signals must be the same.
//!
//! differ LIBRARY SEED CALLS: prints the seed and the last calls where they differ, and fails. The same seed makes the same calls.

use libc::{c_int, c_void};
use std::collections::VecDeque;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, mem, ptr};

const MOST: usize = 32 << 10; // on its way in one direction: what both have room for
const EXCEPT: &str = "GASNET_SCI_SOCK_EXCEPT";

static PIPES: AtomicU32 = AtomicU32::new(0);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// What a call gave.
#[derive(Clone, PartialEq, Debug)]
struct Outcome {
    value: i64,
    errno: c_int,
    bytes: Vec<u8>,
    pipes: u32,
}

/// A call, with everything that is random in it.
#[derive(Clone, Debug)]
enum Call {
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

fn bytes(start: u8, len: usize) -> Vec<u8> {
    (0..len).map(|n| (n as u8).wrapping_mul(31).wrapping_add(start) ^ (n >> 8) as u8).collect()
}

fn iovs(all: &mut [u8], pieces: usize) -> Vec<libc::iovec> {
    let step = all.len().div_ceil(pieces).max(1);
    all.chunks_mut(step).map(|it| libc::iovec { iov_base: it.as_mut_ptr().cast(), iov_len: it.len() }).collect()
}

fn errno() -> c_int {
    unsafe { *libc::__errno_location() }
}

/// One end of one of the two connections.
struct End {
    fd: c_int,
    ep: c_int,
    file: c_int,
    name: u64,
}

fn message(iov: &mut [libc::iovec]) -> libc::msghdr {
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
                _ => {
                    libc::sendto(self.fd, at, len, flags, ptr::null(), 0) as i64
                }
            }
        }
    }

    fn recv(&self, form: u64, len: usize, flags: c_int) -> (i64, Vec<u8>) {
        let mut data = vec![0xeeu8; len];
        let at = data.as_mut_ptr().cast::<c_void>();
        let mut iov = iovs(&mut data, 3);
        let mut msg = message(&mut iov);
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
    fn make(&mut self, call: &Call) -> Outcome {
        let before = PIPES.load(Ordering::Relaxed);
        let mut data = Vec::new();
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
                    let mut all: Vec<(u64, u32)> = events[..n.max(0) as usize].iter().map(|it| (it.u64, it.events)).collect();
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
                    libc::ioctl(self.fd, if matches!(call, Call::Available) { libc::FIONREAD } else { libc::TIOCOUTQ }, &mut n);
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
                    let n = libc::splice(ends[0], ptr::null_mut(), self.fd, ptr::null_mut(), len, libc::SPLICE_F_NONBLOCK);
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
    unsafe fn dup(&mut self, form: u64) -> i64 {
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
    unsafe fn pass(&mut self) -> i64 {
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
            let got = libc::CMSG_DATA(libc::CMSG_FIRSTHDR(&msg)).cast::<c_int>().read_unaligned();
            [pair[0], pair[1], self.fd].into_iter().for_each(|fd| {
                libc::close(fd);
            });
            self.fd = got;
            i64::from(got >= 0)
        }
    }

    /// A child makes the call, and tells what it gave.
    fn forked(&mut self, call: &Call) -> Outcome {
        unsafe {
            let mut ends = [0; 2];
            libc::pipe(ends.as_mut_ptr());
            let child = libc::fork();
            if child == 0 {
                let found = self.make(call);
                let head = [found.value, found.errno as i64, found.pipes as i64, found.bytes.len() as i64];
                libc::write(ends[1], head.as_ptr().cast(), 32);
                libc::write(ends[1], found.bytes.as_ptr().cast(), found.bytes.len());
                (3..256).filter(|&fd| fd != ends[1]).for_each(|fd| { libc::close(fd); }); // both ends count their processes
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

fn socket() -> c_int {
    unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) }
}

fn address(port: u16) -> libc::sockaddr_in {
    let mut at: libc::sockaddr_in = unsafe { mem::zeroed() };
    (at.sin_family, at.sin_port, at.sin_addr.s_addr) = (libc::AF_INET as u16, port.to_be(), 0x7f00_0001u32.to_be());
    at
}

fn listener(port: u16) -> (c_int, u16) {
    let (fd, mut at, mut len, one) = (socket(), address(port), 16u32, 1);
    unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, (&raw const one).cast(), 4);
        if libc::bind(fd, (&raw const at).cast(), len) != 0 || libc::listen(fd, 16) != 0 {
            eprintln!("differ: no port: {}", std::io::Error::last_os_error());
            exit(2);
        }
        libc::getsockname(fd, (&raw mut at).cast(), &mut len);
    }
    (fd, u16::from_be(at.sin_port))
}

/// What is known of one end of both connections.
#[derive(Default, Clone)]
struct Known {
    nonblock: bool,
    watched: bool,
    edge: bool,
    stepped: bool,
    shut: bool,
    deaf: bool,
    closed: bool,

    /// Bytes that it can read.
    incoming: usize,
}

struct Fuzzer {
    random: Random,
    listeners: [(c_int, u16); 2],
    file: c_int,
    log: VecDeque<String>,
    calls: u64,
    seed: u64,
}

impl Fuzzer {
    fn connect(&mut self, ends: &mut Vec<[End; 2]>) {
        let early = self.random.below(3) * self.random.below(2000);
        let mut made = Vec::new();
        for (listener, port) in self.listeners {
            let (fd, at) = (socket(), address(port));
            unsafe {
                let on = 1; // or small packets wait for each other, in the kernel's connection alone
                libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, (&raw const on).cast(), 4);
                if libc::connect(fd, (&raw const at).cast(), 16) != 0 {
                    eprintln!("differ: connect: {}", std::io::Error::last_os_error());
                    exit(2);
                }
                let data = bytes(1, early as usize);
                libc::send(fd, data.as_ptr().cast(), data.len(), 0);
                let taken = libc::accept(listener, ptr::null_mut(), ptr::null_mut());
                libc::setsockopt(taken, libc::IPPROTO_TCP, libc::TCP_NODELAY, (&raw const on).cast(), 4);
                made.push([fd, taken]);
            }
        }
        for side in 0..2 {
            let end = |fd| End { fd, ep: unsafe { libc::epoll_create1(0) }, file: self.file, name: side as u64 };
            ends.push([end(made[0][side]), end(made[1][side])]);
        }
        self.log.push_back(format!("connected, {early} bytes early"));
    }

    fn call(&mut self, me: &Known, other: &Known) -> Call {
        let r = &mut self.random;
        let room = MOST - other.incoming.min(MOST);
        let len = [r.below(16), r.below(300), r.below(6000)][r.below(3) as usize] as usize;
        let watch = [libc::EPOLLIN, libc::EPOLLIN | libc::EPOLLOUT, libc::EPOLLIN | libc::EPOLLRDHUP, libc::EPOLLOUT];
        match r.below(1000) {
            0..280 => {
                let flags = r.one(&[0, libc::MSG_DONTWAIT, libc::MSG_NOSIGNAL]);
                Call::Send { form: r.below(6), len: len.min(room), flags, start: r.next() as u8 }
            }
            280..590 => {
                let mut flags = r.one(&[0, 0, libc::MSG_PEEK, libc::MSG_WAITALL, libc::MSG_TRUNC, libc::MSG_DONTWAIT]);
                let mut form = r.below(6);
                let ended = other.shut || other.closed || me.deaf;
                let len = len.max(1);
                if !me.nonblock && !ended && (me.incoming == 0 || flags == libc::MSG_WAITALL && me.incoming < len) {
                    flags = libc::MSG_DONTWAIT;
                    form = 1 + form % 2 * 2;
                }
                Call::Recv { form, len, flags }
            }
            590..690 => Call::Poll { events: r.one(&[1, 4, 5, 0x2005, 0x45, 0x104, 0]) },
            690..730 => Call::Select,
            730..800 => Call::Wait,
            800..860 => {
                let way = r.one(&[0, libc::EPOLLET, libc::EPOLLONESHOT, libc::EPOLLET | libc::EPOLLONESHOT]);
                let op = match r.below(8) {
                    0 => libc::EPOLL_CTL_DEL,
                    _ if me.watched => libc::EPOLL_CTL_MOD,
                    _ => libc::EPOLL_CTL_ADD,
                };
                Call::Watch { op, events: (r.one(&watch) | way) as u32 }
            }
            860..900 => Call::Available,
            900..920 => Call::Nonblock { on: r.below(2) == 0, by: r.below(2) },
            920..930 => Call::Error,
            930..945 if !me.watched => Call::Dup(r.below(3)),
            945..960 if !other.closed => Call::File { len: len.min(room), start: r.below(100) },
            960..965 if !me.watched && ![me, other].iter().any(|it| it.closed || it.shut || it.deaf) => Call::Pass,
            965..968 if ![me, other].iter().any(|it| it.closed || it.shut || it.deaf) => Call::Splice { len: len.clamp(1, 4000).min(room.max(1)) },
            968..976 => {
                let inner = if r.below(2) == 0 {
                    Call::Send { form: 1, len: len.min(room), flags: libc::MSG_NOSIGNAL, start: 3 }
                } else {
                    Call::Recv { form: 1, len: len.max(1), flags: libc::MSG_DONTWAIT }
                };
                Call::Forked(Box::new(inner))
            }
            976..979 if me.incoming == 0 && !me.nonblock => Call::Timeout,
            979..984 => Call::Shutdown(r.one(&[libc::SHUT_WR, libc::SHUT_WR, libc::SHUT_RD, libc::SHUT_RDWR])),
            984..988 => Call::Close,
            _ => Call::Available,
        }
    }

    /// The kernel has sent what it has (SIOCOUTQNSD).
    fn settle(ends: &[[End; 2]]) {
        for end in ends.iter().map(|both| both[1].fd).filter(|&fd| fd >= 0) {
            for _ in 0..2000 {
                let mut n: c_int = 0;
                unsafe { libc::ioctl(end, 0x894b, &mut n) };
                if n <= 0 {
                    break;
                }
                unsafe { libc::usleep(20) };
            }
        }
    }

    fn round(&mut self) {
        self.log.clear();
        let mut ends = Vec::new();
        self.connect(&mut ends);
        let mut known = [Known::default(), Known::default()];
        for _ in 0..self.random.below(400) {
            let side = self.random.below(2) as usize;
            if known[side].closed {
                continue;
            }
            Self::settle(&ends);
            for (known, end) in known.iter_mut().zip(&mut ends).filter(|it| !it.0.closed) {
                known.incoming = end[1].make(&Call::Available).value as usize;
            }
            let call = self.call(&known[side], &known[1 - side]);
            self.log.push_back(format!("end {side}: {call:?}"));
            if self.log.len() > 500 {
                self.log.pop_front();
            }
            let mut plain = ends[side][1].make(&call);
            let mut ours = ends[side][0].make(&call);
            // What went through the kernel after all, or is found out by its porter, may come a moment later.
            let mut tries = 0;
            let asks = |call: &Call| matches!(call, Call::Poll { .. } | Call::Select | Call::Available | Call::Error);
            let waits = matches!(call, Call::Recv { .. } | Call::Wait) || ours.errno == libc::EAGAIN;
            while ours != plain && tries < 200 && (asks(&call) || waits && (ours.value <= 0 && ours.errno != libc::ECONNRESET)) {
                unsafe { libc::usleep(500) };
                if asks(&call) {
                    plain = ends[side][1].make(&call);
                }
                ours = ends[side][0].make(&call);
                tries += 1;
            }
            self.calls += 1;
            if ours != plain && !is_allowed(&known, side, &call, &ours, &plain) {
                let short = |it: &Outcome| format!("{} errno {} pipes {} {:?}", it.value, it.errno, it.pipes,
                    String::from_utf8_lossy(&it.bytes[..it.bytes.len().min(80)]));
                eprintln!("differ: seed {}: call {} differs", self.seed, self.calls);
                self.log.iter().for_each(|line| eprintln!("  {line}"));
                eprintln!("  rings:  {}\n  kernel: {}", short(&ours), short(&plain));
                exit(1);
            }
            note(&mut known, side, &call, &plain);
        }
        for end in ends.iter().flatten() {
            unsafe {
                if end.fd >= 0 {
                    libc::close(end.fd);
                }
                libc::close(end.ep);
            }
        }
    }
}

/// What docs/sockets.md names as different, where a connection ends or has stepped down.
fn is_allowed(known: &[Known; 2], side: usize, call: &Call, ours: &Outcome, plain: &Outcome) -> bool {
    let (me, ends) = (&known[side], known.iter().any(|it| it.shut || it.deaf || it.closed));
    match call {
        // An edge more; or none for what comes after its own shutdown.
        Call::Wait => me.edge && (ours.value == 1 && (ends || known.iter().any(|it| it.stepped)) || me.shut || me.deaf),
        // Whether a reset comes before or behind the end of the stream is told by POLLERR.
        Call::Poll { .. } => ends && ours.value ^ plain.value == libc::POLLERR as i64,
        // A shutdown that was put off meets the kernel's connection in another state.
        Call::Shutdown(_) => ends,
        // Who reads on after its own SHUT_RD is told of the reset by 0.
        Call::Recv { .. } => me.deaf && ours.value == 0,
        Call::Forked(call) => is_allowed(known, side, call, ours, plain),
        _ => false,
    }
}

fn note(known: &mut [Known; 2], side: usize, call: &Call, got: &Outcome) {
    match call {
        Call::Watch { op, events } if got.value == 0 => {
            known[side].watched = *op != libc::EPOLL_CTL_DEL;
            known[side].edge = events & libc::EPOLLET as u32 != 0;
        }
        Call::Shutdown(how) if got.value == 0 => {
            known[side].shut |= *how != libc::SHUT_RD;
            known[side].deaf |= *how != libc::SHUT_WR;
        }
        Call::Close => known[side].closed = true,
        Call::Splice { .. } | Call::Pass => known[side].stepped = true,
        Call::Nonblock { on, .. } => known[side].nonblock = *on,

        Call::Forked(call) => note(known, side, call, got),
        _ => {}
    }
}

extern "C" fn on_pipe(_: c_int) {
    PIPES.fetch_add(1, Ordering::Relaxed);
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let [_, library, seed, calls] = &args[..] else {
        eprintln!("usage: differ LIBRARY SEED CALLS");
        exit(2);
    };
    let Ok(port) = env::var(EXCEPT) else {
        let (fd, port) = listener(0);
        unsafe { libc::close(fd) };
        let error = Command::new(&args[0]).args(&args[1..]).env(EXCEPT, port.to_string()).env("LD_PRELOAD", library).exec();
        eprintln!("differ: {error}");
        exit(2);
    };
    unsafe { libc::signal(libc::SIGPIPE, on_pipe as *const () as libc::sighandler_t) };
    let (seed, most): (u64, u64) = (seed.parse().expect("a seed"), calls.parse().expect("a number"));
    let file = unsafe { libc::memfd_create(c"file".as_ptr(), 0) };
    let content = bytes(5, 10_000);
    unsafe { libc::write(file, content.as_ptr().cast(), content.len()) };
    let listeners = [listener(0), listener(port.parse().expect("a port"))];
    let mut fuzzer = Fuzzer { random: Random(seed), listeners, file, log: VecDeque::new(), calls: 0, seed };
    let mut round = seed;
    while fuzzer.calls < most {
        // Each round has a seed of its own, with which it can be repeated alone.
        (fuzzer.random, fuzzer.seed) = (Random(round), round);
        fuzzer.round();
        round += 1;
    }
    println!("differ: {} calls, seeds {seed} to {}: no difference", fuzzer.calls, round - 1);
}
