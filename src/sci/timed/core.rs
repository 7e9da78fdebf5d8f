//! The hardware of a node in timing mode: when packets leave and arrive, and the waiting for it.
//!
//! Must not know: what a store means; kinds of maps.

use super::engine::TransferId;
use super::helper::{self, Helped, Helper};
use super::leave::{self, Packets};
use super::links::{Burst, Links};
use super::node::{Ring, Traffic, UnderWay};
use crate::os::lock::{Guard, Lock};
use crate::os::sys;
use crate::sci::delayed::Waiting;
use crate::sci::model::{Left, Parameters, Route, Topology};
use crate::sci::{Adapter, NodeId};
use crate::sync::{AtomicU64, Ordering, fence};
use std::sync::Arc;
use std::time::Duration;

/// The hardware that a node shall seem to have.
#[derive(Clone)]
pub struct Setup {
    /// Its times, scaled already.
    pub hardware: Parameters,
    /// How the nodes are connected.
    pub topology: Topology,
    /// The position of each node by rank. A node beyond the end has its rank's.
    pub positions: Arc<[u32]>,
    /// The links that nodes share.
    pub links: Links,
    /// The job goes on without nodes that die (rule 8).
    pub survives: bool,
}

/// `Core::next`: nothing is kept.
const NOTHING: u64 = u64::MAX;
/// The system wakes a thread up to so many nanoseconds late, most often: the end of a wait is spun.
const LATE: f64 = 150_000.0;
/// Below so many nanoseconds a waiting thread does not even yield.
const SHORT: f64 = 3_000.0;

/// Who leaves the job waits so long for the lock, which others have for less. A guess.
const OTHERS: Duration = Duration::from_millis(1);

/// A node's hardware.
pub(super) struct Core<A: Adapter> {
    pub(super) adapter: A,
    pub(super) setup: Setup,
    /// Nothing takes time: nothing is kept.
    pub(super) is_instant: bool,
    pub(super) under_way: Lock<UnderWay<A>>,
    /// When something is to be done next, in nanoseconds, or `NOTHING`. Stored under the lock.
    next: AtomicU64,
    helper: Helper,
}

/// The system's clock in nanoseconds.
pub(super) fn now() -> f64 {
    sys::clock_ns() as f64
}

impl<A: Adapter> Core<A> {
    pub(super) fn new(adapter: A, setup: Setup) -> Core<A> {
        let is_instant = setup.hardware.is_instant();
        let under_way = Lock::new(UnderWay::new());
        Core { adapter, setup, is_instant, under_way, next: AtomicU64::new(NOTHING), helper: Helper::default() }
    }

    /// What went to `peer`. Nothing, if the thread that asks is about to leave, and has interrupted itself here.
    pub(super) fn traffic(&self, peer: NodeId) -> Traffic {
        self.under_way.within(OTHERS).map_or_else(Traffic::default, |mut state| state.peer(peer.0.into()).traffic)
    }

    /// This thread leaves the job, and may be a signal handler that has interrupted its own work. False: it has done so here.
    pub(super) fn begins_to_leave(&self) -> bool {
        self.under_way.within(OTHERS).is_some()
    }

    /// Counts something that goes to `peer`.
    pub(super) fn count(&self, peer: usize, count: impl FnOnce(&mut Traffic)) {
        count(&mut self.under_way.lock().peer(peer).traffic);
    }

    fn position(&self, node: usize) -> u32 {
        self.setup.positions.get(node).copied().unwrap_or(node as u32)
    }

    /// The positions of this node and of `peer`.
    pub(super) fn ends(&self, peer: usize) -> (u32, u32) {
        (self.position(self.adapter.node().0.into()), self.position(peer))
    }

    pub(super) fn way(&self, peer: usize) -> Route {
        let (a, b) = self.ends(peer);
        self.setup.topology.way(a, b)
    }

    pub(super) fn way_back(&self, peer: usize) -> Route {
        let (a, b) = self.ends(peer);
        self.setup.topology.way(b, a)
    }

    /// How long a burst from this node to `peer` waits for links.
    pub(super) fn pass(&self, peer: usize, burst: Burst, at: f64) -> f64 {
        let Setup { hardware, topology, links, .. } = &self.setup;
        links.pass(*topology, hardware, self.ends(peer), burst, at)
    }

    /// The same from `peer` to this node.
    pub(super) fn pass_back(&self, peer: usize, burst: Burst, at: f64) -> f64 {
        let Setup { hardware, topology, links, .. } = &self.setup;
        let (a, b) = self.ends(peer);
        links.pass(*topology, hardware, (b, a), burst, at)
    }

    /// True if a store to `peer` has not arrived: a later one must not be made at once.
    pub(super) fn has_kept_for(&self, peer: usize) -> bool {
        self.has_kept() && self.under_way.lock().kept.iter().any(|kept| kept.peer == peer)
    }

    /// Sends packets that the CPU stores from `ready` on; the last of them has `store`. Waits until the first may leave, and again until
    /// the last has left, because a CPU is busy until then, or until it has arrived (rule 8), and returns that time.
    /// `bytes` are counted, `software` is what the software of
    /// then needed for it.
    pub(super) fn send(
        self: &Arc<Self>,
        peer: usize,
        ready: f64,
        packets: impl Packets,
        bytes: usize,
        software: f64,
        store: Waiting<A::Remote>,
    ) -> f64 {
        let mut state = self.lock_when_free(packets.clone(), ready);
        let traffic = &mut state.peer(peer).traffic;
        packets.clone().for_each(|(packet, count)| traffic.packets(packet, count));
        traffic.pio += bytes as u64;
        let late = state.late(software);
        let free = match self.setup.hardware.staged {
            true => self.send_staged(&mut state, peer, ready, bytes, late, store),
            false => self.send_packets(&mut state, peer, ready, packets, late, store),
        };
        self.note_next(&state);
        drop(state);
        self.call_helper();
        self.wait_until(free);
        free
    }

    /// The lock, at a moment when the first of the packets may leave: the links are asked then and not before.
    fn lock_when_free(&self, packets: impl Packets, ready: f64) -> Guard<'_, UnderWay<A>> {
        loop {
            let state = self.under_way.lock();
            let first = leave::first(&state.issuer, &self.setup.hardware, packets.clone(), ready);
            if self.setup.hardware.staged || first <= now() {
                return state;
            }
            drop(state);
            self.wait_until(first);
        }
    }

    /// By the sum of stages. The caller waits until it has arrived.
    fn send_staged(
        &self,
        state: &mut UnderWay<A>,
        peer: usize,
        ready: f64,
        bytes: usize,
        late: f64,
        store: Waiting<A::Remote>,
    ) -> f64 {
        let hardware = &self.setup.hardware;
        let issue = ready.max(state.issuer.all_acknowledged());
        let arrive = issue + hardware.staged_write(bytes, self.way(peer));
        state.issuer.sent(hardware, issue, arrive);
        state.keep(peer, arrive, late, store);
        arrive
    }

    fn send_packets(
        &self,
        state: &mut UnderWay<A>,
        peer: usize,
        ready: f64,
        packets: impl Packets,
        late: f64,
        store: Waiting<A::Remote>,
    ) -> f64 {
        let (hardware, way) = (&self.setup.hardware, self.way(peer));
        let pass = |burst, at| self.pass(peer, burst, at);
        let Left { last, arrive } = leave::packets(&mut state.issuer, hardware, way, packets, ready, pass);
        let told = state.keep(peer, arrive, late, store);
        told.filter(|_| self.setup.survives).unwrap_or(last)
    }

    /// Notes when something is to be done next. Under the lock.
    pub(super) fn note_next(&self, state: &UnderWay<A>) {
        let kept = state.kept.iter().map(|kept| kept.due);
        let next = kept.chain(state.engine.next()).min_by(f64::total_cmp);
        // Relaxed: threads that deliver hold the lock. A thread that only asks whether to deliver relies on the fence below.
        self.next.store(next.map_or(NOTHING, |due| due.ceil() as u64), Ordering::Relaxed);
        // ORDERING: full fence ↔ the helper's in `serve`: it sees that there is something, or this thread sees that it sleeps.
        fence(Ordering::SeqCst);
    }

    /// When something is to be done next.
    pub(super) fn next(&self) -> Option<u64> {
        // Relaxed: a hint; what is done is done under the lock.
        Some(self.next.load(Ordering::Relaxed)).filter(|next| *next != NOTHING)
    }

    /// True while something is on its way that this node must deliver.
    pub(super) fn has_kept(&self) -> bool {
        self.next().is_some()
    }

    /// Makes what is due (rule 3).
    pub(super) fn deliver_due(&self) {
        if self.has_kept() {
            self.deliver_until(now());
        }
    }

    /// Makes what is due at `now`.
    fn deliver_until(&self, now: f64) {
        if self.next().is_some_and(|next| now >= next as f64) {
            self.deliver(now);
        }
    }

    fn deliver(&self, now: f64) {
        let mut state = self.under_way.lock();
        state.deliver(&self.adapter, now);
        self.drive_engine(&mut state, now);
        self.note_next(&state);
    }

    /// Rings with the last store on its way to `peer`, or at once.
    pub(super) fn ring(&self, peer: usize, ring: Ring) {
        let mut state = self.under_way.lock();
        if !state.ring_with_last(peer, ring) {
            state.ring(&self.adapter, peer, ring);
        }
    }

    /// Waits until `end`, and delivers meanwhile.
    pub(super) fn wait_until(&self, end: f64) {
        loop {
            // The same moment for both: what is due before `end` has been delivered when this returns.
            let now = now();
            self.deliver_until(now);
            if now >= end {
                return;
            }
            let next = self.next().map_or(end, |next| end.min(next as f64));
            rest(next.max(now) - now);
        }
    }

    /// Waits for the last acknowledgement (rule 5).
    pub(super) fn barrier(&self) {
        if self.is_instant {
            return;
        }
        let begin = now();
        let end = self.under_way.lock().issuer.all_acknowledged();
        self.wait_until(end);
        let mut state = self.under_way.lock();
        state.barrier_took(end - begin);
        if self.has_kept() {
            state.deliver_all(&self.adapter, end);
            self.note_next(&state);
        }
    }

    /// Waits until a transfer is done, or `end` has come.
    pub(super) fn wait_for(&self, transfer: TransferId, end: f64) -> bool {
        loop {
            let (state, now) = (self.under_way.lock(), now());
            let ends = state.engine.ends(transfer);
            drop(state);
            match ends {
                None => return true,
                Some(done) if done.min(end) <= now => {}
                Some(done) => self.wait_until(done.min(end)),
            }
            self.deliver(now);
            if now >= end {
                return self.under_way.lock().engine.ends(transfer).is_none();
            }
        }
    }
}

impl<A: Adapter> Core<A> {
    /// Starts or wakes the helper, if it sleeps and something is kept.
    pub(super) fn call_helper(self: &Arc<Self>) {
        if self.has_kept() && !self.helper.is_awake() {
            helper::call(self);
        }
    }
}

impl<A: Adapter> Core<A> {
    /// Brings the engine to the time `now`.
    pub(super) fn drive_engine(&self, state: &mut UnderWay<A>, now: f64) {
        let hardware = &self.setup.hardware;
        let setup = if hardware.staged { 0.0 } else { hardware.setup };
        while let Some(transfer) = state.engine.first(setup).filter(|transfer| transfer.time <= now) {
            if transfer.left == transfer.len {
                state.engine.finish();
            } else if hardware.staged {
                transfer.time += hardware.staged_write(transfer.len, self.way(transfer.peer));
                transfer.left = transfer.len;
            } else {
                let peer = transfer.peer;
                leave::dma(transfer, hardware, |burst, at| self.pass(peer, burst, at));
            }
        }
    }
}

impl<A: Adapter> Helped for Core<A> {
    fn helper(&self) -> &Helper {
        &self.helper
    }

    fn work(&self) {
        self.deliver_due();
    }

    fn next(&self) -> Option<u64> {
        Core::next(self)
    }
}

/// Lets about `time` nanoseconds pass, or less.
fn rest(time: f64) {
    if time > 2.0 * LATE {
        std::thread::sleep(Duration::from_nanos((time - LATE) as u64));
    } else if time > SHORT {
        crate::sync::yield_now();
    } else {
        crate::sync::spin_loop();
    }
}
