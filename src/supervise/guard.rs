//! A second process above the nodes. It makes sure that even SIGKILL of the launcher leaves no process behind.
//!
//! The launcher's first process becomes the guard. Its child is the supervisor, which starts the nodes. What a node
//! has started may be anywhere in the process tree; only an ancestor that adopts orphans finds it. There are two such
//! ancestors:
//!
//! 1. If the guard dies, the supervisor sees the end of a pipe that only the guard holds, and kills all its own
//!    descendants.
//! 2. If the supervisor dies, the kernel kills the nodes (see [`super::spawn`]). The guard inherits what they
//!    started, and kills it.
//!
//! If both are killed at once, the nodes are still killed, but what they started may stay.
//!
//! For the user the guard is the launcher. It passes on signals, stops when the supervisor stops, and ends with its
//! status. A supervisor that is continued by somebody else wakes its guard. It maps no memory of the job. Must not know:
//! nodes.

use super::signals::signal_name;
use super::spawn::{self, MARKER};
use crate::base::log;
use crate::os::poller::Poller;
use crate::os::{family, sys};
use libc::{c_int, pollfd};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Splits this process, which has one thread and no job yet. Returns in the supervisor only, with the end of a pipe
/// that is readable once the guard is dead. `None`: no guard could be made. `tidy` removes what a supervisor leaves that
/// was killed; the guard calls it then.
pub fn split(tidy: fn()) -> Option<PipeReader> {
    let earlier_children = family::own_children();
    let (watched, held) = io::pipe().ok()?;
    let signals: Vec<c_int> = spawn::HANDLED.into_iter().filter(|signal| !sys::is_ignored(*signal)).collect();
    let set = sys::SignalSet::new(&[&signals[..], &[libc::SIGCHLD, libc::SIGCONT]].concat());
    let signals = set.descriptor().ok()?;
    // Before there is a child, so that no signal about it is missed.
    let mask = set.apply(libc::SIG_BLOCK);
    let action = sys::disposition(libc::SIGCHLD);
    sys::set_plain(libc::SIGCHLD, libc::SIG_DFL); // if it were ignored, the child's end could not be seen
    match sys::fork() {
        Ok(0) => {
            drop((held, signals));
            if let Some(action) = action {
                sys::restore_disposition(libc::SIGCHLD, &action);
            }
            mask.apply(libc::SIG_SETMASK);
            // A stopped supervisor would not see the pipe's end, so the kernel sends it SIGCONT.
            let _ = sys::signal_at_parents_end(libc::SIGCONT);
            // The number of a guard in an outer PID namespace would be 0 here, so the pipe tells.
            if sys::poll_one(watched.as_fd(), libc::POLLIN) != 0 {
                sys::exit_now(1); // the guard has died meanwhile; there are no nodes yet
            }
            Some(watched)
        }
        Ok(supervisor) => {
            drop(watched);
            sys::adopt_orphans(true);
            if let Ok(null) = spawn::null() {
                let _ = sys::redirect(null.as_fd(), 0); // stdin belongs to a node
            }
            Guard { supervisor, signals, earlier_children, tidy, _held: held }.run()
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
    // Brings the signals that it passes on, and those about the supervisor.
    signals: OwnedFd,
    // Children that this process had before.
    earlier_children: Vec<i32>,
    tidy: fn(),
    // When this process dies it is closed, and the supervisor sees that.
    _held: PipeWriter,
}

impl Guard {
    fn run(self) -> ! {
        let mut poller = Poller::default();
        loop {
            let mut set = [pollfd { fd: self.signals.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
            if let Err(error) = poller.poll(&mut set, None) {
                self.give_up(&error);
            }
            while let Some(info) = sys::read_signal(self.signals.as_fd()) {
                match info.ssi_signo as c_int {
                    libc::SIGCHLD => self.look_at_supervisor(),
                    // From the supervisor it is for this process alone: an answer would be answered in turn.
                    libc::SIGCONT if info.ssi_pid as i32 == self.supervisor => {}
                    libc::SIGCONT => self.wake_supervisor(),
                    // A terminal sends its signals to the whole process group, so the supervisor has got it.
                    _ if info.ssi_code == libc::SI_KERNEL => {}
                    signal => drop(sys::queue_signal(self.supervisor, signal, MARKER)),
                }
            }
        }
    }

    // This process would not see the supervisor's end. So the job ends now.
    fn give_up(&self, error: &io::Error) -> ! {
        log::error(format_args!("cannot hear of the supervisor of the nodes: {error}; ending the job"));
        sys::kill(self.supervisor, libc::SIGKILL);
        family::kill_all(&self.earlier_children);
        (self.tidy)();
        sys::exit_now(1)
    }

    fn look_at_supervisor(&self) {
        let status = match sys::child_status(self.supervisor) {
            Ok(Some(status)) => status,
            Ok(None) => return,
            Err(error) => self.give_up(&error),
        };
        if libc::WIFSTOPPED(status) {
            self.stop();
        } else if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            family::kill_all(&self.earlier_children);
            (self.tidy)();
            log::error(format_args!("the supervisor of the nodes was killed by signal {}", signal_name(signal)));
            sys::exit_now(128 + signal);
        } else {
            sys::exit_now(libc::WEXITSTATUS(status));
        }
    }

    // Stops as the supervisor did, until this process is continued, unless that has happened already.
    fn stop(&self) {
        if !sys::is_pending(libc::SIGCONT) {
            sys::raise(libc::SIGSTOP);
        }
        self.wake_supervisor();
    }

    // By the mark the supervisor knows that this process has been woken.
    fn wake_supervisor(&self) {
        sys::queue_signal(self.supervisor, libc::SIGCONT, MARKER);
    }
}
