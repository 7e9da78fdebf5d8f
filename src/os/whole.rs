//! Files that appear whole: written under another name beside their own, then renamed.
//!
//! The other name cannot be guessed, and no file or link that has it is opened: others may be able to write to the directory.

use super::sys;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many names are tried. All but the first are needed only if somebody has guessed a name.
const TRIES: u32 = 16;

/// Tries whether [`write()`] can make `file`, and leaves nothing.
pub fn check(file: &Path) -> io::Result<()> {
    if file.is_dir() || file.file_name().is_none() || file.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    let (_, unfinished) = create(file, sys::random)?;
    fs::remove_file(unfinished)
}

/// Writes `bytes` to `file`, and replaces what it was.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut open, unfinished) = create(file, sys::random)?;
    let written = open.write_all(bytes).and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        let _ = fs::remove_file(unfinished);
    }
    written
}

/// A new file beside `file`, with one of the `numbers` in its name.
fn create(file: &Path, mut numbers: impl FnMut() -> u64) -> io::Result<(File, PathBuf)> {
    let mut tries = 0;
    loop {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".{:016x}", numbers()));
        tries += 1;
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {}
            opened => return opened.map(|open| (open, name.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::scratch::Scratch;

    #[test]
    fn a_link_with_the_name_is_not_followed() {
        let directory = Scratch::with("whole-link", &[]);
        let (victim, file) = (directory.join("victim"), directory.join("m"));
        fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, directory.join(format!("m.{:016x}", 7))).unwrap();
        let mut numbers = [7, 8].into_iter();
        let (mut open, name) = create(&file, || numbers.next().unwrap()).unwrap();
        open.write_all(b"new").unwrap();
        assert_eq!(name, directory.join(format!("m.{:016x}", 8)));
        assert_eq!(create(&file, || 7).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "it does not try for ever");
        assert_eq!(fs::read_to_string(victim).unwrap(), "kept");
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let directory = Scratch::with("whole-replace", &[]);
        let file = directory.join("m");
        check(&file).unwrap();
        write(&file, b"one").unwrap();
        write(&file, b"two").unwrap();
        assert_eq!((fs::read(&file).unwrap(), fs::read_dir(&*directory).unwrap().count()), (b"two".to_vec(), 1));
    }

    #[test]
    fn directories_are_refused_at_once() {
        let directory = Scratch::with("whole-directory", &[]);
        for path in
            [directory.to_path_buf(), directory.join(""), directory.join("new/"), "/".into(), "..".into(), "".into()]
        {
            assert!(check(&path).is_err(), "{path:?}");
        }
        assert_eq!(fs::read_dir(&*directory).unwrap().count(), 0);
    }
}
