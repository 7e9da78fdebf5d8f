//! Active Messages: the engine's verbs — request, reply, poll (contract: core.md §9, §10).
//!
//! Budget of the hot path, from a Short request to the first instruction of its handler:
//! - no allocation, no system call, no lock in SEQ and PARSYNC, no atomic read-modify-write, no remote read;
//! - one packet and one ready count stored;
//! - one look at the peer's sleep word, which stays in our cache.
//!
//! The slow cases are `#[cold]` functions next to their callers.
//!
//! Locks: the client thread that sends to a peer holds that peer's `outbox`. The thread that polls holds the `inbox` for as
//! long as handlers run. A thread that finds the inbox taken returns at once, because another thread is already polling.
//!
//! No deadlock: handlers reply while their thread holds the inbox. A reply waits for reply-ring space only, and meanwhile polls
//! replies only. Reply handlers wait for nothing, so replies drain whatever the flood.
//!
//! Must not know: `gasnet_*` names, error codes, processes.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

pub mod announced;
pub mod bulk;
pub mod direct;
pub mod dispatch;
pub mod endpoint;
pub mod handlers;
pub mod inbox;
pub mod library;
pub mod loopback;
pub mod outbox;
pub mod peers;
pub mod poll;
pub mod progress;
pub mod region;
pub mod reply;
pub mod run;
pub mod slot;
pub mod source;
pub mod stats;
pub mod stream;
pub mod token;
pub mod wait;
pub mod watched;

use crate::am::region::{LINE, Layout, MAX_LONG, MAX_MEDIUM};
use crate::am::wait::Waiter;
use crate::base::config::Config;
use crate::base::error::{Error, bad_arg};
use crate::sci::{Adapter, RemoteMap};
use crate::sync::{AtomicU32, ModeLock, Ordering};
use bulk::{Payloads, Transfer};
use direct::Watch;
use endpoint::{ENDPOINTS, Endpoint};
use handlers::Handlers;
use inbox::Inbox;
use library::Library;
use loopback::Loopback;
use outbox::{Outbox, Peer, Taken};
use peers::{Connector, Peers};
use slot::{Carry, MediumPlace, Meta};
use source::{Args, Source};
use std::cell::Cell;
use std::sync::OnceLock;

#[cfg(not(loom))]
thread_local! {
    /// Handlers that run on this thread, in PAR.
    static HANDLERS: Cell<u32> = const { Cell::new(0) };
}

#[cfg(loom)]
loom::thread_local! {
    static HANDLERS: Cell<u32> = Cell::new(0);
}

// Functions of their own, never inlined. The compiler takes the look-up of a thread-local variable for free, but it costs about
// 5 ns in a shared library. Inlined, it would be done before the branch that decides whether it is needed, in each poll of SEQ
// too.
#[inline(never)]
fn enter_on_thread() -> u32 {
    HANDLERS.with(|depth| depth.replace(depth.get() + 1))
}

#[inline(never)]
fn leave_on_thread(depth: u32) {
    HANDLERS.with(|d| d.set(depth));
}

#[inline(never)]
fn on_thread() -> u32 {
    HANDLERS.with(Cell::get)
}

/// A sender without room makes room by serving its receiver's answers alone. Each time this many such rounds have passed, it
/// serves all peers. One round makes room for several messages, so that the poll costs each below a nanosecond.
const ROOMS_PER_POLL: u32 = 16;

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
    pub library: Library<A>,
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
    endpoints: [Endpoint<A>; ENDPOINTS],
    pub(crate) payloads: Payloads<A>,
    pub(crate) transfer: Transfer<A>,
    pub(crate) loopback: Loopback,
    pub(crate) waiter: Waiter,
    /// The adapter that carries our stores. Polling lets it work.
    pub(crate) adapter: A,
    pub(crate) interrupt: A::Interrupt,
    /// Handlers that run now, SEQ and PARSYNC: 0, 1 (request or reply handler), 2 (a reply handler inside a reply call).
    running: AtomicU32,
    /// Times that a sender found no room and made some by serving only its receiver's replies and credits.
    rooms: AtomicU32,
    threaded: bool,
    /// Called at each handler's return, when a debug client asked for it.
    check: OnceLock<fn()>,
    /// Work of other engines that waits for polls.
    background: AtomicU32,
    /// Does some of that work.
    work: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl<A: Adapter> Am<A> {
    /// Builds the engine on connected regions.
    ///
    /// # Safety
    /// With `wiring.threaded == false` the caller promises what [`ModeLock::new`] asks for.
    pub unsafe fn new(wiring: Wiring<A>, config: &Config, adapter: &A, waiter: Waiter) -> Am<A> {
        let Wiring { me, threaded, layout, command, control, interrupt, connector, queue, library } = wiring;
        Am {
            me,
            layout,
            control: control.clone(),
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            peers: unsafe { Peers::new(threaded, me, layout, connector) },
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            inbox: unsafe { ModeLock::new(threaded, Inbox::new(me, layout, command, control)) },
            watch: Watch::none(),
            endpoints: [Endpoint { handlers: Handlers::new(library) }],
            payloads: Payloads::new(layout.nodes()),
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            transfer: unsafe { Transfer::new(threaded, config, adapter.properties(), queue) },
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            loopback: unsafe { Loopback::new(threaded) },
            waiter,
            adapter: adapter.clone(),
            interrupt,
            running: AtomicU32::new(0),
            rooms: AtomicU32::new(0),
            threaded,
            check: OnceLock::new(),
            background: AtomicU32::new(0),
            work: OnceLock::new(),
        }
    }

    /// Sets the counters as if `n` answered requests had gone before on every way. All nodes must start alike, before the first
    /// message.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn start_at(&self, n: u32) {
        for peer in self.peers.all_known() {
            peer.direct.sent.store(n, Ordering::Relaxed); // Relaxed: before there are other threads
            peer.direct.retired.store(n, Ordering::Relaxed); // Relaxed: as above
        }
        self.inbox.with(|inbox| inbox.start_at(n));
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
    pub fn for_header(&self) -> direct::ForHeader {
        direct::ForHeader { ways: self.peers.table(), token: self.inbox.with(Inbox::request_token) }
    }

    /// The handlers of the endpoint that messages are for.
    #[inline(always)]
    pub fn handlers(&self) -> &Handlers<A> {
        &self.primordial().handlers
    }

    /// The nodes' segments, once attached.
    pub fn payloads(&self) -> &Payloads<A> {
        &self.payloads
    }

    /// How this node waits.
    pub fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Counts a handler that starts on this thread. Returns the value for [`Self::leave_handler`].
    #[inline(always)]
    pub(crate) fn enter_handler(&self) -> u32 {
        if self.threaded {
            return enter_on_thread();
        }
        // Relaxed: one thread at a time (SEQ, PARSYNC).
        let depth = self.running.load(Ordering::Relaxed);
        self.running.store(depth + 1, Ordering::Relaxed); // Relaxed: as above
        depth
    }

    /// Has `check` called at each handler's return.
    pub fn check_handlers(&self, check: fn()) {
        let _ = self.check.set(check); // set by init, once
    }

    /// Counts the handler as returned.
    #[inline(always)]
    pub(crate) fn leave_handler(&self, depth: u32) {
        if let Some(check) = self.check.get() {
            check();
        }
        if self.threaded {
            leave_on_thread(depth);
        } else {
            self.running.store(depth, Ordering::Relaxed); // Relaxed: one thread at a time
        }
    }

    /// True while this thread runs a handler.
    #[inline(always)]
    pub fn in_handler(&self) -> bool {
        if self.threaded {
            on_thread() > 0
        } else {
            self.running.load(Ordering::Relaxed) > 0 // Relaxed: one thread at a time
        }
    }

    /// Short request.
    #[inline(always)]
    pub fn request_short(&self, dest: u32, handler: u8, args: Args<'_>) -> Result<(), Error> {
        args.check()?;
        if dest == self.me {
            self.loop_short(handler, args);
            return Ok(());
        }
        let peer = self.peers.way(dest)?;
        self.with_slot(dest, peer, 0, |outbox, taken| {
            let meta = Meta::new(self.layout.sequence(taken.index), handler, args.count(), Carry::Short, 0);
            if args.words().len() < LINE / 8 {
                peer.commit(outbox, &self.layout, taken, self.me as usize, meta, args.words());
            } else {
                self.send_two_lines(peer, outbox, taken, meta, args);
            }
        })
    }

    /// A Short of more arguments than its first line takes.
    #[inline(never)]
    fn send_two_lines(&self, peer: &Peer<A>, outbox: &Outbox, taken: Taken, meta: Meta, args: Args<'_>) {
        let slot = self.layout.request(taken.index);
        slot::store_args(&peer.queue, slot, None, args.words());
        if taken.awaited {
            peer.queue.hand_over(slot + LINE);
        }
        peer.commit_stored(outbox, &self.layout, taken, self.me as usize, meta);
    }

    /// Medium request: `source` is free for reuse at return.
    #[inline]
    pub fn request_medium(&self, dest: u32, handler: u8, source: Source, args: Args<'_>) -> Result<(), Error> {
        args.check()?;
        if source.len() > MAX_MEDIUM {
            return bad_arg(format_args!("Medium payload of {} bytes; the limit is {MAX_MEDIUM}", source.len()));
        }
        if dest == self.me {
            self.loop_medium(handler, source, args);
            return Ok(());
        }
        let peer = self.peers.way(dest)?;
        let inline = source.len() <= slot::inline_max(args.count());
        let ring = if inline { 0 } else { source.len() };
        self.with_slot(dest, peer, ring, |outbox, taken| {
            let place = MediumPlace { inline, ring: self.layout.request_ring(), at: taken.span.offset };
            let (len, index) = (source.len(), taken.index);
            let meta = Meta::new(self.layout.sequence(index), handler, args.count(), place.carry(), len);
            place.store(&peer.queue, self.layout.request(index), source, args, taken.awaited);
            outbox.medium_bytes.set(outbox.medium_bytes.get() + len as u64);
            peer.commit_stored(outbox, &self.layout, taken, self.me as usize, meta);
            if taken.awaited {
                place.claim_next(&peer.queue, self.layout.request(index.wrapping_add(1)), len, taken.span.end);
            }
        })
    }

    /// Long request: the payload is in the peer's segment before the handler starts; `source` is free for reuse at
    /// return (LongAsync is the same).
    pub fn request_long(
        &self,
        dest: u32,
        handler: u8,
        source: Source,
        address: usize,
        args: Args<'_>,
    ) -> Result<(), Error> {
        args.check()?;
        if dest == self.me {
            self.check_long(dest, source.len(), address)?;
            self.loop_long(handler, source, address, args);
            return Ok(());
        }
        let peer = self.peers.way(dest)?;
        if peer.is_next_awaited() {
            self.claim_target(dest, address, source.len());
        }
        self.check_long(dest, source.len(), address)?;
        let placed = match self.place(dest, source, address)? {
            Some(placed) => placed,
            None => {
                self.stream_request(dest, peer, source, address)?;
                bulk::Placed::whole()
            }
        };
        self.with_slot(dest, peer, 0, |outbox, taken| {
            let meta = Meta::new(self.layout.sequence(taken.index), handler, args.count(), placed.carry, source.len());
            placed.store(&peer.queue, self.layout.request(taken.index), address, args);
            peer.commit_stored(outbox, &self.layout, taken, self.me as usize, meta);
        })
    }

    /// Limits of a Long and of its target (contract: core.md §9.4).
    pub(crate) fn check_long(&self, dest: u32, len: usize, address: usize) -> Result<(), Error> {
        if len > MAX_LONG {
            return bad_arg(format_args!("Long payload of {len} bytes; the limit is {MAX_LONG}"));
        }
        if len == 0 || self.payloads.holds(dest, address, len) {
            return Ok(());
        }
        let (base, size) = self.payloads.bounds(dest);
        bad_arg(format_args!(
            "Long target [{address:#x}, +{len}) is outside the segment of node {dest}: [{base:#x}, +{size})"
        ))
    }

    /// Takes a slot and `ring` ring bytes of the way to `dest`, and runs `send` with them. Polls while there is no room.
    #[inline(always)]
    pub(crate) fn with_slot(
        &self,
        dest: u32,
        peer: &Peer<A>,
        ring: usize,
        send: impl Fn(&Outbox, Taken),
    ) -> Result<(), Error> {
        let mut failed = 0;
        loop {
            let sent =
                peer.outbox.with(|outbox| peer.take(outbox, &self.layout, ring).map(|taken| send(outbox, taken)));
            if sent.is_some() {
                return Ok(());
            }
            failed = self.wait_for_room(dest, failed)?;
        }
    }

    /// True if a request without ring bytes could go to `dest` now, without waiting. Another thread may take the room first.
    pub fn has_room(&self, dest: u32) -> Result<bool, Error> {
        let peer = match dest == self.me {
            true => return Ok(true),
            false => self.peers.way(dest)?,
        };
        Ok(peer.outbox.with(|outbox| peer.take(outbox, &self.layout, 0)).is_some())
    }

    /// One step of waiting for `dest` to give slots back. Returns the value for the next step.
    #[cold]
    #[inline(never)]
    fn wait_for_room(&self, dest: u32, failed: u32) -> Result<u32, Error> {
        if self.in_handler() {
            return bad_arg(format_args!("an AM request to node {dest} from a handler, and no room to send it"));
        }
        if !self.collect(dest) {
            return Ok(self.wait_step_for(failed, || self.collect(dest)));
        }
        // A receiver that keeps up always gives room, and the other peers must not wait until the flood ends. Relaxed, and no
        // read-modify-write: if another thread overwrites the count, a poll comes later.
        let rooms = self.rooms.load(Ordering::Relaxed).wrapping_add(1);
        self.rooms.store(rooms, Ordering::Relaxed);
        if rooms.is_multiple_of(ROOMS_PER_POLL) {
            self.poll();
        }
        Ok(0)
    }

    /// Runs replies of `dest` and takes its credits. True if there was anything.
    pub(crate) fn collect(&self, dest: u32) -> bool {
        self.inbox.try_with(|inbox| inbox.retire(self, dest as usize)).is_some_and(|found| found > 0)
    }
}

/// Tells traces and statistics that a handler is about to run on a payload of `bytes`.
#[inline(always)]
pub(crate) fn record_handler(token: &token::Token, bytes: usize) {
    #[cfg(not(loom))]
    if crate::trace::is_on() {
        use crate::trace::TracedOp;
        use token::Kind;
        let reply = matches!(token.kind(), Kind::Reply | Kind::LoopReply);
        crate::trace::event(
            if reply { TracedOp::ReplyHandler } else { TracedOp::RequestHandler },
            token.source(),
            bytes,
        );
    }
    #[cfg(loom)]
    let _ = (token, bytes);
}
