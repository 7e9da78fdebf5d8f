//! The sending half of a link: packets that are not acknowledged, which one goes next, what is lost.
//!
//! A packet is `Queued` until it is sent, then `Flying`. An acknowledgement of this one makes it `Come`; later ones that came, a NACK or a
//! timeout make it `Lost`, and it is sent again. A packet leaves when it and all before it are acknowledged.
//!
//! Must not know: what packets carry, sockets.

mod seed;

use super::burst::{Burst, Spare};
use super::mode::{Counts, Mode, ahead};
use super::pace::{Congestion, LONGEST, PROBE, Rtt, SEED_TIMEOUT};
use super::packet::{Packet, State};
use super::spread::{self, Spread};
use crate::sci::far::tcp::chunk::Memory;
use std::collections::VecDeque;

/// Packets sent behind another one that have come, so that it counts as lost.
const BEHIND: u64 = 3;
/// With so many packets under way, a packet waits until it is half full, or until fewer are: a flood of puts of 8 bytes goes in few datagrams.
/// One takes 0.15 µs instead of 0.22, over datagrams of 1,472 bytes 0.37 instead of 0.77 (a loaded EPYC VM, 2026-11).
const FLOOD: u32 = 8;
/// Timeouts in a row after which the window begins anew.
const SILENT: u32 = 2;

/// The sending half.
#[cfg_attr(test, derive(Clone))]
pub struct Outbox {
    mode: Mode,
    /// A packet of so many bytes is half full.
    half: usize,
    /// The number of the first packet of the list.
    first: u32,
    packets: VecDeque<Packet>,
    spare: Spare,
    /// Own bytes of all.
    bytes: usize,
    /// So many of them, from the front, were sent at least once.
    begun: usize,
    /// Something follows that goes with the packet at the end, if there is time.
    grows: bool,
    flying: u32,
    lost: u32,
    burst: Burst,
    spread: Spread,
    /// The peer takes packets before this number.
    limit: u32,
    orders: u64,
    /// The latest sending of which it is known that it has come, when it was sent, and whether it was the packet's only one.
    newest: (u64, u64, bool),
    /// What was sent until then may be what the last acknowledgement answers.
    answered: u64,
    rtt: Rtt,
    congestion: Congestion,
    /// Sendings behind this one belong to a loss episode of their own, and those behind the other one to another round.
    episode: u64,
    round: u64,
    /// A packet counts as lost then, if it does not come.
    loss_at: u64,
    /// Timeouts in a row.
    silence: u32,
    /// One packet more than the window allows, after a timeout.
    probes: u32,
    /// When something was sent that must be answered.
    asked: u64,
    /// The peer was asked whether it takes something.
    questions: u32,
    /// What has happened.
    pub counts: Counts,
}

impl Outbox {
    /// Its first packet has this number. A full one has about `most` bytes.
    pub fn new(mode: Mode, first: u32, most: usize) -> Outbox {
        Outbox {
            mode,
            half: most / 2,
            first,
            packets: VecDeque::new(),
            spare: Spare::default(),
            bytes: 0,
            begun: 0,
            grows: false,
            flying: 0,
            lost: 0,
            burst: Burst::of(most),
            spread: Spread::default(),
            limit: first.wrapping_add(mode.window),
            orders: 0,
            newest: (0, 0, false),
            answered: 0,
            rtt: Rtt::default(),
            congestion: Congestion::new(mode.window),
            episode: 0,
            round: 0,
            loss_at: u64::MAX,
            silence: 0,
            probes: 0,
            asked: 0,
            questions: 0,
            counts: Counts::default(),
        }
    }

    /// A full packet has so many bytes from now on.
    pub fn fill(&mut self, most: usize) {
        self.half = most / 2;
        self.burst.fill(most);
    }

    /// The packet with this number, if it is not acknowledged.
    pub fn find(&self, number: u32) -> Option<&Packet> {
        self.packets.get(number.wrapping_sub(self.first) as usize)
    }

    /// What decides how it goes on, but for times.
    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        let states: Vec<State> = self.packets.iter().map(|packet| packet.state).collect();
        format!("{} {states:?} {} {}", self.first, self.limit, self.probes)
    }

    /// The number of the first packet that is not acknowledged; all before it are processed at the peer.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Packets that are not acknowledged.
    pub fn count(&self) -> usize {
        self.packets.len()
    }

    /// Own bytes of these packets.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a packet. Returns its number.
    pub fn push(&mut self, bytes: Vec<u8>, memory: Option<Memory>) -> u32 {
        self.grows = false;
        self.bytes += bytes.len();
        self.packets.push_back(Packet::new(bytes, memory));
        self.last_number()
    }

    /// Adds a packet of parts, without memory. Returns its number.
    pub fn push_parts(&mut self, parts: &[&[u8]]) -> u32 {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let mut bytes = self.spare.take(len, 2 * self.half);
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        self.push(bytes, None)
    }

    /// Adds bytes to the packet at the end, if it was never sent, has no memory, begins with bytes that `may_share` allows, and has at most
    /// `most` bytes then; else in a packet of their own. Returns the packet's number.
    pub fn add(&mut self, parts: &[&[u8]], most: usize, may_share: impl FnOnce(&[u8]) -> bool) -> u32 {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let is_sent = self.begun == self.packets.len();
        match self.packets.back_mut().filter(|_| !is_sent) {
            Some(Packet { bytes, memory: None, .. }) if bytes.len() + len <= most && may_share(bytes) => {
                parts.iter().for_each(|part| bytes.extend_from_slice(part));
                self.bytes += len;
                self.grows = false;
                self.last_number()
            }
            _ => self.push_parts(parts),
        }
    }

    /// Something follows the packet at the end, and goes with it, if there is time.
    pub fn grows(&mut self) {
        self.grows = true;
    }

    /// The packet at the end, if it was never sent and has no memory.
    pub fn unsent(&self) -> Option<&[u8]> {
        let packet = self.packets.back().filter(|_| self.begun < self.packets.len())?;
        packet.memory.is_none().then_some(&packet.bytes[..])
    }

    /// The number of the packet at the end.
    pub fn last_number(&self) -> u32 {
        self.first.wrapping_add(self.packets.len() as u32).wrapping_sub(1)
    }

    /// The packet with this number, which is not acknowledged.
    pub fn packet(&self, number: u32) -> &Packet {
        &self.packets[number.wrapping_sub(self.first) as usize]
    }

    /// Nothing was said for long: memory that is not used is given back.
    pub fn rest(&mut self) {
        self.spare = Spare::default();
        self.packets.shrink_to_fit();
    }

    fn look_at_spread(&mut self, now: u64) {
        if !self.mode.is_seed {
            self.spread.look(now, self.congestion.in_a_trip(), self.rtt.smooth());
        }
    }

    /// The number of the packet that is sent now, if any. It counts as sent.
    pub fn next(&mut self, now: u64) -> Option<u32> {
        self.look_at_spread(now);
        let Some(at) = self.choose() else {
            self.burst.ends(self.begun < self.packets.len());
            return None;
        };
        self.burst.goes(self.packets[at].state == State::Queued);
        self.spread.goes();
        let number = self.first.wrapping_add(at as u32);
        let packet = &mut self.packets[at];
        match packet.state {
            State::Lost => {
                self.lost -= 1;
                self.counts.repeated += 1;
            }
            _ => {
                self.begun = at + 1;
                self.counts.sent += 1;
            }
        }
        self.orders += 1;
        packet.sendings = packet.sendings.saturating_add(1);
        (packet.state, packet.sent, packet.order) = (State::Flying, now, self.orders);
        self.flying += 1;
        self.asked = now;
        self.probes = self.probes.saturating_sub(1);
        Some(number)
    }

    fn window(&self) -> u32 {
        if self.mode.is_seed { self.mode.window } else { self.congestion.window() }
    }
    fn room(&self) -> u32 {
        self.window().saturating_sub(self.flying)
    }

    /// New packets that the peer takes now.
    fn taken(&self) -> i32 {
        ahead(self.limit, self.first).min(self.mode.window as i32) - self.begun as i32
    }

    /// New packets wait until there is room for more of them.
    fn gathers(&self) -> bool {
        let (room, waiting) = (self.room().min(self.taken().max(0) as u32), (self.packets.len() - self.begun) as u32);
        let will_more = self.flying > 0 && self.probes == 0 && !self.mode.is_seed;
        let most = self.window().min(ahead(self.limit, self.first).max(0) as u32);
        will_more && self.burst.lacks(room, most, self.rtt.smooth(), waiting)
    }

    /// Congestion control alone holds packets back, also those that wait for others, to fill a call with them. When these did not count, a
    /// window grew half as fast as it should, and with 5 % of loss 19 MB/s went instead of 28 (`yardsticks/`).
    fn is_full(&self) -> bool {
        let waits = || !self.spread.is_open() || self.taken() >= self.room() as i32 && self.gathers();
        self.room() == 0 || self.begun < self.packets.len() && waits()
    }

    fn choose(&self) -> Option<usize> {
        if (self.room() == 0 || !self.spread.is_open()) && self.probes == 0 {
            return None;
        }
        if self.lost > 0 {
            return self.packets.iter().position(|packet| packet.state == State::Lost);
        }
        let packet = self.packets.get(self.begun)?;
        let is_taken = self.taken() > 0 && !self.gathers();
        let may_grow = self.begun + 1 == self.packets.len() && self.flying >= FLOOD && !self.mode.is_seed;
        let is_held = may_grow && packet.memory.is_none() && packet.bytes.len() < self.half;
        (is_taken && !is_held && self.burst.is_open()).then_some(self.begun)
    }

    /// What may go is about to be sent. In a flood new packets go in numbers that fill calls of the system, and on a slow way few wait in
    /// this host, where at most `in_host` bytes of this link do.
    pub fn begin(&mut self, now: u64, in_host: impl FnOnce() -> usize) {
        self.burst.open();
        self.look_at_spread(now);
        let is_flood = self.flying >= FLOOD && !self.mode.is_seed && self.choose().is_some();
        let waiting = if is_flood { self.packets.len() - self.begun } else { 0 } as u32;
        let in_host = || (in_host() / (2 * self.half).max(1)) as u32;
        let (new, trip) = (waiting.min(self.room()), self.rtt.smooth());
        match spread::room_in_host(in_host, self.flying, new, trip, self.burst.together()) {
            Some(room) => self.burst.hold(now, room),
            None => self.burst.begin(now, waiting, self.grows),
        }
    }

    /// When what waits for others, or for its turn, goes.
    pub fn lingers_until(&self) -> Option<u64> {
        let spread = self.spread.until().filter(|_| self.lost > 0 || self.begun < self.packets.len());
        self.burst.until().into_iter().chain(spread).min()
    }

    /// The peer takes nothing, and nothing is under way that it would answer: it must be asked.
    fn is_blocked(&self) -> bool {
        let waits = self.flying == 0 && self.lost == 0 && self.begun < self.packets.len();
        waits && self.spread.is_open() && self.choose().is_none()
    }

    /// When [`Outbox::on_timer`] must be called, if nothing comes before; 0: something can be sent now.
    pub fn timer(&self) -> Option<u64> {
        if self.choose().is_some() {
            return Some(0);
        }
        if self.is_blocked() {
            return Some(self.asked + self.probe());
        }
        match self.mode.is_seed {
            true => self.flying().map(|packet| packet.sent + SEED_TIMEOUT).min(),
            false => (self.flying > 0).then(|| self.loss_at.min(self.asked + self.timeout())),
        }
    }

    fn flying(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().take(self.begun).filter(|packet| packet.state == State::Flying)
    }

    fn timeout(&self) -> u64 {
        (self.rtt.timeout(super::inbox::HELD) << self.silence.min(16)).min(LONGEST)
    }

    fn probe(&self) -> u64 {
        (self.rtt.timeout(0) << self.questions.min(16)).min(PROBE)
    }

    /// Time has passed. True: the peer must be asked (PING).
    pub fn on_timer(&mut self, now: u64) -> bool {
        if self.mode.is_seed {
            // Also while others can be sent: they may be answered and sent again without end, until the missing one is sent.
            let count = self.lose(|packet| now >= packet.sent + SEED_TIMEOUT);
            self.counts.timeouts += u64::from(count > 0);
            return false;
        }
        if self.timer().is_none_or(|at| at == 0 || now < at) {
            return false;
        }
        if self.is_blocked() {
            self.asked = now;
            self.questions += 1;
            return true;
        }
        if now >= self.loss_at {
            self.find_losses(now);
            return false;
        }
        self.counts.timeouts += 1;
        // One packet asks whether the path is there. What else is lost shows when it is answered.
        let mut is_first = true;
        self.lose(|_| std::mem::replace(&mut is_first, false));
        (self.probes, self.asked, self.silence) = (1, now, self.silence + 1);
        if self.silence == SILENT {
            self.congestion.silent();
        }
        false
    }

    /// Packets under way of which this is true are lost. Returns how many.
    fn lose(&mut self, mut is_lost: impl FnMut(&Packet) -> bool) -> u32 {
        let mut count = 0;
        for packet in self.packets.iter_mut().take(self.begun) {
            if packet.state == State::Flying && is_lost(packet) {
                packet.state = State::Lost;
                count += 1;
            }
        }
        (self.flying, self.lost) = (self.flying - count, self.lost + count);
        count
    }

    /// Everything before `number` has come. Returns how many packets that frees. Nothing is freed by a number of what was never sent.
    fn free(&mut self, number: u32) -> u32 {
        let count = ahead(number, self.first);
        if count < 0 || count as usize > self.begun {
            self.counts.ack_of_nothing += u64::from(count > 0);
            self.counts.ack_before += u64::from(count < 0);
            return 0;
        }
        (0..count as usize).for_each(|at| _ = self.came(at));
        for Packet { bytes, .. } in self.packets.drain(..count as usize) {
            self.bytes -= bytes.len();
            self.spare.give(bytes);
        }
        self.begun -= count as usize;
        self.first = number;
        count as u32
    }

    /// The packet at `at` has come. True: it was not known.
    fn came(&mut self, at: usize) -> bool {
        if at >= self.begun || self.packets[at].state == State::Come {
            return false;
        }
        let packet = &mut self.packets[at];
        match std::mem::replace(&mut packet.state, State::Come) {
            State::Flying => self.flying -= 1,
            _ => self.lost -= 1,
        }
        if packet.sendings == 1 || packet.sent <= self.answered {
            self.newest = self.newest.max((packet.order, packet.sent, packet.sendings == 1));
        }
        true
    }

    /// Normal mode: the peer has everything before `number`, and of `ranges` of what is behind it each packet; it takes `window` packets
    /// from `number` on. `echo`: how long ago the datagram was sent that is answered, and for how much of that the peer held the answer back.
    pub fn acknowledged(
        &mut self,
        now: u64,
        number: u32,
        ranges: impl Iterator<Item = (u32, u32)>,
        window: u16,
        echo: Option<(u64, u64)>,
    ) {
        // A packet that was sent again may have come the first time, and late. Then what was sent in between is not lost.
        self.answered = now.saturating_sub(echo.map_or(self.rtt.smooth(), |(age, _)| age));
        let (was_full, before) = (self.is_full(), self.newest.0);
        let mut count = self.free(number);
        self.counts.ack_expected += u64::from(count > 0);
        let in_order = count;
        for (from, to) in ranges {
            let (from, to) = (ahead(from, self.first).max(0), ahead(to, self.first).min(self.begun as i32));
            for at in from..to {
                count += u32::from(self.came(at as usize));
            }
        }
        self.counts.ack_behind += u64::from(count > in_order);
        if ahead(number, self.first) == 0 {
            let limit = number.wrapping_add(window.into());
            if ahead(limit, self.limit) > 0 || window == 0 {
                self.limit = limit;
            }
            self.questions = if window > 0 { 0 } else { self.questions };
        }
        // An acknowledgement that rides on data does not say how long it was held back.
        let (order, sent, is_first) = self.newest;
        let own = (order > before && is_first).then(|| now.saturating_sub(sent));
        if let Some(trip) = echo.map(|(age, held)| age.saturating_sub(held)).or(own) {
            self.rtt.sample(trip);
        }
        if count == 0 {
            return;
        }
        self.silence = 0;
        self.asked = now;
        if order > self.round {
            self.round = self.orders;
            self.rtt.begin_round();
        }
        if was_full {
            self.congestion.acknowledged(now, count, &self.rtt);
        }
        self.find_losses(now);
    }

    /// Packets under way are lost whose sending was followed by others that have come, [`BEHIND`] or more, or one that was sent much later;
    /// or by any, and much time is over.
    fn find_losses(&mut self, now: u64) {
        let (newest, sent, _) = self.newest;
        let (late, overdue) = (self.rtt.reordering(), self.rtt.overdue());
        let episode = self.episode;
        let (mut is_new, mut loss_at) = (false, u64::MAX);
        let count = self.lose(|packet| {
            let is_followed = packet.order < newest;
            let is_late = packet.sent + late <= sent || packet.sent + overdue <= now;
            let is_lost = packet.order + BEHIND <= newest || is_followed && is_late;
            is_new |= is_lost && packet.order > episode;
            if is_followed && !is_lost {
                loss_at = loss_at.min(packet.sent + overdue);
            }
            is_lost
        });
        self.loss_at = loss_at;
        self.counts.lost += u64::from(count);
        if is_new {
            self.episode = self.orders;
        }
        if count > 0 {
            self.congestion.lost(count, is_new, self.rtt.is_crowded());
        }
    }

    /// The peer has no memory for more.
    pub fn busy(&mut self, number: u32) {
        self.counts.busy += 1;
        self.free(number);
        self.limit = self.first.wrapping_add(self.begun as u32);
    }
}
