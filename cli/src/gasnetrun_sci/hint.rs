//! What the launcher adds when a job has ended in a way that newcomers meet: no node joined it, or memory ran out. Lines for people;
//! nothing is decided by them.

use gasnet_sci::base::config::Config;
use gasnet_sci::job::killed;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Status of a shell, and of the loader, for what is not found.
const NOT_FOUND: i32 = 127;
/// Above it are those of signals and of the launcher itself.
const LAST_OWN: i32 = 123;
/// The shared library's name; a version may follow.
const LIBRARY: &[u8] = b"libgasnet_sci.so";
/// A text of the library itself, which each program has that is linked with the archive.
const INSIDE: &[u8] = b"GASNET_SCI_RESERVE";
/// Begins the text by which programs of GASNet name their conduit; ours have it from the header (GASNETI_SCI_IDENTS).
const CONDUIT: &[u8] = b"$GASNetConduitName: ";

/// How a job on this host ended.
pub struct End<'a> {
    /// The program's file, and how the user wrote it.
    pub file: &'a Path,
    pub word: &'a OsStr,
    pub nodes: u32,
    /// Whether any node has entered `gasnet_init`.
    pub is_joined: bool,
    pub status: i32,
}

/// Begun before there are nodes.
pub struct Watch(killed::Watch);

impl Watch {
    /// Notes how many processes this system has killed for lack of memory.
    pub fn begin(config: &Config) -> Watch {
        Watch(killed::Watch::begin(config.reserve))
    }

    /// The lines for the user, without the launcher's name.
    pub fn lines(&self, end: &End<'_>) -> Vec<String> {
        let alone = if end.is_joined { None } else { unjoined(end, own_library().as_deref()) };
        [self.0.line(end.status), alone].into_iter().flatten().collect()
    }
}

/// The shared library that is installed with this command.
fn own_library() -> Option<PathBuf> {
    let here = std::env::current_exe().and_then(std::fs::canonicalize).ok()?;
    // The second is Debian's.
    let directories = ["../lib".to_string(), format!("../lib/{}-linux-gnu", std::env::consts::ARCH)];
    let file = |directory: &String| Some(here.parent()?.join(directory).join(OsStr::from_bytes(LIBRARY)));
    directories.iter().find_map(|directory| std::fs::canonicalize(file(directory)?).ok())
}

// No node has joined: the program was not linked with the library, or the loader did not find it.
fn unjoined(end: &End<'_>, own: Option<&Path>) -> Option<String> {
    let bytes = std::fs::read(end.file).ok().filter(|bytes| bytes.starts_with(b"\x7fELF"))?;
    let (file, nodes) = (end.file.display(), end.nodes);
    if end.status == NOT_FOUND {
        return Some(not_loaded(end.file, &text_at(&bytes, LIBRARY)?, own));
    }
    if end.status > LAST_OWN || nodes == 1 || find(&bytes, LIBRARY).is_some() || find(&bytes, INSIDE).is_some() {
        return None;
    }
    if let Some(text) = text_at(&bytes, CONDUIT) {
        let conduit = text.trim_start_matches("$GASNetConduitName: ").trim_end_matches([' ', '$']).to_lowercase();
        return Some(format!(
            "{file} is linked with GASNet's {conduit}-conduit, so its {nodes} processes were no nodes of this job; compile and link it \
             with gasnet-sci (pkg-config --cflags --libs gasnet-sci-par)"
        ));
    }
    // Commands that are searched in PATH, such as hostname, are meant to run like that.
    let is_path = end.word.as_bytes().contains(&b'/') || end.file.starts_with(".");
    is_path.then(|| {
        format!(
            "none of the {nodes} processes called gasnet_init, so each ran by itself. If {file} is to be a program of GASNet, link it \
             with the library (pkg-config --cflags --libs gasnet-sci-par)"
        )
    })
}

fn not_loaded(file: &Path, needed: &str, own: Option<&Path>) -> String {
    let file = file.display();
    let name = own.and_then(Path::file_name).map(OsStr::to_string_lossy);
    match (own.and_then(Path::parent), name) {
        (Some(directory), Some(name)) if name == needed => {
            let directory = directory.display();
            format!(
                "if the loader did not find {needed}: it is in {directory}. Link {file} with -Wl,-rpath,{directory}, or set \
                 LD_LIBRARY_PATH={directory}"
            )
        }
        (_, Some(name)) => format!(
            "{file} needs {needed}, this launcher was installed with {name}: compile and link the program again, or use the launcher \
             of its version"
        ),
        _ => format!(
            "if the loader did not find {needed}: link {file} with -Wl,-rpath,DIR, or set LD_LIBRARY_PATH=DIR, where DIR has the library"
        ),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|here| here == what)
}

// The C string that begins with `what`, of at most 80 bytes.
fn text_at(bytes: &[u8], what: &[u8]) -> Option<String> {
    let text = &bytes[find(bytes, what)?..];
    let text = text.split(|byte| *byte == 0 || *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, contents: &[u8], nodes: u32, status: i32) -> Option<String> {
        let file = std::env::temp_dir().join(format!("gasnet-sci-hint-{name}-{}", std::process::id()));
        std::fs::write(&file, contents).unwrap();
        let end = End { file: &file, word: file.as_os_str(), nodes, is_joined: false, status };
        let line = unjoined(&end, Some(Path::new("/opt/lib/libgasnet_sci.so.0.3")));
        std::fs::remove_file(&file).unwrap();
        line
    }

    #[test]
    fn a_program_that_does_not_find_the_library_is_told_where_it_is() {
        let line = told("rpath", b"\x7fELF..\0libgasnet_sci.so.0.3\0libc.so.6\0", 2, 127).unwrap();
        assert!(line.contains("-Wl,-rpath,/opt/lib,") && line.contains("LD_LIBRARY_PATH=/opt/lib"), "{line}");
        let line = told("version", b"\x7fELF..\0libgasnet_sci.so.0.1\0", 1, 127).unwrap();
        assert!(line.contains("needs libgasnet_sci.so.0.1") && line.contains("with libgasnet_sci.so.0.3"), "{line}");
        assert_eq!(told("shell", b"\x7fELF", 2, 127), None, "no word of the library");
    }

    #[test]
    fn programs_without_the_library_are_told_of_those_with_it_are_not() {
        let line = told("smp", b"\x7fELF\0$GASNetConduitName: SMP $\0", 2, 0).unwrap();
        assert!(line.contains("smp-conduit"), "{line}");
        let line = told("plain", b"\x7fELF\0main\0", 3, 1).unwrap();
        assert!(line.starts_with("none of the 3 processes called gasnet_init"), "{line}");
        for (name, contents, nodes, status) in [
            ("one", &b"\x7fELF\0main\0"[..], 1, 0),
            ("script", b"#!/bin/sh\n", 2, 0),
            ("static", b"\x7fELF\0GASNET_SCI_RESERVE\0", 2, 1),
            ("shared", b"\x7fELF\0libgasnet_sci.so.0.3\0", 2, 1),
            ("signal", b"\x7fELF\0main\0", 2, 139),
            ("late", b"\x7fELF\0main\0", 2, 124),
        ] {
            assert_eq!(told(name, contents, nodes, status), None, "{name}");
        }
    }
}
