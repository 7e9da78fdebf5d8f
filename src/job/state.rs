//! [`Job`]: the one owner of process-wide state, built by `gasnet_init`, completed by `gasnet_attach`, reached through
//! one static. It wires the layers together and knows no message.

use super::{Boot, Phase, environment, exit, limits, signals};
use crate::am::bulk::Payload;
use crate::am::handlers::Entry;
use crate::am::{Am, Wiring};
use crate::barrier::Barrier;
use crate::coll::area::Area;
use crate::coll::{Coll, Setting};
use crate::config::{Config, Reported};
use crate::error::{Error, bad_arg};
use crate::log;
use crate::region::{COLLECTIVE, COMMAND, CONTROL, ENVIRONMENT, Layout, PAYLOAD};
use crate::rma::Rma;
use crate::sci::window::Window;
use crate::sci::{Adapter, Host, LocalMap, LocalSegment, NodeId, Placement, RemoteSegment, SciError};
use crate::sync::{AtomicPtr, AtomicU64, Ordering};
use crate::vis::Vis;
use crate::wait::{self, Waiter};
use std::sync::OnceLock;
use std::time::Duration;

/// How the client was compiled: what its headers pass to init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// GASNET_PAR.
    pub threaded: bool,
    /// GASNET_SEGMENT_EVERYTHING.
    pub everything: bool,
    /// GASNET_DEBUG.
    pub debug: bool,
    /// The client's `gasnet_max_segsize`; 0 = not set.
    pub max_segsize: u64,
    /// All modes in one word; equal on all nodes.
    pub configuration: u64,
}

/// One node's segment as `gasnet_getSegmentInfo` and `gasnet_getNodeInfo` show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Address at its owner; 0 = none.
    pub base: usize,
    /// Bytes.
    pub len: usize,
    /// What to add to the address to reach the bytes from this process, modulo 2⁶⁴.
    pub offset: usize,
}

/// How long a peer's region may take to appear once its owner has passed the fence behind its creation.
const CONNECT: Duration = Duration::from_secs(30);

/// Everything this process has of its job.
pub struct Job {
    boot: Boot,
    config: Config,
    report: Vec<Reported>,
    client: Client,
    adapter: Host,
    am: Am<Host>,
    barrier: Barrier,
    rma: Rma,
    vis: Vis,
    window: Option<Window>,
    max_local: u64,
    max_global: u64,
    segments: OnceLock<Box<[SegmentInfo]>>,
    /// Kept so that regions and segment live as long as the job.
    kept: OnceLock<(<Host as Adapter>::LocalSegment, <Host as Adapter>::Local)>,
    area: Area,
    collective: <Host as Adapter>::Local,
    /// Made by the first call of it: a job without collectives connects nothing for them.
    coll: OnceLock<Coll<Host>>,
    _regions: [<Host as Adapter>::LocalSegment; 3],
}

// Null, or a leaked `Job`: JOB from init on, ATTACHED from attach on.
static JOB: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());
static ATTACHED: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());

const NOT_INIT: &str = "gasnet_init has not been called";
const NOT_ATTACHED: &str = "gasnet_attach has not been called";

impl Job {
    /// The job, from init on.
    #[inline(always)]
    pub fn get() -> Result<&'static Job, Error> {
        // ORDERING: Acquire ↔ the Release in `init`: who sees the pointer sees the job behind it.
        // SAFETY: null or a leaked box.
        unsafe { JOB.load(Ordering::Acquire).as_ref() }.ok_or_else(|| Error::not_init(NOT_INIT))
    }

    /// The job, from attach on.
    #[inline(always)]
    pub fn attached() -> Result<&'static Job, Error> {
        // ORDERING: Acquire ↔ the Release in `attach`.
        // SAFETY: null or a leaked box.
        match unsafe { ATTACHED.load(Ordering::Acquire).as_ref() } {
            Some(job) => Ok(job),
            None => Err(before_attach()),
        }
    }

    /// Joins the job and connects the control and command regions of all nodes. Blocks until all nodes are up.
    pub fn init(client: Client) -> Result<(), Error> {
        if Job::get().is_ok() {
            return Err(Error::not_init("gasnet_init was called before"));
        }
        let (config, report) = Config::from_env().map_err(Error::resource)?;
        log::set_quiet(config.quiet);
        let boot = super::join(&config).map_err(Error::resource)?;
        log::set_identity(boot.rank(), boot.nodes());
        super::debug::configure(&config, Some(boot.rank()));
        crate::trace::open(&config, boot.rank(), true);
        exit::install_panic_hook();
        exit::register_process_exit();
        let job = Job::build(boot, config, report, client)?;
        crate::trace::open(&job.config, job.rank(), false);
        signals::install_at_init(&job.config);
        job.boot.set_phase(Phase::Inited);
        // ORDERING: Release ↔ Acquire in `get`.
        JOB.store(Box::into_raw(Box::new(job)), Ordering::Release);
        Ok(())
    }

    fn build(boot: Boot, config: Config, report: Vec<Reported>, client: Client) -> Result<Job, Error> {
        let (me, nodes) = (boot.rank(), boot.nodes());
        let rank =
            u16::try_from(me).map_err(|_| Error::resource(format_args!("{nodes} nodes; SCI has 65,536 node ids")))?;
        let adapter = Host::join(boot.fd(), boot.fabric_offset() as u64, nodes, NodeId(rank))?;
        adapter.set_membarrier(config.membarrier);
        let layout = Layout::new(nodes, config.slots);
        let (control_segment, control) = create(&adapter, CONTROL, layout.control_len())?;
        let (command_segment, command) = create(&adapter, COMMAND, layout.command_len())?;
        let environment = if me == 0 { Some(publish_environment(&adapter)?) } else { None };
        let area = Area::new(nodes, config.coll_scratch, client.debug);
        let (collective_segment, collective) = create(&adapter, COLLECTIVE, area.bytes())?;
        let asked = config.max_segsize.or((client.max_segsize > 0).then_some(client.max_segsize));
        let max_local = limits::max_segment(asked, nodes);
        let [version, _, slots, ring] = layout.header();
        let mask = wait::affinity();
        boot.post(&[
            client.configuration,
            version,
            slots,
            ring,
            max_local,
            u64::from(std::process::id()),
            mask[0],
            mask[1],
        ]);
        boot.fence();
        adapter.agree_on_fences();
        if me > 0 {
            fetch_environment(&adapter)?;
        }
        let posted: Vec<_> = (0..nodes).map(|p| boot.get(p)).collect();
        check_agreement(me, &posted)?;
        let max_global = posted.iter().map(|p| p[4]).min().unwrap_or(max_local);
        let stride = posted.iter().map(|p| p[4]).max().unwrap_or(max_local);
        let peers = (0..nodes).map(|p| connect(&adapter, &layout, me, p)).collect::<Result<_, Error>>()?;
        let wiring = Wiring {
            me,
            threaded: client.threaded,
            layout,
            command,
            control,
            interrupt: adapter.interrupt()?,
            peers,
            queue: adapter.dma_queue(64)?,
        };
        let waiter = Waiter::new(nodes, wait::shared_cores(posted.iter().map(|p| [p[6], p[7]])), config.spin);
        // SAFETY: the client chose its thread mode at compile time and promises to keep to it (contract: core.md §5).
        let am = unsafe { Am::new(wiring, &config, &adapter, waiter) };
        // SAFETY: as above.
        let barrier = unsafe { Barrier::new(client.threaded) };
        let rma = Rma::new(config.native);
        let vis = Vis::new(&config);
        let window = if client.everything { None } else { agree_on_window(&boot, config.window, stride as usize) };
        boot.fence(); // nobody's bulletin changes in attach before all have read it here, and the environment
        drop(environment);
        Ok(Job {
            boot,
            config,
            report,
            client,
            adapter,
            am,
            barrier,
            rma,
            vis,
            window,
            max_local,
            max_global,
            segments: OnceLock::new(),
            kept: OnceLock::new(),
            area,
            collective,
            coll: OnceLock::new(),
            _regions: [control_segment, command_segment, collective_segment],
        })
    }

    /// Creates and exchanges the segments, registers the handlers. Blocks until all nodes attach. Errors in arguments
    /// are found before anything is created, so that the client may exit or try again.
    pub fn attach(
        &'static self,
        entries: &mut [Entry],
        size: usize,
        hook: impl FnOnce(usize, usize),
    ) -> Result<(), Error> {
        if Job::attached().is_ok() {
            return Err(Error::not_init("gasnet_attach was called before"));
        }
        let size = if self.client.everything { 0 } else { size };
        if !(size as u64).is_multiple_of(limits::PAGE) {
            return bad_arg(format_args!("segsize {size} is not a multiple of the page size {}", limits::PAGE));
        }
        if size as u64 > self.max_local {
            return bad_arg(format_args!(
                "segsize {size} is above gasnet_getMaxLocalSegmentSize() = {}",
                self.max_local
            ));
        }
        self.am.handlers().register(entries)?;
        self.restore_file()?;
        let own = self.create_segment(size)?;
        self.boot.post(&[own.base as u64, own.len as u64, u64::from(std::process::id()), 0, 0, 0, 0, 0]);
        self.boot.fence();
        let payloads = (0..self.boot.nodes()).map(|p| self.connect_segment(p)).collect::<Result<Box<[_]>, Error>>()?;
        let infos = payloads.iter().enumerate().map(|(p, payload)| self.info(p as u32, payload, own)).collect();
        assert!(self.segments.set(infos).is_ok(), "attached once");
        self.am.payloads().set(payloads, self.client.everything);
        hook(own.base, own.len);
        signals::install_at_attach(&self.config);
        self.boot.set_phase(Phase::Attached);
        // ORDERING: Release ↔ Acquire in `attached`.
        ATTACHED.store(std::ptr::from_ref(self).cast_mut(), Ordering::Release);
        self.boot.fence();
        Ok(())
    }

    /// Programs that close all descriptors that they don't know, as daemons do, close the one of the job's memory too.
    fn restore_file(&self) -> Result<(), Error> {
        if self.adapter.has_file() {
            return Ok(());
        }
        let alone = self.boot.nodes() == 1;
        let again = if alone { super::sys::memfd() } else { self.boot.header().reopen() };
        let again = again.map_err(|_| Error::from(SciError::FileLost))?;
        Ok(self.adapter.take_file(again)?)
    }

    fn create_segment(&self, size: usize) -> Result<SegmentInfo, Error> {
        if size == 0 {
            return Ok(SegmentInfo::default());
        }
        let no_room = |e| {
            let advice = limits::advice(&e);
            Error::resource(format_args!("segment of {size} bytes (limit {}): {e}{advice}", self.max_local))
        };
        let segment = self.adapter.create(PAYLOAD, size).map_err(no_room)?;
        if self.config.reserve {
            segment.reserve().map_err(no_room)?;
        }
        let map = segment.map(self.place(self.boot.rank())).map_err(no_room)?;
        apply_memory_policy(map.ptr(0), size);
        segment.set_available()?;
        let info = SegmentInfo { base: map.ptr(0) as usize, len: size, offset: 0 };
        assert!(self.kept.set((segment, map)).is_ok(), "attached once");
        Ok(info)
    }

    fn place(&self, node: u32) -> Placement {
        let address = self.window.as_ref().and_then(|w| w.address(node));
        address.map_or(Placement::Anywhere, Placement::At)
    }

    fn connect_segment(&self, node: u32) -> Result<Payload<Host>, Error> {
        let [base, len, pid, ..] = self.boot.get(node);
        let (base, len, pid) = (base as usize, len as usize, pid as i32);
        if len == 0 || node == self.boot.rank() {
            return Ok(Payload { base, len, segment: None, map: None, pid });
        }
        let segment = self.adapter.connect(NodeId(node as u16), PAYLOAD, CONNECT)?;
        let map = segment.map(0, len, self.place(node))?;
        Ok(Payload { base, len, segment: Some(segment), map: Some(map), pid })
    }

    fn info(&self, node: u32, payload: &Payload<Host>, own: SegmentInfo) -> SegmentInfo {
        if self.client.everything {
            return SegmentInfo { base: 0, len: usize::MAX, offset: 0 };
        }
        if node == self.boot.rank() {
            return own;
        }
        let here = payload.map.as_ref().filter(|_| self.supernode(node) == self.supernode(self.boot.rank()));
        let offset = here.map_or(0, |map| (map.address() as usize).wrapping_sub(payload.base));
        SegmentInfo { base: payload.base, len: payload.len, offset }
    }

    /// Supernode of a node: consecutive ranks, as many as GASNET_SUPERNODE_MAXSIZE allows; in EVERYTHING, where nothing is
    /// mapped, each node is its own.
    pub fn supernode(&self, node: u32) -> u32 {
        if self.client.everything {
            return node;
        }
        node.checked_div(self.config.supernode_max).unwrap_or(0)
    }

    /// Host of a node: all are on this one.
    pub fn host(&self, _node: u32) -> u32 {
        0
    }

    /// All nodes' segments; `None` before attach.
    pub fn segments(&self) -> Option<&[SegmentInfo]> {
        self.segments.get().map(|s| &s[..])
    }

    /// Own rank.
    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.boot.rank()
    }

    /// Number of nodes.
    #[inline(always)]
    pub fn nodes(&self) -> u32 {
        self.boot.nodes()
    }

    /// The message engine.
    #[inline(always)]
    pub fn am(&self) -> &Am<Host> {
        &self.am
    }

    /// The barrier.
    pub fn barrier(&self) -> &Barrier {
        &self.barrier
    }

    /// The engine of one-sided transfers.
    pub fn rma(&self) -> &Rma {
        &self.rma
    }

    /// The engine of vector, indexed and strided transfers.
    #[inline(always)]
    pub fn vis(&self) -> &Vis {
        &self.vis
    }

    /// Own collective region.
    pub fn collective(&self) -> &<Host as Adapter>::Local {
        &self.collective
    }

    /// The engine of collectives. After attach.
    #[inline]
    pub fn coll(&'static self) -> Result<&'static Coll<Host>, Error> {
        match self.coll.get() {
            Some(coll) => Ok(coll),
            None => self.make_coll(),
        }
    }

    #[cold]
    fn make_coll(&'static self) -> Result<&'static Coll<Host>, Error> {
        let direct = self.config.native;
        let connect = |node: u32| -> Result<_, Error> {
            let segment = self.adapter.connect(NodeId(node as u16), COLLECTIVE, CONNECT)?;
            Ok(Some(segment.map(0, self.area.bytes(), Placement::Anywhere)?))
        };
        let maps = (0..self.nodes()).map(|n| if direct { connect(n) } else { Ok(None) });
        let setting = Setting {
            am: &self.am,
            region: self.collective.clone(),
            maps: maps.collect::<Result<_, Error>>()?,
            area: self.area,
            threaded: self.client.threaded,
            debug: self.client.debug,
            direct,
            mapped: direct && !self.client.everything,
        };
        // SAFETY: as for the message engine, in `build`. Of two threads that come here at once one is in vain.
        let coll = self.coll.get_or_init(|| unsafe { Coll::new(setting) });
        self.am.set_background(|| coll.progress());
        if self.client.debug {
            self.am.background(1); // polls compare what members call, also when nothing is under way
        }
        Ok(coll)
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The settings and where they came from.
    pub fn report(&self) -> &[Reported] {
        &self.report
    }

    /// How the client was compiled.
    pub fn client(&self) -> Client {
        self.client
    }

    /// `gasnet_getMaxLocalSegmentSize`.
    pub fn max_local(&self) -> usize {
        if self.client.everything { usize::MAX } else { self.max_local as usize }
    }

    /// `gasnet_getMaxGlobalSegmentSize`.
    pub fn max_global(&self) -> usize {
        if self.client.everything { usize::MAX } else { self.max_global as usize }
    }

    /// Are all nodes' segments at the same addresses in every process?
    pub fn has_window(&self) -> bool {
        self.window.is_some()
    }
}

#[cold]
fn before_attach() -> Error {
    Error::not_init(Job::get().map_or(NOT_INIT, |_| NOT_ATTACHED))
}

fn create(
    adapter: &Host,
    id: crate::sci::SegmentId,
    len: usize,
) -> Result<(<Host as Adapter>::LocalSegment, <Host as Adapter>::Local), Error> {
    let no_room = |e| {
        let advice = limits::advice(&e);
        Error::resource(format_args!("region of {len} bytes: {e}{advice}"))
    };
    let segment = adapter.create(id, len).map_err(no_room)?;
    let map = segment.map(Placement::Anywhere).map_err(no_room)?;
    apply_memory_policy(map.ptr(0), len);
    segment.set_available()?;
    Ok((segment, map))
}

/// Node 0's environment, for all. What is returned keeps it until all have it.
fn publish_environment(adapter: &Host) -> Result<impl Sized, Error> {
    let block = crate::config::environment();
    environment::keep(&block);
    let (segment, map) = create(adapter, ENVIRONMENT, block.len())?;
    // SAFETY: the map has that many bytes; nobody else touches them before the fence.
    unsafe { map.ptr(0).copy_from_nonoverlapping(block.as_ptr(), block.len()) };
    Ok((map, segment)) // the map goes first
}

fn fetch_environment(adapter: &Host) -> Result<(), Error> {
    let segment = adapter.connect(NodeId(0), ENVIRONMENT, CONNECT)?;
    let map = segment.map(0, segment.len(), Placement::Anywhere)?;
    let mut block = vec![0; segment.len()];
    // SAFETY: both have that many bytes; node 0 wrote them before the fence and leaves them alone.
    unsafe { map.address().copy_to_nonoverlapping(block.as_mut_ptr(), block.len()) };
    environment::keep(&block);
    Ok(())
}

/// A node that is bound to a NUMA node has its regions and its segment there, also what its peers touch first.
fn apply_memory_policy(base: *mut u8, len: usize) {
    // SAFETY: a map of ours, of that length, which lives as long as the job.
    unsafe { super::sys::apply_memory_policy(base.cast(), len) };
}

type Way = (<Host as Adapter>::Remote, <Host as Adapter>::Remote, <Host as Adapter>::RemoteInterrupt);

/// Connects our queue in `peer`'s command region, its control region and its interrupt.
fn connect(adapter: &Host, layout: &Layout, me: u32, peer: u32) -> Result<Way, Error> {
    let node = NodeId(peer as u16);
    let command = adapter.connect(node, COMMAND, CONNECT)?;
    let no_room = |e| {
        let advice = limits::advice(&e);
        Error::resource(format_args!("queue to node {peer}: {e}{advice}"))
    };
    let queue = command.map(layout.queue(me as usize), layout.queue_len(), Placement::Anywhere).map_err(no_room)?;
    let control = adapter.connect(node, CONTROL, CONNECT)?;
    let control = control.map(0, layout.control_len(), Placement::Anywhere)?;
    Ok((queue, control, adapter.connect_interrupt(node)?))
}

/// All nodes must run the same library, with the same region sizes, from the same client build.
fn check_agreement(me: u32, posted: &[[u64; 8]]) -> Result<(), Error> {
    let own = &posted[me as usize];
    for (node, other) in posted.iter().enumerate() {
        if other[1..4] != own[1..4] {
            return Err(Error::resource(format_args!(
                "node {node} runs another version or other region sizes than node {me}: {:x?} and {:x?}",
                &other[1..4],
                &own[1..4]
            )));
        }
        if other[0] != own[0] {
            return Err(Error::resource(format_args!(
                "node {node} was compiled in another mode than node {me}: {:#x} and {:#x}",
                other[0], own[0]
            )));
        }
    }
    Ok(())
}

/// Finds a window that is free in every process. `None`: each process maps where it can.
fn agree_on_window(boot: &Boot, wanted: bool, stride: usize) -> Option<Window> {
    for candidate in 0..Window::CANDIDATES {
        let window = if wanted { Window::reserve(candidate, stride, boot.nodes()) } else { None };
        // The bulletin's last words: others may still read the first ones of the fence before.
        let mut words = boot.get(boot.rank());
        words[6] = candidate as u64 + 1;
        words[7] = u64::from(window.is_some()) | u64::from(wanted) << 1;
        boot.post(&words);
        boot.fence();
        let answers: Vec<u64> = (0..boot.nodes()).map(|p| boot.get(p)[7]).collect();
        boot.fence(); // nobody posts the next answer before all have read this one
        if answers.iter().all(|a| a & 1 == 1) {
            return window;
        }
        if answers.iter().any(|a| a & 2 == 0) {
            return None; // some node does not want one
        }
    }
    None
}

/// Set by the first thread that exits, so that counters are printed once.
static REPORTED: AtomicU64 = AtomicU64::new(0);

/// Prints this node's counters, if asked for (GASNET_SCI_STATS), then `and_then` with them, if a thread that is still polling
/// does not hold them. Called once, on the way out.
pub fn report_at_exit(and_then: impl FnOnce(&[(&'static str, u64)])) {
    let Ok(job) = Job::get() else { return };
    // Relaxed: only the first caller's answer matters.
    if REPORTED.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    let counters = job.am.counters().map(|mut list| {
        list.extend(job.vis.counters());
        list
    });
    if job.config.stats {
        match &counters {
            None => log::error(format_args!("stats: another thread is still polling; no counters")),
            Some(counters) => {
                for (name, value) in counters {
                    log::error(format_args!("stats: {name:<26} {value}"));
                }
            }
        }
    }
    and_then(counters.as_deref().unwrap_or_default());
}
