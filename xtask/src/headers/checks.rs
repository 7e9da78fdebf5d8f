//! The list of all compiler runs. They run at the same time, as many as there are cores.

use super::compile::{Check, Expected, Extent, command};
use crate::repo::{Repo, outcome};
use crate::verdicts::Verdicts;
use anyhow::{Context, Result};
use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, thread};

/// The number of lines of a compiler's output that are shown.
const LINES: usize = 12;

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

    /// Adds a check: the compiler must accept the file without a warning.
    pub fn clean(&mut self, name: String, compiler: &str, standard: &str, extent: Extent, flags: &[&str], file: &Path) {
        self.add(name, compiler, standard, extent, flags, file, Expected::Clean);
    }

    /// Adds a check: the compiler must refuse the file with a line that matches `says`.
    pub fn refused(
        &mut self,
        name: &str,
        says: &str,
        compiler: &str,
        standard: &str,
        flags: &[&str],
        file: &Path,
    ) -> Result<()> {
        let name = format!("{name}: expected a failure that says \"{says}\"");
        self.add(name, compiler, standard, Extent::Syntax, flags, file, Expected::Refusal(Regex::new(says)?));
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // what a compiler is told, and what it must say
    fn add(
        &mut self,
        name: String,
        compiler: &str,
        standard: &str,
        extent: Extent,
        flags: &[&str],
        file: &Path,
        expected: Expected,
    ) {
        let arguments = command(&self.repo.root.join("include"), compiler, standard, extent, flags, file);
        self.list.push(Check { name, arguments, expected });
    }

    /// Runs all checks.
    pub fn run(self, verdicts: &Verdicts) -> Result<()> {
        let repo = self.repo;
        let queue = Mutex::new(self.list.into_iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<()> {
            while let Some(check) = next() {
                verdicts.none(&check.name, &findings(repo, &check)?, LINES);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..repo.cores).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker only runs compilers"))
        })
    }
}

/// The faults in the outcome of a check; empty if the outcome is as expected.
fn findings(repo: &Repo, check: &Check) -> Result<String> {
    let (program, arguments) = check.arguments.split_first().context("a command has a program")?;
    let (success, text) = outcome(repo.command(&program.to_string_lossy()).args(arguments))?;
    let right = match &check.expected {
        Expected::Clean => success,
        Expected::Refusal(says) => !success && says.is_match(&text),
    };
    Ok(if right { String::new() } else { text + "(that is all)\n" })
}
