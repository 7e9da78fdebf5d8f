//! The cases of c-tests/*/scenarios.txt that fall to a build. The head of job/scenarios.txt describes their form.

use super::rows::{Build, Scenarios};
use crate::repo::Repo;
use anyhow::{Context, Result};
use regex_lite::Regex;
use std::collections::BTreeSet;
use std::fs;

/// A line of a file.
pub struct Line {
    text: String,
    pub status: String,
    nodes: Vec<usize>,
    builds: String,
    pub environment: String,
    pub command: String,
    pub checks: String,
}

#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub line: &'a Line,
    pub nodes: usize,
}

pub fn lines(repo: &Repo, folder: &str) -> Result<Vec<Line>> {
    let path = format!("c-tests/{folder}/scenarios.txt");
    let text = repo.read(&path)?;
    let is_case = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let line = |text: &str| {
        let mut fields = text.splitn(6, '|').map(|field| field.trim_matches(' ').to_owned());
        let mut next = || fields.next().with_context(|| format!("{path}: six fields, not: {text}"));
        let (status, nodes, builds) = (next()?, next()?, next()?);
        let nodes = nodes.split(',').map(|number| number.trim().parse()).collect::<Result<_, _>>();
        let nodes = nodes.with_context(|| format!("{path}: numbers of nodes, not: {text}"))?;
        Ok(Line { text: text.into(), status, nodes, builds, environment: next()?, command: next()?, checks: next()? })
    };
    text.lines().filter(is_case).map(line).collect()
}

/// The programs that any scenario names.
pub fn programs(repo: &Repo) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for entry in
        fs::read_dir(repo.root.join("c-tests"))?.flatten().filter(|entry| entry.path().join("scenarios.txt").exists())
    {
        let found = lines(repo, &entry.file_name().to_string_lossy())?;
        all.extend(found.iter().filter_map(|line| line.command.split(' ').next().map(str::to_owned)));
    }
    Ok(all)
}

/// All words that hold for a build, between blanks.
pub fn words(row: &Scenarios) -> String {
    let mut words = format!(" {} ", row.1);
    for (but, word) in [(" seq ", "threads "), (" everything ", "segment ")] {
        if !words.contains(but) {
            words += word;
        }
    }
    words
}

impl Scenarios {
    pub fn build(&self) -> Result<Build> {
        Build::all(&self.1).pop().with_context(|| format!("scenarios of {}: no thread mode in {}", self.0, self.1))
    }

    fn pattern(&self) -> Result<Regex> {
        Regex::new(&self.2).with_context(|| format!("pattern {}", self.2))
    }

    /// The cases of `lines` that fall to this build, in groups: a group's cases run in their order, one after the other. Lines with $scratch
    /// look into the files of lines before them. So they are one group, with every number of nodes.
    ///
    /// The builds beside it are `others`. All share the numbers of nodes of each line: a case runs once with each number that its line has,
    /// in one of the builds that its line allows. They take them by turns, a different one first in each line and each turn.
    pub fn cases<'a>(
        &self,
        lines: &'a [Line],
        others: &[&Scenarios],
        turn: usize,
        wish: Option<&Regex>,
    ) -> Result<Vec<Vec<Case<'a>>>> {
        let own = words(self);
        let pattern = self.pattern()?;
        let others: Vec<(String, Regex)> =
            others.iter().map(|other| Ok((words(other), other.pattern()?))).collect::<Result<_>>()?;
        let mut ordered = Vec::new();
        let mut groups = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if !line.wants(&own) || !wish.unwrap_or(&pattern).is_match(&line.text) {
                continue;
            }
            if format!("{}{}", line.environment, line.command).contains("$scratch") {
                ordered.extend(line.nodes.iter().map(|nodes| Case { line, nodes: *nodes }));
                continue;
            }
            let rivals = others.iter().filter(|(words, pattern)| line.wants(words) && pattern.is_match(&line.text));
            // Every build comes to the same order: that of the words.
            let (mine, all) =
                rivals.fold((0, 1), |(mine, all), (words, _)| (mine + usize::from(*words < own), all + 1));
            let falls_here = |i: usize| (i + 1 + at + 1 + turn) % all == mine;
            let cases = line.nodes.iter().enumerate().filter(|(i, _)| falls_here(*i));
            groups.extend(cases.map(|(_, nodes)| vec![Case { line, nodes: *nodes }]));
        }
        groups.insert(0, ordered);
        Ok(groups)
    }
}

impl Case<'_> {
    pub fn describe(&self) -> String {
        let Line { status, environment, command, checks, .. } = self.line;
        format!("{} {status} | {environment} | {command} | {checks}", self.nodes)
    }
}

impl Line {
    /// Whether the build with these words runs it.
    fn wants(&self, words: &str) -> bool {
        self.builds.split_whitespace().all(|word| word == "-" || words.contains(&format!(" {word} ")))
    }
}
