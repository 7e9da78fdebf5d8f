//! Safe faces of the system calls that the library needs and std lacks; those about signals and processors have files of their
//! own. Must not know what they are used for.

#![allow(unsafe_code)] // system calls

pub use super::cpus::*;
pub use super::signal::*;
use crate::sync::AtomicU32;
use libc::{c_int, c_void};
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io, ptr};

/// fcntl(2): the signal that replaces SIGIO. libc lacks it for glibc targets.
const F_SETSIG: c_int = 10;

/// An error that names the call which failed. (std's say only why, and a user cannot tell what was refused.)
#[derive(Debug)]
struct Refused {
    call: &'static str,
    error: io::Error,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.error)
    }
}

impl std::error::Error for Refused {}

/// Names the call in an error of std; for `map_err`.
pub fn refused(call: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), Refused { call, error })
}

/// The errno of an error, named or not.
pub fn errno(error: &io::Error) -> Option<c_int> {
    let named = error.get_ref().and_then(|inner| inner.downcast_ref::<Refused>());
    named.map_or_else(|| error.raw_os_error(), |refused| refused.error.raw_os_error())
}

/// The result of a call, or its error with its name.
pub(super) fn check(call: &'static str, result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(refused(call)(io::Error::last_os_error())) } else { Ok(result) }
}

/// This process.
pub fn pid() -> i32 {
    // SAFETY: no arguments; always succeeds.
    unsafe { libc::getpid() }
}

/// Effective user id.
pub fn effective_user() -> u32 {
    // SAFETY: no arguments; always succeeds.
    unsafe { libc::geteuid() }
}

/// The file that this code was loaded from, as the loader names it: the shared library, or the program.
pub fn own_code() -> Option<PathBuf> {
    // SAFETY: all-zero is a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: looks an address up; `info` is writable.
    let found = unsafe { libc::dladdr(own_code as *const c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string of the loader's, which stays while the code does.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let name = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    // Of a program the loader knows what it was called by.
    if name.to_str().is_some_and(|name| name.contains(".so")) { Some(name) } else { std::env::current_exe().ok() }
}

/// The parent process.
pub fn parent_pid() -> i32 {
    // SAFETY: no arguments; always succeeds.
    unsafe { libc::getppid() }
}

/// This thread.
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

/// Sleeps; shorter when a signal arrives. Async-signal-safe.
pub fn nap(time: Duration) {
    let time = timespec(time);
    // SAFETY: `time` is valid; the remainder is not asked for.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
}

/// How long to wait when a call that waits is refused: short beside what is waited for, long beside a look at it.
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

/// Milliseconds of the same clock. Async-signal-safe.
pub fn clock_ms() -> u64 {
    clock_ns() / 1_000_000
}

/// 64 random bits; from the clock and pid where the kernel gives none.
pub fn random() -> u64 {
    let mut value = 0u64;
    // SAFETY: `value` has 8 writable bytes.
    let got = unsafe { libc::getrandom((&raw mut value).cast(), 8, libc::GRND_NONBLOCK) };
    if got == 8 { value } else { clock_ms() << 32 | pid() as u64 }
}

/// A memory file without a name in any file system, closed on exec. Where the kernel has seals, no process can shorten it
/// (an access by another's map would then be a SIGBUS), nor forbid others to write to it or to extend it.
pub fn memfd() -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a C string.
    let fd = check("memfd_create", unsafe { libc::memfd_create(c"gasnet-sci-job".as_ptr(), flags) })?;
    // SAFETY: F_ADD_SEALS takes an integer and touches no memory. Without the seals a job works as well.
    unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL) };
    // SAFETY: a descriptor of ours. The kernel makes it everybody's, 0777, which matters to who may open /proc/PID/fd.
    unsafe { libc::fchmod(fd, 0o600) };
    // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Has this process rights that its caller lacks (setuid, setgid, file capabilities; getauxval(3), AT_SECURE)? Then the
/// environment, the descriptors and the working directory are somebody else's choice.
pub fn is_privileged() -> bool {
    // SAFETY: takes an integer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Maps `len` bytes of `fd`, shared and writable, for the life of the process.
pub fn map_forever(fd: BorrowedFd<'_>, len: usize) -> io::Result<*mut c_void> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
    let at = unsafe { libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED { Err(refused("mmap")(io::Error::last_os_error())) } else { Ok(at) }
}

/// Sleeps while `*word == expected`, at most `timeout`; may wake early. Works between processes. Where the system refuses
/// a futex, it naps, so that a thread that waits in a loop leaves the core to others.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let limit = timespec(timeout);
    let word = ptr::from_ref(word);
    // SAFETY: `word` is a live aligned 4-byte word, `limit` is valid; the other arguments are unused by FUTEX_WAIT.
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
    // SAFETY: `word` is a live aligned 4-byte word; FUTEX_WAKE does not use the rest.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX, 0usize, 0usize, 0) };
}

/// Closes (or not) the descriptor when the process runs another program.
pub fn set_close_on_exec(fd: BorrowedFd<'_>, close: bool) -> io::Result<()> {
    let flags = if close { libc::FD_CLOEXEC } else { 0 };
    // SAFETY: F_SETFD takes an integer and touches no memory.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, flags) }).map(drop)
}

/// Reads and writes fail with `WouldBlock` instead of waiting.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: F_GETFL has no argument.
    let flags = check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: F_SETFL takes an integer.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) }).map(drop)
}

/// A copy of `fd`, closed on exec, at a number of at least `lowest` if the limits allow, else anywhere.
pub fn duplicate_high(fd: BorrowedFd<'_>, lowest: RawFd) -> io::Result<OwnedFd> {
    let duplicate = |lowest: RawFd| {
        // SAFETY: F_DUPFD_CLOEXEC takes an integer.
        check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, lowest) })
    };
    let copy = duplicate(lowest).or_else(|_| duplicate(3))?;
    // SAFETY: the kernel just gave us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Makes descriptor `target` (0, 1 or 2) a copy of `fd`.
pub fn redirect(fd: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    // SAFETY: dup2 touches no memory; the standard descriptors are nobody's in particular.
    check("dup2", unsafe { libc::dup2(fd.as_raw_fd(), target) }).map(drop)
}

/// From now on the kernel kills this process when the other end of the pipe `fd` closes.
pub fn kill_me_at_hangup(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: F_SETOWN takes an integer.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETOWN, pid()) })?;
    // SAFETY: F_SETSIG takes an integer.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), F_SETSIG, libc::SIGKILL) })?;
    // SAFETY: F_SETFL takes an integer.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC) }).map(drop)
}

/// From now on the kernel sends this process `signal` when the thread that forked it ends.
pub fn signal_at_parents_end(signal: c_int) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes an integer.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) }).map(drop)
}

/// Orphans among this process's descendants become its children, or no longer. Not inherited by fork.
pub fn adopt_orphans(adopt: bool) {
    // A kernel that cannot only leaves more work to the per-node lifelines.
    // SAFETY: PR_SET_CHILD_SUBREAPER takes an integer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, i32::from(adopt)) };
}

/// poll(2), at most `timeout` (`None`: for ever). An interruption counts as nothing ready. A refusal (the kernel
/// lacks memory) is returned as an error after a nap, so the caller may try again in a loop.
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

/// What poll(2) says about one descriptor now; 0 = nothing, or a refusal.
pub fn poll_one(fd: BorrowedFd<'_>, events: i16) -> i16 {
    let mut set = [libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }];
    let _ = poll(&mut set, Some(Duration::ZERO));
    set[0].revents
}

/// A descriptor that becomes readable when process `pid` ends.
pub fn pidfd(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers.
    let fd = check("pidfd_open", unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as c_int)?;
    // SAFETY: the kernel just gave us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A child that has ended, with its wait status; `None` when none has.
pub fn reap() -> Option<(i32, c_int)> {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
    (pid > 0).then_some((pid, status))
}

/// Wait status of child `pid` if it has ended or stopped since the last look.
pub fn child_status(pid: i32) -> Option<c_int> {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let found = unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG | libc::WUNTRACED) };
    (found == pid).then_some(status)
}

/// Process group of `pid` (0: of this process); -1 when there is no such process.
pub fn process_group(pid: i32) -> i32 {
    // SAFETY: takes an integer.
    unsafe { libc::getpgid(pid) }
}

/// Waits for the end of child `pid`.
pub fn reap_one(pid: i32) {
    // SAFETY: the status is not asked for.
    unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
}

/// Writes to a socket without waiting.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: `bytes` is readable.
    let sent = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// One write(2) to stderr; a failure has nowhere to be told. Async-signal-safe.
pub fn write_stderr(bytes: &[u8]) {
    // SAFETY: `bytes` is readable.
    unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
}

/// Soft and hard limit of a resource; RLIM_INFINITY = none.
pub fn resource_limit(kind: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is writable.
    unsafe { libc::getrlimit(kind, &mut limit) };
    (limit.rlim_cur, limit.rlim_max)
}

/// Soft and hard limit on the number of open descriptors.
pub fn descriptor_limit() -> (u64, u64) {
    resource_limit(libc::RLIMIT_NOFILE)
}

/// Sets the soft limit on open descriptors, keeping the hard one.
pub fn set_descriptor_limit((soft, hard): (u64, u64)) {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: `limit` is valid.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
}

/// fork(2): 0 in the child.
pub fn fork() -> io::Result<i32> {
    // SAFETY: the child goes on with the only thread it has; callers advise when there were more (glibc keeps malloc
    // and stdio usable across fork).
    check("fork", unsafe { libc::fork() })
}

/// Writes out what C's stdio has buffered, so that a fork does not double it.
pub fn flush_all_stdio() {
    // SAFETY: NULL means all streams.
    unsafe { libc::fflush(ptr::null_mut()) };
}

/// Becomes another program, with this process's environment; returns only on failure.
pub fn execute(path: &CStr, argv: &[CString]) -> io::Error {
    let mut pointers: Vec<*const libc::c_char> = argv.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: `path` and the NULL-terminated `pointers` are C strings that live across the call.
    unsafe { libc::execv(path.as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}
