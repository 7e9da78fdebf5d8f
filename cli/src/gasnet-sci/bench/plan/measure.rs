//! What the plan consists of: jobs, units, limits, measures with their views, and the list under construction.
//!
//! Must not know: which rows there are.

use super::super::kernels::{self as k, Kernel};
use super::hosts::NETS;

/// The purpose of a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Two nodes, each on a core of its own, with the Extended API's native implementation.
    Native,
    /// Two nodes in timing mode, each on a core of its own.
    Timed,
    /// The same with the reference implementation, over messages.
    Reference,
    /// As `Native`, of a client that may have threads.
    Par,
    /// Two nodes with client threads, on all cores.
    Threads,
    /// Two nodes, each on a core of its own, for the layers that this library has itself.
    Layers,
    /// More nodes than cores, all busy.
    Crowd(u32),
    /// This many nodes that have joined and send each other nothing.
    Silent(u32),
    /// One node with the regions of a job of this many nodes.
    Played(u32),
    /// This many nodes that start and exit at once.
    Start(u32),
    /// This many nodes, half of them on each of two hosts, over the network at this place of [`NETS`].
    Hosts(usize, u32),
    /// Four nodes on two hosts. Two of one host are busy, the others sleep.
    NearOfTwo,
    /// The same on one host.
    NearOfOne,
}

impl Job {
    /// The name that the nodes' command line uses.
    pub fn name(self) -> &'static str {
        match self {
            Job::Timed => "timed",
            Job::Native => "native",
            Job::Layers => "layers",
            Job::Reference => "ref",
            Job::Par => "par",
            Job::Threads => "threads",
            Job::Crowd(_) => "crowd",
            Job::Silent(_) => "silent",
            Job::Played(_) => "played",
            Job::Start(_) => "start",
            Job::Hosts(net, _) => NETS[net].job,
            Job::NearOfTwo => "near-of-two",
            Job::NearOfOne => "near-of-one",
        }
    }

    /// The inverse of `name`.
    pub fn parse(name: &str, nodes: u32) -> Option<Job> {
        let pairs = [Job::Timed, Job::Native, Job::Layers, Job::Reference, Job::Par, Job::Threads];
        let fixed = pairs.into_iter().chain([Job::NearOfTwo, Job::NearOfOne]);
        let sized = [Job::Crowd, Job::Silent, Job::Played, Job::Start].map(|job| job(nodes));
        let over = (0..NETS.len()).map(|net| Job::Hosts(net, nodes));
        let all = fixed.chain(sized).chain(over);
        all.into_iter().find(|job: &Job| job.name() == name)
    }

    /// Number of nodes.
    pub fn nodes(self) -> u32 {
        match self {
            Job::Timed | Job::Native | Job::Layers | Job::Reference | Job::Par | Job::Threads => 2,
            Job::NearOfTwo | Job::NearOfOne => 4,
            Job::Crowd(n) | Job::Silent(n) | Job::Played(n) | Job::Start(n) | Job::Hosts(_, n) => n,
        }
    }

    /// Number of hosts.
    pub fn hosts(self) -> u32 {
        if matches!(self, Job::Hosts(..) | Job::NearOfTwo) { 2 } else { 1 }
    }

    /// The name of what is measured, as the result says it.
    pub fn who(self) -> &'static str {
        if self == Job::Reference { "gasnet-sci ref" } else { "gasnet-sci native" }
    }
}

/// Unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds per operation.
    Ns,
    /// Microseconds per operation.
    Us,
    /// Megabytes (10^6) per second; more is better.
    Rate,
    /// Nanoseconds per operation more than the limit takes.
    NsOver,
}

impl Unit {
    /// Its name in the result.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns | Unit::NsOver => "ns",
            Unit::Us => "us",
            Unit::Rate => "MB/s",
        }
    }
}

/// A limit: an operation that shows what the machine itself can do.
pub struct Limit {
    pub operation: &'static str,
    kernel: Kernel,
    /// Bytes of payload. 0: as many as the measure beside it.
    bytes: usize,
    pub unit: Unit,
    cost: f64,
}

pub const fn limit(operation: &'static str, kernel: Kernel, bytes: usize, unit: Unit, cost: f64) -> Limit {
    Limit { operation, kernel, bytes, unit, cost }
}

pub static LINE_TRIP: Limit = limit("line ring round trip", k::LINE_TRIP, 64, Unit::Us, 250.0);
pub static LINE_STREAM: Limit = limit("line stream, one way", k::LINE_STREAM, 64, Unit::Ns, 20.0);
pub static COPY_TRIP: Limit = limit("copy ring round trip", k::COPY_TRIP, 0, Unit::Us, 300.0);
pub static COPY_STREAM: Limit = limit("copy ring, one way", k::COPY_STREAM, 0, Unit::Rate, 50.0);
pub static COPY_TO: Limit = limit("copy to the peer's segment", k::COPY_TO, 0, Unit::Ns, 3.0);
pub static COPY_FROM: Limit = limit("copy from the peer's segment", k::COPY_FROM, 0, Unit::Ns, 3.0);
pub static FILL: Limit = limit("memset of the peer's segment", k::FILL, 0, Unit::Ns, 3.0);
pub static STORE: Limit = limit("store to the peer's segment", k::STORE, 8, Unit::Ns, 1.0);
pub static LOAD: Limit = limit("load from the peer's segment", k::LOAD, 8, Unit::Ns, 1.0);
pub static COPY_BLOCK: Limit = limit("copies of a block, both nodes", k::COPY_BLOCK, 0, Unit::Us, 3.0);
pub static COPY_BLOCKS: Limit = limit("copies of two blocks, both nodes", k::COPY_BLOCKS, 0, Unit::Us, 6.0);
pub static BARE_LOCK: Limit = limit("bare lock, exchange and store", k::BARE_LOCK, 8, Unit::Ns, 10.0);
pub static COMPUTING: Limit = limit("computing alone, busy core", k::COMPUTING_ALONE, 0, Unit::Us, COMPUTING_COST);

pub static ONE_SHORT: Limit =
    limit("short round trips both ways, a thread per node, PAR", k::BOTH_SHORT_1, 0, Unit::Ns, 500.0);
pub static ONE_POLLING: Limit =
    limit("short round trips by polls both ways, a thread per node, PAR", k::BOTH_POLLS_1, 0, Unit::Ns, 500.0);
pub static ONE_MEDIUM: Limit =
    limit("medium round trips both ways, a thread per node, PAR", k::BOTH_MEDIUM_1, 0, Unit::Ns, 500.0);
pub static ONE_PUT: Limit = limit("puts with polls both ways, a thread per node, PAR", k::BOTH_PUT_1, 0, Unit::Ns, 3.0);
pub static ONE_ATOMIC: Limit =
    limit("fetch-adds with polls both ways, a thread per node, PAR", k::BOTH_ATOMIC_1, 0, Unit::Ns, 4.0);

/// Far less than the 3 to 5 µs that one step of computing takes (`bench_work` in kernels/sync.c). So a batch has 7,500
/// steps and lasts for 30 ms. Two threads share the core, and each has it for a few milliseconds at a time. In a shorter
/// batch only one of them would run.
pub const COMPUTING_COST: f64 = 53.0;

/// Nanoseconds, about, of a Short there and back between two nodes of a host.
pub const NEAR_COST: f64 = 300.0;

/// One row that is made from what a measure gave.
pub struct View {
    pub operation: String,
    pub unit: Unit,
    pub target: Option<f64>,
}

/// A measure. Nodes run it in turns with its limit.
pub struct Measure {
    pub section: &'static str,
    /// A limit that has a row of its own, as others are compared with it too.
    pub bare: bool,
    pub bytes: usize,
    pub limit: Option<&'static Limit>,
    pub views: Vec<View>,
    kernel: Kernel,
    /// Nanoseconds, about, that one operation takes apart from its bytes.
    cost: f64,
}

/// Nanoseconds per byte, about. Only the length of a batch depends on it.
const BYTE: f64 = 0.12;

/// A part of a measure that is run: the kernel, the number of operations that fit a budget of nanoseconds, and the
/// bytes.
pub type Batch = (Kernel, u64, usize);

fn batch(kernel: Kernel, cost: f64, bytes: usize, budget: f64) -> Batch {
    (kernel, ((budget / (cost + BYTE * bytes as f64)) as u64).max(4), bytes)
}

impl Measure {
    /// The batch of the measure itself.
    pub fn ours(&self, budget: f64) -> Batch {
        batch(self.kernel, self.cost, self.bytes, budget)
    }

    /// The batch of its limit.
    pub fn beside(&self, budget: f64) -> Option<Batch> {
        self.limit.map(|limit| batch(limit.kernel, limit.cost, self.limit_bytes(limit), budget))
    }

    /// Bytes of the limit's row.
    pub fn limit_bytes(&self, limit: &Limit) -> usize {
        if limit.bytes > 0 { limit.bytes } else { self.bytes }
    }
}

/// A list under construction.
pub struct Plan<'a> {
    pub wanted: &'a dyn Fn(&str) -> bool,
    pub list: Vec<Measure>,
}

impl Plan<'_> {
    pub fn add(
        &mut self,
        section: &'static str,
        kernel: Kernel,
        cost: f64,
        bytes: usize,
        limit: Option<&'static Limit>,
    ) {
        let bare = section == "limit";
        if (self.wanted)(section) {
            self.list.push(Measure { section, bare, bytes, limit, views: Vec::new(), kernel, cost });
        }
    }

    // The measure that was added last is what the machine itself can do.
    pub fn bare(&mut self) {
        self.list.iter_mut().last().into_iter().for_each(|measure| measure.bare = true);
    }

    // Adds another row to the measure that was added last. Does nothing if that one was left out.
    pub fn view(&mut self, section: &str, operation: &str, unit: Unit, target: Option<f64>) {
        if (self.wanted)(section) {
            let views = &mut self.list.last_mut().expect("a measure was added").views;
            views.push(View { operation: operation.into(), unit, target });
        }
    }

    #[allow(clippy::too_many_arguments)] // a row of a table
    pub fn row(
        &mut self,
        section: &'static str,
        operation: &str,
        kernel: Kernel,
        cost: f64,
        bytes: usize,
        limit: Option<&'static Limit>,
        unit: Unit,
        target: Option<f64>,
    ) {
        self.add(section, kernel, cost, bytes, limit);
        self.view(section, operation, unit, target);
    }
}
