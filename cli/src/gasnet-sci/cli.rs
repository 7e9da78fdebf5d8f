//! The command line as clap knows it. This file uses clap only, but for what `place` has of its own.

use crate::bench::{self, SECTIONS};
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
        .subcommand(doctor())
        .subcommand(bench())
        .subcommand(bench_node())
        .subcommand(bench_layer())
        .subcommand(page())
        .subcommand(trace())
        .subcommand(gasnet_sci_place::options())
        .subcommand(tune())
        .subcommand(tree())
        .subcommand(sisci())
        .subcommand(sock())
        .subcommand(agent())
        .subcommand(
            Command::new("jobs")
                .about("The jobs on this host: those that were started here, and those of other hosts that have nodes here")
                .after_help("Shows jobs of this user, started by gasnetrun_sci. A job of several hosts has the same number on each.")
                .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("print one JSON object")),
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
                        .help("the signal that the launcher gets: its nodes get it too; STOP or TSTP stops all that runs for the job until CONT"),
                ),
        )
        .subcommand(
            Command::new("completion")
                .about("A script with which a shell completes this command: for bash, zsh, fish, elvish or powershell")
                .after_help("An installation has those of bash, zsh and fish where these shells look. gasnetrun_sci --completion SHELL writes its own.")
                .arg(Arg::new("shell").value_name("SHELL").required(true).help("the shell")),
        )
        // Used by ci/install and ci/docs.
        .subcommand(Command::new("man").about("This command's man page").hide(true))
        .subcommand(Command::new("env-table").about("The environment variables as a table in Markdown").hide(true))
}

fn agent() -> Command {
    let option = |id: &'static str, value: &'static str| Arg::new(id).long(id).value_name(value);
    Command::new("agent")
        .about("A service that starts this user's part of jobs of several hosts on this host, without ssh")
        .after_help(
            "Launchers reach it with GASNET_SCI_RSH=standing, or 'standing --listen PORT --secret FILE' with options as here. Both sides \
             prove that they know the secret, and all that they say is encrypted. Who knows the secret may run programs as this user. \
             The file of limits may have lines 'listen = ADDRESS:PORT' and 'secret = FILE', too. As a service: systemctl --user enable \
             --now gasnet-sci-agent.",
        )
        .arg(option("listen", "PORT").help("the port, or ADDRESS:PORT, to listen at [default: 29000 + the user's number modulo 1000]"))
        .arg(option("secret", "FILE").help(
            "the file of the secret, which only the user may read [default: ~/.config/gasnet-sci/agent.secret]",
        ))
        .arg(option("conf", "FILE").help("a file of limits, besides /etc/gasnet-sci/agent.conf (gasnetrun_sci --help)"))
        .arg(Arg::new("make-secret").long("make-secret").action(ArgAction::SetTrue).help("make the file of the secret, and end"))
        // Used by gasnetrun_sci.
        .arg(Arg::new("reach").long("reach").num_args(1..).allow_hyphen_values(true).hide(true))
}

fn sisci() -> Command {
    Command::new("sisci")
        .about("The nodes, segments, interrupts and groups of SISCI programs on this host, with their owners and connections")
        .after_help(
            "Shows those of this user in this network namespace, or in the directory SISCI_DIR. Asking disturbs nobody: no program gets an \
             event of it. An owner that is stopped does not answer.",
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("print one JSON object"))
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

fn doctor() -> Command {
    Command::new("doctor")
        .about("Looks at this host and this shell, and says what would stop a job or slow it down, and how to mend it")
        .after_help(
            "It changes nothing. Exit status 1: something would stop a job. Most of what it looks at, info shows as well.",
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
                    "measure the library for timing mode: sci (the adapter alone), am, rma and boxes (mail boxes), beside what the model says and the \
                     papers state; see GASNET_SCI_TIMING",
                ),
        )
        .arg(flag("layers").conflicts_with_all(["only", "timing", "hosts", "nodes"]).help(
            "measure the layers that programs use instead: Active Messages, mail boxes, TCP by drop-in sockets and plain, MPI over \
             gasnet-sci and Open MPI's own ways, PVM; latency, throughput and N/2 of each, those that are installed",
        ))
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
        .arg(value("job").value_parser(PossibleValuesParser::new(bench::jobs())))
        .args([number("nodes"), number("rounds"), number("budget"), value("cpus"), value("sections")])
}

// The hidden subcommand that is the program of the layer of sockets.
fn bench_layer() -> Command {
    let number = |id: &'static str| Arg::new(id).required(true).value_parser(value_parser!(i32).range(0..));
    Command::new("bench-layer")
        .about("The program of the layer of sockets of bench --layers")
        .hide(true)
        .args(["rounds", "nanoseconds", "cpu0", "cpu1"].map(number))
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
            Arg::new("json").long("json").value_name("FILE").value_parser(file()).help("write all rows to one file; - = standard output, without the tables"),
        )
        .arg(
            Arg::new("markdown").long("markdown").value_name("FILE").value_parser(file()).help(
                "write tables of Markdown: rows with targets, and where other libraries are ahead; into FILE between its two marks, if it has them",
            ),
        )
}

fn trace() -> Command {
    let file = |id: &'static str| Arg::new(id).long(id).value_name("OUT").value_parser(value_parser!(PathBuf));
    Command::new("trace")
        .about("Shows what happened in a run, from the traces of its nodes: statistics, a timeline, what was waited for")
        .after_help(
            "Run the job with GASNET_TRACEFILE=trace.%, and name the files of all nodes. Without --html and --perfetto it prints how each node spent \
             its time, and the sums per operation, which are those of GASNET_STATSFILE. A line that cannot be used is told on stderr with \
             its number, and passed over.",
        )
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .num_args(1..)
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("traces: one of each node, or one that all nodes wrote"),
        )
        .arg(file("html").help(
            "write one page of HTML that needs nothing else: a timeline with messages, barriers, waits and the critical path, and why a node was late",
        ))
        .arg(file("perfetto").help("write the run in the JSON format of Chrome and Perfetto; messages are flows"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("print the statistics as one JSON object"))
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
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("print one JSON object instead of the table; with --out -, instead of the file"),
        )
}

fn sock() -> Command {
    Command::new("sock")
        .about("Programs with TCP sockets, whose connections within this host go through shared memory")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("run")
                .about("Runs a program, and what it starts, with its local connections through shared memory (experimental)")
                .after_help(
                    "Both sides of a connection have to run so, under one user; other connections are the kernel's, as ever. What is \
                     covered, and what is not: docs/sockets.md. Raises the limit of open files, because each connection has six.",
                )
                .arg(Arg::new("verbose").short('v').long("verbose").action(ArgAction::SetTrue).help(
                    "say on stderr which connections go through shared memory, and which step down to the kernel, and why",
                ))
                .arg(
                    Arg::new("except")
                        .long("except")
                        .value_name("PORT,...")
                        .value_delimiter(',')
                        .value_parser(value_parser!(u16))
                        .help("leave connections to these ports to the kernel"),
                )
                .arg(
                    Arg::new("program")
                        .value_name("PROGRAM")
                        .num_args(1..)
                        .required(true)
                        .trailing_var_arg(true)
                        .allow_hyphen_values(true)
                        .value_parser(value_parser!(std::ffi::OsString))
                        .help("the program and its arguments"),
                ),
        )
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
