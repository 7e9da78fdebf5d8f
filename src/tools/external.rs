//! Stack traces by programs that attach to this process. [`find`] looks for them at set-up. They can be run from
//! anywhere, even from a signal handler.
//!
//! Rules:
//! 1. Between fork and exec there are only async-signal-safe calls. [`find`] has prepared all else.
//! 2. The tool may stop this process, so a child process watches the tool. The child reads the tool's output, and
//!    ends the tool when it prints nothing for too long. Therefore this process waits for the child without a limit
//!    of its own.

#![allow(unsafe_code)] // system calls, guarded memory

use crate::base::log;
use crate::os::sys;
use libc::c_int;
use std::ffi::{CStr, CString, OsStr};
use std::fmt::Write as _;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// A tool that prints nothing for this long is ended, in ms. A guess: debuggers read symbols before they print
/// anything.
const SILENCE: u64 = 5_000;
/// A tool that runs for this long is ended, in ms. A guess.
const WHOLE: u64 = 30_000;

/// Names of the tools, as in GASNET_BACKTRACE_TYPE.
pub const NAMES: [&str; 3] = ["GDB", "LLDB", "PSTACK"];

/// Arguments of each tool. The process id is added as the last one.
const TOOLS: [(&str, &str, &[&CStr]); 3] = [
    (
        NAMES[0],
        "gdb",
        &[c"-nx", c"-batch", c"-iex", c"set debuginfod enabled off", c"-ex", c"thread apply all backtrace", c"-p"],
    ),
    (NAMES[1], "lldb", &[c"-x", c"-b", c"-o", c"bt all", c"-p"]),
    (NAMES[2], "pstack", &[]),
];

/// A tool that is installed.
pub struct External {
    /// One of [`NAMES`].
    pub name: &'static str,
    path: CString,
    arguments: &'static [&'static CStr],
}

/// The tools that are in PATH.
pub fn find() -> Vec<External> {
    let path = crate::base::config::variable("PATH").unwrap_or_default();
    let installed = |program: &str| {
        path.split(':').filter(|directory| !directory.is_empty()).find_map(|directory| {
            let path = CString::new(OsStr::new(&format!("{directory}/{program}")).as_bytes()).ok()?;
            // SAFETY: `path` is a C string.
            (unsafe { libc::access(path.as_ptr(), libc::X_OK) } == 0).then_some(path)
        })
    };
    let tool = |(name, program, arguments)| Some(External { name, path: installed(program)?, arguments });
    TOOLS.into_iter().filter_map(tool).collect()
}

impl External {
    /// Runs the tool on this process and writes its lines to `fd`. True if it printed something and succeeded.
    pub fn run(&self, fd: c_int) -> bool {
        let target = sys::pid();
        // On some systems only ancestors may trace a process (Yama). This allows the tool, until it ends. On others
        // the call fails, without harm.
        allow_tracing(libc::PR_SET_PTRACER_ANY);
        let watcher = fork();
        if watcher == 0 {
            self.watch(target, fd);
        }
        let status = (watcher > 0).then(|| wait(watcher)).flatten();
        allow_tracing(0);
        status == Some(0)
    }

    /// The child of rule 2.
    fn watch(&self, target: i32, fd: c_int) -> ! {
        let _ = sys::signal_at_parents_end(libc::SIGKILL);
        let mut ends: [RawFd; 2] = [-1; 2];
        // SAFETY: `ends` has room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            sys::exit_now(1);
        }
        let tool = fork();
        if tool == 0 {
            self.become_tool(target, ends[1]);
        }
        // SAFETY: the descriptor belongs to this process; the tool has its own copy.
        unsafe { libc::close(ends[1]) };
        let lines = pass_on(ends[0], fd);
        let Some(lines) = lines else {
            sys::kill(tool, libc::SIGKILL);
            let mut line = log::Line::new("gasnet-sci: ");
            let _ = write!(line, "{} took too long for a stack trace and was ended", self.name);
            line.send_to(fd);
            sys::exit_now(1)
        };
        let failed = tool < 0 || lines == 0 || wait(tool) != Some(0);
        sys::exit_now(failed.into())
    }

    fn become_tool(&self, target: i32, output: RawFd) -> ! {
        let _ = sys::signal_at_parents_end(libc::SIGKILL);
        sys::SignalSet::new(&[]).apply(libc::SIG_SETMASK);
        // SAFETY: a C string. If the call fails, the input stays as it is.
        let null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY) };
        for (from, to) in [(null, 0), (output, 1), (output, 2)] {
            // SAFETY: this call takes integers; this process will run nothing but the tool.
            unsafe { libc::dup2(from, to) };
        }
        let mut number = Digits::default();
        let _ = write!(number, "{target}");
        let mut argv = [ptr::null(); 16];
        argv[0] = self.path.as_ptr();
        let rest = self.arguments.iter().map(|argument| argument.as_ptr()).chain([number.0.as_ptr().cast()]);
        argv[1..15].iter_mut().zip(rest).for_each(|(slot, argument)| *slot = argument);
        // SAFETY: `path` and the NULL-terminated `argv` are C strings that live across the call.
        unsafe { libc::execv(self.path.as_ptr(), argv.as_ptr()) };
        sys::exit_now(127)
    }
}

/// A number as a C string, without allocation.
#[derive(Default)]
struct Digits([u8; 24], usize);

impl std::fmt::Write for Digits {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        let room = self.0.len() - 1 - self.1; // one byte stays 0
        let n = s.len().min(room);
        self.0[self.1..self.1 + n].copy_from_slice(&s.as_bytes()[..n]);
        self.1 += n;
        Ok(())
    }
}

/// Writes lines to `to` until the input ends, and returns their number. `None`: the tool took too long.
fn pass_on(from: RawFd, to: c_int) -> Option<u32> {
    let (mut lines, mut buffer) = (0, [0u8; 512]);
    let mut line = log::Line::new("");
    let begin = sys::clock_ms();
    loop {
        let left = (begin + WHOLE).saturating_sub(sys::clock_ms()).min(SILENCE);
        let mut set = libc::pollfd { fd: from, events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        let ready = unsafe { libc::poll(&mut set, 1, left as c_int) };
        if ready == 0 || left == 0 {
            return None;
        }
        // SAFETY: `buffer` is writable for its length.
        let got = unsafe { libc::read(from, buffer.as_mut_ptr().cast(), buffer.len()) };
        if got < 0 {
            continue; // interrupted by a signal; the deadline stays
        }
        if got == 0 {
            return Some(lines);
        }
        for byte in &buffer[..got as usize] {
            if *byte == b'\n' {
                std::mem::replace(&mut line, log::Line::new("")).send_to(to);
                lines += 1;
            } else {
                line.push(*byte);
            }
        }
    }
}

/// fork(2) without libc's handlers, which take locks that the interrupted code may hold (rule 1).
fn fork() -> i32 {
    // SAFETY: without flags that share anything it is fork; the child keeps to rule 1.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0usize, 0usize, 0usize, 0usize) as i32 }
}

/// Exit status of child `pid`; `None` if a signal ended it or it is not known.
fn wait(pid: i32) -> Option<c_int> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is writable.
        let ended = unsafe { libc::waitpid(pid, &mut status, 0) };
        if ended == pid {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if ended < 0 && std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
}

fn allow_tracing(by: libc::c_ulong) {
    // SAFETY: PR_SET_PTRACER takes an integer.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, by, 0, 0, 0) };
}
