//! Waits for all children of the first process of a host. That process inherits those of others, so it must take
//! whatever ends; who started a child asks here for its status.

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait, waitpid};
use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long it sleeps while there is no child at all. Starting one wakes it.
const NAP: Duration = Duration::from_secs(1);

pub struct Reaper {
    ended: Mutex<BTreeMap<u32, i32>>,
    more: Condvar,
    /// `None`: this process has parents of orphans above it, and each child is waited for by itself.
    thread: Mutex<Option<Thread>>,
}

/// 128 and its number if a signal ended the process.
fn code(status: WaitStatus) -> i32 {
    status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(255)
}

impl Reaper {
    /// Starts the thread that waits. Nobody else in the process may wait for children from now on.
    pub fn start() -> &'static Reaper {
        let reaper = Reaper::of_own_children();
        let thread = thread::spawn(|| reaper.run()).thread().clone();
        *reaper.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        reaper
    }

    /// One for a process that others wait in, too, such as that of the unit tests.
    pub fn of_own_children() -> &'static Reaper {
        Box::leak(Box::new(Reaper { ended: Mutex::default(), more: Condvar::new(), thread: Mutex::default() }))
    }

    fn run(&self) {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) => {
                    let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
                    ended.insert(pid.as_raw_nonzero().get() as u32, code(status));
                    self.more.notify_all();
                }
                Err(Errno::CHILD) => thread::park_timeout(NAP),
                _ => {} // EINTR
            }
        }
    }

    /// Starts a command. Its status comes by `wait` alone.
    pub fn spawn(&self, command: &mut Command) -> Result<Child> {
        let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Thread::unpark);
        Ok(child)
    }

    /// Waits until the child has ended.
    pub fn wait(&self, pid: u32) -> i32 {
        if self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            let ended = waitpid(Pid::from_raw(pid as i32), WaitOptions::empty());
            return ended.ok().flatten().map_or(255, |(_, status)| code(status));
        }
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(status) = ended.remove(&pid) {
                return status;
            }
            ended = self.more.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
