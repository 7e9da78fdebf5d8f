//! One table of environment variables → one [`Config`]. gasnet_init reads it once (contract: environment.md §1, §2).
//!
//! docs/environment.md and `gasnet-sci info` show the table. A variable that is not in the table does not exist. This
//! is the only code that reads the environment. Must not know: which code uses a value.

use std::fmt;

mod coll;
mod heap;
mod job;
mod observe;
mod parse;
mod survey;
pub mod table;
pub mod tune;
#[cfg(not(loom))]
mod unknown;
/// The variable in which the launcher passes a node its place in the job. A person never sets it.
pub const HANDOFF: &str = "GASNET_SCI_BOOT";

pub use heap::Heap;
pub use observe::{Mask, Observe, Record};
pub use parse::{NodeSet, YES_NO, memory_size, signal_number, yes_no};
pub use survey::{Setting, Survey, environment};
pub use tune::Tuned;
#[cfg(not(loom))]
pub use unknown::unknown_here;

/// All settings, in the units that the `doc` of their variables name.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Number of nodes that init forks if there is no launcher.
    pub nodes: u32,
    /// Upper bound of a node's segment; `None`: the client's `gasnet_max_segsize`, else the default.
    pub max_segsize: Option<u64>,
    /// Largest number of client threads per node, if limited.
    pub max_threads: Option<u32>,
    /// The most nodes in one supernode; 0: no limit.
    pub supernode_max: u32,
    /// Request slots per ordered pair of nodes; a power of two.
    pub slots: u32,
    /// Long payloads of at least this length go by DMA.
    pub dma_min: u64,
    /// Long payloads of at least this length with unequally aligned ends are copied through a buffer for DMA. Shorter
    /// ones go by PIO.
    pub bounce_min: u64,
    /// Which thread makes long non-blocking transfers.
    pub dma: Dma,
    /// Non-blocking transfers of at least this many bytes go to the DMA thread, if there is one.
    pub dma_thread_min: u64,
    /// The file of measured thresholds, if the user names one. [`tune`] has read it.
    pub tune_file: Option<String>,
    /// The fault in that file, or in the default one, as a text for the user.
    pub tune_problem: Option<String>,
    /// Whether to try a common window of addresses.
    pub window: bool,
    /// The nodes whose segments are not mapped.
    pub unmapped: Unmapped,
    /// Whether to commit segment memory at attach.
    pub reserve: bool,
    /// Whether a node that goes to sleep makes the fence for all, with membarrier(2).
    pub membarrier: bool,
    /// Whether transfers use mapped memory. Otherwise they use the reference implementation over Active Messages.
    pub native: bool,
    /// Whether to use process_vm_writev for memory that is not mapped.
    pub cma: bool,
    /// Whether to pack pieces of vector, indexed and strided transfers into Mediums that carry their places.
    pub vis_ampipe: bool,
    /// Whether to pack pieces for one place at the peer into one message.
    pub vis_remotecontig: bool,
    /// Pieces with more bytes than this on both sides are not packed. Puts of 2 KiB reach 12.0 GB/s one by one, and
    /// 9.4 packed. Puts of 1 KiB are equally fast both ways (testvisperf, GASNET_SCI_EXTENDED=ref, 2 nodes, Xeon).
    pub vis_maxchunk: u64,
    /// Unsuccessful polls before a waiting thread gives up the CPU; `None`: chosen by the number of nodes per core.
    pub spin: Option<u32>,
    /// Whether to print each node's counters at exit.
    pub stats: bool,
    /// Whether ticks of the tools are nanoseconds of the monotonic clock, whatever counter the cpu has.
    pub ticks_by_clock: bool,
    /// Seconds that an orderly exit may take, if set explicitly.
    pub exit_timeout: Option<f64>,
    /// Bounds and slope of the computed exit timeout.
    pub exit_timeout_max: f64,
    /// See `exit_timeout_max`.
    pub exit_timeout_min: f64,
    /// See `exit_timeout_max`.
    pub exit_timeout_factor: f64,
    /// Whether to leave out lines of advice.
    pub quiet: bool,
    /// Whether node 0 reports every variable that is read.
    pub verbose_env: bool,
    /// Whether to wait for a debugger at the end of init.
    pub freeze: bool,
    /// Whether to wait for a debugger on fatal errors.
    pub freeze_on_error: bool,
    /// Whether to print a stack trace on fatal errors.
    pub backtrace: bool,
    /// The nodes that print one.
    pub backtrace_nodes: NodeSet,
    /// Signals for which the library installs no handler.
    pub no_catch: SignalSet,
    /// The barrier algorithm that the user asked for. All names stand for the same algorithm.
    pub barrier: String,
    /// Traces, statistics, stack traces, freezing.
    pub observe: Observe,
    /// The debug heap.
    pub heap: Heap,
    /// Bytes of a node's stage buffers for collectives.
    pub coll_scratch: u64,
}

/// Bytes of payload in one packet of a vector, indexed or strided transfer. It is so long that a message costs a
/// tenth of copying it, and so short that a ring holds several packets.
pub const VIS_PACKET: usize = 16 << 10;
/// The most 8-byte words of a packet that say where its bytes belong.
pub const VIS_PACKET_WORDS: usize = 2 << 10;
/// Pieces with fewer bytes on average are packed. For these the kernel's cost per piece (process_vm_writev, about 0.2
/// µs) is above that of packing (testvisperf in EVERYTHING, 2 nodes, Xeon: 4.5 GB/s by the kernel and 7.5 packed with
/// 1 KiB, 16.6 and 10.5 with 8 KiB).
pub const VIS_CMA_MIN: usize = 2 << 10;

/// Which thread makes long non-blocking transfers of mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dma {
    /// The caller, at once.
    Sync,
    /// A thread of the node, if a core is free for it.
    Thread,
    /// A thread of the node, even if it has to share a core.
    Always,
}

/// The nodes whose segments a node does not map, though it could (GASNET_SCI_UNMAPPED). It makes a job on one host in
/// which some peers are mapped and others are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// None: all segments are mapped.
    No,
    /// Nodes at an odd distance in rank. Both sides of a pair agree.
    Odd,
    /// Nodes with a higher rank. The two sides of a pair do not agree.
    Higher,
    /// All other nodes.
    All,
}

impl Unmapped {
    fn parse(text: &str) -> Option<Unmapped> {
        match text.trim().to_ascii_lowercase().as_str() {
            "odd" => Some(Unmapped::Odd),
            "higher" => Some(Unmapped::Higher),
            "all" => Some(Unmapped::All),
            other => yes_no(other).filter(|yes| !yes).map(|_| Unmapped::No),
        }
    }

    /// Whether node `me` leaves the segment of `peer`, another node, unmapped.
    pub fn hides(self, me: u32, peer: u32) -> bool {
        match self {
            Unmapped::No => false,
            Unmapped::Odd => (me ^ peer) & 1 == 1,
            Unmapped::Higher => peer > me,
            Unmapped::All => true,
        }
    }
}

/// A set of signals that a variable names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalSet {
    /// Every signal (`*`).
    pub all: bool,
    /// These signals.
    pub list: Vec<i32>,
}

impl SignalSet {
    /// Whether the set contains `signal`.
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
            dma: Dma::Sync,
            dma_thread_min: 64 << 10,
            tune_file: None,
            tune_problem: None,
            window: true,
            unmapped: Unmapped::No,
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
        // At most as long as a clock can count.
        self.exit_timeout.unwrap_or(computed.min(self.exit_timeout_max)).clamp(0.1, 1e9)
    }
}

/// One environment variable, as docs/environment.md, `gasnet-sci info` and the parser know it.
#[derive(Clone, Copy)]
pub struct Var {
    /// The documented name.
    pub name: &'static str,
    /// Other names that are used if `name` is unset, in this order.
    pub aliases: &'static [&'static str],
    /// The value that holds if it is unset, as text.
    pub default: &'static str,
    /// Unit and meaning.
    pub doc: &'static str,
    /// The words or the form that a value must have, for the error message.
    pub form: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

/// The table of all variables.
pub const VARS: &[Var] = &joined::<{ MOST.len() + heap::VARS.len() }>(MOST, heap::VARS);
const MOST: &[Var] = &joined::<{ FIRST.len() + observe::VARS.len() }>(FIRST, observe::VARS);
const FIRST: &[Var] = &joined::<{ job::VARS.len() + coll::VARS.len() }>(job::VARS, coll::VARS);

const fn joined<const N: usize>(first: &[Var], second: &[Var]) -> [Var; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    value.map(|v| *place = v)
}

/// A variable with a value that makes no sense. It is fatal at init, because a setting that is silently ignored costs
/// its user a day.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    /// The name, as found in the environment.
    pub name: String,
    /// The value.
    pub value: String,
    /// The form that the value should have.
    pub form: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment variable {}='{}' is not valid: expected {}", self.name, self.value, self.form)
    }
}

/// The setting of one variable, for the verbose report.
pub struct Reported {
    /// The documented name.
    pub name: &'static str,
    /// The value in force, as text.
    pub value: String,
    /// Whether neither the environment nor the tune file sets it.
    pub is_default: bool,
    /// Whether the tune file sets it.
    pub is_tuned: bool,
}

/// The value of a variable that is not in the table: of the system, or of a family with open names. In a process with
/// more rights than its caller it is always `None`, because a setting can name files to write and programs to run.
pub fn variable(name: &str) -> Option<String> {
    #[cfg(not(loom))] // models have no process around them
    if crate::os::sys::is_privileged() {
        return None;
    }
    #[allow(clippy::disallowed_methods)] // this is the place that reads it
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl Config {
    /// Reads the environment of this process, and the tune file.
    pub fn from_env() -> Result<(Config, Vec<Reported>), ConfigError> {
        let (tuned, problem) = find_tuned();
        let (mut config, report) = Self::read_over(tuned.as_ref(), variable)?;
        config.tune_problem = problem;
        Ok((config, report))
    }

    /// Reads from any source of values. An empty value counts as unset.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<(Config, Vec<Reported>), ConfigError> {
        Self::read_over(None, get)
    }

    /// Reads from `get`, and where that has no value, from a tune file.
    fn read_over(
        tuned: Option<&Tuned>,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<(Config, Vec<Reported>), ConfigError> {
        let mut config = Config::default();
        let mut report = Vec::with_capacity(VARS.len());
        for var in VARS {
            let found = std::iter::once(&var.name)
                .chain(var.aliases)
                .find_map(|name| get(name).filter(|v| !v.trim().is_empty()).map(|value| (name.to_string(), value)));
            let measured = tuned.and_then(|tuned| tuned.get(var.name)).filter(|_| found.is_none());
            let is_default = found.is_none() && measured.is_none();
            let (name, value) = match (found, measured) {
                (Some(found), _) => found,
                (None, Some(value)) => (var.name.into(), value.into()),
                (None, None) => (var.name.into(), var.default.into()),
            };
            if !is_default && (var.set)(&mut config, &value).is_none() {
                return Err(ConfigError { name, value, form: var.form });
            }
            report.push(Reported { name: var.name, value, is_default, is_tuned: measured.is_some() });
        }
        Ok((config, report))
    }
}

/// The tune file that this process uses, or why it cannot use one.
fn find_tuned() -> (Option<Tuned>, Option<String>) {
    #[cfg(loom)]
    return (None, None);
    #[cfg(not(loom))]
    match tune::find(variable(tune::VARIABLE).as_deref(), &tune::Asker::here()) {
        Ok(tuned) => (tuned, None),
        Err(problem) => (None, Some(problem)),
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
    fn the_environment_goes_before_the_tune_file_and_that_before_the_default() {
        let text = "GASNET_SCI_DMA_MIN = 16K\nGASNET_VIS_MAXCHUNK = 3K\n";
        let tuned = Tuned { file: "x".into(), values: tune::parse(text).unwrap() };
        let get = |name: &str| match name {
            "GASNET_VIS_MAXCHUNK" => Some("5K".to_string()),
            "GASNET_SCI_DMA_MIN" => Some(" ".to_string()),
            _ => None,
        };
        let (config, report) = Config::read_over(Some(&tuned), get).unwrap();
        assert_eq!((config.dma_min, config.vis_maxchunk), (16 << 10, 5 << 10));
        assert_eq!(config.dma_thread_min, Config::default().dma_thread_min);
        let of = |name| {
            report.iter().find(|r| r.name == name).map(|r| (r.value.as_str(), r.is_default, r.is_tuned)).unwrap()
        };
        assert_eq!(of("GASNET_SCI_DMA_MIN"), ("16K", false, true));
        assert_eq!(of("GASNET_VIS_MAXCHUNK"), ("5K", false, false));
        assert_eq!(of("GASNET_SCI_DMA_THREAD_MIN"), ("64K", true, false));
    }

    #[test]
    fn unmapped_peers_are_named_by_a_word() {
        let hidden = |word: &str| {
            let unmapped = with(&[("GASNET_SCI_UNMAPPED", word)]).unwrap().unmapped;
            (0..5).filter(|peer| *peer != 2 && unmapped.hides(2, *peer)).collect::<Vec<u32>>()
        };
        assert_eq!(hidden("no"), []);
        assert_eq!(hidden("odd"), [1, 3]);
        assert_eq!(hidden("Higher"), [3, 4]);
        assert_eq!(hidden("all"), [0, 1, 3, 4]);
        assert!(with(&[("GASNET_SCI_UNMAPPED", "yes")]).is_err());
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
        assert_eq!(with(&[("GASNET_EXITTIMEOUT", "1e300")]).unwrap().exit_seconds(8), 1e9);
        assert!(with(&[("GASNET_EXITTIMEOUT", "1e300/1e-300")]).is_err(), "no number");
    }

    #[test]
    fn slots_are_a_power_of_two() {
        assert_eq!(with(&[("GASNET_NETWORKDEPTH", "33")]).unwrap().slots, 64);
        assert_eq!(with(&[("GASNET_SCI_SLOTS", "1")]).unwrap().slots, 4);
    }
}
