//! Connections whose two ends are in this process, which has the library's calls in the place of libc's.

mod sets;

use crate::conn::Conn;
use crate::shared::{IN, JOINED, RING, Way};
use crate::{fds, real};
use libc::{c_int, epoll_event};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Long enough for whatever must come; nothing is asserted on it.
const LONG: c_int = 20_000;

/// Descriptors are the process's: a test that closes one would meet another test's under the same number.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who connected, who accepted; both know that they go by rings.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let other = listener.accept().unwrap().0;
    assert!(conn(&one).is_joined() && conn(&other).is_joined());
    (one, other)
}

fn conn(stream: &TcpStream) -> Arc<Conn> {
    fds::conn(stream.as_raw_fd()).expect("a connection by rings")
}

/// Waits for something that another thread does.
fn until(what: impl Fn() -> bool) {
    while !what() {
        thread::yield_now();
    }
}

struct Epoll(c_int);

impl Epoll {
    fn new() -> Epoll {
        // SAFETY: the call gets no pointer.
        Epoll(unsafe { libc::epoll_create1(0) })
    }
    fn control(&self, op: c_int, fd: c_int, events: c_int) -> c_int {
        let mut event = epoll_event { events: events as u32, u64: fd as u64 };
        // SAFETY: `event` is read before the call returns.
        unsafe { libc::epoll_ctl(self.0, op, fd, &mut event) }
    }
    fn add(&self, stream: &TcpStream, events: c_int) {
        assert_eq!(self.control(libc::EPOLL_CTL_ADD, stream.as_raw_fd(), events), 0);
    }
    /// What is reported: descriptors and events.
    fn wait(&self, time: c_int) -> Vec<(c_int, c_int)> {
        let mut all = [epoll_event { events: 0, u64: 0 }; 8];
        // SAFETY: `all` has room for eight.
        let n = unsafe { libc::epoll_wait(self.0, all.as_mut_ptr(), 8, time) };
        all[..n.max(0) as usize].iter().map(|it| (it.u64 as c_int, it.events as c_int)).collect()
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        close(self.0);
    }
}

/// Closes a descriptor that nothing else owns: of a set or a pipe, one that was taken out of its stream, or, in a child, a copy.
fn close(fd: c_int) -> c_int {
    // SAFETY: the call gets no pointer, and who called knows that nobody uses the number any more.
    unsafe { libc::close(fd) }
}

/// Bytes that can be read.
fn available(end: &TcpStream) -> c_int {
    let mut n = -1;
    // SAFETY: FIONREAD writes one int.
    unsafe { libc::ioctl(end.as_raw_fd(), libc::FIONREAD, &mut n) };
    n
}

/// A pipe by whose end a parent says that its child may go on: the end to read from, and that to close.
fn pipe() -> [c_int; 2] {
    let mut ends = [0; 2];
    // SAFETY: it writes two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    ends
}

/// Whether a pipe has come to its end; waits for it.
fn has_ended(pipe: c_int) -> bool {
    let mut byte = 0u8;
    // SAFETY: there is room for the one byte.
    unsafe { libc::read(pipe, (&raw mut byte).cast(), 1) == 0 }
}

/// Sleepers of a bell, as the other side sees them.
fn sleeps(conn: &Conn, what: usize) -> bool {
    conn.mine().bells[what].has_sleepers()
}

#[test]
fn bytes_go_through_the_ring_in_their_order_and_wrap() {
    let _alone = alone();
    let (mut one, mut other) = pair();
    let sent: Vec<u8> = (0..3 * RING as usize + 12_345).map(|n| (n * 7 + n / 251) as u8).collect();
    let copy = sent.clone();
    let sending = thread::spawn(move || {
        one.write_all(&copy).unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        one
    });
    let mut got = Vec::new();
    other.read_to_end(&mut got).unwrap();
    assert!(got == sent);
    let one = sending.join().unwrap();
    assert_eq!(conn(&one).out().tail.load(Ordering::Relaxed), sent.len() as u64);
}

#[test]
fn who_heard_a_bell_rings_for_the_others_that_sleep() {
    let _alone = alone();
    let (mut one, mut other) = pair();
    let conn = conn(&other);
    let is_rung = || {
        let mut entry = libc::pollfd { fd: conn.bells[conn.side][IN], events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, a time, and no mask of signals.
        unsafe { real::ppoll(&mut entry, 1, &libc::timespec { tv_sec: 0, tv_nsec: 0 }, std::ptr::null()) == 1 }
    };
    conn.mine().bells[IN].arm(); // another thread sleeps in recv
    // The end comes while there are bytes before it: the kernel's stream stays open, and wakes nobody.
    one.write_all(b"eight by").unwrap();
    one.shutdown(Shutdown::Write).unwrap();
    conn.drain(IN);
    other.read_exact(&mut [0; 8]).unwrap();
    assert!(is_rung(), "the other one is to be told of the end");
    conn.drain(IN);
    assert_eq!(other.read(&mut [0; 8]).unwrap(), 0);
    assert!(is_rung(), "there may be a third");
    conn.mine().bells[IN].disarm();
}

#[test]
fn copies_that_are_closed_at_once_end_the_connection_once() {
    let _alone = alone();
    for _ in 0..300 {
        let (one, other) = pair();
        let conn = conn(&other);
        conn.mine().holders.store(2, Ordering::Relaxed); // as if a child had it, too
        let copies = [other.try_clone().unwrap(), other];
        let start = Arc::new(AtomicU32::new(0));
        let closing = copies.map(|it| {
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.fetch_add(1, Ordering::Relaxed);
                until(|| start.load(Ordering::Relaxed) == 2);
                drop(it);
            })
        });
        closing.into_iter().for_each(|it| it.join().unwrap());
        assert_eq!(conn.mine().holders.load(Ordering::Relaxed), 1);
        assert!(!self::conn(&one).peer_closed(), "the child still has it");
    }
}

#[test]
fn a_descriptor_that_another_file_took_meanwhile_is_left_alone() {
    let _alone = alone();
    let (one, other) = pair();
    let fd = other.into_raw_fd();
    let conn = fds::conn(fd).unwrap();
    let blocked = thread::spawn(move || {
        let mut bytes = [0u8; 16];
        // SAFETY: `bytes` has room for 16.
        let n = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), 16, 0) };
        (n, real::errno())
    });
    until(|| sleeps(&conn, IN));
    // Another connection, which the library does not serve, takes the place: past the library, as a race of two threads would have it.
    let (foreign, to_foreign) = std::os::unix::net::UnixStream::pair().unwrap();
    (&to_foreign).write_all(b"not for the other").unwrap();
    crate::calls::descriptors::forget(fd);
    // SAFETY: the call gets no pointer. What `fd` was is meant to go.
    unsafe { real::dup2(foreign.as_raw_fd(), fd) };
    drop(one);
    let (n, errno) = blocked.join().unwrap();
    assert!(n == 0 || n == -1 && errno == libc::EBADF, "{n} {errno}");
    let mut bytes = [0; 17];
    (&foreign).read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"not for the other");
    close(fd);
}

#[test]
fn whatever_stands_in_the_shared_memory_nothing_is_touched_outside() {
    let _alone = alone();
    let mut x = 1u64;
    let mut random = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        match x % 5 {
            0 => u64::MAX - x % 3,
            1 => x % 3,
            2 => 1 << (x % 64),
            _ => x,
        }
    };
    for _ in 0..200 {
        let (one, other) = pair();
        let conns = [conn(&one), conn(&other)];
        one.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        for _ in 0..8 {
            for way in &conns[0].shared().ways {
                let Way { tail, head, head_seen, kernel_sent, kernel_read, switch_at, tail_end, .. } = way;
                for word in [tail, head, head_seen, kernel_sent, kernel_read, switch_at, tail_end] {
                    if random() % 3 == 0 {
                        word.store(random(), Ordering::Relaxed);
                    }
                }
            }
            for mut end in [&one, &other] {
                let mut bytes = vec![0xee; 3000];
                let _ = end.write(&bytes[..(random() % 3000) as usize]);
                let len = (random() % 2900) as usize;
                let _ = end.read(&mut bytes[..len]);
                assert!(bytes[len..].iter().all(|&byte| byte == 0xee), "bytes behind the program's buffer");
                available(end);
            }
        }
        assert_eq!(conns[0].shared().state.load(Ordering::Relaxed), JOINED);
        crate::step::give(&conns[0], "a test");
    }
}

#[test]
fn a_lock_with_nonsense_in_it_is_taken() {
    let _alone = alone();
    let (mut one, mut other) = pair();
    for nonsense in [u32::MAX, 0x8000_0000, 0x7fff_fff0, 1 << 23] {
        conn(&one).out().send_lock.spoil(nonsense);
        one.write_all(b"x").unwrap();
        other.read_exact(&mut [0]).unwrap();
    }
}

#[test]
fn times_that_no_clock_reaches_are_for_ever_and_wrong_ones_are_refused() {
    let _alone = alone();
    let (mut one, other) = pair();
    one.write_all(b"x").unwrap();
    let mut entry = libc::pollfd { fd: other.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let ages = libc::timespec { tv_sec: i64::MAX, tv_nsec: 999_999_999 };
    // SAFETY: one entry, a time, and no mask of signals.
    assert_eq!(unsafe { libc::ppoll(&mut entry, 1, &ages, std::ptr::null()) }, 1);
    let set = Epoll::new();
    set.add(&other, libc::EPOLLIN);
    assert_eq!(set.wait(c_int::MAX).len(), 1);
    let mut wrong = libc::timeval { tv_sec: -1, tv_usec: 0 };
    // SAFETY: a set of no descriptors is all zeros.
    let mut read: libc::fd_set = unsafe { std::mem::zeroed() };
    // SAFETY: a test has few descriptors; the set has room for 1,024.
    unsafe { libc::FD_SET(other.as_raw_fd(), &mut read) };
    let none = std::ptr::null_mut();
    // SAFETY: a set and a time of this function's, and no others.
    let n = unsafe { libc::select(other.as_raw_fd() + 1, &mut read, none, none, &mut wrong) };
    assert_eq!((n, real::errno()), (-1, libc::EINVAL));
    let wrong = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000_000 };
    // SAFETY: as above.
    let n = unsafe { libc::ppoll(&mut entry, 1, &wrong, std::ptr::null()) };
    assert_eq!((n, real::errno()), (-1, libc::EINVAL));
    let ages = libc::timeval { tv_sec: i64::MAX / 2, tv_usec: 0 };
    let fd = other.as_raw_fd();
    // SAFETY: a timeval has 16 bytes.
    unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const ages).cast(), 16) };
    let mut other = other;
    other.read_exact(&mut [0]).unwrap();
}

#[test]
fn after_very_many_additions_items_are_still_told() {
    let _alone = alone();
    let (mut one, other) = pair();
    let set = Epoll::new();
    fds::set(set.0).unwrap().grow_old();
    for _ in 0..3 {
        set.add(&other, libc::EPOLLIN);
        let Epoll(ep) = set;
        let waiter = thread::spawn(move || std::mem::ManuallyDrop::new(Epoll(ep)).wait(LONG));
        until(|| sleeps(&conn(&other), IN));
        one.write_all(b"x").unwrap();
        assert_eq!(waiter.join().unwrap(), [(other.as_raw_fd(), libc::EPOLLIN)]);
        assert_eq!(set.control(libc::EPOLL_CTL_DEL, other.as_raw_fd(), 0), 0);
        (&other).read_exact(&mut [0]).unwrap();
    }
}

/// Runs in a child, which ends with what it gives.
fn in_child(run: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child makes calls that the library serves behind a fork, too. It allocates nothing: a thread of the parent may have had that lock.
    match unsafe { libc::fork() } {
        // SAFETY: it ends the child, whose parent has all that would be dropped.
        0 => unsafe { libc::_exit(i32::from(!run())) },
        child => child,
    }
}

fn ended_well(child: libc::pid_t) -> bool {
    let mut status = -1;
    // SAFETY: it writes one int.
    unsafe { libc::waitpid(child, &mut status, 0) };
    status == 0
}

#[test]
fn what_was_offered_when_a_process_forked_stays_the_kernels() {
    let _alone = alone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let hold = pipe();
    let child = in_child(|| {
        close(hold[1]);
        has_ended(hold[0])
    });
    let mut other = listener.accept().unwrap().0;
    assert_eq!(fds::kind(other.as_raw_fd()), fds::FOREIGN, "which of the two processes would serve it?");
    one.write_all(b"by kernel").unwrap();
    other.read_exact(&mut [0; 9]).unwrap();
    close(hold[1]);
    assert!(ended_well(child));
    close(hold[0]);
}

#[test]
fn what_steps_down_loses_no_byte_and_a_child_keeps_none_of_it() {
    let _alone = alone();
    let (mut one, mut other) = pair();
    one.set_nonblocking(true).unwrap();
    for (end, name) in [(&one, libc::SO_SNDBUF), (&other, libc::SO_RCVBUF)] {
        let least = 4096;
        // SAFETY: an int has four bytes.
        unsafe { libc::setsockopt(end.as_raw_fd(), libc::SOL_SOCKET, name, (&raw const least).cast(), 4) };
    }
    let mut sent = 0;
    // More than the kernel's stream takes at once: the porter has to go on.
    while let Ok(n) = one.write(&vec![7; 40_000]) {
        sent += n;
    }
    crate::step::give(&conn(&one), "a test");
    while let Ok(n) = one.write(&vec![7; 40_000]) {
        sent += n;
    }
    let hold = pipe();
    let fd = one.as_raw_fd();
    let child = in_child(|| {
        [fd, hold[1]].into_iter().for_each(|fd| assert_eq!(close(fd), 0));
        has_ended(hold[0])
    });
    drop(one);
    let mut got = 0;
    let mut bytes = vec![0; 100_000];
    loop {
        match other.read(&mut bytes) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(got, sent);
    close(hold[1]);
    assert!(ended_well(child));
    close(hold[0]);
}

#[test]
fn a_child_and_its_parent_share_a_stream() {
    let _alone = alone();
    let (mut one, mut other) = pair();
    let mut copy = one.try_clone().unwrap();
    let child = in_child(|| copy.write_all(b"the child's ").is_ok());
    assert!(ended_well(child));
    one.write_all(b"the parent's").unwrap();
    drop((one, copy));
    let mut got = String::new();
    other.read_to_string(&mut got).unwrap();
    assert_eq!(got, "the child's the parent's");
}

#[test]
fn after_its_own_end_a_reader_knows_what_is_there() {
    let _alone = alone();
    let (mut one, other) = pair();
    one.write_all(b"twelve bytes").unwrap();
    other.shutdown(Shutdown::Both).unwrap();
    let n = available(&other);
    let mut bytes = [0; 16];
    let got = (&other).read(&mut bytes);
    match got {
        Ok(got) => assert_eq!(got, n as usize),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[test]
fn what_was_there_at_its_own_end_is_there_after_it_stepped_down() {
    let _alone = alone();
    let (mut one, mut other) = pair();
    one.write_all(b"twelve bytes").unwrap();
    other.shutdown(Shutdown::Both).unwrap();
    crate::step::both(&conn(&other), "a test");
    let mut bytes = [0u8; 16];
    // SAFETY: `bytes` has room for 16.
    let n = unsafe { real::recv(other.as_raw_fd(), bytes.as_mut_ptr().cast(), 16, 0) };
    assert_eq!((n, &bytes[..12]), (12, &b"twelve bytes"[..]));
    assert_eq!(other.read(&mut bytes).unwrap(), 0);
}
