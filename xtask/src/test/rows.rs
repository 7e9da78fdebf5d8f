//! The rows of ci/rows: C programs, how they are built and run, and the sections of ci/test.

use crate::repo::{Repo, of_profile};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

pub struct Rows {
    /// Lists of programs with their arguments.
    pub programs: BTreeMap<String, Vec<String>>,
    pub builds: Builds,
    pub sections: Sections,
}

/// Tables by the section that runs them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Builds {
    pub c: Vec<Table>,
    pub sample: Vec<Table>,
    pub sanitize: Vec<Table>,
    pub scenarios: Vec<Scenarios>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Table {
    pub name: String,
    pub programs: Vec<String>,
    /// The number of programs that share the rows; 0 as 1.
    pub share: usize,
    pub pairs: Vec<(String, String)>,
    /// Environments that programs that share the rows need not meet.
    pub shared_out: Vec<String>,
    pub thorough: bool,
    pub title: String,
    pub needs: String,
    pub rows: Vec<Row>,
}

/// Builds, numbers of nodes, starts, environment.
#[derive(Deserialize)]
pub struct Row(pub String, pub String, pub String, pub String);

/// Folder of c-tests, words of the build, pattern of lines.
#[derive(Deserialize)]
pub struct Scenarios(pub String, pub String, pub String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sections {
    pub jobs: Vec<String>,
    pub computing: Vec<String>,
    pub alone: Vec<String>,
    pub quick: Vec<String>,
    pub section: BTreeMap<String, Steps>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Steps {
    pub root: String,
    pub stage: bool,
    pub checks: Vec<(String, String)>,
    pub cargo: String,
    pub scripts: Vec<String>,
    pub leaves: String,
}

impl Rows {
    pub fn read(repo: &Repo) -> Result<Rows> {
        Ok(Rows {
            programs: read(repo, "ci/rows/programs.toml")?,
            builds: read(repo, "ci/rows/builds.toml")?,
            sections: read(repo, "ci/rows/sections.toml")?,
        })
    }

    /// The names of the programs of a list, in its order.
    pub fn names(&self, list: &str) -> Result<impl Iterator<Item = &str>> {
        let list = self.programs.get(list).with_context(|| format!("ci/rows/programs.toml has no list {list}"))?;
        Ok(list.iter().filter_map(|entry| entry.split(' ').next()))
    }

    /// The arguments of a short run of a program.
    pub fn arguments(&self, program: &str) -> &str {
        let of = |list: &str| {
            self.programs.get(list)?.iter().find_map(|entry| match entry.split_once(' ') {
                Some((name, arguments)) if name == program => Some(arguments),
                _ => None,
            })
        };
        ["core", "transfer", "ex", "deck"].into_iter().find_map(of).unwrap_or_default()
    }

    /// Whether refused calls are part of a program, so that it prints lines on stderr.
    pub fn is_noisy(&self, program: &str) -> bool {
        self.programs["noisy"].iter().any(|name| name == program)
    }
}

fn read<T: DeserializeOwned>(repo: &Repo, path: &str) -> Result<T> {
    toml::from_str(&repo.read(path)?).with_context(|| format!("{path} is not as xtask/src/test/rows.rs wants it"))
}

/// How programs are built: a thread mode, and words of ci/c-tests.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build {
    pub mode: String,
    pub words: Vec<String>,
}

impl Build {
    /// The builds of a row, one for each thread mode in it. Words that stand for defaults, and how it is started, do not count.
    pub fn all(text: &str) -> Vec<Build> {
        let (modes, words): (Vec<_>, Vec<_>) =
            text.split(' ').partition(|word| ["seq", "parsync", "par"].contains(word));
        let rank =
            |word: &str| ["clang", "large", "everything", "debug", "static"].iter().position(|known| *known == word);
        let is_default = |word: &str| ["release", "fast", "launcher"].contains(&word);
        let mut words: Vec<String> = words.into_iter().filter(|word| !is_default(word)).map(str::to_owned).collect();
        words.sort_by_key(|word| rank(word).unwrap_or(usize::MAX));
        modes.into_iter().map(|mode| Build { mode: mode.into(), words: words.clone() }).collect()
    }

    /// The options of ci/c-tests for it.
    pub fn options(&self) -> Vec<&str> {
        let option = |word| match word {
            "clang" => vec!["--cc", word],
            "large" | "everything" => vec!["--segment", word],
            "debug" => vec!["--debug"],
            "static" => vec!["--static"],
            sanitizers => vec!["--sanitize", sanitizers],
        };
        self.words.iter().flat_map(|word| option(word)).chain([self.mode.as_str()]).collect()
    }

    /// The directory of its programs in target/c-tests.
    pub fn directory(&self) -> String {
        self.name() + &of_profile()
    }

    /// Its name with or without the profile.
    pub fn is_called(&self, name: &str) -> bool {
        name == self.name() || name == self.directory()
    }

    fn name(&self) -> String {
        self.words.iter().fold(self.mode.clone(), |name, word| name + "-" + &word.replace(',', "-"))
    }
}
