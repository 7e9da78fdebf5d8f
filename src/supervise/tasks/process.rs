//! Starts the processes of tasks.

#![allow(unsafe_code)] // what is done between fork and exec

use super::{Program, Refusal};
use crate::base::config::{HANDOFF, PARTS};
use crate::os::{limit, sys};
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A process that was started: its number, and the ends from which its stdout and stderr are read.
pub type Started = (i32, [PipeReader; 2]);

/// Descriptors that tasks leave to the supervisor: for the calls of nodes, and for what it opens meanwhile.
const SPARE: u64 = 64;

/// Whether this process may have the streams of so many tasks more.
///
/// # Errors
/// It may not. The line names the limit.
pub fn has_room(count: u32) -> Result<(), Refusal> {
    let most = limit::raise_descriptors();
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |list| list.count() as u64);
    let needed = open + u64::from(count) * 2 + SPARE;
    if needed > most {
        let line = format!(
            "the supervisor would need {needed} descriptors with {count} more tasks, the limit is {most} (RLIMIT_NOFILE: ulimit -Hn)"
        );
        return Err(Refusal::Resource(line));
    }
    Ok(())
}

/// Starts a process, with this limit on descriptors.
///
/// # Errors
/// Why not, in a line.
pub fn start(program: &Program, descriptors: (u64, u64)) -> Result<Started, Refusal> {
    start_one(program, descriptors).map_err(|error| refusal(program, &error))
}

fn start_one(program: &Program, descriptors: (u64, u64)) -> io::Result<Started> {
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let supervisor = sys::pid();
    let mut command = Command::new(text(&program.file));
    if let Some((zeroth, arguments)) = program.arguments.split_first() {
        command.arg0(text(zeroth)).args(arguments.iter().map(|argument| OsStr::from_bytes(argument)));
    }
    command.env_clear().current_dir(text(&program.directory));
    for entry in program.environment.split(|byte| *byte == 0) {
        // A name may begin with "=", as in the C library. A task is no node, so it gets no hand-off.
        let Some(equals) = entry.iter().skip(1).position(|byte| *byte == b'=').map(|at| at + 1) else { continue };
        let name = OsStr::from_bytes(&entry[..equals]);
        if name != HANDOFF && name != PARTS {
            command.env(name, OsStr::from_bytes(&entry[equals + 1..]));
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let tie = move || {
        // The supervisor has blocked the signals that it reads from a descriptor.
        sys::SignalSet::new(&[]).apply(libc::SIG_SETMASK);
        limit::set_descriptors(descriptors);
        sys::signal_at_parents_end(libc::SIGKILL)?;
        match sys::parent_pid() {
            0 => Ok(()), // the parent is in an outer PID namespace
            parent if parent == supervisor => Ok(()),
            _ => sys::exit_now(1), // it has died meanwhile
        }
    };
    // SAFETY: `tie` makes system calls only.
    unsafe { command.pre_exec(tie) };
    let mut child = command.spawn()?;
    let stream = |fd: Option<OwnedFd>| fd.map(PipeReader::from).ok_or_else(|| io::Error::other("no pipe"));
    let streams = [stream(child.stdout.take().map(Into::into))?, stream(child.stderr.take().map(Into::into))?];
    Ok((child.id() as i32, streams))
}

// The system says ENOENT of the program and of the directory alike.
fn refusal(program: &Program, error: &io::Error) -> Refusal {
    let path = |bytes: &[u8]| Path::new(OsStr::from_bytes(bytes)).to_path_buf();
    let (file, directory) = (path(&program.file), path(&program.directory));
    match sys::errno(error) {
        Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE) => {
            Refusal::Resource(format!("no process for {}: {error}", file.display()))
        }
        _ if !directory.is_dir() => Refusal::Argument(format!("cannot enter {}: {error}", directory.display())),
        _ => Refusal::Argument(format!("cannot execute {}: {error}", file.display())),
    }
}
