//! The wire over a library of SISCI's: ours (docs/sisci.md) or that of a maker of cards.
//!
//! Each node has a segment of rings. In it each peer has a ring, into which it stores records: frames, and pieces of writes, which this node copies
//! to their places. A node that wants to read asks for the bytes, and the owner stores them in the reader's ring.
//!
//! Weaker than our own TCP:
//! - Only a token at the beginning of each ring says that a node of the job has written it, and memory is guarded by the number of its segment.
//!   Who may use the card may write there.
//! - The first contact waits until the library has answered: a fraction of a millisecond, or about a second for each try if the peer's process does not run; ten
//!   times as long passes between two such tries.
//! - Nobody notices if a first line is damaged although the library has said that it arrived: the peer waits for it. Other bytes are not looked at either.
//! - Bytes are copied out of rings by the target, so a target that computes lets them wait. The exception are large writes, where the library takes the
//!   client's segment as well (`straight`). The target is not asked before those: whoever connects to that segment may write anywhere in it.
//!
//! Layers, downward: this file (locks, the trait) · inlet · outlet, transfer · dma, parts, straight · ground · adapter · layout, library.

#![allow(unsafe_code)] // memory of clients

mod adapter;
mod dma;
mod ground;
mod inlet;
mod layout;
mod library;
mod outlet;
mod parts;
mod straight;
#[cfg(test)]
mod tests;
mod transfer;

use super::wire::{Area, Counter, Done, GRACE, Kept, Lost, OTHERS, Readable, SEGMENT, Sink, Wire, Writable, enter};
use crate::os::event;
use crate::os::lock::Lock;
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence, yield_now};
use adapter::{ADAPTER, Bell, Segment};
use ground::Ground;
use inlet::Inlet;
use layout::{Address, FRAME, Layout, Word};
pub use library::Library as SisciLibrary;
use library::Library;
use outlet::{Link, Outlet};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Looks of which each so many also moves what waits, although nothing seems to.
const LOOKS: u32 = 64;
/// So often the library is asked whether peers are still there.
const ENDS_EVERY: Duration = Duration::from_millis(100);

/// The wire of one node.
pub struct SisciWire {
    ground: Ground,
    /// The client's segment, if the library has taken it.
    client_segment: OnceLock<Segment>,
    secret: [u8; 16],
    address: Vec<u8>,
    bell: Bell,
    outlets: Box<[Lock<Outlet>]>,
    /// One thread at a time gives to the sink. It may take outlets' locks, and nobody the other way round.
    gate: Lock<Gate>,
    /// Things that wait in outlets.
    busy: AtomicU64,
    /// Somebody always sleeps on the descriptor.
    is_watched: AtomicBool,
}

struct Gate {
    peers: Vec<Peer>,
    frame: Vec<u8>,
    looks: u32,
    /// When the library was asked for ends.
    asked: Instant,
}

/// A peer that this wire is for.
struct Peer {
    rank: u32,
    token: u64,
    inlet: Inlet,
}

/// What a user may say.
pub struct Wishes<'a> {
    /// The library's file.
    pub library: Option<&'a str>,
    /// Bytes of a record from which on it goes by DMA. `None`: never.
    pub dma_from: Option<usize>,
    /// Large writes go straight to the client's segment of a peer, where the library can do that.
    pub straight: bool,
    /// For how long a link is tried.
    pub contact: Duration,
}

impl SisciWire {
    /// The wire of node `me` of `nodes`. `secret` is the job's and nobody else's. On failure: why there is none.
    pub fn open(wishes: &Wishes, secret: [u8; 16], me: u32, nodes: u32) -> Result<SisciWire, String> {
        let library = Library::get(wishes.library)?;
        let node = library.node(ADAPTER)?;
        let layout = Layout::of(nodes);
        let own = Segment::shared(library, layout.len())?;
        let bell = Bell::new(library)?;
        let address = Address { node, segment: own.id, interrupt: bell.number, layout }.write();
        let dma_from = wishes.dma_from.and_then(|least| dma::threshold(library, least));
        let straight_from =
            dma::threshold(library, straight::LEAST).filter(|_| wishes.straight && library.direct.is_some());
        let awake = AtomicU64::new(1);
        let ground = Ground {
            library,
            me,
            node,
            layout,
            awake,
            client_number: AtomicU64::new(0),
            straight_from,
            straight_writes: AtomicU64::new(0),
            own,
            contact: wishes.contact,
            dma_from,
        };
        let outlet = |peer| Lock::new(Outlet::new(&ground, peer, layout::token(&secret, me, peer)));
        Ok(SisciWire {
            outlets: (0..nodes).map(outlet).collect(),
            ground,
            client_segment: OnceLock::new(),
            secret,
            address,
            bell,
            gate: Lock::new(Gate { peers: Vec::new(), frame: Vec::new(), looks: 0, asked: Instant::now() }),
            busy: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
        })
    }

    /// What a user may want to know of it.
    pub fn says(&self) -> String {
        let Ground { library, layout, node, dma_from, straight_from, .. } = &self.ground;
        let dma = dma_from.map_or("no DMA".into(), |least| format!("DMA from {least} bytes on"));
        let puts = straight_from.map_or("none".into(), |least| format!("from {least} bytes on"));
        let rings = layout.ring >> 10;
        format!("SISCI node {node} by {}: rings of {rings} KiB, {dma}, straight puts: {puts}", library.file)
    }

    /// Does something with a peer's outlet, and counts what waits there.
    fn with<T>(&self, peer: u32, f: impl FnOnce(&mut Outlet, &Ground) -> T) -> T {
        let mut outlet = self.outlets[peer as usize].lock();
        let result = f(&mut outlet, &self.ground);
        self.count(&mut outlet);
        result
    }

    fn count(&self, outlet: &mut Outlet) {
        let difference = outlet.weigh();
        if difference != 0 {
            self.busy.fetch_add(difference, Ordering::Relaxed); // Relaxed: a count; it may be a wrapped negative number
        }
    }

    /// Takes what has come from a peer, and moves what waits for it. True if anything did. `thorough`: also where nothing seems to wait. `ends`: the library is
    /// asked whether the peer is still there.
    fn serve(&self, peer: &mut Peer, frame: &mut Vec<u8>, sink: &dyn Sink, thorough: bool, ends: bool) -> bool {
        let Peer { rank, token, inlet } = peer;
        let lock = &self.outlets[*rank as usize];
        if inlet.is_over {
            return false;
        }
        let received = inlet.receive(&self.ground, *rank, *token, lock, frame, sink);
        let (mut came, has_work) = received.as_ref().map_or((false, true), |it| (it.came, it.has_used_outlet));
        if !has_work && !thorough && self.busy.load(Ordering::Relaxed) == 0 {
            return came; // Relaxed, above: a count; the thread that raised it comes here afterwards
        }
        let mut outlet = lock.lock();
        if let Err(why) = received {
            if outlet.is_heard() {
                let _ = outlet.is_up(&self.ground); // so that the peer hears of it
            }
            outlet.lose(why);
        }
        if ends {
            outlet.look_for_end();
        }
        if thorough || outlet.is_busy() {
            came |= outlet.advance(&self.ground);
        }
        if let Link::Gone(why) = &outlet.link
            && !inlet.has_some(&self.ground, *rank)
        {
            let why = Lost(why.clone());
            outlet.lose(why);
        }
        let lost = match &outlet.link {
            Link::Lost(lost) if !inlet.is_over => Some(lost.clone()),
            _ => None,
        };
        self.count(&mut outlet);
        drop(outlet);
        if let Some(lost) = lost {
            inlet.is_over = true;
            sink.lost(*rank, &lost);
            came = true;
        }
        came
    }

    /// Says to all peers whether this node is awake, as far as no other thread is at work on them.
    fn say_awake(&self, is_awake: bool) {
        let is_awake = is_awake.into();
        if self.ground.awake.swap(is_awake, Ordering::Relaxed) == is_awake {
            return; // Relaxed, above: a hint; who sleeps does not for long
        }
        for outlet in &self.outlets {
            if let Some(mut outlet) = outlet.try_lock()
                && matches!(outlet.link, Link::Up(_))
            {
                outlet.tell(&self.ground, Word::Awake, is_awake);
                self.count(&mut outlet);
            }
        }
    }
}

impl Wire for SisciWire {
    fn name(&self) -> String {
        "sisci".into()
    }

    fn address(&self) -> Vec<u8> {
        self.address.clone()
    }

    fn protect(&self) -> bool {
        false
    }

    fn set_peers(&self, addresses: Vec<Vec<u8>>) {
        let mut gate = self.gate.lock();
        let me = self.ground.me;
        for (rank, address) in (0..).zip(&addresses).filter(|(rank, address)| *rank != me && !address.is_empty()) {
            let Some(outlet) = self.outlets.get(rank as usize) else { break };
            match Address::read(address, self.ground.layout) {
                Ok(address) => outlet.lock().set_address(address),
                Err(why) => drop(outlet.lock().lose(Lost(format!("node {rank} can't be reached: {why}")))),
            }
            gate.peers.push(Peer { rank, token: layout::token(&self.secret, rank, me), inlet: Inlet::default() });
        }
    }

    /// If the library refuses the segment, or nobody wants it, bytes go by rings, and the sink says where to.
    unsafe fn set_area(&self, area: Area, base: *mut u8, len: usize) -> Result<(), String> {
        if area != SEGMENT || self.ground.straight_from.is_none() {
            return Ok(());
        }
        // SAFETY: the caller's promise; nobody writes to it before peers know that it is there.
        let Ok(segment) = (unsafe { Segment::of_memory(self.ground.library, base, len) }) else { return Ok(()) };
        let id = segment.id.into();
        if self.client_segment.set(segment).is_ok() {
            self.ground.client_number.store(id, Ordering::Relaxed); // Relaxed: a number alone; links made before it hear of it here
            for outlet in &self.outlets {
                let mut outlet = outlet.lock();
                if matches!(outlet.link, Link::Up(_)) {
                    outlet.tell(&self.ground, Word::Client, id);
                    self.count(&mut outlet);
                }
            }
        }
        Ok(())
    }

    fn frame_max(&self) -> usize {
        FRAME
    }

    fn headroom(&self) -> usize {
        0 // a record is put together where its copy begins
    }

    fn post(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.with(peer, |outlet, ground| outlet.post(ground, frame))
    }

    fn post_before_write(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.post(peer, frame)
    }

    unsafe fn write(&self, peer: u32, offset: u64, from: Readable, kept: Kept, done: Done) -> Result<bool, Lost> {
        // SAFETY: the caller's promise.
        self.with(peer, |outlet, ground| unsafe { outlet.write(ground, offset, from, kept, done) })
    }

    unsafe fn read(&self, peer: u32, offset: u64, to: Writable, done: Counter) -> Result<bool, Lost> {
        self.with(peer, |outlet, ground| outlet.read(ground, offset, to, done))
    }

    fn progress(&self, sink: &dyn Sink, thorough: bool) -> bool {
        let Some(mut gate) = enter(&self.gate, thorough) else { return false };
        let Gate { peers, frame, looks, asked } = &mut *gate;
        // Relaxed, both: who sleeps next says so, and comes here afterwards.
        let was_asleep = self.ground.awake.load(Ordering::Relaxed) == 0;
        let is_watched = self.is_watched.load(Ordering::Relaxed);
        if was_asleep && (thorough || !is_watched) {
            event::lower(self.bell.event()); // before the look: what comes from now on rings again
        }
        *looks = looks.wrapping_add(1);
        let thorough = thorough || looks.is_multiple_of(LOOKS);
        let ends = thorough && asked.elapsed() >= ENDS_EVERY;
        if ends {
            *asked = Instant::now();
        }
        let mut came = false;
        for peer in peers {
            came |= self.serve(peer, frame, sink, thorough, ends);
        }
        if came && was_asleep && !is_watched {
            self.say_awake(true);
        }
        came
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0 // Relaxed: a count
    }

    fn begins_to_leave(&self) -> bool {
        self.outlets.iter().all(|outlet| outlet.within(OTHERS).is_some())
    }

    fn leave(&self, sink: &dyn Sink, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let mut have_all_heard = true;
            for outlet in &self.outlets {
                // One that this thread has interrupted itself in stays as it is.
                let Some(mut outlet) = outlet.within(OTHERS) else { continue };
                have_all_heard &= outlet.leave(&self.ground);
                self.count(&mut outlet);
            }
            if have_all_heard || Instant::now() > end {
                return;
            }
            self.progress(sink, true);
            yield_now();
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Ground { library, straight_writes, .. } = &self.ground;
        // Relaxed: counts
        let all =
            [("sisci stores made again", &library.repeats), ("sisci writes straight to segments", straight_writes)];
        all.map(|(name, count)| (name, count.load(Ordering::Relaxed))).into()
    }

    fn grace(&self) -> Duration {
        GRACE
    }

    fn heartbeat(&self) -> Option<Duration> {
        None
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.say_awake(false);
        // ORDERING: what peers were told is stored before this looks at what they have sent. Over cards that does not suffice, and sleeps are
        // short for it.
        fence(Ordering::SeqCst);
        let has_some = match self.gate.try_lock() {
            Some(gate) => gate.peers.iter().any(|peer| peer.inlet.has_some(&self.ground, peer.rank)),
            None => true, // another thread looks: it may have overlooked it
        };
        if has_some {
            event::raise(self.bell.event());
        }
        Some(self.bell.event().as_raw_fd())
    }

    fn watch_always(&self) {
        self.is_watched.store(true, Ordering::Relaxed); // Relaxed: set once, before anybody sleeps for it
        self.say_awake(false);
    }
}
