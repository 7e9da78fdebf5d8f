//! Thresholds measured on this host: a small file that `gasnet-sci tune` writes. Its values replace the defaults.
//! Values in the environment come before both.
//!
//! Rules:
//!
//! 1. A file is read only if only its owner can have written it. If no user named it, its owner must be root, this
//!    user, or the owner of the library.
//! 2. A process with other rights than its user's (setuid) reads no file.
//! 3. A file with any fault in it is ignored as a whole, and reported once.
//! 4. A file that the user did not name may be missing.
//!
//! Must not know: how values are measured.

use super::{Config, VARS};
#[cfg(not(loom))]
use crate::os::sys;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The variable that names the file.
pub const VARIABLE: &str = "GASNET_SCI_TUNE_FILE";
/// The value of that variable that means no file.
pub const NONE: &str = "none";
/// The place of the file below the prefix of an installation, or below / for code that is not installed.
const PLACE: &str = "etc/gasnet-sci/tune.conf";
/// The most bytes of a file; a larger one cannot be a tune file.
const LARGEST: u64 = 64 << 10;

/// The variables that a file may set. Each is a length from which another way of moving bytes is faster.
pub const NAMES: &[&str] =
    &["GASNET_SCI_DMA_MIN", "GASNET_SCI_BOUNCE_MIN", "GASNET_SCI_DMA_THREAD_MIN", "GASNET_VIS_MAXCHUNK"];

/// A tune file that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuned {
    /// Its name.
    pub file: PathBuf,
    pub(super) values: Vec<(&'static str, String)>,
}

impl Tuned {
    /// The value for the variable `name`, if the file has one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// All names with their values.
    pub fn values(&self) -> &[(&'static str, String)] {
        &self.values
    }
}

/// What must be known of the process that reads.
#[derive(Clone, Debug)]
pub struct Asker {
    /// Whether it has other rights than its user's.
    pub is_privileged: bool,
    /// Effective user id.
    pub user: u32,
    /// The file from which this code was loaded: the shared library, a command, or the client's program.
    pub code: Option<PathBuf>,
}

impl Asker {
    /// The process that calls this.
    #[cfg(not(loom))]
    pub fn here() -> Asker {
        Asker { is_privileged: sys::is_privileged(), user: sys::effective_user(), code: sys::own_code() }
    }
}

/// The file of the installation that `code` belongs to: `PREFIX/etc/gasnet-sci/tune.conf`. It is
/// `/etc/gasnet-sci/tune.conf` for code below /usr, and for code that is not in such an installation, such as a
/// client's program with the library linked in.
pub fn place(code: Option<&Path>) -> PathBuf {
    let prefix = code.and_then(prefix).filter(|prefix| *prefix != Path::new("/usr"));
    prefix.unwrap_or(Path::new("/")).join(PLACE)
}

fn prefix(code: &Path) -> Option<&Path> {
    let name = code.file_name()?.to_str()?;
    let directory = code.parent()?;
    let is = |directory: &Path, names: &[&str]| {
        directory.file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(&name))
    };
    if !code.is_absolute() {
        return None;
    }
    if name.starts_with("libgasnet") {
        // DIR/lib, or Debian's DIR/lib/TRIPLET.
        return directory.ancestors().take(2).find(|d| is(d, &["lib", "lib64"]))?.parent();
    }
    let is_ours = name == "gasnet-sci" || name.starts_with("gasnetrun_");
    if is_ours && is(directory, &["bin"]) { directory.parent() } else { None }
}

/// The file that this process uses, if there is one. If there is an error it uses none, and the error is one line for
/// the user. `named`: the value of [`VARIABLE`].
pub fn find(named: Option<&str>, asker: &Asker) -> Result<Option<Tuned>, String> {
    let named = named.map(str::trim).filter(|name| !name.is_empty());
    if asker.is_privileged || named == Some(NONE) {
        return Ok(None);
    }
    let file = named.map_or_else(|| place(asker.code.as_deref()), PathBuf::from);
    let unusable = |problem: String| format!("tune file {}: {problem}; thresholds are the defaults", file.display());
    let open = OpenOptions::new().read(true).custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK).open(&file);
    let open = match open {
        Ok(open) => open,
        // The user named no file, so it does not matter that a default one cannot be read.
        Err(_) if named.is_none() => return Ok(None),
        Err(error) => return Err(unusable(error.to_string())),
    };
    let text = read(open, named.is_some(), asker).map_err(unusable)?;
    let values = parse(&text).map_err(unusable)?;
    Ok(Some(Tuned { file, values }))
}

fn read(mut file: File, is_named: bool, asker: &Asker) -> Result<String, String> {
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is not a regular file".into());
    }
    if about.mode() & 0o022 != 0 {
        return Err(format!("others than its owner may write it (mode {:o})", about.mode() & 0o7777));
    }
    let of_code = || asker.code.as_ref().and_then(|code| code.metadata().ok()).map(|code| code.uid());
    if !is_named && ![0, asker.user].contains(&about.uid()) && of_code() != Some(about.uid()) {
        return Err(format!("it is owned by user {}, not by root, the library's owner or this user", about.uid()));
    }
    if about.len() > LARGEST {
        return Err(format!("{} bytes are too many", about.len()));
    }
    let mut text = String::new();
    file.by_ref().take(LARGEST).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// Reads lines `NAME = VALUE`. Empty lines are skipped, and so is all that follows a `#`.
pub fn parse(text: &str) -> Result<Vec<(&'static str, String)>, String> {
    let mut values: Vec<(&'static str, String)> = Vec::new();
    let mut scratch = Config::default();
    for (number, line) in text.lines().enumerate() {
        let at = |problem: String| format!("line {}: {problem}", number + 1);
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| at(format!("'{}' is not NAME = VALUE", shown(line))))?;
        let (name, value) = (name.trim(), value.trim());
        let var = VARS.iter().find(|var| var.name == name && NAMES.contains(&name));
        let var = var.ok_or_else(|| at(format!("'{}' is not one of {}", shown(name), NAMES.join(", "))))?;
        if values.iter().any(|(known, _)| *known == name) {
            return Err(at(format!("{name} is there twice")));
        }
        if (var.set)(&mut scratch, value).is_none() {
            return Err(at(format!("{name} = '{}': expected {}", shown(value), var.form)));
        }
        values.push((var.name, value.to_string()));
    }
    Ok(values)
}

// Makes one line of a text, whatever the file holds.
fn shown(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn asker() -> Asker {
        Asker { is_privileged: false, ..Asker::here() }
    }

    /// A file of one test, removed at the end.
    struct Written(PathBuf);
    impl Written {
        fn new(name: &str, text: &str) -> Written {
            let path = std::env::temp_dir().join(format!("sci-tune-{}-{name}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            let written = Written(path);
            written.mode(0o644);
            written
        }
        fn mode(&self, mode: u32) {
            std::fs::set_permissions(&self.0, PermissionsExt::from_mode(mode)).unwrap();
        }
        fn find(&self) -> Result<Option<Tuned>, String> {
            find(self.0.to_str(), &asker())
        }
    }
    impl Drop for Written {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn values_and_comments_are_read() {
        let text = "# measured\n\n GASNET_SCI_DMA_MIN=16K # bytes\nGASNET_VIS_MAXCHUNK = 2048\n";
        let written = Written::new("good", text);
        let tuned = written.find().unwrap().unwrap();
        assert_eq!(tuned.get("GASNET_SCI_DMA_MIN"), Some("16K"));
        assert_eq!(tuned.get("GASNET_VIS_MAXCHUNK"), Some("2048"));
        assert_eq!((tuned.get("GASNET_SCI_BOUNCE_MIN"), tuned.values().len()), (None, 2));
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn whatever_is_wrong_is_named_with_its_line() {
        for (text, line, word) in [
            ("GASNET_SCI_DMA_MIN", 1, "NAME = VALUE"),
            ("\nGASNET_SCI_DMA_MIN = many", 2, "memory size"),
            ("GASNET_SCI_DMA_MIN =", 1, "memory size"),
            ("GASNET_SCI_DMA_THREAD_MIN = 1", 1, "64 bytes or more"),
            ("GASNET_SCI_NODES = 4", 1, "is not one of GASNET_SCI_DMA_MIN"),
            ("NONSENSE = 4", 1, "is not one of"),
            ("GASNET_SCI_DMA_MIN = 4K\nGASNET_SCI_DMA_MIN = 8K", 2, "twice"),
            ("\u{1b}[2J\u{7}", 1, "'?[2J?'"),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.starts_with(&format!("line {line}: ")) && problem.contains(word), "{text:?}: {problem}");
            assert!(problem.lines().count() == 1);
        }
        let written = Written::new("bad", "GASNET_SCI_DMA_MIN = 4K\nrubbish\n");
        let problem = written.find().unwrap_err();
        assert!(problem.contains("line 2") && problem.contains("the defaults"), "{problem}");
        std::fs::write(&written.0, [0xff, 0xfe]).unwrap();
        assert!(written.find().is_err(), "not UTF-8");
        std::fs::write(&written.0, "#".repeat(LARGEST as usize + 1)).unwrap();
        assert!(written.find().unwrap_err().contains("too many"));
    }

    #[test]
    fn a_file_that_others_may_write_is_not_read() {
        let written = Written::new("modes", "GASNET_SCI_DMA_MIN = 4K\n");
        for mode in [0o646, 0o666, 0o664] {
            written.mode(mode);
            assert!(written.find().unwrap_err().contains(&format!("mode {mode:o}")));
        }
        written.mode(0o600);
        assert!(written.find().unwrap().is_some());
        let stranger = Asker { user: asker().user + 1, code: None, ..asker() };
        let open = || File::open(&written.0).unwrap();
        if asker().user != 0 {
            assert!(read(open(), false, &stranger).unwrap_err().contains("is owned by"));
        }
        assert!(read(open(), true, &stranger).is_ok(), "a user who names a file trusts its owner");
        assert!(read(File::open("/").unwrap(), true, &asker()).unwrap_err().contains("regular"));
    }

    #[test]
    fn a_named_file_must_be_there_and_the_default_one_need_not() {
        let problem = find(Some("/nonexistent/tune.conf"), &asker()).unwrap_err();
        assert!(problem.contains("/nonexistent/tune.conf") && problem.contains("the defaults"), "{problem}");
        let nowhere = Asker { code: Some("/nonexistent/lib/libgasnet_sci.so.0.2".into()), ..asker() };
        assert_eq!(find(None, &nowhere), Ok(None));
        assert_eq!(find(Some(" "), &nowhere), Ok(None));
        assert_eq!(find(Some("none"), &asker()), Ok(None));
    }

    #[test]
    fn a_process_with_other_rights_than_its_users_reads_none() {
        let written = Written::new("setuid", "rubbish");
        let privileged = Asker { is_privileged: true, ..asker() };
        assert_eq!(find(written.0.to_str(), &privileged), Ok(None));
    }

    #[test]
    fn the_default_place_is_the_installations_or_the_hosts() {
        let place = |code: &str| place(Some(Path::new(code))).to_str().unwrap().to_string();
        for (code, expected) in [
            ("/opt/g/lib/libgasnet_sci.so.0.2", "/opt/g/etc/gasnet-sci/tune.conf"),
            ("/opt/g/lib64/libgasnet-smp-par.so", "/opt/g/etc/gasnet-sci/tune.conf"),
            ("/opt/g/bin/gasnet-sci", "/opt/g/etc/gasnet-sci/tune.conf"),
            ("/opt/g/bin/gasnetrun_smp", "/opt/g/etc/gasnet-sci/tune.conf"),
            ("/usr/lib/x86_64-linux-gnu/libgasnet_sci.so.0.2", "/etc/gasnet-sci/tune.conf"),
            ("/home/u/bin/prog", "/etc/gasnet-sci/tune.conf"),
            ("/tmp/libgasnet_sci.so.0.2", "/etc/gasnet-sci/tune.conf"),
            ("lib/libgasnet_sci.so.0.2", "/etc/gasnet-sci/tune.conf"),
            ("/home/u/src/target/release/gasnet-sci", "/etc/gasnet-sci/tune.conf"),
        ] {
            assert_eq!(place(code), expected, "{code}");
        }
        assert_eq!(super::place(None), Path::new("/etc/gasnet-sci/tune.conf"));
    }
}
