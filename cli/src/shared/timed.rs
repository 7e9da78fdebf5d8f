//! Where the library for timing mode is installed: a directory of its own, so that it can have the name of the normal one.

use std::path::PathBuf;

/// From the directory of the commands. ci/install writes there.
const DIRECTORY: &str = "../lib/gasnet-sci/timed";

/// The file `name` of that directory, beside this command; else a line that says what is missing.
pub fn file(name: &str) -> Result<PathBuf, String> {
    let here = std::env::current_exe().and_then(std::fs::canonicalize);
    let here = here.map_err(|error| format!("this command does not find itself: {error}"))?;
    let path = here.with_file_name(DIRECTORY).join(name);
    let path = std::fs::canonicalize(&path).map_err(|error| {
        format!("timing mode needs {}: {error}: install with ci/install, without --no-timed", path.display())
    })?;
    Ok(path)
}
