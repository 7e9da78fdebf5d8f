//! Names of signals.

#![forbid(unsafe_code)]

use std::ffi::CStr;

const NAMES: [(i32, &CStr); 31] = [
    (libc::SIGHUP, c"SIGHUP"),
    (libc::SIGINT, c"SIGINT"),
    (libc::SIGQUIT, c"SIGQUIT"),
    (libc::SIGILL, c"SIGILL"),
    (libc::SIGTRAP, c"SIGTRAP"),
    (libc::SIGABRT, c"SIGABRT"),
    (libc::SIGBUS, c"SIGBUS"),
    (libc::SIGFPE, c"SIGFPE"),
    (libc::SIGKILL, c"SIGKILL"),
    (libc::SIGUSR1, c"SIGUSR1"),
    (libc::SIGSEGV, c"SIGSEGV"),
    (libc::SIGUSR2, c"SIGUSR2"),
    (libc::SIGPIPE, c"SIGPIPE"),
    (libc::SIGALRM, c"SIGALRM"),
    (libc::SIGTERM, c"SIGTERM"),
    (libc::SIGSTKFLT, c"SIGSTKFLT"),
    (libc::SIGCHLD, c"SIGCHLD"),
    (libc::SIGCONT, c"SIGCONT"),
    (libc::SIGSTOP, c"SIGSTOP"),
    (libc::SIGTSTP, c"SIGTSTP"),
    (libc::SIGTTIN, c"SIGTTIN"),
    (libc::SIGTTOU, c"SIGTTOU"),
    (libc::SIGURG, c"SIGURG"),
    (libc::SIGXCPU, c"SIGXCPU"),
    (libc::SIGXFSZ, c"SIGXFSZ"),
    (libc::SIGVTALRM, c"SIGVTALRM"),
    (libc::SIGPROF, c"SIGPROF"),
    (libc::SIGWINCH, c"SIGWINCH"),
    (libc::SIGIO, c"SIGIO"),
    (libc::SIGPWR, c"SIGPWR"),
    (libc::SIGSYS, c"SIGSYS"),
];

/// `SIGSEGV` for 11. `None` for a number without a name, such as real-time signals.
pub fn signal_name(signal: i32) -> Option<&'static CStr> {
    NAMES.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_settings_understand() {
        assert_eq!(signal_name(11), Some(c"SIGSEGV"));
        assert_eq!((signal_name(0), signal_name(9999)), (None, None));
        for name in ["SIGHUP", "SIGSEGV", "SIGUSR1", "SIGCONT", "SIGSYS"] {
            let number = crate::base::config::signal_number(name).unwrap();
            assert_eq!(signal_name(number).unwrap().to_str(), Ok(name));
        }
    }
}
