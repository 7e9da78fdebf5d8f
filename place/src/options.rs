//! The options of `gasnet-sci place`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;

/// What the user may say.
pub fn options() -> Command {
    let value = |id: &'static str, name: &'static str| Arg::new(id).long(id).value_name(name);
    let file = |id, name| value(id, name).value_parser(value_parser!(PathBuf));
    Command::new("place")
        .about("Looks for the mapping of ranks to positions or cores under which the traffic of a run costs least")
        .after_help(
            "Prints cost and busiest link of the mappings identity (rank i at position i), present and proposal; the proposal is \
             never worse than the others, unless --fix forbids them. The same input and seed give the same answer, unless --seconds cuts the search. With \
             --objective cost and 12 positions or fewer it tries to prove the answer, and says whether it has. A topology is ring:N, torus:XxY (position y*X + x), switch:N, host (the \
             cores of this machine) or a JSON file; a matrix of costs per pair is one: {\"alpha\":[[ns]],\"beta\":[[ns per byte]]}.",
        )
        .arg(
            Arg::new("matrix")
                .value_name("MATRIX.json")
                .required_unless_present_any(["qaplib", "empty"])
                .value_parser(value_parser!(PathBuf))
                .help("the traffic, as gasnetrun_sci --matrix writes it; with --segments, processes and segments"),
        )
        .arg(value("topology", "TOPOLOGY").help("where ranks may run [default: the topology of the recorded run]"))
        .arg(value("model", "MODEL").help(
            "what SCI links cost: scipos, d339, d339-2004, d312, d312-deck or a JSON file, with changes: d339,setup=12us \
             [default: scipos]",
        ))
        .arg(file("from", "MAP").help("the present mapping [default: the recorded one, else rank i at position i]"))
        .arg(file("map", "FILE").help("write the proposal for gasnetrun_sci --map, segments as comments; the present mapping if moving does not pay"))
        .arg(file("json", "FILE").help("write the whole answer; - = standard output, without the text"))
        .arg(file("html", "FILE").help(
            "write one page of HTML that needs nothing else: ranks, and segments, are moved by mouse or keys and costs follow",
        ))
        .arg(
            Arg::new("empty")
                .long("empty")
                .action(ArgAction::SetTrue)
                .requires("html")
                .conflicts_with_all([
                    "matrix", "from", "map", "json", "objective", "exact", "iterations", "seconds", "fix", "min-gain",
                    "segments", "qaplib",
                ])
                .help("write a page on which nothing is yet: machines, processes, segments, links and messages are made there"),
        )
        .arg(
            value("objective", "WHAT")
                .help("what is to be small: cost, link (the time of the busiest link), or cost+W*link with a number W [default: cost]"),
        )
        .arg(Arg::new("exact").long("exact").action(ArgAction::SetTrue).help("prove the best mapping, however long that takes: for --objective cost, 40 positions at most"))
        .arg(
            value("iterations", "N")
                .value_parser(value_parser!(u64).range(1..))
                .help("iterations of the search [default: by the number of positions, a few seconds]"),
        )
        .arg(value("seconds", "S").value_parser(seconds).help("end after S seconds with the best mapping found by then"))
        .arg(value("seed", "K").value_parser(value_parser!(u64)).help("the seed of random numbers [default: 1]"))
        .arg(
            Arg::new("measure")
                .long("measure")
                .action(ArgAction::SetTrue)
                .help("measure what it costs to cross the tiers of this host, instead of assuming it (--topology host)"),
        )
        .arg(value("fix", "RANK=POSITION,...").help("ranks that have to be at these positions"))
        .arg(
            value("min-gain", "PERCENT")
                .value_parser(percent)
                .help("a smaller gain is not worth moving: it says stay [default: 0.1]"),
        )
        .arg(
            value("segments", "WHAT")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("segments")
                .value_parser(PossibleValuesParser::new(["segments", "both"]))
                .conflicts_with_all(["from", "objective", "exact", "iterations", "seconds", "fix"])
                .help("place shared segments for processes that stay, as OptiSCI does; =both: processes too"),
        )
        .arg(
            file("qaplib", "FILE")
                .conflicts_with_all([
                    "matrix", "topology", "model", "from", "map", "html", "objective", "fix", "min-gain",
                    "segments", "measure",
                ])
                .help("solve a quadratic assignment problem as QAPLIB has it: n and two tables"),
        )
}

fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| "it is a number above 0".into())
}

fn percent(text: &str) -> Result<f64, String> {
    let value = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    value
        .filter(|value| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| "it is a number from 0 on, in percent".into())
}
