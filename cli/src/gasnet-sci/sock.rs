//! `gasnet-sci sock run`: a program with the library for drop-in sockets before libc.
//!
//! Must not know: what that library does; it stands beside this command and has settings of its own in the environment.

#![allow(unsafe_code)] // the limit of open files

use clap::ArgMatches;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "libgasnet_sci_sock.so";
/// What the library has room for.
const FILES: u64 = 65536;

/// Becomes the program.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let library = find(&std::env::current_exe()?)?;
    raise_limit();
    let mut program = options.get_many::<OsString>("program").expect("clap requires it");
    let name = program.next().expect("at least one");
    let mut command = Command::new(name);
    command.args(program).env("LD_PRELOAD", preload(&library));
    if options.get_flag("verbose") {
        command.env("GASNET_SCI_SOCK_VERBOSE", "1");
    }
    if let Some(ports) = options.get_many::<u16>("except") {
        command.env("GASNET_SCI_SOCK_EXCEPT", ports.map(u16::to_string).collect::<Vec<_>>().join(","));
    }
    let error = command.exec();
    Err(io::Error::new(error.kind(), format!("{}: {error}", name.display())))
}

/// The library beside the command, as in a build, or in `lib/gasnet-sci` beside its directory, as in an installation.
fn find(command: &Path) -> io::Result<PathBuf> {
    let bin = command.parent().unwrap_or(Path::new("."));
    let places = [bin.join(LIBRARY), bin.join("../lib/gasnet-sci").join(LIBRARY)];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().ok_or_else(|| {
        let text = format!(
            "{LIBRARY} is neither in {} nor in the lib/gasnet-sci beside it: build the package gasnet-sci-sock",
            bin.display()
        );
        io::Error::other(text)
    })
}

/// What the user has in LD_PRELOAD stays, behind ours.
fn preload(library: &Path) -> OsString {
    let mut all = library.as_os_str().to_owned();
    // The loader's, not a setting of this library.
    #[allow(clippy::disallowed_methods)]
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// As many open files as are allowed and as the library has room for.
fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a structure of ours.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    let wanted = limit.rlim_max.min(FILES);
    if status == 0 && limit.rlim_cur < wanted {
        limit.rlim_cur = wanted;
        // SAFETY: as above. Where it fails the limit stays.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_beside_the_command_and_in_an_installation() {
        let root = std::env::temp_dir().join(format!("gasnet-sci-sock-{}", std::process::id()));
        let (bin, lib) = (root.join("bin"), root.join("lib/gasnet-sci"));
        [&bin, &lib].into_iter().for_each(|place| std::fs::create_dir_all(place).unwrap());
        let command = bin.join("gasnet-sci");
        assert!(find(&command).unwrap_err().to_string().contains("build the package"));
        std::fs::write(lib.join(LIBRARY), "").unwrap();
        assert_eq!(find(&command).unwrap(), bin.join("../lib/gasnet-sci").join(LIBRARY));
        std::fs::write(bin.join(LIBRARY), "").unwrap();
        assert_eq!(find(&command).unwrap(), bin.join(LIBRARY));
        std::fs::remove_dir_all(root).unwrap();
    }
}
