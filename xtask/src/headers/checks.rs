//! The list of all compiler runs. They run at the same time, as many as there are cores.

use crate::repo::{Repo, outcome};
use crate::verdicts::Verdicts;
use anyhow::{Context, Result};
use regex_lite::Regex;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, thread};

/// The number of lines of a compiler's output that are shown.
const LINES: usize = 12;

/// How far the compiler goes.
#[derive(Clone, Copy, PartialEq)]
pub enum Extent {
    Syntax,
    /// It makes code, which is thrown away: some warnings come only then.
    Code,
}

/// A run of a compiler over one file, with all warnings as errors.
struct Check {
    name: String,
    compiler: String,
    arguments: Vec<String>,
    file: PathBuf,
    /// The compiler must fail with a line that matches; `None`: it must accept the file without a warning.
    refusal: Option<Regex>,
}

pub struct Checks<'a> {
    pub repo: &'a Repo,
    directory: &'a Path,
    list: Vec<Check>,
}

impl<'a> Checks<'a> {
    /// An empty list. The files to compile go to `directory`.
    pub fn new(repo: &'a Repo, directory: &'a Path) -> Checks<'a> {
        Checks { repo, directory, list: Vec::new() }
    }

    /// Writes a file to compile.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Adds checks: each of these compilers must accept the file in each of these dialects without a warning. `flags` has blanks
    /// between its words.
    pub fn clean(&mut self, what: &str, by: &[&str], standards: &[&str], extent: Extent, flags: &str, file: &Path) {
        for (compiler, standard) in by.iter().flat_map(|one| standards.iter().map(move |standard| (one, standard))) {
            self.add(format!("{what}: "), compiler, standard, extent, flags, file, None);
        }
    }

    /// Adds a check: gcc must refuse the file as C99 with a line that matches `says`.
    pub fn refused(&mut self, what: &str, says: &str, flags: &str, file: &Path) -> Result<()> {
        self.refused_by("gcc", "c99", what, says, flags, file)
    }

    /// The same of another compiler and dialect.
    pub fn refused_by(
        &mut self,
        compiler: &str,
        standard: &str,
        what: &str,
        says: &str,
        flags: &str,
        file: &Path,
    ) -> Result<()> {
        let name = format!("{what}: expected a failure that says \"{says}\": ");
        self.add(name, compiler, standard, Extent::Syntax, flags, file, Some(Regex::new(says)?));
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // what a compiler is told, and what it must say
    fn add(
        &mut self,
        name: String,
        compiler: &str,
        standard: &str,
        extent: Extent,
        flags: &str,
        file: &Path,
        refusal: Option<Regex>,
    ) {
        let language = if standard.starts_with("c++") { "c++" } else { "c" };
        let made = if extent == Extent::Code { "-c -o /dev/null" } else { "-fsyntax-only" };
        let flags = format!("-std={standard} {flags}");
        let all = format!("-x {language} -Wall -Wextra -pedantic -Werror {made} {flags}");
        self.list.push(Check {
            name: format!("{name}{compiler} {}", flags.trim_end()),
            compiler: compiler.into(),
            arguments: all.split_whitespace().map(str::to_owned).collect(),
            file: file.into(),
            refusal,
        });
    }

    /// Runs all checks.
    pub fn run(self, verdicts: &Verdicts) -> Result<()> {
        let repo = self.repo;
        let queue = Mutex::new(self.list.into_iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<()> {
            while let Some(check) = next() {
                verdicts.none(&check.name, &check.findings(repo)?, LINES);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..repo.cores).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker only runs compilers"))
        })
    }
}

impl Check {
    /// The faults in the outcome; empty if the outcome is as expected.
    fn findings(&self, repo: &Repo) -> Result<String> {
        let mut command = repo.command(&self.compiler);
        let (success, text) = outcome(command.args(["-I", "include"]).args(&self.arguments).arg(&self.file))?;
        let right = self.refusal.as_ref().map_or(success, |says| !success && says.is_match(&text));
        Ok(if right { String::new() } else { text + "(that is all)\n" })
    }
}
