//! The site that all runs share: programs, directories, a cgroup.

use super::plan::Plan;
use super::program::{Listed, Program};
use crate::leftovers::{Leftovers, clear_on_signals};
use crate::repo::Repo;
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, process, thread};
use tempfile::TempDir;

pub struct Site {
    pub launcher: PathBuf,
    /// The LD_PRELOAD library that makes system calls fail.
    pub shim: PathBuf,
    programs: PathBuf,
    /// Those of ci/c-tests for this profile: directory, and what its name ends in.
    listed: (PathBuf, String),
    /// For what the runs print, and for the log of the shim. The jobs' temporary files go elsewhere, to a directory
    /// that must stay empty.
    pub work: TempDir,
    pub leftovers: Leftovers,
    /// A cgroup with memory control, if this process could make one.
    pub group: Option<Group>,
}

impl Site {
    /// Builds the program, or those that are listed, against the stage, unless they are fresh.
    pub fn prepare(repo: &Repo, program: Program, listed: Option<&[&Listed]>) -> Result<Site> {
        // Beside the programs of the stage of another profile.
        let profile = repo.stage.file_name().and_then(|name| name.to_str()?.strip_prefix("stage")).unwrap_or_default();
        let directory = repo.target.join(format!("c-tests/soak{profile}"));
        let shim = directory.join("faults.so");
        let shared = ["-std=gnu99", "-O2", "-shared", "-fPIC", "-pthread", "-ldl"].map(str::to_owned);
        repo.compile("gcc", &repo.c_test("faults.c")?, &shim, &shared)?;
        let build = |build: &str| {
            let out = directory.join(build).join(program.name());
            repo.compile("gcc", &repo.root.join(program.source()), &out, &flags(repo, build))
        };
        if let Some(listed) = listed {
            for modes in [&["seq", "par"][..], &["parsync", "--debug"]] {
                let only = listed.iter().flat_map(|program| ["--only", &program.name]);
                let status = repo.command("ci/c-tests").args(modes).args(only).status()?;
                if !status.success() {
                    bail!("ci/c-tests: {status}");
                }
            }
        }
        let own = if listed.is_some() { &[] } else { program.builds() };
        let builds: Vec<&str> = own.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        for some in builds.chunks(repo.cores) {
            thread::scope(|scope| {
                let started: Vec<_> = some.iter().map(|name| scope.spawn(|| build(name))).collect();
                started.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a compilation panicked"))?)
            })?;
        }
        let site = Site {
            launcher: repo.stage.join("bin/gasnetrun_sci"),
            shim,
            programs: directory,
            listed: (repo.target.join("c-tests"), profile.to_owned()),
            work: tempfile::tempdir()?,
            leftovers: Leftovers::new(&repo.target)?,
            group: Group::make(),
        };
        site.clear_on_signals()?;
        Ok(site)
    }

    pub fn program(&self, plan: &Plan) -> PathBuf {
        let (directory, profile) = &self.listed;
        let directory = match plan.program {
            Program::Listed(_) => directory.join(format!("{}{profile}", plan.build)),
            _ => self.programs.join(plan.build),
        };
        directory.join(plan.program.name())
    }

    /// Makes a signal that ends this process end the job first, and remove files and cgroup.
    fn clear_on_signals(&self) -> Result<()> {
        let marked = self.leftovers.marked.clone();
        let directories = [self.work.path().to_path_buf(), self.leftovers.temporary().to_path_buf()];
        let group = self.group.as_ref().map(|group| group.0.clone());
        clear_on_signals(directories.to_vec(), move || {
            marked.kill();
            group.iter().for_each(|group| drop(fs::remove_dir(group)));
        })
    }
}

/// The compiler's options for a build, which its name says.
fn flags(repo: &Repo, build: &str) -> Vec<String> {
    let mut words = build.split('-');
    let mode = words.next().unwrap_or_default().to_uppercase();
    let mut flags = ["-std=c99", "-O2", "-pthread", "-lm"].map(str::to_owned).to_vec();
    flags.extend(repo.client_flags());
    flags.push(format!("-DGASNET_{mode}"));
    flags.extend(words.map(|word| match word {
        "debug" => "-DGASNET_DEBUG".into(),
        "large" => "-DSLOT=((size_t)131072)".into(),
        segment => format!("-DGASNET_SEGMENT_{}", segment.to_uppercase()),
    }));
    flags
}

/// A cgroup that is removed when this value is dropped.
pub struct Group(PathBuf);

impl Group {
    /// Makes a cgroup of version 2, beside this process's or at the root, or one of version 1.
    fn make() -> Option<Group> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let path =
            |head: &str| own.lines().find_map(|line| Some(line.split_once(head)?.1.to_owned())).unwrap_or_default();
        let parents = [
            format!("/sys/fs/cgroup{}", path("0::")),
            "/sys/fs/cgroup".into(),
            format!("/sys/fs/cgroup/memory{}", path(":memory:")),
        ];
        parents.iter().find_map(|parent| {
            let group = Path::new(parent).join(format!("gasnet-sci-soak-{}", process::id()));
            fs::create_dir(&group).ok()?;
            let group = Group(group);
            let usable = group.0.join("memory.max").exists() || group.0.join("memory.limit_in_bytes").exists();
            usable.then_some(group)
        })
    }

    /// The file to which processes are written that join the cgroup.
    pub fn processes(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    /// Sets the limit for the memory of all its processes together.
    pub fn limit(&self, megabytes: u64) -> Result<()> {
        if self.0.join("memory.max").exists() {
            fs::write(self.0.join("memory.max"), format!("{megabytes}M"))?;
            // A kernel without swap accounting has no such file.
            let _ = fs::write(self.0.join("memory.swap.max"), "0");
        } else {
            fs::write(self.0.join("memory.limit_in_bytes"), format!("{megabytes}M"))?;
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel may take a moment to remove the last process from it.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
