//! poll, select, epoll.

use super::inout::overflow;
use crate::epoll::Set;
use crate::fds::{self, CONN, EPOLL, Entry};
use crate::{poll as polls, real};
use libc::{c_int, epoll_event, fd_set, nfds_t, pollfd, sigset_t, size_t, timespec, timeval};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The program's array, if one of it is ours.
///
/// # Safety
/// `all` has `count` entries.
unsafe fn with_ours<'a>(all: *mut pollfd, count: nfds_t) -> Option<&'a mut [pollfd]> {
    if all.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let all = unsafe { std::slice::from_raw_parts_mut(all, count as usize) };
    all.iter().any(|entry| [CONN, EPOLL].contains(&fds::kind(entry.fd))).then_some(all)
}

fn milliseconds(time: c_int) -> Option<Duration> {
    (time >= 0).then(|| Duration::from_millis(time as u64))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(all: *mut pollfd, count: nfds_t, time: c_int) -> c_int {
    // SAFETY: the program's own.
    match unsafe { with_ours(all, count) } {
        Some(all) => polls::poll(all, milliseconds(time), ptr::null()),
        // SAFETY: the program's own.
        None => unsafe { real::poll(all, count, time) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(all: *mut pollfd, count: nfds_t, time: *const timespec, signals: *const sigset_t) -> c_int {
    // SAFETY: the program's own.
    match unsafe { with_ours(all, count) } {
        // SAFETY: the program's own.
        Some(all) => unsafe { polls::time(time) }.map_or(-1, |time| polls::poll(all, time, signals)),
        // SAFETY: the program's own.
        None => unsafe { real::ppoll(all, count, time, signals) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(all: *mut pollfd, count: nfds_t, time: c_int, room: size_t) -> c_int {
    if room / size_of::<pollfd>() < count as usize {
        overflow();
    }
    // SAFETY: the program's own.
    unsafe { poll(all, count, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __ppoll_chk(
    all: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    signals: *const sigset_t,
    room: size_t,
) -> c_int {
    if room / size_of::<pollfd>() < count as usize {
        overflow();
    }
    // SAFETY: the program's own.
    unsafe { ppoll(all, count, time, signals) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, time: *mut timeval) -> c_int {
    // SAFETY: the program's own.
    let limit = unsafe { time.as_ref() }.map(|time| timespec {
        tv_sec: time.tv_sec.saturating_add(time.tv_usec / 1_000_000),
        tv_nsec: time.tv_usec % 1_000_000 * 1000,
    });
    // SAFETY: a time of ours, or none.
    let Some(limit) = (unsafe { polls::time(limit.as_ref().map_or(ptr::null(), |limit| limit)) }) else { return -1 };
    let start = Instant::now();
    match polls::select(n, [r, w, e], limit, ptr::null()) {
        Some(found) => {
            if let Some(limit) = limit {
                let left = limit.saturating_sub(start.elapsed());
                // SAFETY: the program's own, which Linux changes.
                unsafe { *time = timeval { tv_sec: left.as_secs() as i64, tv_usec: left.subsec_micros() as i64 } };
            }
            found
        }
        // SAFETY: the program's own.
        None => unsafe { real::select(n, r, w, e, time) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    n: c_int,
    r: *mut fd_set,
    w: *mut fd_set,
    e: *mut fd_set,
    time: *const timespec,
    signals: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own.
    let Some(limit) = (unsafe { polls::time(time) }) else { return -1 };
    match polls::select(n, [r, w, e], limit, signals) {
        Some(found) => found,
        // SAFETY: the program's own.
        None => unsafe { real::pselect(n, r, w, e, time, signals) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: plain numbers.
    let ep = unsafe { real::epoll_create1(flags) };
    if ep >= 0 && (ep as usize) < fds::MOST {
        super::descriptors::forget(ep);
        fds::put(ep, Some(Arc::new(Entry::Epoll(Set::new(ep)))));
    }
    ep
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create(size: c_int) -> c_int {
    if size <= 0 {
        return real::fail(libc::EINVAL) as c_int;
    }
    // SAFETY: plain numbers.
    unsafe { epoll_create1(0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(ep: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    match fds::set(ep) {
        // SAFETY: the program's own, or null.
        Some(set) => set.control(ep, op, fd, (!event.is_null()).then(|| unsafe { event.read_unaligned() })),
        // SAFETY: the program's own.
        None => unsafe { real::epoll_ctl(ep, op, fd, event) },
    }
}

/// # Safety
/// `to` has room for `max` events.
unsafe fn wait(ep: c_int, to: *mut epoll_event, max: c_int, time: Option<Duration>, signals: *const sigset_t) -> c_int {
    match fds::set(ep) {
        Some(set) if max > 0 && !to.is_null() => {
            // SAFETY: the caller's promise.
            set.wait(ep, unsafe { std::slice::from_raw_parts_mut(to, max as usize) }, time, signals)
        }
        _ => {
            let time = time.map_or(-1, |time| time.as_millis().min(i32::MAX as u128) as c_int);
            // SAFETY: the program's own.
            unsafe { real::epoll_pwait(ep, to, max, time, signals) }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(ep: c_int, to: *mut epoll_event, max: c_int, time: c_int) -> c_int {
    // SAFETY: the program's own.
    unsafe { wait(ep, to, max, milliseconds(time), ptr::null()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    ep: c_int,
    to: *mut epoll_event,
    max: c_int,
    time: c_int,
    s: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own.
    unsafe { wait(ep, to, max, milliseconds(time), s) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait2(
    ep: c_int,
    to: *mut epoll_event,
    max: c_int,
    time: *const timespec,
    signals: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own.
    unsafe { polls::time(time).map_or(-1, |time| wait(ep, to, max, time, signals)) }
}
