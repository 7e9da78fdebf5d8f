//! Jobs under faults. The jobs run random mixes of all operations and verify every byte. Meanwhile nodes and the
//! launcher are killed and stopped, memory and descriptors run out, system calls fail, and cores are taken away.
//!
//! A run must end within the limit, either with the right answer, or non-zero with a line that names node, call and
//! cause. After that nothing of it may be left. A node that is stopped, delayed or moved is not a fault: such a run
//! must end with the right answer. The same seed makes the same plan: program, nodes, settings, fault, moment.
//!
//! `--ex` runs the mix of GASNet-EX instead, without faults unless kinds are named: over seeds, modes, nodes and settings.
//! `--rounds` repeats the C programs of ci/rows/programs.toml, and `--kills` kills some that never end, to find what fails once in many times.
//! `--deaths` kills a sender, the owner or a borrower of a mail box at any moment.

mod cases;
mod disturb;
mod job;
mod judge;
mod options;
mod plan;
mod program;
mod site;
mod tally;

pub use options::Options;

use crate::repo::Repo;
use crate::test::Rows;
use anyhow::Result;
use job::Run;
use judge::verdict;
use options::Extent;
use plan::{Kind, Plan};
use program::{FLOODS, Listed, Program};
use site::Site;
use std::time::{Duration, Instant};
use tally::Tally;

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    let (extent, program, seed) = (options.extent(), options.program(), options.seed.seed);
    repo.set_up("gcc")?;
    repo.make_stage()?;
    let rows = Rows::read(repo)?;
    let listed: Vec<&Listed> =
        rows.names("core")?.map(|name| Listed::of(name, rows.arguments(name), rows.is_noisy(name))).collect();
    let floods: Vec<&Listed> = FLOODS.into_iter().map(|(name, arguments)| Listed::of(name, arguments, false)).collect();
    let wanted = matches!(extent, Extent::Rounds(..)).then_some(&listed[..]);
    let site = Site::prepare(repo, program, wanted)?;
    let kinds = kinds(options, &site);
    let start = Instant::now();
    let mut tally = Tally::default();

    if options.cases {
        for case in &cases::CASES {
            let plan = case.plan();
            let run = job::run(&site, &plan, options.limit)?;
            let wrong = [verdict(&plan, &run, options.limit), case.findings(&run)].concat();
            tally.count(&plan, &run, &wrong);
            print_failure(&site, &plan, &run, &wrong, "a case of --cases", "--cases --runs 0");
        }
    }
    let (mut number, mut left) = (0, u64::MAX);
    match extent {
        Extent::Time(_) => {}
        Extent::Runs(runs) => left = runs,
        Extent::Only(run) => (number, left) = (run, 1),
        Extent::Rounds(rounds, kills) => left = rounds * listed.len() as u64 + kills,
    }
    let until = match extent {
        Extent::Time(time) => time,
        _ => Duration::MAX,
    };
    while left > 0 && start.elapsed() < until {
        let plan = match extent {
            Extent::Rounds(rounds, _) => match number.checked_div(listed.len() as u64) {
                Some(round) if round < rounds => Plan::listed(listed[number as usize % listed.len()], number, round),
                _ => Plan::killed(&floods, seed, number),
            },
            _ => Plan::make(program, seed, number, &kinds),
        };
        let run = job::run(&site, &plan, options.limit)?;
        let wrong = verdict(&plan, &run, options.limit);
        tally.count(&plan, &run, &wrong);
        let words: String = options.kinds.iter().map(|kind| format!(" --kind {}", kind.name())).collect();
        let ex = match program {
            Program::Mixed => "--ex ",
            Program::Death => "--deaths ",
            Program::Soak | Program::Listed(_) => "",
        };
        let again = match extent {
            Extent::Rounds(rounds, kills) => format!("--rounds {rounds} --kills {kills} --seed {seed}"),
            _ => format!("{ex}--seed {seed} --only {number}{words}"),
        };
        print_failure(&site, &plan, &run, &wrong, &format!("run {number} of seed {seed}"), &again);
        if let Extent::Only(_) = extent {
            println!("run {number}: {}: {}, {} ms", plan.describe(), run.status_text(), run.took.as_millis());
            print!("{}", run.err);
            last(&run.out, 3).iter().for_each(|line| println!("{line}"));
        }
        number += 1;
        left -= 1;
    }
    print!("{}", tally.table());
    println!("{}", tally.summary(seed, start.elapsed()));
    if let Some(file) = &options.json {
        tally.write_json(file, seed, start.elapsed())?;
    }
    println!("soak: {} passed, {} failed", tally.runs() - tally.failed(), tally.failed());
    Ok(tally.failed() == 0)
}

/// The kinds of faults to choose from. If no cgroup could be made, limits of address space take the place of limits
/// of memory.
fn kinds(options: &Options, site: &Site) -> Vec<Kind> {
    let mut kinds = match options.program() {
        _ if !options.kinds.is_empty() => options.kinds.clone(),
        Program::Soak => plan::WEIGHTS.to_vec(),
        Program::Mixed => vec![Kind::None],
        Program::Death => vec![Kind::Kill],
        Program::Listed(_) => Vec::new(),
    };
    if site.group.is_none() && kinds.contains(&Kind::Cgroup) {
        println!("no cgroup can be made here: no runs under its limit");
        kinds.iter_mut().filter(|kind| **kind == Kind::Cgroup).for_each(|kind| *kind = Kind::Memory);
    }
    kinds
}

fn print_failure(site: &Site, plan: &Plan, run: &Run, wrong: &[String], which: &str, again: &str) {
    if wrong.is_empty() {
        return;
    }
    let show = |title: &str, lines: &[&str], width: usize| {
        for line in lines {
            println!("    {title}{}", line.chars().take(width).collect::<String>());
        }
    };
    println!("FAILED: {which}, {}: {}", plan.describe(), wrong.join("; "));
    println!("    again: cargo xtask soak {again}");
    println!("    job: {}", job::command_line(site, plan));
    if !run.fault.is_empty() {
        println!("    fault: {}", run.fault.trim_end().replace('\n', ";"));
    }
    show("err: ", &run.err.lines().take(12).collect::<Vec<_>>(), 300);
    show("out: ", &last(&run.out, 4), 200);
    show("", &run.stuck.lines().collect::<Vec<_>>(), 300);
}

fn last(text: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].to_vec()
}
