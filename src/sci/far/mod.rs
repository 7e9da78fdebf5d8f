//! The far half of the adapter: memory of nodes on other hosts.
//!
//! A map of a far peer's memory records what is stored through it. The record goes out as a frame, and the peer's progress stores
//! it in its own memory, in the same order. So slots, rings, credits and cells are the same protocol as between nodes that share
//! memory; applying runs no handler. Long payloads, puts and gets do not go through records: the wire moves them (`wire`).
//!
//! | file | what |
//! |---|---|
//! | `remote` | the maps that record, and transfers |
//! | `record` | the body of a frame |
//! | `apply` | the target's side, with its checks |
//! | `quiet` | when polls look at a quiet network |
//! | `held` | what a poll keeps back until its end |
//! | `seal` | keys, and the seal of what is protected |
//! | `wire` | what carries frames and bytes; `tcp`, `udp`, `sisci`, `ofi`, in tests `memory` |
//! | `thread` | serves the network while the client computes or blocks |
//!
//! Rules:
//! 1. Stores to one peer arrive in their order, whichever map they went through: one stage, one stream. So a store barrier has
//!    nothing to do.
//! 2. [`Far::flush`] sends a stage when its peer is to be woken. Three things put that off: inside a poll it goes when the poll ends,
//!    one frame per peer ([`Far::hold`]), unless it has `ENOUGH` bytes; in a flood each `BATCH`th flush sends; and the wire may
//!    have no room. What stays behind is sent by the next look ([`Far::settle`]) or by the thread. Only a full stage makes a store
//!    wait. It lets the wire work meanwhile, which runs no handlers. So a store never fails.
//! 3. Nothing is sent to a peer that is lost or has left. The job is about to end then: its supervisor says so, or
//!    [`Far::progress`] does when nobody has for [`Wire::grace`].
//!
//! Must not know: messages, slots, how a wire works.

pub mod apply;
#[cfg(all(test, not(loom)))]
pub mod conformance;
mod held;
#[cfg(all(test, not(loom)))]
pub(crate) mod memory;
pub mod ofi;
mod quiet;
pub mod record;
pub mod remote;
pub mod seal;
pub mod sisci;
pub mod tcp;
#[cfg(all(test, not(loom)))]
mod tests;
mod thread;
pub mod udp;
pub mod wire;

use crate::base::fatal;
use crate::os::lock::{Guard, Lock};
use crate::os::sys;
use crate::sci::call::Call;
use crate::sci::{Effort, SegmentId};
use crate::sync::{AtomicBool, AtomicU32, OnceBox, Ordering, spin_loop};
use apply::{MayWrite, Regions};
use held::Held;
use quiet::Quiet;
use record::Kind;
use std::time::{Duration, Instant};
use wire::{AREAS, HEAP, Lost, OTHERS, SEGMENT, Sink, Wire, area_of, offset_in};

/// Looks in vain after which the network is quiet: about 0.2 ms, more than a round trip takes.
const WARM: u32 = 1024;
/// Looks of a sender that waits for room before it sleeps between them.
const SPINS: u32 = 2000;

/// A poll that has found a message already usually skips the network. One such poll in `ONE_IN` does not. The others read no clock either. So
/// a client whose polls each find a message, 7 µs or more apart, seems to pause between them, and the network stays warm.
const ONE_IN: u32 = 8;

/// Bytes of a stage from which on it is sent, although more may follow in the same poll.
const ENOUGH: usize = 4 << 10;
/// Bytes of a stage that stay with it while the network is quiet.
const STAGE: usize = 256;
/// Flushes to a peer that has sent nothing meanwhile, from which on they are a flood.
const FLOOD: u32 = 8;
/// Flushes of a flood that go out together, or with a write if one comes earlier. A flood of Shorts 4.9 -> 1.4 µs each; of Longs of
/// 64 KiB 18.1 -> 17.0 µs, with what each announces in the write of the next (2026-11, EPYC 9004 VM).
const BATCH: u32 = 8;

/// What was not sent yet.
#[derive(Default)]
struct Stage {
    /// Records, behind the room that the wire wants in front of a frame.
    frame: Vec<u8>,
    /// Flushes that did not send it.
    kept: u32,
}

impl Stage {
    fn clear(&mut self) {
        self.frame.clear();
        self.kept = 0;
    }
}

/// What this node has for one peer.
#[derive(Default)]
struct Lane {
    stage: Lock<Stage>,
    /// Flushes since the peer has sent something; half of them when it does.
    unanswered: AtomicU32,
}

/// This node's way to nodes of other hosts.
pub struct Far {
    wire: Box<dyn Wire>,
    /// Room in front of a frame, and the most bytes of both.
    headroom: usize,
    frame_max: usize,
    regions: Regions,
    areas: [SegmentId; AREAS],
    lanes: Box<[OnceBox<Lane>]>,
    /// Looks that are left until the network is quiet; 0: it is.
    warm: AtomicU32,
    quiet: Quiet,
    /// Polls that found something before they came here.
    found: AtomicU32,
    /// Looks by client threads, modulo 2³².
    looks: AtomicU32,
    /// Some stage has records that a flush did not send.
    unsent: AtomicBool,
    /// There is a thread that sends what waits, and how to call it.
    is_helped: AtomicBool,
    call: Call,
    held: Held,
    gone: Lock<Vec<Gone>>,
    any_lost: AtomicBool,
}

/// A peer that is not there any more, although it did not leave in good order.
struct Gone {
    rank: u32,
    why: Lost,
    since: Instant,
}

impl Far {
    /// For a node in a job of `nodes`, over `wire`. `areas`: the regions that writes and reads of the wire are for, by [`wire::Area`]. Never
    /// freed, because maps and threads use it until the process ends.
    pub fn new(nodes: u32, wire: Box<dyn Wire>, areas: [SegmentId; AREAS]) -> &'static Far {
        Box::leak(Box::new(Far {
            headroom: wire.headroom(),
            frame_max: wire.headroom() + wire.frame_max(),
            wire,
            regions: Regions::default(),
            areas,
            lanes: (0..nodes).map(|_| OnceBox::default()).collect(),
            warm: AtomicU32::new(0),
            quiet: Quiet::default(),
            found: AtomicU32::new(0),
            looks: AtomicU32::new(0),
            unsent: AtomicBool::new(false),
            is_helped: AtomicBool::new(false),
            call: Call::default(),
            held: Held::default(),
            gone: Lock::default(),
            any_lost: AtomicBool::new(false),
        }))
    }

    /// What carries the bytes.
    pub fn wire(&self) -> &dyn Wire {
        &*self.wire
    }

    /// Lets peers write into this node's region `id`, as far as `may_write` says.
    pub fn admit<M: crate::sci::LocalMap>(&self, id: SegmentId, map: M, may_write: MayWrite) {
        self.regions.admit(id, map, may_write);
    }

    /// This node, as its wire sees it.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn sink(&self) -> impl Sink + '_ {
        FarSink(self)
    }

    /// Polls of which it was told that they had found something ([`Effort::Found`]).
    #[cfg(all(test, not(loom)))]
    pub(crate) fn told(&self) -> u32 {
        self.found.load(Ordering::Relaxed) // Relaxed: a count
    }

    fn lane(&self, peer: u32) -> &Lane {
        self.lanes[peer as usize].get_or_make(Box::default)
    }

    fn stage(&self, peer: u32) -> Guard<'_, Stage> {
        self.lane(peer).stage.lock()
    }

    /// Records a store of `parts` at `offset` of region `id` of `peer`.
    fn record(&self, peer: u32, id: SegmentId, offset: usize, kind: Kind, parts: &[&[u8]]) {
        let mut stage = self.stage(peer);
        let len: usize = record::HEAD + parts.iter().map(|part| part.len()).sum::<usize>();
        if stage.frame.len() + len > self.frame_max {
            self.send(peer, &mut stage);
        }
        if stage.frame.is_empty() {
            stage.frame.resize(self.headroom, 0);
        }
        record::append(&mut stage.frame, id, offset, kind, parts);
    }

    /// What wires call byte `at` of a region. `None`: they do not reach it.
    fn offset(&self, region: SegmentId, at: usize) -> Option<u64> {
        self.areas.iter().position(|area| *area == region).map(|area| offset_in(area, at))
    }

    /// The most bytes of one record.
    fn record_max(&self) -> usize {
        (self.frame_max - self.headroom - record::HEAD).min(record::MOST)
    }

    /// Sends what is recorded for `peer`, as far as there is room now. In a flood some flushes go out together: with a later one, with
    /// a write, with the next look, or by the thread. Without a thread there are no floods.
    pub fn flush(&self, peer: u32) {
        let lane = self.lane(peer);
        let mut stage = lane.stage.lock();
        if stage.frame.len() < ENOUGH && self.held.takes(peer) {
            return;
        }
        let unanswered = lane.unanswered.load(Ordering::Relaxed) + 1; // Relaxed: a hint
        lane.unanswered.store(unanswered, Ordering::Relaxed); // Relaxed: as above
        let is_flood = unanswered > FLOOD && self.is_helped.load(Ordering::Relaxed); // Relaxed: set once
        stage.kept += 1;
        if is_flood && stage.kept < BATCH && stage.frame.len() < ENOUGH {
            return self.keep(stage);
        }
        if !self.post(peer, &mut stage) {
            self.keep(stage);
        } else if self.wire.is_busy() {
            self.call.call();
        }
        self.warm.store(WARM, Ordering::Relaxed); // Relaxed: a hint; an answer is probably on its way
    }

    /// Leaves what is in `stage` to the next poll, or to the thread. The caller has it locked until here, so that nobody who sends
    /// all stages takes it for an empty one.
    fn keep(&self, stage: Guard<'_, Stage>) {
        // Relaxed, all: a stage is looked at under its lock. The thread that set it first has called the helper.
        if !self.unsent.load(Ordering::Relaxed) {
            self.unsent.store(true, Ordering::Relaxed); // Relaxed: as above
            self.call.call();
        }
        drop(stage);
    }

    /// True while something of this node waits to be sent or answered, which only a look at the network can move.
    fn is_waiting(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) || self.wire.is_busy() // Relaxed: the fence of the call
    }

    /// A poll begins: what it stores goes out when it is over ([`Far::release`]). False: it is a poll in a poll. The caller has a lock, so
    /// that no other thread is between both calls.
    #[inline(always)]
    pub fn hold(&self) -> bool {
        self.held.begin()
    }

    /// The poll is over that [`Far::hold`] began.
    #[inline(always)]
    pub fn release(&self) {
        if let Some(peers) = self.held.end() {
            self.flush_held(&peers);
        }
    }

    #[inline(never)]
    fn flush_held(&self, peers: &[u32]) {
        peers.iter().for_each(|peer| self.flush(*peer));
    }

    /// Sends what a poll of this thread has kept back.
    fn send_held(&self) {
        if self.held.has_some() {
            self.release();
            self.hold();
        }
    }

    /// Sends the whole stage. Waits for room.
    fn send(&self, peer: u32, stage: &mut Stage) {
        self.until(|| self.post(peer, stage));
    }

    /// As [`Far::send`]; a write follows at once.
    fn send_before_write(&self, peer: u32, stage: &mut Stage) {
        if !stage.frame.is_empty() {
            self.until(|| self.wire.post_before_write(peer, &mut stage.frame).unwrap_or(true)); // rule 3
            stage.clear();
        }
    }

    /// Posts the stage as a frame. False: there is no room.
    fn post(&self, peer: u32, stage: &mut Stage) -> bool {
        let posted = stage.frame.is_empty() || self.wire.post(peer, &mut stage.frame).unwrap_or(true); // rule 3
        if posted {
            stage.clear();
        }
        posted
    }

    /// Lets the wire work until `done`.
    fn until(&self, mut done: impl FnMut() -> bool) {
        let mut looks = 0u32;
        while !done() {
            self.wire.progress(&FarSink(self), true);
            self.look_for_losses();
            looks += 1;
            if looks < SPINS {
                spin_loop();
                continue;
            }
            match self.wire.descriptor() {
                Some(fd) => _ = sys::await_readable(&[fd], Duration::from_millis(1)),
                None => sys::nap(Duration::from_micros(50)),
            }
        }
    }

    /// Sends what floods, and a poll of this thread, have kept back. A poll that waits calls it: the peer may wait for that.
    #[inline]
    pub fn settle(&self) {
        self.send_held();
        // Relaxed, both: a stage is looked at under its lock.
        if self.unsent.load(Ordering::Relaxed) && self.unsent.swap(false, Ordering::Relaxed) {
            if !self.flush_all() {
                self.unsent.store(true, Ordering::Relaxed); // Relaxed: as above
            }
            if self.is_waiting() {
                self.call.call(); // the thread may have looked while nothing seemed to wait
            }
        }
    }

    /// Lets the network work: always if `effort` is thorough, now and then while the network is quiet. Of polls that have found something
    /// already, only one in `ONE_IN` comes so far: what a near peer waits for is not held up by a look, nor by reading the clock. True if
    /// anything came.
    #[inline]
    pub fn progress(&self, effort: Effort) -> bool {
        if let Effort::Found(polls) = effort {
            // Relaxed, both: a hint; threads may lose counts.
            let before = self.found.load(Ordering::Relaxed);
            let now = before.wrapping_add(polls);
            self.found.store(now, Ordering::Relaxed); // Relaxed: as above
            if now / ONE_IN == before / ONE_IN {
                return false;
            }
        }
        let (warm, thorough) = (self.warm.load(Ordering::Relaxed), effort == Effort::Thorough); // Relaxed: a hint
        if warm != 0 || thorough {
            return self.look(warm, thorough);
        }
        let turn = match effort {
            Effort::Found(polls) => self.quiet.turn(polls),
            Effort::Spin => self.quiet.turn_in_wait(),
            _ => self.quiet.turn(1),
        };
        turn.is_some_and(|next| self.look(next, false))
    }

    #[inline(never)]
    fn look(&self, warm: u32, thorough: bool) -> bool {
        self.looks.store(self.looks.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed); // Relaxed, both: a hint
        let came = self.wire.progress(&FarSink(self), thorough);
        self.settle();
        let next = match warm {
            _ if came || self.wire.is_busy() => WARM,
            1 => {
                self.give_back();
                self.quiet.begin()
            }
            _ => warm.saturating_sub(1),
        };
        self.warm.store(next, Ordering::Relaxed); // Relaxed: as in `progress`
        self.look_for_losses();
        came
    }

    /// Sends all stages, as far as there is room now. False: there was not enough, or another thread has a stage.
    fn flush_all(&self) -> bool {
        let mut sent = true;
        for (peer, lane) in (0..).zip(&self.lanes) {
            let Some(lane) = lane.get() else { continue };
            sent &= lane.stage.try_lock().is_some_and(|mut stage| self.post(peer, &mut stage));
        }
        sent
    }

    /// The network is quiet: stages give back what floods have left them.
    #[cold]
    fn give_back(&self) {
        let stages = self.lanes.iter().filter_map(|lane| lane.get()?.stage.try_lock());
        stages.for_each(|mut stage| stage.frame.shrink_to(STAGE));
    }

    /// True while something from the network is to be expected: then each poll that has found nothing looks.
    #[inline(always)]
    pub fn is_warm(&self) -> bool {
        self.warm.load(Ordering::Relaxed) != 0 // Relaxed: a hint
    }

    /// Something was sent that will be answered.
    fn expect(&self) {
        self.warm.store(WARM, Ordering::Relaxed); // Relaxed: a hint
        if self.wire.is_busy() {
            self.call.call();
        }
    }

    fn look_for_losses(&self) {
        if self.any_lost.load(Ordering::Relaxed) {
            self.judge_losses(); // Relaxed: what was lost is read under its lock
        }
    }

    #[cold]
    fn judge_losses(&self) {
        let grace = self.wire.grace();
        let overdue = |gone: &&Gone| gone.since.elapsed() > grace;
        let found = self.gone.lock().iter().find(overdue).map(|gone| (gone.rank, gone.why.clone()));
        if let Some((rank, Lost(why))) = found {
            fatal::give_up(format_args!("lost the connection to node {rank}: {why}; ending the job"));
        }
    }

    /// This thread leaves the job, and may be a signal handler that has interrupted its own work here. False: it has, so that it must store
    /// nothing any more.
    pub fn begins_to_leave(&self) -> bool {
        let mut lanes = self.lanes.iter().filter_map(OnceBox::get);
        self.wire.begins_to_leave() && lanes.all(|lane| lane.stage.within(OTHERS).is_some())
    }

    /// This node leaves in good order: what was stored reaches the peers, if they take it within `time`.
    pub fn leave(&self, time: Duration) {
        let (begin, end) = (Instant::now(), Instant::now() + time);
        self.regions.leaves();
        // Half of the time: this thread may have a stage, as the wire may be at work on it (`Wire::begins_to_leave`).
        while self.wire.begins_to_leave() && !self.flush_all() && begin.elapsed() < time / 2 {
            self.wire.progress(&FarSink(self), true);
            spin_loop();
        }
        self.wire.leave(&FarSink(self), end.saturating_duration_since(Instant::now()));
    }
}

/// This node, as its wire sees it.
struct FarSink<'a>(&'a Far);

impl Sink for FarSink<'_> {
    fn frame(&self, peer: u32, frame: &[u8]) {
        if let Some(Lane { unanswered, .. }) = self.0.lanes[peer as usize].get() {
            // Half: a peer that gives credits back now and then does not end a flood. Relaxed, both: a hint
            unanswered.store(unanswered.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
        if let Err(problem) = self.0.regions.apply(peer, frame) {
            fatal::fatal(format_args!("node {peer} sent what this library never sends: {problem}; ending the job"));
        }
    }

    fn place(&self, peer: u32, offset: u64, len: usize, write: bool) -> Option<*mut u8> {
        let (area, at) = area_of(offset).filter(|(area, _)| write || *area == SEGMENT)?;
        self.0.regions.begin(self.0.areas[area], peer, at, len)
    }

    fn written(&self, offset: u64) {
        // The client's segment counts no writes, so nothing is to be ended there.
        if let Some((HEAP, at)) = area_of(offset) {
            self.0.regions.end(self.0.areas[HEAP], at);
        }
    }

    fn lost(&self, peer: u32, why: &Lost) {
        // Who leaves may have interrupted itself there, and needs no losses.
        let Some(mut gone) = self.0.gone.within(OTHERS) else { return };
        gone.push(Gone { rank: peer, why: why.clone(), since: Instant::now() });
        self.0.any_lost.store(true, Ordering::Relaxed); // Relaxed: the list has a lock
    }

    /// Nobody waits for it: its wire takes what is sent there, and drops it.
    fn left(&self, _: u32) {}
}
