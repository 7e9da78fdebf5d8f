//! A command that reaches a host: how the launcher and its branches start one, and how it ended.

#![allow(unsafe_code)] // processes

use gasnet_sci::os::sys;
use gasnet_sci::supervise::signals::signal_name;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

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
        Inherited { mask: sys::SignalSet::new(&[]).apply(libc::SIG_BLOCK), descriptors: sys::descriptor_limit() }
    }

    /// Starts a command with three pipes, in a session of its own, so that signals of the terminal do not reach it: the launcher
    /// passes them on. It dies with this process; the agent behind it then finds the channel closed.
    pub fn start(self, words: &[OsString]) -> io::Result<Child> {
        let Some((program, arguments)) = words.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let prepare = move || {
            sys::set_descriptor_limit(self.descriptors);
            self.mask.apply(libc::SIG_SETMASK);
            // SAFETY: setsid takes no arguments.
            unsafe { libc::setsid() };
            sys::signal_at_parents_end(libc::SIGKILL)
        };
        // SAFETY: `prepare` makes async-signal-safe calls only.
        unsafe { command.pre_exec(prepare) };
        command.spawn()
    }
}

/// How a command has ended. `None`: it runs, but has closed its output.
pub fn fate(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("ended with status {code}"),
        Some((_, Some(signal))) => format!("was killed by signal {}", signal_name(signal)),
        _ => "has closed its output".into(),
    }
}
