//! The receiving half of a link: which packets have come, what is kept until those before it have come, when it is acknowledged.
//!
//! Packets are processed in their order. One that is `loose` is processed as it comes, but once: a packet is known before it is looked at,
//! so old bytes never overwrite new ones.
//!
//! Must not know: what packets carry, sockets.

use super::mode::{Counts, Mode, ahead};
use std::collections::{BTreeMap, VecDeque};

/// An acknowledgement is held back for so many µs at most, for another packet or for data that it can ride on.
pub const HELD: u64 = 1_000;
/// Packets that one acknowledgement waits for.
const EACH: u32 = 2;
/// The most bytes that are kept behind gaps.
const KEPT: usize = 8 << 20;
/// Packets that may be coming in parts, and the most bytes of one.
const IN_PARTS: usize = 16;
const WHOLE: usize = 1 << 16;

/// What takes packets.
pub trait Take {
    /// True if the packet may be processed before those in front of it.
    fn is_loose(&self, packet: &[u8]) -> bool;
    /// Processes a packet.
    fn take(&mut self, packet: &[u8]);
    /// There is memory for a packet.
    fn has_room(&self) -> bool;
}

#[cfg_attr(test, derive(Clone))]
enum Slot {
    Missing,
    Taken,
    Kept(Vec<u8>),
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As the mode has it.
    Ack,
    /// There is no memory.
    Busy,
    /// Seed mode: the packet was refused.
    Nack,
}

/// The receiving half.
#[cfg_attr(test, derive(Clone))]
pub struct Inbox {
    mode: Mode,
    /// The number of the next packet in order.
    expected: u32,
    /// Those behind it.
    ahead: VecDeque<Slot>,
    kept: usize,
    /// Packets behind the expected one that have come.
    come: u32,
    /// Packets that are taken beside those.
    window: u32,
    /// An answer that must be sent at once; in seed mode, of which packets.
    due: VecDeque<(Answer, u32)>,
    /// When the acknowledgement must be sent that is held back, and of how many packets.
    held: Option<(u64, u32)>,
    /// The time that the packet had which is answered next, and when it came.
    echo: Option<(u32, u64)>,
    /// Bytes of the longest question that is not answered.
    asked: usize,
    /// Packets that come in parts, by their numbers: their bytes, and where parts that are here begin and end.
    parts: BTreeMap<u32, (Vec<u8>, BTreeMap<usize, usize>)>,
}

impl Inbox {
    /// The first packet has the number `expected`; at most `window` packets are taken ahead.
    pub fn new(mode: Mode, expected: u32, window: u16) -> Inbox {
        let window = u32::from(window).min(mode.window);
        Inbox {
            mode,
            expected,
            ahead: VecDeque::new(),
            kept: 0,
            come: 0,
            window,
            due: VecDeque::new(),
            held: None,
            echo: None,
            asked: 0,
            parts: BTreeMap::new(),
        }
    }

    /// What decides how it goes on, but for times.
    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        format!("{} {:x} {:?} {:?}", self.expected, self.bits(), self.due, self.held.map(|(_, count)| count))
    }

    /// Every packet before this number is processed.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Packets that are taken now, from the expected one on. Those that are here need no room on the way: one that is lost stops no others.
    pub fn window(&self) -> u16 {
        if self.kept >= KEPT { 0 } else { self.span() as u16 }
    }

    fn span(&self) -> u32 {
        (self.window + self.come).min(self.mode.window)
    }

    /// Bytes that are kept behind gaps.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Nothing was said for long: memory that is not used is given back.
    pub fn rest(&mut self) {
        self.ahead.shrink_to_fit();
        self.due.shrink_to_fit();
    }

    /// Which of the 64 packets behind the expected one have come.
    pub fn bits(&self) -> u64 {
        let has_come = |(i, slot): (usize, &Slot)| if matches!(slot, Slot::Missing) { 0 } else { 1 << i };
        self.ahead.iter().skip(1).take(64).enumerate().map(has_come).sum()
    }

    /// The first `most` ranges of packets behind the expected one that have come, each from a number to before another.
    pub fn ranges(&self, most: usize) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (number, slot) in (0..).map(|i| self.expected.wrapping_add(i)).zip(&self.ahead) {
            let count = ranges.len();
            match ranges.last_mut() {
                _ if matches!(slot, Slot::Missing) => {}
                Some(range) if range.1 == number => range.1 = number.wrapping_add(1),
                _ if count == most => break,
                _ => ranges.push((number, number.wrapping_add(1))),
            }
        }
        ranges
    }

    /// A packet has come.
    pub fn on_data(&mut self, now: u64, told: u32, time: u32, packet: &[u8], take: &mut dyn Take, counts: &mut Counts) {
        let number = self.mode.number(self.expected, told);
        let step = ahead(number, self.expected);
        self.echo = Some((time, now));
        if step < 0 {
            counts.data_before += 1;
            return self.answer(Answer::Ack, number);
        }
        if self.mode.is_seed {
            return self.on_seed(step, number, packet, take, counts);
        }
        if step >= self.span().cast_signed() {
            counts.data_refused += 1;
            return self.answer(Answer::Ack, number);
        }
        let step = step as usize;
        if self.ahead.get(step).is_some_and(|slot| !matches!(slot, Slot::Missing)) {
            counts.data_twice += 1;
            return self.answer(Answer::Ack, number);
        }
        let is_loose = step > 0 && take.is_loose(packet);
        let is_kept = step > 0 && !is_loose;
        if !take.has_room() || is_kept && self.kept + packet.len() > KEPT {
            counts.data_refused += 1;
            return self.answer(Answer::Busy, number);
        }
        if step == 0 {
            counts.data_expected += 1;
            take.take(packet);
            self.expected = self.expected.wrapping_add(1);
            self.ahead.pop_front();
            self.take_kept(take);
            let (at, count) = self.held.unwrap_or((now + HELD, 0));
            self.held = Some((at, count + 1));
            if count + 1 >= EACH || !self.ahead.is_empty() {
                self.answer(Answer::Ack, number);
            }
            return;
        }
        counts.data_behind += 1;
        self.come += 1;
        while self.ahead.len() <= step {
            self.ahead.push_back(Slot::Missing);
        }
        self.ahead[step] = if is_loose {
            take.take(packet);
            Slot::Taken
        } else {
            self.kept += packet.len();
            Slot::Kept(packet.to_vec())
        };
        self.answer(Answer::Ack, number);
    }

    /// A part of a packet has come; `place` is as the head has it. Returns the whole packet once all of it is here; an empty one, if it came
    /// before.
    pub fn on_part(&mut self, told: u32, place: u64, part: &[u8]) -> Option<Vec<u8>> {
        let number = self.mode.number(self.expected, told);
        let step = ahead(number, self.expected);
        let is_known = |slot: &Slot| !matches!(slot, Slot::Missing);
        if step < 0 || self.ahead.get(step as usize).is_some_and(is_known) {
            return Some(Vec::new());
        }
        let (from, len) = (place as u32 as usize, (place >> 32) as usize);
        if step >= self.span().cast_signed() || part.is_empty() || len > WHOLE || from + part.len() > len {
            return None;
        }
        let expected = self.expected;
        self.parts.retain(|number, _| ahead(*number, expected) >= 0);
        if self.parts.len() >= IN_PARTS && !self.parts.contains_key(&number) {
            return None; // it comes again
        }
        let parts = self.parts.entry(number).or_insert_with(|| (vec![0; len], BTreeMap::new()));
        if parts.0.len() != len {
            return None;
        }
        parts.0[from..from + part.len()].copy_from_slice(part);
        let end = parts.1.entry(from).or_default();
        *end = (*end).max(from + part.len());
        let whole = parts.1.iter().fold(0, |at, (from, end)| if *from <= at { at.max(*end) } else { at });
        if whole < len { None } else { self.parts.remove(&number).map(|(bytes, _)| bytes) }
    }

    /// Seed mode: only the expected packet is taken.
    fn on_seed(&mut self, step: i32, number: u32, packet: &[u8], take: &mut dyn Take, counts: &mut Counts) {
        if step > 0 {
            counts.data_behind += 1;
            return self.answer(Answer::Nack, self.expected);
        }
        if !take.has_room() {
            counts.data_refused += 1;
            return self.answer(Answer::Nack, self.expected);
        }
        counts.data_expected += 1;
        take.take(packet);
        self.expected = number.wrapping_add(1);
        self.answer(Answer::Ack, number);
    }

    /// Processes what was kept for the packet that has just come.
    fn take_kept(&mut self, take: &mut dyn Take) {
        while let Some(slot) = self.ahead.pop_front() {
            match slot {
                Slot::Missing => return self.ahead.push_front(Slot::Missing),
                Slot::Taken => {}
                Slot::Kept(packet) => {
                    self.kept -= packet.len();
                    take.take(&packet);
                }
            }
            self.come -= 1;
            self.expected = self.expected.wrapping_add(1);
        }
    }

    /// Normal mode: what has come is acknowledged at once. (In seed mode everything is.)
    pub fn acknowledge_now(&mut self) {
        if !self.mode.is_seed {
            self.answer(Answer::Ack, self.expected);
        }
    }

    fn answer(&mut self, answer: Answer, number: u32) {
        // In normal mode one answer says it all.
        if !self.mode.is_seed {
            self.due.clear();
        } else if self.due.len() >= 4 * self.mode.window as usize {
            return; // what is not answered is sent again
        }
        self.due.push_back((answer, number));
    }

    /// The peer asks, with so many bytes.
    pub fn on_ping(&mut self, now: u64, time: u32, len: usize, has_room: bool) {
        self.echo = Some((time, now));
        self.asked = self.asked.max(len);
        if !self.mode.is_seed {
            self.answer(if has_room { Answer::Ack } else { Answer::Busy }, self.expected);
        }
    }

    /// The answer that must be sent now, if any; in seed mode, of which packet.
    pub fn next(&mut self, now: u64) -> Option<(Answer, u32)> {
        if let Some(due) = self.due.pop_front() {
            if !self.mode.is_seed {
                self.held = None;
            }
            return Some(due);
        }
        self.held.take_if(|(at, _)| *at <= now).map(|_| (Answer::Ack, self.expected))
    }

    /// The acknowledgement has ridden on data.
    pub fn rode(&mut self) {
        let is_ack = self.due.front().is_none_or(|(answer, _)| *answer == Answer::Ack);
        if !self.mode.is_seed && is_ack && self.asked == 0 {
            self.due.clear();
            self.held = None;
        }
    }

    /// The time of the packet that is answered, and how long it was held, in µs.
    pub fn echo(&mut self, now: u64) -> Option<(u32, u64)> {
        self.echo.take().map(|(time, came)| (time, now.saturating_sub(came)))
    }

    /// Bytes of the longest question that is answered with this.
    pub fn asked(&mut self) -> usize {
        std::mem::take(&mut self.asked)
    }

    /// When [`Inbox::next`] has something, if nothing comes before; 0: now.
    pub fn timer(&self) -> Option<u64> {
        if self.due.is_empty() { self.held.map(|(at, _)| at) } else { Some(0) }
    }
}
