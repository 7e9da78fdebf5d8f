//! One reliable way between two nodes, both directions: packets go in, datagrams come out; datagrams go in, packets come out, each once.
//! It has no socket, clock, thread or randomness. Who uses it says what time it is, in µs.
//!
//! A pipe begins with a HELLO of each side, which says where its numbers begin. Packets go once the peer's has come. A HELLO is repeated
//! until the peer shows that it knows it: by its own HELLO, or by anything else. A pipe that is protected makes keys before that, at the
//! times at which HELLO would go (`guard`).
//!
//! Must not know: what packets carry, addresses.

use super::datagram::Datagram;
use super::guard::Guard;
use super::head::{self, Differs, HEAD, Head, Kind};
use super::inbox::{Answer, Inbox, Take};
use super::mode::{Counts, Mode};
use super::outbox::Outbox;
use super::pace::LONGEST;
use super::size::{LEAST, Size};
use crate::sci::far::seal::TAG;
use crate::sci::far::tcp::chunk::Memory;

/// Between two questions to a peer that says nothing.
const PING: u64 = 1_000_000;
/// The first HELLO is repeated after so long, then each time twice as long.
const HELLO: u64 = 100_000;
/// A call that comes so much later than a timer says that nobody has looked for datagrams.
const LATE: u64 = 500_000;
/// Ranges in an ACK, at most.
const RANGES: usize = 32;

/// What both ends of a pipe agree on, and what is this end's.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The rules.
    pub mode: Mode,
    /// The job's number.
    pub job: u64,
    /// This node's rank.
    pub me: u32,
    /// The peer's.
    pub peer: u32,
    /// Another one for each process.
    pub incarnation: u32,
    /// The number of the first packet.
    pub first: u32,
    /// What checksums begin with: of datagrams to the peer, and from it.
    pub seeds: [u32; 2],
    /// Packets that this end takes at once.
    pub window: u16,
    /// Bytes of a full packet that this end sends, if the way takes them.
    pub most: usize,
    /// A peer that says nothing for so long, although it should, is dead.
    pub dead: u64,
    /// The same of one that has not said anything yet.
    pub contact: u64,
}

/// A pipe.
#[cfg_attr(test, derive(Clone))]
pub struct Pipe {
    terms: Terms,
    out: Outbox,
    inn: Option<Inbox>,
    their_incarnation: Option<u32>,
    /// The peer knows where the numbers of this end begin.
    is_known: bool,
    hellos: u32,
    hello_at: u64,
    /// When something valid came.
    heard: u64,
    /// The peer was asked for a sign since then.
    asked: Option<u64>,
    must_ask: bool,
    called: u64,
    /// What follows the head of a datagram that is no packet.
    body: Vec<u8>,
    guard: Option<Guard>,
    /// Of datagrams, in normal mode.
    size: Size,
    /// A packet that goes in parts, and where the next one begins.
    parts: Option<(u32, usize)>,
    /// Why a datagram of the peer's was refused that was not damaged.
    pub differs: Option<Differs>,
    /// One end has asked the other for a sign, because nothing was said for long.
    pub is_silent: bool,
}

impl Pipe {
    /// A pipe that begins at `now`.
    pub fn new(terms: Terms, now: u64) -> Pipe {
        let mut pipe = Pipe {
            terms,
            out: Outbox::new(terms.mode, terms.first, terms.most),
            inn: None,
            their_incarnation: None,
            is_known: false,
            hellos: 0,
            hello_at: now,
            heard: now,
            asked: None,
            must_ask: false,
            called: now,
            body: Vec::new(),
            guard: None,
            size: Size::new(terms.most + HEAD),
            parts: None,
            differs: None,
            is_silent: false,
        };
        pipe.fill();
        pipe
    }

    /// From the beginning on, nothing goes or comes unprotected.
    pub fn protect(&mut self, guard: Guard) {
        self.guard = Some(guard);
        self.size = Size::new(self.terms.most + self.around());
        self.fill();
    }

    /// Bytes of a datagram around those of a packet.
    fn around(&self) -> usize {
        HEAD + if self.guard.is_some() { TAG } else { 0 }
    }

    /// The most bytes of a packet now.
    pub fn capacity(&self) -> usize {
        if self.terms.mode.is_seed { self.terms.most } else { self.size.now() - self.around() }
    }

    /// Packets of so many bytes arrive wherever any do; in seed mode all count as such.
    fn longest(&self) -> usize {
        if self.terms.mode.is_seed { usize::MAX } else { LEAST - self.around() }
    }

    fn fill(&mut self) {
        self.out.fill(self.capacity());
    }

    /// What decides how the pipe goes on, but for times.
    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        let inn = self.inn.as_ref().map(Inbox::describe);
        let guard = self.guard.as_ref().map(Guard::describe);
        let is_hello = self.hello_at == 0;
        format!("{} {inn:?} {} {} {guard:?} {is_hello}", self.out.describe(), self.is_known, self.must_ask)
    }

    /// What is sent.
    pub fn out(&mut self) -> &mut Outbox {
        &mut self.out
    }

    /// Packets that are not acknowledged.
    pub fn waiting(&self) -> usize {
        self.out.count()
    }

    /// Adds a packet. Returns its number.
    pub fn push(&mut self, bytes: Vec<u8>, memory: Option<Memory>) -> u32 {
        self.out.push(bytes, memory)
    }

    /// Every packet before this number is processed at the peer.
    pub fn done(&self) -> u32 {
        self.out.first()
    }

    /// What has happened.
    pub fn counts(&self) -> Counts {
        self.out.counts
    }

    /// Bytes that are kept for packets that have not come.
    pub fn kept(&self) -> usize {
        self.inn.as_ref().map_or(0, Inbox::kept)
    }

    /// The peer has answered at least once.
    pub fn is_open(&self) -> bool {
        self.inn.is_some()
    }

    /// The peer was sent a first datagram.
    pub fn has_greeted(&self) -> bool {
        self.hellos > 0
    }

    /// Datagrams that were not the peer's, or damaged, or repeated on the way.
    pub fn refused(&self) -> u64 {
        self.out.counts.damaged
    }

    /// True if the sender of the last datagram may be taken for the peer: it has said HELLO, or it has just made keys or asked for this node's
    /// HELLO.
    pub fn is_met(&self) -> bool {
        self.inn.is_some() || self.hello_at == 0
    }

    /// Whether only this pipe's own work can move something: unacknowledged packets, an answer that is due.
    pub fn is_busy(&self) -> bool {
        self.out.count() > 0
    }

    /// The process may have been stopped, so that this call is late. Then the peer was not silent: nobody has looked.
    fn call(&mut self, now: u64) {
        // Mostly: then it is not late, whatever is due.
        if now.saturating_sub(self.called) <= LATE {
            self.called = self.called.max(now);
            return;
        }
        let timer = self.timer();
        let due = if timer == u64::MAX { self.called } else { timer.max(self.called) };
        let late = now.saturating_sub(due);
        if late > LATE {
            self.heard = (self.heard + late).min(now);
            self.asked = self.asked.map(|at| (at + late).min(now));
        }
        self.called = self.called.max(now);
    }

    /// A datagram of the peer's has come, perhaps. A sealed one is opened where it lies.
    pub fn on_datagram(&mut self, now: u64, datagram: &mut [u8], take: &mut dyn Take) {
        self.call(now);
        let Some((head, body)) = self.read(datagram) else {
            self.out.counts.damaged += 1;
            let differs = Differs::find(datagram, self.guard.is_some(), self.terms.seeds[1], self.terms.job);
            self.differs = differs.or(self.differs);
            return;
        };
        if head.kind.makes_keys() {
            return self.on_exchange(head.kind, body);
        }
        self.heard = now;
        self.asked = None;
        if head.kind == Kind::Hello {
            return self.on_hello(&head);
        }
        let Some(inn) = &mut self.inn else { return }; // its HELLO is lost, and comes again
        self.is_known = true;
        let counts = &mut self.out.counts;
        match head.kind {
            Kind::Data => inn.on_data(now, head.sequence, head.time, body, take, counts),
            Kind::Part => {
                if let Some(whole) = inn.on_part(head.sequence, head.ahead, body) {
                    inn.on_data(now, head.sequence, head.time, &whole, take, counts);
                }
            }
            Kind::Ping => {
                self.is_silent |= body.is_empty();
                inn.on_ping(now, head.time, body.len(), take.has_room());
            }
            _ => {}
        }
        if self.terms.mode.is_seed {
            match head.kind {
                Kind::Ack => self.out.acknowledged_one(head.acknowledged),
                Kind::Nack => self.out.refused(),
                _ => {}
            }
            return;
        }
        match head.kind {
            Kind::Busy => self.out.busy(head.acknowledged),
            Kind::Data | Kind::Ack | Kind::Ping => {
                let is_ack = head.kind == Kind::Ack;
                let held = u64::from(head.delay) << 4;
                let age = || u64::from((now as u32).wrapping_sub(head.time));
                let echo = (is_ack && head.sequence & 1 == 1).then(|| (age(), held));
                let listed = body.chunks_exact(8).take(if is_ack { RANGES } else { 0 }).map(|range| {
                    let word = |at: usize| range[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
                    (word(0), word(4))
                });
                let behind = head.acknowledged.wrapping_add(1);
                let mut left = head.ahead;
                let bits = std::iter::from_fn(|| {
                    let i = left.trailing_zeros();
                    left &= left.wrapping_sub(1);
                    (i < u64::BITS).then(|| (behind.wrapping_add(i), behind.wrapping_add(i + 1)))
                });
                let ranges = bits.chain(listed);
                self.out.acknowledged(now, head.acknowledged, ranges, head.window, echo);
                if is_ack && head.sequence > 1 {
                    self.size.answered((head.sequence >> 1) as usize + self.around());
                    self.fill();
                }
            }
            _ => {}
        }
    }

    /// What a datagram of the peer's says; `None`: it is not the peer's.
    fn read<'a>(&mut self, datagram: &'a mut [u8]) -> Option<(Head, &'a [u8])> {
        let is_sealed = self.guard.is_some() && !head::makes_keys(datagram);
        let (head, body) = match &mut self.guard {
            Some(guard) if is_sealed => guard.open(datagram).ok()?,
            guard => Head::read(datagram, guard.is_some(), self.terms.seeds[1])?,
        };
        let is_same = self.their_incarnation.is_none_or(|theirs| theirs == head.incarnation);
        let is_of_job = is_sealed || head.job == self.terms.job;
        (is_of_job && head.from == self.terms.peer && is_same).then_some((head, body))
    }

    /// A message of the exchange of keys. It is no sign of life, since anybody can repeat it.
    fn on_exchange(&mut self, kind: Kind, body: &[u8]) {
        match self.guard.as_mut().map(|guard| guard.hear(kind, body)) {
            Some(Ok(())) => (self.hellos, self.hello_at) = (0, 0),
            _ => self.out.counts.damaged += 1,
        }
    }

    fn on_hello(&mut self, head: &Head) {
        self.is_known |= head.ahead == 1;
        if self.inn.is_none() {
            self.their_incarnation = Some(head.incarnation);
            self.inn = Some(Inbox::new(self.terms.mode, head.sequence, self.terms.window));
        }
        if head.ahead == 0 {
            (self.hellos, self.hello_at) = (0, 0); // it does not know this end: at once
        }
    }

    /// Before all datagrams that go now are asked for, if they go together. `in_host`: bytes of others that have not left this host.
    pub fn begin(&mut self, now: u64, in_host: impl FnOnce() -> usize) {
        self.out.begin(now, in_host);
    }

    /// The next datagram, if one must be sent now.
    pub fn next(&mut self, now: u64) -> Option<Datagram<'_>> {
        self.call(now);
        let is_hello = self.hello_at <= now && (!self.is_known || self.hello_at == 0);
        if is_hello {
            return Some(self.first_contact(now));
        }
        if self.is_known && self.hello_at != u64::MAX {
            self.hello_at = u64::MAX;
        }
        let mode = self.terms.mode;
        let inn = self.inn.as_mut()?;
        if mode.is_seed
            && let Some((answer, number)) = inn.next(now)
        {
            let kind = if answer == Answer::Nack { Kind::Nack } else { Kind::Ack };
            let head = Head { acknowledged: mode.told(number), ..self.head(now, kind) };
            return Some(self.plain(&head));
        }
        if self.must_ask {
            self.must_ask = false;
            let head = self.head(now, Kind::Ping);
            return Some(self.plain(&head));
        }
        if !mode.is_seed
            && self.is_known
            && let Some(size) = self.size.next(now)
        {
            return Some(self.question(now, size));
        }
        if let Some((number, from)) = self.parts.take().filter(|(number, _)| self.out.find(*number).is_some()) {
            return Some(self.part(now, number, from));
        }
        if let Some(number) = self.out.next(now) {
            let packet = self.out.packet(number);
            if packet.is_stuck() && packet.size() > self.longest() {
                return Some(self.part(now, number, 0));
            }
            return Some(self.data(now, number));
        }
        let (answer, _) = inn.next(now)?;
        if answer == Answer::Busy {
            let head = Head { window: 0, ..self.head(now, Kind::Busy) };
            return Some(self.plain(&head));
        }
        Some(self.acknowledgement(now))
    }

    /// What makes keys, as long as there are none; else HELLO.
    fn first_contact(&mut self, now: u64) -> Datagram<'_> {
        self.body.clear();
        let kind = self.guard.as_mut().and_then(|guard| guard.say(&mut self.body)).unwrap_or(Kind::Hello);
        if kind != Kind::Answer {
            (self.hellos, self.hello_at) = (self.hellos + 1, now + (HELLO << self.hellos.min(16)).min(LONGEST));
        } // behind it goes HELLO
        let head = Head { sequence: self.terms.first, ahead: self.inn.is_some().into(), ..self.head(now, kind) };
        Datagram::new(&mut self.guard, self.terms.seeds[0], &head, &self.body, None)
    }

    /// Whether the way takes datagrams of this size.
    fn question(&mut self, now: u64, size: usize) -> Datagram<'_> {
        self.body.clear();
        self.body.resize(size - self.around(), 0);
        let head = self.head(now, Kind::Ping);
        let mut datagram = Datagram::new(&mut self.guard, self.terms.seeds[0], &head, &self.body, None);
        datagram.is_whole = true;
        datagram
    }

    /// Sends a part of a packet. What has come of it is kept there, so that each part need come once.
    fn part(&mut self, now: u64, number: u32, from: usize) -> Datagram<'_> {
        let len = self.out.packet(number).size();
        self.size.lost(now, len + self.around());
        self.fill();
        let to = len.min(from + self.capacity());
        self.parts = (to < len).then_some((number, to));
        let ahead = from as u64 | (len as u64) << 32;
        let head = Head { sequence: self.terms.mode.told(number), ahead, ..self.head(now, Kind::Part) };
        let packet = self.out.packet(number);
        let own = packet.bytes.len();
        let (from_theirs, to_theirs) = (from.saturating_sub(own), to.saturating_sub(own));
        let theirs = packet
            .memory
            .map(|Memory { at, .. }| Memory { at: at.wrapping_add(from_theirs), len: to_theirs - from_theirs });
        let own = &packet.bytes[from.min(own)..to.min(own)];
        Datagram::new(&mut self.guard, self.terms.seeds[0], &head, own, theirs)
    }

    fn data(&mut self, now: u64, number: u32) -> Datagram<'_> {
        let head = Head { sequence: self.terms.mode.told(number), ..self.head(now, Kind::Data) };
        self.inn.iter_mut().for_each(Inbox::rode);
        let packet = self.out.packet(number);
        let mut datagram = Datagram::new(&mut self.guard, self.terms.seeds[0], &head, &packet.bytes, packet.memory);
        datagram.stays = packet.is_new();
        datagram
    }

    fn acknowledgement(&mut self, now: u64) -> Datagram<'_> {
        let inn = self.inn.as_mut();
        let (echo, asked, ranges) = inn.map(|inn| (inn.echo(now), inn.asked(), inn.ranges(RANGES))).unwrap_or_default();
        self.body.clear();
        for number in ranges.into_iter().flat_map(|(from, to)| [from, to]) {
            self.body.extend_from_slice(&number.to_le_bytes());
        }
        let (time, held, is_echo) = echo.map_or((0, 0, 0), |(time, held)| (time, held, 1));
        let delay = u16::try_from(held >> 4).unwrap_or(u16::MAX);
        let head = Head { sequence: (asked as u32) << 1 | is_echo, delay, time, ..self.head(now, Kind::Ack) };
        Datagram::new(&mut self.guard, self.terms.seeds[0], &head, &self.body, None)
    }

    fn head(&self, now: u64, kind: Kind) -> Head {
        let Terms { job, incarnation, me, .. } = self.terms;
        let (acknowledged, window, ahead) =
            self.inn.as_ref().map_or((0, 0, 0), |inn| (inn.expected(), inn.window(), inn.bits()));
        Head { kind, job, incarnation, from: me, sequence: 0, acknowledged, ahead, window, delay: 0, time: now as u32 }
    }

    fn plain(&mut self, head: &Head) -> Datagram<'_> {
        Datagram::new(&mut self.guard, self.terms.seeds[0], head, &[], None)
    }

    /// What has come is acknowledged by the next [`Pipe::next`], and not held back.
    pub fn acknowledge_now(&mut self) {
        self.inn.iter_mut().for_each(Inbox::acknowledge_now);
    }

    /// When [`Pipe::on_timer`] must be called, if nothing happens before.
    pub fn timer(&self) -> u64 {
        let hello = if self.is_known && self.hello_at > 0 { u64::MAX } else { self.hello_at };
        let Some(inn) = &self.inn else { return hello };
        let sign = if self.terms.mode.is_seed { u64::MAX } else { self.asked.unwrap_or(self.heard) + PING };
        let size = self.size.timer().filter(|_| self.is_known && !self.terms.mode.is_seed);
        // Nothing else need happen at the time at which the peer is dead.
        let is_due = !self.terms.mode.is_seed && (self.asked.is_some() || self.out.count() > 0);
        let dead = (self.heard + self.terms.dead).saturating_add(1);
        let dead = Some(dead).filter(|at| is_due && *at > self.called);
        let others = [self.out.timer(), self.out.lingers_until(), inn.timer(), size, dead];
        others.into_iter().flatten().fold(hello.min(sign), u64::min)
    }

    /// Time has passed. Afterwards [`Pipe::next`] has what must be sent.
    pub fn on_timer(&mut self, now: u64) {
        self.call(now);
        self.must_ask |= self.out.on_timer(now);
        if !self.terms.mode.is_seed && self.inn.is_some() && now >= self.asked.unwrap_or(self.heard) + PING {
            self.asked = Some(now);
            (self.must_ask, self.is_silent) = (true, true);
        }
    }

    /// Memory that is not used is given back.
    pub fn rest(&mut self) {
        self.body = Vec::new();
        self.out.rest();
        self.inn.iter_mut().for_each(Inbox::rest);
    }

    /// The peer has said nothing for too long, although it was asked.
    pub fn is_dead(&self, now: u64) -> bool {
        let silence = now.saturating_sub(self.heard);
        match self.inn.is_some() {
            true => {
                !self.terms.mode.is_seed && (self.asked.is_some() || self.out.count() > 0) && silence > self.terms.dead
            }
            false => silence > self.terms.contact,
        }
    }
}
