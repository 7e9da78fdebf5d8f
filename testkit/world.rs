//! Nodes in one process, wired up as `job::state` does it between processes.

#![allow(unsafe_code)] // handlers and memory as clients have them
#![cfg_attr(any(loom, fuzzing), allow(dead_code))] // models have threads of their own kind, fuzzers have none

use crate::am::handlers::{Entry, Free};
use crate::am::library::Library;
use crate::am::peers::Connector;
use crate::am::region::{COMMAND, CONTROL, Layout, PAYLOAD};
use crate::am::wait::{Mode, Waiter};
use crate::am::{Am, Wiring};
use crate::barrier::Barrier;
use crate::barrier::grouping::Grouping;
use crate::barrier::plan::Plan;
use crate::base::config::Config;
use crate::base::error::Error;
use crate::deck::{self, gift::ToHeaps};
use crate::peers::table::{PeerSegment, Way};
use crate::sci::heap::{Heap, HeapFabric};
#[cfg(all(test, not(loom)))]
use crate::sci::reorder::Reorder;
use crate::sci::{Adapter, Effort, LocalMap, LocalSegment, NodeId, Placement, RemoteMap, RemoteSegment};
#[cfg(all(test, not(loom)))]
use crate::testkit::shipping::{Behaviour, Shipping};
use crate::xfer::reference;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// An adapter that tests can make, one for each node.
pub(crate) trait Kit: Adapter {
    /// The adapters of `nodes` nodes of one fabric.
    fn kit(nodes: u32, seed: u64) -> Vec<Self>;
    /// The number of seeds that are worth trying: several if seeds change the order of stores.
    const SEEDS: u64;
    /// The regions of the nodes will be laid out so. Adapters that check what peers write want to know.
    fn lay_out(&self, _layout: Layout) {}
    /// This node and `peer` have memory in common, as nodes of one host have.
    fn shares_memory_with(&self, peer: u32) -> bool;
    /// The way to heaps on other hosts, if there are any, and to this one, which lives as long as the nodes.
    fn reach(&self, _heap: deck::engine::Region) -> Option<ToHeaps> {
        None
    }
}

/// Brings what these nodes have sent each other to where it belongs, as far as the adapter lets it through now. No handler is run.
/// True if anything came.
pub(crate) fn carry<A: Adapter>(adapters: &[A]) -> bool {
    let one = |adapter: &A| {
        adapter.settle();
        adapter.progress(Effort::Thorough)
    };
    adapters.iter().filter(|adapter| one(adapter)).count() > 0
}

/// A kit whose nodes can be made so that all that they send arrives by [`deliver`]. Then a test that calls for all nodes on one thread
/// knows what a single poll finds.
pub(crate) trait Steady: Kit {
    /// The adapters of `nodes` nodes of one fabric.
    fn steady(nodes: u32) -> Vec<Self>;
}

impl Steady for Heap {
    fn steady(nodes: u32) -> Vec<Heap> {
        Heap::kit(nodes, 0)
    }
}

#[cfg(all(test, not(loom)))]
impl<const PER_HOST: u32> Steady for Shipping<PER_HOST> {
    fn steady(nodes: u32) -> Vec<Self> {
        Shipping::job(nodes, Behaviour { seed: None, with_doors: false, payload: PAYLOAD })
    }
}

/// Brings all that nodes of [`Steady::steady`] have sent to where it belongs.
pub(crate) fn deliver<A: Steady>(adapters: &[A]) {
    while carry(adapters) {}
}

/// Runs a function over the adapter of the models, over the one that reorders stores, and over the one that ships: all nodes on one host,
/// each on a host of its own, two on each.
#[cfg(all(test, not(loom)))]
macro_rules! over_all_adapters {
    ($test:ident $(, $argument:expr)*) => {
        $test::<$crate::sci::heap::Heap>($($argument),*);
        $test::<$crate::sci::reorder::Reorder<$crate::sci::heap::Heap>>($($argument),*);
        $test::<$crate::testkit::shipping::Together>($($argument),*);
        $test::<$crate::testkit::shipping::Apart>($($argument),*);
        $test::<$crate::testkit::shipping::Paired>($($argument),*);
    };
}
#[cfg(all(test, not(loom)))]
pub(crate) use over_all_adapters;

/// Makes a test of each of these generic functions, with its name: it runs the function over one of the adapters after the other.
#[cfg(all(test, not(loom)))]
macro_rules! tests_over {
    ($adapters:tt: $($test:ident),+ $(,)?) => {
        mod over_adapters {
            use super::*;
            $(#[test]
            fn $test() {
                $crate::testkit::world::tests_over!(run $test $adapters);
            })+
        }
    };
    (run $test:ident [$($adapter:ty),+]) => {
        $(super::$test::<$adapter>();)+
    };
}
#[cfg(all(test, not(loom)))]
pub(crate) use tests_over;

impl Kit for Heap {
    fn kit(nodes: u32, _seed: u64) -> Vec<Heap> {
        let fabric = HeapFabric::new(nodes);
        (0..nodes).map(|n| Heap::join(&fabric, NodeId(n as u16)).unwrap()).collect()
    }

    fn shares_memory_with(&self, _peer: u32) -> bool {
        true
    }

    const SEEDS: u64 = 1;
}

#[cfg(all(test, not(loom)))]
impl<A: Kit> Kit for Reorder<A>
where
    A::RemoteSegment: crate::sci::dma::DmaTarget,
{
    fn kit(nodes: u32, seed: u64) -> Vec<Self> {
        let node = |(n, inner)| Reorder::new(inner, seed << 16 | n as u64);
        A::kit(nodes, seed).into_iter().enumerate().map(node).collect()
    }

    fn lay_out(&self, layout: Layout) {
        self.inner().lay_out(layout);
    }

    fn shares_memory_with(&self, peer: u32) -> bool {
        self.inner().shares_memory_with(peer)
    }

    const SEEDS: u64 = 6;
}

#[cfg(all(test, not(loom)))]
impl<const PER_HOST: u32> Kit for Shipping<PER_HOST> {
    fn kit(nodes: u32, seed: u64) -> Vec<Self> {
        Shipping::job(nodes, Behaviour { seed: Some(seed), with_doors: false, payload: PAYLOAD })
    }

    fn lay_out(&self, layout: Layout) {
        Shipping::lay_out(self, layout);
    }

    fn shares_memory_with(&self, peer: u32) -> bool {
        !self.is_far(peer)
    }

    fn reach(&self, heap: deck::engine::Region) -> Option<ToHeaps> {
        (PER_HOST > 0).then(|| self.heaps(heap))
    }

    const SEEDS: u64 = match PER_HOST {
        0 => 1,
        1 => 4,
        _ => 2,
    };
}

/// The form of a job.
#[derive(Clone)]
pub(crate) struct Shape {
    pub nodes: u32,
    /// Ranks that exist. Of the others there is a control region only.
    pub active: Vec<u32>,
    pub slots: u32,
    /// Bytes of each segment.
    pub segment: usize,
    /// Bytes behind each segment that its owner claims too. No peer can write them.
    pub claimed: usize,
    /// Whether peers' memory is not mapped, as with GASNET_SEGMENT_EVERYTHING.
    pub everything: bool,
    pub threaded: bool,
    /// Whether the nodes' queues to each other exist from the start.
    pub acquainted: bool,
    /// The number of answered requests that every pair starts after.
    pub start: u32,
    /// The host of each node; empty: all are on one. The barrier goes by it.
    pub hosts: Vec<u32>,
    pub config: Config,
}

impl Shape {
    pub fn new(nodes: u32, slots: u32) -> Shape {
        // Thresholds so small that every way of moving a Long is used. There is no other process to write to.
        let config = Config { dma_min: 100, bounce_min: 300, cma: false, ..Config::default() };
        Shape {
            nodes,
            active: (0..nodes).collect(),
            slots,
            segment: if cfg!(loom) { 192 } else { 4096 },
            claimed: 0,
            everything: false,
            threaded: false,
            acquainted: false,
            start: 0,
            hosts: Vec::new(),
            config,
        }
    }
}

/// One node.
pub(crate) struct Node<A: Adapter> {
    pub me: u32,
    pub am: Am<A>,
    pub barrier: Barrier,
    /// For each rank: the address of its segment; 0 if the rank does not exist.
    pub bases: Vec<usize>,
    /// For each rank: its segment, mapped here.
    pub maps: Vec<Option<A::Remote>>,
    /// Memory that peers write. It must live as long as the node.
    _regions: Vec<A::LocalSegment>,
    pub(crate) _memory: Vec<A::Local>,
}

type Region<A> = (<A as Adapter>::LocalSegment, <A as Adapter>::Local);

/// A region of a node that its peers may connect to.
pub(crate) fn create<A: Adapter>(adapter: &A, id: crate::sci::SegmentId, len: usize) -> Region<A> {
    let segment = adapter.create(id, len).unwrap();
    let map = segment.map(Placement::Anywhere).unwrap();
    segment.set_available().unwrap();
    (segment, map)
}

/// Makes the active nodes. They serve transfers by messages.
pub(crate) fn nodes<A: Kit>(shape: &Shape, adapters: &[A]) -> Vec<Node<A>> {
    nodes_with(shape, adapters, |_, library| {
        reference::register(library);
        #[cfg(not(loom))]
        crate::atomic::messages::register(library);
    })
}

/// Makes the active nodes. `register` adds to the library of each rank what serves its messages.
pub(crate) fn nodes_with<A: Kit>(
    shape: &Shape,
    adapters: &[A],
    register: impl Fn(u32, &mut Library<Am<A>>),
) -> Vec<Node<A>> {
    let layout = Layout::new(shape.nodes, shape.slots);
    adapters.iter().for_each(|adapter| adapter.lay_out(layout));
    let exists = |rank: usize| shape.active.contains(&(rank as u32));
    let controls: Vec<_> = adapters.iter().map(|a| create(a, CONTROL, layout.control_len())).collect();
    let only = |rank: usize, id, len| exists(rank).then(|| create(&adapters[rank], id, len));
    let commands: Vec<_> = (0..adapters.len()).map(|r| only(r, COMMAND, layout.command_len())).collect();
    let segments: Vec<_> = (0..adapters.len()).map(|r| only(r, PAYLOAD, shape.segment)).collect();
    let bases: Vec<usize> =
        segments.iter().map(|s| s.as_ref().map_or(0, |(_, map): &Region<A>| map.ptr(0) as usize)).collect();
    let mut parts: Vec<_> = controls.into_iter().zip(commands).zip(segments).collect();
    let mut made = Vec::new();
    for rank in &shape.active {
        let mut library = Library::default();
        register(*rank, &mut library);
        made.push(node(shape, layout, adapters, (*rank, library), &parts, &bases));
    }
    for node in made.iter_mut().rev() {
        let ((control, command), segment) = parts.swap_remove(node.me as usize);
        for (region, memory) in [Some(control), command, segment].into_iter().flatten() {
            node._regions.push(region);
            node._memory.push(memory);
        }
    }
    made
}

/// Connects to the regions of nodes. A rank that does not exist has no command region, and no node sends to it.
struct Regions<A> {
    adapter: A,
    layout: Layout,
    me: u32,
}

impl<A: Adapter> Connector<A> for Regions<A> {
    fn post(&self, peer: u32) -> Result<(A::Remote, A::RemoteInterrupt), Error> {
        let segment = self.adapter.connect(NodeId(peer as u16), CONTROL, Duration::ZERO)?;
        let control = segment.map(0, self.layout.control_len(), Placement::Anywhere)?;
        Ok((control, self.adapter.connect_interrupt(NodeId(peer as u16))?))
    }

    fn queue(&self, peer: u32) -> Result<A::Remote, Error> {
        let segment = self.adapter.connect(NodeId(peer as u16), COMMAND, Duration::ZERO)?;
        let at = self.layout.queue(self.me as usize);
        Ok(segment.map(at, self.layout.queue_len(), Placement::Anywhere)?)
    }
}

type Parts<A> = [((Region<A>, Option<Region<A>>), Option<Region<A>>)];

fn node<A: Adapter>(
    shape: &Shape,
    layout: Layout,
    adapters: &[A],
    (me, library): (u32, Library<Am<A>>),
    parts: &Parts<A>,
    bases: &[usize],
) -> Node<A> {
    let adapter = &adapters[me as usize];
    let reach = |rank: usize, id, offset, len| {
        let segment = adapter.connect(NodeId(rank as u16), id, Duration::ZERO).unwrap();
        let map = segment.map(offset, len, Placement::Anywhere).unwrap();
        (segment, map)
    };
    let (control, command) = &parts[me as usize].0;
    let wiring = Wiring {
        me,
        threaded: shape.threaded,
        layout,
        command: command.as_ref().unwrap().1.clone(),
        control: control.1.clone(),
        interrupt: adapter.interrupt().unwrap(),
        connector: Box::new(Regions { adapter: adapter.clone(), layout, me }),
        queue: adapter.dma_queue(4).unwrap(),
        library,
    };
    // The threads share a few cores with everything else.
    let waiter = Waiter::new(2, 2, 1, shape.config.spin);
    waiter.set_mode(Mode::SpinBlock);
    // SAFETY: without `threaded`, tests use a node on one thread at a time.
    let am = unsafe { Am::new(wiring, &shape.config, adapter, waiter) };
    let mut maps = Vec::new();
    let mut payload = |rank: usize| {
        let mapped = rank != me as usize && bases[rank] != 0 && !shape.everything;
        let (segment, map) = mapped.then(|| reach(rank, PAYLOAD, 0, shape.segment)).unzip();
        maps.push(map.clone());
        PeerSegment {
            attached: true,
            base: bases[rank],
            len: if bases[rank] == 0 { 0 } else { shape.segment + shape.claimed },
            segment,
            way: match map {
                Some(map) => Way::through(map),
                None if rank == me as usize => Way::Own,
                None => Way::Messages,
            },
        }
    };
    let payloads = (0..parts.len()).map(&mut payload).collect();
    am.table().set(payloads, shape.everything);
    if shape.acquainted || shape.start > 0 {
        (0..parts.len()).filter(|rank| parts[*rank].0.1.is_some()).for_each(|rank| {
            let _ = &am.peers[rank];
        });
    }
    am.start_at(shape.start);
    let hosts = Grouping::new(shape.hosts.len(), |node| shape.hosts[node]);
    let plan = match &hosts {
        Some(hosts) => Plan::levels(me as usize, hosts),
        None => Plan::direct(me as usize, shape.nodes as usize),
    };
    // SAFETY: without `threaded`, tests use a node on one thread at a time.
    let barrier = unsafe { Barrier::new(shape.threaded, plan) };
    Node { me, am, barrier, bases: bases.to_vec(), maps, _regions: Vec::new(), _memory: Vec::new() }
}

impl<A: Adapter> Node<A> {
    /// Registers handlers: (index, function address).
    pub fn register(&self, handlers: &[(u8, usize)]) {
        let mut entries: Vec<Entry> = handlers.iter().map(|&(index, function)| Entry { index, function }).collect();
        self.am.handlers().register(&mut entries, Free::Lowest, |_| ()).unwrap();
    }

    /// The node's own segment.
    #[cfg(loom)]
    pub fn segment(&self) -> &A::Local {
        self._memory.last().expect("control, command, segment")
    }

    /// The node's own queues.
    #[cfg(loom)]
    pub fn command(&self) -> &A::Local {
        &self._memory[1]
    }

    /// A counter of the engine, by its name in the report.
    pub fn counter(&self, name: &str) -> u64 {
        let list = self.am.counters().expect("no other thread polls");
        list.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no counter {name}")).1
    }
}

/// Makes the nodes of `shape` and runs `body` for each, as [`run_nodes`] does.
pub(crate) fn run<A: Kit>(shape: &Shape, adapters: Vec<A>, body: impl Fn(&Node<A>) + Sync) {
    let nodes = nodes(shape, &adapters);
    drop(adapters);
    run_nodes(nodes, body);
}

/// Runs `body` for each node on a thread of its own. A job that hangs inside the engine cannot be unwound, so the
/// process ends after a minute.
pub(crate) fn run_nodes<A: Adapter>(nodes: Vec<Node<A>>, body: impl Fn(&Node<A>) + Sync) {
    let _watch = Watchdog::start();
    std::thread::scope(|scope| {
        for node in &nodes {
            scope.spawn(|| {
                let result = catch_unwind(AssertUnwindSafe(|| body(node)));
                // A node that has left makes no progress any more. This makes its last stores arrive all the same.
                node.am.peers.post(node.me as usize).control.barrier();
                if let Err(panic) = result {
                    // Ends at once. The other nodes may wait for this one, and only the watchdog would end them.
                    let text = panic.downcast_ref::<String>().map_or("a test failed", |text| text);
                    crate::base::log::error(format_args!("node {}: {text}", node.me));
                    resume_unwind(panic);
                }
            });
        }
    });
}

/// Ends the process, unless it is dropped in time.
pub(crate) struct Watchdog {
    _alive: mpsc::Sender<()>,
}

impl Watchdog {
    pub fn start() -> Watchdog {
        let (alive, end) = mpsc::channel::<()>();
        let test = std::thread::current().name().unwrap_or("a test").to_string();
        std::thread::spawn(move || {
            if end.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
                crate::base::log::error(format_args!("{test}: the job hangs inside the engine"));
                std::process::abort();
            }
        });
        Watchdog { _alive: alive }
    }
}
