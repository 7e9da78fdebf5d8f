//! What one thread at a time does for all links: takes what has come, makes contacts, tells strangers off, looks at the clock.
//!
//! Must not know: what frames say.

use super::greet::Refusal;
use super::greeting::{Greeting, STRANGER, Step};
use super::input::{End, From, Input};
use super::keys::{Halves, Meeting};
use super::{Contact, GREETING, LISTENER, Receiving, STRANGERS, Tcp, high};
use crate::sci::far::wire::Sink;
use crate::sync::Ordering;
use socket2::SockRef;
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Instant;

impl Tcp {
    pub(super) fn take_newcomers(&self, r: &mut Receiving) {
        let newcomers = std::mem::take(&mut *self.newcomers.lock());
        newcomers.into_iter().for_each(|greeting| self.watch(r, greeting));
    }

    fn watch(&self, r: &mut Receiving, greeting: Greeting) {
        let key = GREETING | greeting.socket.as_raw_fd() as u64;
        if self.epoll.add(greeting.socket.as_fd(), key, greeting.is_connecting()).is_ok() {
            r.greetings.insert(key, greeting);
        }
    }

    fn accept(&self, r: &mut Receiving) {
        for _ in 0..STRANGERS {
            let Some((socket, from)) = r.listeners.iter().find_map(|listener| listener.accept().ok()) else { return };
            self.make_place(r);
            let socket = socket
                .set_nonblocking(true)
                .and_then(|()| self.prepare(&SockRef::from(&socket)))
                .and_then(|()| high(socket));
            if let Ok(socket) = socket {
                let mut greeting = Greeting::accepted(Arc::new(socket), from, &self.who());
                greeting.may_be_node = self.lives_at(from.ip());
                self.watch(r, greeting);
            }
        }
    }

    /// True if a node of the job has this address.
    fn lives_at(&self, address: IpAddr) -> bool {
        self.book.get().is_some_and(|book| book.knows(address))
    }

    /// Makes place for another stranger. All nodes may come at once, and greet late.
    fn make_place(&self, r: &mut Receiving) {
        let strangers = || r.greetings.iter().filter(|(_, greeting)| greeting.to.is_none());
        if strangers().count() < self.peers.len() + STRANGERS {
            return;
        }
        let rank = |greeting: &Greeting| (greeting.may_be_node, !greeting.is_nameless(), greeting.since);
        let first = strangers().min_by_key(|(_, greeting)| rank(greeting)).map(|(key, _)| *key);
        if let Some(greeting) = first.and_then(|key| r.greetings.remove(&key)) {
            self.tell(greeting.from, Refusal::Crowd);
        }
    }

    fn greet(&self, r: &mut Receiving, key: u64) {
        let Some(mut greeting) = r.greetings.remove(&key) else { return };
        let was_connecting = greeting.is_connecting();
        let mut step = greeting.step(&self.who());
        if let Step::Asked(rank) = step {
            if !self.may_come(rank) {
                return; // the other side waits for our own connection (rule 1)
            }
            step = greeting.welcome(&self.who());
        }
        match step {
            Step::Wait | Step::Asked(_) => {
                if was_connecting && !greeting.is_connecting() {
                    let _ = self.epoll.change(greeting.socket.as_fd(), key, false);
                }
                r.greetings.insert(key, greeting);
            }
            Step::Sure(rank) => self.open(r, rank, &greeting),
            Step::Refused(refusal) => match greeting.to {
                None => self.tell(greeting.from, refusal),
                Some(rank) => self.mistook(rank, &greeting, refusal),
            },
            Step::Unmade(kind, why) => {
                if let Some(rank) = greeting.to {
                    self.unmade(r, rank, &greeting, kind, &why);
                }
            }
            Step::Ended(why) => match greeting.to {
                Some(rank) => self.failed(r, rank, &greeting, &why),
                None if greeting.is_nameless() && !greeting.may_be_node => self.tell(greeting.from, Refusal::Gone),
                None => {} // a node that prefers another connection, or that has ended
            },
        }
    }

    /// A connection of node `rank` is welcome, unless there is one or this node's own one stays (rule 1). This node's own one, if
    /// the other stays, is closed by the other side.
    fn may_come(&self, rank: u32) -> bool {
        match &*self.peer(rank).contact.lock() {
            Contact::None => true,
            Contact::Begun(_) => rank < self.who().me,
            Contact::Made | Contact::Left | Contact::Lost(_) => false,
        }
    }

    /// Both are sure of each other. If the connection is protected they make keys next.
    pub(super) fn open(&self, r: &mut Receiving, rank: u32, greeting: &Greeting) {
        let (peer, socket) = (self.peer(rank), &greeting.socket);
        let mut contact = peer.contact.lock();
        if !matches!(*contact, Contact::None | Contact::Begun(_)) {
            return;
        }
        *contact = Contact::Made;
        drop(contact);
        let _ = socket.peer_addr().map(|at| peer.at.set(at)); // once
        let _ = self.epoll.change(socket.as_fd(), rank.into(), false);
        let who = self.who();
        if !who.is_protected {
            return self.carry(r, rank, socket, None);
        }
        let hellos =
            greeting.hellos().ok_or_else(|| "has not greeted, so there are no keys (GASNET_SCI_SECURE)".into());
        let meet = |hellos| Meeting::new(socket.clone(), &who, rank, hellos, greeting.to.is_some());
        match hellos.and_then(meet) {
            Ok(meeting) => drop(r.meetings.insert(rank, meeting)),
            Err(why) => drop(self.end(rank, &why)),
        }
    }

    /// Something has come of a peer with which this node makes keys, perhaps. True if so.
    #[cold]
    fn make_keys(&self, r: &mut Receiving, rank: u32) -> bool {
        let Some(meeting) = r.meetings.get_mut(&rank) else { return false };
        let socket = meeting.socket.clone();
        match meeting.step() {
            Ok(None) => return true,
            Ok(Some(halves)) => self.carry(r, rank, &socket, Some(halves)),
            Err(why) => drop(self.end(rank, &why)),
        }
        r.meetings.remove(&rank);
        true
    }

    /// The connection carries what it is for.
    fn carry(&self, r: &mut Receiving, rank: u32, socket: &Arc<TcpStream>, protected: Option<Halves>) {
        let (outgoing, incoming) = protected.unzip();
        let peer = self.peer(rank);
        r.inputs.resize_with(self.peers.len(), || None);
        r.inputs[rank as usize] = Some(Box::new((Input::new(incoming), socket.clone())));
        r.hot = Some(rank);
        let mut link = peer.link.lock();
        let opened = link.open(socket.clone(), outgoing);
        self.settle(rank, link);
        if let Err(error) = opened {
            self.broke(rank, &error);
        }
    }

    /// Takes what `rank` has sent.
    pub(super) fn receive(&self, r: &mut Receiving, rank: u32, sink: &dyn Sink) -> bool {
        let Some(Some(input)) = r.inputs.get_mut(rank as usize) else { return self.make_keys(r, rank) };
        let peer = self.peer(rank);
        let (input, socket) = &mut **input;
        let came = input.receive(socket, &From { peer: rank, link: &peer.link, sink });
        match came {
            Ok(false) => return false,
            Ok(true) => {
                if r.hot != Some(rank) {
                    (r.hot, r.streak) = (Some(rank), 0);
                }
                if !input.owes() {
                    return true;
                }
                let mut link = peer.link.lock();
                let sent = link.acknowledge();
                self.settle(rank, link);
                if let Err(error) = sent {
                    self.broke(rank, &error);
                }
            }
            Err(End::Left) => {
                *peer.contact.lock() = Contact::Left;
                self.forget(r, rank);
                sink.left(rank);
            }
            Err(End::Lost(why)) => drop(self.end(rank, &why)),
        }
        true
    }

    fn forget(&self, r: &mut Receiving, rank: u32) {
        if let Some(place) = r.inputs.get_mut(rank as usize) {
            *place = None;
        }
        r.meetings.remove(&rank);
        r.hot = r.hot.filter(|hot| *hot != rank);
        let mut link = self.peer(rank).link.lock();
        link.close();
        self.settle(rank, link);
    }

    /// Looks at all that may have happened.
    pub(super) fn look_around(&self, r: &mut Receiving, sink: &dyn Sink) -> bool {
        let mut came = false;
        let mut list = [(0, false); 32];
        for (key, readable) in self.epoll.look(&mut list) {
            match *key {
                LISTENER => self.accept(r),
                key if key >= GREETING => {
                    self.greet(r, key);
                    came = true;
                }
                rank => {
                    let rank = rank as u32;
                    came |= *readable && self.receive(r, rank, sink);
                    came |= self.make_room(rank);
                }
            }
        }
        if !r.greetings.is_empty() || !r.again.is_empty() {
            self.look_at_clock(r);
        }
        came
    }

    /// The hot socket is read at every look, so the system need not watch it.
    #[cold]
    pub(super) fn leave_out(&self, r: &mut Receiving, rank: u32) {
        self.take_in(r);
        r.streak = 0;
        let mut link = self.peer(rank).link.lock();
        // Relaxed: it is set before any client thread polls.
        if self.watch_always.load(Ordering::Relaxed) || link.is_clogged() || link.noted.absent {
            return;
        }
        if let Some(socket) = link.socket()
            && self.epoll.remove(socket.as_fd()).is_ok()
        {
            link.noted.absent = true;
            r.out = Some(rank);
        }
    }

    /// All sockets are watched again.
    pub(super) fn take_in(&self, r: &mut Receiving) {
        let Some(rank) = r.out.take() else { return };
        let mut link = self.peer(rank).link.lock();
        let is_absent = std::mem::replace(&mut link.noted.absent, false);
        if is_absent && let Some(socket) = link.socket() {
            let _ = self.epoll.add(socket.as_fd(), rank.into(), link.is_clogged());
        }
    }

    /// Sends what waited for room. True if anything did: who waits for the peer meanwhile has no reason to sleep.
    fn make_room(&self, rank: u32) -> bool {
        let mut link = self.peer(rank).link.lock();
        if !link.is_clogged() {
            return false;
        }
        let before = link.waiting();
        let sent = link.unclog();
        let any = link.waiting() != before;
        self.settle(rank, link);
        if let Err(error) = sent {
            self.broke(rank, &error);
        }
        any
    }

    /// Sends small transfers that were kept back.
    pub(super) fn send_kept(&self) {
        self.kept.store(false, Ordering::Relaxed); // Relaxed: as in `settle`
        for (rank, peer) in (0..).zip(&self.peers) {
            let Some(peer) = peer.get() else { continue };
            let mut link = peer.link.lock();
            if !link.keeps_back() {
                continue;
            }
            let sent = link.pump();
            self.settle(rank, link);
            if let Err(error) = sent {
                self.broke(rank, &error);
            }
        }
    }

    fn look_at_clock(&self, r: &mut Receiving) {
        let now = Instant::now();
        let is_late = |g: &Greeting| g.to.is_none() && !g.may_be_node && now.duration_since(g.since) > STRANGER;
        let late: Vec<u64> = r.greetings.iter().filter(|(_, g)| is_late(g)).map(|(key, _)| *key).collect();
        for greeting in late.iter().filter_map(|key| r.greetings.remove(key)) {
            self.tell(greeting.from, Refusal::Silent);
        }
        self.look_at_contacts(r, now);
    }

    pub(super) fn report_losses(&self, r: &mut Receiving, sink: &dyn Sink) {
        let losses = std::mem::take(&mut *self.losses.lock());
        for (rank, why) in losses {
            self.forget(r, rank);
            sink.lost(rank, &why);
        }
    }
}
