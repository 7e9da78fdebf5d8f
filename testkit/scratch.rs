//! A directory of one test.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A directory for the test `name`, removed at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// With these files. Directories come with what is in them.
    pub(crate) fn with(name: &str, files: &[(&str, &str)]) -> Scratch {
        let root = std::env::temp_dir().join(format!("gasnet-sci-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root); // of a process with this number that was killed
        std::fs::create_dir(&root).unwrap();
        let scratch = Scratch(root);
        files.iter().for_each(|(file, text)| scratch.write(file, text));
        scratch
    }

    pub(crate) fn write(&self, file: impl AsRef<Path>, text: &str) {
        let file = self.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
