//! Child processes for stack traces: made, watched and awaited by async-signal-safe calls alone, without allocation.

#![allow(unsafe_code)] // processes

use super::activity::Activity;
use crate::os::{host, sys};
use libc::{c_int, c_void};
use std::ffi::CStr;
use std::os::fd::RawFd;

/// When a child is given up, in ms.
#[derive(Clone, Copy)]
pub struct Limits {
    /// So long without a sign of work: no output, and nothing that [`Activity`] sees.
    pub idle: u64,
    /// So long after its start, whatever it does.
    pub whole: u64,
}

/// Between two looks at a child that prints nothing, in ms.
const LOOK: u64 = 100;

/// Reads what a child prints, for as long as it works.
pub struct Patience {
    activity: Activity,
    limits: Limits,
    begin: u64,
    last_sign: u64,
}

impl Patience {
    /// For a child that begins now, and is awaited later.
    pub fn new(child: i32, limits: Limits) -> Patience {
        let now = sys::clock_ms();
        Patience { activity: Activity::of(child), limits, begin: now, last_sign: now }
    }

    /// Waits for output of the child in `from`, and returns its length; 0 at its end. `None`: the child is to be given up.
    pub fn read(&mut self, from: RawFd, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let now = sys::clock_ms();
            let left = (self.begin + self.limits.whole).min(self.last_sign + self.limits.idle).saturating_sub(now);
            let mut set = libc::pollfd { fd: from, events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid entry.
            let ready = unsafe { libc::poll(&mut set, 1, left.min(LOOK) as c_int) };
            if ready > 0 {
                // SAFETY: `buffer` is writable for its length.
                let got = unsafe { libc::read(from, buffer.as_mut_ptr().cast(), buffer.len()) };
                if got >= 0 {
                    self.last_sign = sys::clock_ms();
                    return Some(got as usize);
                }
            }
            if ready == 0 && self.activity.is_seen() {
                self.last_sign = sys::clock_ms();
            }
            // An error is a signal that interrupted the call. The limits stay.
            let now = sys::clock_ms();
            if now >= self.begin + self.limits.whole || now >= self.last_sign + self.limits.idle {
                return None;
            }
        }
    }
}

/// Short text that is a C string, built without allocation. What does not fit is cut off.
pub struct Text<const ROOM: usize>([u8; ROOM], usize);

impl<const ROOM: usize> Default for Text<ROOM> {
    fn default() -> Self {
        Text([0; ROOM], 0)
    }
}

impl<const ROOM: usize> Text<ROOM> {
    /// As C sees it.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}

impl<const ROOM: usize> std::fmt::Write for Text<ROOM> {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        let room = ROOM - 1 - self.1; // one byte stays 0
        let n = s.len().min(room);
        self.0[self.1..self.1 + n].copy_from_slice(&s.as_bytes()[..n]);
        self.1 += n;
        Ok(())
    }
}

/// A pipe whose ends exec closes: where to read, where to write.
pub fn pipe() -> Option<(RawFd, RawFd)> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: `ends` has room for two descriptors.
    (unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == 0).then_some((ends[0], ends[1]))
}

/// fork(2) without libc's handlers, which take locks that the interrupted code may hold. The child makes async-signal-safe
/// calls alone, or has taken care of itself.
pub fn fork() -> i32 {
    // SAFETY: without flags that share anything it is fork; callers keep to the rule above.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0usize, 0usize, 0usize, 0usize) as i32 }
}

/// Bytes of the stack of [`run_apart`]'s child. Only what is used takes memory.
const STACK: usize = 8 << 20;

/// Runs `what` in a child with a copy of this process's memory and a stack of its own, since this thread's may be small. Its
/// end sends no signal, so the client does not learn of it. Negative: there is no child.
pub fn run_apart<T>(what: extern "C" fn(*mut c_void) -> c_int, argument: &T) -> i32 {
    let Ok(stack) = host::map(STACK) else { return -1 };
    let top = stack.wrapping_byte_add(STACK);
    // SAFETY: the child gets a copy of all memory, so it shares neither the stack nor the argument. `what` ends the process.
    let child = unsafe { libc::clone(what, top, 0, std::ptr::from_ref(argument).cast_mut().cast()) };
    // SAFETY: mapped above; this process does not use it.
    unsafe { libc::munmap(stack, STACK) };
    child
}

/// Exit status of child `pid`; `None` if a signal ended it or it is not known.
pub fn wait(pid: i32) -> Option<c_int> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is writable.
        let ended = unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
        if ended == pid {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if ended < 0 && std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    /// A child that does `work`, and what a reader with little patience reads of it.
    fn read_of(work: impl FnOnce(RawFd), limits: Limits) -> Option<usize> {
        let (from, to) = pipe().unwrap();
        let child = sys::fork().unwrap();
        if child == 0 {
            work(to);
            sys::exit_now(0);
        }
        // SAFETY: this test's own descriptor.
        unsafe { libc::close(to) };
        let got = Patience::new(child, limits).read(from, &mut [0; 8]);
        sys::kill(child, libc::SIGKILL);
        wait(child);
        // SAFETY: this test's own descriptor.
        unsafe { libc::close(from) };
        got
    }

    fn say(to: RawFd) {
        // SAFETY: three readable bytes.
        unsafe { libc::write(to, c"ok\n".as_ptr().cast(), 3) };
    }

    #[test]
    fn a_child_that_computes_in_silence_is_waited_for() {
        // Ten times as long as a silent child would be waited for, of processor time.
        let work = |to: RawFd| {
            let own = || {
                // SAFETY: all-zero is a valid `timespec`.
                let mut time: libc::timespec = unsafe { std::mem::zeroed() };
                // SAFETY: `time` is writable.
                unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
                time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
            };
            while own() < 2000 {}
            say(to);
        };
        assert_eq!(read_of(work, Limits { idle: 200, whole: 600_000 }), Some(3));
    }

    #[test]
    fn a_child_that_sleeps_is_given_up_and_so_is_one_that_computes_for_ever() {
        let sleep = |_| {
            loop {
                sys::pause()
            }
        };
        assert_eq!(read_of(sleep, Limits { idle: 200, whole: 600_000 }), None);
        let spin = |_| {
            loop {
                std::hint::spin_loop()
            }
        };
        assert_eq!(read_of(spin, Limits { idle: 60_000, whole: 300 }), None);
        assert_eq!(read_of(|_| {}, Limits { idle: 60_000, whole: 60_000 }), Some(0));
    }
}
