//! The directory of a run, and what happens to it when the run is killed.

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process;

/// A directory of one run, which is removed when this value is dropped. It is not below /tmp, because hosts have a /tmp of
/// their own. Hosts need no such care: they end with the process that made them.
pub struct Directory {
    path: PathBuf,
    /// Locked as long as the run lasts. A directory whose lock is free belongs to a run that was killed.
    _lock: File,
}

impl Directory {
    pub fn make(target: &Path) -> Result<Directory> {
        let parent = target.join("netlab");
        fs::create_dir_all(&parent).with_context(|| format!("cannot make {}", parent.display()))?;
        // One at a time: between the making of a directory and its lock it looks abandoned.
        let turn = File::create(parent.join("lock"))?;
        flock(&turn, FlockOperation::LockExclusive).context("cannot lock the directory of runs")?;
        remove_abandoned(&parent);
        let path = parent.join(process::id().to_string());
        // One that is there is of a process that had our number, or was made before in this process.
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let lock = File::create(path.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).context("the run's directory is in use")?;
        Ok(Directory { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is left to the next run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of runs that were killed.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let free = File::open(entry.path().join("lock"))
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        if free {
            let _ = fs::remove_dir_all(entry.path()); // another run may do the same
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_killed_runs_are_removed_and_those_of_others_are_not() {
        let target = tempfile::tempdir().unwrap();
        let abandoned = target.path().join("netlab/1");
        fs::create_dir_all(&abandoned).unwrap();
        fs::write(abandoned.join("lock"), "").unwrap();
        let used = target.path().join("netlab/2");
        fs::create_dir_all(&used).unwrap();
        let lock = File::create(used.join("lock")).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let own = Directory::make(target.path()).unwrap();
        assert!(!abandoned.exists() && used.exists() && own.path().exists());
        let path = own.path().to_path_buf();
        drop(own);
        assert!(!path.exists());
    }
}
