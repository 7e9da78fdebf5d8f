//! Waiting: look for a while, then sleep in the kernel with the socket and a bell.

use crate::conn::Conn;
use crate::fds;
use crate::real;
use crate::shared::{CLOSED, IN, OUT};
use libc::{c_int, pollfd, timespec};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Nobody looks longer than this: a sleeper is woken in less.
const LOOK: Duration = Duration::from_micros(50);
const MOST_ROUNDS: u32 = 2048;
const LEAST_ROUNDS: u32 = 16;

/// What poll has to ask the kernel's socket for, so that it tells what memory does not.
pub fn kernel_mask(conn: &Conn, what: usize) -> i16 {
    if what == IN {
        return libc::POLLIN | if conn.reads_ring() { libc::POLLRDHUP } else { 0 };
    }
    if !conn.writes_ring() {
        let is_pumping = conn.out().pumping.load(Ordering::Acquire) != 0;
        return if is_pumping { 0 } else { libc::POLLOUT };
    }
    // A peer that died is told by the end of what it sends, unless that has ended before.
    if conn.is_eof() || conn.inc().is_stepped() { 0 } else { libc::POLLRDHUP }
}

fn is_there(conn: &Conn, what: usize) -> bool {
    if what == IN { conn.can_read() } else { conn.can_write() }
}

/// Whether both sides are on one processor, where looking only keeps the other from running.
pub fn is_shared(conn: &Conn, what: usize) -> bool {
    let other = if what == IN { &conn.inc().send_cpu } else { &conn.out().recv_cpu };
    // SAFETY: no conditions.
    other.load(Ordering::Relaxed) == unsafe { libc::sched_getcpu() } as u32
}

/// Looks for as long as it has been worth it lately.
pub fn look(rounds: u32, is_there: impl Fn() -> bool) -> bool {
    let mut start = None;
    for round in 0..rounds {
        if is_there() {
            return true;
        }
        std::hint::spin_loop();
        if round % 32 == 31 && start.get_or_insert_with(Instant::now).elapsed() > LOOK {
            break;
        }
    }
    false
}

/// What was learnt from a wait: `worth` if looking found it, or would have.
pub fn learn(conn: &Conn, rounds: u32, worth: bool) {
    let next = if worth { rounds * 2 } else { rounds / 2 };
    conn.spin.store(next.clamp(LEAST_ROUNDS, MOST_ROUNDS), Ordering::Relaxed);
}

/// Waits until the connection can be read or written, or has to be looked at again. True: the kernel says that something ended. Error: EINTR, or
/// EAGAIN at `until`.
pub fn wait(conn: &Conn, fd: c_int, what: usize, until: Option<Instant>) -> Result<bool, c_int> {
    let by_ring = if what == IN { conn.reads_ring() } else { conn.writes_ring() };
    let rounds = conn.spin.load(Ordering::Relaxed);
    let may_look = by_ring && !is_shared(conn, what);
    if may_look && look(rounds, || is_there(conn, what)) {
        learn(conn, rounds, true);
        return Ok(false);
    }
    let bell = &conn.mine().bells[what];
    let asleep = Instant::now();
    let result = loop {
        bell.arm();
        let is_by_ring = if what == IN { conn.reads_ring() } else { conn.writes_ring() };
        if is_by_ring != by_ring || is_there(conn, what) {
            bell.disarm();
            break Ok(false);
        }
        let mut fds = [
            pollfd { fd, events: kernel_mask(conn, what), revents: 0 },
            pollfd { fd: conn.bells[conn.side][what], events: libc::POLLIN, revents: 0 },
        ];
        let left = until.map(|until| span(until.saturating_duration_since(Instant::now())));
        let limit = left.as_ref().map_or(std::ptr::null(), |left| left);
        // SAFETY: two entries, and a time or none.
        let n = unsafe { real::ppoll(fds.as_mut_ptr(), 2, limit, std::ptr::null()) };
        let code = real::errno();
        bell.disarm();
        if fds[1].revents != 0 && n > 0 {
            conn.drain(what);
        }
        if !fds::is_of(fd, conn) {
            break Err(libc::EBADF); // the number may be another file's by now
        }
        if n > 0 {
            let ended = fds[0].revents & !libc::POLLOUT != 0 && by_ring;
            if ended && what == OUT && conn.writes_ring() && conn.inc().fin.load(Ordering::Acquire) == 0 {
                conn.mark_closed(conn.peer(), CLOSED);
            }
            break Ok(ended);
        }
        if n == 0 {
            break Err(libc::EAGAIN);
        }
        if code != libc::EINTR || until.is_some() || !restarts() {
            break Err(code);
        }
    };
    if may_look {
        learn(conn, rounds, asleep.elapsed() < LOOK);
    }
    result
}

/// When a wait of this length ends. None: never, or no clock gets there.
pub fn end(time: Option<Duration>) -> Option<Instant> {
    time.and_then(|time| Instant::now().checked_add(time))
}

/// A time-out of a socket as `End::timeouts` has it.
pub fn nanos(time: libc::timeval) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_usec as u64 * 1000)
}

/// A duration as the kernel takes it.
pub fn span(time: Duration) -> timespec {
    timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos() as i64 }
}

/// Whether calls that a signal interrupted go on: if all handlers of this process say so. Which of them ran cannot be known.
fn restarts() -> bool {
    (1..=64).all(|signal| {
        // SAFETY: a structure that is filled; plain data.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: it only asks.
        let status = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
        let has_handler = status == 0 && action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN;
        !has_handler || action.sa_flags & libc::SA_RESTART != 0
    })
}
