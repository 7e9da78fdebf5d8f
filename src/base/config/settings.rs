//! The settings: [`Config`] with its defaults, and what a row of the table is ([`Var`]).
//!
//! Must not know: which variables there are, where their values come from, which code uses them.

use super::{Hosts, NodeSet, Observe, SegmentSize, SignalSet, TimingMode, yes_no};

/// All settings, in the units that the `doc` of their variables name.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Number of nodes that init forks if there is no launcher.
    pub nodes: u32,
    /// Upper bound of a node's segment; `None`: the client's `gasnet_max_segsize`, else the default.
    pub max_segsize: Option<SegmentSize>,
    /// Largest number of client threads per node, if limited.
    pub max_threads: Option<u32>,
    /// The most nodes in one supernode; 0: no limit.
    pub supernode_max: u32,
    /// Request slots per ordered pair of nodes, a power of two, if the user names a number ([`Config::slots_among`]).
    pub slots: Option<u32>,
    /// Long payloads of at least this length go by DMA.
    pub dma_min: u64,
    /// Long payloads of at least this length with unequally aligned ends are copied through a buffer for DMA. Shorter
    /// ones go by PIO.
    pub bounce_min: u64,
    /// Which thread makes long non-blocking transfers.
    pub dma: Dma,
    /// Non-blocking transfers of at least this many bytes go to the DMA thread, if there is one.
    pub dma_thread_min: u64,
    /// The file of measured thresholds, if the user names one. [`super::tune`] has read it.
    pub tune_file: Option<String>,
    /// The fault in that file, or in the default one, as a text for the user.
    pub tune_problem: Option<String>,
    /// Whether to try a common window of addresses.
    pub window: bool,
    /// The nodes whose segments are not mapped.
    pub unmapped: Unmapped,
    /// The user's name for this host. Nodes with different names share no memory.
    pub host: Option<String>,
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
    /// Microseconds of the time slices that a node asks the kernel for; 0: the kernel's own.
    ///
    /// The kernel lets who waits for a processor wait until the slice of the one that runs is over, even one of low priority, unless the
    /// waiting one has a shorter slice. Two busy programs of the lowest priority beside the job, on two cores of an EPYC VM, kernel 6.18, two
    /// runs each, 2026-11: `testam` on two nodes 0.6 to 0.8 instead of 1.5 to 1.7 s, on three 0.7 instead of 3.5 to 3.8 s. Alone on two cores,
    /// with four and eight nodes, it makes no difference. A guest in an MPI program leaves its process as it is.
    pub slice: u32,
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
    /// The process belongs to another runtime, which joined the job as a guest. The environment cannot say so: `Job::init` does.
    pub guest: bool,
    /// The barrier algorithm that the user asked for. All names stand for the same algorithm.
    pub barrier: String,
    /// Traces, statistics, stack traces, freezing.
    pub observe: Observe,
    /// Jobs on several hosts.
    pub hosts: Hosts,
    /// Timing mode.
    pub timing: TimingMode,
    /// Bytes of a node's stage buffers for collectives.
    pub coll_scratch: u64,
    /// DECK messages of at least this many bytes lie in shared memory.
    pub deck_limit: u64,
    /// Bytes of this node's DECK heap.
    pub deck_heap: u64,
    /// Mail boxes of a node, at most.
    pub deck_boxes: u32,
}

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
    pub(super) fn parse(text: &str) -> Option<Unmapped> {
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

impl Default for Config {
    fn default() -> Self {
        Self {
            nodes: 1,
            max_segsize: None,
            max_threads: None,
            supernode_max: 0,
            slots: None,
            dma_min: 64 << 10,
            bounce_min: u64::MAX,
            dma: Dma::Sync,
            dma_thread_min: 64 << 10,
            tune_file: None,
            tune_problem: None,
            window: true,
            unmapped: Unmapped::No,
            host: None,
            reserve: false,
            membarrier: true,
            native: true,
            cma: true,
            vis_ampipe: true,
            vis_remotecontig: true,
            vis_maxchunk: 1 << 10,
            spin: None,
            slice: 100,
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
            guest: false,
            barrier: "DISSEM".into(),
            observe: Observe::default(),
            hosts: Hosts::default(),
            timing: TimingMode::default(),
            coll_scratch: 2 << 20,
            deck_limit: 8 << 10,
            deck_heap: 64 << 20,
            deck_boxes: 1024,
        }
    }
}

impl Config {
    /// Request slots per ordered pair of nodes, in a job of `nodes` nodes. A request slot and its reply slot take 256 bytes. The defaults keep
    /// all slots of a node within 1 MiB in jobs of up to 65 nodes.
    ///
    /// | flood, ns for each message | 64 slots | 256 slots |
    /// |---|---|---|
    /// | Shorts: one sender; four | 15 to 44; 33 to 49 | 11 to 38; 15 to 38 |
    /// | 16 bytes to a mail box: one sender; four | 58 to 90; 70 to 111 | 45 to 68; 55 to 79 |
    ///
    /// (2026-11, EPYC VM, six runs each in turns.) Round trips take as long with either.
    pub fn slots_among(&self, nodes: u32) -> u32 {
        self.slots.unwrap_or(match nodes {
            0..=16 => 256,
            17..=32 => 128,
            _ => 64,
        })
    }

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
    pub(super) set: fn(&mut Config, &str) -> Option<()>,
}

/// A row of the table: `row! { NAME | ALIAS, DEFAULT, DOC, FORM, SET }`. rustfmt leaves braces alone, so that a row looks like one.
macro_rules! row {
    ($name:literal $(| $alias:literal)*, $default:expr, $doc:expr, $form:expr, $set:expr) => {
        Var { name: $name, aliases: &[$($alias),*], default: $default, doc: $doc, form: $form, set: $set }
    };
}
pub(super) use row;

/// Stores a value that has the right form.
pub(super) fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    value.map(|v| *place = v)
}
