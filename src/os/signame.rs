//! Names of signals: the one table of them. Must not know: which signals a caller names, and why.

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

/// `SIGSEGV` for 11. `None` for a number without a name, such as real-time signals. Async-signal-safe.
pub fn name(signal: i32) -> Option<&'static CStr> {
    NAMES.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name)
}

/// [`name`] as a text; empty for a number without a name. Async-signal-safe.
pub fn text(signal: i32) -> &'static str {
    name(signal).and_then(|name| name.to_str().ok()).unwrap_or_default()
}

/// 11 for `SEGV`, a name without its `SIG`, in capitals.
pub fn number(short: &str) -> Option<i32> {
    let is = |name: &CStr| name.to_bytes().strip_prefix(b"SIG") == Some(short.as_bytes());
    NAMES.iter().find(|(_, name)| is(name)).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_belong_together() {
        assert_eq!((name(11), text(11), number("SEGV")), (Some(c"SIGSEGV"), "SIGSEGV", Some(11)));
        assert_eq!((name(0), name(9999), text(9999)), (None, None, ""));
        assert_eq!((number("SIGSEGV"), number("segv"), number("")), (None, None, None));
        for (signal, _) in NAMES {
            assert_eq!(number(text(signal).strip_prefix("SIG").unwrap()), Some(signal));
        }
    }
}
