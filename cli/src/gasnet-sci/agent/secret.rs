//! The file of the secret: 32 hexadecimal digits, which only the user may read.

use gasnet_sci::os::sys;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// As many bytes has the secret.
pub const LEN: usize = 16;

/// Where it is if the user names no other one.
pub fn default_file() -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods)] // directories of the user, not settings of ours
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    Some(own?.join("gasnet-sci/agent.secret"))
}

fn problem(file: &Path, what: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {what}", file.display()))
}

/// Reads the secret.
///
/// # Errors
/// Others may read the file, or it is none.
pub fn read(file: &Path) -> io::Result<[u8; LEN]> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file);
    let opened = open.map_err(|error| problem(file, format!("{error}; gasnet-sci agent --make-secret makes it")))?;
    let data = opened.metadata()?; // of what was opened, whatever the name means by now
    if !data.is_file() || data.uid() != sys::effective_user() {
        return Err(problem(file, "it is no file of this user's"));
    }
    if data.mode() & 0o077 != 0 {
        let mode = data.mode() & 0o777;
        return Err(problem(
            file,
            format!("others may read or write it (mode {mode:o}): chmod 600, and make another secret"),
        ));
    }
    let mut text = String::new();
    opened.take(100).read_to_string(&mut text).map_err(|error| problem(file, error))?;
    decode(text.trim()).ok_or_else(|| problem(file, "it has not 32 hexadecimal digits"))
}

fn decode(text: &str) -> Option<[u8; LEN]> {
    let is_hex = text.len() == 2 * LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)).flatten()
}

/// Makes a new secret, unless there is one.
///
/// # Errors
/// There is one, or no place for it.
pub fn make(file: &Path) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| problem(directory, error))?;
    }
    let [high, low] = [sys::secret()?, sys::secret()?]; // first: an empty file would pass for a secret that is there
    let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    open.and_then(|mut file| writeln!(file, "{high:016x}{low:016x}")).map_err(|error| problem(file, error))?;
    println!("{}: copy it to the same place on all hosts; only you may read it", file.display());
    Ok(())
}
