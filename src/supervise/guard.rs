//! A second process above the nodes, so that even SIGKILL of the launcher leaves nothing behind.
//!
//! The launcher's first process becomes the guard, and its child the supervisor, which starts the nodes. What a node started
//! may be anywhere in the process tree; only an ancestor that adopts orphans finds it. There are two of them:
//!
//! 1. The guard dies: the supervisor sees the end of a pipe that only the guard holds, and kills all that descends from it.
//! 2. The supervisor dies: the kernel kills the nodes (see [`super::spawn`]); the guard inherits what they started, and kills
//!    it.
//!
//! Whoever kills both at once gets the nodes all the same, but what they started may stay.
//!
//! For the user the guard is the launcher: it passes on signals, stops when the supervisor stops, and ends with its status.
//! It maps no memory of the job. Must not know: nodes.

use super::signals::signal_name;
use super::spawn::{self, MARKER};
use crate::base::log;
use crate::os::{family, sys};
use libc::c_int;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;

/// Splits this process, which has one thread and no job yet. Returns in the supervisor: with the end of a pipe that is
/// readable once the guard is dead, or `None` where there could be no guard.
pub fn split() -> Option<PipeReader> {
    let strangers = family::own_children();
    let (watched, held) = io::pipe().ok()?;
    let signals: Vec<c_int> = spawn::HANDLED.into_iter().filter(|signal| !sys::is_ignored(*signal)).collect();
    let signals = sys::SignalSet::new(&[&signals[..], &[libc::SIGCHLD, libc::SIGCONT]].concat());
    // Before there is a child, so that no signal is missed that is about it.
    let mask = signals.apply(libc::SIG_BLOCK);
    let action = sys::disposition(libc::SIGCHLD);
    sys::set_plain(libc::SIGCHLD, libc::SIG_DFL); // ignored, it would hide how the child ended
    let me = sys::pid();
    match sys::fork() {
        Ok(0) => {
            drop(held);
            if let Some(action) = action {
                sys::restore_disposition(libc::SIGCHLD, &action);
            }
            mask.apply(libc::SIG_SETMASK);
            // A supervisor that is stopped would not see the pipe's end.
            let _ = sys::signal_at_parents_end(libc::SIGCONT);
            if sys::parent_pid() != me {
                sys::exit_now(1); // the guard died before the line above, and there are no nodes yet
            }
            Some(watched)
        }
        Ok(supervisor) => {
            drop(watched);
            sys::adopt_orphans(true);
            if let Ok(null) = spawn::null() {
                let _ = sys::redirect(null.as_fd(), 0); // stdin is a node's
            }
            Guard { supervisor, signals, strangers, _held: held }.run()
        }
        Err(_) => {
            if let Some(action) = action {
                sys::restore_disposition(libc::SIGCHLD, &action);
            }
            mask.apply(libc::SIG_SETMASK);
            None
        }
    }
}

struct Guard {
    supervisor: i32,
    signals: sys::SignalSet,
    // Children that this process had before.
    strangers: Vec<i32>,
    // Its end tells the supervisor that this process is dead.
    _held: PipeWriter,
}

impl Guard {
    fn run(self) -> ! {
        loop {
            let (signal, from_kernel) = self.signals.wait();
            match signal {
                libc::SIGCHLD => self.look_at_supervisor(),
                libc::SIGCONT => drop(sys::kill(self.supervisor, libc::SIGCONT)),
                // A terminal's signals go to the whole process group: the supervisor has it already.
                _ if from_kernel => {}
                _ => drop(sys::queue_signal(self.supervisor, signal, MARKER)),
            }
        }
    }

    fn look_at_supervisor(&self) {
        let Some(status) = sys::child_status(self.supervisor) else { return };
        if libc::WIFSTOPPED(status) {
            self.stop();
        } else if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            family::kill_all(&self.strangers);
            log::error(format_args!("the supervisor of the nodes was killed by signal {}", signal_name(signal)));
            sys::exit_now(128 + signal);
        } else {
            sys::exit_now(libc::WEXITSTATUS(status));
        }
    }

    // As the supervisor did, until somebody continues this process; unless somebody has done so already.
    fn stop(&self) {
        if !sys::is_pending(libc::SIGCONT) {
            sys::raise(libc::SIGSTOP);
        }
        sys::kill(self.supervisor, libc::SIGCONT);
    }
}
