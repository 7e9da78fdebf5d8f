//! Differential fuzzing: two connections between two ends each, one by rings, one the kernel's alone. Random calls are made on both; results, errno, bytes,
//! events and signals must be the same.
//!
//! differ LIBRARY SEED CALLS: prints the seed and the last calls where they differ, and fails. The same seed makes the same calls.

#![allow(clippy::too_many_lines, clippy::disallowed_methods)] // a test program: a table of calls is one function, and the environment is read where it is meant

mod end;

use end::{Call, End, Outcome, bytes};
use libc::c_int;
use std::collections::VecDeque;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, mem, ptr, thread};

const MOST: usize = 32 << 10; // on its way in one direction: what both have room for
const EXCEPT: &str = "GASNET_SCI_SOCK_EXCEPT";

/// Signals that came.
pub static PIPES: AtomicU32 = AtomicU32::new(0);

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

fn socket() -> c_int {
    // SAFETY: the call gets no pointer.
    unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) }
}

fn address(port: u16) -> libc::sockaddr_in {
    // SAFETY: an address is numbers, for which zeros are values.
    let mut at: libc::sockaddr_in = unsafe { mem::zeroed() };
    (at.sin_family, at.sin_port, at.sin_addr.s_addr) = (libc::AF_INET as u16, port.to_be(), 0x7f00_0001u32.to_be());
    at
}

fn listener(port: u16) -> (c_int, u16) {
    let (fd, mut at, mut len, one) = (socket(), address(port), 16u32, 1);
    // SAFETY: an int has four bytes, an address 16; `len` says so to who writes one.
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
            // SAFETY: an int has four bytes, an address 16, and `data` its length; who is accepted need not say where it is.
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
        for (side, (ours, plain)) in made[0].into_iter().zip(made[1]).enumerate() {
            // SAFETY: the call gets no pointer.
            let set = || unsafe { libc::epoll_create1(0) };
            let end = |fd| End { fd, ep: set(), file: self.file, name: side as u64 };
            ends.push([end(ours), end(plain)]);
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
            965..968 if ![me, other].iter().any(|it| it.closed || it.shut || it.deaf) => {
                Call::Splice { len: len.clamp(1, 4000).min(room.max(1)) }
            }
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
                // SAFETY: SIOCOUTQNSD writes one int.
                unsafe { libc::ioctl(end, 0x894b, &mut n) };
                if n <= 0 {
                    break;
                }
                thread::sleep(Duration::from_micros(20));
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
            while ours != plain
                && tries < 200
                && (asks(&call) || waits && (ours.value <= 0 && ours.errno != libc::ECONNRESET))
            {
                thread::sleep(Duration::from_micros(500));
                if asks(&call) {
                    plain = ends[side][1].make(&call);
                }
                ours = ends[side][0].make(&call);
                tries += 1;
            }
            self.calls += 1;
            if ours != plain && !is_allowed(&known, side, &call, &ours, &plain) {
                let short = |it: &Outcome| {
                    format!(
                        "{} errno {} pipes {} {:?}",
                        it.value,
                        it.errno,
                        it.pipes,
                        String::from_utf8_lossy(&it.bytes[..it.bytes.len().min(80)])
                    )
                };
                eprintln!("differ: seed {}: call {} differs", self.seed, self.calls);
                self.log.iter().for_each(|line| eprintln!("  {line}"));
                eprintln!("  rings:  {}\n  kernel: {}", short(&ours), short(&plain));
                exit(1);
            }
            note(&mut known, side, &call, &plain);
        }
        for end in ends.iter().flatten() {
            // SAFETY: the call gets no pointer. The ends are this round's, and go with it.
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
        // What still comes after its own SHUT_RD.
        Call::Available => me.deaf,
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
        // SAFETY: the call gets no pointer, and nothing has the number but this function.
        unsafe { libc::close(fd) };
        let error =
            Command::new(&args[0]).args(&args[1..]).env(EXCEPT, port.to_string()).env("LD_PRELOAD", library).exec();
        eprintln!("differ: {error}");
        exit(2);
    };
    // SAFETY: the handler adds to an atomic, which may be done in a signal.
    unsafe { libc::signal(libc::SIGPIPE, on_pipe as *const () as libc::sighandler_t) };
    let (seed, most): (u64, u64) = (seed.parse().expect("a seed"), calls.parse().expect("a number"));
    // SAFETY: the name ends with a zero.
    let file = unsafe { libc::memfd_create(c"file".as_ptr(), 0) };
    let content = bytes(5, 10_000);
    // SAFETY: `content` has its length.
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
