//! Stepping down: from the ring back to the kernel's stream, without losing or turning a byte.
//!
//! Who sends does it, by itself or because the other side's porter asked: under both locks of the way it takes what is unread out of the ring and marks
//! the way as stepped. Then it pumps those bytes into the kernel's socket, and nothing else of that way goes there before (`pumping`).

use crate::conn::Conn;
use crate::fds;
use crate::meet;
use crate::porter;
use crate::real;
use crate::shared::*;
use libc::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// No other side takes longer to step down, unless its process is stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes on their way from a ring to the kernel.
pub struct Pump {
    conn: Arc<Conn>,
    /// A copy of the socket's descriptor, so that the end does not come before the bytes.
    socket: c_int,
    bytes: Vec<u8>,
    done: usize,
}

impl Pump {
    pub fn socket(&self) -> c_int {
        self.socket
    }

    pub fn id(&self) -> u64 {
        self.conn.id
    }

    /// True: it is done with.
    pub fn go_on(&mut self) -> bool {
        while self.done < self.bytes.len() {
            let rest = &self.bytes[self.done..];
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            // SAFETY: bytes of ours.
            let n = unsafe { real::send(self.socket, rest.as_ptr().cast(), rest.len(), flags) };
            if n < 0 && real::errno() == libc::EAGAIN {
                return false;
            }
            if n < 0 {
                break; // the connection is gone, and the kernel says so to everybody
            }
            self.done += n as usize;
        }
        if self.conn.has_shut() {
            // SAFETY: a descriptor of ours.
            unsafe { real::shutdown(self.socket, libc::SHUT_WR) };
        }
        self.conn.out().pumping.store(0, Ordering::Release);
        self.conn.ring_for(self.conn.side, OUT);
        true
    }
}

impl Drop for Pump {
    /// Also in a child, whose parent goes on pumping: the copy would keep the connection open there.
    fn drop(&mut self) {
        fds::close(self.socket);
    }
}

/// Steps down what this side sends.
pub fn give(conn: &Arc<Conn>, why: &str) {
    if !conn.is_joined() && conn.withdraw() {
        return;
    }
    let way = conn.out();
    let Some(sending) = way.send_lock.take() else { return };
    if way.is_stepped() {
        return;
    }
    porter::tell(|| format!("connection {} steps down: {why}", conn.id));
    let Some(receiving) = way.recv_lock.take() else { return };
    let (ring, mut bytes) = (conn.ring(conn.side), Vec::new());
    // SAFETY: plain numbers.
    let socket = fds::find(conn).map_or(-1, |fd| fds::hide(unsafe { real::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) }));
    way.end_ring(|place, count| {
        // SAFETY: within the ring; both locks are held.
        bytes.extend((place..place + count).map(|at| unsafe { ring.add(at as usize).read() }));
    });
    drop((sending, receiving));
    if socket < 0 && !bytes.is_empty() {
        real::complain("a connection lost bytes as it stepped down: no descriptors are left");
    }
    porter::go_on_pumping(Pump { conn: Arc::clone(conn), socket, bytes, done: 0 });
    conn.ring_all();
}

/// Steps down what the other side sends.
fn ask(conn: &Conn) {
    if !conn.is_joined() || conn.inc().is_over() {
        return;
    }
    if conn.has_ended_both() {
        // The kernel takes no bytes for this side any more.
        if conn.inc().unread() > 0 {
            meet::replay(conn);
        }
        return;
    }
    let until = Instant::now() + PATIENCE;
    // This side's porter may still be on its way from handing out the offer to noting the channel.
    while conn.ctl.load(Ordering::Acquire) < 0 && Instant::now() < until {
        // SAFETY: no conditions.
        unsafe { libc::usleep(50) };
    }
    let (ask, ctl) = (b'S', conn.ctl.load(Ordering::Acquire));
    // SAFETY: one byte.
    let asked = unsafe { real::send(ctl, (&raw const ask).cast(), 1, libc::MSG_NOSIGNAL) } == 1;
    while asked && !conn.inc().is_stepped() && !conn.peer_closed() && Instant::now() < until {
        // SAFETY: no conditions.
        unsafe { libc::usleep(50) };
    }
    if !conn.inc().is_stepped() && conn.inc().unread() > 0 {
        meet::replay(conn);
    }
}

/// Steps down both directions, and waits until the kernel has everything of this side.
pub fn both(conn: &Arc<Conn>, why: &str) {
    give(conn, why);
    ask(conn);
    let until = Instant::now() + PATIENCE;
    while conn.out().pumping.load(Ordering::Acquire) != 0 && Instant::now() < until {
        // SAFETY: no conditions.
        unsafe { libc::usleep(100) };
    }
}

/// Steps down what stands behind a descriptor, if it is ours.
pub fn descriptor(fd: c_int, why: &str) {
    if let Some(conn) = fds::conn(fd) {
        both(&conn, why);
    }
}

/// Before another program runs in this process: what it would inherit steps down.
pub fn inherited() {
    for fd in fds::all().filter(|&fd| fds::kind(fd) == fds::CONN) {
        // SAFETY: it only asks.
        let flags = unsafe { real::fcntl(fd, libc::F_GETFD, 0) };
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            descriptor(fd, "another program inherits it");
        }
    }
}
