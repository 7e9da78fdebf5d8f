//! The wire over TCP: one connection between two nodes, made at the first contact.
//!
//! | file | what |
//! |---|---|
//! | `head` | the head of all that is sent |
//! | `link`, `stream`, `chunk` | the sending half: frames, writes, reads, acknowledgements |
//! | `input` | the receiving half |
//! | `keys`, `sealed` | of connections that are protected: the exchange, what goes out, what has come |
//! | `contact` | which address of a peer is tried when |
//! | `serve`, `silence` | what one thread at a time does for all links: contacts, what has come, peers that are silent |
//!
//! Where this node listens, and how two nodes make sure of each other, is in `boot/contact`.
//!
//! Rules:
//! 1. Of two connections that cross, the one that the lower rank made stays. The lower rank closes the other one; the higher
//!    rank waits for it. The acceptor decides, once the connector has proved itself.
//! 2. One thread at a time receives (`receiving`). Any thread sends, under the lock of the link.
//! 3. Locks are taken in this order: `receiving`, a link, the contact of its peer, `newcomers`, `losses` or `who`.
//! 4. A link that ended never comes back. What is sent to it goes nowhere, because the job is about to end.
//!
//! Must not know: what frames say, who is a peer's host.

#![allow(unsafe_code)] // memory of clients, which the trait hands over

pub(crate) mod chunk;
mod contact;
pub(crate) mod head;
pub(crate) mod input;
mod keys;
pub(crate) mod link;
pub(crate) mod sealed;
mod serve;
mod silence;
mod stream;
#[cfg(all(test, not(loom)))]
mod tests;

use super::seal::CIPHER;
use super::wire::{Area, Counter, Done, GRACE, Kept, Lost, OTHERS, Readable, Sink, Wire, Writable, enter};
use crate::boot::contact::book::Book;
use crate::boot::contact::card::Card;
use crate::boot::contact::{address, greet, greeting};
use crate::os::lock::{Guard, Lock};
use crate::os::net::{self, Epoll};
use crate::os::sys;
use crate::os::tcp::{self, Congestion};
use crate::sync::{AtomicBool, AtomicU32, OnceBox, Ordering};
use address::{Endpoint, Listening};
use contact::Attempts;
use greet::Refusal;
use greeting::{Greeting, Identity, Told};
use input::Input;
use keys::Meeting;
use link::Link;
use socket2::Socket;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, RawFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Most unauthenticated connections, in addition to one per node. When more come, the one that has been silent for longest must go: so
/// strangers that say nothing keep no node out. A node that had to go comes again.
const STRANGERS: usize = 64;
/// The system's queue of connections that nobody has accepted.
const BACKLOG: i32 = 1024;
/// Between two attempts to connect.
const AGAIN: Duration = Duration::from_millis(20);
/// Time for a peer's system to make a connection, all attempts together, unless a setting says otherwise.
const CONTACT: Duration = Duration::from_secs(60);
/// Of so many looks one goes to all sockets, the others to the socket that was active last. Each look is a system call; a round trip
/// of 8 bytes takes 1.22 of raw TCP's with 4, and 1.17 with 64 (2026-11, EPYC 9004 VM; 32 was not measured beside them).
const LOOKS: u32 = 32;
/// Looks in vain at that socket after which all are looked at each time: an answer would have come.
const PATIENCE: u32 = 512;
/// How long a connected peer's system may leave data or a question unanswered before the peer counts as lost. [`Tcp`] begins with it;
/// GASNET_SCI_LINK_TIMEOUT replaces it ([`Tcp::with_silence`]), and `silence.rs` judges by it.
const SILENCE: Duration = Duration::from_secs(5);
/// Times in a row that something came from the socket that was active last, after which the system no longer watches it: a socket
/// that is in an epoll set costs 0.25 µs more per message, 5 % of a round trip of 8 bytes (2026-11, EPYC 9004 VM). A thorough
/// look, which comes before every sleep, watches it again.
const STREAK: u32 = 16;
/// Bytes that the system keeps for a socket: what slots and rings of a peer hold, so that a node that sends and then computes
/// leaves nothing here.
const SEND_BUFFER: usize = 1 << 20;

/// Keys of the epoll set: a rank; this, plus a descriptor, of a greeting; the listener's.
const GREETING: u64 = 1 << 32;
const LISTENER: u64 = u64::MAX;

/// How far the contact with a peer has come.
#[derive(Default)]
enum Contact {
    /// There is none.
    #[default]
    None,
    /// It is being made.
    Begun(Attempts),
    /// It is there.
    Made,
    /// The peer has left in good order.
    Left,
    /// It is lost.
    Lost(Lost),
}

#[derive(Default)]
struct Peer {
    contact: Lock<Contact>,
    link: Lock<Link>,
    /// The address at the other end of the link. The system does not tell it any more once the connection was reset.
    at: OnceLock<SocketAddr>,
}

/// The receiving half of a link, and its connection.
type Receiver = (Input, Arc<TcpStream>);

/// What one thread at a time has.
#[derive(Default)]
struct Receiving {
    /// By rank.
    inputs: Vec<Option<Box<Receiver>>>,
    greetings: HashMap<u64, Greeting>,
    /// By rank: peers with which this node makes keys.
    meetings: HashMap<u32, Meeting>,
    /// Ranks to connect to again, and when.
    again: Vec<(u32, Instant)>,
    /// When to look at the clock for contacts that are being made.
    contacts_next: Option<Instant>,
    listeners: Vec<TcpListener>,
    /// The rank whose socket was active last.
    hot: Option<u32>,
    /// Looks at it since all were looked at.
    looks: u32,
    /// Looks in a row that found nothing.
    misses: u32,
    /// Times in a row that the hot socket had something, without a thorough look.
    streak: u32,
    /// The rank whose socket is not in the epoll set.
    out: Option<u32>,
    silence: silence::Silence,
}

/// The wire.
pub struct Tcp {
    /// Changed by [`Wire::protect`] alone, before nodes have met.
    who: Lock<Identity>,
    card: Card,
    epoll: Epoll,
    book: OnceLock<Book>,
    peers: Box<[OnceBox<Peer>]>,
    receiving: Lock<Receiving>,
    newcomers: Lock<Vec<Greeting>>,
    losses: Lock<Vec<(u32, Lost)>>,
    /// Links with something that only progress can move.
    busy: AtomicU32,
    /// Some link keeps small transfers back.
    kept: AtomicBool,
    /// All sockets are watched at all times.
    watch_always: AtomicBool,
    told: Lock<Told>,
    /// How long a peer's system may owe a sign of life.
    silence: Duration,
    /// How long a peer's system may take to make the first connection.
    contact: Duration,
    congestion: Congestion,
}

impl Tcp {
    /// Listens at `endpoint`, for node `me` of `nodes`. `layout` must be the same at all nodes; `secret` is the job's.
    ///
    /// # Errors
    /// What the system refused, in words.
    pub fn new(me: u32, nodes: u32, layout: u64, secret: [u8; 16], endpoint: &Endpoint) -> Result<Tcp, String> {
        let Listening { listeners, card } = endpoint.listen(BACKLOG)?;
        let watch = || {
            let epoll = Epoll::new()?;
            listeners.iter().try_for_each(|listener| epoll.add(listener.as_fd(), LISTENER, false))?;
            Ok(epoll)
        };
        let epoll = watch().map_err(|error: io::Error| format!("epoll: {error}"))?;
        Ok(Tcp {
            who: Lock::new(Identity { me, nodes, layout, secret, is_protected: false }),
            card,
            epoll,
            book: OnceLock::new(),
            peers: (0..nodes).map(|_| OnceBox::default()).collect(),
            receiving: Lock::new(Receiving { listeners, ..Receiving::default() }),
            newcomers: Lock::default(),
            losses: Lock::default(),
            busy: AtomicU32::new(0),
            kept: AtomicBool::new(false),
            watch_always: AtomicBool::new(false),
            told: Lock::default(),
            silence: SILENCE,
            contact: CONTACT,
            congestion: Congestion::Auto,
        })
    }

    /// With another choice of congestion control.
    pub fn with_congestion(self, congestion: Congestion) -> Tcp {
        Tcp { congestion, ..self }
    }

    /// With another time for first contacts.
    pub fn with_contact(self, contact: Duration) -> Tcp {
        Tcp { contact, ..self }
    }

    /// This node, as it greets.
    fn who(&self) -> Identity {
        *self.who.lock()
    }

    /// The options of every connection. Keepalive asks a peer of which nothing is heard, and `silence` alone judges: the system must not
    /// give up by itself (TCP_USER_TIMEOUT, which counts for keepalive as well). With losses that never cease it takes a connection that
    /// works for a dead one: it measures from the first of losses that it has not got over (one of 130 runs of netlab's soak).
    fn prepare(&self, socket: &Socket) -> io::Result<()> {
        let silence = self.silence;
        socket.set_tcp_nodelay(true)?;
        tcp::choose_congestion(socket.as_fd(), &self.congestion)?;
        socket.set_tcp_keepalive(&tcp::keepalive(silence))?;
        socket.set_tcp_user_timeout(Some(tcp::NEVER))?;
        // So that a connection goes on soon after a cut. Linux 6.15.
        let _ = net::limit_retransmission(socket.as_fd(), (silence / 6).max(Duration::from_secs(1)));
        let _ = net::ask_for_send_buffer(socket.as_fd(), SEND_BUFFER);
        Ok(())
    }

    fn peer(&self, rank: u32) -> &Peer {
        self.peers[rank as usize].get_or_make(Box::default)
    }

    /// Does something with the link to `peer`; begins the contact if there is none.
    fn with<T>(&self, rank: u32, act: impl FnOnce(&mut Link) -> io::Result<T>) -> Result<T, Lost> {
        let peer = self.peer(rank);
        let mut link = peer.link.lock();
        if link.socket().is_none() {
            drop(link);
            self.make_contact(rank, peer)?;
            link = peer.link.lock();
        }
        let result = act(&mut link);
        self.settle(rank, link);
        result.map_err(|error| self.broke(rank, &error))
    }

    /// Begins the contact with `peer`, if there is none.
    #[cold]
    fn make_contact(&self, rank: u32, peer: &Peer) -> Result<(), Lost> {
        let mut contact = peer.contact.lock();
        match &*contact {
            Contact::Made | Contact::Begun(_) => {}
            Contact::Left => return Err(Lost("it has left the job".into())),
            Contact::Lost(why) => return Err(why.clone()),
            Contact::None => {
                let ways =
                    self.book.get().map_or(Err("nodes have not met yet".into()), |book| book.ways(&self.card, rank));
                match ways {
                    Ok(ways) => *contact = Contact::Begun(Attempts::new(ways)),
                    Err(why) => {
                        drop(contact);
                        return Err(self.lose(rank, why));
                    }
                }
                drop(contact);
                self.connect(rank);
            }
        }
        Ok(())
    }

    /// Notes what the link waits for, after it was used.
    fn settle(&self, rank: u32, mut link: Guard<'_, Link>) {
        let (was, clogged, busy) = (link.noted, link.is_clogged(), link.is_busy());
        if was.watched != clogged
            && let Some(socket) = link.socket()
        {
            let _ = match was.absent {
                true => self.epoll.add(socket.as_fd(), rank.into(), clogged),
                false => self.epoll.change(socket.as_fd(), rank.into(), clogged),
            };
            (link.noted.watched, link.noted.absent) = (clogged, false);
        }
        // Relaxed, both: progress looks at each link under its lock.
        if link.keeps_back() && !self.kept.load(Ordering::Relaxed) {
            self.kept.store(true, Ordering::Relaxed); // Relaxed: as above
        }
        link.noted.busy = busy;
        match (was.busy, busy) {
            // Relaxed, both: a hint.
            (false, true) => drop(self.busy.fetch_add(1, Ordering::Relaxed)),
            (true, false) => drop(self.busy.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
    }

    /// The link is gone.
    fn lose(&self, rank: u32, why: String) -> Lost {
        let peer = self.peer(rank);
        let mut contact = peer.contact.lock();
        let lost = match &*contact {
            Contact::Left => return Lost("it has left the job".into()),
            Contact::Lost(why) => return why.clone(),
            _ => Lost(why),
        };
        *contact = Contact::Lost(lost.clone());
        drop(contact);
        self.losses.lock().push((rank, lost.clone()));
        lost
    }

    /// The link failed, as the system says.
    fn broke(&self, rank: u32, error: &io::Error) -> Lost {
        self.end(rank, &input::broken(error))
    }

    /// The link ended. The line about it names the address at the other end.
    fn end(&self, rank: u32, why: &str) -> Lost {
        let at = self.peer(rank).at.get();
        self.lose(rank, at.map_or(why.into(), |at| format!("at {} {why}", net::shown(*at))))
    }

    fn tell(&self, from: Option<SocketAddr>, refusal: Refusal) {
        self.told.lock().tell(from, refusal);
    }
}

impl Wire for Tcp {
    fn name(&self) -> String {
        if self.who().is_protected { format!("tcp, protected ({CIPHER})") } else { "tcp".into() }
    }

    fn protect(&self) -> bool {
        self.who.lock().is_protected = true;
        true
    }

    fn address(&self) -> Vec<u8> {
        self.card.bytes()
    }

    fn set_peers(&self, addresses: Vec<Vec<u8>>) {
        let book = Book::read(&addresses);
        // Nobody listens longer where no node will come.
        let mut receiving = self.receiving.lock();
        let mut spots = self.card.spots.iter();
        receiving.listeners.retain(|_| spots.next().is_none_or(|spot| book.is_used(&self.card, spot.at)));
        let _ = self.book.set(book); // once
    }

    /// The sink says where bytes go.
    unsafe fn set_area(&self, _area: Area, _base: *mut u8, _len: usize) -> Result<(), String> {
        Ok(())
    }

    fn frame_max(&self) -> usize {
        input::FRAME_MAX
    }

    fn headroom(&self) -> usize {
        head::HEAD
    }

    fn post(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.with(peer, |link| link.post(frame))
    }

    fn post_before_write(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.with(peer, |link| link.post_before_write(frame))
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
            Kept::Now => link.write_now(offset, from, len, done),
            Kept::UntilDone => link.write_later(offset, from, len, done),
            Kept::InOrder => link.write_in_order(offset, from, len, done),
        })
    }

    unsafe fn read(&self, peer: u32, offset: u64, (to, len): Writable, done: Counter) -> Result<bool, Lost> {
        self.with(peer, |link| link.read(offset, to, len, done))
    }

    fn progress(&self, sink: &dyn Sink, thorough: bool) -> bool {
        let Some(mut receiving) = enter(&self.receiving, thorough) else { return false };
        let r = &mut *receiving;
        if self.kept.load(Ordering::Relaxed) {
            self.send_kept(); // Relaxed: as where it is set
        }
        let hot = r.hot.filter(|_| r.misses < PATIENCE);
        if r.out.is_some() && (thorough || hot != r.out) {
            self.take_in(r);
        }
        let mut came = hot.is_some_and(|hot| self.receive(r, hot, sink));
        r.streak = if thorough { 0 } else { r.streak + u32::from(came) };
        if r.streak >= STREAK
            && r.out.is_none()
            && let Some(hot) = hot
        {
            self.leave_out(r, hot);
        }
        r.looks += 1;
        if thorough || hot.is_none() || r.looks >= LOOKS {
            r.looks = 0;
            self.take_newcomers(r);
            came |= self.look_around(r, sink);
            self.look_for_silence(r, thorough);
            self.report_losses(r, sink);
        }
        r.misses = if came { 0 } else { r.misses.saturating_add(1) };
        came
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) != 0 || self.kept.load(Ordering::Relaxed) // Relaxed, both: hints
    }

    fn begins_to_leave(&self) -> bool {
        fn is_free<T>(lock: &Lock<T>) -> bool {
            lock.within(OTHERS).is_some()
        }
        let mut known = self.peers.iter().filter_map(|peer| peer.get());
        let lists = is_free(&self.newcomers) && is_free(&self.losses) && is_free(&self.told) && is_free(&self.who);
        lists && is_free(&self.receiving) && known.all(|peer| is_free(&peer.contact) && is_free(&peer.link))
    }

    fn leave(&self, sink: &dyn Sink, time: Duration) {
        let end = Instant::now() + time;
        let known = || (0..).zip(&self.peers).filter_map(|(rank, peer)| Some((rank, peer.get()?)));
        let is_waiting = |peer: &Peer| {
            let is_begun = matches!(*peer.contact.lock(), Contact::Begun(_) | Contact::Made);
            let link = peer.link.lock();
            is_begun && link.socket().is_none() && link.has_unsent()
        };
        while self.begins_to_leave() && known().any(|(_, peer)| is_waiting(peer)) && Instant::now() < end {
            if !self.progress(sink, true) {
                sys::nap(Duration::from_micros(50));
            }
        }
        let is_made =
            |peer: &Peer| peer.contact.within(OTHERS).is_some_and(|contact| matches!(*contact, Contact::Made));
        let mut open: Vec<(u32, &Peer)> = known().filter(|(_, peer)| is_made(peer)).collect();
        for (_, peer) in &open {
            if let Some(mut link) = peer.link.within(OTHERS)
                && link.socket().is_some()
            {
                let _ = link.say_goodbye(); // a link that fails now is as gone as one that ends
            }
        }
        loop {
            open.retain(|(_, peer)| {
                let Some(mut link) = peer.link.within(OTHERS) else { return false };
                let sent = link.unclog();
                let waits = link.socket().is_some_and(|socket| tcp::is_under_way(socket.as_fd()));
                sent.is_ok() && (link.has_unsent() || waits)
            });
            if open.is_empty() || Instant::now() >= end {
                return;
            }
            sys::nap(Duration::from_micros(50));
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn grace(&self) -> Duration {
        GRACE
    }

    fn heartbeat(&self) -> Option<Duration> {
        None
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.epoll.descriptor())
    }

    fn watch_always(&self) {
        self.watch_always.store(true, Ordering::Relaxed); // Relaxed: before there are other threads that poll
    }
}

/// The same socket with a high number, because clients may expect the lowest ones.
fn high(socket: TcpStream) -> io::Result<TcpStream> {
    sys::duplicate_high(socket.as_fd(), 100).map(TcpStream::from)
}
