//! Safe interfaces to the system calls that the library needs and std lacks. Those about signals and processors are
//! in `signal` and `cpus`. Must not know: what they are used for.

#![allow(unsafe_code)] // system calls

pub use super::cpus::*;
pub use super::signal::*;
use crate::sync::AtomicU32;
use libc::{c_int, c_void};
use rustix::fs::{self, FlockOperation, MemfdFlags, Mode, SealFlags};
use rustix::io::{Errno, FdFlags};
use rustix::net::SendFlags;
use rustix::process::{Pid, PidfdFlags};
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io, ptr};

/// fcntl(2): the signal that replaces SIGIO. libc lacks it for glibc targets.
const F_SETSIG: c_int = 10;

/// An error that names the call which failed. Errors of std say only why, so a user cannot see what was refused.
#[derive(Debug)]
struct Refused {
    call: &'static str,
    error: io::Error,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.error)?;
        let is_forbidden = matches!(self.error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS));
        match is_forbidden && FILTERED.contains(&self.call) {
            true => {
                f.write_str("; this container or kernel forbids the call: allow it in the container's seccomp profile")
            }
            false => Ok(()),
        }
    }
}

/// Calls that need no rights. Where they are not permitted, a seccomp filter is the reason.
const FILTERED: [&str; 7] =
    ["memfd_create", "sched_setaffinity", "set_mempolicy", "pidfd_open", "poll", "signalfd", "wait4"];

impl std::error::Error for Refused {}

/// Adds the name of the call to an error; for `map_err`.
pub fn refused<E: Into<io::Error>>(call: &'static str) -> impl Fn(E) -> io::Error {
    move |error| {
        let error = error.into();
        io::Error::new(error.kind(), Refused { call, error })
    }
}

/// The errno of an error, named or not.
pub fn errno(error: &io::Error) -> Option<c_int> {
    let named = error.get_ref().and_then(|inner| inner.downcast_ref::<Refused>());
    named.map_or_else(|| error.raw_os_error(), |refused| refused.error.raw_os_error())
}

/// The result of a call, or its error together with its name.
pub(super) fn check(call: &'static str, result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(refused(call)(io::Error::last_os_error())) } else { Ok(result) }
}

/// This process's number.
pub fn pid() -> i32 {
    std::process::id() as i32
}

/// Makes `run` run in each child that this process forks from now on, before `fork` returns there.
///
/// # Errors
/// The C library has no memory for it.
pub fn on_fork_in_child(run: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the library stays loaded, and with it the function.
    match unsafe { libc::pthread_atfork(None, None, Some(run)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Effective user id.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The loader's name of the object that holds this code.
pub(super) fn own_object() -> Option<&'static CStr> {
    // SAFETY: all-zero is a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts any address; `info` is writable.
    let found = unsafe { libc::dladdr(own_object as *const c_void, &mut info) };
    // SAFETY: a C string that belongs to the loader and stays as long as the code does.
    (found != 0 && !info.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(info.dli_fname) })
}

/// The file that this code was loaded from: the shared library or the program.
pub fn own_code() -> Option<PathBuf> {
    let name = PathBuf::from(OsStr::from_bytes(own_object()?.to_bytes()));
    // For a program the loader knows only the name by which it was called.
    if name.to_str().is_some_and(|name| name.contains(".so")) { Some(name) } else { std::env::current_exe().ok() }
}

/// The number of the parent process.
pub fn parent_pid() -> i32 {
    std::os::unix::process::parent_id() as i32
}

/// This thread's number.
pub fn thread_id() -> u32 {
    // SAFETY: no arguments; always succeeds.
    unsafe { libc::gettid() as u32 }
}

/// Ends the process without exit handlers. Async-signal-safe.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit may be called anywhere and runs no user code.
    unsafe { libc::_exit(code) }
}

/// Sleeps until a signal handler has run, or longer. Async-signal-safe.
pub fn pause() {
    // SAFETY: no arguments.
    unsafe { libc::pause() };
}

/// Sleeps for `time`, or until a signal arrives. Async-signal-safe.
pub fn nap(time: Duration) {
    let time = timespec(time);
    // SAFETY: `time` is valid; a null pointer for the remainder is allowed.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
}

/// How long to sleep if the kernel refuses a call that would wait: short compared with the wait, long compared with
/// one look.
const NAP: Duration = Duration::from_millis(1);

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// Nanoseconds of a clock that never jumps. Async-signal-safe.
pub fn clock_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// As [`clock_ns`], a quarter of its cost (5 instead of 22 ns), but exact to the system's tick only: 1 to 10 ms.
pub fn coarse_clock_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC_COARSE)
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both clocks exist on every Linux, and `now` is writable.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The processor's counter, which advances at a constant rate. Not every processor's is the same on all cores.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn counter() -> u64 {
    // SAFETY: every x86-64 cpu has the instruction, and Linux allows it in user programs.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The processor's counter, which advances at a constant rate.
#[cfg(target_arch = "aarch64")]
#[inline]
pub fn counter() -> u64 {
    let count;
    // SAFETY: reads a register that Linux opens to user programs. The barrier keeps the reading in its place.
    unsafe { std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) count, options(nostack, preserves_flags)) };
    count
}

/// The clock in nanoseconds, in place of a counter.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn counter() -> u64 {
    clock_ns()
}

/// A number that no other thread of this process has while this one lives; never 0. It is the address of the thread's control block.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn thread_number() -> usize {
    let number;
    // SAFETY: the psABI has the address of a thread's control block at its beginning, where fs points to.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) number, options(nostack, pure, readonly, preserves_flags)) };
    number
}

/// A number that no other thread of this process has while this one lives; never 0. It is the address of the thread's control block.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn thread_number() -> usize {
    let number;
    // SAFETY: reads the register that has the address of the thread's control block.
    unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) number, options(nostack, nomem, pure, preserves_flags)) };
    number
}

/// A number that no other thread of this process has while this one lives; never 0.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn thread_number() -> usize {
    thread_local! { static HERE: u8 = const { 0 } }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// Milliseconds of the same clock. Async-signal-safe.
pub fn clock_ms() -> u64 {
    clock_ns() / 1_000_000
}

/// 64 random bits; from clock and pid if the kernel gives none.
pub fn random() -> u64 {
    secret().unwrap_or_else(|_| clock_ms() << 32 | pid() as u64)
}

/// 64 random bits that nobody can guess. Waits for the kernel if it has just started.
pub fn secret() -> io::Result<u64> {
    getrandom::u64().map_err(refused("getrandom"))
}

/// A memory file without a name in any file system, closed on exec. If the kernel has seals, no process can shorten
/// it, which would make another process's accesses end with SIGBUS. Nor can one forbid others to write to it or to
/// extend it.
pub fn memfd() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = fs::memfd_create(c"gasnet-sci-job", flags).map_err(refused("memfd_create"))?;
    // A job works without the seals too.
    let _ = fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::SEAL);
    // The kernel gives the file the mode 0777, which counts for processes that may open /proc/PID/fd.
    let _ = fs::fchmod(&fd, Mode::RUSR | Mode::WUSR);
    Ok(fd)
}

/// Whether this process has rights that its caller lacks (setuid, setgid, file capabilities; getauxval(3),
/// AT_SECURE). Then another user has chosen its environment, descriptors and working directory.
pub fn is_privileged() -> bool {
    // SAFETY: getauxval takes an integer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Maps `len` bytes of `fd`, shared and writable, for the life of the process.
pub fn map_forever(fd: BorrowedFd<'_>, len: usize) -> io::Result<*mut c_void> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
    let at = unsafe { libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED { Err(refused("mmap")(io::Error::last_os_error())) } else { Ok(at) }
}

/// Sleeps while `*word == expected`, at most for `timeout`; may wake early. Works between processes. If the system
/// refuses the futex it sleeps for a moment, so that a thread that waits in a loop leaves the core to others.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let limit = timespec(timeout);
    let word = ptr::from_ref(word);
    // SAFETY: `word` is a live aligned 4-byte word and `limit` is valid. FUTEX_WAIT does not use the other arguments.
    let slept =
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, expected, &raw const limit, 0usize, 0) };
    let usual = [libc::EAGAIN, libc::EINTR, libc::ETIMEDOUT].map(Some);
    if slept < 0 && !usual.contains(&io::Error::last_os_error().raw_os_error()) {
        nap(timeout.min(NAP));
    }
}

/// Wakes every process that sleeps on `word`.
pub fn futex_wake_all(word: &AtomicU32) {
    let word = ptr::from_ref(word);
    // SAFETY: `word` is a live aligned 4-byte word. FUTEX_WAKE does not use the other arguments.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX, 0usize, 0usize, 0) };
}

/// Sets whether the descriptor is closed when the process executes another program.
pub fn set_close_on_exec(fd: BorrowedFd<'_>, close: bool) -> io::Result<()> {
    let flags = if close { FdFlags::CLOEXEC } else { FdFlags::empty() };
    rustix::io::fcntl_setfd(fd, flags).map_err(refused("fcntl"))
}

/// Makes reads and writes fail with `WouldBlock` instead of waiting.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    rustix::io::ioctl_fionbio(fd, true).map_err(refused("ioctl"))
}

/// A copy of `fd`, closed on exec. Its number is at least `lowest` if the limits allow that, else any.
pub fn duplicate_high(fd: BorrowedFd<'_>, lowest: RawFd) -> io::Result<OwnedFd> {
    let duplicate = |lowest| rustix::io::fcntl_dupfd_cloexec(fd, lowest);
    duplicate(lowest).or_else(|_| duplicate(3)).map_err(refused("fcntl"))
}

/// Gives the calling thread a table of descriptors of its own, with only `kept` in it. What other threads close or open
/// from now on does not concern it.
pub fn own_descriptors(kept: &[RawFd]) -> io::Result<()> {
    // SAFETY: it takes an integer. No other thread uses this thread's descriptors.
    check("unshare", unsafe { libc::unshare(libc::CLONE_FILES) })?;
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    let mut first = 0u32;
    for end in kept.into_iter().map(|fd| fd as u32).chain([u32::MAX]) {
        if first < end {
            // SAFETY: it closes descriptors in this thread's own table, where nobody uses them. A kernel without it
            // keeps them open until the process ends.
            unsafe { libc::syscall(libc::SYS_close_range, first, end - 1, 0) };
        }
        first = end.saturating_add(1);
    }
    Ok(())
}

/// Closes all these descriptors: runs of numbers by one call each.
pub fn close_all(descriptors: Vec<OwnedFd>) {
    let mut numbers: Vec<RawFd> = descriptors.into_iter().map(OwnedFd::into_raw_fd).collect();
    numbers.sort_unstable();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        // SAFETY: it closes descriptors that this function owns.
        if unsafe { libc::syscall(libc::SYS_close_range, run[0], run[run.len() - 1], 0) } == 0 {
            continue;
        }
        // SAFETY: as above. The kernel has no such call, or it is forbidden: then it has closed none of them.
        run.iter().for_each(|fd| _ = unsafe { libc::close(*fd) });
    }
}

/// Makes descriptor `target` (0, 1 or 2) a copy of `fd`.
pub fn redirect(fd: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    // SAFETY: dup2 touches no memory; no object in this process owns the standard descriptors.
    check("dup2", unsafe { libc::dup2(fd.as_raw_fd(), target) }).map(drop)
}

/// Makes the kernel send this process `signal` when the other end of the pipe `fd` is closed.
pub fn signal_at_hangup(fd: BorrowedFd<'_>, signal: c_int) -> io::Result<()> {
    // SAFETY: F_SETOWN takes an integer.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETOWN, pid()) })?;
    // SAFETY: F_SETSIG takes an integer.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), F_SETSIG, signal) })?;
    // SAFETY: F_SETFL takes an integer.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC) }).map(drop)
}

/// The process that [`signal_at_hangup`] has tied to the pipe of which `fd` is the reading end, by its number in this process's PID
/// namespace, whatever namespace it is in. `None`: none is tied, or it has no number here. Of one that has ended Linux says `None` from
/// 5.12 on, and the old number before, which another process may have by then.
pub fn tied_to(fd: BorrowedFd<'_>) -> Option<i32> {
    // SAFETY: F_GETOWN takes no argument and touches no memory.
    let pid = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETOWN) };
    (pid > 0).then_some(pid)
}

/// Holds `file` as this process's until it is closed (flock(2)), for [`is_held`]. False if another process holds it.
pub fn hold(file: BorrowedFd<'_>) -> bool {
    fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether a process holds `file`, which the caller has opened. The kernel ends that with the process, in whatever namespace it is.
pub fn is_held(file: BorrowedFd<'_>) -> bool {
    fs::flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// Makes the kernel send this process `signal` when the thread that forked it ends.
pub fn signal_at_parents_end(signal: c_int) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes an integer.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) }).map(drop)
}

/// Makes orphans among this process's descendants its children, or no longer. fork does not pass this on.
pub fn adopt_orphans(adopt: bool) {
    // An old kernel refuses. Then the per-node lifelines have more work, which is no error.
    // SAFETY: PR_SET_CHILD_SUBREAPER takes an integer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, i32::from(adopt)) };
}

/// poll(2) for at most `timeout` (`None`: without limit). An interruption counts as nothing ready. If the kernel
/// refuses because it lacks memory, this sleeps for a moment and returns the error, so the caller may try again in a
/// loop.
pub fn poll(set: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map_or(-1, |t| t.as_micros().div_ceil(1000).min(i32::MAX as u128) as c_int);
    // SAFETY: `set` is a slice of valid entries that the kernel may update.
    let ready = unsafe { libc::poll(set.as_mut_ptr(), set.len() as libc::nfds_t, timeout) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        set.iter_mut().for_each(|entry| entry.revents = 0);
        if error.raw_os_error() != Some(libc::EINTR) {
            nap(NAP);
            return Err(refused("poll")(error));
        }
    }
    Ok(())
}

/// What poll(2) says about one descriptor now; 0: nothing, or the kernel refused.
pub fn poll_one(fd: BorrowedFd<'_>, events: i16) -> i16 {
    let mut set = [libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }];
    let _ = poll(&mut set, Some(Duration::ZERO));
    set[0].revents
}

/// Waits until one of at most four descriptors is readable, at most `timeout`, to the nanosecond. Returns early on signals. Says which of them
/// are readable, or have ended.
pub fn await_readable(list: &[RawFd], timeout: Duration) -> [bool; 4] {
    let mut set = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 4];
    set.iter_mut().zip(list).for_each(|(entry, fd)| entry.fd = *fd);
    let limit = timespec(timeout);
    // SAFETY: the set and the limit live during the call; no signal mask is passed.
    unsafe { libc::ppoll(set.as_mut_ptr(), set.len() as libc::nfds_t, &limit, std::ptr::null()) };
    set.map(|entry| entry.revents != 0)
}

/// A descriptor that becomes readable when process `pid` ends.
pub fn pidfd(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid.max(0)).ok_or(Errno::SRCH);
    pid.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty())).map_err(refused("pidfd_open"))
}

/// A child that has ended, with its wait status; `None` if there is none.
///
/// # Errors
/// The kernel refuses to tell.
pub fn reap() -> io::Result<Option<(i32, c_int)>> {
    match look_at_child(-1, libc::WNOHANG) {
        Err(error) if errno(&error) == Some(libc::ECHILD) => Ok(None),
        found => found,
    }
}

/// Wait status of child `pid` if it has ended or stopped since the last look.
///
/// # Errors
/// The kernel refuses to tell, or there is no such child.
pub fn child_status(pid: i32) -> io::Result<Option<c_int>> {
    Ok(look_at_child(pid, libc::WNOHANG | libc::WUNTRACED)?.map(|(_, status)| status))
}

fn look_at_child(pid: i32, flags: c_int) -> io::Result<Option<(i32, c_int)>> {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let found = check("wait4", unsafe { libc::waitpid(pid, &mut status, flags) })?;
    Ok((found > 0).then_some((found, status)))
}

/// Whether this process is in the foreground of terminal `fd`.
pub fn is_in_foreground(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: tcgetpgrp takes an integer.
    unsafe { libc::tcgetpgrp(fd.as_raw_fd()) == process_group(0) }
}

/// Process group of `pid` (0: this process); -1 if there is no such process.
pub fn process_group(pid: i32) -> i32 {
    // SAFETY: getpgid takes an integer.
    unsafe { libc::getpgid(pid) }
}

/// Waits for the end of child `pid`.
pub fn reap_one(pid: i32) {
    // SAFETY: a null pointer for the status is allowed.
    unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
}

/// Writes to a socket without waiting.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
}

/// One write(2) to stderr. A failure cannot be reported anywhere. Async-signal-safe.
pub fn write_stderr(bytes: &[u8]) {
    // SAFETY: `bytes` is readable.
    unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
}

/// fork(2); returns 0 in the child.
pub fn fork() -> io::Result<i32> {
    // SAFETY: the child continues with the only thread that it has. Callers warn if there were more (glibc keeps
    // malloc and stdio usable across fork).
    check("fork", unsafe { libc::fork() })
}

/// Writes out what C's stdio has buffered, so that after a fork it is not written twice.
pub fn flush_all_stdio() {
    // SAFETY: NULL means all streams.
    unsafe { libc::fflush(ptr::null_mut()) };
}

/// Executes another program in this process, with its environment. Returns only on failure.
pub fn execute(path: &CStr, argv: &[CString]) -> io::Error {
    let mut pointers: Vec<*const libc::c_char> = argv.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: `path` and the NULL-terminated `pointers` are C strings that live across the call.
    unsafe { libc::execv(path.as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}
