//! The jobs that run on this host: a file for each launcher and agent, in a directory of the user's own. A file goes away with its
//! process. One whose process has gone is recognised by the process's number and start time, and is removed. In another PID or time
//! namespace these numbers are of other processes; there one is recognised by a lock that its process holds on the file.

#![allow(dead_code)] // each command uses a part

use gasnet_sci::os::{namespace, sys};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the process of an entry is to its job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// It started the job.
    Launcher,
    /// It supervises the nodes that a job of several hosts has here.
    Agent,
}

/// A job on this host.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The job's number, the same on all its hosts.
    pub id: u64,
    pub role: Role,
    /// Nodes that run here under this process.
    pub nodes: u32,
    /// Nodes of the job.
    pub all: u32,
    /// CPUs that the nodes here are bound to; one for each if they are not bound.
    pub cpus: u32,
    pub program: String,
}

/// An entry and its process.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub entry: Entry,
    /// In the namespace of the process.
    pub pid: i32,
    /// That is this process's namespace too, so that `pid` is the process here.
    pub is_near: bool,
    /// When it was entered, in seconds since 1970.
    pub since: u64,
}

impl std::ops::Deref for Found {
    type Target = Entry;
    fn deref(&self) -> &Entry {
        &self.entry
    }
}

/// An entry of this process, whose file this holds. It goes away with this.
pub struct Registered(PathBuf, i32, File);

// Where numbers of processes and start times mean what they mean to this process: a word that others compare.
fn space() -> String {
    let inode = |space: Option<namespace::Namespace>| space.map_or(0, |space| space.inode);
    format!("{:x}.{:x}", inode(namespace::of_processes()), inode(namespace::of_clocks()))
}

impl Drop for Registered {
    fn drop(&mut self) {
        // A node that was forked has a copy.
        if sys::pid() == self.1 {
            let _ = fs::remove_file(&self.0);
            let _ = self.0.parent().map(leave); // the last one takes the directory along
        }
    }
}

impl Registered {
    /// The file, for those who end without dropping anything.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

// The directory, which is there while it has an entry. `None`: there can be none that only this user can write to. An agent gets another
// environment later.
fn directory() -> Option<PathBuf> {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIRECTORY.get_or_init(find_directory).clone()
}

fn find_directory() -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods)] // a directory of the user's session, not a setting of ours
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = runtime.map(|path| path.join("gasnet-sci")).and_then(checked);
    own.or_else(|| checked(PathBuf::from(format!("/tmp/gasnet-sci-{}", sys::effective_user()))))
}

/// True if the directory is the session's own. Elsewhere a job on one host leaves no trace, and so has no entry.
pub fn is_sessions() -> bool {
    #[allow(clippy::disallowed_methods)] // as in `find_directory`
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    runtime.and_then(|path| checked(path.join("gasnet-sci"))).is_some()
}

fn checked(path: PathBuf) -> Option<PathBuf> {
    let _ = DirBuilder::new().mode(0o700).create(&path); // it may exist
    if !is_own(&path).ok()? {
        return None;
    }
    leave(&path); // who only looks leaves nothing behind
    Some(path)
}

/// Only this user can write to the directory.
fn is_own(path: &Path) -> std::io::Result<bool> {
    let data = fs::symlink_metadata(path)?;
    Ok(data.is_dir() && data.uid() == sys::effective_user() && data.permissions().mode() & 0o077 == 0)
}

/// Removes the directory if it has no entry. [`make_in`] makes it again.
fn leave(directory: &Path) {
    let _ = fs::remove_dir(directory);
}

/// A directory for files of this process. It goes away with this, or when the process has been killed, as an entry does.
pub struct Scratch(PathBuf, i32, File);

/// The beginning of the names of such directories. After it come the process, its start and its [`space`].
const SCRATCH: &str = ".scratch-";
/// So often making one is tried. Each failure takes another process that ends at that moment. Tries are counted and not seconds, because
/// a process that gets no core for long has not tried in that time.
const TRIES: usize = 100_000;

impl Scratch {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A node that was forked has a copy.
        if sys::pid() == self.1 {
            let _ = fs::remove_dir_all(&self.0);
            let _ = self.0.parent().map(leave); // as for an entry
        }
    }
}

/// Makes a [`Scratch`], one for a process.
pub fn scratch() -> std::io::Result<Scratch> {
    let none = || std::io::Error::other("there is none that only this user can write to");
    scratch_in(&directory().ok_or_else(none)?)
}

fn scratch_in(directory: &Path) -> std::io::Result<Scratch> {
    let pid = sys::pid();
    let space = space();
    let path = directory.join(format!("{SCRATCH}{pid}-{}-{space}", own_start().unwrap_or(0)));
    // Under another name until it is held.
    let unfinished = directory.join(format!(".unfinished-{pid}-{space}"));
    make_in(directory, || DirBuilder::new().mode(0o700).create(&unfinished))?;
    let made = File::open(&unfinished).and_then(|held| {
        sys::hold(held.as_fd());
        fs::rename(&unfinished, &path).map(|()| held)
    });
    match made {
        Ok(held) => Ok(Scratch(path, pid, held)),
        Err(error) => {
            let _ = fs::remove_dir(&unfinished);
            Err(error)
        }
    }
}

/// Makes something in the directory, and the directory first. The last entry of another process may take it along at any time.
fn make_in<T>(directory: &Path, mut make: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    let mut tries = 1..=TRIES;
    loop {
        let _ = DirBuilder::new().mode(0o700).create(directory);
        let made = match is_own(directory) {
            Ok(true) => make(),
            // Somebody else has made it since `checked` has looked.
            Ok(false) => return Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied)),
            Err(error) => Err(error),
        };
        match made {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && tries.next().is_some() => {}
            made => return made,
        }
    }
}

// Whether the process of this directory has gone.
fn is_stale_scratch(path: &Path, name: &str) -> bool {
    let owner = |rest: &str| {
        let mut words = rest.splitn(3, '-');
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.to_string()))
    };
    name.strip_prefix(SCRATCH).and_then(owner).is_some_and(|(pid, start, space)| !is_alive(path, pid, start, &space))
}

// Whether the process of the entry or directory at `path` is there: process `pid` of `space`, which began at `start`.
fn is_alive(path: &Path, pid: i32, start: u64, space: &str) -> bool {
    match is_near(space) {
        true => began(pid) == Some(start),
        false => File::open(path).is_ok_and(|file| sys::is_held(file.as_fd())),
    }
}

// Whether numbers of `space` mean here what they mean there.
fn is_near(space: &str) -> bool {
    space == self::space() && namespace::proc_counts_alike()
}

// When process `pid` began, in the kernel's clock. `None`: it has ended, though its parent may not have noticed yet.
fn began(pid: i32) -> Option<u64> {
    start_in(&format!("/proc/{pid}/stat"))
}

// The same of this process. It is there whatever `/proc` counts.
fn own_start() -> Option<u64> {
    start_in("/proc/self/stat")
}

fn start_in(file: &str) -> Option<u64> {
    let stat = fs::read_to_string(file).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if ["Z", "X"].contains(&state) { None } else { fields.nth(18)?.parse().ok() }
}

/// Removes the entries of processes that were killed.
pub fn tidy() {
    drop(list());
}

/// Enters this process. `None`: there is no place for it; the job runs all the same.
pub fn register(entry: &Entry) -> Option<Registered> {
    register_in(&directory()?, entry)
}

fn register_in(directory: &Path, entry: &Entry) -> Option<Registered> {
    let pid = sys::pid();
    let space = space();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let role = if entry.role == Role::Launcher { "launcher" } else { "agent" };
    let program: String = entry.program.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let text = format!(
        "2 {:016x} {role} {space} {pid} {} {now} {} {} {} {program}\n",
        entry.id,
        own_start()?,
        entry.nodes,
        entry.all,
        entry.cpus
    );
    let path = directory.join(format!("{:016x}-{pid}-{space}", entry.id));
    // Under another name first, so that nobody reads half of it, or before it is held.
    let unfinished = directory.join(format!(".{:016x}-{pid}-{space}", entry.id));
    let open = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished);
    let mut file = make_in(directory, open).ok()?;
    sys::hold(file.as_fd());
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
        return None;
    }
    Some(Registered(path, pid, file))
}

// An entry, when its process began, and in which space.
fn parse(text: &str) -> Option<(Found, u64, &str)> {
    let mut words = text.trim_end().splitn(11, ' ');
    let mut word = || words.next();
    if word()? != "2" {
        return None;
    }
    let id = u64::from_str_radix(word()?, 16).ok()?;
    let role = match word()? {
        "launcher" => Role::Launcher,
        "agent" => Role::Agent,
        _ => return None,
    };
    let space = word()?;
    let pid = word()?.parse().ok().filter(|pid| *pid > 0)?;
    let (began, since) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let (nodes, all, cpus) = (word()?.parse().ok()?, word()?.parse().ok()?, word()?.parse().ok()?);
    let entry = Entry { id, role, nodes, all, cpus, program: word()?.into() };
    Some((Found { entry, pid, is_near: is_near(space), since }, began, space))
}

/// This user's jobs on this host, the oldest first.
pub fn list() -> Vec<Found> {
    directory().map_or(Vec::new(), |directory| list_in(&directory))
}

fn list_in(directory: &Path) -> Vec<Found> {
    let mut all = Vec::new();
    for file in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        if is_stale_scratch(&file.path(), &name) {
            let _ = fs::remove_dir_all(file.path());
        }
        if name.starts_with('.') {
            continue;
        }
        let Ok(text) = fs::read_to_string(file.path()) else { continue };
        match parse(&text) {
            Some((found, start, space)) if is_alive(&file.path(), found.pid, start, space) => all.push(found),
            _ => drop(fs::remove_file(file.path())), // its process was killed
        }
    }
    leave(directory); // what was there may have been of processes that were killed
    all.sort_by_key(|found| (found.since, found.entry.id));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet_sci::sync::{AtomicBool, Ordering};

    fn entry(id: u64, program: &str) -> Entry {
        Entry { id, role: Role::Agent, nodes: 2, all: 8, cpus: 2, program: program.into() }
    }

    #[test]
    fn entries_live_as_long_as_their_process_and_stale_ones_are_removed() {
        let directory = std::env::temp_dir().join(format!("gasnet-sci-registry-{}", sys::pid()));
        let directory = checked(directory).unwrap();
        let registered = register_in(&directory, &entry(7, "/bin/a b\nc")).unwrap();
        let stale = fs::read_to_string(registered.path()).unwrap().replace(&format!(" {} ", sys::pid()), " 4194303 ");
        fs::write(directory.join("stale"), stale).unwrap();
        fs::write(directory.join("nonsense"), "1 x").unwrap();
        let found = list_in(&directory);
        assert_eq!((found.len(), &found[0].entry, found[0].pid), (1, &entry(7, "/bin/a b?c"), sys::pid()));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        drop(registered);
        assert!(!directory.exists(), "the last entry takes the directory along");
    }

    /// The numbers of this process are others' in another namespace, so there the lock tells.
    #[test]
    fn what_belongs_to_another_namespace_stays_while_its_process_holds_it() {
        let directory = std::env::temp_dir().join(format!("gasnet-sci-elsewhere-{}", sys::pid()));
        let directory = checked(directory).unwrap();
        DirBuilder::new().mode(0o700).create(&directory).unwrap();
        let text = format!("2 {:016x} agent 7.7 {} 1 5 2 8 2 /bin/a\n", 7, sys::pid());
        let (entry, files) = (directory.join("entry"), directory.join(format!("{SCRATCH}{}-1-7.7", sys::pid())));
        fs::write(&entry, text).unwrap();
        fs::create_dir(&files).unwrap();
        let held = [&entry, &files].map(|path| File::open(path).unwrap());
        assert!(held.iter().all(|file| sys::hold(file.as_fd())));
        let found = list_in(&directory);
        assert_eq!((found.len(), found[0].is_near, found[0].pid), (1, false, sys::pid()));
        assert!(entry.exists() && files.exists());
        drop(held);
        assert!(list_in(&directory).is_empty() && !directory.exists());
    }

    #[test]
    fn who_only_looks_leaves_no_directory() {
        let directory = std::env::temp_dir().join(format!("gasnet-sci-look-{}", sys::pid()));
        let directory = checked(directory).unwrap();
        assert!(!directory.exists(), "nobody has entered anything");
        assert!(list_in(&directory).is_empty() && !directory.exists());
        // A launcher that was killed has left its entry.
        let registered = register_in(&directory, &entry(7, "/bin/a")).unwrap();
        let stale = fs::read_to_string(registered.path()).unwrap().replace(&format!(" {} ", sys::pid()), " 4194303 ");
        fs::write(registered.path(), stale).unwrap();
        assert!(list_in(&directory).is_empty() && !directory.exists(), "the last look takes the directory along");
    }

    #[test]
    fn files_of_a_process_live_as_long_as_it() {
        let directory = std::env::temp_dir().join(format!("gasnet-sci-scratch-{}", sys::pid()));
        let directory = checked(directory).unwrap();
        let own = scratch_in(&directory).unwrap();
        let stale = directory.join(format!("{SCRATCH}4194303-1-{}", space()));
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join("0.json"), "half").unwrap();
        fs::write(own.path().join("0.json"), "half").unwrap();
        assert!(list_in(&directory).is_empty());
        assert!(!stale.exists() && own.path().join("0.json").exists());
        drop(own);
        assert!(!directory.exists());
    }

    #[test]
    fn files_and_entries_find_a_place_while_others_take_the_directory_along() {
        let directory = std::env::temp_dir().join(format!("gasnet-sci-race-{}", sys::pid()));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Relaxed: it only ends the loop.
                while !is_over.load(Ordering::Relaxed) {
                    let _ = fs::remove_dir(&directory);
                }
            });
            let made: Vec<_> = (0..100).map(|_| scratch_in(&directory).map(drop)).collect();
            let entered = (0..100).filter(|_| register_in(&directory, &entry(7, "/bin/a")).is_some()).count();
            is_over.store(true, Ordering::Relaxed); // Relaxed: as above
            assert!(made.iter().all(Result::is_ok), "{made:?}");
            assert_eq!(entered, 100);
        });
        let _ = fs::remove_dir(directory);
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_not_used() {
        let path = std::env::temp_dir().join(format!("gasnet-sci-open-{}", sys::pid()));
        DirBuilder::new().create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(checked(path.clone()), None);
        assert!(register_in(&path, &entry(7, "/bin/a")).is_none(), "also if it was made after the look");
        let link = path.join("link");
        std::os::unix::fs::symlink("/tmp", &link).unwrap();
        assert_eq!(checked(link), None);
        fs::remove_dir_all(&path).unwrap();
    }
}
