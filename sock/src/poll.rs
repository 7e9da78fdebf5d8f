//! poll and select over connections by rings and whatever else.

use crate::conn::Conn;
use crate::real;
use crate::shared::{IN, OUT, RESET};
use crate::wait::{self, span};
use crate::{fds, transfer};
use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRNORM};
use libc::{c_int, fd_set, pollfd, sigset_t, timespec};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const READABLE: i16 = POLLIN | POLLRDNORM;
const WRITABLE: i16 = POLLOUT | POLLWRNORM;

/// What memory says of a connection, of all that poll can say.
pub fn memory(conn: &Conn) -> i16 {
    let mut found = 0;
    if conn.can_read() {
        found |= READABLE;
    }
    if conn.can_write() {
        found |= WRITABLE;
    }
    if conn.is_joined() && conn.is_eof() && !conn.inc().is_over() {
        found |= POLLRDHUP | if conn.has_shut() { POLLHUP } else { 0 };
    }
    found
}

/// What the kernel's socket says, without what only the ring knows.
pub fn kernel(conn: &Conn, fd: c_int, said: i16) -> i16 {
    let mut found = said;
    if conn.reads_ring() {
        if said & POLLERR != 0 {
            conn.mark_closed(conn.peer(), RESET); // the error is the program's to fetch
        } else if said & (READABLE | POLLRDHUP | POLLHUP) != 0 && !conn.is_eof() {
            transfer::examine(conn, fd);
        }
        found &= !READABLE;
    }
    if conn.writes_ring() {
        found &= !WRITABLE;
    }
    found
}

/// Whether memory knows everything.
pub fn is_by_ring(conn: &Conn) -> bool {
    conn.reads_ring() && conn.writes_ring() && !conn.is_ending()
}

/// Whether the kernel's socket has an error for the next call.
pub fn has_failed(fd: c_int) -> bool {
    let mut entry = pollfd { fd, events: 0, revents: 0 };
    // SAFETY: one entry.
    unsafe { real::ppoll(&mut entry, 1, &span(Duration::ZERO), std::ptr::null()) };
    entry.revents & POLLERR != 0
}

/// What the kernel's socket says now.
pub fn now(conn: &Conn, fd: c_int, events: i16) -> i16 {
    let mut entry = pollfd { fd, events: mask(conn, events), revents: 0 };
    // SAFETY: one entry.
    unsafe { real::ppoll(&mut entry, 1, &span(Duration::ZERO), std::ptr::null()) };
    kernel(conn, fd, entry.revents)
}

/// What to ask the kernel's socket for, if the program asks for `events`.
pub fn mask(conn: &Conn, events: i16) -> i16 {
    let mut asked = events & (POLLPRI | POLLRDHUP);
    if events & READABLE != 0 {
        asked |= wait::kernel_mask(conn, IN) | events & POLLRDNORM;
    }
    if events & WRITABLE != 0 {
        let found = wait::kernel_mask(conn, OUT);
        asked |= found | if found & POLLOUT != 0 { events & POLLWRNORM } else { 0 };
    }
    // What both sides know to have ended would only wake.
    if conn.reads_ring() && conn.is_eof() { asked & !(POLLRDHUP | READABLE) } else { asked }
}

/// One of ours among those polled.
struct Ours {
    at: usize,
    conn: Arc<Conn>,
}

impl Ours {
    /// The bells that matter for what is asked.
    fn bells(&self, events: i16) -> impl Iterator<Item = usize> {
        [(IN, READABLE | POLLRDHUP), (OUT, WRITABLE)]
            .into_iter()
            .filter(move |(_, mask)| events & mask != 0)
            .map(|it| it.0)
    }
}

fn from_memory(ours: &[Ours], all: &mut [pollfd]) -> bool {
    let mut any = false;
    for it in ours {
        let entry = &mut all[it.at];
        entry.revents = memory(&it.conn) & (entry.events | POLLHUP);
        any |= entry.revents != 0;
    }
    any
}

/// Asks the kernel, which may sleep for `time`; gives what it gave.
fn ask(ours: &[Ours], all: &mut [pollfd], time: Option<Duration>, signals: *const sigset_t, by_bell: bool) -> c_int {
    let mut asked: Vec<pollfd> = all.to_vec();
    for it in ours {
        asked[it.at].events = mask(&it.conn, all[it.at].events);
        if by_bell {
            for what in it.bells(all[it.at].events) {
                asked.push(pollfd { fd: it.conn.bells[it.conn.side][what], events: POLLIN, revents: 0 });
            }
        }
    }
    let limit = time.map(span);
    let limit = limit.as_ref().map_or(std::ptr::null(), |limit| limit);
    // SAFETY: the array's own length; a time or none; the program's signals.
    let n = unsafe { real::ppoll(asked.as_mut_ptr(), asked.len() as u64, limit, signals) };
    if n < 0 {
        return n;
    }
    let mut bells = asked[all.len()..].iter();
    for it in ours {
        if by_bell {
            for what in it.bells(all[it.at].events) {
                if bells.next().is_some_and(|bell| bell.revents != 0) {
                    it.conn.drain(what);
                }
            }
        }
    }
    let mut mine = ours.iter().peekable();
    for (at, entry) in all.iter_mut().enumerate() {
        entry.revents = asked[at].revents;
        if let Some(it) = mine.next_if(|it| it.at == at) {
            let said = kernel(&it.conn, entry.fd, entry.revents) | memory(&it.conn);
            entry.revents = said & (entry.events | POLLERR | POLLHUP | POLLNVAL);
        }
    }
    all.iter().filter(|entry| entry.revents != 0).count() as c_int
}

/// poll, with its time and signals as ppoll has them.
pub fn poll(all: &mut [pollfd], time: Option<Duration>, signals: *const sigset_t) -> c_int {
    let mut ours = Vec::new();
    for (at, entry) in all.iter().enumerate() {
        if let Some(conn) = fds::conn(entry.fd) {
            ours.push(Ours { at, conn });
        } else if let Some(set) = fds::set(entry.fd) {
            set.cool(entry.fd);
        }
    }
    if ours.is_empty() {
        let limit = time.map(span);
        let limit = limit.as_ref().map_or(std::ptr::null(), |limit| limit);
        // SAFETY: the program's array, its own length.
        return unsafe { real::ppoll(all.as_mut_ptr(), all.len() as u64, limit, signals) };
    }
    let until = wait::end(time);
    let is_only_ours = ours.len() == all.iter().filter(|entry| entry.fd >= 0).count();
    let now = Some(Duration::ZERO);
    let mut may_look = time != now && ours.len() <= 16;
    loop {
        if from_memory(&ours, all) || time == now {
            if is_only_ours && ours.iter().all(|it| is_by_ring(&it.conn)) {
                all.iter_mut().filter(|entry| entry.fd < 0).for_each(|entry| entry.revents = 0);
                return all.iter().filter(|entry| entry.revents != 0).count() as c_int;
            }
            return ask(&ours, all, now, std::ptr::null(), false);
        }
        let wanted = |it: &Ours| memory(&it.conn) & (all[it.at].events | POLLHUP) != 0;
        let rounds = ours[0].conn.spin.load(Ordering::Relaxed) / ours.len() as u32;
        let asleep = Instant::now();
        if may_look && wait::look(rounds, || ours.iter().any(wanted)) {
            wait::learn(&ours[0].conn, rounds * ours.len() as u32, true);
            continue;
        }
        each_bell(&ours, all, |conn, what| conn.mine().bells[what].arm());
        let n = if ours.iter().any(wanted) {
            0
        } else {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            ask(&ours, all, left, signals, true)
        };
        let code = real::errno();
        each_bell(&ours, all, |conn, what| {
            conn.mine().bells[what].disarm();
            if conn.mine().bells[what].has_sleepers()
                && (what == IN && conn.can_read() || what == OUT && conn.can_write())
            {
                conn.ring_for(conn.side, what);
            }
        });
        if may_look {
            wait::learn(&ours[0].conn, rounds * ours.len() as u32, asleep.elapsed() < Duration::from_micros(50));
        }
        if n != 0 {
            if n < 0 {
                real::fail(code);
            }
            return n;
        }
        if until.is_some_and(|until| Instant::now() >= until)
            && !ours.iter().any(|it| memory(&it.conn) & all[it.at].events != 0)
        {
            return 0;
        }
        may_look = false;
    }
}

fn each_bell(ours: &[Ours], all: &[pollfd], each: impl Fn(&Conn, usize)) {
    for it in ours {
        it.bells(all[it.at].events).for_each(|what| each(&it.conn, what));
    }
}

/// pselect by way of poll, if one of its descriptors is ours. None: none is.
pub fn select(n: c_int, sets: [*mut fd_set; 3], time: Option<Duration>, signals: *const sigset_t) -> Option<c_int> {
    let is_in = |which: usize, fd: c_int| {
        // SAFETY: the program's set, which has bits for all below `n`.
        !sets[which].is_null() && unsafe { *sets[which].cast::<u64>().add(fd as usize / 64) } >> (fd % 64) & 1 != 0
    };
    let mut all = Vec::new();
    let mut has_ours = false;
    for fd in 0..n {
        let asked = [POLLIN, POLLOUT, POLLPRI];
        let events = (0..3).filter(|&which| is_in(which, fd)).fold(0, |sum, which| sum | asked[which]);
        if events != 0 {
            has_ours |= [fds::CONN, fds::EPOLL].contains(&fds::kind(fd));
            all.push(pollfd { fd, events, revents: 0 });
        }
    }
    if !has_ours {
        return None;
    }
    let found = poll(&mut all, time, signals);
    if found < 0 {
        return Some(found);
    }
    if all.iter().any(|entry| entry.revents & POLLNVAL != 0) {
        return Some(real::fail(libc::EBADF) as c_int);
    }
    let mut sum = 0;
    for entry in &all {
        let answers = [POLLIN | POLLRDNORM | POLLHUP | POLLERR, POLLOUT | POLLWRNORM | POLLERR, POLLPRI];
        for which in 0..3 {
            if is_in(which, entry.fd) {
                if entry.revents & answers[which] != 0 {
                    sum += 1;
                } else {
                    let at = entry.fd as usize;
                    // SAFETY: as above.
                    unsafe { *sets[which].cast::<u64>().add(at / 64) &= !(1 << (at % 64)) };
                }
            }
        }
    }
    Some(sum)
}

/// A time as libc gives it; none within: for ever. None: it is no time, which stands in errno.
///
/// # Safety
/// `time` is one, or null.
pub unsafe fn time(time: *const timespec) -> Option<Option<Duration>> {
    // SAFETY: it may be read.
    let Some(time) = (unsafe { time.as_ref() }) else { return Some(None) };
    if time.tv_sec < 0 || !(0..1_000_000_000).contains(&time.tv_nsec) {
        real::fail(libc::EINVAL);
        return None;
    }
    Some(Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32)))
}
