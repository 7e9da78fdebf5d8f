//! A command that reaches a host, or an agent: how the launcher, its branches and standing agents start one, and how it ended.

#![allow(unsafe_code)] // processes
#![allow(dead_code)] // each command uses a part

use gasnet_sci::os::{limit, sys};
use gasnet_sci::supervise::signals::signal_name;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The argument that makes `gasnetrun_sci` an agent.
pub const AGENT: &str = "--agent";

/// What such commands get of the process that starts them.
#[derive(Clone, Copy)]
pub struct Inherited {
    /// The signals that are blocked.
    pub mask: sys::SignalSet,
    /// The limit on descriptors.
    pub descriptors: (u64, u64),
}

impl Inherited {
    /// As it is now.
    pub fn now() -> Inherited {
        Inherited { mask: sys::SignalSet::new(&[]).apply(libc::SIG_BLOCK), descriptors: limit::descriptors() }
    }

    /// Starts a command with three pipes, away from the terminal ([`leave_terminal`]). It dies with this process; the agent behind it
    /// then finds the channel closed.
    pub fn start(self, words: &[OsString]) -> io::Result<Child> {
        let Some((program, arguments)) = words.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let prepare = move || {
            limit::set_descriptors(self.descriptors);
            self.mask.apply(libc::SIG_SETMASK);
            leave_terminal();
            sys::signal_at_parents_end(libc::SIGKILL)
        };
        // SAFETY: `prepare` makes async-signal-safe calls only.
        unsafe { command.pre_exec(prepare) };
        command.spawn()
    }
}

/// Puts this process into a process group of its own, without terminal. Signals of the terminal do not reach it then: the launcher
/// passes them on. Without a terminal ssh fails where it would ask for a password.
///
/// It stays in its session, because Linux schedules each session as a group (autogroup), and a group may starve for seconds while
/// nodes of another one sleep and wake often (6.18 before 6.18.45). Agents that a local command starts would be several groups: with
/// two of them and 2 nodes each on 2 cores, 3 runs of 10 of ex-testrma lost an agent, and the others took 59 to 85 s instead of 28 to
/// 36 (Linux 6.18.44, 2026-11).
fn leave_terminal() {
    // All calls are async-signal-safe.
    // SAFETY: setpgid takes integers.
    unsafe { libc::setpgid(0, 0) };
    // SAFETY: the path is a constant.
    let terminal =
        unsafe { libc::open(c"/dev/tty".as_ptr(), libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC) };
    if terminal >= 0 {
        // SAFETY: this request takes no argument; the descriptor is closed at exec.
        unsafe { libc::ioctl(terminal, libc::TIOCNOTTY) };
    }
}

/// Kills a command that runs. Without an agent that has answered, all that it has started goes with it, unless that has left its process
/// group; an agent ends by itself, and what it supervises with it.
pub fn end(child: &Child, has_answered: bool) {
    let pid = child.id() as i32;
    sys::kill(if has_answered { pid } else { -pid }, libc::SIGKILL);
}

/// The end of a command; an error: the kernel does not tell, and it counts as ended.
pub type End = io::Result<ExitStatus>;

/// The command's end, if it has ended.
pub fn end_of(child: &mut Child) -> Option<End> {
    child.try_wait().transpose()
}

/// How a command has ended. `None`: it runs, but has closed its output.
pub fn fate(end: Option<&End>) -> String {
    let status = match end {
        Some(Err(error)) => return format!("cannot be waited for: {error}"),
        Some(Ok(status)) => Some((status.code(), status.signal())),
        None => None,
    };
    match status {
        Some((Some(code), _)) => format!("ended with status {code}"),
        Some((_, Some(signal))) => format!("was killed by signal {}", signal_name(signal)),
        _ => "has closed its output".into(),
    }
}
