//! One section: its checks, in a process of its own, with a mark and a TMPDIR of its own, so that sections may run beside each other.

use super::Test;
use super::cases::Site;
use super::child::{last_lines, logged};
use super::plan::Run;
use super::pool::pool;
use super::program::{self, RUN_LIMIT, Start};
use super::rows::{Build, Scenarios, Steps, Table};
use super::scenarios;
use anyhow::{Context, Result};
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;

/// The line with which a script ends.
const SUM: &str = r"(?m)^[a-z-]+: ([0-9]+) passed, ([0-9]+) failed\n?";

pub struct Section<'a> {
    test: &'a Test,
    name: &'a str,
    passed: usize,
    failed: usize,
}

impl Section<'_> {
    fn run(&mut self, steps: &Steps) -> Result<()> {
        if !steps.root.is_empty() && !rustix::process::getuid().is_root() {
            println!("{}: not tried: it takes root {}", self.name, steps.root);
            return Ok(());
        }
        if steps.stage {
            self.test.repo.make_stage()?;
        }
        for (name, command) in &steps.checks {
            self.check(name, command)?;
        }
        if !steps.cargo.is_empty() {
            self.cargo(&steps.cargo)?;
        }
        let rows = &self.test.rows;
        match self.name {
            "stage" => {
                let made = self.test.repo.make_stage();
                self.count(made.err().map(|error| format!("FAILED: {error:#}")).unwrap_or_default());
            }
            "c" | "c-build" => {
                let runs = self.test.choice.c(rows)?;
                self.is_known(runs.is_empty());
                self.programs(&runs, self.name == "c")?;
            }
            "sample" => self.tables(&rows.builds.sample, true)?,
            "sanitize" | "sanitize-build" => self.tables(&rows.builds.sanitize, self.name == "sanitize")?,
            "scenarios" | "scenarios-build" => self.scenarios(|row| row.0 != "timed")?,
            "timed" => {
                self.test.repo.library("make_stage; make_timed_stage")?;
                self.scenarios(|row| row.0 == "timed")?;
            }
            _ => {}
        }
        if !steps.leaves.is_empty() {
            self.nothing_left(&steps.leaves);
        }
        steps.scripts.iter().try_for_each(|command| self.script(command))
    }

    /// Counts a check, which has failed if there is something to say.
    fn count(&mut self, failed: String) {
        if failed.is_empty() {
            self.passed += 1;
        } else {
            self.failed += 1;
            println!("{}", failed.trim_end());
        }
    }

    /// A wish of which nothing comes is a mistake, and no success.
    fn is_known(&mut self, is_nothing: bool) {
        if is_nothing {
            self.count(format!("FAILED: {}: nothing is called {}", self.name, self.test.choice.wish.join(" ")));
        }
    }

    /// A command of bash, with a limit of time.
    fn command(&self, line: &str) -> Command {
        let mut command = self.test.repo.command("timeout");
        self.test.leftovers.mark(command.args(["-k", "5", &self.test.limit.to_string(), "bash", "-c", line]));
        command.env("stage", &self.test.repo.stage).env("xtask", self.test.repo.target.join("debug/xtask"));
        command
    }

    fn check(&mut self, name: &str, line: &str) -> Result<()> {
        let (ended, log) = logged(&mut self.command(line))?;
        let said = || format!("FAILED: {name}; again: {line}\n{}", last_lines(&log, 60, usize::MAX, "    "));
        self.count(if ended.status == 0 { String::new() } else { said() });
        Ok(())
    }

    /// A script that shows its failures itself and ends with "NAME: N passed, M failed".
    fn script(&mut self, line: &str) -> Result<()> {
        let (ended, log) = logged(&mut self.command(line))?;
        let again = line.replace("$xtask", "cargo xtask");
        let sum = Regex::new(SUM)?;
        print!("{}", sum.replace_all(&log, ""));
        let Some((passed, failed)) = result(&sum, &log, ended.status)? else {
            self.count(format!("FAILED: it did not finish (status {}); again: {again}", ended.status));
            return Ok(());
        };
        (self.passed, self.failed) = (self.passed + passed, self.failed + failed);
        if failed > 0 {
            println!("again: {again}");
        }
        Ok(())
    }

    fn cargo(&mut self, arguments: &str) -> Result<()> {
        // Tests of the launcher mostly wait: with two threads on two cores they took 205 seconds, with four 130.
        let threads = 2 * self.test.repo.cores;
        let line =
            format!("CI_TEST_OFI=1 CI_TEST_PMIX=1 RUST_TEST_THREADS={threads} cargo test --no-fail-fast {arguments}");
        let (ended, log) = logged(&mut self.command(&line))?;
        let (mut name, mut failed) = ("", 0);
        let running = Regex::new(r"^ *Running (.*) \(")?;
        let result = Regex::new(r"^test result: .* ([0-9]+) passed; ([0-9]+) failed.* finished in ([0-9.]+)s$")?;
        for line in log.lines() {
            if let Some(found) = running.captures(line) {
                name = found.get(1).map_or("", |name| name.as_str());
            } else if let Some(found) = result.captures(line) {
                self.passed += found[1].parse::<usize>()?;
                failed += found[2].parse::<usize>()?;
                self.note(&format!("{} - {name}", &found[3]))?;
            }
        }
        self.failed += failed;
        if ended.status != 0 {
            println!("FAILED: cargo test");
            let dull = Regex::new(r"^ *(Compiling|Downloaded|Downloading|Running|Finished)|^test .* ok$|^running|^$")?;
            log.lines().filter(|line| !dull.is_match(line)).take(150).for_each(|line| println!("    {line}"));
            let again = log.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
            again.take(20).for_each(|test| println!("again: cargo test {test}"));
            self.failed += usize::from(failed == 0);
        }
        self.nothing_left("cargo test");
        Ok(())
    }

    /// A line for the times of all runs.
    fn note(&self, line: &str) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.test.times)?;
        file.write_all(format!("{} {line}\n", self.name).as_bytes()).context("cannot write the times")
    }

    /// After each group of runs nothing of them may be left. Removes anything that is, so that the next group is judged by itself.
    fn nothing_left(&mut self, of: &str) {
        let left = self.test.leftovers.everything();
        let said = || format!("FAILED: left behind by {of}:\n{}", last_lines(&left, 60, usize::MAX, "    "));
        self.count(if left.is_empty() { String::new() } else { said() });
    }

    // --- C programs ---

    /// Builds programs; one check per build.
    fn build(&mut self, needed: impl Iterator<Item = (Build, String)>) -> Result<()> {
        let mut builds = BTreeMap::<Build, BTreeSet<String>>::new();
        for (build, program) in needed {
            builds.entry(build).or_default().insert(program);
        }
        for (build, programs) in builds {
            let only: String = programs.iter().map(|program| format!(" --only {program}")).collect();
            self.check("build", &format!("ci/c-tests {}{only}", build.options().join(" ")))?;
        }
        Ok(())
    }

    fn programs(&mut self, runs: &BTreeSet<Run>, is_run: bool) -> Result<()> {
        let test = self.test;
        if test.is_plan {
            runs.iter().for_each(|run| println!("{}", test.describe(run)));
            return Ok(());
        }
        self.build(runs.iter().map(|run| (run.build.clone(), run.program.clone())))?;
        let runs = if is_run { Vec::from_iter(runs) } else { Vec::new() };
        let leftovers = &test.leftovers;
        let outcomes = pool(
            test.slots,
            &runs,
            |run| run.weight,
            |run| {
                let path = test.repo.target.join("c-tests").join(run.build.directory()).join(&run.program);
                let (how, environment) = (&run.how, &run.environment);
                let start = Start { program: &path, nodes: run.nodes, how, environment, limit: RUN_LIMIT };
                let is_there = path.exists();
                is_there.then(|| program::run(&test.repo, &test.rows, leftovers, &start)).transpose()
            },
        );
        for (run, outcome) in runs.iter().zip(outcomes) {
            match outcome? {
                Some(outcome) => {
                    self.note(&format!("{} {}", outcome.ended.times(), test.describe(run)))?;
                    self.count(outcome.failed);
                }
                None => self.count(format!("FAILED: {} was not built for {}", run.program, test.describe(run))),
            }
        }
        Ok(())
    }

    /// Runs tables, or only builds what they name; those with a title tell their numbers, for docs/reliability.md.
    fn tables(&mut self, tables: &[Table], is_run: bool) -> Result<()> {
        for table in tables {
            let mut runs = self.test.choice.table(&self.test.rows, table, 1)?;
            if table.title == "ThreadSanitizer" {
                match self.thread_way()? {
                    Ok(way) => {
                        let behind = |run: Run| Run { environment: run.environment.clone() + way, ..run };
                        runs = runs.into_iter().map(behind).collect();
                    }
                    Err(why) => {
                        println!("ThreadSanitizer is not tried: {why}");
                        continue;
                    }
                }
            }
            self.test.repo.set_up(&table.needs)?;
            let (programs, passed, failed) =
                (runs.iter().map(|run| &run.program).collect::<BTreeSet<_>>().len(), self.passed, self.failed);
            self.programs(&runs, is_run)?;
            if is_run && !table.title.is_empty() && !self.test.is_plan {
                let (passed, failed) = (self.passed - passed, self.failed - failed);
                println!("{}: {programs} programs, {} runs, {failed} failed", table.title, passed + failed);
            }
        }
        Ok(())
    }

    /// The command that a program with ThreadSanitizer needs before it, or why none starts. Its runtime needs fixed addresses. With more
    /// than 28 random bits, address randomisation may have used them.
    fn thread_way(&self) -> Result<Result<&'static str, String>> {
        let bits = fs::read_to_string("/proc/sys/vm/mmap_rnd_bits").unwrap_or_default();
        let plain = self.test.leftovers.temporary().join("plain");
        let line = format!("gcc -fsanitize=thread -x c - -o {0} <<<'int main(void) {{ return 0; }}'", plain.display());
        let (built, mut why) = logged(&mut self.command(&line))?;
        let mut starts = |before: &str| -> Result<bool> {
            let (ended, log) = logged(&mut self.command(&format!("{before}{}", plain.display())))?;
            why = log;
            Ok(ended.status == 0)
        };
        let way = if built.status != 0 {
            None
        } else if starts("setarch -R ")? {
            Some(" setarch -R")
        } else {
            (bits.trim().parse().unwrap_or(0) <= 28 && starts("")?).then_some("")
        };
        let _ = fs::remove_file(plain); // there is none if it was not built
        Ok(way.ok_or_else(|| {
            format!("{}; random bits of addresses: {}", why.lines().next().unwrap_or_default(), bits.trim())
        }))
    }

    // --- scenarios ---

    fn scenarios(&mut self, is_meant: impl Fn(&Scenarios) -> bool) -> Result<()> {
        let test = self.test;
        let rows: Vec<&Scenarios> = test.rows.builds.scenarios.iter().filter(|row| is_meant(row)).collect();
        let wish = test.choice.wish.first().map(|wish| Regex::new(wish)).transpose().context("the pattern")?;
        if !test.is_plan {
            let programs = scenarios::programs(&test.repo)?;
            let builds = rows.iter().map(|row| row.build()).collect::<Result<Vec<Build>>>()?;
            self.build(
                builds.iter().flat_map(|build| programs.iter().map(|program| (build.clone(), program.clone()))),
            )?;
        }
        if self.name == "scenarios-build" {
            return Ok(());
        }
        let mut is_nothing = true;
        for row in &rows {
            let lines = scenarios::lines(&test.repo, &row.0)?;
            let mut others: Vec<&Scenarios> =
                rows.iter().copied().filter(|other| other.0 == row.0 && other.1 != row.1).collect();
            // Named and thorough ones run in each build.
            if test.choice.thorough || wish.is_some() {
                others.clear();
            }
            let groups = row.cases(&lines, &others, test.choice.turn, wish.as_ref())?;
            is_nothing &= groups.iter().all(Vec::is_empty);
            let words = scenarios::words(row);
            if test.is_plan {
                groups.iter().flatten().for_each(|case| println!("{}: {words}| {}", row.0, case.describe()));
                continue;
            }
            let scratch = tempfile::tempdir_in(test.leftovers.temporary())?;
            let site = Site {
                repo: &test.repo,
                leftovers: &test.leftovers,
                directory: test.repo.target.join("c-tests").join(row.build()?.directory()),
                folder: test.repo.root.join("c-tests").join(&row.0),
                scratch: scratch.path(),
                is_launched: words.contains(" launcher "),
            };
            // Cases of `job` and `tools` mostly wait for something to end; the others compute. In timing mode nodes that wait keep their cores.
            let slots = match row.0.as_str() {
                "job" | "tools" => 2 * test.repo.cores,
                "timed" => 1,
                _ => test.repo.cores,
            };
            let numbered: Vec<_> = groups.iter().enumerate().collect();
            let outcomes = pool(
                slots,
                &numbered,
                |_| 1,
                |(number, group)| -> Result<Vec<_>> {
                    group.iter().map(|case| Ok((*case, site.run(*number, case)?))).collect()
                },
            );
            let (before, mut cases) = (self.failed, 0);
            for (case, (wrong, ended)) in outcomes.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten() {
                self.note(&format!(
                    "{} {} nodes:{words}| {} {}",
                    ended.times(),
                    case.nodes,
                    case.line.environment,
                    case.line.command
                ))?;
                self.count(wrong);
                cases += 1;
            }
            if self.failed > before {
                println!(
                    "{} of {cases} cases of c-tests/{}/scenarios.txt failed in{words}; again: ci/test scenarios PATTERN",
                    self.failed - before,
                    row.0
                );
            }
        }
        self.is_known(is_nothing);
        Ok(())
    }
}

/// What a script has counted. `None`: it ended before it had counted all, or with a failure that is in no count.
fn result(sum: &Regex, log: &str, status: i32) -> Result<Option<(usize, usize)>> {
    let Some(counts) = sum.captures_iter(log).last() else { return Ok(None) };
    let (passed, failed) = (counts[1].parse()?, counts[2].parse()?);
    Ok(((status == 0) == (failed == 0)).then_some((passed, failed)))
}

/// Runs a section in this process. Returns how many checks passed and failed.
pub fn body(test: &Test, name: &str) -> Result<(usize, usize)> {
    let mut section = Section { test, name, passed: 0, failed: 0 };
    section.run(&test.rows.sections.section[name])?;
    Ok((section.passed, section.failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_believed_only_if_its_status_agrees_with_its_count() {
        let sum = Regex::new(SUM).unwrap();
        let of = |log: &str, status| result(&sum, log, status).unwrap();
        assert_eq!(of("docs: 12 passed, 0 failed\n", 0), Some((12, 0)));
        assert_eq!(of("a: 3 passed, 0 failed\nFAILED: x\nb: 2 passed, 1 failed\n", 1), Some((2, 1)));
        assert_eq!(of("docs: 12 passed, 0 failed\n", 3), None);
        assert_eq!(of("docs: 12 passed, 2 failed\n", 0), None);
        assert_eq!(of("", 0), None);
    }
}
