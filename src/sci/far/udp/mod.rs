//! The wire over UDP: reliable and ordered, with one socket for all peers at each address of this node, and two for those peers with which
//! it talks most.
//!
//! | file | what |
//! |---|---|
//! | `mode` | the two sets of rules, and counters of their cases |
//! | `head`, `datagram` | the head of a datagram, and one that is to be sent |
//! | `pace` | round trips and congestion |
//! | `size` | how long datagrams may be |
//! | `packet`, `outbox`, `inbox` | the sending and the receiving half |
//! | `guard` | keys, and the seal of datagrams |
//! | `pipe` | both, with the first contact and signs of life: no socket, clock or thread |
//! | `link`, `pieces` | frames, writes and reads of one peer, in packets |
//! | `peer`, `contact` | a peer, its addresses, which is tried when |
//! | `burst`, `spread` | how many packets go at a time, and when |
//! | `batch`, `sending`, `receiving` | datagrams that leave in one call, and what has come |
//! | `direct` | sockets of the peers with which this node talks most |
//! | `faults` | what goes wrong on wish, for tests |
//! | this | sockets, time, all peers |
//!
//! Rules:
//! 1. One thread at a time receives (`receiving`). Any thread sends, under the lock of the link.
//! 2. Datagrams of the same size to one peer go in one call of the system, up to a number of them (`batch`), and come so.
//! 3. A peer is at that of its addresses from which its last valid datagram came. Until one has come they are tried in turn.
//! 4. A link that ended never comes back, because the job is about to end.
//!
//! Must not know: what frames say, who is a peer's host.

#![allow(unsafe_code)] // memory of clients, which the trait hands over

mod batch;
mod burst;
mod contact;
mod datagram;
mod direct;
mod faults;
pub mod guard;
pub mod head;
pub mod inbox;
pub mod link;
pub mod mode;
pub mod outbox;
pub mod pace;
mod packet;
mod peer;
mod pieces;
pub mod pipe;
mod receiving;
mod sending;
pub mod size;
mod spread;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(test, not(loom)))]
mod tests_of_wire;

use super::seal::CIPHER;
use super::wire::{Area, Counter, Done, Kept, Lost, OTHERS, Readable, Sink, Wire, Writable, enter};
use crate::base::config::UdpFaults;
use crate::boot::contact::address::{Endpoint, Listening};
use crate::boot::contact::book::Book;
use crate::boot::contact::card::Card;
use crate::os::lock::{Guard, Leaver, Lock};
use crate::os::net::Epoll;
use crate::os::{sys, timer::Timer, udp};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, OnceBox, Ordering};
use batch::Batch;
use direct::{DIRECT, Direct, Sleepers};
use faults::Faults;
use head::HEAD;
use hmac::{Hmac, Mac};
use link::Link;
use mode::{Counts, Mode};
use peer::Peer;
use receiving::Receiving;

use sha2::Sha256;
use std::net::UdpSocket;
use std::os::fd::{AsFd, RawFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The most bytes of a frame: what goes in one piece over Ethernet, with either version of IP.
const FRAME: usize = 1400;
/// Bytes that the system is asked to keep of what comes.
const ROOM: usize = 8 << 20;
/// A node that is not looked at for longer is asked again by its peers.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// One address of a peer is tried for so long, where there are others.
const TURN: u64 = 1_000_000;
/// A peer counts as lost after so long without a sign, and before its first one.
const SILENCE: Duration = Duration::from_secs(10);
const CONTACT: Duration = Duration::from_secs(60);

/// The wire.
pub struct Udp {
    me: u32,
    nodes: u32,
    secret: [u8; 16],
    incarnation: u32,
    mode: Mode,
    is_protected: AtomicBool,
    card: Card,
    sockets: Vec<UdpSocket>,
    /// Bytes that each of them was given for peers without a socket of their own.
    given: Vec<AtomicU64>,
    /// Beside each of them, one for questions how long datagrams may be. Nothing comes there.
    uncut: Vec<UdpSocket>,
    direct: [Direct; DIRECT],
    sleepers: Sleepers,
    epoll: Epoll,
    timer: Timer,
    begin: Instant,
    book: OnceLock<Book>,
    peers: Box<[OnceBox<Lock<Peer>>]>,
    /// Which one thread at a time has.
    receiving: Lock<Receiving>,
    /// For threads that send.
    batches: Lock<Vec<Batch>>,
    losses: Lock<Vec<(u32, Lost)>>,
    /// Links with something that only progress can move.
    busy: AtomicU32,
    /// When a link must be looked at, in µs.
    due: AtomicU64,
    watch_always: AtomicBool,
    silence: Duration,
    contact: Duration,
    faults: Option<Lock<Faults>>,
    /// Who leaves the job waits for no lock of its own, and others then wait for none of that thread's.
    leaver: Leaver,
}

impl Udp {
    /// Listens at `endpoint`, for node `me` of `nodes`. `secret` is the job's.
    ///
    /// # Errors
    /// What the system refused, in words.
    pub fn new(me: u32, nodes: u32, secret: [u8; 16], endpoint: &Endpoint, mode: Mode) -> Result<Udp, String> {
        let Listening { listeners: sockets, card } = endpoint.bind(ROOM)?;
        let uncut = sockets.iter().map(udp::beside_uncut).collect::<Result<_, _>>();
        let uncut = uncut.map_err(|error| format!("a socket: {error}"))?;
        let watch = || {
            let (epoll, timer) = (Epoll::new()?, Timer::new()?);
            sockets.iter().try_for_each(|socket| epoll.add(socket.as_fd(), 0, false))?;
            epoll.add(timer.as_fd(), 1, false)?;
            Ok((epoll, timer))
        };
        let (epoll, timer) = watch().map_err(|error: std::io::Error| format!("epoll: {error}"))?;
        Ok(Udp {
            me,
            nodes,
            secret,
            incarnation: sys::random() as u32,
            mode,
            is_protected: AtomicBool::new(false),
            card,
            given: sockets.iter().map(|_| AtomicU64::new(0)).collect(),
            sockets,
            uncut,
            direct: Default::default(),
            sleepers: Sleepers::default(),
            epoll,
            timer,
            begin: Instant::now(),
            book: OnceLock::new(),
            peers: (0..nodes).map(|_| OnceBox::default()).collect(),
            receiving: Lock::default(),
            batches: Lock::default(),
            losses: Lock::default(),
            busy: AtomicU32::new(0),
            due: AtomicU64::new(u64::MAX),
            watch_always: AtomicBool::new(false),
            silence: SILENCE,
            contact: CONTACT,
            faults: None,
            leaver: Leaver::default(),
        })
    }

    /// With other times after which a peer counts as lost: when it is silent, and before it has said anything.
    pub fn with_times(self, silence: Duration, contact: Duration) -> Udp {
        Udp { silence, contact, ..self }
    }

    /// With faults on wish.
    pub fn with_faults(self, faults: Option<UdpFaults>) -> Udp {
        let faults = faults.map(|wish| Lock::new(Faults::new(wish, self.me)));
        Udp { faults, ..self }
    }

    /// Each pair makes keys, by which everything is sealed.
    fn is_protected(&self) -> bool {
        self.is_protected.load(Ordering::Relaxed) // Relaxed: it is set before nodes have met
    }

    fn now(&self) -> u64 {
        self.begin.elapsed().as_micros() as u64
    }

    /// What checksums of datagrams from one node to another begin with.
    fn seed(&self, from: u32, to: u32) -> u32 {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("any length is a key");
        mac.update(b"udp");
        mac.update(&from.to_le_bytes());
        mac.update(&to.to_le_bytes());
        mac.finalize().into_bytes().first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
    }

    /// The job's number, which anybody may see.
    fn job(&self) -> u64 {
        u64::from(self.seed(self.nodes, u32::MAX)) << 32 | u64::from(self.seed(u32::MAX, self.nodes))
    }

    fn peer(&self, rank: u32) -> &Lock<Peer> {
        self.peers[rank as usize].get_or_make(|| Box::new(Lock::new(self.make(rank))))
    }

    /// What one thread at a time has. `None`: a thread leaves the job ([`Leaver`]). What is not done counts as lost on the way.
    fn enter<'a, T>(&self, lock: &'a Lock<T>, time: Duration) -> Option<Guard<'a, T>> {
        self.leaver.enter(lock, time)
    }

    /// Does something with the link to a peer, and sends what that makes.
    fn with<T>(&self, rank: u32, act: impl FnOnce(&mut Link) -> T) -> Result<T, Lost> {
        let entered = self.enter(self.peer(rank), OTHERS);
        let Some(peer) = entered else { return Err(Lost("this node leaves the job".into())) };
        self.with_entered(rank, peer, act)
    }

    fn with_entered<T>(
        &self,
        rank: u32,
        mut peer: Guard<'_, Peer>,
        act: impl FnOnce(&mut Link) -> T,
    ) -> Result<T, Lost> {
        if peer.link.has_left() {
            return Err(Lost("it has left the job".into()));
        }
        if let Some(lost) = &peer.lost {
            return Err(lost.clone());
        }
        let result = act(&mut peer.link);
        self.flush(rank, peer, self.now());
        Ok(result)
    }

    /// Sends what a link has to say, and notes when it must be looked at again.
    fn flush(&self, rank: u32, mut peer: Guard<'_, Peer>, now: u64) {
        if peer.lost.is_none() {
            self.send(&mut peer, now);
        }
        if peer.link.rests() {
            self.disconnect(&mut peer);
        }
        if peer.lost.is_none() && !peer.link.has_left() {
            if let Some(why) = self.hopeless(&mut peer, now) {
                peer.lost = Some(self.report(rank, why));
            }
            let timer = peer.link.pipe().timer();
            let turn = if peer.is_sure || peer.ways.len() < 2 { u64::MAX } else { peer.tried + TURN };
            self.due.fetch_min(timer.min(turn), Ordering::Relaxed); // Relaxed: a time; the link has its lock
        }
        let is_busy = peer.lost.is_none() && !peer.link.has_left() && peer.link.is_busy();
        match (std::mem::replace(&mut peer.is_counted, is_busy), is_busy) {
            // Relaxed, both: a hint.
            (false, true) => drop(self.busy.fetch_add(1, Ordering::Relaxed)),
            (true, false) => drop(self.busy.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
    }

    /// The link to a peer is gone.
    fn report(&self, rank: u32, why: String) -> Lost {
        let lost = Lost(why);
        self.enter(&self.losses, Duration::ZERO).into_iter().for_each(|mut losses| losses.push((rank, lost.clone())));
        lost
    }

    /// Looks at all links if one is due.
    fn look_at_time(&self, now: u64) {
        // Relaxed, both: a time; links have locks.
        if now < self.due.load(Ordering::Relaxed) {
            return;
        }
        self.due.store(u64::MAX, Ordering::Relaxed); // Relaxed: as above
        self.send_late();
        for (rank, peer) in (0..).zip(&self.peers) {
            let Some(mut peer) = peer.get().and_then(|peer| self.enter(peer, Duration::ZERO)) else { continue };
            let now = self.now();
            if peer.lost.is_some() || peer.link.has_left() {
                continue;
            }
            if !peer.is_sure && now >= peer.tried + TURN {
                self.try_next_way(&mut peer, now);
            }
            peer.link.pipe().on_timer(now);
            self.flush(rank, peer, now);
        }
    }

    fn report_losses(&self, sink: &dyn Sink) {
        let losses =
            self.enter(&self.losses, Duration::ZERO).map(|mut losses| std::mem::take(&mut *losses)).unwrap_or_default();
        losses.iter().for_each(|(rank, why)| sink.lost(*rank, why));
    }

    /// The descriptor shows when a link is due.
    fn set_timer(&self) {
        let due = self.due.load(Ordering::Relaxed); // Relaxed: a time
        self.timer.set((due != u64::MAX).then(|| self.begin + Duration::from_micros(due)));
    }
}

impl Wire for Udp {
    fn name(&self) -> String {
        let name = if self.mode.is_seed { "seed-udp" } else { "udp" };
        if self.is_protected() { format!("{name}, protected ({CIPHER})") } else { name.into() }
    }

    fn protect(&self) -> bool {
        self.is_protected.store(true, Ordering::Relaxed); // Relaxed: before there are links, and threads that look
        true
    }

    fn address(&self) -> Vec<u8> {
        self.card.bytes()
    }

    fn set_peers(&self, addresses: Vec<Vec<u8>>) {
        let _ = self.book.set(Book::read(&addresses)); // once
    }

    /// The sink says where bytes go.
    unsafe fn set_area(&self, _area: Area, _base: *mut u8, _len: usize) -> Result<(), String> {
        Ok(())
    }

    fn frame_max(&self) -> usize {
        FRAME
    }

    fn headroom(&self) -> usize {
        0
    }

    fn post(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        // While this node leaves, somebody may have the link for long: there is no room, as long as that lasts.
        let Some(entered) = self.enter(self.peer(peer), OTHERS) else { return Ok(false) };
        self.with_entered(peer, entered, |link| link.post(frame))
    }

    fn post_before_write(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.post(peer, frame)
    }

    unsafe fn write(
        &self,
        peer: u32,
        offset: u64,
        (from, len): Readable,
        kept: Kept,
        done: Done,
    ) -> Result<bool, Lost> {
        self.with(peer, |link| match kept {
            Kept::Now | Kept::InOrder => link.write_in_order(offset, from, len, kept == Kept::InOrder, done),
            Kept::UntilDone => link.write_later(offset, from, len, done),
        })
    }

    unsafe fn read(&self, peer: u32, offset: u64, (to, len): Writable, done: Counter) -> Result<bool, Lost> {
        self.with(peer, |link| link.read(offset, to, len, done))
    }

    fn progress(&self, sink: &dyn Sink, thorough: bool) -> bool {
        let Some(mut receiving) = enter(&self.receiving, thorough) else { return false };
        let came = self.receive(&mut receiving, thorough, sink);
        self.look_at_time(came.unwrap_or_else(|| self.now()));
        self.report_losses(sink);
        if came.is_some() && !thorough {
            self.is_awake();
        }
        if thorough || self.watch_always.load(Ordering::Relaxed) {
            self.set_timer(); // Relaxed: set before there are other threads
        }
        came.is_some()
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) != 0 // Relaxed: a hint
    }

    fn begins_to_leave(&self) -> bool {
        self.leaver.leaves();
        true
    }

    fn leave(&self, sink: &dyn Sink, time: Duration) {
        self.begins_to_leave();
        let end = Instant::now() + time;
        let known = (0..).zip(&self.peers).filter_map(|(rank, peer)| Some((rank, peer.get()?)));
        let mut open: Vec<_> = known.filter(|(rank, _)| self.with(*rank, Link::say_goodbye).is_ok()).collect();
        let is_open = |peer: &Lock<Peer>| {
            let peer = self.enter(peer, OTHERS);
            peer.is_some_and(|peer| peer.lost.is_none() && !peer.link.has_left() && !peer.link.is_clear())
        };
        loop {
            open.retain(|(_, peer)| is_open(peer));
            if open.is_empty() || Instant::now() >= end {
                return;
            }
            if !self.progress(sink, true) {
                sys::nap(Duration::from_micros(50));
            }
        }
    }

    fn heartbeat(&self) -> Option<Duration> {
        Some(HEARTBEAT)
    }

    // A silence that makes a peer lost is as long as the launcher's patience already, or shorter because somebody wants it so.
    fn grace(&self) -> Duration {
        Duration::from_millis(500)
    }

    // Without a link on which another thread is at work: this one exits, and waits for nobody.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = Counts::default();
        let links = self.peers.iter().filter_map(|peer| peer.get()?.try_lock());
        links.for_each(|mut peer| all.add(peer.link.pipe().counts()));
        all.list()
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.falls_asleep();
        Some(self.epoll.descriptor())
    }

    fn watch_always(&self) {
        self.watch_always.store(true, Ordering::Relaxed); // Relaxed: before there are other threads that poll
    }
}
