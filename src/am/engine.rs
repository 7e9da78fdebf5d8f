//! The engine itself: what it holds, and how it is made. The verbs are in the files of the behaviour
//! (`request`, `reply`, `progress`, `receive`, …), which all name this one; it names none of them.
//!
//! Must not know: what a verb does, how messages travel.

#![allow(unsafe_code)] // locks that are none where there is one thread

use super::direct::Watch;
use super::endpoint::{ENDPOINTS, Endpoint};
use super::handlers::Handlers;
use super::inbox::Inbox;
use super::library::{Engine, Library};
use super::lost::Lost;
use super::peers::{Connector, Peers};
use super::pool::Loopback;
use super::region::Layout;
use super::running::Running;
use super::token::Token;
use super::transfer::Transfer;
use super::wait::Waiter;
use crate::base::config::Config;
use crate::peers::table::PeerTable;
use crate::sci::{Adapter, LocalMap, NodeId, RemoteInterrupt};
use crate::sync::{AtomicU32, ModeLock};
use std::ffi::c_void;
use std::sync::OnceLock;

/// How this process is embedded in its job.
pub struct Wiring<A: Adapter> {
    /// Own rank.
    pub me: u32,
    /// Client threads may call at the same time (GASNET_PAR).
    pub threaded: bool,
    /// Region layout, the same on all nodes.
    pub layout: Layout,
    /// Own command region.
    pub command: A::Local,
    /// Own control region.
    pub control: A::Local,
    /// Own interrupt.
    pub interrupt: A::Interrupt,
    /// Connects peers.
    pub connector: Box<dyn Connector<A>>,
    /// DMA queue for Long payloads.
    pub queue: A::Queue,
    /// What serves the engines' own messages.
    pub library: Library<Am<A>>,
}

/// Bit of the field `background` of [`Am`]: the adapter wants polls. So a poll on one host asks one question for both.
pub(super) const ADAPTER: u32 = 1;
/// One piece of work in that field. The count is above the bit, because it may be below 0 for a moment: a thread may take a piece away that
/// another one has not added yet.
pub(super) const PIECE: i32 = 2;

/// What the header sends by.
pub struct ForHeader {
    /// By rank, the addresses of `Peer`s, at whose beginning is a [`Direct`](super::direct::Direct); null where there is none
    /// yet.
    pub ways: *const c_void,
    /// The token of requests, at whose beginning is an [`Answer`](super::direct::Answer).
    pub token: &'static Token,
}

/// The engine.
pub struct Am<A: Adapter> {
    pub(crate) me: u32,
    pub(crate) layout: Layout,
    /// Own control region: what peers tell us.
    pub(crate) control: A::Local,
    pub(crate) peers: Peers<A>,
    pub(crate) inbox: ModeLock<Inbox<A>>,
    /// What the header's polls look at: the slots of the first peer that the inbox predicts.
    pub(crate) watch: Watch,
    endpoints: [Endpoint<Am<A>, A>; ENDPOINTS],
    pub(crate) transfer: Transfer<A>,
    pub(crate) loopback: Loopback,
    pub(crate) waiter: Waiter,
    /// The adapter that carries our stores. Polling lets it work.
    pub(crate) adapter: A,
    pub(crate) interrupt: A::Interrupt,
    pub(super) running: Running,
    /// Times that a sender found no room and made some by serving only its receiver's replies and credits.
    pub(super) rooms: AtomicU32,
    /// Called at each handler's return, when a debug client asked for it.
    check: OnceLock<fn()>,
    /// How many pieces of work of other engines wait for polls, and [`ADAPTER`].
    pub(super) background: AtomicU32,
    /// Does some of that work.
    pub(super) work: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    /// The peers that are lost.
    pub(super) lost: Lost,
}

impl<A: Adapter> Engine for Am<A> {
    type Local = A::Local;
}

impl<A: Adapter> Am<A> {
    /// Builds the engine on connected regions.
    ///
    /// # Safety
    /// With `wiring.threaded == false` the caller promises what [`ModeLock::new`] asks for.
    pub unsafe fn new(wiring: Wiring<A>, config: &Config, adapter: &A, waiter: Waiter) -> Am<A> {
        let Wiring { me, threaded, layout, command, control, interrupt, connector, queue, library } = wiring;
        let readable = command.ptr(0).cast();
        let handlers = Handlers::new(library);
        // Not whether it records already: nodes that write to one file begin when node 0 has emptied it.
        if crate::trace::is_wanted(config, me) {
            handlers.set_apart();
        }
        Am {
            me,
            layout,
            control: control.clone(),
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            peers: unsafe { Peers::new(threaded, me, layout, connector) },
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            inbox: unsafe { ModeLock::new(threaded, Inbox::new(me, layout, command, control, adapter.wants_polls())) },
            watch: Watch::none(readable, waiter.gap(), !waiter.shares_cores()),
            endpoints: [Endpoint { handlers, table: PeerTable::new(me, layout.nodes()) }],
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            transfer: unsafe { Transfer::new(threaded, config, adapter.properties(), queue) },
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            loopback: unsafe { Loopback::new(threaded) },
            waiter,
            adapter: adapter.clone(),
            interrupt,
            running: Running::default(),
            rooms: AtomicU32::new(0),
            check: OnceLock::new(),
            background: AtomicU32::new(if adapter.wants_polls() { ADAPTER } else { 0 }),
            work: OnceLock::new(),
            lost: Lost::default(),
        }
    }

    /// Sets the counters as if `n` answered requests had gone before on every way. All nodes must start alike, before the first
    /// message.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn start_at(&self, n: u32) {
        use crate::sync::Ordering;
        for peer in self.peers.all_known() {
            peer.direct.sent.store(n, Ordering::Relaxed); // Relaxed: before there are other threads
            peer.direct.retired.store(n, Ordering::Relaxed); // Relaxed: as above
        }
        // Without a way nothing was sent (`Peers::sent`), so nothing was answered either.
        self.inbox.with(|inbox| inbox.start_at(n, |peer| self.peers.known(peer).is_some()));
    }

    /// Number of nodes.
    #[inline(always)]
    pub fn nodes(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Own rank.
    #[inline(always)]
    pub fn me(&self) -> u32 {
        self.me
    }

    /// The state by which the header may poll, in every thread mode.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// What carries this node's stores.
    pub fn adapter(&self) -> &A {
        &self.adapter
    }

    /// The state by which the header sends.
    pub fn for_header(&self) -> ForHeader {
        ForHeader { ways: self.peers.table(), token: self.inbox.with(Inbox::request_token) }
    }

    /// Endpoint `index`, below [`ENDPOINTS`].
    #[inline(always)]
    pub fn endpoint(&self, index: usize) -> &Endpoint<Am<A>, A> {
        &self.endpoints[index]
    }

    /// The endpoint of messages that name none.
    #[inline(always)]
    pub(super) fn primordial(&self) -> &Endpoint<Am<A>, A> {
        self.endpoint(0)
    }

    /// The handlers of the endpoint that messages are for.
    #[inline(always)]
    pub fn handlers(&self) -> &Handlers<Am<A>> {
        &self.primordial().handlers
    }

    /// The nodes' segments and the ways to them, known from attach on.
    #[inline(always)]
    pub fn table(&self) -> &PeerTable<A> {
        &self.primordial().table
    }

    /// Wakes node `rank`, of this host, if it sleeps.
    pub fn wake(&self, rank: u32) {
        // A node that cannot be reached looks by itself, a little later.
        if let Ok(bell) = self.adapter.connect_interrupt(NodeId(rank as u16)) {
            bell.stored();
        }
    }

    /// How this node waits.
    pub fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Has `check` called at each handler's return.
    pub fn check_handlers(&self, check: fn()) {
        self.handlers().set_apart();
        let _ = self.check.set(check); // set by init, once
    }

    /// A handler of the client is about to return.
    #[inline(always)]
    pub(super) fn check_handler(&self) {
        if let Some(check) = self.check.get() {
            check();
        }
    }

    /// True while this thread runs a handler.
    #[inline(always)]
    pub fn in_handler(&self) -> bool {
        self.running.is_here() || self.loopback.runs_here()
    }
}
