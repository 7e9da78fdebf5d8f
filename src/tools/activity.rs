//! Whether another process works, by async-signal-safe calls alone, without allocation.
//!
//! Its processor time comes from a system call that takes its number as this process knows it. What it waits for is in `/proc` only.
//! There it may have another number, or be missing: `/proc` may belong to another PID namespace, hide processes, or not be mounted.
//! Then its processor time alone counts.

#![allow(unsafe_code)] // system calls

use super::child::Text;
use crate::os::sys;
use libc::c_int;
use std::ffi::CStr;
use std::fmt::Write as _;
use std::os::fd::RawFd;

/// A process that is looked at again and again. It is not awaited before the last look.
pub struct Activity {
    pid: i32,
    // Its file `stat` in /proc (proc(5)); negative: there is none.
    stat: RawFd,
    // Its processor time at the last look: by its clock in ns, by `stat` in ticks.
    clock: u64,
    ticks: u64,
}

impl Activity {
    /// Of a child of this process.
    pub fn of(pid: i32) -> Activity {
        let stat = number_in_proc(pid).map_or(-1, |number| {
            let mut path = Text::<40>::default();
            let _ = write!(path, "/proc/{number}/stat");
            open(path.as_c_str())
        });
        Activity { pid, stat, clock: 0, ticks: 0 }
    }

    /// Whether it has computed since the last look, or waits for a processor or a disk.
    pub fn is_seen(&mut self) -> bool {
        let clock = clock_of(self.pid).unwrap_or(0);
        let (state, ticks) = state_and_ticks(self.stat).unwrap_or((b'?', 0));
        let before = (std::mem::replace(&mut self.clock, clock), std::mem::replace(&mut self.ticks, ticks));
        before != (clock, ticks) || matches!(state, b'R' | b'D')
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        close(self.stat);
    }
}

/// Whether `/proc` has this process under the number that system calls know it by. Tools that look at processes rely on that.
pub fn proc_knows_this_process() -> bool {
    number_in_proc(sys::pid()) == Some(sys::pid())
}

/// The number that `/proc` gives to process `pid`; `None`: it does not have it.
fn number_in_proc(pid: i32) -> Option<i32> {
    // SAFETY: pidfd_open takes two integers.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as RawFd;
    if process < 0 {
        // The kernel is old, or a filter refuses the call. If /proc counts as this process does, the number is the same.
        return (own_number()? == sys::pid()).then_some(pid);
    }
    let mut path = Text::<40>::default();
    let _ = write!(path, "/proc/self/fdinfo/{process}");
    let mut buffer = [0; 512];
    let text = contents(open(path.as_c_str()), &mut buffer);
    close(process);
    let at = text.windows(5).position(|word| word == b"\nPid:")? + 5;
    let digits = text[at..].trim_ascii_start();
    // 0: it is outside of the namespace of /proc; -1: it has been awaited.
    (digits.first()?.is_ascii_digit()).then(|| leading_number(digits) as i32).filter(|number| *number > 0)
}

/// The number that `/proc` gives to this process.
fn own_number() -> Option<i32> {
    let mut name = [0u8; 16];
    // SAFETY: a C string, and `name` is writable for its length.
    let got = unsafe { libc::readlink(c"/proc/self".as_ptr(), name.as_mut_ptr().cast(), name.len()) };
    (got > 0).then(|| leading_number(&name[..got as usize]) as i32)
}

/// The processor time of all threads of process `pid`, in ns (clock_getcpuclockid(3)).
fn clock_of(pid: i32) -> Option<u64> {
    const OF_PROCESS: c_int = 2;
    // SAFETY: all-zero is a valid `timespec`.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is writable. The kernel refuses a number that no process has.
    let got = unsafe { libc::clock_gettime((!pid << 3) | OF_PROCESS, &mut time) };
    (got == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// State, and processor time with that of the children that it has awaited (proc(5), stat).
fn state_and_ticks(stat: RawFd) -> Option<(u8, u64)> {
    let mut buffer = [0; 512];
    let text = contents_at_start(stat, &mut buffer);
    // The name of the program, in brackets, may contain anything.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = text[end + 1..].split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    Some((state, fields.skip(10).take(4).map(leading_number).fold(0, u64::wrapping_add)))
}

fn leading_number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

fn open(path: &CStr) -> RawFd {
    // SAFETY: a C string.
    unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) }
}

fn close(file: RawFd) {
    if file >= 0 {
        // SAFETY: a descriptor of this module's own.
        unsafe { libc::close(file) };
    }
}

fn contents_at_start(file: RawFd, buffer: &mut [u8]) -> &[u8] {
    // SAFETY: `buffer` is writable for its length. The kernel refuses a negative descriptor.
    let got = unsafe { libc::pread(file, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    &buffer[..usize::try_from(got).unwrap_or(0)]
}

/// The first bytes of a file, which is closed.
fn contents(file: RawFd, buffer: &mut [u8]) -> &[u8] {
    let text = contents_at_start(file, buffer);
    close(file);
    text
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::tools::child::wait;

    /// Has `check` succeed in a process of its own, for which `prepare` changes what it sees of the system. False: it may not.
    fn apart(prepare: fn() -> bool, check: fn() -> bool) -> bool {
        const REFUSED: c_int = 2;
        let child = sys::fork().unwrap();
        if child == 0 {
            if !prepare() {
                sys::exit_now(REFUSED);
            }
            // The first process of a new namespace, if there is one.
            let inner = sys::fork().unwrap_or(-1);
            if inner == 0 {
                sys::exit_now((!check()).into());
            }
            sys::exit_now(wait(inner).unwrap_or(1));
        }
        let status = wait(child);
        assert!(matches!(status, Some(0 | REFUSED)), "{status:?}");
        if status == Some(REFUSED) {
            eprintln!("this system gives no namespaces to users: not tried");
        }
        status == Some(0)
    }

    fn unshared(what: c_int) -> bool {
        // SAFETY: unshare takes an integer, and this process has one thread.
        unsafe { libc::unshare(libc::CLONE_NEWUSER | what) == 0 }
    }

    /// Whether a child that computes for ever is seen to work, and one that sleeps is not.
    fn is_told_apart() -> bool {
        let becomes = |seen: bool, work: fn()| {
            let child = sys::fork().unwrap_or(-1);
            if child == 0 {
                loop {
                    work();
                }
            }
            let mut activity = Activity::of(child);
            activity.is_seen(); // what it did at its start
            let told = (0..600).any(|_| {
                sys::nap(std::time::Duration::from_millis(100));
                activity.is_seen() == seen
            });
            sys::kill(child, libc::SIGKILL);
            wait(child);
            told
        };
        becomes(true, std::hint::spin_loop) && becomes(false, sys::pause)
    }

    #[test]
    fn a_child_that_works_is_told_from_one_that_sleeps() {
        fn is_alike() -> bool {
            proc_knows_this_process() && own_number() == Some(sys::pid())
        }
        assert!(apart(|| true, || is_alike() && is_told_apart()));
    }

    #[test]
    fn so_it_is_where_proc_belongs_to_the_namespace_above() {
        fn is_elsewhere() -> bool {
            let number = number_in_proc(sys::pid());
            sys::pid() == 1 && number.is_some_and(|number| number > 1) && !proc_knows_this_process()
        }
        apart(|| unshared(libc::CLONE_NEWPID), || is_elsewhere() && is_told_apart());
    }

    /// Mounts an empty directory over `/proc`.
    fn hide_proc() -> bool {
        let (nothing, private) = (std::ptr::null::<libc::c_void>(), libc::MS_REC | libc::MS_PRIVATE);
        // SAFETY: two C strings; the kernel takes null pointers for what these flags do not need.
        let apart = unsafe { libc::mount(c"none".as_ptr(), c"/".as_ptr(), nothing.cast(), private, nothing) };
        // SAFETY: three C strings, and no options.
        let over = unsafe { libc::mount(c"none".as_ptr(), c"/proc".as_ptr(), c"tmpfs".as_ptr(), 0, nothing) };
        apart == 0 && over == 0
    }

    #[test]
    fn so_it_is_where_there_is_no_proc() {
        fn is_hidden() -> bool {
            number_in_proc(sys::pid()).is_none() && !proc_knows_this_process()
        }
        apart(|| unshared(libc::CLONE_NEWNS) && hide_proc(), || is_hidden() && is_told_apart());
    }
}
