//! One table of environment variables → one [`Config`], read once inside `gasnet_init` (contract: environment.md §1, §2).
//!
//! README and `gasnet-sci info` print the table, so a variable that is not in it does not exist. Must not know who uses
//! a value. This is the only place that reads the environment.

use std::fmt;

mod heap;
mod observe;
mod parse;
mod survey;
pub mod table;
#[cfg(not(loom))]
mod unknown;
pub use heap::Heap;
pub use observe::{Mask, Observe, Record};
pub use parse::{NodeSet, YES_NO, memory_size, signal_number, yes_no};
pub use survey::{Setting, environment};
#[cfg(not(loom))]
pub use unknown::unknown_here;

/// Every setting, in the unit that its variable's `doc` names.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Nodes to create by forking at init when there is no launcher.
    pub nodes: u32,
    /// Upper bound of a node's segment; `None`: the client's `gasnet_max_segsize`, else the default.
    pub max_segsize: Option<u64>,
    /// Largest number of client threads per node, if limited.
    pub max_threads: Option<u32>,
    /// Most nodes in one supernode; 0 = unlimited.
    pub supernode_max: u32,
    /// Request slots per ordered pair of nodes; a power of two.
    pub slots: u32,
    /// A Long payload this large or larger goes by DMA.
    pub dma_min: u64,
    /// A Long payload this large or larger whose ends are unequally aligned is bounced for DMA; smaller: PIO.
    pub bounce_min: u64,
    /// Try the common address window.
    pub window: bool,
    /// Commit segment memory at attach.
    pub reserve: bool,
    /// Let the sleeper fence with membarrier(2).
    pub membarrier: bool,
    /// Transfers by mapped memory; else the reference implementation over Active Messages.
    pub native: bool,
    /// Use process_vm_writev for memory that is not mapped.
    pub cma: bool,
    /// Pack pieces of vector, indexed and strided transfers into Mediums that carry their places.
    pub vis_ampipe: bool,
    /// Pack pieces for one place at the peer into one message.
    pub vis_remotecontig: bool,
    /// Bytes; pieces that are longer on both sides are not packed: puts of 2 KiB make 12.0 GB/s one by one, 9.4 packed, of
    /// 1 KiB as much both ways (testvisperf, GASNET_SCI_EXTENDED=ref, 2 nodes, Xeon).
    pub vis_maxchunk: u64,
    /// Unsuccessful polls before a waiting thread gives up the CPU; `None`: by the number of nodes per core.
    pub spin: Option<u32>,
    /// Print each node's counters at exit.
    pub stats: bool,
    /// Ticks of the tools are nanoseconds of the monotonic clock, whatever the cpu has.
    pub ticks_by_clock: bool,
    /// Seconds that an orderly exit may take, when set explicitly.
    pub exit_timeout: Option<f64>,
    /// Bounds and slope of the computed exit timeout.
    pub exit_timeout_max: f64,
    /// See `exit_timeout_max`.
    pub exit_timeout_min: f64,
    /// See `exit_timeout_max`.
    pub exit_timeout_factor: f64,
    /// No advisory messages.
    pub quiet: bool,
    /// Report every variable consulted, on node 0.
    pub verbose_env: bool,
    /// Wait for a debugger at the end of init.
    pub freeze: bool,
    /// Wait for a debugger on fatal errors.
    pub freeze_on_error: bool,
    /// Print a stack trace on fatal errors.
    pub backtrace: bool,
    /// Nodes that print it.
    pub backtrace_nodes: NodeSet,
    /// Signals that are left alone; `None` in the list's place means all.
    pub no_catch: SignalSet,
    /// Barrier algorithm asked for; all names map onto one algorithm.
    pub barrier: String,
    /// Traces, statistics, stack traces, freezing.
    pub observe: Observe,
    /// The debug heap.
    pub heap: Heap,
    /// Bytes of a node's stage for collectives.
    pub coll_scratch: u64,
}

/// Bytes of payload in one packet of a vector, indexed or strided transfer: long enough that a message's cost is a tenth
/// of copying it, short enough that several are on their way in a ring.
pub const VIS_PACKET: usize = 16 << 10;
/// 8-byte words that say where a packet's bytes belong.
pub const VIS_PACKET_WORDS: usize = 2 << 10;
/// Bytes; below this mean length of pieces the kernel's cost per piece (process_vm_writev, about 0.2 µs) is above that of
/// packing them (testvisperf in EVERYTHING, 2 nodes, Xeon: 4.5 and 7.5 GB/s with 1 KiB, 16.6 and 10.5 with 8 KiB).
pub const VIS_CMA_MIN: usize = 2 << 10;

/// Signals named by a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalSet {
    /// Every signal (`*`).
    pub all: bool,
    /// These.
    pub list: Vec<i32>,
}

impl SignalSet {
    /// Is `signal` named?
    pub fn contains(&self, signal: i32) -> bool {
        self.all || self.list.contains(&signal)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nodes: 1,
            max_segsize: None,
            max_threads: None,
            supernode_max: 0,
            slots: 64,
            dma_min: 64 << 10,
            bounce_min: u64::MAX,
            window: true,
            reserve: false,
            membarrier: true,
            native: true,
            cma: true,
            vis_ampipe: true,
            vis_remotecontig: true,
            vis_maxchunk: 1 << 10,
            spin: None,
            stats: false,
            ticks_by_clock: false,
            exit_timeout: None,
            exit_timeout_max: 20.0,
            exit_timeout_min: 10.0,
            exit_timeout_factor: 0.25,
            quiet: false,
            verbose_env: false,
            freeze: false,
            freeze_on_error: false,
            backtrace: false,
            backtrace_nodes: NodeSet::default(),
            no_catch: SignalSet::default(),
            barrier: "DISSEM".into(),
            observe: Observe::default(),
            heap: Heap::default(),
            coll_scratch: 2 << 20,
        }
    }
}

impl Config {
    /// Seconds that an orderly exit of `nodes` nodes may take (contract: environment.md, GASNET_EXITTIMEOUT).
    pub fn exit_seconds(&self, nodes: u32) -> f64 {
        let computed = self.exit_timeout_min + f64::from(nodes) * self.exit_timeout_factor;
        self.exit_timeout.unwrap_or(computed.min(self.exit_timeout_max)).max(0.1)
    }
}

/// One environment variable: what README, `gasnet-sci info` and the parser know of it.
#[derive(Clone, Copy)]
pub struct Var {
    /// The name that is documented.
    pub name: &'static str,
    /// Other names honoured when `name` is unset, in order.
    pub aliases: &'static [&'static str],
    /// What stands when it is unset, as text.
    pub default: &'static str,
    /// Unit and meaning.
    pub doc: &'static str,
    /// Words that the value must be one of or be shaped like, for the error message.
    pub form: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

/// The table.
pub const VARS: &[Var] = &joined::<{ MOST.len() + heap::VARS.len() }>(MOST, heap::VARS);
const MOST: &[Var] = &joined::<{ JOB.len() + observe::VARS.len() }>(JOB, observe::VARS);

const fn joined<const N: usize>(first: &[Var], second: &[Var]) -> [Var; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

const JOB: &[Var] = &[
    Var {
        name: "GASNET_SCI_NODES",
        aliases: &["GASNET_PSHM_NODES"],
        default: "1",
        doc: "nodes that gasnet_init forks when no launcher started the program",
        form: "an integer from 1 to 65535",
        set: |c, v| put(&mut c.nodes, parse::integer(v, 1, 65535)),
    },
    Var {
        name: "GASNET_MAX_SEGSIZE",
        aliases: &[],
        default: "2G less a page",
        doc: "bytes; upper bound of a node's segment, before the limit set by physical memory",
        form: "a memory size such as 512M or 1.5G",
        set: |c, v| memory_size(v, 1).map(|n| c.max_segsize = Some(n)),
    },
    Var {
        name: "GASNET_MAX_THREADS",
        aliases: &[],
        default: "unlimited",
        doc: "client threads per node that may be alive and in the library's use, in PAR and PARSYNC; one more ends the job",
        form: "a positive integer",
        set: |c, v| parse::integer(v, 1, u32::MAX.into()).map(|n| c.max_threads = Some(n)),
    },
    Var {
        name: "GASNET_SUPERNODE_MAXSIZE",
        aliases: &[],
        default: "0",
        doc: "most nodes in one supernode; 0 = unlimited",
        form: "an integer, 0 or more",
        set: |c, v| put(&mut c.supernode_max, parse::integer(v, 0, u32::MAX.into())),
    },
    Var {
        name: "GASNET_SCI_SLOTS",
        aliases: &["GASNET_PSHM_NETWORK_DEPTH", "GASNET_PSHMNET_QUEUE_DEPTH", "GASNET_NETWORKDEPTH"],
        default: "64",
        doc: "request slots per ordered pair of nodes, rounded up to a power of two between 4 and 4096",
        form: "a positive integer",
        set: |c, v| parse::integer(v, 1, u32::MAX.into()).map(|n| c.slots = n.clamp(4, 4096).next_power_of_two()),
    },
    Var {
        name: "GASNET_SCI_DMA_MIN",
        aliases: &[],
        default: "64K",
        doc: "bytes; a Long payload this large or larger goes by DMA",
        form: "a memory size",
        set: |c, v| put(&mut c.dma_min, memory_size(v, 1)),
    },
    Var {
        name: "GASNET_SCI_BOUNCE_MIN",
        aliases: &[],
        default: "never",
        doc: "bytes; a Long payload this large or larger, and as large as GASNET_SCI_DMA_MIN, whose source and target are unequally aligned \
              goes through an aligned bounce buffer to DMA, a smaller one by PIO",
        form: "a memory size",
        set: |c, v| put(&mut c.bounce_min, memory_size(v, 1)),
    },
    Var {
        name: "GASNET_SCI_WINDOW",
        aliases: &[],
        default: "yes",
        doc: "map all nodes' segments at the same addresses in every process; no: per-peer offsets",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.window, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_SCI_RESERVE",
        aliases: &[],
        default: "no",
        doc: "commit the memory of the segment in gasnet_attach, so that lack of it is an error there",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.reserve, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_SCI_MEMBARRIER",
        aliases: &[],
        default: "yes",
        doc: "a node about to sleep fences its peers with membarrier(2); no: every sender fences",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.membarrier, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_SCI_EXTENDED",
        aliases: &[],
        default: "native",
        doc: "puts and gets: native = loads and stores where memory is mapped, ref = Active Messages only",
        form: "native or ref",
        set: |c, v| match v.trim().to_ascii_lowercase().as_str() {
            "native" => put(&mut c.native, Some(true)),
            "ref" => put(&mut c.native, Some(false)),
            _ => None,
        },
    },
    Var {
        name: "GASNET_SCI_CMA",
        aliases: &[],
        default: "yes",
        doc: "reach a peer's memory outside its segment (EVERYTHING) with process_vm_readv and writev where the kernel allows",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.cma, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_VIS_AMPIPE",
        aliases: &[],
        default: "yes",
        doc: "vector, indexed and strided transfers by messages: pack small pieces, with their places, into Mediums",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.vis_ampipe, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_VIS_REMOTECONTIG",
        aliases: &[],
        default: "yes",
        doc: "the same: pack small pieces that are contiguous at the peer into one message",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.vis_remotecontig, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_VIS_MAXCHUNK",
        aliases: &[],
        default: "1K",
        doc: "bytes; the same: pieces that are longer on both sides are sent one by one",
        form: "a memory size",
        set: |c, v| put(&mut c.vis_maxchunk, memory_size(v, 1)),
    },
    Var {
        name: "GASNET_SCI_SPIN",
        aliases: &[],
        default: "by nodes per core",
        doc: "unsuccessful polls before a waiting thread gives up the CPU (wait modes SPINBLOCK and default)",
        form: "an integer, 0 or more",
        set: |c, v| parse::integer(v, 0, u32::MAX.into()).map(|n| c.spin = Some(n)),
    },
    Var {
        name: "GASNET_SCI_STATS",
        aliases: &[],
        default: "no",
        doc: "each node prints its counters to stderr at exit",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.stats, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_SCI_TICKS",
        aliases: &[],
        default: "auto",
        doc: "what gasnett_ticks_now reads: auto = the cpu's counter where it is invariant, clock = the monotonic clock",
        form: "auto or clock",
        set: |c, v| match v.trim().to_ascii_lowercase().as_str() {
            "auto" => put(&mut c.ticks_by_clock, Some(false)),
            "clock" => put(&mut c.ticks_by_clock, Some(true)),
            _ => None,
        },
    },
    Var {
        name: "GASNET_EXITTIMEOUT",
        aliases: &[],
        default: "min(MAX, MIN + nodes * FACTOR)",
        doc: "seconds; how long an orderly exit may take before it is forced",
        form: "a number of seconds, 0 or more",
        set: |c, v| parse::float(v).map(|n| c.exit_timeout = Some(n)),
    },
    Var {
        name: "GASNET_EXITTIMEOUT_MAX",
        aliases: &[],
        default: "20",
        doc: "seconds; see GASNET_EXITTIMEOUT",
        form: "a number of seconds, 0 or more",
        set: |c, v| put(&mut c.exit_timeout_max, parse::float(v)),
    },
    Var {
        name: "GASNET_EXITTIMEOUT_MIN",
        aliases: &[],
        default: "10",
        doc: "seconds; see GASNET_EXITTIMEOUT",
        form: "a number of seconds, 0 or more",
        set: |c, v| put(&mut c.exit_timeout_min, parse::float(v)),
    },
    Var {
        name: "GASNET_EXITTIMEOUT_FACTOR",
        aliases: &[],
        default: "0.25",
        doc: "seconds per node; see GASNET_EXITTIMEOUT",
        form: "a number of seconds, 0 or more",
        set: |c, v| put(&mut c.exit_timeout_factor, parse::float(v)),
    },
    Var {
        name: "GASNET_QUIET",
        aliases: &[],
        default: "no",
        doc: "suppress advisory messages",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.quiet, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_VERBOSEENV",
        aliases: &[],
        default: "no",
        doc: "node 0 reports every variable consulted, to stderr",
        form: "anything; 0, N and NO mean off",
        set: |c, v| put(&mut c.verbose_env, Some(parse::yes_no(v).unwrap_or(true))),
    },
    Var {
        name: "GASNET_FREEZE",
        aliases: &[],
        default: "no",
        doc: "each node waits for a debugger (or SIGCONT) at the end of gasnet_init",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.freeze, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_FREEZE_ON_ERROR",
        aliases: &[],
        default: "no",
        doc: "the same on fatal errors and fatal signals",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.freeze_on_error, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_BACKTRACE",
        aliases: &[],
        default: "no",
        doc: "print a stack trace on fatal errors and fatal signals",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.backtrace, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_BACKTRACE_NODES",
        aliases: &[],
        default: "*",
        doc: "nodes that print stack traces",
        form: "a list of nodes such as 0,2-4",
        set: |c, v| put(&mut c.backtrace_nodes, NodeSet::parse(v)),
    },
    Var {
        name: "GASNET_NO_CATCH_SIGNAL",
        aliases: &[],
        default: "",
        doc: "signals whose disposition is left alone; * = all",
        form: "a list of signals such as SEGV,SIGINT,11",
        set: |c, v| put(&mut c.no_catch, parse::signals(v)),
    },
    Var {
        name: "GASNET_BARRIER",
        aliases: &[],
        default: "DISSEM",
        doc: "barrier algorithm; every valid name selects the one over the control regions",
        form: "one of AMCENTRAL, AMDISSEM, RDMADISSEM, DISSEM, PSHM, SCI",
        set: |c, v| {
            const NAMES: [&str; 6] = ["AMCENTRAL", "AMDISSEM", "RDMADISSEM", "DISSEM", "PSHM", "SCI"];
            let name = v.trim().to_ascii_uppercase();
            put(&mut c.barrier, NAMES.contains(&name.as_str()).then_some(name))
        },
    },
    Var {
        name: "GASNET_COLL_SCRATCH_SIZE",
        aliases: &[],
        default: "2M",
        doc: "bytes per node, outside the segment, through which collectives move what peers can't reach where it lies; \
              committed as it is used, rounded to 64 KB",
        form: "a memory size from 1 KB to 1 GB",
        set: |c, v| {
            let size = memory_size(v, 1).filter(|n| (1 << 10..=1 << 30).contains(n));
            put(&mut c.coll_scratch, size)
        },
    },
];

fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    value.map(|v| *place = v)
}

/// A variable whose value makes no sense. Fatal at init: a silently ignored setting costs its user a day.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    /// Name as found in the environment.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it should be.
    pub form: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment variable {}='{}' is not valid: expected {}", self.name, self.value, self.form)
    }
}

/// What was found for one variable, for the verbose report.
pub struct Reported {
    /// Documented name.
    pub name: &'static str,
    /// Value in force, as text.
    pub value: String,
    /// True when the environment does not set it.
    pub is_default: bool,
}

/// The value of one variable that is not in the table: of the system, or of a family with open names.
pub fn variable(name: &str) -> Option<String> {
    #[allow(clippy::disallowed_methods)] // this is the place that reads it
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl Config {
    /// Reads the process environment.
    pub fn from_env() -> Result<(Config, Vec<Reported>), ConfigError> {
        #[allow(clippy::disallowed_methods)] // this is the place that reads it
        Self::read(|name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()))
    }

    /// Reads from any source of values; the empty string counts as unset.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<(Config, Vec<Reported>), ConfigError> {
        let mut config = Config::default();
        let mut report = Vec::with_capacity(VARS.len());
        for var in VARS {
            let found = std::iter::once(&var.name)
                .chain(var.aliases)
                .find_map(|name| get(name).filter(|v| !v.trim().is_empty()).map(|value| (name.to_string(), value)));
            match found {
                None => report.push(Reported { name: var.name, value: var.default.into(), is_default: true }),
                Some((name, value)) => {
                    if (var.set)(&mut config, &value).is_none() {
                        return Err(ConfigError { name, value, form: var.form });
                    }
                    report.push(Reported { name: var.name, value, is_default: false });
                }
            }
        }
        Ok((config, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(|n| pairs.iter().find(|(k, _)| *k == n).map(|(_, v)| v.to_string())).map(|(c, _)| c)
    }

    #[test]
    fn documented_defaults_parse_to_the_default_config() {
        let numeric = |d: &str| !d.is_empty() && !d.contains(' ') && d != "unlimited" && d != "never";
        for var in VARS.iter().filter(|v| numeric(v.default)) {
            assert_eq!(with(&[(var.name, var.default)]).unwrap(), Config::default(), "{}", var.name);
        }
    }

    #[test]
    fn alias_is_honoured_and_the_documented_name_wins() {
        assert_eq!(with(&[("GASNET_PSHM_NODES", "3")]).unwrap().nodes, 3);
        assert_eq!(with(&[("GASNET_PSHM_NODES", "3"), ("GASNET_SCI_NODES", "2")]).unwrap().nodes, 2);
    }

    #[test]
    fn bad_value_names_variable_value_and_form() {
        let text = with(&[("GASNET_SCI_STATS", "maybe")]).unwrap_err().to_string();
        assert!(text.contains("GASNET_SCI_STATS") && text.contains("maybe") && text.contains("yes or no"), "{text}");
        assert!(with(&[("GASNET_SCI_NODES", "0")]).is_err());
        assert!(with(&[("GASNET_BARRIER", "fancy")]).is_err());
    }

    #[test]
    fn empty_value_counts_as_unset() {
        assert_eq!(with(&[("GASNET_MAX_SEGSIZE", " ")]).unwrap(), Config::default());
    }

    #[test]
    fn exit_timeout_follows_the_formula_unless_set() {
        assert_eq!(with(&[]).unwrap().exit_seconds(8), 12.0);
        assert_eq!(with(&[]).unwrap().exit_seconds(1000), 20.0);
        assert_eq!(with(&[("GASNET_EXITTIMEOUT", "3/2")]).unwrap().exit_seconds(8), 1.5);
    }

    #[test]
    fn slots_are_a_power_of_two() {
        assert_eq!(with(&[("GASNET_NETWORKDEPTH", "33")]).unwrap().slots, 64);
        assert_eq!(with(&[("GASNET_SCI_SLOTS", "1")]).unwrap().slots, 4);
    }
}
