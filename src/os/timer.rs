//! A descriptor that is readable from a time on.

use super::lock::Lock;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// A timer.
pub struct Timer {
    fd: OwnedFd,
    set: Lock<Option<Instant>>,
}

impl Timer {
    /// One that is not set.
    pub fn new() -> io::Result<Timer> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Timer { fd, set: Lock::new(None) })
    }

    /// Its descriptor.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The descriptor is readable from `at` on; `None`: it is not. One thread at a time sets it, so none waits: a signal handler that has
    /// interrupted its thread here changes nothing.
    pub fn set(&self, at: Option<Instant>) {
        let Some(mut set) = self.set.try_lock() else { return };
        if *set == at {
            return;
        }
        *set = at;
        // Zero would switch it off.
        let left =
            at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1)));
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        // It fails only for values that are none.
        let _ =
            timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: none, it_value: value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::sys;
    use std::os::fd::AsRawFd;

    #[test]
    fn it_shows_when_the_time_has_come_and_not_when_it_is_switched_off() {
        let timer = Timer::new().unwrap();
        let shows = |wait: Duration| sys::await_readable(&[timer.as_fd().as_raw_fd()], wait)[0];
        timer.set(Some(Instant::now()));
        assert!(shows(Duration::from_secs(60)));
        timer.set(Some(Instant::now() + Duration::from_secs(3600)));
        assert!(!shows(Duration::ZERO));
        timer.set(Some(Instant::now() + Duration::from_millis(1)));
        assert!(shows(Duration::from_secs(60)));
        timer.set(None);
        assert!(!shows(Duration::ZERO));
        let held = timer.set.lock(); // as a signal handler finds it
        timer.set(Some(Instant::now()));
        drop(held);
        assert!(!shows(Duration::ZERO));
    }
}
