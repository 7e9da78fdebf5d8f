//! The options of `cargo xtask soak`.

use super::plan::Kind;
use super::program::Program;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use std::path::PathBuf;
use std::time::Duration;

/// How many runs there are.
pub enum Extent {
    Time(Duration),
    Runs(u64),
    Only(u64),
    /// So many rounds of the programs of ci/rows/programs.toml, then so many kills.
    Rounds(u64, u64),
}

pub struct Options {
    pub program: Program,
    pub extent: Extent,
    pub seed: u64,
    /// The kinds that the user asked for; empty: all.
    pub kinds: Vec<Kind>,
    pub json: Option<PathBuf>,
    /// The longest time from the fault to the end of the job.
    pub limit: Duration,
    /// Run the faults of `cases` first.
    pub cases: bool,
}

pub fn command() -> Command {
    let number = |name: &'static str| Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u64));
    Command::new("soak")
        .about("jobs under faults, every byte verified")
        .arg(Arg::new("minutes").value_name("MINUTES").value_parser(value_parser!(u64)).help("how long"))
        .arg(number("runs").help("so many runs, however long they take"))
        .arg(number("only").help("this run of the seed"))
        .arg(number("rounds").conflicts_with_all(["cases", "ex", "deaths", "kind"]).help(
            "so many times each C program on 4 nodes, by turns in SEQ, PARSYNC (a debug build) and PAR, forked and launched",
        ))
        .arg(number("kills").requires("rounds").help("then so many jobs that are hit by SIGKILL at a random moment"))
        .group(ArgGroup::new("extent").args(["minutes", "runs", "only", "rounds"]).required(true))
        .arg(number("seed").help("what the plans are made of; chosen and told if it is not given"))
        .arg(
            Arg::new("ex")
                .long("ex")
                .action(ArgAction::SetTrue)
                .conflicts_with("cases")
                .help("the mix of GASNet-EX, without faults unless --kind names some"),
        )
        .arg(
            Arg::new("deaths")
                .long("deaths")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["cases", "ex", "kind"])
                .help("nodes of a mail box, of which one is killed"),
        )
        .arg(
            Arg::new("kind")
                .long("kind")
                .value_parser(PossibleValuesParser::new(Kind::ALL.map(Kind::name)))
                .action(ArgAction::Append)
                .help("faults of this kind; all if none is given"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("writes the table there, too"),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64))
                .default_value("2")
                .help("from the fault to the end of the job"),
        )
        .arg(
            Arg::new("cases")
                .long("cases")
                .action(ArgAction::SetTrue)
                .help("first the faults that were once answered wrongly"),
        )
}

impl Options {
    pub fn of(matches: &ArgMatches) -> Options {
        let number = |name: &str| matches.get_one::<u64>(name).copied();
        let extent = match (number("only"), number("runs"), number("rounds")) {
            (Some(run), ..) => Extent::Only(run),
            (_, Some(runs), _) => Extent::Runs(runs),
            (.., Some(rounds)) => Extent::Rounds(rounds, number("kills").unwrap_or(0)),
            _ => Extent::Time(Duration::from_secs(60 * number("minutes").unwrap_or(0))),
        };
        let names = matches.get_many::<String>("kind").into_iter().flatten();
        Options {
            program: match () {
                () if matches.get_flag("ex") => Program::Mixed,
                () if matches.get_flag("deaths") => Program::Death,
                () => Program::Soak,
            },
            extent,
            seed: number("seed").unwrap_or_else(|| fastrand::u64(0..1 << 30)),
            kinds: names.filter_map(|name| Kind::ALL.into_iter().find(|kind| kind.name() == name)).collect(),
            json: matches.get_one::<PathBuf>("json").cloned(),
            limit: Duration::from_secs(number("limit").unwrap_or(2)),
            cases: matches.get_flag("cases"),
        }
    }
}
