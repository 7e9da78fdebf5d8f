//! A node that asks the supervisor of its host. Each call has a connection of its own, so that threads may call at the same time.

use super::desk::{address, framed, message};
use super::{Answer, Program, Request};
use crate::os::sys;
use crate::supervise::exit;
use crate::supervise::header::JobHeader;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a node waits for an answer before it looks at its own affairs: they are messages of other nodes.
const TURN: Duration = Duration::from_millis(1);
/// How long a supervisor may take to open its desk. It needs one turn of its loop; a guess for a busy host.
const OPENING: Duration = Duration::from_secs(10);

/// Asks, and waits for the answer. `meanwhile` is called again and again.
///
/// # Errors
/// `NotConnected`: this job has no supervisor that could start anything. Others: it has gone.
pub fn ask(header: &JobHeader, request: &Request, mut meanwhile: impl FnMut()) -> io::Result<Answer> {
    let mut stream = connect(header, &mut meanwhile)?;
    stream.write_all(&framed(request))?;
    stream.set_nonblocking(true)?;
    let (mut input, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => input.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                meanwhile();
                let mut set = [libc::pollfd { events: libc::POLLIN, ..crate::supervise::conductor::readable(&stream) }];
                let _ = sys::poll(&mut set, Some(TURN)); // the next read tells
            }
            Err(e) => return Err(e),
        }
        match message(&input) {
            Ok(None) => {}
            Ok(Some(answer)) => return Ok(answer),
            Err(()) => return Err(ErrorKind::InvalidData.into()),
        }
    }
}

// The first call of a job finds no desk, and asks for one.
fn connect(header: &JobHeader, meanwhile: &mut impl FnMut()) -> io::Result<UnixStream> {
    let (address, begin) = (address(header)?, Instant::now());
    loop {
        match UnixStream::connect_addr(&address) {
            Err(_) if begin.elapsed() < OPENING && !exit::is_unsupervised() && header.want_tasks() => {
                meanwhile();
                sys::nap(TURN);
            }
            found => return found.map_err(|_| ErrorKind::NotConnected.into()),
        }
    }
}

/// A program as this process would execute it: with its environment, in its directory. A name without a slash is searched for in `PATH`.
///
/// # Errors
/// A line for the user: there is no such program.
pub fn program(name: &Path, arguments: Vec<Vec<u8>>, environment: Vec<u8>) -> Result<Program, String> {
    let directory = std::env::current_dir().map_err(|error| format!("the working directory is unknown: {error}"))?;
    let file = match name.as_os_str().as_bytes().contains(&b'/') {
        true => directory.join(name),
        false => search(name, &environment).ok_or_else(|| format!("{} is not in PATH", name.display()))?,
    };
    let (file, directory) = [file, directory].map(|path: PathBuf| path.into_os_string().into_vec()).into();
    Ok(Program { file, arguments, environment, directory })
}

fn search(name: &Path, environment: &[u8]) -> Option<PathBuf> {
    let path = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"PATH="))?;
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(std::ffi::OsStr::from_bytes(path)).map(|at| at.join(name)).find(is_program)
}
