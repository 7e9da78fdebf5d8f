//! Bytes in and out: one attempt that does not wait, and the calls that repeat it.

use crate::conn::Conn;
use crate::fds;
use crate::real;
use crate::shared::*;
use crate::wait;
use libc::{c_int, iovec};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The program's memory, from which or to which bytes go.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    all: &'a [iovec],
    /// Bytes of the first that are done.
    done: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(all: &'a [iovec]) -> Self {
        Cursor { all, done: 0 }
    }

    /// The next piece.
    fn piece(&self) -> Option<(*mut u8, usize)> {
        let mut done = self.done;
        for iov in self.all {
            if done < iov.iov_len {
                // SAFETY: within the program's memory.
                return Some((unsafe { iov.iov_base.cast::<u8>().add(done) }, iov.iov_len - done));
            }
            done -= iov.iov_len;
        }
        None
    }

    /// Bytes that are not done.
    fn left(&self) -> u64 {
        let all = self.all.iter().fold(0u64, |sum, iov| sum.saturating_add(iov.iov_len as u64));
        all - self.done as u64
    }

    /// Goes on by `count` bytes, which `each` gets: where they are in the program's memory, and how many it is there.
    fn take(&mut self, mut count: u64, mut each: impl FnMut(*mut u8, usize)) {
        while let Some((at, len)) = self.piece()
            && count > 0
        {
            let n = (len as u64).min(count);
            each(at, n as usize);
            self.advance(n as usize);
            count -= n;
        }
    }

    fn advance(&mut self, by: usize) {
        self.done += by;
        while let [first, rest @ ..] = self.all
            && self.done >= first.iov_len
        {
            self.done -= first.iov_len;
            self.all = rest;
        }
    }

    fn is_empty(&self) -> bool {
        self.piece().is_none()
    }
}

fn cpu() -> u32 {
    // SAFETY: no conditions.
    unsafe { libc::sched_getcpu() as u32 }
}

/// The kernel's sendmsg or recvmsg, without waiting, of `most` bytes at most.
fn by_kernel(cursor: &mut Cursor, most: u64, call: impl Fn(&mut libc::msghdr) -> isize) -> Result<usize, c_int> {
    let mut left = most.min(isize::MAX as u64) as usize;
    let mut rest = *cursor;
    let mut pieces = Vec::new();
    while let Some((at, len)) = rest.piece()
        && left > 0
    {
        let len = len.min(left);
        pieces.push(iovec { iov_base: at.cast(), iov_len: len });
        rest.advance(len);
        left -= len;
    }
    // SAFETY: plain data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (pieces.as_mut_ptr(), pieces.len());
    match call(&mut message) {
        n @ 0.. => {
            cursor.advance(n as usize);
            Ok(n as usize)
        }
        _ => Err(real::errno()),
    }
}

/// Writes what fits now. EAGAIN: nothing fits.
pub fn put(conn: &Conn, fd: c_int, cursor: &mut Cursor) -> Result<usize, c_int> {
    let way = conn.out();
    let held = way.send_lock.take().ok_or(libc::EINTR)?;
    if conn.has_shut() {
        let failed = real::option(fd, libc::SOL_SOCKET, libc::SO_ERROR, 0).unwrap_or(0);
        return Err(if failed != 0 { failed } else { conn.lost().unwrap_or(libc::EPIPE) });
    }
    // SAFETY: the program's memory.
    let kernel = |it: &mut libc::msghdr| unsafe { real::sendmsg(fd, it, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    let is_joined = conn.is_joined();
    match way.to(is_joined) {
        To::Kernel if !is_joined => {
            let sent = by_kernel(cursor, u64::MAX, kernel)?;
            way.kernel_sent.fetch_add(sent as u64, Ordering::Relaxed);
            return Ok(sent);
        }
        To::Ring if conn.writes_ring() => {}
        To::Later => return Err(libc::EAGAIN),
        To::Kernel | To::Ring => {
            if conn.is_lost() {
                return Err(conn.lost().unwrap_or(libc::EPIPE));
            }
            let sent = by_kernel(cursor, u64::MAX, kernel);
            if let Err(libc::EPIPE | libc::ECONNRESET) = sent {
                conn.mark_closed(conn.peer(), RESET);
            }
            return sent;
        }
    }
    let ring = conn.ring(conn.side);
    let sent = way.fill(cursor.left(), |place, count| {
        // SAFETY: within the ring.
        let mut to = unsafe { ring.add(place as usize) };
        cursor.take(count, |from, n| {
            // SAFETY: the program's memory; `n` bytes of the ring that the reader does not have.
            unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
            // SAFETY: within the ring, or its end.
            to = unsafe { to.add(n) };
        });
    });
    if !cursor.is_empty() {
        way.full.fetch_add(1, Ordering::Relaxed);
    }
    if sent == 0 {
        return if cursor.is_empty() { Ok(0) } else { Err(libc::EAGAIN) };
    }
    way.send_cpu.store(cpu(), Ordering::Relaxed);
    drop(held);
    conn.ring_for(1 - conn.side, IN);
    Ok(sent as usize)
}

/// How bytes are taken.
#[derive(Clone, Copy, Default)]
pub struct How {
    /// They stay.
    pub peek: bool,
    /// They are thrown away.
    pub trunc: bool,
    /// The kernel's socket says that something ended: who finds nothing asks it.
    pub ended: bool,
    /// The call has bytes already: an error is for the next.
    pub some: bool,
}

/// Reads what is there. 0: the end. EAGAIN: nothing yet.
pub fn get(conn: &Conn, fd: c_int, cursor: &mut Cursor, how: How) -> Result<usize, c_int> {
    let way = conn.inc();
    let held = way.recv_lock.take().ok_or(libc::EINTR)?;
    let flags =
        libc::MSG_DONTWAIT | if how.peek { libc::MSG_PEEK } else { 0 } | if how.trunc { libc::MSG_TRUNC } else { 0 };
    let kernel = |it: &mut libc::msghdr| {
        if how.some && crate::poll::has_failed(fd) {
            return 0;
        }
        // SAFETY: the program's memory.
        unsafe { real::recvmsg(fd, it, flags) }
    };
    let mut before = 0; // of the kernel's, and the ring follows
    loop {
        let joined = conn.is_joined();
        let ahead = if how.peek { before } else { 0 };
        if let Some(left) = way.kernel_left(joined, ahead) {
            let found = by_kernel(cursor, left, kernel);
            if let Ok(n @ 1..) = found {
                if !how.peek {
                    way.kernel_gave(n as u64);
                }
                // Who accepted sends through the kernel: it has not found the offer.
                if !joined {
                    conn.withdraw();
                }
                before += n as u64;
                if left == n as u64 && !cursor.is_empty() {
                    continue;
                }
                return Ok(before as usize);
            }
            let now = conn.is_joined();
            if now && way.kernel_left(now, ahead) != Some(left) {
                continue;
            }
            return if before > 0 { Ok(before as usize) } else { found };
        }
        let n = from_ring(conn, cursor, how);
        if n > 0 {
            drop(held);
            if !how.peek && RING - way.unread() >= ROOM {
                conn.ring_for(1 - conn.side, OUT);
            }
            ring_on(conn);
            return Ok(n + before as usize);
        }
        if before > 0 {
            return Ok(before as usize);
        }
        if way.is_over() {
            return by_kernel(cursor, u64::MAX, kernel);
        }
        if let Some(result) = end(conn, fd, how, kernel) {
            drop(held);
            if result == Ok(0) {
                ring_on(conn);
            }
            return result;
        }
    }
}

/// Rule 4 of `bell`: this thread may have drained the bell of others, who sleep though there are bytes, or the end, for them as well.
fn ring_on(conn: &Conn) {
    if conn.mine().bells[IN].has_sleepers() && conn.can_read() {
        conn.ring_for(conn.side, IN);
    }
}

/// What a read gives that finds the ring empty. None: it is not empty, or over, any more.
fn end(conn: &Conn, fd: c_int, how: How, kernel: impl Fn(&mut libc::msghdr) -> isize) -> Option<Result<usize, c_int>> {
    let way = conn.inc();
    let is_marked = way.fin.load(Ordering::Acquire) != 0 || conn.mine().deaf.load(Ordering::Acquire) != 0;
    if !is_marked && !conn.peer_closed() && !how.ended {
        return Some(Err(libc::EAGAIN));
    }
    // What was sent before the end is in the ring by now.
    if way.unread() > 0 || way.is_over() || !is_marked && way.fin.load(Ordering::Acquire) != 0 {
        return None;
    }
    if is_marked && !conn.peer_closed() && conn.mine().deaf.load(Ordering::Acquire) == 0 {
        return Some(Ok(0));
    }
    if how.some {
        return Some(Ok(0));
    }
    let mut byte = 0u8;
    let iov = [iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 }];
    Some(match by_kernel(&mut Cursor::new(&iov), 1, kernel) {
        Ok(0) => {
            if !is_marked {
                conn.mark_closed(conn.peer(), CLOSED);
            }
            let lost = if how.peek { None } else { conn.lost() };
            lost.map_or(Ok(0), Err)
        }
        Ok(_) => {
            real::complain(
                "bytes came through the kernel while a ring is in use: something sends past the library. The connection is reset",
            );
            let nobody = libc::sockaddr { sa_family: libc::AF_UNSPEC as u16, sa_data: [0; 14] };
            // SAFETY: an address of ours; "no peer any more" makes the kernel reset the connection.
            unsafe { real::connect(fd, &nobody, size_of_val(&nobody) as u32) };
            Err(libc::ECONNRESET)
        }
        Err(libc::EAGAIN) if is_marked => Ok(0),
        Err(code) => {
            if code != libc::EAGAIN {
                conn.mark_closed(conn.peer(), RESET);
            }
            Err(code)
        }
    })
}

fn from_ring(conn: &Conn, cursor: &mut Cursor, how: How) -> usize {
    let (way, ring) = (conn.inc(), conn.ring(1 - conn.side));
    let got = way.drain(cursor.left(), how.peek, |place, count| {
        // SAFETY: within the ring.
        let mut from = unsafe { ring.add(place as usize) };
        cursor.take(count, |to, n| {
            if !how.trunc {
                // SAFETY: the program's memory; `n` bytes of the ring that the writer does not have.
                unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
            }
            // SAFETY: within the ring, or its end.
            from = unsafe { from.add(n) };
        });
    });
    if got > 0 && !how.peek {
        way.recv_cpu.store(cpu(), Ordering::Relaxed);
    }
    got as usize
}

/// When a wait of this kind ends; none: never.
fn deadline(conn: &Conn, what: usize) -> Option<Instant> {
    match conn.mine().timeouts[what].load(Ordering::Relaxed) {
        0 => None,
        nanos => wait::end(Some(Duration::from_nanos(nanos))),
    }
}

/// A program's send: the result, with errno and SIGPIPE as TCP has them.
pub fn send(conn: &Conn, fd: c_int, all: &[iovec], flags: c_int) -> isize {
    let mut cursor = Cursor::new(all);
    let mut sum = 0isize;
    let waits = flags & libc::MSG_DONTWAIT == 0 && !conn.is_nonblocking();
    let mut until = None;
    let failed = loop {
        if sum > 0 && cursor.is_empty() {
            return sum;
        }
        match put(conn, fd, &mut cursor) {
            Ok(n) => {
                sum += n as isize;
                if cursor.is_empty() {
                    return sum;
                }
            }
            Err(libc::EAGAIN) if waits => {}
            Err(code) => break code,
        }
        if !waits {
            return sum;
        }
        let end = *until.get_or_insert_with(|| deadline(conn, OUT));
        if let Err(code) = wait::wait(conn, fd, OUT, end) {
            break code;
        }
    };
    if sum > 0 {
        return sum;
    }
    if failed == libc::EPIPE && flags & libc::MSG_NOSIGNAL == 0 {
        // SAFETY: what the kernel does to a thread that writes where nobody reads.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGPIPE) };
    }
    real::fail(failed)
}

/// A program's recv.
pub fn recv(conn: &Conn, fd: c_int, all: &[iovec], flags: c_int) -> isize {
    let mut cursor = Cursor::new(all);
    let mut how = How { peek: flags & libc::MSG_PEEK != 0, trunc: flags & libc::MSG_TRUNC != 0, ..How::default() };
    let wants_all = flags & libc::MSG_WAITALL != 0;
    let waits = flags & libc::MSG_DONTWAIT == 0 && !conn.is_nonblocking();
    let (mut sum, mut until) = (0isize, None);
    if cursor.is_empty() {
        return 0;
    }
    loop {
        let mut again = Cursor::new(all); // who peeks begins anew
        let cursor = if how.peek { &mut again } else { &mut cursor };
        match get(conn, fd, cursor, how) {
            Ok(0) => return sum,
            Ok(n) if how.peek => {
                if !wants_all || !waits || cursor.is_empty() || n as isize == sum {
                    return n as isize;
                }
                sum = n as isize;
                // What else is coming is not seen by a bell that has bytes below it already.
                // SAFETY: no conditions.
                unsafe { libc::usleep(500) };
                continue;
            }
            Ok(n) => {
                sum += n as isize;
                how.some = true;
                if !wants_all || !waits || cursor.is_empty() {
                    return sum;
                }
                continue;
            }
            Err(libc::EAGAIN) if waits => {}
            Err(code) => return if sum > 0 { sum } else { real::fail(code) },
        }
        let end = *until.get_or_insert_with(|| deadline(conn, IN));
        match wait::wait(conn, fd, IN, end) {
            Ok(ended) => how.ended = ended,
            Err(code) => return if sum > 0 { sum } else { real::fail(code) },
        }
    }
}

/// Looks at what the kernel's socket said: whether the peer is gone, or something sends past the library.
pub fn examine(conn: &Conn, fd: c_int) {
    if !fds::is_of(fd, conn) {
        return;
    }
    let mut byte = 0u8;
    let iov = [iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 }];
    let _ = get(conn, fd, &mut Cursor::new(&iov), How { peek: true, ended: true, ..How::default() });
}
