//! Programs that verify what they move, over a bad network: with loss, delay, frames out of order and twice, and cuts of a
//! second. All of that is TCP's to repair, or the library's own over UDP, so each run must end with the right answer. Counts wrong
//! bytes, jobs that hang, jobs that give up, and what is left behind; over UDP also each case of the protocol's table.

use super::hosts::Network;
use super::job::{self, Bench, End, Layout, Outcome};
use super::options::{Links, Wire, layout};
use super::spec::Spec;
use crate::options::seconds;
use crate::repo::Repo;
use crate::test::{Rows, right_ends};
use anyhow::{Context, Result, ensure};
use clap::{ArgGroup, Args};
use fastrand::Rng;
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What the links do unless `--link` says something else.
const FAULTS: &str = "delay=1ms,loss=1%,reorder=1%,dup=1%,cut=1s/20s";

/// The programs. Their arguments are those of ci/rows/programs.toml.
const PROGRAMS: [&str; 26] = [
    "testam", "testcore", "testcoreflow", "testcorethreads", "testgasnet", "testgasnetstress", "testnb", "testmixed",
    "testsmall", "testlarge", "testbarrier", "testvis", "testcoll", "testreduce", "testteam", "testsoak", EXIT,
    "stencil", "gups", "transpose", "fft", "ex-testmixed", "ex-testrma", "ex-testratomic", "hashtable", "coarray",
];

/// A program of its own kind: its last node leaves with a status that must be the job's.
const EXIT: &str = "testexit";
const EXIT_ARGUMENTS: [&str; 3] = ["-s", "exit", "5"];
const EXIT_STATUS: i32 = 5;

/// Programs that make so many round trips that they would not be through in their time: each frame that is lost costs 0.2 s.
const SHORTER: [(&str, &[&str]); 3] =
    [("gups", &["-u", "1000"]), ("ex-testrma", &["2"]), ("testcoreflow", &["1", "2000"])];

/// Programs that move so much that they would not be through in their time, two minutes, by the rules of the seed: there a hundredth that is
/// lost leaves about a megabyte in a second.
const NOT_BY_SEED: [&str; 2] = ["testcoreflow", "testgasnet"];

const BUILDS: [&str; 2] = ["seq", "par"];

/// verifying programs over a bad network
#[derive(Args)]
#[command(group(ArgGroup::new("extent").required(true)))]
pub struct Options {
    /// how long
    #[arg(long, value_name = "N", group = "extent")]
    minutes: Option<u64>,
    /// so many runs, however long they take
    #[arg(long, value_name = "N", group = "extent")]
    runs: Option<u64>,
    /// this run of the seed
    #[arg(long, value_name = "N", group = "extent")]
    only: Option<u64>,
    #[arg(long, default_value = "2x2", value_parser = layout)]
    layout: Layout,
    /// only these
    #[arg(long = "program", value_name = "PROGRAM", value_parser = PROGRAMS)]
    programs: Vec<String>,
    /// seconds after which a job hangs
    #[arg(long, value_name = "N", default_value = "300", value_parser = seconds)]
    limit: Duration,
    #[command(flatten)]
    links: Links,
    /// udp: datagrams are hit by faults of their own in two of three runs, and a third of the runs is in seed mode
    #[arg(long, default_value = "tcp")]
    network: Wire,
}

/// Faults of datagrams, in the words of GASNET_SCI_UDP_FAULTS.
const UDP_FAULTS: [&str; 3] = ["none", "loss=5,dup=2,reorder=8,flip=1", "loss=10,dup=5,reorder=32,flip=2,delay=0.2ms"];
const UDP_MODES: [&str; 3] = ["normal", "normal", "seed"];

/// What a run is, which follows from the seed and its number.
#[derive(Debug, PartialEq)]
struct Plan {
    program: &'static str,
    build: &'static str,
    reference: bool,
    link_seed: u64,
    /// Mode and faults, over UDP.
    udp: (&'static str, &'static str),
}

impl Plan {
    fn make(seed: u64, number: u64, programs: &[&'static str]) -> Plan {
        let mut random = Rng::with_seed(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // All come equally often.
        let program = programs[(number % programs.len() as u64) as usize];
        let modes = if NOT_BY_SEED.contains(&program) { &UDP_MODES[..1] } else { &UDP_MODES };
        Plan {
            program,
            build: BUILDS[random.usize(..BUILDS.len())],
            reference: random.u8(..3) == 0,
            link_seed: random.u64(0..1 << 30),
            udp: (modes[random.usize(..modes.len())], UDP_FAULTS[random.usize(..3)]),
        }
    }
}

/// The ways in which a run can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    WrongBytes,
    Hang,
    Ended,
    Left,
}

/// The faults of a run that ended with this outcome, without what it left.
pub fn faults(program: &str, nodes: usize, outcome: &Outcome) -> Vec<Fault> {
    let matches = |pattern: &str, text: &str| {
        Regex::new(&format!("(?m){pattern}")).expect("patterns are constants of this file").find_iter(text).count()
    };
    let mut found = Vec::new();
    let bad = r"CHECK\(|: FAIL \(|\bERROR\b";
    let fatal = matches("FATAL ERROR", &outcome.err); // the library gives up, for example because it has lost a connection
    if matches(bad, &outcome.out) + matches(bad, &outcome.err) > fatal {
        found.push(Fault::WrongBytes);
    }
    let right = match outcome.status {
        None => return [found, vec![Fault::Hang]].concat(),
        Some(status) if program == EXIT => status == EXIT_STATUS,
        Some(status) => status == 0 && right_ends(program, nodes, &outcome.out).len() == nodes,
    };
    if found.is_empty() && !right {
        found.push(Fault::Ended);
    }
    found
}

/// The arguments of the programs, as ci/rows/programs.toml has them.
fn arguments(repo: &Repo) -> Result<BTreeMap<&'static str, Vec<String>>> {
    let rows = Rows::read(repo)?;
    let words = |name| rows.arguments(name).split_whitespace().map(str::to_owned).collect();
    let mut all: BTreeMap<_, Vec<String>> = PROGRAMS.into_iter().map(|name| (name, words(name))).collect();
    all.insert(EXIT, EXIT_ARGUMENTS.map(str::to_owned).to_vec());
    all.extend(SHORTER.map(|(name, words)| (name, words.iter().map(|word| (*word).to_owned()).collect())));
    Ok(all)
}

#[derive(Default)]
struct Row {
    runs: u64,
    faults: BTreeMap<Fault, u64>,
    slowest: Duration,
}

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    let Options { minutes, runs, only, layout, programs: chosen, limit, links, network } = options;
    let seed = links.seed.seed;
    let is_wanted = |name: &&str| chosen.is_empty() || chosen.iter().any(|wanted| wanted == name);
    let programs: Vec<&'static str> = PROGRAMS.into_iter().filter(is_wanted).collect();
    let mut links = links.specs.clone();
    if links.is_empty() {
        links.push(FAULTS.parse::<Spec>()?);
    }
    ensure!(layout.several_hosts(), "one host has no links");
    let (first, last) = match (*only, *runs) {
        (Some(run), _) => (run, run + 1),
        (_, Some(runs)) => (0, runs),
        _ => (0, u64::MAX),
    };
    let time = minutes.map_or(Duration::MAX, |minutes| Duration::from_secs(60 * minutes));

    repo.make_stage()?;
    let names: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
    let arguments = arguments(repo)?;
    let mut directories = BTreeMap::new();
    for build in BUILDS {
        directories.insert(build, job::build(repo, build, &names)?);
    }
    let bench = Bench::make(repo, layout.clone(), &Network::Relay(links.clone(), seed))?;
    let relay = bench.hosts.as_ref().and_then(|hosts| hosts.relay.as_ref()).context("it was asked for")?;
    println!("netlab soak: seed {seed}");
    let (start, mut rows, mut cases) = (Instant::now(), BTreeMap::<&str, Row>::new(), BTreeMap::new());
    for run in first..last {
        if start.elapsed() >= time {
            break;
        }
        let plan = Plan::make(seed, run, &programs);
        relay.renew(&links, plan.link_seed);
        let program = directories[plan.build].join(plan.program);
        let words = [vec![program.display().to_string()], arguments[plan.program].clone()].concat();
        let mut environment = network.settings();
        environment.extend(plan.reference.then_some(("GASNET_SCI_EXTENDED", "ref")));
        if *network == Wire::Udp {
            environment.extend([("GASNET_SCI_UDP_MODE", plan.udp.0), ("GASNET_SCI_UDP_FAULTS", plan.udp.1)]);
        }
        let mut job = bench.start(&words, &environment)?;
        let status = job.wait(job.start + *limit)?;
        let took = job.start.elapsed();
        let End { outcome, stuck, left } = bench.end(&mut job, status)?;
        let mut found = faults(plan.program, bench.layout.nodes(), &outcome);
        if *network == Wire::Udp {
            count(&outcome.err, cases.entry(plan.udp.0).or_default());
        }
        if status.is_some() && !left.is_empty() {
            found.push(Fault::Left);
        }
        let row = rows.entry(plan.program).or_default();
        row.runs += 1;
        row.slowest = row.slowest.max(took);
        found.iter().for_each(|fault| *row.faults.entry(*fault).or_default() += 1);
        if !found.is_empty() || only.is_some() {
            println!(
                "{}: run {run}: {plan:?}: {found:?}, status {status:?}",
                if found.is_empty() { "right" } else { "FAILED" }
            );
            let filter: String = chosen.iter().map(|name| format!(" --program {name}")).collect();
            let over = if *network == Wire::Udp { " --network udp" } else { "" };
            println!("    again: cargo xtask netlab soak --seed {seed} --only {run}{filter}{over}");
            println!("    job: {}", bench.words(&words).join(" "));
            relay.report().iter().for_each(|line| println!("    link: {line}"));
            outcome.err.lines().take(12).for_each(|line| println!("    err: {line}"));
            outcome.out.lines().rev().take(4).for_each(|line| println!("    out: {line}"));
            // What hangs has not been left behind.
            left.iter().filter(|_| status.is_some()).for_each(|line| println!("    left: {line}"));
            stuck.lines().for_each(|line| println!("    {line}"));
        }
    }
    let (table, runs, failed) = table(&rows);
    print!("{table}{}", table_of_cases(&cases));
    println!("seed {seed}: {runs} runs in {} s", start.elapsed().as_secs());
    println!("soak: {} passed, {failed} failed", runs - failed.min(runs));
    Ok(failed == 0)
}

/// Adds the counters of UDP that the nodes have printed.
fn count(printed: &str, cases: &mut BTreeMap<String, u64>) {
    let line = Regex::new(r"(?m)stats: UDP (.*?) +([0-9]+)$").expect("a constant");
    for found in line.captures_iter(printed) {
        *cases.entry(found[1].to_owned()).or_default() += found[2].parse::<u64>().unwrap_or(0);
    }
}

/// How often each case of the protocol's table has occurred, in each mode.
fn table_of_cases(cases: &BTreeMap<&str, BTreeMap<String, u64>>) -> String {
    let names: BTreeSet<&String> = cases.values().flat_map(BTreeMap::keys).collect();
    let modes: Vec<&str> = cases.keys().copied().collect();
    let mut text = String::new();
    if !modes.is_empty() {
        text = format!("| over UDP | {} |\n|---|{}\n", modes.join(" | "), "---|".repeat(modes.len()));
    }
    for name in names {
        let times = cases.values().map(|counts| counts.get(name).copied().unwrap_or(0).to_string());
        let _ = writeln!(text, "| {name} | {} |", times.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// The table, the number of runs and that of faults.
fn table(rows: &BTreeMap<&str, Row>) -> (String, u64, u64) {
    let mut text = "| program | runs | wrong bytes | hangs | gave up | left something | slowest, s |\n".to_owned();
    text += "|---|---|---|---|---|---|---|\n";
    let (mut runs, mut failed) = (0, 0);
    for (name, row) in rows {
        let count = |fault: Fault| row.faults.get(&fault).copied().unwrap_or(0);
        let [bytes, hangs, ended, left] = [Fault::WrongBytes, Fault::Hang, Fault::Ended, Fault::Left].map(count);
        let slowest = row.slowest.as_secs_f64();
        // Writing to a String does not fail.
        let _ = writeln!(text, "| {name} | {} | {bytes} | {hangs} | {ended} | {left} | {slowest:.1} |", row.runs);
        runs += row.runs;
        failed += row.faults.values().sum::<u64>();
    }
    (text, runs, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(program: &str, status: Option<i32>, out: &str, err: &str) -> Vec<Fault> {
        faults(program, 2, &Outcome { status, out: out.into(), err: err.into() })
    }

    #[test]
    fn an_answer_needs_every_node() {
        let all = "testam: node 0/2: PASS (5 checks)\ntestam: node 1/2: PASS (5 checks)\n";
        assert_eq!(of("testam", Some(0), all, ""), []);
        assert_eq!(of("testam", Some(0), "testam: node 0/2: PASS (5 checks)\n", ""), [Fault::Ended]);
        assert_eq!(of("testam", Some(1), all, ""), [Fault::Ended]);
        assert_eq!(of("testam", None, "", ""), [Fault::Hang]);
        assert_eq!(of("ex-testrma", Some(0), "1> done.\n0> done.\n", ""), []);
        assert_eq!(of("coarray", Some(0), "1> done.\n", ""), [Fault::Ended]);
        assert_eq!(of(EXIT, Some(EXIT_STATUS), "", ""), []);
        assert_eq!(of(EXIT, Some(0), "", ""), [Fault::Ended]);
    }

    #[test]
    fn wrong_bytes_are_wrong_whatever_the_end() {
        assert_eq!(of("testam", Some(1), "", "t.c:5: CHECK(a == b) failed"), [Fault::WrongBytes]);
        let lost = "*** FATAL ERROR: node 0/4: lost the connection to node 2: it is gone; ending the job";
        assert_eq!(of("coarray", Some(1), "", lost), [Fault::Ended]);
        assert_eq!(of("ex-testrma", None, "0> ERROR: a get", ""), [Fault::WrongBytes, Fault::Hang]);
    }

    #[test]
    fn a_seed_makes_one_plan_and_all_programs_come() {
        let plans: Vec<Plan> = (0..52).map(|number| Plan::make(4, number, &PROGRAMS)).collect();
        assert!(plans.iter().zip(0..).all(|(plan, number)| *plan == Plan::make(4, number, &PROGRAMS)));
        assert!(PROGRAMS.iter().all(|name| plans.iter().filter(|plan| plan.program == *name).count() == 2));
        assert!(plans.iter().any(|plan| plan.reference) && plans.iter().any(|plan| plan.build == "par"));
    }

    #[test]
    fn counters_of_all_nodes_and_runs_are_added_by_mode() {
        let (mut cases, mut normal) = (BTreeMap::new(), BTreeMap::new());
        let node =
            |rank: u32, times: u32| format!("gasnet-sci: node {rank}/2: stats: UDP ack before            {times}\n");
        count(&(node(0, 3) + "gasnet-sci: node 0/2: stats: requests sent  7\n" + &node(1, 4)), &mut normal);
        count(&node(0, 10), &mut normal);
        cases.insert("normal", normal);
        assert_eq!(table_of_cases(&cases), "| over UDP | normal |\n|---|---|\n| ack before | 17 |\n");
        assert_eq!(table_of_cases(&BTreeMap::new()), "");
    }

    #[test]
    fn the_default_faults_are_understood() {
        assert_eq!(FAULTS.parse::<Spec>().unwrap().faults.cuts.len(), 1);
    }
}
