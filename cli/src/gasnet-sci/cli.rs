//! The command line as clap knows it. This file uses clap only, so that the build can make the man page from it.

use crate::bench::{JOBS, SECTIONS};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;

/// The command and its subcommands.
pub fn command() -> Command {
    Command::new("gasnet-sci")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Information about gasnet-sci, a conduit for GASNet-1 and GASNet-EX over software SCI; measurements; placement.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(info())
        .subcommand(bench())
        .subcommand(bench_node())
        .subcommand(page())
        .subcommand(place())
        .subcommand(tune())
        .subcommand(tree())
        .subcommand(
            Command::new("jobs")
                .about("The jobs on this host: those that were started here, and those of other hosts that have nodes here")
                .after_help("Shows jobs of this user, started by gasnetrun_sci. A job of several hosts has the same number on each."),
        )
        .subcommand(
            Command::new("kill")
                .about("Ends a job that runs on this host, on all its hosts, as SIGTERM to its launcher does")
                .arg(Arg::new("jobs").value_name("JOB").num_args(1..).required(true).help("its number, or how it begins; see jobs"))
                .arg(
                    Arg::new("signal")
                        .short('s')
                        .long("signal")
                        .value_name("SIGNAL")
                        .default_value("TERM")
                        .help("the signal that the launcher gets: its nodes get it too"),
                ),
        )
        // Used by ci/install and ci/docs.
        .subcommand(Command::new("man").about("This command's man page").hide(true))
        .subcommand(Command::new("env-table").about("The environment variables as a table in Markdown").hide(true))
}

fn info() -> Command {
    Command::new("info")
        .about("Version, limits, regions, thresholds, environment variables, and what this host allows")
        .after_help(
            "Values of environment variables are those of this shell: what a job started from it would see. A value that \
             makes no sense is marked; a job would not start with it.",
        )
        .arg(
            Arg::new("nodes")
                .short('n')
                .long("nodes")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=65535))
                .help("sizes for a job of N nodes [default: GASNET_SCI_NODES, at least 2]"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("print one JSON object"))
}

fn bench() -> Command {
    let flag = |id: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue);
    Command::new("bench")
        .about("Measures every operation beside what the machine can do, on pinned nodes, in one run")
        .after_help(
            "Each figure is the median of several rounds; in each the operation and its limit (a bare cache line there and back, \
             a plain copy) take turns. At the end stand the targets, and whether they are met. The machine should be idle. \
             Needs two cores.",
        )
        .arg(flag("quick").help("a look: few and short rounds, 20 seconds at most"))
        .arg(
            Arg::new("json")
                .long("json")
                .value_name("FILE")
                .num_args(0..=1)
                .value_parser(value_parser!(PathBuf))
                .help("print one JSON object instead of tables; with FILE, write it there and print the tables"),
        )
        .arg(
            Arg::new("html")
                .long("html")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("also write one page of HTML with curves; see page"),
        )
        .arg(Arg::new("out").long("out").value_name("FILE").help("write to FILE instead of standard output"))
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("SECTION,...")
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(SECTIONS))
                .help("measure these sections; limits are measured with what stands beside them"),
        )
        .arg(
            Arg::new("timing")
                .long("timing")
                .value_name("PROFILE")
                .help(
                    "measure the library for timing mode: sci (the adapter alone), am and rma, beside what the model says and the \
                     papers state; see GASNET_SCI_TIMING",
                ),
        )
        .arg(
            Arg::new("rounds")
                .long("rounds")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1000))
                .help("rounds of each measure [default: 31, with --quick 7]"),
        )
        .arg(
            Arg::new("hosts")
                .long("hosts")
                .value_name("A,B")
                .value_delimiter(',')
                .default_value("split")
                .help(
                    "the hosts of jobs on two (section hosts), where this command must be installed at the same place; split: this \
                     host counts as two, and what they send takes the network's way through the kernel",
                ),
        )
        .arg(
            Arg::new("nodes")
                .long("nodes")
                .value_name("N")
                .default_value("64")
                .value_parser(value_parser!(u32).range(2..=1024))
                .help("nodes of the largest job"),
        )
}

// The hidden subcommand with which the command starts itself as a node of its jobs.
fn bench_node() -> Command {
    let value = |id: &'static str| Arg::new(id).long(id).required(true);
    let number = |id| value(id).value_parser(value_parser!(u32));
    Command::new("bench-node")
        .about("A node of a job of bench")
        .hide(true)
        .arg(value("job").value_parser(PossibleValuesParser::new(JOBS)))
        .args([number("nodes"), number("rounds"), number("budget"), value("cpus"), value("sections")])
}

fn page() -> Command {
    let file = || value_parser!(PathBuf);
    Command::new("page")
        .about("Shows results of measurements as tables, and as one page with curves")
        .after_help(
            "Prints the targets, and ours beside the peers'. Rows of later files replace those of earlier ones that are about the \
             same; ci/bench-peers of the sources makes files with rows of OpenMPI, OpenSHMEM and UCX.",
        )
        .arg(
            Arg::new("files")
                .value_name("FILE.json")
                .num_args(1..)
                .required(true)
                .value_parser(file())
                .help("results, as gasnet-sci bench --json and ci/bench-peers --json write them"),
        )
        .arg(
            Arg::new("html")
                .long("html")
                .value_name("FILE")
                .value_parser(file())
                .help("write one page of HTML that needs nothing else: curves, tables, what hovering shows"),
        )
        .arg(
            Arg::new("json").long("json").value_name("FILE").value_parser(file()).help("write all rows to one file"),
        )
        .arg(
            Arg::new("markdown").long("markdown").value_name("FILE").value_parser(file()).help(
                "write tables of Markdown: rows with targets, and where other libraries are ahead; into FILE between its two marks, if it has them",
            ),
        )
}

fn place() -> Command {
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
                .required_unless_present("qaplib")
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
                    "matrix", "topology", "model", "from", "map", "json", "html", "objective", "fix", "min-gain",
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

fn tune() -> Command {
    Command::new("tune")
        .about("Measures on this host from which length on each way of moving bytes is worth it, and writes it into a file")
        .after_help(
            "The library reads the file when a job starts; its values stand in for the defaults, and the environment goes before \
             them. Without --out it is etc/gasnet-sci/tune.conf of the installation, of / for what lies below /usr or is not \
             installed; GASNET_SCI_TUNE_FILE names another. The directory of that file is made; that of --out has to be there. Run it while the host has nothing else to do.",
        )
        .arg(Arg::new("out").long("out").value_name("FILE").help("write FILE; - = standard output"))
        .arg(Arg::new("quick").long("quick").action(ArgAction::SetTrue).help("take a second, and be less exact"))
}

fn tree() -> Command {
    Command::new("tree")
        .about("Writes build trees of GASNet, for clients whose build takes one instead of an installation: UPC++")
        .after_help(
            "DIR/opt and DIR/debug are what a build of GASNet leaves: gasnet_config.h, NAME-conduit with its make fragments, \
             config.status, bin with the launcher, and a Makefile whose targets have nothing to do, but for install. The \
             libraries and headers stay those of the installation. The tree must be writable for who builds the client.\n\n\
             UPC++, in a build directory of its own for each: configure --with-gasnet=DIR/opt --enable-single=opt \
             --with-default-network=smp, and debug instead of opt.",
        )
        .arg(
            Arg::new("directory")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("where the trees are written; what an earlier call wrote there is replaced"),
        )
        .arg(
            Arg::new("as")
                .long("as")
                .value_name("NAME")
                .default_value("smp")
                .help("the conduit that the client's build knows"),
        )
        .arg(
            Arg::new("installation")
                .long("installation")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("the installation that the trees use [default: the one of this command]"),
        )
}
