//! `gasnet-sci place`: which rank should run at which position, so that the traffic of a run costs least.
//!
//! Data goes one way. `matrix` reads what was recorded. `topology` makes a `machine` out of `links` and `model`, or of a `host` and
//! what `measure` finds there. `cost` adds up what a mapping costs, `search` looks for the best one. `report`, `text` and `page` show
//! the answer. `segments` is OptiSCI's problem, where segments are placed too; `quadratic` solves the
//! problems of QAPLIB.
//!
//! For the commands it is [`run`] with its [`options`], and what they read and write as well: `map`, the file of places; `format`, which tells
//! files apart; `shell`, the frame of pages; `paint` and `progress`, what a terminal shows.

mod cost;
pub mod format;
mod host;
mod links;
mod machine;
pub mod map;
mod matrix;
mod measure;
mod model;
mod net;
mod options;
mod page;
pub mod paint;
pub mod progress;
mod quadratic;
mod report;
#[allow(dead_code)] // of a file of results only the spread
#[path = "../../cli/src/shared/results.rs"]
mod results;
#[cfg(test)]
mod scipos;
mod search;
mod segments;
pub mod shell;
mod text;
mod topology;

use clap::ArgMatches;
use cost::{Bill, Flow, Objective};
use format::Format;
use gasnet_sci::base::config::Config;
use gasnet_sci::os::topology::parse_list;
use machine::Machine;
use map::Spot;
use matrix::{Matrix, Recorded};
pub use options::options;
use report::{Mapping, Report, Verdict};
use search::problem::{MOST_COST, Problem, TOO_LARGE, Weighted};
use search::{Answer, Limits, Task};
use segments::{Free, Input, Sums};
use serde_json::Value;
use shell::write_file;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pairs of ranks that are shown of each mapping.
const HEAVIEST: usize = 5;

/// Reads the matrix, looks for the best mapping, prints and writes what is asked for.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    place(options).map_err(io::Error::other)?
}

// Errors of the input are texts; those of the output keep their kind.
fn place(options: &ArgMatches) -> Result<io::Result<()>, String> {
    // The time begins before anything is read or made.
    let seconds = options.get_one("seconds").copied();
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let limits = Limits {
        exact: options.get_flag("exact"),
        iterations: options.get_one("iterations").copied(),
        deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
        seed: options.get_one("seed").copied().unwrap_or(1),
    };
    if let Some(file) = options.get_one::<PathBuf>("qaplib") {
        return quadratic::solve(file, limits, options);
    }
    if options.get_flag("empty") {
        return empty_page(options);
    }
    let file: &PathBuf = options.get_one("matrix").ok_or("it needs a matrix")?;
    let input = read(file)?;
    let about = |error: String| format!("{}: {error}", file.display());
    match options.get_one::<String>("segments") {
        Some(free) => {
            let free = if free == "both" { Free::Both } else { Free::Segments };
            let input = Input::parse(&input).map_err(about)?;
            let name = file.display().to_string();
            let machine =
                machine(options, input.topology.as_ref().map(|held| (name.as_str(), held)), input.processes.len())?;
            place_segments(options, &input, &machine, free, limits.seed)
        }
        None => place_ranks(options, &Matrix::parse(&input).map_err(about)?, limits),
    }
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

// `held` is the topology in the file that is placed, with the file's name.
fn machine(options: &ArgMatches, held: Option<(&str, &Value)>, ranks: usize) -> Result<Machine, String> {
    let wanted = topology::Wanted {
        model: options.get_one::<String>("model").map(String::as_str),
        measure: options.get_flag("measure"),
        ranks,
    };
    let machine = match (options.get_one::<String>("topology"), held) {
        (Some(topology), _) => topology::read(topology, &wanted)?,
        (None, Some((name, topology))) => topology::of_value(name, topology, &wanted)?,
        (None, None) => {
            return Err("--topology must say what there is: ring:N, torus:XxY, switch:N, host, or a JSON file".into());
        }
    };
    match machine.positions() {
        many if many > page::MOST && options.contains_id("html") => {
            Err(format!("--html is for {} positions at most; {} has {many}", page::MOST, machine.topology))
        }
        _ => Ok(machine),
    }
}

// --- ranks ---------------------------------------------------------------------------------------

fn place_ranks(options: &ArgMatches, matrix: &Matrix, limits: Limits) -> Result<io::Result<()>, String> {
    let recorded_topology = matrix.topology.as_deref().map(Value::from);
    let machine = machine(options, recorded_topology.as_ref().map(|word| ("the matrix", word)), matrix.ranks)?;
    let objective = Objective::parse(options.get_one::<String>("objective").map_or("cost", String::as_str))?;
    if objective.link > 0.0 && machine.rates.is_empty() {
        return Err(format!("--objective with link: nothing is known of the links of {}", machine.topology));
    }
    if limits.exact && (objective.link > 0.0 || machine.positions() > search::MOST_EXACT) {
        let most = search::MOST_EXACT;
        return Err(format!("--exact is for --objective cost and {most} positions at most"));
    }
    let fixed = fixed(options.get_one::<String>("fix").map_or("", String::as_str), matrix.ranks, machine.positions())?;
    let dma_min = Config::survey().config.dma_min;
    let flows = cost::flows(matrix, dma_min);

    let unknown =
        |name: &String| format!("the matrix counts '{name}', which this program does not know and leaves out");
    let mut notes: Vec<String> = matrix.unknown.iter().map(unknown).collect();
    if options.get_flag("measure") {
        let line = |level: &machine::Level| {
            let line = level.lines[0];
            format!("measured, {}: {:.0} ns, {:.3} ns a byte", level.name, line.alpha, line.beta)
        };
        notes.extend(machine.levels.iter().skip(1).map(line));
    }
    let identity: Vec<usize> = (0..matrix.ranks).collect();
    let present = match options.get_one::<PathBuf>("from") {
        Some(file) => mapped(file, &machine, matrix.ranks)?,
        None => recorded(matrix, &machine).unwrap_or_else(|| {
            if !matrix.places.is_empty() {
                let topology = &machine.topology;
                notes.push(format!(
                    "the recorded places are not positions of {topology}; rank i at position i is taken as present (--from gives another)"
                ));
            }
            identity.clone()
        }),
    };
    let known = [present.clone(), identity.clone()];
    let answer = task(&flows, &machine, matrix.ranks, objective, &fixed, &known, limits)?;

    let value = |at: &Vec<usize>| objective.of(&Bill::of(&flows, &machine, matrix.ranks, at), &machine);
    let is_allowed = |at: &&Vec<usize>| fixed.iter().all(|(rank, position)| at[*rank] == *position);
    // Of equally good ones the first, so that nobody moves for nothing.
    let candidates = known.iter().chain([&answer.at]).filter(is_allowed);
    let proposal = candidates.reduce(|best, next| if value(next) < value(best) { next } else { best });
    let proposal = proposal.unwrap_or(&answer.at).clone();
    let may_stay = is_allowed(&&present);

    let pairs = report::heavy_pairs(&flows, &machine, &present, &proposal, HEAVIEST);
    let mapping = |name, at: Vec<usize>| {
        let bill = Bill::of(&flows, &machine, matrix.ranks, &at);
        Mapping { name, at, segments: Vec::new(), bill }
    };
    let mappings = [mapping("identity", identity), mapping("present", present), mapping("proposal", proposal)];
    let values = mappings.each_ref().map(|m| objective.of(&m.bill, &machine));
    let verdict = verdict(options, &answer, limits.seed, values, may_stay);
    let report =
        Report { matrix, dma_min, machine: &machine, objective, mappings, verdict, pairs, segments: None, notes };
    Ok(publish(options, &report, |out| text::write(out, &report)))
}

/// Looks for a mapping of `ranks` ranks; `known` are mappings to begin with, the present one first.
fn task(
    flows: &[Flow],
    machine: &Machine,
    ranks: usize,
    objective: Objective,
    fixed: &[(usize, usize)],
    known: &[Vec<usize>],
    limits: Limits,
) -> Result<Answer, String> {
    let lines = machine.levels.iter().map(|level| level.lines);
    let per_class = lines.map(|lines| lines.iter().flat_map(|line| [line.alpha, line.beta]).collect::<Vec<_>>());
    let per_class: Vec<Vec<f64>> = per_class.collect();
    let terms = per_class[0].len();
    let weighted = |flow: &Flow| Weighted { from: flow.from, to: flow.to, weights: flow.amounts.concat() };
    let problem = Problem {
        n: machine.positions(),
        ranks,
        level: machine.level.clone(),
        tables: (0..terms).map(|term| per_class.iter().map(|lines| lines[term]).collect()).collect(),
        flows: flows.iter().map(weighted).collect(),
    };
    let problem = problem.simplified();
    problem.check()?;
    let loads: Vec<[f64; 2]> = flows.iter().map(|flow| flow.load(machine)).collect();
    let slowest = machine.rates.iter().copied().fold(f64::INFINITY, f64::min);
    if loads.iter().flatten().sum::<f64>() / slowest > MOST_COST {
        return Err("the links are too slow for this traffic: it would take them more than 1e100 ns".into());
    }
    Ok(search::search(&Task {
        problem: &problem,
        objective,
        shape: &machine.shape,
        rates: &machine.rates,
        loads: &loads,
        fixed,
        known,
        limits,
        tell: &progress::parts("gasnet-sci place", limits.deadline),
    }))
}

// `RANK=POSITION,…`.
fn fixed(text: &str, ranks: usize, positions: usize) -> Result<Vec<(usize, usize)>, String> {
    let mut fixed: Vec<(usize, usize)> = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let number = |text: &str, most: usize| text.trim().parse().ok().filter(|number| *number < most);
        let pair = part.split_once('=').and_then(|(rank, at)| Some((number(rank, ranks)?, number(at, positions)?)));
        let (rank, at) = pair.ok_or_else(|| {
            format!("--fix {part}: it is RANK=POSITION, with ranks below {ranks} and positions below {positions}")
        })?;
        if fixed.iter().any(|(other, taken)| *other == rank || *taken == at) {
            return Err(format!("--fix {part}: this rank or position is fixed already"));
        }
        fixed.push((rank, at));
    }
    Ok(fixed)
}

// The positions that a map file says.
fn mapped(file: &Path, machine: &Machine, ranks: usize) -> Result<Vec<usize>, String> {
    let about = |error: String| format!("{}: {error}", file.display());
    let text = read(file)?;
    format::check(&text, "--from", &[Format::Map]).map_err(about)?;
    let lines = map::parse(&text, ranks).map_err(about)?;
    let position =
        |line: &map::Line| machine.position(&line.place).map_err(|error| about(format!("line {}: {error}", line.line)));
    let at: Vec<usize> = lines.iter().map(position).collect::<Result<_, _>>()?;
    match (0..ranks).find(|rank| at[..*rank].contains(&at[*rank])) {
        Some(rank) => Err(about(format!("line {}: {} is taken", lines[rank].line, lines[rank].place))),
        None => Ok(at),
    }
}

// The positions that ranks had when the matrix was recorded. `None`: it does not say, or means another topology.
fn recorded(matrix: &Matrix, machine: &Machine) -> Option<Vec<usize>> {
    if matrix.topology.as_ref().is_some_and(|topology| *topology != machine.topology) {
        return None;
    }
    // A machine of one host does not name it, but then all ranks ran on the same one.
    let has_one_host = matrix.places.iter().all(|place| place.host == matrix.places[0].host);
    let by_cpus = |recorded: &Recorded| {
        let mut cpus = parse_list(recorded.cpus.as_ref()?);
        cpus.sort_unstable();
        let is_there = |place: &map::Place| match &place.host {
            Some(host) => recorded.host.as_ref() == Some(host),
            None => has_one_host,
        };
        machine.places.iter().position(|place| place.spot == Spot::Cpus(cpus.clone()) && is_there(place))
    };
    let mut at = Vec::new();
    for rank in 0..matrix.ranks {
        let place = matrix.places.iter().find(|place| place.rank == rank)?;
        let position = match place.position.filter(|_| matches!(machine.places[0].spot, Spot::Position(_))) {
            Some(position) => Some(position),
            None => by_cpus(place),
        };
        at.push(position.filter(|position| *position < machine.positions() && !at.contains(position))?);
    }
    Some(at)
}

// --- segments ------------------------------------------------------------------------------------

fn place_segments(
    options: &ArgMatches,
    input: &Input,
    machine: &Machine,
    free: Free,
    seed: u64,
) -> Result<io::Result<()>, String> {
    let present = input.present(machine.positions())?;
    let sums = Sums::new(input, machine);
    if !sums.are_small() {
        return Err(TOO_LARGE.into());
    }
    let segments::Found { placement: best, proved, tried } = sums.best(&present, free, seed)?;
    let costs = [&present, &present, &best].map(|placement| sums.bill(placement).cost());
    let mapping = |name, placement: &segments::Placement| Mapping {
        name,
        at: placement.processes.clone(),
        segments: placement.segments.clone(),
        bill: sums.bill(placement),
    };
    let mappings = [mapping("identity", &present), mapping("present", &present), mapping("proposal", &best)];
    let answer = Answer { proved, bound: proved.then_some(costs[2]), tried, ..Answer::default() };
    let matrix = Matrix::empty(input.processes.len());
    let named = [("identity", &present), ("present", &present), ("proposal", &best)];
    let report = Report {
        matrix: &matrix,
        dma_min: Config::survey().config.dma_min,
        machine,
        objective: Objective::parse("cost")?,
        mappings,
        verdict: verdict(options, &answer, seed, costs, true),
        pairs: Vec::new(),
        segments: Some(sums.to_json(&named.map(|(name, placement)| (name, &placement.segments[..])))),
        notes: Vec::new(),
    };
    Ok(publish(options, &report, |out| {
        text::write(out, &report)?;
        let names: Vec<&str> = input.segments.iter().map(|segment| segment.name.as_str()).collect();
        text::moves(out, "segment", &names, [&present.segments, &best.segments], machine)
    }))
}

// A page on which nothing is yet: what is to be placed is made there.
fn empty_page(options: &ArgMatches) -> Result<io::Result<()>, String> {
    let machine = match options.contains_id("topology") {
        true => machine(options, None, 0)?,
        false => topology::none(),
    };
    // Nothing is printed but where the page is: a table of nothing helps nobody.
    let file: &PathBuf = options.get_one("html").ok_or("--empty needs --html")?;
    let input = Input::empty();
    let sums = Sums::new(&input, &machine);
    let nothing = segments::Placement { processes: Vec::new(), segments: Vec::new() };
    let mapping = |name| Mapping { name, at: Vec::new(), segments: Vec::new(), bill: sums.bill(&nothing) };
    let names = ["identity", "present", "proposal"];
    let answer = Answer { all_equal: true, ..Answer::default() };
    let report = Report {
        matrix: &Matrix::empty(0),
        dma_min: Config::survey().config.dma_min,
        machine: &machine,
        objective: Objective::parse("cost")?,
        mappings: names.map(mapping),
        verdict: verdict(options, &answer, 0, [0.0; 3], true),
        pairs: Vec::new(),
        segments: Some(sums.to_json(&names.map(|name| (name, &[][..])))),
        notes: Vec::new(),
    };
    Ok(write_file(file, &page::page(&report)))
}

// --- answers -------------------------------------------------------------------------------------

// The values are the objective of identity, of the present mapping and of the proposal. `may_stay`: fixed ranks allow the present
// mapping.
fn verdict(
    options: &ArgMatches,
    answer: &Answer,
    seed: u64,
    [_, present, proposal]: [f64; 3],
    may_stay: bool,
) -> Verdict {
    let min_gain = options.get_one("min-gain").copied().unwrap_or(0.1);
    let gain = if present > 0.0 { 100.0 * (present - proposal) / present } else { 0.0 };
    let verdict = match () {
        () if answer.all_equal => "equal",
        () if may_stay && (gain <= 0.0 || gain < min_gain) => "stay",
        // A mapping that fixed ranks forbid is left, whatever that costs.
        () if gain < 0.0 => "fixed",
        () => "move",
    };
    let has_fixed = options.get_one::<String>("fix").is_some_and(|fixed| !fixed.is_empty());
    let Answer { bound, proved, iterations, nodes, tried, cut, .. } = *answer;
    Verdict { verdict, may_stay, has_fixed, gain, min_gain, bound, proved, iterations, nodes, tried, seed, cut }
}

fn publish(options: &ArgMatches, report: &Report, text: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if let Some(file) = options.get_one::<PathBuf>("map") {
        let places: Vec<map::Place> =
            report.advised().at.iter().map(|position| report.machine.places[*position].clone()).collect();
        let heading = format!("gasnet-sci place: {} ranks on {}", places.len(), report.machine.topology);
        write_file(file, &map::format(&heading, &places, &report.advised_segments()))?;
    }
    if let Some(file) = options.get_one::<PathBuf>("html") {
        write_file(file, &page::page(report))?;
    }
    let mut out = paint::out();
    match options.get_one::<PathBuf>("json") {
        Some(file) if file.as_os_str() == "-" => out.write_all(report.to_json().as_bytes())?,
        Some(file) => {
            write_file(file, &report.to_json())?;
            text(&mut out)?;
        }
        None => text(&mut out)?,
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_ranks_are_read_or_refused() {
        assert_eq!(fixed("0=3,2=1", 3, 4), Ok(vec![(0, 3), (2, 1)]));
        assert_eq!(fixed("", 3, 4), Ok(vec![]));
        for (text, what) in
            [("3=0", "ranks below 3"), ("0=4", "positions below 4"), ("0", "RANK=POSITION"), ("0=1,1=1", "already")]
        {
            assert!(fixed(text, 3, 4).unwrap_err().contains(what), "{text}");
        }
    }

    #[test]
    fn the_present_mapping_is_the_recorded_one_if_it_is_of_this_topology() {
        let machine = topology::of("ring:3", None, 2).unwrap();
        let with = |topology: &str, places: &str| {
            let text = format!(
                r#"{{"format":"gasnet-sci matrix","version":1,"nodes":2,"topology":{topology},"places":[{places}],"rows":[]}}"#
            );
            recorded(&Matrix::parse(&text).unwrap(), &machine)
        };
        let both = r#"{"rank":1,"position":0},{"rank":0,"position":2,"cpus":"0"}"#;
        assert_eq!(with(r#""ring:3""#, both), Some(vec![2, 0]));
        assert_eq!(with("null", both), Some(vec![2, 0]));
        assert_eq!(with(r#""ring:2""#, both), None);
        assert_eq!(with("null", r#"{"rank":0,"position":2}"#), None);
        assert_eq!(with("null", r#"{"rank":0,"position":2},{"rank":1,"position":2}"#), None);
        assert_eq!(with("null", r#"{"rank":0,"position":2},{"rank":1,"position":3}"#), None);
    }
}
