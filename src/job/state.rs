//! [`Job`] is the one owner of process-wide state. `gasnet_init` builds it, `gasnet_attach` completes it, and two
//! statics lead to it. It wires the layers together and knows no message.

#![allow(unsafe_code)] // regions and client memory

use super::crowd::{self, Crowd};
use super::killed::ThisHost;
use super::{Phase, environment, exit, limits, signals};
use crate::am::library::Library;
use crate::am::region::{COLLECTIVE, COMMAND, CONTROL, Layout};
use crate::am::wait::{Waiter, crowd::is_crowded};
use crate::am::{Am, Wiring};
use crate::atomic::messages as atomic;
use crate::barrier::Barrier;
use crate::barrier::grouping::Grouping;
use crate::barrier::plan::Plan;
use crate::base::config::{self, Config, Reported};
use crate::base::error::Error;
use crate::base::log;
use crate::boot::{self, Bootstrap, JobMemory, Joined};
use crate::coll::area::Area;
use crate::coll::handlers;
use crate::coll::landing::Landings;
use crate::coll::reach::{Connect, MemberReach};
use crate::coll::{Coll, Setting};
use crate::deck::messages as mail;
use crate::os::{stay, sys};
use crate::peers::places::Places;
use crate::sci::process::Mark;
use crate::sci::shm::Shm;
use crate::sci::window::Window;
use crate::sci::{Adapter, Host, JobAdapter, NodeId, Placement, RemoteSegment};
use crate::sync::{AtomicPtr, AtomicU64, Ordering};
use crate::trace::{self, Place};
use crate::vis::Vis;
use crate::xfer::{Rma, reference};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) mod attach;
mod deck;
mod leave;
mod network;
mod survive;
mod timing;
mod ways;
pub(crate) mod wiring;
use wiring::{
    CARD, InitCard, Sizes, Wish, agree_on_window, check_agreement, check_clocks, choose_layout, create,
    fetch_environment, overlap, publish_environment, restore_file, tell_clocks,
};

// Both cards of a node go in one round of the exchange. A value takes a word more than it has, for its key.
const _: () = assert!(size_of::<InitCard>() + size_of::<crowd::MachineCard>() + 2 * 8 <= boot::LIMIT);

/// How the client was compiled. Its headers pass this to init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// GASNET_PAR.
    pub threaded: bool,
    /// GASNET_SEGMENT_EVERYTHING.
    pub everything: bool,
    /// GASNET_DEBUG.
    pub debug: bool,
    /// The client's `gasnet_max_segsize`; 0: not set.
    pub max_segsize: u64,
    /// The client's `gasnet_max_segsize_str`, which counts more.
    pub max_segsize_text: Option<&'static str>,
    /// All modes in one word. It must be equal on all nodes.
    pub configuration: u64,
    /// Another runtime owns the process (`api/ex/guest`).
    pub guest: bool,
}

/// One node's segment as `gasnet_getSegmentInfo` and `gasnet_getNodeInfo` show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Address at its owner; 0: none.
    pub base: usize,
    /// Bytes.
    pub len: usize,
    /// The number to add to the address to reach the bytes from this process, modulo 2⁶⁴.
    pub offset: usize,
}

/// How long a peer's region may take to appear after its owner has passed the fence behind its creation.
const CONNECT: Duration = Duration::from_secs(30);
/// A node's segment, and its memory.
type Own = (<Host as Adapter>::LocalSegment, <Host as Adapter>::Local);

/// All that this process has of its job. In this order, so that every call has the address of `am` without an addition, whatever the
/// other fields need (callgrind: a poll 82 -> 81 instructions).
#[repr(C)]
pub struct Job {
    am: Am<Host>,
    rank: u32,
    nodes: u32,
    boot: Box<dyn Bootstrap>,
    memory: JobMemory,
    config: Config,
    report: Vec<Reported>,
    client: Client,
    adapter: Host,
    barrier: Barrier,
    rma: Rma,
    vis: Vis,
    window: Option<Window>,
    places: Arc<Places>,
    /// By which other nodes know this process.
    mark: Mark,
    sizes: Sizes,
    segments: OnceLock<Box<[SegmentInfo]>>,
    /// Every node has mapped the segments of all others of its host.
    all_mapped: OnceLock<bool>,
    /// Kept so that regions and segment live as long as the job.
    kept: OnceLock<Own>,
    area: Area,
    collective: <Host as Adapter>::Local,
    landings: Arc<Landings>,
    /// Made by the first call of [`Job::coll`], because a job without collectives connects nothing for them.
    coll: OnceLock<Coll<Host>>,
    /// Made by [`Job::open_deck`].
    deck: mail::Place<Host>,
    _regions: [<Host as Adapter>::LocalSegment; 3],
}

// Null, or a leaked `Job`: JOB from init on, ATTACHED from attach on.
static JOB: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());
static ATTACHED: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());

const NOT_INIT: &str = "gasnet_init has not been called, or in another copy of this library: a program and its plug-ins share libgasnet_sci.so";
const NOT_ATTACHED: &str = "gasnet_attach has not been called";

impl Job {
    /// The job, from init on.
    #[inline(always)]
    pub fn get() -> Result<&'static Job, Error> {
        // ORDERING: Acquire ↔ Release in `init`: a thread that sees the pointer sees the job behind it.
        // SAFETY: null or a leaked box.
        unsafe { JOB.load(Ordering::Acquire).as_ref() }.ok_or_else(|| Error::not_init(NOT_INIT))
    }

    /// The job, from attach on.
    #[inline(always)]
    pub fn attached() -> Result<&'static Job, Error> {
        // ORDERING: Acquire ↔ Release in `attach`: a thread that sees the pointer sees the attached job behind it.
        // SAFETY: null or a leaked box.
        match unsafe { ATTACHED.load(Ordering::Acquire).as_ref() } {
            Some(job) => Ok(job),
            None => Err(before_attach()),
        }
    }

    /// Joins the job, makes this node's regions and agrees with the other nodes. Regions of peers are connected at the first contact.
    /// Blocks until all nodes are up.
    pub fn init(client: Client) -> Result<(), Error> {
        if Job::get().is_ok() {
            return Err(Error::not_init("gasnet_init or gex_Client_Init was called before"));
        }
        stay::loaded();
        let (mut config, report) = Config::from_env().map_err(Error::resource)?;
        config.guest = client.guest;
        // Before any thread is made: they inherit it.
        if config.slice > 0 && !client.guest {
            sys::shorten_time_slice(config.slice);
        }
        log::set_quiet(config.quiet);
        let timing = timing::wanted(&mut config)?;
        let joined = boot::join(&config, &ThisHost { reserve: config.reserve }).map_err(Error::resource)?;
        let rank = joined.boot.rank();
        log::set_identity(rank, joined.boot.size());
        super::debug::configure(&config, Some(rank));
        let header = joined.memory.header();
        config.observe.part = boot::own_part(header.cookie(), rank);
        let position = header.record(rank).position().or_else(|| timing::own_position(&config, rank));
        let place = Place { node: rank, nodes: joined.boot.size(), position };
        trace::open(&config, place, true)?;
        exit::install_error_hooks();
        if !config.guest {
            exit::register_process_exit();
        }
        let job = Job::build(joined, config, report, client, timing)?;
        trace::open(&job.config, place, false)?;
        let is_near = |node| job.supernode(node) == job.supernode(rank);
        trace::set_near(|| (0..job.nodes()).map(is_near).collect());
        signals::install_at_init(&job.config);
        job.memory.set_phase(Phase::Inited);
        // ORDERING: Release ↔ Acquire in `get`: the job is complete before its pointer is seen.
        JOB.store(Box::into_raw(Box::new(job)), Ordering::Release);
        Ok(())
    }

    /// Makes everything that a job has before attach.
    #[expect(
        clippy::too_many_lines,
        reason = "one list, in the order that all nodes keep: each step uses what stands above it"
    )]
    fn build(
        joined: Joined,
        config: Config,
        report: Vec<Reported>,
        client: Client,
        timing: timing::Wanted,
    ) -> Result<Job, Error> {
        let Joined { boot, memory } = joined;
        let (me, nodes) = (boot.rank(), boot.size());
        let rank =
            u16::try_from(me).map_err(|_| Error::resource(format_args!("{nodes} nodes; a job has 65,535 at most")))?;
        let cpus = sys::usable_cpus();
        let near = Shm::join(memory.fd(), memory.fabric_offset() as u64, nodes, NodeId(rank))?;
        near.set_membarrier(config.membarrier && !is_crowded(memory.header().local_count(), cpus.len() as u32));
        let places = Arc::new(wiring::places(&memory, &config, client.everything));
        let hosts = network::join(&config, &memory, near, places.far_from(me))?;
        let adapter = timing::wrap(hosts, timing, &places, memory.header())?;
        let layout = Layout::new(nodes, config.slots_among(nodes));
        let (control_segment, control) = create(&adapter, CONTROL, layout.control_len())?;
        let (command_segment, command) = create(&adapter, COMMAND, layout.command_len())?;
        if let Some(far) = adapter.far() {
            far.admit(CONTROL, control.clone(), Box::new(move |peer, at, len| layout.may_write_control(peer, at, len)));
            far.admit(COMMAND, command.clone(), Box::new(move |peer, at, len| layout.may_write_command(peer, at, len)));
            network::meet(far, &*boot, &config)?;
        }
        let environment = match memory.header().hosts() {
            1 if me == 0 => Some(publish_environment(&adapter)?),
            1 => None,
            _ => {
                environment::keep(&boot::share::from_first(&*boot, &config::environment())?);
                None
            }
        };
        let area = Area::new(nodes, config.coll_scratch, client.debug);
        let (collective_segment, collective) = create(&adapter, COLLECTIVE, area.bytes())?;
        let wish = Wish::new(&config, &client, places.locals, nodes)?;
        let [version, _, slots, ring] = layout.header();
        crowd::publish(&*boot, memory.header(), &cpus)?;
        let [segment, rooms] = wish.words();
        let card = [client.configuration, version, slots, ring, segment, rooms];
        boot::put_words(&*boot, CARD, &card)?;
        tell_clocks(&*boot)?;
        boot.fence()?;
        let header = *memory.header();
        adapter.near().agree_on_fences(|node| header.is_local(node));
        if me != 0 && header.hosts() == 1 {
            fetch_environment(&adapter)?;
        }
        let cards: Vec<InitCard> = (0..nodes).map(|p| boot::get_words(&*boot, p, CARD)).collect::<Result<_, _>>()?;
        check_agreement(me, &cards)?;
        check_clocks(&*boot)?;
        let vis = Vis::new(&config);
        let landings = Arc::<Landings>::default();
        let deck = mail::Place::<Host>::default();
        let library = library(&vis, &collective, &landings, &deck);
        let reach = wiring::Regions { adapter: adapter.clone(), layout, me, header: *memory.header() };
        let wiring = Wiring {
            me,
            threaded: client.threaded,
            layout,
            command,
            control,
            interrupt: adapter.interrupt()?,
            connector: Box::new(reach),
            queue: adapter.dma_queue(64)?,
            library,
        };
        let crowd = Crowd::of(&*boot, memory.header(), &places, &cpus)?;
        let waiter = Waiter::new(nodes, crowd.nodes, crowd.cores, config.spin);
        let waiter = if crowd.is_hidden { waiter.among_unseen() } else { waiter };
        let is_sole = !client.threaded && places.locals == nodes;
        let waiter = if is_sole { waiter.sole_thread() } else { waiter };
        // SAFETY: the client chose its thread mode at compile time and promises to keep to it (contract: core.md §5).
        let am = unsafe { Am::new(wiring, &config, &adapter, waiter) };
        let plan = plan(&config, me, nodes, &places, adapter.properties().allows_shortcuts);
        // SAFETY: the client chose its thread mode at compile time and promises to keep to it (contract: core.md §5).
        let barrier = unsafe { Barrier::new(client.threaded, plan) };
        let rma = Rma::new(config.native, overlap(&config, &client, me, nodes, crowd.cores));
        let sizes = wish.agree(&*boot, memory.header(), &cards)?;
        let window =
            if client.everything { None } else { agree_on_window(&*boot, config.window, sizes.stride as usize)? };
        choose_layout(&adapter, &config, window.as_ref(), me, nodes);
        boot.fence()?; // after this all nodes have read the environment
        drop(environment);
        Ok(Job {
            rank: me,
            nodes,
            boot,
            memory,
            config,
            report,
            client,
            adapter,
            am,
            barrier,
            rma,
            vis,
            window,
            places,
            mark: Mark::new(),
            sizes,
            segments: OnceLock::new(),
            all_mapped: OnceLock::new(),
            kept: OnceLock::new(),
            area,
            collective,
            landings,
            coll: OnceLock::new(),
            deck,
            _regions: [control_segment, command_segment, collective_segment],
        })
    }

    /// The supernode of a node: nodes of one host, as many as GASNET_SUPERNODE_MAXSIZE allows. Clients assume that
    /// nodes of one supernode reach each other's memory. So each node is a supernode of its own unless its host's
    /// segments are mapped.
    pub fn supernode(&self, node: u32) -> u32 {
        self.places.supernode(node)
    }

    /// The host of a node.
    pub fn host(&self, node: u32) -> u32 {
        self.places.host(node)
    }

    /// The segments of all nodes; `None` before attach.
    pub fn segments(&self) -> Option<&[SegmentInfo]> {
        self.segments.get().map(|s| &s[..])
    }

    /// This node's rank.
    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of nodes.
    #[inline(always)]
    pub fn nodes(&self) -> u32 {
        self.nodes
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

    /// The engine of collectives. Only after attach.
    #[inline]
    pub fn coll(&'static self) -> Result<&'static Coll<Host>, Error> {
        match self.coll.get() {
            Some(coll) => Ok(coll),
            None => self.make_coll(),
        }
    }

    #[cold]
    fn make_coll(&'static self) -> Result<&'static Coll<Host>, Error> {
        // All members must make the same choice.
        let direct = self.config.native && self.all_mapped.get().copied().unwrap_or(false);
        let connect: Connect<Host> = Box::new(|node| {
            restore_file(&self.adapter, self.memory.header())?;
            let segment = self.adapter.connect(NodeId(node as u16), COLLECTIVE, CONNECT)?;
            let no_room = |e| Error::resource(format_args!("{e}{}", limits::advice(&e)));
            segment.map(0, self.area.bytes(), Placement::Anywhere).map_err(no_room)
        });
        let reach = MemberReach::new(self.rank, self.nodes, self.places.clone(), direct.then_some(connect));
        let setting = Setting {
            am: &self.am,
            region: self.collective.clone(),
            landings: self.landings.clone(),
            reach,
            area: self.area,
            threaded: self.client.threaded,
            debug: self.client.debug,
            mapped: direct && !self.client.everything,
        };
        // SAFETY: the client keeps to its thread mode (contract: core.md §5). If two threads make one at once, one is
        // dropped.
        let coll = self.coll.get_or_init(|| unsafe { Coll::new(setting) });
        if self.client.debug {
            self.am.background(1); // so that polls compare what members call, even if no collective is under way
        }
        Ok(coll)
    }

    /// Polls carry on what was begun: the barrier, where this node forwards others' arrivals, collectives, and what mail boxes owe.
    fn serve_background(&'static self) {
        self.am.set_background(move || {
            let barrier = self.barrier.owes() && self.barrier.advance(&self.am);
            let coll = self.coll.get().is_some_and(|coll| coll.progress());
            barrier | coll | self.deck.get().is_some_and(|deck| deck.progress())
        });
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The settings, with their origins.
    pub fn report(&self) -> &[Reported] {
        &self.report
    }

    /// How the client was compiled.
    pub fn client(&self) -> Client {
        self.client
    }

    /// `gasnet_getMaxLocalSegmentSize`.
    pub fn max_local(&self) -> usize {
        if self.client.everything { usize::MAX } else { self.sizes.local as usize }
    }

    /// `gasnet_getMaxGlobalSegmentSize`.
    pub fn max_global(&self) -> usize {
        if self.client.everything { usize::MAX } else { self.sizes.global as usize }
    }
}

/// What serves the library's own messages.
fn library(
    vis: &Vis,
    collective: &<Host as Adapter>::Local,
    landings: &Arc<Landings>,
    deck: &mail::Place<Host>,
) -> Library<Am<Host>> {
    let mut library = Library::default();
    reference::register(&mut library);
    atomic::register(&mut library);
    vis.register(&mut library);
    handlers::register(&mut library, collective.clone(), landings.clone());
    mail::register(&mut library, deck);
    library
}

/// Whom this node tells in the barrier. `reads`: nodes of this host can read each other's regions.
fn plan(config: &Config, me: u32, nodes: u32, places: &Places, reads: bool) -> Plan {
    let hosts = Grouping::new(nodes as usize, |node| places.host(node as u32));
    let plan = Plan::of_barrier(me as usize, nodes as usize, hosts.as_ref(), reads);
    if trace::is_wanted(config, me) { plan.with_later_stages_only() } else { plan }
}

#[cold]
fn before_attach() -> Error {
    Error::not_init(Job::get().map_or(NOT_INIT, |_| NOT_ATTACHED))
}

/// Set by the first thread that exits, so that counters are printed once.
static REPORTED: AtomicU64 = AtomicU64::new(0);

/// Lets `write` know what timing mode adds to the traffic matrix. Without a job that is nothing.
pub fn with_hardware_traffic(write: impl FnOnce(&trace::Hardware<'_>)) {
    let job = Job::get().ok();
    let topology = job.and_then(|job| timing::topology(&job.config));
    write(&trace::Hardware { topology, traffic: &|node| timing::traffic(&job?.adapter, node) });
}

/// Prints this node's counters if asked for (GASNET_SCI_STATS), then calls `and_then` with them. Does neither if a
/// thread that is still polling holds the counters. Called once, while the process exits.
pub fn report_at_exit(and_then: impl FnOnce(&[(&'static str, u64)])) {
    let Ok(job) = Job::get() else { return };
    // Relaxed: only the first caller continues, and nothing is handed over.
    if REPORTED.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    let counters = job.am.counters().map(|mut list| {
        list.extend(job.vis.counters());
        list.extend(job.deck().into_iter().flat_map(|deck| deck.counters()));
        list.extend(job.adapter.far().into_iter().flat_map(|far| far.wire().counters()));
        if let Some(work) = job.rma.overlap().map(|overlap| overlap.work()) {
            list.extend([("DMA thread bytes", work.thread), ("bytes taken from it", work.helpers)]);
        }
        list
    });
    if job.config.stats {
        if counters.is_none() {
            log::report(format_args!("stats: another thread is still polling; no counters"));
        }
        for (name, value) in counters.iter().flatten() {
            log::report(format_args!("stats: {name:<26} {value}"));
        }
    }
    and_then(counters.as_deref().unwrap_or_default());
}
