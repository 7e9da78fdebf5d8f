//! Signals: sending them, receiving them, and what happens when they arrive. Must not know: what they mean to a job.

#![allow(unsafe_code)] // system calls

use super::sys::{check, pid};
use libc::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;
use std::{io, ptr};

/// kill(2). False if there is no such process. Async-signal-safe.
pub fn kill(pid: i32, signal: c_int) -> bool {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(pid, signal) == 0 }
}

/// Runs `signal`'s action on this thread, unless the thread blocks it. Async-signal-safe.
pub fn raise(signal: c_int) {
    // SAFETY: raise touches no memory itself; a handler keeps to its own contract.
    unsafe { libc::raise(signal) };
}

/// Sends `signal` with SI_QUEUE and `marker` for its handler. False if there is no such process.
pub fn queue_signal(pid: i32, signal: c_int, marker: usize) -> bool {
    let value = libc::sigval { sival_ptr: marker as *mut c_void };
    // SAFETY: sigqueue only passes `value` on.
    unsafe { libc::sigqueue(pid, signal, value) == 0 }
}

/// Sends `signal`, 0 for none, to the process behind a descriptor of [`super::sys::pidfd`], as [`queue_signal`] does. The number of the process
/// may be another's by now, which gets nothing.
///
/// # Errors
/// ESRCH: the process has ended, and its status was taken. ENOSYS, or EPERM of a filter: the kernel has no such call.
pub fn queue_signal_at(process: BorrowedFd<'_>, signal: c_int, marker: usize) -> io::Result<()> {
    #[repr(C)]
    struct Queued {
        number: c_int,
        errno: c_int,
        code: c_int,
        gap: c_int,
        pid: libc::pid_t,
        user: libc::uid_t,
        value: usize,
        rest: [u64; 12],
    }
    const _: () = assert!(size_of::<Queued>() == size_of::<libc::siginfo_t>(), "sigqueue's part of siginfo_t");
    // SAFETY: getuid takes no argument.
    let user = unsafe { libc::getuid() };
    let (pid, code) = (pid(), libc::SI_QUEUE);
    let info = Queued { number: signal, errno: 0, code, gap: 0, pid, user, value: marker, rest: [0; 12] };
    // SAFETY: `info` is laid out as the kernel's siginfo_t and lives during the call.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, &raw const info, 0) };
    check("pidfd_send_signal", sent as c_int).map(drop)
}

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// The set of `signals`. Async-signal-safe.
    pub fn new(signals: &[c_int]) -> SignalSet {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `set` is writable; sigemptyset initialises all of it.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: initialised above.
        let mut set = unsafe { set.assume_init() };
        for signal in signals {
            // SAFETY: `set` is initialised; a wrong number is refused by an error.
            unsafe { libc::sigaddset(&mut set, *signal) };
        }
        SignalSet(set)
    }

    /// Every signal. Async-signal-safe.
    pub fn all() -> SignalSet {
        let mut set = SignalSet::new(&[]);
        // SAFETY: `set` is writable.
        unsafe { libc::sigfillset(&mut set.0) };
        set
    }

    /// Every signal but those of faults, which a thread that blocks them would die of without a message.
    pub fn all_but_faults() -> SignalSet {
        let mut set = SignalSet::all();
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
            // SAFETY: `set` is initialised; a wrong number is refused by an error.
            unsafe { libc::sigdelset(&mut set.0, fault) };
        }
        set
    }

    /// Changes this thread's mask as `how` says (SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK). Returns the mask before.
    pub fn apply(&self, how: c_int) -> SignalSet {
        let mut old = SignalSet::new(&[]);
        // SAFETY: both sets are initialised.
        unsafe { libc::pthread_sigmask(how, &self.0, &mut old.0) };
        old
    }

    /// The set in the kernel's form.
    pub fn into_raw(self) -> libc::sigset_t {
        self.0
    }

    /// A descriptor from which these signals can be read. They must be blocked.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is initialised.
        let fd = check("signalfd", unsafe { libc::signalfd(-1, &self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: the kernel just gave us this descriptor.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// Whether `signal` is blocked and has arrived.
pub fn is_pending(signal: c_int) -> bool {
    let SignalSet(mut set) = SignalSet::new(&[]);
    // SAFETY: `set` is writable.
    unsafe { libc::sigpending(&mut set) };
    // SAFETY: `set` is initialised.
    unsafe { libc::sigismember(&set, signal) == 1 }
}

/// Reads one signal from a [`SignalSet::descriptor`].
pub fn read_signal(fd: BorrowedFd<'_>) -> Option<libc::signalfd_siginfo> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: `info` has `size` writable bytes.
    let got = unsafe { libc::read(fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
    // SAFETY: plain integers, for which any bytes are valid.
    (got == size as isize).then(|| unsafe { info.assume_init() })
}

/// What happens when `signal` arrives; `None` if the number is not that of a signal. Async-signal-safe.
pub fn disposition(signal: c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action changes nothing; `action` is writable.
    let result = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroed above, which is a valid value of every field.
    (result == 0).then(|| unsafe { action.assume_init() })
}

/// Whether this process ignores `signal`.
pub fn is_ignored(signal: c_int) -> bool {
    disposition(signal).is_some_and(|a| a.sa_sigaction == libc::SIG_IGN)
}

/// Whether `signal` has its default action in this process.
pub fn is_default(signal: c_int) -> bool {
    disposition(signal).is_some_and(|a| a.sa_sigaction == libc::SIG_DFL)
}

/// Sets `signal` to SIG_IGN or SIG_DFL. Async-signal-safe.
pub fn set_plain(signal: c_int, action: libc::sighandler_t) {
    assert!(action == libc::SIG_IGN || action == libc::SIG_DFL);
    // SAFETY: SIG_IGN and SIG_DFL run no code.
    unsafe { libc::signal(signal, action) };
}

/// A signal handler in the three-argument form.
pub type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Installs `handler`. It runs on the alternate stack if the thread has one, and the kernel restarts interrupted
/// system calls. `handler` must be async-signal-safe. This function is too.
pub fn set_handler(signal: c_int, handler: Handler) {
    let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    let SignalSet(mask) = SignalSet::new(&[]);
    let action = libc::sigaction {
        sa_sigaction: handler as libc::sighandler_t,
        sa_mask: mask,
        sa_flags: flags,
        sa_restorer: None,
    };
    restore_disposition(signal, &action);
}

/// Restores what [`disposition`] returned.
pub fn restore_disposition(signal: c_int, action: &libc::sigaction) {
    // SAFETY: `action` is complete; its handler, if any, was installed before or is async-signal-safe by contract.
    unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
}

/// Sends SIGALRM once, after `time`. Zero cancels it. Async-signal-safe.
pub fn set_alarm(time: Duration) {
    restore_alarm(&timer(time));
}

fn timer(time: Duration) -> libc::itimerval {
    let value = |time: Duration| libc::timeval { tv_sec: time.as_secs() as i64, tv_usec: time.subsec_micros().into() };
    libc::itimerval { it_interval: value(Duration::ZERO), it_value: value(time) }
}

/// Stops the process's real-time interval timer (`alarm`), and returns what was left of it.
pub fn take_alarm() -> libc::itimerval {
    let mut left = timer(Duration::ZERO);
    // SAFETY: both timers are valid.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer(Duration::ZERO), &mut left) };
    left
}

/// Starts the interval timer again with what was left.
pub fn restore_alarm(left: &libc::itimerval) {
    // SAFETY: `left` is valid; a null pointer for the old one is allowed.
    unsafe { libc::setitimer(libc::ITIMER_REAL, left, ptr::null_mut()) };
}

/// Blocks signals for the thread, which inherits its creator's mask: the client's signal handlers expect the client's
/// threads. Faults stay unblocked. A copy from or to a wrong address of the client's is then reported like any other fault;
/// a blocked fault would end the process without a message.
pub fn with_all_blocked<T>(f: impl FnOnce() -> T) -> T {
    let old = SignalSet::all_but_faults().apply(libc::SIG_SETMASK);
    let result = f();
    old.apply(libc::SIG_SETMASK);
    result
}
