//! Stack traces by programs that attach to this process. [`find`] looks for them at set-up. They can be run from
//! anywhere, even from a signal handler.
//!
//! Rules:
//! 1. Between fork and exec there are only async-signal-safe calls. [`find`] has prepared all else.
//! 2. The tool may stop this process, so a child process watches the tool. The child reads the tool's output, and
//!    ends the tool when it neither prints nor computes for too long. Therefore this process waits for the child without
//!    a limit of its own.

#![allow(unsafe_code)] // system calls, guarded memory

use super::activity::proc_knows_this_process;
use super::child::{self, fork, wait};
use crate::base::log;
use crate::os::sys;
use libc::c_int;
use std::ffi::{CStr, CString, OsStr};
use std::fmt::Write as _;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// When a tool is ended. Debuggers read all symbols before they print anything; that takes processor time, on a loaded machine 10 s and
/// more. The bounds are guesses.
const LIMITS: child::Limits = child::Limits { idle: 5_000, whole: 120_000 };

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
        // The tool would find no process of that number, or read the symbols of another one.
        if !proc_knows_this_process() {
            let mut line = log::Line::new("gasnet-sci: ");
            let _ = write!(
                line,
                "{} cannot look at this process: /proc is not mounted, hides it, or belongs to another PID namespace",
                self.name
            );
            line.send_to(fd);
            return false;
        }
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
        let Some((from, output)) = child::pipe() else { sys::exit_now(1) };
        let tool = fork();
        if tool == 0 {
            self.become_tool(target, output);
        }
        // SAFETY: the descriptor belongs to this process; the tool has its own copy.
        unsafe { libc::close(output) };
        let lines = pass_on(from, tool, fd);
        let Some(lines) = lines else {
            sys::kill(tool, libc::SIGKILL);
            let mut line = log::Line::new("gasnet-sci: ");
            let _ = write!(line, "{} made no progress with a stack trace, or took too long, and was ended", self.name);
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
        let mut number = child::Text::<24>::default();
        let _ = write!(number, "{target}");
        let mut argv = [ptr::null(); 16];
        argv[0] = self.path.as_ptr();
        let rest = self.arguments.iter().map(|argument| argument.as_ptr()).chain([number.as_c_str().as_ptr()]);
        argv[1..15].iter_mut().zip(rest).for_each(|(slot, argument)| *slot = argument);
        // SAFETY: `path` and the NULL-terminated `argv` are C strings that live across the call.
        unsafe { libc::execv(self.path.as_ptr(), argv.as_ptr()) };
        sys::exit_now(127)
    }
}

/// Writes lines to `to` until the input ends, and returns their number. `None`: the tool made no progress, or took too long.
fn pass_on(from: RawFd, tool: i32, to: c_int) -> Option<u32> {
    let (mut lines, mut buffer) = (0, [0u8; 512]);
    let mut line = log::Line::new("");
    let mut patience = child::Patience::new(tool, LIMITS);
    loop {
        let got = patience.read(from, &mut buffer)?;
        if got == 0 {
            return Some(lines);
        }
        for byte in &buffer[..got] {
            if *byte == b'\n' {
                std::mem::replace(&mut line, log::Line::new("")).send_to(to);
                lines += 1;
            } else {
                line.push(*byte);
            }
        }
    }
}

fn allow_tracing(by: libc::c_ulong) {
    // SAFETY: PR_SET_PTRACER takes an integer.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, by, 0, 0, 0) };
}
