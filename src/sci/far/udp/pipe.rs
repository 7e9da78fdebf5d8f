//! One reliable way between two nodes, both directions: packets go in, datagrams come out; datagrams go in, packets come out, each once.
//! It has no socket, clock, thread or randomness. Who uses it says what time it is, in µs.
//!
//! A pipe begins with a HELLO of each side, which says where its numbers begin. Packets go once the peer's has come. A HELLO is repeated
//! until the peer shows that it knows it: by its own HELLO, or by anything else.
//!
//! Must not know: what packets carry, addresses.

#![allow(unsafe_code)] // memory of clients, until it is acknowledged

use super::head::{HEAD, Head, Kind};
use super::inbox::{Answer, Inbox, Take};
use super::mode::{Counts, Mode};
use super::outbox::Outbox;
use super::pace::LONGEST;

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
    /// Bytes of a full packet that this end sends.
    pub most: usize,
    /// A peer that says nothing for so long, although it should, is dead.
    pub dead: u64,
    /// The same of one that has not said anything yet.
    pub contact: u64,
}

/// A datagram to be sent.
pub struct Datagram<'a> {
    /// The first bytes.
    pub head: [u8; HEAD],
    /// What follows, from the packet's own bytes.
    pub own: &'a [u8],
    /// What follows that, from memory of others.
    pub theirs: Option<crate::sci::far::tcp::chunk::Memory>,
}

/// A pipe.
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
    ranges: Vec<u8>,
}

impl Pipe {
    /// A pipe that begins at `now`.
    pub fn new(terms: Terms, now: u64) -> Pipe {
        Pipe {
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
            ranges: Vec::new(),
        }
    }

    /// What decides how the pipe goes on, but for times.
    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        let inn = self.inn.as_ref().map(Inbox::describe);
        format!("{} {inn:?} {} {}", self.out.describe(), self.is_known, self.must_ask)
    }

    /// Packets that are not acknowledged.
    pub fn waiting(&self) -> usize {
        self.out.count()
    }

    /// Adds a packet. Returns its number.
    pub fn push(&mut self, bytes: Vec<u8>, memory: Option<crate::sci::far::tcp::chunk::Memory>) -> u32 {
        self.out.push(bytes, memory)
    }

    /// Adds bytes to the packet at the end, or a packet: see [`Outbox::add`].
    pub fn add(&mut self, parts: &[&[u8]], most: usize, may_share: impl FnOnce(&[u8]) -> bool) -> u32 {
        self.out.add(parts, most, may_share)
    }

    /// Own bytes of packets that are not acknowledged.
    pub fn bytes(&self) -> usize {
        self.out.bytes()
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

    /// Whether only this pipe's own work can move something: unacknowledged packets, an answer that is due.
    pub fn is_busy(&self) -> bool {
        self.out.count() > 0
    }

    /// The process may have been stopped, so that this call is late. Then the peer was not silent: nobody has looked.
    fn call(&mut self, now: u64) {
        let timer = self.timer();
        let due = if timer == u64::MAX { self.called } else { timer.max(self.called) };
        let late = now.saturating_sub(due);
        if late > LATE {
            self.heard = (self.heard + late).min(now);
            self.asked = self.asked.map(|at| (at + late).min(now));
        }
        self.called = self.called.max(now);
    }

    /// A datagram of the peer's has come, perhaps.
    pub fn on_datagram(&mut self, now: u64, datagram: &[u8], take: &mut dyn Take) {
        self.call(now);
        let Some((head, body)) = Head::read(datagram, self.terms.seeds[1]).filter(|(head, _)| self.is_theirs(head))
        else {
            self.out.counts.damaged += 1;
            return;
        };
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
            Kind::Ping => inn.on_ping(now, head.time, take.has_room()),
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
                let echo = (is_ack && head.sequence == 1).then(|| (age(), held));
                let listed = body.chunks_exact(8).take(if is_ack { RANGES } else { 0 }).map(|range| {
                    let word = |at: usize| range[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
                    (word(0), word(4))
                });
                let behind = head.acknowledged.wrapping_add(1);
                let bits = (0..64)
                    .filter(|i| head.ahead >> i & 1 == 1)
                    .map(|i| (behind.wrapping_add(i), behind.wrapping_add(i + 1)));
                let ranges = bits.chain(listed);
                self.out.acknowledged(now, head.acknowledged, ranges, head.window, echo);
            }
            _ => {}
        }
    }

    fn is_theirs(&self, head: &Head) -> bool {
        let is_same = self.their_incarnation.is_none_or(|theirs| theirs == head.incarnation);
        head.job == self.terms.job && head.from == self.terms.peer && is_same
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

    /// The next datagram, if one must be sent now.
    pub fn next(&mut self, now: u64) -> Option<Datagram<'_>> {
        self.call(now);
        let is_hello = self.hello_at <= now && (!self.is_known || self.hello_at == 0);
        if is_hello {
            (self.hellos, self.hello_at) = (self.hellos + 1, now + (HELLO << self.hellos.min(16)).min(LONGEST));
            let head =
                Head { sequence: self.terms.first, ahead: self.inn.is_some().into(), ..self.head(now, Kind::Hello) };
            return Some(self.plain(&head));
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
        if let Some(number) = self.out.next(now) {
            return Some(self.data(now, number));
        }
        let (answer, _) = inn.next(now)?;
        if answer == Answer::Busy {
            let head = Head { window: 0, ..self.head(now, Kind::Busy) };
            return Some(self.plain(&head));
        }
        Some(self.acknowledgement(now))
    }

    fn data(&mut self, now: u64, number: u32) -> Datagram<'_> {
        let head = Head { sequence: self.terms.mode.told(number), ..self.head(now, Kind::Data) };
        self.inn.iter_mut().for_each(Inbox::rode);
        let packet = self.out.packet(number);
        let theirs = packet.memory;
        // SAFETY: who pushed the packet keeps its memory readable until the packet is acknowledged.
        let memory = theirs.map_or(&[][..], |memory| unsafe { std::slice::from_raw_parts(memory.at, memory.len) });
        let mut bytes = [0; HEAD];
        head.write(self.terms.seeds[0], &mut bytes, &[&packet.bytes, memory]);
        Datagram { head: bytes, own: &packet.bytes, theirs }
    }

    fn acknowledgement(&mut self, now: u64) -> Datagram<'_> {
        let (echo, ranges) = self.inn.as_mut().map(|inn| (inn.echo(now), inn.ranges(RANGES))).unwrap_or_default();
        self.ranges.clear();
        for number in ranges.into_iter().flat_map(|(from, to)| [from, to]) {
            self.ranges.extend_from_slice(&number.to_le_bytes());
        }
        let (time, held, is_echo) = echo.map_or((0, 0, 0), |(time, held)| (time, held, 1));
        let delay = u16::try_from(held >> 4).unwrap_or(u16::MAX);
        let head = Head { sequence: is_echo, delay, time, ..self.head(now, Kind::Ack) };
        let mut bytes = [0; HEAD];
        head.write(self.terms.seeds[0], &mut bytes, &[&self.ranges]);
        Datagram { head: bytes, own: &self.ranges, theirs: None }
    }

    fn head(&self, now: u64, kind: Kind) -> Head {
        let Terms { job, incarnation, me, .. } = self.terms;
        let (acknowledged, window, ahead) =
            self.inn.as_ref().map_or((0, 0, 0), |inn| (inn.expected(), inn.window(), inn.bits()));
        Head { kind, job, incarnation, from: me, sequence: 0, acknowledged, ahead, window, delay: 0, time: now as u32 }
    }

    fn plain(&self, head: &Head) -> Datagram<'static> {
        let mut bytes = [0; HEAD];
        head.write(self.terms.seeds[0], &mut bytes, &[]);
        Datagram { head: bytes, own: &[], theirs: None }
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
        // Nothing else need happen at the time at which the peer is dead.
        let is_due = !self.terms.mode.is_seed && (self.asked.is_some() || self.out.count() > 0);
        let dead = (self.heard + self.terms.dead).saturating_add(1);
        let others = [self.out.timer(), inn.timer(), Some(dead).filter(|at| is_due && *at > self.called)];
        others.into_iter().flatten().fold(hello.min(sign), u64::min)
    }

    /// Time has passed. Afterwards [`Pipe::next`] has what must be sent.
    pub fn on_timer(&mut self, now: u64) {
        self.call(now);
        self.must_ask |= self.out.on_timer(now);
        if !self.terms.mode.is_seed && self.inn.is_some() && now >= self.asked.unwrap_or(self.heard) + PING {
            self.asked = Some(now);
            self.must_ask = true;
        }
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
