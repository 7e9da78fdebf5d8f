//! The launcher's command line as clap knows it. This file uses clap only, so that the build can make the man page
//! from it.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command};

/// Name of the command.
pub const NAME: &str = "gasnetrun_sci";

/// All options. The program and its arguments are not among them: see `options`.
#[expect(clippy::too_many_lines, reason = "one list, in the order of the help")]
pub fn command() -> Command {
    let flag = |short: char, id: &'static str| Arg::new(id).short(short).long(id).action(ArgAction::Count);
    let value = |id: &'static str, name: &'static str| Arg::new(id).long(id).value_name(name);
    let number = |id, name, lowest| value(id, name).value_parser(count(lowest)).allow_negative_numbers(true);
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .override_usage(format!("{NAME} -n N [options] [--] program [arguments]"))
        .about("Starts N nodes of a GASNet program, on this host or on several, and supervises them.")
        .after_help(AFTER)
        .arg(number("nodes", "N", 1).short('n').required(true).help("number of nodes (processes); also -np N"))
        .arg(number("hosts", "M", 1).short('N').help("number of hosts, at most N, which share the nodes evenly; the first M of the list, see below"))
        .arg(value("host", "HOST[:SLOTS],...").help("run on these hosts; SLOTS nodes fit on each"))
        .arg(
            value("hostfile", "FILE")
                .short('H')
                .conflicts_with("host")
                .help("run on the hosts in FILE: a line for each, as HOST, HOST:SLOTS or HOST slots=SLOTS"),
        )
        .arg(
            value("place", "HOW")
                .help("with hosts: block (the default), next (one after the other, on from the last job's end), load (where least runs), \
                       or list:0,0,1 (the host of each node, by its position)"),
        )
        .arg(number("cpus", "K", 0).short('c').help("bind each node to K CPUs, if there are enough, else say so and bind none; with --bind core, to K cores, or refuse"))
        .arg(
            value("bind", "WHAT")
                .value_parser(PossibleValuesParser::new(["none", "core", "numa"]))
                .help("bind each node to a core of its own, or to a NUMA node with its memory"),
        )
        .arg(
            value("map", "FILE")
                .conflicts_with_all(["bind", "cpus"])
                .help("put each node where FILE says: a line for each, as RANK PLACE; see below"),
        )
        .arg(
            value("matrix", "FILE")
                .help("write to FILE what each node did with each other one: operations and bytes by kind, as JSON"),
        )
        .arg(
            Arg::new("aslr")
                .long("aslr")
                .action(ArgAction::SetTrue)
                .help("give each node a random address-space layout, as other programs have; see below"),
        )
        .arg(
            Arg::new("tag-output")
                .long("tag-output")
                .action(ArgAction::SetTrue)
                .help("begin each line of output with [node]"),
        )
        .arg(
            value("output", "FILE")
                .conflicts_with_all(["tag-output", "output-dir"])
                .help("write each node's stdout and stderr to FILE, in which %n is the node"),
        )
        .arg(
            value("output-dir", "DIR")
                .conflicts_with("tag-output")
                .help("write them to DIR/node-%n.out and DIR/node-%n.err"),
        )
        .arg(
            value("timeout", "SECONDS")
                .value_parser(seconds)
                .help("end the job, with status 124, if it takes longer than SECONDS"),
        )
        .arg(
            Arg::new("survive")
                .long("survive")
                .action(ArgAction::SetTrue)
                .help("let the job of a program that uses mail boxes alone go on without nodes that die; on one host; see below"),
        )
        .arg(
            value("debug", "CMD")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("")
                .help("start each node under gdb or lldb, or under CMD; or wait for a debugger (CMD wait): see below"),
        )
        .arg(
            value("debug-node", "K")
                .value_parser(count(0))
                .allow_negative_numbers(true)
                .help("debug node K only; alone it means --debug too"),
        )
        .arg(
            value("env", "VARS").short('E').action(ArgAction::Append).help("accepted: nodes get the whole environment"),
        )
        .arg(value("spawner", "NAME").help("accepted: nodes are started by this launcher itself"))
        .arg(flag('v', "verbose").help("show what is run, and where; sets GASNET_VERBOSEENV=1"))
        .arg(flag('t', "dry-run").help("show only, run nothing; implies -v"))
        .arg(flag('k', "keep").help("accepted: there are no temporary files; implies -v"))
        .arg(Arg::new("encode").long("encode").action(ArgAction::Count).hide(true))
}

const AFTER: &str = "\
Long options may be written with one dash. The options end at -- or at the program's name, which is searched as a
path, in the current directory, then in PATH.

Hosts: without -H and --host they are those of the file that GASNET_SSH_NODEFILE names, or in GASNET_SSH_SERVERS, or of the
file that GASNET_NODEFILE names, or in SSH_SERVERS, unless GASNET_SPAWNFN is L. Without these all nodes run on this host; but
with -N M, M above 1, under Slurm, PBS or LSF they run on the first M hosts of the job's list. Slots are filled in order;
without slots, or with -N, the nodes are shared evenly. On each host the launcher starts an agent, this same program at this same path, with GASNET_SCI_RSH (ssh -o BatchMode=yes); nothing listens,
all goes over stdin and stdout of that command. GASNET_SCI_RSH=standing reaches a service of the user's on each host instead of ssh
(gasnet-sci agent). This host, by its name or as localhost, needs no such command unless
GASNET_SCI_RSH is set. The program runs in the same directory and with the same environment on all hosts. Where an agent, a host or the
network fails, the job ends on all hosts; a host that is silent for GASNET_SCI_LINK_TIMEOUT counts as failed, and so does a launcher
that SIGSTOP stops for so long. gasnet-sci jobs lists the jobs on a host, gasnet-sci kill ends one.

Map: a line of the file of --map is RANK PLACE; # begins a comment. PLACE is core:K (the K-th core that may be used, from 0), cpu:LIST
(CPUs by the system's numbers), numa:K (a NUMA node, with its memory), or pos:K (a position of a topology; the node is not bound).
HOST/ in front of it names a host of the job; then all lines name one, and --place is not given. Each rank has one line, and no CPU or
position is given twice. 'gasnet-sci place' writes such files. With -t the launcher shows what would be bound.

Limits of a host: /etc/gasnet-sci/agent.conf has lines such as 'users = ann, bob' (who may run nodes for jobs of several hosts), 'jobs =
4', 'processes = 64' and 'cpus = 32' (the most at a time, for each user; a node counts as a CPU, or as -c K CPUs). The file that
GASNET_SCI_AGENT_CONF names may set tighter ones, and so may that of gasnet-sci agent --conf. # begins a comment.

Addresses: all nodes of a job get the same address-space layout: their programs start without address space layout
randomisation, so that a pointer to a function or to static data means the same in every node, as runtimes that send
such pointers assume. It also makes addresses predictable for an attacker; --aslr keeps randomisation, and such
runtimes then need a program that is not position-independent (-no-pie). What a node starts after gasnet_init has
randomisation again. -v shows what is the case; some containers forbid the change, and then -v says so.

Output: lines stay whole, however long they are. An unfinished line is kept back until it ends, or until it has used up its share of
memory (1 MiB; with more than 32 nodes all share 64 MiB). Then it goes out as it comes, and the lines of other nodes wait for its
end. What node 0 leaves without newline, such as a prompt, appears after 0.1 s. Where others wait for a second for the end of a line
that grows no more, a newline ends it. What many nodes report for one cause, such as a signal, is one line with their number.

Signals sent to the launcher reach all nodes. SIGTSTP stops the job with all that its nodes started, SIGCONT goes on with
it; that time does not count for --timeout. SIGKILL of the launcher ends the nodes and what they started: a second process
of the launcher sees to that. Only who kills both at once leaves what nodes started to itself. SIGSTOP stops the
launcher alone.

Losses: a node that dies ends the job. With --survive it does not, if the program uses DECK without GASNet and that node was
past deck_init: a line names it, calls that need it give DECK_EPEER in the others, and the job goes on. A node that ends before
deck_done is lost, too, however it ends. All nodes must be on this host.

Debugging: with DISPLAY and xterm each node's debugger has a window. Without, one node (-n 1 or --debug-node K)
has its debugger on this terminal; several nodes wait at the end of gasnet_init and say how to attach. A CMD that
is no gdb or lldb, such as valgrind or 'gdb -batch -ex run -ex bt', is run in front of the program; %n in it is
the node.

Exit status: 0 if every node ended with 0, else the code given to gasnet_exit, or 128 + the signal that killed a
node or that was sent to the launcher (a node that alone gets SIGINT, SIGTERM or SIGHUP leaves with 1); of several nodes the first such counts, also with --survive; 1 wrong usage, or the job
does not fit this host; 124 the time of --timeout is over; 126 the program cannot be run; 127 it is not found.";

fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
    value.ok_or_else(|| "it is not a positive number of seconds".into())
}

fn count(lowest: u32) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let value = text.parse().ok().filter(|number| (lowest..=65535).contains(number));
        value.ok_or_else(|| format!("it is not an integer from {lowest} to 65535"))
    }
}
