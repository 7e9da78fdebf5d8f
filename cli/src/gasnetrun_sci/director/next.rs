//! The host that `--place next` used last, in a file of the user's.

use std::path::PathBuf;

fn file() -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods)] // directories of the user, not settings of ours
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    Some(state?.join("gasnet-sci/last-host"))
}

/// The name of the host, if there is one.
pub fn read() -> Option<String> {
    std::fs::read_to_string(file()?).ok().map(|text| text.trim().to_string())
}

/// Remembers a host. If that fails, the next job begins with the first host.
pub fn write(name: &str) {
    let Some(file) = file() else { return };
    if let Some(directory) = file.parent() {
        let _ = std::fs::create_dir_all(directory);
    }
    let _ = std::fs::write(file, format!("{name}\n"));
}
