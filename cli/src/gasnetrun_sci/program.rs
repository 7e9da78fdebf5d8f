//! Finding the program, and other programs that the launcher needs.

use super::cli::NAME;
use super::stop::Stop;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The exit status that shells use for a program that does not exist.
pub const NOT_FOUND: u8 = 127;
/// The exit status that shells use for a program that cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;

/// Looks for `program` as a path, then in the current directory, then in PATH. The second part is the program's
/// `argv[0]`.
pub fn find(program: &OsStr) -> Result<(PathBuf, OsString), Stop> {
    let name = program.to_string_lossy();
    if program.as_bytes().contains(&b'/') {
        return runnable(Path::new(program))
            .map(|()| (program.into(), program.into()))
            .map_err(|(status, why)| Stop::new(status, format!("{NAME}: cannot run {name}: {why}")));
    }
    let here = Path::new(".").join(program);
    let in_path = path().into_iter().map(|directory| (directory.join(program), program.to_os_string()));
    let mut refusal = None;
    for (file, zeroth) in std::iter::once((here.clone(), here.into_os_string())).chain(in_path) {
        match runnable(&file) {
            Ok(()) => return Ok((file, zeroth)),
            Err((NOT_EXECUTABLE, why)) => refusal = refusal.or(Some(format!("{}: {why}", file.display()))),
            Err(_) => {}
        }
    }
    Err(match refusal {
        Some(why) => Stop::new(NOT_EXECUTABLE, format!("{NAME}: cannot run {why}")),
        None => Stop::new(NOT_FOUND, format!("{NAME}: {name}: not found in the current directory nor in PATH")),
    })
}

/// A command in PATH.
pub fn in_path(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return runnable(Path::new(name)).is_ok().then(|| name.into());
    }
    path().into_iter().map(|directory| directory.join(name)).find(|file| runnable(file).is_ok())
}

fn path() -> Vec<PathBuf> {
    #[allow(clippy::disallowed_methods)] // a path of the user's shell, not a setting of ours
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// Why the system did not execute `file`, and the exit status for that. The words are those of [`find`], which may have looked on
/// another host.
pub fn refusal(file: &Path, error: &io::Error) -> (u8, String) {
    if let Err(found) = runnable(file) {
        return found;
    }
    let why = match error.raw_os_error() {
        Some(libc::ENOENT) => format!("its interpreter ({}) does not exist", interpreter(file)),
        Some(libc::ENOEXEC) => "it is no program for this machine, nor a script with a #! line".into(),
        Some(libc::EACCES) => format!("{error}; its file system may be mounted noexec"),
        _ => error.to_string(),
    };
    (NOT_EXECUTABLE, why)
}

// What the system runs in front of a program: what its #! line names, or the loader of a program that is no script.
fn interpreter(file: &Path) -> String {
    let mut head = Vec::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(256).read_to_end(&mut head));
    let line =
        head.strip_prefix(b"#!").filter(|_| read.is_ok()).and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    let word = line.and_then(|line| String::from_utf8_lossy(line).split_whitespace().next().map(String::from));
    word.map_or("its ELF loader".into(), |word| format!("{word}, by its #! line"))
}

fn runnable(file: &Path) -> Result<(), (u8, String)> {
    let metadata = file.metadata().map_err(|error| {
        let status = if error.kind() == io::ErrorKind::PermissionDenied { NOT_EXECUTABLE } else { NOT_FOUND };
        (status, error.to_string())
    })?;
    if metadata.is_dir() {
        return Err((NOT_EXECUTABLE, "it is a directory".into()));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err((NOT_EXECUTABLE, "it is not executable".into()));
    }
    Ok(())
}
